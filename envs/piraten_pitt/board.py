"""Piraten-Pitt: the board as a data file, read and checked."""

import json
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import rules

FORMAT = "piraten-pitt-board/1"
FOLDER = Path(__file__).parent / "boards"
NODE_SCALE = 10000
KINDS = ("bay", "hideout", "path", "arrow", "pirate_start")


@dataclass(frozen=True)
class Board:
    """A checked board; nodes are numbered in the order of the file."""

    name: str
    ids: tuple[str, ...]
    bay: int
    pirate_start: int
    hideouts: tuple[int, ...]
    arrow_fields: tuple[int, ...]
    neighbours: tuple[tuple[int, ...], ...]
    """Nodes beside each node, ascending."""
    xy: NDArray[np.int16]
    """Places (nodes, 2), x to the right and y upwards, in ten-thousandths of the largest coordinate."""

    def write(self, record: Any) -> None:
        """Write the board into a zeroed game record."""
        n = len(self.ids)
        record["nodes"] = n
        record["bay"] = self.bay
        record["pirate_start"] = self.pirate_start
        record["hideout"][:] = self.hideouts
        record["node_kind"][self.bay] = rules.BAY
        record["node_kind"][list(self.arrow_fields)] = rules.ARROW_FIELD
        record["node_kind"][list(self.hideouts)] = rules.HIDEOUT + np.arange(rules.GEMS)
        record["node_xy"][:n] = self.xy
        for node, beside in enumerate(self.neighbours):
            record["degree"][node] = len(beside)
            record["neighbour"][node, : len(beside)] = beside
            name = self.ids[node].encode("ascii")
            record["node_name"][node, : len(name)] = list(name)
        record["steps"][:, :n] = self.steps
        record["tour"] = self.tour

    @cached_property
    def steps(self) -> list[list[int]]:
        """Steps of a sailor where no pirate stands, from every node to each hideout and, last row, to the bay; the bay ends a move (22)."""
        found = []
        for goal in (*self.hideouts, self.bay):
            steps, todo = {goal: 0}, [goal]
            for node in todo:
                for beside in self.neighbours[node]:
                    if beside not in steps and (node != self.bay or node == goal):
                        steps[beside] = steps[node] + 1
                        todo.append(beside)
            found.append([steps[node] for node in range(len(self.ids))])
        return found

    @cached_property
    def tour(self) -> list[list[int]]:
        """``tour[left][h]``: the fewest steps from hideout ``h`` over the hideouts of the bit set ``left`` into the bay."""
        *to_hideout, to_bay = self.steps
        found: list[list[int]] = []
        for left in range(1 << rules.GEMS):
            following = [h for h in range(rules.GEMS) if left >> h & 1]
            ways = [[to_hideout[f][node] + found[left ^ (1 << f)][f] for f in following] for node in self.hideouts]
            found.append([min(way, default=to_bay[node]) for way, node in zip(ways, self.hideouts, strict=True)])
        return found


def board_names() -> list[str]:
    """Boards that come with the package."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def load_board(board: str) -> Board:
    """The board of a name, or of a file whose path ends with ``.json``.

    :class:`ValueError` says in one line what does not fit, and at which node; a hideout with more than one access field is a warning.
    """
    if board in board_names():
        path = FOLDER / f"{board}.json"
    elif board.endswith(".json"):
        path = Path(board)
    else:
        raise ValueError(f"unknown board; the boards are: {', '.join(board_names())}, or the path of a .json file")
    try:
        return _load(path, path.stat().st_mtime_ns)
    except OSError as error:
        raise ValueError(f"the board file cannot be read: {error.strerror}") from None


@lru_cache(maxsize=64)
def _load(path: Path, _modified: int) -> Board:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise ValueError("the board file is not JSON") from None
    return parse_board(data)


def parse_board(data: Any) -> Board:
    """The board of a file's content; :class:`ValueError` as :func:`load_board`."""
    _require(isinstance(data, Mapping), "the board must be a JSON object")
    _require(data.get("format") == FORMAT, f"the board's format must be {FORMAT!r}, not {data.get('format')!r}")
    for key, kind in (("name", str), ("bay", str), ("pirate_start", str), ("hideouts", list), ("arrow_fields", list), ("nodes", list)):
        _require(isinstance(data.get(key), kind), f"the board needs {key!r}, a {'text' if kind is str else 'list'}")
    _require(isinstance(data.get("adjacency"), Mapping), "the board needs 'adjacency', an object with a list of nodes for every node")
    nodes = data["nodes"]
    _require(len(nodes) <= rules.MAX_NODES, f"the board has {len(nodes)} nodes; at most {rules.MAX_NODES} are possible (rules.MAX_NODES)")
    ids, kinds, xy = _read_nodes(nodes)
    number = {name: node for node, name in enumerate(ids)}
    neighbours = _read_adjacency(data["adjacency"], number)
    bay = _one(kinds, "bay", data["bay"])
    start = _one(kinds, "pirate_start", data["pirate_start"])
    hideouts = _listed(kinds, "hideout", data["hideouts"])
    arrows = _listed(kinds, "arrow", data["arrow_fields"])
    _require(len(hideouts) == rules.GEMS, f"the board must have {rules.GEMS} hideouts, not {len(hideouts)}: {', '.join(hideouts)}")
    _check_connected(ids, neighbours, None)
    _check_connected(ids, neighbours, number[bay])
    for hideout in hideouts:
        degree = len(neighbours[number[hideout]])
        if degree != 1:
            warnings.warn(f"hideout {hideout!r} has {degree} access fields: a pirate cannot enclose a sailor there", stacklevel=2)
    largest = np.abs(xy).max() or 1.0
    return Board(
        data["name"],
        tuple(ids),
        number[bay],
        number[start],
        tuple(number[h] for h in hideouts),
        tuple(number[a] for a in arrows),
        neighbours,
        np.round(xy / largest * NODE_SCALE).astype(np.int16),
    )


