"""A Keras model from what the user names: a file or a module with a name in it, or a saved model.

Covers: running the file without letting it train, finding the name, calling a builder, telling what is wrong with either;
weights that take no memory (`tensorflow_weights`) where they are not needed.
Does not cover: shapes (`tensorflow_specs`), tracing (`tensorflow_trace`), models that live in the caller's own process
(`tensorflow_live`), what the target may look like (`tensorflow_target`). Meant for a child process: the file is the
user's, and may print, exit or die.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from crashcart.errors import CannotCheckError, CrashcartError, UsageError
from crashcart.probe.tensorflow_said import said
from crashcart.probe.tensorflow_target import Backend, Target, backend_named_in, read_target
from crashcart.probe.tensorflow_weights import WeightsReadError, note_without_weights, unallocated

_RUNS = ("fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch")
_TRAININGS = ("fit", "train_on_batch")


class NeedsWeightsError(CannotCheckError):
    """The user's code looks at the values of weights, which were not allocated: load again in a new process, with them."""

    help = "Load it again in a new process, with its weights."


class RanError(BaseException):
    """The user's code began to train or predict; no `except Exception` of its own may swallow that."""


def load(file: str, name: str | None = None, *, weights: bool = True) -> tuple[Any, Any]:
    """The model, and what was given with it: a dataset, an example batch or TensorSpecs; None without.

    The target is given whole (`train.py:build`, `package.module:build`, `model.keras`) or as file and name. Without
    `weights`, variables take no memory, and code that looks at the value of one raises NeedsWeightsError.
    """
    target = read_target(f"{file}:{name}" if name else file)
    with _told(target, weights):
        made = _saved(target, weights) if target.saved else _built(target, weights)
        model, given = parted(made)
        given = first_batch(given)
    check_model(model, f"{target.name} in {target.place}" if target.name else target.place)
    if not weights:
        note_without_weights(model)
    return model, given


def load_value(text: str, wanted: str) -> Any:
    """What is named in the user's file, or what it gives when it is called; `wanted` says in messages what is looked for.

    Keras is not imported for it, and may have any backend; where the file itself imports it, nothing trains.
    """
    target = read_target(text)
    with _told(target, True), ExitStack() as stack:

        def take_away() -> None:
            stack.enter_context(forbidden(_RUNS, importing=True))

        take_away() if "keras" in sys.modules else stack.callback(_once_imported("keras", take_away))
        module = _from_file(target.place) if target.is_file else _from_path(target.place)
        return _made(target, _named(target, module, wanted), True)


def _built(target: Target, weights: bool) -> Any:
    """What the named model, pair or function is or gives."""
    value = _named(target, _module(target, weights))
    with ExitStack() as stack:
        stack.enter_context(forbidden())
        if not weights and _on_tensorflow():
            stack.enter_context(unallocated())
        return _made(target, value, weights)


def parted(made: Any) -> tuple[Any, Any]:
    """The model, and what came with it."""
    if isinstance(made, (tuple, list)) and len(made) == 2:
        return made[0], made[1]
    if isinstance(made, (tuple, list)) and len(made) == 3:
        return made[0], made[1] if _gives_batches(made[1]) else (made[1], made[2])
    return made, None


def _gives_batches(given: Any) -> bool:
    """Whether it is a dataset, so that what follows it is none of its targets but another one, to validate with."""
    named = {each.__name__ for each in type(given).__mro__}
    return hasattr(given, "element_spec") or "PyDataset" in named or is_generator(given)


def first_batch(given: Any) -> Any:
    """One batch of a generator, which can be asked once only; anything else as it is."""
    if not is_generator(given):
        return given
    for batch in given:
        return batch
    raise UsageError("the generator that came with the model gives nothing", "Return the model with an example batch.")


def is_generator(given: Any) -> bool:
    """Whether asking for a batch takes it away from whoever asks next."""
    return isinstance(given, Iterator) and not hasattr(given, "element_spec")


