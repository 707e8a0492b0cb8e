"""How every figure looks: colours, markers, axes, title and footer. Nothing here knows what is drawn."""

import math
import re
import textwrap

import matplotlib
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

# Okabe and Ito: eight colours that colour-blind readers can tell apart.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7")
GREY = "#666666"
LIGHT_GREY = "#D0D0D0"

# One meaning, one look, in every figure; colour never stands alone.
ORDER = {
    1: {"color": BLACK, "marker": "x", "linestyle": (0, (1, 1))},
    2: {"color": BLUE, "marker": "o", "linestyle": "-"},
    3: {"color": VERMILION, "marker": "s", "linestyle": "--"},
    4: {"color": GREEN, "marker": "^", "linestyle": "-."},
    5: {"color": PURPLE, "marker": "D", "linestyle": (0, (3, 1, 1, 1, 1, 1))},
    6: {"color": ORANGE, "marker": "P", "linestyle": (0, (5, 1))},
    7: {"color": SKY, "marker": "v", "linestyle": (0, (1, 2))},
    8: {"color": GREY, "marker": "h", "linestyle": (0, (1, 3))},
}
SCALING = {
    "unitary": {"color": BLUE, "marker": "o", "linestyle": "-"},
    "one_side": {"color": VERMILION, "marker": "s", "linestyle": "--"},
}
BOUND = {"linewidth": 1.2, "linestyle": (0, (1, 1.5))}
MEASURED = {"marker": "o", "linestyle": "none", "markeredgecolor": BLACK}
PAPER = {"marker": "x", "linestyle": "none", "color": BLACK, "markersize": 7, "markeredgewidth": 1.6}
STALE = {"marker": "o", "linestyle": "none", "markerfacecolor": "white", "markeredgecolor": GREY}

DTYPE = {"f16": "fp16", "bf16": "bf16", "f32": "fp32", "f64": "fp64"}

# Phase as colour: the real part from dark (1) to light (-1), the imaginary part from orange (i) to blue (-i).
PHASE = LinearSegmentedColormap.from_list("phase", ["#CDBB85", "#2F8FCC", "#1B1B3A", "#E07B00", "#CDBB85"], N=512)

matplotlib.rcParams.update({
    "font.size": 11, "font.sans-serif": ["DejaVu Sans"], "axes.titlesize": 12, "axes.labelsize": 11, "xtick.labelsize": 10, "ytick.labelsize": 10,
    "legend.fontsize": 10, "legend.frameon": False, "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True, "grid.color": "#E4E4E4", "grid.linewidth": 0.8, "axes.axisbelow": True,
    "lines.linewidth": 1.8, "lines.markersize": 6, "svg.hashsalt": "danaus", "svg.fonttype": "none",
})

DPI = {".png": 150, ".svg": 100}  # in a .svg, of panels with many marks

# Inches.
MARGIN = 0.12
TITLE_LINE, LEGEND_LINE, FOOTER_LINE = 0.23, 0.22, 0.13
MOST_MARKS = 150  # of a panel that are drawn one by one; more are an image
NARROW = 7  # figures below this width are for phones: their panels stand one above the other


class Page(Figure):
    """A figure with a title above its axes and a footer below them, each of as many lines as its width asks for."""

    above = below = 0.0  # inches kept free

    def frame(self, title, footer):
        width, height = self.get_size_inches()
        titles = textwrap.wrap(title, int(9.2 * width))
        footers = textwrap.wrap(footer, int(15.5 * width), break_on_hyphens=False)
        self.above = 0.16 + TITLE_LINE * len(titles)
        self.below = 0.2 + FOOTER_LINE * len(footers)
        self.text(MARGIN / width, 1 - MARGIN / height, "\n".join(titles), fontsize=13, fontweight="bold", va="top")
        self.text(MARGIN / width, 0.1 / height, "\n".join(footers), fontsize=8, color=GREY, va="bottom")
        self.keep_free()

    def keep_free(self):
        _, height = self.get_size_inches()
        self.get_layout_engine().set(rect=(0.005, self.below / height, 0.99, 1 - (self.above + self.below) / height))

    def is_narrow(self):
        return self.get_size_inches()[0] < NARROW

    def panels(self, count, sharey=False):
        """Axes side by side, or one above the other where the figure is narrow."""
        grid = self.add_gridspec(count, 1) if self.is_narrow() else self.add_gridspec(1, count)
        made = []
        for place in grid:
            made.append(self.add_subplot(place, sharey=made[0] if sharey and made else None))
            if sharey and not self.is_narrow():
                made[-1].tick_params(labelleft=made[-1] is made[0])
        return made

    def table_of_panels(self, places, sharey=False):
        """{place: axes} of places (row, column), whatever these are; one above the other where the figure is narrow."""
        rows, columns = (list(dict.fromkeys(each)) for each in zip(*places))
        columns.sort()
        if self.is_narrow():
            grid = self.add_gridspec(len(places), 1)
            cells = {place: grid[number] for number, place in enumerate(places)}
        else:
            grid = self.add_gridspec(len(rows), len(columns))
            cells = {(row, column): grid[rows.index(row), columns.index(column)] for row, column in places}
        made = {}
        for place, cell in cells.items():
            made[place] = self.add_subplot(cell, sharey=next(iter(made.values())) if sharey and made else None)
        return made

    def legend_for_all(self, handles, labels, columns=None, narrow_columns=2):
        """A legend between the title and the axes, in one line unless it has a number of columns; none of nothing."""
        if not handles:
            return
        width, height = self.get_size_inches()
        columns = min(len(handles), narrow_columns if self.is_narrow() else columns or len(handles))
        self.legend(handles, labels, ncols=columns, loc="upper left", borderaxespad=0, columnspacing=1.5,
                    bbox_to_anchor=(0.5 * MARGIN / width, 1 - self.above / height))
        self.above += 0.1 + LEGEND_LINE * math.ceil(len(handles) / columns)
        self.keep_free()


