"""``deckhand simulate``."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .common import SEATED, GameName, OptionItems, Players, Seed, parse_options, parse_players


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def simulate(
        game: GameName,
        players: Players = None,
        agents: Annotated[str | None, SEATED] = None,
        games: Annotated[
            int, typer.Option("--games", "-g", help="Number of games; game k (from 0) has the seed derive_seed(SEED, k).")
        ] = 3000,
        seed: Seed = 0,
        option: OptionItems = None,
        level: Annotated[str | None, typer.Option(help="Short for -o level=LEVEL, in games that have levels.")] = None,
        json_file: Annotated[Path | None, typer.Option("--json", help="Write the figures to this file.")] = None,
    ) -> None:
        """Play many games with fixed seats and show what happens: scores with standard errors and quantiles, wins with 95 % intervals.

        Without --agents the game's baseline plays all seats. To compare agents use 'deckhand evaluate': it takes the luck of seat and deal
        out.

        Example: deckhand simulate alle_in_die_boote --level normal --games 3000
        """
        from ...agents import default_agent, make_agent, split_specs
        from ...envs.core import get_game
        from ...envs.core.files import json_text, writing
        from ..progress import progress_bar
        from ..simulation import simulate as run

        chosen = get_game(game)
        items = [*(option or []), *([f"level={level}"] if level is not None else [])]
        seated = [make_agent(chosen, spec) for spec in split_specs(default_agent(chosen) if agents is None else agents)]
        options = parse_options(chosen, items)
        num_players = parse_players(chosen, players)
        console = Console()
        with ExitStack() as files:
            # Opened first: a path that cannot be written is known before the work.
            json_out = files.enter_context(writing(json_file)) if json_file else None
            with progress_bar(console, "simulating") as report:
                result = run(chosen, seated, num_players=num_players, options=options, games=games, seed=seed, progress=report)
            if json_out:
                json_out.write(json_text(result.to_json()))
        for grid in result.grids():
            console.print(grid.to_rich())
        decisions = int(result.outcomes.decisions.sum())
        console.print(f"{result.seconds:.1f} s, {decisions / result.seconds:,.0f} decisions/s")
