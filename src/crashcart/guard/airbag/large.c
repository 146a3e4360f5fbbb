/* What the entry points of the malloc family leave to a slower path: large blocks, small ones while squeezed, and blocks
 * that are not the real allocator's.
 *
 * Covers: the budget for large blocks; over budget, a refusal for those who cope with it and the airbag for others.
 * Does not cover: small blocks outside of a squeeze. Small blocks are never refused.
 */
#define _GNU_SOURCE
#include "airbag.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* since Linux 5.14 */
#endif

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

static size_t real_bytes(void *block)
{
    size_t bytes = size_from == SIZE_FROM_HEADER ? ((size_t *)block)[-1] & ~(size_t)7 : real.malloc_usable_size(block);
    return size_from == SIZE_UNKNOWN ? 0 : bytes;
}

size_t large_bytes(void *block)
{
    size_t bytes = block != NULL ? real_bytes(block) : 0;
    return bytes >= LARGE ? bytes : 0;
}

static void *real_posix_memalign(const struct request *request)
{
    void *block = NULL;
    int error = real.posix_memalign(&block, request->alignment, request->size);
    if (error == 0)
        return block;
    errno = error;
    return NULL;
}

static void *real_allocate(const struct request *request)
{
    switch (request->function) {
    case MALLOC:
        return real.malloc(request->size);
    case CALLOC:
        return real.calloc(1, request->size);
    case POSIX_MEMALIGN:
        return real_posix_memalign(request);
    case ALIGNED_ALLOC:
        return real.aligned_alloc(request->alignment, request->size);
    case MEMALIGN:
        return real.memalign(request->alignment, request->size);
    case VALLOC:
        return real.valloc(request->size);
    default:
        return real.pvalloc(request->size);
    }
}

static void *counted(void *block, size_t taken)
{
    budget_correct((int64_t)taken, 0, (int64_t)large_bytes(block));
    return block;
}

static void *airbag_block(const struct request *request, bool sparse)
{
    return pool_allocate(&(struct wish){.bytes = request->size,
                                        .alignment = request->alignment,
                                        .kind = UNIT_FIRST,
                                        .sparse = sparse,
                                        .zero = request->function == CALLOC,
                                        .by_python = caller_is_python(request->caller)});
}

static void *allocate_small(const struct request *request)
{
    void *block = NULL;
    bool squeeze = is_squeezed_now();
    if (squeeze && request->size < NEARLY_LARGE && request->alignment <= 4096)
        block = small_allocate(request->size, request->alignment, request->caller);
    else if (squeeze)
        block = airbag_block(request, false);
    if (block == NULL)
        return counted(real_allocate(request), 0);
    if (request->function == CALLOC && request->size < NEARLY_LARGE)
        memset(block, 0, request->size);
    return block;
}

/* What the kernel itself would refuse (more than there can be) is refused by it, in its own time and words. */
static bool kernel_refuses(size_t size)
{
    void *probe = system_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (probe == MAP_FAILED)
        return true;
    system_munmap(probe, size);
    return false;
}

/* NumPy's zeros may never be touched: they get airbag memory that takes no disk space until they are. */
COLD static void *allocate_over_budget(const struct request *request)
{
    char who[WHO_BYTES];
    if (kernel_refuses(request->size))
        return real_allocate(request);
    enum caller caller = caller_of(request->caller, who);
    bool sparse = caller == CALLER_NUMPY && request->function == CALLOC;
    bool has_airbag = caller == CALLER_OTHER || sparse;
    if (budget_wait(request->size, has_airbag) ||
        (caller == CALLER_NUMPY && !sparse && collect_garbage() && budget_wait(request->size, has_airbag)))
        return counted(real_allocate(request), request->size);
    void *block = has_airbag ? airbag_block(request, sparse) : NULL;
    if (block != NULL)
        return block;
    if (caller == CALLER_OTHER && !pool_is_ours())
        return counted(real_allocate(request), 0);
    refuse(request->size, caller, who);
    return no_memory();
}

/* Near the limit, memory that was given out and is not yet touched would be given out twice: the watcher sees only what
 * is touched. Zeroes may be meant to stay untouched. */
static void touch_if_near(void *block, const struct request *request)
{
    if (block == NULL || request->function == CALLOC || atomic_load(&guard->left) >= atomic_load(&guard->dense_below) ||
        !is_guarded_now())
        return;
    uintptr_t page = page_bytes(), start = ((uintptr_t)block + page - 1) & ~(page - 1);
    uintptr_t end = ((uintptr_t)block + request->size) & ~(page - 1);
    if (end > start)
        system_madvise((void *)start, end - start, MADV_POPULATE_WRITE);
}

