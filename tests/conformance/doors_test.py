"""That nothing is left out: every registered operation, every field of its tokens, every door and every public name.

  PYTHONPATH=BUILD/python doors_test.py CONFORMANCE_LIBRARY PROGRAM [unittest's own arguments]
"""

import ast
import re
import subprocess
import sys
import unittest

import danaus
from conformance import _asked, CASES, DECLARED, FOLDER, PROGRAM, ROOT, cases_of, main, operations, reason_against

SOURCES = {path.name: path.read_text() for path in FOLDER.iterdir() if path.suffix in (".py", ".cpp", ".hpp")}


def exported(path):
    """__all__ of a module, which need not be importable here."""
    for node in ast.parse((ROOT / path).read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            return ast.literal_eval(node.value)
    raise AssertionError(f"{path} has no __all__")


class Operations(unittest.TestCase):
    def test_each_has_cases_and_no_other(self):
        self.assertEqual(set(DECLARED["cases"]), set(operations()))
        for operation, entries in DECLARED["cases"].items():
            self.assertTrue(entries, operation)
        for case in CASES:
            self.assertIn(case, [each for each in CASES if case.token in str(DECLARED["cases"][case.operation])])
            self.assertTrue(case.arrays)

    def test_each_field_of_a_token_is_in_a_case(self):
        for operation in operations():
            with self.assertRaisesRegex(ValueError, "fields are") as caught:
                _asked("arrays", self.with_an_unknown_field(operation).encode())
            fields = re.split(r", |\|", str(caught.exception).partition("fields are ")[2])
            words = {word for case in CASES if case.operation == operation for word in case.words}
            words |= self.refused_fields(operation)
            for field in fields:
                self.assertTrue(any(word == field or re.fullmatch(field + r"\d.*", word) for word in words),
                                f"no case of {operation} has the field {field}")

    def refused_fields(self, operation):
        """Fields of the grammar that no token of the operation may have."""
        declared = DECLARED["no_fields"].get(operation, {"fields": []})
        case = next(case for case in CASES if case.operation == operation)
        for fields in declared["fields"]:
            with self.assertRaisesRegex(ValueError, declared["refused"]):
                _asked("arrays", f"{case}_{fields}".encode())
        return {field for fields in declared["fields"] for field in fields.split("_")}

    def with_an_unknown_field(self, operation):
        return next(case.token for case in CASES if case.operation == operation) + "_?"


class Doors(unittest.TestCase):
    def test_each_has_every_operation_or_says_why_not(self):
        for name, door in DECLARED["doors"].items():
            self.assertIn(door["kind"], DECLARED["kinds"], name)
            self.assertEqual(sorted([*door["operations"], *door["empty"]]), sorted(operations()), name)
            self.assertTrue(all(door["empty"].values()), name)

    def test_each_is_tested_by_its_file(self):
        for name, door in DECLARED["doors"].items():
            self.assertTrue(re.search(rf"\b{re.escape(name)}\b", SOURCES[door["tests"]]), name)

    def test_each_operation_of_a_door_has_a_case_that_it_takes(self):
        for name, door in DECLARED["doors"].items():
            taken = {case.operation for case in cases_of(name)}
            self.assertEqual(taken, set(door["operations"]), name)
            for without in door.get("without", []):
                self.assertTrue(any(reason_against(name, case) == without["reason"] for case in CASES),
                                f"no case shows that {name} is without: {without['reason']}")

    def test_the_page_is_up_to_date(self):
        ran = subprocess.run([sys.executable, "-B", ROOT / "docs/doors.py", "--check"], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))


