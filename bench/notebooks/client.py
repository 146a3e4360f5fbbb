"""The side of Jupyter: executes a notebook as nbclient or papermill would for anybody, and writes down what it raised.

python client.py nbclient|papermill NOTEBOOK EXECUTED RAISED_JSON
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

TIMEOUT_S = 120


def by_nbclient(notebook: str, executed: str) -> None:
    import nbformat
    from nbclient import NotebookClient

    document = nbformat.read(notebook, as_version=4)
    try:
        NotebookClient(document, timeout=TIMEOUT_S, kernel_name="python3").execute()
    finally:
        nbformat.write(document, executed)


def by_papermill(notebook: str, executed: str) -> None:
    import papermill

    papermill.execute_notebook(
        notebook, executed, kernel_name="python3", progress_bar=False, execution_timeout=TIMEOUT_S
    )


def main(client: str, notebook: str, executed: str, raised: str) -> None:
    facts = {"name": "", "text": ""}
    began_s = time.monotonic()
    try:
        {"nbclient": by_nbclient, "papermill": by_papermill}[client](notebook, executed)
    except Exception as error:
        facts = {"name": type(error).__name__, "text": str(error)}
    Path(raised).write_text(json.dumps({**facts, "seconds": time.monotonic() - began_s}))


if __name__ == "__main__":
    main(*sys.argv[1:])
