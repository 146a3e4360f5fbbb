"""Environments whose files were damaged, hidden or left behind."""

from __future__ import annotations

from bench.doctor.environment import Environment
from bench.doctor.of_packages import PROBLEM, TF215, TF218

OF_FILES = (
    Environment("shadowing-file", "the program's own tensorflow.py", "3.11", TF218, damage=("shadow",), expect={"D109": PROBLEM}),
    Environment("leftover-dist-info", "the metadata of two versions of NumPy", "3.11", TF218, damage=("leftover-info",), expect={"D110": "risk"}),
    Environment("broken-metadata", "NumPy's METADATA is not text", "3.11", TF215, damage=("broken-metadata",), expect={"D111": "risk"}),
    Environment("empty-metadata", "keras' METADATA is empty", "3.11", TF218, damage=("empty-metadata",), expect={"D111": "risk"}),
    Environment("missing-files", "parts of TensorFlow are gone", "3.11", TF218, damage=("missing-files",), expect={"D112": PROBLEM}),
    Environment("only-a-folder", "listed, and only a folder is left", "3.11", TF218, damage=("only-a-folder",), expect={"D112": PROBLEM}),
)  # fmt: skip
