/* threads.c THREADS LINES: each thread writes numbered lines to stderr while the main thread forks children that do so. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int lines;

static void *speak(void *name)
{
    for (int i = 0; i < lines; i++) {
        char line[64];
        int length = snprintf(line, sizeof line, "%s%ld:%d\n", (long)name < 100 ? "thread" : "child", (long)name, i);
        if (write(2, line, length) != length)
            abort();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int count = argc > 2 ? atoi(argv[1]) : 0;
    pthread_t threads[64];
    lines = argc > 2 ? atoi(argv[2]) : 0;
    for (long i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, speak, (void *)i);
    for (long child = 0; child < 4; child++)
        if (fork() == 0) {
            speak((void *)(100 + child));
            _exit(0);
        }
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    while (wait(NULL) > 0)
        ;
    return 0;
}
