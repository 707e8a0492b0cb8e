"""Tables of the report, cell by cell, and where their rows come from: without drawing anything."""

import json
import shutil
import tempfile
import unittest
from pathlib import Path

from rows import (LAYER, MEASURED, bench_row, check_row, counters_row, extension_memory_rows, extension_rows,
                  field_rows, forecast_row, layer_gradient_row, layer_rows, long_factor_rows, long_rows, measured_ways,
                  of, prediction_rows, random_row, short_rows, step_row, timed_long_factors, ways_rows, write_rows)

import measurements
import sources
import ways
from drawings import cost
from fields import require_whole
from paper import Paper
from peers import Layers, Peers, ShortPeers
from results import Refusal, Results, case_fields
from tables import (checks, counters, extension, fields, forecast, layers, long, paper, readme, short, speed, training,
                    what_if)


def fresh(rows):
    return [{**row, "stale": False, "age": ""} for row in rows]


def line_of(table, first):
    lines = table.rows + (table.details.rows if table.details else [])
    return next(line for line in lines if line[0] == first)


class ForecastTest(unittest.TestCase):
    GPU = "a test H100"

    def unseen(self, *rows, timed=(), kept=()):
        return forecast.unseen(list(rows), Results([], list(timed)), Results([], list(kept)))

    def timed(self, us, gpu=GPU, case=MEASURED, floor=10):
        row = bench_row(case, "kernel", us)
        return {**row, "device": {**row["device"], "name": gpu}, "floor": {**row["floor"], "us": floor}}

    def test_is_judged_beside_another_gpu_s_time_over_its_floor(self):
        table = self.unseen(forecast_row(11), timed=[self.timed(10), self.timed(6, "NVIDIA H200", floor=5)])
        self.assertEqual(line_of(table, self.GPU)[1:],
                         [1, "10.0", "10.0 to 10.0", "10.0", "+10.0", "+10.0", MEASURED, "20.0", "20.0"])
        self.assertIn("nearer", table.verdict)
        self.assertTrue(table.good)
        self.assertFalse(self.unseen(forecast_row(13), timed=[self.timed(10), self.timed(6, "NVIDIA H200", floor=5)]).good)

    def test_waits_for_the_kernel_that_it_is_of(self):
        waiting = self.unseen(forecast_row(11), timed=[self.timed(10, "NVIDIA H200")])
        self.assertIn("0 foretold times have been answered by the clock; 1 wait", waiting.verdict)
        changed = self.unseen(forecast_row(11, code="another"), timed=[self.timed(10)])
        self.assertIn("1 are of kernels that have changed since", changed.verdict)

    def test_keeps_its_answer_when_the_kernel_has_changed_since(self):
        answer = {**self.timed(10), "code": "of then"}
        table = self.unseen(forecast_row(11, code="of then"), timed=[self.timed(5)], kept=[answer])
        self.assertEqual(line_of(table, self.GPU)[1:3], [1, "10.0"])
        self.assertNotIn("changed since", table.verdict)

    def test_of_a_later_day_is_refused(self):
        with self.assertRaisesRegex(Refusal, "foretold on 2026-11-21, after it was timed on 2026-11-20"):
            self.unseen(forecast_row(11, date="2026-11-21"), timed=[self.timed(10)])

    def test_profiles_of_the_repository_say_of_which_device_they_are(self):
        self.assertEqual(measurements.device_of("H200"), "NVIDIA H200")
        self.assertEqual(measurements.device_of(self.GPU), self.GPU)


