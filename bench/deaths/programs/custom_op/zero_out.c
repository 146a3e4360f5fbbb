/* Host side of a custom op that was built against CUDA 11. */
extern int cudaDeviceSynchronize(void);

int zero_out(float *values, long count) {
    for (long i = 1; i < count; ++i) values[i] = 0.0f;
    return cudaDeviceSynchronize();
}
