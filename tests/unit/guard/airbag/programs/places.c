/* Asks for memory over the budget, and says what it got: where the airbag could not be, or was full. */
#include "guard_file.h"

#include <dlfcn.h>
#include <spawn.h>
#include <sys/syscall.h>

static void *sleep_and_allocate(void *unused)
{
    for (;;) {
        void *block = A(malloc)(300 * KIB);
        memset(block, 1, 300 * KIB);
        A(free)(block);
    }
    return unused;
}

/* Threads that still use the airbag when the process ends. */
static void end_in_use(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++)
        pthread_create(&thread, NULL, sleep_and_allocate, NULL);
    usleep(20000);
    exit(0);
}

/* Children without fork handlers: they exec, and what they do before must not harm the parent. */
static void vfork_and_clone(void)
{
    char *block = A(malloc)(MIB), *arguments[] = {"/bin/true", NULL};
    int status;
    pid_t pid;
    fill(block, MIB, 1);
    if (vfork() == 0) {
        execv(arguments[0], arguments);
        _exit(9);
    }
    CHECK(wait(&status) > 0 && status == 0);
    CHECK(posix_spawn(&pid, arguments[0], NULL, NULL, arguments, NULL) == 0);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        A(free)(block); /* left alone: it is the parent's */
        SQUEEZE = 1;
        void *small = A(malloc)(100);
        SQUEEZE = 0;
        _exit(small == NULL || A(malloc)(MIB) == NULL);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(is_filled(block, MIB, 1));
    A(free)(block);
    CHECK(IN_AIRBAG == 0 && airbag_blocks() == 0);
}

/* Until there is no more: every page of what was given can be written. */
static void fill_up(void)
{
    long given = 0;
    char *block;
    for (; given < 1000 && (block = A(malloc)(MIB)) != NULL; given++)
        memset(block, 1, MIB);
    CHECK(given > 2 && given < 1000 && REFUSED == 1);
    void *mapping = A(mmap)(NULL, MIB, RW, PLAIN, -1, 0);
    CHECK(mapping != MAP_FAILED);
    memset(mapping, 1, MIB);
    char *zeros = numpy_calloc(1, 500 * MIB);
    CHECK(zeros == NULL || IN_AIRBAG > (int64_t)(500 * MIB)); /* zeroes take no disk space until they are touched */
}

static void open_files_until_none(void)
{
    while (dup(2) >= 0)
        ;
}

/* No descriptor left: neither a file nor a pipe for a child. */
static void no_descriptors(void)
{
    char *block = A(malloc)(MIB);
    int status;
    fill(block, MIB, 1);
    open_files_until_none();
    pid_t pid = fork();
    if (pid == 0) {
        CHECK(is_filled(block, MIB, 1));
        fill(block, MIB, 2);
        A(free)(block);
        CHECK(A(malloc)(MIB) == NULL);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0 && is_filled(block, MIB, 1));
    A(free)(block);
    CHECK(IN_AIRBAG == 0 && airbag_blocks() == 0);
}

static void say_and_wait(pid_t about)
{
    char byte;
    printf("%d\n", (int)about);
    fflush(stdout);
    CHECK(read(0, &byte, 1) == 0);
}

/* A child with a copy of the airbag and more is killed, while the parent stays on its own. */
static void lose_child(void)
{
    char *block = A(malloc)(3 * MIB), *zeroes = numpy_calloc(1, 8 * MIB);
    CHECK(block != NULL && zeroes != NULL && SPARSE == (int64_t)(8 * MIB));
    pid_t pid = fork();
    if (pid == 0) {
        char *slot = slot_of(getpid());
        CHECK(*(int64_t *)(slot + 24) == (int64_t)(11 * MIB) && *(int64_t *)(slot + 32) == (int64_t)(8 * MIB));
        A(free)(zeroes);
        CHECK(*(int64_t *)(slot + 24) == (int64_t)(3 * MIB) && *(int64_t *)(slot + 32) == 0);
        CHECK(numpy_calloc(1, 2 * MIB) != NULL && A(malloc)(5 * MIB) != NULL);
        LEFT = 100 * MIB;
        CHECK(A(malloc)(7 * MIB) != NULL);
        kill(getpid(), SIGKILL);
    }
    siginfo_t ended;
    CHECK(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT) == 0 && ended.si_status == SIGKILL);
    say_and_wait(pid);
}

static void become_another_program(void)
{
    CHECK(A(malloc)(3 * MIB) != NULL);
    execl("/bin/sh", "sh", "-c", "echo $$; read line", (char *)NULL);
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    open_shared();
    LEFT = 0;
    if (strcmp(arguments[1], "refused") == 0) {
        CHECK(A(malloc)(MIB) == NULL && errno == ENOMEM && REFUSED == 1);
        void *mapping = A(mmap)(NULL, MIB, RW, PLAIN, -1, 0);
        CHECK(mapping != MAP_FAILED && IN_AIRBAG == 0);
        char *slot = slot_of(getpid());
        printf("level %u errno %u\n", *(uint32_t *)(slot + 8), *(uint32_t *)(slot + 12));
    } else if (strcmp(arguments[1], "exit") == 0) {
        end_in_use();
    } else if (strcmp(arguments[1], "child") == 0) {
        lose_child();
    } else if (strcmp(arguments[1], "exec") == 0) {
        become_another_program();
    } else if (strcmp(arguments[1], "vfork") == 0) {
        vfork_and_clone();
    } else if (strcmp(arguments[1], "full") == 0) {
        fill_up();
    } else if (strcmp(arguments[1], "no-descriptors") == 0) {
        no_descriptors();
    } else if (strcmp(arguments[1], "inert") == 0) {
        void *block = A(malloc)(MIB);
        CHECK(block != NULL && LEFT == 0 && NET == 0 && IN_AIRBAG == 0 && slot_of(getpid()) == NULL);
        A(free)(block);
    } else {
        CHECK(!"known");
    }
    return 0;
}
