"""Alle in die Boote at the table: options, action strings, events, text and drawing."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

from pydantic import Field

from ..core.ansi import style
from ..core.canvas import Canvas
from ..core.game import Game, Record, Symmetry
from ..core.options import Options
from . import observation, rules
from .rules import (
    BOARD,
    BOATS,
    CALL,
    CARDS,
    COLOUR,
    DEALT,
    EVEN,
    FLOODED,
    HAND_SLOTS,
    LETPASS,
    LEVELS,
    MOVE,
    NUM_ACTIONS,
    PLACE,
    PUMP,
    RANK,
    RANKS,
    RESCUE,
    SECTIONS,
    STOCK_SIZE,
    SUIT,
)

REWARDS = ("score", "rescued", "win")
RANK_NAMES = ("A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K")
CARD_NAMES = tuple(RANK_NAMES[RANK[c] - 1] + "hdsc"[SUIT[c]] for c in range(CARDS))
CARD_OF_NAME = {name: card for card, name in enumerate(CARD_NAMES)}
SCORE_RANKS = (
    (0, "Untergang"),
    (9, "Kalte Nacht"),
    (17, "Besser als 1912"),
    (25, "Helden der Nacht"),
    (35, "Retter der Meere"),
    (45, "Fast alle"),
    (55, "Alle in den Booten"),
    (65, "Legende des Nordatlantiks"),
)

_FIXED_NAMES = {
    **{rules.move_id(i, j): f"move {i + 1}>{j + 1}" for i in range(SECTIONS) for j in range(SECTIONS) if i != j},
    **{BOARD + 2 * i + k: f"board {i + 1}>boat{k + 1}" for i in range(SECTIONS) for k in range(2)},
    **{RESCUE + n: f"rescue {n + 1}" for n in range(HAND_SLOTS)},
    **{EVEN + i: f"even {i + 1}-{i + 2}" for i in range(SECTIONS - 1)},
    **{LETPASS + i: f"letpass {i + 1}" for i in range(SECTIONS)},
    PUMP: "pump",
    **{CALL + c: f"call {CARD_NAMES[c]}" for c in range(CARDS)},
}
_FIXED_IDS = {name: action for action, name in _FIXED_NAMES.items()}
_TARGETS = (*(str(i + 1) for i in range(SECTIONS)), "boat1", "boat2")


def rank_name(score: int) -> str:
    """The rank of a final score (section 9 of the rules page): for display only."""
    return next(name for lowest, name in reversed(SCORE_RANKS) if score >= lowest)


class AlleInDieBooteOptions(Options):
    """Rule options of Alle in die Boote."""

    level: Literal["leicht", "normal", "schwer", "profi"] = Field("normal", description="coins by section and starting lifebuoys")
    open_queues: bool = Field(False, description="whether the queues are dealt face up (rule 26)")
    own_lifebuoys: bool = Field(False, description="whether a lifebuoy belongs to the player whose rescue failed (rule 25)")
    cost_even: int = Field(1, ge=0, le=9, description="lifebuoys that the command 'even' costs")
    cost_letpass: int = Field(2, ge=0, le=9, description="lifebuoys that the command 'letpass' costs")
    cost_call: int = Field(2, ge=0, le=9, description="lifebuoys that the command 'call' costs")
    cost_pump: int = Field(3, ge=0, le=9, description="lifebuoys that the command 'pump' costs; with 0 a game may end only by the limit")
    reward: Literal["score", "rescued", "win"] = Field(
        "score",
        description="the same for every seat; 'score': +1 a rescued passenger, coins and bonus when all are rescued; "
        "'rescued': +1 a rescued passenger; 'win': 1 at the end if all are rescued",
    )


class AlleInDieBoote(Game):
    """Alle in die Boote, a cooperative patience after SOS Titanic (Ludovic Maublanc and Bruno Cathala 2013), 1-5 players."""

    name = "alle_in_die_boote"
    id = "AlleInDieBoote-v0"
    title = "Alle in die Boote"
    min_players = 1
    max_players = rules.MAX_PLAYERS
    cooperative = True
    options = AlleInDieBooteOptions
    phases = ("main", "place")
    dtype = rules.DTYPE
    num_actions = NUM_ACTIONS
    action_table = (
        (MOVE, BOARD - 1, "move cards from queue i to queue j: 5 * i + (j if j < i else j - 1), counted from 0; i and j fix how many"),
        (BOARD, RESCUE - 1, "the front of queue i boards (or opens) boat k of its colour: 30 + 2 * i + k"),
        (RESCUE, EVEN - 1, "rescue: draw 1, 2, 3 cards"),
        (EVEN, LETPASS - 1, "even out sections s and s + 1, s = 1 .. 5"),
        (LETPASS, PUMP - 1, "let pass in queue 1 .. 6"),
        (PUMP, PUMP, "pump"),
        (CALL, PLACE - 1, "call a card from the discard pile: 57 + suit * 13 + rank - 1, suits h d s c"),
        (PLACE, NUM_ACTIONS - 1, "place hand slot x on target t: 109 + 8 * x + t; t = 0-5 queue, 6-7 boat of the card's colour"),
    )
    rules = rules
    observation = observation

    def configure(self, record: Record, options: AlleInDieBooteOptions) -> None:
        record["level"] = LEVELS.index(options.level)
        record["open_queues"] = options.open_queues
        record["own_lifebuoys"] = options.own_lifebuoys
        record["cost"] = (options.cost_even, options.cost_letpass, options.cost_call, options.cost_pump)
        record["reward_kind"] = REWARDS.index(options.reward)

    def action_to_string(self, record: Record, action: int) -> str:
        if action < PLACE:
            return _FIXED_NAMES[action]
        slot, target = divmod(action - PLACE, 8)
        if slot >= record["hand_size"]:
            raise ValueError(f"hand slot {slot + 1} is empty")
        return f"place {CARD_NAMES[record['hand'][slot]]}>{_TARGETS[target]}"

    def string_to_action(self, record: Record, text: str) -> int:
        if text in _FIXED_IDS:
            return _FIXED_IDS[text]
        for action in range(PLACE, PLACE + 8 * int(record["hand_size"])):
            if self.action_to_string(record, action) == text:
                return action
        raise ValueError(f"{text!r} is no action")

    def events(self, record: Record) -> list[dict[str, Any]]:
        values = iter([int(v) for v in record["log"][: record["log_size"]]])

        def cards(count: int) -> list[str]:
            return [CARD_NAMES[next(values)] for _ in range(count)]

        found: list[dict[str, Any]] = []
        for code in values:
            if code == rules.LOG_DEAL:
                queues = [cards(int(n)) for n in DEALT]
                found.append({"event": "deal", "queues": [*queues, [], []], "stock": cards(STOCK_SIZE)})
            elif code == rules.LOG_SHUFFLE:
                found.append({"event": "shuffle", "stock": cards(next(values))})
            elif code == rules.LOG_FLOOD:
                found.append({"event": "flood", "section": next(values) + 1, "left": next(values)})
            elif code == rules.LOG_MERGE:
                found.append({"event": "merge", "into": next(values) + 1, "queue": cards(next(values))})
            elif code == rules.LOG_DRAW:
                found.append({"event": "draw", "cards": cards(next(values))})
            elif code == rules.LOG_EVEN:
                found.append({"event": "even", "queues": [cards(next(values)), cards(next(values))]})
            else:
                found.append({"event": "lifebuoy", "player": next(values)})
        return found

    def chance(self, num_players: int, options: AlleInDieBooteOptions, events: Sequence[Mapping[str, Any]]) -> Iterator[Sequence[int]]:
        for event in events:
            if event["event"] in ("deal", "even"):
                names = [*chain(*event["queues"]), *event.get("stock", ())]
            elif event["event"] == "shuffle":
                names = event["stock"]
            elif event["event"] == "merge":
                names = event["queue"]
            else:
                continue
            yield [CARD_OF_NAME[name] for name in reversed(names)]

    def extra_outcome(self, record: Record) -> dict[str, Any]:
        return {"rescued": int(record["rescued"])}

    def symmetries(self) -> tuple[Symmetry, ...]:
        # Within a colour the suits only matter for the bonus (rule 1), and there they are alike, as red and black are everywhere.
        order = ((0, 1, 2, 3), (1, 0, 2, 3), (0, 1, 3, 2), (1, 0, 3, 2))
        return tuple(observation.symmetry(suits) for suits in (*order, *((*s[2:], *s[:2]) for s in order)))

    def describe(self, record: Record) -> str:
        total = f"{record['coins'].sum()} coins"
        lines = [
            f"Alle in die Boote, {LEVELS[record['level']]}: {record['rescued']} of {CARDS} rescued, {style(total, 'yellow')}, "
            f"stock {record['stock_size']}, {_lifebuoys(record)}"
        ]
        for i in range(SECTIONS):
            coins = style(f"coins {record['coins'][i]} of {record['start_coins'][i]}", "yellow")
            state = style("flooded", "dim") if record["front"][i] == FLOODED else coins
            hidden = int(record["face_down"][i])
            parts = [style(f"[{hidden} face down]", "dim")] if hidden else []
            lines.append(f"  section {i + 1} ({state}): {' '.join(parts + _names(_open_cards(record, i))) or '-'}")
        for boat in range(BOATS):
            name = _boat_name(boat)
            lines.append(f"  {style(name, 'red') if boat < 2 else name}: {' '.join(_names(_boat_cards(record, boat))) or '-'}")
        lines.append(f"  discard pile: {' '.join(_names(_discarded(record))) or '-'}")
        hand = _names(_hand(record))
        if hand:
            lines.append(f"  hand: {' '.join(hand)}")
        if record["to_move"] >= 0:
            lines.append(style(f"> player {record['to_move']} of {record['players']}", "bold"))
        else:
            score = int(record["score"][0])
            lines.append(f"  over: score {score}, {rank_name(score)}")
        return "\n".join(lines)

    def paint(self, record: Record) -> Canvas:
        canvas = Canvas(800, 640, background="#0b2545")
        canvas.text(16, 22, f"Alle in die Boote   {LEVELS[record['level']]}", 17, "#ffffff", "start", bold=True)
        turn = f"player {record['to_move']}" if record["to_move"] >= 0 else f"over: {record['score'][0]} points"
        canvas.text(784, 22, f"{record['rescued']} rescued   {turn}", 14, "#bfd7ea", "end")
        for boat in range(BOATS):
            _paint_boat(canvas, 16 + 98 * boat, 44, record, boat)
        _paint_stock(canvas, 420, 50, record)
        for k, card in enumerate(_hand(record)):
            _paint_card(canvas, 604 + 62 * k, 50, card)
        if record["hand_size"]:
            canvas.text(604 + 26, 136, "hand", 12, "#bfd7ea")
        _paint_discard(canvas, 16, 158, record)
        for i in range(SECTIONS):
            _paint_section(canvas, 16 + 129 * i, 224, 400, record, i)
        return canvas


def _names(cards: list[int]) -> list[str]:
    return [CARD_NAMES[c] if COLOUR[c] else style(CARD_NAMES[c], "red") for c in cards]


def _open_cards(record: Record, i: int) -> list[int]:
    return [int(c) for c in record["queue"][i][record["face_down"][i] : record["queue_size"][i]]]


def _hand(record: Record) -> list[int]:
    return [int(c) for c in record["hand"][: record["hand_size"]]]


def _discarded(record: Record) -> list[int]:
    return [c for c in range(CARDS) if record["where"][c] == 1 << rules.DISCARDED]


def _boat_cards(record: Record, boat: int) -> list[int]:
    suits = int(record["boat_suits"][boat])
    return [(boat // 2 * 2 + (suits >> r & 1)) * RANKS + r for r in range(int(record["boat"][boat]))]


def _boat_name(boat: int) -> str:
    return f"{('red', 'black')[boat // 2]} boat{boat % 2 + 1}"


def _lifebuoys(record: Record) -> str:
    common = f"lifebuoys {record['lifebuoys']}"
    if not record["own_lifebuoys"]:
        return common
    return f"{common} + {' '.join(str(x) for x in record['own'][: record['players']])}"


# Drawing. A card is 52 x 72; suits are shapes, because not every font has them.

RED, BLACK = "#c1121f", "#1b1b1e"
BACK_STEP, OPEN_STEP = 7, 22  # how much of a card the next one leaves visible, where there is room


def _suit(canvas: Canvas, x: float, y: float, r: float, suit: int) -> None:
    """A suit's sign around (x, y), about 2 * r high."""
    colour = RED if suit < 2 else BLACK
    if suit == 1:
        canvas.polygon([(x, y - r), (x + 0.8 * r, y), (x, y + r), (x - 0.8 * r, y)], fill=colour)
        return
    if suit == 0:
        canvas.polygon([(x - 0.92 * r, y - 0.12 * r), (x + 0.92 * r, y - 0.12 * r), (x, y + r)], fill=colour)
        canvas.circle(x - 0.46 * r, y - 0.38 * r, 0.53 * r, fill=colour)
        canvas.circle(x + 0.46 * r, y - 0.38 * r, 0.53 * r, fill=colour)
        return
    canvas.polygon([(x, y), (x + 0.45 * r, y + r), (x - 0.45 * r, y + r)], fill=colour)
    if suit == 2:
        canvas.polygon([(x - 0.92 * r, y + 0.05 * r), (x + 0.92 * r, y + 0.05 * r), (x, y - r)], fill=colour)
        canvas.circle(x - 0.46 * r, y + 0.28 * r, 0.5 * r, fill=colour)
        canvas.circle(x + 0.46 * r, y + 0.28 * r, 0.5 * r, fill=colour)
        return
    canvas.circle(x, y - 0.48 * r, 0.48 * r, fill=colour)
    canvas.circle(x - 0.5 * r, y + 0.2 * r, 0.48 * r, fill=colour)
    canvas.circle(x + 0.5 * r, y + 0.2 * r, 0.48 * r, fill=colour)


