"""The evaluation of the models, on examples that can be checked by hand."""

import math
import unittest

from rows import prediction_row

import evaluation
import results
from evaluation import Concurrency, evaluate

MODELS = list(evaluation.MODELS)
OVERALL = 0  # of the summaries, the first for each model


def said(factors, us, eq2_paper, eq2_profile, counted, **fields):
    """A row with the times that the models predict."""
    row = prediction_row(factors, us, counted, **fields)
    row["eq2_paper"]["us"], row["eq2_profile"]["us"] = eq2_paper, eq2_profile
    return row


def with_work(row, launch=0.0, schedulers=0.0, warps=0.0, **resources):
    row["counted"]["resources_us"].update(resources)
    row["counted"].update(launch_us=launch, schedulers_us=schedulers, warps_us=warps)
    return row


def counted_us(row, concurrency):
    return evaluation.CountedWork([row]).total_us(concurrency)[0]


def regrets(choice):
    return [round(choice.regret(model), 12) for model in MODELS]


class CountedWorkTest(unittest.TestCase):
    def test_one_time_lies_between_the_longest_and_the_sum(self):
        row = with_work(prediction_row([16, 16], 1, 30), l1=40, launch=3)
        self.assertAlmostEqual(counted_us(row, Concurrency(1, 1)), 30 + 40 + 3, places=12)
        self.assertAlmostEqual(counted_us(row, Concurrency(2, 1)), 50 + 3, places=12)
        self.assertAlmostEqual(counted_us(row, Concurrency(1000, 1)), 40 + 3, places=6)

    def test_few_warps_do_not_reach_the_rate_of_the_schedulers(self):
        row = with_work(prediction_row([16, 16], 1, 30), schedulers=40, warps=15)
        self.assertAlmostEqual(counted_us(row, Concurrency(2, 0.5)), 50, places=12)  # 15 / 0.5 < 40
        self.assertAlmostEqual(counted_us(row, Concurrency(2, 0.1)), math.hypot(30, 150), places=12)
        times = evaluation.CountedWork([row]).resource_times(Concurrency(2, 0.1))[0]
        self.assertEqual((times["hbm"], times["issue"]), (30, 150))

    def test_what_needs_most_is_the_limit_at_the_rate_that_is_fitted(self):
        row = with_work(prediction_row([16, 16], 1, 30), schedulers=1, warps=15)
        for rate, limit in ((0.6, "hbm"), (0.3, "issue")):
            row["counted"]["warp_rate"] = rate
            self.assertEqual(evaluate([row]).kernels[0].models["counted"].limit, limit)

    def test_finds_the_numbers_that_times_were_made_with(self):
        truth = Concurrency(2.75, 0.35)
        rows = []
        for balance in (0.1, 0.5, 1, 2, 5):
            for warps in (3, 8, 16):
                row = with_work(prediction_row([3, 16, 16], 1, 100), l1=100 * balance, schedulers=75, warps=300 / warps)
                row["measured_us"] = counted_us(row, truth)
                rows.append(row)
        found = evaluation.fit(rows)
        self.assertAlmostEqual(found.overlap, truth.overlap, delta=0.02 * truth.overlap)  # the steps of the search
        self.assertAlmostEqual(found.warp_rate, truth.warp_rate, delta=0.02 * truth.warp_rate)
        self.assertEqual(evaluate(rows).concurrency, found)
        with self.assertRaisesRegex(results.Refusal, "0 kernels to fit to, must be some"):
            evaluation.fit([])

    def test_without_kernels_to_fit_to_it_is_the_rows_own(self):
        rows = [prediction_row([16, 16], 10, 10), prediction_row([2, 16, 16], 20, 20)]
        evaluated = evaluate(rows)
        self.assertEqual((evaluated.fitted_to, evaluated.concurrency), (0, Concurrency(2.4, 0.3)))
        rows[1]["counted"]["overlap"] = 3.5
        with self.assertRaisesRegex(results.Refusal, "predictions of 2 fits"):
            evaluate(rows)


