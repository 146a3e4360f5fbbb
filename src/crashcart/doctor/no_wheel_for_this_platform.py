"""D206: TensorFlow publishes no wheel for this system and processor."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._builds import change_release, made_for_platform, newest_release, official
from crashcart.doctor._facts import build, parsed
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.installation import Distribution, Installation, Interpreter
from crashcart.rule import Rank, rule

_ARM = frozenset({"arm64", "aarch64"})
_FIELDS = {
    ("Linux", True): "aarch64",
    ("Darwin", True): "macos_arm64",
    ("Darwin", False): "macos_x86_64",
}


@rule("D206", "no-wheel-for-this-platform", Rank.ROOT)
def no_wheel_for_this_platform(installation: Installation) -> Iterator[Finding]:
    """TensorFlow publishes no wheel for this system, processor or C library.

    ## What it means

    pip finds nothing to install ("from versions: none"). There are wheels for Linux with glibc, not with musl
    (Alpine); for Macs with Intel processors up to 2.16; for ARM on Linux from 2.10 and on Macs, in the package
    `tensorflow`, from 2.13 (before that in `tensorflow-macos`).

    ## How we know

    The list of wheels of every release, and the system, processor and C library that the interpreter says of itself.
    Without TensorFlow in the environment or the plan, musl is worth a note and the rest nothing. An installed wheel that
    names this platform in its tags was built for it, and is left alone.

    ## What to do

    For Alpine: an image with glibc (`python:3.12-slim`). For an Intel Mac: TensorFlow 2.16.2. For ARM: the release
    that the finding names.
    """
    found = official(installation)
    if found is not None and made_for_platform(installation, found):
        return
    if installation.interpreter.libc == "musl":
        if found is not None or installation.plan is None:
            yield _musl(found)
        return
    field = _FIELDS.get((installation.interpreter.system, installation.interpreter.architecture in _ARM))
    facts = build(found.version) if found is not None else None
    if found is None or facts is None or field is None or not facts[field].startswith("no "):
        return
    release = newest_release(
        installation.interpreter.minor, lambda build: not build.get(field, "no ").startswith("no ")
    )
    instead = change_release(installation, found.name, release) if release else None
    yield Finding(
        Cause.LIBRARY_CONFLICT,
        f"{found.name} {found.version} has no wheel for {_called(installation.interpreter)}",
        (f"published for it: {facts[field]}", f"this interpreter is {_called(installation.interpreter)}"),
        tuple(_remedies(found, field, instead)),
        Confidence.CERTAIN if installation.plan is not None and found.pinned else Confidence.LIKELY,
    )


def _called(interpreter: Interpreter) -> str:
    system = {"Darwin": "macOS"}.get(interpreter.system, interpreter.system)
    return f"{system} on {interpreter.architecture}"


def _remedies(found: Distribution, field: str, instead: str | None) -> Iterator[str]:
    if instead is not None:
        yield instead
    version = parsed(found.version)
    if field == "macos_arm64" and version is not None and (version.major, version.minor) < (2, 13):
        yield f"{'or ' if instead else ''}the package that has it: tensorflow-macos=={version.major}.{version.minor}.0"
    if instead is None:
        yield "no release has a wheel for this platform and this Python: use a container image of linux/amd64 or linux/arm64"


def _musl(found: Distribution | None) -> Finding:
    return Finding(
        Cause.LIBRARY_CONFLICT,
        "this system's C library is musl (Alpine): TensorFlow has no wheels for it",
        ("the interpreter's build names musl", "every release has wheels for glibc alone, and no source distribution"),
        (
            "take an image with glibc: `FROM python:3.12-slim` instead of `FROM python:3.12-alpine`",
            "a compatibility layer (gcompat) is not enough: the wheels are not offered to pip on musl",
        ),
        Confidence.CERTAIN,
        level=Level.NOTE if found is None else Level.PROBLEM,
    )
