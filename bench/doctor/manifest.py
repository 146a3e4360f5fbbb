"""All environments of the bench."""

from __future__ import annotations

from bench.doctor.environment import Environment
from bench.doctor.of_files import OF_FILES
from bench.doctor.of_ground import OF_GROUND
from bench.doctor.of_packages import OF_PACKAGES
from bench.doctor.of_plans import OF_PLANS
from bench.doctor.right import RIGHT

ENVIRONMENTS: tuple[Environment, ...] = (*OF_PACKAGES, *OF_FILES, *OF_GROUND, *OF_PLANS, *RIGHT)
