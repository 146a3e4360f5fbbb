"""The rules over one growth: the best explanation speaks first, and none is left without one."""

from __future__ import annotations

from crashcart.evidence import Evidence
from crashcart.finding import Finding, Level
from crashcart.growth import Growth, Made, Retraced, Series, Site, Steps
from crashcart.leaks import examine_leaks
from crashcart.leaks._tell import items
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

    assert tried("history.append(loss)") == "history.append(float(loss))"
    assert tried("history.append(out)") == "history.append(float(tf.reduce_mean(out)))"
    for source in ("history.append((loss, grads))", "history.append({'loss': loss})", "history[key] = [loss, out]"):
        assert "float(loss), …" in tried(source, item="tuple of EagerTensor")
    assert tried("history.append(pair)", item="tuple of EagerTensor") == "put plain numbers into `history`: `float(x)`"
    assert tried("history.append(step(x))") == "put plain numbers into `history`: `float(x)`"


def test_growth_without_a_holder_is_told_with_live_tensors_and_with_what_else_looks_like_it() -> None:
    tensors = Series("tensors", "count", LOOKS, (120, 200, 300, 400, 500, 540))
    sizes = Series("tensor_bytes", "bytes", LOOKS, tuple(count * MIB for count in tensors.values))
    (first,) = found(growth(memory(), tensors, sizes))
    facts = " ".join(first.because)
    assert "live tensors: 120 → 540 with 120 MiB → 540 MiB" in facts and "`cache()`" in facts
    assert first.confidence.value == "likely" and first.where is None, "the line of the steps is not that of the growth"
    (plain,) = found(growth(memory(), steps=Steps("loop", "passes", 240, 0.1)))
    assert "cache()" not in " ".join(plain.because)
