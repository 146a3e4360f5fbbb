"""Plans of environments that are not installed yet."""

from __future__ import annotations

from bench.doctor.environment import Environment

_PROJECT = '[project]\nname = "app"\nversion = "1"\nrequires-python = ">=3.12"\ndependencies = ["tensorflow==2.15.1"]\n'
_POETRY = '[tool.poetry.dependencies]\npython = "~3.11"\ntensorflow = "~2.15"\nnumpy = "^2.0"\n'
_CONDA = "name: app\ndependencies:\n  - python=3.10\n  - numpy\n  - pip:\n      - tensorflow==2.10.1\n"

OF_PLANS = (
    Environment("plan-2.10-alone", "2.10 has no cap on NumPy", "3.10", plan=("requirements.txt", "tensorflow==2.10\n"), expect={"D101": "problem"}),
    Environment("plan-2.14.0-alone", "2.14.0 has no cap on NumPy", "3.11", plan=("requirements.txt", "tensorflow==2.14.0\n"), expect={"D101": "problem"}),
    Environment("plan-2.15-numpy2", "ranges that exclude each other", "3.11", plan=("requirements.txt", "tensorflow==2.15.0\nnumpy>=2\n"), expect={"D701": "problem"}),
    Environment("plan-2.15-opencv", "another package asks for NumPy 2", "3.11", plan=("requirements.txt", "tensorflow==2.15.1\nopencv-python==4.12.0.88\n"), expect={"D701": "problem"}),
    Environment("plan-python-3.13", "2.15 has no wheel for Python 3.13", "3.13", plan=("requirements.txt", "tensorflow==2.15.1\n"), expect={"D701": "problem"}),
    Environment("plan-project", "requires-python excludes every wheel", "3.11", plan=("pyproject.toml", _PROJECT), expect={"D701": "problem"}),
    Environment("plan-poetry", "Poetry's ranges exclude each other", "3.11", plan=("pyproject.toml", _POETRY), expect={"D701": "problem"}),
    Environment("plan-conda", "conda brings NumPy 2, pip keeps it", "3.11", plan=("environment.yml", _CONDA), expect={"D101": "problem"}),
    Environment("plan-tensorflow-gpu", "tensorflow-gpu is a shell", "3.11", plan=("requirements.txt", "tensorflow-gpu\n"), expect={"D701": "problem"}),
    Environment("plan-text-minor", "tensorflow-text of another minor", "3.11", plan=("requirements.txt", "tensorflow==2.16.2\ntensorflow-text==2.15.0\n"), expect={"D701": "problem"}),
)  # fmt: skip
