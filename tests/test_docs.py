"""What the documents say is what the code does."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from deckhand.envs import game_ids, game_names
from deckhand.train.cli import app
from deckhand.train.pages import ROOT, pages

PAGES = [ROOT / "README.md", *(ROOT / "envs" / name / "README.md" for name in game_names())]
EXAMPLES = [
    pytest.param(code, id=f"{page.parent.name if page.parent != ROOT else 'README'}-{i}")
    for page in PAGES
    for i, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
]


def test_pages_are_up_to_date() -> None:
    for path, text in pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} of {path.parent.name}: run python -m deckhand.train.pages"


@pytest.mark.parametrize("code", EXAMPLES)
def test_examples_run(code: str, tmp_path: Path) -> None:
    # As in an installation that is not editable, where deckhand.pth does the first import.
    subprocess.run([sys.executable, "-c", "import deckhand.startup\n" + code], check=True, cwd=tmp_path)


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: page.parent.name)
def test_game_pages_have_one_template(page: Path) -> None:
    headings = re.findall(r"^## (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings == [
        "Specs",
        "Rules",
        "Options",
        "Observation",
        "Actions",
        "Rewards",
        "End of an episode",
        "Records",
        "Agents",
        "Versions",
    ]


def test_readme_names_every_game_and_no_other() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"envs/(\w+)/README\.md", text)) == set(game_names())
    named = {id for page in PAGES for id in re.findall(r"\b[A-Z]\w+-v\d+\b", page.read_text(encoding="utf-8"))}
    assert named == set(game_ids().values())


def test_readme_names_every_command() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `deckhand (\w+)", text, re.MULTILINE))
    assert named == {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
