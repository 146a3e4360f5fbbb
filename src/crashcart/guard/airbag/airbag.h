/* What the parts of the airbag share: the layout of the guard's file, and the functions between the parts.
 *
 * start.c    start: the functions behind ours, the guard's file, this process's slot
 * early.c    memory for the calls that come before the functions behind ours are known
 * blocks.c   the interposed malloc family
 * large.c    large blocks: within the budget, refused, or on the airbag
 * mapping.c  the interposed mmap family
 * budget.c   the budget word and the counters
 * caller.c   who asked
 * refusal.c  the record of a refusal, and the word to Python
 * pool.c     the airbag's memory: runs of units
 * file.c     the airbag's file on disk
 * small.c    small blocks on the airbag
 * fork.c     a child's own copy of the airbag
 * system.c   system calls
 *
 * A budget of bytes is kept by the watcher in a shared file. Large blocks are taken off it. Over budget, those who cope
 * with a refusal are refused, and all others get memory that is backed by a file on disk, which the kernel can write
 * out: the airbag. Without a sound file, and in any process but a Python interpreter, every call passes straight through.
 */
#ifndef CRASHCART_AIRBAG_H
#define CRASHCART_AIRBAG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* Hidden in declarations, too: reached without a detour over the table of global symbols. */
#pragma GCC visibility push(hidden)

#define EXPORT __attribute__((visibility("default")))
#define RARE(condition) __builtin_expect(!!(condition), 0)
#define COLD __attribute__((noinline, cold))
#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))

/* The interposed functions; under other names where a test links them beside a sanitizer's own. */
#ifdef AIRBAG_PREFIX
#define ENTRY(name) airbag_##name
#else
#define ENTRY(name) name
#endif

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

/* Blocks from here on are counted, and can be refused. */
#define LARGE (256 * KIB)
/* An allocator may give more than was asked for (jemalloc: up to a fifth), so that a block asked for as a small one may
 * have to be given back as a large one: from here on, a look at what was given. */
#define NEARLY_LARGE (128 * KIB)

/* The file <CRASHCART_RECORDING>/guard, little endian: a link to one in memory, so that no stalled disk stalls us, or the
 * file itself. The watcher creates it at its full size before the program starts; guard/shared.py holds the same offsets. */
#define GUARD_MAGIC "CCGUARD"
#define GUARD_VERSION 2
#define GUARD_FILE "/guard"
#define GUARD_BYTES (64 * KIB)
#define REFUSALS 16
#define SLOTS 512
#define DIRECTORY_BYTES 4096

enum { LEVEL_LOADED = 1, LEVEL_REACHED = 2, LEVEL_IN_USE = 4, LEVEL_FAILED = 8 };

struct refusal {
    _Atomic uint64_t number; /* counted from 1, written last */
    int64_t size_bytes;
    int64_t left_bytes;
    int64_t monotonic_ns;
    int32_t pid, tid;
    char who[24];
};

/* Only its process counts here, and only the watcher frees it, when that has ended: so what it held is taken back once. */
struct slot {
    _Atomic uint64_t owner; /* the process, and above it a number that is given once; 0: free, and all else is 0, too */
    _Atomic uint32_t level;
    _Atomic uint32_t error;
    _Atomic int64_t net_bytes;     /* large blocks given out less those freed */
    _Atomic uint64_t airbag_bytes; /* in use now */
    _Atomic uint64_t sparse_bytes; /* the part of it that takes no disk space until it is touched */
    _Atomic uint64_t mark;         /* AT_RANDOM: tells this program from the next in the same process */
    _Atomic uint32_t descriptor;   /* of the airbag's file, for the watcher to look at */
    uint32_t unused[3];
};

