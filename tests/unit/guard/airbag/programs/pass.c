/* Another malloc library: it passes everything on, and offsets nothing; but it is not glibc's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

#define NEXT(type, name) static type; if (next == NULL) next = dlsym(RTLD_NEXT, name)

void *malloc(size_t size)
{
    NEXT(void *(*next)(size_t), "malloc");
    return next(size);
}

void *realloc(void *block, size_t size)
{
    NEXT(void *(*next)(void *, size_t), "realloc");
    return next(block, size);
}

void free(void *block)
{
    NEXT(void (*next)(void *), "free");
    next(block);
}
