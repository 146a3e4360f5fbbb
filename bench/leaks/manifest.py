"""All programs of the bench: which leak, how long each runs, and what a good report names.

Covers: steps, the marked lines, the holder by the name that the user gave it. A program knows nothing of crashcart: it is given a
number of steps and runs. Does not cover: how much each grows in truth (`truth.py` measures that), and judging (`judge.py`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent / "programs"
GROWS_HERE = "# <-- grows here"
OR_HERE = "# <-- or here"
LIMIT_MB = 3_000
"""Of the memory group: none of the programs comes near it."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A program, and what is true of it."""

    name: str
    steps: int
    """Its argument: steps, batches, epochs or trials, as the program counts."""
    does: str
    leaks: bool
    holders: tuple[str, ...] = ()
    """Names, any of which has to be a word of the holder that is reported; empty where no name of the user's holds it."""
    folder: Path = PROGRAMS

    @property
    def path(self) -> Path:
        """The file that is started."""
        return self.folder / f"{self.name}.py"

    @property
    def lines(self) -> frozenset[int]:
        """The lines of which a good report names one."""
        text = self.path.read_text(encoding="utf-8").splitlines()
        return frozenset(n for n, line in enumerate(text, start=1) if line.endswith((GROWS_HERE, OR_HERE)))


def _leak(name: str, steps: int, does: str, *holders: str) -> Subject:
    return Subject(name, steps, does, leaks=True, holders=holders)


def _quiet(name: str, steps: int, does: str) -> Subject:
    return Subject(name, steps, does, leaks=False)


LEAKING: tuple[Subject, ...] = (
    _leak("outputs_kept", 150, "custom loop, loss and logits of each step in a list", "history"),
    _leak("callback_features", 8, "`fit`, a callback keeps an embedding per batch", "features"),
    _leak("layer_keeps_inputs", 8, "`fit` run eagerly, a layer keeps what it saw", "seen"),
    _leak("metric_never_reset", 300, "own metric that nobody resets", "scores", "metric"),
    _leak("closure_seen", 200, "a list in a closure keeps each batch", "seen"),
    _leak("gradients_on_class", 200, "gradients in a list of the class", "gradients"),
    _leak("shadow_weights", 150, "new variables under new names", "shadows"),
    _leak("replay_memory", 450, "replay memory that is never trimmed", "memory"),
    _leak("augmented_dataset", 8, "`PyDataset` that caches by epoch", "cache"),
    _leak("embedding_cache", 150, "`lru_cache` without a bound", "embed"),
    _leak("patches_of_scans", 200, "small views that keep large arrays", "suspicious"),
    _leak("frame_of_predictions", 300, "a data frame that is concatenated with each batch", "log"),
    _leak("errors_kept", 150, "exceptions kept, and with them their frames", "failed"),
    _leak("ngram_counts", 150, "a Counter of ever new keys", "counts"),
    _leak("producer_queue", 60, "an unbounded queue between threads", "batches"),
    _leak("scores_by_request", 600, "plain NumPy, a dictionary of a module", "SCORES"),
    _leak("search_results", 10, "a search that keeps each model", "results"),
    _leak("folds_histories", 18, "History objects that keep each fold's model", "histories"),
    _leak("compile_in_loop", 18, "a model and a tf.function for each trial, kept", "EXPORTS"),
    _leak("step_number_in_function", 60, "traced anew: a Python number as argument"),
    _leak("sequence_lengths", 120, "traced anew: ever new shapes"),
    _leak("function_per_request", 60, "a tf.function defined in the handler", "handlers"),
    _leak("graph_ops_in_loop", 150, "TensorFlow 1: operations made in the loop"),
    _leak("sessions_left_open", 80, "TensorFlow 1: sessions never closed", "sessions"),
    _leak("interactive_sessions", 60, "TensorFlow 1: InteractiveSession in a function"),
    _leak("lookup_table", 200, "a table inside TensorFlow, no Python object grows", "table"),
    _leak("generator_per_epoch", 40, "a generator dataset for each epoch"),
    _leak(
        "search_best_only", 8, "models dropped, session cleared, garbage collected: TensorFlow keeps what `fit` traced"
    ),
    _leak("models_in_loop", 12, "models made in a loop, none kept by the user"),
    _leak("two_phases", 300, "a long preparation that is sound, then a loop that keeps each answer", "answers"),
    _leak("leak_after_many_loops", 200, "thirty short loops, then training that keeps its activations", "activations"),
)

QUIET: tuple[Subject, ...] = (
    _quiet("losses_as_floats", 1500, "a list of a few numbers per step"),
    _quiet("fit_many_epochs", 40, "`fit` over many epochs with the usual callbacks"),
    _quiet("predict_in_loop", 100, "`predict` in a loop"),
    _quiet("epoch_predictions", 10, "all outputs of an epoch, dropped at its end"),
    _quiet("metric_reset", 6, "metrics reset after each epoch"),
    _quiet("frames_per_epoch", 20, "data frames concatenated, dropped each epoch"),
    _quiet("best_checkpoints", 200, "the three best sets of weights"),
    _quiet("replay_bounded", 1200, "a deque that is full in the middle of the run"),
    _quiet("replay_preallocated", 400, "an array that becomes resident as it is filled, then wraps"),
    _quiet("decoded_cache", 6, "a cache that is full after one epoch"),
    _quiet("bounded_lru", 150, "`lru_cache` with a bound"),
    _quiet("rings_for_the_collector", 300, "rings of objects for the garbage collector"),
    _quiet("small_objects_churn", 200, "many small objects, a window over the last thirty batches"),
    _quiet("ragged_batches", 400, "batches of very different sizes"),
    _quiet("longer_and_longer", 200, "sequences that grow in three steps, then stay"),
    _quiet("bucketed_lengths", 500, "a tf.function with three shapes"),
    _quiet("threads_warm_up", 200, "threads and loads in flight that rise, then stay"),
    _quiet("shuffle_fills", 250, "shuffle buffer and cache that fill"),
    _quiet("graph_built_once", 1000, "TensorFlow 1: a graph built once"),
    _quiet("models_cleared", 20, "models made in a loop after `clear_session`"),
    _quiet("one_writer", 500, "one summary writer"),
    _quiet("server_of_rankings", 600, "plain NumPy, the last hundred answers"),
    _quiet("load_then_fit", 12, "images loaded in a loop, then a training"),
    _quiet("bounded_queue", 260, "a queue with a bound between threads, full near the end"),
    _quiet("windows_of_series", 400, "views of one array in a list"),
    _quiet("array_filled_once", 450, "an array made before that is filled nearly to the end"),
)

SUBJECTS = LEAKING + QUIET


def outside(folder: Path) -> list[Subject]:
    """Programs that are not in the repository, from the `manifest.json` beside them: a list of objects with the fields of `Subject`."""
    entries = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return [Subject(**{**each, "holders": tuple(each.get("holders", ())), "folder": folder}) for each in entries]
