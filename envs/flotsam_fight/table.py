"""Flotsam Fight at the table: options, action strings, events, text and drawing."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Literal

from pydantic import Field

from ..core.ansi import style
from ..core.canvas import Canvas
from ..core.game import Game, Record
from ..core.options import Options
from . import observation, rules
from .rules import CARD_VALUES, CARDS, DEAL, DRAW, NUM_ACTIONS, ON_BOAT, PAIR_BOAT, PAIR_CARD, PAIRS, PASS, RESET, SHUFFLE

REWARDS = ("round", "game", "placement")
CARD_OF_VALUE = {int(v): i for i, v in enumerate(CARD_VALUES)}
PAIR_OF = {(int(CARD_VALUES[c]), int(b) + 3): i for i, (c, b) in enumerate(zip(PAIR_CARD, PAIR_BOAT, strict=True))}


class FlotsamFightOptions(Options):
    """Rule options of Flotsam Fight."""

    rounds: int = Field(3, ge=1, le=100, description="rounds of a game (F3)")
    lead_may_pass: bool = Field(False, description="whether the player who leads on an empty board may pass (F12)")
    reward: Literal["round", "game", "placement"] = Field(
        "round",
        description="'round': points when a round ends; 'game': +1 to the winner, -1/(n-1) to the others, at the end; "
        "'placement': share of the others ranked below minus share ranked above, at the end",
    )


class FlotsamFight(Game):
    """Flotsam Fight (Tomoyuki Maruta, Oink Games 2018), 2-6 players."""

    name = "flotsam_fight"
    id = "FlotsamFight-v0"
    title = "Flotsam Fight"
    min_players = 2
    max_players = rules.MAX_PLAYERS
    options = FlotsamFightOptions
    phases = ("turn",)
    dtype = rules.DTYPE
    num_actions = NUM_ACTIONS
    action_table = (
        (0, PAIRS - 1, "load a card onto a boat: the 136 (card, boat) pairs, ascending by card, then boat"),
        (PASS, PASS, "pass"),
    )
    rules = rules
    observation = observation

    def configure(self, record: Record, options: FlotsamFightOptions) -> None:
        record["rounds"] = options.rounds
        record["lead_may_pass"] = options.lead_may_pass
        record["reward_kind"] = REWARDS.index(options.reward)

    def action_to_string(self, record: Record, action: int) -> str:
        if action == PASS:
            return "pass"
        return f"{CARD_VALUES[PAIR_CARD[action]]}>{PAIR_BOAT[action] + 3}"

    def string_to_action(self, record: Record, text: str) -> int:
        if text == "pass":
            return PASS
        card, _, boat = text.partition(">")
        try:
            pair = (int(card), int(boat))
        except ValueError:
            raise ValueError(f"{text!r} is no action") from None
        if pair not in PAIR_OF or text != f"{pair[0]}>{pair[1]}":
            raise ValueError(f"{text!r} is no action")
        return PAIR_OF[pair]

    def events(self, record: Record) -> list[dict[str, Any]]:
        players = int(record["players"])
        values = iter([int(v) for v in record["log"][: record["log_size"]]])
        found: list[dict[str, Any]] = []
        for code in values:
            if code == DEAL:
                round_, starter = next(values), next(values)
                size = 8 if players == 6 else 10
                hands = [[int(CARD_VALUES[next(values)]) for _ in range(size)] for _ in range(players)]
                found.append({"event": "deal", "round": round_, "hands": hands, "starter": starter})
            elif code == RESET:
                found.append({"event": "reset", "starter": next(values)})
            elif code == SHUFFLE:
                found.append({"event": "shuffle"})
            elif code == DRAW:
                found.append({"event": "draw", "player": next(values), "card": int(CARD_VALUES[next(values)])})
            else:
                found.append({"event": "round_end", "points": [next(values) for _ in range(players)]})
        return found

    def chance(self, num_players: int, options: FlotsamFightOptions, events: Sequence[Mapping[str, Any]]) -> Iterator[int | Sequence[int]]:
        for i, event in enumerate(events):
            if event["event"] == "deal":
                if event["round"] == 1:
                    yield event["starter"]
                yield [CARD_OF_VALUE[card] for hand in event["hands"] for card in hand] + _draws(events[i + 1 :])
            elif event["event"] == "shuffle":
                yield _draws(events[i + 1 :])

    def _hand(self, record: Record, seat: int) -> list[str]:
        """Card values of a hand, ``?`` for a card that this view does not show."""
        cards = [int(c) for c in record["hand"][seat][: record["hand_size"][seat]]]
        return [str(CARD_VALUES[c]) if c >= 0 else "?" for c in cards]

    def _boat(self, record: Record, boat: int) -> list[int]:
        return [int(CARD_VALUES[c]) for c in range(CARDS) if record["place"][c] == ON_BOAT and record["boat_of"][c] == boat]

    def describe(self, record: Record) -> str:
        players = int(record["players"])
        lines = [
            f"Flotsam Fight, round {record['round_no']} of {record['rounds']}, draw pile {record['deck_size']}, "
            f"boats {record['active']} of {players} active"
        ]
        for boat in range(rules.BOATS):
            cards = self._boat(record, boat)
            line = f"boat {boat + 3:>2}: {' '.join(map(str, cards)) if cards else '-'}"
            lines.append("  " + (style(line, "cyan") if record["top"][boat] > 0 else line))
        for seat in range(players):
            marks = [f"{record['score'][seat]:+d} points"]
            if record["passed"][seat]:
                marks.append("passed")
            if record["marker"] == seat:
                marks.append("holds the -1")
            hand = " ".join(style(card, "dim") if card == "?" else card for card in self._hand(record, seat))
            line = f"player {seat} ({', '.join(marks)}): "
            lines.append((style(f"> {line}", "bold") if record["to_move"] == seat else f"  {line}") + hand)
        return "\n".join(lines)

    def paint(self, record: Record) -> Canvas:
        players = int(record["players"])
        canvas = Canvas(760, 250 + 44 * players, background="#0b3954")
        canvas.text(16, 20, f"Flotsam Fight   round {record['round_no']}/{record['rounds']}", 16, "#ffffff", "start", bold=True)
        canvas.text(744, 20, f"draw pile {record['deck_size']}   boats {record['active']}/{players}", 14, "#bfd7ea", "end")
        for boat in range(rules.BOATS):
            x = 16 + boat * 91
            active = record["top"][boat] > 0
            canvas.polygon(
                [(x, 190), (x + 84, 190), (x + 70, 222), (x + 14, 222)], fill="#087e8b" if active else "#d8e2e8", stroke="#ffffff", width=2
            )
            canvas.text(x + 42, 206, str(boat + 3), 18, "#ffffff" if active else "#0b3954", bold=True)
            shown = self._boat(record, boat)[-5:]
            for k, value in enumerate(shown):
                _card(canvas, x + 20, 184 - 28 * (len(shown) - k) + 4, str(value), top=k == len(shown) - 1)
        for seat in range(players):
            y = 240 + 44 * seat
            if record["to_move"] == seat:
                canvas.rect(8, y - 2, 744, 40, fill="#14506f", radius=6)
            passed = "  passed" if record["passed"][seat] else ""
            marker = "  (-1)" if record["marker"] == seat else ""
            canvas.text(16, y + 10, f"player {seat}", 13, "#ffffff", "start", bold=True)
            canvas.text(16, y + 27, f"{record['score'][seat]:+d}{marker}{passed}", 12, "#bfd7ea", "start")
            for k, text in enumerate(self._hand(record, seat)):
                _card(canvas, 150 + 54 * k, y + 5, text, top=text != "?")
        return canvas


def _draws(events: Sequence[Mapping[str, Any]]) -> list[int]:
    """The cards that are drawn before the next shuffle."""
    pile = takewhile(lambda event: event["event"] not in ("deal", "shuffle"), events)
    return [CARD_OF_VALUE[event["card"]] for event in pile if event["event"] == "draw"]


def _card(canvas: Canvas, x: float, y: float, text: str, top: bool) -> None:
    canvas.rect(x, y, 44, 26, fill="#fffbe6" if top else "#e3d9b0", stroke="#7a6a2f", radius=4)
    canvas.text(x + 22, y + 13, text, 14, "#3a2f0b", bold=top)
