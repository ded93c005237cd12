"""A checker for games: whoever writes one more game gets the same tests that ours pass. Needs no test framework.

Two callers are meant: a test suite, which asks for one player count and option set at a time, and a person at a prompt, who writes
``check_game("my_game")``.
"""

import copy
import json
import pickle
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, get_args, get_origin

import numpy as np

from .errors import IllegalAction, OptionError
from .game import Game
from .position import Position
from .registry import game_names, get_game
from .rng import MAX_SEED, derive_seed

DECISION_LIMIT = 200_000
"""A game of random play that is longer than this counts as endless."""
_ENOUGH = 50
"""In so many views that hide something, resample must have drawn something else than the truth."""
_BLANKED = ("seed", "rng", "log", "log_size")

Invariant = Callable[[Position], None]


class CheckFailed(AssertionError):
    """A promise that a game does not keep; one line names the game, players, options, seed, decision and promise."""


@dataclass
class CheckReport:
    """What a run of :func:`check_game` has seen."""

    game: str
    games: int = 0
    decisions: int = 0
    """Positions in which the cheap checks were made."""
    thorough: int = 0
    """Positions in which all checks were made."""
    truncated: int = 0
    """Games that ended by a limit."""
    phases: Counter[str] = field(default_factory=Counter)
    """How often each phase was visited."""
    events: Counter[str] = field(default_factory=Counter)
    """How often each kind of event was seen."""
    worlds: int = 0
    """Positions drawn by ``resample``."""
    differing: int = 0
    """Drawn positions that differ from the truth in a hidden fact."""
    varying: int = 0
    """Pairs of seeds that drew two different positions."""
    hidden: int = 0
    """Views of running games that hide something beside the generator."""
    longest_log: int = 0


def option_sets(game: Game, num_players: int) -> list[dict[str, Any]]:
    """The defaults, then every other value of each option with the rest at its default; integers stand at both bounds.

    Combinations that the game refuses for this player count are left out.
    """
    found: list[dict[str, Any]] = [{}]
    for name, info in game.options.model_fields.items():
        for value in _values(info):
            if value == info.default and type(value) is type(info.default):
                continue
            try:
                game.template(num_players, {name: value})
            except OptionError:
                continue
            found.append({name: value})
    return found


def _values(info: Any) -> list[Any]:
    annotation = info.annotation
    if annotation is bool:
        return [False, True]
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    if annotation is int:
        bounds = []
        for constraint in info.metadata:
            for name, inward in (("ge", 0), ("gt", 1), ("le", 0), ("lt", -1)):
                if hasattr(constraint, name):
                    bounds.append(getattr(constraint, name) + inward)
        return bounds
    if type(None) in get_args(annotation):
        return [None]
    return []


def check_game(
    game: Game | str,
    *,
    players: int | None = None,
    options: Mapping[str, Any] | None = None,
    games: int = 2,
    seed: int = 0,
    checked_decisions: int = 400,
    thorough: float = 0.1,
    invariant: Invariant | None = None,
) -> CheckReport:
    """Play random games and test every promise that the contract makes about single positions and batches.

    ``players`` is one player count (default: all), ``options`` one set of options (default: :func:`option_sets`), ``games`` the number of
    games of each; their seeds come from ``seed``. The first ``checked_decisions`` of a game are checked, the rest is only played.
    A share ``thorough`` of the positions, and the first ones of every phase, get the costly checks too. ``invariant`` is called with every
    checked position and every world drawn by ``resample``; whatever it raises is reported. Raises :class:`CheckFailed`.
    """
    game = get_game(game) if isinstance(game, str) else game
    report = CheckReport(game.id)
    if game.name not in game_names() or get_game(game.name) is not game:
        raise CheckFailed(f"{game.id}: register the game first; pickled positions find it by its name {game.name!r}")
    counts = range(game.min_players, game.max_players + 1) if players is None else [game.check_players(players)]
    for n in counts:
        for chosen in option_sets(game, n) if options is None else [dict(options)]:
            run = _Run(game, n, chosen, report, checked_decisions, thorough, invariant)
            run.guard(run.check_inputs)
            run.guard(run.check_seeds, seed)
            for k in range(games):
                run.guard(run.check_one_game, int(derive_seed(seed, k)))
            run.guard(run.check_batch, seed)
    if report.hidden >= _ENOUGH and not report.differing:
        raise CheckFailed(f"{game.id}: resample always gives the true position although views hide something")
    if report.hidden >= _ENOUGH and not report.varying:
        raise CheckFailed(f"{game.id}: resample must draw among the worlds that fit, but two seeds never gave two worlds")
    return report


