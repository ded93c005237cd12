"""Piraten-Pitt at the table: options, action strings, events, statistics, text and drawing."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from ..core.ansi import style
from ..core.canvas import Canvas
from ..core.game import Game, Record
from ..core.options import Options
from . import observation, rules
from .board import NODE_SCALE, load_board
from .rules import (
    ARROW,
    ARROW_1,
    DECLINE,
    MAX_NODES,
    MOVE,
    NAME_LENGTH,
    PIRATE,
    PLACE,
    SHOW,
    SIDE_0,
    START,
    STOW,
    STOWED,
    TURN,
    TURN_1,
    TURNED,
)

WINDOWS = ("since_last_decision", "last", "current", "none")
FACES: tuple[int | str, ...] = (1, 2, 3, 4, "P")
AXES = ("left-right", "far-near")
COLOURS = ("#d6342c", "#2c6fbb", "#3a9d4e", "#e0a800")
INKS = ("red", "blue", "green", "yellow")
VERBS = {MOVE: "move", PIRATE: "pirate", PLACE: "place"}
CORNERS = ((0, 1), (0, 0), (1, 0), (1, 1))  # of seats 0 .. 3: left or right, top or bottom


class PiratenPittOptions(Options):
    """Rule options of Piraten-Pitt."""

    board: str = Field("proposal-a", description="name of a board, or the path of a board file that ends with .json")
    turn_options: tuple[Literal[1, 2, 3], ...] = Field(
        (1, 2, 3), min_length=1, description="net clockwise quarter turns that a chest may be turned by, ascending (30)"
    )
    turn_visibility: Literal["open", "blind"] = Field("open", description="'blind': the owner does not see how the chest is turned (40)")
    memory: Literal["events", "features"] = Field(
        "events", description="'features': the observation also shows what perfect memory would know of every chest"
    )
    event_window: Literal["since_last_decision", "last", "current", "none"] = Field(
        "since_last_decision",
        description="events of the chests that the observation shows: those 'since_last_decision' of the seat; 'last': the last 8 of every "
        "chest, across decisions; 'current': only the one that a show or a placement answers; 'none'",
    )
    attention: float = Field(
        1.0, ge=0, le=1, description="probability with which a seat is told of each turn and stowing of others, drawn for every seat"
    )
    stow_visibility: Literal["all", "owner"] = Field("all", description="who sees the side and the count when a gem is stowed (19)")
    collect_on_stay: bool = Field(True, description="whether a gem may be taken after staying on its hideout (21)")
    allow_decline: bool = Field(True, description="whether a gem may be left on its hideout (19)")
    pirate_may_reverse: bool = Field(False, description="whether the pirate may visit a field twice in one move (27)")
    skip_empty_chest: bool = Field(True, description="whether a met chest without gems is passed over (36)")
    arrow_variant: bool = Field(False, description="whether ending a move on an arrow field lets turn another player's chest (38)")
    random_start: bool = Field(False, description="whether the first player is drawn; otherwise seat 0 (8)")
    max_turns: int = Field(1000, ge=1, le=30000, description="turns after which the game is truncated")
    reward: Literal["win", "progress"] = Field(
        "win",
        description="'win': +1 to the winner, -1/(n-1) to the others, at the end; 'progress', for training: adds the change of 0.02 x "
        "(mean of the others' steps home - own) at every decision; steps home: the shortest tour over the own gems on hideouts to the bay",
    )
    dense: bool = Field(
        False, description="add the change of 0.1 x (own secured gems - mean of the others' secured gems) at every decision"
    )

    @field_validator("board")
    @classmethod
    def _board_exists(cls, board: str) -> str:
        load_board(board)
        return board

    @field_validator("turn_options", mode="before")
    @classmethod
    def _list_is_tuple(cls, turns: Any) -> Any:
        return tuple(turns) if isinstance(turns, list) else turns

    @field_validator("turn_options")
    @classmethod
    def _turns_ascend(cls, turns: tuple[int, ...]) -> tuple[int, ...]:
        if list(turns) != sorted(set(turns)):
            raise ValueError("the turns must ascend, each once")
        return turns


class PiratenPitt(Game):
    """Piraten-Pitt (Wolfgang Kramer, HABA 2000), 2-4 players."""

    name = "piraten_pitt"
    id = "PiratenPitt-v0"
    title = "Piraten-Pitt"
    min_players = 2
    max_players = rules.MAX_PLAYERS
    options = PiratenPittOptions
    phases = ("move", "stow", "arrow", "pirate", "turn", "show", "place")
    dtype = rules.DTYPE
    num_actions = rules.NUM_ACTIONS
    action_table = (
        (0, MAX_NODES - 1, "node of the board, in the order of its file: move the sailor, move the pirate, or place a gem, by phase"),
        (SIDE_0, SIDE_0 + 1, "stow on, or show, side 0 (left or far) or side 1 (right or near)"),
        (DECLINE, DECLINE, "decline"),
        (TURN_1, TURN_1 + 2, "turn the met chest by 1, 2 or 3 quarters clockwise"),
        (ARROW_1, rules.NUM_ACTIONS - 1, "turn another player's chest: 3 seat offsets x 3 turns (arrow variant)"),
    )
    rules = rules
    observation = observation

    def configure(self, record: Record, options: PiratenPittOptions) -> None:
        load_board(options.board).write(record)
        for k in options.turn_options:
            record["turn_allowed"][k] = 1
        record["blind"] = options.turn_visibility == "blind"
        record["features"] = options.memory == "features"
        record["event_window"] = WINDOWS.index(options.event_window)
        record["attention"] = options.attention
        record["stow_visible"] = options.stow_visibility == "all"
        record["collect_on_stay"] = options.collect_on_stay
        record["allow_decline"] = options.allow_decline
        record["may_reverse"] = options.pirate_may_reverse
        record["skip_empty"] = options.skip_empty_chest
        record["arrow_variant"] = options.arrow_variant
        record["random_start"] = options.random_start
        record["max_turns"] = options.max_turns
        record["progress"] = options.reward == "progress"
        record["dense"] = options.dense

    def node_names(self, record: Record) -> list[str]:
        """Ids of the board's nodes, by number."""
        return list(_nodes(record["node_name"].tobytes()))

    def action_to_string(self, record: Record, action: int) -> str:
        phase = int(record["phase"])
        if action < MAX_NODES:
            verb = VERBS.get(phase)
            if verb is None or action >= record["nodes"]:
                raise ValueError(f"node {action} is no action of this phase")
            return f"{verb} {self.node_names(record)[action]}"
        if action == DECLINE:
            return "decline"
        if action < DECLINE:
            return f"{'show' if phase == SHOW else 'stow'} {action - SIDE_0}"
        if action < ARROW_1:
            return f"turn {1 + action - TURN_1}"
        offset, k = divmod(action - ARROW_1, 3)
        return f"arrow {(int(record['roller']) + 1 + offset) % int(record['players'])} {k + 1}"

    def string_to_action(self, record: Record, text: str) -> int:
        verb, _, name = text.partition(" ")
        if VERBS.get(int(record["phase"])) == verb:
            node = _nodes(record["node_name"].tobytes()).get(name)
            if node is not None:
                return node
        else:
            for action in range(SIDE_0, rules.NUM_ACTIONS):
                if self.action_to_string(record, action) == text:
                    return action
        raise ValueError(f"{text!r} is no action")

    def events(self, record: Record) -> list[dict[str, Any]]:
        values = iter([int(v) for v in record["log"][: record["log_size"]]])
        found: list[dict[str, Any]] = []
        for code in values:
            if code == START:
                found.append({"event": "start", "starter": next(values)})
            else:
                found.append({"event": "roll", "player": next(values), "face": FACES[next(values) - 1]})
        return found

    def chance(self, num_players: int, options: PiratenPittOptions, events: Sequence[Mapping[str, Any]]) -> Iterator[int | Sequence[int]]:
        for event in events:
            if event["event"] == "roll":
                yield FACES.index(event["face"])
            elif options.random_start:
                yield event["starter"]

    def told(self, record: Record, action: int, seat: int) -> str:
        text = self.action_to_string(record, action)
        phase, actor = int(record["phase"]), int(record["to_move"])
        if action == DECLINE or phase not in (STOW, ARROW, TURN):
            return text
        owner = {STOW: actor, TURN: int(record["met"])}.get(phase, (actor + 1 + (action - ARROW_1) // 3) % int(record["players"]))
        # The same draw that the decision will make.
        copy = self.allocate(1)
        copy[0] = record
        audience = rules.draw_audience(copy[0], STOWED if phase == STOW else TURNED, actor, owner)
        return text if audience >> seat & 1 else f"{text[:-1]}?"

    def statistics(self, records: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Turns of the game; by seat, as owner of the chest: meetings while it was loaded, robberies, gems lost, and show accuracy.

        Show accuracy (7.4) is the rate of shows of the empty compartment among the shows of a chest with an empty and a loaded one: of all,
        and of those after the chest had been turned once, twice, and more often since the owner saw the gems.
        """
        n = int(records["players"][0])
        found = {"turns": records["turn_no"]}
        for name in ("meetings", "robberies", "gems_lost"):
            found[name] = records[name][:, :n]
        shows = np.stack([records["right_shows"][:, :n], records["shows"][:, :n]], axis=2)  # (games, seats, right or all, ages)
        found["show_accuracy"] = shows.sum(axis=3)
        for age, name in enumerate(("turned_once", "turned_twice", "turned_more")):
            found[f"show_accuracy_{name}"] = shows[..., age]
        return found

    def describe(self, record: Record) -> str:
        n = int(record["players"])
        names = self.node_names(record)
        roller = int(record["roller"])
        rolled = f"turn {record['turn_no']}, player {roller} rolled {FACES[record['die'] - 1]}"
        pirate = f"pirate on {names[record['pirate']]}"
        lines = [f"Piraten-Pitt, {rolled}, {style(pirate, 'bold')}"]
        for h, node in enumerate(record["hideout"]):
            owners = [style(str(seat), INKS[seat]) for seat in range(n) if record["gem"][seat, h]]
            lines.append(f"  {names[node]}: {'gems of ' + ' '.join(owners) if owners else 'no gems'}")
        for seat in range(n):
            line = style(f"player {seat}", INKS[seat]) + ":"
            lines.append(
                (style(f"> {line}", "bold") if record["to_move"] == seat else f"  {line}")
                + f" sailor on {names[record['position'][seat]]}, secured {record['score'][seat]}, "
                f"chest {record['loaded'][seat]} ({AXES[record['orientation'][seat] & 1]})"
            )
        if record["met"] >= 0:
            pending = f", {record['to_place']} gems to place" if record["to_place"] else ""
            lines.append(f"  the chest of player {record['met']} is met{pending}")
        return "\n".join(lines)

    def paint(self, record: Record) -> Canvas:
        n = int(record["players"])
        canvas = Canvas(760, 640, background="#7ec3d8")
        names = self.node_names(record)
        points = [(380 + 240 * (x / NODE_SCALE), 322 - 240 * (y / NODE_SCALE)) for x, y in record["node_xy"].tolist()]
        canvas.circle(380, 322, 262, fill="#f3dfae", stroke="#c9a95f", width=3)
        for node, (degree, beside) in enumerate(zip(record["degree"].tolist(), record["neighbour"].tolist(), strict=True)):
            for other in beside[:degree]:
                if other > node:
                    (x1, y1), (x2, y2) = points[node], points[other]
                    canvas.line(x1, y1, x2, y2, stroke="#a98545", width=4)
        start = int(record["pirate_start"])
        for node, (name, kind) in enumerate(zip(names, record["node_kind"].tolist(), strict=False)):
            _node(canvas, *points[node], name, kind, start=node == start)
        for h, node in enumerate(record["hideout"].tolist()):
            x, y = points[node]
            out = 1 if x > 384 else -1
            for seat in range(n):
                if record["gem"][seat, h]:
                    gx, gy = x + out * (30 + 15 * (seat % 2)), y - 8 + 16 * (seat // 2)
                    canvas.polygon([(gx, gy - 7), (gx + 6, gy), (gx, gy + 7), (gx - 6, gy)], fill=COLOURS[seat], stroke="#ffffff")
        for seat in range(n):
            x, y = points[record["position"][seat]]
            x, y = x + (-8, -8, 8, 8)[seat], y + (8, -8, -8, 8)[seat]
            canvas.circle(x, y, 9, fill=COLOURS[seat], stroke="#ffffff", width=2)
            canvas.text(x, y, str(seat), 11, "#ffffff", bold=True)
        x, y = points[record["pirate"]]
        canvas.polygon([(x, y - 15), (x + 13, y + 10), (x - 13, y + 10)], fill="#1d1d1d", stroke="#ffffff", width=2)
        canvas.text(x, y + 2, "P", 13, "#ffffff", bold=True)
        for seat in range(n):
            _chest(canvas, record, seat)
        roller = int(record["roller"])
        canvas.text(380, 16, f"turn {record['turn_no']}: player {roller} rolled {FACES[record['die'] - 1]}", 15, "#0b3954", bold=True)
        return canvas


@lru_cache(maxsize=64)
def _nodes(names: bytes) -> dict[str, int]:
    """The nodes of a board by their ids, in order; ``names`` are the bytes of a record's ``node_name``."""
    padded = (names[at : at + NAME_LENGTH].rstrip(b"\0").decode("ascii") for at in range(0, len(names), NAME_LENGTH))
    return {name: node for node, name in enumerate(padded) if name}


def _node(canvas: Canvas, x: float, y: float, name: str, kind: int, start: bool) -> None:
    if kind == rules.BAY:
        canvas.rect(x - 46, y - 17, 92, 34, fill="#2f86a6", stroke="#ffffff", width=2, radius=14)
        canvas.text(x, y + 27, name, 11, "#0b3954")
    elif kind >= rules.HIDEOUT:
        canvas.circle(x, y, 18, fill="#6d4c41", stroke="#3e2723", width=2)
        canvas.text(x, y - 26, name, 11, "#3e2723", bold=True)
    else:
        canvas.circle(x, y, 15, fill="#fff6da", stroke="#1d1d1d" if start else "#a98545", width=3 if start else 1.5)
        if kind == rules.ARROW_FIELD:
            canvas.polygon(
                [(x - 8, y - 5), (x + 2, y - 5), (x + 2, y - 9), (x + 10, y), (x + 2, y + 9), (x + 2, y + 5), (x - 8, y + 5)],
                fill="#9ccc65",
            )
        canvas.text(x, y, name, 10, "#7a6a2f")


def _chest(canvas: Canvas, record: Record, seat: int) -> None:
    """The closed chest of a seat on its corner, its line along the visible axis; its gems and those secured as numbers."""
    right, bottom = CORNERS[seat]
    x, y = 14 + right * 594, 14 + bottom * 528
    canvas.rect(x, y, 138, 84, fill="#e8f4f8", stroke=COLOURS[seat], width=4 if record["to_move"] == seat else 2, radius=8)
    met = record["met"] == seat
    far_near = int(record["orientation"][seat]) & 1
    w, h = (34, 58) if far_near else (58, 34)
    cx, cy = x + 40, y + 42
    canvas.rect(cx - w / 2, cy - h / 2, w, h, fill="#8d5524", stroke="#d6342c" if met else "#3e2723", width=4 if met else 2, radius=4)
    if far_near:
        canvas.line(cx - w / 2, cy, cx + w / 2, cy, stroke="#f3dfae", width=2)
    else:
        canvas.line(cx, cy - h / 2, cx, cy + h / 2, stroke="#f3dfae", width=2)
    canvas.text(x + 76, y + 16, f"player {seat}", 12, COLOURS[seat], "start", bold=True)
    canvas.text(x + 76, y + 36, f"chest {record['loaded'][seat]}", 12, "#3e2723", "start")
    canvas.text(x + 76, y + 52, f"safe {record['score'][seat]}", 12, "#3e2723", "start")
    if met and record["to_place"]:
        canvas.text(x + 76, y + 68, f"taken {record['to_place']}", 12, "#d6342c", "start")
