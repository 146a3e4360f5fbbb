/* Resampling of a signal; checks its arguments with assert, divides without a check. */
#include <assert.h>

int resample(const int *signal, int count, int factor, int *out) {
    assert(factor > 0 && "factor must be positive");
    int written = 0;
    for (int i = 0; i < count; i += factor) out[written++] = signal[i];
    return written;
}

int mean_step(int count, int groups) {
    return count / groups;
}
