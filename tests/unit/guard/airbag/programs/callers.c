/* A library that asks for memory under its own name (NAME is numpy or python). The executable exports what it calls. */
#include "guard_file.h"

#define JOIN_(one, other) one##_##other
#define JOIN(one, other) JOIN_(one, other)

/* Used after the call, so that the call is no jump. */
#define KEEP(call)                                                                                                     \
    void *volatile result = call;                                                                                      \
    return result

void *JOIN(NAME, malloc)(size_t size) { KEEP(A(malloc)(size)); }
void *JOIN(NAME, calloc)(size_t count, size_t size) { KEEP(A(calloc)(count, size)); }
void *JOIN(NAME, realloc)(void *block, size_t size) { KEEP(A(realloc)(block, size)); }
void *JOIN(NAME, mmap)(size_t bytes) { KEEP(A(mmap)(NULL, bytes, RW, PLAIN, -1, 0)); }

#ifdef IS_PYTHON
int Py_BytesMain(int count, char **arguments) { return count + (arguments != NULL); }
#endif
