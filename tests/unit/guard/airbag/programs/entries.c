/* Each entry point, within the budget and over it. One part for each name; all parts without a name. */
#include "guard_file.h"

static void over(void) { LEFT = 0; }
static void within(void) { LEFT = 1000 * (int64_t)MIB; }

static void part_within(void)
{
    within();
    int64_t left = LEFT, net = NET;
    for (size_t size = 100 * KIB; size < 2 * MIB; size += 33333) {
        char *block = A(malloc)(size);
        fill(block, size, 1);
        CHECK((NET - net >= (int64_t)size) == (size >= 256 * KIB) || size > 200 * KIB);
        CHECK(left - LEFT == NET - net);
        block = A(realloc)(block, size * 2);
        CHECK(is_filled(block, size, 1));
        CHECK(left - LEFT == NET - net);
        block = A(realloc)(block, size / 2);
        CHECK(left - LEFT == NET - net);
        A(free)(block);
        CHECK(LEFT == left && NET == net);
    }
    void *aligned;
    CHECK(A(posix_memalign)(&aligned, 64, 3 * MIB) == 0 && (uintptr_t)aligned % 64 == 0);
    CHECK(NET > net);
    A(free)(aligned);
    A(free)(NULL);
    CHECK(NET == net && LEFT == left && SERVED == 0 && REFUSED == 0 && airbag_blocks() < 0);
}

/* Just below the border, an allocator may give a block that is above it. */
static void part_border(void)
{
    within();
    int64_t left = LEFT, net = NET;
    void *blocks[400];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 400; i++)
            blocks[i] = A(malloc)(256 * KIB - 400 + i * 2);
        for (int i = 0; i < 400; i++)
            A(free)(blocks[i]);
        CHECK(LEFT == left && NET == net);
    }
}

static void part_airbag(void)
{
    over();
    int64_t net = NET;
    char *block = A(malloc)(5 * MIB);
    CHECK(block != NULL && IN_AIRBAG == (int64_t)(5 * MIB) && SERVED == IN_AIRBAG && airbag_blocks() >= 5 * 2048);
    CHECK(A(malloc_usable_size)(block) >= 5 * MIB);
    fill(block, A(malloc_usable_size)(block), 7);
    CHECK(is_filled(block, 5 * MIB, 7));
    char *zeroed = A(calloc)(3, MIB);
    CHECK(is_zero(zeroed, 3 * MIB));
    fill(zeroed, 3 * MIB, 8);
    A(free)(zeroed);
    zeroed = A(calloc)(3, MIB);
    CHECK(is_zero(zeroed, 3 * MIB) && is_filled(block, 5 * MIB, 7));
    A(free)(zeroed);
    A(free)(block);
    CHECK(IN_AIRBAG == 0 && airbag_blocks() == 0 && NET == net && LEFT == 0 && REFUSED == 0);
    char *slot = slot_of(getpid());
    CHECK(slot != NULL && (*(uint32_t *)(slot + 8) & 13) == 5 && *(uint64_t *)(slot + 24) == 0);
}

static void part_alignment(void)
{
    over();
    for (size_t alignment = 8; alignment <= 8 * MIB; alignment *= 2) {
        void *posix = NULL, *blocks[4];
        CHECK(A(posix_memalign)(&posix, alignment, MIB) == 0);
        blocks[0] = A(aligned_alloc)(alignment, MIB);
        blocks[1] = A(memalign)(alignment, MIB + 1);
        blocks[2] = A(valloc)(MIB);
        blocks[3] = A(pvalloc)(MIB + 1);
        CHECK((uintptr_t)posix % alignment == 0 && (uintptr_t)blocks[0] % alignment == 0);
        CHECK((uintptr_t)blocks[1] % alignment == 0 && (uintptr_t)blocks[2] % 4096 == 0);
        CHECK(A(malloc_usable_size)(blocks[3]) >= MIB + 4096);
        fill(posix, MIB, 1);
        for (int i = 0; i < 4; i++)
            fill(blocks[i], MIB, (unsigned)i);
        CHECK(is_filled(posix, MIB, 1));
        for (int i = 0; i < 4; i++) {
            CHECK(is_filled(blocks[i], MIB, (unsigned)i));
            A(free)(blocks[i]);
        }
        A(free)(posix);
    }
    void *same = &same;
    CHECK(A(posix_memalign)(&same, 24, MIB) == EINVAL && same == &same);
    CHECK(IN_AIRBAG == 0 && airbag_blocks() == 0);
}

