/* fork: a child's own copy of the airbag. A shared mapping stays shared over a fork; private memory must not.
 *
 * Covers: the child copies what is in use to a file of its own and maps that over the same addresses; the parent's
 * forking thread waits until it has. It holds the lock, so nothing is given out or back meanwhile, and in Python the
 * GIL, so no object changes. A child that gets no file gets private memory.
 * Does not cover: vfork and posix_spawn, whose children run no handlers and only exec; children of a raw clone, which
 * leave the airbag alone (pool_is_ours); other threads of the parent that write to the airbag during the copy without
 * any lock that the forking thread holds.
 */
#define _GNU_SOURCE
#include "airbag.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define COPY_WAIT_AT_MOST_MS 60000 /* only where there is no pipe, which would tell of the child's death */

static struct {
    bool ours;              /* the parent has an airbag of its own, or none yet */
    bool copying;
    int ends[2];            /* a pipe: its end of file says that the child is ready, or dead */
    _Atomic uint32_t *done; /* where there was no pipe */
} news;

static size_t page_count(void) { return pool.top * (UNIT / page_bytes()); }

static void *at(size_t offset) { return (void *)(pool.base + offset); }

typedef bool on_run(size_t offset, size_t end, bool sparse, int fd);

static bool for_all_runs(on_run *act, int fd)
{
    size_t page = 0, end = page_count();
    bool sparse;
    for (; pool_next_run(&page, &end, &sparse); page = end, end = page_count())
        if (!act(page * page_bytes(), end * page_bytes(), sparse, fd))
            return false;
    return true;
}

/* ---- to a file ---- */

static bool write_range(int fd, size_t offset, size_t end)
{
    while (offset < end) {
        ssize_t written = (ssize_t)syscall(SYS_pwrite64, fd, at(offset), end - offset, offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        offset += (size_t)written;
    }
    return true;
}

/* Only what was ever written: the rest reads zero in the copy as well. */
static bool copy_data(int fd, size_t offset, size_t end)
{
    int from = file_descriptor();
    while (offset < end) {
        off_t data = from >= 0 ? lseek(from, (off_t)offset, SEEK_DATA) : (off_t)offset;
        if ((data < 0 && errno == ENXIO) || data >= (off_t)end)
            return true;
        off_t hole = from >= 0 && data >= 0 ? lseek(from, data, SEEK_HOLE) : (off_t)end;
        size_t start = data >= 0 ? (size_t)data : offset;
        size_t stop = hole > data && hole < (off_t)end ? (size_t)hole : end;
        if (!write_range(fd, start, stop))
            return false;
        offset = stop;
    }
    return true;
}

static bool copy_run(size_t offset, size_t end, bool sparse, int fd)
{
    if (!sparse && syscall(SYS_fallocate, fd, FALLOC_FL_KEEP_SIZE, offset, end - offset) != 0 && errno != EOPNOTSUPP)
        return false;
    system_mprotect(at(offset), end - offset, PROT_READ | PROT_WRITE);
    return copy_data(fd, offset, end);
}

static bool open_run(size_t offset, size_t end, bool sparse, int fd)
{
    (void)sparse, (void)fd;
    return system_mprotect(at(offset), end - offset, PROT_READ | PROT_WRITE) == 0;
}

static bool copy_to_file(int fd)
{
    const int flags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED;
    if (!file_has_room(fd, pool.used_units * UNIT) || !for_all_runs(copy_run, fd) ||
        system_mmap(at(0), pool.span_bytes, PROT_NONE, flags, fd, 0) == MAP_FAILED)
        return false;
    for_all_runs(open_run, fd);
    file_close();
    file_adopt(fd);
    return true;
}

static bool move_to_own_file(void)
{
    size_t bytes = pool.span_bytes;
    int fd = file_open(&bytes);
    if (fd < 0)
        return false;
    if (bytes == pool.span_bytes && copy_to_file(fd))
        return true;
    system_close(fd);
    return false;
}

/* ---- to private memory ---- */

static bool move_run(size_t offset, size_t end, bool sparse, int fd)
{
    (void)sparse;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    size_t bytes = end - offset;
    system_mprotect(at(offset), bytes, PROT_READ | PROT_WRITE);
    void *copy = system_mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (copy != MAP_FAILED) {
        memcpy(copy, at(offset), bytes);
        system_mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at(offset));
    } else if (fd >= 0) { /* the last resort: what the child writes is its own, if not all that it reads */
        system_mmap(at(offset), bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, (off_t)offset);
    }
    return true;
}

static void move_to_private_memory(void)
{
    for_all_runs(move_run, file_descriptor());
    file_close();
    pool.closed = true;
    pool.open = false;
}

/* ---- the handlers ---- */

static void prepare(void)
{
    pool_lock();
    pool_forking = true;
    news.ours = pool_is_ours();
    news.copying = pool.used_units > 0 && news.ours;
    if (!news.copying || pipe2(news.ends, O_CLOEXEC) == 0)
        return;
    news.ends[0] = news.ends[1] = -1;
    void *word = system_mmap(NULL, page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    news.done = word != MAP_FAILED ? word : NULL;
}

static void resume(void)
{
    pool_forking = false;
    pool_unlock();
}

static void wait_for_end_of_file(void)
{
    char byte;
    system_close(news.ends[1]);
    while (syscall(SYS_read, news.ends[0], &byte, 1) < 0 && errno == EINTR)
        ;
    system_close(news.ends[0]);
}

static void wait_for_word(void)
{
    for (int waited_ms = 0; atomic_load(news.done) == 0 && waited_ms < COPY_WAIT_AT_MOST_MS; waited_ms++)
        system_pause_ms(1);
    system_munmap((void *)news.done, page_bytes());
    news.done = NULL;
}

static void in_parent(void)
{
    int before = errno;
    if (news.copying && news.ends[0] >= 0)
        wait_for_end_of_file();
    else if (news.copying && news.done != NULL)
        wait_for_word();
    resume();
    errno = before;
}

static void tell_parent(void)
{
    if (news.ends[0] >= 0) {
        system_close(news.ends[0]);
        system_close(news.ends[1]);
    } else if (news.done != NULL) {
        atomic_store(news.done, 1);
    }
    news.done = NULL;
}

static void take_own_copy(void)
{
    if (move_to_own_file())
        airbag_count_copy(pool.used_units * UNIT, pool_sparse_bytes());
    else
        move_to_private_memory();
    tell_parent();
}

static void in_child(void)
{
    int before = errno;
    bool was_in_use = news.copying, was_ours = news.ours;
    if (was_ours)
        own_pid = getpid();
    slot_take();
    slot_mark(LEVEL_LOADED | level_of_process | (was_in_use ? LEVEL_IN_USE : 0), 0);
    if (was_in_use) {
        take_own_copy();
    } else if (was_ours && !pool.closed) { /* the parent's reservation, a file of its own when it needs one */
        file_close();
        pool.open = false;
    }
    resume();
    errno = before;
}

void fork_start(void) { pthread_atfork(prepare, in_parent, in_child); }
