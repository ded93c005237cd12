"""``deckhand bench``."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def bench(
        games: Annotated[list[str] | None, typer.Argument(help="Games to measure; all if none is named.")] = None,
        seconds: Annotated[float, typer.Option(help="Seconds a measurement, from 0.05 to 3600.")] = 1.0,
        repeats: Annotated[int, typer.Option(min=1, help="Times that every measurement is taken; the median counts.")] = 3,
        ppo: Annotated[bool, typer.Option(help="Measure training steps as well (needs the [train] extra).")] = True,
        json_file: Annotated[Path | None, typer.Option("--json", help="Write the figures to this file.")] = None,
    ) -> None:
        """Measure decisions per second, with ratios to other libraries measured in the same run.

        'batch' plays random actions, 'evaluation' the game's baseline agent against itself; its ratio is to the batch.

        The peers are measured when they are installed: pip install 'deckhand-rl[bench]'.

        Example: deckhand bench flotsam_fight --seconds 2 --json bench.json
        """
        from ...envs.core import OptionError, game_names, get_game
        from ...envs.core.files import json_text, writing
        from .. import bench as measuring
        from ..progress import progress_bar
        from ..statistics import number_text

        if not 0.05 <= seconds <= 3600:
            raise OptionError(f"seconds cannot be {seconds}: it must be from 0.05 to 3600")
        chosen = [get_game(name) for name in games or game_names()]
        console = Console()
        with ExitStack() as files:
            # Opened first: a path that cannot be written is known before the work.
            json_out = files.enter_context(writing(json_file)) if json_file else None
            with progress_bar(console, "measuring") as progress:
                report = measuring.run(chosen, seconds=seconds, repeats=repeats, with_ppo=ppo, progress=progress)
            if json_out:
                json_out.write(json_text(report))
        table = Table(title=f"decisions per second, median of {repeats} x {seconds:g} s")
        for column in ("", "per second", "ratios in this run"):
            table.add_column(column, justify="right" if column == "per second" else "left")
        for row in report["results"]:
            ratios = "   ".join(f"{number_text(ratio)} x {peer}" for peer, ratio in row["ratios"].items())
            if row["name"].endswith("/clone"):
                ratios = f"{1e6 / row['per_second']:.1f} µs a copy"
            table.add_row(row["name"], f"{row['per_second']:,.0f}", ratios)
        table.add_section()
        for name, rate in report["peers"].items():
            table.add_row(name, f"{rate:,.0f}", "peer")
        console.print(table)
        console.print(f"import deckhand.envs: {report['import_seconds']:.2f} s")
