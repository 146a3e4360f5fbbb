/* Threads that allocate, resize, free, map and unmap across the border of the budget, which another process moves all the
 * time; with forks in the middle of it. Every block's content is checked.
 *
 * stress THREADS CALLS FORKS
 */
#include "guard_file.h"

#define HELD 48
#define MOST_THREADS 16
#define STARTED HALF(1200)

struct held {
    char *block;
    size_t size;
    unsigned seed;
    bool mapped;
};

static long calls;
static _Atomic(struct held *) exchange[64]; /* blocks that another thread frees */

static uint32_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Marks through the whole block, dense where it is small. */
static size_t step_of(size_t size) { return size <= 2048 ? 4 : size <= 64 * KIB ? 512 : 4096; }

static void mark(struct held *held)
{
    for (size_t i = 0; i + 4 <= held->size; i += step_of(held->size))
        *(uint32_t *)(held->block + i) = held->seed ^ (uint32_t)i;
    if (held->size >= 8)
        *(uint32_t *)(held->block + (held->size - 4) / 4 * 4) = held->seed;
}

static void verify(const struct held *held, size_t size)
{
    for (size_t i = 0; i + 8 < size; i += step_of(held->size))
        CHECK(*(uint32_t *)(held->block + i) == (held->seed ^ (uint32_t)i));
    if (size == held->size && size >= 8)
        CHECK(*(uint32_t *)(held->block + (held->size - 4) / 4 * 4) == held->seed);
}

static size_t any_size(uint64_t *state)
{
    uint32_t kind = next(state) % 1000;
    if (kind < 985)
        return 8 + next(state) % 1500;
    if (kind < 993)
        return 8 + next(state) % (30 * KIB);
    return kind < 996 ? 100 * KIB + next(state) % (180 * KIB) : 256 * KIB + next(state) % MIB;
}

static void take(struct held *held, uint64_t *state)
{
    size_t size = any_size(state);
    uint32_t how = next(state) % 16;
    void *block = NULL;
    held->mapped = size >= 256 * KIB && how < 4;
    if (held->mapped) {
        block = A(mmap)(NULL, size, RW, PLAIN, -1, 0);
        CHECK(block != MAP_FAILED && is_zero(block, 4096) && is_zero((char *)block + size / 4096 * 4096 - 4096, 4096));
    } else if (how < 2) {
        block = A(calloc)(1, size);
        CHECK(block == NULL || (is_zero(block, size < 4096 ? size : 4096) && ((char *)block)[size - 1] == 0));
    } else if (how == 2) {
        CHECK(A(posix_memalign)(&block, 64, size) == 0 || size >= 256 * KIB);
        CHECK((uintptr_t)block % 64 == 0);
    } else {
        block = A(malloc)(size);
    }
    CHECK(block != NULL || size >= 256 * KIB);
    *held = (struct held){block, size, next(state), held->mapped};
    if (block != NULL) {
        CHECK(held->mapped || A(malloc_usable_size)(block) >= size);
        mark(held);
    }
}

static void drop(struct held *held)
{
    if (held->block == NULL)
        return;
    verify(held, held->size);
    if (held->mapped && held->size > 512 * KIB) { /* in two parts */
        CHECK(A(munmap)(held->block + 128 * KIB + 4096, held->size - 128 * KIB - 4096) == 0);
        CHECK(A(munmap)(held->block, 128 * KIB + 4096) == 0);
    } else if (held->mapped) {
        CHECK(A(munmap)(held->block, held->size) == 0);
    } else {
        A(free)(held->block);
    }
    held->block = NULL;
}

static void resize(struct held *held, uint64_t *state)
{
    size_t size = any_size(state), least = size < held->size ? size : held->size;
    if (held->mapped)
        return;
    char *block = A(realloc)(held->block, size);
    if (block == NULL) {
        CHECK(size >= 256 * KIB);
        verify(held, held->size);
        return;
    }
    held->block = block;
    verify(held, least);
    held->size = size;
    mark(held);
}

static void hand_over(struct held *held, uint64_t *state)
{
    if (held->block == NULL)
        return;
    struct held *parcel = A(malloc)(sizeof *parcel);
    *parcel = *held;
    held->block = NULL;
    parcel = atomic_exchange(&exchange[next(state) % 64], parcel);
    if (parcel == NULL)
        return;
    *held = *parcel;
    A(free)(parcel);
    drop(held);
}

