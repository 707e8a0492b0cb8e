"""The paper's tables of time and memory: as printed, others' programs measured here, and ours.

Times hold the filter's transform, as the paper's do: ours is that of the convolution and that of the transform. Others'
backward pass is what their step takes beyond their forward pass, both of which transform the filter. Memory is all that is allocated, u, k and gates included, in the paper's unit.
"""

from measurements import by_device, left_to_the_plan, passed, short_name, us
from peers import BATCH, CHANNELS, DEVICE
from report import Group, Table
from results import case_fields
from style import length

PAPER = "paper, one H100"
FLASH = "FlashFFTConv"
UNIT = 1000 * 2 ** 20  # bytes; printed as GB
COMPLEX, REAL = "torch fft fp32 (complex)", "torch rfft fp32"  # PyTorch as the paper has it, and as it is faster
TITLE = {COMPLEX: "PyTorch, complex", REAL: "PyTorch, real"}

IN_FULL = {"order p": "order", "memory savings": "memory_ratio"}


def table3(rows, paper, peers):
    return times(rows, paper.table(3), peers, "circular", False, {**IN_FULL, "fusion only": "fusion_only"})


def table4(rows, paper, peers):
    return times(rows, paper.table(4), peers, "circular", True, IN_FULL)


def table11(rows, paper, peers):
    return times(rows, paper.table(11), peers, "circular", False)


def table12(rows, paper, peers):
    return times(rows, paper.table(12), peers, "circular", True)


def table13(rows, paper, peers):
    return times(rows, paper.table(13), peers, "causal", False)


def table14(rows, paper, peers):
    return times(rows, paper.table(14), peers, "causal", True)


def table15(rows, paper, peers):
    return times(rows, paper.table(15), peers, "circular", False, backward=True)


def times(rows, printed, peers, mode, gated, more=None, backward=False):
    """Milliseconds of each, ours on each device; more: {column: field} of what only this table prints."""
    more = more or {}
    ours = {device: {case_fields(row["case"])["l"]: row for row in own}
            for device, own in by_device(row for row in rows if is_ours(row, mode, gated)).items()} or {DEVICE: {}}
    lines = []
    pytorch = REAL if gated or backward else COMPLEX
    of_pass = backward_us if backward else forward_us
    for line in printed:
        l = line.fft_size // 2 if mode == "causal" else line.fft_size
        torch, flash = (of_pass(peers, name, mode, gated, l) for name in (pytorch, FLASH))
        found = {device: own[l] for device, own in ours.items() if l in own}
        notes = [line.note, *(f"ours on an {short_name(device)} is {row['age']}" for device, row in found.items() if row["age"]),
                 *dict.fromkeys(f"ours is scaled from {row['scaled_from']}" for row in found.values()
                                if "scaled_from" in row)]
        lines.append([length(line.fft_size), as_printed(line.pytorch), as_printed(line.flashfftconv),
                      f"{line.ratio:.2f}", *(as_printed(getattr(line, field)) for field in more.values()),
                      ms(torch), ms(flash), ratio(torch, flash),
                      *(cell for device in ours for cell in our_cells(found.get(device), device, torch, flash)),
                      "; ".join(filter(None, notes))])
    columns = ["N", "PyTorch", FLASH, "speedup", *more, TITLE[pytorch], FLASH, "speedup",
               *(column for device in ours for column in our_columns(device, backward)), "notes"]
    groups = [Group("", 1), Group(f"{PAPER}, ms", 3 + len(more), "paper"),
              Group(f"others, one {DEVICE}, ms", 3, "measured"),
              *(Group(f"ours, one {device}, ms", len(our_columns(device, backward)), "measured") for device in ours),
              Group("", 1)]
    return Table(columns, lines, groups)


def our_columns(device, backward):
    """Beside others' times where those are of the same kind of device."""
    own = ["backward" if backward else "convolution", "with filter"]
    return own + (["over PyTorch", f"over {FLASH}"] if DEVICE in device else [])


def our_cells(row, device, torch, flash):
    ours = us(row) if row else None
    both = ours + row["filter_us"]["median"] if row else None
    return [ms(ours), ms(both), *([ratio(torch, both), ratio(flash, both)] if DEVICE in device else [])]


def table16(rows, paper, peers):
    return memory(rows, paper.table(16), peers, False)


def table17(rows, paper, peers):
    return memory(rows, paper.table(17), peers, True)


def memory(rows, printed, peers, gated):
    own = {row["n"]: row for row in rows if row["gated"] == gated}
    pytorch, lines = REAL if gated else COMPLEX, []
    for line in printed:
        n = line.fft_size
        torch, flash = (whole_bytes(peers.whole(name, "circular", gated, n), gated) for name in (pytorch, FLASH))
        ours = own[n]["total_bytes"] if n in own else None
        beyond = own[n]["additional_bytes"] if n in own else None
        lines.append([length(n), as_printed(line.pytorch), as_printed(line.flashfftconv), f"{line.ratio:.2f}",
                      units(torch), units(flash), ratio(torch, flash), units(ours), units(beyond), ratio(torch, ours),
                      ratio(flash, ours)])
    columns = ["N", "PyTorch", FLASH, "savings", TITLE[pytorch], FLASH, "savings", "all", "beside u, k and gates",
               "over PyTorch", f"over {FLASH}"]
    groups = [Group("", 1), Group(f"{PAPER}, 1000 MiB", 3, "paper"),
              Group(f"others, one {DEVICE}, 1000 MiB", 3, "measured"),
              Group("ours, as the plan allocates, 1000 MiB", 4, "model")]
    return Table(columns, lines, groups)


def whole_bytes(peer, gated):
    """With u, k and gates, which the peer's peak is beside."""
    if peer is None or peer.peak_bytes is None:
        return None
    samples = BATCH * CHANNELS * peer.length
    return peer.peak_bytes + 2 * samples * (3 if gated else 1) + 4 * CHANNELS * peer.length


def units(count):
    return "" if count is None else digits(count / UNIT)


def is_ours(row, mode, gated):
    fields = case_fields(row["case"])
    asked = (fields["dtype"], fields["mode"], len(fields["gates"]), fields["b"], fields["h"])
    return (row["method"] == "kernel" and passed(row) and left_to_the_plan(row["case"]) and
            fields["k"] == fields["l"] and asked == ("f16", mode, 2 if gated else 0, BATCH, CHANNELS))


def forward_us(peers, *asked):
    peer = peers.whole(*asked)
    return peer.us if peer else None


def backward_us(peers, *asked):
    step, forward = peers.whole(*asked, operation="fftconvstep"), forward_us(peers, *asked)
    return step.us - forward if step and forward else None


def ratio(slow, fast):
    return digits(slow / fast) if slow and fast else ""


def as_printed(value):
    return "" if value is None else f"{value:.10g}"


def ms(us):
    return "" if us is None else digits(us / 1000)


def digits(value):
    """Three of them, or all before the point."""
    return f"{value:.{3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0}f}"