static void part_refusal(void)
{
    over();
    int64_t net = NET;
    errno = 0;
    CHECK(numpy_malloc(MIB) == NULL && errno == ENOMEM && REFUSED == 1);
    CHECK(strncmp(shared + 96 + 40, "_multiarray_umath", 17) == 0);
    CHECK(*(int64_t *)(shared + 96) == 1 && *(int64_t *)(shared + 96 + 8) == (int64_t)MIB);
    CHECK(*(int32_t *)(shared + 96 + 32) == getpid() && *(int32_t *)(shared + 96 + 36) == gettid());
    CHECK(python_malloc(MIB) == NULL && REFUSED == 2);
    CHECK(python_calloc(1, MIB) == NULL && REFUSED == 3);
    char *zeros = numpy_calloc(8, MIB); /* sparse */
    CHECK(zeros != NULL && airbag_blocks() == 0 && IN_AIRBAG == (int64_t)(8 * MIB));
    CHECK(is_zero(zeros, 8 * MIB));
    zeros[5 * MIB] = 1;
    A(free)(zeros);
    CHECK(IN_AIRBAG == 0 && airbag_blocks() == 0);
    within();
    char *block = numpy_malloc(MIB);
    fill(block, MIB, 3);
    over();
    CHECK(numpy_realloc(block, 2 * MIB) == NULL && errno == ENOMEM && is_filled(block, MIB, 3) && REFUSED == 4);
    A(free)(block);
    for (int i = 0; i < 40; i++) {
        LEFT = 0;
        CHECK(python_malloc(MIB) == NULL);
    }
    CHECK(REFUSED == 44 && *(int64_t *)(shared + 96 + 64 * 11) == 44 && NET == net);
    CHECK(A(malloc)((size_t)1 << 50) == NULL && REFUSED == 44); /* what the kernel refuses by itself */
    CHECK(A(malloc)(SIZE_MAX - 100) == NULL && REFUSED == 44);  /* no such block anywhere */
    CHECK(A(calloc)(SIZE_MAX / 2, 3) == NULL && A(reallocarray)(NULL, SIZE_MAX / 2, 3) == NULL);
}

static void part_realloc(void)
{
    within();
    char *block = A(malloc)(MIB);
    fill(block, MIB, 1);
    over();
    block = A(realloc)(block, 3 * MIB); /* to the airbag */
    CHECK(IN_AIRBAG == (int64_t)(3 * MIB) && is_filled(block, MIB, 1));
    fill(block, 3 * MIB, 2);
    over();
    block = A(reallocarray)(block, 5, MIB);
    CHECK(IN_AIRBAG == (int64_t)(5 * MIB) && is_filled(block, 3 * MIB, 2));
    char *same = A(realloc)(block, 700 * KIB); /* in place, the rest is given back */
    CHECK(same == block && IN_AIRBAG == (int64_t)(704 * KIB) && is_filled(block, 700 * KIB, 2));
    CHECK(blocks_are(704 * 2));
    within();
    block = A(realloc)(block, 2 * MIB); /* back to memory */
    CHECK(IN_AIRBAG == 0 && airbag_blocks() == 0 && is_filled(block, 700 * KIB, 2) && NET >= (int64_t)(2 * MIB));
    over();
    block = A(realloc)(block, 4 * MIB);
    CHECK(IN_AIRBAG == (int64_t)(4 * MIB) && is_filled(block, 700 * KIB, 2));
    within();
    CHECK(A(realloc)(block, 0) == NULL && IN_AIRBAG == 0);
    over();
    block = A(realloc)(NULL, MIB);
    CHECK(IN_AIRBAG == (int64_t)MIB);
    block = A(realloc)(block, 100);
    A(free)(block);
    CHECK(IN_AIRBAG == 0 && airbag_blocks() == 0);
}

