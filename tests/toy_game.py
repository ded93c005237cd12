"""A tiny game on the contract, and faulty versions of it that ``check_game`` must refuse. Run as a script without the JIT.

Twelve cards 0 .. 11, three each for two or three players. In turn everybody plays a card or, once a game, holds back (action 12);
after three turns each, the highest sum of played cards wins.
"""

import sys
import types
from typing import Literal

import numpy as np
from deckhand.envs import get_game, register_game
from deckhand.envs.core import Canvas, Game, Layout, Options, Piece, kernel, record_dtype
from deckhand.envs.core.check import CheckFailed, check_game, option_sets
from deckhand.envs.core.log import write_log
from deckhand.envs.core.rng import shuffle

CARDS, HOLD, HIDDEN = 12, 12, 9
DTYPE = record_dtype(3, 12, [("prize", np.int16), ("place", np.int8, (CARDS,)), ("held", np.int16, (3,)), ("turns", np.int16)])
LAYOUT = Layout(Piece("own", (CARDS,), "own cards"), Piece("played", (CARDS,), "played cards"), Piece("turn", (1,), "turns / 9"))


def make_rules(fault=""):
    """The rules module, with one fault in it."""

    @kernel
    def deal(s):
        order = np.arange(CARDS)
        shuffle(s.rng, order, CARDS)
        s.place[:] = 3
        for k in range(3 * s.players):
            s.place[order[k]] = k % s.players
            write_log(s, order[k])
        if fault == "deal ignores the seed":
            s.place[:] = np.arange(CARDS) % (s.players + 1)
        if fault == "the first mask is empty":
            s.held[:] = 1

    @kernel
    def legal(s, mask):
        for c in range(CARDS):
            mask[c] = s.place[c] == s.to_move
        mask[HOLD] = s.held[s.to_move] == 0
        if fault == "the first mask is empty" and s.turns == 0:
            mask[:] = False
        if fault == "mask leaks" and s.place[0] == 3:
            mask[HOLD] = False

    @kernel
    def apply(s, action):
        seat = s.to_move
        s.turns += 1
        if action == HOLD:
            s.held[seat] = 1
        else:
            s.place[action] = 4 + seat
            s.score[seat] += action
        if fault == "log overflows" and s.turns == 5:
            s.log_size = 40
        s.to_move = (seat + 1) % s.players
        if fault == "never ends":
            s.place[action % CARDS] = seat
            s.held[:] = 0
        elif s.turns == 3 * s.players:
            s.to_move = -1
            s.terminal = 1
            best = max(s.score[: s.players])
            for other in range(s.players):
                s.winner[other] = s.score[other] == best
                s.reward[other] += s.prize * s.winner[other]
            if fault == "terminated and truncated":
                s.truncated = 1
            if fault == "over without a flag":
                s.terminal = 0
            if fault == "nobody wins":
                s.winner[:] = 0
            if fault == "returns are not the sums":
                s.returns[0] += 1
            if fault == "padding":
                s.score[2] = 1
        if fault == "global generator":
            s.score[seat] += np.random.randint(2)  # noqa: NPY002

    @kernel
    def hide(s, seat):
        if fault == "view leaks":
            s.held[seat] = s.place[0]
        for c in range(CARDS):
            if s.place[c] <= 3 and s.place[c] != seat:
                s.place[c] = HIDDEN

    @kernel
    def resample(s, seat):
        slots = np.zeros(CARDS, np.int64)
        n = 0
        for other in range(s.players):
            missing = 3
            for c in range(CARDS):
                missing -= s.place[c] == 4 + other
            if other != seat:
                for _ in range(missing):
                    slots[n] = other
                    n += 1
        size = np.sum(s.place == HIDDEN)
        slots[n:size] = 3
        if fault != "resample never varies":
            shuffle(s.rng, slots, size)
        if fault == "resample moves own cards":
            for c in range(CARDS):
                if s.place[c] == seat:
                    s.place[c] = 3
        k = 0
        for c in range(CARDS):
            if s.place[c] == HIDDEN:
                s.place[c] = slots[k]
                k += 1
        if fault == "worlds break the rules":
            s.place[s.place == 3] = (seat + 1) % s.players

    rules = types.ModuleType("toy_rules")
    for function in (deal, legal, apply, hide, resample):
        setattr(rules, function.__name__, function)
    return rules


def make_observation(fault=""):
    @kernel
    def observe(s, seat, out):
        for c in range(CARDS):
            out[c] = s.place[c] == seat
            out[CARDS + c] = s.place[c] >= 4 and s.place[c] < HIDDEN
        out[2 * CARDS] = s.turns / 9
        if fault == "observation leaks":
            out[2 * CARDS] = s.place[0] == 3
        if fault == "observation out of bounds":
            out[2 * CARDS] = s.turns
        if fault == "observation not finite":
            out[2 * CARDS] = np.nan

    module = types.ModuleType("toy_observation")
    module.observe, module.LAYOUT = observe, LAYOUT
    return module


