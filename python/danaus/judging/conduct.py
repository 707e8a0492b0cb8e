"""How a candidate behaves from call to call: bits, threads, changed filters, views, memory of others."""

import numpy as np

from danaus.judging import verdicts
from danaus.judging.adapters import LAYOUTS
from danaus.judging.data import make
from danaus.judging.properties import Broken, Refused


def _judged(judge, case, values, outputs, text):
    verdict = verdicts.judge_rows(case, values, outputs, verdicts.truth(case, values), judge.kind(case),
                                roundings=judge.asked.roundings)
    if verdict.share > 1:
        raise Broken(f"{text}: {verdict.where} errs by {verdict.error:.2g}, bound {verdict.bound:.2g}", verdict.share)


def repeatability(judge, case, seed):
    """The same call again, and after others."""
    other, of_other = judge.accepted[(seed + 1) % len(judge.accepted)]
    reply = judge.ask("repeat", case, extra_s=judge.patience_s(10), values=make(case, "plain", seed),
                      other_token=other.token, other_values=make(other, "plain", of_other))
    return f"{reply['calls']} calls, the same bits"


def threads(judge, case, seed):
    """Three threads at once."""
    lists = [make(case, "plain", seed + i) for i in range(3)]
    reply = judge.ask("threads", case, extra_s=judge.patience_s(40), list_of_values=lists)
    for values, outputs in zip(lists, reply["results"]):
        _judged(judge, case, values, outputs, "called from three threads at once")
    return "3 threads"


def filters(judge, case, seed):
    """Other filters of the same shape, as new arrays and in the same memory."""
    lists = [make(case, "plain", seed + i) for i in range(3)]
    lists[1]["u"] = lists[0]["u"]
    for in_place in (False, True):
        reply = judge.ask("series", case, extra_s=judge.patience_s(3), list_of_values=lists, in_place=in_place)
        for values, outputs in zip(lists, reply["results"]):
            _judged(judge, case, values, outputs, "the filter has changed " +
                    ("in place" if in_place else "to another array of its shape"))
    return "new arrays and changes in place"


def views(judge, case, seed):
    """Inputs that are not contiguous, and between guard words."""
    values, refused = make(case, "plain", seed), []
    layouts = LAYOUTS[1:] if judge.asked.arrays != "host" else ("offset",)  # what a library is given is contiguous
    for layout in layouts:
        try:
            _judged(judge, case, values, judge.call(case, values, layout=layout), f"inputs are {layout} views")
        except Refused:
            refused.append(layout)
    if len(refused) == len(layouts):
        raise Refused
    return ", ".join(each for each in layouts if each not in refused) + \
        (f"; refused: {', '.join(refused)}" if refused else "")


def writes(judge, case, seed):
    """Into memory of the judge, between guard words."""
    values = make(case, "plain", seed)
    outputs = judge.call(case, values, use_out=True)
    if any(np.isnan(array).any() for array in outputs.values()):
        raise Broken("out keeps seeds that the candidate never wrote")
    _judged(judge, case, values, outputs, "written to out")
    return "out between guard words"


CONDUCT = {"repeatability": repeatability, "threads": threads, "filters": filters, "views": views, "writes": writes}
