/* Histogram of values; trusts the caller's number of bins. */
#include <stdlib.h>

long *histogram(const int *values, long count, long bins) {
    long *counts = calloc(bins, sizeof(long));
    for (long i = 0; i < count; ++i) counts[values[i]] += 0x4141414141L;
    return counts;
}

void histogram_free(long *counts) { free(counts); }
