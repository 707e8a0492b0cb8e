"""Tables of pages, of the README and docs/results.md: Markdown between two markers each, from committed rows alone."""

import textwrap
from collections import Counter

from bits import held_to_executor
from evaluation import COUNTED, NULLS, evaluate
from measurements import (ANSWERS, CUFFT, LONG, VERDICTS, ages, answering, at_fft_sizes, by_device, device_of, files_of,
                          floor_with_spectrum, passed, read_all, read_either, read_judged, short_name, timed, us)
from peers import FILE as PEERS, SHORT, Peers, ShortPeers
from results import Refusal, case_fields
from style import length
from tables import front
from tables.forecast import answers_of, beats_null, off
from tables.judgement import NOT_ITS_GPU, TITLES, best_of, class_lines, percent, stale_words
from tables.speed import blocks, call, cufft_call, number, over_copy, over_whole_floor, protocol

BEGIN, END = "<!-- {}, written by plots/make.py --readme -->", "<!-- End of {} -->"
MUCH = 1.2  # the floor with the spectrum over that without
WHERE = {"median": "in the median", "p90": "at the 90th percentile", "mean_regret": "on average", "worst_regret": "at worst"}


def with_tables(path, text, committed):
    """The text of a page with everything between the markers that it has made anew."""
    for name, made in TABLES.items():
        begin, end = BEGIN.format(name), END.format(name.lower())
        first, last = text.find(begin), text.find(end)
        if first < 0 and last < 0:
            continue  # of another page
        if not 0 <= first < last:
            raise Refusal(f"{path}: lacks the line '{begin}' or, after it, '{end}'")
        table = made(committed)
        text = text[:first + len(begin)] + "\n" + (f"\n{table}\n\n" if table else "") + text[last:]
    if not any(BEGIN.format(name) in text for name in TABLES):
        raise Refusal(f"{path}: lacks the line '{BEGIN.format(next(iter(TABLES)))}', or that of another table")
    return text


def claims(committed):
    """What the committed rows say in one line each, of every device that has some which count."""
    rows = timed(None, committed)
    predictions = read_either(None, committed, ["prediction"])
    if not rows or not predictions:
        return ""
    peers, own = Peers(committed), by_device(rows.rows)
    of_devices = [own[device] for device in devices(rows)]
    cells = [each for claim in (it_is_fast, it_is_the_fastest) for of_device in of_devices
             for each in claim(of_device, rows, peers)]
    every, drawn = by_device(timed(None, committed, TIMED).rows), read_either(None, committed, ["random"])
    short = ShortPeers(committed)
    for of_device in of_devices:
        origin = origin_of(of_device, rows)
        cells += front.over_short_peers(every[origin[0]], [origin[0], f"{origin[1]}, {SHORT}"], short)
        cells += it_is_right(every[origin[0]], origin) + random_cases_are_right(drawn, origin[0])
    for judged in predictions_by_device(predictions, rows):
        cells += it_is_predicted(judged, predictions)
    cells += it_is_foretold(committed)
    lines = table(["claim", "figure", "device", "rows in experiments/results/"], cells)
    staleness = earlier_rows([row for of_device in of_devices for row in of_device])
    return "\n".join(lines + (["", *textwrap.wrap(staleness, 120)] if staleness else []))


def it_is_fast(of_device, rows, _):
    return front.over_floors(of_device, origin_of(of_device, rows))


def it_is_the_fastest(of_device, rows, peers):
    device, bench = origin_of(of_device, rows)
    return front.over_others(of_device, [device, f"{bench}, {PEERS}"], peers)


def it_is_right(of_device, origin):
    """Rows of all operations."""
    kernels = [row for row in of_device if row["method"] == "kernel"]
    most = max(row["verify"]["clearance"] for row in kernels if row["verify"]["clearance"] is not None)
    return [["Every kernel that was timed is right.", f"{sum(map(passed, kernels))} of {len(kernels)} within their "
             f"bounds; the worst takes {100 * most:.1f} % of its bound", *origin]]