def new_figure(title, footer, size):
    """An empty figure of `size` inches with its title and footer; the drawing function adds axes between them."""
    figure = Page(figsize=size, layout="constrained")
    figure.frame(title, footer)
    return figure


def save(figure, path):
    """Writes a figure that is settled, the same bytes for the same figure; the file appears complete or not at all."""
    partial = path.with_name(path.name + ".partial")
    metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
    try:
        figure.savefig(partial, format=path.suffix[1:], dpi=DPI[path.suffix], metadata=metadata)
        if path.suffix == ".svg":
            partial.write_text(compact(partial.read_text(encoding="utf-8")), encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def compact(svg):
    """The same picture in half the bytes: coordinates to a hundredth of a point, no line breaks, no names of groups."""
    def tag(match):
        return re.sub(r"(\d\.\d\d)\d+", r"\1", re.sub(r' id="[A-Za-z.0-9]+_\d+"', "", match[0])).replace("\n", " ")
    return re.sub(r">\s+<", "><", re.sub(r"<[^!?][^>]*>", tag, svg))


def settle(figure):
    """Lays the axes out for good. The layout's solver does not round alike each time; what is left of it is rounded."""
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine("none")
    for axes in figure.axes:
        axes.set_position([round(part, 6) for part in axes.get_position(original=True).bounds])


def measured(look, stale):
    """A mark of a series for what was measured: filled, or hollow where it is not of the kernels as they are."""
    mark = {"marker": look["marker"], "color": look["color"], "linestyle": "none"}
    if stale:
        return {**mark, "markerfacecolor": "white", "markeredgewidth": 1.5}
    return {**mark, "markeredgecolor": BLACK, "markeredgewidth": 0.7}


def floor_line(axes, words="floor"):
    """A dotted line at 1, with its name on it."""
    axes.axhline(1, color=BLACK, linewidth=1.2, linestyle=BOUND["linestyle"])
    axes.annotate(words, (1, 1), xycoords=("axes fraction", "data"), xytext=(-2, 3), textcoords="offset points",
                  ha="right", va="bottom", fontsize=9)


def add_stale(handles, labels, stale):
    """What hollow marks are, to a legend, where there are some."""
    if stale:
        handles.append(Line2D([], [], **STALE))
        labels.append("hollow: kernels of an earlier revision")


def draw_marks(axes, marks):
    """Points, each (x, y, look); those of one look are one object."""
    groups = {}
    for x, y, look in marks:
        groups.setdefault(tuple(sorted(look.items())), []).append((x, y))
    for look, points in groups.items():
        axes.plot(*zip(*points), rasterized=len(marks) > MOST_MARKS, **dict(look))


def length(n):
    """256, 1K, 32K, 4M; in full where it is no multiple of 1024."""
    for unit, suffix in ((1 << 20, "M"), (1 << 10, "K")):
        if n >= unit and n % unit == 0:
            return f"{n // unit}{suffix}"
    return str(n)


def length_axis(axes, lengths, every=1, label="FFT size N (samples)"):
    """A logarithmic axis of lengths with ticks at 256 and every so many octaves from there."""
    first, last = math.log2(min(lengths)), math.log2(max(lengths))
    ticks = [1 << e for e in range(math.ceil(first), math.floor(last) + 1) if (e - 8) % every == 0]
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda n, _: length(round(n))))
    axes.set_xlim(2 ** (first - 0.35), 2 ** (last + 0.35))
    if label:
        axes.set_xlabel(label)


def plain_log_ticks(axes, values, which="y"):
    """A logarithmic axis, x or y, with its ticks written out: 1, 2, 5, 10 and so on; covers `values` with some room."""
    low, high = min(values) / 1.25, max(values) * 1.25
    steps = (1, 1.2, 1.5, 2, 3, 4, 5, 6, 7, 8, 9) if high / low < 5 else (1, 2, 5) if high / low < 2000 else (1,)
    ticks = [step * 10.0 ** e for e in range(-12, 13) for step in steps]
    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.set(**{f"{which}lim": (low, high)})