struct guard {
    char magic[8];
    uint32_t version;
    _Atomic uint32_t on;
    _Atomic int64_t left;
    _Atomic int64_t beat_ns;
    _Atomic uint32_t squeeze;
    uint32_t unused;
    _Atomic uint64_t bound_bytes;
    _Atomic uint64_t floor_bytes;
    _Atomic uint32_t slots_given; /* so far */
    _Atomic uint32_t slot_top;    /* no slot from this one on was ever taken */
    uint64_t unused_too;
    _Atomic uint64_t airbag_python_bytes;
    _Atomic uint64_t airbag_served_bytes;
    _Atomic uint64_t refused_count;
    struct refusal refusals[REFUSALS];
    char reserved[32];
    _Atomic uint64_t raised_count; /* exceptions; counted by the module inside */
    _Atomic int64_t dense_below;   /* with less left than this, a block is touched as soon as it is given out */
    uint64_t unused_again;
    _Atomic int64_t cushion;       /* what large blocks of native code must leave: its own code has to stay in memory */
    _Atomic uint64_t seen_request; /* the last request that the module inside has looked at */
    char reserved_too[2904];
    char directory[DIRECTORY_BYTES];
    char talk[24 * KIB]; /* between the watcher and the module inside */
    struct slot slots[SLOTS];
};

_Static_assert(sizeof(void *) == 8, "the reservation needs the address space of 64 bits");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "the counters must be atomic without locks, also between processes");
_Static_assert(sizeof(struct refusal) == 64 && offsetof(struct guard, refusals) == 96, "the ring of refusals");
_Static_assert(sizeof(struct slot) == 64 && offsetof(struct guard, slots) == 32768, "the slots");
_Static_assert(sizeof(struct guard) == GUARD_BYTES, "the file");
_Static_assert(offsetof(struct guard, raised_count) == 1152, "the words behind the refusals");
_Static_assert(offsetof(struct guard, directory) == 4096, "the directory");

/* The guard's file, or a still one of our own while this process is not guarded. */
extern bool guarded;
extern uint32_t level_of_process; /* LEVEL_REACHED, or 0 */
extern pid_t own_pid;
extern struct guard *guard;

static inline bool squeezed(void) { return atomic_load_explicit(&guard->squeeze, memory_order_relaxed) != 0; }

/* The functions that would be called without us. */
struct real_functions {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    size_t (*malloc_usable_size)(void *);
    void *(*mmap)(void *, size_t, int, int, int, off_t);
    int (*munmap)(void *, size_t);
    void *(*mremap)(void *, size_t, size_t, int, void *);
    int (*madvise)(void *, size_t, int);
};

extern struct real_functions real;

/* early.c: the functions above until they are found, and the memory they give. */
extern const struct real_functions early_functions;
void *early_allocate(size_t size, size_t alignment);
bool early_owns(const void *block);
size_t early_usable(const void *block);

/* start.c */
void find_real_functions(void);

/* How the size of a block is learned. */
enum size_from { SIZE_UNKNOWN, SIZE_FROM_HEADER, SIZE_FROM_CALL };
extern enum size_from size_from;

/* blocks.c, large.c: a block as asked for. */
enum function { MALLOC, CALLOC, POSIX_MEMALIGN, ALIGNED_ALLOC, MEMALIGN, VALLOC, PVALLOC };

struct request {
    enum function function;
    size_t size;
    size_t alignment; /* 0: any */
    const void *caller;
};

void *allocate(const struct request *request);
void *reallocate(void *block, size_t size, const void *caller);
void release_block(void *block);

/* What a block counts for in the budget; 0 where it is not large. */
size_t large_bytes(void *block);

/* budget.c */
bool is_guarded_now(void);  /* somebody watches: a figure of the last seconds */
bool is_squeezed_now(void); /* the same, for the slower paths; a watcher that was killed may leave the squeeze on */
bool budget_take(size_t bytes);                  /* false: over budget, by the figure of the last sample */
bool budget_wait(size_t bytes, bool has_airbag); /* also by a newer one */
void budget_correct(int64_t taken, int64_t before, int64_t after);
bool airbag_count_up(size_t bytes, bool sparse); /* false: over the bound */
void airbag_count_copy(size_t bytes, size_t sparse_bytes);
void airbag_count_down(size_t bytes, bool sparse);
void airbag_count_served(size_t bytes, bool by_python);
void slot_take(void);
void slot_mark(uint32_t level, int error);
void slot_tell_descriptor(int fd);
int64_t now_ns(void);

