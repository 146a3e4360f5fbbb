"""Nightly job: prepare the features in a process of its own, then summarise them."""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def run_step(script, *arguments):
    print("step", script, flush=True)
    subprocess.run([sys.executable, str(HERE / script), *arguments], check=True)  # <-- or here


def main():
    run_step("prepare.py", "--days", "60")
    run_step("summarise.py")


if __name__ == "__main__":
    main()
