/* The native recorder: a library preloaded into every process of a run. It leaves the program's output alone (no pipe,
 * no relay, the same file descriptors) and keeps a copy of its beginning and its end in a shared file.
 *
 * Covers: whatever reaches file descriptors 1 and 2 through write, writev and syscall(SYS_write) (Abseil's raw logging,
 * and so TensorFlow's) here, and the C library's stderr stream (std::cerr and Abseil's LOG go through it) in stdio.c.
 * Does not cover: the C library's buffered stdout, wide characters, messages that the C library prints by itself
 * (abort messages are in the crash file), statically linked programs.
 *
 * Each function calls the real one with the same arguments, returns its result and leaves its errno. Without
 * CRASHCART_RECORDING, or without a sound output file in it, that is all they do.
 */
#define _GNU_SOURCE
#include "recorder.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* No process has this file descriptor: without the library, a write to it fails with EBADF. */
#define COMMAND_FD (-47)
#define COMMAND_PING "crashcart:ping"
#define COMMAND_ARM "crashcart:arm:"
#define COMMAND_THREAD "crashcart:thread"

#define FOR_ASSEMBLY __attribute__((used, visibility("hidden")))

static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_writev)(int, const struct iovec *, int);
FOR_ASSEMBLY long (*real_syscall)(long, long, long, long, long, long, long);

void find_real(void *slot, const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    memcpy(slot, &function, sizeof function);
}

__attribute__((noinline, cold)) static void find_real_functions(void)
{
    int before = errno;
    find_real(&real_writev, "writev");
    find_real(&real_syscall, "syscall");
    find_real(&real_write, "write");
    errno = before;
}

/* A kernel must not outlive its watcher, since whoever kills that one means the kernel. */
static void tie_to_parent(void)
{
    const char *named = secure_getenv("CRASHCART_TETHER");
    pid_t parent = named != NULL ? (pid_t)atol(named) : 0;
    if (parent <= 0 || getppid() != parent)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it went meanwhile */
        kill(getpid(), SIGKILL);
}

__attribute__((constructor)) static void start(void)
{
    int before = errno;
    find_real_functions();
    tie_to_parent();
    stdio_start();
    exec_start();
    const char *directory = secure_getenv("CRASHCART_RECORDING");
    if (directory != NULL)
        output_attach(directory);
    errno = before;
}

static bool starts_with(const char *bytes, size_t length, const char *prefix)
{
    return length >= strlen(prefix) && memcmp(bytes, prefix, strlen(prefix)) == 0;
}

/* The address of this thread's Python thread state, by which the watcher reads its stack from outside. The function needs
 * no lock of the interpreter, which the caller of write() has given away. */
static ssize_t thread_state(void)
{
    void *(*find)(void) = NULL;
    void *function = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    memcpy(&find, &function, sizeof find);
    return find != NULL ? (ssize_t)(intptr_t)find() : 0;
}

static ssize_t obey(const char *bytes, size_t length)
{
    if (starts_with(bytes, length, COMMAND_PING))
        return (ssize_t)length;
    if (starts_with(bytes, length, COMMAND_THREAD))
        return thread_state();
    if (starts_with(bytes, length, COMMAND_ARM) && bytes[length - 1] == '\n') {
        const char *path = bytes + strlen(COMMAND_ARM);
        exec_note_hooked();
        return crash_arm(path, (size_t)(bytes + length - 1 - path)) ? (ssize_t)length : -1;
    }
    errno = EBADF;
    return -1;
}

EXPORT ssize_t write(int fd, const void *bytes, size_t length)
{
    if (RARE(fd == COMMAND_FD))
        return obey(bytes, length);
    ssize_t written = REAL(write)(fd, bytes, length);
    if (is_standard(fd) && written > 0)
        keep(stream_of(fd), bytes, (size_t)written);
    return written;
}

EXPORT ssize_t writev(int fd, const struct iovec *pieces, int count)
{
    ssize_t written = REAL(writev)(fd, pieces, count);
    if (is_standard(fd) && written > 0)
        output_append(stream_of(fd), pieces, (size_t)written);
    return written;
}

/* syscall(2). Only its writes concern us; any other call must leave for the real function with registers and stack
 * untouched: it may be a vfork, or wait on a word in the very frame that the compiler takes for a seventh argument. */
#if defined(__x86_64__)
FOR_ASSEMBLY long syscall_write(long number, long fd, long bytes, long length)
{
    long written = REAL(syscall)(number, fd, bytes, length, 0, 0, 0);
    if (written > 0)
        keep(stream_of((int)fd), (const void *)bytes, (size_t)written);
    return written;
}

FOR_ASSEMBLY long syscall_early(long number, long a, long b, long c, long d, long e, long f)
{
    return REAL(syscall)(number, a, b, c, d, e, f);
}

_Static_assert(SYS_write == 1, "the number that the code below compares with");
__asm__(".text\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        "syscall:\n"
        "    .cfi_startproc\n"
        "    endbr64\n"
        "    cmpq $1, %rdi\n"
        "    jne 1f\n"
        "    leal -1(%rsi), %eax\n"
        "    cmpl $1, %eax\n"
        "    jbe syscall_write\n"
        "1:  movq real_syscall(%rip), %rax\n"
        "    testq %rax, %rax\n"
        "    je syscall_early\n"
        "    jmp *%rax\n"
        "    .cfi_endproc\n"
        ".size syscall, . - syscall\n");
#elif defined(__aarch64__)
long interposed_syscall(long number, long a, long b, long c, long d, long e, long f) __asm__("syscall");

EXPORT long interposed_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (number != SYS_write || !is_standard((int)a))
        return REAL(syscall)(number, a, b, c, d, e, f);
    long written = REAL(syscall)(number, a, b, c, d, e, f);
    if (written > 0)
        keep(stream_of((int)a), (const void *)b, (size_t)written);
    return written;
}
#endif

void write_fully(int fd, const void *bytes, size_t length)
{
    const char *from = bytes;
    while (length > 0) {
        ssize_t written = REAL(write)(fd, from, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        from += written;
        length -= (size_t)written;
    }
}
