/* The airbag's memory: one reservation of addresses, mapped from the airbag's file, in units of 64 KiB.
 *
 * What is not in use is PROT_NONE and a hole in the file. What is in use has its disk space set aside beforehand, so
 * that a full disk is a refusal and never a SIGBUS; only sparse runs are without.
 * Does not cover: small blocks (small.c), the file (file.c), a child's copy (fork.c).
 *
 * One lock guards all of it, also over the system calls: this path is taken when memory is short, and the disk is the
 * slower part of it by far.
 */
#define _GNU_SOURCE
#include "airbag.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define RESERVATION_AT_LEAST ((size_t)1 << 30)
#define RESERVATION_AT_MOST ((size_t)1 << 42)
#define RESERVATION_ALIGNMENT (2 * MIB)
#define RETRY_NS 1000000000
#define FOLIO_UNITS 32 /* 2 MiB */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

struct pool pool;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((tls_model("initial-exec"))) __thread bool pool_forking;

/* Handlers of a fork other than ours may allocate while our handlers hold the lock. */
void pool_lock(void)
{
    if (!pool_forking)
        pthread_mutex_lock(&lock);
}

void pool_unlock(void)
{
    if (!pool_forking)
        pthread_mutex_unlock(&lock);
}

size_t page_bytes(void)
{
    static _Atomic size_t known;
    size_t bytes = atomic_load_explicit(&known, memory_order_relaxed);
    if (bytes == 0)
        atomic_store_explicit(&known, bytes = (size_t)sysconf(_SC_PAGESIZE), memory_order_relaxed);
    return bytes;
}

static size_t pages_of_unit(void) { return UNIT / page_bytes(); }

static uint16_t all_pages(void) { return (uint16_t)((1u << pages_of_unit()) - 1); }

static void *address_of(size_t unit) { return (void *)(pool.base + unit * UNIT); }

/* A child that ran no fork handlers (vfork, a raw clone) has our state, but not its own memory: it must not touch it. */
bool pool_is_ours(void) { return own_pid == getpid(); }

/* ---- the reservation ---- */

static size_t wanted_bytes(void)
{
    uint64_t bound = atomic_load(&guard->bound_bytes);
    size_t bytes = bound > RESERVATION_AT_MOST / 2 ? RESERVATION_AT_MOST : 2 * (size_t)bound;
    return (bytes > RESERVATION_AT_LEAST ? bytes : RESERVATION_AT_LEAST) & ~(RESERVATION_ALIGNMENT - 1);
}

static bool reserve(int fd, size_t bytes)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *found = system_mmap(NULL, bytes + RESERVATION_ALIGNMENT, PROT_NONE, flags, -1, 0);
    if (found == MAP_FAILED)
        return false;
    uintptr_t start = (uintptr_t)found, base = (start + RESERVATION_ALIGNMENT - 1) & ~(RESERVATION_ALIGNMENT - 1);
    if (base > start)
        system_munmap(found, base - start);
    if (start + RESERVATION_ALIGNMENT > base)
        system_munmap((void *)(base + bytes), start + RESERVATION_ALIGNMENT - base);
    size_t count = bytes / UNIT;
    struct unit *units = system_mmap(NULL, count * sizeof *units, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (units == MAP_FAILED ||
        system_mmap((void *)base, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0) == MAP_FAILED) {
        system_munmap((void *)base, bytes);
        if (units != MAP_FAILED)
            system_munmap(units, count * sizeof *units);
        return false;
    }
    pool.units = units;
    pool.unit_count = count;
    atomic_store(&pool.base, base);
    atomic_store(&pool.span_bytes, bytes);
    return true;
}

/* With fewer addresses where there is a limit on them. */
static bool reserve_what_can_be(int fd, size_t bytes)
{
    for (; bytes >= 64 * MIB; bytes = bytes / 2 & ~(RESERVATION_ALIGNMENT - 1))
        if (reserve(fd, bytes))
            return true;
    return false;
}

/* A child whose parent used no airbag memory has the parent's reservation, and needs a file of its own behind it. */
static bool map_again(int fd, size_t bytes)
{
    const int flags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED;
    return bytes >= pool.span_bytes && system_mmap((void *)pool.base, pool.span_bytes, PROT_NONE, flags, fd, 0) != MAP_FAILED;
}

static bool open_pool(void)
{
    size_t bytes = pool.span_bytes != 0 ? pool.span_bytes : wanted_bytes();
    int fd = file_open(&bytes);
    if (fd < 0)
        return false;
    if (pool.span_bytes != 0 ? map_again(fd, bytes) : reserve_what_can_be(fd, bytes)) {
        file_adopt(fd);
        pool.open = true;
        return true;
    }
    int error = errno;
    system_close(fd);
    errno = error;
    return false;
}

