"""Measured rows of danaus bench --sweep spectral, beside those of TurboFNO."""

import style
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.lines import Line2D
from measurements import by_case_and_device, by_device, passed, short_name, us
from peers import DEVICE
from results import case_fields

KERNEL, PIPELINE = "kernel", "cufft_cublas_tf32"
# By input and output channels.
CHANNELS = {(32, 64): {"color": style.BLUE, "marker": "o"}, (64, 64): {"color": style.GREEN, "marker": "s"},
            (64, 128): {"color": style.ORANGE, "marker": "^"}, (128, 128): {"color": style.VERMILION, "marker": "D"}}
SLOW_TO_FAST = LinearSegmentedColormap.from_list("speed", [style.VERMILION, "#FFFFFF", style.BLUE])
LIMIT = 8  # colours end at so many times as fast, and as slow


def measured(rows):
    """{(axes, length): {(input and output channels): {batch: {method: row}}}} of a device's rows, of complex samples in
    TF32."""
    found = {}
    for row in rows:
        fields = case_fields(row["case"])
        if passed(row) and fields["complex"] and fields["tf32"] and fields["shared"]:
            panel = len(fields["lengths"]), fields["l"]
            batches = found.setdefault(panel, {}).setdefault(fields["channels"], {})
            batches.setdefault(fields["b"], {})[row["method"]] = row
    return dict(sorted(found.items()))


def of_devices(rows):
    """{(device, (axes, length)): as measured() has it}."""
    return {(device, panel): of_channels for device, own in by_device(rows).items()
            for panel, of_channels in measured(own).items()}


def speed_over(methods, peer):
    """Of the kernel over cuFFT and cuBLAS in TF32 as measured beside it, and of TurboFNO over its own such pipeline; None
    where there is none."""
    own = us(methods[PIPELINE]) / us(methods[KERNEL]) if KERNEL in methods and PIPELINE in methods else None
    return own, peer.base_tf32_us / peer.turbofno_us if peer else None


def predicted_over(methods, foreseen):
    """Speed over the same as counted work puts the kernel; None where it says nothing, or nothing was measured."""
    row = methods.get(PIPELINE)
    said = foreseen.get((row["case"], row["device"]["name"])) if row else None
    return us(row) / said if said else None


def title(panel):
    axes, length = panel
    return f"{length} points" if axes == 1 else f"{length} x {length} points"


def by_batch(figure, rows, layers, predicted):
    """Speed over cuFFT and cuBLAS against the batch, a row of panels for each device, one for each length, colours for
    channels: filled marks are the kernel's, dashes what is predicted of it, crosses TurboFNO's."""
    found = of_devices(rows)
    if not found:
        return
    stale, foreseen = any(row["age"] for row in rows), by_case_and_device(predicted.rows)
    panels = figure.table_of_panels(list(found), sharey=True)
    values = [1]
    for (device, panel), of_channels in found.items():
        axes = panels[device, panel]
        for channels, batches in of_channels.items():
            look = CHANNELS.get(channels, {"color": style.GREY, "marker": "P"})
            for batch, methods in sorted(batches.items()):
                own, turbofno = speed_over(methods, layers.of(next(iter(methods.values()))))
                if own:
                    axes.plot(batch, own, **style.measured(look, methods[KERNEL]["age"]))
                said = predicted_over(methods, foreseen)
                if said:
                    axes.plot(batch, said, **PREDICTED | {"color": look["color"]})
                if turbofno:
                    axes.plot(batch, turbofno, **TURBOFNO | {"color": look["color"]})
                values += filter(None, [own, turbofno, said])
        style.floor_line(axes, "cuFFT + cuBLAS")
        batch_axis(axes, sorted({batch for batches in of_channels.values() for batch in batches}))
        axes.set_title(f"{title(panel)}, {short_name(device)}", loc="left")
        if axes.get_subplotspec().is_first_col():
            axes.set_ylabel("times as fast as\ncuFFT + cuBLAS (TF32)")
    for axes in panels.values():
        style.plain_log_ticks(axes, values)
    drawn = [channels for channels in CHANNELS if any(channels in of_channels for of_channels in found.values())]
    handles = [Line2D([], [], linestyle="none", **CHANNELS[channels]) for channels in drawn]
    labels = [f"{inputs} to {outputs} channels" for inputs, outputs in drawn]
    handles.append(Line2D([], [], **TURBOFNO))
    labels.append("TurboFNO over its own pipeline")
    if foreseen:
        handles.append(Line2D([], [], **PREDICTED))
        labels.append("predicted")
    style.add_stale(handles, labels, stale)
    figure.legend_for_all(handles, labels, columns=4)


PREDICTED = {"marker": "_", "linestyle": "none", "color": style.BLACK, "markersize": 12, "markeredgewidth": 1.5}
TURBOFNO = {"marker": "x", "linestyle": "none", "color": style.BLACK, "markersize": 6, "markeredgewidth": 1.5}


def batch_axis(axes, batches):
    axes.set_xscale("log", base=2)
    axes.set_xticks(batches, map(style.length, batches))
    axes.minorticks_off()
    axes.set_xlabel("batch B")


def heat(figure, rows, layers):
    """The same as colours: batch by channels, a column of panels for each length, the kernel on each device and, below
    them, TurboFNO on its own."""
    found = of_devices(rows)
    places = [((device, which), panel) for which in range(2) for device, panel in found
              if which == 0 or DEVICE in device]
    if not places:
        return
    for ((device, which), panel), axes in figure.table_of_panels(places).items():
        draw_heat(axes, found[device, panel], layers, which)
        axes.set_title(f"{'TurboFNO' if which else 'kernel'}, {title(panel)}, {short_name(device)}", loc="left",
                       fontsize=9)
        if axes.get_subplotspec().is_first_col():
            axes.set_ylabel("channels")
        if axes.get_subplotspec().is_last_row():
            axes.set_xlabel("batch B")


def draw_heat(axes, of_channels, layers, which):
    """`which`: 0 the kernel, 1 TurboFNO. The number stands in each cell that there is one for, in brackets where a row
    of it is not of the kernels as they are."""
    channels, batches = sorted(of_channels), sorted({batch for those in of_channels.values() for batch in those})
    methods = [[of_channels[pair].get(batch) for batch in batches] for pair in channels]
    cells = [[(speed_over(each, layers.of(next(iter(each.values()))))[which] if each else None) or float("nan")
              for each in line] for line in methods]
    axes.imshow(cells, cmap=SLOW_TO_FAST, norm=LogNorm(1 / LIMIT, LIMIT), aspect="auto")
    for y, line in enumerate(cells):
        for x, value in enumerate(line):
            if value == value:
                words = f"{value:.2f}" if value < 10 else f"{value:.0f}"
                is_old = which == 0 and any(methods[y][x][name]["age"] for name in (KERNEL, PIPELINE))
                axes.text(x, y, f"({words})" if is_old else words, ha="center", va="center", fontsize=7 if is_old else 8)
    if all(value != value for line in cells for value in line):
        axes.text(0.5, 0.5, "no rows yet", ha="center", va="center", color=style.GREY, transform=axes.transAxes)
    axes.set_xticks(range(len(batches)), map(style.length, batches))
    axes.set_yticks(range(len(channels)), [f"{inputs}, {outputs}" for inputs, outputs in channels])
    axes.grid(False)