def random_cases_are_right(drawn, device):
    own = [row for row in drawn.rows if row["device"]["name"] == device] if drawn else []
    if not own:
        return []
    count, failed = sum(row["count"] for row in own), sum(len(row["failed"]) for row in own)
    origin = [device, file_of(drawn, lambda row: row["device"]["name"] == device)]
    claims = [["Random cases are right.", f"{count - failed} of {count} within their bounds; the worst takes "
               f"{100 * max(row['worst']['clearance'] for row in own):.1f} % of its bound", *origin]]
    compared, different = held_to_executor(own, drawn.rows)
    if compared:
        claims.append(["The GPU's outputs are the executor's in every bit.",
                       f"{compared - len(different)} of {compared} random cases", *origin])
    return claims


def it_is_predicted(judged, predictions):
    """Of rows about one device, or about none that was timed."""
    judgement = evaluate(judged)
    counted, beaten = judgement.summary(COUNTED), judgement.beaten()
    of_profile = judged[0]["profile"]
    origin = [judged[0].get("device", of_profile), file_of(predictions, lambda row: row["profile"] == of_profile)]
    times = ["Counted work predicts the time; counting needs no GPU, the profile and the fit do.",
             f"{percent(counted.median)} % off in the median, "
             f"{percent(counted.p90)} % at the 90th percentile, at lengths that it was not fitted to"
             + but_for_nulls(beaten, "median", "p90"), *origin]
    if counted.choices == 0:
        return [times]
    return [times, ["The factors that counted work calls fastest are nearly the fastest.",
                    f"{percent(counted.mean_regret)} % slower on average, {percent(counted.worst_regret)} % at worst, "
                    f"of {counted.choices} choices" + but_for_nulls(beaten, "mean_regret", "worst_regret"), *origin]]


def it_is_foretold(committed):
    """Of every GPU for which times were written down before a kernel ran there."""
    forecasts = read_either(None, committed, ["forecast"])
    if not forecasts:
        return []
    answers, _, _ = answers_of(forecasts.rows, read_all(None, committed, "bench", VERDICTS), answering(committed))
    lines = []
    for gpu in dict.fromkeys(answer["gpu"] for answer in answers):
        here = [answer for answer in answers if answer["gpu"] == gpu]
        beaten = "; another GPU's times do better" if beats_null(here) is False else ""
        lines.append(["Counted work predicts the times of a GPU on which nothing has run.",
                      f"{off(here)}, of {len(here)} kernels as they were{beaten}",
                      gpu, f"{forecasts.sources[0].path.name}, {ANSWERS}/"])
    return lines


def origin_of(of_device, rows):
    """The device of these rows, and the first file with one of it."""
    device = of_device[0]["device"]["name"]
    return [device, file_of(rows, lambda row: row["device"]["name"] == device)]


# What else is timed: its name, and whether a case of these fields is of it. Small batches have lines of their own: their
# time is that of a launch, or of what a channel needs whatever its rows.
OTHERS = {
    "long, circular, N = 64K to 4M": lambda f: is_long(f) and f["mode"] == "circular" and f["k"] == f["l"],
    "long, causal": lambda f: is_long(f) and f["mode"] == "causal" and f["k"] == f["l"],
    "long, causal, K = 1K": lambda f: is_long(f) and f["k"] == 1024,
    "training step, circular": lambda f: f["operation"] == "fftconvstep" and f["mode"] == "circular" and not f["gates"],
    "training step, circular, gated": lambda f: f["operation"] == "fftconvstep" and f["gates"],
    "training step, causal": lambda f: f["operation"] == "fftconvstep" and f["mode"] == "causal",
    "spectral layers of one axis, b = 128 and more": lambda f: is_layer(f, 1) and f["b"] >= 128,
    "spectral layers of one axis, b = 1 and 16": lambda f: is_layer(f, 1) and f["b"] < 128,
    "spectral layers of two axes, b = 16 and more": lambda f: is_layer(f, 2) and f["b"] >= 16,
    "spectral layers of two axes, b = 1": lambda f: is_layer(f, 2) and f["b"] < 16,
    "spectral layers, a matrix for each frequency": lambda f: f["operation"] == "spectral" and f["tf32"] and not f["shared"],
    "gradients of spectral layers": lambda f: f["operation"] == "spectralgrad",
    "short filters, [B, H, L]": lambda f: f["operation"] == "shortconv" and not f["channelslast"],
    "short filters, [B, L, H]": lambda f: f["operation"] == "shortconv" and f["channelslast"],
    "gradients of short filters, [B, H, L]": lambda f: f["operation"] == "shortconvgrad" and not f["channelslast"],
    "gradients of short filters, [B, L, H]": lambda f: f["operation"] == "shortconvgrad" and f["channelslast"],
    "state spaces, 1 to 16 states": lambda f: is_state(f) and f["s"] <= 16,
    "state spaces, 64 states": lambda f: is_state(f) and f["s"] == 64,
    "state spaces, 256 states": lambda f: is_state(f) and f["s"] == 256,
    "state spaces, 64 states, B = 1": lambda f: f["operation"] == "ssmconv" and f["b"] == 1,
}
TIMED = ("fftconv", "fftconvstep", "spectral", "spectralgrad", "shortconv", "shortconvgrad", "ssmconv")


