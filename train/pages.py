"""The tables and pictures of the documents are written by code, so that they cannot disagree with it.

The game pages ``envs/<game>/README.md`` get the tables of their game, ``README.md`` the table of the results stored in ``configs/results``:
reports that ``deckhand evaluate --json`` or a training run wrote. A game page may also name a stored comparison of training variants.
``python -m deckhand.train.pages`` rewrites them in a checkout; a test fails while they are out of date.
"""

import json
import re
from pathlib import Path
from random import Random

from ..agents import agent_names
from ..envs.core import Game, Position, game_names, get_game
from .variants import COMPARISON, comparison_grids

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "configs" / "results"
_BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def _table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def tables(game: Game) -> dict[str, str]:
    """The Markdown tables of a game's page by name."""
    states = game.template(game.min_players, {})
    layout = game.layout
    return {
        "specs": _table(
            ("", ""),
            [
                ("Name, id", f"`{game.name}`, `{game.id}`"),
                ("Players", f"{game.min_players}-{game.max_players}" + (", cooperative" if game.cooperative else "")),
                ("Action space", f"`Discrete({game.num_actions})` with mask"),
                ("Observation", f"`float32 ({layout.size},)`, one shape for every player count"),
                ("Phases", ", ".join(f"`{phase}`" for phase in game.phases)),
                ("Record", f"{states.itemsize} bytes"),
                ("Agents", ", ".join(f"`{name}`" for name in agent_names(game))),
            ],
        ),
        "options": _table(
            ("option", "default", "meaning"),
            [
                (f"`{name}`", f"`{json.dumps(field.get_default(call_default_factory=True))}`", field.description)
                for name, field in game.options.model_fields.items()
            ],
        ),
        "observation": _table(
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
        "actions": _table(
            ("index", "action"), [(f"{first}-{last}" if last > first else first, text) for first, last, text in game.action_table]
        ),
    }


def results() -> str:
    """The stored results as a Markdown table, one row an evaluation."""
    rows: list[tuple[object, ...]] = []
    for path in sorted(RESULTS.glob("*.json")):
        report = json.loads(path.read_text(encoding="utf-8"))
        if report.get("schema") == COMPARISON:
            continue
        for found in report.get("evaluations", [report]):
            game = get_game(found["game"])
            defaults = game.parse_options({}).model_dump(mode="json")
            changed = ", ".join(f"{name}={value}" for name, value in found["options"].items() if value != defaults[name])
            subject, *others = found["figures"]
            if game.cooperative:
                key, text = "score", "score {mean:.2f} [{low:.2f}, {high:.2f}]"
                gain = found["difference"][0]["score"] if found["difference"] else None
            else:
                key, text = "win_share", "wins {mean:.1%} [{low:.1%}, {high:.1%}]"
                gain = None
            figure = text.format(**subject[key])
            if gain:
                figure += "; difference {mean:+.2f} [{low:+.2f}, {high:+.2f}]".format(**gain)
            rows.append(
                (
                    game.title,
                    found["players"],
                    changed,
                    f"`{subject['agent']}`",
                    ", ".join(dict.fromkeys(f"`{row['agent']}`" for row in others)),
                    figure,
                    f"{found['deals']:,}, " + (f"deal set {found['deal_set']}" if found.get("deal_set") else f"seed {found['seed']}"),
                    f"[{path.stem}](configs/results/{path.name})",
                )
            )
    return _table(("game", "players", "options", "agent", "against, or beside", "result [95 % interval]", "deals", "report"), rows)


def comparisons() -> dict[str, str]:
    """The stored comparisons of training variants by name: the tables of the greedy policies."""
    found = {}
    for path in sorted(RESULTS.glob("*.json")):
        report = json.loads(path.read_text(encoding="utf-8"))
        if report.get("schema") == COMPARISON:
            grids = [grid for grid in comparison_grids(report) if "(stochastic)" not in grid.title]
            found[report["name"]] = "\n".join(grid.to_markdown() for grid in grids).rstrip()
    return found


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
    files = {readme: updated_page(readme.read_text(encoding="utf-8"), {"results": results()})}
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
