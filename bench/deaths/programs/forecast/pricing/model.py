"""A linear forecast."""

import numpy as np


class Forecast:
    def __init__(self, weights):
        self.weights = weights

    def predict(self, window):
        return (window * self.weights).sum(axis=-1)  # <-- dies here


def backtest(history, width):
    model = Forecast(np.ones(width) / width)
    windows = np.lib.stride_tricks.sliding_window_view(history, width + 1)
    return np.array([model.predict(window) for window in windows])
