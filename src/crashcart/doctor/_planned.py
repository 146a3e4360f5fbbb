"""A plan as an environment: what would lie there if it were installed now.

Covers: choosing the Python, the versions that pip would take, and, where none can be taken, who asks for what and which
change of the plan helps (each is tried before it is named).
Does not cover: conda's own choices: what conda brings takes the version that the plan fixes, or stays open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from packaging.markers import Marker
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from crashcart.doctor._facts import TENSORFLOW_NAMES
from crashcart.doctor._index import is_known, pythons, pythons_of, releases, requires
from crashcart.doctor._loosen import changes
from crashcart.doctor._requirements import marker_holds
from crashcart.doctor._resolver import DeadEnd, Search, in_range, is_pinned, refused
from crashcart.errors import CannotCheckError, UsageError
from crashcart.installation import Conflict, Distribution, Installation, Interpreter, Plan, Wanted
from crashcart.redact import redact_value

_NEXT = "Mend the file, or name the Python: --python-version 3.11."


def planned(plan: Plan, asked: Interpreter, python: str | None = None) -> Installation:
    """The environment that the plan would make: for the Python that is named, or the plan's, or that of the interpreter."""
    interpreter = _interpreter(plan, asked, python)
    wanted = [each for each in plan.wanted if marker_holds(Marker(each.marker) if each.marker else None, interpreter)]
    pip, conda = [each for each in wanted if each.by != "conda"], [each for each in wanted if each.by == "conda"]
    search, chosen = _chosen(interpreter, pip, conda)
    conflicts = [*_includes(plan)]
    unread = list(plan.unread)
    if chosen is None and search.exhausted:
        unread.append(f"{plan.file}: what pip would choose was not found in reasonable time")
    elif chosen is None and search.dead_end is not None:
        conflicts.append(_conflict(search.dead_end, interpreter, pip))
        chosen = {name: version for name, version in search.dead_end.chosen.items() if name != search.dead_end.package}
    else:
        conflicts += _built(chosen or {}, interpreter, search)
    return Installation(
        interpreter=interpreter,
        distributions=tuple(_distributions(chosen or {}, wanted, interpreter)),
        plan=plan.file,
        conflicts=tuple(conflicts),
        unread=tuple(unread),
    )


def _includes(plan: Plan) -> Iterator[Conflict]:
    """Included files that stop the installer."""
    if plan.missing:
        yield Conflict("missing-file", plan.file, tuple(dict.fromkeys(plan.missing)))
    if plan.circular:
        yield Conflict("includes-itself", plan.file, plan.circular)


def _interpreter(plan: Plan, asked: Interpreter, python: str | None) -> Interpreter:
    """The interpreter that the plan is for; nothing of the asked one but what its system is like."""
    version = python or _python_of(plan, asked)
    minor = ".".join(version.split(".")[:2])
    if minor not in pythons():
        error = UsageError if python else CannotCheckError
        raise error(
            f"Python {version} is not known", f"Known are {pythons()[0]} to {pythons()[-1]}: --python-version 3.11."
        )
    return replace(asked, version=version, executable=None, prefix=None, kind="venv", tool=plan.tool, user_site=None)


def _python_of(plan: Plan, asked: Interpreter) -> str:
    """The asked interpreter's version where the plan allows it, else the newest that it does and that has a TensorFlow."""
    try:
        allowed = SpecifierSet(plan.python or "")
    except InvalidSpecifier as error:
        raise CannotCheckError(f"{plan.file} asks for the Python {plan.python!r}, which is no range", _NEXT) from error
    if allowed.contains(asked.version, prereleases=True):
        return asked.version
    # A range may exclude the first patch releases of a minor version, or end in one.
    fitting = [each for each in pythons() if any(allowed.contains(f"{each}.{patch}") for patch in range(30))]
    if not fitting:
        raise CannotCheckError(f"{plan.file} asks for Python {plan.python}, and no known Python is that", _NEXT)
    served = {python for each in releases("tensorflow") for python in pythons_of("tensorflow", str(each))}
    return next((each for each in reversed(fitting) if each in served), fitting[-1])


