/* The airbag: a library preloaded into every process of a guarded run.
 *
 * Covers: the start. The functions behind ours are found (another allocator may stand behind us); in a Python
 * interpreter with a sound guard file, that file is mapped, a slot in it taken, and the guard is on from then.
 * Does not cover: processes that are not Python interpreters when they start, statically linked programs.
 *
 * Nothing is printed and nothing fails: without all this, every call passes straight through.
 */
#define _GNU_SOURCE
#include "airbag.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static struct guard nobody = {.left = INT64_MAX};
struct guard *guard = &nobody;
bool guarded;
uint32_t level_of_process;
pid_t own_pid;
enum size_from size_from;

#ifdef AIRBAG_PREFIX
void find_real_functions(void)
{
    real = (struct real_functions){malloc, calloc, realloc, free, posix_memalign, aligned_alloc, memalign, valloc,
                                   pvalloc, malloc_usable_size, mmap, munmap, system_mremap, madvise};
}
#else
static void find(void *slot, const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (function != NULL)
        memcpy(slot, &function, sizeof function);
}

void find_real_functions(void)
{
    static _Atomic bool finding;
    int before = errno;
    if (atomic_exchange(&finding, true))
        return;
    find(&real.malloc, "malloc");
    find(&real.calloc, "calloc");
    find(&real.realloc, "realloc");
    find(&real.posix_memalign, "posix_memalign");
    find(&real.aligned_alloc, "aligned_alloc");
    find(&real.memalign, "memalign");
    find(&real.valloc, "valloc");
    find(&real.pvalloc, "pvalloc");
    find(&real.malloc_usable_size, "malloc_usable_size");
    find(&real.mmap, "mmap");
    find(&real.munmap, "munmap");
    find(&real.mremap, "mremap");
    find(&real.madvise, "madvise");
    find(&real.free, "free");
    errno = before;
}
#endif

static bool is_in_libc(const void *function)
{
    Dl_info info;
    if (dladdr(function, &info) == 0 || info.dli_fname == NULL)
        return false;
    const char *slash = strrchr(info.dli_fname, '/');
    const char *name = slash != NULL ? slash + 1 : info.dli_fname;
    return strcmp(name, "libc.so.6") == 0 || strncmp(name, "libc-2.", 7) == 0;
}

/* glibc keeps a block's size in front of it, which is cheaper to read than to ask for. Valgrind replaces the functions
 * of glibc where they stand. */
static enum size_from how_to_learn_sizes(void)
{
    const char *preload = getenv("LD_PRELOAD");
    if (!is_in_libc((void *)real.malloc) || !is_in_libc((void *)real.free) ||
        (preload != NULL && strstr(preload, "/vgpreload_") != NULL))
        return SIZE_FROM_CALL;
    void *volatile sample = real.malloc(1000);
    bool as_expected = sample != NULL && (((size_t *)sample)[-1] & ~(size_t)7) == real.malloc_usable_size(sample) + 8;
    real.free(sample);
    return as_expected ? SIZE_FROM_HEADER : SIZE_FROM_CALL;
}

static struct guard *map_guard(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    void *mapping = MAP_FAILED;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
        status.st_size >= (off_t)GUARD_BYTES)
        mapping = system_mmap(NULL, GUARD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return mapping == MAP_FAILED ? NULL : mapping;
}

static struct guard *attach(const char *directory)
{
    char path[PATH_MAX];
    size_t length = strlen(directory);
    if (length == 0 || length + sizeof GUARD_FILE > sizeof path)
        return NULL;
    memcpy(path, directory, length);
    memcpy(path + length, GUARD_FILE, sizeof GUARD_FILE);
    struct guard *found = map_guard(path);
    if (found == NULL)
        return NULL;
    if (memcmp(found->magic, GUARD_MAGIC, sizeof found->magic) == 0 && found->version == GUARD_VERSION)
        return found;
    system_munmap(found, GUARD_BYTES);
    return NULL;
}

void *ENTRY(malloc)(size_t size);

static bool calls_reach_us(void) { return dlsym(RTLD_DEFAULT, "malloc") == (void *)ENTRY(malloc); }

static void begin(const char *directory)
{
    if (!caller_start())
        return;
    struct guard *found = attach(directory);
    if (found == NULL)
        return;
    refusal_start();
    fork_start();
    guard = found;
    own_pid = getpid();
    slot_take();
    level_of_process = calls_reach_us() ? LEVEL_REACHED : 0;
    slot_mark(LEVEL_LOADED | level_of_process, 0);
    guarded = true;
}

/* Another preloaded allocator may look for its own next functions with dlsym when it is first called. It must do so
 * before a symbol is not found (below): the message about that is freed by the next dlsym, from within. */
static void wake_next_allocator(void)
{
    void *volatile block = real.malloc(16);
    block = real.realloc(block, 32);
    real.free(block);
    block = real.calloc(1, 16);
    real.free(block);
}

__attribute__((constructor)) static void start(void)
{
    int before = errno;
    find_real_functions();
    wake_next_allocator();
    size_from = how_to_learn_sizes();
    const char *directory = secure_getenv("CRASHCART_RECORDING");
    if (directory != NULL)
        begin(directory);
    dlerror(); /* what we looked for in vain is not the program's error */
    errno = before;
}
