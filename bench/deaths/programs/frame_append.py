"""Collect results in a DataFrame row by row."""

import pandas as pd


def run_trials(count):
    results = pd.DataFrame(columns=["trial", "score"])
    for trial in range(count):
        row = {"trial": trial, "score": 1.0 / (1 + trial)}
        results = results.append(row, ignore_index=True)  # <-- dies here
    return results


if __name__ == "__main__":
    print(run_trials(5))
