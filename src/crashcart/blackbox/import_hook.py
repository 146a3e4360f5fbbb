"""Learning of the import of a module from inside a program: it happens as ever, and somebody is called after it.

Covers: the way through the other finders, and a loader that is as it was afterwards. Standard library only, loaded by its
file: the parts inside a program cannot import packages of ours.
Does not cover: which modules, or what is done then.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself costs 5 ms
    from typing import Any


def spec_by_others(own: Any, name: str, path: Any, target: Any, then: Any) -> Any:
    """What the finders other than `own` say of the module; `then` is called with it once it is loaded, and must not fail."""
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec = find(name, path, target) if find is not None and finder is not own else None
        if spec is not None:
            _after_loading(spec.loader, then)
            return spec
    return None


def _after_loading(loader: Any, then: Any) -> None:
    plain = loader.exec_module

    def exec_module(module: Any) -> None:
        vars(loader).pop("exec_module", None)  # another hook may have taken its own out already
        plain(module)
        then(module)

    loader.exec_module = exec_module
