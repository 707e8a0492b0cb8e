"""A filter of one length over longer rows: Table 8, and what such a convolution takes here."""

from measurements import BATCH, CHANNELS, brought_case, of_profiles, scale_of, us
from report import Group, Table
from results import case_fields
from style import length
from tables.speed import milliseconds

# Fu et al. 2023, Table 8: HyenaDNA's perplexity as its filter, trained at K, slides over rows of 1M, 2M and 4M.
TABLE8 = {450_000: {1_000_000: 2.91, 2_000_000: 2.91, 4_000_000: 2.91},
          1_000_000: {1_000_000: 2.91, 2_000_000: 2.91, 4_000_000: 2.90}}
LONG_KERNELS = {"pieces_": "pieces", "outer_": "outer passes"}
COLUMNS = ["L", "PPL", "PPL", "way", "memory, GB", "× u and y", "predicted, ms", "ps a sample", "measured, ms", "× floor",
           "notes"]


def table8(rows, memory, measured):
    """A block for each K, the paper's first; times of B=64, H=768, memory of as many channels as were asked."""
    bytes_of = {row["case"]: row for row in memory.rows}
    timed = {row["case"]: row for row in of_profiles(measured.rows, rows) if row["method"] == "kernel"}
    blocks = {}
    for row in rows:
        fields = case_fields(row["case"])
        if row["model"] == "roofline" and fields["mode"] == "causal":
            blocks.setdefault(fields["k"], {})[fields["l"]] = row
    lines = []
    for taps in sorted(blocks, key=lambda taps: (taps not in TABLE8, taps)):
        lines.append([f"K={length(taps)}" + (f", HyenaDNA-{in_words(taps)}" if taps in TABLE8 else "")])
        for n in sorted(blocks[taps]):
            case = blocks[taps][n]["case"]
            lines.append(cells(taps, n, blocks[taps][n], bytes_of.get(case), timed.get(case) or
                               timed.get(brought_case(case))))
    groups = [Group("", 1), Group("paper", 1, "paper"), Group("ours", 3), Group("", 1), Group("", 2, "model"),
              Group("", 2, "measured"), Group("", 1)]
    return Table(COLUMNS, lines, groups, verdict=sentence(blocks))


def in_words(taps):
    return f"{taps // 1_000_000}M" if taps >= 1_000_000 else f"{taps // 1000}K"


def cells(taps, n, row, memory, timed):
    printed = TABLE8.get(taps, {}).get(n)
    fields = case_fields(row["case"])
    predicted = row["total_us"] * scale_of(fields)
    samples = 2 * 2 * fields["b"] * fields["h"] * n  # bytes of u and y
    return [length(n), f"{printed:.2f}" if printed else "", "needs weights" if printed else "",
            way_of(row), f"{memory['total_bytes'] / 1e9:.2f}" if memory else "",
            f"{memory['total_bytes'] / samples:.2f}" if memory else "", milliseconds(predicted),
            f"{1e6 * predicted / (BATCH * CHANNELS * n):.2f}", milliseconds(us(timed)) if timed else "",
            f"{us(timed) / timed['floor']['us']:.2f}" if timed else "", timed["age"] if timed else ""]


def way_of(row):
    return next((way for prefix, way in LONG_KERNELS.items() if row["variant"].startswith(prefix)), "fused")


def sentence(blocks):
    """Where rows begin to be cut, for each filter short enough."""
    words = []
    for taps, by_length in sorted(blocks.items()):
        cut = [n for n, row in by_length.items() if way_of(row) == "pieces"]
        words.append(f"K={length(taps)} " + (f"in pieces from L={length(min(cut))} on" if cut else "never in pieces"))
    return f"Rows are convolved whole, or, by a plan's own choice, {'; '.join(words)}."
