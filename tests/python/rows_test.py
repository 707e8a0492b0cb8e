"""The commands of the program from Python: their rows, their refusals, Ctrl-C.

  PYTHONPATH=BUILD/python rows_test.py PROGRAM [unittest's own arguments]
"""

import _thread
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import jsonschema
import numpy as np

import danaus

SCHEMAS = Path(__file__).resolve().parents[2] / "experiments/results/schemas"
CASE = "fftconv_f16_causal_l256_b2_h3"
EXPLORED = "fftconv_f16_circular_l256_b64_h3"
# Of a row, what does not depend on when and where it was made.
PROVENANCE = {"date", "git", "dirty", "sources", "argv", "host"}
ASKED = {
    "verify": (lambda: danaus.verify(CASE), ["verify", "--case", CASE]),
    "model": (lambda: danaus.predict(CASE, profile="H200", model="both"),
              ["model", "--case", CASE, "--profile", "H200", "--model", "both"]),
    "what_if": (lambda: danaus.what_if(CASE), ["what-if", "--case", CASE]),
    "count": (lambda: danaus.count(CASE, blocks=7), ["count", "--case", CASE, "--blocks", "7"]),
    "factors": (lambda: danaus.factors("fftconv_f64_circular_l12_b1_h1_r3x4"),
                ["factors", "--case", "fftconv_f64_circular_l12_b1_h1_r3x4"]),
    "memory": (lambda: danaus.memory(CASE), ["memory", "--case", CASE]),
    "list": (danaus.kernels, ["list", "kernels"]),
    "explore": (lambda: danaus.explore("s4d", "uniform", case=EXPLORED, pattern=["low", "grid"], count=4),
                ["explore", "--case", EXPLORED, "--filters", "s4d", "--inputs", "uniform", "--pattern", "low",
                 "--pattern", "grid", "--count", "4"]),
    "partial": (lambda: danaus.explore("s4d", "uniform", case="fftconv_f16_causal_l512_b2_h3", partial=True),
                ["explore", "--case", "fftconv_f16_causal_l512_b2_h3", "--filters", "s4d", "--inputs", "uniform",
                 "--partial"]),
}


