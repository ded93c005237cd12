"""``deckhand td``."""

from pathlib import Path
from typing import Annotated

import typer

from .common import Changes, open_run, require_training


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def td(
        config: Annotated[
            str | None, typer.Argument(help="A .yaml file, or the name of a shipped config: td_boote.", show_default=False)
        ] = None,
        resume: Annotated[
            Path | None, typer.Option(help="Go on with this run folder, after its last finished round; without CONFIG.")
        ] = None,
        set_: Changes = None,
        out: Annotated[Path | None, typer.Option(help="Folder in which the run folder is made (the config's 'runs').")] = None,
        seed: Annotated[int | None, typer.Option("--seed", "-s", help="The config's 'seed'.")] = None,
    ) -> None:
        """Learn what positions are worth, by TD(lambda) from self-play; for games that are played together.

        The run folder is an agent: deckhand evaluate alle_in_die_boote --agents runs/td_boote-1,fitted -o reward=rescued

        Its estimates end the rollouts of a search early: deckhand evaluate alle_in_die_boote --agents "flat(64,runs/td_boote-1,horizon=12)"

        Example: deckhand td td_boote

        Another, three minutes long: deckhand td td_boote --set games=200000

        After a crash: deckhand td --resume runs/td_boote-1
        """
        from rich.console import Console

        require_training()
        from ..td import TDConfig, TDTrainer

        changes = list(set_ or [])
        changes += [f"{key}={value}" for key, value in (("runs", out), ("seed", seed)) if value is not None]
        folder, chosen = open_run(TDConfig, config, changes, resume, "deckhand td td_boote")
        console = Console()
        console.print(f"run folder: {folder.path}", soft_wrap=True, highlight=False)
        for evaluation in TDTrainer(chosen, folder, console).run(resume=resume is not None):
            for grid in evaluation.grids():
                console.print(grid.to_rich())
        console.print(f"value network: {folder.path / 'values.safetensors'}", soft_wrap=True, highlight=False)