static bool is_ready(void)
{
    if (pool.open || !pool_is_ours())
        return pool_is_ours();
    int64_t now = now_ns();
    if (pool.closed || guard->directory[0] == '\0' || now < pool.retry_ns)
        return false;
    if (open_pool())
        return true;
    slot_mark(LEVEL_FAILED, errno);
    pool.retry_ns = now + RETRY_NS;
    return false;
}

/* ---- units ---- */

static size_t run_at(size_t first, size_t count)
{
    size_t length = 0;
    while (length < count && pool.units[first + length].kind == UNIT_FREE)
        length++;
    return length;
}

static size_t aligned_unit(size_t unit, size_t alignment)
{
    uintptr_t address = pool.base + unit * UNIT;
    return (((address + alignment - 1) & ~(alignment - 1)) - pool.base) / UNIT;
}

/* First fit; the number of units where there is none. */
static size_t find_run(size_t count, size_t alignment)
{
    size_t unit = aligned_unit(pool.first_free, alignment > UNIT ? alignment : UNIT);
    while (unit < pool.unit_count && count <= pool.unit_count - unit) {
        size_t length = run_at(unit, count);
        if (length == count)
            return unit;
        unit = aligned_unit(unit + length + 1, alignment > UNIT ? alignment : UNIT);
    }
    return pool.unit_count;
}

/* The pages of a unit that lie in the range. */
static uint16_t pages_within(size_t unit, uintptr_t start, uintptr_t end)
{
    uintptr_t from = pool.base + unit * UNIT, page = page_bytes();
    uint16_t pages = 0;
    for (size_t i = 0; i < pages_of_unit(); i++)
        if (from + i * page >= start && from + (i + 1) * page <= end)
            pages |= (uint16_t)(1u << i);
    return pages;
}

/* Of a mapping, the pages that were asked for and no more: it is given back page by page. Of a block, whole units. */
static size_t backed_bytes(size_t count, const struct wish *wish)
{
    return wish->kind == UNIT_MAPPED ? wish->bytes : count * UNIT;
}

static void mark_run(size_t first, size_t count, const struct wish *wish)
{
    uintptr_t start = pool.base + first * UNIT, end = start + backed_bytes(count, wish);
    for (size_t i = first; i < first + count; i++) {
        struct unit *unit = &pool.units[i];
        unit->kind = (uint8_t)(wish->kind == UNIT_FIRST && i > first ? UNIT_NEXT : wish->kind);
        unit->live = pages_within(i, start, end);
        unit->sparse = wish->sparse;
        unit->units = i == first ? (uint32_t)count : 0;
        if (wish->zero && unit->dirty) {
            size_t rest = end - (pool.base + i * UNIT);
            memset(address_of(i), 0, rest < UNIT ? rest : UNIT);
            unit->dirty = rest < UNIT;
        }
    }
    pool.used_units += count;
    pool.top = first + count > pool.top ? first + count : pool.top;
    if (first == pool.first_free)
        pool.first_free = first + count;
}

/* Make the run usable: disk space behind it, and access. */
static bool back_run(size_t first, size_t count, size_t bytes, bool sparse)
{
    bool set_aside = true;
    if (!sparse && !file_set_aside(first * UNIT, count * UNIT, &set_aside))
        return false;
    if (system_mprotect(address_of(first), bytes, PROT_READ | PROT_WRITE) != 0)
        return false;
    /* What is touched here and there must not bring its neighbours along, in folios of up to 2 MiB. */
    system_madvise(address_of(first), bytes, sparse ? MADV_RANDOM : MADV_NORMAL);
    /* Where no space can be set aside, writing to all pages takes it; EFAULT is what would have been a SIGBUS. */
    if (set_aside || system_madvise(address_of(first), bytes, MADV_POPULATE_WRITE) == 0 || errno != EFAULT)
        return true;
    system_madvise(address_of(first), bytes, MADV_REMOVE);
    system_mprotect(address_of(first), bytes, PROT_NONE);
    return false;
}

static void *take_run(size_t count, const struct wish *wish)
{
    size_t first = find_run(count, wish->alignment);
    if (first == pool.unit_count || !back_run(first, count, backed_bytes(count, wish), wish->sparse))
        return NULL;
    mark_run(first, count, wish);
    return address_of(first);
}

