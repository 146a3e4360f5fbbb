"""Tokenise a text with an extension module that was built for a newer processor."""

import sys


def load_tokeniser():
    import fasttok  # <-- dies here

    return fasttok.token


def main():
    token = load_tokeniser()
    print([token(ord(letter)) for letter in sys.argv[0]][:10])


if __name__ == "__main__":
    main()
