/* Who asked for the memory: the library that holds the return address.
 *
 * Covers: NumPy and the Python interpreter itself, which check for NULL and raise MemoryError; everybody else is an
 * other. Looked up only when the budget is exceeded; without locks of the loader where the C library offers that
 * (glibc 2.35), since the caller may hold the GIL and another thread may wait for it inside of dlopen.
 */
#define _GNU_SOURCE
#include "airbag.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#define NUMPY_PREFIX "_multiarray_umath"

static uintptr_t python_start, python_end;

/* The beginning of glibc's struct dl_find_object. */
struct found_object {
    unsigned long long flags;
    void *start, *end;
    struct link_map *map;
    void *unused[8];
};

static int (*find_object)(void *, struct found_object *);

static bool holds(const struct dl_phdr_info *info, uintptr_t address, uintptr_t *start, uintptr_t *end)
{
    bool inside = false;
    *start = UINTPTR_MAX, *end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, to = from + info->dlpi_phdr[i].p_memsz;
        inside = inside || (address >= from && address < to);
        *start = from < *start ? from : *start;
        *end = to > *end ? to : *end;
    }
    return inside;
}

static int remember_python(struct dl_phdr_info *info, size_t size, void *address)
{
    (void)size;
    uintptr_t start, end;
    if (!holds(info, (uintptr_t)address, &start, &end))
        return 0;
    python_start = start, python_end = end;
    return 1;
}

bool caller_start(void)
{
    void *interpreter = dlsym(RTLD_DEFAULT, "Py_BytesMain");
    if (interpreter == NULL)
        interpreter = dlsym(RTLD_DEFAULT, "Py_Main");
    if (interpreter == NULL)
        return false;
    void *function = dlsym(RTLD_DEFAULT, "_dl_find_object");
    memcpy(&find_object, &function, sizeof find_object);
    return dl_iterate_phdr(remember_python, interpreter) != 0;
}

bool caller_is_python(const void *address) { return (uintptr_t)address - python_start < python_end - python_start; }

static const char *path_of(const void *address)
{
    struct found_object found;
    Dl_info info;
    if (find_object != NULL)
        return find_object((void *)address, &found) == 0 ? found.map->l_name : NULL;
    return dladdr(address, &info) != 0 ? info.dli_fname : NULL;
}

static const char *name_of(const void *address)
{
    const char *path = path_of(address);
    if (path == NULL)
        return "?";
    if (path[0] == '\0') /* the program itself */
        return program_invocation_short_name;
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

enum caller caller_of(const void *address, char who[WHO_BYTES])
{
    const char *name = name_of(address);
    size_t length = strnlen(name, WHO_BYTES - 1);
    memset(who, 0, WHO_BYTES);
    memcpy(who, name, length);
    if (caller_is_python(address))
        return CALLER_PYTHON;
    return strncmp(name, NUMPY_PREFIX, strlen(NUMPY_PREFIX)) == 0 ? CALLER_NUMPY : CALLER_OTHER;
}
