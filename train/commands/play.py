"""``deckhand play``."""

import secrets
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from .common import GameName, OptionItems, Players, parse_options, parse_players

if TYPE_CHECKING:
    from ...agents import Agent, Turns
    from ...envs.core import Game, Position

HELP = "Enter the number of an action or the action itself; ? shows this help, the actions' meaning and the position again; q quits."


class _QuitError(Exception):
    """The person does not want to play on."""


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def play(
        game: GameName,
        players: Players = None,
        seat: Annotated[int, typer.Option(min=0, help="Your seat, counted from 0.")] = 0,
        agents: Annotated[
            str | None,
            typer.Option("--agents", "-a", help="Who plays the other seats, separated by commas: one agent for all, or one a seat."),
        ] = None,
        seed: Annotated[int | None, typer.Option("--seed", "-s", help="Seed, from 0 to 2^53 - 1; drawn if not given.")] = None,
        option: OptionItems = None,
    ) -> None:
        """Play against agents in the terminal. You are shown only what your seat knows.

        Example: deckhand play flotsam_fight --players 3 --agents low,random
        """
        from ...agents import HumanAgent, default_agent
        from ...envs.core import OptionError, Position, get_game
        from ...envs.core.rng import derive_seed

        chosen = get_game(game)
        count = parse_players(chosen, players)
        if seat >= count:
            raise OptionError(f"{chosen.name}: seat cannot be {seat}; allowed are 0 to {count - 1}")
        if agents is not None and count == 1:
            raise OptionError(f"{chosen.name}: agents cannot be {agents!r}: there are no other seats")
        others = _others(chosen, default_agent(chosen) if agents is None else agents, count - 1)
        start = secrets.randbelow(2**53) if seed is None else seed
        position = Position.new(chosen, count, parse_options(chosen, option), start)
        seated = [*others[:seat], HumanAgent(_ask), *others[seat:]]
        for i, agent in enumerate(seated):
            agent.reset(derive_seed(start, i))
        table = ", ".join(f"player {i}: {'you' if i == seat else agent.name}" for i, agent in enumerate(seated))
        print(f"{chosen.title}, seed {start}; {table}\n{HELP}")
        try:
            _play(position, seated, seat)
        except _QuitError:
            print("You left the game.")


def _others(game: "Game", specs: str, count: int) -> list["Agent"]:
    """The agents of the other seats; the commas inside an agent's parameters do not separate."""
    from ...agents import make_agent, split_specs
    from ...envs.core import OptionError

    names = split_specs(specs)
    if len(names) == 1:
        names *= count
    if len(names) != count:
        raise OptionError(f"{game.name}: {len(names)} agents do not fit {count} other seats")
    return [make_agent(game, name) for name in names]


def _play(position: "Position", agents: list["Agent"], seat: int) -> None:
    import numpy as np

    from ...agents import show_turns
    from ...envs.core.ansi import for_stdout

    game = position.game
    while not position.is_over:
        mover = position.to_move
        action = int(agents[mover].act(show_turns(game, position.states, np.zeros(1, np.int64), agents[mover]))[0])
        if mover != seat:
            print(f"player {mover}: {game.told(position.record, action, seat)}")
        position.apply(action)
    outcome = position.outcome()
    winners = " ".join(map(str, outcome["winners"])) or "none"
    print(f"\n{for_stdout(position.view(seat).ansi())}\n\nscores {' '.join(map(str, outcome['scores']))}, winners {winners}")


def _ask(turns: "Turns") -> int:
    """The action that the person chooses."""
    from ...envs.core import IllegalAction, Position

    view = Position(turns.game, turns.views)
    ids = [int(a) for a in turns.masks[0].nonzero()[0]]
    _show(view, ids)
    while True:
        print("> ", end="", flush=True)
        line = sys.stdin.readline()
        answer = line.strip()
        if not line or answer == "q":
            print()
            raise _QuitError
        if answer == "?":
            print(HELP)
            for first, last, meaning in turns.game.action_table:
                print(f"  {first}-{last}: {meaning}" if first < last else f"  {first}: {meaning}")
            _show(view, ids)
        elif answer.isdecimal() and 1 <= int(answer) <= len(ids):
            return ids[int(answer) - 1]
        elif answer:
            try:
                return view.string_to_action(answer)
            except IllegalAction:
                print(f"{answer!r} is no legal action; enter a number from 1 to {len(ids)}, an action, ? or q")


def _show(view: "Position", ids: list[int]) -> None:
    """The position as the seat knows it, and its numbered actions in columns."""
    from rich.columns import Columns
    from rich.console import Console
    from rich.text import Text

    from ...envs.core.ansi import for_stdout

    print(f"\n{for_stdout(view.ansi())}\n")
    Console().print(Columns([Text(f"{k}: {view.action_to_string(a)}") for k, a in enumerate(ids, 1)], padding=(0, 3)))
