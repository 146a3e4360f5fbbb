/* The airbag's file: unlinked from its birth, so that it is gone with the process, however that ends.
 *
 * Covers: opening it on a real disk, setting disk space aside (a full disk must never become a SIGBUS), punching holes.
 * The program may close our descriptor and open a file of its own under the number: before each use, a look whether it
 * is still ours. Does not cover: the mapping of the file.
 */
#define _GNU_SOURCE
#include "airbag.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#define DESCRIPTOR_FROM 700 /* out of the way of programs that count on low numbers */
#define NAMES_TRIED 16

static int own_fd = -1;
static dev_t own_device;
static ino_t own_inode;

/* File systems that are memory, that are far away or served by another process, or that cannot hold a hole. */
static const uint32_t unfit[] = {
    0x01021994, /* tmpfs */      0x858458f6, /* ramfs */ 0x958458f6, /* hugetlbfs */ 0x6969,     /* nfs */
    0xff534d42, /* cifs */       0xfe534d42, /* smb2 */  0x517b,     /* smb */       0x564c,     /* ncp */
    0x01021997, /* 9p */         0x65735546, /* fuse */  0x00c36400, /* ceph */      0x0bd00bd0, /* lustre */
    0x5346414f, /* afs */        0x6b414653, /* kafs */  0x73757245, /* coda */      0x19830326, /* fhgfs */
    0x47504653, /* gpfs */       0x4d44,     /* vfat */  0x2011bab0, /* exfat */
};

static bool is_fit(int fd)
{
    struct statfs about;
    if (fstatfs(fd, &about) != 0)
        return false;
    for (size_t i = 0; i < sizeof unfit / sizeof unfit[0]; i++)
        if ((uint32_t)about.f_type == unfit[i]) {
            errno = EOPNOTSUPP;
            return false;
        }
    return true;
}

/* A program may want to make code of memory that it was given. */
static bool allows_code(int fd)
{
    struct statvfs about;
    return fstatvfs(fd, &about) == 0 && (about.f_flag & ST_NOEXEC) == 0;
}

static int open_at(const char *path, int flags) { return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600); }

static bool copy_directory(char directory[DIRECTORY_BYTES])
{
    memcpy(directory, guard->directory, DIRECTORY_BYTES);
    directory[DIRECTORY_BYTES - 1] = '\0';
    errno = ENOENT;
    return directory[0] != '\0';
}

/* For file systems without files that have no name. */
static int open_and_unlink(const char *directory)
{
    static char path[DIRECTORY_BYTES + 64]; /* not on the small stack of a thread; the pool's lock is held */
    for (int i = 0; i < NAMES_TRIED; i++) {
        snprintf(path, sizeof path, "%s/.crashcart-airbag-%d-%llx", directory, (int)getpid(),
                 (unsigned long long)now_ns());
        int fd = open_at(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW);
        if (fd >= 0)
            unlink(path);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static int open_nameless(const char *directory)
{
    int fd = open_at(directory, O_RDWR | O_TMPFILE);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    return open_and_unlink(directory);
}

static int out_of_the_way(int fd)
{
    int moved = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, DESCRIPTOR_FROM);
    if (moved < 0)
        return fd;
    system_close(fd);
    return moved;
}

/* A longer file than the process may write would bring a signal. */
static bool set_size(int fd, size_t *bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < *bytes)
        *bytes = limit.rlim_cur & ~(2 * MIB - 1);
    for (; *bytes >= 64 * MIB; *bytes = *bytes / 2 & ~(2 * MIB - 1))
        if (ftruncate(fd, (off_t)*bytes) == 0)
            return true;
    errno = EFBIG;
    return false;
}

int file_open(size_t *bytes)
{
    static char directory[DIRECTORY_BYTES];
    if (!copy_directory(directory))
        return -1;
    int fd = open_nameless(directory);
    if (fd < 0)
        return -1;
    if (is_fit(fd) && allows_code(fd) && set_size(fd, bytes))
        return out_of_the_way(fd);
    int error = errno;
    system_close(fd);
    errno = error;
    return -1;
}

void file_adopt(int fd)
{
    struct stat status;
    own_fd = -1;
    if (fstat(fd, &status) == 0)
        own_fd = fd, own_device = status.st_dev, own_inode = status.st_ino;
    slot_tell_descriptor(own_fd > 0 ? own_fd : 0);
}

int file_descriptor(void)
{
    struct stat status;
    if (own_fd < 0 || fstat(own_fd, &status) != 0 || status.st_dev != own_device || status.st_ino != own_inode)
        return -1;
    return own_fd;
}

void file_close(void)
{
    int fd = file_descriptor();
    if (fd >= 0)
        system_close(fd);
    own_fd = -1;
}

/* Whether the floor of free space remains with that many bytes more. */
bool file_has_room(int fd, size_t bytes)
{
    struct statvfs about;
    static char directory[DIRECTORY_BYTES];
    uint64_t floor = atomic_load(&guard->floor_bytes);
    if (fd >= 0 ? fstatvfs(fd, &about) != 0 : !copy_directory(directory) || statvfs(directory, &about) != 0)
        return fd < 0; /* the file is there, its directory is not */
    uint64_t free_bytes = (uint64_t)about.f_bavail * about.f_frsize;
    return free_bytes >= floor && free_bytes - floor >= bytes;
}

static int change(int fd, int mode, size_t offset, size_t bytes)
{
    int result;
    do
        result = (int)syscall(SYS_fallocate, fd, mode, offset, bytes);
    while (result != 0 && errno == EINTR);
    return result;
}

/* False where there is no room on the disk; not supported where that cannot be known beforehand. */
bool file_set_aside(size_t offset, size_t bytes, bool *supported)
{
    int fd = file_descriptor();
    *supported = fd >= 0;
    if (fd < 0 || change(fd, FALLOC_FL_KEEP_SIZE, offset, bytes) == 0)
        return true;
    *supported = errno != EOPNOTSUPP && errno != ENOSYS;
    if (*supported)
        file_punch(offset, bytes); /* what it got before it failed */
    return !*supported;
}

bool file_punch(size_t offset, size_t bytes)
{
    int fd = file_descriptor();
    return fd >= 0 && change(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes) == 0;
}

/* Zeroes, with the disk space still set aside. */
bool file_zero(size_t offset, size_t bytes)
{
    int fd = file_descriptor();
    return fd >= 0 && change(fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, offset, bytes) == 0;
}
