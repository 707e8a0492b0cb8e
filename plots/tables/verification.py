"""What was verified, and how close to its bound."""

from report import Table
from results import CONVOLUTIONS, case_fields

MOST = 50  # cases that are listed; the file has all
VERDICTS = ("failed", "skipped", "passed")

# What the table counts by: every case is counted once under each of these.
VARIED = {
    "operation": lambda row, case: case["operation"],
    "method and type": lambda row, case: f"{row['method']}, {case['dtype']}",
    "data": lambda row, case: row["data"]["kind"].replace("_", " ") + scale_words(row["data"]),
    "filter": lambda row, case: row["data"]["filter"],
}
# Likewise every convolution by FFT, its gradients among them.
VARIED_OF_CONVOLUTIONS = {
    "mode and fold": lambda row, case: f"{case['mode']}, {case['fold'] or 'fold left open'}",
    "order": lambda row, case: f"p = {row['order']}",
    "filter length": lambda row, case: filter_length(case["k"], case["l"]),
    "gates": lambda row, case: " and ".join(case["gates"]) or "none",
    "frequency mask": lambda row, case: mask_reading(case["zero"]),
}


def summary(rows):
    """Counts and the largest error over its bound for each value of each thing that was varied; the cases
    nearest to their bounds below it."""
    lines = []
    convolutions = [row for row in rows if case_fields(row["case"])["operation"] in CONVOLUTIONS]
    for varied, value_of in (VARIED | VARIED_OF_CONVOLUTIONS).items():
        groups = {}
        for row in rows if varied in VARIED else convolutions:
            groups.setdefault(value_of(row, case_fields(row["case"])), []).append(row)
        if groups:
            lines.append([varied])
        for value, group in sorted(groups.items()):
            lines.append([value, counts(group), format_or_blank(worst_clearance(group), ".2f")])
    return Table(
        columns=["cases with", "passed", "largest error / bound"],
        rows=lines,
        verdict=sentence(rows),
        good=count(rows, "failed") == 0,
        details=nearest(rows),
        details_title=f"{min(MOST, len(rows))} of {len(rows)} cases: failures first, then by error / bound")


def nearest(rows):
    """The MOST nearest to their bounds, failures first."""
    ordered = sorted(rows, key=lambda row: (VERDICTS.index(verdict(row)), -(row["verify"].get("clearance") or 0)))[:MOST]
    return Table(
        columns=["case", "method", "data", "filter", "verdict", "relative L2", "bound", "error / bound", "SNR (dB)"],
        rows=[[row["case"], row["method"] + (f", {row['scaling']}" if "scaling" in row else ""),
               row["data"]["kind"].replace("_", " ") + scale_words(row["data"]), row["data"]["filter"],
               verdict(row), row["verify"].get("reason") or number(row, "rel_l2", ".2e"), number(row, "bound", ".2e"),
               number(row, "clearance", ".2f"), number(row, "snr_db", ".0f")] for row in ordered])


def counts(rows):
    """All 14, or 12 of 14, 1 skipped, 1 failed."""
    if count(rows, "passed") == len(rows):
        return f"all\u00a0{len(rows)}"
    others = [f"{count(rows, verdict)} {verdict}" for verdict in ("skipped", "failed") if count(rows, verdict)]
    return ", ".join([f"{count(rows, 'passed')} of {len(rows)}", *others])


def sentence(rows):
    passed, skipped, failed = (count(rows, verdict) for verdict in ("passed", "skipped", "failed"))
    text = f"{passed} of {len(rows)} cases passed, {skipped} skipped, {failed} failed"
    worst = worst_clearance(rows)
    return text + ("." if worst is None else f"; the largest error is {worst:.2f} of its bound.")


def verdict(row):
    return row["verify"]["status"]


def count(rows, wanted):
    return sum(verdict(row) == wanted for row in rows)


def worst_clearance(rows):
    """The largest error over its bound; none where no row has a finite one."""
    return max((row["verify"]["clearance"] for row in rows if row["verify"].get("clearance") is not None), default=None)


def number(row, field, form):
    return format_or_blank(row["verify"].get(field), form)


def format_or_blank(value, form):
    return "" if value is None else format(value, form)


def filter_length(k, length):
    return "K = L" if k == length else "K < L" if k < length else "K > L"


def mask_reading(zero):
    if zero is None:
        return "none"
    if zero.startswith(("keep", "blocks")):
        return "bands" if zero.startswith("keep") else "blocks"
    return "literal" if zero.endswith("literal") else "hermitian"


def scale_words(data):
    return "" if data["scale"] == 1 else f" at scale {data['scale']:g}"
