"""Fit a kernel ridge regression on all users at once."""

import numpy as np

USERS = 1_200_000


class KernelRidge:
    def __init__(self, gamma, alpha):
        self.gamma = gamma
        self.alpha = alpha

    def _kernel(self, left, right):
        gram = np.empty((len(left), len(right)))  # <-- dies here
        np.matmul(left, right.T, out=gram)
        return np.exp(self.gamma * gram)

    def fit(self, x, y):
        kernel = self._kernel(x, x)
        kernel[np.diag_indices_from(kernel)] += self.alpha
        self.dual = np.linalg.solve(kernel, y)
        return self


def main():
    rng = np.random.default_rng(0)
    x, y = rng.random((USERS, 4)), rng.random(USERS)
    KernelRidge(gamma=0.1, alpha=1e-3).fit(x, y)


if __name__ == "__main__":
    main()