static void one_call(struct held *table, uint64_t *state)
{
    struct held *held = &table[next(state) % HELD];
    uint32_t what = next(state) % 16;
    if (held->block == NULL)
        take(held, state);
    else if (what < 3)
        resize(held, state);
    else if (what == 3)
        hand_over(held, state);
    else
        drop(held);
}

static void *work(void *seed)
{
    struct held table[HELD] = {0};
    uint64_t state = (uintptr_t)seed;
    for (long i = 0; i < calls; i++)
        one_call(table, &state);
    for (int i = 0; i < HELD; i++)
        drop(&table[i]);
    return NULL;
}

/* Another process moves the border. */
static pid_t start_flipping(void)
{
    pid_t pid = fork();
    CHECK(pid >= 0);
    uint64_t state = 99;
    pid_t parent = getppid();
    for (long i = 0; pid == 0; i++) {
        if (getppid() != parent)
            _exit(0);
        usleep(300 + next(&state) % 1000);
        if (!STARTED) /* the C library's own blocks for its threads are not the test's */
            continue;
        SQUEEZE = next(&state) % 3 == 0;
        LEFT = next(&state) % 2 ? 0 : 20 * MIB;
    }
    return pid;
}

static void child(struct held *table)
{
    uint64_t state = 5;
    for (int i = 0; i < HELD; i++)
        if (table[i].block != NULL) {
            verify(&table[i], table[i].size);
            table[i].seed ^= 0x55555555;
            mark(&table[i]);
        }
    for (int i = 0; i < 300; i++)
        one_call(table, &state);
    for (int i = 0; i < HELD; i++)
        drop(&table[i]);
    _exit(0);
}

static void fork_once(struct held *table)
{
    int status;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        child(table);
    for (int i = 0; i < HELD; i++)
        if (table[i].block != NULL) {
            verify(&table[i], table[i].size);
            table[i].seed ^= 0x33333333; /* which the child must not see */
            mark(&table[i]);
        }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
    for (int i = 0; i < HELD; i++)
        if (table[i].block != NULL)
            verify(&table[i], table[i].size);
}

static void fork_often(int forks)
{
    struct held table[HELD] = {0};
    uint64_t state = 77;
    for (int i = 0; i < forks; i++) {
        for (int j = 0; j < 200; j++)
            one_call(table, &state);
        LEFT = 0; /* some on the airbag for sure */
        for (int j = 0; j < 3; j++) {
            drop(&table[j]);
            table[j] = (struct held){A(malloc)(400 * KIB), 400 * KIB, (unsigned)i, false};
            mark(&table[j]);
        }
        fork_once(table);
        usleep(5000);
    }
    for (int i = 0; i < HELD; i++)
        drop(&table[i]);
}

/* What the airbag still counts, apart from processes that have ended. */
static int64_t counted_for_the_living(void)
{
    int64_t sum = IN_AIRBAG;
    for (int i = 0; i < SLOTS; i++)
        if (*(int32_t *)SLOT(i) != getpid())
            sum -= *(int64_t *)(SLOT(i) + 24);
    return sum;
}

int main(int count, char **arguments)
{
    CHECK(count == 4);
    int threads = atoi(arguments[1]), forks = atoi(arguments[3]), status;
    pthread_t ids[MOST_THREADS];
    calls = atol(arguments[2]);
    open_shared();
    int64_t net = NET;
    pid_t flipping = start_flipping();
    for (int i = 0; i < threads; i++)
        CHECK(pthread_create(&ids[i], NULL, work, (void *)(uintptr_t)(i + 1)) == 0);
    STARTED = 1;
    fork_often(forks);
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    kill(flipping, 9);
    waitpid(flipping, &status, 0);
    SQUEEZE = 0;
    LEFT = 100 * MIB;
    for (int i = 0; i < 64; i++)
        if (exchange[i] != NULL) {
            drop(exchange[i]);
            A(free)(exchange[i]);
        }
    A(free)(A(malloc)(MIB)); /* the empty chunk of the squeeze */
    CHECK(counted_for_the_living() == 0);
    CHECK(airbag_blocks() == 0);
    CHECK(forks > 0 || NET == net);
    CHECK(SERVED > 0);
    printf("served %ld MiB, refused %ld\n", (long)(SERVED / (int64_t)MIB), (long)REFUSED);
    return 0;
}
