"""``deckhand ladder``."""

from pathlib import Path
from typing import Annotated

import typer

from .common import Changes, require_training


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def ladder(
        config: Annotated[
            str,
            typer.Argument(
                help="A .yaml file, or the name of a shipped config: ladder_flotsam, ladder_keltis, ladder_pitt, ladder_boote.",
                show_default=False,
            ),
        ],
        out: Annotated[Path, typer.Option(help="Folder for the results; those that lie there already are not measured again.")] = Path(
            "ladders"
        ),
        set_: Changes = None,
    ) -> None:
        """Measure how the strength of search agents grows with their budget: a table, NAME.json and a curve NAME.png.

        Every rung is stored as soon as it is measured; the same command goes on after an interruption. One process at a time may use
        the folder.

        Example: deckhand ladder ladder_flotsam --out ladders

        Another, quicker: deckhand ladder ladder_flotsam --set deals=20 --set name=quick
        """
        from rich.console import Console

        from ..config import load_kind

        require_training()
        from ..ladder import Ladder, LadderConfig, ladder_grid
        from ..progress import progress_bar

        chosen = load_kind(LadderConfig, config, set_ or [])
        out.mkdir(parents=True, exist_ok=True)
        console = Console()
        found = Ladder(chosen, out)
        with progress_bar(console, "rungs") as bar:

            def report(done: int, total: int, text: str) -> None:
                bar(done, total, text)
                console.print(f"{done} of {total} rungs  {text}", highlight=False, soft_wrap=True)

            found.climb(report)
        console.print(ladder_grid(found.report()).to_rich())
        console.print(f"curve: {found.path.with_suffix('.png')}", soft_wrap=True, highlight=False)
