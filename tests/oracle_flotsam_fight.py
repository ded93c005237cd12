"""Flotsam Fight once more, literally: plain lists and sets, written from the rules page alone. The engine's events tell it of chance."""

CARDS = [c for c in range(3, 99) if any(c % b == 0 for b in range(3, 11))]


class Oracle:
    """Follows a game. ``legal()`` and ``turn(action)`` say what the rules say; chance is taken from the events it is given."""

    def __init__(self, players, rounds=3, lead_may_pass=False):
        self.players = players
        self.rounds = rounds
        self.lead_may_pass = lead_may_pass
        self.points = [0] * players
        self.plus_twos = [0] * players
        self.round = 0
        self.minus_holder = None
        self.over = False
        self.truncated = False
        self.winners = []

    def deal(self, event):
        """F3, F4."""
        assert event["event"] == "deal"
        self.round += 1
        assert event["round"] == self.round
        size = 8 if self.players == 6 else 10
        assert len(event["hands"]) == self.players
        assert all(len(hand) == size and hand == sorted(hand) for hand in event["hands"])
        dealt = [card for hand in event["hands"] for card in hand]
        assert len(set(dealt)) == len(dealt)
        assert set(dealt) <= set(CARDS)
        self.hands = [set(hand) for hand in event["hands"]]
        self.pile = set(CARDS) - set(dealt)
        self.aside = set()
        self.boats = {b: [] for b in range(3, 11)}
        self.out = set()
        self.mover = event["starter"]
        if self.round > 1:
            assert self.mover == self.minus_holder
        self.last_player = None
        self.decisions = 0

    def can_load(self, card, boat):
        """F6."""
        if card % boat != 0:
            return False
        active = [b for b in self.boats if self.boats[b]]
        if boat in active:
            return card > self.boats[boat][-1]
        return len(active) < self.players

    def legal(self):
        found = [f"{c}>{b}" for c in self.hands[self.mover] for b in self.boats if self.can_load(c, b)]
        if any(self.boats.values()) or self.lead_may_pass:  # F12
            found.append("pass")
        return sorted(found)

    def turn(self, action, events):
        """One turn; ``events`` is what the engine says happened. Returns the points of each seat in a round that this turn ended."""
        events = list(events)
        points = None
        seat = self.mover
        self.decisions += 1
        if action == "pass":
            self.out.add(seat)
        else:
            card, boat = map(int, action.split(">"))
            assert self.can_load(card, boat)
            self.hands[seat].remove(card)
            self.boats[boat].append(card)
            self.last_player = seat
        if not self.hands[seat]:
            points = self.end_round(seat, events)
        else:
            self.who_is_next(seat, events)
            if self.decisions == 600:
                self.over = self.truncated = True
        assert not events, f"more happened than the rules say: {events}"
        return points

    def who_is_next(self, seat, events):
        """F9."""
        still_in = [p for p in range(self.players) if p not in self.out]
        if len(still_in) == 1:
            last = still_in[0]
            if len(self.hands[last]) > 1:
                return self.reset(last, events)
            self.mover = last
            return None
        if not still_in:
            return self.reset(seat, events)
        turn = seat
        while True:
            turn = (turn + 1) % self.players
            if turn in still_in:
                self.mover = turn
                return None

    def reset(self, last, events):
        """F10, F11, F12."""
        starter = last if self.last_player is None else self.last_player
        assert events.pop(0) == {"event": "reset", "starter": starter}
        for cards in self.boats.values():
            self.aside |= set(cards)
            cards.clear()
        self.out.clear()
        order = [(starter + k) % self.players for k in range(self.players)]
        for player in [p for p in order if len(self.hands[p]) == 1]:
            for _ in range(2):
                if not self.pile:
                    assert events.pop(0) == {"event": "shuffle"}
                    self.pile, self.aside = self.aside, set()
                drawn = events.pop(0)
                assert drawn["event"] == "draw"
                assert drawn["player"] == player
                self.pile.remove(drawn["card"])
                self.hands[player].add(drawn["card"])
        self.mover = starter

    def end_round(self, winner, events):
        """F8, F13, F14, F15."""
        highest = {p: max(self.hands[p]) for p in range(self.players) if p != winner}
        points = [0] * self.players
        points[winner] = 2
        points[min(highest, key=highest.get)] += 1
        self.minus_holder = max(highest, key=highest.get)
        points[self.minus_holder] -= 1
        assert events.pop(0) == {"event": "round_end", "points": points}
        self.plus_twos[winner] += 1
        for p in range(self.players):
            self.points[p] += points[p]
        if self.round == self.rounds:
            self.over = True
            standing = [(self.points[p], self.plus_twos[p], points[p]) for p in range(self.players)]
            self.winners = [p for p in range(self.players) if standing[p] == max(standing)]
            self.standing = standing
        else:
            self.deal(events.pop(0))
        return points

    def returns(self, reward):
        """What each seat has earned by the end of the game."""
        others = self.players - 1
        if reward == "round":
            return list(self.points)
        if self.truncated:
            return [0.0] * self.players
        if reward == "placement":
            return [sum((mine > theirs) - (mine < theirs) for theirs in self.standing) / others for mine in self.standing]
        alone = [[1.0 if p == w else -1 / others for p in range(self.players)] for w in self.winners]
        return [sum(column) / len(alone) for column in zip(*alone, strict=True)]
