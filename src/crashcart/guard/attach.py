"""Guarding a process that runs already: the best that can be had without having been there at its start.

Covers: `cc.guard()` inside the process: finding out that it is guarded, or starting a watcher beside it and listening to it.
Does not cover: the watcher's loop (`record.session.attach`, wired in `cli/guard.py`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from crashcart.blackbox import store
from crashcart.blackbox.inside import load
from crashcart.errors import CannotCheckError
from crashcart.guard import place, status
from crashcart.guard.file import FILE_NAME
from crashcart.guard.inside._crashcart_guard import CEILING
from crashcart.guard.shared import read_processes
from crashcart.guard.slots import REACHED
from crashcart.probe.memory import memory_limits

START_S = 10.0
_INSIDE = Path(__file__).parent / "inside" / "_crashcart_guard.py"
_HOOK = Path(__file__).parent.parent / "record" / "inside" / "_crashcart_hook.py"
_watchers: list[subprocess.Popen[bytes]] = []


def attach(limit_bytes: int | None = None) -> status.Protection:
    """Guard this process, if it is not guarded yet; returns how well it is."""
    module: Any = sys.modules.get("_crashcart_guard")
    if not getattr(module, "shared_file", ""):
        _start(limit_bytes)
        module = sys.modules["_crashcart_guard"]
    elif limit_bytes is not None:
        _ask_for(limit_bytes, module)
    return _protection(Path(module.shared_file))


def _ask_for(limit_bytes: int, module: Any) -> None:
    try:
        module.write_word(CEILING, limit_bytes)
    except OSError as error:
        raise CannotCheckError(f"the guard of this process has ended: {error}", "The limit was not set.") from None


def _start(limit_bytes: int | None) -> None:
    if sys.platform != "linux":
        raise CannotCheckError(f"the guard knows Linux alone, and this is {sys.platform}", "Nothing was changed.")
    if threading.current_thread() is not threading.main_thread():
        raise CannotCheckError("the guard can only be started in the main thread", "Call crashcart.guard() there.")
    folder = store.new_folder(Path(sys.argv[0] or "python").name or "python")
    hook = load(_HOOK)
    if hook._state is None:  # else it is being recorded already, without a guard
        hook.start(str(folder))
    command = [sys.executable, "-m", "crashcart", "guard", "attach", str(os.getpid()), str(folder)]
    command += [] if limit_bytes is None else [f"--limit={limit_bytes}"]
    watcher = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    _watchers.append(watcher)
    until_s = time.monotonic() + START_S
    while not (folder / FILE_NAME).exists():
        if watcher.poll() is not None or time.monotonic() > until_s:
            raise CannotCheckError("the guard's watcher did not start", "Nothing is guarded; see the lines above.")
        time.sleep(0.01)
    load(_INSIDE).start(str(folder))


def _protection(shared_file: Path) -> status.Protection:
    limits = memory_limits(os.getpid())
    own = next((each for each in read_processes(shared_file) if each.pid == os.getpid()), None)
    nowhere = place.Place("", 0, 0, "the process ran already")
    if own is None:
        lack = "the airbag must be there at the start: `crashcart run -- python …`"
        return status.Protection(status.INTERRUPTS, (lack,), limits, nowhere)
    found = place.find_place(
        store.home(), min((each.bytes for each in limits), default=None), os.environ.get(place.VARIABLE)
    )
    if not own.level & REACHED:
        return status.Protection(status.INTERRUPTS, (status.words(own),), limits, found)
    lacks = () if found.directory else (found.reason,)
    return status.Protection(status.FULL if found.directory else status.REFUSALS, lacks, limits, found)
