"""What ran where: tests, sanitizer tools and random cases, on which device, and what came of them."""

from bits import held_to_executor, operation_of
from measurements import age_words, by_device
from report import Table
from tables.speed import age_note, stale_words

COLUMNS = ["what", "passed", "failed", "skipped", "errors", "seed", "worst error / bound", "worst case", "driver",
           "day", "revision", "notes"]


def ran(rows):
    """A block for each device: a line for each program of tests by itself and under each tool, and for each operation
    and seed of random cases."""
    lines, wrong, different, found = [], 0, [], by_device(rows)
    for name, here in found.items():
        checks, drawn = [row for row in here if row["kind"] == "check"], {}
        for row in random_ones(here):
            drawn.setdefault((operation_of(row), row["seed"]), []).append(row)
        lines.append([name])
        lines += [check_cells(row) for row in checks]
        for asked, parts in drawn.items():
            bits = held_to_executor(parts, random_ones(rows))
            lines.append(random_cells(*asked, parts, *bits))
            different += bits[1]
        wrong += sum(row["status"] == "failed" for row in checks) + sum(bool(row["failed"]) for row in random_ones(here))
    verdict = (f"{len(rows)} rows of {len(found)} {'device' if len(found) == 1 else 'devices'}; {wrong} of them with "
               f"failures{stale_words(rows)}.")
    good = wrong == 0 and not different and not any(row["stale"] for row in rows)
    return Table(COLUMNS, lines, verdict=verdict, good=good, note=age_note(rows))


def check_cells(row):
    counts = row["tests"]
    failed = ", ".join(row["failed"][:3]) + (" and others" if len(row["failed"]) > 3 else "")
    return [f"{row['program']}, {row['method']}", counts["passed"], counts["failed"], counts["skipped"],
            row.get("errors", ""), "", "", "", *made_by([row]), remarks([row], failed)]


def random_cells(operation, seed, parts, compared, different):
    """All parts of an operation and a seed together. `compared` and `different` come from held_to_executor()."""
    count, failed = sum(row["count"] for row in parts), sum(len(row["failed"]) for row in parts)
    worst = max((row["worst"] for row in parts), key=badness)
    share = "" if worst["clearance"] is None else f"{worst['clearance']:.2f}"
    return [f"random cases, {operation}", count - failed, failed, 0, "", seed, share,
            f"{worst['case']}, {worst['data']}", *made_by(parts),
            remarks(parts, "; ".join(filter(None, (worst.get("violation", ""), in_words(compared, different)))))]


def in_words(compared, different):
    """How many of a GPU's cases have the executor's bits; nothing where the executor ran none of them."""
    if not compared:
        return ""
    where = ": first number {2} of seed {1}".format(*different[0]) if different else ""
    return f"{compared - len(different)} of {compared} cases as on the executor in every bit{where}"


def random_ones(rows):
    return [row for row in rows if row["kind"] == "random"]


def badness(worst):
    """Of a case that broke a rule, or whose y is not finite, more than of any error."""
    if "violation" in worst or worst["clearance"] is None:
        return float("inf")
    return worst["clearance"]


def made_by(rows):
    days = sorted({row["date"] for row in rows})
    revisions = sorted({row["git"][:12] + (" with changes" if row["dirty"] else "") for row in rows})
    return [rows[0].get("driver", ""), " to ".join(dict.fromkeys((days[0], days[-1]))), ", ".join(revisions)]


def remarks(rows, other):
    return "; ".join(filter(None, (age_words(rows), other)))
