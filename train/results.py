"""The stored results in ``configs/results`` as Markdown: the table of the README and the results page.

A stored result is a report that a command or a training run wrote, told apart by its ``schema``; a picture of the same name beside it is
shown with it. Every figure has its 95 % interval.

==============================  ===================================================================================================
``deckhand/evaluation/1``       ``deckhand evaluate --json``
``deckhand/exploit/1``          ``deckhand exploit``
``deckhand/ladder/1``           ``deckhand ladder``
``deckhand/tournament/1``       ``deckhand tournament``
``deckhand/comparison/1``       a training run with variants
none, with ``evaluations``      a training run
==============================  ===================================================================================================
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..envs.core import Game, game_names, get_game
from .ladder import ladder_grid
from .statistics import Figure
from .tables import markdown_table
from .variants import comparison_grids

RESULTS = Path(__file__).parent.parent / "configs" / "results"
PAGE = RESULTS / "README.md"
HEADER = ("players", "options", "agent", "against, or beside", "result [95 % interval]", "deals", "report")

_INTRODUCTION = """Written by `python -m deckhand.train.pages` from the reports in this folder. Wins are shares of games (a win shared
by k counts 1/k), fair is 1 / players; every deal is played with the agent in every seat. Cooperative games: share
of games won, means, and the difference to the first baseline on the same deals. No training plays the deal sets `dev` and `test`
(`deckhand evaluate --deal-set`). Intervals cover the deals, not the training seed."""

Report = Mapping[str, Any]


def stored_results() -> dict[str, Report]:
    """The reports by the names of their files."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))}


def headline_table() -> str:
    """The plain evaluations of all games and those of trained policies as one table, for the README."""
    rows = [
        (get_game(found["game"]).title, *_match(name, found, "configs/results/"))
        for name, report in stored_results().items()
        if report.get("schema", "deckhand/evaluation/1") == "deckhand/evaluation/1"
        for found in report.get("evaluations", [report])
        if "(stochastic)" not in found["agents"][0]
    ]
    return markdown_table(("game", *HEADER), rows)


def comparison_tables(report: Report) -> str:
    """The greedy policies of a comparison of training variants."""
    grids = [grid for grid in comparison_grids(report) if "(stochastic)" not in grid.title]
    return "\n".join(grid.to_markdown() for grid in grids).rstrip()


def comparisons() -> dict[str, str]:
    """The stored comparisons of training variants by their names."""
    return {r["name"]: comparison_tables(r) for r in stored_results().values() if r.get("schema") == "deckhand/comparison/1"}


def results_page() -> str:
    """The page of all stored results, game by game."""
    lines = ["# Results", "", _INTRODUCTION]
    reports = stored_results()
    for game in map(get_game, game_names()):
        lines += ["", f"## {game.title}"]
        own = {name: report for name, report in reports.items() if _game_of(report) == game.id}
        for title, write in _SECTIONS.items():
            lines += write(title, own)
    return "\n".join(lines) + "\n"


def _game_of(report: Report) -> str:
    """The id of a report's game."""
    if "config" in report:
        return get_game(report["config"]["game"]).id
    if "variants" in report:
        report = next(iter(report["variants"].values()))
    return str(report["evaluations"][0]["game"] if "evaluations" in report else report["game"])


def _matches(title: str, reports: Mapping[str, Report]) -> Iterator[str]:
    rows = [_match(name, report) for name, report in reports.items() if report.get("schema") == "deckhand/evaluation/1"]
    if rows:
        yield from ("", f"### {title}", "", markdown_table(HEADER, rows))


def _trainings(title: str, reports: Mapping[str, Report]) -> Iterator[str]:
    for name, report in reports.items():
        if "schema" not in report:
            yield from ("", f"### {title} `{name}`", "", f"{report['steps']:,} steps.", "")
            yield markdown_table(HEADER, [_match(name, found) for found in report["evaluations"]])
            yield from _picture(name, "learning curve")


def _comparisons(title: str, reports: Mapping[str, Report]) -> Iterator[str]:
    for name, report in reports.items():
        if report.get("schema") == "deckhand/comparison/1":
            yield from ("", f"### {title} `{name}`", "", comparison_tables(report))
            yield from _picture(name, "learning curves")


