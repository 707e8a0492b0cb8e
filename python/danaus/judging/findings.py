"""Findings of each check, and the report that follows from it."""

from dataclasses import dataclass, field

import numpy as np

from danaus.judging import shrinking
from danaus.judging.report import CHECKS

MOST_FAILURES, MOST_FAULTS = 3, 12  # of one check, after which no more cases are asked
_OF_CALLS = ("raises", "hangs", "crashes", "outputs", "inputs")  # any call may fail these


@dataclass
class Failure:
    """Of one case. fault is the Reply of a call that broke a rule of calls; output names the one that is wrong."""
    text: str
    case: object
    data: str = "plain"
    seed: int = 0
    share: "float | None" = None
    output: "str | None" = None
    fault: object = None

    @property
    def size(self):
        return size_of(self.case)


@dataclass
class Finding:
    """Of one check. faults: cases that ended with a fault, which is a failure of another check."""
    asked: int = 0
    refused: int = 0
    faults: int = 0
    share: float = 0.0
    failures: list = field(default_factory=list)
    texts: list = field(default_factory=list)

    @property
    def answered(self):
        return self.asked - self.refused - self.faults

    @property
    def is_enough(self):
        return len(self.failures) >= MOST_FAILURES or self.faults >= MOST_FAULTS


class Findings(dict):
    """check -> Finding, of the checks of this judge."""

    def __init__(self, checks):
        super().__init__()
        self.checks = checks

    def __missing__(self, check):
        self[check] = Finding()
        return self[check]

    def fail(self, check, failure):
        """A failure of the check; a fault counts for the check that it is named for, if the judge has it."""
        name = failure.fault.check if failure.fault is not None and failure.fault.check in self.checks else check
        if name != check:
            self[check].faults += 1
        self[name].failures.append(failure)

    def conclude(self, judge):
        """Adds the rows of all checks to the judge's report."""
        for check in self.checks:
            finding = self[check]
            if check == "memory" and judge.memory_row:  # a measurement
                judge.report.add(check, "passed", **judge.memory_row)
            elif finding.failures:
                self._failed(judge, check, finding)
            elif finding.asked == 0:
                of_calls = check in _OF_CALLS or check == "finished" and self["repeatability"].answered > 0
                passed = judge.accepted and of_calls
                verdict = ("passed", "all calls") if passed else ("skipped", self._reason(judge, check))
                judge.report.add(check, *verdict)
            else:
                self._passed(judge, check, finding)
        for text, cases in sorted(judge.refusals.items(), key=lambda each: -len(each[1]))[:3]:
            judge.report.notes.append(f"refused {len(cases)} times, as {cases[0]}: {text}")

    def _reason(self, judge, check):
        if check == "gradients":
            return "no gradient is known; gradient= names one"
        if check == "writes":
            return "the candidate takes no out="
        if check == "memory":
            return "not measured"
        if check == "streams":
            return "arrays are of the host, which has no streams: needs a GPU"
        if not judge.accepted:
            return "no case gave a result"
        if not judge.right:
            return "no case has right values"
        return "no time was left" if judge.is_over(check, 0.8) else "no accepted case is of this kind"

    def _passed(self, judge, check, finding):
        counts = {"cases": finding.asked, "refused": finding.refused}
        if finding.answered <= 0:
            refused = finding.faults == 0
            text = f"all {finding.asked} cases were refused" if refused else "no call gave a result"
            judge.report.add(check, "failed" if refused and check == "values" else "skipped", text, **counts)
            return
        texts = list(dict.fromkeys(finding.texts))[:2] or [
            f"{finding.answered} cases" + (f", {finding.refused} refused" if finding.refused else ""),
            f"at most {finding.share:.2g} of the bound" if finding.share else "no error beyond a rounding"]
        judge.report.add(check, "passed", "; ".join(texts), **counts, share=finding.share)

    def _failed(self, judge, check, finding):
        least = min(finding.failures, key=lambda each: each.size)
        case, data, repeat = shrinking.shrunk(judge, check, least)
        count = len(finding.failures)
        text = least.text + (f"; {count} failures" if count > 1 else "")
        judge.report.add(check, "failed", text, cases=finding.asked, refused=finding.refused, failures=count,
                         share=None if least.share is None else float(min(least.share, 1e300)),
                         case=None if case is judge.fixed else case.token, data=data, seed=least.seed, repeat=repeat)


def size_of(case):
    """Numbers of all inputs; 0 where the case is only the fields that are fixed."""
    if not {"B", "L", "dtype"} <= set(case.fields):
        return 0
    return sum(int(np.prod(extents)) for _, extents, _ in case.inputs.values())


def checks_of(without, only):
    """Names of the checks to make; raises ValueError for those that there are not."""
    only = [only] if isinstance(only, str) else only
    for name in [*without, *(only or [])]:
        if name not in CHECKS:
            raise ValueError(f"judge: check {name!r}, must be one of {', '.join(CHECKS)}")
    return [name for name in CHECKS if name not in without and (only is None or name in only)]
