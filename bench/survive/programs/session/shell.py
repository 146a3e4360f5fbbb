"""Run a file of cells as a notebook does: one namespace, a failed cell prints its traceback, and the next one runs."""

import sys
import traceback
from pathlib import Path


def run_cell(source, number, namespace):
    try:
        exec(compile(source, f"<cell {number}>", "exec"), namespace)
    except Exception as error:
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
        traceback.print_exc(file=sys.stdout)


def main():
    namespace = {"__name__": "__main__"}
    cells = Path(sys.argv[1]).read_text().split("# %%")
    for number, source in enumerate(cells, 1):
        print(f"In [{number}]")
        run_cell(source, number, namespace)


main()
