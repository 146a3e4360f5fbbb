/* The interposed malloc family.
 *
 * A small block, not squeezed, costs one load through the guard's pointer and a jump to the real function. A freed block
 * is looked at: it may be one of the airbag's, or a large one that gives its bytes back to the budget.
 *
 * Does not cover: blocks that are allocated or freed past the C library's public names.
 */
#define _GNU_SOURCE
#include "airbag.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

static inline bool passes(size_t size) { return size < NEARLY_LARGE && !squeezed(); }

static inline bool is_power_of_two(size_t number) { return number != 0 && (number & (number - 1)) == 0; }

/* Whether the block is a small one of the real allocator. With glibc that takes no call; blocks of early.c have a large
 * size in front of them there. */
static inline bool is_plain(void *block)
{
    return size_from == SIZE_FROM_HEADER && !pool_owns(block) && ((size_t *)block)[-1] < LARGE;
}

COLD static bool is_plain_by_call(void *block)
{
    return size_from != SIZE_FROM_HEADER && !pool_owns(block) && !early_owns(block) &&
           (size_from == SIZE_UNKNOWN || real.malloc_usable_size(block) < LARGE);
}

COLD static void free_carefully(void *block)
{
    if (is_plain_by_call(block))
        real.free(block);
    else
        release_block(block);
}

COLD static void *realloc_carefully(void *block, size_t size, const void *caller)
{
    if (passes(size) && is_plain_by_call(block))
        return real.realloc(block, size);
    return reallocate(block, size, caller);
}

EXPORT void *ENTRY(malloc)(size_t size)
{
    if (passes(size))
        return real.malloc(size);
    return allocate(&(struct request){MALLOC, size, 0, CALLER});
}

EXPORT void *ENTRY(calloc)(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || passes(bytes))
        return real.calloc(count, size);
    return allocate(&(struct request){CALLOC, bytes, 0, CALLER});
}

EXPORT void ENTRY(free)(void *block)
{
    if (block == NULL)
        return;
    if (is_plain(block))
        real.free(block);
    else
        free_carefully(block);
}

EXPORT void *ENTRY(realloc)(void *block, size_t size)
{
    if (block == NULL && passes(size))
        return real.malloc(size);
    if (block == NULL)
        return allocate(&(struct request){MALLOC, size, 0, CALLER});
    if (passes(size) && is_plain(block))
        return real.realloc(block, size);
    return realloc_carefully(block, size, CALLER);
}

EXPORT void *ENTRY(reallocarray)(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    if (block == NULL)
        return allocate(&(struct request){MALLOC, bytes, 0, CALLER});
    return reallocate(block, bytes, CALLER);
}

EXPORT int ENTRY(posix_memalign)(void **block, size_t alignment, size_t size)
{
    if (passes(size) || !is_power_of_two(alignment) || alignment % sizeof(void *) != 0)
        return real.posix_memalign(block, alignment, size);
    int before = errno;
    void *found = allocate(&(struct request){POSIX_MEMALIGN, size, alignment, CALLER});
    int error = errno;
    errno = before;
    if (found == NULL)
        return error;
    *block = found;
    return 0;
}

EXPORT void *ENTRY(aligned_alloc)(size_t alignment, size_t size)
{
    if (passes(size) || !is_power_of_two(alignment))
        return real.aligned_alloc(alignment, size);
    return allocate(&(struct request){ALIGNED_ALLOC, size, alignment, CALLER});
}

EXPORT void *ENTRY(memalign)(size_t alignment, size_t size)
{
    if (passes(size) || !is_power_of_two(alignment))
        return real.memalign(alignment, size);
    return allocate(&(struct request){MEMALIGN, size, alignment, CALLER});
}

EXPORT void *ENTRY(valloc)(size_t size)
{
    if (passes(size))
        return real.valloc(size);
    return allocate(&(struct request){VALLOC, size, page_bytes(), CALLER});
}

EXPORT void *ENTRY(pvalloc)(size_t size)
{
    size_t page = page_bytes();
    if (passes(size) || size > SIZE_MAX - page)
        return real.pvalloc(size);
    return allocate(&(struct request){PVALLOC, (size + page - 1) & ~(page - 1), page, CALLER});
}

EXPORT size_t ENTRY(malloc_usable_size)(void *block)
{
    if (RARE(pool_owns(block)))
        return pool_usable(block);
    return RARE(early_owns(block)) ? early_usable(block) : real.malloc_usable_size(block);
}
