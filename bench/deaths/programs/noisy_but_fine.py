"""Retraces a function, logs a handled error and ends well."""

import logging

import tensorflow as tf

logging.basicConfig(level=logging.INFO)


@tf.function
def power(x, exponent):
    return x**exponent


def risky(value):
    return {"a": 1}[value]


def main():
    for exponent in range(1, 9):
        power(tf.constant(2.0), exponent)
    try:
        risky("b")
    except KeyError:
        logging.exception("lookup failed, going on with the default")
    print("done")


if __name__ == "__main__":
    main()
