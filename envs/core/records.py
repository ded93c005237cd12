"""Game records: finished games as JSON Lines, written, read and replayed.

A record is a header, then events and decisions in the order in which they happened, then a last line; every line is compact ASCII JSON::

    {"record":"deckhand/1","game":"flotsam_fight","players":3,"options":{...},"seed":7}
    {"event":"deal",...}
    {"player":1,"legal":["12>3","pass"],"action":"12>3","rewards":[0,0,0]}
    {"scores":[...],"winners":[...],"returns":[...],"truncated":false}
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from .chance import GivenChance
from .errors import DeckhandError, IllegalAction, RecordError
from .game import Game, plain_number
from .options import Options, check_seed
from .position import Position, is_allowed
from .registry import game_names, get_game

VERSION = "deckhand/1"
HEADER = ["record", "game", "players", "options", "seed"]
DECISION = ["player", "legal", "action", "rewards"]

_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


@dataclass(frozen=True)
class Line:
    """One line of a record: its number in the file (from 1), its text without the newline, and the JSON object it holds."""

    number: int
    text: str
    data: dict[str, Any]


@dataclass(frozen=True)
class GameRecord:
    """One record as it stands in a file: well-formed, but not yet checked against the rules (:func:`replay` does that)."""

    game: Game
    num_players: int
    options: Options
    seed: int
    header: Line
    body: tuple[Line, ...]
    """Events and decisions."""
    last: Line

    @property
    def decisions(self) -> list[Line]:
        """The lines of the decisions."""
        return [line for line in self.body if "event" not in line.data]

    @property
    def events(self) -> list[Line]:
        """The lines of the events."""
        return [line for line in self.body if "event" in line.data]


def record_game(
    game: Game, num_players: int, options: Mapping[str, Any] | Options, seed: int, choose: Callable[[Position], int]
) -> list[str]:
    """Play one game and return the lines of its record, each ended by a newline.

    ``choose`` is shown the position (the referee's: do not write to it) and returns the action id of the seat to move;
    :class:`IllegalAction` if that is illegal, :class:`OptionError` for a wrong player count, option or seed.
    """
    parsed = game.parse_options(options)
    position = Position.new(game, num_players, parsed, seed)
    made = [_header(game, position.num_players, parsed, check_seed(seed)), *position.events()]
    while not position.is_over:
        mask = position.mask()
        names = {int(a): position.action_to_string(int(a)) for a in mask.nonzero()[0]}
        player = position.to_move
        action = choose(position)
        if not is_allowed(action, mask):
            raise IllegalAction(position.explain_illegal(action))
        game.loops.advance(position.states, 0, int(action))
        made.append(_decision(player, sorted(names.values()), names[int(action)], position))
        made.extend(position.events())
    made.append(position.outcome())
    return [_encode(data) + "\n" for data in made]


def load_records(path: str | Path) -> Iterator[GameRecord]:
    """The records of a file; see :func:`read_records`."""
    with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
        yield from read_records(file)


def read_records(lines: Iterable[str]) -> Iterator[GameRecord]:
    """The records that stand one after another in ``lines``, each line ended by its newline.

    :class:`RecordError` names the first line that is malformed and what is wrong with it: JSON, header, version, game, player count,
    options, fields, a cut file. Whether the game was played by the rules is for :func:`replay` to say.
    """
    header: Line | None = None
    body: list[Line] = []
    number = 0
    for number, text in enumerate(lines, 1):
        line = _parse(number, text)
        if header is None:
            start, header, body = _read_header(line), line, []
        elif "record" in line.data:
            _refuse(number, f"a new record begins, but the record of line {header.number} has no last line: it is cut")
        elif _is_last(line):
            yield GameRecord(*start, header, tuple(body), line)
            header = None
        else:
            body.append(line)
    if header is not None:
        _refuse(number, f"the record of line {header.number} is cut: it has no last line")


def replay(record: GameRecord, chance: Literal["seed", "given"] = "seed") -> Iterator[Position]:
    """Play a record again and check every line of it; yields the position after the deal and after every decision (copies).

    ``chance="seed"`` deals from the header's seed and wants every line byte for byte. ``chance="given"`` takes what chance did from the
    events, for records of another generator or of a real table; numbers are then compared by value, to nine decimals.
    :class:`RecordError` names the first line that the rules do not produce. The record is good when the iterator ends.
    """
    if chance not in ("seed", "given"):
        raise ValueError(f"chance cannot be {chance!r}; allowed are 'seed' and 'given'")
    game = record.game
    check = _Checker(record, exact=chance == "seed")
    given = None if chance == "seed" else GivenChance(game, _outcomes(record))
    check.compare(record.header, _header(game, record.num_players, record.options, record.seed))
    template = game.template(record.num_players, record.options)
    position = Position(game, game.allocate(1))
    if given is None:
        game.loops.restart(position.states, template, 0, record.seed)
    else:
        given.restart(position.states, template, record.seed)
    check.events(position)
    yield position.clone()
    while not position.is_over:
        line = check.next_decision(position)
        player = position.to_move
        legal = position.legal_strings()
        action = check.action(line, position, legal)
        if given is None:
            game.loops.advance(position.states, 0, action)
        else:
            given.advance(position.states, action)
        check.compare(line, _decision(player, legal, line.data["action"], position))
        check.events(position)
        yield position.clone()
    check.end(position)


class _Checker:
    """Walks along the lines of a record and compares them with what the rules produce."""

    def __init__(self, record: GameRecord, exact: bool) -> None:
        self._lines = iter([*record.body, record.last])
        self._last = record.last
        self._exact = exact

    def compare(self, line: Line, made: dict[str, Any]) -> None:
        text = _encode(made)
        if line.text == text or (not self._exact and _by_value(line.text) == _by_value(text)):
            return
        hint = " (chance='given' takes the events of another generator)" if self._exact and "event" in made else ""
        _refuse(line.number, _difference(line.data, made) + hint)

    def events(self, position: Position) -> None:
        for made in position.events():
            line = next(self._lines)
            if "event" not in line.data:
                _refuse(line.number, f"the event {_encode(made)} is missing before this line")
            self.compare(line, made)

    def next_decision(self, position: Position) -> Line:
        line = next(self._lines)
        if "event" in line.data:
            _refuse(line.number, f"the rules do not produce the event {line.text} here")
        if line is self._last:
            _refuse(line.number, f"this last line comes too early: player {position.to_move} is to move")
        return line

    def action(self, line: Line, position: Position, legal: list[str]) -> int:
        if line.data["player"] != position.to_move:
            _refuse(line.number, f'"player" is {_encode(line.data["player"])}, the rules give {position.to_move}')
        try:
            action = position.string_to_action(line.data["action"])
        except IllegalAction as error:
            _refuse(line.number, str(error))
        if line.data["legal"] != legal:
            _refuse(line.number, _difference({"legal": line.data["legal"]}, {"legal": legal}))
        return action

    def end(self, position: Position) -> None:
        line = next(self._lines)
        if line is not self._last:
            _refuse(line.number, "the game is over before this line")
        self.compare(line, position.outcome())


def _header(game: Game, num_players: int, options: Options, seed: int) -> dict[str, Any]:
    return {"record": VERSION, "game": game.name, "players": num_players, "options": options.model_dump(mode="json"), "seed": seed}


def _decision(player: int, legal: list[str], action: str, after: Position) -> dict[str, Any]:
    rewards = [plain_number(r) for r in after.states["reward"][0, : after.num_players]]
    return {"player": player, "legal": legal, "action": action, "rewards": rewards}


def _outcomes(record: GameRecord) -> list[Any]:
    """What chance did, from the events; :class:`RecordError` names an event that cannot be read."""
    lines = record.events

    def read(count: int) -> list[Any]:
        return list(record.game.chance(record.num_players, record.options, [line.data for line in lines[:count]])) if count else []

    unreadable = (LookupError, TypeError, ValueError, AttributeError)
    try:
        return read(len(lines))
    except unreadable:
        for count, line in enumerate(lines, 1):
            try:
                read(count)
            except unreadable:
                _refuse(line.number, f"{record.game.name} cannot have this event: {_short(line.data)}")
        raise


def _parse(number: int, text: str) -> Line:
    if not text.endswith("\n"):
        _refuse(number, "the line is cut: it does not end with a newline")
    text = text[:-1]
    try:
        data = json.loads(text)
        compact = _encode(data)
    except (ValueError, RecursionError):
        _refuse(number, "this is not JSON" if text.strip() else "this line is empty")
    if not isinstance(data, dict):
        _refuse(number, "this is no JSON object")
    if compact != text:
        _refuse(number, "this is not compact ASCII JSON (separators ',' and ':', no field twice)")
    return Line(number, text, data)


def _read_header(line: Line) -> tuple[Game, int, Options, int]:
    """Game, player count, options and seed of a header line."""
    data = line.data
    if "record" not in data:
        _refuse(line.number, f'a record must begin with its header {{"record":"{VERSION}",...}}')
    if data["record"] != VERSION:
        _refuse(line.number, f'unknown version {data["record"]!r}; this reader knows "{VERSION}"')
    _check_fields(line, data, HEADER, "the header")
    if data["game"] not in game_names():
        _refuse(line.number, f"unknown game {data['game']!r}; the games are: {', '.join(game_names())}")
    game = get_game(data["game"])
    if not isinstance(data["options"], dict):
        _refuse(line.number, f'"options" cannot be {data["options"]!r}: it must be an object')
    try:
        options = game.parse_options(data["options"])
        players, seed = game.check_players(data["players"]), check_seed(data["seed"])
    except DeckhandError as error:
        _refuse(line.number, str(error))
    _check_fields(line, data["options"], list(game.options.model_fields), f"the options of {game.name}")
    return game, players, options, seed


def _is_last(line: Line) -> bool:
    """Whether this is the last line of a record; refuses what is no event or decision either."""
    first = next(iter(line.data), None)
    if first == "event":
        if not isinstance(line.data["event"], str):
            _refuse(line.number, '"event" must be a string')
    elif first == "player":
        _check_fields(line, line.data, DECISION, "a decision")
        legal = line.data["legal"]
        if not isinstance(line.data["action"], str) or not isinstance(legal, list) or not all(isinstance(a, str) for a in legal):
            _refuse(line.number, '"action" must be a string and "legal" a list of strings')
    elif first != "scores":
        _refuse(line.number, 'this is no event, decision or last line: it must begin with "event", "player" or "scores"')
    return first == "scores"


def _check_fields(line: Line, data: Mapping[str, Any], fields: list[str], what: str) -> None:
    if list(data) == fields:
        return
    wrong = [f"lacks {f!r}" for f in fields if f not in data] + [f"cannot have {f!r}" for f in data if f not in fields]
    _refuse(line.number, f"{what} {wrong[0] if wrong else 'must have its fields in another order'}; in order: {', '.join(fields)}")


def _by_value(text: str) -> str:
    """The line with numbers as values: ``-1.0`` is ``-1``."""
    return _encode(json.loads(text, parse_float=lambda number: plain_number(round(float(number), 9))))


def _difference(found: dict[str, Any], made: dict[str, Any]) -> str:
    """What differs between a line and what the rules produce, short enough to read."""
    if list(found) != list(made) or found.get("event") != made.get("event"):
        return f"found {_short(found)}, the rules give {_short(made)}"
    for name, value in made.items():
        if _encode(found[name]) == _encode(value):
            continue
        if name == "legal":
            extra, lacking = [[a for a in x if a not in y] for x, y in ((found[name], value), (value, found[name]))]
            if extra or lacking:
                return f'"legal" has {_short(extra)} too many and lacks {_short(lacking)}'
            return '"legal" is not sorted by code point, or names an action twice'
        return f'"{name}" is {_short(found[name])}, the rules give {_short(value)}'
    return "numbers are written in another way than the rules give"


def _short(value: Any) -> str:
    text = _encode(value)
    return text if len(text) <= 200 else text[:200] + "..."


def _refuse(number: int, what: str) -> NoReturn:
    raise RecordError(f"line {number}: {what}") from None
