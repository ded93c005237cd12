"""What a result was computed with."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version

CORE_PACKAGES = ("deckhand-rl", "numpy", "numba")
TRAINING_PACKAGES = ("gymnasium", "torch", "stable-baselines3", "sb3-contrib", "safetensors")


def versions(*packages: str) -> dict[str, str]:
    """Versions of Python, of Deckhand's core and of further ``packages``; those that are not installed are left out."""
    found = {"python": platform.python_version()}
    for package in (*CORE_PACKAGES, *packages):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, str | int | None]:
    """The system and the number of its processors."""
    return {"platform": platform.platform(), "cpus": os.cpu_count()}
