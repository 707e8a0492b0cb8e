"""Which kernel each N would have with less shared memory, and which way is the soonest on which device."""

from measurements import scale_of
from report import Group, Table
from results import case_fields
from style import length
from tables.speed import milliseconds, number
from what_ifs import by_class, place


def kernels(rows):
    modes, lines = {}, []
    for row in rows:
        modes.setdefault(place(row), []).append(row)
    for name, group in modes.items():
        classes = by_class(group)
        whole = {row["n"]: row["us"] for row in classes[max(classes)]}
        for kilobytes, line in classes.items():
            lines.append([f"{name}, {kilobytes} KB a block"])
            lines += [cells(row, whole.get(row["n"])) for row in line]
    missing = [row for row in rows if row["us"] is None]
    columns = ["N", "kernel", "shared memory, bytes", "blocks an SM", "u and y by", "predicted, us", "over the most",
               "bound by"]
    return Table(verdict=sentence(missing, rows), details=Table(columns, lines), details_title="The kernel of each N")


def ways(rows):
    """A block for each filter, a line for each length, columns for each device: the soonest way, its time at B=64, H=768,
    and the next one's over it; and from where to where each is the soonest."""
    profiles = list(dict.fromkeys(row["profile"] for row in rows))
    filters = {}
    for row in rows:
        place = filters.setdefault(taps_of(row), {}).setdefault(row["l"], {})
        place[row["profile"]] = row
    lines = []
    for taps, by_length in filters.items():
        lines.append([f"K={taps}"])
        lines += [[length(n), *(cell for profile in profiles for cell in way_cells(by_length[n].get(profile)))]
                  for n in sorted(by_length)]
    groups = [Group("", 1), *(Group(profile, 3, "model") for profile in profiles)]
    return Table(["L", *["soonest", "ms", "next"] * len(profiles)], lines, groups,
                 verdict=" ".join(f"{profile}: {'; '.join(spans(profile, filters))}." for profile in profiles))


def taps_of(row):
    fields = case_fields(row["case"])
    return "L" if fields["k"] == fields["l"] else length(fields["k"])


def soonest(row):
    """The name of the way; None where there is none, or where the build that was asked lacked kernels of another."""
    return row["ways"][0]["way"] if row and row["complete"] and row["ways"] else None


def way_cells(row):
    if soonest(row) is None:
        return ["" if not row else "none" if row["complete"] else "not built", "", ""]
    first, *others = row["ways"]
    scale = scale_of(case_fields(row["case"]))
    return [f"{first['way']}, N={length(first['n'])}", milliseconds(first["us"] * scale),
            f"{others[0]['way']} × {others[0]['us'] / first['us']:.1f}" if others else ""]


def spans(profile, filters):
    """In words, of each filter: K=L fused to 32K, outer passes from 64K on."""
    words = []
    for taps, by_length in filters.items():
        runs = []
        for n in sorted(by_length):
            way = soonest(by_length[n].get(profile))
            if not runs or runs[-1][0] != way:
                runs.append([way, n, n])
            runs[-1][2] = n
        known = [f"{way} {length(first)}" + (f" to {length(last)}" if last > first else "")
                 for way, first, last in runs if way]
        words.append(f"K={taps} {', '.join(known) or 'unknown'}")
    return words


def cells(row, whole):
    if row["us"] is None:
        return [length(row["n"]), "none fits", "", "", "", "", "", ""]
    return [length(row["n"]), row["kernel"], row["shared_bytes"], row["blocks_per_sm"], row["transfer"],
            number(row["us"]), f"{row['us'] / whole:.2f}" if whole else "", row["limit"]]


def sentence(missing, rows):
    if not missing:
        return f"All {len(rows)} cases stay fused."
    lost = sorted({(row["shared_kb"], row["n"]) for row in missing})
    return f"{len(rows) - len(missing)} of {len(rows)} cases stay fused; not " + ", ".join(
        f"{length(n)} with {kilobytes} KB" for kilobytes, n in lost) + "."
