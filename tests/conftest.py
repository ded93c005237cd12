"""Settings that all tests share."""

import os
import sys
from pathlib import Path

import pytest
from deckhand.envs.core.jit import JIT_DISABLED
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))  # oracles and toy games, also in processes that pytest-xdist starts

settings.register_profile("suite", deadline=None, derandomize=True, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", deadline=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes minutes as plain Python."""
    if JIT_DISABLED:
        heavy = [item for item in items if item.get_closest_marker("needs_jit")]
        config.hook.pytest_deselected(items=heavy)
        items[:] = [item for item in items if item not in heavy]
