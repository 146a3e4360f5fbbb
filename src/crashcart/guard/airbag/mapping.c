/* The interposed mmap family.
 *
 * Covers: large anonymous private mappings (allocators' and the interpreter's arenas), which come from the airbag when
 * over budget or squeezed, and whatever is done with any part of such a mapping afterwards.
 * Does not cover: mappings of files, at a fixed address, or with any special wish; they pass. No mapping is refused.
 * A mapping's bytes are taken off the budget and never given back: the watcher's next sample corrects that.
 */
#define _GNU_SOURCE
#include "airbag.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#define PLAIN (MAP_PRIVATE | MAP_ANONYMOUS)
#define IGNORED (MAP_POPULATE | MAP_NONBLOCK)
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

struct range {
    uintptr_t start, end;
};

static size_t whole_pages(size_t bytes) { return (bytes + page_bytes() - 1) & ~(page_bytes() - 1); }

/* The part of the range that is the airbag's. */
static struct range airbag_part(const void *address, size_t bytes)
{
    size_t span = atomic_load(&pool.span_bytes); /* it is set last */
    uintptr_t base = pool.base, end = base + span;
    uintptr_t start = (uintptr_t)address, stop = start + whole_pages(bytes);
    if (span == 0 || stop < start || start >= end || stop <= base)
        return (struct range){0, 0};
    return (struct range){start > base ? start : base, stop < end ? stop : end};
}

static void *map_airbag(size_t bytes, const void *caller)
{
    return pool_allocate(&(struct wish){.bytes = whole_pages(bytes),
                                        .kind = UNIT_MAPPED,
                                        .zero = true,
                                        .by_python = caller_is_python(caller)});
}

static void *map_memory(size_t bytes, int flags, const void *caller)
{
    int before = errno;
    void *mapping = NULL;
    if (bytes <= PTRDIFF_MAX && (is_squeezed_now() || !(budget_take(bytes) || budget_wait(bytes, true))))
        mapping = map_airbag(bytes, caller);
    errno = before;
    return mapping != NULL ? mapping : real.mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
}

static bool is_memory(const void *address, size_t bytes, int protection, int flags)
{
    return bytes >= LARGE && address == NULL && protection == (PROT_READ | PROT_WRITE) && (flags & ~IGNORED) == PLAIN;
}

/* A mapping at a fixed address that is the airbag's: the program knows what it does, the pages are its own now. */
COLD static void *map_over(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    void *mapping = real.mmap(address, bytes, protection, flags, fd, offset);
    struct range part = airbag_part(address, bytes);
    if (mapping != MAP_FAILED && part.end > part.start)
        pool_lose(part.start, part.end);
    return mapping;
}

static inline void *map(void *address, size_t bytes, int protection, int flags, int fd, off_t offset, const void *caller)
{
    if (RARE(guarded && is_memory(address, bytes, protection, flags)))
        return map_memory(bytes, flags, caller);
    if (RARE((flags & MAP_FIXED) != 0 && pool.span_bytes != 0))
        return map_over(address, bytes, protection, flags, fd, offset);
    return real.mmap(address, bytes, protection, flags, fd, offset);
}

EXPORT void *ENTRY(mmap)(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return map(address, bytes, protection, flags, fd, offset, CALLER);
}

EXPORT void *ENTRY(mmap64)(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return map(address, bytes, protection, flags, fd, offset, CALLER);
}

/* Do to the parts outside of the airbag what was asked for. */
static int outside(void *address, size_t bytes, struct range part, int (*act)(void *, size_t, int), int argument)
{
    uintptr_t start = (uintptr_t)address, end = start + whole_pages(bytes);
    int before = start < part.start ? act(address, part.start - start, argument) : 0;
    int after = end > part.end ? act((void *)part.end, end - part.end, argument) : 0;
    return before != 0 ? before : after;
}

