"""danaus.judge: a candidate for an operation against the truth, and against what holds for any right one."""

import time
from types import SimpleNamespace

import numpy as np

from danaus.judging import verdicts
from danaus.judging.adapters import LIBRARIES
from danaus.judging.cases import GRADIENT, Case, Drawing
from danaus.judging.conduct import CONDUCT
from danaus.judging.data import make, make_within_range
from danaus.judging.findings import Failure, Findings, checks_of, size_of
from danaus.judging.process import Process
from danaus.judging.properties import PROPERTIES, Asked, Broken, Fault, Refused
from danaus.judging.report import Report
from danaus.judging.timing import rows_of_times

_MOST_CONDUCT = 20000  # numbers in a case that is called a hundred times
_SMALL_BYTES = 4096  # that an interpreter may keep of a call for the next ones
SIZES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}  # bytes


def judge(candidate, operation="fftconv", *, arrays="numpy", device=None, claim=None, gradient="auto", dtypes=None,
          lengths=None, count=40, seed=0, limit_s=20.0, budget_s=60.0, samples=1 << 14, roundings=None,
          without=(), only=None, timed=False, raises=False):
    """Judges a kernel of anybody's: a callable on arrays of NumPy, PyTorch or CuPy. Returns a danaus.judging.Report.

    candidate   called as fftconv(u, k), shortconv(u, k), ssmconv(u, a, b, c), spectral(u, w), with options by keyword
                where it takes a parameter of that name: pregate, postgate, bias, x_initial, mode, padding,
                channels_last, return_state, shared, complex, two_sided, channel_major, adjoint, unstable, out. Or its
                name, "file.py:name" or "module:name", which a fresh interpreter imports, or a shared library
                "file.so" (danaus/judging/candidate.h). It runs in a process of its own. NotImplementedError and
                ValueError mean that it refuses a case.
    operation   the first words of a token: fields that it names are fixed, others are drawn. "fftconv" is causal unless
                the candidate takes mode. fftconvgrad, shortconvgrad and spectralgrad are called with dy behind the
                filter and return gradients in the order of their arguments.
    arrays      "numpy", "torch" or "cupy"; device: "cpu", "cuda", "cuda:N"
    claim       its arithmetic: "rounding" of the output alone, "fp32" inside, or "16bit" between stages; by default
                the arithmetic of the samples' type. roundings: R of the bound c u sqrt(R), by default of a transform of
                radix 2.
    gradient    "autograd", a second callable for the gradient, or None; "auto" asks PyTorch whether y has one
    dtypes      of samples: "f16", "bf16", "f32", "f64"; lengths: those that it takes
    count       of random cases of ordinary data; seed: number of the first one; samples: of u in a case, at most
    limit_s     seconds for a call; budget_s: for everything, roughly
    without, only   names of checks to leave out, or to make alone; danaus.judging.CHECKS lists them
    timed       times it beside others, where all checks passed: True, a token, or a list of tokens
    raises      raises danaus.judging.Rejected where a check fails

    Raises ValueError for words that it does not know.
    """
    judged = _Judge(SimpleNamespace(**locals()))
    with judged.process:
        report = judged.run(timed)
    if raises:
        report.raise_if_failed()
    return report


