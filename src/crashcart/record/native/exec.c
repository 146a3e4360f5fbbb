/* A program that replaces itself with another while the watcher is asking it something.
 *
 * The watcher asks with a signal, and only where the hook's handler is in place; but a program that calls exec loses its
 * handlers, and the signal that is on its way would end the new one. So the hooked process, and no other, ignores these
 * signals from the moment it calls exec. That lasts in the new program: nobody else uses them, and a hook in it takes
 * them up again.
 *
 * Does not cover: execl and its kin, which no Python interpreter calls.
 */
#define _GNU_SOURCE
#include "recorder.h"

#include <errno.h>

/* _crashcart_hook.HOLDERS_SIGNAL and _crashcart_guard.GUARD_SIGNAL */
static const int asking_signals[] = {49, 50};
#define SIGNAL_COUNT (sizeof asking_signals / sizeof *asking_signals)

static pid_t hooked_pid;

static int (*real_execv)(const char *, char *const[]);
static int (*real_execve)(const char *, char *const[], char *const[]);
static int (*real_execvp)(const char *, char *const[]);
static int (*real_execvpe)(const char *, char *const[], char *const[]);
static int (*real_fexecve)(int, char *const[], char *const[]);

void exec_start(void)
{
    find_real(&real_execv, "execv");
    find_real(&real_execve, "execve");
    find_real(&real_execvp, "execvp");
    find_real(&real_execvpe, "execvpe");
    find_real(&real_fexecve, "fexecve");
}

void exec_note_hooked(void) { hooked_pid = getpid(); }

struct deafness {
    struct sigaction heard[SIGNAL_COUNT];
    bool changed[SIGNAL_COUNT];
};

/* A vforked child shares our memory, but has a pid and handlers of its own: it is left as it is. */
static void turn_deaf(struct deafness *deafness)
{
    const struct sigaction ignored = {.sa_handler = SIG_IGN};
    bool hooked = hooked_pid != 0 && hooked_pid == getpid();
    for (size_t i = 0; i < SIGNAL_COUNT; i++) {
        struct sigaction *heard = &deafness->heard[i];
        bool caught = hooked && sigaction(asking_signals[i], NULL, heard) == 0 && heard->sa_handler != SIG_DFL &&
                      heard->sa_handler != SIG_IGN;
        deafness->changed[i] = caught && sigaction(asking_signals[i], &ignored, NULL) == 0;
    }
}

/* The exec has failed, and the program goes on. */
static int hear_again(const struct deafness *deafness)
{
    int failure = errno;
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        if (deafness->changed[i])
            sigaction(asking_signals[i], &deafness->heard[i], NULL);
    errno = failure;
    return -1;
}

#define find_real_functions exec_start
#define INTERPOSED(name, parameters, arguments)                                                                        \
    EXPORT int name parameters                                                                                         \
    {                                                                                                                  \
        struct deafness deafness;                                                                                      \
        turn_deaf(&deafness);                                                                                          \
        REAL(name) arguments;                                                                                          \
        return hear_again(&deafness);                                                                                  \
    }

INTERPOSED(execv, (const char *path, char *const argv[]), (path, argv))
INTERPOSED(execve, (const char *path, char *const argv[], char *const envp[]), (path, argv, envp))
INTERPOSED(execvp, (const char *file, char *const argv[]), (file, argv))
INTERPOSED(execvpe, (const char *file, char *const argv[], char *const envp[]), (file, argv, envp))
INTERPOSED(fexecve, (int fd, char *const argv[], char *const envp[]), (fd, argv, envp))
