"""Titles of figures state findings: the committed rows must say the same. Answers of the report's first page."""

import tomllib
import unittest
from pathlib import Path
from statistics import median

from rows import PLOTS, bench_row, check_row, random_row, verify_row  # first: it makes plots/ importable

import answers
import measurements
import sources
from drawings import accuracy, calls, error_by_time, layers, lengths
from measurements import CUFFT, LONG, length_of, passed, us
from peers import Layers, Peers
from report import Section
from results import Results, case_fields
from sparsity import gains_of_masks
from tables import front


def fresh(*made):
    return [{**row, "stale": False, "age": ""} for row in made]


class TitlesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        entries = tomllib.loads((PLOTS / "figures.toml").read_text())
        cls.entries = entries
        cls.titles = {name: entry["title"] for name, entry in entries.items()}
        cls.rows = measurements.timed(None, measurements.COMMITTED).rows
        cls.kernels = [row for row in cls.rows if row["method"] == "kernel" and passed(row)]
        cls.peers = Peers(measurements.COMMITTED)

    def title(self, name, words):
        self.assertEqual(self.titles[name], words, "the figure says something else now: mend this test with it")

    def test_circular_convolutions_are_near_a_copy(self):
        self.title("time-over-floor",
                   "Up to 32K samples, a circular convolution costs little more than a copy of its data")
        near = [us(row) / row["floor"]["us"] for row in self.kernels
                if measurements.left_to_the_plan(row["case"]) and front.is_main(fields := case_fields(row["case"]), "circular")
                and front.is_fused_size(row, fields)]
        self.assertLess(median(near), 1.3)
        self.assertLess(max(near), 1.7)

    def test_errors_are_below_their_bounds(self):
        self.title("measured-error", "Timed convolutions keep below their error bounds")
        self.assertTrue(all(passed(row) for row in self.rows if row["method"] == "kernel"))

    def test_a_row_keeps_its_accuracy(self):
        self.title("worst-rows", "A row keeps its accuracy beside a row of any loudness, with any offset, at any scale")
        rows = sources.rows_of(self.entries["worst-rows"], Path("none"), measurements.COMMITTED).rows
        newest = accuracy.newest(rows)
        errors = [row["error"] for row in rows
                  if row["git"] == newest and not (row["sweep"] == "scale" and row["value"] < 1e-4)]
        self.assertGreater(len(errors), 80)
        self.assertLess(max(errors), 5e-3)

    def test_whole_calls_are_faster_than_cufft_s(self):
        self.title("whole-call",
                   "With its filter's transform, a call takes less time than cuFFT's at every length and batch")
        ours = {(row["case"], row["device"]["name"]): calls.call_us(row) for row in self.kernels if calls.is_drawn(row)}
        theirs = [(calls.call_us(row), ours[place]) for row in self.rows if row["method"] in CUFFT and passed(row)
                  and ours.get(place := (row["case"], row["device"]["name"])) and calls.call_us(row)]
        self.assertGreater(len(theirs), 100)
        self.assertTrue(all(other > own for other, own in theirs))

    def test_no_other_program_is_as_fast(self):
        self.title("error-by-time", "No other program is as fast; those that compute in fp32 inside are more accurate")
        drawn = [row for row in self.rows if error_by_time.is_drawn(row) and self.peers.is_of(row)]
        self.assertGreater(min(front.gains_of(front.kernels_of(drawn), drawn, self.peers)), 1)
        ours = [row["verify"]["rel_l2"] for row in drawn if row["method"] == "kernel" and "_f16_" in row["case"]]
        theirs = [row["verify"]["rel_l2"] for row in drawn if row["method"] == "cufft_f32" and "_f16_" in row["case"]]
        self.assertLess(max(theirs), min(ours))

    def test_a_length_between_sizes_costs_more_than_the_next_size(self):
        self.title("lengths", "A length between FFT sizes costs more than the next FFT size")
        drawn = [row for row in self.kernels if lengths.is_drawn(row)]
        at_size = {(row["device"]["name"], length_of(row)): us(row) for row in drawn
                   if lengths.mode_of(row) == "causal" and length_of(row) == row["fft_size"]}
        between = [us(row) / at_size[place] for row in drawn if length_of(row) != row["fft_size"]
                   and (place := (row["device"]["name"], row["fft_size"])) in at_size]
        self.assertGreater(median(between), 1)

    def test_masks_save_in_long_convolutions_alone(self):
        self.title("sparsity", "Masks make long convolutions faster, and save nothing in fused kernels at B=64")
        gains = gains_of_masks(self.rows)
        fused = [gain.ratio for gain in gains if gain.length < LONG and gain.batch == 64]
        self.assertLess(max(fused), 1.05)
        self.assertGreater(max(gain.ratio for gain in gains if gain.length >= LONG), 1.5)

    def test_a_layer_is_faster_than_its_pieces(self):
        self.title("spectral-speed", "One fused layer is faster than cuFFT and cuBLAS at every batch and width")
        others = Layers(measurements.COMMITTED)
        found = measurements.timed(None, measurements.COMMITTED, ("spectral",)).rows
        speeds = [layers.speed_over(methods, others.of(next(iter(methods.values()))))[0]
                  for of_channels in layers.of_devices(found).values() for batches in of_channels.values()
                  for methods in batches.values()]
        self.assertGreater(min(filter(None, speeds)), 1)


class AnswersTest(unittest.TestCase):
    def answer(self, question, *made, others=()):
        return answers.answer(question, [Section({"id": "any"}, Results([], fresh(*made), others))])

    def test_right_counts_what_was_verified_and_what_was_timed(self):
        token = "fftconv_f16_circular_l1024_b64_h768"
        found = self.answer("Is it right?", verify_row(token), verify_row(token, "skipped", None),
                            bench_row(token, "kernel", 12))
        self.assertEqual(found.number, "2 of 2")
        self.assertTrue(found.good)
        found = self.answer("Is it right?", verify_row(token, "failed", None), bench_row(token, "kernel", 12))
        self.assertEqual((found.number, found.good), ("1 of 2", False))

    def test_a_question_without_rows_has_no_answer(self):
        for question in answers.QUESTIONS:
            self.assertIsNone(self.answer(question))

    def test_fast_is_the_median_over_the_fastest_other(self):
        kernel = bench_row("fftconv_f16_circular_l1024_b64_h768", "kernel", 12)
        found = self.answer("How fast?", kernel, others=(Peers(measurements.COMMITTED),))
        self.assertRegex(found.number, r"^\d+\.\d×$")
        self.assertIn("the median of 1 forward cases", found.sentence)
        self.assertIn("1.20 to 1.20 times a copy", found.sentence)

    def test_masks_are_set_against_the_kernel_without(self):
        case = "fftconv_f16_circular_l4096_b64_h768"
        found = self.answer("What does sparsity save?", bench_row(case, "kernel", 12),
                            bench_row(f"{case}_n4096_pair_r16x8x4x8_zero4x0x0x0", "kernel", 10))
        self.assertEqual(found.number, "1.20×")

    def test_what_ran_says_where_and_what_failed(self):
        found = self.answer("What has run where?", check_row(), check_row(failed=["Plan.Runs"]), random_row())
        self.assertRegex(found.number, r"^\d+ test runs$")
        self.assertFalse(found.good)
        self.assertIn("1 failed", found.sentence)


if __name__ == "__main__":
    unittest.main()
