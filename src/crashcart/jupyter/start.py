"""The first command of a kernel: starts it under crashcart, or plainly where crashcart is gone.

    python -ES start.py WATCHER_PYTHON WATCHER_SCRIPT [OPTION…] -- COMMAND…

`crashcart jupyter enable` puts a copy of this file beside the kernel's own kernel.json. It needs nothing of crashcart, so that
a kernel starts whatever has become of that: when its interpreter or its files are no longer there, the kernel.json is put
back as it was, and the kernel starts as it always did; so it does where crashcart cannot be imported. Any Python 3 can run it,
and where it is the watcher's own, it becomes the watcher: a second interpreter would be 15 ms more to wait for.
"""

import os
import sys

PLAIN_SUFFIX = ".before-crashcart"
# What jupyter_client replaces by its own interpreter when it comes first in the command.
PYTHONS = ("python", "python3", f"python3.{sys.version_info[1]}")
THIS_PYTHON = "-"


def main(arguments):  # type: (list[str]) -> None
    """Become the watcher with the kernel's command, or the kernel."""
    python, script = arguments[:2]
    split = arguments.index("--")
    options, command = arguments[2:split], arguments[split + 1 :]
    if command[0] in PYTHONS:
        command[0] = sys.executable
    if python in (THIS_PYTHON, sys.executable) and os.path.isfile(script):
        watch(script, [*options, "--", *command])
    elif os.access(python, os.X_OK) and os.path.isfile(script):
        here = os.path.abspath(__file__)
        become([python, "-ES", here, THIS_PYTHON, script, *options, "--", *command])
    else:
        put_back(os.path.dirname(os.path.abspath(__file__)))
    become(command)


def watch(script, arguments):  # type: (str, list[str]) -> None
    """Be the watcher until the kernel's end; returns only where crashcart cannot be imported."""
    try:
        import site

        site.main()
        sys.path[0] = os.path.dirname(os.path.dirname(os.path.dirname(script)))  # for the folder of this file
        from crashcart.jupyter.kernel import main as run
    except Exception as error:
        sys.stderr.write(f"crashcart: the kernel runs unwatched: {type(error).__name__}: {error}\n")
        return
    sys.exit(run(arguments))


def become(command):  # type: (list[str]) -> None
    """Run the command in place of this process; returns only where that cannot be."""
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"crashcart: {command[0]}: {error.strerror}\n")


def put_back(folder):  # type: (str) -> None
    """Undo what `enable` did to the kernel of this folder."""
    kernel_json = os.path.join(folder, "kernel.json")
    try:
        if os.path.exists(kernel_json + PLAIN_SUFFIX):
            os.rename(kernel_json + PLAIN_SUFFIX, kernel_json)
            os.unlink(os.path.abspath(__file__))
        elif is_copy(kernel_json):
            import shutil

            shutil.rmtree(folder)
    except (OSError, ValueError):
        return


def is_copy(kernel_json):  # type: (str) -> bool
    """Whether the whole folder is a copy that `enable` made of one that may not be written."""
    import json

    with open(kernel_json, encoding="utf-8") as stream:
        return bool(json.load(stream).get("metadata", {}).get("crashcart", {}).get("copied"))


if __name__ == "__main__":
    main(sys.argv[1:])
    sys.exit(127)
