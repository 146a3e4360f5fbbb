/* Small blocks on the airbag, while the guard squeezes.
 *
 * Chunks of 1 MiB; in the current one, blocks are cut off one after the other, each behind a header of 16 bytes. A chunk
 * is given back when its last block is freed. Only the current chunk is kept for as long as the squeeze lasts: else a
 * program that frees what it allocates would pay for a chunk with each block.
 */
#define _GNU_SOURCE
#include "airbag.h"

#include <string.h>

#define CHUNK MIB
#define HEADER 16
#define UNITS_OF_CHUNK (CHUNK / UNIT)

struct chunk {
    size_t blocks;    /* in use */
    size_t cut_bytes; /* up to here it has been cut, this header included */
    size_t unused[6];
};

struct header {
    size_t bytes;
    size_t start; /* of what was cut for this block, from the chunk's beginning */
};

_Static_assert(sizeof(struct header) == HEADER, "a header keeps the alignment");

static struct chunk *current;
static _Atomic bool idle; /* the current chunk has no blocks */

static struct chunk *chunk_of(const void *block) { return (struct chunk *)((uintptr_t)block & ~(uintptr_t)(CHUNK - 1)); }

static struct header *header_of(const void *block) { return (struct header *)((uintptr_t)block - HEADER); }

static size_t rounded(size_t bytes) { return bytes < 16 ? 16 : (bytes + 15) & ~(size_t)15; }

size_t small_usable(const void *block) { return header_of(block)->bytes; }

static void *cut(struct chunk *chunk, size_t bytes, size_t alignment)
{
    uintptr_t base = (uintptr_t)chunk;
    uintptr_t block = (base + chunk->cut_bytes + HEADER + alignment - 1) & ~(uintptr_t)(alignment - 1);
    if (block + bytes > base + CHUNK)
        return NULL;
    *header_of((void *)block) = (struct header){bytes, chunk->cut_bytes};
    chunk->cut_bytes = block + bytes - base;
    chunk->blocks++;
    return (void *)block;
}

static void give_back(struct chunk *chunk)
{
    if (chunk == current)
        current = NULL;
    pool_free_units(((uintptr_t)chunk - pool.base) / UNIT, UNITS_OF_CHUNK);
}

static void begin_chunk(void)
{
    struct wish wish = {.bytes = CHUNK, .alignment = CHUNK, .kind = UNIT_SMALL, .zero = true};
    if (current != NULL && current->blocks == 0)
        give_back(current);
    current = pool_allocate_locked(&wish);
    if (current != NULL)
        *current = (struct chunk){.cut_bytes = sizeof(struct chunk)};
}

static void *allocate_locked(size_t bytes, size_t alignment)
{
    if (!pool_is_ours())
        return NULL;
    void *block = current != NULL ? cut(current, bytes, alignment) : NULL;
    if (block != NULL)
        return block;
    begin_chunk();
    return current != NULL ? cut(current, bytes, alignment) : NULL;
}

void *small_allocate(size_t size, size_t alignment, const void *caller)
{
    size_t bytes = rounded(size);
    pool_lock();
    void *block = allocate_locked(bytes, alignment < HEADER ? HEADER : alignment);
    if (block != NULL)
        idle = false;
    pool_unlock();
    if (block != NULL)
        airbag_count_served(bytes, caller_is_python(caller));
    return block;
}

static void free_locked(void *block)
{
    struct chunk *chunk = chunk_of(block);
    struct header *header = header_of(block);
    if ((uintptr_t)block + header->bytes == (uintptr_t)chunk + chunk->cut_bytes)
        chunk->cut_bytes = header->start;
    if (--chunk->blocks > 0)
        return;
    if (chunk == current && squeezed()) {
        chunk->cut_bytes = sizeof(struct chunk);
        idle = true;
    } else {
        give_back(chunk);
    }
}

void small_free(void *block)
{
    pool_lock();
    if (pool_is_ours())
        free_locked(block);
    pool_unlock();
}

/* The empty chunk that was kept for the squeeze. */
void small_trim(void)
{
    if (!atomic_load_explicit(&idle, memory_order_relaxed) || squeezed())
        return;
    pool_lock();
    if (current != NULL && current->blocks == 0 && pool_is_ours())
        give_back(current);
    idle = false;
    pool_unlock();
}

/* Where it is, if it is the last of its chunk or becomes smaller. */
static bool resize_locked(void *block, size_t bytes)
{
    struct chunk *chunk = chunk_of(block);
    struct header *header = header_of(block);
    uintptr_t end = (uintptr_t)chunk + chunk->cut_bytes;
    if (bytes <= header->bytes)
        return true;
    if ((uintptr_t)block + header->bytes != end || (uintptr_t)block + bytes > (uintptr_t)chunk + CHUNK)
        return false;
    header->bytes = bytes;
    chunk->cut_bytes = (uintptr_t)block + bytes - (uintptr_t)chunk;
    return true;
}

bool small_resize(void *block, size_t size)
{
    if (size >= NEARLY_LARGE)
        return false;
    pool_lock();
    bool resized = pool_is_ours() && resize_locked(block, rounded(size));
    pool_unlock();
    return resized;
}
