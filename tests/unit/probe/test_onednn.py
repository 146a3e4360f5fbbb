"""Which kernels a run takes, by the processor and by what the user has set."""

from __future__ import annotations

import pytest

from crashcart.probe.onednn import takes_onednn, without_onednn


@pytest.mark.parametrize(
    ("flags", "said", "takes"),
    [
        ({"avx2"}, "", False),
        ({"avx2", "avx512f"}, "", False),  # TensorFlow asks for instructions of neural networks
        ({"avx2", "avx512_vnni"}, "", True),
        ({"avx2", "avx_vnni"}, "0", False),
        ({"avx2", "avx_vnni"}, "false", False),
        ({"avx2"}, "1", True),
        (None, "", False),
    ],
)
def test_the_user_decides_else_the_processor(flags: set[str] | None, said: str, takes: bool) -> None:
    assert takes_onednn(flags, {"TF_ENABLE_ONEDNN_OPTS": said}) is takes


def test_a_process_without_them_still_knows_what_the_user_has_set() -> None:
    child = without_onednn({"TF_ENABLE_ONEDNN_OPTS": "1"})
    assert child["TF_ENABLE_ONEDNN_OPTS"] == "0"
    assert takes_onednn({"avx2"}, child) is True
    assert takes_onednn({"avx2"}, without_onednn(without_onednn({}))) is False
    assert takes_onednn({"avx512_vnni"}, without_onednn({})) is True
