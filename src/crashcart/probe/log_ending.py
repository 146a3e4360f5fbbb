"""How a program ended, where its log tells: a shell's last word, an exit code, a signal's name, a notebook's notice.

Covers: bash, zsh, fish, dash and make (also in German, French, Spanish, Portuguese, Italian, Polish, Turkish, Russian, Chinese,
Japanese, Korean), PyCharm, docker, Kubernetes, systemd, build servers, Slurm, torchrun, gunicorn, joblib, multiprocessing,
faulthandler, gdb, macOS' crash reports, Windows' status codes and crash reports, Jupyter; time limits and preemption; the last
words of native libraries; a restart of the machine.
Does not cover: why it ended (the rules). Each pattern is anchored, or starts with a literal and has bounded repeats.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterable

from crashcart.evidence import Ending, LogLine
from crashcart.probe.log_lines import without_prefix
from crashcart.probe.log_words import lines_with

_WORDS: dict[str, tuple[str, ...]] = {
    "SIGKILL": (
        "killed", "getötet", "processus arrêté", "tué", "terminado (killed)", "matado", "已杀死", "убито",
        "強制終了", "죽었음", "ucciso", "morto", "unicestwiony", "öldürüldü", "已砍掉",
    ),
    "SIGSEGV": (
        "segmentation fault", "segfault", "speicherzugriffsfehler", "erreur de segmentation",
        "violación de segmento", "fallo de segmentación", "段错误", "段錯誤", "falha de segmentação",
        "ошибка сегментирования", "セグメンテーション違反", "세그멘테이션 오류", "errore di segmentazione",
        "naruszenie ochrony pamięci", "segmentatiefout",
    ),
    "SIGABRT": (
        "aborted", "abort trap", "abort", "abandoned", "abandon", "abgebrochen", "abortado", "已放弃", "已中止",
        "中止", "annullato", "przerwane", "аварийный останов",
    ),
    "SIGBUS": (
        "bus error", "bus-zugriffsfehler", "erreur du bus", "error del bus", "总线错误", "バスエラー", "버스 오류",
    ),
    "SIGILL": (
        "illegal instruction", "illegal hardware instruction", "ungültiger maschinenbefehl",
        "instruction non permise", "instruction illégale", "instrucción ilegal", "非法指令",
        "недопустимая инструкция", "不正な命令",
    ),
    "SIGFPE": (
        "floating point exception", "gleitkomma-ausnahme", "exception en point flottant", "浮点数例外",
    ),
    "SIGTERM": ("terminated", "beendet", "complété", "terminado", "已终止"),
    "SIGHUP": ("hangup",),
    "SIGXCPU": ("cpu time limit exceeded", "cputime limit exceeded"),
    "SIGXFSZ": ("file size limit exceeded", "filesize limit exceeded"),
    "SIGTRAP": ("trace/breakpoint trap", "trace trap"),
}  # fmt: skip
_SIGNAL_OF = {word: name for name, words in _WORDS.items() for word in words}
_SHELL = re.compile(
    r"^(?P<shell>[^\s:]{1,200}: (?:[^\W\d_]{1,10} )?\d{1,7}[: ]\s{0,8}\d{1,9} (?:\[\d+\] )?"
    r"|\[\d{1,4}\]\s{0,4}[+-]?\s{1,8}\d{1,9} |(?:zsh|bash|-bash|sh|dash|fish|ksh): |\[\d{1,4}\]\s{0,4}[+-]?\s{0,8})?"
    r"(?P<word>" + "|".join(re.escape(word) for word in sorted(_SIGNAL_OF, key=len, reverse=True)) + r")"
    r"(?P<mark>[.!]{0,3}|:? ?\d{0,2})(?P<core>\s{0,20}\([^()]{1,40}\)?)?(?P<command>\s{1,60}\S.{0,400})?$",
    re.IGNORECASE,
)
_COMMAND = re.compile(r"^\s+(?:sudo |time |nohup )?(?:i?python|\./|/|torchrun|mpirun|jupyter|bash|sh )")
_NAMED = re.compile(
    r"(?:killed by|terminated by|received|caught|with|by|due to|return code"
    r"|signal:?|signal[_ ]?name[=:\"' ]{1,4}|sent|type: {0,16}\w{1,30}|exit codes? of the workers are"
    r"|exited) ?(?:fatal )?(?:signal:? ?)?[ ({<*'\"\[]{0,4}(?:\d{1,2} ?[:(] ?)?(?:(?:neg)?signals?\.)?(?P<name>SIG(?:KILL"
    r"|SEGV|ABRT|BUS|ILL|FPE|TERM|HUP|XCPU|INT))\b",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"(?:killed by signal:?|terminated by signal|received signal|caught signal|interrupted by signal"
    r"|got signal:|\bsignal|Namespace SIGNAL, Code) [(]?(?P<number>\d{1,2})\b(?!\.\d)",
    re.IGNORECASE,
)
_BY_WORD = re.compile(
    r"(?:killed by signal: |\bprocess \d{1,9} got |exited with error: signal: |^signal: |^Fatal Python error: "
    r"|^signal \(\d\d?\): |Termination Signal: {1,16}|exit signal |\*\*\* caught "
    r"|^make(?:\[\d{1,3}\])?: \*\*\* \[[^\]]{1,200}\] )"
    r"(?P<word>[A-Za-z ]{4,30}?)(?: {0,2}[.:,(!*]|$)"
)
_SYSTEMD = re.compile(
    r"code=(?:killed|dumped), status=\d{1,3}/(?P<name>KILL|SEGV|ABRT|BUS|ILL|FPE|TERM|HUP|XCPU|INT)\b"
)
_HANDLED = re.compile(r"Handling signal: (?P<name>term|hup|quit|int|abrt|usr1|kill)\b")
_FAULT_OF_WINDOWS = re.compile(r"^Windows fatal exception: (?P<words>[\w ]{4,40})")
_APPLE = re.compile(r"\bEXC_(?P<kind>BAD_ACCESS|BAD_INSTRUCTION|CRASH|ARITHMETIC|BREAKPOINT)\b")
_APPLE_SAYS = {
    "BAD_ACCESS": "SIGSEGV", "BAD_INSTRUCTION": "SIGILL", "CRASH": "SIGABRT", "ARITHMETIC": "SIGFPE", "BREAKPOINT": "SIGTRAP",
}  # fmt: skip
_KERNEL = re.compile(r"\[\d{1,9}\]:? (?P<fault>segfault at |general protection|trap invalid opcode|trap divide error)")
_KERNEL_SAYS = {
    "segfault at ": "SIGSEGV", "general protection": "SIGSEGV", "trap invalid opcode": "SIGILL", "trap divide error": "SIGFPE",
}  # fmt: skip
_TASK = re.compile(r"\btask \d{1,6}: (?P<word>[A-Za-z ]{4,30}?)(?: \(core dumped\))?$")
_LAST_WORDS = re.compile(
    r"^terminate called |^libc\+\+abi(?:\.dylib)?: terminating|malloc: \*\*\* error for object|^\*\*\* (?:Error in|stack smashing"
    r"|buffer overflow) |^(?:free|malloc|realloc|munmap_chunk)\(\): .{0,40}(?:invalid|corrupt|double|mismatch|unaligned)"
    r"|^double free or corruption|^corrupted (?:size|double)"
    r"|^pure virtual method called|^(?:\d{4}-\d\d-\d\d [\d:.]{8,20}: )?F \S{1,200}\.(?:cc|h|cpp|mm):\d+\]|^F\d{4} [\d:.]{8,20} "
)
"""What a native library prints right before it aborts; the shell's own word may have been left out."""
_GDB_ABORT = re.compile(r"^#\d{1,2}\s{1,3}.{0,60}\b(?:__GI_)?(?:raise|abort|__pthread_kill\w{0,20}) \(")
_REPORTED = re.compile(r"^Exception code: {0,16}\t?(?:0x)?(?P<code>[0-9a-f]{8})\b", re.IGNORECASE)
"""Windows' report of a crashed application."""
_EXIT = re.compile(
    r"(?:finished with exit code|terminated with exit code|exit(?:ed)? with (?:return |exit )?(?:code"
    r"|status)(?: code)?|exit(?:ed)? with status"
    r"|exit code(?: is)?|exit status|exitcode|return code|returned with exit code|non-zero (?:exit )?(?:status|code)"
    r"|ended with exit code|\*\*\* \[[^\]]{1,200}\] Error|exited with(?= -?\d{1,3}\.?$)"
    r"|exited, code|Exited|non-zero exit)\s{0,3}[:=]?\s{0,8}\(?(?P<code>-?\d{1,10})\b(?!:\d)",
    re.IGNORECASE,
)
_WINDOWS = {
    0xC0000005: ("SIGSEGV", "access violation"),
    0xC0000409: ("SIGABRT", "fast fail"),
    0xC0000374: ("SIGABRT", "heap corruption"),
    0xC000001D: ("SIGILL", "illegal instruction"),
    0xC0000096: ("SIGILL", "privileged instruction"),
    0xC0000094: ("SIGFPE", "integer division by zero"),
    0xC00000FD: ("SIGSEGV", "stack overflow"),
    0xC000013A: ("SIGINT", "Ctrl-C"),
    0x40000015: ("SIGABRT", "abort"),
    0x80000003: ("SIGTRAP", "breakpoint"),
    0x40010004: ("SIGTERM", "ended by a debugger"),
}
_WINDOWS_WORDS = {
    "access violation": "SIGSEGV", "stack overflow": "SIGSEGV", "int divide by zero": "SIGFPE",
    "float divide by zero": "SIGFPE", "illegal instruction": "SIGILL",
}  # fmt: skip
_NOTEBOOK = re.compile(
    r"kernel (?:for .{1,200} )?(?:appears to have )?(?:died|crashed)|kernel .{0,80}died, restarting|dead kernel|deadkernelerror"
    r"|kernel: (?:restarting|dead)|kernel restarting|restarting kernel|kernel crashed while executing"
    r"|canceled future for execute_request|kernel .{0,60}was terminated unexpectedly|kernel died"
    r"|session crashed for an unknown reason|内核似乎挂掉|kernel (?:scheint|semble|parece)",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"due to (?:time limit|preemption|node fail)|walltime .{0,40}exceeded|exceeded (?:its "
    r"|the )?(?:wall ?(?:clock ?)?time|time limit)|term_runlimit|term_owner"
    r"|^\d[\w.+]{0,40}\s.{0,200}\b(?:timeout|preempted|node_fail|cancelled\+?)\s.{0,60}\d:\d"
    r"|jobstate=(?:timeout|preempted|node_fail|cancelled)|worker timeout \(pid"
    r"|\*\*\* (?:job|step) .{0,80}cancelled at|task timed out after|execution took longer than"
    r"|exceeded (?:the )?max(?:imum)? execution|^state: {1,4}(?:timeout|preempted|node_fail|cancelled)\b"
    r"|(?:cancell?ed|preempted) by (?:\d|uid|scheduler|the (?:system|scheduler))|received a shutdown signal"
    r"|runner lost communication|^##\[error\]the operation was cancell?ed"
    r"|(?:was|been|being) preempted|interruption notice|^timeout: sending signal"
    r"|sent signal sig\w{3,6} to main process .{0,80}on client request",
    re.IGNORECASE,
)
_BOOT = re.compile(
    r"^-- (?:Reboot|Boot [0-9a-f]{32}) --|Kernel panic - not syncing|reboot: (?:Restarting|Power down)|^systemd-shutdown\[1\]: "
    r"|system (?:is|will) (?:going down|be (?:rebooted|powered off)|reboot\w{0,4})\b"
    r"|going down for (?:system )?(?:reboot|halt|power)",
    re.IGNORECASE,
)
_INTERRUPT = re.compile(r"^(?:KeyboardInterrupt(?::.{0,200})?|\^C)\s*$")
_HINTS = (
    "kill", "signal", "fault", "abort", "abandon", "sig", "exit", "kernel", "illegal",
    "bus", "beendet", "segment", "fatal", "floating", "trap", "hangup", "limit", "interrupt", "^c",
    "crash", "general protection", "opcode", "task", "exc_", "tué", "getötet", "arrêté", "termin", "abge", "错误",
    "已", "非法", "例外", "убито", "ошибка", "недоп", "maschinenbefehl", "gleitkomma", "return code", "错", "内核",
    "inst", "speicherzugriff", "dead", "walltime", "due to", "timeout", "cancelled", "preempt", "node_fail",
    "malloc", "free", "corrupt", "check failed", "smashing", "pure virtual", ": f ", "f tensorflow", "f external",
    "exception code", "強制", "죽", "ucciso", "morto", "unicest", "öldür", "砍", "セグ", "세그", "naruszenie",
    "中止", "annullato", "przerwane", "авар", "バス", "버스", "不正", "#0 ", "#1 ", "-- boot", "reboot", "panic",
    "shutdown", "going down", "longer than", "##[error]", "interruption", "] error", "execution",
    "communication", "non-zero",
)  # fmt: skip


