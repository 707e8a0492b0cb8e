"""Whether this compiler, driver and GPU, or this CPU, compute the bits that were committed."""

from ctypes import byref

from danaus._library import SelftestReport, check, library
from danaus.plans import ordinal_of


def self_test(device="cpu"):
    """Computes small cases of the kernels on canonical data and compares the outputs, bit for bit, with what was
    committed. Takes seconds on a GPU, and up to a minute on a CPU.

    device: "cpu", "cuda", "cuda:N" or N, as for Plan. Raises NoDevice without such a GPU. Returns a dict: "cases" of the
    table; "same", "differing" and "absent", how many of them each; "first", the token of the first that differs, or None.
    A case is absent if its kernel is not in this build, or not for this device.

        report = danaus.self_test("cuda")
        assert report["differing"] == 0, report["first"]
    """
    ordinal = ordinal_of("self_test", device)
    report = SelftestReport()
    if ordinal is None:
        check(library.danaus_selftest_on_executor(byref(report)))
    else:
        check(library.danaus_selftest(ordinal, byref(report)))
    numbers = {name: getattr(report, name) for name in ("cases", "same", "differing", "absent")}
    return {**numbers, "first": report.first.decode() or None}
