"""The paper's tables of time and memory: as printed, others' programs measured here, and ours.

Times hold the filter's transform, as the paper's do: ours is that of the convolution and that of the transform.
"""

from measurements import left_to_the_plan, passed
from peers import BATCH, CHANNELS, DEVICE
from report import Group, Table
from results import case_fields
from style import length

PAPER = "paper, one H100"
FLASH = "FlashFFTConv"
COMPLEX, REAL = "torch fft fp32 (complex)", "torch rfft fp32"  # PyTorch as the paper has it, and as it is faster


def table3(rows, paper, peers):
    return times(rows, paper.table(3), peers, "circular", False, in_full=True)


def table4(rows, paper, peers):
    return times(rows, paper.table(4), peers, "circular", True, in_full=True)


def table11(rows, paper, peers):
    return times(rows, paper.table(11), peers, "circular", False)


def table12(rows, paper, peers):
    return times(rows, paper.table(12), peers, "circular", True)


def table13(rows, paper, peers):
    return times(rows, paper.table(13), peers, "causal", False)


def table14(rows, paper, peers):
    return times(rows, paper.table(14), peers, "causal", True)


def times(rows, printed, peers, mode, gated, in_full=False):
    """Milliseconds of each; in_full: with the columns that only Tables 3 and 4 have."""
    own, lines = {}, []
    for row in rows:
        if is_ours(row, mode, gated):
            own[case_fields(row["case"])["l"]] = row
    pytorch = REAL if gated else COMPLEX
    for line in printed:
        l = line.fft_size // 2 if mode == "causal" else line.fft_size
        torch, flash = (whole_us(peers.whole(name, mode, gated, l)) for name in (pytorch, FLASH))
        row = own.get(l)
        ours = row["time_us"]["burst_cold"]["median"] if row else None
        both = ours + row["filter_us"]["median"] if row else None
        lines.append([
            length(line.fft_size), *([line.order] if in_full else []), printed_ms(line.pytorch),
            printed_ms(line.flashfftconv), *([printed_ms(line.fusion_only), line.memory_ratio] if in_full else []),
            line.ratio, ms(torch), ms(flash), ratio(torch, flash), ms(ours), ms(both), ratio(torch, both),
            ratio(flash, both), "; ".join(filter(None, [line.note, "ours is stale" if row and row["stale"] else ""]))])
    columns = ["N", *(["order p"] if in_full else []), "PyTorch", FLASH,
               *(["fusion only", "memory savings"] if in_full else []), "speedup", pytorch, FLASH, "speedup",
               "convolution", "with filter", "over PyTorch", f"over {FLASH}", "notes"]
    groups = [Group("", 1), Group(f"{PAPER}, ms", 6 if in_full else 3, "paper"),
              Group(f"others, one {DEVICE}, ms", 3, "measured"),
              Group(f"ours, one {device_of(own)}, ms", 4, "measured"), Group("", 1)]
    return Table(columns, lines, groups)


def is_ours(row, mode, gated):
    fields = case_fields(row["case"])
    asked = (fields["dtype"], fields["mode"], len(fields["gates"]), fields["b"], fields["h"])
    return (row["method"] == "kernel" and passed(row) and left_to_the_plan(row["case"]) and
            fields["k"] == fields["l"] and asked == ("f16", mode, 2 if gated else 0, BATCH, CHANNELS))


def device_of(own):
    names = {row["device"]["name"] for row in own.values()}
    return " and ".join(sorted(names)) or DEVICE


def whole_us(peer):
    return peer.us if peer else None


def ratio(slow, fast):
    return f"{slow / fast:.3g}" if slow and fast else ""


def printed_ms(value):
    return "" if value is None else f"{value:.10g}"


def ms(us):
    """Three digits, or all before the point."""
    if us is None:
        return ""
    value = us / 1000
    return f"{value:.{3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0}f}"