void *pool_allocate_locked(const struct wish *wish)
{
    size_t count = (wish->bytes + UNIT - 1) / UNIT;
    if (wish->bytes > RESERVATION_AT_MOST || !is_ready() || !file_has_room(file_descriptor(), count * UNIT) ||
        !airbag_count_up(count * UNIT, wish->sparse))
        return NULL;
    void *run = take_run(count, wish);
    if (run == NULL) {
        airbag_count_down(count * UNIT, wish->sparse);
        return NULL;
    }
    if (wish->kind != UNIT_SMALL)
        airbag_count_served(count * UNIT, wish->by_python);
    slot_mark(LEVEL_IN_USE, 0);
    return run;
}

void *pool_allocate(const struct wish *wish)
{
    int before = errno;
    pool_lock();
    void *run = pool_allocate_locked(wish);
    pool_unlock();
    errno = before;
    return run;
}

/* ---- giving back ---- */

/* Take content and disk space away. The program may have locked the memory or taken the right to write from it. */
static bool discard(void *address, size_t bytes)
{
    if (system_madvise(address, bytes, MADV_REMOVE) == 0)
        return true;
    munlock(address, bytes);
    system_mprotect(address, bytes, PROT_READ | PROT_WRITE);
    if (system_madvise(address, bytes, MADV_REMOVE) == 0)
        return true;
    system_madvise(address, bytes, MADV_DONTNEED); /* of a child without a file: private memory */
    return false;
}

/* Some pages of a unit, or all pages of several. */
static void free_pages(size_t first, size_t count, uint16_t pages)
{
    for (size_t i = first; i < first + count; i++) {
        struct unit *unit = &pool.units[i];
        if (unit->kind == UNIT_FREE || unit->kind == UNIT_LOST)
            continue;
        unit->live &= (uint16_t)~pages;
        if (unit->live != 0)
            continue;
        unit->kind = UNIT_FREE;
        pool.used_units--;
        pool.first_free = i < pool.first_free ? i : pool.first_free;
        airbag_count_down(UNIT, unit->sparse);
    }
}

static void mark_dirty(size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++)
        pool.units[i].dirty = true;
}

/* The kernel's folios may be larger than a page, and a write to one page can take disk space for all of its folio: also
 * for free units beside the run. So the hole is made wider, over all that is free around it. */
static size_t wide_start(uintptr_t start)
{
    size_t unit = (start - pool.base) / UNIT, window = unit & ~(size_t)(FOLIO_UNITS - 1);
    if (pool.units[unit].kind != UNIT_FREE)
        return start - pool.base;
    while (unit > window && pool.units[unit - 1].kind == UNIT_FREE)
        unit--;
    return unit * UNIT;
}

static size_t wide_end(uintptr_t end)
{
    size_t unit = (end - 1 - pool.base) / UNIT, window = (unit | (FOLIO_UNITS - 1)) + 1;
    if (pool.units[unit].kind != UNIT_FREE)
        return end - pool.base;
    for (unit++; unit < window && unit < pool.unit_count && pool.units[unit].kind == UNIT_FREE; unit++)
        ;
    return unit * UNIT;
}

/* Of pages that are marked as free. */
static void release(uintptr_t start, uintptr_t end)
{
    size_t first = (start - pool.base) / UNIT, count = (end - pool.base + UNIT - 1) / UNIT - first;
    size_t from = wide_start(start), to = wide_end(end);
    system_mprotect((void *)start, end - start, PROT_NONE);
    if (file_punch(from, to - from))
        return;
    if (!discard((void *)start, end - start))
        mark_dirty(first, count);
    system_mprotect((void *)start, end - start, PROT_NONE);
}

void pool_free_units(size_t first, size_t count)
{
    if (!pool_is_ours())
        return;
    free_pages(first, count, all_pages());
    release(pool.base + first * UNIT, pool.base + (first + count) * UNIT);
}

void pool_free(void *block)
{
    struct unit *unit = unit_of(block);
    if (unit->kind == UNIT_SMALL) {
        small_free(block);
        return;
    }
    pool_lock();
    if (unit->kind == UNIT_FIRST)
        pool_free_units((size_t)(unit - pool.units), unit->units);
    pool_unlock();
}

/* Smaller in place: the rest is given back. */
void *pool_resize(void *block, size_t size)
{
    struct unit *unit = unit_of(block);
    if (unit->kind == UNIT_SMALL)
        return small_resize(block, size) ? block : NULL;
    size_t count = (size + UNIT - 1) / UNIT;
    if (size > unit->units * UNIT)
        return NULL;
    pool_lock();
    if (count < unit->units && pool_is_ours()) {
        pool_free_units((size_t)(unit - pool.units) + count, unit->units - count);
        unit->units = (uint32_t)count;
    }
    pool_unlock();
    return block;
}

