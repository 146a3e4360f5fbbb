"""Summarise a table of measurements."""

import numpy as np
import pandas as pd  # <-- dies here


def main():
    frame = pd.DataFrame({"value": np.arange(10)})
    print(frame.describe())


if __name__ == "__main__":
    main()