class _Judge:
    def __init__(self, asked):
        """asked: the arguments of judge()."""
        self.asked, self.fixed, self.begin = asked, Case.parse(asked.operation), time.perf_counter()
        if asked.arrays == "numpy" and str(asked.candidate).endswith(".so"):
            asked.arrays = "host"
        if asked.arrays not in LIBRARIES:
            raise ValueError(f"judge: arrays {asked.arrays!r}, must be one of {', '.join(LIBRARIES)}")
        verdicts.class_of_claim(asked.claim, "f32")
        gradient = asked.gradient
        self.takes_gradient = callable(gradient) or isinstance(gradient, str) and ":" in gradient
        if gradient not in ("auto", "autograd", None) and not self.takes_gradient:
            raise ValueError(f"judge: gradient {gradient!r}, must be autograd, auto, None, a callable or a name")
        if not self.takes_gradient:  # for the process: whether it takes gradients by autograd
            can = asked.arrays == "torch" and self.fixed.operation in GRADIENT
            gradient = "autograd" if gradient is not None and can else None
        self.findings = Findings(checks_of(asked.without, asked.only))
        self.process = Process(asked.candidate, gradient, asked.arrays, asked.device, asked.limit_s)
        name = asked.candidate if isinstance(asked.candidate, str) else \
            getattr(asked.candidate, "__qualname__", repr(asked.candidate))
        self.report, self.memory_row = Report(name, asked.operation, asked.arrays), None
        self.slowest_s = 0.0  # of calls so far
        self.accepted, self.right = [], []  # (case, seed) of ordinary data: that have a result, and a right one
        self.refusals, self.shares, self.casts = {}, {}, {}

    # What is common to all checks.

    def makes(self, check):
        return check in self.findings.checks

    def kind(self, case):
        return verdicts.class_of_claim(self.asked.claim, case["dtype"])

    def is_over(self, check, share):
        """Whether no more cases are asked, by failures, by the end of the process or by a share of the time."""
        late = time.perf_counter() - self.begin > share * self.asked.budget_s
        return late or self.findings[check].is_enough or self.process.ends >= 3

    def patience_s(self, calls):
        """Seconds that so many calls may take beyond the limit of one."""
        return 3 + 2 * calls * self.slowest_s

    def ask(self, action, case, **arguments):
        """The Reply of the process. Raises Refused or Fault."""
        reply = self.process.ask(action, token=case.token, **arguments)
        if reply.status == "refused":
            self.refusals.setdefault(reply.text, []).append(case)
            raise Refused
        if not reply.ok:
            raise Fault(reply)
        return reply

    def call(self, case, values, **how):
        """Outputs by name of one call."""
        return self.ask("call", case, values=values, **how)["outputs"]

    def each(self, check, cases, until, ask, data="plain"):
        """Asks ask(case, seed) of cases. It returns words, or raises Broken, Refused or Fault."""
        finding = self.findings[check]
        for case, seed in cases:
            if self.is_over(check, until):
                break
            finding.asked += 1
            try:
                text = ask(case, seed)
                if text:
                    finding.texts.append(text)
            except Refused:
                finding.refused += 1
            except Broken as broken:
                self.findings.fail(check, Failure(str(broken), case, data, seed, broken.share, broken.output))
            except Fault as fault:
                self.findings.fail(check, Failure(str(fault), case, data, seed, fault=fault.reply))

    # Values.

    def verdict(self, case, data, seed):
        """The Verdict by the claimed class, a function for any other class, inputs and truth."""
        values, truth = make_within_range(case, data, seed, verdicts.truth)
        reply = self.ask("call", case, values=values)
        self.slowest_s = max(self.slowest_s, reply["seconds"])

        def by(kind):
            return verdicts.judge_rows(case, values, reply["outputs"], truth, kind, roundings=self.asked.roundings,
                                       types=reply["types"])
        return by(self.kind(case)), by, (values, truth)

    def drawn(self, check, data, first, count):
        """So many (case, seed) that are not refused, of four times as many at most."""
        finding = self.findings[check]
        count += finding.asked - finding.refused
        for seed in range(self.asked.seed + first, self.asked.seed + first + 4 * count):
            if finding.asked - finding.refused >= count:
                break
            if finding.asked >= 20 and finding.asked > 8 * (finding.asked - finding.refused):
                self.drawing.is_simple = True
            case = self.drawing.case(seed)
            if check == "gradients":  # of filters in 16 bits, loud rows would make gradients that overflow
                case = case.but(GRADIENT[self.fixed.operation], **({"kf": None} if data == "rows" else {}))
            yield case, seed

    def values(self, check, data, first, count, until):
        """Random cases of one kind of data; other checks go on with those of "values"."""
        def ask(case, seed):
            verdict, by, numbers = self.verdict(case, data, seed)
            self.findings[check].share = max(self.findings[check].share, verdict.share)
            if check == "values":
                self.accepted.append((case, seed))
                self.right += [(case, seed)] if verdict.share <= 1 else []
            if check in ("values", "impulse"):
                self.note_class(case, by, numbers if check == "values" else None)
            if verdict.share > 1:
                raise Broken(str(verdict), verdict.share, verdict.output)

        if self.makes(check) or check == "values":
            self.each(check, self.drawn(check, data, first, count), until, ask, data)

    def note_class(self, case, by, numbers):
        """What each class's bound says of a result, and whether it would see a cast of these numbers."""
        shares = self.shares.setdefault(case["dtype"], dict.fromkeys(verdicts.CLASSES, 0.0))
        for kind in verdicts.CLASSES:
            shares[kind] = max(shares[kind], by(kind).share)
        casts = self.casts.setdefault(self.kind(case), [])
        if numbers and len(casts) < 8:
            casts += [each for each in [verdicts.one_precision_lower(case, *numbers, self.kind(case),
                                                                    self.asked.roundings)] if each is not None]

    def arithmetic(self):
        """The class that results of each type meet."""
        finding, words, order = self.findings["class"], [], [*verdicts.CLASSES, "none"]
        for dtype, shares in sorted(self.shares.items()):
            met, claimed = verdicts.met_class(shares), verdicts.class_of_claim(self.asked.claim, dtype)
            finding.asked += 1
            words.append(f"{dtype}: {verdicts.WORDS[met]}")
            if order.index(met) > order.index(claimed):
                self.findings.fail("class", Failure(f"{dtype} claims {verdicts.WORDS[claimed]}, meets "
                                                    f"{verdicts.WORDS[met]}", self.fixed))
        words += [f"a cast to {verdicts.LOWER[kind]} inside would fail {sum(casts)} of {len(casts)} cases"
                  for kind, casts in self.casts.items() if casts]
        finding.texts.append("; ".join(words))

    def gradients(self):
        if self.asked.gradient is None or self.fixed.operation not in GRADIENT:
            return
        if not self.takes_gradient:
            case, seed = self.accepted[0]
            reply = self.process.gradient and self.process.ask("has_gradient", token=case.token,
                                                               values=make(case, "plain", seed))
            if not reply or not reply.ok or not reply["has_gradient"] and self.asked.gradient == "auto":
                return
        else:
            self.drawing.accepted = set(self.gradient_keywords)
        self.values("gradients", "plain", 3000, self.asked.count // 2 + 1, 0.65)
        self.values("gradients", "rows", 3500, self.asked.count // 4 + 1, 0.7)

    # Properties and conduct.

    def some(self, cases, fits, most):
        """Cases that fit, small and large."""
        fitting = [each for each in cases if fits(each[0])]
        return fitting[::max(1, len(fitting) // most)][:most]

    def property_of(self, name):
        """A function of a case and a seed."""
        return lambda case, seed: PROPERTIES[name][0](Asked(case, seed, self.kind(case), self.call,
                                                            self.asked.roundings))

    def properties(self):
        for name, (_, fits) in PROPERTIES.items():
            if self.makes(name) and not any("dy" in case.inputs for case, _ in self.accepted):
                self.each(name, self.some(self.accepted, fits, 4), 0.8, self.property_of(name))

    def conduct(self):
        possible = {"writes": self.accepts_out, "streams": self.has_streams}
        for name, ask in CONDUCT.items():
            if self.makes(name) and possible.get(name, True):
                cases = self.some(self.right, lambda case: size_of(case) < _MOST_CONDUCT, 3 if name == "views" else 2)
                self.each(name, cases, 0.95, lambda case, seed, ask=ask: ask(self, case, seed))

    def memory(self):
        case, seed = max(self.accepted, key=lambda each: size_of(each[0]))
        reply = self.process.ask("memory", token=case.token, values=make(case, "plain", seed),
                                 extra_s=self.patience_s(10 * 22))  # while what is allocated is traced
        least = min(np.prod(extents) * SIZES[dtype] for dtype, extents, _ in case.outputs.values())
        if reply.ok and reply["kept"] > max(least / 2, _SMALL_BYTES):
            self.findings.fail("memory", Failure(f"each call keeps {reply['kept']:.0f} bytes of {case} "
                                                 f"({reply['by']})", case))
        elif reply.ok and reply["bytes"] is not None:
            text = f"{reply['bytes']} bytes beyond the inputs at the peak of {case} ({reply['by']})"
            self.memory_row = {"text": text, "bytes": reply["bytes"], "case": case.token}

    # The whole.

    def run(self, timed):
        described = self.process.ask("describe")
        if described.ok:
            self.begin_with(described)
            self.make_checks()
        else:
            self.findings.fail(described.check or "raises", Failure(described.text, self.fixed, fault=described))
        self.findings.conclude(self)
        if timed and self.report.passed:
            rows_of_times(self, timed)
        return self.report

    def begin_with(self, described):
        self.report.versions["arrays"] = described["library"]
        self.gradient_keywords = described["gradient_keywords"]
        self.accepts_out, self.has_streams = "out" in described["keywords"], described["has_streams"]
        known = described["dtypes"]
        for dtype in self.asked.dtypes or ():
            if dtype not in known:
                raise ValueError(f"judge: dtype {dtype}, must be one of {', '.join(known)} of {described['library']}")
        dtypes = [each for each in self.asked.dtypes or known if not self.fixed["complex"] or each in ("f32", "f64")]
        self.drawing = Drawing(self.fixed, set(described["keywords"]), dtypes, self.asked.lengths, self.asked.samples)

    def make_checks(self):
        self.values("values", "plain", 0, self.asked.count, 0.35)
        self.values("loudness", "rows", 1000, self.asked.count // 2 + 1, 0.5)
        self.values("impulse", "impulse", 2000, self.asked.count // 4 + 1, 0.55)
        if self.accepted:
            for check, make_check in (("gradients", self.gradients), ("class", self.arithmetic)):
                if self.makes(check):
                    make_check()
            self.properties()
            self.conduct()
            if self.makes("memory"):
                self.memory()