class _Run:
    """The checks of one player count and option set."""

    def __init__(
        self,
        game: Game,
        num_players: int,
        options: dict[str, Any],
        report: CheckReport,
        checked_decisions: int,
        thorough: float,
        invariant: Invariant | None,
    ) -> None:
        self.game = game
        self.n = num_players
        self.options = options
        self.report = report
        self.checked_decisions = checked_decisions
        self.thorough = thorough
        self.invariant = invariant
        self.low, self.high = game.layout.bounds()
        self.seed = 0
        self.decision = 0
        self.worlds = 0
        self.rng = random.Random(0)

    # Failing.

    def where(self) -> str:
        return f"{self.game.id}, {self.n} players, options {self.options}, seed {self.seed}, decision {self.decision}"

    def require(self, kept: Any, promise: str) -> None:
        if not kept:
            raise CheckFailed(f"{self.where()}: {promise}")

    def guard(self, check: Callable[..., None], *args: Any) -> None:
        """Run a check; an error inside the game is a broken promise too."""
        try:
            check(*args)
        except CheckFailed:
            raise
        except Exception as error:
            text = " ".join(str(error).split())
            raise CheckFailed(f"{self.where()}: {type(error).__name__}: {text}") from error

    # Before the first decision.

    def new(self, seed: int) -> Position:
        return Position.new(self.game, self.n, self.options, seed)

    def check_inputs(self) -> None:
        """Wrong player counts, options and seeds are refused."""
        game = self.game
        wrong: Any
        wrong_options: Any
        for wrong in (game.min_players - 1, game.max_players + 1, -1, True, 2.0, "2", None):
            self.require(self.refused(partial(game.deal, wrong, {}, [0])), f"{wrong!r} players must be refused with an OptionError")
        for wrong_options in ({"no_such_option": 1}, *({name: object()} for name in game.options.model_fields)):
            self.require(
                self.refused(partial(game.deal, self.n, wrong_options, [0])),
                f"options {wrong_options} must be refused with an OptionError",
            )
        for wrong in (-1, MAX_SEED + 1, 1.5, "1", None, True):
            self.require(
                self.refused(partial(Position.new, self.game, self.n, self.options, wrong)),
                f"seed {wrong!r} must be refused with an OptionError",
            )

    @staticmethod
    def refused(attempt: Callable[[], Any]) -> bool:
        try:
            attempt()
        except OptionError as error:
            return "\n" not in str(error)
        return False

    def check_seeds(self, seed: int) -> None:
        """The same seed gives the same game; if the deal uses chance, seeds give different games."""
        self.seed = seed
        dealt = [self.new(derive_seed(seed, k)) for k in range(8)]
        self.require(all(p == self.new(derive_seed(seed, k)) for k, p in enumerate(dealt)), "the same seed must deal the same game")
        unused = np.zeros(4, np.int64)
        self.game.loops.seed_rng(unused, seed, 0)
        if not np.array_equal(unused, dealt[0].record["rng"]):
            self.require(len({self.facts(p) for p in dealt}) > 1, "eight seeds must not all deal the same game")
        self.require(len(self.new(MAX_SEED).legal_actions()) > 0, "the largest seed must deal a playable game")

    def facts(self, p: Position) -> bytes:
        """The position without generator, seed and log."""
        q = p.clone()
        for name in _BLANKED:
            q.states[name] = 0
        return q.states.tobytes()

    # One game.

    def check_one_game(self, seed: int) -> None:
        game, n = self.game, self.n
        self.seed, self.decision, self.worlds = seed, 0, 0
        self.rng = random.Random(seed)
        p = self.new(seed)
        actions: list[int] = []
        kept: list[tuple[Position, bytes]] = []
        sums = np.zeros(game.max_players)
        seen: Counter[str] = Counter()
        self.require(not p.is_over, "a new game must have a decision to make")
        while True:
            self.decision = len(actions)
            if self.decision < self.checked_decisions or p.is_over:
                self.check_position(p, sums)
                seen[p.phase] += 1
                if p.is_over or seen[p.phase] <= 2 or self.rng.random() < self.thorough:
                    self.report.thorough += 1
                    before = p.states.tobytes()
                    self.check_actions(p)
                    self.check_copies(p)
                    self.check_knowledge(p)
                    self.check_drawing(p)
                    self.require(p.states.tobytes() == before, "looking at a position must not change it")
                kept.append((p.clone(), p.states.tobytes()))
            if p.is_over:
                break
            action = self.choose(p)
            p.apply(action)
            actions.append(action)
            sums[:n] += p.record["reward"][:n]
            self.require(len(actions) < DECISION_LIMIT, f"random play must end within {DECISION_LIMIT} decisions")
        self.require(all(q.states.tobytes() == data for q, data in kept), "copies of earlier positions must not change")
        again = self.new(seed)
        for k, action in enumerate(actions):
            if k < min(len(kept), self.checked_decisions):
                self.require(again.states.tobytes() == kept[k][1], f"a replay of the same actions must be equal at decision {k}")
            again.apply(action)
        self.require(again == p, "a replay of the same actions must end equally")
        self.report.games += 1
        self.report.truncated += int(p.record["truncated"])

    def choose(self, p: Position) -> int:
        return self.rng.choice(p.legal_actions())

    def check_position(self, p: Position, sums: Any) -> None:
        """The cheap checks."""
        game, n, record = self.game, self.n, p.record
        self.report.decisions += 1
        self.check_header(p)
        self.report.phases[p.phase] += 1
        self.require(int(record["decisions"]) == self.decision, "the record must count the decisions")
        self.require(np.allclose(record["returns"], sums, rtol=0, atol=1e-9), "returns must be the sums of the rewards")
        mask = p.mask()
        self.require(mask.dtype == np.bool_ and mask.shape == (game.num_actions,), "a mask must be bool of shape (num_actions,)")
        self.require(mask.any() != p.is_over, "a mover has a legal action, and a finished game has none")
        for seat in range(n):
            self.check_observation(p, seat)
        legal = p.legal_actions()
        strings = [p.action_to_string(a) for a in legal]
        self.require(len(set(strings)) == len(strings), f"action strings must be unique here: {sorted(strings)}")
        for a, text in zip(legal, strings, strict=True):
            self.require(p.string_to_action(text) == a, f"the action string {text!r} must give back {a}")
        for event in p.events():
            self.require(
                next(iter(event), "") == "event" and json.loads(json.dumps(event)) == event, f"the event {event!r} must be plain JSON"
            )
            self.report.events[event["event"]] += 1
        if self.invariant:
            self.invariant(p)

    def check_header(self, p: Position) -> None:
        """The fields that generic code reads make sense together."""
        game, n, r = self.game, self.n, p.record
        self.require(int(r["players"]) == n, "the player count must not change")
        self.require(int(r["terminal"]) in (0, 1) and int(r["truncated"]) in (0, 1), "terminal and truncated must be 0 or 1")
        over = bool(r["terminal"]) != bool(r["truncated"])
        self.require(not (r["terminal"] and r["truncated"]), "a game must not be both terminated and truncated")
        self.require((p.to_move == -1) == over, "to_move must be -1 exactly when the game is over")
        self.require(-1 <= p.to_move < n, f"to_move cannot be {p.to_move}")
        self.require(0 <= int(r["phase"]) < len(game.phases), f"phase cannot be {int(r['phase'])}")
        self.require(
            0 <= int(r["log_size"]) <= len(r["log"]), f"the log of {len(r['log'])} numbers must not overflow ({int(r['log_size'])})"
        )
        self.report.longest_log = max(self.report.longest_log, int(r["log_size"]))
        for name in ("reward", "returns", "score", "winner"):
            self.require(not np.any(r[name][n:]), f"{name} must be zero for seats that do not take part")
            self.require(np.isfinite(r[name]).all(), f"{name} must be finite")
        self.require(set(r["winner"].tolist()) <= {0, 1}, "winner must be 0 or 1 for every seat")
        self.require(r["terminal"] or not np.any(r["winner"]), "only a game that ended by its rules may have winners")
        self.require(
            game.cooperative or not r["terminal"] or np.any(r["winner"]), "a competitive game that ended by its rules must have a winner"
        )
        outcome = p.outcome()
        self.require(json.loads(json.dumps(outcome)) == outcome, "the outcome must be plain JSON")
        self.require(
            [*outcome][:2] == ["scores", "winners"] and [*outcome][-2:] == ["returns", "truncated"],
            "the outcome's fields must keep their order",
        )
        self.require(np.array_equal(outcome["returns"], r["returns"][:n]), "the outcome's returns must be the record's")

    def check_observation(self, p: Position, seat: int) -> None:
        seen = p.observation(seat)
        self.require(
            seen.dtype == np.float32 and seen.shape == (self.game.layout.size,), "an observation must be float32 of shape (layout.size,)"
        )
        wrong = np.flatnonzero(~((self.low <= seen) & (seen <= self.high)))
        for i in wrong[:1]:
            piece = next(name for name, s in self.game.layout.slices.items() if s.start <= i < s.stop)
            bounds = f"{self.low[i]:g} to {self.high[i]:g}"
            self.require(False, f"observation[{i}] ({piece}) of seat {seat} is {seen[i]!r}, outside {bounds}")

    def check_actions(self, p: Position) -> None:
        """Every action id: accepted exactly where the mask says so, and nothing changes where it is refused."""
        before = p.states.tobytes()
        mask = p.mask()
        for action in range(self.game.num_actions):
            q = p.clone()
            try:
                q.apply(action)
                accepted = True
            except IllegalAction as error:
                accepted = False
                self.require(
                    str(action) in str(error) and "\n" not in str(error), "the error of an illegal action must name it in one line"
                )
                self.require(q.states.tobytes() == before, f"the illegal action {action} must change nothing")
            self.require(
                accepted == mask[action], f"action {action} must be accepted exactly if its mask bit is set ({bool(mask[action])})"
            )
            if accepted:
                self.check_header(q)
        wrong: Any
        for wrong in (-1, self.game.num_actions, 2**63, True, 0.0, None, "0"):
            self.require(self.illegal(partial(p.apply, wrong)), f"action {wrong!r} must be refused with an IllegalAction")
        for text in ("", " ", "no action", "-1", "0x1", "\u0663", "9" * 30, *(f" {t}" for t in p.legal_strings()[:2])):
            self.require(self.illegal(partial(p.string_to_action, text)), f"action string {text!r} must be refused with an IllegalAction")
        mask[:] = ~mask
        self.require(not np.array_equal(mask, p.mask()), "a mask must be the caller's own array")
        self.require(p.states.tobytes() == before, "refused actions must change nothing")

    @staticmethod
    def illegal(attempt: Callable[[], Any]) -> bool:
        try:
            attempt()
        except IllegalAction as error:
            return "\n" not in str(error)
        return False

    def check_copies(self, p: Position) -> None:
        """Four ways to copy; every copy goes on as the original would, and does not touch it."""
        before = p.states.tobytes()
        copies = [p.clone(), pickle.loads(pickle.dumps(p)), copy.deepcopy(p), copy.copy(p), Position.from_json(self.game, p.to_json())]
        for q in copies:
            self.require(
                type(q) is type(p) and q == p and hash(q) == hash(p), "clone, pickle, copy, deepcopy and JSON must give the position back"
            )
        for _ in range(12):
            if copies[0].is_over:
                break
            action = self.choose(copies[0])
            for q in copies:
                q.apply(action)
            self.require(len({q.states.tobytes() for q in copies}) == 1, "all copies must go on equally")
        self.require(p.states.tobytes() == before, "playing on a copy must not change the original")

    def check_knowledge(self, p: Position) -> None:
        """A seat is shown what it knows, in every way the same, and nothing else."""
        for seat in range(self.n):
            view = p.view(seat)
            seen = p.observation(seat)
            self.require(view.view(seat) == view, f"the view of a view must be that view (seat {seat})")
            self.require(view.to_move == p.to_move and view.phase == p.phase, f"a view must keep to_move and phase (seat {seat})")
            self.require(seen.tobytes() == view.observation(seat).tobytes(), f"seat {seat}'s observation must come from what it knows")
            self.require(view.events() == [], "a view must have an empty log")
            if p.to_move == seat:
                self.require(np.array_equal(p.mask(), view.mask()), f"seat {seat}'s mask must come from what it knows")
                self.require(p.legal_strings() == view.legal_strings(), f"seat {seat}'s action strings must come from what it knows")
            if p.is_over:
                continue
            self.report.hidden += self.facts(p) != view.states.tobytes()
            first, second = (self.check_world(p, seat, view, self.rng.randrange(MAX_SEED)) for _ in range(2))
            self.report.varying += first != second

    def check_world(self, p: Position, seat: int, view: Position, seed: int) -> bytes:
        """A drawn world cannot be told from the truth by the seat, and it is a proper game."""
        world = p.resample(seat, seed)
        facts = self.facts(world)
        self.report.worlds += 1
        self.report.differing += facts != self.facts(p)
        self.require(world == view.resample(seat, seed), f"resample must depend only on what seat {seat} knows and the seed")
        self.require(world.view(seat) == view, f"a drawn world must look the same to seat {seat}")
        self.require(
            world.observation(seat).tobytes() == p.observation(seat).tobytes(), f"seat {seat}'s observation must not show hidden facts"
        )
        if p.to_move == seat:
            self.require(np.array_equal(world.mask(), p.mask()), f"seat {seat}'s mask must not show hidden facts")
        self.check_header(world)
        for other in range(self.n):
            self.check_observation(world, other)
        if self.invariant:
            self.invariant(world)
        # The first worlds of a game are played to their end, the rest only for a while: most errors show soon.
        self.worlds += 1
        limit = DECISION_LIMIT if self.worlds <= 4 else 40
        for _ in range(limit):
            if world.is_over:
                break
            self.game.loops.advance(world.states, 0, self.choose(world))
        self.require(world.is_over or limit < DECISION_LIMIT, "a drawn world must be playable to its end")
        self.check_header(world)
        if self.invariant:
            self.invariant(world)
        return facts

    def check_drawing(self, p: Position) -> None:
        """Text and drawing of every view and of the whole position; no display is needed."""
        for q in (p, *(p.view(seat) for seat in range(self.n))):
            before = q.states.tobytes()
            self.require(isinstance(str(q), str) and str(q).strip(), "the description must not be empty")
            svg = self.game.paint(q.record).svg()
            self.require(svg.startswith("<svg") and svg.endswith("</svg>"), "the drawing must be an SVG document")
            self.require('"nan' not in svg and '"inf' not in svg, "the drawing must have finite coordinates")
            self.require(q.states.tobytes() == before, "drawing must not change the position")
        if not p.is_over:
            seat = self.rng.randrange(self.n)
            world = p.resample(seat, self.rng.randrange(MAX_SEED))
            for text in (Position.ansi, lambda v: self.game.paint(v.record).svg()):
                self.require(text(world.view(seat)) == text(p.view(seat)), f"drawings for seat {seat} must not show hidden facts")

    # Many games at once.

    def check_batch(self, seed: int) -> None:
        """The loops over batches do what single positions do."""
        game, n, size = self.game, self.n, 3
        self.seed = seed
        self.rng = random.Random(seed)
        loops = game.loops
        template = game.template(n, self.options)
        seeds = np.array([derive_seed(seed, 100 + k) for k in range(size)], np.int64)
        played = np.zeros(size, np.int64)
        states = game.deal(n, self.options, seeds.tolist())
        singles = [self.new(int(s)) for s in seeds]
        masks = np.ones((size, game.num_actions), np.bool_)
        observations = np.full((size, game.layout.size), np.nan, np.float32)
        movers = np.empty(size, np.int64)
        rewards = np.empty((size, game.max_players))
        terminated, truncated = np.empty(size, np.bool_), np.empty(size, np.bool_)
        generator = np.array([1, 2, 3, seed & 0xFFFF], np.int64)
        actions = np.empty(size, np.int64)
        for step in range(min(self.checked_decisions, 200)):
            self.decision = step
            loops.look(states, masks, observations, movers)
            for i, p in enumerate(singles):
                self.require(movers[i] == p.to_move, "look must give the movers of single positions")
                self.require(np.array_equal(masks[i], p.mask()), "look must give the masks of single positions")
                self.require(
                    observations[i].tobytes() == p.observation(p.to_move).tobytes(), "look must give the observations of single positions"
                )
            self.require(loops.find_illegal(masks, np.full(size, game.num_actions)) == 0, "find_illegal must find an action out of range")
            loops.sample_actions(masks, generator, actions)
            self.require(loops.find_illegal(masks, actions) == -1, "sample_actions must give legal actions")
            loops.advance_all(states, actions)
            loops.read_rewards(states, rewards, terminated, truncated)
            for i, p in enumerate(singles):
                p.apply(int(actions[i]))
                self.require(states[i : i + 1].tobytes() == p.states.tobytes(), "advance_all must equal single decisions")
                self.require(np.array_equal(rewards[i], p.record["reward"]), "read_rewards must give the rewards of single positions")
                self.require(
                    terminated[i] == bool(p.record["terminal"]) and truncated[i] == bool(p.record["truncated"]),
                    "read_rewards must give the ends",
                )
            loops.restart_finished(states, template, seeds, played)
            for i, p in enumerate(singles):
                if p.is_over:
                    singles[i] = self.new(derive_seed(int(seeds[i]), int(played[i])))
                self.require(
                    states[i : i + 1].tobytes() == singles[i].states.tobytes(), "restart_finished must deal the next game of the stream"
                )
