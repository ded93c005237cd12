"""The distribution holds everything that the repository holds, and Gymnasium finds the environments."""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_every_package_is_listed() -> None:
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    found = {
        "deckhand." + ".".join(folder.relative_to(ROOT).parts)
        for top in ("envs", "agents", "train", "configs")
        for folder in [ROOT / top, *(ROOT / top).rglob("*")]
        if folder.is_dir() and any(f.suffix in (".py", ".json", ".yaml") for f in folder.iterdir()) and folder.name != "__pycache__"
    }
    assert (found - {"deckhand.envs.startup"}) | {"deckhand.startup"} == listed


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_gymnasium_finds_the_environments_without_an_import_of_deckhand() -> None:
    # What deckhand.pth does in an installation that is not editable.
    code = (
        "import sys; import deckhand.startup; assert 'gymnasium' not in sys.modules and 'deckhand.envs' not in sys.modules;"
        "import gymnasium; print(gymnasium.make('deckhand/AlleInDieBoote-v0').reset(seed=1)[0].shape)"
    )
    assert run_python(code).strip() == "(1568,)"


def test_startup_changes_nothing_when_deckhand_comes_first() -> None:
    code = "import deckhand.startup, deckhand.envs, gymnasium; print(sum(id.startswith('deckhand/') for id in gymnasium.registry))"
    assert int(run_python(code)) == int(run_python("from deckhand.envs import game_names; print(len(game_names()))"))