def is_long(fields):
    return (fields["operation"] == "fftconv" and fields["l"] >= LONG and fields["dtype"] == "f16"
            and not fields["gates"] and fields["b"] > 1 and not fields["factors"])


def is_layer(fields, axes):
    return fields["operation"] == "spectral" and len(fields["lengths"]) == axes and fields["tf32"] and fields["shared"]


def is_state(fields):
    return fields["operation"] == "ssmconv" and fields["b"] > 1


def others(committed):
    """What is timed besides the tables of convolutions: a line for each of OTHERS with how far its cases are from their
    floors, and how many times as long cuFFT with its products takes, or cuFFT and cuBLAS; on every device."""
    rows = timed(None, committed, TIMED)
    if not rows:
        return ""
    lines, columns, origins, own = {name: [] for name in OTHERS}, [], [], by_device(rows.rows)
    for device in devices(rows):
        counting = [row for row in own[device] if passed(row)]
        cases = {}
        for row in counting:
            cases.setdefault(row["case"], {})[row["method"]] = row
        for name, is_of in OTHERS.items():
            lines[name] += others_line([methods for case, methods in cases.items()
                                        if "kernel" in methods and is_of(case_fields(case))])
        columns += [f"cases, {short_name(device)}", "× floor", "cuFFT"]
        days = sorted({row["date"] for row in counting})
        old = f" (rows of earlier revisions: {ages(counting)})" if ages(counting) else ""
        origins.append(f"{device}, {' to '.join(dict.fromkeys((days[0], days[-1])))}{old}")
    cells = [[name, *map(str, line)] for name, line in lines.items() if any(line)]
    caption = (f"{'; '.join(origins)}. Times are bursts, the least and the greatest of all cases. The column cuFFT says "
               "how many times as long the best of its ways takes, with the products, sums and packing that it needs.")
    return "\n".join(paragraph(caption) + table(["operation", *columns], cells))


def others_line(found):
    """Of cases, each by method: how many, multiples of the floor, and of the kernel's time."""
    floors = [us(methods["kernel"]) / methods["kernel"]["floor"]["us"] for methods in found]
    beside = [min(theirs) / us(methods["kernel"]) for methods in found
              if (theirs := [us(row) for method, row in methods.items() if method.startswith("cufft")])]
    return [len(found) or "", span(floors), span(beside)]


def span(values):
    return f"{min(values):.2f} to {max(values):.2f}" if values else ""


def earlier_rows(rows):
    others = ages(rows)
    return f"Some of the {len(rows)} measured rows are of earlier revisions: {others}." if others else ""


def but_for_nulls(beaten, *names):
    """What does better than counted work, in each of these figures in which something does."""
    return "".join(f"; {best_of(beaten[name], name)} does better {WHERE[name]}" for name in names if name in beaten)


