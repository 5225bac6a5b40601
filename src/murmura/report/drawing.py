"""A matplotlib figure becomes SVG for the inside of a page: no fonts, no addresses, the page's own colours.

Curves are told apart by colour and by marker, safe for colour-blind readers, on light and on dark.
"""

from __future__ import annotations

import io
import math
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal

from murmura.core.errors import MissingExtraError
from murmura.engine.part_files import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
else:  # words of annotations, for whoever draws: a section is read without matplotlib, too
    Axes = Figure = object


WIDTH = 10.2  # inches of 72 points
ROW = 0.27  # inches per line of a chart
NAMED = "name"  # the mark of a text that may be moved
Box = tuple[float, float, float, float]  # left, bottom, right, top
IN_A_ROW = 8  # names in a row of the legend
LONGEST = 26  # characters of a label in a chart; the tables have it whole

# Matplotlib writes these colours, the page replaces them by its own, so that one drawing serves light and dark.
INK, MUTED, GRID, PAPER = "#000001", "#000002", "#000003", "#000004"
CENTRAL, FEDERATED = "#000005", "#000006"
SHADES = ("#000011", "#000012", "#000013", "#000014", "#000015")
CURVES = ("#000021", "#000022", "#000023", "#000024", "#000025", "#000026")
MARKERS = "soD^vP"
RAMP = ((213, 94, 0), (0, 114, 178))  # from vermilion to blue: both legible on white and on black
VARIABLES = {
    INK: "--ink",
    MUTED: "--muted",
    GRID: "--grid",
    PAPER: "--paper",
    CENTRAL: "--central",
    FEDERATED: "--federated",
    **{shade: f"--shade-{place}" for place, shade in enumerate(SHADES)},
    **{curve: f"--curve-{place}" for place, curve in enumerate(CURVES)},
}
STEPPED: dict[str, Any] = {"drawstyle": "steps-post", "color": MUTED, "linewidth": 1.2}  # a Pareto front
DOTTED: dict[str, Any] = {"color": MUTED, "linewidth": 1, "linestyle": (0, (1, 2))}  # the level of a model
FILE_MUTED, FILE_GRID = "#666666", "#dddddd"  # of a drawing in a file of its own


def page_style(name: str, *more: str) -> list[Any]:
    """The style of drawings; the same drawing of that name has the same bytes."""
    folder = resources.files("murmura.report")
    files = (folder.joinpath(f"{one}.mplstyle") for one in ("page", *more))
    return [*map(str, files), {"svg.hashsalt": name}]


@dataclass(frozen=True)
class Picture:
    """A drawing with the words that stand for it."""

    name: str
    title: str
    caption: str
    alt: str  # what the drawing shows, for those who cannot see it
    svg: str

    @property
    def inside(self) -> str:
        """The drawing without its outermost element, which the page writes."""
        return self.svg.partition(">")[2].rpartition("</svg>")[0]

    @property
    def box(self) -> str:
        """What the outermost element shows: its viewBox."""
        return self.svg.partition('viewBox="')[2].partition('"')[0]

    def renamed(self, name: str) -> Picture:
        """The same picture under another name, so that two of one page keep apart."""
        svg = self.svg.replace(f'"{self.name}-', f'"{name}-').replace(f"#{self.name}-", f"#{name}-")
        return replace(self, name=name, svg=svg)


def require_report() -> None:
    """Refuse early where what draws and writes pages is not installed."""
    try:
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError("a report", "report") from None


@dataclass
class Canvas:
    """A figure while it is painted; its SVG afterwards."""

    name: str
    figure: Figure
    svg: str = ""

    @cached_property
    def axes(self) -> Axes:
        """The only panel."""
        return self.panels(1, 1)[0]

    def panels(self, count: int, across: int, **grid: Any) -> list[Axes]:
        """So many panels, row by row; what is left of the last row is hidden."""
        down = math.ceil(count / across)
        every: list[Axes] = self.figure.subplots(down, across, squeeze=False, **grid).ravel().tolist()
        for axes in every[count:]:
            axes.set_visible(False)
        return every[:count]

    def row(self, count: int) -> list[Axes]:
        """Panels side by side with one vertical axis, none wider than half of the figure."""
        return self.panels(count, max(2, count), sharey=True)

    def picture(self, title: str, caption: str, alt: str) -> Picture:
        """What was painted, with the words that stand for it."""
        return Picture(self.name, title, caption, alt, self.svg)


