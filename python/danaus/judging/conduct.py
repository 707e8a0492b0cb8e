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
        raise Broken(f"{text}: {verdict}", verdict.share)


def repeatability(judge, case, seed):
    """The same call again, and after others."""
    other, of_other = judge.accepted[(seed + 1) % len(judge.accepted)]
    reply = judge.ask("repeat", case, extra_s=judge.patience_s(10), values=make(case, "plain", seed),
                      other_token=other.token, other_values=make(other, "plain", of_other))
    return f"{reply['calls']} calls, the same bits"


def _together(judge, case, seed, action, count, text):
    lists = [make(case, "plain", seed + i) for i in range(count)]
    reply = judge.ask(action, case, extra_s=judge.patience_s(40), list_of_values=lists)
    for values, outputs in zip(lists, reply["results"]):
        _judged(judge, case, values, outputs, text)
    return f"{count} {action}"


def threads(judge, case, seed):
    """Three threads at once."""
    return _together(judge, case, seed, "threads", 3, "called from three threads at once")


def streams(judge, case, seed):
    """Two streams of a device at once, which are busy when the candidate is called."""
    return _together(judge, case, seed, "streams", 2, "called on two streams at once")


def load(judge, case, seed):
    """While the machine does other work."""
    values = make(case, "plain", seed)
    reply = judge.ask("under_load", case, extra_s=judge.patience_s(200), values=values)
    for outputs in reply["results"]:
        _judged(judge, case, values, outputs, "called while the machine does other work")
    return f"{len(reply['results'])} calls"


def after(judge, case, seed):
    """After other kernels, and in memory that is full of NaN."""
    judge.ask("after", case, extra_s=judge.patience_s(4), values=make(case, "plain", seed))
    return "the same bits"


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


CONDUCT = {"repeatability": repeatability, "threads": threads, "streams": streams, "load": load, "after": after,
           "filters": filters, "views": views, "writes": writes}
