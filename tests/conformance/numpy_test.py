"""The suite by NumPy: danaus.Plan, and the functions of one call.

  PYTHONPATH=BUILD/python numpy_test.py CONFORMANCE_LIBRARY PROGRAM [unittest's own arguments]
"""

import re
import unittest

import numpy as np

import danaus
from conformance import TYPES, main, tests_of, to_doubles

LONG = 10000  # samples from which on sums by definition take too long


@tests_of("danaus.Plan")
class Plans(unittest.TestCase):
    def check(self, case):
        if case.refused:
            with self.assertRaisesRegex(ValueError, re.escape(case.refused)):
                danaus.Plan(case.token)
            return
        plan = danaus.Plan(case.token)
        names = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
        arrays = {array["name"]: (names[array["dtype"]], tuple(array["extents"])) for array in case.arrays}
        self.assertEqual(plan.arrays, arrays)
        self.assertIn(plan.kernel, plan.description)
        self.assertEqual(set(plan.bytes()), {"prepared", "workspace", "constants"})
        self.assertEqual(plan.bytes(), plan.bytes(case.batch))
        inputs = case.inputs("input")
        plan.prepare(**case.inputs("filter"))
        given = plan.execute(**inputs)
        outputs = [array for array in case.arrays if array["role"] == "output"]
        given = given if len(outputs) > 1 else {outputs[0]["name"]: given}
        self.assertEqual(case.complaint("kernel", given), "")
        # Into arrays of the caller's: the same bits.
        targets = {array["name"]: np.empty(array["extents"], TYPES[array["dtype"]]) for array in outputs}
        plan.execute(**inputs, **targets)
        for name, array in targets.items():
            np.testing.assert_array_equal(array, given[name])
        self.check_fewer_rows(case, plan, inputs, given)

    def check_fewer_rows(self, case, plan, inputs, given):
        """Of a smaller batch: its rows, by a kernel that may be another; sums over the batch are others."""
        batched = {array["name"]: array["dtype"] for array in case.arrays if array["batched"]}
        fewer = case.batch // 2
        if fewer == 0:
            return
        rows = plan.execute(**{name: array[:fewer] if name in batched else array for name, array in inputs.items()})
        for name, array in (rows if isinstance(rows, dict) else {next(iter(given)): rows}).items():
            if name in batched:
                some, whole = (to_doubles(x, batched[name]) for x in (array, given[name][:fewer]))
                self.assertEqual(some.shape, whole.shape, name)
                self.assertLessEqual(np.linalg.norm(some - whole), 0.05 * np.linalg.norm(whole), name)


@tests_of("danaus functions")
class Functions(unittest.TestCase):
    def check(self, case):
        call = getattr(self, case.operation)
        in_double = ("fftw", "monarch", "direct") if case.operation == "fftconv" else ("definition",)
        for method in in_double if case.number("l") < LONG else in_double[:1]:
            self.assertEqual(case.complaint("double", call(case, method)), "", method)
        if case.refused:
            with self.assertRaisesRegex(ValueError, re.escape(case.refused)):
                call(case, "kernel")
        else:
            self.assertEqual(case.complaint("kernel", call(case, "kernel")), "")

    def options(self, case, method):
        return {"method": method, "dtype": "bfloat16" if case.dtype == "bf16" else None}

    def fftconv(self, case, method):
        inputs = case.inputs("input", "filter")
        masking = [word for word in case.words if re.fullmatch(r"(zero|keep|blocks).*|n\d+|r\d.*|plain|pair", word)]
        mode = "circular" if case.has("circular") else "causal"
        u, k = inputs.pop("u"), inputs.pop("k")
        y, error = danaus.conv(u, k, mode, **inputs, mask="_".join(masking) or None, return_error=True,
                               **self.options(case, method))
        self.assertEqual(error["status"], "passed", error)
        if masking and "literal" not in case.token:  # by its marks
            kept = danaus.Plan(case.token).kept
            of_marks = danaus.conv(u, k, mode, **inputs, mask=kept, **self.options(case, method))
            self.assertEqual(case.complaint("kernel" if method == "kernel" else "double", {"y": of_marks}), "")
        return {"y": y}

    def shortconv(self, case, method):
        inputs = case.inputs("input", "filter")
        y, error = danaus.short_conv(**inputs, padding="same" if case.has("same") else "causal",
                                     channels_last=case.has("channelslast"), return_error=True,
                                     **self.options(case, method))
        self.assertEqual(error["status"], "passed", error)
        return {"y": y}

    def ssmconv(self, case, method):
        def as_complex(array):  # [..., 2]
            return array.view(np.complex64 if array.dtype == np.float32 else np.complex128)[..., 0]

        inputs = case.inputs("input", "filter")
        u = inputs.pop("u")
        inputs = {name: as_complex(array) for name, array in inputs.items()}
        given = danaus.ssm_conv(u, **inputs, return_state=case.has("final"), unstable=case.has("unstable"),
                                **self.options(case, method))
        if not case.has("final"):
            return {"y": given}
        y, x_final = given
        return {"y": y, "x_final": np.stack([x_final.real, x_final.imag], -1)}


if __name__ == "__main__":
    main()
