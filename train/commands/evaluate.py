"""``deckhand evaluate``."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .common import GameName, OptionItems, Players, parse_options, parse_players

DEALS = 1000
MOST_DEALS = 100_000


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
        deals: Annotated[
            int | None,
            typer.Option(
                "--deals",
                "-d",
                help=f"Number of deals, each played once a seating; the most to play with --until-ci. "
                f"If not given, {DEALS:,}, or at most {MOST_DEALS:,} with --until-ci.",
                show_default=False,
            ),
        ] = None,
        until_ci: Annotated[
            float | None,
            typer.Option(
                help="Stop when half the width of the main figure's 95 % interval is at most this: "
                "0.01 is one per cent of win share, or in cooperative games a hundredth of a point of score."
            ),
        ] = None,
        deal_set: Annotated[
            str | None,
            typer.Option(
                help="Public deals, the same for everybody: dev to develop and choose by, test to report. "
                "If neither this nor --seed is given: dev."
            ),
        ] = None,
        seed: Annotated[
            int | None,
            typer.Option(
                "--seed",
                "-s",
                help="Names the deals, and starts the agents' own random numbers; with --deal-set the latter only. From 0 to 2^53 - 1.",
                show_default=False,
            ),
        ] = None,
        seating: Annotated[
            str,
            typer.Option(
                help="Seatings of the same players in which every deal is played: rotations of the table, all permutations, "
                "or auto: permutations where they are few."
            ),
        ] = "auto",
        option: OptionItems = None,
        workers: Annotated[
            int,
            typer.Option(
                "--workers",
                "-w",
                help="Processes that play where an agent is a search; others are fast enough in one. "
                "Their number changes no result, except where agents think for a time (flat(50ms)).",
            ),
        ] = 2,
        json_file: Annotated[Path | None, typer.Option("--json", help="Write the figures to this file.")] = None,
        csv_file: Annotated[Path | None, typer.Option("--csv", help="Write the figures to this file, one a line.")] = None,
        markdown_file: Annotated[Path | None, typer.Option("--markdown", help="Write the tables to this file.")] = None,
    ) -> None:
        """Measure an agent fairly: every deal is played with the agent in every seat, and every figure has its 95 % interval.

        The deals of an evaluation are never among those of training. In cooperative games all agents play the same deals and their
        differences are paired.

        Example: deckhand evaluate flotsam_fight --agents low,random --players 4 --until-ci 0.01 -o rounds=1

        Another, slow: deckhand evaluate keltis --agents best,policy --deals 200 --workers 8
        """
        from ...agents import split_specs
        from ...envs.core import OptionError, get_game
        from ...envs.core.files import json_text, writing
        from ..evaluation import evaluate as run
        from ..progress import progress_bar

        chosen = get_game(game)
        subject, *others = split_specs(agents)
        options = parse_options(chosen, option)
        num_players = parse_players(chosen, players)
        paths = [path.resolve() for path in (json_file, csv_file, markdown_file) if path]
        if len({*paths}) < len(paths):
            raise OptionError("--json, --csv and --markdown must name different files")
        console = Console()
        with ExitStack() as files:
            # Opened first: a path that cannot be written is known before the work.
            json_out, csv_out, markdown_out = (
                files.enter_context(writing(path)) if path else None for path in (json_file, csv_file, markdown_file)
            )
            with progress_bar(console, "evaluating") as report:
                result = run(
                    chosen,
                    subject,
                    others,
                    num_players=num_players,
                    options=options,
                    deals=deals if deals is not None else DEALS if until_ci is None else MOST_DEALS,
                    seed=0 if seed is None else seed,
                    progress=report,
                    deal_set="dev" if deal_set is None and seed is None else deal_set,
                    seating=seating,
                    until_ci=until_ci,
                    workers=workers,
                )
            if json_out:
                json_out.write(json_text(result.to_json()))
            if csv_out:
                csv_out.write(result.to_csv())
            if markdown_out:
                markdown_out.write(result.to_markdown())
        for grid in result.grids():
            console.print(grid.to_rich())
        if result.stopping:
            verdict = "Narrow" if result.stopping.reached else "Not narrow"
            console.print(f"{verdict} enough after {result.deals:,} deals (looked {result.stopping.looks} times)")
        factors = ", ".join(f"{name.replace('_', ' ')} {factor:.2f}" for name, factor in result.variance_reduction.items())
        if factors:
            console.print(f"Games that unpaired play would need for the same interval, as a multiple (estimated): {factors}")
        console.print(f"{result.seconds:.1f} s, {result.decisions / result.seconds:,.0f} decisions/s")
