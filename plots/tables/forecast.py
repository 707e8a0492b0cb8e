"""Times foretold for a GPU before anything was timed there, and what it took then."""

from intervals import Bootstrap, quantile
from measurements import LONG, device_of, length_of, passed, us
from report import Group, Table
from results import Refusal, case_fields
from tables.judgement import percent

MOST = 50  # answers that are listed; the files have all
COLUMNS = ["kernels", "median", "95 %", "90th percentile", "bias", "worst", "its case", "median", "90th percentile"]
GROUPS = [Group("", 2), Group("error of what was foretold, %", 6), Group("null: another GPU's time over its floor, %", 2)]


def unseen(rows, timed, kept):
    """A line for each GPU, then for each kind of case there; the worst answers behind a click. `kept` are answers of kernels
    that have changed since."""
    answers, waiting, changed = answers_of(rows, timed, kept)
    lines = []
    for gpu in dict.fromkeys(answer["gpu"] for answer in answers):
        here = [answer for answer in answers if answer["gpu"] == gpu]
        lines.append([gpu, *cells(here)])
        lines += [[f"  {kind}", *cells([answer for answer in here if answer["kind"] == kind])]
                  for kind in dict.fromkeys(answer["kind"] for answer in here)]
    return Table(["of", *COLUMNS], lines, GROUPS, verdict=sentence(answers, waiting, changed), good=beats_null(answers) is not False,
                 details=worst(answers) if answers else None,
                 details_title=f"The {min(MOST, len(answers))} worst of {len(answers)} answers")


def answers_of(rows, timed, kept):
    """What came of forecasts; how many were never timed, and how many when the kernel was another already."""
    answers, waiting, changed = [], 0, 0
    by_case = {}
    for row in [*kept.rows, *timed.rows]:
        by_case.setdefault(row["case"], []).append(row)
    for row in rows:
        found = [other for other in by_case.get(row["case"], []) if is_of_its_gpu(row, other)]
        same = [other for other in found if other["code"] == row["code"]]
        if same:
            answers.append(answered(row, same[0], by_case[row["case"]]))
        elif found:
            changed += 1
        else:
            waiting += 1
    return answers, waiting, changed


def answered(row, measured, of_case):
    """By a measured row of the same kernel, beside all others of its case."""
    if row["date"] > measured["date"]:
        raise Refusal(f"{row['case']} on {measured['device']['name']}: foretold on {row['date']}, after it was timed on "
                      f"{measured['date']}; a forecast comes first")
    took = us(measured)
    elsewhere = [other for other in of_case if other["method"] == "kernel" and passed(other)
                 and other["device"]["name"] != measured["device"]["name"]]
    null = us(elsewhere[-1]) / elsewhere[-1]["floor"]["us"] * measured["floor"]["us"] / took - 1 if elsewhere else None
    return {"gpu": measured["device"]["name"], "kind": kind_of(row["case"]), "case": row["case"], "foretold": row["date"],
            "timed": measured["date"], "variant": row["variant"], "us": took, "error": row["total_us"] / took - 1,
            "null": null, "limit": row["limit"]}


def is_of_its_gpu(row, timed):
    return timed["method"] == "kernel" and passed(timed) and timed["device"]["name"] == device_of(row["profile"])


def kind_of(case):
    fields = case_fields(case)
    if fields["operation"] != "fftconv":
        return fields["operation"]
    return "fftconv, 64K and more" if length_of({"case": case}) >= LONG else "fftconv"


def cells(answers):
    errors = [abs(answer["error"]) for answer in answers]
    signed = sorted(answer["error"] for answer in answers)
    worst = max(answers, key=lambda answer: abs(answer["error"]))
    interval = Bootstrap([answer["case"] for answer in answers]).of_quantile(errors, 0.5)
    nulls = [abs(answer["null"]) for answer in answers if answer["null"] is not None]
    return [len(answers), percent(quantile(errors, 0.5)), " to ".join(map(percent, interval)),
            percent(quantile(errors, 0.9)), percent(quantile(signed, 0.5), signed=True),
            percent(worst["error"], signed=True), worst["case"], percent(quantile(nulls, 0.5)),
            percent(quantile(nulls, 0.9))]


def beats_null(answers):
    pairs = [(abs(answer["error"]), abs(answer["null"])) for answer in answers if answer["null"] is not None]
    return None if not pairs else quantile([error for error, _ in pairs], 0.5) < quantile([null for _, null in pairs], 0.5)


def off(answers):
    errors = [abs(answer["error"]) for answer in answers]
    return f"{percent(quantile(errors, 0.5))} % off in the median, {percent(quantile(errors, 0.9))} % at the 90th percentile"


def sentence(answers, waiting, changed):
    said = [f"{len(answers)} foretold times have been answered by the clock" + (f", {off(answers)}" if answers else "")]
    if waiting:
        said.append(f"{waiting} wait for theirs")
    if changed:
        said.append(f"{changed} are of kernels that have changed since, and are never answered")
    verdict = beats_null(answers)
    words = {None: "", True: " They are nearer than another GPU's times over its floor would be.",
             False: " Another GPU's times over its floor would be nearer."}
    return "; ".join(said) + "." + words[verdict]


def worst(answers):
    lines = [[answer["case"], answer["variant"], answer["gpu"], answer["foretold"], answer["timed"], f"{answer['us']:.1f}",
              percent(answer["error"], signed=True), percent(answer["null"], signed=True), answer["limit"]]
             for answer in sorted(answers, key=lambda answer: -abs(answer["error"]))[:MOST]]
    return Table(["case", "kernel", "GPU", "foretold", "timed", "us", "error, %", "null, %", "limited by"], lines)