def devices(results):
    """Names of those with kernels, the one with most first, of equal ones that with most rows; the one with most rows
    where none has any. Baselines make no device."""
    rows = Counter(row["device"]["name"] for row in results.rows)
    kernels = Counter(row["device"]["name"] for row in results.rows if row["method"] == "kernel")
    return sorted(kernels, key=lambda name: (kernels[name], rows[name]), reverse=True) or [max(rows, key=rows.get)]


def predictions_by_device(predictions, results):
    """The predictions about each of devices() that has some; all of them as one where none has."""
    about = [[row for row in predictions.rows if row.get("device") == device]
             for device in (devices(results) if results else ())]
    return [rows for rows in about if rows] or [predictions.rows]


def file_of(found, of):
    """The name of the first file with such a row."""
    return next(source.path.name for source in found.sources if any(map(of, source.rows)))


def lengths_of(rows):
    return sorted(case_fields(row["case"])["l"] for row in rows)


def measured_times(committed):
    rows = timed(None, committed)
    if not rows:
        return ""
    peers = Peers(committed)
    return "\n\n".join(speed(rows, device, peers) for device in devices(rows))


def judged_models(committed):
    """A table for each device that has predictions; one of all that there are where none has."""
    predictions, rows = read_either(None, committed, ["prediction"]), timed(None, committed)
    if not predictions:
        return ""
    decoding = [row for path in files_of(("decode",), committed) for row in read_judged(path, ("decode",), committed=True).rows]
    return "\n\n".join(judgement(own, decoding) for own in predictions_by_device(predictions, rows))


def speed(results, device, peers):
    """A table for the first block of a device's cases, and for every other its multiples of the floor, but for those of
    less than a quarter of its lengths."""
    (heading, main), *others = blocks(at_fft_sizes(by_device(results.rows)[device])).items()
    others = [(name, block) for name, block in others if 4 * len(block) > len(main)]
    origin = ", ".join([heading, *results.dates(), results.revision()])
    lines = paragraph(f"{origin}. Times in microseconds, clocks in MHz. A call is the filter's transform "
                      "and the convolution, from a CUDA graph. The column × copy is the time over a copy of u to y, which took "
                      "turns with it, with quartiles. The sign ~ marks times scaled from fewer rows. A peer's cuFFT leaves out "
                      "the packing of its pairs.")
    columns = ["L", "floor", "burst", "× floor", "clock", "× copy", "sustained", "× floor", "clock", "call", "best cuFFT",
               "its call", "best peer"]
    lines += table(columns, [line(case, methods, peers) for case, methods in main.items()])
    if others:
        lengths = sorted({case_fields(case)["l"] for _, block in others for case in block})
        lines += ["", *paragraph("Bursts in multiples of the floor of each case, on the same GPU:")]
        lines += table(["", *map(length, lengths)], [line for heading, block in others for line in
                                                    ratios(heading, block, lengths)])
    return "\n".join(lines)


def judgement(rows, decoding=()):
    """How well each model predicts, what its choice costs, and the same of the nulls."""
    judged = evaluate(rows)
    summaries = [judged.summary(model) for model in TITLES]
    of_gpus = [each for each in judged.summaries() if each.model == COUNTED and each.part.startswith("on the ")]
    profiles = " and the ".join(sorted({kernel.row["profile"] for kernel in judged.counting}))
    how = ("each predicted by a fit to those of other lengths" if judged.fitted else "which no model was fitted to")
    lines = paragraph(
        f"On the {profiles}: the absolute error of the time predicted for {summaries[0].rows} measured kernels, {how}. "
        f"The cost of a choice is over the fastest factors, in {summaries[0].choices} cases{candidates_words(judged)}. "
        f"Brackets: bootstrap 95 % interval over cases. Where counted work is worse than a null model, it has shown "
        f"nothing. {null_words(judged)}{stale_words(judged)}")
    cells = [[heading_of(summary),
              with_interval(summary, "median") or ("" if summary.model in NULLS else NOT_ITS_GPU),
              with_interval(summary, "p90"), with_interval(summary, "mean_regret"), of(summary.p90_regret),
              of(summary.worst_regret)] for summary in (*summaries, *of_gpus)]
    columns = ["model", "error, median", "90th percentile", "its choice costs, mean", "90th percentile", "worst"]
    return "\n".join([*class_table(judged, decoding), *lines, *table(columns, cells)])