static int unmap_real(void *address, size_t bytes, int unused)
{
    (void)unused;
    return real.munmap(address, bytes);
}

COLD static int unmap_airbag(void *address, size_t bytes, struct range part)
{
    int before = errno;
    pool_unmap(part.start, part.end);
    errno = before;
    return outside(address, bytes, part, unmap_real, 0);
}

static bool is_aligned(const void *address) { return (uintptr_t)address % page_bytes() == 0; }

EXPORT int ENTRY(munmap)(void *address, size_t bytes)
{
    struct range part = airbag_part(address, bytes);
    if (RARE(part.end > part.start) && is_aligned(address))
        return unmap_airbag(address, bytes, part);
    return real.munmap(address, bytes);
}

/* Callers rely on the zeroes that MADV_DONTNEED leaves in private memory; in a shared mapping it would leave the
 * content. */
COLD static int forget(void *address, size_t bytes, struct range part, int advice)
{
    int before = errno;
    pool_clear(part.start, part.end);
    errno = before;
    return outside(address, bytes, part, real.madvise, advice);
}

EXPORT int ENTRY(madvise)(void *address, size_t bytes, int advice)
{
    struct range part = airbag_part(address, bytes);
    if (RARE(part.end > part.start) && is_aligned(address) && (advice == MADV_DONTNEED || advice == MADV_FREE))
        return forget(address, bytes, part, advice);
    /* NumPy asks for huge pages: on a disk, each touch would then write 2 MiB. */
    if (RARE(part.end > part.start) && advice == MADV_HUGEPAGE)
        return 0;
    return real.madvise(address, bytes, advice);
}

static void *fail(int error)
{
    errno = error;
    return MAP_FAILED;
}

static void *remap_to(void *old, size_t bytes, void *target, size_t new_bytes)
{
    if (target == MAP_FAILED)
        return MAP_FAILED;
    memcpy(target, old, bytes < new_bytes ? bytes : new_bytes);
    pool_unmap((uintptr_t)old, (uintptr_t)old + bytes);
    return target;
}

static void *remap_fixed(void *old, size_t bytes, size_t new_bytes, void *target)
{
    struct range part = airbag_part(target, new_bytes);
    if (part.end > part.start || !is_aligned(target))
        return fail(EINVAL);
    return remap_to(old, bytes, real.mmap(target, new_bytes, PROT_READ | PROT_WRITE, PLAIN | MAP_FIXED, -1, 0), new_bytes);
}

/* A mapping of the airbag does not grow in place: it moves, back to memory where the budget allows. */
COLD static void *remap_airbag(void *old, size_t bytes, size_t new_bytes, int flags, void *target, const void *caller)
{
    uintptr_t start = (uintptr_t)old;
    bytes = whole_pages(bytes), new_bytes = whole_pages(new_bytes);
    if (!is_aligned(old) || bytes == 0 || new_bytes == 0 || (flags & MREMAP_DONTUNMAP) != 0)
        return fail(EINVAL);
    if (!pool_is_live(start, start + bytes))
        return fail(EFAULT);
    if ((flags & MREMAP_FIXED) != 0)
        return remap_fixed(old, bytes, new_bytes, target);
    if (new_bytes < bytes)
        pool_unmap(start + new_bytes, start + bytes);
    if (new_bytes <= bytes)
        return old;
    if ((flags & MREMAP_MAYMOVE) == 0)
        return fail(ENOMEM);
    return remap_to(old, bytes, map_memory(new_bytes, PLAIN, caller), new_bytes);
}

EXPORT void *ENTRY(mremap)(void *old, size_t bytes, size_t new_bytes, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    void *target = (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) != 0 ? va_arg(arguments, void *) : NULL;
    va_end(arguments);
    struct range part = airbag_part(old, bytes);
    if (RARE(part.end > part.start))
        return remap_airbag(old, bytes, new_bytes, flags, target, CALLER);
    return real.mremap(old, bytes, new_bytes, flags, target);
}
