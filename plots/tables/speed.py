"""How long measured convolutions take."""

from measurements import CUFFT, ages, floor_with_spectrum, left_to_the_plan, passed
from report import Table
from results import case_fields
from style import DTYPE, length

# Times in microseconds.
COLUMNS = ["L", "floor", "with spectrum", "burst", "MHz", "× floor", "× that with spectrum", "× copy", "sustained",
           "MHz", "× floor", "cuFFT fp32", "cuFFT pairs", "peer", "best peer", "copy", "filter", "call", "cuFFT call",
           "error / bound", "notes"]


def times(rows, peers):
    """A block for each device, type, mode, gating, B and H, the others behind a click; a line for each length."""
    made = []
    for heading, block in blocks(rows).items():
        made.append([[heading], *(cells(case, methods, peers) for case, methods in block.items())])
    first, rest = (made or [[]])[0], [line for block in made[1:] for line in block]
    return Table(columns=COLUMNS, rows=first, verdict=sentence(rows), good=all(map(passed, rows)) and not any(row["stale"] for row in rows),
                 note=age_note(rows), details=Table(columns=COLUMNS, rows=rest) if rest else None,
                 details_title=f"The same in {len(made) - 1} other types, modes and shapes")


def blocks(rows):
    """{heading: {case: {method: row}}} of the cases that leave N and factors to the plan, by length."""
    found = {}
    for row in sorted(filter(lambda row: left_to_the_plan(row["case"]), rows), key=lambda row: place(row["case"])):
        heading = f"{row['device']['name']}: {words(row['case'])}"
        found.setdefault(heading, {}).setdefault(row["case"], {})[row["method"]] = row
    return found


def place(case):
    """Where a case stands in the tables: large batches first, fp16, circular and ungated first."""
    fields = case_fields(case)
    return (-fields["b"], fields["h"], list(DTYPE).index(fields["dtype"]), fields["mode"] != "circular",
            fields["gates"], fields["k"] if fields["k"] != fields["l"] else 0, fields["l"])


OPERATIONS = {"fftconv": [], "fftconvgrad": ["backward"], "fftconvstep": ["both passes"]}


def words(case):
    fields = case_fields(case)
    gates = ["both gates" if len(fields["gates"]) == 2 else gate for gate in fields["gates"][:1]]
    partial = [f"K={length(fields['k'])}"] if fields["k"] != fields["l"] else []
    return ", ".join([*OPERATIONS[fields["operation"]], DTYPE[fields["dtype"]], fields["mode"], *gates, *partial, f"B={fields['b']}, H={fields['h']}"])


def cells(case, methods, peers):
    any_row = next(iter(methods.values()))
    kernel, best, floor = methods.get("kernel"), peers.best(any_row), any_row["floor"]["us"]
    return [length(case_fields(case)["l"]), f"{floor:.1f}", number(floor_with_spectrum(kernel)) if kernel else "",
            *protocol(kernel, "burst_cold", floor), over_whole_floor(kernel), over_copy(kernel),
            *protocol(kernel, "sustained_cold", floor), baseline(methods.get("cufft_f32")),
            baseline(methods.get("cufft_pairs")), number(best.us) if best else "", best.label() if best else "",
            baseline(methods.get("copy")), us((kernel or {}).get("filter_us")), call(kernel),
            cufft_call(methods), clearance(kernel), notes(methods, best)]


def protocol(row, name, floor):
    """Time, clock and multiple of the floor under a protocol."""
    if row is not None and not passed(row):
        return [row["verify"]["status"], "", ""]
    series = (row or {}).get("time_us", {}).get(name)
    if series is None:
        return ["", "", ""]
    clock = series["clock_mhz"]
    return [number(series["median"]), "" if clock is None else f"{clock:.0f}", f"{series['median'] / floor:.2f}"]


def over_whole_floor(row):
    """Bursts over the floor with the spectrum."""
    if row is None or not passed(row):
        return ""
    return f"{row['time_us']['burst_cold']['median'] / floor_with_spectrum(row):.2f}"


def over_copy(row):
    """Over a copy of u to y in the same turns, with the quartiles; rows say it where methods took turns."""
    ratio = (row or {}).get("ratios", {}).get("copy")
    return f"{ratio['median']:.2f} ({ratio['q1']:.2f} to {ratio['q3']:.2f})" if ratio else ""


def baseline(row):
    if row is None:
        return ""
    return us(row["time_us"]["burst_cold"]) if passed(row) else row["verify"]["status"]


def us(series):
    return "" if series is None else number(series["median"])


def call(row):
    """Filter's transform and convolution, from a CUDA graph."""
    return us((row or {}).get("call_us", {}).get("graph"))


def cufft_call(methods):
    return min(filter(None, (call(methods.get(name)) for name in CUFFT)), key=float, default="")


def number(value):
    return f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def milliseconds(us):
    """Of microseconds, to three digits."""
    ms = us / 1e3
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 10 else f"{ms:.2f}" if ms >= 1 else f"{ms:.3f}"


def clearance(row):
    return f"{row['verify']['clearance']:.2f}" if row and passed(row) else ""


def notes(methods, peer):
    noted = {}  # {note: methods}
    for method, row in methods.items():
        for note in row.get("notes", []):
            noted.setdefault(note, []).append(method)
    remarks = [f"{', '.join(those)}: {note}" for note, those in noted.items()]
    remarks += [f"{method}: {row['verify'].get('reason', row['verify']['status'])}"
                for method, row in methods.items() if not passed(row)]
    if peer:
        remarks += [f"peer: {note}" for note in (peer.words(), "scaled from fewer rows" if peer.scaled else "") if note]
    remarks += sorted({f"scaled from {row['scaled_from']}" for row in methods.values() if "scaled_from" in row})
    old = {}  # {age: methods}
    for method, row in methods.items():
        if row["age"]:
            old.setdefault(row["age"], []).append(method)
    return "; ".join([f"{age}: {', '.join(those)}" for age, those in old.items()] + remarks)


def sentence(rows):
    return f"{sum(map(passed, rows))} of {len(rows)} rows verified and timed{stale_words(rows)}."


def stale_words(rows):
    """How many rows of a GPU at hand are stale."""
    stale = sum(row["stale"] for row in rows)
    return f"; {stale} stale" if stale else ""


def age_note(rows):
    """How many of the other rows are of which earlier revision."""
    others = ages([row for row in rows if not row["stale"]])
    return f"{others}." if others else ""
