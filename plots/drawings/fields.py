"""Fields and their truncated spectra: rows of danaus fields."""

import numpy as np
import style
from fields import NAMES, by_name, require_whole
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

SHOWN = 8  # modes of each axis that are kept in the pictures of the field of two axes
TIMES = 5  # what is lost is shown so many times as large
CUTS = {8: {"color": style.VERMILION}, 64: {"color": style.BLUE}}  # of the signal
FRAMES = {4: style.ORANGE, 8: style.VERMILION, 16: style.SKY}  # of the spectrum of two axes
LOOK = {"random": {"color": style.GREEN, "marker": "s"}, "burgers": {"color": style.PURPLE, "marker": "o"}}
FLOOR_DB, FLOOR = -120, 1e-7  # below is rounding


def truncated(figure, rows):
    """Above the field of two axes, what few modes leave of it, what they lose, and its spectrum with the kept part framed;
    below the signal, its spectrum, and what is lost against the share of frequencies kept."""
    found = by_name(rows)
    for row in found.values():
        require_whole(row)
    narrow = figure.is_narrow()
    grid = figure.add_gridspec(4, 2) if narrow else figure.add_gridspec(2, 4)
    places = [grid[0, 0], grid[0, 1], grid[1, 0], grid[1, 1]] if narrow else [grid[0, i] for i in range(4)]
    below = [grid[2, :], grid[3, 0], grid[3, 1]] if narrow else [grid[1, 0:2], grid[1, 2], grid[1, 3]]
    if "random" in found:
        draw_field(figure, places, found["random"])
    if "burgers" in found:
        draw_signal(figure.add_subplot(below[0]), found["burgers"])
        draw_spectrum(figure.add_subplot(below[1]), found["burgers"])
    draw_losses(figure.add_subplot(below[2]), found, narrow)


def at(row, modes):
    """The truncation to so many modes, or that which is nearest."""
    return min(row["truncations"], key=lambda each: abs(each["modes"] - modes))


def draw_field(figure, places, row):
    shape = row["lengths"]
    whole, kept = (np.reshape(values, shape) for values in (row["samples"], at(row, SHOWN)["result"]))
    most = np.abs(whole).max()
    modes = at(row, SHOWN)["modes"]
    pictures = ((f"a field, {shape[0]} × {shape[1]}", whole), (f"{modes} × {modes} modes kept", kept),
                (f"what is lost, times {TIMES}", TIMES * (whole - kept)))
    for place, (title, values) in zip(places, pictures):
        axes = picture(figure.add_subplot(place), title)
        axes.imshow(values, cmap="RdBu_r", vmin=-most, vmax=most, interpolation="nearest")
    axes = picture(figure.add_subplot(places[3]), "spectrum, and modes kept")
    energies = np.fft.fftshift(np.reshape(row["spectrum_db"], (shape[0], shape[1] // 2 + 1)), axes=0)
    axes.imshow(energies, cmap="Greys", vmin=FLOOR_DB / 2, vmax=0, aspect="auto", interpolation="nearest",
                extent=(-0.5, shape[1] // 2 + 0.5, shape[0] // 2 - 0.5, -shape[0] // 2 - 0.5))
    for modes, colour in FRAMES.items():
        axes.add_patch(Rectangle((-0.5, -modes - 0.5), modes, 2 * modes, fill=False, edgecolor=colour, linewidth=1.5))
        axes.text(modes, -modes + 0.5, str(modes), color=colour, fontsize=9, va="top")
    axes.set_xlabel("frequency")


def picture(axes, title):
    axes.set_title(title, loc="left", fontsize=10)
    axes.set(xticks=[], yticks=[])
    axes.grid(False)
    return axes


def draw_signal(axes, row):
    places = np.arange(row["lengths"][0])
    axes.plot(places, row["samples"], color=style.BLACK, linewidth=1, label="a signal")
    for modes, look in CUTS.items():
        kept = at(row, modes)
        axes.plot(places, kept["result"], linewidth=1.2, label=f"{kept['modes']} modes", **look)
    axes.set_title(f"{NAMES['burgers']}, {len(places)} points", loc="left", fontsize=10)
    axes.legend(loc="best", fontsize=9)
    axes.set_xlabel("place")


def draw_spectrum(axes, row):
    energies = np.maximum(row["spectrum_db"], FLOOR_DB - 20)
    axes.plot(np.arange(1, len(energies)), energies[1:], color=style.BLACK, linewidth=1)
    for modes, look in CUTS.items():
        axes.axvline(at(row, modes)["modes"], linestyle="--", linewidth=1.2, **look)
    axes.set_xscale("log", base=2)
    axes.set_ylim(FLOOR_DB - 20, 5)
    axes.set_title("its spectrum", loc="left", fontsize=10)
    axes.set_xlabel("frequency")
    axes.set_ylabel("energy (dB)")


def draw_losses(axes, found, narrow):
    """Where nearly nothing is lost, a mark lies on the lower edge."""
    handles, labels = [], []
    for name, row in found.items():
        shares = [100 * each["share"] for each in row["truncations"]]
        axes.plot(shares, [max(each["lost"], FLOOR) for each in row["truncations"]], linewidth=1.2, **LOOK[name])
        errors = [(100 * each["share"], each["kernel_error"]) for each in row["truncations"]
                  if each["kernel_error"] is not None]
        if errors:
            axes.plot(*zip(*errors), color=LOOK[name]["color"], linestyle=style.BOUND["linestyle"], linewidth=1.2)
        handles.append(Line2D([], [], linewidth=1.2, **LOOK[name]))
        labels.append(NAMES[name])
    if any(each["kernel_error"] is not None for row in found.values() for each in row["truncations"]):
        handles.append(Line2D([], [], color=style.GREY, linewidth=1.2, linestyle=style.BOUND["linestyle"]))
        labels.append("TF32 kernel's error")
    axes.set(xscale="log", yscale="log")
    axes.set_ylim(FLOOR / 2, 3)
    axes.set_xlabel("frequencies kept (%)")
    axes.set_ylabel("relative L2")
    axes.set_title("what is lost", loc="left", fontsize=10)
    axes.legend(handles, labels, loc="lower left", fontsize=8)