def class_table(judged, decoding):
    """Every class that has measured and predicted times, by itself."""
    gpus = {device_of(row["profile"]) for row in judged.every}
    decoding = [row for row in decoding if row["source"] == "predicted" or row["device"]["name"] in gpus]
    profiles = " and the ".join(sorted({row["profile"] for row in judged.every}))
    lines = paragraph(f"On the {profiles}: counted work on every class of kernels, in %. The best null model of a class "
                      "stands beside it. A class has the same weight in the fit as any other.")
    cells = [[line[0], str(line[1]), line[2], line[4], line[6], f"{line[-3]}: {line[-2]} / {line[-1]}" if line[-3] else ""]
             for line in class_lines(judged, decoding)]
    return [*lines, *table(["class", "kernels", "error, median", "90th percentile", "bias",
                            "best null model, median / 90th percentile"], cells), ""]


def null_words(judged):
    """Which null models do better than counted work, and in what."""
    beaten = judged.beaten()
    if not beaten:
        return "No null model does better than counted work."
    words = "; ".join(f"{best_of(nulls, name)} {WHERE[name]}" for name, nulls in beaten.items())
    return f"Better than counted work: {words}."


def candidates_words(judged):
    """Of how many to choose from."""
    counts = Counter(len(choice.candidates) for choice in judged.choices)
    words = ", ".join(f"{counts[count]} of {count}" for count in sorted(counts))
    return f" ({words} candidates)" if words else ""


def heading_of(summary):
    words = ("null: " if summary.model in NULLS else "") + TITLES[summary.model]
    return f"{words}, {summary.part}" if summary.part else words


def with_interval(summary, name):
    ends = summary.intervals.get(name)
    return of(getattr(summary, name)) + (f" ({percent(ends[0])} to {percent(ends[1])})" if ends else "")


def of(share):
    return "" if share is None else f"{percent(share)} %"


def paragraph(text):
    return [*textwrap.wrap(text, 120, break_on_hyphens=False), ""]


def line(case, methods, peers):
    row = next(iter(methods.values()))
    floor, best = row["floor"]["us"], peers.best(row)
    cells = [("~" if "scaled_from" in row else "") + length(case_fields(case)["l"]), number(floor)]
    for name in ("burst_cold", "sustained_cold"):
        time, clock, ratio = protocol(methods.get("kernel"), name, floor)
        cells += [time, ratio, clock, *([over_copy(methods.get("kernel"))] if name == "burst_cold" else [])]
    cufft = [methods[method]["time_us"]["burst_cold"]["median"] for method in CUFFT
             if method in methods and passed(methods[method])]
    return [*cells, call(methods.get("kernel")), number(min(cufft)) if cufft else "", cufft_call(methods),
            f"{'~' if best.scaled else ''}{number(best.us)} {best.label()}" if best else ""]


def ratios(heading, block, lengths):
    """The block's name, and for each length the multiple of the floor or nothing; where spectra are much of what must
    move, once more with them."""
    by_length = {case_fields(case)["l"]: methods for case, methods in block.items()}
    kernels = [by_length.get(n, {}).get("kernel") for n in lengths]
    lines = [[heading.split(": ", 1)[1], *(protocol(kernel, "burst_cold", kernel["floor"]["us"])[2] if kernel else ""
                                           for kernel in kernels)]]
    if any(kernel and floor_with_spectrum(kernel) > MUCH * kernel["floor"]["us"] for kernel in kernels):
        lines.append(["the same, with the spectrum in the floor", *map(over_whole_floor, kernels)])
    return lines


def table(columns, rows):
    return ["| " + " | ".join(cells) + " |" for cells in (columns, ["---"] * len(columns), *rows)]


TABLES = {"Speed": front.speed, "Claims": claims, "Measured times": measured_times, "Other operations": others,
          "Judged models": judged_models}
