"""A command-line tool that refuses its arguments."""

import argparse
import sys


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--learning-rate", type=float, default=3.0)
    options = parser.parse_args()
    if options.learning_rate > 1.0:
        sys.exit(f"a learning rate of {options.learning_rate} cannot converge; give one below 1")  # <-- dies here
    print("training")


if __name__ == "__main__":
    main()