static void part_squeeze(void)
{
    char *blocks[3000];
    within();
    SQUEEZE = 1;
    char *real = NULL;
    for (unsigned i = 0; i < 3000; i++) {
        size_t size = 16 + i * 37 % 3000;
        blocks[i] = i % 3 == 0 ? A(calloc)(1, size) : i % 3 == 1 ? A(malloc)(size) : A(memalign)(256, size);
        CHECK(i % 3 != 2 || (uintptr_t)blocks[i] % 256 == 0);
        CHECK((uintptr_t)blocks[i] % 16 == 0 && A(malloc_usable_size)(blocks[i]) >= size);
        CHECK(i % 3 != 0 || is_zero(blocks[i], size));
        fill(blocks[i], size, i);
    }
    CHECK(IN_AIRBAG >= (int64_t)(4 * MIB) && PYTHON_BYTES == 0);
    int64_t in_airbag = IN_AIRBAG;
    for (unsigned i = 0; i < 3000; i++) {
        size_t size = 16 + i * 37 % 3000;
        CHECK(is_filled(blocks[i], size, i));
        blocks[i] = A(realloc)(blocks[i], size + (i % 2 ? 500 : 0) - (i % 5 ? 0 : size / 2));
        CHECK(is_filled(blocks[i], size / 2, i));
    }
    CHECK(IN_AIRBAG >= in_airbag);
    char *last = A(malloc)(100);
    CHECK(A(realloc)(last, 3000) == last); /* the last one grows where it is */
    A(free)(last);
    real = python_malloc(1000);
    CHECK(PYTHON_BYTES >= 1000);
    A(free)(real);
    char *middle = A(malloc)(200 * KIB);
    fill(middle, 200 * KIB, 9);
    middle = A(realloc)(middle, 250 * KIB);
    CHECK(is_filled(middle, 200 * KIB, 9));
    SQUEEZE = 0;
    middle = A(realloc)(middle, 300 * KIB);
    CHECK(is_filled(middle, 200 * KIB, 9));
    for (unsigned i = 0; i < 3000; i++) {
        if (i % 2 == 0)
            blocks[i] = A(realloc)(blocks[i], 5000); /* out of the airbag again */
        A(free)(blocks[i]);
    }
    A(free)(middle);
    CHECK(IN_AIRBAG == 0 && airbag_blocks() == 0 && REFUSED == 0);
}

/* A program that frees what it allocates pays for a chunk once; the empty chunk goes when the squeeze is over. */
static void part_idle(void)
{
    within();
    SQUEEZE = 1;
    for (int i = 0; i < 100000; i++)
        A(free)(A(malloc)(100 + i % 50));
    CHECK(IN_AIRBAG == (int64_t)MIB);
    SQUEEZE = 0;
    A(free)(A(malloc)(MIB));
    CHECK(IN_AIRBAG == 0 && airbag_blocks() == 0);
}

static void part_mapping(void)
{
    within();
    int64_t left = LEFT, net = NET;
    char *memory = A(mmap)(NULL, MIB, RW, PLAIN, -1, 0);
    CHECK(left - LEFT == (int64_t)MIB && NET == net && IN_AIRBAG == 0);
    CHECK(A(munmap)(memory, MIB) == 0);
    over();
    size_t bytes = 5 * MIB + 12 * KIB;
    memory = python_mmap(bytes);
    CHECK(memory != MAP_FAILED && IN_AIRBAG == (int64_t)(5 * MIB + 64 * KIB) && is_zero(memory, bytes));
    CHECK(blocks_are((long)(IN_AIRBAG / 512)) && PYTHON_BYTES == IN_AIRBAG);
    fill(memory, bytes, 4);
    CHECK(A(munmap)(memory + MIB, 4096) == 0);              /* a page */
    CHECK(A(munmap)(memory + 2 * MIB, 64 * KIB + 8192) == 0); /* more than a unit */
    CHECK(A(munmap)(memory, 4096) == 0);
    CHECK(is_filled(memory + 4 * MIB, 0, 4) && *(uint32_t *)(memory + 4096) == ((uint32_t)(1024 * 2654435761u) ^ 4));
    CHECK(IN_AIRBAG == (int64_t)(5 * MIB) && blocks_are((long)((5 * MIB - 16 * KIB) / 512)));
    CHECK(A(munmap)(memory + 4096, bytes - 4096) == 0);     /* with holes */
    CHECK(IN_AIRBAG == 0 && airbag_blocks() == 0);
    memory = A(mmap)(NULL, 2 * MIB, RW, PLAIN, -1, 0);
    fill(memory, 2 * MIB, 5);
    CHECK(A(madvise)(memory + MIB, 64 * KIB + 4096, MADV_DONTNEED) == 0);
    CHECK(is_zero(memory + MIB, 64 * KIB + 4096) && is_filled(memory, MIB, 5) && IN_AIRBAG == (int64_t)(2 * MIB));
    CHECK(blocks_are(4096)); /* the space stays set aside */
    CHECK(A(madvise)(memory, MIB, MADV_FREE) == 0 && A(madvise)(memory + 1, MIB, MADV_DONTNEED) != 0);
    A(madvise)(memory, MIB, MADV_HUGEPAGE);
    CHECK(mprotect(memory, 4096, PROT_NONE) == 0); /* a guard page of the program */
    CHECK(A(munmap)(memory, 2 * MIB) == 0 && IN_AIRBAG == 0 && airbag_blocks() == 0);
    memory = A(mmap)(NULL, 2 * MIB, RW, PLAIN, -1, 0);
    CHECK(is_zero(memory, 2 * MIB));
    CHECK(A(munmap)(memory, 2 * MIB) == 0);
    CHECK(REFUSED == 0);
}

