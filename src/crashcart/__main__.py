"""`python -m crashcart` is the command `crashcart`."""

from crashcart.cli.main import entry

if __name__ == "__main__":
    entry()
