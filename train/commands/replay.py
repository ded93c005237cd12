"""``deckhand replay``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ...envs.core import GameRecord, Position


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def replay(
        file: Annotated[Path, typer.Argument(help="File of records.", metavar="FILE", show_default=False)],
        given: Annotated[
            bool, typer.Option("--given", help="Take what chance did from the events: for records of another generator or a real table.")
        ] = False,
        draw: Annotated[bool, typer.Option("--draw", help="Print every position.")] = False,
        svg: Annotated[
            Path | None, typer.Option("--svg", help="Write every position as an SVG file into this folder.", metavar="DIR")
        ] = None,
        game: Annotated[int | None, typer.Option("--game", min=1, help="Only the K-th record of the file.", metavar="K")] = None,
    ) -> None:
        """Check that records were played by the rules, line by line, and draw them.

        Example: deckhand replay r.jsonl --game 1 --draw
        """
        from ...envs.core import OptionError, RecordError, load_records
        from ...envs.core import replay as replay_record
        from ...envs.core.files import write_text

        number = 0
        pictures: dict[str, Position] = {}
        try:
            for number, record in enumerate(load_records(file), 1):
                if game in (None, number):
                    positions = list(replay_record(record, "given" if given else "seed"))
                    print(_summary(number, record))
                    if draw:
                        _draw(record, positions)
                    if svg is not None:
                        pictures |= {f"{record.game.name}_{number}_{k:04}.svg": position for k, position in enumerate(positions)}
        except RecordError as error:
            raise RecordError(f"{file}: {error}") from None
        if number == 0:
            raise RecordError(f"{file}: line 1: the file holds no record")
        if game is not None and game > number:
            raise OptionError(f"--game cannot be {game}: {file} holds {number} records")
        if svg is not None:
            svg.mkdir(parents=True, exist_ok=True)
            for name, position in pictures.items():
                write_text(svg / name, position.game.paint(position.record).svg())


def _summary(number: int, record: "GameRecord") -> str:
    scores = " ".join(map(str, record.last.data["scores"]))
    winners = " ".join(map(str, record.last.data["winners"])) or "none"
    truncated = ", truncated" if record.last.data["truncated"] else ""
    return (
        f"record {number} (line {record.header.number}): {record.game.name}, {record.num_players} players, seed {record.seed}, "
        f"{len(record.decisions)} decisions, scores {scores}, winners {winners}{truncated}"
    )


def _draw(record: "GameRecord", positions: list["Position"]) -> None:
    """Every position, and between them what was decided and what followed."""
    from ...envs.core.ansi import for_stdout

    drawings = (for_stdout(position.ansi()) for position in positions)
    for line in record.body:
        if "event" in line.data:
            print(line.text)
        else:
            print(f"\n{next(drawings)}\n\nplayer {line.data['player']}: {line.data['action']}")
    print(f"\n{next(drawings)}\n\n{record.last.text}")
