/* Counts calls of malloc and passes them on: stands for any other preloaded allocator. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

static void *(*next_malloc)(size_t);
static atomic_int count;

void *malloc(size_t size) {
    if (!next_malloc)
        next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    atomic_fetch_add(&count, 1);
    return next_malloc(size);
}

int counted_allocations(void) { return atomic_load(&count); }
