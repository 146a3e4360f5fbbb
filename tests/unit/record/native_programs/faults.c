/* A library of deaths, called from Python. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile int zero;

void divide(void) { zero = 1234 / zero; }

void illegal(void) { __builtin_trap(); }

void bus(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    page[0] = 1;
}

void double_free(void)
{
    void *volatile block = malloc(2000), *volatile fence = malloc(2000);
    free(block);
    free(block);
    free(fence);
}

void call_nothing(void) { ((void (*)(void))(long)zero)(); }

/* No frame can be found from a stack pointer that leads nowhere. */
void lose_stack(void)
{
#if defined(__x86_64__)
    __asm__ volatile("mov $0x1230, %rbp\n mov $0x1230, %rsp\n movq $0, 0\n");
#else
    abort();
#endif
}

static void *fault(void *gate)
{
    pthread_barrier_wait(gate);
    *(volatile int *)8 = 1;
    return NULL;
}

void fault_in_many_threads(void)
{
    pthread_barrier_t gate;
    pthread_t threads[8];
    pthread_barrier_init(&gate, NULL, 8);
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, fault, &gate);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
}

static void *load(void *path)
{
    dlopen(path, RTLD_NOW);
    return NULL;
}

/* The constructor of the library tells through the pipe that the loader's lock is held, and never returns. */
void fault_while_loading(char *path, int told)
{
    pthread_t loader;
    char word;
    pthread_create(&loader, NULL, load, path);
    if (read(told, &word, 1) == 1)
        divide();
}
