"""Iterations of the program's own loops, where no framework passes by.

Covers: from Python 3.12 on, the interpreter's monitoring of backward jumps in own code (a loop that turns faster than steps do
is left alone after its first turns); before that, the loops' own counters, read now and then: the variable of `for i in
range(…)`, or a number that the loop counts up.
Does not cover: before 3.12, loops that count nothing.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself costs 5 ms
    from typing import Any

TOOLS = (4, 3)
"""Numbers that sys.monitoring has set aside for nobody."""
FASTEST_S = 30e-6
"""A turn that is shorter would feel being counted (a third of a microsecond each); it is no step of a training."""
CHECKED_EVERY = 64
AT_ONCE = 24
"""So many loops are counted from their first turn on; the next ones, when they have turned `PROVEN` times: a program has
hundreds that turn twice, and a number is kept in every look for each loop that is counted."""
PROVEN = 16
MOST_KNOWN = 1024
"""Loops that have not proven themselves are forgotten when so many are known; those that turn on are met again."""
MOST_IN_A_FUNCTION = 24
LARGEST_LEAP = 10_000_000


class Monitored:
    """Counts backward jumps of own code by sys.monitoring."""

    def __init__(self, counts: Any, is_own: Any, clock: Any) -> None:
        self.counts = counts
        self.is_own = is_own
        self.clock = clock
        self.tool: int | None = None
        self.theirs: tuple[int, BaseException] | None = None
        self.loops: dict[tuple[str, int, int], list[Any]] = {}
        """By file, line of the function and offset: the index of its count (-1: not yet), turns, when it was last checked."""

    def start(self) -> bool:
        """Begin; False where this Python has no monitoring, or others use all of it."""
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is None:
            return False
        self.tool = next((each for each in TOOLS if monitoring.get_tool(each) is None), None)
        if self.tool is None:
            return False
        monitoring.use_tool_id(self.tool, "crashcart")
        events = monitoring.events
        monitoring.register_callback(self.tool, events.PY_START, self._started)
        monitoring.register_callback(self.tool, events.JUMP, self._jumped)
        monitoring.register_callback(self.tool, events.INSTRUCTION, self._came_on)
        monitoring.set_events(self.tool, events.PY_START)
        return True

    def stop(self) -> None:
        """Give the tool back."""
        if self.tool is not None:
            monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
            monitoring.set_events(self.tool, 0)
            for event in (monitoring.events.PY_START, monitoring.events.JUMP, monitoring.events.INSTRUCTION):
                monitoring.register_callback(self.tool, event, None)
            monitoring.free_tool_id(self.tool)
            self.tool = None

    def _started(self, code: Any, _offset: int) -> Any:
        """A code object runs for the first time; it is not asked about again."""
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        try:
            if self.tool is not None and self.is_own(code.co_filename):
                monitoring.set_local_events(self.tool, code, monitoring.events.JUMP)
        except Exception as failure:
            if self.counts.is_theirs(failure):
                raise
        return monitoring.DISABLE

    def _jumped(self, code: Any, at: int, to: int) -> Any:
        disable: Any = sys.monitoring.DISABLE  # type: ignore[attr-defined,unused-ignore]
        try:
            if to >= at or self._turned(code, to):
                return disable
        except BaseException as failure:  # Ctrl-C, too
            if isinstance(failure, Exception) and not self.counts.is_theirs(failure):
                return disable
            self._hand_on(code, failure)
        return None

    def _hand_on(self, code: Any, failure: BaseException) -> None:
        """Let the program's own failure come up at its next instruction: what is raised while a jump is reported passes by
        the handlers of the function that jumps (seen with 3.12.1 and 3.13.0). That remains so for a signal that is handled
        in the very moment in which `_jumped` is entered, before its `try`."""
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        import _thread

        self.theirs = (_thread.get_ident(), failure)
        monitoring.set_local_events(self.tool, code, monitoring.events.JUMP | monitoring.events.INSTRUCTION)

    def _came_on(self, code: Any, _offset: int) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        import _thread

        theirs = self.theirs
        if theirs is not None and theirs[0] == _thread.get_ident():
            self.theirs = None
            monitoring.set_local_events(self.tool, code, monitoring.events.JUMP)
            raise theirs[1]

    def _turned(self, code: Any, to: int) -> bool:
        """Count a turn; True where the loop is not to be counted any longer."""
        key = (code.co_filename, code.co_firstlineno, to)
        loop = self.loops.get(key) or self._meet(key)
        loop[1] += 1
        if loop[0] < 0:
            if loop[1] < PROVEN and len(self.loops) > AT_ONCE:
                return False
            if loop[1] >= PROVEN and self.clock() - loop[2] < PROVEN * FASTEST_S:
                return True
            self._number(loop, key, code, to)
            if loop[0] < 0:
                return True
        self.counts.counts[loop[0]] = loop[1]
        if loop[1] % CHECKED_EVERY == 0:
            now = self.clock()
            took, loop[2] = now - loop[2], now
            if took < CHECKED_EVERY * FASTEST_S:
                return True
        self.counts.beat()
        return False

    def _meet(self, key: tuple[str, int, int]) -> list[Any]:
        """A loop that turns for the first time."""
        if len(self.loops) >= MOST_KNOWN:
            for unproven in [each for each, loop in list(self.loops.items()) if loop[0] < 0]:
                self.loops.pop(unproven, None)
        loop = self.loops[key] = [-1, 0, self.clock()]
        return loop

    def _number(self, loop: list[Any], key: tuple[str, int, int], code: Any, to: int) -> None:
        """Give a loop its place among the counts, if there is one left."""
        line = _line_at(code, to)
        name = f"iterations of the loop at {code.co_filename.rpartition('/')[2]}:{line}"
        loop[0] = self.counts.index("loop", name, True, key)
        if loop[0] >= 0:
            self.counts.places[loop[0]] = (code.co_filename, line, code.co_name)


def _line_at(code: Any, offset: int) -> int:
    for start, end, line in code.co_lines():
        if start <= offset < end and line is not None:
            return int(line)
    return int(code.co_firstlineno)


class Counters:
    """Reads the counters of the loops that the main thread is in, for a Python without monitoring."""

    def __init__(self, counts: Any, is_own: Any, variables: Any) -> None:
        self.counts = counts
        self.is_own = is_own
        self.variables = variables
        self.shapes: dict[tuple[str, int, str], list[tuple[int, int, int, tuple[str, ...], str | None]]] = {}
        self.last: dict[tuple[Any, ...], int] = {}

    def look(self, frame: Any) -> None:
        """Add to the counts what the counters have moved since the last look."""
        while frame is not None:
            code = frame.f_code
            if self.is_own(code.co_filename):
                self._look_at(frame, code)
            frame = frame.f_back

    def _look_at(self, frame: Any, code: Any) -> None:
        key = (code.co_filename, code.co_firstlineno, code.co_name)
        shape = self.shapes.get(key)
        if shape is None:
            if len(self.shapes) > 500:
                return
            shape = self.shapes[key] = loops_of(code)
        inside = [loop for loop in shape if loop[0] <= frame.f_lasti <= loop[1]]
        if not inside:
            return
        held = dict(self.variables(frame)) if code.co_flags & 1 else frame.f_globals
        for start, _, line, names, data in inside:
            numbers = [(name, held.get(name)) for name in names]
            counting = next(((name, value) for name, value in numbers if type(value) is int), None)
            if counting is not None:
                self._moved(key, start, line, *counting, counting[0] == data)

    def _moved(self, key: tuple[str, int, str], start: int, line: int, name: str, value: int, data: bool) -> None:
        """A number that may be data tells that the loop has turned, not how often."""
        loop = (*key, start, name)
        before = self.last.get(loop)
        if len(self.last) > MOST_KNOWN:
            self.last.clear()
        self.last[loop] = value
        if before is None or value == before:
            return
        leap = value - before if value > before and not data else 1  # begun anew: once round, at the least
        turns = "turns that were seen" if data else "iterations"
        words = f"{turns} of the loop at {key[0].rpartition('/')[2]}:{line}"
        index = self.counts.index("loop", words, True, loop) if leap < LARGEST_LEAP else -1
        if index >= 0:
            self.counts.places[index] = (key[0], line, key[2])
            self.counts.counts[index] += leap


_STORES = frozenset({"STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF"})


_COUNTS = frozenset({"range", "enumerate", "count", "trange"})
_PASSES_ON = frozenset({"tqdm", "track", "islice", "iter"})
"""What a `for` goes over that gives its turns a number; and what passes on what it is given."""
_NAMED = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FAST", "LOAD_DEREF"})
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_ENDS = ("STORE_", "DELETE_", "POP_TOP", "POP_JUMP", "JUMP", "FOR_ITER", "RETURN", "RESUME", "RAISE", "POP_EXCEPT")
"""With these the statement before a `for` ends."""


def loops_of(code: Any) -> list[tuple[int, int, int, tuple[str, ...], str | None]]:
    """The loops of a code object, outermost first: first and last offset, line, the names that may count its turns (what `for`
    assigns; else, what the body assigns), and which of these may be data."""
    import dis

    instructions = list(dis.get_instructions(code))
    found: dict[int, int] = {}
    for each in instructions:
        target = each.argval if "JUMP" in each.opname and type(each.argval) is int else None
        if target is not None and target < each.offset:
            found[target] = max(found.get(target, 0), each.offset)
    loops = []
    for start, end in sorted(found.items(), key=lambda loop: (loop[0], -loop[1])):
        body = [each for each in instructions if start <= each.offset <= end]
        names, assigned = _counting_names(body), _assigned(body)
        data = assigned if assigned is not None and not _is_counted(instructions, start) else None
        loops.append((start, end, _line_at(code, start), names, data))
    return loops[:MOST_IN_A_FUNCTION]


def _is_counted(instructions: list[Any], start: int) -> bool:
    """Whether what the `for` there goes over gives numbers in turn: `range(…)`, `itertools.count(…)`, alone or shown as progress;
    not `sample(range(…), 9)` or `tqdm(labels)`. The outermost call is the one whose name is loaded first."""
    header: list[Any] = []
    for each in reversed([each for each in instructions if each.offset < start]):
        if each.opname.startswith(_ENDS):
            break
        header.insert(0, each)
    called = list[str]()
    for each in header:
        if each.opname in _NAMED:
            called.append(each.argval)
        elif each.opname in _ATTRIBUTES and called:  # of a module, or of what was called before
            called[-1] = each.argval
    outermost = next((each for each in called if each not in _PASSES_ON), None)
    return outermost in _COUNTS


def _assigned(body: list[Any]) -> str | None:
    """The name that `for` assigns, of several the first; None where that is no name, or the loop is no `for`."""
    if not body or body[0].opname != "FOR_ITER":
        return None
    after = body[2:3] if body[1:2] and body[1].opname.startswith("UNPACK") else body[1:2]
    return next((str(each.argval) for each in after if each.opname in _STORES), None)


def _counting_names(body: list[Any]) -> tuple[str, ...]:
    """What `for` assigns (of `for i, batch in enumerate(…)` the first), then what the body counts up by `name += 1`."""
    assigned = _assigned(body)
    found = [] if assigned is None else [assigned]
    for place in range(2, len(body)):
        adds = body[place - 1].opname == "INPLACE_ADD" or body[place - 1].argrepr == "+="
        constant = body[place - 2].opname.startswith("LOAD_CONST") and type(body[place - 2].argval) is int
        if adds and constant and body[place].opname in _STORES:
            found.append(body[place].argval)
    return tuple(dict.fromkeys(found))[:4]