def _paint_card(canvas: Canvas, x: float, y: float, card: int) -> None:
    canvas.rect(x, y, 52, 72, fill="#fffdf5", stroke="#6b705c", radius=5)
    canvas.text(x + 15, y + 11, RANK_NAMES[RANK[card] - 1], 15, BLACK if COLOUR[card] else RED, bold=True)
    _suit(canvas, x + 38, y + 11, 7, int(SUIT[card]))
    _suit(canvas, x + 26, y + 46, 13, int(SUIT[card]))


def _paint_back(canvas: Canvas, x: float, y: float) -> None:
    canvas.rect(x, y, 52, 72, fill="#8d99ae", stroke="#2b2d42", radius=5)
    canvas.rect(x + 5, y + 5, 42, 62, stroke="#edf2f4", radius=3)


def _paint_boat(canvas: Canvas, x: float, y: float, record: Record, boat: int) -> None:
    cards = _boat_cards(record, boat)
    if cards:
        _paint_card(canvas, x + 19, y + 6, cards[-1])
    hull = "#e07a5f" if boat < 2 else "#4a4e69"
    canvas.polygon([(x, y + 56), (x + 90, y + 56), (x + 76, y + 92), (x + 14, y + 92)], fill=hull, stroke="#ffffff", width=2)
    canvas.text(x + 45, y + 74, f"{len(cards)} / {RANKS}", 14, "#ffffff", bold=True)
    canvas.text(x + 45, y + 103, _boat_name(boat), 12, "#bfd7ea")


