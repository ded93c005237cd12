"""``deckhand list``."""

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command(name="list")
    def list_games() -> None:
        """List the games.

        Example: deckhand list
        """
        from rich.console import Console
        from rich.table import Table

        from ...agents import agent_names
        from ...envs.core import game_names, get_game

        table = Table("game", "id", "players", "actions", "observation", "agents")
        for name in game_names():
            game = get_game(name)
            kind = " (together)" if game.cooperative else ""
            players = f"{game.min_players}-{game.max_players}{kind}"
            table.add_row(name, game.id, players, str(game.num_actions), str(game.layout.size), ", ".join(agent_names(game)))
        Console().print(table)
