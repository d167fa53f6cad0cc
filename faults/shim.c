/* What a process does to the files of one directory: made to fail at the k-th system call, or written down.
 *
 * Built and preloaded by shim.py (Linux). Calls on other files pass untouched.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES 4096

static char root[4096];         /* the directory, or nothing */
static char names[FILES][4096]; /* of open files in it, by descriptor */
static long count, fail_at;     /* calls so far; which one fails, 0 for none */
static int for_ever, fail_with, record = -1;

void shim_watch(const char *directory) { snprintf(root, sizeof root, "%s", directory); count = fail_at = 0; }
void shim_fail(long at, int ever, int error) { fail_at = at; for_ever = ever; fail_with = error; }
void shim_record(int descriptor) { record = descriptor; }
long shim_count(void) { return count; }

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define FAILS(result) if (fails()) return result

static int inside(const char *path) {
    size_t n = strlen(root);
    return n && path && strncmp(path, root, n) == 0 && (path[n] == '/' || path[n] == 0);
}

static int watched(int fd) { return fd >= 0 && fd < FILES && names[fd][0]; }

static int fails(void) {
    count++;
    if (fail_at && (count == fail_at || (for_ever && count > fail_at))) { errno = fail_with; return 1; }
    return 0;
}

/* One record: operation, path, and either another path or bytes. */
static void note(char operation, const char *path, const char *more, size_t n) {
    static ssize_t (*write_out)(int, const void *, size_t);
    char head[8300];
    int error = errno, length;
    if (record < 0) return;
    if (!write_out) write_out = dlsym(RTLD_NEXT, "write");
    length = snprintf(head, sizeof head, "%c %zu %s\n", operation, n, path);
    if (write_out(record, head, length) < 0 || (n && write_out(record, more, n) < 0)) _exit(99);
    errno = error;
}

static int opened(int fd, const char *path, int flags, int was_there) {
    if (fd >= 0 && fd < FILES) {
        snprintf(names[fd], sizeof names[fd], "%s", path);
        if (flags & O_CREAT && !was_there) note('c', path, 0, 0);
        else if (flags & O_TRUNC) note('t', path, 0, 0);
    }
    return fd;
}

#define OPEN(name)                                                                   \
    int name(const char *path, int flags, ...) {                                     \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
        REAL(name);                                                                  \
        if (!inside(path)) return real(path, flags, mode);                           \
        FAILS(-1);                                                                   \
        int was_there = faccessat(AT_FDCWD, path, F_OK, 0) == 0;                     \
        return opened(real(path, flags, mode), path, flags, was_there);              \
    }
OPEN(open)
OPEN(open64)

int close(int fd) {
    REAL(close);
    if (!watched(fd)) return real(fd);
    names[fd][0] = 0;
    int failed = fails(), result = real(fd);
    if (failed) errno = fail_with;
    return failed ? -1 : result;
}

ssize_t read(int fd, void *to, size_t n) { REAL(read); if (watched(fd)) FAILS(-1); return real(fd, to, n); }

ssize_t write(int fd, const void *from, size_t n) {
    REAL(write);
    if (fd == 1 && record >= 0) note('s', "", from, n); /* what is said */
    if (!watched(fd)) return real(fd, from, n);
    if (fails()) { /* half of it may have been written */
        int error = errno;
        if (n > 1 && real(fd, from, n / 2) < 0) error = errno;
        errno = error;
        return -1;
    }
    ssize_t done = real(fd, from, n);
    if (done > 0) note('w', names[fd], from, done);
    return done;
}

int fsync(int fd) {
    REAL(fsync);
    if (!watched(fd)) return real(fd);
    FAILS(-1);
    note('f', names[fd], 0, 0);
    return real(fd);
}

int rename(const char *from, const char *to) {
    REAL(rename);
    if (!inside(from)) return real(from, to);
    FAILS(-1);
    int result = real(from, to);
    if (!result) note('r', from, to, strlen(to));
    return result;
}

int unlink(const char *path) {
    REAL(unlink);
    if (!inside(path)) return real(path);
    FAILS(-1);
    int result = real(path);
    if (!result) note('u', path, 0, 0);
    return result;
}

int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    if (!inside(path)) return real(path, mode);
    FAILS(-1);
    int result = real(path, mode);
    if (!result) note('m', path, 0, 0);
    return result;
}

#define STAT(name)                                                                                       \
    int name(const char *path, struct stat64 *to) { REAL(name); if (inside(path)) FAILS(-1); return real(path, to); }
STAT(stat64)
STAT(lstat64)

int fstat64(int fd, struct stat64 *to) { REAL(fstat64); if (watched(fd)) FAILS(-1); return real(fd, to); }
off64_t lseek64(int fd, off64_t to, int how) { REAL(lseek64); if (watched(fd)) FAILS(-1); return real(fd, to, how); }
int flock(int fd, int how) { REAL(flock); if (watched(fd)) FAILS(-1); return real(fd, how); }
DIR *opendir(const char *path) { REAL(opendir); if (inside(path)) FAILS(0); return real(path); }