static void part_remap(void)
{
    over();
    char *memory = A(mmap)(NULL, MIB, RW, PLAIN, -1, 0);
    fill(memory, MIB, 6);
    CHECK(A(mremap)(memory, MIB, 2 * MIB, 0) == MAP_FAILED && errno == ENOMEM);
    char *larger = A(mremap)(memory, MIB, 2 * MIB, MREMAP_MAYMOVE);
    CHECK(larger != MAP_FAILED && is_filled(larger, MIB, 6) && is_zero(larger + MIB, MIB));
    CHECK(IN_AIRBAG == (int64_t)(2 * MIB));
    CHECK(A(mremap)(larger, 2 * MIB, 300 * KIB, 0) == larger && IN_AIRBAG == (int64_t)(320 * KIB));
    within();
    char *real = A(mremap)(larger, 300 * KIB, MIB, MREMAP_MAYMOVE);
    CHECK(is_filled(real, 300 * KIB, 6) && IN_AIRBAG == 0);
    CHECK(A(munmap)(real, MIB) == 0);
    over();
    memory = A(mmap)(NULL, MIB, RW, PLAIN, -1, 0);
    fill(memory, MIB, 7);
    char *place = mmap(NULL, MIB, PROT_NONE, PLAIN | MAP_NORESERVE, -1, 0);
    CHECK(A(mremap)(memory, MIB, MIB, MREMAP_MAYMOVE | MREMAP_FIXED, place) == place && is_filled(place, MIB, 7));
    CHECK(IN_AIRBAG == 0 && A(mremap)(memory, MIB, MIB, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
    CHECK(A(munmap)(place, MIB) == 0);
    memory = A(mmap)(NULL, MIB, RW, PLAIN, -1, 0);
    CHECK(A(mmap)(memory + 64 * KIB, 4096, RW, PLAIN | MAP_FIXED, -1, 0) == memory + 64 * KIB); /* over ours */
    memory[64 * KIB] = 1;
    CHECK(A(munmap)(memory, MIB) == 0 && IN_AIRBAG == 0);
    char *other = A(mmap)(NULL, MIB, RW, PLAIN, -1, 0);
    CHECK(is_zero(other, MIB) && A(munmap)(other, MIB) == 0);
    int zero = open("/dev/zero", O_RDWR); /* mappings of files and with special wishes pass */
    over();
    void *file = A(mmap)(NULL, MIB, RW, MAP_PRIVATE, zero, 0), *none = A(mmap)(NULL, MIB, PROT_NONE, PLAIN, -1, 0);
    void *lazy = A(mmap)(NULL, MIB, RW, PLAIN | MAP_NORESERVE, -1, 0), *common = A(mmap)(NULL, MIB, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(IN_AIRBAG == 0 && LEFT == 0);
    A(munmap)(file, MIB), A(munmap)(none, MIB), A(munmap)(lazy, MIB), A(munmap)(common, MIB);
    close(zero);
}

static void *free_it(void *block)
{
    CHECK(is_filled(block, MIB, 11));
    A(free)(block);
    return A(malloc)(MIB);
}

static void part_threads(void)
{
    over();
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *block = A(malloc)(MIB), *other;
        fill(block, MIB, 11);
        CHECK(pthread_create(&thread, NULL, free_it, block) == 0);
        pthread_join(thread, &other);
        fill(other, MIB, 12);
        A(free)(other);
    }
    CHECK(IN_AIRBAG == 0 && airbag_blocks() == 0);
}

static void part_bound(void)
{
    over();
    BOUND = 3 * MIB;
    void *block = A(malloc)(2 * MIB);
    CHECK(block != NULL && A(malloc)(2 * MIB) == NULL && errno == ENOMEM && REFUSED == 1);
    void *mapping = A(mmap)(NULL, 2 * MIB, RW, PLAIN, -1, 0); /* never refused */
    CHECK(mapping != MAP_FAILED && IN_AIRBAG == (int64_t)(2 * MIB));
    A(munmap)(mapping, 2 * MIB);
    A(free)(block);
    BOUND = 1000 * (int64_t)MIB;
    FLOOR = (int64_t)1 << 60;
    CHECK(A(malloc)(MIB) == NULL && REFUSED == 2 && IN_AIRBAG == 0);
    SQUEEZE = 1;
    void *small = A(malloc)(100);
    CHECK(small != NULL && IN_AIRBAG == 0); /* small blocks are never refused */
    SQUEEZE = 0;
    A(free)(small);
    FLOOR = 0;
}

/* The watcher says nothing any more, or the guard is off: everything passes. */
static void part_silence(void)
{
    over();
    BEAT = now_ns() - 4000000000;
    void *block = numpy_malloc(MIB);
    CHECK(block != NULL && IN_AIRBAG == 0 && LEFT < 0);
    A(free)(block);
    CHECK(LEFT == 0);
    beat_ahead();
    CHECK(numpy_malloc(MIB) == NULL);
    HALF(12) = 0;
    block = numpy_malloc(MIB);
    CHECK(block != NULL && IN_AIRBAG == 0);
    A(free)(block);
    HALF(12) = 1;
}

static void *give_more(void *unused)
{
    usleep(50000);
    LEFT = 100 * MIB;
    BEAT = now_ns();
    return unused;
}

/* Over budget by an old figure: the next one is waited for. */
static void part_wait(void)
{
    pthread_t thread;
    over();
    BEAT = now_ns();
    pthread_create(&thread, NULL, give_more, NULL);
    void *block = numpy_malloc(MIB);
    CHECK(block != NULL && REFUSED == 0);
    A(free)(block);
    pthread_join(thread, NULL);
    over();
    BEAT = now_ns();
    int64_t before = now_ns();
    CHECK(numpy_malloc(MIB) == NULL && now_ns() - before > 500000000 && now_ns() - before < 900000000);
    void *blocks[10]; /* what can have the airbag does not wait each time */
    before = now_ns();
    for (int i = 0; i < 10; i++)
        CHECK((blocks[i] = A(malloc)(MIB)) != NULL);
    CHECK(now_ns() - before < 900000000 && IN_AIRBAG == (int64_t)(10 * MIB));
    for (int i = 0; i < 10; i++)
        A(free)(blocks[i]);
    SQUEEZE = 1;
    before = now_ns();
    CHECK(numpy_malloc(MIB) == NULL && now_ns() - before > 500000000);
    before = now_ns();
    block = A(malloc)(MIB);
    CHECK(block != NULL && now_ns() - before < 100000000); /* who is not refused has nothing to wait for */
    A(free)(block);
    SQUEEZE = 0;
    beat_ahead();
}

static const struct {
    const char *name;
    void (*run)(void);
} parts[] = {
    {"within", part_within},   {"border", part_border},   {"airbag", part_airbag},   {"alignment", part_alignment},
    {"refusal", part_refusal}, {"realloc", part_realloc}, {"squeeze", part_squeeze}, {"idle", part_idle},
    {"mapping", part_mapping}, {"remap", part_remap},     {"threads", part_threads}, {"bound", part_bound},
    {"silence", part_silence}, {"wait", part_wait},
};

int main(int count, char **arguments)
{
    int known = 0;
    open_shared();
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (count < 2 || strcmp(arguments[1], parts[i].name) == 0) {
            memset(shared + 64, 0, 2048 - 64);
            parts[i].run();
            known = 1;
        }
    CHECK(known);
    return 0;
}
