"""Kill three real TensorFlow programs in three different ways and show what crashcart says; then let one of them live.

make demo
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import group

PROGRAMS = {
    "train_images.py": (
        "the kernel kills it without a word: its container has 1.5 GB",
        """
        import numpy as np
        import tensorflow as tf

        def load_images(count):
            pixels = np.random.rand(count, 128, 128, 3)
            return tf.constant(pixels.astype("float32"))

        images = load_images(4000)
        print("loaded", images.shape)
        """,
        1500,
    ),
    "train_labels.py": (
        "TensorFlow raises an error forty lines long",
        """
        import numpy as np
        import tensorflow as tf

        inputs = np.random.rand(256, 32).astype("float32")
        labels = np.random.randint(0, 12, 256)
        model = tf.keras.Sequential([tf.keras.layers.Input((32,)), tf.keras.layers.Dense(10)])
        model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        model.fit(inputs, labels, verbose=0)
        """,
        None,
    ),
    "train_native.py": (
        "native code crashes: no exception, no traceback",
        """
        import ctypes
        import tensorflow as tf

        def scale_in_place(tensor, factor):
            buffer = ctypes.cast(int(factor), ctypes.POINTER(ctypes.c_float))
            return [buffer[index] for index in range(4)]

        weights = tf.ones([4])
        print(scale_in_place(weights, 2.0))
        """,
        None,
    ),
}
GUARDED = "train_images.py"


def main() -> int:
    home = tempfile.mkdtemp(prefix="crashcart-demo-")
    environment = {**os.environ, "CRASHCART_HOME": home, "TF_CPP_MIN_LOG_LEVEL": "3"}
    for number, name in enumerate(PROGRAMS, 1):
        show(f"{number} of {len(PROGRAMS)}: {name}: {PROGRAMS[name][0]}", name, Path(home), environment, guarded=False)
    show(
        f"and once more, guarded: {GUARDED} gets an exception in place of the kill",
        GUARDED,
        Path(home),
        environment,
        guarded=True,
    )
    print(f"\nThe same as pages: {home}/*.html")
    return 0


def show(title: str, name: str, home: Path, environment: dict[str, str], guarded: bool) -> None:
    """Run one program in its memory group, with the command above it."""
    _, source, limit_mb = PROGRAMS[name]
    (home / name).write_text(textwrap.dedent(source).lstrip())
    options = [] if guarded else ["--no-guard"]
    print(f"\n─── {title}\n$ crashcart {' '.join(['run', *options, '--', 'python', name])}\n", flush=True)
    reason = group.unavailable()
    if limit_mb is not None and reason is not None:
        print(f"left out: {reason}")
        return
    page = home / f"{name}{'.guarded' if guarded else ''}.html"
    command = [sys.executable, "-m", "crashcart", "run", *options, "--html", str(page), "--", sys.executable, name]
    with group.memory_group(limit_mb) as place:
        subprocess.run(command, cwd=home, env=environment, preexec_fn=lambda: group.enter(place), timeout=100)


if __name__ == "__main__":
    sys.exit(main())
