"""What masks of the filter's spectrum would save, and what they lose."""

import numpy
import style
from matplotlib.lines import Line2D
from sparsity import (TABLE9, first_subject, gains_of_masks, in_decibels, lines_of, measured_speedup, of_table9, pareto,
                      short, snr, speedup, zeroed)

BATCH = {64: {"color": style.BLUE, "marker": "o"}, 8: {"color": style.GREEN, "marker": "s"},
         1: {"color": style.ORANGE, "marker": "^"}}


def gain_by_length(figure, rows):
    """Measured time without a mask over that with it, against L; a panel for each device, a mark for each mask."""
    found = {}
    for gain in gains_of_masks(rows):
        found.setdefault(gain.device, []).append(gain)
    if not found:
        return
    panels = figure.panels(len(found), sharey=True)
    for axes, (device, gains) in zip(panels, sorted(found.items())):
        style.draw_marks(axes, [(gain.length, gain.ratio, {**style.measured(BATCH[gain.batch], gain.age), "markersize": 5})
                                for gain in gains if gain.batch in BATCH])
        axes.axhline(1, color=style.BLACK, linewidth=1.2)
        style.length_axis(axes, [gain.length for gain in gains], every=2, label="L (samples)")
        style.plain_log_ticks(axes, [1, *(gain.ratio for each in found.values() for gain in each)])
        axes.set_title(f"{device}, circular", loc="left")
        if axes is panels[0] or figure.is_narrow():
            axes.set_ylabel("time without / with a mask")
    handles = [Line2D([], [], linestyle="none", **look) for look in BATCH.values()]
    labels = [f"B={batch}" for batch in BATCH]
    style.add_stale(handles, labels, any(gain.age for gains in found.values() for gain in gains))
    figure.legend_for_all(handles, labels)


def table9(figure, rows):
    """Times as fast as without a mask: the paper, Eq. 2 of both readings, and what was measured."""
    found = of_table9(rows)
    patterns = [counts for counts, *_ in TABLE9[1:]] + lines_of(found)
    (axes,) = figure.panels(1)
    axes.plot(range(len(TABLE9) - 1), [faster for *_, faster in TABLE9[1:]], label="paper", **style.PAPER)
    for literal, label, color, marker in ((True, "Eq. 2, as sliced", style.SKY, "v"),
                                          (False, "Eq. 2, with mirrors", style.BLUE, "^")):
        points = [(at, speedup(found[counts, literal])) for at, counts in enumerate(patterns) if (counts, literal) in found]
        if points:
            axes.plot(*zip(*points), label=label, linestyle="none", marker=marker, color=color)
    points = [(at, gain) for at, counts in enumerate(patterns)
              if (gain := measured_speedup(found, counts))]
    if points:
        axes.plot(*zip(*points), label="measured", color=style.VERMILION, **style.MEASURED)
    axes.axhline(1, color=style.GREY, linewidth=1, linestyle=":")
    axes.set_xticks(range(len(patterns)), [",".join(map(str, counts)) for counts in patterns],
                    rotation=45 if figure.is_narrow() else 0, fontsize=8)
    axes.set_xlabel("zeroed of 32 x 32 x 32 x 64, the last dimension being rows between the outer passes")
    axes.set_ylabel("times as fast as dense")
    style.plain_log_ticks(axes, [1, 1.8, *(y for line in axes.lines for y in line.get_ydata())])
    figure.legend_for_all(*axes.get_legend_handles_labels(), columns=4)


def grid(figure, rows):
    """Over the first two dimensions, where nothing is zeroed in the others: SNR, and the speedup it would give."""
    rows = first_subject(rows)
    cells = {}
    for row in rows:
        counts = zeroed(row)
        if counts and not counts[1] and len(counts[0]) >= 2 and not any(counts[0][2:]):
            cells[counts[0][:2]] = row
    first, second = (sorted({0, *(cell[i] for cell in cells)}) for i in (0, 1))
    panels = figure.panels(2)
    for axes, value, words, shades in ((panels[0], snr, "SNR of y, dB", "viridis"),
                                       (panels[1], speedup, "times as fast, predicted", "cividis")):
        values = numpy.full((len(second), len(first)), numpy.nan)
        for (a, b), row in cells.items():
            values[second.index(b), first.index(a)] = value(row)
        image = axes.imshow(numpy.ma.masked_invalid(values), origin="lower", aspect="auto", cmap=shades)
        axes.set_xticks(range(len(first)), first)
        axes.set_yticks(range(len(second)), second)
        axes.set_xlabel("a, zeroed of the most significant digit")
        axes.set_ylabel("b, of the next")
        axes.set_title(words, loc="left")
        axes.grid(False)
        if value is speedup:
            image.set_clim(1, max(1.5, numpy.nanmax(values)))
        figure.colorbar(image, ax=axes)
        middle = numpy.nanmean(values) if len(cells) else 0
        for (a, b), row in cells.items():
            shown = "\u221e" if value is snr and row.get("snr_db") is None else f"{value(row):.3g}"
            axes.text(first.index(a), second.index(b), shown, ha="center", va="center", fontsize=7,
                      color="white" if value(row) < middle else "black")


def spectrum(figure, rows):
    """Energy by frequency, and what is removed over it: of the fastest patterns at 60, 40 and 20 dB."""
    rows = first_subject(rows)
    chosen = []
    for least in (60, 40, 20):
        near = [row for row in pareto(rows) if snr(row) >= least and row["us"] < row["dense_us"]]
        if near and near[0] not in [row for _, row in chosen]:
            chosen.append((least, near[0]))
    chosen = chosen or [(0, rows[0])]
    for axes, (least, row) in zip(figure.panels(len(chosen), sharey=True), chosen):
        energies, half = in_decibels(row["energy_bins"]), row["n"] // 2
        edges = [half * i / len(energies) for i in range(len(energies) + 1)]
        axes.stairs(energies, edges, baseline=-125, fill=True, color=style.SKY)
        for kept, left, right in zip(row["kept_bins"], edges, edges[1:]):
            if kept < 1:
                axes.axvspan(left, right, color=style.VERMILION, alpha=0.5 * (1 - kept), linewidth=0)
        axes.set_xlabel("frequency k")
        axes.set_ylim(-125, 5)
        axes.set_title(f"at {least} dB: {row['pattern']}\n{short(row['mask'], 28)}\n"
                       f"{100 * row['zeros']:.0f} % removed, {speedup(row):.2f} times as fast", loc="left", fontsize=9)
    figure.axes[0].set_ylabel("energy of the filters, dB")
