"""Runs at the start of every Python interpreter below `crashcart run`: starts the hook, then the real sitecustomize.

Covers: finding its way out again: after it ran, `sys.path` looks as it would have without it, and a sitecustomize that
the environment has of its own has run.
Does not cover: any recording (`_crashcart_hook`). Every Python 3 can parse it; older ones than 3.8 go unhooked.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _start():  # type: () -> None
    if sys.version_info >= (3, 8) and os.environ.get("CRASHCART_RECORDING"):
        import _crashcart_hook  # type: ignore[import-not-found]

        _crashcart_hook.start(os.environ["CRASHCART_RECORDING"])
        for path in os.environ.get("CRASHCART_INSIDE", "").split("//"):  # what rooms that act have inside
            if path:
                name = os.path.basename(path)[: -len(".py")]
                _crashcart_hook._load(name, path).start(os.environ["CRASHCART_RECORDING"])


def _leave():  # type: () -> None
    sys.path[:] = [entry for entry in sys.path if not entry or os.path.abspath(entry) != _HERE]
    sys.path_importer_cache.pop(_HERE, None)


def _run_original():  # type: () -> None
    for finder in sys.meta_path:
        spec = finder.find_spec("sitecustomize", None)
        if spec is not None and spec.loader is not None:
            from importlib.util import module_from_spec

            module = module_from_spec(spec)
            sys.modules["sitecustomize"] = module
            spec.loader.exec_module(module)
            return


try:
    _start()
except Exception:  # our failure is never the program's: it goes on unhooked, and the recording shows that
    sys.modules.pop("_crashcart_hook", None)
finally:
    _leave()
_run_original()
