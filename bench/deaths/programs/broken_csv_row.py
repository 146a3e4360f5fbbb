"""Read a table in which one row has too many fields."""

import os
import pathlib
import tempfile

import pandas as pd

WORK = pathlib.Path(os.environ.get("CRASHCART_BENCH_TMP") or tempfile.mkdtemp())


def export_table():
    path = WORK / "survey.csv"
    rows = [f"{number},{number % 7},answer {number}" for number in range(500)]
    rows[317] = "317,2,yes, no, maybe,,"
    path.write_text("\n".join(["id,group,answer", *rows]) + "\n")
    return path


def group_sizes(path):
    table = pd.read_csv(path)  # <-- dies here
    return table.groupby("group").size()


if __name__ == "__main__":
    print(group_sizes(export_table()))