@contextmanager
def _told(target: Target, weights: bool) -> Iterator[None]:
    """Errors of the user's code as words, with the line of the file they come from."""
    try:
        yield
    except CrashcartError:
        raise
    except RanError as ran:
        raise CannotCheckError(*_ran(target, ran)) from None
    except (Exception, SystemExit, WeightsReadError) as error:
        if not weights and _read_weights(error):
            where = _line(error, target)
            raise NeedsWeightsError(f"{target.place} looks at the values of weights{where}") from error
        raise CannotCheckError(f"importing {target.place} failed: {said(error)}{_line(error, target)}", _FIX) from error


_FIX = "Fix that first."


WITHOUT_TRAINING = "Name a function that builds and compiles the model and returns it, without training."


def _ran(target: Target, ran: RanError) -> tuple[str, str]:
    method, building = ran.args
    if building:
        return f"{target.name}() calls {method}{_line(ran, target)}", WITHOUT_TRAINING
    return (
        f"{target.place} calls {method} while it is imported{_line(ran, target)}",
        'Move it below `if __name__ == "__main__":`, so that the file can be imported without training.',
    )


def _read_weights(error: BaseException | None) -> bool:
    """Whether a variable without memory was read on the way to that error."""
    failed = getattr(sys.modules.get("tensorflow"), "errors", None)
    seen = 0
    while error is not None and seen < 20:
        if isinstance(error, WeightsReadError) or (failed and isinstance(error, failed.FailedPreconditionError)):
            return True
        error, seen = error.__cause__ or error.__context__, seen + 1
    return False


def _named(target: Target, module: ModuleType, wanted: str = "a model") -> Any:
    name = target.name
    if hasattr(module, name):
        return getattr(module, name)
    found = [each for each, value in vars(module).items() if not each.startswith("_") and _may_build(value, module)]
    listed = f"; it defines {', '.join(found)}" if found else ""
    close = get_close_matches(name, found, 1)
    meant = f"Did you mean {target.place}:{close[0]}? " if close else ""
    raise UsageError(
        f"{target.place} has no {name}{listed}",
        f"{meant}Name {wanted} or a function that returns one: {target.place}:NAME.",
    )


def _may_build(value: object, module: ModuleType) -> bool:
    if type(value).__name__ in ("Functional", "Sequential") or hasattr(type(value), "element_spec"):
        return True
    mine = getattr(value, "__module__", None) == module.__name__
    return mine and (inspect.isfunction(value) or inspect.isclass(value))


def _module(target: Target, weights: bool) -> ModuleType:
    """The module, run with what would train taken away."""
    backend = _prepared(target)
    with ExitStack() as stack:

        def take_away() -> None:
            stack.enter_context(forbidden(_RUNS, importing=True))
            if not weights and _on_tensorflow():
                stack.enter_context(unallocated())

        if backend is Backend.LATER and "keras" not in sys.modules:
            stack.callback(_once_imported("keras", take_away))
        else:
            take_away()
        return _from_file(target.place) if target.is_file else _from_path(target.place)


def _once_imported(name: str, then: Callable[[], None]) -> Callable[[], None]:
    """Do something as soon as a module has been imported, before whoever imports it goes on. What is returned ends the wait."""

    class Finder(importlib.abc.MetaPathFinder):
        def find_spec(self, wanted: str, path: Any, target: Any = None) -> Any:
            if wanted != name:
                return None
            end()
            spec = importlib.util.find_spec(name)
            if spec is not None and spec.loader is not None:
                plain = spec.loader.exec_module

                def execute(module: ModuleType) -> None:
                    plain(module)
                    then()

                vars(spec.loader)["exec_module"] = execute
            return spec

    finder = Finder()

    def end() -> None:
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)

    sys.meta_path.insert(0, finder)
    return end


def _prepared(target: Target) -> Backend:
    """Whether Keras may be imported before the user's file is, and with which backend."""
    backend = backend_named_in(target.source())
    if backend is Backend.OTHER:
        raise CannotCheckError(
            f"{target.place} sets another backend of Keras, and only steps of TensorFlow can be traced",
            "Set KERAS_BACKEND to tensorflow there to see what the model takes on TensorFlow.",
        )
    if backend is Backend.TENSORFLOW:
        os.environ["KERAS_BACKEND"] = "tensorflow"
    if backend is not Backend.LATER:
        _import_keras()
    return backend


