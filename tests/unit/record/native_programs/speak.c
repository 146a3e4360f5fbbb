/* Says one line on stderr in each way that a C program has, with stdout in between. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
}

int main(int argc, char **argv)
{
    int number = argc + 41;
    struct iovec pieces[] = {{"wri", 3}, {"", 0}, {"tev\n", 4}};
    char long_text[6000];
    memset(long_text, 'x', sizeof long_text);
    if (write(1, "out write\n", 10) != 10 || write(2, "write\n", 6) != 6 || writev(2, pieces, 3) != 7)
        return 1;
    fprintf(stderr, "fprintf %d %s\n", number, argv[argc - 1]);
    say("vfprintf %.3f %5d|%-5s|\n", number / 8.0, number, "ab");
    fwrite("fwrite\n", 1, 7, stderr);
    fwrite_unlocked("fwrite_unlocked\n", 4, 4, stderr);
    fputs("fputs\n", stderr);
    fputs_unlocked("fputs_unlocked\n", stderr);
    fputc('c', stderr), putc('p', stderr), fputc_unlocked('u', stderr), (putc_unlocked)('v', stderr), fputc('\n', stderr);
    dprintf(2, "dprintf %d\n", number);
    dprintf(1, "out dprintf %d\n", number);
    syscall(SYS_write, 2, "syscall\n", 8);
    errno = ENOSPC;
    fprintf(stderr, "errno is %m\n");
    errno = ENOENT;
    perror("perror");
    errno = EACCES;
    perror("");
    fprintf(stderr, "%.*s\n", (int)sizeof long_text, long_text);
    close(2);
    errno = 0;
    if (write(2, "lost\n", 5) != -1 || errno != EBADF || fputs("lost\n", stderr) != EOF || fprintf(stderr, "lost\n") >= 0)
        return 2;
    if (dup2(1, 2) != 2)
        return 3;
    clearerr(stderr);
    fputs("reopened\n", stderr);
    return write(1, "out end\n", 8) == 8 ? 0 : 4;
}
