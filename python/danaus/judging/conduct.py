"""How a candidate behaves from call to call: bits, threads, changed filters, views, memory of others."""

import numpy as np

from danaus.judging import verdicts
from danaus.judging.adapters import LAYOUTS
from danaus.judging.data import make
from danaus.judging.properties import Broken


def _judged(judge, case, values, outputs, text):
    found = verdicts.judge_rows(case, values, outputs, verdicts.truth(case, values), judge.kind(case),
                                roundings=judge.roundings)
    if found.share > 1:
        raise Broken(f"{text}: {found.where} errs by {found.error:.2g}, bound {found.bound:.2g}", found.share)


def repeatability(judge, case, number):
    """The same call again, and after others."""
    other, of_other = judge.accepted[(number + 1) % len(judge.accepted)]
    reply = judge.process.ask("repeat", extra_s=judge.patience_s(10), token=case.token, values=make(case, "plain", number),
                              other_token=other.token, other_values=make(other, "plain", of_other))
    return f"{reply['calls']} calls, the same bits" if judge.heard(reply, "repeatability", case) else None


def threads(judge, case, number):
    """Three threads at once."""
    lists = [make(case, "plain", number + i) for i in range(3)]
    reply = judge.process.ask("threads", extra_s=judge.patience_s(40), token=case.token, list_of_values=lists)
    if not judge.heard(reply, "threads", case):
        return None
    for values, outputs in zip(lists, reply["results"]):
        _judged(judge, case, values, outputs, "called from three threads at once")
    return "3 threads"


def filters(judge, case, number):
    """Other filters of the same shape, as new arrays and in the same memory."""
    lists = [make(case, "plain", number + i) for i in range(3)]
    lists[1]["u"] = lists[0]["u"]
    for in_place in (False, True):
        reply = judge.process.ask("series", extra_s=judge.patience_s(3), token=case.token, list_of_values=lists,
                                  in_place=in_place)
        if not judge.heard(reply, "filters", case):
            return None
        for values, outputs in zip(lists, reply["results"]):
            _judged(judge, case, values, outputs, "the filter has changed " +
                    ("in place" if in_place else "to another array of its shape"))
    return "new arrays and changes in place"


def views(judge, case, number):
    """Inputs that are not contiguous, and between guard words."""
    values, refused = make(case, "plain", number), []
    layouts = LAYOUTS[1:] if judge.asked.arrays != "host" else ("offset",)  # what a library is given is contiguous
    for layout in layouts:
        outputs = judge.call(case, values, "views", layout=layout)
        if outputs is None:
            refused.append(layout)
            continue
        _judged(judge, case, values, outputs, f"inputs are {layout} views")
    if len(refused) == len(layouts):
        return None
    return ", ".join(each for each in layouts if each not in refused) + \
        (f"; refused: {', '.join(refused)}" if refused else "")


def writes(judge, case, number):
    """Into memory of the judge, between guard words."""
    if not judge.accepts_out:
        judge.of("writes")["asked"] = 0
        return ""
    values = make(case, "plain", number)
    outputs = judge.call(case, values, "writes", use_out=True)
    if outputs is None:
        return None
    if any(np.isnan(array).any() for array in outputs.values()):
        raise Broken("out keeps numbers that the candidate never wrote")
    _judged(judge, case, values, outputs, "written to out")
    return "out between guard words"


CONDUCT = {"repeatability": repeatability, "threads": threads, "filters": filters, "views": views, "writes": writes}