def _paint_stock(canvas: Canvas, x: float, y: float, record: Record) -> None:
    if record["stock_size"]:
        _paint_back(canvas, x, y)
    else:
        canvas.rect(x, y, 52, 72, stroke="#5c7a99", radius=5)
    canvas.text(x + 26, y + 86, f"stock {record['stock_size']}", 12, "#bfd7ea")
    for k in range(min(4, int(record["lifebuoys"]))):
        canvas.circle(x + 84 + 22 * k, y + 36, 8, stroke="#ee6c4d", width=5)
    canvas.text(x + 117, y + 86, _lifebuoys(record), 12, "#bfd7ea")


def _paint_discard(canvas: Canvas, x: float, y: float, record: Record) -> None:
    canvas.text(x, y + 20, "discard", 12, "#bfd7ea", "start")
    for k, card in enumerate(_discarded(record)):
        canvas.rect(x + 54 + 29.5 * k, y, 28, 40, fill="#fffdf5", stroke="#6b705c", radius=3)
        canvas.text(x + 68 + 29.5 * k, y + 12, RANK_NAMES[RANK[card] - 1], 13, BLACK if COLOUR[card] else RED, bold=True)
        _suit(canvas, x + 68 + 29.5 * k, y + 28, 7, int(SUIT[card]))