def _ladders(title: str, reports: Mapping[str, Report]) -> Iterator[str]:
    for name, report in reports.items():
        if report.get("schema") == "deckhand/ladder/1":
            yield from ("", f"### {title} `{name}`", "", ladder_grid(report).to_markdown().rstrip())
            yield from _picture(name, "strength against budget")


def _exploits(title: str, reports: Mapping[str, Report]) -> Iterator[str]:
    for name, report in reports.items():
        if report.get("schema") == "deckhand/exploit/1":
            rows = [
                (*row[:2], f"{kind} response", f"`{report['agent']}`", *row[4:])
                for kind, row in zip(("greedy", "stochastic"), [_match(name, found) for found in report["evaluations"]], strict=True)
            ]
            yield from (
                "",
                f"### {title} `{report['agent']}`",
                "",
                f"Best response with {report['training']['steps']:,} steps.",
                "",
                markdown_table(HEADER, rows),
            )
            yield from _picture(name, "learning curve of the best response")


def _tournaments(title: str, reports: Mapping[str, Report]) -> Iterator[str]:
    for name, report in reports.items():
        if report.get("schema") == "deckhand/tournament/1":
            figures = [key for key in ("rating", "win_share", "score", "win_rate") if key in report["agents"][0]]
            rows = [
                (agent["rank"], f"`{agent['agent']}`", *(_text(agent[key], percent=key in ("win_share", "win_rate")) for key in figures))
                for agent in report["agents"]
            ]
            cycles = "; ".join(" > ".join(cycle["agents"]) for cycle in report["cycles"]) or "none"
            games = f"{report['players']} players, {report['games']:,} games, {report['deals']:,} deals a table, seed {report['seed']}."
            text = f"{games} Cycles: {cycles}."
            yield from ("", f"### {title} `{name}`", "", text, "")
            yield markdown_table(("rank", "agent", *(key.replace("_", " ") for key in figures)), rows)
            yield from _picture(name, "how often the agent of the row finished ahead of the column's")


_SECTIONS: dict[str, Callable[[str, Mapping[str, Report]], Iterator[str]]] = {
    "Matches": _matches,
    "Search ladder": _ladders,
    "Tournament": _tournaments,
    "Training": _trainings,
    "Comparison": _comparisons,
    "Exploiting": _exploits,
}


def _picture(name: str, text: str) -> Iterator[str]:
    if (RESULTS / f"{name}.png").is_file():
        yield from ("", f"![{name}: {text}]({name}.png)")


def _match(name: str, report: Report, folder: str = "") -> Sequence[object]:
    """A row of an evaluation."""
    game = get_game(report["game"])
    subject, *others = report["figures"]
    return (
        report["players"],
        _changed_options(game, report["options"]),
        f"`{subject['agent']}`",
        ", ".join(dict.fromkeys(f"`{row['agent']}`" for row in others)),
        _result(game, report),
        f"{report['deals']:,}, " + (f"deal set {report['deal_set']}" if report.get("deal_set") else f"seed {report['seed']}"),
        f"[{name}]({folder}{name}.json)",
    )


def _changed_options(game: Game, options: Mapping[str, Any]) -> str:
    defaults = game.parse_options({}).model_dump(mode="json")
    return ", ".join(f"{name}={value}" for name, value in options.items() if value != defaults[name])


def _result(game: Game, report: Report) -> str:
    subject = report["figures"][0]
    if not game.cooperative:
        return f"wins {_text(subject['win_share'], percent=True)}; return {_text(subject['return'])}"
    texts = [f"wins {_text(subject['win_rate'], percent=True)}"]
    for key in ("score", *(key for key in subject if key not in ("agent", "role", "win_rate", "score", "return"))):
        texts.append(f"{key} {_text(subject[key])}")
        if report["difference"]:
            texts[-1] += ", difference {mean:+.2f} [{low:+.2f}, {high:+.2f}]".format(**report["difference"][0][key])
    return "; ".join(texts)


def _text(figure: Report, percent: bool = False) -> str:
    """A figure of a report for people."""
    return Figure.from_json(figure).text(percent)