class Rows(unittest.TestCase):
    def test_carry_what_their_case_asks(self):
        asked = danaus.asked("fftconv_f16_causal_l256_b2_h3_pregate_r2x8x16")
        self.assertEqual(asked, {"operation": "fftconv", "dtype": "f16", "mode": "causal", "l": 256, "b": 2, "h": 3,
                                 "pregate": True, "r": [2, 8, 16]})
        self.assertEqual(danaus.memory(CASE)[0]["asked"], danaus.asked(CASE))
        with self.assertRaisesRegex(ValueError, "fftconv_f16_l256"):
            danaus.asked("fftconv_f16_l256")

    def test_are_those_of_the_program(self):
        for kind, (ask, words) in ASKED.items():
            rows = ask()
            self.assertTrue(rows, kind)
            schema = json.loads((SCHEMAS / f"{kind}.schema.json").read_text())
            for row in rows:
                jsonschema.validate(row, schema)
                self.assertEqual(row["argv"][:2], ["danaus", words[0]])
            printed = subprocess.run([PROGRAM, *words, "--json", "-"], capture_output=True, text=True, check=True)
            self.assertEqual([{key: row[key] for key in row.keys() - PROVENANCE} for row in rows],
                             [{key: row[key] for key in row.keys() - PROVENANCE}
                              for row in map(json.loads, printed.stdout.splitlines())])

    def test_options_select(self):
        cases, methods = (CASE, "fftconv_bf16_circular_l512_b2_h1"), ("kernel", "fftw")
        rows = danaus.verify(*cases, method=methods, data="uniform", seed=3)
        self.assertEqual({(row["case"], row["method"]) for row in rows},
                         {(case, method) for case in cases for method in methods})
        self.assertTrue(all(row["verify"]["status"] == "passed" for row in rows))
        self.assertEqual({row["data"]["kind"] for row in rows}, {"uniform"})

    def test_explored_arrays(self):
        draw = np.random.default_rng(1).standard_normal
        k = (draw((3, 200)) * np.exp(-np.arange(200) / 20)).astype(np.float32)
        u, kept = draw(256).astype(np.float16), np.abs(np.fft.fftfreq(256)) < 0.3
        rows = danaus.explore(k, u, pattern="energy", mask=[kept], blocks=(16, 1), best_above_snr=8, seed=2)
        self.assertEqual({row["pattern"] for row in rows}, {"energy", "file"})
        with tempfile.TemporaryDirectory() as folder:
            for name, array in (("filters", k), ("inputs", u), ("mask0", kept.astype(float))):
                np.save(os.path.join(folder, name), array)
            words = ["explore", "--filters", "filters.npy", "--inputs", "inputs.npy", "--pattern", "energy", "--blocks",
                     "16x1", "--mask", "mask0.npy", "--best-above-snr", "8", "--seed", "2"]
            made = subprocess.run([PROGRAM, *words, "--json", "-"], capture_output=True, text=True, check=True,
                                  cwd=folder)
            subprocess.run([PROGRAM, *words, "--output", "best.json"], capture_output=True, check=True, cwd=folder)
            found = json.loads(Path(folder, "best.json").read_text())
        self.assertEqual([{key: row[key] for key in row.keys() - PROVENANCE} for row in rows],
                         [{key: row[key] for key in row.keys() - PROVENANCE}
                          for row in map(json.loads, made.stdout.splitlines())])
        self.assertNotIn(tempfile.gettempdir(), json.dumps(rows))

        # The best is the program's, and its mask does to y what its row says.
        best = danaus.best(rows, 8)
        self.assertEqual(best["us"], min(row["us"] for row in rows if row["snr_db"] >= 8))
        self.assertEqual(best["zeros"], max(
            row["zeros"] for row in rows if row["snr_db"] >= 8 and row["us"] == best["us"]))
        self.assertEqual(found["fft_size"], best["n"])
        x = np.broadcast_to(u.astype(float), (3, 256)).copy()
        whole, masked = danaus.conv(x, k.astype(float), "circular"), danaus.conv(x, k.astype(float), "circular",
                                                                                 mask=best)
        error = np.linalg.norm(masked - whole) / np.linalg.norm(whole)
        self.assertAlmostEqual(error, best["errors"][1]["relative_l2"], delta=1e-9)

    def test_the_best(self):
        rows = [{"us": us, "snr_db": snr} if snr else {"us": us} for us, snr in ((3, 9), (2, 3), (4, None), (3, 20))]
        self.assertEqual(danaus.best(rows, 5), rows[3])
        self.assertEqual(danaus.best(rows, 2), rows[1])
        self.assertEqual(danaus.best(rows, 21), rows[2])
        self.assertEqual(danaus.best(rows, 5, cost=lambda row: -row["us"]), rows[2])
        removing = [{"us": 1, "zeros": zeros, "snr_db": snr} for zeros, snr in ((0.1, 40), (0.7, 10), (0.7, 12))]
        self.assertEqual(danaus.best(removing, 8), removing[2], "of two as fast the one that removes more")
        for given, words in ((rows[:2], "best: none of 2 rows has an SNR of 50 dB; the highest is 9.0 dB"),
                             ([], "best: none of 0 rows")):
            with self.assertRaisesRegex(ValueError, words):
                danaus.best(given, 50)

    def test_a_failed_check_is_a_row(self):
        # Of a spectrum that overflows fp16, where y does not.
        rows = danaus.verify(CASE, method="rounded", data="constant", scale=1e4)
        self.assertEqual([row["verify"]["status"] for row in rows], ["failed"])
        rows = danaus.verify(CASE, method="kernel", scale=1e5)
        self.assertEqual(rows[0]["verify"], {"status": "skipped", "reason": "every row reads a NaN or an infinity"})

    def test_what_is_refused(self):
        for ask, words in (
                (lambda: danaus.verify(), "verify: no case"),
                (lambda: danaus.verify("fftconv_f16_causal_b2"), "fftconv_f16_causal_b2"),
                (lambda: danaus.verify(CASE, method="magic"), "verify: method 'magic', must be one of fftw"),
                (lambda: danaus.verify(CASE, data="recording"), "'recording'"),
                (lambda: danaus.verify(CASE, data=["uniform", "recording"]), "'recording'"),
                (lambda: danaus.predict(CASE, profile="H9000"), "H9000"),
                (lambda: danaus.predict(CASE, order=9), "model: order=9, must be from 1 to 5"),
                (lambda: danaus.count(CASE, blocks=0), "count: blocks=0"),
                (lambda: danaus.factors(CASE.replace("256", "4096")), "must be at most 1024"),
                (lambda: danaus.explore(np.full((2, 256), np.nan)), "explore: filters filters.npy has nan at index 0"),
                (lambda: danaus.explore(np.ones((2, 2, 256))), "must be [K] or [H, K]"),
                (lambda: danaus.explore("s4d", blocks="8y2", case=EXPLORED), "explore: blocks '8y2'"),
                (lambda: danaus.explore("s4d", "recording"), "explore: inputs 'recording'"),
                (lambda: danaus.explore("k.wav"), "explore: filters 'k.wav'"),
                (lambda: danaus.run("explore", "--filters", "k.wav"), "give an array"),
                (lambda: danaus.explore("s4d", pattern="magic", case=EXPLORED), "explore: pattern 'magic'"),
                (lambda: danaus.explore("s4d", pattern="low", case=EXPLORED, best_above_snr=1e3), "none of"),
                (lambda: danaus.explore("s4d", case=EXPLORED, mask=np.ones(128)), "N=128"),
                (lambda: danaus.run("bench"), "run: command 'bench'"),
                (lambda: danaus.run("verify", "--colour"), "colour"),
                (lambda: danaus.run("count", "--case", CASE, "--hardware"), "run: --hardware"),
                (lambda: danaus.run("verify", "--case", CASE, "--json", "f"), "run: --json "),
                (lambda: danaus.run("verify", "--case", CASE, "--json=f"), "run: --json "),
                (lambda: danaus.run("verify", "-h"), "run: -h "),
                (lambda: danaus.run("list", "--help"), "run: --help "),
                (lambda: danaus.run("count", "--case", CASE, "--blocks", "many"), "many")):
            with self.assertRaises(ValueError) as caught:
                ask()
            self.assertIn(words, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))

        for ask, words in ((lambda: danaus.verify(CASE, seed=True), "verify: seed=True, must be a value"),
                           (lambda: danaus.predict(CASE, profile=["H200", False]), "predict: profile=False, must be")):
            with self.assertRaisesRegex(TypeError, words):
                ask()
        for arguments, words in (((np.ones((2, 256), int),), "explore: filters is int64"),
                                 (([[1.0]],), "explore: filters is a list"), (("s4d", None), "explore: blocks 8, must")):
            with self.assertRaisesRegex(TypeError, words):
                danaus.explore(*arguments, blocks=8)

    @unittest.skipIf(danaus.device_count(), "there is a GPU")
    def test_what_needs_a_gpu_raises_without_one(self):
        for ask in (lambda: danaus.verify(CASE, method="gpu"),
                    lambda: danaus.run("verify", "--case", CASE, "--method", "gpu")):
            with self.assertRaisesRegex(danaus.NoDevice, "no CUDA"):
                ask()

    def test_from_many_threads(self):
        results = [None] * 4

        def work(i):
            results[i] = danaus.verify(CASE, seed=i)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for i, rows in enumerate(results):
            self.assertEqual([row["verify"] for row in rows], [row["verify"] for row in danaus.verify(CASE, seed=i)])

    def test_an_interrupt_is_heard_and_forgotten(self):
        cases = [f"fftconv_f16_circular_l{length}_b2_h2" for length in range(16384, 26384)]  # a quarter of an hour
        threading.Timer(0.5, _thread.interrupt_main).start()
        with self.assertRaises(KeyboardInterrupt):
            danaus.verify(*cases, method="fftw")
        self.assertEqual(len(danaus.verify(CASE, method="fftw")), 1)

    def test_an_interrupt_is_of_one_call(self):
        cases = [f"fftconv_f16_circular_l{length}_b2_h2" for length in range(16384, 26384)]
        results = []

        def work():
            while not results or results[-1] == 1 and not over.is_set():
                results.append(len(danaus.verify(CASE, method="fftw")))

        over = threading.Event()
        other = threading.Thread(target=work)
        other.start()
        threading.Timer(0.5, _thread.interrupt_main).start()
        with self.assertRaises(KeyboardInterrupt):
            danaus.verify(*cases, method="fftw")
        over.set()
        other.join()
        self.assertEqual(set(results), {1})


if __name__ == "__main__":
    PROGRAM = Path(sys.argv.pop(1)).resolve()
    unittest.main()