class ToyOptions(Options):
    prize: Literal[1, 2] = 1


class Toy(Game):
    name, id, title = "toy", "Toy-v0", "Toy"
    min_players, max_players = 2, 3
    options = ToyOptions
    phases = ("turn",)
    dtype = DTYPE
    num_actions = CARDS + 1
    action_table = ((0, CARDS - 1, "play a card"), (HOLD, HOLD, "hold back"))
    rules = make_rules()
    observation = make_observation()
    fault = ""

    def configure(self, record, options):
        record["prize"] = options.prize

    def action_to_string(self, record, action):
        if self.fault == "strings are not unique":
            return "card"
        if self.fault == "string leaks":
            return f"{action}{'!' if record['place'][0] == 3 else ''}"
        return "hold" if action == HOLD else str(action)

    def string_to_action(self, record, text):
        if self.fault == "strings are read loosely":
            text = text.strip()
        names = [self.action_to_string(record, a) for a in range(self.num_actions)]
        if text not in names:
            raise ValueError(f"{text!r} is no action")
        return names.index(text)

    def events(self, record):
        cards = [int(c) for c in record["log"][: record["log_size"]]]
        if self.fault == "events raise" and record["turns"] == 4:
            raise IndexError("no such event")
        if self.fault == "events are no JSON" and cards:
            return [{"event": "deal", "cards": np.array(cards)}]
        return [{"event": "deal", "cards": cards}] if cards else []

    def describe(self, record):
        if self.fault == "drawing changes the position":
            record["score"][0] += 1
        return f"places {record['place'].tolist()}"

    def paint(self, record):
        canvas = Canvas(100, 100)
        canvas.text(50, 50, str(record["score"].tolist()))
        if self.fault == "drawing is infinite":
            canvas.circle(float("nan"), 0, 1)
        return canvas


FAULTS = {
    "deal ignores the seed": "eight seeds must not all deal the same game",
    "the first mask is empty": "must deal a playable game|a mover has a legal action",
    "mask leaks": "mask must",
    "log overflows": "must not overflow",
    "never ends": "must end within|must be playable to its end",
    "terminated and truncated": "both terminated and truncated",
    "over without a flag": "exactly when the game is over",
    "nobody wins": "must have a winner",
    "returns are not the sums": "returns must be the sums",
    "padding": "score must be zero for seats that do not take part",
    "global generator": "must be equal|go on equally|must end equally",
    "view leaks": "view of a view|must look the same|must come from what it knows",
    "resample never varies": "among the worlds that fit",
    "resample moves own cards": "must look the same",
    "worlds break the rules": "AssertionError",
    "observation leaks": "observation must",
    "observation out of bounds": r"\(turn\) of seat . is .*, outside 0 to 1",
    "observation not finite": r"is .*nan.*, outside 0 to 1",
    "strings are not unique": "must be unique",
    "string leaks": "action strings must come from|must give back",
    "strings are read loosely": "must be refused",
    "events raise": "IndexError: no such event",
    "events are no JSON": "TypeError",
    "drawing changes the position": "drawing must not change|looking at a position must not change",
    "drawing is infinite": "finite coordinates",
}


def three_cards_each(p):
    place = p.record["place"]
    held = [int(np.sum((place == s) | (place == 4 + s))) for s in range(p.num_players)]
    assert held == [3] * p.num_players, f"cards {held}"


def main():
    import re

    import deckhand.envs.core.check as check

    check.DECISION_LIMIT = 200
    current = [Toy]
    registry = types.ModuleType("toy_game_of_the_moment")
    registry.build = lambda: current[0]()
    sys.modules[registry.__name__] = registry
    register_game("toy", "Toy-v0", "toy_game_of_the_moment:build")
    game = get_game("toy")
    assert option_sets(game, 2) == [{}, {"prize": 2}]
    report = check_game("toy", games=4, invariant=three_cards_each)
    assert report.games == 16
    assert report.differing > 100
    wrong = []
    for fault, expected in FAULTS.items():
        current[0] = type("Faulty", (Toy,), {"rules": make_rules(fault), "observation": make_observation(fault), "fault": fault})
        register_game("toy", "Toy-v0", "toy_game_of_the_moment:build")
        try:
            check_game("toy", games=3, invariant=three_cards_each if fault == "worlds break the rules" else None)
            wrong.append(f"{fault}: not found")
        except CheckFailed as error:
            if not re.search(expected, str(error)) or "\n" in str(error):
                wrong.append(f"{fault}: {error}")
    print("\n".join(wrong))
    return len(wrong)


if __name__ == "__main__":
    sys.exit(main())
