/* A program that closes every descriptor it did not open, as daemons do, and opens files of its own. */
#include "guard_file.h"

int main(int count, char **arguments)
{
    CHECK(count == 2);
    open_shared();
    LEFT = 0;
    char *before = A(malloc)(2 * MIB);
    CHECK(before != NULL && IN_AIRBAG == (int64_t)(2 * MIB));
    fill(before, 2 * MIB, 1);
    for (int fd = 3; fd < 2000; fd++)
        close(fd);
    char text[4096];
    memset(text, 'x', sizeof text);
    for (int fd = 3; fd < 760; fd++) { /* one of them takes the airbag's number */
        int own = open(arguments[1], O_RDWR | O_CREAT, 0600);
        CHECK(own >= 0);
        if (fd == 3)
            CHECK(write(own, text, sizeof text) == sizeof text);
    }
    char *after = A(malloc)(3 * MIB); /* still served, without space set aside */
    CHECK(after != NULL && IN_AIRBAG == (int64_t)(5 * MIB));
    fill(after, 3 * MIB, 2);
    CHECK(is_filled(before, 2 * MIB, 1));
    pid_t pid = fork();
    if (pid == 0) {
        CHECK(is_filled(before, 2 * MIB, 1) && is_filled(after, 3 * MIB, 2));
        fill(before, 2 * MIB, 9);
        A(free)(after);
        _exit(0);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(is_filled(before, 2 * MIB, 1) && is_filled(after, 3 * MIB, 2));
    A(free)(before);
    A(free)(after);
    before = A(calloc)(1, 2 * MIB);
    CHECK(is_zero(before, 2 * MIB));
    A(free)(before);
    struct stat status_of_own;
    CHECK(stat(arguments[1], &status_of_own) == 0 && status_of_own.st_size == sizeof text);
    int own = open(arguments[1], O_RDONLY);
    char again[sizeof text];
    CHECK(own < 0 || (read(own, again, sizeof again) == sizeof again && memcmp(text, again, sizeof text) == 0));
    return 0;
}
