"""Drawings as a list of shapes, exported as SVG text or as pixels; no display, window system or font file is needed."""

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

Point = tuple[float, float]


@dataclass(frozen=True)
class _Shape:
    kind: str
    points: tuple[Point, ...]
    fill: str | None
    stroke: str | None
    width: float
    radius: float = 0.0
    text: str = ""
    anchor: str = "middle"
    bold: bool = False


class Canvas:
    """A picture of ``width`` x ``height`` units; the origin is the upper left corner. Colours are ``#rrggbb``."""

    def __init__(self, width: float, height: float, background: str = "#ffffff") -> None:
        self.width = width
        self.height = height
        self._shapes: list[_Shape] = []
        self.rect(0, 0, width, height, fill=background)

    def rect(
        self,
        x: float,
        y: float,
        w: float,
        h: float,
        fill: str | None = None,
        stroke: str | None = None,
        width: float = 1,
        radius: float = 0,
    ) -> None:
        """A rectangle with rounded corners of ``radius``."""
        self._shapes.append(_Shape("rect", ((x, y), (x + w, y + h)), fill, stroke, width, radius))

    def circle(self, x: float, y: float, r: float, fill: str | None = None, stroke: str | None = None, width: float = 1) -> None:
        """A circle around (x, y)."""
        self._shapes.append(_Shape("circle", ((x, y),), fill, stroke, width, r))

    def polygon(self, points: list[Point], fill: str | None = None, stroke: str | None = None, width: float = 1) -> None:
        """A closed polygon."""
        self._shapes.append(_Shape("polygon", tuple(points), fill, stroke, width))

    def line(self, x1: float, y1: float, x2: float, y2: float, stroke: str = "#000000", width: float = 1) -> None:
        """A straight line."""
        self._shapes.append(_Shape("line", ((x1, y1), (x2, y2)), None, stroke, width))

    def text(
        self, x: float, y: float, text: str, size: float = 12, fill: str = "#000000", anchor: str = "middle", bold: bool = False
    ) -> None:
        """Text whose middle line passes through y; ``anchor`` is ``start``, ``middle`` or ``end`` of the text at x."""
        self._shapes.append(_Shape("text", ((x, y),), fill, None, 0, size, text, anchor, bold))

    def svg(self) -> str:
        """The picture as an SVG document."""
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" width="{self.width:g}">'
        return "\n".join([head, *map(_svg, self._shapes), "</svg>"])

    def pixels(self, scale: float = 1.0) -> NDArray[np.uint8]:
        """The picture as RGB pixels, uint8 of shape (height * scale, width * scale, 3). Needs Pillow."""
        try:
            from PIL import Image, ImageDraw
        except ImportError:
            raise ImportError("rgb_array rendering needs Pillow: pip install 'deckhand-rl[play]'") from None
        # Pillow draws without smoothing, so draw large and shrink.
        factor = 2 * scale
        image = Image.new("RGB", (round(self.width * factor), round(self.height * factor)))
        draw = ImageDraw.Draw(image)
        for shape in self._shapes:
            _draw(draw, shape, factor)
        size = (round(self.width * scale), round(self.height * scale))
        return np.asarray(image.resize(size, Image.Resampling.LANCZOS), dtype=np.uint8)


def _svg(s: _Shape) -> str:
    paint = f'fill="{s.fill or "none"}"'
    if s.stroke:
        paint += f' stroke="{s.stroke}" stroke-width="{s.width:g}"'
    (x, y) = s.points[0]
    if s.kind == "rect":
        (right, bottom) = s.points[1]
        return f'<rect x="{x:g}" y="{y:g}" width="{right - x:g}" height="{bottom - y:g}" rx="{s.radius:g}" {paint}/>'
    if s.kind == "circle":
        return f'<circle cx="{x:g}" cy="{y:g}" r="{s.radius:g}" {paint}/>'
    if s.kind == "polygon":
        return f'<polygon points="{" ".join(f"{a:g},{b:g}" for a, b in s.points)}" {paint}/>'
    if s.kind == "line":
        (x2, y2) = s.points[1]
        return f'<line x1="{x:g}" y1="{y:g}" x2="{x2:g}" y2="{y2:g}" {paint}/>'
    weight = ' font-weight="bold"' if s.bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-family="sans-serif" font-size="{s.radius:g}"{weight} text-anchor="{s.anchor}" '
        f'dominant-baseline="central" {paint}>{escape(s.text)}</text>'
    )


def _draw(draw: Any, s: _Shape, factor: float) -> None:
    from PIL import ImageFont

    points = [(x * factor, y * factor) for x, y in s.points]
    width = max(1, round(s.width * factor))
    if s.kind == "rect":
        draw.rounded_rectangle(points, s.radius * factor, fill=s.fill, outline=s.stroke, width=width)
    elif s.kind == "circle":
        draw.circle(points[0], s.radius * factor, fill=s.fill, outline=s.stroke, width=width)
    elif s.kind == "polygon":
        draw.polygon(points, fill=s.fill, outline=s.stroke, width=width)
    elif s.kind == "line":
        draw.line(points, fill=s.stroke, width=width)
    else:
        font = ImageFont.load_default(s.radius * factor)
        anchor = {"start": "lm", "middle": "mm", "end": "rm"}[s.anchor]
        draw.text(points[0], s.text, fill=s.fill, font=font, anchor=anchor, stroke_width=0.02 * s.radius * factor if s.bold else 0)