@contextmanager
def canvas(name: str, height: float, looks: Mapping[str, Look] = {}) -> Iterator[Canvas]:
    """A new figure of this height in inches, with a legend of looks above its panels.

    The same painting gives the same SVG on every machine.
    """
    from matplotlib import style
    from matplotlib.figure import Figure

    out = io.StringIO()
    with (
        warnings.catch_warnings(),
        style.context(page_style(name), after_reset=True),
    ):  # whatever a matplotlibrc says
        warnings.simplefilter("ignore")  # a letter that the measuring font lacks is still drawn by the browser
        figure = Figure(figsize=(WIDTH, height), dpi=72, layout="constrained")  # SVG counts in points
        yield (made := Canvas(name, figure))
        if looks:
            legend(figure, looks)
        figure.draw_without_rendering()  # from here on everything has its place
        figure.set_layout_engine("none")
        spread_names(figure)
        figure.savefig(out, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    made.svg = inlined(out.getvalue(), name)


def curve_height(names: Collection[str]) -> float:
    """Of a panel with many curves, with room for the rows of their names above it."""
    return 3.7 + 0.2 * math.ceil(len(names) / IN_A_ROW)


def inlined(svg: str, name: str) -> str:
    """SVG for the inside of a page: no name spaces, its own ids, colours as variables."""
    root = ET.fromstring(svg)
    used = set(re.findall(r"(?:url\(#|href=\"#)([^\")]+)", svg))
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        kept = ((key, value) for key, value in element.attrib.items() if key != "id" or value in used)
        bare = ((key.rpartition("}")[2], value) for key, value in kept)
        element.attrib = {key: _attribute(key, value, name) for key, value in bare}
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    return ET.tostring(root, encoding="unicode")


def _attribute(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key == "href":
        return value.replace("#", f"#{name}-", 1)
    value = value.replace("url(#", f"url(#{name}-")
    if key in {"style", "fill", "stroke"}:
        for colour, variable in VARIABLES.items():
            value = value.replace(colour, f"var({variable})")
        value = re.sub(r"font: (?:\d+ )?([\d.]+px)[^;]*", r"font-size: \1", value)
    return value


def short(label: str) -> str:
    """A label that fits beside a chart; of a feature several hops away its last hop tells the most."""
    text = printable(label)
    if len(text) > LONGEST and " → " in text:
        text = "… → " + text.rpartition(" → ")[2]
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def name_rows(axes: Axes, labels: Sequence[str], show: bool = True) -> None:
    """One line per label, the first on top."""
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_yticks(range(len(labels)), [short(label) for label in labels] if show else [""] * len(labels))
    axes.tick_params(axis="y", labelcolor=INK, labelsize=8.5)
    axes.grid(axis="y", visible=False)
    axes.spines["left"].set_visible(False)


Look = dict[str, Any] | str  # in a legend: what a line takes, or the colour of bars


def curve_styles(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What `Axes.plot` takes, for each name; after six the colours come again with other markers."""
    shape = {"markersize": 5, "markeredgecolor": PAPER, "markeredgewidth": 0.7, "linewidth": 1.3}
    six = len(CURVES)
    return {
        name: {"color": CURVES[place % six], "marker": MARKERS[(place + place // six) % six], **shape}
        for place, name in enumerate(names)
    }


def ramp(steps: int) -> list[str]:
    """Colours for ordered values, the first vermilion and the last blue (figures 4.4 and 4.5: red to blue)."""
    parts = [step / max(1, steps - 1) for step in range(steps)]
    return ["#" + "".join(f"{round(a + part * (b - a)):02x}" for a, b in zip(*RAMP)) for part in parts]


def legend(figure: Figure, looks: Mapping[str, Look]) -> None:
    """The names above the panels, in as many rows as they need, each with its line or a patch of its colour."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [Patch(color=one) if isinstance(one, str) else Line2D([], [], **one) for one in looks.values()]
    shown = [short(name) for name in looks]
    widest = 0.085 * max(map(len, shown), default=1) + 0.55  # inches of a name and its mark
    across = max(1, min(len(shown), int(WIDTH / widest)))
    spaces = {"handlelength": 1.6, "columnspacing": 1.4}
    figure.legend(handles, shown, loc="outside upper left", ncols=across, frameon=False, fontsize=8.5, **spaces)


def few_ticks(axes: Axes, x: int = 0, y: int = 0, whole: bool = False) -> None:
    """At most so many ticks along an axis, along x at whole numbers alone; 0 leaves them as they are."""
    from matplotlib.ticker import MaxNLocator

    if x:
        axes.xaxis.set_major_locator(MaxNLocator(x, integer=whole, steps=[1, 2, 2.5, 5, 10]))
    if y:
        axes.yaxis.set_major_locator(MaxNLocator(y))


def note(axes: Axes, x: float, y: float, text: str, colour: str = MUTED, size: float = 7.5) -> None:
    """A few words beside a point, on whichever side there is room; left out where there is none."""
    look: dict[str, Any] = {"va": "center", "fontsize": size, "color": colour, "gid": NAMED}
    named = axes.annotate(text, (x, y), (7, 0), textcoords="offset points", **look)
    named.set_in_layout(False)  # it goes where there is room, and makes none


def spread_names(figure: Figure) -> None:
    """Move the names of points until none lies on another, on a marker or outside of its panel."""
    for axes in figure.axes:
        names: list[Any] = [text for text in axes.texts if text.get_gid() == NAMED]
        taken = [box for line in axes.lines for box in _covered(line)] if names else []
        area = axes.get_window_extent()
        for name in sorted(names, key=lambda one: tuple(-axes.transData.transform(one.xy)[::-1])):
            own = axes.transData.transform(name.xy)
            wide, high = name.get_window_extent().size
            free = (
                (place, box)
                for place, box in _places(own, wide, high)
                if area.x0 <= box[0] and box[2] <= area.x1 and area.y0 - high <= box[1] <= area.y1
                if all(
                    box[2] <= other[0] or other[2] <= box[0] or box[3] <= other[1] or other[3] <= box[1]
                    for other in taken
                )
            )
            place, box = next(free, (None, None))
            if place is None or box is None:
                name.remove()
                continue
            taken.append(box)
            name.set_position(place)
            name.set_horizontalalignment("left" if place[0] > 0 else "right" if place[0] < 0 else "center")


def _places(own: Any, wide: float, high: float) -> Iterator[tuple[tuple[float, float], Box]]:
    """Where a name of this size can stand beside its point, the best first: an offset, and what it covers."""
    for up in (0.0, 9.0, -9.0, 18.0, -18.0, 27.0, -27.0):
        for across in (7.0, -7.0) if abs(up) < 9 else (5.0, -5.0, 0.0):
            x = own[0] + across - (0 if across > 0 else wide if across < 0 else wide / 2)
            y = own[1] + up - high / 2
            yield (across, up), (x, y, x + wide, y + high)


def _covered(line: Any) -> list[Box]:
    """What a line covers that a name must not: its markers, or the whole of a level one; not a long curve's."""
    points: Any = line.get_transform().transform(line.get_xydata()) if len(line.get_xydata()) <= 60 else ()
    if line.get_marker() not in (None, "None", "", "|"):
        return [(x - 3.5, y - 3.5, x + 3.5, y + 3.5) for x, y in points]
    level = len(points) == 2 and points[0][1] == points[1][1]
    return [(points[0][0], points[0][1] - 1, points[1][0], points[1][1] + 1)] if level else []


def logarithmic(axes: Axes, *which: Literal["x", "y"]) -> None:
    """A logarithmic axis, after what is drawn on it: powers of ten in plain letters, 2 and 5 between them.

    Matplotlib's own labels are formulas, which need its fonts.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for one in which:
        axes.set(**{f"{one}scale": "log"})
        axis = axes.xaxis if one == "x" else axes.yaxis
        low, high = axis.get_data_interval()
        short_axis = low > 0 and high < 50 * low
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if short_axis else (1.0,), numticks=6))
        axis.set_major_formatter(FuncFormatter(lambda value, _: power(value)))
        axis.set_minor_formatter(NullFormatter())


def power(value: float) -> str:
    """0.01, 1, 1000 as they are, larger and smaller ones as 10⁵."""
    if value <= 0 or 1e-3 <= value < 1e5:
        return f"{value:g}"
    exponent = math.floor(math.log10(value) + 1e-9)
    factor = value / 10**exponent
    raised = "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return raised if abs(factor - 1) < 1e-6 else f"{factor:g}·{raised}"