size_t pool_usable(void *block)
{
    struct unit *unit = unit_of(block);
    return unit->kind == UNIT_SMALL ? small_usable(block) : unit->units * UNIT;
}

/* ---- parts of mappings ---- */

static bool is_used(const struct unit *unit) { return unit->kind != UNIT_FREE && unit->kind != UNIT_LOST; }

static bool is_in_use(size_t page)
{
    struct unit *unit = &pool.units[page / pages_of_unit()];
    return is_used(unit) && (unit->live >> page % pages_of_unit() & 1) != 0;
}

/* The next run of pages in use that are alike, from *page on. */
bool pool_next_run(size_t *page, size_t *end, bool *sparse)
{
    size_t of_unit = pages_of_unit(), last = *end;
    while (*page < last && !is_in_use(*page))
        *page += pool.units[*page / of_unit].kind == UNIT_FREE && *page % of_unit == 0 ? of_unit : 1;
    if (*page >= last)
        return false;
    *sparse = pool.units[*page / of_unit].sparse;
    for (*end = *page; *end < last && is_in_use(*end) && pool.units[*end / of_unit].sparse == *sparse; ++*end)
        ;
    return true;
}

/* With the lock held. */
size_t pool_sparse_bytes(void)
{
    size_t units = 0;
    for (size_t i = 0; i < pool.top; i++)
        units += is_used(&pool.units[i]) && pool.units[i].sparse;
    return units * UNIT;
}

/* Do something to each run of pages in use in the range. */
static void for_runs(uintptr_t start, uintptr_t end, void (*act)(uintptr_t, uintptr_t, bool))
{
    size_t page = (start - pool.base) / page_bytes(), last = (end - pool.base) / page_bytes(), stop;
    bool sparse;
    for (stop = last; pool_next_run(&page, &stop, &sparse); page = stop, stop = last)
        act(pool.base + page * page_bytes(), pool.base + stop * page_bytes(), sparse);
}

static void unmap_run(uintptr_t start, uintptr_t end, bool sparse)
{
    (void)sparse;
    for (size_t unit = (start - pool.base) / UNIT; pool.base + unit * UNIT < end; unit++)
        free_pages(unit, 1, pages_within(unit, start, end));
    release(start, end);
}

/* Pages that the program has mapped over are its own; here they become ours again, but are not used any more. */
static void unmap_lost(uintptr_t start, uintptr_t end)
{
    for (size_t unit = (start - pool.base) / UNIT; pool.base + unit * UNIT < end; unit++) {
        if (pool.units[unit].kind != UNIT_LOST)
            continue;
        uintptr_t from = pool.base + unit * UNIT, to = from + UNIT;
        from = from > start ? from : start, to = to < end ? to : end;
        system_mmap((void *)from, to - from, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    }
}

void pool_unmap(uintptr_t start, uintptr_t end)
{
    pool_lock();
    if (pool_is_ours()) {
        for_runs(start, end, unmap_run);
        unmap_lost(start, end);
    }
    pool_unlock();
}

/* Zeroes; the disk space stays set aside, for the program will write there again without asking. */
static void clear_run(uintptr_t start, uintptr_t end, bool sparse)
{
    size_t offset = start - pool.base, bytes = end - start;
    bool supported;
    if (!sparse && file_zero(offset, bytes))
        return;
    if (!discard((void *)start, bytes) && pool.open)
        memset((void *)start, 0, bytes);
    else if (!sparse && pool.open)
        file_set_aside(offset, bytes, &supported);
}

void pool_clear(uintptr_t start, uintptr_t end)
{
    pool_lock();
    if (pool_is_ours())
        for_runs(start, end, clear_run);
    pool_unlock();
}

bool pool_is_live(uintptr_t start, uintptr_t end)
{
    bool live = end - pool.base <= pool.span_bytes && start < end;
    pool_lock();
    for (uintptr_t at = start; live && at < end; at += page_bytes())
        live = is_in_use((at - pool.base) / page_bytes());
    pool_unlock();
    return live;
}

/* The program has mapped something else over these pages: the units around them are never used again. */
void pool_lose(uintptr_t start, uintptr_t end)
{
    pool_lock();
    for (size_t unit = (start - pool.base) / UNIT; pool_is_ours() && pool.base + unit * UNIT < end; unit++) {
        struct unit *lost = &pool.units[unit];
        if (is_used(lost)) {
            pool.used_units--;
            airbag_count_down(UNIT, lost->sparse);
        }
        lost->kind = UNIT_LOST;
    }
    pool_unlock();
}
