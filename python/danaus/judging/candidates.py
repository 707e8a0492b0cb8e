"""danaus.judge: a candidate for an operation against the truth, and against what holds for any right one."""

import time
from types import SimpleNamespace

import numpy as np

from danaus.judging import shrinking, verdicts
from danaus.judging.cases import GRADIENT, Case, Drawing
from danaus.judging.data import make, make_within_range
from danaus.judging.process import Process
from danaus.judging.properties import PROPERTIES, Asked, Broken, Fault, Refused
from danaus.judging.report import CHECKS, Rejected, Report
from danaus.judging.adapters import LIBRARIES
from danaus.judging.conduct import CONDUCT
from danaus.judging.timing import rows_of_times

__all__ = ["judge"]

_MOST_FAILURES, _MOST_FAULTS = 3, 12  # of one check, after which no more cases are asked
_OF_CALLS = ("raises", "hangs", "crashes", "outputs", "inputs")


def judge(candidate, operation="fftconv", *, arrays="numpy", device=None, claim=None, gradient="auto", dtypes=None,
          lengths=None, count=40, seed=0, limit_s=20.0, budget_s=60.0, samples=1 << 14, roundings=None,
          without=(), only=None, timed=False, raises=False):
    """Judges a kernel of anybody's: a callable on arrays of NumPy, PyTorch or CuPy. Returns a danaus.judging.Report.

    candidate   called as fftconv(u, k), shortconv(u, k), ssmconv(u, a, b, c), spectral(u, w), with options by keyword
                where it takes a parameter of that name: pregate, postgate, bias, x_initial, mode, padding,
                channels_last, return_state, shared, complex, two_sided, channel_major, adjoint, unstable, out. Or its
                name, "file.py:name" or "module:name", which a fresh interpreter imports, or a shared library
                "file.so" (danaus/judging/candidate.h). It runs in a process of its own. NotImplementedError and ValueError mean that it refuses a case.
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
        self.candidate, self.gradient, self.roundings = asked.candidate, asked.gradient, asked.roundings
        if asked.arrays not in LIBRARIES:
            raise ValueError(f"judge: arrays {asked.arrays!r}, must be one of {', '.join(LIBRARIES)}")
        verdicts.class_of_claim(asked.claim, "f32")
        only = [asked.only] if isinstance(asked.only, str) else asked.only
        for name in [*asked.without, *(only or [])]:
            if name not in CHECKS:
                raise ValueError(f"judge: check {name!r}, must be one of {', '.join(CHECKS)}")
        self.checks = [name for name in CHECKS if name not in asked.without and (only is None or name in only)]
        self.takes_gradient = callable(self.gradient) or isinstance(self.gradient, str) and ":" in self.gradient
        if self.gradient not in ("auto", "autograd", None) and not self.takes_gradient:
            raise ValueError(f"judge: gradient {self.gradient!r}, must be \"auto\", \"autograd\", None, a callable or a "
                             "name")
        by_autograd = (asked.arrays == "torch" and self.gradient in ("auto", "autograd") and
                       self.fixed.operation in GRADIENT)
        of_gradient = self.gradient if self.takes_gradient else "autograd" if by_autograd else None
        self.process = Process(self.candidate, of_gradient, asked.arrays, asked.device, asked.limit_s)
        name = self.candidate if isinstance(self.candidate, str) else \
            getattr(self.candidate, "__qualname__", repr(self.candidate))
        self.report = Report(name, asked.operation, asked.arrays)
        self.findings, self.memory_row = {}, None  # of each check; see of()
        self.slowest_s = 0.0  # of calls so far
        self.accepted, self.right, self.refusals, self.shares, self.told = [], [], {}, {}, {}

    # What is common to all checks.

    def kind(self, case):
        return verdicts.class_of_claim(self.asked.claim, case["dtype"])

    def late(self, share):
        return time.perf_counter() - self.begin > share * self.asked.budget_s

    def patience_s(self, calls):
        """Seconds that so many calls may take beyond the limit of one."""
        return 3 + 2 * calls * self.slowest_s

    def of(self, check):
        return self.findings.setdefault(check, {"asked": 0, "refused": 0, "faults": 0, "failures": [], "share": 0.0,
                                                "texts": []})

    def call(self, case, values, check, **how):
        """Outputs by name; None where it is refused. Raises Broken for a fault, which counts for its own check."""
        reply = self.process.ask("call", token=case.token, values=values, **how)
        return reply["outputs"] if self.heard(reply, check, case) else None

    def heard(self, reply, check, case):
        if reply.ok:
            return True
        if reply.status == "refused":
            self.refusals.setdefault(reply.text, []).append(case)
            return False
        raise Fault(reply)

    def fail(self, check, text, case, data="plain", seed=None, share=None, output=None, fault=None):
        """A failure of a check. A fault that any call may show is a failure of the check of its own name."""
        name = fault.check if fault is not None and fault.check in CHECKS else check
        self.of(check)["faults"] += name != check
        self.of(name)["failures"].append({"text": text, "case": case, "data": data, "share": share, "output": output,
                                          "seed": self.asked.seed if seed is None else seed, "fault": fault})

    def enough(self, check):
        found = self.of(check)
        return len(found["failures"]) >= _MOST_FAILURES or found["faults"] >= _MOST_FAULTS or self.process.ends >= 3

    # Values.

    def verdict(self, case, data, seed):
        """None where it is refused, or the RowVerdict by the claimed class, and a function for any other class."""
        values, truth = make_within_range(case, data, seed, verdicts.truth)
        reply = self.process.ask("call", token=case.token, values=values)
        if not self.heard(reply, "values", case):
            return None
        self.slowest_s = max(self.slowest_s, reply["seconds"])

        def by(kind):
            return verdicts.judge_rows(case, values, reply["outputs"], truth, kind, roundings=self.roundings,
                                       types=reply["types"])
        return by(self.kind(case)), by, (values, truth)

    def values(self, check, data, first, count, until):
        """So many random cases of one kind of data that are not refused; other checks go on with those of "values"."""
        if check not in self.checks and check != "values":
            return
        found = self.of(check)
        count += found["asked"] - found["refused"]
        for number in range(self.asked.seed + first, self.asked.seed + first + 4 * count):
            if self.enough(check) or self.late(until) or found["asked"] - found["refused"] >= count:
                break
            if found["asked"] >= 20 and found["asked"] > 8 * (found["asked"] - found["refused"]):
                self.drawing.is_simple = True
            case = self.drawing.case(number)
            if check == "gradients":  # of filters in 16 bits, loud rows would make gradients that overflow
                case = case.but(self.gradient_of, **({"kf": None} if data == "rows" else {}))
            found["asked"] += 1
            try:
                result = self.verdict(case, data, number)
            except Fault as fault:
                self.fail(check, str(fault), case, data, number, fault=fault.reply)
                continue
            if result is None:
                found["refused"] += 1
                continue
            verdict, by, numbers = result
            found["share"] = max(found["share"], verdict.share)
            if check == "values":
                self.accepted.append((case, number))
                if verdict.share <= 1:
                    self.right.append((case, number))
            if check in ("values", "impulse"):
                self.note_class(case, by, numbers if check == "values" else None)
            if verdict.share > 1:
                self.fail(check, _words(verdict), case, data, number, verdict.share, verdict.output)

    def note_class(self, case, by, numbers):
        """What each class's bound says of a result, and whether it would see a cast of these numbers."""
        shares = self.shares.setdefault(case["dtype"], dict.fromkeys(verdicts.CLASSES, 0.0))
        for kind in verdicts.CLASSES:
            shares[kind] = max(shares[kind], by(kind).share)
        told = self.told.setdefault(self.kind(case), [0, 0])
        if numbers and told[1] < 8:
            is_told = verdicts.one_precision_lower(case, *numbers, self.kind(case), self.roundings)
            if is_told is not None:
                told[0], told[1] = told[0] + is_told, told[1] + 1

    def arithmetic(self):
        found, words = self.of("class"), []
        for dtype, shares in sorted(self.shares.items()):
            met, claimed = verdicts.met_class(shares), verdicts.class_of_claim(self.asked.claim, dtype)
            order = [*verdicts.CLASSES, "none"]
            found["asked"] += 1
            words.append(f"{dtype}: {verdicts.WORDS[met]}")
            if order.index(met) > order.index(claimed):
                self.fail("class", f"{dtype} claims {verdicts.WORDS[claimed]}, meets {verdicts.WORDS[met]}",
                          self.fixed)
        for kind, (told, asked) in self.told.items():
            if asked:
                words.append(f"a cast to {verdicts.LOWER[kind]} inside would fail {told} of {asked} cases")
        found["texts"].append("; ".join(words))

    # Properties and conduct.

    def some(self, fits, most, cases=None):
        """Accepted cases that fit, small and large."""
        fitting = [each for each in (self.accepted if cases is None else cases) if fits(each[0])]
        step = max(1, len(fitting) // most)
        return fitting[::step][:most]

    def properties(self):
        for name, (ask, fits) in PROPERTIES.items():
            if name not in self.checks or "dy" in self.drawing.case(0).inputs:
                continue
            for case, number in self.some(fits, 4):
                if self.enough(name) or self.late(0.8):
                    break
                self.of(name)["asked"] += 1
                self.property(name, ask, case, number)

    def property(self, name, ask, case, number):
        asked = Asked(case, number, self.kind(case), lambda case, values: self.called(case, values, name),
                      self.roundings)
        try:
            self.of(name)["texts"].append(ask(asked))
        except Broken as broken:
            self.fail(name, str(broken), case, "plain", number, broken.share)
        except Refused:
            self.of(name)["refused"] += 1
        except Fault as fault:
            self.fail(name, str(fault), case, "plain", number, fault=fault.reply)

    def called(self, case, values, check):
        outputs = self.call(case, values, check)
        if outputs is None:
            raise Refused
        return outputs

    def conduct(self):
        for name, ask in CONDUCT.items():
            if name not in self.checks:
                continue
            for case, number in self.some(lambda case: _size(case) < 20000, 3 if name == "views" else 2, self.right):
                if self.enough(name) or self.late(0.95):
                    break
                self.of(name)["asked"] += 1
                try:
                    text = ask(self, case, number)
                    if text is None:
                        self.of(name)["refused"] += 1
                    else:
                        self.of(name)["texts"].append(text)
                except Broken as broken:
                    self.fail(name, str(broken), case, "plain", number, broken.share)
                except Fault as fault:
                    self.fail(name, str(fault), case, "plain", number, fault=fault.reply)

    # The whole.

    def run(self, timed):
        described = self.process.ask("describe")
        if not described.ok:
            self.fail(described.check or "raises", described.text, self.fixed, fault=described)
            return self.concluded()
        self.report.versions["arrays"] = described["library"]
        accepted = set(described["keywords"])
        self.gradient_keywords = described["gradient_keywords"]
        self.accepts_out = "out" in accepted
        known = [dtype for dtype in (self.asked.dtypes or described["dtypes"]) if dtype in described["dtypes"]]
        missing = [dtype for dtype in (self.asked.dtypes or ()) if dtype not in known]
        if missing or not known:
            raise ValueError(f"judge: dtype {missing[0] if missing else self.asked.dtypes}, must be one of "
                             f"{', '.join(described['dtypes'])} of {described['library']}")
        if self.fixed["complex"]:  # no library has complex numbers of 16 bits
            known = [dtype for dtype in known if dtype in ("f32", "f64")]
        self.drawing = Drawing(self.fixed, accepted, known, self.asked.lengths, self.asked.samples)
        self.values("values", "plain", 0, self.asked.count, 0.35)
        self.values("loudness", "rows", 1000, self.asked.count // 2 + 1, 0.5)
        self.values("impulse", "impulse", 2000, self.asked.count // 4 + 1, 0.55)
        if self.accepted:
            self.gradients()
            if "class" in self.checks:
                self.arithmetic()
            self.properties()
            self.conduct()
            self.memory()
        report = self.concluded()
        if timed and report.passed:
            rows_of_times(self, timed)
        return report

    def gradients(self):
        self.gradient_of = GRADIENT.get(self.fixed.operation)
        if "gradients" not in self.checks or self.gradient is None or self.gradient_of is None:
            return
        if self.gradient == "auto":
            case, number = self.accepted[0]
            reply = self.asked.arrays == "torch" and self.process.ask("has_gradient", token=case.token,
                                                                values=make(case, "plain", number))
            if not reply or not reply.ok or not reply["has_gradient"]:
                return
        if self.takes_gradient:
            self.drawing.accepted = set(self.gradient_keywords)
        self.values("gradients", "plain", 3000, self.asked.count // 2 + 1, 0.65)
        self.values("gradients", "rows", 3500, self.asked.count // 4 + 1, 0.7)

    def memory(self):
        if "memory" not in self.checks:
            return
        case, number = max(self.accepted, key=lambda each: _size(each[0]))
        reply = self.process.ask("memory", token=case.token, values=make(case, "plain", number),
                                 extra_s=self.patience_s(3))
        if reply.ok and reply["bytes"] is not None:
            self.memory_row = {"text": f"{reply['bytes']} bytes beyond the inputs at the peak of {case} ({reply['by']})",
                               "bytes": reply["bytes"], "case": case.token}

    def concluded(self):
        for check in CHECKS:
            if check not in self.checks:
                continue
            found = self.findings.get(check)
            if check == "memory" and self.memory_row:
                self.report.add(check, "passed", **self.memory_row)
                continue
            if found is None or found["asked"] == 0 and not found["failures"]:
                repeated = self.findings.get("repeatability", {"asked": 0, "refused": 0})
                if self.accepted and (check in _OF_CALLS or
                                      check == "finished" and repeated["asked"] > repeated["refused"]):
                    self.report.add(check, "passed", "all calls")
                else:
                    self.report.add(check, "skipped", self.reason(check))
                continue
            self.conclude(check, found)
        for text, cases in sorted(self.refusals.items(), key=lambda each: -len(each[1]))[:3]:
            self.report.notes.append(f"refused {len(cases)} times, as {cases[0]}: {text}")
        return self.report

    def reason(self, check):
        if check == "gradients":
            return "no gradient is known; gradient= names one"
        if check == "writes":
            return "the candidate takes no out="
        if check == "memory":
            return "not measured"
        if not self.accepted:
            return "no case gave a result"
        return "no accepted case is of this kind" if self.right else "no case has right values"

    def conclude(self, check, found):
        failures = found["failures"]
        counts = {"asked": found["asked"], "refused": found["refused"]}
        if not failures:
            right = found["asked"] - found["refused"] - found["faults"]
            if right <= 0:
                status = "failed" if check == "values" and not found["faults"] else "skipped"
                words = "no call gave a result" if found["faults"] else f"all {found['asked']} cases were refused"
                self.report.add(check, status, words, **counts)
                return
            texts = list(dict.fromkeys(found["texts"]))
            text = "; ".join(texts[:2]) if texts else f"{right} cases" + \
                (f", {found['refused']} refused" if found["refused"] else "") + \
                (f", at most {found['share']:.2g} of the bound" if found["share"] else ", no error beyond a rounding")
            self.report.add(check, "passed", text, **counts, share=_number(found["share"]))
            return
        worst = min(failures, key=lambda each: _size(each["case"]))
        case, data, repeat = shrinking.shrunk(self, check, worst)
        self.report.add(check, "failed", worst["text"] + ("" if len(failures) == 1 else f"; {len(failures)} failures"),
                        **counts, failures=len(failures), share=_number(worst["share"]),
                        case=None if case is self.fixed else case.token, data=data, seed=worst["seed"], repeat=repeat)


def _words(verdict):
    if not verdict.finite:
        return f"{verdict.where}: a value is not finite though the truth is"
    return f"{verdict.where}: error {verdict.error:.2g} of what was summed, bound {verdict.bound:.2g}"


def _size(case):
    return sum(int(np.prod(extents)) for _, extents, _ in case.inputs.values()) if len(case.fields) > 2 else 0


def _number(value):
    return None if value is None else float(min(value, 1e300))
