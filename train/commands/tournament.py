"""``deckhand tournament``."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from .common import Changes, open_run


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def tournament(
        config: Annotated[
            str | None,
            typer.Argument(
                help="A .yaml file, or the name of a shipped config: tournament_flotsam, tournament_keltis, tournament_boote.",
                show_default=False,
            ),
        ] = None,
        resume: Annotated[
            Path | None, typer.Option(help="Play what this run folder still lacks, with its config but for 'workers'; without CONFIG.")
        ] = None,
        set_: Changes = None,
        out: Annotated[Path | None, typer.Option(help="Folder in which the run folder is made (the config's 'runs').")] = None,
        seed: Annotated[int | None, typer.Option("--seed", "-s", help="The config's 'seed'.")] = None,
        deals: Annotated[int | None, typer.Option("--deals", "-d", help="The config's 'deals'.")] = None,
        workers: Annotated[int | None, typer.Option("--workers", "-w", help="The config's 'workers': processes that play.")] = None,
    ) -> None:
        """Let all agents play one another on the same deals in every seat; rate them; report the win matrix and the cycles in it.

        Finished parts are kept in the run folder: a killed tournament goes on where it was, with any number of workers.

        Example: deckhand tournament tournament_flotsam

        Another: deckhand tournament my.yaml --set options.rounds=3 --deals 1000 --workers 8

        After a crash: deckhand tournament --resume runs/tournament_flotsam-1
        """
        from rich.console import Console

        from ...envs.core import DeckhandError

        missing = [name for name in ("choix", "matplotlib", "safetensors", "filelock") if find_spec(name) is None]
        if missing:
            raise DeckhandError(f"tournaments need {', '.join(missing)}: pip install 'deckhand-rl[train]'")
        from ..progress import progress_bar
        from ..standings import standings
        from ..tournament import TournamentConfig, play_tournament

        changes = list(set_ or [])
        keys = {"runs": out, "seed": seed, "deals": deals, "workers": workers}
        changes += [f"{key}={value}" for key, value in keys.items() if value is not None]
        folder, chosen = open_run(TournamentConfig, config, changes, resume, "deckhand tournament tournament_flotsam", free=["workers"])
        console = Console()
        console.print(f"run folder: {folder.path}", soft_wrap=True, highlight=False)
        with progress_bar(console, "playing") as report:
            play_tournament(chosen, folder.path, report)
        result = standings(chosen, folder.path)
        result.write(folder.path)
        for grid in result.grids():
            console.print(grid.to_rich())
        files = ", ".join(f"{name}" for name in ("tournament.md", "tournament.json", "agents.csv", "matrix.csv", "matrix.png"))
        console.print(f"in {folder.path}: {files}", soft_wrap=True, highlight=False)
