"""Strict type check of the package.

The folders of the repository are installed under the name ``deckhand``; mypy has to see them under that name, so it gets a folder of links.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "deckhand"
        package.mkdir()
        for name in ("envs", "agents", "train", "configs"):
            (package / name).symlink_to(ROOT / name)
        command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]
        return subprocess.run([*command, "-p", "deckhand"], cwd=folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
