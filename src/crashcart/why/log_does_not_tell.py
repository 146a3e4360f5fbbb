"""W510 log-does-not-tell."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Log, Program
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, rule
from crashcart.units import plural
from crashcart.why._noise import noise_in
from crashcart.why._statement import quote_error, quote_line
from crashcart.why._text import is_gone_elsewhere, main_error
from crashcart.why._told import surroundings
from crashcart.why.memory_readings_rise import readings_in

_NOTEBOOK = (
    "look where the notebook server was started: its console (terminal, `docker logs`, `kubectl logs`) has the kernel's last"
    " words, such as Killed, Segmentation fault or illegal instruction",
    "run the same code as a script in a terminal: `jupyter nbconvert --to script your.ipynb`, then `python -X"
    " faulthandler your.py; echo $?` (on a Mac also `file $(which python)`: it must say arm64 on Apple silicon)",
    "137 means memory: then a smaller batch, or the data in parts; 139 a crash in native code; 132 an instruction the CPU"
    " lacks",
)
_WORKER = (
    "`dmesg -T | grep -i -e kill -e segfault` on that machine tells: a kill is a lack of memory (fewer workers, smaller items), a"
    " segfault a crash in native code",
    "run the same work in the main process (num_workers=0, n_jobs=1, a plain loop): its own error or exit code then shows",
    "in a container give shared memory more room (`--shm-size=8g` or `--ipc=host`); on Windows and macOS start under `if"
    " __name__ == '__main__':`, since workers import the script anew",
)
_FLAT = (
    "for a leak, measure the program that grows, over many steps, and print the resident size at each: what is made outside the"
    " loop does not count (TensorFlow 1: graph.finalize() before the loop finds ops that are made in it)",
    "let it be recorded: `crashcart run -- python your_script.py` samples memory by itself",
)
_TEXT = (
    "give the whole output, from the program's start to its end, with what the shell said last: `python your_script.py >"
    ' log.txt 2>&1; echo "exit code $?" >> log.txt`',
    "let it be recorded: `crashcart run -- python your_script.py`",
)


@rule("W510", "log-does-not-tell", Rank.LAST_RESORT)
def log_does_not_tell(
    log: Log,
    ending: Ending | None = None,
    program: Program | None = None,
    errors: tuple[ErrorRecord, ...] | None = None,
) -> Iterator[Finding]:
    """A log was handed in, and nothing in it says why the program ended.

    ## What it means

    A notebook's "kernel died" only says that the process is gone; a log that stops in the middle says less. Lines that
    look alarming may be harmless notices.

    ## How we know

    No other rule found a well-founded cause in the text.

    ## What to do

    What would tell is given: where the missing words are, and how to get them.
    """
    main = main_error(errors or ())
    if program is not None or _ended_well(ending) or (main is not None and not is_gone_elsewhere(main)):
        return
    harmless = noise_in(log)
    facts = [quote_line(ending.said)] if ending is not None and ending.said is not None else []
    if harmless:
        count = plural(sum(each.count for each in harmless), "harmless notice")
        facts.append(f"{count} among its lines, which {'end' if len(harmless) > 1 else 'ends'} nothing")
    facts.append(f"of {plural(len(log.lines), 'line')} none states a failure that is known here")
    if main is not None:
        facts.insert(0, quote_error(main))
    headline, remedy = _question(ending, main, log)
    yield Finding(Cause.UNKNOWN, headline, tuple(facts), remedy, Confidence.POSSIBLE)


def _question(ending: Ending | None, main: ErrorRecord | None, log: Log) -> tuple[str, tuple[str, ...]]:
    """What is open, and what would tell."""
    if (ending is not None and ending.kind == "unobserved") or (main is not None and main.name == "DeadKernelError"):
        return "the kernel is gone, and this text does not say why", _NOTEBOOK
    if main is not None:
        return "another process is gone, and this text does not say why", _WORKER
    if readings_in(log):
        return "the memory readings in this text do not rise to its end, and it tells no end", _FLAT
    return "this text does not say why the program ended", _NOTEBOOK if "notebook" in surroundings(log) else _TEXT


def _ended_well(ending: Ending | None) -> bool:
    return ending is not None and ending.kind == "exit" and ending.exit_code == 0
