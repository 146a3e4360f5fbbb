"""The rules over one growth: the best explanation speaks first, and none is left without one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crashcart.evidence import Evidence
from crashcart.finding import Finding, Level
from crashcart.ground import Machine
from crashcart.growth import Growth, Made, Retraced, Series, Site, Steps
from crashcart.leaks import examine_leaks
from crashcart.leaks._tell import items
from crashcart.leaks.collect import judgeable
from crashcart.units import KIB, MIB
from tests.unit.leaks.grown import LOOKS, frame, growth, kept, memory


def found(made: Growth) -> list[Finding]:
    return list(examine_leaks(Evidence(growth=made), "train.py").findings)


def test_every_leak_is_told_whatever_is_known_of_it() -> None:
    """Whichever facts are there or not, a process that grows is a finding, with its figure."""
    names = (None, kept(), kept(item="ndarray"), kept(item="Sequential"), kept("closure of f: x"), kept(each=KIB))
    sites = (None, Site(frame(9, "x = f()"), 20, 20 * MIB, 20), Site(frame(9, "x = f()"), 20, KIB, 20))
    traces = (None, Retraced("f", frame(3, "def f(x):"), 1, 200, 230), Retraced("f", None, 1, 3, 230))
    made = (None, Made("model", "Net", frame(5, "m = Net()"), 1, 100, 230), Made("variable", "v", None, 1, 100, 230))
    for name in names:
        for site in sites:
            for trace in traces:
                for each in made:
                    facts = growth(
                        kept=() if name is None else (name,),
                        sites=() if site is None else (site,),
                        retraced=() if trace is None else (trace,),
                        made=() if each is None else (each,),
                    )
                    first = found(facts)[0]
                    assert first.level is Level.PROBLEM and first.bytes_per_step is not None, facts


def test_a_quiet_process_with_growing_names_is_no_problem() -> None:
    quiet = Series("private", "bytes", memory().steps, tuple(600 * MIB + step % 7 * 50_000 for step in memory().steps))
    assert found(growth(quiet, kept=(kept(),), sites=(Site(frame(), 20, 20 * MIB, 20),))) == []


def test_of_two_lists_both_are_told_and_the_larger_first() -> None:
    both = growth(
        memory(1.5 * MIB), kept=(kept("small", 0.5 * MIB, filled_at=frame(9, "small.append(x)")), kept("large"))
    )
    assert [each.holder for each in found(both)] == ["large", "small"]


def test_two_ways_to_the_same_list_are_told_once() -> None:
    ways = growth(
        kept=(kept("self.losses", chain=("trainer", "losses")), kept("trainer.losses", chain=("trainer", "losses")))
    )
    assert len(found(ways)) == 1


def test_a_retraced_function_beside_a_list_that_holds_the_growth_is_a_risk() -> None:
    traces = Series("traces", "count", LOOKS, LOOKS)
    facts = growth(
        memory(), traces, kept=(kept(),), retraced=(Retraced("step", frame(3, "def step(x):"), 1, 200, 230),)
    )
    first, second = found(facts)
    assert (first.code, second.code, second.level) == ("L102", "L108", Level.RISK)


def test_elements_are_named_in_the_plural() -> None:
    assert items("EagerTensor") == "EagerTensors" and items("History") == "Histories" and items("ndarray") == "ndarrays"
    assert items("ndarray view of a (256, 1024) base") == "ndarray views of a (256, 1024) base"
    assert items("lists of ndarray") == "lists of ndarray" and items(None) == "elements"


def test_a_container_that_keeps_what_is_made_anew_is_named_by_what_it_keeps_or_by_its_count() -> None:
    made = (Made("session", "Session", frame(5, "session = Session()"), 1, 230, 229),)
    sessions = kept(
        "self.sessions", 100, kind="dict", item="Session", filled_at=frame(9, "self.sessions[key] = session")
    )
    rows = kept("rows", 100, item="dict", filled_at=frame(8, "rows.append({})"))
    floats = kept("losses", 32, item="float")
    first = found(growth(kept=(floats, rows, sessions), made=made))[0]
    assert first.holder == "self.sessions" and first.where is not None and first.where.line == 9
    assert found(growth(kept=(floats, rows), made=made))[0].holder == "rows"
    assert found(growth(kept=(floats,), made=made))[0].holder is None


def test_code_is_only_offered_that_would_run() -> None:
    def tried(source: str, each: float = MIB, item: str = "EagerTensor") -> str:
        return found(growth(kept=(kept("history", each, item=item, filled_at=frame(9, source)),)))[0].remedy[0]

    assert tried("history.append(loss)") == "history.append(float(tf.reduce_mean(loss)))", "it has a million bytes"
    assert tried("history.append(out)") == "history.append(float(tf.reduce_mean(out)))"
    for source in ("history.append((loss, grads))", "history.append({'loss': loss})", "history[key] = [loss, out]"):
        assert "(float(tf.reduce_mean(loss)), …)" in tried(source, item="tuple of EagerTensor")
    whole = "put plain numbers into `history`: `float(tf.reduce_mean(x))`"
    assert tried("history.append(pair)", item="tuple of EagerTensor") == whole
    assert tried("history.append(step(x))") == whole


def test_a_number_is_made_of_a_tensor_of_one_value_alone() -> None:
    """Enough of them that their bytes count: 200,000 with each step."""
    losses = kept("history", 12, counts=lambda step: 200_000 * step)
    assert found(growth(memory(12 * 200_000), kept=(losses,)))[0].remedy[0] == "history.append(float(loss))"


@pytest.mark.parametrize(
    ("kind", "source", "advice"),
    [
        ("list", "seen.append(x)", "`seen = collections.deque(maxlen=1000)`"),
        ("deque", "seen.put((step, x))", "`seen = queue.Queue(maxsize=1000)`"),
        ("dict", "seen[step] = x", "`del seen[next(iter(seen))]` where `len(seen) > 1000`"),
        ("set", "seen.add(x)", "take the oldest out of `seen`"),
    ],
)
@pytest.mark.parametrize("item", ["ndarray", "EagerTensor", "object"])
def test_a_container_is_kept_short_by_what_its_kind_can_take(kind: str, source: str, advice: str, item: str) -> None:
    holder = kept("seen", kind=kind, item=item, filled_at=frame(9, source))
    tried = found(growth(kept=(holder,)))[0].remedy
    assert any(advice in each for each in tried), tried
    assert kind == "list" or not any("deque" in each for each in tried)


@pytest.mark.parametrize(
    ("source", "joined"),
    [
        ("a = np.concatenate([a, x])", True),
        ("a += x", True),
        ("self.a = pd.concat([self.a, x])", True),
        ("a = np.concatenate([a,", True),
        ("a = x.T @ x; b = a.sum()", False),
        ("a = make(", False),
        (None, False),
    ],
)
def test_an_array_is_joined_only_where_the_line_reads_what_it_writes(source: str | None, joined: bool) -> None:
    larger = kept("a", kind="ndarray", item=None, counts=lambda _: None, filled_at=frame(9, source))
    first = found(growth(kept=(larger,)))[0]
    assert ("joined to it stays" in first.because[0]) is joined
    assert first.confidence.value == ("certain" if joined else "likely")
    assert joined or "each step makes a larger `a`" in first.headline


def test_a_leak_beside_a_buffer_is_told_with_both_parts() -> None:
    buffer = kept("replay", kind="deque (maxlen 1000)", item="ndarray", filled_at=frame(8, "replay.append(x)"))
    frames = kept("frames", 0.5 * MIB, item="ndarray", filled_at=frame(9, "frames.append(x)"))
    first, note = found(growth(memory(1.5 * MIB), kept=(buffer, frames)))
    facts = " ".join(first.because)
    assert (first.holder, note.holder) == ("frames", "replay") and note.level is Level.NOTE
    assert first.bytes_per_step is not None and first.bytes_per_step < 0.6 * MIB
    assert "1.00 MiB a step of that go into what fills up" in facts and "of that rest" in facts


def test_what_a_loop_filled_that_a_later_one_goes_on_to_fill_is_told_once() -> None:
    loop = Steps("loop", "passes of the loop at train.py:5", 240, 0.05)
    once = found(growth(kept=(kept(),), earlier=growth(kept=(kept(),), steps=loop)))
    assert [each.code for each in once] == ["L102"]
    other = kept("rows", item="ndarray", filled_at=frame(5, "rows.append(x)"))
    both = found(growth(kept=(kept(),), earlier=growth(kept=(other,), steps=loop)))
    assert [each.code for each in both] == ["L102", "L119"]


def test_what_piles_up_is_told_with_its_count_its_limit_and_its_line() -> None:
    quiet = memory(0)
    files = Series("descriptors", "count", LOOKS, tuple(5 + step for step in LOOKS))
    kept_files = kept("files", 200, item="TextIOWrapper", filled_at=frame(6, "files.append(f)"))
    machine = Machine(*(None,) * 9, rlimits={"nofile": 1024})
    (note,) = examine_leaks(Evidence(growth=growth(quiet, files, kept=(kept_files,)), machine=machine), "x").findings
    assert note.headline == "open files and sockets pile up (15 → 241; the limit is 1,024)"
    assert note.where is not None and note.where.line == 6


def test_growth_without_a_holder_is_told_with_live_tensors_and_with_what_else_looks_like_it() -> None:
    tensors = Series("tensors", "count", LOOKS, (120, 200, 300, 400, 500, 540))
    sizes = Series("tensor_bytes", "bytes", LOOKS, tuple(count * MIB for count in tensors.values))
    (first,) = found(growth(memory(), tensors, sizes))
    facts = " ".join(first.because)
    assert "live tensors: 120 → 540 with 120 MiB → 540 MiB" in facts and "`cache()`" in facts
    assert first.confidence.value == "likely" and first.where is None, "the line of the steps is not that of the growth"
    (plain,) = found(growth(memory(), steps=Steps("loop", "passes", 240, 0.1)))
    assert "cache()" not in " ".join(plain.because)


def test_a_dictionary_of_lists_that_grow_is_the_holder() -> None:
    """It has as many elements at every look, and none of these holds enough by itself."""
    inner = [kept(f"hist['{name}']", MIB / 8, item="ndarray") for name in "abcdefgh"]
    sizes = tuple(sum(each.sizes_bytes[at] for each in inner) for at in range(len(LOOKS)))
    outer = replace(kept("hist", item="list of ndarray", kind="dict", counts=lambda _: 8), sizes_bytes=sizes)
    first = found(growth(kept=(*inner, outer)))[0]
    assert (first.code, first.holder, first.confidence.value) == ("L103", "hist", "certain")
    assert "these hold more after each step" in first.because[0]
    whole = kept("hist['a']", MIB, item="ndarray")
    assert found(growth(kept=(whole, outer)))[0].holder == "hist['a']", "where one list holds it, that one is named"


def test_a_list_of_what_others_hold_too_is_no_holder_unless_they_grow_alike() -> None:
    drawn = kept("order", item="ndarray", others_have=1.0)
    site = Site(frame(11, "past.append(np.array(batch))"), 20, 20 * MIB, 20)
    first = found(growth(kept=(drawn,), sites=(site,)))[0]
    assert (first.code, first.holder, first.where and first.where.line) == ("L101", None, 11)
    index = kept("by_id", item="ndarray", kind="dict", others_have=1.0)
    assert found(growth(kept=(drawn, index)))[0].holder in ("order", "by_id"), "each keeps them alive"
    assert found(growth(kept=(replace(drawn, others_have=0.5),)))[0].holder == "order"


def test_a_buffer_with_a_bound_whose_elements_were_not_seen_to_the_bottom_is_not_accused() -> None:
    nested = kept("replay.episodes", 7 * KIB, kind="deque (maxlen 400)", item="list of dict")
    report = examine_leaks(judgeable(Evidence(growth=growth(kept=(nested,)))), "train.py")
    assert not report.findings and "while `replay.episodes` fills up to its bound" in str(report.figures["not_checked"])
    flat = kept("recent", 7 * KIB, kind="deque (maxlen 400)", item="ndarray")
    assert found(growth(kept=(flat,)))[0].level is Level.PROBLEM, "arrays are measured as they are"
    beside = kept("losses", item="EagerTensor")
    assert found(growth(kept=(nested, beside)))[0].holder == "losses"
    pairs = kept("recent", 7 * KIB, kind="deque (maxlen 400)", item="tuple of float")
    assert found(growth(kept=(pairs,)))[0].level is Level.PROBLEM, "numbers are the bottom"


@pytest.mark.parametrize("inner", ["agent.replay", "agent['replay']"])
def test_what_leads_to_a_buffer_with_a_bound_is_no_holder(inner: str) -> None:
    """The buffer takes as much with each step as a leak elsewhere that nobody named."""
    buffer = kept(inner, kind="deque (maxlen 1000)", item="ndarray")
    around = kept("agent", counts=lambda _: None, kind="Agent", item=None)
    site = Site(frame(11, "past.append(np.array(batch))"), 20, 20 * MIB, 20)
    told = found(growth(memory(2.2 * MIB), kept=(buffer, around), sites=(site,)))
    assert "agent" not in [each.holder for each in told]
    assert found(growth(kept=(around,)))[0].holder == "agent", "by itself it is one"


def test_a_list_of_what_others_hold_too_is_no_holder_for_what_it_is_in() -> None:
    drawn = kept("log['samples']", item="ndarray", others_have=1.0)
    around = kept("log", kind="dict", item="list of ndarray", counts=lambda _: 3)
    around = replace(around, sizes_bytes=drawn.sizes_bytes)
    holders = [each.holder for each in found(growth(kept=(drawn, around)))]
    assert "log['samples']" not in holders


def test_elements_are_said_to_be_as_many_as_before_only_where_they_are() -> None:
    early = kept("hist", kind="dict", item="list of ndarray", counts=lambda step: 10 if step < 30 else 900)
    late = kept("hist", kind="dict", item="list of ndarray", counts=lambda step: 10 if step < 180 else 9)
    for each, inside in ((early, True), (late, False)):
        each = replace(each, sizes_bytes=kept().sizes_bytes)
        told = found(growth(kept=(each,)))[0]
        assert told.holder == "hist" and ("as many elements as before" in str(told.because)) is inside
