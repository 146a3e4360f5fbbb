"""W402 data-not-found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from crashcart.evidence import Ending, ErrorRecord, Log, Program
from crashcart.finding import Cause, Finding
from crashcart.rule import Rank, rule
from crashcart.units import size
from crashcart.why._said import Kind
from crashcart.why._statement import Statement, conclude, first_sentence
from crashcart.why._text import stated

_PATH = re.compile(
    r"['\"`]([^'\"`\s][^'\"`]{0,400})['\"`]|(?:^|[\s=:(])((?:/|[A-Za-z]:\\|\w{2,5}://|\.{1,2}/)[^\s;,'\")]+)"
)
_DENIED = re.compile(r"permission|errno 13|access is denied|403")
_DIRECTORY = re.compile(r"isadirectory|errno 21|notadirectory|errno 20")
_SCRIPT = re.compile(r"can't open file '?(?P<script>[^':]+)")
_IS_ZIP = "accessible `.keras` zip file"
_COMMAND = re.compile(r"no such file or directory: '(?P<command>[^'/]+)'$", re.IGNORECASE)
_NETWORK = re.compile(r"max retries|credential|new connection|does not have storage|forbidden: 403")
_WRITES = re.compile(r"unable to (?:synchronously )?create file|failed to create|could not (?:save|write)|writablefile")
_EMPTY_IMAGE = re.compile(r"src\.empty\(\)")


@rule("W402", "data-not-found", Rank.KIND)
def data_not_found(
    errors: tuple[ErrorRecord, ...],
    log: Log | None = None,
    ending: Ending | None = None,
    program: Program | None = None,
    files: Mapping[str, int | None] | None = None,
) -> Iterator[Finding]:
    """A file or directory is not there, or may not be read.

    ## What it means

    The program asked for a path that does not exist from where it runs, or that its user may not open. Relative paths
    count from the working directory, not from the script; inside a container only mounted paths exist.

    ## How we know

    The exception states the path, or that a pattern matched nothing. OpenCV does not complain about a missing image;
    the next call then finds it empty.

    ## What to do

    Check the path from the program's own working directory, and its permissions.
    """
    for statement in stated(Kind.MISSING, errors, log, ending):
        text = statement.said.folded
        path = _path(statement.words)
        there_bytes = (files or {}).get(path or "")
        if there_bytes is not None and _IS_ZIP in text:
            yield _damaged(statement, path or "", there_bytes)
            continue
        command = _COMMAND.search(statement.words) if _starts_a_program(statement) else None
        if command:
            yield conclude(statement, f"the command {command['command']} was not found", _COMMAND_REMEDY)
            continue
        facts = (
            [f"the working directory was {program.cwd}"]
            if program and path and not path.startswith("/") and "://" not in path
            else []
        )
        yield conclude(statement, _headline(text, statement.words, path), _remedy(text, path), *facts)


_COMMAND_REMEDY = (
    "install it, or give its whole path; `shutil.which(NAME)` tells whether it is on PATH here",
    "arguments go into a list of their own: subprocess.run(['ls', '-l']), not one string (or shell=True)",
    "in a job or container, PATH may be another than in your terminal",
)


def _starts_a_program(statement: Statement) -> bool:
    return any(frame.file.endswith(("subprocess.py", "subprocess_posix.py")) for frame in statement.said.frames)


def _damaged(statement: Statement, path: str, there_bytes: int) -> Finding:
    """Keras says "not found" of a file that is no readable archive, too; that the file is there tells them apart."""
    return conclude(
        statement,
        f"{path} is there, but is no whole .keras file",
        (
            "it was cut short or is of another format: copy it again, or load an earlier checkpoint",
            "save to a temporary name and rename it when it is complete; `python -m zipfile -t FILE` checks one",
        ),
        f"the file has {size(there_bytes)}; Keras says 'not found' of a damaged archive as well",
        cause=Cause.DATA_CORRUPT,
    )


def _path(words: str) -> str | None:
    for match in _PATH.finditer(words):
        found = match[1] or match[2]
        if "/" in found or "\\" in found or "." in found:
            return found.rstrip(".:")
    return None


def _headline(text: str, words: str, path: str | None) -> str:
    script = _SCRIPT.search(words)
    if script:
        return f"the script itself is not there: {script['script']}"
    if "unable to lock file" in text:
        return "the HDF5 file is locked by another process, or its file system has no locks"
    if _EMPTY_IMAGE.search(text):
        return "an image could not be read: OpenCV went on with an empty one"
    if _IS_ZIP in text:
        return f"{path} is not there, or is no .keras file (Keras says the same of a damaged one)"
    if path is None:
        return f"a file or directory is not there: {first_sentence(words)}"
    if _DENIED.search(text):
        return f"{path} may not be read or written by this user"
    if _DIRECTORY.search(text):
        return f"{path} is a directory where a file is needed, or the other way round"
    return f"{path} is not there"


def _remedy(text: str, path: str | None) -> tuple[str, ...]:
    name = path or "the path"
    if path and "://" in path:
        return (
            f"open the address yourself: `curl -I {path}`; correct it, or give what it asks for (a token, a login)",
            "download the file once, keep it beside the program, and read it from there",
        )
    if _NETWORK.search(text):
        return (
            "the other side was not reached, or did not let this program in: check network, proxy and VPN, and the"
            " credentials or token",
            "download the data once, where that works, and read the local copy (HF_HUB_OFFLINE=1 for Hugging Face's cache)",
        )
    if "unable to lock file" in text:
        return (
            "another process has the file open for writing: close it there (`lsof FILE`), or open it with mode='r' everywhere",
            "on a network file system without locks: HDF5_USE_FILE_LOCKING=FALSE in the environment, before Python starts",
        )
    if _DENIED.search(text):
        return (
            f"`ls -l {name}` shows who may read it; change the owner or mode, or write elsewhere",
            "in a container: run as the user who owns the mounted folder (`docker run --user $(id -u):$(id -g)`)",
            "for a bucket: give the service account read access",
        )
    steps = [f"check it from where the program runs: `ls -l {name}` after `cd` to its working directory"]
    if _WRITES.search(text):
        steps.append("the program was writing: make the folder first (`os.makedirs(folder, exist_ok=True)`)")
    if "empty()" in text:
        steps = ["print the path before cv2.imread, and check that the result is not None"]
    return (
        *steps,
        "make relative paths relative to the script: pathlib.Path(__file__).parent / 'data'",
        "in a container or job: mount or copy the data there; on a cluster check the path on the worker node",
        "a checkpoint is named by its prefix, a pattern needs its ending ('*.png')",
    )
