"""The growth curve as an SVG, written without a library: what triggers and items cost as messages become more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log10

from bench.growth_aims import AFTER_CHECKPOINT, MID_CYCLE
from bench.report import Result

WIDTH, HEIGHT = 860, 380
PANEL = 400
"""From one panel's left edge to the next one's."""
LEFT, TOP, INNER_WIDTH, INNER_HEIGHT = 66, 64, 310, 230
LETTER = 6.2
"""How wide a letter of a label is, about."""
COLOURS: Mapping[str, str] = {"trigger": "#b3541e", "item": "#1f5fa8"}
DASHES: Mapping[str, str] = {MID_CYCLE: "", AFTER_CHECKPOINT: "5 4"}
PANELS = (("postgres_us", "PostgreSQL's CPU, µs each"), ("wal_bytes", "WAL, bytes each"))
Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Panel:
    """One diagram: where it stands, and how values become places."""

    left: float
    most_x: float
    most_y: float

    def x(self, value: float) -> float:
        return self.left + LEFT + value / self.most_x * INNER_WIDTH

    def y(self, value: float) -> float:
        return TOP + INNER_HEIGHT - value / self.most_y * INNER_HEIGHT


def draw(results: Sequence[Result]) -> str:
    """The picture of a run: two panels and a legend."""
    panels = [_panel(place * PANEL, figure, title, results) for place, (figure, title) in enumerate(PANELS)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
            ' font-family="sans-serif" font-size="12" fill="#222">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
            _text(LEFT, 24, "What a trigger and an item cost as history grows", size=15),
            *(line for panel in panels for line in panel),
            *_legend(),
            "</svg>\n",
        ]
    )


def curves(figure: str, results: Sequence[Result]) -> dict[tuple[str, str], Points]:
    """The points of each kind of work and moment: millions of messages, and the figure there."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for one in results:
        kind, value = str(one.seen.get("kind")), getattr(one, figure)
        if kind in COLOURS and value is not None:
            found.setdefault((kind, str(one.seen["when"])), []).append((float(str(one.seen["millions"])), value))
    return {key: sorted(points) for key, points in found.items()}


def ticks(most: float) -> list[float]:
    """Four to eight round values from 0 to at least `most`."""
    size = 10 ** (ceil(log10(most)) - 1) if most > 0 else 1.0
    step = next(size * part for part in (0.2, 0.5, 1, 2) if most / (size * part) <= 7)
    return [step * number for number in range(ceil(most / step) + 1)]


def _panel(left: float, figure: str, title: str, results: Sequence[Result]) -> list[str]:
    lines = curves(figure, results)
    points = [point for one in lines.values() for point in one] or [(1.0, 1.0)]
    over, up = ticks(max(x for x, _ in points) or 1), ticks(max(y for _, y in points))
    panel = Panel(left, over[-1], up[-1])
    return [
        _text(left + LEFT, TOP - 12, title, size=13),
        *(line for value in up for line in _level(panel, value)),
        *(_text(panel.x(value), TOP + INNER_HEIGHT + 18, f"{value:g}", anchor="middle") for value in over),
        _text(left + LEFT + INNER_WIDTH / 2, TOP + INNER_HEIGHT + 36, "million finished messages", anchor="middle"),
        *(line for (kind, when), some in lines.items() for line in _curve(panel, kind, when, some)),
    ]


def _level(panel: Panel, value: float) -> list[str]:
    y = panel.y(value)
    return [
        f'<line x1="{panel.x(0):.1f}" x2="{panel.x(panel.most_x):.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>',
        _text(panel.x(0) - 8, y + 4, f"{value:,.0f}", anchor="end"),
    ]


def _curve(panel: Panel, kind: str, when: str, points: Points) -> list[str]:
    places = " ".join(f"{panel.x(x):.1f},{panel.y(y):.1f}" for x, y in points)
    dots = [f'<circle cx="{panel.x(x):.1f}" cy="{panel.y(y):.1f}" r="3" fill="{COLOURS[kind]}"/>' for x, y in points]
    return [_stroke("polyline", f'points="{places}"', kind, when), *dots]


def _stroke(shape: str, where: str, kind: str, when: str) -> str:
    dashes = f' stroke-dasharray="{DASHES[when]}"' if DASHES[when] else ""
    return f'<{shape} {where} fill="none" stroke="{COLOURS[kind]}" stroke-width="2"{dashes}/>'


def _legend() -> list[str]:
    lines, x, y = [], 26.0, HEIGHT - 22
    for kind, when in ((kind, when) for kind in COLOURS for when in DASHES):
        label = f"{kind}, {when}"
        lines += [
            _stroke("line", f'x1="{x:.1f}" x2="{x + 28:.1f}" y1="{y}" y2="{y}"', kind, when),
            _text(x + 34, y + 4, label),
        ]
        x += 48 + LETTER * len(label)
    return lines


def _text(x: float, y: float, text: str, *, size: int = 12, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{text}</text>'
