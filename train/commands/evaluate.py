"""``deckhand evaluate``."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .common import GameName, OptionItems, Players, Seed, parse_options, parse_players


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def evaluate(
        game: GameName,
        agents: Annotated[
            str,
            typer.Option(
                "--agents",
                "-a",
                help="The agent to measure, then its opponents (in cooperative games: the baselines), separated by commas. "
                "An agent is a name, a name with parameters, or the path of a trained policy.",
                show_default=False,
            ),
        ],
        players: Players = None,
        deals: Annotated[int, typer.Option("--deals", "-d", help="Number of deals, each played once a seat.")] = 1000,
        seed: Seed = 1,
        option: OptionItems = None,
        json_file: Annotated[Path | None, typer.Option("--json", help="Write the figures to this file.")] = None,
        markdown_file: Annotated[Path | None, typer.Option("--markdown", help="Write the tables to this file.")] = None,
    ) -> None:
        """Measure an agent fairly: every deal is played with the agent in every seat, and every figure has its 95 % interval.

        The deals of an evaluation are never among those of training. In cooperative games all agents play the same deals and their
        differences are paired.

        Example: deckhand evaluate flotsam_fight --agents low,random --players 4 --deals 1000 --seed 1 -o rounds=1
        """
        from ...agents import make_agent, split_specs
        from ...envs.core import get_game
        from ...envs.core.files import writing
        from ..evaluation import evaluate as run
        from ..progress import progress_bar

        chosen = get_game(game)
        subject, *others = [make_agent(chosen, spec) for spec in split_specs(agents)]
        options = parse_options(chosen, option)
        num_players = parse_players(chosen, players)
        console = Console()
        with ExitStack() as files:
            # Opened first: a path that cannot be written is known before the work.
            json_out = files.enter_context(writing(json_file)) if json_file else None
            markdown_out = files.enter_context(writing(markdown_file)) if markdown_file else None
            with progress_bar(console, "evaluating") as report:
                result = run(chosen, subject, others, num_players=num_players, options=options, deals=deals, seed=seed, progress=report)
            if json_out:
                json_out.write(json.dumps(result.to_json(), indent=2, allow_nan=False) + "\n")
            if markdown_out:
                markdown_out.write(result.to_markdown())
        for grid in result.grids():
            console.print(grid.to_rich())
        factors = ", ".join(f"{name.replace('_', ' ')} {factor:.2f}" for name, factor in result.variance_reduction.items())
        if factors:
            console.print(f"The same interval without pairing would need so many times the games: {factors}")
        console.print(f"{result.seconds:.1f} s, {result.decisions / result.seconds:,.0f} decisions/s")
