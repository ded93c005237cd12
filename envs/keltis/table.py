"""Keltis at the table: options, action strings, events, text and drawing."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from ..core.ansi import style
from ..core.canvas import Canvas
from ..core.game import Game, Record, Symmetry
from ..core.options import Options
from . import observation, rules
from .rules import (
    COLOUR,
    COLOURS,
    DISCARD,
    DRAW_PILE,
    DRAW_STOCK,
    HAND,
    LAY,
    LAY_ON,
    PAIRS,
    PILES,
    POINTS,
    STONE,
    STONES,
    STOP,
    TYPES,
    VALUE,
)

REWARDS = ("margin", "win", "score")
LETTERS = "RYGBPN"
INKS = ("red", "yellow", "green", "blue", "magenta", "grey")
REASONS = ("rows", "stock")
CARD_NAMES = tuple(LETTERS[c] + ("E" if v == rules.END else str(v)) for c, v in zip(COLOUR, VALUE, strict=True))
ACTION_NAMES = (
    *(f"discard {name}" for name in CARD_NAMES),
    *(f"lay {name}" for name in CARD_NAMES),
    *(f"lay N{value} on {LETTERS[colour]}" for value in range(11) for colour in range(COLOURS)),
    *(f"stone {CARD_NAMES[i]} {CARD_NAMES[j]}" for i, j in rules.PAIRS_OF_CARDS),
    "draw stock",
    *(f"draw {letter}" for letter in LETTERS),
    "stop",
)
ACTION_OF = {name: i for i, name in enumerate(ACTION_NAMES)}
FILL = ("#c0392b", "#e0b000", "#2e8b57", "#2c6fbb", "#d6689e", "#8a8f94")


class KeltisOptions(Options):
    """Rule options of Keltis."""

    stone_with_point_card: bool = Field(True, description="whether a point card may be part of the pair that takes a wishing stone (K4 b)")
    max_turns: int = Field(
        200, ge=0, le=32000, description="after so many turns cards must be drawn from the stock while it lasts; 0: never (K10)"
    )
    reward: Literal["margin", "win", "score"] = Field(
        "margin",
        description="at the end: 'margin': own points minus the best other points; 'win': +1 to the winner, -1/(n-1) to the others; "
        "'score': own points",
    )
    dense: bool = Field(
        False, description="pay the reward step by step: after every decision what it would be if the game were scored now; not with 'win'"
    )

    @model_validator(mode="after")
    def _dense_needs_points(self) -> Self:
        if self.dense and self.reward == "win":
            raise ValueError("option 'dense' cannot be True with reward 'win'; it is allowed with 'margin' and 'score'")
        return self


class Keltis(Game):
    """Keltis – Das Kartenspiel (Reiner Knizia, KOSMOS 2009), 2-4 players."""

    name = "keltis"
    id = "Keltis-v0"
    title = "Keltis – Das Kartenspiel"
    min_players = 2
    max_players = rules.MAX_PLAYERS
    options = KeltisOptions
    phases = ("act", "draw", "final")
    dtype = rules.DTYPE
    num_actions = rules.NUM_ACTIONS
    action_table = (
        (DISCARD, LAY - 1, "discard a card: the 71 card types R0 .. R10 RE Y0 .. YE G0 .. GE B0 .. BE P0 .. PE N0 .. N10"),
        (LAY, LAY + 59, "lay a number or end card on the own row of its colour: the 60 coloured card types"),
        (LAY + 60, LAY_ON - 1, "lay a point card in the neutral row: N0 .. N10"),
        (LAY_ON, STONE - 1, "lay a point card on a colour row: 5 * value + colour (R Y G B P)"),
        (
            STONE,
            STONE + PAIRS - 1,
            "discard a pair and take the stone: by value 1 .. 9, then first, then second card type "
            "(15 pairs for 1 2 8 9, 20 for 3 .. 7 where a colour has two equal cards)",
        ),
        (DRAW_STOCK, DRAW_STOCK, "draw from the stock"),
        (DRAW_PILE, STOP - 1, "draw from a discard pile: R Y G B P N"),
        (STOP, STOP, "lay nothing more (final phase)"),
    )
    rules = rules
    observation = observation

    def configure(self, record: Record, options: KeltisOptions) -> None:
        record["stone_with_point_card"] = options.stone_with_point_card
        record["max_turns"] = options.max_turns
        record["reward_kind"] = REWARDS.index(options.reward)
        record["dense"] = options.dense

    def action_to_string(self, record: Record, action: int) -> str:
        return ACTION_NAMES[action]

    def string_to_action(self, record: Record, text: str) -> int:
        if text not in ACTION_OF:
            raise ValueError(f"{text!r} is no action")
        return ACTION_OF[text]

    def events(self, record: Record) -> list[dict[str, Any]]:
        values = iter([int(v) for v in record["log"][: record["log_size"]]])
        found: list[dict[str, Any]] = []
        for code in values:
            if code == rules.LOG_DEAL:
                players = int(record["players"])
                starter = next(values)
                hands = [[CARD_NAMES[next(values)] for _ in range(HAND)] for _ in range(players)]
                found.append({"event": "deal", "hands": hands, "starter": starter, "stock": int(record["stock"])})
            elif code == rules.LOG_DRAW:
                found.append({"event": "draw", "player": next(values), "card": CARD_NAMES[next(values)]})
            else:
                found.append({"event": "end", "reason": REASONS[next(values)], "player": next(values)})
        return found

    def chance(self, num_players: int, options: KeltisOptions, events: Sequence[Mapping[str, Any]]) -> Iterator[int | Sequence[int]]:
        start = events[0]
        shown = [name for hand in start["hands"] for name in hand] + [e["card"] for e in events if e["event"] == "draw"]
        cards = [CARD_NAMES.index(name) for name in shown]
        # With two players the end of the array leaves unseen: any cards that were never shown.
        unseen = list((Counter(rules.FULL_DECK.tolist()) - Counter(cards)).elements())
        yield start["starter"]
        yield (unseen[: rules.REMOVED] if num_players == 2 else []) + cards

    def _hand(self, record: Record, seat: int) -> list[int]:
        """Card types of a hand, -1 for a card that this view does not show."""
        return [int(c) for c in record["hand"][seat][: record["hand_size"][seat]]]

    def _row(self, record: Record, seat: int, row: int) -> list[int]:
        """Card types of a colour row, or of the neutral row (5), in the order in which they were laid."""
        n = int(record["laid_size"])
        return [int(c) for c, r in zip(record["laid"][:n], record["laid_row"][:n], strict=True) if r == PILES * seat + row]

    def _pile(self, record: Record, pile: int) -> list[int]:
        return [int(c) for c in record["pile"][pile][: record["pile_size"][pile]]]

    def _stones(self, record: Record, owner: int) -> list[int]:
        return [v + 1 for v in range(STONES) if record["stone_owner"][v] == owner]

    def symmetries(self) -> tuple[Symmetry, ...]:
        return tuple(observation.symmetry(colours) for colours in permutations(range(COLOURS)))

    def describe(self, record: Record) -> str:
        status = f"turn {int(record['turn']) + 1}, {self.phases[int(record['phase'])]}"
        if record["to_move"] < 0:
            status = f"over after {int(record['turn'])} turns"
        lines = [f"Keltis, {status}, stock {record['stock']}, rows with an end card {record['closed_rows']} of 5"]
        lines.append(f"  stones: {' '.join(map(str, self._stones(record, -1))) or '-'}")
        for pile in range(PILES):
            blocked = " (blocked)" if record["blocked"][pile] else ""
            lines.append(f"  pile {_letter(pile)}: {_names(self._pile(record, pile))}{blocked}")
        for seat in range(int(record["players"])):
            ender = ", ended play" if record["ender"] == seat else ""
            stones = " ".join(map(str, self._stones(record, seat))) or "-"
            line = f"player {seat} ({record['score'][seat]:+d} points{ender}): "
            lines.append((style(f"> {line}", "bold") if record["to_move"] == seat else f"  {line}") + _names(self._hand(record, seat)))
            rows = [f"{_letter(row)}: {_names(self._row(record, seat, row))}" for row in range(PILES)]
            lines.append(f"    {'  '.join(rows)}  stones: {stones}")
        return "\n".join(lines)

    def paint(self, record: Record) -> Canvas:
        players = int(record["players"])
        height = 196
        canvas = Canvas(980, 150 + height * players, background="#12352b")
        phase = "over" if record["to_move"] < 0 else self.phases[int(record["phase"])]
        canvas.text(16, 20, f"Keltis   turn {int(record['turn']) + 1}   {phase}", 16, "#ffffff", "start", bold=True)
        canvas.text(964, 20, f"stock {record['stock']}   rows with an end card {record['closed_rows']}/5", 14, "#cfe3d6", "end")
        for v in range(STONES):
            if record["stone_owner"][v] < 0:
                _stone(canvas, 34 + 38 * v, 62, v + 1)
        canvas.text(16, 98, "wishing stones", 11, "#cfe3d6", "start")
        for pile in range(PILES):
            x = 400 + 96 * pile
            cards = self._pile(record, pile)
            canvas.rect(x, 40, 40, 54, stroke=FILL[pile], width=2, radius=5)
            if cards:
                _card(canvas, x, 40, cards[-1], 40, 54)
            canvas.text(x + 48, 60, f"x{len(cards)}", 12, "#ffffff", "start")
            if record["blocked"][pile]:
                canvas.line(x - 3, 97, x + 43, 37, stroke="#ffffff", width=3)
        canvas.text(400, 106, "discard piles (struck through: blocked this turn)", 11, "#cfe3d6", "start")
        for seat in range(players):
            y = 128 + height * seat
            canvas.rect(8, y, 964, height - 8, fill="#1d5141" if record["to_move"] == seat else "#17443a", radius=8)
            canvas.text(18, y + 18, f"player {seat}", 14, "#ffffff", "start", bold=True)
            canvas.text(18, y + 38, f"{record['score'][seat]:+d} points", 13, "#cfe3d6", "start")
            if record["ender"] == seat:
                canvas.text(18, y + 56, "ended play", 11, "#cfe3d6", "start")
            for k, card in enumerate(self._hand(record, seat)):
                _card(canvas, 120 + 38 * k, y + 8, card, 34, 46)
            for k, value in enumerate(self._stones(record, seat)):
                _stone(canvas, 452 + 36 * k, y + 32, value)
            for row in range(PILES):
                left = 18 + 478 * (row % 2)
                top = y + 62 + 42 * (row // 2)
                cards = self._row(record, seat, row)
                canvas.rect(left, top, 468, 36, fill="#0e2b23", stroke=FILL[row], radius=4)
                canvas.text(left + 12, top + 18, LETTERS[row], 12, FILL[row], bold=True)
                if row != POINTS and cards:
                    canvas.text(left + 462, top + 18, f"{rules.ROW_SCORE[min(len(cards), 9)]:+d}", 13, "#ffffff", "end", bold=True)
                step = min(29.0, 385 / max(len(cards), 1))
                for k, card in enumerate(cards):
                    _card(canvas, left + 26 + step * k, top + 3, card, 27, 30)
        return canvas


def _letter(row: int) -> str:
    return style(LETTERS[row], INKS[row])


def _names(cards: list[int]) -> str:
    return " ".join(style("?", "dim") if c < 0 else style(CARD_NAMES[c], INKS[COLOUR[c]]) for c in cards) or "-"


def _card(canvas: Canvas, x: float, y: float, card: int, width: float, height: float) -> None:
    if not 0 <= card < TYPES:
        canvas.rect(x, y, width, height, fill="#3b6357", stroke="#cfe3d6", radius=4)
        canvas.text(x + width / 2, y + height / 2, "?", 13, "#cfe3d6")
        return
    canvas.rect(x, y, width, height, fill=FILL[COLOUR[card]], stroke="#ffffff", radius=4)
    canvas.text(x + width / 2, y + height / 2, CARD_NAMES[card], 13 if width > 30 else 11, "#ffffff", bold=True)


def _stone(canvas: Canvas, x: float, y: float, value: int) -> None:
    canvas.circle(x, y, 16, fill="#e8862e", stroke="#ffffff", width=1)
    canvas.text(x, y, str(value), 14, "#ffffff", bold=True)
