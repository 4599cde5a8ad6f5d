"""A library that is loaded before libc's and has a process see another wall time, moved while it runs."""

from __future__ import annotations

import struct
from pathlib import Path

from tests.support.libraries import compiled

SOURCE = r"""
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


class WallTime:
    """The wall time of a process; its monotonic clock and the times of files stay as they are."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "seconds-ahead"
        self._file.write_bytes(struct.pack("q", 0))
        self.environ = {"LD_PRELOAD": str(compiled(SOURCE)), "SECONDS_AHEAD": str(self._file)}

    def set(self, seconds: int) -> None:
        """Have the clock be so many seconds ahead of the true time, from now on; negative for behind."""
        with self._file.open("r+b") as file:
            file.write(struct.pack("q", seconds))
