/* System calls made directly: the C library's functions are cancellation points, which an allocation must not be, or are
 * interposed by ourselves.
 */
#define _GNU_SOURCE
#include "airbag.h"

#include <sys/mman.h>

void *system_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}

int system_munmap(void *address, size_t bytes) { return (int)syscall(SYS_munmap, address, bytes); }

int system_madvise(void *address, size_t bytes, int advice) { return (int)syscall(SYS_madvise, address, bytes, advice); }

void *system_mremap(void *address, size_t bytes, size_t new_bytes, int flags, void *new_address)
{
    return (void *)syscall(SYS_mremap, address, bytes, new_bytes, flags, new_address);
}

int system_mprotect(void *address, size_t bytes, int protection)
{
    return (int)syscall(SYS_mprotect, address, bytes, protection);
}

void system_close(int fd) { syscall(SYS_close, fd); }

void system_pause_ms(int ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    syscall(SYS_nanosleep, &pause, NULL);
}
