/*
 * Bends what one process sees of its disk and its wall clock, as a control file says.
 *
 * Loaded with LD_PRELOAD. The file named by FAULTS_CONTROL holds three 64-bit numbers in the
 * byte order of the machine, which the test changes while the process runs:
 *
 *   0  milliseconds by which the wall clock is moved
 *   8  milliseconds that each sync takes longer
 *  16  1 when the disk that holds a store is full
 *
 * CLOCK_MONOTONIC and CLOCK_BOOTTIME stay as they are. Every wrapper makes its system call itself:
 * nothing here allocates or looks a symbol up, so that it may run before the process has begun.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct control {
    int64_t wall_ms;
    int64_t sync_ms;
    int64_t full;
};

/* Where the control file is mapped; null until then, and for good when there is none. */
static volatile struct control *control;

__attribute__((constructor)) static void open_control(void) {
    const char *path = getenv("FAULTS_CONTROL");
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    void *mapped = mmap(NULL, sizeof(struct control), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (mapped != MAP_FAILED) {
        control = mapped;
    }
}

/* Moves a moment of the wall clock; one before 1970 becomes 1970. */
static void shift(struct timespec *moment) {
    int64_t wall_ms = control == NULL ? 0 : control->wall_ms;
    int64_t nanos = moment->tv_nsec + (wall_ms % 1000) * 1000000;
    int64_t seconds = moment->tv_sec + wall_ms / 1000;
    if (nanos < 0) {
        nanos += 1000000000;
        seconds -= 1;
    } else if (nanos >= 1000000000) {
        nanos -= 1000000000;
        seconds += 1;
    }
    moment->tv_sec = seconds < 0 ? 0 : seconds;
    moment->tv_nsec = nanos;
}

int clock_gettime(clockid_t clock, struct timespec *moment) {
    int failed = (int)syscall(SYS_clock_gettime, clock, moment);
    if (failed == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        shift(moment);
    }
    return failed;
}

int gettimeofday(struct timeval *restrict moment, void *restrict zone) {
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return -1;
    }
    moment->tv_sec = now.tv_sec;
    moment->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *moment) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return (time_t)-1;
    }
    if (moment != NULL) {
        *moment = now.tv_sec;
    }
    return now.tv_sec;
}

static void delay(void) {
    int64_t ms = control == NULL ? 0 : control->sync_ms;
    if (ms > 0) {
        struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000};
        /* A signal cuts a sync short as well. */
        nanosleep(&pause, NULL);
    }
}

int fsync(int fd) {
    delay();
    return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
    delay();
    return (int)syscall(SYS_fdatasync, fd);
}

/* Tells whether a write goes to a file of a store whose disk is full. */
static int refuses(int fd) {
    static const char *const ends[] = {".db", ".db-wal", ".db-shm", ".db-journal"};
    char link[64], path[4096];
    if (control == NULL || control->full == 0) {
        return 0;
    }
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    if (length < 0) {
        return 0;
    }
    path[length] = 0;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        size_t end = strlen(ends[i]);
        if ((size_t)length >= end && strcmp(path + length - end, ends[i]) == 0) {
            errno = ENOSPC;
            return 1;
        }
    }
    return 0;
}

ssize_t write(int fd, const void *bytes, size_t count) {
    return refuses(fd) ? -1 : syscall(SYS_write, fd, bytes, count);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) {
    return refuses(fd) ? -1 : syscall(SYS_pwrite64, fd, bytes, count, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
    return refuses(fd) ? -1 : syscall(SYS_pwrite64, fd, bytes, count, at);
}
