"""``deckhand train``."""

from pathlib import Path
from typing import Annotated

import typer

from .common import Changes, open_run, require_training


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def train(
        config: Annotated[
            str | None,
            typer.Argument(help="A .yaml file, or the name of a shipped config: flotsam, boote, memory, smoke.", show_default=False),
        ] = None,
        resume: Annotated[
            Path | None, typer.Option(help="Go on from the last checkpoint of this run folder, with its config; without CONFIG.")
        ] = None,
        set_: Changes = None,
        out: Annotated[Path | None, typer.Option(help="Folder in which the run folder is made (the config's 'runs').")] = None,
        seed: Annotated[int | None, typer.Option("--seed", "-s", help="The config's 'seed'.")] = None,
        steps: Annotated[int | None, typer.Option(help="The config's 'budget.steps'.")] = None,
    ) -> None:
        """Train an agent with self-play PPO; evaluate it; leave everything in a run folder. Variants are trained in turn and compared.

        Example: deckhand train flotsam

        Another: deckhand train my.yaml --set ppo.learning_rate=1e-3 --set opponents.snapshots=null --seed 7

        After a crash: deckhand train --resume runs/flotsam-1
        """
        from rich.console import Console

        from ..config import TrainConfig

        require_training()
        changes = list(set_ or [])
        changes += [f"{key}={value}" for key, value in (("runs", out), ("seed", seed), ("budget.steps", steps)) if value is not None]
        folder, chosen = open_run(TrainConfig, config, changes, resume, "deckhand train flotsam")

        # Imported late: torch takes seconds to load, and a wrong config should be refused at once.
        from ..ppo import Trainer, summary
        from ..variants import train_variants

        console = Console()
        console.print(f"run folder: {folder.path}", soft_wrap=True, highlight=False)
        if chosen.variants:
            for grid in train_variants(chosen, folder, console):
                console.print(grid.to_rich())
            return
        console.print(summary(Trainer(chosen, folder, console).run(resume=resume is not None)).to_rich())
        console.print(f"all tables: {folder.path / 'evaluation.md'}", soft_wrap=True, highlight=False)
