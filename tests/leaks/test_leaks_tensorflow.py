"""Real TensorFlow programs under the watch. Each starts TensorFlow once, so each asks several questions."""

from __future__ import annotations

from pathlib import Path

import pytest
from watched import Watched, plain, watch

from crashcart.evidence import Evidence
from crashcart.leaks import examine_leaks

pytest.importorskip("tensorflow")


def as_without_us(folder: Path, source: str) -> Watched:
    """The program under the watch, which ran as it does plainly."""
    (folder / "with").mkdir()
    (folder / "without").mkdir()
    found = watch(folder / "with", source)
    assert found.code == 0, found.err
    assert found.out == plain(folder / "without", source).stdout
    return found


LOOP = """
import tensorflow as tf

class Trainer:
    def __init__(self):
        self.losses = []

    def step(self, x):
        loss = tf.reduce_sum(x)
        self.losses.append(x + 1.0)
        return loss

@tf.function
def scale(x, k):
    return x * k

def main():
    trainer = Trainer()
    tf.random.set_seed(3)
    total = 0.0
    for i in range(80):
        x = scale(tf.random.normal([128, 128]), i // 10)
        total += float(trainer.step(x))
    print(round(total, 3), len(trainer.losses))
    try:
        scale(tf.zeros([2]), "text")
    except Exception as error:
        import traceback
        print([frame.name for frame in traceback.extract_tb(error.__traceback__)])

main()
"""


def test_a_loop_of_ones_own(tmp_path: Path) -> None:
    found = as_without_us(tmp_path, LOOP)
    growth = found.growth
    assert growth.steps is not None
    assert (growth.steps.kind, growth.steps.name, growth.steps.count) == ("tf.function call", "calls of scale", 80)
    kept = found.kept("trainer.losses")
    assert (kept.item, kept.kind, kept.scope) == ("EagerTensor", "list", "class Trainer")
    assert kept.sizes_bytes[-1] > 20 * 65536
    assert kept.filled_at is not None
    assert kept.filled_at.source == "self.losses.append(x + 1.0)"
    (retraced,) = (each for each in growth.retraced if each.name == "scale")
    assert retraced.last == 8
    assert retraced.changed == ("argument `k`: Python number 2, 3, 4, 5, 6, 7",)
    assert retraced.frame is not None
    assert retraced.frame.source == "x = scale(tf.random.normal([128, 128]), i // 10)"


KERAS = """
import keras
import numpy as np
import tensorflow as tf

class Keep(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.seen = []

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append(np.zeros((100, 100)))

keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Dense(8), keras.layers.Dense(1)])
model.compile(loss="mse")
x, y = np.random.rand(320, 4), np.random.rand(320, 1)
history = model.fit(x, y, batch_size=8, epochs=3, verbose=0, callbacks=[Keep()])
print([round(loss, 4) for loss in history.history["loss"]])
models = []
for n in range(5):
    models.append(keras.Sequential([keras.layers.Dense(2)]))
    models[-1](x[:1])
    f = tf.function(lambda t: t * 2)
    f(tf.zeros([2]))

graph = tf.Graph()
with graph.as_default():
    sessions = [tf.compat.v1.Session() for _ in range(4)]
    for i in range(6):
        sessions[0].run(tf.constant(i) + 1)
    sessions[3].close()
import time; time.sleep(0.12)
with graph.as_default():
    sessions[0].run(tf.constant(1))
"""


def test_keras_and_what_is_made_anew(tmp_path: Path) -> None:
    found = as_without_us(tmp_path, KERAS)
    growth = found.growth
    assert growth.steps is not None
    assert (growth.steps.kind, growth.steps.name, growth.steps.count) == ("keras batch", "batches of model.fit", 120)
    assert growth.steps.frame is not None
    assert growth.steps.frame.line == 18
    kept = found.kept("Keep.seen")
    assert kept.chain[0] == "Keep (Callback)"
    assert kept.filled_at is not None
    assert kept.filled_at.function == "on_train_batch_end"
    made = {(each.kind, each.name): each for each in growth.made}
    assert made["model", "Sequential"].last >= 5
    assert made["session", "Session"].last == 4
    frame = next(each.frame for each in growth.made if each.kind == "model" and each.last == 5)
    assert frame is not None
    assert frame.source == "models.append(keras.Sequential([keras.layers.Dense(2)]))"
    last = {series.name: series.values[-1] for series in growth.series}
    assert last["models"] == 12  # each Sequential has a Functional inside
    assert last["sessions"] == 3
    assert last["operations"] == 19  # 6 × (two constants and a sum), and one
    assert made["operation", "Operation"].frame is not None
    assert any(
        each.frame is not None and each.frame.source == "sessions[0].run(tf.constant(i) + 1)" and each.last >= 12
        for each in growth.made
        if each.kind == "operation"
    )
    assert growth.lacking.keys() <= {"children"}


GENERATORS = """
import numpy as np
import tensorflow as tf

def dataset(samples):
    def generate():
        yield from samples
    return tf.data.Dataset.from_generator(generate, output_signature=tf.TensorSpec((1000,)))

total = 0.0
for n in range(60):
    samples = np.full((100, 1000), n, np.float32)
    for row in dataset(samples).take(2):
        total += float(row[0])
same = tf.data.Dataset.range(4).map(lambda n: tf.numpy_function(lambda k: k + 1, [n], tf.int64))
for _ in range(3):
    total += sum(int(n) for n in same)
print(total)
"""


def test_datasets_made_anew_from_generators_are_told_by_the_line_that_makes_them(tmp_path: Path) -> None:
    found = as_without_us(tmp_path, GENERATORS)
    made = {
        (each.frame.source if each.frame else None): each
        for each in found.growth.made
        if each.kind == "Python function"
    }
    line = "return tf.data.Dataset.from_generator(generate, output_signature=tf.TensorSpec((1000,)))"
    assert made[line].last == 180, "three for each: begin, next, end"
    assert sorted(each.last for each in made.values()) == [1, 180], "what is read three times is handed over once"
    (finding, *_) = examine_leaks(Evidence(growth=found.growth), "train.py").findings
    assert finding.code == "L120" and finding.where is not None and finding.where.line == 8