def told_ending(lines: Iterable[LogLine]) -> Ending | None:
    """The ending that the lines tell; None where they tell none.

    A signal tells more than a code, a code more than a notice that something is gone; among equals the last counts. A
    program that is said to have ended with 0 after all that has survived it.
    """
    best: tuple[int, Ending] | None = None
    for line in lines_with(tuple(lines), _HINTS):
        found = _told(line)
        if found is not None and (best is None or found[0] >= best[0] or _ended_well(found[1])):
            best = found
    return best[1] if best else None


def _ended_well(ending: Ending) -> bool:
    return ending.kind == "exit" and ending.exit_code == 0


def _told(line: LogLine) -> tuple[int, Ending] | None:
    text = without_prefix(line.text[:2_000]).strip()
    for weight, look in _LOOKS:
        ending = look(text, line)
        if ending is not None:
            return (1 if ending.kind == "exit" else weight), ending
    return None


def _by_shell(text: str, line: LogLine) -> Ending | None:
    match = _SHELL.match(text)
    if match is None or (match["command"] and not match["shell"] and not _COMMAND.match(match["command"])):
        return None
    name = _SIGNAL_OF[match["word"].lower()]
    if name in ("SIGTERM", "SIGHUP") and not match["word"][0].isupper() and not text.startswith(("zsh", "[")):
        return None
    return _signal(name, line, core="core dumped" in text.lower() or "核心已转储" in text)


