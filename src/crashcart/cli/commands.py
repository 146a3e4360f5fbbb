"""The commands and what each is for, in a line. Apart from `main.py`, so that a kernel's start need not wait for argparse."""

from __future__ import annotations

COMMANDS = {
    "run": "run a program and say why it died, if it does",
    "guard": "say how far programs are protected from dying of memory here",
    "why": "explain the last death, a given recording, or a pasted log",
    "fit": "estimate what a step of a model takes at a batch size, and the largest batch that fits",
    "pipeline": "say what a tf.data pipeline holds in memory, stage by stage, before it runs",
    "data": "open and decode every file of a data set, and say which are bad, and why",
    "leaks": "run a program and say whether it leaks: by how much a step, which line, which name holds it",
    "doctor": "find what will fail here before it does: packages, processor, GPUs, limits",
    "memory": "show what a run holds in memory, and what each cell of a notebook added",
    "list": "list the recorded runs",
    "jupyter": "have Jupyter's kernels recorded and guarded",
    "rule": "print the manual page of a rule",
}
