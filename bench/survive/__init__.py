"""Which programs live on under the guard that the kernel kills without it."""