def _by_name(text: str, line: LogLine) -> Ending | None:
    if "closing signal" in text:
        return None  # torchrun ends the other ranks after one has failed
    match = _NAMED.search(text)
    if match:
        return _signal(match["name"].upper(), line)
    match = _BY_WORD.search(text)
    name = _SIGNAL_OF.get(match["word"].strip().lower()) if match else None
    if name:
        return _signal(name, line)
    match = _SYSTEMD.search(text) or _HANDLED.search(text)
    if match:
        return _signal(f"SIG{match['name'].upper()}", line)
    match = _TASK.search(text)
    name = _SIGNAL_OF.get(match["word"].strip().lower()) if match else None
    if name:
        return _signal(name, line)
    return _by_system(text, line)


def _by_system(text: str, line: LogLine) -> Ending | None:
    """What the kernel logged of a fault, or Windows' own handler printed."""
    match = _KERNEL.search(text)
    if match:
        return _signal(_KERNEL_SAYS[match["fault"]], line)
    match = _APPLE.search(text)
    if match:
        return _signal(_APPLE_SAYS[match["kind"]], line)
    match = _REPORTED.match(text)
    known = _WINDOWS.get(int(match["code"], 16)) if match else None
    if known and match:
        return _signal(known[0], line, words=f"0x{match['code'].upper()}, {known[1]}")
    match = _FAULT_OF_WINDOWS.match(text)
    name = _WINDOWS_WORDS.get(match["words"].strip().lower()) if match else None
    return _signal(name, line) if name else None


