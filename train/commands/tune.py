"""``deckhand tune``."""

from pathlib import Path
from typing import Annotated

import typer

from .common import Changes, open_run, require_training


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def tune(
        config: Annotated[
            str | None,
            typer.Argument(help="A .yaml file, or the name of a shipped config: tune_flotsam, tune_keltis.", show_default=False),
        ] = None,
        resume: Annotated[
            Path | None, typer.Option(help="Go on with this study's folder, from the last checkpoint of its last trial; without CONFIG.")
        ] = None,
        set_: Changes = None,
        out: Annotated[Path | None, typer.Option(help="Folder in which the study's folder is made (the config's 'runs').")] = None,
        seed: Annotated[int | None, typer.Option("--seed", "-s", help="The config's 'seed'.")] = None,
        trials: Annotated[
            int | None, typer.Option(help="The config's 'trials': how many there are in all. With --resume, more of them or fewer.")
        ] = None,
    ) -> None:
        """Tune keys of a training config: an optuna study whose trials are training runs; those that trail end early.

        The folder's best.yaml is a training config: deckhand train runs/tune_flotsam-1/best.yaml

        Example: deckhand tune tune_flotsam

        Another: deckhand tune tune_flotsam --trials 20 --set 'space={ppo.gamma: {choices: [0.97, 0.99, 1.0]}}'

        After a crash: deckhand tune --resume runs/tune_flotsam-1

        More trials: deckhand tune --resume runs/tune_flotsam-1 --trials 40
        """
        from rich.console import Console

        require_training()
        from ..tune import Tune, TuneConfig

        changes = list(set_ or [])
        changes += [f"{key}={value}" for key, value in (("runs", out), ("seed", seed), ("trials", trials)) if value is not None]
        folder, chosen = open_run(TuneConfig, config, changes, resume, "deckhand tune tune_flotsam", free=["trials"])
        console = Console()
        console.print(f"run folder: {folder.path}", soft_wrap=True, highlight=False)
        console.print(Tune(chosen, folder, console).run().to_rich())
        for name, what in (("best.yaml", "best configuration"), ("curve.png", "picture")):
            console.print(f"{what}: {folder.path / name}", soft_wrap=True, highlight=False)
