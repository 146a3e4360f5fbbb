/* The budget word and the counters in the guard's file.
 *
 * The watcher stores how many bytes may still be allocated at each of its samples; every process takes its large blocks
 * off that word and gives them back when they are freed. So there is no race between a large block and the next sample.
 */
#define _GNU_SOURCE
#include "airbag.h"

#include <errno.h>
#include <signal.h>

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
        atomic_fetch_add_explicit(&guard->net_bytes, more, memory_order_relaxed);
}

bool airbag_count_up(size_t bytes, bool bounded)
{
    uint64_t before = atomic_fetch_add(&guard->airbag_bytes, bytes);
    uint64_t bound = atomic_load(&guard->bound_bytes);
    int64_t sparse = atomic_load(&guard->sparse_bytes); /* takes no disk space of its own accord */
    before -= sparse > 0 && (uint64_t)sparse < before ? (uint64_t)sparse : 0;
    if (bounded && (before > bound || bytes > bound - before)) {
        atomic_fetch_sub(&guard->airbag_bytes, bytes);
        return false;
    }
    atomic_fetch_add(&slot->airbag_bytes, bytes);
    return true;
}

static uint64_t take_at_most(_Atomic uint64_t *counter, uint64_t bytes)
{
    uint64_t there = atomic_load(counter), taken;
    do
        taken = there < bytes ? there : bytes;
    while (!atomic_compare_exchange_weak(counter, &there, there - taken));
    return taken;
}

/* Never more than this process has counted: the watcher may have taken a slot for that of an ended process. */
void airbag_count_down(size_t bytes) { take_at_most(&guard->airbag_bytes, take_at_most(&slot->airbag_bytes, bytes)); }

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

static bool is_gone(int32_t pid) { return kill(pid, 0) != 0 && errno == ESRCH; }

/* Take the slot if it belongs to that process (0: to none). */
static bool take_from(struct slot *candidate, int32_t from, int32_t pid)
{
    if (!atomic_compare_exchange_strong(&candidate->pid, &from, pid))
        return false;
    slot = candidate;
    take_at_most(&guard->airbag_bytes, atomic_exchange(&slot->airbag_bytes, 0));
    atomic_store(&slot->level, 0);
    atomic_store(&slot->error, 0);
    atomic_store(&slot->descriptor, 0);
    return true;
}

/* One's own from before an exec, a free one, or that of a process that has ended; else the process goes without. */
void slot_take(void)
{
    int32_t pid = getpid();
    slot = &no_slot;
    atomic_store(&no_slot.airbag_bytes, 0);
    for (int i = 0; i < SLOTS; i++)
        if (atomic_load(&guard->slots[i].pid) == pid && take_from(&guard->slots[i], pid, pid))
            return;
    for (int i = 0; i < SLOTS; i++)
        if (take_from(&guard->slots[i], 0, pid))
            return;
    for (int i = 0; i < SLOTS; i++) {
        int32_t other = atomic_load(&guard->slots[i].pid);
        if (is_gone(other) && take_from(&guard->slots[i], other, pid))
            return;
    }
}
