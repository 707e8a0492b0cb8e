"""Which way a short convolution goes, and what it takes."""

import ways
from measurements import age_words, device_of, passed
from report import Table
from results import case_fields
from style import DTYPE, length

NAMES = {ways.KERNEL: "taps", "chunked_fft": "FFT of pieces", "full_fft": "FFT of whole rows"}
COLUMNS = ["K", *(f"{name}, predicted" for name in NAMES.values()), "soonest, predicted",
           *(f"{name}, measured" for name in NAMES.values()), "soonest, measured", "cuDNN", "notes"]


def choice(rows, measured, peers):
    """A block for each type and length of rows [B, H, L], a line for each K; microseconds."""
    lines, heading, crossings, right, compared = [], None, [], 0, 0
    device = device_of(rows[0]["profile"])
    predicted, timed = ways.predicted(rows), ways.measured(measured.rows, rows)
    for case in sorted(predicted, key=place):
        fields = case_fields(case)
        if fields["channelslast"]:
            continue
        here = f"{DTYPE[fields['dtype']]}, causal, L={length(fields['l'])}, B={fields['b']}, H={fields['h']}"
        if here != heading:
            heading = here
            lines.append([heading])
            crossings.append((here, []))
        said, methods = predicted[case], timed.get(case, {})
        found = ways.times(methods)
        best, fastest = ways.soonest(said, NAMES), ways.soonest(found, NAMES)
        crossings[-1][1].append((fields["k"], best, ways.soonest(said, tuple(ways.FFTS))))
        compared += fastest is not None
        right += fastest is not None and best == fastest
        peer = peers.forward(fields, device)
        notes = age_words(methods.values())
        lines.append([fields["k"], *(number(said.get(way)) for way in NAMES), NAMES[best],
                      *(number(found.get(way)) for way in NAMES), NAMES.get(fastest, ""), number(peer and peer.us), notes])
    verdict = "; ".join(f"{where}: {crossing(points, 1)}, of the FFTs {crossing(points, 2)}" for where, points in crossings
                        if "bf16" in where)
    if compared:
        verdict += f". Predicted and measured agree in {right} of {compared} cases"
    return Table(COLUMNS, lines, verdict=f"Predicted: {verdict}.", good=right == compared)


def crossing(points, which):
    """Where one way takes over from another, K ascending; of each point its K and the soonest of all and of the FFTs."""
    points = [(point[0], point[which]) for point in points if point[which]]
    words = []
    for before, after in zip(points, points[1:]):
        if before[1] != after[1]:
            words.append(f"{NAMES[after[1]]} from K={after[0]}")
    return ", ".join([*(f"{NAMES[way]} from K={taps} on" for taps, way in points[:1]), *words]) or "none"


def times(rows, peers):
    """Measured rows of short convolutions and their gradients: a block for each device, operation, type, layout and
    length."""
    lines, heading = [], None
    for kernel in sorted((row for row in rows if row["method"] == ways.KERNEL and passed(row)),
                         key=lambda row: (row["device"]["name"], place(row["case"]))):
        fields, device = case_fields(kernel["case"]), kernel["device"]["name"]
        here = (f"{device}: {fields['operation']}, {DTYPE[fields['dtype']]}, {fields['padding']}, "
                f"{'[B, L, H]' if fields['channelslast'] else '[B, H, L]'}, L={length(fields['l'])}, B={fields['b']}, "
                f"H={fields['h']}")
        if here != heading:
            heading = here
            lines.append([heading])
        floor, burst = kernel["floor"]["us"], ways.us(kernel)
        peer = peers.forward(fields, device) if fields["operation"] == "shortconv" else None
        copy = kernel.get("ratios", {}).get("copy", {}).get("median")
        lines.append([fields["k"], kernel["variant"], number(floor), number(burst), f"{burst / floor:.2f}",
                      f"{copy:.2f}" if copy else "", number(peer and peer.us),
                      f"{peer.us / burst:.2f}" if peer else "", f"{kernel['verify']['clearance']:.2f}",
                      kernel["age"]])
    return Table(["K", "kernel", "floor", "burst", "× floor", "× copy", "cuDNN", "cuDNN over ours", "error / bound", "notes"],
                 lines)


def place(case):
    fields = case_fields(case)
    return (fields["operation"], fields["dtype"] != "bf16", bool(fields["channelslast"]), fields["l"], fields["k"], case)


def number(value):
    return "" if value is None else f"{value:.{1 if value < 1000 else 0}f}"