def _require(kept: bool, problem: str) -> None:
    if not kept:
        raise ValueError(problem)


def _read_nodes(nodes: list[Any]) -> tuple[list[str], dict[str, str], NDArray[np.float64]]:
    """Ids in order, the kind of each, and the places."""
    kinds: dict[str, str] = {}
    places = []
    for k, node in enumerate(nodes):
        name: Any = node.get("id") if isinstance(node, Mapping) else None
        _require(isinstance(name, str), f"node number {k + 1} needs an 'id', a text")
        fits = name.isascii() and name.isprintable() and " " not in name and 1 <= len(name) <= rules.NAME_LENGTH
        _require(fits, f"node id {name!r} must be 1 to {rules.NAME_LENGTH} printable ASCII characters without spaces")
        _require(name not in kinds, f"node {name!r} stands twice in 'nodes'")
        kind = node.get("type")
        _require(kind in KINDS, f"node {name!r} cannot have type {kind!r}; allowed are {', '.join(KINDS)}")
        kinds[name] = kind
        place = node.get("xy")
        numbers = isinstance(place, list) and len(place) == 2 and all(type(v) in (int, float) for v in place)
        _require(numbers and bool(np.isfinite(place).all()), f"node {name!r} needs 'xy', two numbers")
        places.append(place)
    return list(kinds), kinds, np.array(places, np.float64).reshape(-1, 2)


def _read_adjacency(adjacency: Mapping[str, Any], number: Mapping[str, int]) -> tuple[tuple[int, ...], ...]:
    """The nodes beside each node."""
    for name in adjacency:
        _require(name in number, f"'adjacency' names the node {name!r}, which is not in 'nodes'")
    for name in number:
        beside: Any = adjacency.get(name)
        _require(isinstance(beside, list) and len(beside) > 0, f"node {name!r} needs a list of the nodes beside it in 'adjacency'")
        _require(
            len(beside) <= rules.MAX_DEGREE, f"node {name!r} has {len(beside)} nodes beside it; at most {rules.MAX_DEGREE} are possible"
        )
    for name in number:
        beside = adjacency[name]
        for other in beside:
            _require(isinstance(other, str) and other in number, f"node {name!r} lies beside {other!r}, which is not in 'nodes'")
            _require(other != name, f"node {name!r} cannot lie beside itself")
            _require(beside.count(other) == 1, f"node {name!r} lies beside {other!r} twice")
            _require(name in adjacency[other], f"node {name!r} lies beside {other!r}, but not the other way round")
    return tuple(tuple(sorted(number[other] for other in adjacency[name])) for name in number)


def _one(kinds: Mapping[str, str], kind: str, named: str) -> str:
    """The one node of a kind, which the file also names."""
    found = [name for name, k in kinds.items() if k == kind]
    _require(len(found) == 1, f"the board must have exactly one node of type {kind!r}, not {len(found)}: {', '.join(found) or 'none'}")
    _require(found[0] == named, f"{kind!r} names the node {named!r}, but the node of this type is {found[0]!r}")
    return found[0]


def _listed(kinds: Mapping[str, str], kind: str, named: list[Any]) -> list[str]:
    """All nodes of a kind, in the order in which the file lists them."""
    for name in named:
        _require(
            isinstance(name, str) and kinds.get(name) == kind, f"node {name!r} is listed as {kind}, but has type {_kind(kinds, name)!r}"
        )
        _require(named.count(name) == 1, f"node {name!r} is listed twice as {kind}")
    for name, k in kinds.items():
        _require(k != kind or name in named, f"node {name!r} has type {kind!r}, but is not listed as one")
    return named


def _kind(kinds: Mapping[str, str], name: Any) -> str | None:
    return kinds.get(name) if isinstance(name, str) else None


def _check_connected(ids: Iterable[str], neighbours: tuple[tuple[int, ...], ...], without: int | None) -> None:
    """Every node can be reached from every other one, also without the bay."""
    names = list(ids)
    first = next(node for node in range(len(names)) if node != without)
    reached, todo = {first}, [first]
    while todo:
        for node in neighbours[todo.pop()]:
            if node != without and node not in reached:
                reached.add(node)
                todo.append(node)
    lost = [name for node, name in enumerate(names) if node not in reached and node != without]
    where = "" if without is None else " without the bay"
    _require(not lost, f"the board is not connected{where}: {names[first]!r} and {', '.join(map(repr, lost))} are apart")
