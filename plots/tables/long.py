"""Every factorization of long convolutions: what models say of each, and the clock."""

from statistics import fmean

from measurements import LONG, brought_case, device_of, scale_of, us
from report import Group, Table
from results import case_fields
from style import length
from tables.speed import milliseconds

COLUMNS = ["factors", "Eq. 2, ms", "by counted work, ms", "bound by", "ms", "predicted over it", "× floor", "notes"]
LEAST = 2  # timed factorizations that there is something to choose from


def factorizations(rows, measured):
    """A block for each mode and N, a line for each factorization, in the table's order, of which a plan takes the first;
    times of B=64, H=768. `measured`: rows of danaus bench, brought to that."""
    timed = {(row["case"], row["device"]["name"]): row for row in measured.rows if row["method"] == "kernel"}
    blocks = {}
    for row in rows:
        fields = case_fields(row["case"])
        if fields["l"] >= LONG and fields["factors"] and fields["k"] == fields["l"]:
            said = blocks.setdefault((fields["mode"], fields.fft_size(), row["profile"]), {}).setdefault(row["case"], {})
            said["eq2" if row["model"] == "eq2" else "counted"] = row
    lines, choices = [], []
    for (mode, n, profile), cases in sorted(blocks.items(), key=lambda each: (each[0][0] != "circular", *each[0][1:])):
        lines.append([f"fp16, {mode}, N={length(n)}, {profile}"])
        found = [(case, said, timed.get((brought_case(case), device_of(profile)))) for case, said in cases.items()]
        lines += [cells(case, said, row) for case, said, row in found]
        choices += choice(found)
    groups = [Group("", 1), Group("", 3, "model"), Group("", 3, "measured"), Group("", 1)]
    return Table(COLUMNS, lines, groups, verdict=sentence(lines, choices))


def cells(case, said, row):
    counted, eq2 = (said.get(name, {}).get("total_us") for name in ("counted", "eq2"))
    fields = case_fields(case)
    scale = scale_of(fields)
    found = us(row) if row else None
    return ["x".join(map(str, fields["factors"])), ms(eq2, scale), ms(counted, scale),
            said["counted"]["limit"] if counted else "", ms(found, 1),
            f"{counted * scale / found:.2f}" if counted and found else "",
            f"{found / row['floor']['us']:.2f}" if row else "",
            row["age"] if row else ""]


def ms(us, scale):
    return "" if us is None else milliseconds(us * scale)


def choice(found):
    """[(cost of counted work's choice, of the table's)], each over the fastest by the clock, minus 1; none where fewer
    were timed. Rows of another age are no part of it."""
    known = [(said["counted"]["total_us"], us(row)) for _, said, row in found
             if "counted" in said and row and not row["age"]]
    if len(known) < LEAST or len(known) < len(found):
        return []
    fastest = min(time for _, time in known)
    return [(min(known)[1] / fastest - 1, known[0][1] / fastest - 1)]


def sentence(lines, choices):
    count = sum(len(line) > 1 for line in lines)
    if not choices:
        return f"{count} factorizations predicted; none of the sizes was timed by all of its own."
    means, worst = ([f"{100 * of(each):.1f} %" for each in zip(*choices)] for of in (fmean, max))
    return (f"{count} factorizations; where all of a size were timed ({len(choices)}), the choice of counted work costs "
            f"{means[0]} on average and {worst[0]} at worst, the table's {means[1]} and {worst[1]}.")
