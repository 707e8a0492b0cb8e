"""make.py as a user calls it, on a few rows of each kind."""

import html
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

import forked
from rows import (MEASURED, PLOTS, ROOT, bench_row, counters_row, decode_rows, extension_rows,
                  good_rows, layer_gradient_row, layer_rows, long_rows, measured_rows, measured_ways, memory_row, prediction_row,
                  prediction_rows, short_rows, state_rows, step_row, timed_long_factors, verify_row,
                  what_if_rows, write_rows)

import measurements
import style
from tables import readme


def text_of(page):
    """Of the report: its first page and its chapters."""
    return "".join(path.read_text() for path in (page, *sorted(page.with_suffix("").glob("*.html"))))


def words_of(page):
    """The words of text_of(), a space between any two; none of pictures, scripts and styles."""
    text = re.sub(r"'data:image[^']*'|<(script|style).*?</\1>", " ", text_of(page), flags=re.DOTALL)
    return " ".join(re.sub("<[^>]*>", " ", text).split())


def only_wide():
    """Has nothing but the wide .svg of each figure rendered."""
    render = style.save

    def save(figure, path):
        if path.suffix == ".svg" and not path.stem.endswith("-narrow"):
            render(figure, path)
        else:
            path.write_bytes(b"not rendered")
    style.save = save


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
            write_rows(self.data / name, rows)

    def folders(self):
        return ["--data", self.data, "--out", self.out, "--committed", self.committed]

    def make(self, *words):
        """In a fork of this process. What is shown of figures is looked at apart: those for phones are drawn and not
        rendered."""
        return forked.run([*self.folders(), *words], only_wide)

    def call(self, *words):
        """From the shell."""
        return subprocess.run([sys.executable, "-B", PLOTS / "make.py", *self.folders(), *words],
                              capture_output=True, text=True)

    def refused(self, *words):
        """The one line of complaint; nothing may have been written."""
        done = self.make(*words)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertFalse(self.out.exists() and any(self.out.iterdir()))
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def test_draws_every_figure_and_the_report(self):
        of_operations = [step_row(), bench_row("fftconvgrad_f16_circular_l1024_b64_h768", "kernel", 30), *layer_rows(),
                         layer_gradient_row(), *measured_ways()]
        self.write(good_rows() | {"committed/measured.jsonl": [*measured_rows(), *long_rows(), *of_operations],
                                  "committed/counters.jsonl": [counters_row()]})
        page = self.data / "report.html"
        done = self.call("--report", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        entries = tomllib.loads((PLOTS / "figures.toml").read_text())
        figures = [name for name, entry in entries.items() if "draw" in entry]
        expected = {f"{name}{form}" for name in figures for form in (".svg", ".png", "-narrow.svg")}
        self.assertEqual({path.name for path in self.out.iterdir()}, expected)
        for path in self.out.iterdir():
            self.assertTrue(path.read_bytes().startswith(b"\x89PNG" if path.suffix == ".png" else b"<?xml"))

        text = text_of(page)
        words = html.unescape(words_of(page))
        for entry in entries.values():
            self.assertIn(" ".join(entry["title"].split()), words)
            self.assertIn(entry["question"], words)
        self.assertEqual(text.count("data:image/svg+xml,"), 2 * (len(figures) + 1))  # the first page has one too
        self.assertIn("1 of 2 cases passed, 1 skipped, 0 failed", text)
        self.assertIn('<p class="good">2 of 3 counts over 1 cases agree to 1%, 1 are within a range that has a reason, '
                      '0 are not explained.', text)
        self.assertIn("byte permutes 100 130 1.300 90 to 130 a reason", words_of(page))
        self.assertIn("a &lt;CPU&gt;", text)
        self.assertNotRegex(text, r"""(src|href)=["']?(http|figures/)""")  # needs nothing from elsewhere
        self.assertNotRegex(words, "(?i)asked for|to be reached|aim ")
        self.assertLess(len(text), 4 << 20)

        first = {path.name: path.read_bytes() for path in self.out.iterdir()}
        self.assertEqual(self.call("figure4").returncode, 0)
        for name in ("figure4.svg", "figure4.png"):
            self.assertEqual((self.out / name).read_bytes(), first[name], "the same rows must give the same bytes")

    def test_the_report_says_when_a_case_failed(self):
        files = {"verify.jsonl": good_rows()["verify.jsonl"]}
        files["verify.jsonl"].append(verify_row("fftconv_bf16_causal_l64_b1_h1", "failed", None))
        self.write(files)
        page = self.data / "report.html"
        self.assertEqual(self.make("--report", page).returncode, 0)
        self.assertIn('<p class="bad">1 of 3 cases passed, 1 skipped, 1 failed', text_of(page))
        self.assertIn('<p class="big bad">1 of 2</p>', page.read_text())

    def test_the_report_counts_cases_of_every_operation(self):
        words = ("fftconvgrad_f16_causal_l64_b1_h1_pregate", "spectral_f32_b3_c5x4_l32_m8", "ssmconv_f16_s8_l60_b2_h1",
                 "shortconv_f16_causal_k4_l60_b2_h3")
        self.write({"verify.jsonl": [verify_row(word) for word in words]})
        page = self.data / "report.html"
        done = self.make("--report", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = words_of(page)
        self.assertIn("4 of 4 cases passed", text)
        self.assertIn("operation fftconvgrad all 1", text)
        self.assertIn("mode and fold causal, fold left open all 1", text)

    def test_what_has_no_rows_is_left_out_and_said(self):
        self.write({"model.jsonl": good_rows()["model.jsonl"]})
        page = self.data / "report.html"
        done = self.make("--report", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name, command in (("time-over-floor", "danaus bench"), ("counters", "danaus count --hardware"),
                              ("judgement", "danaus model --measured"), ("table11", "danaus bench")):
            self.assertRegex(done.stderr, rf"(?m)^make.py: {name}: left out, no rows in .*; {command}.* makes them$")
        self.assertNotIn('id="speed"', text_of(page))
        self.assertIn("Left out, for want of rows Every computed convolution keeps within the bound of its number format: no "
                      "rows in", words_of(page))
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
        self.assertIn("6 of 7 rows verified and timed.", text)
        # The spectrum of 1K points and 768 channels takes a copy 0.79 us.
        self.assertIn("1K 10.0 10.8 11.5 1780 1.15 1.07 17.2 1.73 200.0 80.0 159.6 ThunderKittens", text)
        self.assertRegex(text, r"2K 10\.0 10\.8 13\.0 1780 .*of revision")

    def test_a_stale_row_takes_no_fresh_one_s_place(self):
        old = bench_row(MEASURED, "kernel", 99, "stale")
        self.write({"committed/measured.jsonl": measured_rows(), "committed/older.jsonl": [old]})
        page = self.data / "report.html"
        self.assertEqual(self.make("--report", page).returncode, 0)
        self.assertIn("1K 10.0 10.8 12.0 1780 1.20", words_of(page))

    def test_committed_rows_are_named_as_such_with_device_and_day(self):
        rows = [{**row, "date": "2026-11-21"} for row in measured_rows()]
        said = "NVIDIA H200, 2026-11-21, git 0123456789ab"
        page = self.data / "report.html"
        self.write({"bench.jsonl": rows})
        self.assertEqual(self.make("--report", page).returncode, 0)
        self.assertIn(f"come from {said} | bench.jsonl", words_of(page))
        (self.data / "bench.jsonl").rename(self.committed / "measured.jsonl")
        self.assertEqual(self.make("--report", page).returncode, 0)
        self.assertIn(f"come from committed rows of {said} | measured.jsonl", words_of(page))

    def test_the_models_are_judged(self):
        self.write({"predictions.jsonl": prediction_rows()})
        page = self.data / "report.html"
        self.assertEqual(self.make("--report", page).returncode, 0)
        text = words_of(page)
        # Over 52.5 / 50, 57 / 60 and 41 / 40, the errors 5, -5 and 2.5 %; the stale row counts for nothing.
        self.assertIn("Counted work, fitted without the length that it predicts, predicts with median error 5.0 %, "
                      "90th percentile 5.0 %, its choice costs on average 0.0 %, at worst 0.0 %. A null model does better: "
                      "median error: a constant times the floor (2.6 %). 1 of 4 rows are stale and are left out.", text)
        self.assertIn("1K 8 × 16 × 8 3 50.0 200.0 100.0 +100.0 52.5 +5.0 hbm", text)
        self.assertRegex(text, r"512 2 × 16 × 16 .* hbm stale")
        self.assertIn("1K 2 8 × 16 × 8 50.0 4 × 16 × 16 20.0 4 × 16 × 16 20.0 8 × 16 × 8 0.0 8 × 16 × 8 0.0 10.0", text)
        self.assertIn("only fp16, circular, without gates", text)
        self.assertIn("one length left out: 768, 1024", text)
        self.assertIn("No algorithm, type, mode, operation, batch or GPU can be left out: the rows are of one.", text)
        self.assertIn("0 of 3 kernels (0.0 %) are off by more than 16%", text)
        printed = self.make("--judge")
        self.assertEqual(printed.returncode, 0, printed.stderr)
        self.assertIn("| counted work | 5.0 % (2.5 to 5.0) | 5.0 % (2.5 to 5.0) | 0.0 % | 0.0 % | 0.0 % |",
                      printed.stdout)
        self.assertIn("| Eq. 2, the paper's A100 rates | about another GPU |  | 20.0 % |", printed.stdout)

        self.write({"predictions.jsonl": [prediction_row([16, 16], 100, 120)]})
        self.assertEqual(self.make("--report", page).returncode, 0)
        self.assertIn("Counted work, not fitted, predicts with median error 20.0 %", words_of(page))
        self.assertIn("No case was measured with different factors.", words_of(page))

    def test_two_gpus_stand_beside_each_other(self):
        rows = prediction_rows()
        self.write({"predictions.jsonl": rows + [{**row, "profile": "H100"} for row in rows]})
        page = self.data / "report.html"
        self.assertEqual(self.make("--report", page).returncode, 0)
        text = words_of(page)
        self.assertIn("one GPU left out: H100, H200", text)
        self.assertIn("on the H100 Eq. 2, the paper", text)
        self.assertIn("fp16, circular, B=64, H=768, on the H200", text)

    def test_a_profile_of_two_devices_is_refused(self):
        rows = [{**row, "device": f"GPU {i}"} for i, row in enumerate(prediction_rows())]
        self.write({"predictions.jsonl": rows})
        self.assertIn("evaluation: profile H200 predicts rows of 4 devices, GPU 0, ", self.refused("judgement"))
        self.assertIn("danaus model --measured FILE", self.make("--data", self.out, "--judge").stderr)

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

    def test_what_others_measured_stands_beside_other_operations(self):
        gradient = bench_row("fftconvgrad_f16_circular_l1024_b64_h768", "kernel", 30)
        self.write({"committed/measured.jsonl": [gradient, step_row(), *layer_rows(), *long_rows()]})
        page = self.data / "report.html"
        self.assertEqual(self.make("--report", page).returncode, 0)
        text = words_of(page)
        # Table 15: the paper's; FlashFFTConv here is its step without its forward pass; ours without and with filter.
        self.assertRegex(text, r"1K 2\.83 0\.65 4\.37 1\.\d+ 0\.\d+ \d\.\d+ 0\.030 0\.060")
        # A training step by its parts: their sum, the whole as a graph, the share of the transforms of k and dk.
        self.assertIn("1K 5.0 10.0 20.0 20.0 5.0 60.0 100.0 10 %", text)
        # A spectral layer of 30 us, beside 120 by cuFFT and cuBLAS here and others' times.
        self.assertIn("1024 10.0 30.0 3.00 45.0 130.0 120.0 120.2 118.8 3.96 0.99", text)
        self.assertIn("Faster than TurboFNO and than the TF32 pipeline in 2 of 2 layers", text)
        # A long convolution is brought to H=768.
        self.assertIn("1M 160.0", text)
        self.assertIn("scaled from B=64, H=48", text)
        self.assertIn("1M 2346.26 1492.84 1.57", text)

    def test_ways_stand_beside_each_other_predicted_and_measured(self):
        self.write({"short.jsonl": short_rows(), "state.jsonl": state_rows(), "decode.jsonl": decode_rows(),
                    "committed/measured.jsonl": measured_ways()})
        page = self.data / "report.html"
        self.assertEqual(self.make("--report", page).returncode, 0)
        text = words_of(page)
        self.assertIn("bf16, causal, L=1K, B=64, H=768: taps from K=4 on, FFT of pieces from K=256, of the FFTs FFT of "
                      "pieces from K=4 on, FFT of whole rows from K=64, FFT of pieces from K=256. Predicted and measured "
                      "agree in 1 of 2 cases.", text)
        # Taps of 4 and the others, predicted and measured, and cuDNN; measured times over the floor and over cuDNN's.
        self.assertIn("4 11.0 25.0 30.0 taps 12.0 28.0 taps 57.8", text)
        self.assertIn("10.0 12.0 1.20 57.8 4.82 0.10", text)
        self.assertIn("S=64, B=64: from 64K to 1M.", text)
        self.assertIn("1K 100.0 80.0 0.80 110.0 11.00 400.0", text)
        self.assertIn("64 to 32K 6.00 100.0 4.00 3.00", text)
        self.assertIn("Tiles take 6.0 us a position, on average of those up to 32K.", text)

    def test_attention_is_drawn_where_somebody_measured_it(self):
        self.write({"state.jsonl": state_rows()})
        self.assertEqual(self.make("state-length").returncode, 0)
        before = (self.out / "state-length.svg").read_bytes()
        (self.committed / "h200_attention.csv").write_text(
            "peer,dtype,length,batch,channels,us\ntorch SDPA,bf16,4096,64,768,5000\n")
        self.assertEqual(self.make("state-length").returncode, 0)
        self.assertNotEqual((self.out / "state-length.svg").read_bytes(), before)

    def test_it_is_said_where_attention_takes_longer(self):
        # State passing takes 100 us at 1K and 8000 at 64K, brought to H=768, a fused FFT 80 and 14400.
        self.write({"state.jsonl": state_rows(), "committed/measured.jsonl": measured_ways()})
        (self.committed / "h200_attention.csv").write_text(
            "peer,dtype,length,batch,channels,us\ntorch SDPA (a),f16,1024,32,768,45\n"
            "torch SDPA (b),f16,1024,64,768,95\ntorch SDPA (a),f16,65536,16,768,100000\n")
        page = self.data / "report.html"
        self.assertEqual(self.make("--report", page).returncode, 0)
        text = words_of(page)
        self.assertIn("1K 100.0 80.0 0.80 110.0 11.00 400.0 90.0", text)
        self.assertIn("Where attention, as measured, takes longer than what is predicted: attention &gt; state, S=64: "
                      "above 1.1K; attention &gt; fused FFT: at every length. Where attention, as measured, takes longer "
                      "than what is measured: attention &gt; state, S=64: at no length.", text)

    def test_refuses_a_time_of_attention_that_is_none(self):
        self.write({"state.jsonl": state_rows()})
        for cells, complaint in (("0,64,768,1", "must be positive"), ("1,64,768,nan", "finite"), ("1,a,768,1", "invalid")):
            (self.committed / "h200_attention.csv").write_text(
                f"peer,dtype,length,batch,channels,us\ntorch SDPA,f16,{cells}\n")
            self.assertRegex(self.refused("state-length"), f"h200_attention.csv, row 1 of the table: .*{complaint}")

    def test_a_report_of_filters_over_longer_rows_alone(self):
        timed = [bench_row("fftconv_f16_causal_l65536_k8192_b64_h192", "kernel", 2000), *timed_long_factors()]
        self.write({"extension.jsonl": extension_rows(), "committed/measured.jsonl": timed})
        page = self.data / "report.html"
        self.assertEqual(self.make("--report", page).returncode, 0)
        self.assertIn("HyenaDNA-1M 2000000 2.91 needs weights outer passes", words_of(page))

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

    def test_pages_agree_with_the_committed_rows(self):
        for page in (ROOT / "README.md", ROOT / "docs" / "results.md"):
            copy = self.data / page.name
            shutil.copy(page, copy)
            done = self.make("--committed", measurements.COMMITTED, "--readme", copy)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(copy.read_text(), page.read_text(), f"plots/make.py --readme {page} mends it")

    def test_each_table_is_on_a_page(self):
        text = "".join((ROOT / page).read_text() for page in ("README.md", "docs/results.md"))
        for name in readme.TABLES:
            self.assertEqual(text.count(readme.BEGIN.format(name)), 1, name)

    def test_the_readme_compares_whole_calls(self):
        self.write({"committed/measured.jsonl": measured_rows()})
        page = self.data / "README.md"
        shutil.copy(ROOT / "README.md", page)
        self.assertEqual(self.make("--readme", page).returncode, 0)
        # A call of 24 us; peers take 735.7 and 224 us with the filter's transform.
        self.assertIn("| 1K | 0.736 | 0.224 | 0.024 | 30.7×, 9.3× |", page.read_text())

    def test_a_page_s_tables_stand_between_their_markers(self):
        self.write({"committed/measured.jsonl": measured_rows(), "committed/predictions.jsonl": prediction_rows()})
        page = self.data / "results.md"
        shutil.copy(ROOT / "docs" / "results.md", page)
        self.assertEqual(self.make("--readme", page).returncode, 0)
        text = page.read_text()
        self.assertIn("| 1K | 10.0 | 12.0 | 1.20 | 1780 |  | 18.0 | 1.80 |  | 24.0 | 80.0 | 160.0 | 159.6 ThunderKittens", text)
        self.assertIn("| bf16, causal, both gates, B=8, H=768 |", text)
        self.assertIn("| Counted work predicts the time; counting needs no GPU, the profile and the fit do. | 5.0 % off in the median, 5.0 % at the 90th "
                      "percentile, at lengths that it was not fitted to; a constant times the floor (2.6 %) does better in the "
                      "median |", text)
        self.assertIn("| counted work | 5.0 % (2.5 to 5.0) | 5.0 % (2.5 to 5.0) | 0.0 % | 0.0 % | 0.0 % |", text)
        self.assertIn("| The factors that counted work calls fastest are nearly the fastest. |", text)
        no_choices = {row["case"].split("_r")[0]: row for row in prediction_rows()}  # each case by one kernel
        self.write({"committed/predictions.jsonl": no_choices.values()})
        self.assertEqual(self.make("--readme", page).returncode, 0)
        self.assertIn("| Counted work predicts the time; counting needs no GPU, the profile and the fit do. |", page.read_text())
        self.assertNotIn("nearly the fastest", page.read_text())
        page.write_text(text.replace("<!-- End of judged models -->", ""))
        self.assertIn("lacks the line '<!-- Judged models", self.refused("--readme", page))
        page.write_text("no markers")
        self.assertIn("lacks the line '<!-- Speed", self.refused("--readme", page))
        self.assertEqual(page.read_text(), "no markers")

    def test_refuses_another_schema(self):
        files = good_rows()
        files["error.jsonl"][1]["schema"] = 2
        self.write(files)
        done = self.call("error")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("error.jsonl, line 2: schema 2, must be 1", self.refused("error"))

    def test_refuses_another_kind(self):
        files = good_rows()
        files["error.jsonl"] = files["model.jsonl"]
        self.write(files)
        self.assertIn("line 1: kind 'model', must be 'verify'", self.refused("error"))
        files["predictions.jsonl"] = files["model.jsonl"]
        self.write(files)
        self.assertIn("kind 'model', must be 'prediction'", self.refused("figure4"))

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
        self.assertRegex(self.refused("error"), "(needs|lacks) the field 'order'")

    def test_refuses_an_unknown_figure_and_lists_the_known(self):
        done = self.make("figure5")
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown figure 'figure5', must be one of measured-error, error, range, worst-rows, ",
                      done.stderr)
        listed = self.make("--list")
        self.assertEqual(listed.returncode, 0)
        self.assertIn("figure4", listed.stdout)


if __name__ == "__main__":
    unittest.main()
