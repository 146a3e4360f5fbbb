"""Writes the Python stack of a program to a file on SIGUSR2 and at a fatal signal (for `verify.py --stacks`)."""

import faulthandler
import os
import signal

_path = os.environ.get("LAST_WORDS")
if _path:
    _file = open(f"{_path}.{os.getpid()}", "w")  # noqa: SIM115  (faulthandler keeps writing to it)
    faulthandler.enable(_file)
    faulthandler.register(signal.SIGUSR2, _file, all_threads=False)
