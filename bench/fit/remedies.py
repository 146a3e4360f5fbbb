"""What remedies save, measured while the changed model runs on the allocator that GPUs use, beside what is estimated without a run.

    python -m bench.fit.remedies [NAME…]

Each model and change runs in a child of its own, as in `bench.fit.truth`. The estimate is that of `crashcart fit`: the changed
model is traced and walked. The result is kept in `remedies.json`, and shown as a table.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from bench.fit.children import answers, made, say
from bench.fit.truth import BFC, LIMIT_MB, peaks_of

STORE = Path(__file__).parent / "remedies.json"
MODELS = {"transformer": 32, "unet": 8, "autoencoder": 128}
CHANGES = ("plain", "remat", "accumulation in 4 passes", "mixed_float16")


def main() -> int:
    for name in sys.argv[1:] or MODELS:
        said = _run("estimated", name, "")
        for change in CHANGES:
            row = {**_run("measured", name, change), **said.get(change, {})}
            _keep(name, change, row)
            print(f"{name} {change}: {row}", flush=True)
    print(table())
    return 0


def table() -> str:
    lines = [
        "| model | batch | change | measured MiB | of plain | estimated MiB | error |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    known = json.loads(STORE.read_text(encoding="utf-8"))
    for name, batch in MODELS.items():
        plain = known.get(f"{name} plain", {}).get("measured")
        for change in CHANGES:
            row = known.get(f"{name} {change}", {})
            truth, said = row.get("measured"), row.get("estimated")
            if truth is None or plain is None:
                lines.append(f"| {name} | {batch} | {change} | {row.get('why', 'not measured')} | | | |")
                continue
            error = "" if said is None else f"{said / truth - 1:+.1%}"
            shown = "" if said is None else f"{said / 2**20:.0f}"
            lines.append(
                f"| {name} | {batch} | {change} | {truth / 2**20:.0f} | {truth / plain - 1:+.0%} | {shown} | {error} |"
            )
    return "\n".join(lines)


def _keep(name: str, change: str, row: dict[str, Any]) -> None:
    known = json.loads(STORE.read_text(encoding="utf-8")) if STORE.exists() else {}
    known[f"{name} {change}"] = row
    STORE.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _run(kind: str, name: str, change: str) -> dict[str, Any]:
    rows, code = answers(
        "bench.fit.remedies", f"{kind}({name!r}, {change!r})", LIMIT_MB + 2000, BFC if kind == "measured" else {}
    )
    return rows[0] if rows else {"why": f"the child ended with {code}"}


def measured(name: str, change: str) -> None:
    """In the child: run the changed model as a user would."""
    import keras

    from crashcart import remedy
    from crashcart.probe import tensorflow_rebuilt as rebuilt
    from crashcart.probe.tensorflow_specs import batch_specs

    if change == "mixed_float16":
        keras.config.set_dtype_policy(change)
    model, given = made(name)
    if change == "remat":
        model = remedy.remat(model)
    elif change.startswith("accumulation"):
        model = remedy.accumulate(model, int(change.split()[2]))
    elif change == "smaller input":
        model = rebuilt.with_halved_inputs(model)
    elif change == "SGD":
        model.compile(keras.optimizers.SGD(), model._compile_loss._user_loss, metrics=["accuracy"])
    began_s = time.monotonic()
    peaks, _ = peaks_of(model, batch_specs(model, given, "train"), "train", MODELS[name])
    say({"measured": max(peaks[1:]), "seconds": time.monotonic() - began_s})


def estimated(name: str, _: str) -> None:
    """In the child: trace and walk each change."""
    from crashcart import remedy
    from crashcart.fit.estimate import estimate
    from crashcart.probe.tensorflow_specs import batch_specs
    from crashcart.probe.tensorflow_trace import Trace
    from crashcart.probe.tensorflow_variants import variants

    model, given = made(name)
    rows: dict[str, Any] = {}
    offered = {each.name: each for each in variants(model, given, "train", None, MODELS[name], remedy)}
    for change in CHANGES:
        began_s, batch = time.monotonic(), MODELS[name]
        try:
            if change == "plain":
                trace: Any = Trace(model, batch_specs(model, given, "train"), "train")
            else:
                trace, batch = offered[change].trace(), offered[change].batch or batch
        except Exception as error:
            rows[change] = {"why": f"{type(error).__name__}: {error}"}
            continue
        step = estimate(trace.at(batch), "train", batch, 2)
        rows[change] = {"estimated": step.peak_bytes, "low": step.low_bytes, "high": step.high_bytes}
        rows[change]["estimate_seconds"] = round(time.monotonic() - began_s, 1)
    say(rows)


if __name__ == "__main__":
    sys.exit(main())
