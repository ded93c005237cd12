"""``deckhand describe``."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common import GameName

if TYPE_CHECKING:
    from ...envs.core import Game


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def describe(game: GameName, as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False) -> None:
        """Describe a game: spaces, observation slices, actions, options, phases, agents.

        Example: deckhand describe flotsam_fight
        """
        from ...envs.core import get_game

        facts = describe_game(get_game(game))
        if as_json:
            print(json.dumps(facts, indent=2))
        else:
            _print(facts)


def describe_game(game: "Game") -> dict[str, Any]:
    """What ``deckhand describe --json`` prints."""
    from ...agents import named_agents

    slices = game.layout.slices
    return {
        "name": game.name,
        "id": game.id,
        "title": game.title,
        "players": [game.min_players, game.max_players],
        "cooperative": game.cooperative,
        "phases": list(game.phases),
        "agents": named_agents(game),
        "actions": {
            "space": f"Discrete({game.num_actions})",
            "size": game.num_actions,
            "table": [{"first": first, "last": last, "meaning": meaning} for first, last, meaning in game.action_table],
        },
        "observation": {
            "space": f"Box(({game.layout.size},), float32)",
            "size": game.layout.size,
            "pieces": [
                {
                    "name": p.name,
                    "start": slices[p.name].start,
                    "stop": slices[p.name].stop,
                    "shape": list(p.shape),
                    "low": p.low,
                    "high": p.high,
                    "text": p.text,
                }
                for p in game.layout.pieces
            ],
        },
        "options": [
            {
                "name": name,
                "default": schema.get("default"),
                "allowed": _allowed(schema),
                "text": schema.get("description", ""),
            }
            for name, schema in game.options.model_json_schema()["properties"].items()
        ],
    }


def _allowed(schema: dict[str, Any]) -> str:
    """The values of an option in words."""
    if "enum" in schema:
        return ", ".join(json.dumps(value) for value in schema["enum"])
    if "minimum" in schema and "maximum" in schema:
        return f"{schema['type']} {schema['minimum']} to {schema['maximum']}"
    if schema.get("type") == "boolean":
        return "true, false"
    return str(schema.get("type", "any"))


def _print(facts: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    low, high = facts["players"]
    players = f"{low}-{high} players" if low < high else f"{low} player{'s' * (low > 1)}"
    console.print(f"[bold]{facts['title']}[/bold]  {facts['id']}  ({facts['name']})")
    console.print(f"{players}{', together' if facts['cooperative'] else ''}   agents: {', '.join(facts['agents'])}")
    console.print(f"phases: {', '.join(facts['phases'])}")

    table = Table("option", "default", "allowed", "meaning", title="Options", title_justify="left")
    for option in facts["options"]:
        table.add_row(option["name"], escape(json.dumps(option["default"])), escape(option["allowed"]), escape(option["text"]))
    console.print(table)

    table = Table(
        "slice", "piece", "shape", "range", "meaning", title=f"Observation: {facts['observation']['space']}", title_justify="left"
    )
    for p in facts["observation"]["pieces"]:
        shape = " x ".join(map(str, p["shape"]))
        table.add_row(f"{p['start']}:{p['stop']}", p["name"], shape, f"{p['low']:g} .. {p['high']:g}", escape(p["text"]))
    console.print(table)

    table = Table("ids", "meaning", title=f"Actions: {facts['actions']['space']}", title_justify="left")
    for row in facts["actions"]["table"]:
        ids = str(row["first"]) if row["first"] == row["last"] else f"{row['first']} .. {row['last']}"
        table.add_row(ids, escape(row["meaning"]))
    console.print(table)
