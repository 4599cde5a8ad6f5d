# An interface in Java, Spanish notes: packages, moves, a hotfix branch, an edit that is undone by hand.
mkdir api && cd api && git init
at 2026-04-01
base=src/main/java/es/tienda
mkdir -p $base/pago $base/envio src/main/resources src/test/java .github/workflows
put $base/pago/Tarjeta.java <<'X'
package es.tienda.pago;

public class Tarjeta {
    static final int INTENTOS = 2;

    public boolean cobrar(long centimos) {
        return pasarela.enviar(centimos, INTENTOS);
    }

    public void devolver(String recibo) {
        pasarela.anular(recibo);
    }
}
X
body transfer > $base/pago/Transferencia.java
body bizum > $base/pago/Bizum.java
body envio > $base/envio/Envio.java
body tarifa > $base/envio/Tarifa.java
body props > src/main/resources/application.properties
body ci > .github/workflows/ci.yml
body release > .github/workflows/release.yml
body gradle > build.gradle
body docker > Dockerfile
body compose > compose.yaml
body readme > LEEME.md
save "Empezar"
at 2026-04-08; edit $base/pago/Tarjeta.java 's/INTENTOS = 2/INTENTOS = 4/'; save "Cuatro intentos"; mark cuatro
at 2026-04-14; git checkout -b hotfix/bizum; edit $base/pago/Bizum.java 's/line 2/line dos/'; save "Bizum"
at 2026-04-15; git checkout main; git merge --no-ff hotfix/bizum; git branch -d hotfix/bizum
at 2026-04-22; mkdir -p $base/reparto; git mv $base/envio/Tarifa.java $base/reparto/Tarifa.java; save "Reparto"
at 2026-04-28; edit $base/pago/Tarjeta.java 's/devolver/reembolsar/'; save "Reembolsar"
at 2026-05-04; git rm .github/workflows/release.yml; save "Publicar a mano"; mark amano
at 2026-05-08; edit compose.yaml 's/line 1/line uno/'; save "Puerto"; mark puerto
at 2026-05-11; git revert --no-edit HEAD
at 2026-05-18; edit build.gradle 's/line 3/line tres/'; save "Gradle 9"
at 2026-05-19; edit build.gradle 's/line 4/line cuatro/'; save "Gradle 9.1"
at 2026-05-25; edit Dockerfile 's/line 1/line uno/'
at 2026-05-26; edit LEEME.md 's/line 1/line uno/'; save "Leeme y Docker"
at 2026-05-28; edit src/main/resources/application.properties 's/line 1/line uno/'