/* caller.c */
enum caller { CALLER_OTHER, CALLER_NUMPY, CALLER_PYTHON };
#define WHO_BYTES 24
bool caller_start(void); /* whether this process is a Python interpreter */
bool caller_is_python(const void *address);
enum caller caller_of(const void *address, char who[WHO_BYTES]);

/* refusal.c */
void refusal_start(void);
bool collect_garbage(void); /* whether it did */
void refuse(size_t size, enum caller caller, const char *who);

/* pool.c: the reservation is one mapping of a file, the offset in the file is the address less the base. */
#define UNIT (64 * KIB)
#define PAGES_AT_MOST 16 /* of a unit */

enum unit_kind { UNIT_FREE, UNIT_FIRST, UNIT_NEXT, UNIT_MAPPED, UNIT_SMALL, UNIT_LOST };

struct unit {
    uint16_t live;   /* a bit for each page in use */
    uint8_t kind;
    bool sparse : 1; /* no disk space was set aside */
    bool dirty : 1;  /* not known to read zero */
    uint32_t units;  /* of the block that begins here */
};

struct pool {
    _Atomic uintptr_t base;
    _Atomic size_t span_bytes;
    struct unit *units;
    size_t unit_count;
    size_t first_free;  /* no free unit before this one */
    size_t used_units;
    size_t top;         /* no unit was ever used from this one on */
    bool open;          /* the mapping has a file of this process behind it */
    bool closed;        /* for good: a child that got no file */
    int64_t retry_ns;   /* after a failure to open, not before this */
};

extern struct pool pool;
extern __attribute__((tls_model("initial-exec"))) __thread bool pool_forking; /* this thread holds the lock, and forks */

struct wish {
    size_t bytes;
    size_t alignment;
    enum unit_kind kind; /* UNIT_FIRST: a block; UNIT_MAPPED; UNIT_SMALL */
    bool sparse, zero, by_python;
};

void pool_lock(void);
void pool_unlock(void);
void *pool_allocate(const struct wish *wish); /* NULL where there is no room */
void pool_free(void *block);
void *pool_resize(void *block, size_t size);  /* in place, or NULL */
size_t pool_usable(void *block);
void pool_unmap(uintptr_t start, uintptr_t end);
void pool_clear(uintptr_t start, uintptr_t end);
bool pool_is_live(uintptr_t start, uintptr_t end);
void pool_lose(uintptr_t start, uintptr_t end);
bool pool_next_run(size_t *page, size_t *end, bool *sparse);
size_t page_bytes(void);

bool pool_is_ours(void);
size_t pool_sparse_bytes(void);

/* With the lock held. */
void *pool_allocate_locked(const struct wish *wish);
void pool_free_units(size_t first, size_t count);

static inline bool pool_owns(const void *block)
{
    size_t span = atomic_load_explicit(&pool.span_bytes, memory_order_acquire); /* it is set last */
    return (uintptr_t)block - atomic_load_explicit(&pool.base, memory_order_relaxed) < span;
}

static inline struct unit *unit_of(const void *block) { return &pool.units[((uintptr_t)block - pool.base) / UNIT]; }

/* file.c */
int file_open(size_t *bytes);      /* a new file of about that size: its descriptor, or -1 with errno */
int file_descriptor(void);         /* of the file in use; -1 where it was closed or is another file now */
void file_adopt(int fd);
void file_close(void);
bool file_has_room(int fd, size_t bytes);
bool file_set_aside(size_t offset, size_t bytes, bool *supported);
bool file_punch(size_t offset, size_t bytes);
bool file_zero(size_t offset, size_t bytes);

/* small.c */
void *small_allocate(size_t size, size_t alignment, const void *caller);
void small_free(void *block);
bool small_resize(void *block, size_t size);
size_t small_usable(const void *block);
void small_trim(void);

/* fork.c */
void fork_start(void);

/* System calls that are no cancellation points, do not come back to us, and allocate nothing. */
void *system_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
int system_munmap(void *address, size_t bytes);
int system_madvise(void *address, size_t bytes, int advice);
void *system_mremap(void *address, size_t bytes, size_t new_bytes, int flags, void *new_address);
int system_mprotect(void *address, size_t bytes, int protection);
void system_close(int fd);
void system_pause_ms(int ms);

#pragma GCC visibility pop
#endif
