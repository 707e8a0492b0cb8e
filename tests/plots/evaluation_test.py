"""The evaluation of the models, on examples that can be checked by hand."""

import math
import unittest

import numpy as np
from rows import of, prediction_row

import evaluation
import intervals
import results
import roofline
from evaluation import CALLS, COUNTED, FILTERS, MODELS, NULLS, evaluate
from roofline import FREE, Concurrency
from tables import judgement


def said(factors, us, eq2_paper, eq2_profile, counted, **fields):
    """A row with the times that the models predict."""
    row = prediction_row(factors, us, counted, **fields)
    row["eq2_paper"]["us"], row["eq2_profile"]["us"] = eq2_paper, eq2_profile
    return row


def with_work(row, launch=0.0, schedulers=0.0, warps=0.0, waits=0.0, fields=(), **resources):
    """`fields`: of the launch, how its workers go on from turn to turn."""
    said = row["counted"]["launches"][0]
    said["resources_us"].update(resources)
    said.update(launch_us=launch, schedulers_us=schedulers, warps_us=warps, waits=waits, **dict(fields))
    return row


def numbers(overlap=2, warp_rate=1, wait_us=0.5, **others):
    """Of a model without latencies."""
    zero = {name: 0 for name in FREE}
    return Concurrency(**{**zero, "overlap": overlap, "warp_rate": warp_rate, "wait_us": wait_us, **others})


def counted_us(row, concurrency):
    return roofline.CountedWork([row]).total_us(concurrency)[0]


def regrets(choice, names=MODELS):
    return [round(choice.regret(model), 12) for model in names]


