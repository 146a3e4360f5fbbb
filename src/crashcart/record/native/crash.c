/* Handlers of fatal signals that note what only the dying process knows, and then step aside.
 *
 * Covers: SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT in a process whose start-up hook asked for it.
 * Does not cover: what is noted (crash_file.c), Python frames (faulthandler, which is called after us), a stack
 * overflow in a thread without an alternate signal stack (the kernel cannot call anybody), SIGKILL.
 *
 * Once the file is written, the previous handler is put back and gets the very same signal in the very same state: a
 * fault happens again when we return, a signal that was sent is queued again and arrives when we return. So the exit
 * status and the core are what they would have been. Nothing is nested on the alternate stack, which is small (8 KiB
 * and one signal frame in CPython); our own part of it was measured at 2.1 KiB.
 */
#define _GNU_SOURCE
#include "recorder.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* The unwinder and the look-up of symbols may wait for the dynamic loader's lock, which another thread may hold for
 * ever. A crash must not become a hang. */
#define DEADLINE_SECONDS 3

static const int fatal_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#define SIGNAL_COUNT (sizeof fatal_signals / sizeof *fatal_signals)

static struct sigaction previous_actions[SIGNAL_COUNT];

static _Atomic pid_t crashing_tid;
static atomic_bool recorded;
static jmp_buf way_out;

/* After the deadline the same signal comes to this thread, and on_crash leaves by the way out. */
static bool start_deadline(int number, int *timer)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number};
    event.sigev_notify_thread_id = own_tid();
    event.sigev_value.sival_ptr = &way_out;
    struct itimerspec once = {.it_value = {.tv_sec = DEADLINE_SECONDS}};
    return syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, timer) == 0 &&
           syscall(SYS_timer_settime, *timer, 0, &once, NULL) == 0;
}

static void record_once(int number, const siginfo_t *info, ucontext_t *context)
{
    static int timer;
    static volatile bool timed;
    if (_setjmp(way_out) == 0) {
        timed = start_deadline(number, &timer);
        crash_file_write(number, info, context);
    }
    if (timed)
        syscall(SYS_timer_delete, timer);
    crash_file_close();
    atomic_store(&recorded, true);
}

/* Another thread is dying already: let it finish its record, since what comes next ends the process. */
static void wait_for_record(void)
{
    struct timespec moment = {.tv_nsec = 1000000};
    for (int i = 0; i < (DEADLINE_SECONDS + 1) * 1000 && !atomic_load(&recorded); i++)
        nanosleep(&moment, NULL);
}

/* Whether the cause is an instruction that will fault again, rather than a message. */
static bool happens_again(int number, const siginfo_t *info)
{
#ifdef BUS_MCEERR_AO
    if (number == SIGBUS && info->si_code == BUS_MCEERR_AO)
        return false;
#endif
#ifdef SEGV_MTEAERR
    if (number == SIGSEGV && info->si_code == SEGV_MTEAERR)
        return false;
#endif
    (void)number;
    return info->si_code > 0;
}

static void hand_over(int number, siginfo_t *info)
{
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        if (fatal_signals[i] == number)
            sigaction(number, &previous_actions[i], NULL);
    if (happens_again(number, info))
        return;
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    sigprocmask(SIG_BLOCK, &only, NULL); /* until we return, which restores the mask of the interrupted code */
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), own_tid(), number, info) != 0)
        syscall(SYS_tgkill, getpid(), own_tid(), number);
}

static void on_crash(int number, siginfo_t *info, void *context)
{
    int before = errno;
    pid_t self = own_tid(), first = 0;
    bool late = info->si_code == SI_TIMER && info->si_value.sival_ptr == &way_out;
    if (!late && atomic_compare_exchange_strong(&crashing_tid, &first, self))
        record_once(number, info, context);
    else if (!late && first != self)
        wait_for_record();
    else if (!atomic_load(&recorded)) /* too late, or a fault in our own record: what is written must do */
        longjmp(way_out, 1);
    if (!late)
        hand_over(number, info);
    errno = before;
}

static bool install(void)
{
    struct sigaction ours = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigemptyset(&ours.sa_mask);
    for (size_t i = 0; i < SIGNAL_COUNT; i++) {
        struct sigaction now;
        if (sigaction(fatal_signals[i], NULL, &now) != 0)
            return false;
        if (now.sa_sigaction == on_crash || now.sa_handler == SIG_IGN)
            continue;
        previous_actions[i] = now;
        if (sigaction(fatal_signals[i], &ours, NULL) != 0)
            return false;
    }
    return true;
}

bool crash_arm(const char *path, size_t length)
{
    int before = errno;
    if (!crash_file_prepare(path, length))
        return false;
    atomic_store(&recorded, false);
    atomic_store(&crashing_tid, 0);
    /* A forked child has the handlers already, and whatever the program has set over them since. */
    static bool installed;
    if (!installed && !install())
        return false;
    installed = true;
    errno = before;
    return true;
}
