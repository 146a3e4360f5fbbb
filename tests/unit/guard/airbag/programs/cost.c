/* What a pair of malloc and free costs: small blocks of mixed sizes, and blocks of 1 MiB. Prints nanoseconds. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(void)
{
    enum { ROUNDS = 4000000, HELD = 64, LARGE_ROUNDS = 200000 };
    void *volatile held[HELD] = {0};
    uint32_t state = 1;
    double start = now();
    for (int i = 0; i < ROUNDS; i++) {
        state = state * 1664525 + 1013904223;
        int slot = (int)(state >> 26);
        free(held[slot]);
        held[slot] = malloc(16 + (state >> 12) % 1000);
    }
    double small = (now() - start) / ROUNDS;
    start = now();
    for (int i = 0; i < LARGE_ROUNDS; i++) {
        held[0] = malloc(1 << 20);
        free(held[0]);
    }
    printf("%.2f %.2f\n", small, (now() - start) / LARGE_ROUNDS);
    return 0;
}
