"""Steps of a program that says nothing of steps: counted where the frameworks pass by.

Covers: batches of Keras, calls of tf.functions, optimizers, v1 sessions, elements of tf.data, cells of a notebook; each kind
is counted by itself, and the reader chooses.
Does not cover: loops that call no framework (`_crashcart_loops`), or what is measured at a step (`_crashcart_looks`).

Nothing here imports a framework: it is met when the program has imported it. A hook sits where an attribute is *looked up*
(`_Counted`), or in a function of the framework that cannot fail, so that no frame of ours is in the tracebacks of
its calls.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself costs 5 ms
    from typing import Any

MOST_KEYS, MOST_LOOPS = 256, 192
"""Kinds of steps that are told apart, and loops among them; a look writes a number for each."""
_LIBRARY_MARKS = ("site-packages", "dist-packages", os.sep + "lib" + os.sep + "python3", "__autograph_generated_file")
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_known_files: dict[str, bool] = {}


def is_own(file: str) -> bool:
    """Whether a file is the user's own code rather than a library."""
    known = _known_files.get(file)
    if known is None:
        if len(_known_files) > 20000:  # a program that makes code without end
            _known_files.clear()
        known = not file.startswith(("<frozen", "<__array", "<string", _PACKAGE))
        known = known and not any(mark in file for mark in _LIBRARY_MARKS)
        _known_files[file] = known
    return known


def is_theirs(failure: BaseException) -> bool:
    """Whether a failure that came up in our code is the program's: raised by a signal handler of its own that happened to run
    there (a time limit), or put into this thread from another. It has to go on to the program.

    The handler is known by its second argument, the frame that was interrupted, which is its caller. That a frame is not in
    one of our files says less: what pandas or Keras raises when we read it is for us to swallow."""
    trace, frame = failure.__traceback__, None
    while trace is not None:
        caller, frame = frame, trace.tb_frame
        if caller is not None and _interrupts(frame, caller):
            return True
        trace = trace.tb_next
    raised_here = frame is not None and frame.f_code.co_filename.startswith(_PACKAGE)
    return raised_here and _is_own_kind(type(failure))


def _interrupts(frame: Any, caller: Any) -> bool:
    for value in list(frame.f_locals.values()):
        if value is caller or (type(value) is tuple and any(each is caller for each in value)):
            return True
    return False


def _is_own_kind(kind: type) -> bool:
    """Whether a class is the user's own."""
    module = sys.modules.get(str(kind.__module__))
    return str(kind.__module__) == "__main__" or is_own(str(getattr(module, "__file__", None) or "<frozen"))


class Counts:
    """How often each kind of step has been taken. `beat` is called with the index of the kind, and may take a look."""

    def __init__(self, beat: Any) -> None:
        self.keys: list[tuple[str, str, bool]] = []
        """Kind, name, and whether it is the user's own."""
        self.counts: list[int] = []
        self.beat = beat
        self.own_seen = False
        self.latest = -1
        """The index of the last step that was taken."""
        self.places: dict[int, tuple[Any, ...]] = {}
        """By index: the user's line that takes these steps: file, line, function."""
        self.refused: str | None = None
        """Why a kind of step goes uncounted."""
        self.is_theirs = is_theirs
        self._indices: dict[tuple[Any, ...], int] = {}

    def index(self, kind: str, name: str, own: bool = True, of: tuple[Any, ...] = ()) -> int:
        """The place of a kind in `counts`; -1 where there are too many already."""
        found = self._indices.get((kind, name, *of))
        if found is None:
            found = len(self.keys)
            if found >= (MOST_LOOPS if kind == "loop" else MOST_KEYS):
                self.refused = f"{found} kinds of steps are counted already; what came later was not ({name})"
                return -1
            self.counts.append(0)
            self.keys.append((kind, name, own))
            self._indices[(kind, name, *of)] = found
        return found

    def step(self, kind: str, name: str, own: bool = True, of: tuple[Any, ...] = ()) -> None:
        """One more of that kind."""
        found = self.index(kind, name, own, of)
        if found >= 0:
            self.counts[found] += 1
            self.latest = found
            self.own_seen = self.own_seen or own
            if own or not self.own_seen:  # a library's own steps would take the looks away from the user's
                self.beat()


class _Counted:
    """A method that is counted when it is looked up on an instance: the call itself is the framework's own."""

    __slots__ = ("before", "plain")

    def __init__(self, plain: Any, before: Any) -> None:
        self.plain = plain
        self.before = before

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is not None:
            try:
                self.before(instance)
            except Exception as failure:  # ours is not the program's
                if is_theirs(failure):
                    raise
        return self.plain.__get__(instance, owner)