class LongRowsTest(unittest.TestCase):
    """Ways, factors and marks of long convolutions."""

    def results(self, rows):
        return sources.results.Results([], [measurements.brought(row) for row in fresh(rows)])

    def test_ways_say_from_where_to_where(self):
        table = what_if.ways(ways_rows())
        self.assertEqual(table.verdict, "A100-40GB: K=L outer passes 64K; K=2K unknown. H200: K=L fused 32K, outer passes "
                                        "64K; K=2K pieces 64K.")
        # 100 us of 12 channels are 6.4 ms of 768.
        self.assertEqual(table.rows[-1], ["64K", "not built", "", "", "pieces, N=16K", "6.40", "outer passes × 3.0"])
        self.assertEqual(table.rows[1], ["32K", "", "", "", "fused, N=16K", "6.40", "outer passes × 4.0"])

    def test_factorizations_are_judged_where_all_of_a_size_were_timed(self):
        table = long.factorizations(long_factor_rows(), self.results(timed_long_factors()))
        self.assertEqual(table.rows, [["fp16, circular, N=64K, H200"],
                                      ["8x8x16x8x8", "20.0", "10.8", "hbm", "12.0", "0.90", "300.00", ""],
                                      ["16x8x2x16x16", "24.0", "10.4", "hbm", "13.2", "0.79", "330.00", ""]])
        self.assertIn("the choice of counted work costs 10.0 % on average and 10.0 % at worst, the table's 0.0 % and "
                      "0.0 %.", table.verdict)
        for measured in ([], timed_long_factors()[:1]):
            self.assertIn("2 factorizations predicted; none of the sizes was timed",
                          long.factorizations(long_factor_rows(), self.results(measured)).verdict)

    def test_table_8_has_the_paper_s_columns_and_what_is_asked_beside(self):
        memory = sources.results.Results([], extension_memory_rows())
        timed = self.results([bench_row("fftconv_f16_causal_l65536_k8192_b64_h192", "kernel", 2000)])
        table = extension.table8(extension_rows(), memory, timed)
        self.assertEqual(table.rows[0], ["K=1000000, HyenaDNA-1M"])
        self.assertEqual(table.rows[1], ["2000000", "2.91", "needs weights", "outer passes", "", "", "627", "6.38", "", "",
                                         ""])
        self.assertEqual(table.rows[3:], [
            ["8K", "", "", "fused", "", "", "0.730", "1.81", "", "", ""],
            ["64K", "", "", "pieces", "6.44", "2.00", "8.80", "2.73", "8.00", "200.00", ""]])
        self.assertIn("K=8K in pieces from L=64K on; K=1000000 never in pieces.", table.verdict)

    def test_what_fields_lose(self):
        table = fields.lost(field_rows())
        self.assertEqual(table.rows[:3], [["a random field, 2 × 2"], [1, 1, "25.0", "25.000", "0.030"],
                                          [2, 2, "50.0", "none", ""]])
        self.assertIn("random field needs 50.0 % of its frequencies; Burgers' equation needs 66.7 %", table.verdict)

    def test_fields_of_another_size_than_said_are_refused(self):
        for name, count in (("samples", 4), ("spectrum_db", 4)):
            row = field_rows()[0]
            row[name] = row[name][1:]
            with self.assertRaisesRegex(sources.results.Refusal, f"the random field has 3 {name}, must be {count}"):
                require_whole(row)
        row = field_rows()[1]
        row["truncations"][1]["result"] = []
        with self.assertRaisesRegex(sources.results.Refusal, "the burgers field has 0 samples, must be 4"):
            require_whole(row)

    def test_where_one_way_takes_longer_than_another(self):
        def words(one, other):
            return ways.crossing_words(ways.crossings(one, other))
        flat, steep = {256: 8, 512: 8, 1024: 8, 4096: 8}, {256: 4, 512: 8, 1024: 16, 2048: 32}
        self.assertEqual(words(steep, flat), "above 512")
        self.assertEqual(words(flat, steep), "up to 512")
        self.assertEqual(words({256: 4, 1024: 16}, {256: 8, 1024: 8}), "above 512")  # halfway by logarithms
        self.assertEqual(words({256: 9, 512: 9}, flat), "at every length")
        self.assertEqual(words({256: 7, 512: 7}, flat), "at no length")
        self.assertEqual(words({256: 4, 512: 16, 1024: 4}, flat), "from 362 to 724")
        self.assertEqual([ways.near(n) for n in (255.4, 1023, 1536, 65536, 1.2e6)], ["255", "1K", "1.5K", "64K", "1.1M"])

    def test_the_marks_are_the_rows_of_the_sweep_long(self):
        lengths = [1 << e for e in range(16, 23)]
        rows = [{**bench_row(f"fftconv_f16_circular_l{n}_b64_h{(192 << 16) // n}", "kernel", 1000),
                 "factors": [8, 8, 16, 32, 32]} for n in lengths]
        others = [bench_row("fftconv_f16_causal_l65536_b64_h192", "kernel", 1), *timed_long_factors(),
                  bench_row("fftconv_f16_circular_l65536_k100_b64_h192", "kernel", 1),
                  bench_row("fftconv_f16_circular_l65536_b64_h192", "cufft_f32", 1)]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_rows(folder / "bench.jsonl", [*rows, *others])
            found = sources.long_ones(folder, folder / "none")
        points = cost.long_points(found.rows, "H200", set())
        self.assertEqual([(order, n, stale) for order, n, _, stale in points], [(5, n, "") for n in lengths])
        # 1 ms of as many samples as 64 rows of 192 channels of 64K have.
        for _, _, ps, _ in points:
            self.assertAlmostEqual(ps, 1e9 / (64 * (192 << 16)), places=6)
        self.assertEqual(cost.long_points(found.rows, "A100", set()), [])


