"""Programs measured side by side, block by block: the noise of a shared machine hits all of them alike.

Covers: contenders that all live at once and take turns. Only the one whose turn it is may run; the others, their watchers
included, are stopped. A program does a block of work for each line on its stdin and answers with the block's seconds.
Does not cover: what is measured, and where it is written.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence

from bench import processes


class Contender:
    """One command under measurement; its leading process is stopped while others have their turn."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.name = name
        self.seconds: list[float] = []
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            text=True,
            bufsize=1,
        )

    def wait_ready(self) -> None:
        """Until the program says that it is warm."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.strip() == "ready":
                return
        raise RuntimeError(f"{self.name} ended before its first block (exit code {self.process.wait()})")

    def turn(self, lead: bool = True) -> float:
        """One block, alone on the machine as far as we can tell; without `lead`, the leading process stays stopped, which
        only a watcher may."""
        assert self.process.stdin is not None and self.process.stdout is not None
        if lead:
            os.kill(self.process.pid, signal.SIGCONT)
        self.process.stdin.write("go\n")
        answer = self.process.stdout.readline()
        if not answer.strip():
            raise RuntimeError(f"{self.name} ended in a block (exit code {self.process.wait()})")
        self.rest()
        self.seconds.append(float(answer))
        return self.seconds[-1]

    def rest(self) -> None:
        """Stop until the next turn."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def resident_bytes(self) -> int:
        """Of the leading process: the watcher where there is one."""
        return processes.resident_bytes(self.process.pid)

    def close(self) -> None:
        """Let it end in order."""
        assert self.process.stdin is not None and self.process.stdout is not None
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGCONT)
        try:
            self.process.stdin.close()
            self.process.stdout.read()
            self.process.wait(timeout=60)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()


def compare(
    commands: Mapping[str, Sequence[str]],
    environment: Mapping[str, str],
    blocks: int,
    base: str = "plain",
) -> dict[str, float]:
    """Each contender's time over that of the base: the median over blocks that ran next to each other."""
    contenders: list[Contender] = []
    try:
        for name, command in commands.items():
            contenders.append(Contender(name, command, environment))
            contenders[-1].wait_ready()
            time.sleep(0.2)
            contenders[-1].rest()
        for number in range(blocks):
            shift = number % len(contenders)
            for contender in contenders[shift:] + contenders[:shift]:
                contender.turn()
        plain = next(each.seconds for each in contenders if each.name == base)
        return {each.name: statistics.median(_ratios(each.seconds, plain)) for each in contenders if each.name != base}
    finally:
        for contender in contenders:
            contender.close()


def with_and_without_lead(name: str, command: Sequence[str], environment: Mapping[str, str], blocks: int) -> float:
    """One program's time while its watcher runs over that while the watcher is stopped: the median over pairs of blocks."""
    contender = Contender(name, command, environment)
    try:
        contender.wait_ready()
        contender.rest()
        ratios = []
        for number in range(blocks):
            order = (True, False) if number % 2 else (False, True)
            seconds = {lead: contender.turn(lead) for lead in order}
            ratios.append(seconds[True] / seconds[False])
        return statistics.median(ratios)
    finally:
        contender.close()


def _ratios(seconds: Sequence[float], plain: Sequence[float]) -> list[float]:
    return [mine / other for mine, other in zip(seconds, plain, strict=True)]
