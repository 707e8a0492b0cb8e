"""Training steps: what they need of memory, and what each of their parts takes."""

from measurements import passed
from peers import DEVICE
from report import Group, Table
from results import case_fields
from style import length
from tables.speed import place, words

MB = 1e6
PEERS = ("FlashFFTConv", "torch rfft fp32", "subquadratic-ops", "cuDNN")  # how their names begin

# Of a row's parts (experiments/bench/parts.hpp): what a reader calls them, in the order in which they run.
PARTS = {"filter's transform": lambda name: name == "filter",
         "forward": lambda name: first_word(name) == "y",
         "du": lambda name: first_word(name) == "du" and not is_at_once(name),
         "gradients and sums at once": lambda name: is_at_once(name),
         "gates' gradients": lambda name: first_word(name) in ("dpregate", "dpostgate"),
         "sums over the batch": lambda name: first_word(name) == "dk" and name != "dk taps",
         "dk's inverse": lambda name: name == "dk taps"}


def first_word(name):
    return name.split()[0]


def is_at_once(name):
    """Whether a kernel that sums over the batch makes gradients of rows too."""
    return "_gradient" in name and first_word(name) != "dk"


def parts_of(row):
    """{part: microseconds} of those that the row has."""
    times = {}
    for part, is_of in PARTS.items():
        those = [series["median"] for name, series in row.get("parts_us", {}).items() if is_of(name)]
        if those:
            times[part] = sum(those)
    return times


def is_whole_step(row):
    return row["method"] == "kernel" and passed(row) and "parts_us" in row


def parts(rows, peers):
    """A block for each device and kind of step, a line for each length, a column for each part; then what the parts alone
    exceed the whole by, and what others take for the same step."""
    lines, heading = [], None
    for row in sorted(filter(is_whole_step, rows), key=lambda row: (row["device"]["name"], place(row["case"]))):
        here = f"{row['device']['name']}: {words(row['case'])}"
        if here != heading:
            heading = here
            lines.append([heading])
        times, whole = parts_of(row), row["call_us"]["graph"]["median"]
        of_filter = sum(times.get(part, 0) for part in ("filter's transform", "dk's inverse"))
        others = peers.of(row)
        times_of_others = [min((peer.us for peer in others if peer.name.startswith(start)), default=None)
                           for start in PEERS]
        best = peers.best(row)
        notes = [row.get("scaled_from") and f"scaled from {row['scaled_from']}", row["age"]]
        lines.append([length(case_fields(row["case"])["l"]), *(number(times.get(part)) for part in PARTS),
                      number(sum(times.values())), number(whole), f"{100 * of_filter / whole:.0f} %",
                      *map(number, times_of_others), f"{best.us / whole:.1f}" if best else "",
                      "; ".join(filter(None, notes))])
    groups = [Group("", 1), Group("ours, us", len(PARTS) + 3, "measured"),
              Group(f"others, one {DEVICE}, us, and the best of them over ours", len(PEERS) + 1, "measured"), Group("", 1)]
    return Table(["L", *PARTS, "all parts", "whole, as a graph", "transforms of k and dk", *PEERS, "best over ours",
                  "notes"], lines, groups)


def memory(rows, peers):
    """Megabytes beside u, k and dy, which the caller has; ours holds y, du and dk, the spectra and what the passes leave
    for each other, which no device changes."""
    lines, seen = [], set()
    for row in sorted(filter(is_whole_step, rows), key=lambda row: place(row["case"])):
        fields = case_fields(row["case"])
        is_another = row["case"] in seen or "scaled_from" in row
        if is_another or fields["dtype"] != "f16" or fields["gates"] or fields["k"] != fields["l"]:
            continue
        seen.add(row["case"])
        samples = fields["b"] * fields["h"] * fields["l"]
        given = 2 * 2 * samples + 4 * fields["h"] * fields["k"]  # u, dy; k
        beside = row["memory"]["arrays_bytes"] - given + row["memory"]["kept_bytes"]
        others = [peers.smallest(start, fields["mode"], fields["l"]) for start in PEERS]
        best = min((peer.peak_bytes for peer in others if peer), default=None)
        lines.append([fields["mode"], length(fields["l"]), *(megabytes(peer and peer.peak_bytes) for peer in others),
                      megabytes(beside), megabytes(row["memory"]["kept_bytes"]),
                      f"{best / beside:.2f}" if best else ""])
    groups = [Group("", 2), Group(f"others, one {DEVICE}, MB", len(PEERS), "measured"),
              Group("ours, MB, and the best of others over it", 3, "measured")]
    return Table(["mode", "L", *PEERS, "all", "beside y, du and dk", "best over ours"], lines, groups)


def megabytes(count):
    return "" if count is None else f"{count / MB:.{1 if count < 100 * MB else 0}f}"


def number(us):
    return "" if us is None else f"{us:.{1 if us < 1000 else 0}f}"