class JudgementTest(unittest.TestCase):
    def test_errors_are_signed_and_relative(self):
        kernel = evaluate([said([16, 16], 100, 110, 80, 130)]).kernels[0]
        for model, error in zip(MODELS, (0.1, -0.2, 0.3)):
            self.assertAlmostEqual(kernel.error(model), error, places=12)

    def test_regret_is_what_the_model_s_choice_takes_longer(self):
        rows = [said([8, 8, 2, 16, 8], 50, 90, 40, 10), said([16, 8, 16, 8], 60, 80, 50, 10.5),
                said([16, 8, 16, 8], 5, 1, 1, 1, batch=8),  # alone: nothing to choose from
                said([4, 8, 8, 8, 8], 20, 1, 1, 1, asked_by_factors=False)]  # was the plan's choice
        choices = evaluate(rows).choices
        self.assertEqual(len(choices), 1)
        self.assertIs(choices[0].fastest.row, rows[0])
        self.assertEqual(regrets(choices[0]), [0.2, 0, 0])

    def test_a_case_is_the_same_but_for_its_factors(self):
        first, second = said([16, 16], 50, 1, 1, 1), said([4, 4, 16], 60, 1, 1, 1)
        self.assertEqual(len(evaluate([first, second]).choices), 1)
        second["case"] = second["case"].replace("_r", "_pair_n256_r")  # says what the kernel has anyway
        self.assertEqual(len(evaluate([first, second]).choices), 1)
        second["fold"] = "rightangle"
        self.assertEqual(len(evaluate([first, second]).choices), 0)

    def test_summaries_leave_out_what_was_fitted(self):
        rows = [said([8, 8, 2, 16, 8], 100, 110, 100, 130), said([16, 8, 16, 8], 100, 80, 100, 100),
                said([16, 8, 16, 8], 100, 160, 100, 100, mode="causal", stale=True),
                said([16, 8, 3, 8, 8], 100, 900, 100, 100), said([3, 8, 8, 16, 8], 200, 100, 100, 100)]
        evaluated = evaluate(rows)
        self.assertEqual(evaluated.fitted_to, 2)
        self.assertEqual([kernel.held_out for kernel in evaluated.kernels], [True, True, True, False, False])
        self.assertEqual([choice.held_out for choice in evaluated.choices], [True, False])
        self.assertEqual([(each.kind, each.model) for each in evaluated.summaries],
                         [(kind, model) for kind in (None, ("f16", "circular", False), ("f16", "causal", False))
                          for model in MODELS])
        overall = evaluated.summaries[OVERALL]
        self.assertEqual((overall.rows, overall.held_out_rows, overall.stale_rows), (5, 3, 1))
        self.assertAlmostEqual(overall.median, 0.2, places=12)  # of 0.1, 0.2, 0.6
        self.assertAlmostEqual(overall.p90, 0.52, places=12)  # four fifths of the way from the second to the third
        self.assertAlmostEqual(overall.bias, 0.1, places=12)
        self.assertEqual((overall.choices, overall.worst_regret), (1, 0), "that at 24576 took part in fitting")
        for summary in evaluated.summaries:
            if summary.kind == ("f16", "causal", False):
                self.assertEqual((summary.held_out_rows, summary.choices, summary.mean_regret), (1, 0, None))

    def test_regrets_have_a_mean_and_a_worst(self):
        evaluated = evaluate([said([16, 16], 50, 2, 2, 2), said([4, 4, 16], 60, 1, 1, 3),
                              said([32, 16], 70, 1, 1, 1), said([2, 16, 16], 98, 2, 2, 1.5)])
        overall = evaluated.summaries[OVERALL]
        self.assertEqual((overall.choices, round(overall.worst_regret, 12)), (2, 0.2))
        self.assertAlmostEqual(overall.mean_regret, 0.1, places=12)

    def test_without_held_out_rows_there_is_nothing_to_say(self):
        for summary in evaluate([said([3, 16, 16], 100, 1, 1, 1)]).summaries:
            self.assertEqual((summary.rows, summary.held_out_rows), (1, 0))
            self.assertEqual((summary.median, summary.p90, summary.bias, summary.worst_regret), (None,) * 4)

    def test_held_out_rows_take_no_part_in_fitting(self):
        def fitted(held_out_us):
            return evaluate([with_work(said([3, 16, 16], 70, 1, 1, 40), l1=30, schedulers=5, warps=3),
                             with_work(said([6, 16, 16], 90, 1, 1, 70), l1=50, schedulers=5, warps=9),
                             with_work(said([16, 16], held_out_us, 1, 1, 10), l1=9, schedulers=5, warps=5)])
        first, second = fitted(12), fitted(1200)
        self.assertEqual(first.concurrency, second.concurrency)
        self.assertEqual(first.kernels[2].models, second.kernels[2].models)
        everything = evaluate([kernel.row for kernel in second.kernels], takes_part=lambda row: True)
        self.assertNotEqual(everything.concurrency, second.concurrency)
        self.assertEqual(everything.fitted_to, 3)

    def test_the_only_kernel_that_is_fitted_is_met(self):
        rows = [prediction_row([8, 8, 2, 16, 8], 9, 5), prediction_row([16, 8, 16, 8], 10, 5),
                with_work(prediction_row([6, 16, 16], 15, 9, asked_by_factors=False), l1=8, schedulers=2, warps=1)]
        evaluated = evaluate(rows)
        self.assertEqual(evaluated.fitted_to, 1)
        self.assertAlmostEqual(evaluated.kernels[2].models["counted"].us, 15, delta=0.01 * 15)
        self.assertEqual(evaluated.choices[0].fastest.row["factors"], [8, 8, 2, 16, 8])
        self.assertEqual(evaluated.summaries[MODELS.index("counted")].held_out_rows, 2)

    def test_quantiles_lie_between_neighbours(self):
        self.assertEqual(evaluation.quantile([4], 0.9), 4)
        self.assertAlmostEqual(evaluation.quantile([10, 0], 0.9), 9, places=12)
        self.assertAlmostEqual(evaluation.quantile([3, 1, 2, 10], 0.5), 2.5, places=12)
        self.assertIsNone(evaluation.quantile([], 0.5))


if __name__ == "__main__":
    unittest.main()