class CountersTest(unittest.TestCase):
    def comparison(self, change):
        row = counters_row()
        row["quantities"][1] |= change
        return counters.comparison(fresh([row]))

    def test_a_count_outside_its_range_is_red(self):
        for change, explained in (({}, 1), ({"hardware": 131}, 0), ({"hardware": 89}, 0), ({"most": 129}, 0)):
            table = self.comparison(change)
            self.assertEqual(table.good, bool(explained), change)
            self.assertIn(f"2 of 3 counts over 1 cases agree to 1%, {explained} are within a range", table.verdict)
            self.assertEqual(line_of(table, "byte permutes")[-1], "a reason" if explained else counters.OUTSIDE)

    def test_what_is_not_explained_is_seen_without_a_click(self):
        good, bad = counters_row(), counters_row()
        bad["quantities"][1] |= {"hardware": 131}
        bad["case"] = "another case"
        for rows, shown in (([good, bad], bad), ([good, {**good, "case": "a third"}], good)):
            table = counters.comparison(fresh(rows))
            self.assertIn(f": {shown['case']}, ", table.rows[0][0])
            self.assertEqual(sum(len(row) == 1 for row in table.rows + table.details.rows), 2)
            self.assertEqual(sum(len(row) == 1 for row in table.rows), 1)

    def test_a_row_from_before_there_were_ranges_explains_nothing_that_differs(self):
        row = counters_row()
        del row["quantities"][1]["least"]
        table = counters.comparison(fresh([row]))
        self.assertFalse(table.good)
        self.assertIn("0 are within a range that has a reason, 1 is not explained", table.verdict)


RANDOM = "random cases, fftconv"


