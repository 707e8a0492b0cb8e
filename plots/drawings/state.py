"""State-space models against length: predicted rows of danaus model --sweep state, and measured ones."""

import style
import ways
from matplotlib.lines import Line2D
from measurements import device_of, scale_of
from states import DRAWN, attention_us, crossings, is_drawn

STATES = {1: {"linestyle": (0, (1, 1))}, 16: {"linestyle": (0, (4, 1.5))}, 64: {"linestyle": "-"},
          256: {"linestyle": (0, (6, 1.5, 1, 1.5))}}
ATTENTION = {**style.PAPER, "markersize": 6}


def time_by_length(figure, rows, measured, attention):
    """Time of B=64, H=768 against L: lines predicted, marks measured, crosses attention as measured by others."""
    axes = figure.add_subplot()
    found = [(fields, times) for fields, times in ways.fields_of(ways.predicted(rows)) if is_drawn(fields)]
    lengths, values = [], []

    def line(points, look, name=""):
        points = sorted(points)
        if points:
            axes.plot(*zip(*points), **look)
            axes.annotate(name, points[-1], xytext=(3, 0), textcoords="offset points", va="center", fontsize=9)
            lengths.extend(length for length, _ in points)
            values.extend(ms for _, ms in points)

    for states, look in STATES.items():
        line([(fields["l"], ms(times[ways.KERNEL], fields)) for fields, times in found if fields["s"] == states],
             {"color": ways.LOOK[ways.KERNEL]["color"], **look}, f"S={states}")
    line([(fields["l"], ms(times["full_fft"], fields)) for fields, times in found
          if fields["s"] == DRAWN and "full_fft" in times], {"color": ways.LOOK["full_fft"]["color"]})
    stale = False
    timed = [(fields, methods) for fields, methods in ways.fields_of(ways.measured(measured.rows, rows))
             if is_drawn(fields) and fields["s"] == DRAWN]
    for fields, methods in timed:
        for way, row in methods.items():
            if way in ways.LOOK:
                stale |= bool(row["age"])
                values.append(ms(ways.us(row), fields))
                axes.plot(fields["l"], values[-1], **style.measured(ways.LOOK[way], row["age"]))
    others = attention.fastest()
    for n, peer in others.items():
        lengths.append(n)
        values.append(peer.us / 1e3)
        axes.plot(n, values[-1], **ATTENTION)
    if not values:
        return
    style.length_axis(axes, lengths, every=2 if figure.is_narrow() else 1, label="L (samples)")
    style.plain_log_ticks(axes, values)
    axes.set_ylabel("time of B=64, H=768 (ms)")
    axes.set_title(f"{device_of(rows[0]['profile'])}, fp16", loc="left")
    words = ["takes longer, by the lines:", *crossings(ways.predicted(rows), attention_us(attention))]
    axes.text(0.99, 0.02, "\n".join(words), transform=axes.transAxes, ha="right", va="bottom",
              fontsize=7.5 if figure.is_narrow() else 9, color=style.GREY)
    legend(figure, timed, others, stale)


def ms(us, fields):
    return us * scale_of(fields) / 1e3


def legend(figure, timed, others, stale):
    colour = ways.LOOK[ways.KERNEL]["color"]
    handles, labels = [], []
    handles.append(Line2D([], [], color=colour, marker=ways.LOOK[ways.KERNEL]["marker"] if timed else None))
    labels.append(f"state passing (marks: S={DRAWN})")
    handles.append(Line2D([], [], color=ways.LOOK["full_fft"]["color"],
                          marker=ways.LOOK["full_fft"]["marker"] if timed else None))
    labels.append("fused FFT")
    for way, name in ways.UNFUSED.items():
        if any(way in methods for _, methods in timed):
            handles.append(Line2D([], [], linestyle="none", **ways.LOOK[way]))
            labels.append(f"unfused, {name}")
    if others:
        names = sorted({peer.peer for peer in others.values()})
        handles.append(Line2D([], [], **ATTENTION))
        labels.append(f"attention, {names[0] if len(names) == 1 else 'the fastest'}")
    style.add_stale(handles, labels, stale)
    figure.legend_for_all(handles, labels, columns=4)