def _paint_section(canvas: Canvas, x: float, y: float, height: float, record: Record, i: int) -> None:
    flooded = record["front"][i] == FLOODED
    canvas.rect(x, y, 122, height, fill="#13517a" if flooded else "#d9c5a0", stroke="#ffffff", radius=8)
    ink = "#bfd7ea" if flooded else "#4a3f2a"
    canvas.text(x + 14, y + 16, str(i + 1), 16, ink, bold=True)
    if flooded:
        canvas.text(x + 61, y + 60, "flooded", 14, ink)
    for k in range(int(record["start_coins"][i])):
        lies = k < record["coins"][i]
        canvas.circle(x + 38 + 22 * k, y + 17, 8, fill="#f2c14e" if lies else None, stroke="#8a6a12" if lies else ink, width=2)
    hidden = int(record["face_down"][i])
    shown = _open_cards(record, i)
    top = y + 36
    squeeze = min(1.0, (height - 116) / max(hidden * BACK_STEP + (len(shown) - 1) * OPEN_STEP, 1))
    for _ in range(hidden):
        _paint_back(canvas, x + 22, top)
        top += BACK_STEP * squeeze
    for card in shown:
        _paint_card(canvas, x + 22, top, card)
        top += OPEN_STEP * squeeze
    if hidden:
        canvas.text(x + 98, y + 46, str(hidden), 13, ink)
