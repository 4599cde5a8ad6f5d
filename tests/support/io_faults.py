"""A library that is loaded before libc's and has a process's reads or writes of indexes fail while a file says so."""

from __future__ import annotations

from pathlib import Path

from tests.support.libraries import compiled

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fails(int file, char what) {
    const char *flag = getenv("FAILING_IO");
    char said = 0, link[64], path[4096];
    int told = flag ? open(flag, O_RDONLY | O_CLOEXEC) : -1;
    if (told < 0) return 0;
    ssize_t got = ((ssize_t (*)(int, void *, size_t))dlsym(RTLD_NEXT, "read"))(told, &said, 1);
    close(told);
    if (got != 1 || said != what) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size <= 0) return 0;
    path[size] = 0;
    return strstr(path, ".sqlite") != NULL;
}

#define WRAP(name, what, type, ...)                                                    \
    if (fails(file, what)) { errno = EIO; return -1; }                                 \
    static type real; if (!real) real = (type)dlsym(RTLD_NEXT, #name);                 \
    return real(__VA_ARGS__);

typedef ssize_t (*reading)(int, void *, size_t, off64_t);
typedef ssize_t (*writing)(int, const void *, size_t, off64_t);
typedef int (*syncing)(int);
typedef ssize_t (*plain)(int, void *, size_t);

ssize_t pread(int file, void *to, size_t n, off_t at) { WRAP(pread, 'r', reading, file, to, n, at) }
ssize_t pread64(int file, void *to, size_t n, off64_t at) { WRAP(pread64, 'r', reading, file, to, n, at) }
ssize_t pwrite(int file, const void *data, size_t n, off_t at) { WRAP(pwrite, 'w', writing, file, data, n, at) }
ssize_t pwrite64(int file, const void *data, size_t n, off64_t at) { WRAP(pwrite64, 'w', writing, file, data, n, at) }
ssize_t read(int file, void *to, size_t n) { WRAP(read, 'r', plain, file, to, n) }
int fsync(int file) { WRAP(fsync, 'w', syncing, file) }
int fdatasync(int file) { WRAP(fdatasync, 'w', syncing, file) }
"""


class FailingIO:
    """Reads or writes of indexes that fail with EIO when told to."""

    def __init__(self, folder: Path) -> None:
        self._flag = folder / "failing-io"
        self.environ = {"LD_PRELOAD": str(compiled(SOURCE)), "FAILING_IO": str(self._flag)}

    def fail(self, what: str) -> None:
        """Have `reads` or `writes` fail from now on."""
        self._flag.write_text(what)

    def mend(self) -> None:
        """Let everything work again."""
        self._flag.unlink()
