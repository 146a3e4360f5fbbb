"""GPUs by name, and what a process can use of them."""

from __future__ import annotations

import pytest

from crashcart.errors import UsageError
from crashcart.fit.gpus import _facts, find_gpu, reserve_bytes
from crashcart.units import GIB, MIB


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("A100-40G", "A100-40G"),
        ("a100 40gb", "A100-40G"),
        ("NVIDIA A100-SXM4-80GB", "A100-80G"),
        ("Tesla T4", "T4"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("rtx4090", "RTX 4090"),
        ("4090", "RTX 4090"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("Tesla V100-PCIE-16GB", "V100-16G"),
        ("NVIDIA RTX A6000", "A6000"),
        ("L40S", "L40S"),
    ],
)
def test_names_are_found_as_people_and_drivers_write_them(typed: str, name: str) -> None:
    assert find_gpu(typed).name == name


@pytest.mark.parametrize(
    ("typed", "near"),
    [("A100", ("A100-40G", "A100-80G")), ("RTX 409", ("RTX 4090",)), ("V100", ("V100-16G", "V100-32G"))],
)
def test_a_name_that_is_not_known_lists_near_ones(typed: str, near: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as raised:
        find_gpu(typed)
    assert raised.value.exit_code == 2
    assert all(each in str(raised.value) for each in near)
    assert "--memory" in raised.value.help


def test_a_name_like_no_other_lists_all() -> None:
    with pytest.raises(UsageError, match=r"A100-40G.*T4"):
        find_gpu("%%%")


@pytest.mark.parametrize("row", _facts()["devices"], ids=lambda row: row["name"])
def test_a_process_gets_most_of_a_device_and_never_all(row: dict[str, object]) -> None:
    found = find_gpu(str(row["name"]))
    assert found.name == row["name"]
    assert 0.65 < found.usable_bytes / found.total_bytes < 0.99


def test_what_tensorflow_leaves_depends_on_the_generation() -> None:
    assert [reserve_bytes(each, 16 * GIB) // MIB for each in ("5.2", "6.1", "7.5", "8.9", "9.0", "12.0", None)] == [
        500,
        500,
        1050,
        1536,
        1800,
        1800,
        1800,
    ]
    assert reserve_bytes("8.0", GIB) == 225 * MIB