class Names(unittest.TestCase):
    """Every public name is called in this folder."""

    def expect_called(self, names, files, pattern=r"\b{}\("):
        text = "".join(source for name, source in SOURCES.items() if re.fullmatch(files, name))
        for name in names:
            self.assertTrue(re.search(pattern.format(re.escape(name)), text), f"{name} is in no test of {files}")

    def test_of_the_c_interfaces(self):
        for header in ("kernels/danaus.h", "python/native/study.h"):
            names = re.findall(r"DANAUS_API [\w* ]*?(danaus_\w+)\(", (ROOT / header).read_text())
            self.assertGreater(len(names), 5)
            self.expect_called(names, r"c_test\.cpp|doors\.cpp", r"\b{}\b")

    def test_of_plans_in_cpp(self):
        for header, owner in (("plan", "Plan"), ("decode", "Decoding")):
            text = (ROOT / f"kernels/plan/{header}.hpp").read_text()
            body = re.search(rf"^class {owner} {{(.*?)^ private:", text, re.MULTILINE | re.DOTALL)[1]
            code = re.sub(r"//.*", "", body)
            names = set(re.findall(r"\b(\w+)\([^()]*(?:\([^()]*\)[^()]*)*\)\s*(?:const)?\s*[;{]", code))
            names -= {owner, "span", "execute_"}
            self.assertGreater(len(names), 4)
            self.expect_called(names, r".*\.(cpp|hpp)", r"\.{}\(")

    def test_of_python(self):
        for path, module in (("__init__", r"danaus\."), ("torch", ""), ("flashfftconv", "")):
            for name in exported(f"python/danaus/{path}.py"):
                self.expect_called([name], r"numpy_test\.py|program_test\.py|doors_test\.py|torch_test\.py",
                                   module + r"{}\b")

    def test_of_the_program(self):
        shown = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout
        commands = set(re.findall(r"^  ([a-z][\w-]*)", shown, re.MULTILINE))
        doors = {name.removeprefix("danaus ") for name, door in DECLARED["doors"].items() if door["kind"] == "program"}
        self.assertEqual(commands, doors | set(DECLARED["commands"]))


class OfNoOperation(unittest.TestCase):
    """Names of the package that ask about cases, or about none; danaus.CudaError and danaus.InternalError are raised by
    a GPU and by a fault alone."""

    def test_answers(self):
        self.assertRegex(danaus.__version__, r"^\d+\.\d+\.\d+$")
        self.assertGreaterEqual(danaus.device_count(), 0)
        self.assertTrue(issubclass(danaus.CudaError, RuntimeError) and issubclass(danaus.InternalError, RuntimeError))
        if danaus.device_count() == 0:
            with self.assertRaises(danaus.NoDevice):
                danaus.Plan("fftconv_f16_causal_l256_b1_h1", device="cuda")
        rows = danaus.explore(case="fftconv_f16_circular_l256_b2_h2_n256_r16x16", pattern="low", count=3)
        self.assertIn(danaus.best(rows, above_snr=-1000), rows)
        self.assertTrue(danaus.kernels())
        self.assertEqual(danaus.asked("ssmconv_f16_s4_l64_b2_h1")["s"], 4)
        self.assertTrue(danaus.factors("fftconv_f16_circular_l16_b1_h1_r4x4"))
        self.assertTrue(danaus.what_if("fftconv_f16_causal_l256_b1_h1"))

    def test_this_machine_computes_the_committed_bits(self):
        report = danaus.self_test()
        self.assertEqual((report["differing"], report["first"]), (0, None))
        self.assertGreater(report["same"], 100)
        self.assertEqual(report["cases"], report["same"] + report["absent"])
        if danaus.device_count() == 0:
            with self.assertRaisesRegex(danaus.NoDevice, "CUDA"):
                danaus.self_test("cuda")
        with self.assertRaisesRegex(ValueError, "self_test: device 'tpu'"):
            danaus.self_test("tpu")

    def test_judges(self):
        report = danaus.judge(danaus.conv, "fftconv_f64_causal", count=3, only="values")
        self.assertTrue(report.passed, report)
        rows = [{"case": "fftconv_f16_causal_l256_b1_h1", "n": 256, "measured_us": 2.0}]
        self.assertEqual(danaus.judge_model(lambda row: 2.0, rows).row()["median"], 0)

    def test_rows_of_each_operation(self):
        for operation in operations():
            token = next(case.token for case in CASES if case.operation == operation and not case.refused)
            for ask in (danaus.verify, danaus.count, danaus.memory, danaus.predict):
                rows = ask(token)
                self.assertTrue(rows, f"{ask.__name__} of {token}")
                for row in rows:  # with N, fold and factors, where what is asked chooses them
                    self.assertEqual(row["case"][:len(token)], token, ask.__name__)
            rows = danaus.run("verify", "--case", token, "--method", "kernel")
            self.assertEqual([row["verify"]["status"] for row in rows], ["passed"])


if __name__ == "__main__":
    main()
