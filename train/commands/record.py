"""``deckhand record``."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common import SEATED, GameName, OptionItems, Players, Seed, parse_options, parse_players

if TYPE_CHECKING:
    from ...envs.core import Game


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def record(
        game: GameName,
        players: Players = None,
        games: Annotated[int, typer.Option("--games", "-g", min=1, help="Number of games; game k (from 0) has the seed SEED + k.")] = 1,
        seed: Seed = 0,
        agents: Annotated[str, SEATED] = "random",
        option: OptionItems = None,
        out: Annotated[Path | None, typer.Option(help="File to write; standard output if not given.")] = None,
    ) -> None:
        """Let agents play games and write their records (JSON Lines). The same command writes the same bytes on every machine.

        Example: deckhand record flotsam_fight --players 3 --games 200 --seed 1 --out r.jsonl
        """
        from ...agents import split_specs
        from ...envs.core import get_game
        from ...envs.core.files import writing

        chosen = get_game(game)
        lines = record_games(chosen, parse_players(chosen, players), parse_options(chosen, option), seed, games, split_specs(agents))
        if out is None:
            sys.stdout.writelines(lines)
            return
        with writing(out) as file:
            file.writelines(lines)
        print(f"{games} games written to {out}", file=sys.stderr)


def record_games(game: "Game", num_players: int, options: Mapping[str, Any], seed: int, games: int, specs: Sequence[str]) -> Iterator[str]:
    """The lines of ``games`` records. The agents of every game start from that game's seed, so a game is the same in every run."""
    import numpy as np

    from ...agents import make_agent, show_turns
    from ...envs.core import OptionError, Position, record_game
    from ...envs.core.options import check_seed
    from ...envs.core.rng import derive_seed

    if len(specs) not in (1, num_players):
        raise OptionError(f"{game.name}: {len(specs)} agents do not fit {num_players} seats; name one for all seats, or one a seat")
    check_seed(seed)
    check_seed(seed + games - 1)
    agents = [make_agent(game, spec) for spec in specs]
    row = np.zeros(1, np.int64)

    def choose(position: Position) -> int:
        agent = agents[position.to_move % len(agents)]
        return int(agent.act(show_turns(game, position.states, row, agent))[0])

    for k in range(games):
        for i, agent in enumerate(agents):
            agent.reset(derive_seed(seed + k, i))
        yield from record_game(game, num_players, options, seed + k, choose)
