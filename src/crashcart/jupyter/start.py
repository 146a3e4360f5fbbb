"""The first command of a kernel: starts it under crashcart, or plainly where crashcart is gone.

    python start.py KERNEL_JSON WATCHER_PYTHON WATCHER_SCRIPT [OPTION…] -- COMMAND…

`crashcart jupyter enable` puts a copy of this file beside the kernel's own kernel.json. It needs nothing of crashcart, so that
a kernel starts whatever has become of that: when its interpreter or its files are no longer there, the kernel.json is put
back as it was, and the kernel starts as it always did. Any Python 3 can run it.
"""

import os
import sys

PLAIN_SUFFIX = ".before-crashcart"
# What jupyter_client replaces by its own interpreter when it comes first in the command.
PYTHONS = ("python", "python3", f"python3.{sys.version_info[1]}")


def main(arguments):  # type: (list[str]) -> None
    """Become the watcher with the kernel's command, or the kernel."""
    kernel_json, python, script = arguments[:3]
    split = arguments.index("--")
    options, command = arguments[3:split], arguments[split + 1 :]
    if command[0] in PYTHONS:
        command[0] = sys.executable
    if os.access(python, os.X_OK) and os.path.isfile(script):
        become([python, "-E", script, *options, "--", *command])
    else:
        put_back(kernel_json)
    become(command)


def become(command):  # type: (list[str]) -> None
    """Run the command in place of this process; returns only where that cannot be."""
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"crashcart: {command[0]}: {error.strerror}\n")


def put_back(kernel_json):  # type: (str) -> None
    """Undo what `enable` did to this kernel."""
    try:
        os.rename(kernel_json + PLAIN_SUFFIX, kernel_json)
        os.unlink(os.path.abspath(__file__))
    except OSError:
        return


if __name__ == "__main__":
    main(sys.argv[1:])
    sys.exit(127)
