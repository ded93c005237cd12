"""``deckhand list``."""

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command(name="list")
    def list_games() -> None:
        """List the games.

        Example: deckhand list
        """
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Column, Table

        from ...agents import named_agents
        from ...envs.core import game_names, get_game

        names = [Column(title, no_wrap=True) for title in ("game", "id", "players")]
        table = Table(*names, "agents", box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
        for name in game_names():
            game = get_game(name)
            players = f"{game.min_players}-{game.max_players}"
            table.add_row(name, game.id, players, ", ".join(named_agents(game)))
        Console().print(table)
