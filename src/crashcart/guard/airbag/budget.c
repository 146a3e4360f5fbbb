/* The budget word and the counters in the guard's file.
 *
 * The watcher stores how many bytes may still be allocated at each of its samples; every process takes its large blocks
 * off that word and gives them back when they are freed. So there is no race between a large block and the next sample.
 * What a process holds is counted in its own slot alone: when it ends, however that is, the watcher frees the slot.
 */
#define _GNU_SOURCE
#include "airbag.h"

#include <errno.h>
#include <sys/auxv.h>

#define WATCHER_SILENT_NS 3000000000 /* then it is dead or stopped, and the figure means nothing */
#define WAIT_AT_MOST_NS 600000000
#define WAIT_STEP_MS 2
#define WAIT_AGAIN_AFTER_NS 50000000
#define FREED_WITHIN_NS 150000000

static struct slot no_slot;
static struct slot *slot = &no_slot;

int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool take_within(int64_t bytes)
{
    int64_t left = atomic_load_explicit(&guard->left, memory_order_relaxed);
    while (left >= bytes)
        if (atomic_compare_exchange_weak(&guard->left, &left, left - bytes))
            return true;
    return false;
}

static bool is_watched(int64_t now)
{
    return atomic_load(&guard->on) != 0 && now - atomic_load(&guard->beat_ns) <= WATCHER_SILENT_NS;
}

bool is_guarded_now(void) { return is_watched(now_ns()); }

bool is_squeezed_now(void) { return squeezed() && is_guarded_now(); }

/* Those who can have the airbag do not wait again so soon after a wait in vain: a training allocates a thousand large
 * blocks in a step, and each would wait for a sample. Those who would be refused always wait. */
static _Atomic int64_t in_vain_until_ns;

/* The figure may be old: wait for one newer than this request. Who would be refused waits longer: what a failed step held
 * may just be on its way back. */
COLD static bool take_later(int64_t bytes, bool has_airbag)
{
    int64_t arrival = now_ns(), now = arrival;
    while (is_watched(now)) {
        if (take_within(bytes))
            return true;
        if (has_airbag && (squeezed() || now < in_vain_until_ns))
            return false;
        int64_t awaited = has_airbag ? arrival : arrival + FREED_WITHIN_NS;
        if (atomic_load(&guard->beat_ns) > awaited || now - arrival > WAIT_AT_MOST_NS) {
            in_vain_until_ns = now + WAIT_AGAIN_AFTER_NS;
            return false;
        }
        system_pause_ms(WAIT_STEP_MS);
        now = now_ns();
    }
    atomic_fetch_sub(&guard->left, bytes); /* nobody watches: pass */
    return true;
}

bool budget_take(size_t bytes) { return take_within((int64_t)bytes); }

bool budget_wait(size_t bytes, bool has_airbag)
{
    int before = errno;
    bool taken = take_later((int64_t)bytes, has_airbag);
    errno = before;
    return taken;
}

/* A block that counted for `before` counts for `after` now, and `taken` was taken off the budget for it. */
void budget_correct(int64_t taken, int64_t before, int64_t after)
{
    int64_t more = after - before;
    if (more != taken)
        atomic_fetch_sub_explicit(&guard->left, more - taken, memory_order_relaxed);
    if (more != 0)
        atomic_fetch_add_explicit(&slot->net_bytes, more, memory_order_relaxed);
}

static uint64_t dense_bytes(struct slot *of)
{
    uint64_t sparse = atomic_load(&of->sparse_bytes), all = atomic_load(&of->airbag_bytes);
    return all > sparse ? all - sparse : 0;
}

/* On disk, over all processes; one without a slot sees at least its own. */
static uint64_t all_dense_bytes(void)
{
    uint32_t top = atomic_load(&guard->slot_top);
    uint64_t sum = slot == &no_slot ? dense_bytes(slot) : 0;
    for (uint32_t i = 0; i < top && i < SLOTS; i++)
        sum += dense_bytes(&guard->slots[i]);
    return sum;
}

/* Counted as sparse first: the watcher is not to see zeroes as memory on disk for a moment. */
void airbag_count_copy(size_t bytes, size_t sparse_bytes)
{
    atomic_fetch_add(&slot->sparse_bytes, sparse_bytes);
    atomic_fetch_add(&slot->airbag_bytes, bytes);
}

/* Zeroes take no disk space of their own accord, and have no bound. */
bool airbag_count_up(size_t bytes, bool sparse)
{
    airbag_count_copy(bytes, sparse ? bytes : 0);
    if (sparse || all_dense_bytes() <= atomic_load(&guard->bound_bytes))
        return true;
    airbag_count_down(bytes, false);
    return false;
}

static void take_at_most(_Atomic uint64_t *counter, uint64_t bytes)
{
    uint64_t there = atomic_load(counter);
    while (!atomic_compare_exchange_weak(counter, &there, there < bytes ? 0 : there - bytes))
        ;
}

/* Never more than was counted: a child with a private copy has counted nothing. */
void airbag_count_down(size_t bytes, bool sparse)
{
    take_at_most(&slot->airbag_bytes, bytes);
    if (sparse)
        take_at_most(&slot->sparse_bytes, bytes);
}

void airbag_count_served(size_t bytes, bool by_python)
{
    atomic_fetch_add(&guard->airbag_served_bytes, bytes);
    if (by_python)
        atomic_fetch_add(&guard->airbag_python_bytes, bytes);
}

void slot_mark(uint32_t level, int error)
{
    atomic_fetch_or(&slot->level, level);
    if (error != 0)
        atomic_store(&slot->error, (uint32_t)error);
}

void slot_tell_descriptor(int fd) { atomic_store(&slot->descriptor, (uint32_t)fd); }

static void raise_top(uint32_t top)
{
    uint32_t known = atomic_load(&guard->slot_top);
    while (known < top && !atomic_compare_exchange_weak(&guard->slot_top, &known, top))
        ;
}

static bool take_if_free(uint32_t index, uint64_t owner)
{
    uint64_t nobody = 0;
    if (!atomic_compare_exchange_strong(&guard->slots[index].owner, &nobody, owner))
        return false;
    raise_top(index + 1);
    slot = &guard->slots[index];
    atomic_store(&slot->mark, getauxval(AT_RANDOM));
    return true;
}

/* A free one; where there is none, the process counts for itself. One's own from before an exec is freed by the watcher, as
 * are those of processes that have ended. */
void slot_take(void)
{
    uint64_t number = atomic_fetch_add(&guard->slots_given, 1) + 1;
    slot = &no_slot;
    no_slot = (struct slot){0};
    for (uint32_t i = 0; i < SLOTS; i++)
        if (take_if_free(i, number << 32 | (uint32_t)getpid()))
            return;
}
