"""Alle in die Boote once more, literally: lists and sets, written from the rules page alone. The engine's events tell it of chance.

Besides the rules it keeps what a player with perfect recall knows, and writes the observation of section 8.2 from it.
"""

from itertools import chain, pairwise

RANKS = ["A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K"]
CARDS = [r + s for s in "hdsc" for r in RANKS]
LEVELS = {
    "leicht": ([4, 3, 3, 2, 1, 0], 3),
    "normal": ([3, 3, 2, 1, 1, 0], 2),
    "schwer": ([3, 2, 1, 1, 1, 0], 1),
    "profi": ([3, 2, 1, 1, 1, 0], 0),
}
STOCK = "stock"


def rank(card):
    return RANKS.index(card[:-1]) + 1


def colour(card):
    return int(card[-1] in "sc")


def below(card, front):
    """Whether ``card`` may lie on ``front``."""
    return colour(card) == colour(front) and rank(card) + 1 == rank(front)


class Oracle:
    """Follows a game of one seat order. ``legal()``, ``play(action, events)`` and ``observe(seat)`` say what the rules say."""

    def __init__(self, players, options, deal):
        self.players = players
        self.options = options
        self.start, self.common = list(LEVELS[options["level"]][0]), LEVELS[options["level"]][1]
        self.coins = list(self.start)
        assert [len(q) for q in deal["queues"]] == [4, 6, 8, 10, 0, 0]
        self.queues = [list(q) for q in deal["queues"]]
        self.down = [0 if options["open_queues"] else len(q) for q in self.queues]
        self.stock = list(deal["stock"])
        assert sorted(chain(*self.queues, self.stock)) == sorted(CARDS)
        self.discard = []
        self.boats = [[], [], [], []]
        self.hand = []
        self.own = [0] * players
        self.mover = 0
        self.over = self.truncated = False
        self.decisions = self.reshuffles = 0
        # Knowledge: for each hidden place the seen cards that may lie there, and whether never-seen cards may.
        self.may = {place: set() for place in (STOCK, *range(6))}
        self.strangers = {STOCK, *(i for i in range(6) if self.down[i])}
        self.groups = [{i} for i in range(6)]
        self.seen = set()
        for i in range(6):
            self.seen |= set(self.queues[i][self.down[i] :])
        self.turn_fronts()
        self.segment = [self.arrangement()]

    def arrangement(self):
        return tuple((self.down[i], tuple(self.queues[i][self.down[i] :])) for i in range(6))

    def dry(self, i):
        return not (self.start[i] > 0 and self.coins[i] == 0)

    def money(self, seat):
        return self.common + self.own[seat]

    def pay(self, command):
        for _ in range(self.options[f"cost_{command}"]):
            if self.own[self.mover] > 0:
                self.own[self.mover] -= 1
            else:
                self.common -= 1

    # Legal actions.

    def accepts(self, i, card):
        """Rules 7, 8."""
        if not self.dry(i):
            return False
        return below(card, self.queues[i][-1]) if self.queues[i] else rank(card) == 13

    def boats_for(self, card):
        """Rule 9: numbers of the boats, 1 or 2."""
        pair = self.boats[2 * colour(card) : 2 * colour(card) + 2]
        fitting = [k + 1 for k in range(2) if len(pair[k]) + 1 == rank(card)]
        return fitting[:1] if rank(card) == 1 else fitting

    def fits(self, card):
        return any(self.accepts(i, card) for i in range(6)) or bool(self.boats_for(card))

    def moved(self, i, j):
        """The cards that go from i to j, or None."""
        for m in range(1, len(self.queues[i]) - self.down[i] + 1):
            part = self.queues[i][-m:]
            if any(not below(b, a) for a, b in pairwise(part)):
                return None
            if self.accepts(j, part[0]):
                return part
        return None

    def after(self, i, j, part):
        """The arrangement after a reversible move, None if the move is irreversible (section 3)."""
        rest = self.queues[i][: -len(part)]
        if rest:
            if len(rest) == self.down[i] or not below(part[0], rest[-1]):
                return None
        elif rank(part[0]) != 13:
            return None
        shown = list(self.arrangement())
        shown[i] = (self.down[i], tuple(rest[self.down[i] :]))
        shown[j] = (self.down[j], tuple(self.queues[j][self.down[j] :] + part))
        return tuple(shown)

    def legal(self):
        if self.hand:
            found = {f"place {c}>{i + 1}" for c in self.hand for i in range(6) if self.accepts(i, c)}
            return sorted(found | {f"place {c}>boat{k}" for c in self.hand for k in self.boats_for(c)})
        found = []
        for i in range(6):
            for j in range(6):
                part = self.moved(i, j) if i != j and self.queues[i] else None
                if part:
                    new = self.after(i, j, part)
                    if new is None or (new not in self.segment and len(self.segment) <= 24):
                        found.append(f"move {i + 1}>{j + 1}")
            if self.queues[i]:
                found += [f"board {i + 1}>boat{k}" for k in self.boats_for(self.queues[i][-1])]
        found += [f"rescue {n}" for n in (1, 2, 3) if not self.stock or n <= len(self.stock)]
        money = self.money(self.mover)
        if money >= self.options["cost_even"]:
            for i in range(5):
                if self.queues[i] and self.queues[i + 1] and abs(self.down[i] - self.down[i + 1]) >= 2:
                    found.append(f"even {i + 1}-{i + 2}")
        if money >= self.options["cost_letpass"]:
            found += [f"letpass {i + 1}" for i in range(6) if self.down[i]]
        if money >= self.options["cost_call"]:
            found += [f"call {c}" for c in self.discard if self.fits(c)]
        bow = next(i for i in range(6) if self.coins[i])
        if money >= self.options["cost_pump"] and self.coins[bow] < self.start[bow]:
            found.append("pump")
        return sorted(found)

    # Play.

    def play(self, action, events):
        """One decision; ``events`` is what the engine says happened. Returns the points that every seat scores."""
        events = list(events)
        rescued = self.rescued()
        self.decisions += 1
        verb, _, rest = action.partition(" ")
        keep = False
        if verb == "move":
            i, j = (int(x) - 1 for x in rest.split(">"))
            part = self.moved(i, j)
            new = self.after(i, j, part)
            self.queues[i] = self.queues[i][: -len(part)]
            self.queues[j] += part
            if new is not None:
                self.segment.append(new)
                keep = True
        elif verb == "board":
            i, boat = rest.split(">")
            self.load(self.queues[int(i) - 1].pop(), int(boat[-1]))
        elif verb == "place":
            card, target = rest.split(">")
            self.hand.remove(card)
            self.discard += self.hand
            self.hand = []
            if target.startswith("boat"):
                self.load(card, int(target[-1]))
            else:
                self.queues[int(target) - 1].append(card)
            self.next_turn()
        elif verb == "rescue":
            self.rescue(int(rest), events)
        elif verb == "call":
            self.pay("call")
            self.discard.remove(rest)
            self.hand = [rest]
        else:
            self.pay(verb)
            if verb == "even":
                self.even(int(rest[0]) - 1, events)
            elif verb == "letpass":
                i = int(rest) - 1
                self.down[i] -= 1
                card = self.queues[i].pop(self.down[i])
                self.queues[i].append(card)
                self.turned_up(i, card)
            else:
                self.coins[next(k for k in range(6) if self.coins[k])] += 1
            self.next_turn()
        assert not events, f"more happened than the rules say: {events}"
        self.turn_fronts()
        if not keep:
            self.segment = [self.arrangement()]
        points = self.rescued() - rescued
        if self.rescued() == 52:
            self.over = True
            points += sum(self.coins) + self.bonus()
        elif not self.over and self.decisions == 1000:
            self.over = self.truncated = True
        return points

    def next_turn(self):
        self.mover = (self.mover + 1) % self.players

    def rescued(self):
        return sum(map(len, self.boats))

    def load(self, card, k):
        self.boats[2 * colour(card) + k - 1].append(card)

    @staticmethod
    def stretches(boat):
        found, suit = [], None
        for card in boat:
            if card[-1] == suit:
                found[-1] += 1
            else:
                found.append(1)
                suit = card[-1]
        return found

    def bonus(self):
        best = [max(self.stretches(b)) for b in self.boats]
        return max(best[:2]) + max(best[2:])

    def rescue(self, n, events):
        if not self.stock:
            empty = not self.discard
            if not empty:
                self.stock = list(self.expect(events, "shuffle")["stock"])
                assert sorted(self.stock) == sorted(self.discard)
                self.discard = []
                self.reshuffles += 1
                self.may[STOCK] = set(self.stock)
            self.flood(events)
            if self.over:
                return
            if empty:
                self.next_turn()
                return
        self.hand, self.stock = self.stock[:n], self.stock[n:]
        assert self.expect(events, "draw") == {"event": "draw", "cards": self.hand}
        for card in self.hand:
            self.seen.add(card)
            self.may[STOCK].discard(card)
        if not self.stock:
            self.strangers.discard(STOCK)
        if any(self.fits(c) for c in self.hand):
            return
        self.discard += self.hand
        self.hand = []
        self.flood(events)
        if self.over:
            return
        assert self.expect(events, "lifebuoy") == {"event": "lifebuoy", "player": self.mover}
        if self.options["own_lifebuoys"]:
            self.own[self.mover] += 1
        else:
            self.common += 1
        self.next_turn()

    @staticmethod
    def expect(events, kind):
        assert events, f"{kind} is missing"
        assert events[0]["event"] == kind
        return events.pop(0)

    def flood(self, events):
        i = next(k for k in range(6) if self.coins[k])
        self.coins[i] -= 1
        assert self.expect(events, "flood") == {"event": "flood", "section": i + 1, "left": self.coins[i]}
        if sum(self.coins) == 0:
            self.over = True
        elif self.coins[i] == 0 and self.queues[i]:
            merged = self.expect(events, "merge")
            assert merged["into"] == i + 2
            assert sorted(merged["queue"]) == sorted(self.queues[i] + self.queues[i + 1])
            self.may[i + 1] |= self.may[i] | set(self.queues[i][self.down[i] :]) | set(self.queues[i + 1][self.down[i + 1] :])
            self.may[i] = set()
            if i in self.strangers:
                self.strangers = self.strangers - {i} | {i + 1}
            self.join(i, i + 1)
            self.part(i)
            self.queues[i], self.down[i] = [], 0
            self.queues[i + 1] = list(merged["queue"])
            self.down[i + 1] = len(merged["queue"])
            self.turn_fronts()

    def even(self, i, events):
        laid = self.expect(events, "even")["queues"]
        pool = self.queues[i][: self.down[i]] + self.queues[i + 1][: self.down[i + 1]]
        assert sorted(laid[0] + laid[1]) == sorted(pool)
        assert len(laid[0]) == len(pool) // 2
        for k in range(2):
            self.queues[i + k] = laid[k] + self.queues[i + k][self.down[i + k] :]
            self.down[i + k] = len(laid[k])
        self.may[i] = self.may[i + 1] = self.may[i] | self.may[i + 1]
        self.may[i + 1] = set(self.may[i])
        if self.strangers & {i, i + 1}:
            self.strangers |= {i, i + 1}
        self.join(i, i + 1)

    # Knowledge.

    def join(self, i, j):
        both = [g for g in self.groups if i in g or j in g]
        self.groups = [g for g in self.groups if g not in both] + [set().union(*both)]

    def part(self, i):
        self.groups = [g - {i} for g in self.groups if g != {i}] + [{i}]

    def group(self, i):
        return next(g for g in self.groups if i in g)

    def unseen_in(self, group):
        return sum(c not in self.seen for i in group for c in self.queues[i][: self.down[i]])

    def turned_up(self, i, card):
        self.seen.add(card)
        for place in self.may:
            self.may[place].discard(card)
        if self.unseen_in(self.group(i)) == 0:
            self.strangers -= self.group(i)
        if self.down[i] == 0:
            self.may[i] = set()
            self.strangers.discard(i)
            self.part(i)

    def turn_fronts(self):
        """Rule 10."""
        for i in range(6):
            if self.queues[i] and self.down[i] == len(self.queues[i]):
                self.down[i] -= 1
                self.turned_up(i, self.queues[i][-1])

    # Section 8.2.

    def run(self, i):
        m = 1
        while m < len(self.queues[i]) - self.down[i] and below(self.queues[i][-m], self.queues[i][-m - 1]):
            m += 1
        return m

    def observe(self, seat):
        """The observation as a dict of nested lists."""
        cards = []
        for card in CARDS:
            row = [0.0] * 24
            for i in range(6):
                shown = self.queues[i][self.down[i] :]
                if card in shown:
                    distance = len(shown) - 1 - shown.index(card)
                    row[i] = 1
                    row[19] = min(distance / 12, 1)
                    row[20] = distance == 0
                    row[21] = distance < self.run(i)
            boarded = [b % 2 for b in range(4) if card in self.boats[b]]
            for k in boarded:
                row[6 + k] = 1
            row[8] = card in self.discard
            if card in self.hand:
                row[9 + self.hand.index(card)] = 1
            for column, place in enumerate((STOCK, *range(6))):
                row[12 + column] = place in self.strangers if card not in self.seen else card in self.may[place]
            row[22] = not boarded and self.fits(card)
            row[23] = not boarded and bool(self.boats_for(card))
            cards.append(row)
        sections = []
        bow = next((i for i in range(6) if self.coins[i]), None)
        for i in range(6):
            row = [0.0] * 36
            row[0] = not self.dry(i)
            row[1], row[2], row[3] = self.coins[i] / 5, self.start[i] / 5, i == bow
            row[4], row[5] = self.down[i] / 52, (len(self.queues[i]) - self.down[i]) / 13
            if i in self.strangers:
                open_to = [t for t in self.group(i) if t in self.strangers]
                row[6] = self.unseen_in(self.group(i)) * self.down[i] / sum(self.down[t] for t in open_to) / 52
            row[7] = self.dry(i) and not self.queues[i]
            if self.queues[i]:
                front = self.queues[i][-1]
                row[8 + colour(front)] = 1
                row[9 + rank(front)] = 1
                row[22 + rank(self.queues[i][-self.run(i)])] = 1
            sections.append(row)
        boats = []
        for boat in self.boats:
            row = [0.0] * 20
            row[len(boat)] = 1
            if boat:
                row[14 + (boat[-1][-1] in "dc")] = 1
                row[16], row[17] = self.stretches(boat)[-1] / 13, max(self.stretches(boat)) / 13
            row[18], row[19] = len(boat) > 0, len(boat) == 13
            boats.append(row)
        line = [sum(self.coins) / 13, self.money(seat) / 16, (sum(self.own) - self.own[seat]) / 16]
        line += [len(self.stock) / 24, len(self.discard) / 24, self.rescued() / 52, not self.hand, bool(self.hand), len(self.hand) / 3]
        line += [(len(self.segment) - 1) / 24, self.decisions / 1000, self.reshuffles / 13, self.reshuffles > 0]
        line += [self.options["level"] == name for name in LEVELS] + [self.players == n for n in range(1, 6)]
        line += [self.mover / 4, self.options["open_queues"]]
        return {"cards": cards, "sections": sections, "boats": boats, "globals": line}