def _chosen(
    interpreter: Interpreter, pip: Sequence[Wanted], conda: Sequence[Wanted]
) -> tuple[Search, dict[str, str | None] | None]:
    """What pip would choose. What conda brought before stays where it fits, and is replaced where it does not.

    Where conda brings TensorFlow itself, its builds have bounds of their own: only what the plan fixes is taken as known.
    """
    if any(each.name in TENSORFLOW_NAMES for each in conda):
        return Search(interpreter, ()), {each.name: _newest(each) for each in (*pip, *conda) if not each.constraint}
    soft = [each for each in conda if is_known(each.name)]
    search = Search(interpreter, [*pip, *soft])
    found = search.run()
    while found is None and search.dead_end is not None and soft:
        blamed = {each.wanted.name for each in search.dead_end.asks if each.wanted is not None}
        kept = [each for each in soft if each.name not in blamed]
        soft = kept if len(kept) < len(soft) else []
        search = Search(interpreter, [*pip, *soft])
        found = search.run()
    return search, found


def _newest(wanted: Wanted) -> str | None:
    """The version that a requirement fixes, or the newest of the series that it names; None where it leaves it open."""
    specifier = SpecifierSet(wanted.specifier)
    fixed = [each.version for each in specifier if each.operator == "=="]
    if wanted.exact or not fixed:
        return wanted.exact
    exact = next((each for each in fixed if not each.endswith("*")), None)
    return exact or next((str(each) for each in releases(wanted.name) if specifier.contains(each)), None)


def _distributions(
    chosen: Mapping[str, str | None], wanted: Sequence[Wanted], interpreter: Interpreter
) -> Iterator[Distribution]:
    """What would be installed: what is named, and what that asks for."""
    named = {each.name: each for each in wanted if not each.constraint}
    # Conda's `numpy=1.26` fixes what was measured: the minor version.
    fixed = {each.name for each in wanted if is_pinned(each) or (each.by == "conda" and "==" in each.specifier)}
    for name in (*named, *(each for each in chosen if each not in named)):
        version = chosen.get(name)
        yield Distribution(
            name=name,
            version=version,
            requires=requires(name, version),
            installer="conda" if name in named and named[name].by == "conda" else "pip",
            pinned=name in fixed,
            origin=redact_value(named[name].text) if name in named and named[name].opaque else None,
        )


def _conflict(end: DeadEnd, interpreter: Interpreter, pip: Sequence[Wanted]) -> Conflict:
    possible = in_range(end.package, end.asks)
    shell = refused(end.package, end.asks)
    kind = "refuses" if shell else "no-wheel" if possible else "ranges" if len(end.asks) > 1 else "no-release"
    fitting = {python for each in possible for python in pythons_of(end.package, str(each))}
    return Conflict(
        kind=kind,
        package=end.package,
        asked=(
            *dict.fromkeys(each.words for each in end.asks),
            *((f"pip would choose {end.package} {shell}",) if shell else ()),
        ),
        pythons=tuple(each for each in pythons() if each in fitting),
        changes=tuple(changes(end, interpreter, pip)),
    )


def _built(chosen: Mapping[str, str | None], interpreter: Interpreter, search: Search) -> Iterator[Conflict]:
    """What has no wheel for this Python, so that pip would build it."""
    for name, version in chosen.items():
        if version is None or not is_known(name) or name in TENSORFLOW_NAMES:
            continue
        fitting = pythons_of(name, version)
        if fitting and interpreter.minor not in fitting:
            asked = tuple(
                f"{each.place} asks for {each.name}{each.specifier}" for each in search.wanted if each.name == name
            )
            yield Conflict("no-wheel", name, (*asked, f"pip would choose {name} {version}"), fitting, builds=True)
