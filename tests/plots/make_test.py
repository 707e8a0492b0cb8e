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


def prediction_row(n, factors, us, counted, stale=False, held_out=True):
    """Made up. Eq. 2 says 100 us."""
    def entry(name, predicted):
        return {"name": name, "us": predicted, "error": predicted / us - 1, "limit": "hbm"}
    models = [entry("eq2_paper", 200), entry("eq2_profile", 100), entry("counted", counted)]
    models[2]["resources"] = {"hbm_us": 0.8 * us, "tensor_us": 0.3 * us}
    return {"schema": 1, "kind": "prediction", "case": f"fftconv_f16_circular_l{n}_b64_h768", "kernel": "a kernel",
            "dtype": "f16", "mode": "circular", "gated": False, "n": n, "order": len(factors), "factors": factors,
            "batch": 64, "channels": 768, "profile": "H200", "measured_us": us,
            "stale": stale, "held_out": held_out, "models": models, **PROVENANCE}


def judgement_rows(median=0.08):
    """Made up: at 1K the clock prefers 8x16x8, Eq. 2 the other."""
    choice = {"schema": 1, "kind": "choice", "dtype": "f16", "mode": "circular", "gated": False, "n": 1024,
              "batch": 64, "channels": 768, "clock": {"factors": [8, 16, 8], "us": 50}, **PROVENANCE,
              "models": [{"name": "eq2_profile", "factors": [4, 16, 16], "us": 60, "regret": 0.2},
                         {"name": "counted", "factors": [8, 16, 8], "us": 50, "regret": 0}]}
    summary = {"schema": 1, "kind": "summary", "model": "counted", "profile": "H200", "rows": 3,
               "held_out_rows": 2, "median": median, "p90": 0.22, "bias": 0.01, "choices": 1, "mean_regret": 0.02, "worst_regret": 0.07, "overlap": 2.5,
               "fitted_to": 1, **PROVENANCE}
    return [prediction_row(1024, [8, 16, 8], 50, 52.5), prediction_row(1024, [4, 16, 16], 60, 57, held_out=False),
            prediction_row(512, [2, 16, 16], 25, 25, stale=True), choice, summary,
            {**summary, "model": "eq2_profile", "median": 0.3}, {**summary, "mode": "circular", "median": 0.04}]


def what_if_rows():
    """Made up: 99 KB are 1.5 times slower at 1K, and too little at 2K."""
    fits = {"kernel": "exchange_64x16", "shared_bytes": 50000, "blocks_per_sm": 2, "transfer": "threads",
            "limit": "hbm"}
    none = {"kernel": None, "shared_bytes": None, "blocks_per_sm": None, "us": None}
    place = {"schema": 1, "kind": "what_if", "dtype": "f16", "mode": "circular", "gated": False, **PROVENANCE}
    return [{**place, "shared_kb": 227, "n": 1024, **fits, "us": 50},
            {**place, "shared_kb": 99, "n": 1024, **fits, "us": 75},
            {**place, "shared_kb": 227, "n": 2048, **fits, "us": 90}, {**place, "shared_kb": 99, "n": 2048, **none}]


def memory_row(n, gated):
    """Made up: 0.2 of the paper's units in all, half as much beside the inputs."""
    return {"schema": 1, "kind": "memory", "case": f"fftconv_f16_circular_l{n}_b64_h768", "gated": gated, "n": n,
            "total_bytes": 200 << 20, "additional_bytes": 100 << 20, **PROVENANCE}


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
        "judgement.jsonl": judgement_rows(),
        "what_if.jsonl": what_if_rows(),
        "memory.jsonl": [memory_row(1024, False), memory_row(1024, True)],
    }


class MakeTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.data = Path(self.folder.name)
        self.out = self.data / "figures"
        self.committed = self.data / "committed"
        self.committed.mkdir()
        for table in measurements.COMMITTED.glob("*.csv"):
            shutil.copy(table, self.committed)

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
        expected = {f"{name}{form}" for name in figures for form in (".svg", ".png", "-narrow.svg")}
        self.assertEqual({path.name for path in self.out.iterdir()}, expected)
        for path in self.out.iterdir():
            self.assertTrue(path.read_bytes().startswith(b"\x89PNG" if path.suffix == ".png" else b"<?xml"))

        text = page.read_text()
        for entry in entries.values():
            self.assertIn(entry["title"].replace("'", "&#x27;"), text)
            self.assertIn(entry["question"].replace("'", "&#x27;"), text)
        self.assertEqual(text.count("data:image/svg+xml;base64,"), 2 * len(figures))
        self.assertIn("1 of 2 cases passed, 1 skipped, 0 failed", text)
        self.assertIn("2 of 3 counts over 1 cases agree to 1%; why the others differ stands beside them.", text)
        self.assertIn("byte permutes 100 130 1.300 a reason", words_of(page))
        self.assertIn("a &lt;CPU&gt;", text)
        self.assertNotIn("http", text)  # needs nothing from elsewhere

        first = {path.name: path.read_bytes() for path in self.out.iterdir()}
        self.assertEqual(self.make("figure4").returncode, 0)
        for name in ("figure4.svg", "figure4.png"):
            self.assertEqual((self.out / name).read_bytes(), first[name], "the same rows must give the same bytes")

    def test_the_report_says_when_a_case_failed(self):
        files = {"verify.jsonl": good_rows()["verify.jsonl"]}
        files["verify.jsonl"].append(verify_row("fftconv_bf16_causal_l64_b1_h1", "failed", None))
        self.write(files)
        page = self.data / "report.html"
        self.assertEqual(self.make("--report", page).returncode, 0)
        self.assertIn('<p class="bad">1 of 3 cases passed, 1 skipped, 1 failed', page.read_text())

    def test_what_has_no_rows_is_left_out_and_said(self):
        self.write({"model.jsonl": good_rows()["model.jsonl"]})
        page = self.data / "report.html"
        done = self.make("--report", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name, command in (("time-over-floor", "danaus bench"), ("counters", "danaus count --hardware"),
                              ("judgement", "danaus model --measured"), ("table11", "danaus bench")):
            self.assertRegex(done.stderr, rf"(?m)^make.py: {name}: left out, no rows in .*; {command}.* makes them$")
        self.assertNotIn('id="speed"', page.read_text())
        self.assertIn("Left out, for want of rows: Verification: no rows in", words_of(page))
        self.assertTrue((self.out / "figure4.svg").exists(), "the model needs no measured points")
        self.assertIn("danaus bench makes them", self.make("time-over-floor").stderr)

    def test_nothing_at_all_to_draw_is_refused(self):
        self.assertIn("danaus verify makes them", self.refused("--report", self.data / "report.html"))
        self.assertFalse((self.data / "report.html").exists())

    def test_measured_rows_are_told_stale_and_give_way_to_the_reader_s_own(self):
        own = [bench_row(MEASURED, "kernel", 11.5)]
        self.write({"committed/measured.jsonl": measured_rows(), "bench.jsonl": own})
        page = self.data / "report.html"
        self.assertEqual(self.make("--report", page).returncode, 0)
        text = words_of(page)
        self.assertIn("6 of 7 rows verified and timed; 1 are stale: what they timed has changed since.", text)
        self.assertIn("1K 10.0 11.5 1780 1.15 17.2 1.73 200.0 80.0 159.6 ThunderKittens", text)
        self.assertRegex(text, r"2K 10\.0 13\.0 1780 .*stale: kernel")

    def test_a_stale_row_takes_no_fresh_one_s_place(self):
        old = bench_row(MEASURED, "kernel", 99, "stale")
        self.write({"committed/measured.jsonl": measured_rows(), "committed/older.jsonl": [old]})
        page = self.data / "report.html"
        self.assertEqual(self.make("--report", page).returncode, 0)
        self.assertIn("1K 10.0 12.0 1780 1.20", words_of(page))

    def test_committed_rows_are_named_as_such_with_device_and_day(self):
        rows = [{**row, "date": "2026-11-21"} for row in measured_rows()]
        said = "a test H200, 2026-11-21, git 0123456789ab"
        page = self.data / "report.html"
        self.write({"bench.jsonl": rows})
        self.assertEqual(self.make("--report", page).returncode, 0)
        self.assertIn(f"From {said} | bench.jsonl", words_of(page))
        (self.data / "bench.jsonl").rename(self.committed / "measured.jsonl")
        self.assertEqual(self.make("--report", page).returncode, 0)
        self.assertIn(f"From committed rows of {said} | measured.jsonl", words_of(page))

    def test_the_models_are_judged(self):
        self.write({"judgement.jsonl": judgement_rows()})
        page = self.data / "report.html"
        self.assertEqual(self.make("--report", page).returncode, 0)
        text = words_of(page)
        self.assertIn("Counted work predicts with median error 8.0 % (target 15)", text)
        self.assertIn("1K 8 × 16 × 8 3 50.0 200.0 +300.0 100.0 +100.0 52.5 +5.0 hbm", text)
        self.assertIn("1K 4 × 16 × 16 3 60.0 200.0 +233.3 100.0 +66.7 57.0 -5.0 hbm took part in fitting", text)
        self.assertRegex(text, r"512 2 × 16 × 16 .* hbm stale")
        self.assertIn("1K 8 × 16 × 8 50.0 4 × 16 × 16 20.0 8 × 16 × 8 0.0", text)
        self.assertIn("only circular counted work 2 4.0 22.0 +1.0 1 2.0 7.0", text)
        self.write({"judgement.jsonl": judgement_rows(median=0.2)})
        self.assertEqual(self.make("--report", page).returncode, 0)
        self.assertIn('<p class="bad">Counted work predicts with median error 20.0 %', page.read_text())

    def test_what_does_not_fit_is_said(self):
        self.write({"what_if.jsonl": what_if_rows()})
        page = self.data / "report.html"
        self.assertEqual(self.make("--report", page).returncode, 0)
        text = words_of(page)
        self.assertIn("3 of 4 cases stay fused; not 2K with 99 KB.", text)
        self.assertIn("1K exchange_64x16 50000 2 threads 75.0 1.50 hbm", text)
        self.assertIn("2K none fits", text)

    def test_the_paper_s_tables_stand_beside_the_measured(self):
        causal = bench_row("fftconv_f16_causal_l512_b64_h768", "kernel", 8)
        self.write({"committed/measured.jsonl": [*measured_rows(), causal]})
        page = self.data / "report.html"
        self.assertEqual(self.make("--report", page).returncode, 0)
        text = words_of(page)
        # Ours is the convolution and its filter's transform, 12 us each; the peers of h200_peers.csv hold theirs too.
        self.assertIn("1K 1.57 0.24 6.61 1.45 0.224 6.49 0.012 0.024 60.5 9.33", text)
        self.assertIn("16K 29.9 12.2 2.45 3 6.17", text)
        self.assertIn("Table 12: 39.91 and 3.28", text)
        # Table 13 has 512 samples at N = 1K, which others pad.
        self.assertIn("1K 1.57 0.24 6.45 1.45 0.224 6.45 0.008 0.016 90.5 14.0", text)

    def test_memory_stands_in_the_paper_s_unit(self):
        self.write({"memory.jsonl": [memory_row(1024, False)]})
        page = self.data / "report.html"
        self.assertEqual(self.make("--report", page).returncode, 0)
        # FlashFFTConv here: a peak of 110.1 MB beside u (100.7 MB) and k (3.1 MB), in units of 1000 MiB.
        self.assertIn("1K 1.58 0.2 7.73 1.35 0.204 6.63 0.200 0.100 6.77 1.02", words_of(page))

    def test_refuses_a_broken_table(self):
        self.write({"committed/measured.jsonl": measured_rows()})
        table = self.committed / "paper_tables.csv"
        table.write_text(table.read_text().replace("11,256,,0.43", "11,256,,a"))
        self.assertRegex(self.refused("--report", self.data / "report.html"),
                         r"paper_tables.csv, row 19 of the table: could not convert string to float: 'a'")
        table.write_text("table,fft_size\n11,256\n")
        self.assertIn("paper_tables.csv: lacks the column 'order'", self.refused("--report", self.data / "report.html"))

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

    def test_the_readme_s_tables_stand_between_their_markers(self):
        self.write({"committed/measured.jsonl": measured_rows(), "committed/judgement.jsonl": judgement_rows()})
        page = self.data / "README.md"
        shutil.copy(ROOT / "README.md", page)
        self.assertEqual(self.make("--readme", page).returncode, 0)
        text = page.read_text()
        self.assertIn("| 1K | 10.0 | 12.0 | 1.20 | 1780 | 18.0 | 1.80 |  | 80.0 | 159.6 ThunderKittens", text)
        self.assertIn("| bf16, causal, both gates, B=8, H=768 |", text)
        self.assertIn("| counted work | 8.0 % | 22.0 % | 2.0 % | 7.0 % |", text)
        page.write_text(text.replace("<!-- End of judged models -->", ""))
        self.assertIn("lacks the line '<!-- Judged models", self.refused("--readme", page))
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
        files["judgement.jsonl"] = files["model.jsonl"]
        self.write(files)
        self.assertIn("kind 'model', must be 'prediction' or 'choice' or 'summary'", self.refused("figure4"))

    def test_refuses_an_unverified_row(self):
        files = good_rows()
        files["error.jsonl"].append(verify_row("fftconv_f16_circular_l256_b1_h1_r16x16", "failed"))
        self.write(files)
        self.assertIn("fftconv_f16_circular_l256_b1_h1_r16x16 is failed, must be passed", self.refused("error"))

    def test_refuses_a_broken_line_a_missing_file_an_empty_one_and_a_missing_field(self):
        self.assertIn("error.jsonl or", self.refused("error"))
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
        self.assertIn("unknown figure 'figure5', must be one of measured-error, error, range, factors, figure4, ",
                      done.stderr)
        listed = self.make("--list")
        self.assertEqual(listed.returncode, 0)
        self.assertIn("figure4", listed.stdout)


if __name__ == "__main__":
    unittest.main()
