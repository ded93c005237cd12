"""``deckhand fit``."""

from pathlib import Path
from typing import Annotated

import typer

from .common import Changes, open_run, require_training


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def fit(
        config: Annotated[
            str | None,
            typer.Argument(
                help="A .yaml file, or the name of a shipped config: fit_flotsam_fight, fit_keltis, fit_piraten_pitt, "
                "fit_alle_in_die_boote.",
                show_default=False,
            ),
        ] = None,
        resume: Annotated[
            Path | None, typer.Option(help="Go on with this run folder, after its last finished generation; without CONFIG.")
        ] = None,
        set_: Changes = None,
        out: Annotated[Path | None, typer.Option(help="Folder in which the run folder is made (the config's 'runs').")] = None,
        seed: Annotated[int | None, typer.Option("--seed", "-s", help="The config's 'seed'.")] = None,
    ) -> None:
        """Fit the parameters of a rule agent by CMA-ES against stated opponents; compare the result with its start.

        The run folder's fitted.yaml is an agent: deckhand evaluate keltis --agents runs/fit_keltis-1/fitted.yaml,strong

        Example: deckhand fit fit_keltis

        Another: deckhand fit fit_keltis --set generations=5 --set 'opponents={greedy: 1}'

        After a crash: deckhand fit --resume runs/fit_keltis-1
        """
        from rich.console import Console

        require_training()
        from ..fit import Fit, FitConfig

        changes = list(set_ or [])
        changes += [f"{key}={value}" for key, value in (("runs", out), ("seed", seed)) if value is not None]
        folder, chosen = open_run(FitConfig, config, changes, resume, "deckhand fit fit_keltis", free=["workers"])
        console = Console()
        console.print(f"run folder: {folder.path}", soft_wrap=True, highlight=False)
        for evaluation in Fit(chosen, folder, console).run():
            for grid in evaluation.grids():
                console.print(grid.to_rich())
        console.print(f"fitted parameters: {folder.path / 'fitted.yaml'}", soft_wrap=True, highlight=False)
