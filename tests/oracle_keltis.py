"""Keltis once more: slow, in plain Python over card names and action strings, written from the rules page alone."""

from itertools import combinations

COLOURS = "RYGBP"
COLOURED = ["0", "1", "2", "3", "3", "4", "4", "5", "5", "6", "6", "7", "7", "8", "9", "10", "E", "E"]
DECK = [colour + value for colour in COLOURS for value in COLOURED] + [f"N{v}" for v in range(11)]
ORDER = list(dict.fromkeys(DECK))
ROW_POINTS = {0: 0, 1: -4, 2: -3, 3: -2, 4: 1, 5: 2, 6: 3, 7: 6, 8: 7}
STONE_POINTS = {0: -4, 1: -1, 2: 0, 3: 4, 4: 6}


class Oracle:
    """A game between ``hands``; ``stock`` lists the stock in drawing order."""

    def __init__(self, hands, stock, starter, stone_with_point_card=True, max_turns=200):
        self.n = len(hands)
        self.hands = [list(h) for h in hands]
        self.stock = list(stock)
        self.rows = [{c: [] for c in COLOURS} for _ in hands]
        self.neutral = [[] for _ in hands]
        self.stones = [[] for _ in hands]
        self.pool = list(range(1, 10))
        self.piles = {c: [] for c in "RYGBPN"}
        self.mover = starter
        self.with_points = stone_with_point_card
        self.max_turns = max_turns
        self.turns_done = 0
        self.must_draw = 0
        self.touched = set()
        self.ender = None
        self.queue = []  # seats still to lay in the final phase, each with the number of cards left
        self.over = False
        self.asked = {}  # what the final phase has told: seat -> can the hand lay something?

    # K4 c, d

    def numbers(self, seat, colour):
        return [int(c[1:]) for c in self.rows[seat][colour] if c[0] == colour and c[1:] != "E"]

    def closed(self, seat, colour):
        return any(c[1:] == "E" for c in self.rows[seat][colour])

    def takes(self, seat, card):
        colour, value = card[0], card[1:]
        if value == "E":
            return True
        if self.closed(seat, colour):
            return False
        new = [*self.numbers(seat, colour), int(value)]
        return new == sorted(new) or new == sorted(new, reverse=True)

    def lays(self, seat):
        found = set()
        for card in self.hands[seat]:
            if card[0] != "N":
                if self.takes(seat, card):
                    found.add(f"lay {card}")
                continue
            found.add(f"lay {card}")
            for colour in COLOURS:
                numbers = self.numbers(seat, colour)
                if numbers and not self.closed(seat, colour) and numbers[-1] == int(card[1:]):
                    found.add(f"lay {card} on {colour}")
        return found

    def legal(self):
        if self.over:
            return []
        seat = self.mover
        if self.must_draw:
            found = {"draw stock"}
            if not self.max_turns or self.turns_done < self.max_turns:
                found |= {f"draw {p}" for p, cards in self.piles.items() if cards and p not in self.touched}
            return sorted(found)
        found = self.lays(seat)
        if self.ender is not None:
            return sorted(found | {"stop"})
        found |= {f"discard {card}" for card in self.hands[seat]}
        for a, b in combinations(sorted(self.hands[seat], key=ORDER.index), 2):
            if a[1:] == b[1:] and a[1:] in "123456789" and int(a[1:]) in self.pool:
                if "N" in a + b and not self.with_points:
                    continue
                found.add(f"stone {a} {b}")
        return sorted(found)

    def play(self, action):
        kind, *words = action.split()
        seat = self.mover
        hand = self.hands[seat]
        if kind == "draw":
            self.draw(seat, words[0])
            return
        if kind == "stop":
            self.queue.pop(0)
            self.ask()
            return
        if kind == "lay":
            hand.remove(words[0])
            if words[0][0] == "N" and len(words) == 1:
                self.neutral[seat].append(words[0])
            else:
                self.rows[seat][words[-1] if len(words) == 3 else words[0][0]].append(words[0])
            if self.ender is not None:
                self.queue[0][1] -= 1
                self.asked.pop(seat)
                self.ask()
                return
        else:
            for card in words:
                hand.remove(card)
                self.piles[card[0]].append(card)
                self.touched.add(card[0])
        if kind == "stone":
            self.pool.remove(int(words[0][1:]))
            self.stones[seat].append(int(words[0][1:]))
        if sum(self.closed(p, c) for p in range(self.n) for c in COLOURS) == 5:
            self.end()
        else:
            self.must_draw = 2 if kind == "stone" else 1

    def draw(self, seat, source):
        if source == "stock":
            self.hands[seat].append(self.stock.pop(0))
            if not self.stock:
                self.end()
                return
        else:
            self.hands[seat].append(self.piles[source].pop())
        self.must_draw -= 1
        if not self.must_draw:
            self.turns_done += 1
            self.touched = set()
            self.mover = (seat + 1) % self.n

    # K6, K7

    def end(self):
        self.ender = self.mover
        self.must_draw = 0
        self.queue = [[(self.ender + k) % self.n, 2] for k in range(1, self.n + 1)]
        self.ask()

    def ask(self):
        while self.queue:
            seat, left = self.queue[0]
            if left:
                self.asked[seat] = bool(self.lays(seat))
                if self.asked[seat]:
                    self.mover = seat
                    return
            self.queue.pop(0)
        self.over = True

    # K8

    def scores(self):
        return [
            sum(ROW_POINTS.get(len(row), 10) for row in self.rows[p].values())
            + len(self.neutral[p])
            + STONE_POINTS.get(len(self.stones[p]), 10)
            for p in range(self.n)
        ]
