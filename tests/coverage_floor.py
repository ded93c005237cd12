"""Fails unless the rules of the named games are covered: ``python tests/coverage_floor.py coverage.json GAME ...``."""

import json
import sys
from pathlib import Path

FLOOR = 95.0
"""Per cent of lines and branches together."""


def main(path: str, games: list[str]) -> int:
    files = json.loads(Path(path).read_text())["files"]
    wanted = {f"envs/{game}/rules.py" for game in games}
    rules = {name: data["summary"]["percent_covered"] for name, data in files.items() if name in wanted}
    for name, covered in sorted(rules.items()):
        print(f"{covered:6.1f} %  {name}")
    low = [name for name, covered in rules.items() if covered < FLOOR]
    if low or rules.keys() != wanted:
        print(f"below {FLOOR} %: {', '.join(low) or 'not every game was measured'}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
