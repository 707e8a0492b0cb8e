"""make.py as a user calls it, on a few rows of each kind."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLOTS = ROOT / "plots"
sys.path.insert(0, str(PLOTS))

import measurements  # noqa: E402

PROVENANCE = {"git": "0123456789abcdef", "dirty": False, "argv": ["danaus", "verify"], "host": {"cpu": "a <CPU>"}}


LENGTHS = {256: "r16x16", 512: "r32x16"}


def verify_row(case, status="passed", error=1e-4, scaling="unitary"):
    clearance = None if error is None else error / 2e-3
    return {"schema": 1, "kind": "verify", "case": case, "order": 2, "method": "rounded", "scaling": scaling,
            "data": {"kind": "gaussian", "scale": 1, "filter": "random", "seed": "1"},
            "verify": {"status": status, "rel_l2": error, "rel_max": error, "snr_db": 80, "bound": 2e-3,
                       "clearance": clearance, "worst": 0}, **PROVENANCE}


def model_row(profile, n, factors, memory):
    terms = [{"factor": factor, "compute_us": 1, "memory_us": 1, "unit": "matrix" if factor >= 16 else "general",
              "memory": memory, "reason": ""} for factor in factors]
    case = f"fftconv_f16_circular_l{n}_b1_h1_plain_r" + "x".join(map(str, factors))
    return {"schema": 1, "kind": "model", "case": case, "order": len(factors), "profile": profile, "model": "eq2",
            "total_us": n, "ps_per_token_bh": 3.5 * len(factors), "limit": memory, "terms": terms, "notes": [],
            **PROVENANCE}


def bench_row(case, method, us, code=None, status="passed", clock=1780):
    """Made up. The floor is 10 us."""
    series = {"median": us, "q1": us, "q3": us, "samples": [us], "launches": 10, "clock_mhz": clock}
    row = {"schema": 1, "kind": "bench", "case": case, "method": method, "device": {"name": "a test H200"},
           "code": code or (KERNELS if method == "kernel" else BASELINES), "floor": {"us": 10},
           "verify": {"status": status, "rel_l2": 1e-4, "bound": 1e-3, "clearance": 0.1}, **PROVENANCE}
    if status == "passed":
        row |= {"time_us": {"burst_cold": series, "sustained_cold": {**series, "median": 1.5 * us, "clock_mhz": None}},
                "filter_us": series, "notes": []}
    return row


KERNELS, BASELINES = measurements.digest_of("kernels", "kernels/host"), measurements.digest_of("experiments/baselines")
MEASURED = "fftconv_f16_circular_l1024_b64_h768"


def measured_rows():
    return [bench_row(MEASURED, "kernel", 12), bench_row(MEASURED, "copy", 10.5), bench_row(MEASURED, "cufft_f32", 200),
            bench_row(MEASURED, "cufft_pairs", 80), bench_row(MEASURED.replace("1024", "2048"), "kernel", 13, "stale"),
            bench_row("fftconv_bf16_causal_l1024_b8_h768_pregate_postgate", "kernel", 14),
            bench_row("fftconv_bf16_causal_l768_b8_h768", "kernel", 0, status="failed")]


def counters_row():
    """Made up."""
    quantities = [{"name": "matrix instructions", "counted": 1536, "hardware": 1536, "ratio": 1, "metric": "a"},
                  {"name": "byte permutes", "counted": 100, "hardware": 130, "ratio": 1.3, "metric": "b",
                   "why": "a reason"},
                  {"name": "global store sectors", "counted": 0, "hardware": 0, "ratio": None, "metric": "c"}]
    return {"schema": 1, "kind": "counters", "case": MEASURED, "method": "kernel", "device": {"name": "a test H200"},
            "code": KERNELS, "variant": "exchange", "blocks": 18, "quantities": quantities, **PROVENANCE}


def words_of(page):
    """The words of a page, a space between any two."""
    return " ".join(re.sub("<[^>]*>", " ", page.read_text()).split())


def good_rows():
    """A folder's worth: {file: rows}."""
    cases = [f"fftconv_{dtype}_circular_l{n}_b1_h1_{factors}" for dtype in ("f16", "bf16")
             for n, factors in LENGTHS.items()]
    predictions = ((1024, [32, 32], "sram"), (65536, [256, 256], "hbm"), (1024, [16, 8, 8], "sram"))
    dft = {"name": "stage 1", "rows": 2, "columns": 2,
           "nonzeros": [[0, 0, 1, 0], [0, 1, 1, 0], [1, 0, 1, 0], [1, 1, -1, 0]]}
    return {
        "verify.jsonl": [verify_row("fftconv_f16_causal_l100_k7_b2_h3_pregate_rightangle"),
                         verify_row("fftconv_f16_causal_l100_b2_h3", "skipped", None)],
        "error.jsonl": [verify_row(case) for case in cases],
        "range.jsonl": [verify_row(case) for case in cases] +
                       [verify_row(case, "failed", None if "l512" in case else 5e-3, "one_side") for case in cases],
        "model.jsonl": [model_row(profile, *point) for profile in ("A100-40GB", "H200") for point in predictions],
        "factors.jsonl": [{"schema": 1, "kind": "factors", "case": "fftconv_f64_circular_l2_b1_h1_r2",
                           "matrices": [dft], **PROVENANCE}],
    }


class MakeTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.data = Path(self.folder.name)
        self.out = self.data / "figures"
        self.committed = self.data / "committed"
        self.committed.mkdir()
        shutil.copy(measurements.COMMITTED / "h200_peers.csv", self.committed)

    def write(self, files):
        for name, rows in files.items():
            (self.data / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    def make(self, *words):
        return subprocess.run([sys.executable, "-B", PLOTS / "make.py", "--data", self.data, "--out", self.out,
                               "--committed", self.committed, *words], capture_output=True, text=True)

    def refused(self, *words):
        """The one line of complaint; nothing may have been written."""
        done = self.make(*words)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertFalse(self.out.exists() and any(self.out.iterdir()))
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def test_draws_every_figure_and_the_report(self):
        self.write(good_rows() | {"committed/measured.jsonl": measured_rows(),
                                  "committed/counters.jsonl": [counters_row()]})
        page = self.data / "report.html"
        done = self.make("--report", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        entries = tomllib.loads((PLOTS / "figures.toml").read_text())
        figures = [name for name, entry in entries.items() if "draw" in entry]
        expected = {f"{name}.{suffix}" for name in figures for suffix in ("svg", "png")}
        self.assertEqual({path.name for path in self.out.iterdir()}, expected)
        for path in self.out.iterdir():
            self.assertTrue(path.read_bytes().startswith(b"\x89PNG" if path.suffix == ".png" else b"<?xml"))

        text = page.read_text()
        for entry in entries.values():
            self.assertIn(entry["title"].replace("'", "&#x27;"), text)
            self.assertIn(entry["question"].replace("'", "&#x27;"), text)
        self.assertEqual(text.count("data:image/svg+xml;base64,"), len(figures))
        self.assertIn("1 of 2 cases passed, 1 skipped, 0 failed", text)
        self.assertIn("2 of 3 counts over 1 cases agree to 1%.", text)
        self.assertIn("byte permutes 100 130 1.300 a reason", words_of(page))
        self.assertIn("a &lt;CPU&gt;", text)
        self.assertNotIn("http", text)  # needs nothing from elsewhere

        first = {path.name: path.read_bytes() for path in self.out.iterdir()}
        self.assertEqual(self.make("figure4").returncode, 0)
        for name in ("figure4.svg", "figure4.png"):
            self.assertEqual((self.out / name).read_bytes(), first[name], "the same rows must give the same bytes")

    def test_the_report_says_when_a_case_failed(self):
        files = good_rows()
        files["verify.jsonl"].append(verify_row("fftconv_bf16_causal_l64_b1_h1", "failed", None))
        self.write(files)
        page = self.data / "report.html"
        self.assertEqual(self.make("--report", page).returncode, 0)
        self.assertIn('<p class="bad">1 of 3 cases passed, 1 skipped, 1 failed', page.read_text())

    def test_what_shows_measured_rows_is_left_out_while_there_are_none(self):
        self.write(good_rows())
        page = self.data / "report.html"
        done = self.make("--report", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("time-over-floor: left out, no measured rows in", done.stderr)
        self.assertNotIn("Measured time", page.read_text())
        self.assertIn("counters: left out, no measured rows in", done.stderr)
        self.assertIn("danaus count --hardware makes them", done.stderr)
        asked = self.make("time-over-floor")
        self.assertEqual(asked.returncode, 2)
        self.assertIn("danaus bench makes them", asked.stderr)

    def test_measured_rows_are_told_stale_and_give_way_to_the_reader_s_own(self):
        own = [bench_row(MEASURED, "kernel", 11.5)]
        self.write(good_rows() | {"committed/measured.jsonl": measured_rows(), "bench.jsonl": own})
        page = self.data / "report.html"
        self.assertEqual(self.make("--report", page).returncode, 0)
        text = words_of(page)
        self.assertIn("6 of 7 rows verified and timed; 1 are stale: what they timed has changed since.", text)
        self.assertIn("1K 10.0 11.5 1780 1.15 17.2 1.73 200.0 80.0 159.6 ThunderKittens", text)
        self.assertRegex(text, r"2K 10\.0 13\.0 1780 .*stale: kernel")

    def test_digests_are_those_that_a_build_makes(self):
        written = self.data / "revision.cpp"
        subprocess.run(["cmake", f"-DSOURCE_DIR={ROOT}", f"-DOUTPUT={written}", "-P",
                        ROOT / "experiments" / "revision.cmake"], check=True)
        self.assertIn(f'"{KERNELS}", "{BASELINES}"', written.read_text())

    def test_the_readme_agrees_with_the_committed_rows(self):
        copy = self.data / "README.md"
        shutil.copy(ROOT / "README.md", copy)
        done = self.make("--committed", measurements.COMMITTED, "--readme", copy)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(copy.read_text(), (ROOT / "README.md").read_text(), "plots/make.py --readme mends it")

    def test_the_readme_s_table_stands_between_its_markers(self):
        self.write({"committed/measured.jsonl": measured_rows()})
        page = self.data / "README.md"
        shutil.copy(ROOT / "README.md", page)
        self.assertEqual(self.make("--readme", page).returncode, 0)
        text = page.read_text()
        self.assertIn("| 1K | 10.0 | 12.0 | 1.20 | 1780 | 18.0 | 1.80 |  | 80.0 | 159.6 ThunderKittens", text)
        self.assertIn("| bf16, causal, both gates, B=8, H=768 |", text)
        page.write_text("no markers")
        self.assertIn("lacks the line '<!-- Measured times", self.refused("--readme", page))
        self.assertEqual(page.read_text(), "no markers")

    def test_refuses_another_schema(self):
        files = good_rows()
        files["error.jsonl"][1]["schema"] = 2
        self.write(files)
        self.assertIn("error.jsonl, line 2: schema 2, must be 1", self.refused("error"))

    def test_refuses_another_kind(self):
        files = good_rows()
        files["error.jsonl"] = files["model.jsonl"]
        self.write(files)
        self.assertIn("line 1: kind 'model', must be 'verify'", self.refused("error"))

    def test_refuses_an_unverified_row(self):
        files = good_rows()
        files["error.jsonl"].append(verify_row("fftconv_f16_circular_l256_b1_h1_r16x16", "failed"))
        self.write(files)
        self.assertIn("fftconv_f16_circular_l256_b1_h1_r16x16 is failed, must be passed", self.refused("error"))

    def test_refuses_a_broken_line_a_missing_file_an_empty_one_and_a_missing_field(self):
        self.assertIn("error.jsonl: cannot be read: No such file", self.refused("error"))
        (self.data / "error.jsonl").write_text("")
        self.assertIn("error.jsonl: has no rows", self.refused("error"))
        (self.data / "error.jsonl").write_text('{"schema": 1, "ki')
        self.assertIn("error.jsonl, line 1: is not a JSON object", self.refused("error"))
        row = verify_row("fftconv_f16_circular_l256_b1_h1_r16x16")
        del row["order"]
        self.write({"error.jsonl": [row]})
        self.assertIn("error needs the field 'order'", self.refused("error"))

    def test_refuses_an_unknown_figure_and_lists_the_known(self):
        done = self.make("figure5")
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown figure 'figure5', must be one of time-over-floor, measured-error, figure4, error, range",
                      done.stderr)
        listed = self.make("--list")
        self.assertEqual(listed.returncode, 0)
        self.assertIn("figure4", listed.stdout)


if __name__ == "__main__":
    unittest.main()
