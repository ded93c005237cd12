"""The tables and pictures of the documents are written by code, so that they cannot disagree with it.

The game pages ``envs/<game>/README.md`` get the tables of their game and may name a stored comparison of training variants.
``README.md`` gets the table of the plain evaluations among the stored results, ``configs/results/README.md`` all of them (:mod:`.results`).
``python -m deckhand.train.pages`` rewrites them in a checkout; a test fails while they are out of date.
"""

import json
import re
from pathlib import Path
from random import Random

from ..agents import named_agents
from ..envs.core import Game, Position, game_names, get_game
from .results import PAGE, comparisons, headline_table, results_page
from .tables import markdown_table

ROOT = Path(__file__).parent.parent
_BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def tables(game: Game) -> dict[str, str]:
    """The Markdown tables of a game's page by name."""
    states = game.template(game.min_players, {})
    layout = game.layout
    return {
        "specs": markdown_table(
            ("", ""),
            [
                ("Name, id", f"`{game.name}`, `{game.id}`"),
                ("Players", f"{game.min_players}-{game.max_players}" + (", cooperative" if game.cooperative else "")),
                ("Action space", f"`Discrete({game.num_actions})` with mask"),
                ("Observation", f"`float32 ({layout.size},)`, one shape for every player count"),
                ("Phases", ", ".join(f"`{phase}`" for phase in game.phases)),
                ("Record", f"{states.itemsize} bytes"),
                ("Agents", ", ".join(f"`{name}`" for name in named_agents(game))),
            ],
        ),
        "options": markdown_table(
            ("option", "default", "meaning"),
            [
                (f"`{name}`", f"`{json.dumps(field.get_default(call_default_factory=True))}`", field.description)
                for name, field in game.options.model_fields.items()
            ],
        ),
        "observation": markdown_table(
            ("index", "piece", "shape", "range", "meaning"),
            [
                (
                    f"{layout[piece.name].start}-{layout[piece.name].stop - 1}",
                    f"`{piece.name}`",
                    " x ".join(map(str, piece.shape)),
                    f"{piece.low:g} .. {piece.high:g}",
                    piece.text,
                )
                for piece in layout.pieces
            ],
        ),
        "actions": markdown_table(
            ("index", "action"), [(f"{first}-{last}" if last > first else first, text) for first, last, text in game.action_table]
        ),
    }


def picture(game: Game) -> str:
    """An SVG of the middle of a random game, as the seat to move sees it."""
    rng = Random(7)
    position = Position.new(game, min(3, game.max_players), {}, 7)
    for _ in range(18):
        position.apply(rng.choice(position.legal_actions()))
    return game.paint(position.view(position.to_move).record).svg() + "\n"


def updated_page(text: str, fresh: dict[str, str]) -> str:
    """A document with its tables written anew."""
    return _BLOCK.sub(lambda block: f"{block[1]}{fresh[block[2]]}\n{block[3]}", text)


def pages() -> dict[Path, str]:
    """What every generated file should hold."""
    readme = ROOT / "README.md"
    compared = comparisons()
    files = {readme: updated_page(readme.read_text(encoding="utf-8"), {"results": headline_table()}), PAGE: results_page()}
    for name in game_names():
        game = get_game(name)
        folder = ROOT / "envs" / name
        files[folder / "picture.svg"] = picture(game)
        page = folder / "README.md"
        files[page] = updated_page(page.read_text(encoding="utf-8"), tables(game) | compared)
    return files


def main() -> None:
    """Write the pages."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
