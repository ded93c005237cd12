"""Puts ``deckhand.pth`` beside the package when it is built: setuptools has no setting for files at the top of site-packages."""

from pathlib import Path

from setuptools.command.build_py import build_py


class BuildWithStartup(build_py):
    """``build_py`` that also writes ``deckhand.pth``."""

    def run(self) -> None:
        """Build as usual, then write the file."""
        super().run()
        Path(self.build_lib, "deckhand.pth").write_text("import deckhand.startup\n", encoding="utf-8")
