"""Result tables, once for the screen and for Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table


@dataclass(frozen=True)
class Grid:
    """A table of texts; the first column names the row."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def to_rich(self) -> Table:
        """For the terminal."""
        table = Table(title=escape(self.title), title_justify="left", box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
        for i, name in enumerate(self.header):
            # Folded: no digit is ever cut off in a narrow terminal.
            table.add_column(escape(name), justify="right" if i else "left", overflow="fold")
        for row in self.rows:
            table.add_row(*(escape(cell) for cell in row))
        return table

    def to_markdown(self) -> str:
        """For a page; ends with a line break."""
        return f"**{self.title}**\n\n{markdown_table(self.header, self.rows, figures=True)}\n"


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[object]], figures: bool = False) -> str:
    """A table of a page, without a last line break; with ``figures`` all columns but the first are set to the right."""
    lines = [head, ["---", *["---:" if figures else "---"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)