class ChecksTest(unittest.TestCase):
    def ran(self, *rows):
        return checks.ran(fresh(rows))

    def test_a_line_for_each_tool_and_for_all_cases_of_an_operation_and_seed(self):
        table = self.ran(check_row(), check_row("memcheck"), random_row(), random_row(500, 0.45),
                         {**random_row(), "operation": "ssmconv"})
        self.assertTrue(table.good)
        self.assertEqual(table.verdict, "5 rows of 1 device; 0 of them with failures.")
        self.assertEqual(line_of(table, "kernels_cuda_test, memcheck"),
                         ["kernels_cuda_test, memcheck", 30, 0, 1, 0, "", "", "", "580.1", "2026-11-20",
                          "0123456789ab", ""])
        self.assertEqual(line_of(table, "random cases, ssmconv")[1], 500)
        self.assertEqual(line_of(table, RANDOM)[1:8],
                         [1000, 0, 0, "", "3", "0.45", "fftconv_f16_causal_l100_b1_h1, filter gaussian, scale 1"])

    def test_what_failed_is_red_and_named(self):
        table = self.ran(check_row(failed=["Plan.Runs"]), random_row(failed=[9]))
        self.assertFalse(table.good)
        self.assertIn("2 of them with failures", table.verdict)
        self.assertEqual(line_of(table, "kernels_cuda_test, tests")[-1], "Plan.Runs")
        self.assertEqual(line_of(table, RANDOM)[1:3], [499, 1])

    def test_a_case_that_is_not_finite_is_the_worst(self):
        wrong = random_row(500, failed=[507])
        wrong["worst"] |= {"clearance": None, "error": None, "violation": "y is not finite"}
        line = line_of(self.ran(random_row(0, 0.9), wrong), RANDOM)
        self.assertEqual((line[6], line[-1]), ("", "y is not finite"))

    def test_a_gpu_is_held_to_the_bits_of_the_executor_case_by_case(self):
        executed = {**random_row(), "device": {"name": "executor (H200)", "sm": 90, "multiprocessors": 132},
                    "digests": "0000000a........0000000c"}
        for last, same, good in (("0000000c", 2, True), ("0000000d", 1, False)):
            table = self.ran({**random_row(), "digests": "0000000a0000000b" + last}, executed)
            line = next(line for line in table.rows[table.rows.index(["NVIDIA H200"]):] if line[0] == RANDOM)
            self.assertTrue(line[-1].startswith(f"{same} of 2 cases as on the executor in every bit"), line)
            self.assertEqual((table.good, "first number 2 of seed 3" in line[-1]), (good, not good))
        for other in ({"first": 500}, {"seed": "4"}, {"operation": "ssmconv"}, {"code": "0" * 12}):
            self.assertNotIn("bit", str(self.ran({**random_row(), "digests": "0000000f"}, {**executed, **other}).rows))

    def test_stale_rows_are_red(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for rows, stale in (([check_row()], False), ([check_row(stale=True)], True)):
                write_rows(folder / "checks.jsonl", rows)
                sources.results.read.cache_clear()
                found = sources.checks(folder, folder / "none")
                self.assertEqual([row["stale"] for row in found.rows], [stale])
                self.assertEqual(checks.ran(found.rows).good, not stale)
            self.assertIsNone(sources.checks(folder / "none", folder / "none"))


class SpeedTest(unittest.TestCase):
    PEERS = Peers(measurements.COMMITTED)

    def cells(self, row, **more):
        table = speed.times(fresh([{**row, **more}]), self.PEERS)
        return dict(zip(reversed(table.columns), reversed(table.rows[1])))  # of equal names the first

    def test_bursts_stand_over_a_copy_in_the_same_turns_and_over_the_floor_with_the_spectrum(self):
        cells = self.cells(bench_row(MEASURED, "kernel", 12),
                           ratios={"copy": {"median": 1.143, "q1": 1.139, "q3": 1.151}},
                           floor={"us": 10, "with_spectrum_us": 11, "copy_bytes_per_s": 4e12})
        self.assertEqual((cells["floor"], cells["with spectrum"], cells["× floor"]), ("10.0", "11.0", "1.20"))
        self.assertEqual((cells["× that with spectrum"], cells["× copy"]), ("1.09", "1.14 (1.14 to 1.15)"))

    def test_of_older_rows_the_spectrum_follows_from_the_case(self):
        # 1024 points of 768 channels are 3.1 MB, which 4 TB/s copy in 0.79 us.
        cells = self.cells(bench_row(MEASURED, "kernel", 12))
        self.assertEqual((cells["with spectrum"], cells["× that with spectrum"], cells["× copy"]), ("10.8", "1.11", ""))

    def test_peers_say_what_is_known_of_their_times(self):
        cells = self.cells(bench_row(MEASURED.replace("1024", "512"), "kernel", 28))
        self.assertEqual((cells["peer"], cells["best peer"]), ("80.1", "cuFFTDx 1.5 fused, batch pairs (fp16)"))
        self.assertIn("peer: fp32 inside, repeated runs, caches not recorded", cells["notes"])
        self.assertIn("after mending a fault in its filter index",
                      self.cells(bench_row(MEASURED, "kernel", 28))["notes"])
        self.assertEqual({peer.dtype for peer in self.PEERS.all}, {"f16", "bf16"})


class TrainingTest(unittest.TestCase):
    PEERS = Peers(measurements.COMMITTED)

    def test_memory_is_beside_what_a_caller_has(self):
        line = training.memory(fresh([step_row()]), self.PEERS).rows[0]
        # y and du of 100.7 MB, dk of 3.1 MB, and what the plan keeps.
        self.assertEqual((line[0], line[1], line[6], line[7]), ("circular", "1K", "254", "50.0"))
        self.assertTrue(line[2] and line[3], "FlashFFTConv and torch")

    def test_a_step_of_fewer_rows_or_other_methods_has_no_parts(self):
        baseline = bench_row("fftconvstep_f16_circular_l1024_b64_h768", "cufft_f32", 500)
        self.assertEqual(len(training.parts(fresh([step_row(), baseline]), self.PEERS).rows), 2)

    def test_gradients_that_one_kernel_makes_are_one_part(self):
        series = {"median": 7}
        row = {"parts_us": {"filter": series, "y": series, "du+dpregate+dpostgate chain_gradient": series,
                            "dk taps": series}}
        self.assertEqual(list(training.parts_of(row)),
                         ["filter's transform", "forward", "gradients and sums at once", "dk's inverse"])
        row["parts_us"] = {"du chain_gradient": series, "dk taps": series}
        self.assertEqual(list(training.parts_of(row)), ["gradients and sums at once", "dk's inverse"])
        row["parts_us"] = {"du": series, "dk exchange_gradient": series}
        self.assertEqual(list(training.parts_of(row)), ["du", "sums over the batch"])

    def test_a_step_s_peers_hold_the_filter_s_transform(self):
        row = fresh([step_row("fftconvstep_f16_causal_l1024_b64_h768")])[0]
        best = self.PEERS.best(row)
        self.assertEqual((best.operation, best.with_filter), ("fftconvstep", True))
        self.assertEqual(best.us, min(peer.us for peer in self.PEERS.of(row)))
        self.assertNotIn("fftconvstep", {peer.operation for peer in self.PEERS.of(
            fresh([bench_row(MEASURED, "kernel", 12)])[0])})


OTHER = "NVIDIA H100 80GB HBM3"


def on_two(rows, slower=2):
    """Rows, and the same of another device, whose times and floors are so many times as long."""
    def there(row):
        times = {name: measurements.longer(each, slower) if "median" in each else
                 {key: measurements.longer(series, slower) for key, series in each.items()}
                 for name, each in row.items() if name in ("time_us", "filter_us", "call_us", "parts_us")}
        return {**row, **times, "device": {**row["device"], "name": OTHER},
                "floor": {**row["floor"], "us": slower * row["floor"]["us"]}}
    return [each for row in fresh(rows) for each in (row, there(row))]


class TwoDevicesTest(unittest.TestCase):
    """Rows of two devices stand in blocks or columns of their own, and peers' beside those of their device alone."""

    def columns(self, rows):
        return [row for row in rows if len(row) > 1]

    def test_parts_of_steps(self):
        table = training.parts(on_two([step_row()]), Peers(measurements.COMMITTED))
        self.assertEqual([row[0] for row in table.rows],
                         [f"{OTHER}: both passes, fp16, circular, B=64, H=768", "1K",
                          "NVIDIA H200: both passes, fp16, circular, B=64, H=768", "1K"])
        first, second = self.columns(table.rows)
        self.assertEqual(float(first[2]), 2 * float(second[2]))
        others = [place for place, name in enumerate(table.columns) if name in training.PEERS]
        self.assertFalse(any(first[place] for place in others), "peers of another device")
        self.assertTrue(second[others[0]] and second[others[1]], "FlashFFTConv and torch")
        self.assertEqual(len(training.memory(on_two([step_row()]), Peers(measurements.COMMITTED)).rows), 1)

    def test_short_convolutions(self):
        rows = [row for row in measured_ways() if row["case"].startswith("shortconv")]
        first, second = (row for row in self.columns(short.times(on_two(rows), ShortPeers(measurements.COMMITTED)).rows)
                         if row[0] == 4)
        self.assertEqual((first[3], first[6], second[3], second[6]), ("24.0", "", "12.0", "57.8"))
        chosen = short.choice(short_rows(), Results([], on_two(rows)), ShortPeers(measurements.COMMITTED))
        self.assertEqual(next(row for row in self.columns(chosen.rows) if row[0] == 4)[5], "12.0", "of the H200's profile")

    def test_layers(self):
        foreseen = Results([], [{"case": LAYER, "profile": "H200", "total_us": 33.3}])
        table = layers.times(on_two([row for row in layer_rows() if row["case"] == LAYER]), Layers(measurements.COMMITTED),
                             foreseen)
        first, second = self.columns(table.rows)
        self.assertEqual((first[2], first[5], first[8], second[2], second[5], second[8]),
                         ("60.0", "", "", "30.0", "33.3", "120.2"))
        self.assertIn("in 1 of 1 layers that all of them were timed on", table.verdict)

    def test_the_paper_s_tables(self):
        table = paper.table11(on_two([bench_row(MEASURED, "kernel", 12)]), Paper(measurements.COMMITTED),
                              Peers(measurements.COMMITTED))
        self.assertEqual([group.title for group in table.groups][3:5], [f"ours, one {OTHER}, ms", "ours, one NVIDIA H200, ms"])
        line = line_of(table, "1K")
        self.assertEqual((line[7:9], line[9:11]), (["0.024", "0.048"], ["0.012", "0.024"]))
        self.assertTrue(all(len(row) == len(table.columns) for row in table.rows))

    def test_the_device_with_most_comes_first(self):
        rows = on_two([bench_row(MEASURED, "kernel", 12)])
        baseline = {**rows[0], "method": "cufft_f32"}
        self.assertEqual(readme.devices(Results([], [*rows[::-1], baseline])), [baseline["device"]["name"], OTHER])
        self.assertEqual(readme.devices(Results([], [*rows, *2 * [baseline], rows[1]]))[0], OTHER, "of kernels")

    def test_a_profile_is_of_one_device(self):
        predicted = [{"profile": "H100"}]
        self.assertEqual([row["device"]["name"] for row in
                          measurements.of_profiles(on_two([bench_row(MEASURED, "kernel", 12)]), predicted)], [OTHER])
        self.assertEqual(measurements.device_of("A100-40GB"), "NVIDIA A100-SXM4-40GB")


class LayersTest(unittest.TestCase):
    LAYERS = Layers(measurements.COMMITTED)

    def test_a_layer_is_that_of_others_with_the_same_sizes(self):
        row = fresh(layer_rows())[0]
        found = self.LAYERS.of(row)
        self.assertEqual((found.turbofno_us, found.base_tf32_us, found.variant), (120.2, 118.8, "B"))
        self.assertIsNone(self.LAYERS.of({**row, **of(LAYER.replace("_m64", "_m32"))}))
        self.assertIsNone(self.LAYERS.of({**row, **of(LAYER.replace("_shared", ""))}))
        self.assertIsNone(self.LAYERS.of({**row, "device": {**row["device"], "name": "another GPU"}}))

    def test_a_layer_that_is_slower_is_said(self):
        slow = {**bench_row(LAYER, "kernel", 200)}
        table = layers.times(fresh([slow]), self.LAYERS, Results([], []))
        self.assertFalse(table.good)
        self.assertIn("in 0 of 1 layers", table.verdict)

    def test_types_stand_beside_tf32(self):
        fp32, fp16 = (LAYER.replace("f32_tf32", dtype) for dtype in ("f32", "f16"))
        rows = fresh([bench_row(LAYER, "kernel", 30), bench_row(fp32, "kernel", 54), bench_row(fp16, "kernel", 18)])
        table = layers.types(rows)
        self.assertEqual(table.rows[1][3:9], ["30.0", "3.00", "54.0", "1.80", "18.0", "0.60"])
        self.assertTrue(table.good)
        self.assertIn("fp16 takes 0.70 to 0.70 times", layers.types(rows[:1] + fresh([bench_row(fp16, "kernel", 21)])).verdict)
        self.assertIsNone(layers.times(rows[1:2], self.LAYERS, Results([], [])).rows[1][10] or None, "fp32 is compared with no TF32")

    def test_gradients_stand_beside_their_layer(self):
        table = layers.gradients(fresh([layer_gradient_row()]), Results([], fresh(layer_rows())))
        self.assertEqual(table.rows[1][3:7], ["90.0", "9.00", "135.0", "3.00"])
        self.assertIn("1 gradients take 9.00 to 9.00 floors", table.verdict)

    def test_fields_of_layers(self):
        fields = case_fields(of("spectral_f16_b2_c3x5_l64x32_m8x4_twosided")["case"])
        self.assertEqual((fields["channels"], fields["lengths"], fields["l"]), ((3, 5), (64, 32), 64))
        self.assertTrue(fields["twosided"])
        self.assertIsNone(fields["shared"])
        with self.assertRaisesRegex(ValueError, "is of no row"):
            case_fields("spectral_f32_b2_c3x5_l64x32_m8x5")


class LongTest(unittest.TestCase):
    def test_rows_of_fewer_channels_are_brought_to_all(self):
        row = measurements.brought(long_rows()[0])
        self.assertEqual(row["case"], "fftconv_f16_circular_l1048576_b64_h768")
        self.assertEqual(row["scaled_from"], "B=64, H=48")
        self.assertEqual((row["time_us"]["burst_cold"]["median"], row["floor"]["us"]), (16000, 160))
        self.assertEqual((row["filter_us"]["median"], row["floor"]["copy_bytes_per_s"]), (16000, 4e12))
        for other in (bench_row(MEASURED, "kernel", 12), bench_row("fftconv_f16_circular_l4096_b8_h768", "kernel", 12)):
            self.assertIs(measurements.brought(other), other)

    def test_a_whole_row_takes_the_place_of_one_that_is_scaled(self):
        whole = bench_row("fftconv_f16_circular_l1048576_b64_h768", "kernel", 15000)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_rows(folder / "rows.jsonl", [whole, *long_rows(), step_row()])
            sources.results.read.cache_clear()
            times = {row["method"]: row["time_us"]["burst_cold"]["median"]
                     for row in measurements.timed(None, folder).rows}
            self.assertEqual(times, {"kernel": 15000, "cufft_pairs": 32000})
            steps = measurements.timed(None, folder, ["fftconvstep"]).rows
            self.assertEqual([row["case"] for row in steps], [step_row()["case"]])


class ReadmeTest(unittest.TestCase):
    def committed(self, rows):
        """A folder with these rows, predictions and what other people measured."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name, lines in (("rows", rows), ("predictions", prediction_rows())):
            write_rows(folder / f"{name}.jsonl", lines)
        for name in ("h200_peers.csv", "h200_short.csv"):
            shutil.copy(measurements.COMMITTED / name, folder)
        sources.results.read.cache_clear()
        return folder

    def test_figures_of_several_gpus_stand_below_those_of_all(self):
        one, two = prediction_rows(), [{**row, "profile": "H100"} for row in prediction_rows()]
        self.assertNotIn("on the H", readme.judgement(one).split("| model |")[1])
        table = readme.judgement(one + two)
        self.assertIn("On the H100 and the H200: the absolute error", table)
        self.assertEqual([line.split(" | ")[0] for line in table.splitlines() if line.startswith("| counted work")],
                         ["| counted work", "| counted work, on the H100", "| counted work, on the H200"])

    def test_other_operations_stand_from_the_lowest_to_the_highest(self):
        longer = "fftconvstep_f16_circular_l2048_b64_h768"
        rows = [step_row(us=50), step_row(longer, 30), bench_row(longer, "cufft_f32", 120)]
        with tempfile.TemporaryDirectory() as name:
            write_rows(Path(name) / "rows.jsonl", rows)
            sources.results.read.cache_clear()
            lines = [line for line in readme.others(Path(name)).splitlines() if line.startswith("| training step")]
            self.assertEqual(lines, ["| training step, circular | 2 | 3.00 to 5.00 | 4.00 to 4.00 |"])

    def test_every_device_with_rows_that_count_has_its_columns_and_lines(self):
        row = bench_row(MEASURED, "kernel", 12)
        first, second = ({**row, "device": {**row["device"], "name": name}} for name in ("NVIDIA H200", "NVIDIA B200"))
        step = {**step_row(), "device": second["device"]}
        folder = self.committed([first, second, step])
        devices = [line.split(" | ")[2] for line in readme.claims(folder).splitlines() if "is right" in line]
        self.assertEqual(devices, ["NVIDIA H200", "NVIDIA B200"])
        self.assertIn("| operation | cases, B200 | × floor | cuFFT | cases, H200 | × floor | cuFFT |\n",
                      readme.others(folder))
        self.assertEqual(readme.measured_times(folder).count("Times in microseconds"), 2)

    def test_what_was_foretold_is_answered_by_rows_that_are_kept(self):
        row = bench_row(MEASURED, "kernel", 10)
        folder = self.committed([row])
        answer = {**row, "code": "of then", "device": {**row["device"], "name": "a test H100"}}
        (folder / "forecasts.jsonl").write_text(json.dumps(forecast_row(11, code="of then")) + "\n")
        (folder / "answers").mkdir()
        (folder / "answers" / "rows.jsonl").write_text(json.dumps(answer) + "\n")
        said = [line for line in readme.claims(folder).splitlines() if "nothing has run" in line]
        self.assertEqual(len(said), 1)
        self.assertIn("10.0 % off in the median, 10.0 % at the 90th percentile, of 1 kernels", said[0])
        self.assertIn("another GPU's times do better", said[0])  # the same time over the same floor is right

    def test_a_device_whose_kernels_are_all_of_earlier_revisions_has_lines(self):
        row = bench_row(MEASURED, "kernel", 12)
        other = {**row["device"], "name": "NVIDIA B200"}
        old, baseline = {**row, "code": "another", "device": other}, {**bench_row(MEASURED, "copy", 10), "device": other}
        folder = self.committed([row, old, baseline])
        said = readme.claims(folder)
        self.assertIn("| NVIDIA B200 |", said)
        self.assertIn(f"1 of revision {row['git']}", said)


class SourcesTest(unittest.TestCase):
    def test_a_row_is_as_old_as_its_verdict_says(self):
        old = bench_row(MEASURED, "kernel", 12, "another")
        elsewhere = {**old, "device": {**old["device"], "name": OTHER}}
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "bench.jsonl"

            def ages(committed):
                sources.results.read.cache_clear()
                rows = measurements.read_judged(path, ("bench",), committed=committed).rows
                return [(row["age"], row["stale"]) for row in rows]
            write_rows(path, [bench_row(MEASURED, "kernel", 12), old, elsewhere])
            kept = f"of revision {old['git']}"
            self.assertEqual(ages(True), [("", False), (kept, False), (kept, False)])
            self.assertEqual(ages(False)[1:], 2 * [("stale", True)], "a reader's own can be measured anew")
            said = json.loads((path.parent / "verdicts.json").read_text())
            said["bench.jsonl"]["unknown"] = [1]
            (path.parent / "verdicts.json").write_text(json.dumps(said))
            self.assertEqual(ages(True)[0], ("of unknown age", False))
            path.write_text(path.read_text().replace("another", "the other"))
            self.assertEqual(ages(True), 3 * [("of unknown age", False)], "the file is another")

    def test_predictions_of_which_none_counts_give_way_to_committed_ones(self):
        with tempfile.TemporaryDirectory() as name:
            own, committed = Path(name), Path(name) / "committed"
            committed.mkdir()

            def write(path, rows):
                path.write_text("".join(json.dumps(row) + "\n" for row in rows))
                sources.results.read.cache_clear()

            def stale():
                return sum(row["stale"] for row in sources.predictions(own, committed).rows)
            write(own / "predictions.jsonl", [{**row, "stale": True} for row in prediction_rows()])
            self.assertEqual(stale(), 4)
            write(committed / "predictions.jsonl", prediction_rows())
            self.assertEqual(stale(), 1)
            write(own / "predictions.jsonl", prediction_rows()[:1])
            self.assertEqual(stale(), 0)


class ReadmeSizesTest(unittest.TestCase):
    def test_lengths_between_sizes_are_left_to_their_figure(self):
        rows = [of(f"fftconv_f16_circular_l{n}_b64_h768") for n in (256, 768, 1000, 1023, 1024, 24576, 30000)]
        self.assertEqual([case_fields(row["case"])["l"] for row in readme.at_fft_sizes(rows)], [256, 768, 1024, 24576])


if __name__ == "__main__":
    unittest.main()
