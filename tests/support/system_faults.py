"""System faults under a daemon: small disks, failing reads and writes, and changes of the wall clock."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.libraries import compile_library


def remount(disk: Path, how: str) -> None:
    """Make a file system read-only (`ro`) or writable again (`rw`)."""
    subprocess.run(["mount", "-o", f"remount,{how}", str(disk)], check=True)


@contextmanager
def small_disk(at: Path, size: str = "16m") -> Iterator[None]:
    """Mount a small file system; skip the test if that is not allowed."""
    at.mkdir(parents=True, exist_ok=True)
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(at)], capture_output=True, check=False
    )
    if made.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {made.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


def fill_up(disk: Path) -> Path:
    """Fill a disk completely; return the file that occupies the space."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for step in (65_536, 4_096, 1):
            try:
                while True:
                    file.write(b"x" * step)
            except OSError:
                continue
    return ballast


IO_SOURCE = r"""
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
    """Lets reads or writes of indexes fail with EIO."""

    def __init__(self, folder: Path) -> None:
        self._flag = folder / "failing-io"
        self.environ = {"LD_PRELOAD": str(compile_library(IO_SOURCE)), "FAILING_IO": str(self._flag)}

    def fail(self, what: str) -> None:
        """Let `reads` or `writes` fail from now on."""
        self._flag.write_text(what)

    def mend(self) -> None:
        """End the failures."""
        self._flag.unlink()


CLOCK_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long long none;
static volatile long long *ahead = &none;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("SECONDS_AHEAD");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *page = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) ahead = page;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *to) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(clock, to);
    if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) to->tv_sec += *ahead;
    return code;
}

int gettimeofday(struct timeval *restrict to, void *restrict zone) {
    struct timespec now;
    int code = clock_gettime(CLOCK_REALTIME, &now);
    to->tv_sec = now.tv_sec;
    to->tv_usec = now.tv_nsec / 1000;
    return code;
}

time_t time(time_t *to) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (to) *to = now.tv_sec;
    return now.tv_sec;
}
"""


class WallClock:
    """The wall clock of a process; its monotonic clock and file times are not affected."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "seconds-ahead"
        self._file.write_bytes(struct.pack("q", 0))
        self.environ = {"LD_PRELOAD": str(compile_library(CLOCK_SOURCE)), "SECONDS_AHEAD": str(self._file)}

    def set(self, seconds: int) -> None:
        """Set the clock the given seconds ahead of the true time; negative for behind."""
        with self._file.open("r+b") as file:
            file.write(struct.pack("q", seconds))