def made_with(truth, n, l1, launch=0):
    """A row of FFT size n whose time is what counted work says at `truth`."""
    row = with_work(prediction_row([n // 256, 16, 16], 1, 100), l1=l1, schedulers=75, warps=300 / 8, launch=launch)
    row["measured_us"] = float(counted_us(row, truth))
    return row


def both(memory, sms):
    """What memory and what SMs do takes at an overlap of 2, of which that of memory is 3."""
    return (memory ** 3 + sms ** 3) ** (1 / 3)


class CountedWorkTest(unittest.TestCase):
    def test_one_time_lies_between_the_longest_and_the_sum(self):
        row = with_work(prediction_row([16, 16], 1, 30), l1=40, launch=3)
        self.assertAlmostEqual(counted_us(row, numbers(1, 1, 0.5)), 30 + 40 + 3, places=12)
        self.assertAlmostEqual(counted_us(row, numbers(2, 1, 0.5)), both(30, 40) + 3, places=12)
        self.assertAlmostEqual(counted_us(row, numbers(1000, 1, 0.5)), 40 + 3, places=6)
        on_chip = with_work(prediction_row([16, 16], 1, 0), l1=40, schedulers=30)
        self.assertAlmostEqual(counted_us(on_chip, numbers(2, 1, 0.5)), 50, places=12)

    def test_waits_are_on_top_of_all_else(self):
        row = with_work(prediction_row([16, 16], 1, 30), l1=40, waits=20)
        self.assertAlmostEqual(counted_us(row, numbers(2, 1, 0.5)), both(30, 40) + 10, places=12)

    def test_few_warps_do_not_reach_the_rate_of_the_schedulers(self):
        row = with_work(prediction_row([16, 16], 1, 30), schedulers=40, warps=15)
        self.assertAlmostEqual(counted_us(row, numbers(2, 0.5, 0.5)), both(30, 40), places=12)  # 15 / 0.5 < 40
        self.assertAlmostEqual(counted_us(row, numbers(2, 0.1, 0.5)), both(30, 150), places=12)
        times = roofline.CountedWork([row]).resource_times(numbers(2, 0.1, 0.5))[0]
        self.assertEqual((times["hbm"], times["issue"]), (30, 150))

    def test_what_needs_most_is_the_limit_at_the_rate_that_is_fitted(self):
        row = with_work(prediction_row([16, 16], 1, 30), schedulers=1, warps=15)
        for rate, limit in ((0.6, "hbm"), (0.3, "issue")):
            row["counted"]["fit"]["warp_rate"] = rate
            self.assertEqual(evaluate([row]).kernels[0].models["counted"].limit, limit)

    def test_finds_the_numbers_that_times_were_made_with(self):
        truth = numbers(2.75, 0.35, 0.45)
        rows = []
        for balance in (0.1, 0.5, 1, 2, 5):
            for warps in (3, 8, 16):
                row = with_work(prediction_row([3, 16, 16], 1, 100), l1=100 * balance, schedulers=75, warps=300 / warps,
                                waits=10 * warps)
                row["measured_us"] = counted_us(row, truth)
                rows.append(row)
        found = roofline.fit(rows, numbers(2, 0.3, 0.6))
        for name in FREE:
            self.assertAlmostEqual(getattr(found, name), getattr(truth, name), delta=0.01, msg=name)
        with self.assertRaisesRegex(results.Refusal, "0 kernels to fit to, must be some"):
            roofline.fit([], numbers())

    def test_nulls_fit_nothing(self):
        row = with_work(prediction_row([16, 16], 1, 30), l1=40, launch=3, schedulers=20, warps=1000)
        work = roofline.CountedWork([row])
        self.assertEqual((work.floor[0], work.sum()[0], work.longest()[0]), (30, 30 + 40 + 20 + 3, 40 + 3))


class SplitTest(unittest.TestCase):
    TRUTHS = {256: numbers(1, 1, 0.5), 512: numbers(4, 1, 0.5), 1024: numbers(4, 1, 0.5)}

    def rows(self):
        return [made_with(self.TRUTHS[n], n, l1) for n in self.TRUTHS for l1 in (50, 100)]

    def test_a_kernel_is_judged_by_a_fit_that_has_not_seen_its_group(self):
        rows = self.rows()
        found = evaluate(rows)
        self.assertEqual(list(found.fits), [256, 512, 1024])
        self.assertAlmostEqual(found.fits[256].overlap, 4, delta=0.08)  # the steps of the search
        # At an overlap of 4 in place of 1, of memory 7, 100, 100 and 75 do not take 275.
        wrong = (1 + (1 + 0.75 ** 4) ** (7 / 4)) ** (1 / 7) / 2.75 - 1
        self.assertAlmostEqual(found.kernels[1].error(COUNTED), wrong, delta=0.01)
        changed = [{**row, "measured_us": 7 * row["measured_us"]} if row["n"] == 512 else row for row in rows]
        self.assertEqual(evaluate(changed).fits[512], found.fits[512])
        self.assertNotEqual(evaluate(changed).fits[256], found.fits[256])

    def test_stale_rows_are_in_no_fit_and_no_figure(self):
        rows = self.rows()
        stale = {**made_with(numbers(1, 1, 0.5), 1024, 100), "stale": True, "measured_us": 9999}
        alone = {**made_with(numbers(1, 1, 0.5), 2048, 100), "stale": True, "measured_us": 9999}
        found = evaluate([*rows, stale, alone])
        self.assertEqual(found.fits, evaluate(rows).fits)
        self.assertEqual(found.summary(COUNTED), evaluate(rows).summary(COUNTED))
        self.assertEqual((found.stale_rows, len(found.kernels)), (2, 8))
        self.assertIn("2 of 8 rows are stale and are left out", judgement.sentence(found))
        self.assertEqual(evaluate([alone, stale]).summary(COUNTED).median, None)

    def test_every_split_leaves_out_what_it_says(self):
        rows = [said([16, 16], 1, 1, 1, 1), said([8, 8, 16], 1, 1, 1, 1), said([16, 16], 1, 1, 1, 1, mode="causal"),
                {**said([16, 16], 1, 1, 1, 1), "dtype": "bf16"}, {**said([16, 16], 1, 1, 1, 1), "profile": "H100"}]
        rows[1]["kernel"] = "exchange_a"
        found = {split: list(evaluate(rows, split).fits) for split in evaluation.SPLITS}
        self.assertEqual(found, {"length": [256, 1024], "algorithm": [("a kernel", 2), ("exchange", 3)],
                                 "type": ["bf16", "f16"], "mode": ["causal", "circular"], "operation": [], "batch": [],
                                 "GPU": ["H100", "H200"]})

    def test_rows_of_one_group_are_judged_by_the_fit_of_the_program_and_that_is_said(self):
        rows = [prediction_row([16, 16], 10, 10), prediction_row([4, 4, 16], 20, 20)]
        found = evaluate(rows)
        self.assertEqual((found.fitted, found.fits), (False, {}))
        self.assertIn("not fitted", judgement.sentence(found))
        self.assertIn("the rows are of one", judgement.splits(rows).verdict)
        rows[1]["counted"]["fit"]["overlap"] = 3.5
        with self.assertRaisesRegex(results.Refusal, "predictions of 2 fits"):
            evaluate(rows)

    def test_a_profile_of_two_devices_is_refused_by_name(self):
        rows = [{**prediction_row([16, 16], 1, 1), "device": name} for name in ("an H200", "an H100")]
        with self.assertRaisesRegex(results.Refusal, "profile H200 predicts rows of 2 devices, an H100, an H200"):
            evaluate(rows)


class JudgementTest(unittest.TestCase):
    def test_errors_are_signed_and_relative(self):
        kernel = evaluate([said([16, 16], 100, 110, 80, 130)]).kernels[0]
        self.assertAlmostEqual(kernel.error("eq2_profile"), -0.2, places=12)
        self.assertAlmostEqual(kernel.error(COUNTED), 0.3, places=12)

    def test_the_paper_s_rates_say_nothing_about_another_gpu(self):
        row = said([16, 16], 100, 750, 80, 130)
        found = evaluate([row])
        self.assertIsNone(found.kernels[0].error("eq2_paper"))
        self.assertIsNone(found.summary("eq2_paper").median)
        self.assertIn("about another GPU", judgement.title_of(found.summary("eq2_paper")))
        self.assertNotIn("about another GPU", judgement.title_of(found.summary("eq2_profile")))
        its_own = evaluate([{**row, "profile": evaluation.PAPERS_PROFILE}])
        self.assertAlmostEqual(its_own.summary("eq2_paper").median, 6.5, places=12)

    def test_regret_is_what_the_model_s_choice_takes_longer(self):
        rows = [said([8, 8, 2, 16, 8], 50, 90, 40, 10), said([16, 8, 16, 8], 60, 80, 50, 10.5),
                said([16, 8, 16, 8], 5, 1, 1, 1, batch=8),  # alone: nothing to choose from
                said([4, 8, 8, 8, 8], 20, 1, 1, 1, asked_by_factors=False)]  # was the plan's choice
        choices = evaluate(rows).choices
        self.assertEqual(len(choices), 1)
        self.assertEqual(choices[0].fastest.row["factors"], rows[0]["factors"])
        self.assertEqual(regrets(choices[0]), [0.2, 0, 0])

    def test_equal_times_are_no_choice(self):
        """The mean over them, wherever they stand in the file."""
        rows = [said([16, 16], 50, 7, 2, 3), said([4, 4, 16], 60, 7, 1, 3 * (1 + 1e-12)), said([8, 32], 100, 9, 1, 5)]
        for order in (rows, rows[::-1]):
            found = evaluate(order)
            self.assertEqual(regrets(found.choices[0]), [0.1, 0.6, 0.1])
            self.assertEqual([found.summary(model).ties for model in MODELS], [1, 1, 1])

    def test_nulls_choose_by_what_they_know(self):
        rows = [with_work(said([16, 16], 80, 1, 1, 30), l1=25, schedulers=9),
                with_work(said([4, 4, 16], 60, 1, 1, 30), l1=20, schedulers=40),
                with_work(said([8, 32], 50, 1, 1, 30), l1=40, schedulers=1)]
        choice = evaluate(rows).choices[0]
        # The floor is 30 of all; sums are 64, 90 and 71; the longest 30, 40 and 40; the first of the table takes 80.
        self.assertEqual(regrets(choice, NULLS), [round((80 + 60 + 50) / 150 - 1, 12), 0.6, 0.6, 0.6,
                                                  round((80 + 60 + 50) / 150 - 1, 12)])

    def test_the_table_s_order_puts_the_preferred_first(self):
        rows = [said([16, 16], 80, 1, 1, 30), said([4, 4, 16], 60, 1, 1, 30), said([8, 32], 50, 1, 1, 30)]
        for i, row in enumerate(rows):
            row["kernel"] = f"kernel_{i}"
        self.assertEqual(regrets(evaluate(rows).choices[0], ["table"]), [0.6])
        plan = {**said([4, 4, 16], 60, 1, 1, 30, asked_by_factors=False, batch=8), "kernel": "kernel_1"}
        self.assertEqual(regrets(evaluate([*rows, plan]).choices[0], ["table"]), [0.2])
        rows = [{**row, "preferred": i == 2} for i, row in enumerate(rows)]
        self.assertEqual(regrets(evaluate(rows).choices[0], ["table"]), [0])

    def test_what_is_beaten_by_a_null_says_so(self):
        rows = [said([16, 16], 50, 1, 1, 40), said([4, 4, 16], 60, 1, 1, 30)]
        found = evaluate(rows)
        # Counted work takes what needs 30 us and costs 20 %; the table's first is the fastest, any factors cost 10 %.
        self.assertEqual({name: [null.model for null in nulls] for name, nulls in found.beaten().items()},
                         {"mean_regret": ["table", "random"], "worst_regret": ["table", "random"]})
        self.assertIn("A null model does better: its choice costs on average: the table's order (0.0 %) and 1 more; ",
                      judgement.sentence(found))
        with_work(rows[0], hbm=50), with_work(rows[1], hbm=60)
        self.assertIn("No null model does better.", judgement.sentence(evaluate(rows)))

    def test_a_constant_times_the_floor_is_fitted_to_the_others(self):
        rows = [said([16, 16], 30, 1, 1, 10), said([2, 16, 16], 20, 1, 1, 10), said([4, 16, 16], 80, 1, 1, 10)]
        # 256 is predicted by the geometric mean of 2 and 8, which is 4: 40 us and not 30.
        self.assertAlmostEqual(evaluate(rows).errors["floor"][0], 1 / 3, places=12)

    def test_a_case_is_the_same_but_for_its_factors(self):
        first, second = said([16, 16], 50, 1, 1, 1), said([4, 4, 16], 60, 1, 1, 1)
        self.assertEqual(len(evaluate([first, second]).choices), 1)
        second |= of(second["case"].replace("_r", "_pair_n256_r"))  # says what the kernel has anyway
        self.assertEqual(len(evaluate([first, second]).choices), 1)
        second["fold"] = "rightangle"
        self.assertEqual(len(evaluate([first, second]).choices), 0)
        second["fold"], second["profile"] = "pair", "H100"
        self.assertEqual(len(evaluate([first, second]).choices), 0)

    def test_summaries_are_of_all_and_of_each_kind(self):
        rows = [said([16, 16], 100, 1, 110, 110), said([4, 4, 16], 100, 1, 80, 80),
                said([16, 16], 100, 1, 160, 160, mode="causal"), said([16, 16], 100, 1, 900, 900, stale=True)]
        found = evaluate(rows)
        kinds = ["fp16, circular, without gates", "fp16, causal, without gates"]
        self.assertEqual([(each.part, each.model) for each in found.summaries()],
                         [("", model) for model in (*MODELS, *NULLS)] + [(kind, model) for kind in kinds
                                                                         for model in MODELS])
        overall = found.summary("eq2_profile")
        self.assertEqual(overall.rows, 3)
        self.assertAlmostEqual(overall.median, 0.2, places=12)  # of 0.1, 0.2, 0.6
        self.assertAlmostEqual(overall.p90, 0.52, places=12)  # four fifths of the way from the second to the third
        self.assertAlmostEqual(overall.bias, 0.1, places=12)
        causal = next(each for each in found.summaries() if each.part == kinds[1])
        self.assertEqual((causal.rows, causal.choices, causal.mean_regret), (1, 0, None))
        on_two = evaluate([*rows, {**rows[0], "profile": "H100"}]).summaries()
        self.assertEqual([each.rows for each in on_two if each.part.startswith("on the") and each.model == COUNTED],
                         [1, 3])

    def test_regrets_have_a_mean_a_90th_percentile_and_a_worst(self):
        found = evaluate([said([16, 16], 50, 2, 2, 2), said([4, 4, 16], 60, 1, 1, 3),
                          said([32, 16], 70, 1, 1, 1), said([2, 16, 16], 98, 2, 2, 1.5)])
        overall = found.summary("eq2_paper")
        self.assertEqual((overall.choices, round(overall.worst_regret, 12)), (2, 0.2))
        self.assertAlmostEqual(overall.mean_regret, 0.1, places=12)
        self.assertAlmostEqual(overall.p90_regret, 0.18, places=12)

    def test_failures_are_listed_the_largest_first(self):
        rows = [said([16, 16], 100, 1, 1, 130), said([4, 4, 16], 100, 1, 1, 40), said([8, 32], 100, 1, 1, 115),
                said([2, 8, 16], 100, 1, 1, 500, stale=True)]
        rows[0]["compiled"], rows[1]["compiled"] = None, {"registers": 128, "local_bytes": 24}
        found = evaluate(rows)
        self.assertEqual([kernel.row["factors"] for kernel in found.failures()], [[4, 4, 16], [16, 16]])
        shown = judgement.failures(rows)
        self.assertIn("2 of 3 kernels (66.7 %) are off by more than 16%", shown.verdict)
        self.assertEqual([line[6] for line in shown.rows[1:]], ["-60.0", "+30.0"])
        self.assertEqual([line[3] for line in shown.rows[1:]], [24, ""], "bytes, where the compiler's report is known")
        costly = judgement.failures([said([16, 16], 100, 1, 1, 100), said([4, 4, 16], 150, 1, 1, 90)])
        self.assertEqual(costly.rows[-1][-1], "of 2 the fastest is 16 × 16, 100.0 us: costs 50.0 %")


class ClassTest(unittest.TestCase):
    @staticmethod
    def program(case, kernel, us, counted_us, **fields):
        """A row of what no FFT size is said of."""
        row = {**said([16, 16], us, 1, 1, counted_us), **of(case), "kernel": kernel, **fields}
        for name in ("n", "order", "factors", "fold", "mode", "gated", "eq2_paper", "eq2_profile"):
            row.pop(name)
        return row

    def rows(self):
        layer = "spectral_f32_tf32_complex_b{}_c32x64_l128_m64_shared_channelmajor"
        return [said([16, 16], 100, 1, 1, 110), said([128, 256], 100, 1, 1, 90),
                self.program("fftconv_f16_circular_l65536_b64_h192", "cluster_64x1024", 100, 80),
                self.program("fftconvgrad_f16_circular_l1024_b64_h768", "exchange_64x16", 100, 70),
                self.program("shortconv_bf16_causal_k4_l1024_b64_h768", "direct_4", 100, 60),
                self.program(layer.format(1024), "layer_f32", 100, 120, batch=1024),
                self.program(layer.format(16), "layer_f32", 100, 150, batch=16)]

    def test_every_row_has_a_class_with_figures_of_its_own(self):
        found = evaluate(self.rows(), "type")  # of one type, so nothing is fitted
        bias = {name: round(found.of_class(name).bias, 9) for name in found.classes()}
        self.assertEqual(bias, {"forward, a kernel, to 512": 0.1, "forward, a kernel, above 16K": -0.1,
                                "forward, clusters": -0.2, "gradients": -0.3, "short filters, direct": -0.4,
                                "layers": 0.2, "layers of few items": 0.5})
        self.assertEqual([kernel.row["n"] for kernel in found.kernels], [256, 32768], "what Eq. 2 speaks about")
        self.assertEqual(found.of_class(None).rows, 7)
        lines = judgement.class_lines(found)
        self.assertEqual(lines[0][:2], ["all classes", 7])
        self.assertEqual([line[0] for line in lines[1:]], found.classes())

    def test_rows_of_programs_are_in_every_split(self):
        found = {split: list(evaluate(self.rows(), split).fits) for split in evaluation.SPLITS}
        self.assertEqual(found["algorithm"], [("a kernel", 2), ("cluster", 0), ("direct", 0), ("exchange", 0), ("layer", 0)])
        self.assertEqual(found["operation"], ["fftconv", "fftconvgrad", "shortconv", "spectral"])
        self.assertEqual(found["batch"], [16, 64, 1024])
        self.assertEqual(found["mode"], ["", "causal", "circular"])
        self.assertIn(128, found["length"], "of a layer's last axis")

    def test_a_class_weighs_as_much_as_another_however_many_rows_it_has(self):
        rows = evaluation.with_filters(self.rows()[:1] * 60 + self.rows()[2:3] * 30)
        weights = evaluation.weights_of(rows, [True] * 89 + [False])
        self.assertAlmostEqual(weights[:60].sum(), 1)
        self.assertAlmostEqual(weights[60:].sum(), 1)
        self.assertEqual(weights[-1], 0, "what a fit has not seen")
        self.assertLess(evaluation.weights_of(rows, [True] * 62 + [False] * 28)[60:].sum(), 0.2, "two rows are no class")

    def test_transforms_and_calls_are_judged_where_they_were_timed(self):
        timed, stale, silent = said([16, 16], 100, 1, 1, 90), said([4, 64], 100, 1, 1, 90, stale=True), said([8, 32], 100, 1, 1, 90)
        for row in (timed, stale):
            row["filter"] = {"measured_us": 40, "counted": said([16, 16], 1, 1, 1, 30)["counted"]}
            row["call_measured_us"] = 150
        silent["filter"] = None
        found = evaluate([timed, stale, silent, {**timed, "dtype": "f16"}])
        self.assertEqual((found.of_class(FILTERS).rows, round(found.of_class(FILTERS).bias, 9)), (1, -0.25), "once")
        self.assertEqual(round(found.of_class(CALLS).bias, 9), -0.2)


class LatencyTest(unittest.TestCase):
    def us(self, fit, **fields):
        return counted_us(with_work(prediction_row([16, 16], 1, 30), l1=40, fields=fields), fit)

    def test_warps_that_meet_at_barriers_overlap_by_the_blocks_beside_them(self):
        fit = numbers(3, half_shared=1, half_none=3)
        self.assertAlmostEqual(self.us(fit, meets=True), both(30, 40))  # p = 1 + 2 / (1 + 1)
        self.assertAlmostEqual(self.us(fit, meets=True, blocks=3, prefetch="none"), 50)  # p = 2 of memory too
        self.assertLess(self.us(fit), self.us(fit, meets=True, blocks=8))

    def test_latencies_are_on_top(self):
        fit = numbers(1, start_us=2, fill_us=3, phase_fill_us=4, follow_us=5)
        self.assertAlmostEqual(self.us(fit), 70 + 3)
        self.assertAlmostEqual(self.us(fit, starts=1.5, follows=True), 70 + 3 + 3 + 5)
        self.assertAlmostEqual(self.us(fit, meets=True, prefetch="none"), 70 + 3 + 4)

    def test_what_a_cluster_exchanges_overlaps_with_nothing_and_the_last_wave_with_a_share(self):
        row = with_work(prediction_row([16, 16], 1, 30), l1=40, cluster=20, fields={"last_wave": 1.5})
        self.assertAlmostEqual(counted_us(row, numbers(2, last_wave=0)), both(30, 40) + 20)
        self.assertAlmostEqual(counted_us(row, numbers(2, last_wave=1)), 1.5 * both(30, 40) + 20)


class IntervalTest(unittest.TestCase):
    def test_quantiles_lie_between_neighbours(self):
        self.assertEqual(intervals.quantile([4], 0.9), 4)
        self.assertAlmostEqual(intervals.quantile([10, 0], 0.9), 9, places=12)
        self.assertAlmostEqual(intervals.quantile([3, 1, 2, 10], 0.5), 2.5, places=12)
        self.assertIsNone(intervals.quantile([], 0.5))

    def test_a_draw_is_the_quantile_and_the_mean_of_what_it_drew(self):
        values, cases = np.random.default_rng(7).random(60), [i % 40 for i in range(60)]
        bootstrap = intervals.Bootstrap(cases)
        drawn = [np.repeat(values, times) for times in bootstrap.times]
        for share in (0.5, 0.9):
            expected = intervals.inside([np.quantile(each, share) for each in drawn])
            np.testing.assert_allclose(bootstrap.of_quantile(values, share), expected, rtol=1e-12)
        np.testing.assert_allclose(bootstrap.of_mean(values), intervals.inside([each.mean() for each in drawn]),
                                   rtol=1e-12)

    def test_the_rows_of_a_case_are_drawn_together(self):
        times = intervals.Bootstrap(["a", "b", "a", "c"]).times
        self.assertTrue((times[:, 0] == times[:, 2]).all())
        self.assertTrue((times[:, [0, 1, 3]].sum(axis=1) == 3).all())

    def test_many_alike_are_as_wide_as_their_cases(self):
        """Ten values of a thousand rows each say what ten values say; taken for independent they would say more."""
        values = np.arange(10.0)
        few = intervals.Bootstrap(range(10)).of_mean(values)
        many = intervals.Bootstrap(np.repeat(range(10), 1000)).of_mean(np.repeat(values, 1000))
        np.testing.assert_allclose(many, few)
        # The mean of ten draws of these has a standard deviation of sqrt(8.25 / 10), 95 % lie within 1.96 of it.
        self.assertAlmostEqual(few[1] - few[0], 2 * 1.96 * math.sqrt(8.25 / 10), delta=0.2)
        self.assertEqual(intervals.Bootstrap(range(10)).of_mean(values), few, "the same rows, the same interval")


if __name__ == "__main__":
    unittest.main()