class Hooks:
    """All places in which frameworks are counted; `remove` leaves the frameworks as they were."""

    def __init__(self, counts: Counts) -> None:
        self.counts = counts
        self.places: dict[str, list[Any]] = {name: [place] for name, place in PLACES.items()}
        self.replaced: list[tuple[Any, str, Any, Any]] = []
        self.lacking: dict[str, str] = {}
        self.shell: Any = None
        self._finder: _Finder | None = None

    def install(self) -> None:
        """Hook what is loaded, and wait for the rest."""
        for name in self.places:
            module = sys.modules.get(name)
            if module is not None:
                self.meet(name, module)
        self._finder = _Finder(self)
        sys.meta_path.insert(0, self._finder)

    def add(self, places: dict[str, Any]) -> None:
        """More to do when a module is there; what is done gets these hooks and the module."""
        for name, place in places.items():
            self.places.setdefault(name, []).append(place)

    def meet(self, name: str, module: Any) -> None:
        """A framework's module is there."""
        for place in self.places[name]:
            try:
                place(self, module)
            except Exception as failure:  # another release of it: its steps go uncounted, and that is said
                if is_theirs(failure):
                    raise
                self.lacking[name] = f"{type(failure).__name__}: {failure}"

    def remove(self) -> None:
        """Everything as it was, where nobody else has replaced it since."""
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        for owner, name, plain, ours in reversed(self.replaced):
            if vars(owner).get(name) is ours:
                setattr(owner, name, plain)
        self.replaced.clear()
        if self.shell is not None:
            self.shell.events.unregister("post_run_cell", self._cell_ended)
            self.shell = None

    def count_look_up(self, owner: Any, name: str, before: Any) -> None:
        """Call `before` with the instance whenever its method is looked up."""
        plain = vars(owner)[name]
        self.replace(owner, name, plain, _Counted(plain, before))

    def replace(self, owner: Any, name: str, plain: Any, ours: Any) -> None:
        """Put ours in the place of the framework's."""
        setattr(owner, name, ours)
        self.replaced.append((owner, name, plain, ours))

    def _cell_ended(self, _result: Any = None) -> None:
        self.counts.step("cell", "cells")

    def meet_shell(self, shell: Any) -> None:
        """Count the cells of IPython's shell."""
        if self.shell is None:
            self.shell = shell
            shell.events.register("post_run_cell", self._cell_ended)


class _Finder:
    """Sees the imports of the frameworks' modules, and lets them happen as ever."""

    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks
        self.waiting = set(hooks.places)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in self.waiting:
            return None
        self.waiting.discard(name)
        try:
            tool = sys.modules["_crashcart_leaks"]._part("import_hook")
            return tool.spec_by_others(self, name, path, target, lambda module: self.hooks.meet(name, module))
        except Exception as failure:  # it is imported as if we had not been there
            if is_theirs(failure):
                raise
            return None


def _tf_functions(hooks: Hooks, module: Any) -> None:
    """TensorFlow itself counts the calls that were made eagerly, to warn of too many traces; `key` is the code of the Python
    function. It does so after the call, and cannot fail."""
    kind, counts = module._FrequentTracingDetectorManager, hooks.counts
    without, with_tracing = kind.called_without_tracing, kind.called_with_tracing

    def called_without_tracing(self: Any, key: Any) -> None:
        without(self, key)
        _called(counts, key)

    def called_with_tracing(self: Any, key: Any, *others: Any) -> None:
        with_tracing(self, key, *others)
        _called(counts, key)

    hooks.replace(kind, "called_without_tracing", without, called_without_tracing)
    hooks.replace(kind, "called_with_tracing", with_tracing, called_with_tracing)


def _called(counts: Counts, key: Any) -> None:
    try:
        name, file, line = key.co_name, key.co_filename, key.co_firstlineno
    except AttributeError:  # a callable without code of its own
        name, file, line = type(key).__name__, "<string>", 0
    try:
        counts.step("tf.function call", f"calls of {name}", is_own(file), (file, line))
    except Exception as failure:
        if is_theirs(failure):
            raise


def _batch(hooks: Hooks, words: str) -> Any:
    return lambda _: hooks.counts.step("keras batch", words)


def _keras_batches(hooks: Hooks, module: Any) -> None:
    for part, method in (("train", "fit"), ("test", "evaluate"), ("predict", "predict")):
        hooks.count_look_up(module.CallbackList, f"on_{part}_batch_end", _batch(hooks, f"batches of model.{method}"))


def _keras_single_batches(hooks: Hooks, module: Any) -> None:
    for method in ("train_on_batch", "test_on_batch", "predict_on_batch"):
        hooks.count_look_up(module.TensorFlowTrainer, method, _batch(hooks, f"calls of model.{method}"))


def _is_eager() -> bool:
    """Whether TensorFlow runs what it is told; else it only draws a graph, and that is no step."""
    context = sys.modules.get("tensorflow.python.eager.context")
    return context is None or bool(context.executing_eagerly())


def _optimizers(hooks: Hooks, module: Any) -> None:
    def before(optimizer: Any) -> None:
        if _is_eager():
            hooks.counts.step("optimizer step", f"steps of {type(optimizer).__name__}")

    hooks.count_look_up(module.BaseOptimizer, "apply", before)


def _dataset_elements(hooks: Hooks, module: Any) -> None:
    def before(_: Any) -> None:
        if _is_eager():
            hooks.counts.step("dataset element", "elements of a dataset")

    hooks.count_look_up(module.OwnedIterator, "_next_internal", before)


def _session_runs(hooks: Hooks, module: Any) -> None:
    hooks.count_look_up(module.BaseSession, "run", lambda _: hooks.counts.step("session run", "calls of Session.run"))


def _cells(hooks: Hooks, module: Any) -> None:
    kind = module.InteractiveShell
    if kind._instance is not None:
        hooks.meet_shell(kind._instance)
        return
    plain = kind.init_events

    def init_events(self: Any) -> None:
        kind.init_events = plain
        plain(self)
        hooks.meet_shell(self)

    kind.init_events = init_events


PLACES: dict[str, Any] = {
    "tensorflow.python.eager.polymorphic_function.polymorphic_function": _tf_functions,
    "keras.src.callbacks.callback_list": _keras_batches,
    "tf_keras.src.callbacks": _keras_batches,
    "keras.src.backend.tensorflow.trainer": _keras_single_batches,
    "keras.src.optimizers.base_optimizer": _optimizers,
    "tensorflow.python.data.ops.iterator_ops": _dataset_elements,
    "tensorflow.python.client.session": _session_runs,
    "IPython.core.interactiveshell": _cells,
}
