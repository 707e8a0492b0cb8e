"""The five questions of the report's first page, and what the rows answer: a number and a sentence each."""

from dataclasses import dataclass
from statistics import median

from evaluation import COUNTED, evaluate
from measurements import LONG, by_device, short_name, us
from peers import Peers
from results import case_fields
from sparsity import gains_of_masks
from style import length
from tables import front

MOST_ROWS = 64  # fewer rows a batch leave a kernel bound by its spectrum


@dataclass
class Answer:
    number: str
    sentence: str
    good: bool = True


def answer(question, sections):
    """The Answer to a question by all sections; None where they have not the rows, or it is no question."""
    return QUESTIONS[question](sections) if question in QUESTIONS else None


def rows_of(sections, kind):
    """Rows of a kind: measured ones of all sections, each once; others of the first section that has some."""
    found = [rows for section in sections if (rows := [row for row in section.results.rows if row["kind"] == kind])]
    if kind != "bench":
        return found[0] if found else []
    return list({(row["case"], row["method"], row["device"]["name"]): row for rows in found for row in rows}.values())


def is_it_right(sections):
    rows = [*rows_of(sections, "verify"), *rows_of(sections, "bench")]
    judged = [row["verify"] for row in rows if row["verify"]["status"] != "skipped"]
    shares = [verdict["clearance"] for verdict in judged if verdict["clearance"] is not None]
    if not shares:
        return None
    right = sum(verdict["status"] == "passed" for verdict in judged)
    return Answer(f"{right} of {len(judged)}",
                  "results keep within their error bound, against a reference in double precision. "
                  f"The worst takes {100 * max(shares):.1f} % of its bound.", right == len(judged))


def how_fast(sections):
    rows = [row for row in rows_of(sections, "bench") if case_fields(row["case"])["operation"] == "fftconv"]
    kernels, others = front.kernels_of(rows), next((each for section in sections for each in section.results.others
                                                    if isinstance(each, Peers)), None)
    if not kernels or not others:
        return None
    of_device = max(by_device(kernels).values(), key=lambda own: (any(map(others.is_of, own)), len(own)))
    name = short_name(of_device[0]["device"]["name"])
    gains = front.gains_of(of_device, rows, others)
    near = [us(row) / row["floor"]["us"] for row in of_device if front.is_main(case_fields(row["case"]), "circular")
            and front.is_fused_size(row, case_fields(row["case"]))]
    copies = (f"A circular convolution to 32K samples takes {min(near):.2f} to {max(near):.2f} times a copy of its "
              f"data (fp16, B=64, H=768, {name}).") if near else ""
    if not gains:
        return Answer(f"{median(near):.2f}×", f"the time of a copy, in the median. {copies}") if near else None
    return Answer(f"{median(gains):.1f}×",
                  f"as fast as the fastest other way, in the median of {len(gains)} forward cases "
                  f"({min(gains):.1f} to {max(gains):.1f}). {copies}")


def how_well_predicted(sections):
    rows = rows_of(sections, "prediction")
    counted = evaluate(rows).summary(COUNTED) if rows else None
    if counted is None or counted.median is None:
        return None
    return Answer(f"{100 * counted.median:.1f} %",
                  f"is the median error of predicted times of {counted.rows} kernels, at lengths that the fit has not "
                  f"seen. Nine of ten are within {100 * counted.p90:.0f} %. Counting needs no GPU; times need a calibrated "
                  "profile and a fit.")


def what_sparsity_saves(sections):
    gains = gains_of_masks(rows_of(sections, "bench"))
    fused = [gain.ratio for gain in gains if gain.length < LONG and gain.batch >= MOST_ROWS]
    if not fused:
        return None
    sentence = (f"is the median gain of a mask in a fused kernel at B=64 ({min(fused):.2f} to {max(fused):.2f}, "
                f"{len(fused)} masks, to 32K samples).")
    long = max((gain for gain in gains if gain.length >= LONG), key=lambda gain: gain.ratio, default=None)
    if long:
        sentence += (f" A mask that empties whole rows makes a convolution of {length(long.length)} samples up to "
                     f"{long.ratio:.1f} times as fast ({short_name(long.device)}).")
    return Answer(f"{median(fused):.2f}×", sentence)


def what_has_run_where(sections):
    checks, drawn = rows_of(sections, "check"), rows_of(sections, "random")
    if not checks:
        return None
    failed = sum(row["tests"]["failed"] for row in checks) + sum(len(row["failed"]) for row in drawn)
    tests = sum(row["tests"]["passed"] for row in checks)
    sentence = f"passed on {devices_of(checks)}, alone and under the tools of compute-sanitizer."
    if drawn:
        sentence += f" {sum(row['count'] for row in drawn)} random cases ran on {devices_of(drawn)}."
    sentence += f" {failed or 'None'} failed. The last row is of {max(row['date'] for row in [*checks, *drawn])}."
    return Answer(f"{tests} test runs", sentence, failed == 0)


def devices_of(rows):
    return " and ".join(sorted({short_name(row["device"]["name"]) for row in rows}))


QUESTIONS = {"Is it right?": is_it_right, "How fast?": how_fast, "How well predicted?": how_well_predicted,
             "What does sparsity save?": what_sparsity_saves, "What has run where?": what_has_run_where}
