"""Secrets planted in commands, outputs and files as agents have them."""

from __future__ import annotations

import base64
import random
import string
import uuid
from typing import NamedTuple

ALPHANUMERIC = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


class PlantedSecret(NamedTuple):
    """A text with a secret; `place` is `command`, `file PATH`, or the command that printed the text."""

    place: str
    shape: str
    text: str
    secret: str


def secret_kinds(rng: random.Random) -> dict[str, str]:
    """Return a new secret of each kind."""

    def text(letters: str, count: int) -> str:
        return "".join(rng.choices(letters, k=count))

    word = text(string.ascii_lowercase, 11)
    return {
        "word": word,
        "digits": text(string.digits, 9),
        "password": f"{text(string.ascii_letters, 6)}{rng.choice('!#%+=?')}{text(string.digits, 3)}x",
        "two-case": text(string.ascii_letters, 16),
        "hex32": text(HEX, 32),
        "hex64": text(HEX, 64),
        "uuid": str(uuid.UUID(int=rng.getrandbits(128), version=4)),
        "alphanumeric20": text(ALPHANUMERIC, 20),
        "alphanumeric40": text(ALPHANUMERIC, 40),
        "base64": base64.b64encode(rng.randbytes(24)).decode(),
        "urlsafe": base64.urlsafe_b64encode(rng.randbytes(30)).decode().replace("-", "a"),
        "openai": f"sk-proj-{text(ALPHANUMERIC, 40)}",
        "anthropic": f"sk-ant-api03-{text(ALPHANUMERIC, 40)}",
        "github": f"ghp_{text(ALPHANUMERIC, 36)}",
        "github-fine": f"github_pat_{text(ALPHANUMERIC, 22)}_{text(ALPHANUMERIC, 40)}",
        "gitlab": f"glpat-{text(ALPHANUMERIC, 20)}",
        "aws-id": f"AKIA{text(string.ascii_uppercase, 16)}",
        "aws-secret": text(ALPHANUMERIC, 38) + "+a",
        "slack": f"xoxb-{text(string.digits, 12)}-{text(ALPHANUMERIC, 24)}",
        "stripe": f"sk_live_{text(ALPHANUMERIC, 24)}",
        "npm": f"npm_{text(ALPHANUMERIC, 36)}",
        "pypi": f"pypi-AgE{text(ALPHANUMERIC, 40)}",
        "jwt": f"eyJ{text(ALPHANUMERIC, 20)}.{text(ALPHANUMERIC, 40)}.{text(ALPHANUMERIC, 43)}",
        "google": f"AIza{text(ALPHANUMERIC, 35)}",
        "huggingface": f"hf_{text(ALPHANUMERIC, 34)}",
        "vault": f"hvs.{text(ALPHANUMERIC, 24)}",
        "digitalocean": f"dop_v1_{text(HEX, 64)}",
    }


COMMANDS = """
DB_PASSWORD=§ npm test
API_TOKEN='§' ./deploy.sh --fast
export AWS_SECRET_ACCESS_KEY="§" && terraform plan
env SECRET_KEY=§ STRIPE_SECRET=§ python manage.py migrate
$env:NUGET_API_KEY = '§'; dotnet nuget push x.nupkg
set -x; PGPASSWORD=§ psql -h db -U shop -c 'select 1'
deploy --token § --region eu
deploy --password=§
gh secret set DEPLOY -b §
mysql -u root -p§ shop < dump.sql
mysqldump --host db -p'§' shop
sshpass -p § ssh eva@10.0.0.5 uptime
redis-cli -h cache -a § ping
docker login -u eva -p § registry.example.org
echo § | docker login --password-stdin -u eva registry.example.org
echo "§" | gh auth login --with-token
curl -u eva:§ https://api.example.org/v1
curl --user "eva:§" https://api.example.org/v1
curl -H "Authorization: Bearer §" https://api.example.org/v1
curl -H 'X-Api-Key: §' https://api.example.org/v1
curl -H "PRIVATE-TOKEN: §" https://git.example.org/api
curl 'https://api.example.org/v1?limit=5&access_token=§&page=2'
curl "https://api.example.org/v1?api_key=§"
docker run -d -e POSTGRES_PASSWORD=§ -p 5432:5432 postgres:16
kubectl create secret generic shop --from-literal=password=§
aws configure set aws_secret_access_key §
heroku config:set SESSION=§ -a shop
vault kv put secret/shop password=§
mvn deploy -Dpassword=§
openssl rsa -in a.pem -passin pass:§
npm config set //registry.example.org/:_authToken=§
psql "host=db user=shop password=§ dbname=shop"
bash -lc "cd /srv && MAIL_PASSWORD=§ make test"
ssh web 'GITHUB_TOKEN=§ ./release'
echo "SESSION=§" >> .env
printf 'NAME=§\\n' > .env.local
keytool -list -keystore a.jks -storepass §
ssh-keygen -t ed25519 -N § -f deploy
setx API_TOKEN §
[Environment]::SetEnvironmentVariable('API_TOKEN', '§')
curl -b 'session=§' https://api.example.org
curl -u :§ https://api.example.org
vault login §
cargo login §
dotnet user-secrets set Db:Password §
sqlplus scott/§@db
lftp -u eva,§ files.example.org
twine upload -u __token__ -p § dist/shop.whl
doctl auth init -t §
gpg --batch --passphrase § -d backup.gpg
rclone config create backup s3 secret_access_key=§
helm upgrade shop . --set auth.password=§
docker build --build-arg NPM_TOKEN=§ .
smbclient //files/shop -U eva%§
java -Djavax.net.ssl.trustStorePassword=§ -jar shop.jar
""".strip().splitlines()