/* The last of the budget is for those who would be refused: native code gets its airbag a little earlier, since its own
 * code, which is page cache to the kernel, would be thrown out of memory first. */
COLD static void *allocate_beside_cushion(const struct request *request)
{
    char who[WHO_BYTES];
    return caller_of(request->caller, who) == CALLER_OTHER ? airbag_block(request, false) : NULL;
}

static void *allocate_large(const struct request *request)
{
    small_trim();
    void *aside = NULL;
    if (atomic_load(&guard->left) - (int64_t)request->size < atomic_load(&guard->cushion) && is_guarded_now())
        aside = allocate_beside_cushion(request);
    if (aside != NULL)
        return aside;
    if (!budget_take(request->size))
        return allocate_over_budget(request);
    void *block = counted(real_allocate(request), request->size);
    touch_if_near(block, request);
    return block;
}

void *allocate(const struct request *request)
{
    if (!guarded || request->size > PTRDIFF_MAX)
        return real_allocate(request);
    int before = errno;
    void *block = request->size < LARGE ? allocate_small(request) : allocate_large(request);
    if (block != NULL)
        errno = before;
    return block;
}

static void release_real(void *block)
{
    int64_t bytes = guarded ? (int64_t)large_bytes(block) : 0;
    real.free(block);
    budget_correct(0, bytes, 0);
}

void release_block(void *block)
{
    int before = errno;
    if (pool_owns(block))
        pool_free(block);
    else if (!early_owns(block))
        release_real(block);
    small_trim();
    errno = before;
}

/* To a block elsewhere, wherever that may be. The old one stays valid where there is none. */
static void *move_out(void *block, size_t bytes, size_t size, const void *caller)
{
    void *other = allocate(&(struct request){MALLOC, size, 0, caller});
    if (other == NULL)
        return NULL;
    memcpy(other, block, bytes < size ? bytes : size);
    release_block(block);
    return other;
}

static void *reallocate_airbag(void *block, size_t size, const void *caller)
{
    if (size == 0) {
        release_block(block);
        return NULL;
    }
    return pool_resize(block, size) != NULL ? block : move_out(block, pool_usable(block), size, caller);
}

/* The real function, which may free the block (size 0), leave it as it is (no memory), or give another. */
static void *reallocate_real(void *block, size_t size, int64_t taken)
{
    int64_t before = (int64_t)large_bytes(block);
    void *other = real.realloc(block, size);
    if (other != NULL || size == 0)
        budget_correct(taken, before, (int64_t)large_bytes(other));
    else
        budget_correct(taken, 0, 0);
    return other;
}

static void *to_airbag(void *block, void *target, size_t size)
{
    size_t bytes = real.malloc_usable_size(block);
    memcpy(target, block, bytes < size ? bytes : size);
    release_real(block);
    return target;
}

COLD static void *grow_over_budget(void *block, size_t size, size_t more, const void *caller)
{
    char who[WHO_BYTES];
    if (kernel_refuses(size))
        return real.realloc(block, size);
    enum caller kind = caller_of(caller, who);
    if (budget_wait(more, kind == CALLER_OTHER))
        return reallocate_real(block, size, (int64_t)more);
    void *target = kind == CALLER_OTHER ? airbag_block(&(struct request){MALLOC, size, 0, caller}, false) : NULL;
    if (target != NULL)
        return to_airbag(block, target, size);
    if (kind == CALLER_OTHER && !pool_is_ours())
        return reallocate_real(block, size, 0);
    refuse(size, kind, who);
    return no_memory();
}

static void *grow_large(void *block, size_t size, const void *caller)
{
    size_t counted_for = large_bytes(block);
    size_t more = size > counted_for ? size - counted_for : 0;
    if (more == 0 || budget_take(more))
        return reallocate_real(block, size, (int64_t)more);
    return grow_over_budget(block, size, more, caller);
}

static void *grow_squeezed(void *block, size_t size, const void *caller)
{
    void *target = small_allocate(size, 0, caller);
    return target != NULL ? to_airbag(block, target, size) : reallocate_real(block, size, 0);
}

void *reallocate(void *block, size_t size, const void *caller)
{
    int before = errno;
    void *other;
    if (pool_owns(block))
        other = reallocate_airbag(block, size, caller);
    else if (early_owns(block))
        other = move_out(block, early_usable(block), size, caller);
    else if (!guarded || size > PTRDIFF_MAX)
        other = real.realloc(block, size);
    else if (size >= LARGE)
        other = grow_large(block, size, caller);
    else if (squeezed() && is_guarded_now() && size < NEARLY_LARGE && size > real.malloc_usable_size(block))
        other = grow_squeezed(block, size, caller);
    else
        other = reallocate_real(block, size, 0);
    if (other != NULL)
        errno = before;
    return other;
}
