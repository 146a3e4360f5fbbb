from __future__ import annotations

import pytest

from crashcart.redact import HIDDEN, redact_argv, redact_value, redact_variables

# Assembled at run time so that no scanner takes a made-up key in a test for a real one.
KEYS = [
    "AKIA" + "A1B2C3D4E5F6G7H8",
    "ghp_" + "aB3" * 12,
    "hf_" + "xY9" * 12,
    "sk-" + "Qw3rTy" * 6,
    "eyJhbGciOi.eyJzdWIiOi.c2lnbmF0",
]


@pytest.mark.parametrize("key", KEYS)
def test_values_that_look_like_keys_are_hidden_anywhere(key: str) -> None:
    assert key not in redact_value(f"--flag={key},x")
    assert key not in " ".join(redact_argv(["python", "-c", f"login('{key}')"]))


def test_options_and_assignments_that_name_a_secret() -> None:
    argv = ["train.py", "--password", "hunter2", "--api-key=abc", "WANDB_API_KEY=abc", "--epochs", "3", "-x", "--token"]
    assert redact_argv(argv) == (
        "train.py", "--password", HIDDEN, f"--api-key={HIDDEN}", f"WANDB_API_KEY={HIDDEN}", "--epochs", "3", "-x", "--token",
    )  # fmt: skip


def test_a_password_in_a_url_is_hidden_and_the_rest_stays() -> None:
    assert redact_value("postgres://user:pa55@db:5432/x") == f"postgres://{HIDDEN}@db:5432/x"


@pytest.mark.parametrize(
    "plain",
    ["--keyboard=us", "--monkey", "--data=/very/long/path/to/the/dataset/train_2024_images_resized_256x256.tfrecord",
     "--sha=0123456789abcdef0123456789abcdef01234567", "train.py", "--lr=0.001", "--tokenizer-path=x"],
)  # fmt: skip
def test_ordinary_arguments_stay(plain: str) -> None:
    assert redact_argv([plain]) == (plain,)


def test_only_telling_variables_are_kept_and_secrets_among_them_are_hidden() -> None:
    kept = redact_variables({"TF_GPU_ALLOCATOR": "cuda_malloc_async", "AWS_SECRET_ACCESS_KEY": "x", "HOME": "/home/a",
                             "SLURM_JWT_TOKEN": "abc", "PYTHONPATH": "/a:/b"})  # fmt: skip
    assert kept == {"TF_GPU_ALLOCATOR": "cuda_malloc_async", "SLURM_JWT_TOKEN": HIDDEN, "PYTHONPATH": "/a:/b"}
