"""The turns of a loop, the way TensorFlow runs them: a turn begins when its condition holds, and each of its operations when
its own inputs are there, so that whatever does not need the turn before runs ahead of it.

Covers: which turn gets what, up to 32 turns at a time. Does not cover: the operations of a turn (`walk.py`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from crashcart.fit.control import MOST_TURNS
from crashcart.fit.values import NOTHING, Value

if TYPE_CHECKING:
    from crashcart.fit.frame import Frame
    from crashcart.fit.walk import Walk

# What Keras asks for in recurrent layers.
TURNS_AT_A_TIME = 32
# Where only the data ends a loop: with two turns both what one hands on and what the next makes of it are there.
TURNS_BY_DATA = 2

Items = list[tuple["Frame", int]]


class Loop:
    """One run of a loop. `_handed` is what the turn that has not begun yet was given so far."""

    def __init__(self, walk: Walk, parent: Frame, index: int) -> None:
        attributes = parent.plan.nodes[index].attributes
        self._walk, self._parent, self._index = walk, parent, index
        self._condition, self._body = walk.plan_of(attributes["cond"]), walk.plan_of(attributes["body"])
        arguments = enumerate(self._condition.arguments)
        self._asked = [at for at, each in arguments if self._condition.owed[self._condition.first_slot[each]]]
        self._handed: list[Value | None] = [None] * len(self._body.arguments)
        self._frames: dict[int, Frame] = {}  # in the order of turns
        self._turns = 0
        self._left = self._beginning = self._by_data = self._endless = False

    def give(self, turn: int, position: int, value: Value) -> Items:
        """Hand a value to a turn; returns what is ready then."""
        if turn < self._turns:
            return self._put(self._frames[turn], position, value)
        if self._left:
            return self._leave(position, value)
        self._handed[position] = value
        # Only what the condition asks for can make a turn begin.
        return self._begin() if position in self._asked or not self._asked else []

    def ended(self, turn: int) -> Items:
        """A turn has run to its end."""
        del self._frames[turn]
        return self._begin()

    def _begin(self) -> Items:
        """Begin the turns of which it is known by now that they come. What a turn hands on at once finds this running."""
        ready: Items = []
        if self._beginning:
            return ready
        self._beginning = True
        while self._may_begin():
            turn, handed = self._turns, self._handed
            self._handed = [None] * len(handed)
            if turn >= MOST_TURNS or not self._holds(handed):
                self._left = True
                put = self._leave
                if self._by_data:
                    name = self._parent.plan.nodes[self._index].name
                    self._walk.taken_as(name, turn, not self._endless)
            else:
                self._turns += 1
                frame = self._frames[turn] = self._walk.frame(self._body, self, turn)
                ready += [(frame, index) for index in self._body.roots]
                put = partial(self._put, frame)
            for position, each in enumerate(handed):
                if each is not None:
                    ready += put(position, each)
        self._beginning = False
        return ready

    def _may_begin(self) -> bool:
        if self._left or self._turns - next(iter(self._frames), self._turns) >= TURNS_AT_A_TIME:
            return False
        handed = self._handed
        return all(handed[position] is not None for position in self._asked)

    def _put(self, frame: Frame, position: int, value: Value) -> Items:
        return self._walk.complete(frame, self._body.arguments[position], [value])

    def _leave(self, position: int, value: Value) -> Items:
        return self._walk.complete(self._parent, self._parent.plan.exits[self._index][position], [value])

    def _holds(self, handed: list[Value | None]) -> bool:
        given = [handed[position] or NOTHING for position in self._condition.heard_at]
        for each in given:
            self._walk.keep(each.buffer)
        self._walk.asks, outer = self._limited, self._walk.asks
        answer = self._walk.run_heard(self._condition, given)[0]
        self._walk.asks = outer
        self._walk.release(answer)
        if answer.number is not None:
            return bool(answer.number)
        self._by_data = self._endless = True
        lists = [len(each.items) for each in handed if each is not None and each.items]
        return self._turns < max([*lists, TURNS_BY_DATA])

    def _limited(self, sides: list[Value]) -> int | None:
        """Two conditions of which the data decides one: the other is the limit."""
        if all(each.number is None for each in sides):
            return None
        self._by_data = True
        return 1
