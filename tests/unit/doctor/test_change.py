"""An environment as it would be after a change; the given one stays as it is."""

from __future__ import annotations

from crashcart.doctor._change import Change, changed
from tests.unit.doctor.ground import state

SITE = "/home/ada/.venv/lib/python/site-packages"


def test_a_version_is_replaced_with_what_the_release_declares() -> None:
    before = state({"tensorflow": "2.15.1", "numpy": "2.0.2"})
    after = changed(before, Change(install=(("tf-keras", "2.15.1"), ("numpy", "1.26.4"))))
    assert after.find("numpy") is not None and after.find("numpy").version == "1.26.4"
    assert after.find("tf-keras").requires == ("tensorflow <2.16,>=2.15",)
    assert before.find("numpy").version == "2.0.2" and before.find("tf-keras") is None


def test_what_is_removed_is_gone() -> None:
    after = changed(state({"numpy": "2.0.2", "keras": "3.5.0"}), Change(remove=("keras",)))
    assert after.find("keras") is None and after.find("numpy") is not None


def test_a_deleted_entry_leaves_the_other_one() -> None:
    twice = state({"numpy": [{"version": "1.26.4"}, {"version": "1.24.4"}]})
    after = changed(twice, Change(delete=(f"{SITE}/numpy-1.24.4.dist-info",), again=(("numpy", "1.26.4"),)))
    assert [each.version for each in after.installation.distributions if each.name == "numpy"] == ["1.26.4"]


def test_an_installer_brings_what_a_new_package_needs() -> None:
    after = changed(state({"numpy": "1.26.4"}), Change(install=(("tensorboard", "2.20.0"),)))
    assert after.find("absl-py") is not None and after.find("absl-py").version is None
    assert after.find("protobuf").version == "7.34.0"  # the newest that is known


def test_what_is_asked_for_is_there_with_an_unknown_version() -> None:
    assert changed(state({}), Change(ask=("absl-py>=1.0.0",))).find("absl-py").version is None


def test_a_variable_is_unset() -> None:
    before = state({}, variables={"A": "1", "B": "2"})
    assert changed(before, Change(unset=("A",))).variables == {"B": "2"}


def test_a_module_that_is_written_again_is_whole() -> None:
    modules = {
        "tensorflow": {"name": "tensorflow", "file": None, "owners": ["tensorflow-cpu"], "remnant": "/x/tensorflow"}
    }
    before = state({"tensorflow-cpu": "2.16.2"}, modules=modules)
    mended = changed(before, Change(again=(("tensorflow-cpu", "2.16.2"),))).installation.modules["tensorflow"]
    assert mended.file is not None and mended.remnant is None and mended.whole == ("tensorflow-cpu",)
    assert before.installation.modules["tensorflow"].remnant == "/x/tensorflow"


def test_of_two_owners_the_one_that_stays_owns_the_module() -> None:
    modules = {
        "tensorflow": {
            "name": "tensorflow",
            "file": "/x/tensorflow/__init__.py",
            "owners": ["tensorflow", "tensorflow-cpu"],
        }
    }
    before = state({"tensorflow": "2.16.2", "tensorflow-cpu": "2.16.2"}, modules=modules)
    change = Change(remove=("tensorflow",), again=(("tensorflow-cpu", "2.16.2"),))
    assert changed(before, change).installation.modules["tensorflow"].owners == ("tensorflow-cpu",)


def test_changes_add_up_and_the_later_one_wins() -> None:
    first = Change(install=(("numpy", "1.26.4"),), unset=("A",), again=(("keras", "2.15.0"),))
    both = first + Change(install=(("numpy", "1.24.4"), ("keras", "2.15.0")), unset=("A", "B"))
    assert both.install == (("numpy", "1.24.4"), ("keras", "2.15.0"))
    assert both.unset == ("A", "B") and both.again == ()
    assert not Change() and both


def test_a_variable_gets_a_new_value() -> None:
    before = state({}, variables={"A": "1", "B": "2"})
    assert changed(before, Change(assign=(("A", "3"),))).variables == {"A": "3", "B": "2"}
    assert (Change(assign=(("A", "3"),)) + Change(assign=(("A", "4"),))).assign == (("A", "4"),)
    assert bool(Change(assign=(("A", "3"),)))