def _import_keras() -> None:
    try:
        import keras
    except ImportError as error:
        raise CannotCheckError(f"Keras cannot be imported: {said(error)}", "Install keras and tensorflow.") from error
    _check_backend(keras)


def _check_backend(keras: Any) -> None:
    if int(keras.__version__.partition(".")[0]) < 3:
        raise CannotCheckError(f"this is Keras {keras.__version__}", "Only models of Keras 3 can be traced.")
    backend = keras.backend.backend()
    if backend != "tensorflow":
        raise CannotCheckError(
            f"Keras runs on {backend} here, and only steps of TensorFlow can be traced",
            "Set KERAS_BACKEND=tensorflow to see what the model takes there.",
        )


def _on_tensorflow() -> bool:
    keras = sys.modules.get("keras")
    return keras is not None and keras.backend.backend() == "tensorflow"


def _from_file(place: str) -> ModuleType:
    path = Path(place)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file", "Write FILE.py:NAME, such as train.py:build_model.")
    sys.path.insert(0, str(path.resolve().parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _from_path(place: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    return importlib.import_module(place)


@contextmanager
def forbidden(names: tuple[str, ...] = _TRAININGS, importing: bool = False) -> Iterator[None]:
    """Calls that would train, or predict, stop by `RanError`."""
    keras = sys.modules.get("keras")
    if keras is None:
        yield
        return
    model = keras.Model
    kept = {name: vars(model)[name] for name in names if name in vars(model)}
    for name in names:

        def stop(*_: Any, _name: str = name, **__: Any) -> None:
            raise RanError(f"model.{_name}()", not importing)

        setattr(model, name, stop)
    try:
        yield
    finally:
        for name in names:
            delattr(model, name)
        for name, method in kept.items():
            setattr(model, name, method)


def _made(target: Target, value: Any, weights: bool) -> Any:
    if isinstance(value, (tuple, list)) or not callable(value) or is_model(value):
        return value
    check_arguments(value, f"{target.name} in {target.place}", target.name)
    try:
        return value()
    except (Exception, SystemExit) as error:
        if not weights and _read_weights(error):
            raise
        raise CannotCheckError(f"{target.name}() raised {said(error)}{_line(error, target)}", _FIX) from error


def check_arguments(function: Any, what: str, name: str) -> None:
    """A builder is called without arguments; one that needs some cannot be."""
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    needed = [each.name for each in given if each.default is each.empty and each.kind in kinds]
    if needed:
        raise UsageError(
            f"{what} needs {', '.join(needed)}",
            f"Write a function without required arguments that calls it, such as `def to_fit(): return {name}(...)`.",
        )


def _saved(target: Target, weights: bool) -> Any:
    """A saved model, with what it was compiled with."""
    from crashcart.probe.tensorflow_saved import saved_model

    _import_keras()
    with ExitStack() as stack:
        if not weights:
            stack.enter_context(unallocated())
        return saved_model(Path(target.place), weights)


def is_model(value: Any) -> bool:
    """Whether it is a model of Keras 3."""
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(value, keras.Model)


def check_model(model: Any, what: str) -> None:
    """Raise where it is none that can be traced."""
    if not is_model(model):
        legacy = type(model).__module__.startswith(("tf_keras", "keras.src.engine"))
        raise UsageError(
            f"{what} gives {_article(type(model))}, not a Keras model{' of Keras 3' if legacy else ''}",
            "Return a keras.Model, or a pair of it and a dataset, an example batch or TensorSpecs.",
        )
    import keras

    _check_backend(keras)


def _article(kind: type) -> str:
    return "None" if kind is type(None) else f"an object of type {kind.__module__}.{kind.__name__}"


def _line(error: BaseException, target: Target) -> str:
    """Where in the user's own file it happened."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f" ({Path(error.filename).name}:{error.lineno})"
    own = [each for each in traceback.extract_tb(error.__traceback__) if Path(each.filename).name == target.file_name]
    return f" ({target.file_name}:{own[-1].lineno})" if own else ""


def quiet() -> None:
    """TensorFlow's own log lines say nothing about the user's model."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
