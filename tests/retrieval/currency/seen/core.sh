# A C program: a makefile, a submodule, a squash, commits that are gone.
mkdir zlibish && cd zlibish && git init
at 2026-01-05; body adler > adler.c; save "Add adler"; at 2026-01-06; body crc > crc.c; save "Add crc"
cd .. && mkdir core && cd core && git init
at 2026-01-10
mkdir -p include src tools
put include/ring.h <<'X'
#ifndef RING_H
#define RING_H
#define RING_SIZE 4096
int ring_push(struct ring *ring, char byte);
int ring_pop(struct ring *ring);
#endif
X
body ring > src/ring.c
body main > src/main.c
body log > src/log.c
body net > src/net.c
body tls > src/tls.c
body clock > src/clock.c
body bench > tools/bench
body gen > tools/gen.py
put Makefile <<'X'
all: core
core: src/main.c
	cc -o core src/*.c
check: core
	./core --self-test
fuzz: core
	./tools/fuzz
install: core
	install core /usr/local/bin
X
body notes > NOTES
body license > LICENSE
save "Import core"
git submodule add ../zlibish third/zlibish
save "Add zlibish"
at 2026-01-20; git checkout -b ring-resize; edit include/ring.h 's/4096/8192/'; save "Double the ring"; mark double
at 2026-01-21; edit src/ring.c 's/line 6/line six/'; save "Use the new size"; mark newsize
at 2026-01-24; git checkout main; git merge --squash ring-resize; git commit -m "Double the ring (#12)"; mark squash
at 2026-01-25; git branch -D ring-resize
at 2026-02-03; edit src/tls.c 's/line 1/line one/'; save "TLS 1.3 only"; mark tls13
at 2026-02-09; git revert --no-edit HEAD; mark untls
at 2026-02-20; edit Makefile '/^fuzz/,/fuzz$/d'; save "Remove fuzzing"
at 2026-02-25; git mv src/net.c src/socket.c; save "net is socket"
at 2026-02-26; git mv src/socket.c src/transport.c; save "socket is transport"
at 2026-03-01; (cd third/zlibish && edit crc.c 's/line 2/line two/' && git commit -am "Crc of two" )
at 2026-03-01; save "Bump zlibish"
at 2026-03-05; edit src/log.c 's/line 12/line twelve/'; save "Log twelve"
at 2026-03-06; edit src/log.c 's/line 11/line eleven/'; save "Log eleven"
at 2026-03-07; edit src/log.c 's/line 10/line ten/'; save "Log ten"; mark logten
at 2026-03-09; git checkout -b old-clock; edit src/clock.c 's/line 4/line four/'; save "Clock of four"; git checkout main
at 2026-03-15; git rm tools/gen.py; save "Generate nothing"
at 2026-03-16; edit include/ring.h 's/ring_pop/ring_take/'; save "take instead of pop"
at 2026-03-20; git rm --cached NOTES; git commit -m "Notes are private"