def _by_number(text: str, line: LogLine) -> Ending | None:
    match = _NUMBERED.search(text)
    number = int(match["number"]) if match else 0
    return _signal(signal.Signals(number).name, line) if 0 < number < 32 else None


def _by_code(text: str, line: LogLine) -> Ending | None:
    match = _EXIT.search(text)
    if match is None:
        return None
    code = int(match["code"])
    known = _WINDOWS.get(code & 0xFFFFFFFF) if abs(code) > 1024 else None
    if known:
        return _signal(known[0], line, words=f"0x{code & 0xFFFFFFFF:08X}, {known[1]}")
    number = _signal_in(code)
    if number:
        return _signal(signal.Signals(number).name, line)
    return Ending("exit", exit_code=code, said=line)


def _signal_in(code: int) -> int:
    """The signal that an exit code stands for: 128 + n from a shell, -n from Python, 256 - n where that became a byte."""
    if -32 < code < 0:
        return -code
    if 128 < code < 160:
        return code - 128
    return 256 - code if 256 - code in (4, 6, 7, 9, 11, 15) else 0


def _by_last_words(text: str, line: LogLine) -> Ending | None:
    return _signal("SIGABRT", line) if _LAST_WORDS.search(text) or _GDB_ABORT.match(text) else None


def _by_scheduler(text: str, line: LogLine) -> Ending | None:
    return _signal("SIGTERM", line) if _TIME.search(text) else None


def _by_interrupt(text: str, line: LogLine) -> Ending | None:
    return _signal("SIGINT", line) if _INTERRUPT.match(text) else None


def _by_boot(text: str, line: LogLine) -> Ending | None:
    return Ending("unobserved", same_boot=False, said=line) if _BOOT.search(text) else None


def _by_notebook(text: str, line: LogLine) -> Ending | None:
    return Ending("unobserved", said=line) if _NOTEBOOK.search(text) else None


def _signal(name: str, line: LogLine, core: bool | None = None, words: str | None = None) -> Ending:
    number = int(signal.Signals[name])
    return Ending("signal", signal=number, signal_name=words or name, core_dumped=core or None, said=line)


_LOOKS: tuple[tuple[int, Callable[[str, LogLine], Ending | None]], ...] = (
    (4, _by_scheduler),
    (3, _by_shell),
    (3, _by_name),
    (3, _by_number),
    (2, _by_code),
    (2, _by_interrupt),
    (2, _by_boot),
    (1, _by_last_words),
    (0, _by_notebook),
)
