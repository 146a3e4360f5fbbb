/* Calls that come before the functions behind ours are known: most find them first, and then go there. The calls that
 * the very search makes (older dlsym allocates) get memory from a small buffer, recognised by its address ever after.
 */
#define _GNU_SOURCE
#include "airbag.h"

#include <errno.h>
#include <string.h>

#define EARLY_BYTES (64 * KIB)
#define EARLY_HEADER 16

static _Alignas(16) unsigned char buffer[EARLY_BYTES];
static _Atomic size_t used_bytes;

bool early_owns(const void *block) { return (uintptr_t)block - (uintptr_t)buffer < EARLY_BYTES; }

struct header {
    size_t bytes;
    size_t as_of_glibc; /* where glibc has a block's size: a very large one, so that free looks closer */
};

_Static_assert(sizeof(struct header) == EARLY_HEADER, "a header keeps the alignment");

static struct header *header_of(const void *block) { return (struct header *)((uintptr_t)block - EARLY_HEADER); }

size_t early_usable(const void *block) { return header_of(block)->bytes; }

void *early_allocate(size_t size, size_t alignment)
{
    if (alignment < EARLY_HEADER)
        alignment = EARLY_HEADER;
    if (size > EARLY_BYTES || alignment > EARLY_BYTES)
        return NULL;
    size_t room = EARLY_HEADER + alignment + ((size + 15) & ~(size_t)15);
    size_t at = atomic_fetch_add(&used_bytes, room);
    if (at > EARLY_BYTES || room > EARLY_BYTES - at)
        return NULL;
    uintptr_t block = ((uintptr_t)buffer + at + EARLY_HEADER + alignment - 1) & ~(alignment - 1);
    *header_of((void *)block) = (struct header){size, SIZE_MAX};
    return (void *)block;
}

/* Whether the search for the functions has put another one in place. */
#define FOUND(name) (find_real_functions(), real.name != early_functions.name)

static void *early_or_no_memory(size_t size, size_t alignment)
{
    void *block = early_allocate(size, alignment);
    if (block == NULL)
        errno = ENOMEM;
    return block;
}

static void *early_malloc(size_t size) { return FOUND(malloc) ? real.malloc(size) : early_or_no_memory(size, 0); }

static void *early_calloc(size_t count, size_t size)
{
    if (FOUND(calloc))
        return real.calloc(count, size);
    return size != 0 && count > EARLY_BYTES / size ? NULL : early_or_no_memory(count * size, 0); /* still zero */
}

static void *early_realloc(void *block, size_t size)
{
    if (FOUND(realloc))
        return real.realloc(block, size);
    void *other = early_or_no_memory(size, 0);
    if (other != NULL && early_owns(block))
        memcpy(other, block, size < early_usable(block) ? size : early_usable(block));
    return other;
}

static void early_free(void *block)
{
    if (FOUND(free))
        real.free(block);
}

static int early_posix_memalign(void **block, size_t alignment, size_t size)
{
    if (FOUND(posix_memalign))
        return real.posix_memalign(block, alignment, size);
    *block = early_allocate(size, alignment);
    return *block != NULL ? 0 : ENOMEM;
}

static void *early_aligned_alloc(size_t alignment, size_t size)
{
    return FOUND(aligned_alloc) ? real.aligned_alloc(alignment, size) : early_or_no_memory(size, alignment);
}

static void *early_memalign(size_t alignment, size_t size)
{
    return FOUND(memalign) ? real.memalign(alignment, size) : early_or_no_memory(size, alignment);
}

static void *early_valloc(size_t size) { return FOUND(valloc) ? real.valloc(size) : early_or_no_memory(size, 4096); }

static void *early_pvalloc(size_t size) { return FOUND(pvalloc) ? real.pvalloc(size) : early_or_no_memory(size, 4096); }

static size_t early_usable_size(void *block) { return FOUND(malloc_usable_size) ? real.malloc_usable_size(block) : 0; }

/* The mappings can always be had from the system itself. */
#define EARLY_FUNCTIONS                                                                                               \
    {                                                                                                                  \
        .malloc = early_malloc, .calloc = early_calloc, .realloc = early_realloc,                                      \
        .free = early_free, .posix_memalign = early_posix_memalign, .aligned_alloc = early_aligned_alloc,              \
        .memalign = early_memalign, .valloc = early_valloc, .pvalloc = early_pvalloc,                                  \
        .malloc_usable_size = early_usable_size, .mmap = system_mmap, .munmap = system_munmap,                         \
        .mremap = system_mremap, .madvise = system_madvise,                                                            \
    }

const struct real_functions early_functions = EARLY_FUNCTIONS;
struct real_functions real = EARLY_FUNCTIONS; /* until the others are found */