URL_COMMANDS = """
git clone https://eva:§@git.example.org/shop.git
psql postgres://shop:§@db.example.org:5432/shop
mongosh mongodb+srv://shop:§@cluster.example.org/shop
redis-cli -u redis://:§@cache.example.org:6379
export DATABASE_URL=mysql://root:§@127.0.0.1/shop
""".strip().splitlines()

OUTPUTS = [
    ("env", "SHELL=/bin/bash\nCI_THING=§\nLANG=C\n"),
    ("printenv", "A=1\nWHATEVER=§\n"),
    ("printenv WHATEVER", "§\n"),
    ("set", "BASH=/bin/bash\nWHATEVER='§'\n"),
    ("export -p", 'declare -x WHATEVER="§"\n'),
    ("docker compose exec web env", "PATH=/bin\nWHATEVER=§\n"),
    ("ssh web env", "PATH=/bin\nWHATEVER=§\n"),
    ("cat .env", "# settings\nNAME=shop\nWHATEVER=§\n"),
    ("head -5 config/.env.production", 'NAME="§"\n'),
    ("grep NAME .env", ".env:NAME=§\n"),
    (
        "docker inspect web",
        '        "Env": [\n            "WHATEVER=§",\n            "PATH=/bin"\n        ],\n',
    ),
    ("kubectl get secret shop -o yaml", "apiVersion: v1\ndata:\n  whatever: §\nkind: Secret\n"),
    ("kubectl get secret shop -o json", '{\n  "data": {\n    "whatever": "§"\n  }\n}\n'),
    ("gh auth token", "§\n"),
    ("gcloud auth print-access-token", "§\n"),
    ("cat ~/.netrc", "machine git.example.org login eva password §\n"),
    ("cat ~/.netrc", "machine git.example.org\n  login eva\n  password §\n"),
    ("cat ~/.npmrc", "//registry.example.org/:_authToken=§\n"),
    ("cat ~/.pypirc", "[pypi]\nusername = __token__\npassword = §\n"),
    ("cat ~/.aws/credentials", "[default]\naws_access_key_id = §\naws_secret_access_key = §\n"),
    ("cat credentials.json", '{\n  "client": "x",\n  "whatever": "§"\n}\n'),
    ("cat terraform.tfstate", '{\n  "outputs": {\n    "whatever": {\n      "value": "§"\n    }\n  }\n}\n'),
    ("terraform output", 'host = "db"\nwhatever = "§"\n'),
    ("vault kv get secret/shop", "===== Data =====\nKey      Value\n---      -----\nwhatever    §\n"),
    ("git diff", "diff --git a/.env b/.env\n--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-NAME=§\n+NAME=x§\n"),
    ("bash -x deploy.sh", "+ export FOO_TOKEN=§\n+ FOO_TOKEN=§\n+ ./deploy\n"),
    ("bash -x deploy.sh", "+ curl -H 'Authorization: Bearer §' https://api.example.org\n"),
    ("git diff", "diff --git a/run.sh b/run.sh\n+++ b/run.sh\n@@ -1 +1 @@\n+export SHOP_PASSWORD=§\n"),
    ("curl -v https://api.example.org", "> GET /v1 HTTP/1.1\n> Authorization: Basic §\n> Accept: */*\n"),
    ("head -2 .env ~/.npmrc", "==> .env <==\nNAME=§\n"),
    ("echo $DEPLOY_TOKEN", "§\n"),
    ("ansible-vault view vars.yml", "shop:\n  whatever: §\n"),
    ("sops -d values.enc.yaml", "whatever: §\n"),
    ("cat wp-config.php", "define('DB_PASSWORD', '§');\n"),
    ("tail -n 3 prod.env", "WHATEVER=§\n"),
    ("rg NAME", "src/.env:3:SHOP_PASSWORD=§\n"),
    ('python -c "import os; print(os.environ)"', "environ({'WHATEVER': '§', 'HOME': '/home/eva'})\n"),
]

FILES = [
    (".env", "NAME=§\n"),
    ("/srv/shop/.env.local", 'export NAME="§"\n'),
    ("/home/eva/.netrc", "machine x login eva password §\n"),
    ("/home/eva/.npmrc", "//registry.example.org/:_authToken=§\n"),
    ("/home/eva/.docker/config.json", '{\n "auths": {\n  "x": {\n   "auth": "§"\n  }\n }\n}\n'),
    ("/home/eva/.vault-token", "§\n"),
    ("secrets.yaml", "shop:\n  whatever: §\n"),
    ("infra/prod.tfvars", 'whatever = "§"\n'),
    ("/home/eva/.ssh/id_rsa", "-----BEGIN OPENSSH PRIVATE KEY-----\n§\n-----END OPENSSH PRIVATE KEY-----\n"),
]


def plant_secrets(count: int = 1_000) -> list[PlantedSecret]:
    """Return secrets of all kinds in all shapes."""
    rng = random.Random(47)
    shapes: list[tuple[str, str]] = [
        *(("command", line) for line in COMMANDS + URL_COMMANDS),
        *((line, text) for line, text in OUTPUTS),
        *((f"file {path}", text) for path, text in FILES),
    ]
    planted = []
    for number in range(count):
        place, shape = shapes[number % len(shapes)]
        kinds = list(secret_kinds(rng).values())
        secret = kinds[(number + number // len(shapes)) % len(kinds)]
        if shape in URL_COMMANDS:
            secret = secret.replace("/", "b").replace("#", "c").replace("?", "d").replace("%", "e")
        planted.append(PlantedSecret(place, shape, shape.replace("§", secret), secret))
    return planted
