"""Counted work as one time, and the fit of what is free in it.

A row of kind "prediction" says, for each launch, what time each resource needs, of which model/roofline.hpp makes one:

  T = tail (t_hbm^q + t_l2^q + s^q)^(1/q) + t_cluster + latencies + launch,   s = (t_1^p + t_2^p + ...)^(1/p)

Here the same is done for many rows at once, and the numbers of Concurrency are fitted, all of them.
"""

from dataclasses import astuple, dataclass, fields

import numpy as np
from results import Refusal

ISSUE, CLUSTER = "issue", "cluster"
MEMORY = ("hbm", "l2")  # what is further apart from the rest
PREFETCH = ("shared", "l2", "none")  # where the next rows are when barriers let warps go on


@dataclass(frozen=True)
class Concurrency:
    """What of counted work is fitted: see model/roofline.hpp."""
    overlap: float
    half_shared: float
    half_l2: float
    half_none: float
    warp_rate: float
    last_wave: float
    wait_us: float
    start_us: float
    fill_us: float
    phase_fill_us: float
    follow_us: float


FREE = tuple(field.name for field in fields(Concurrency))
LEAST = np.array([1, 0, 0, 0, 0.05, 0, 0, 0, 0, 0, 0], float)
MOST = np.array([16, 8, 16, 32, 1, 1, 2, 8, 4, 6, 8], float)

# Of the fit. Larger errors than ROBUST count by their size, not by its square: no row outweighs a class. PULL draws
# numbers that few rows depend on to where the fit begins.
ROBUST, PULL = 0.1, 1e-3
ROUNDS, ENOUGH = 40, 1e-7


class CountedWork:
    """Of some kernels, as arrays: a line for each resource but instruction issue, a column for each launch."""

    def __init__(self, rows):
        each = [row["counted"]["launches"] for row in rows]
        launches = [launch for own in each for launch in own]
        self.rows = len(rows)
        self.own = np.repeat(np.arange(len(rows)), [len(own) for own in each])
        self.names = list(dict.fromkeys(name for launch in launches for name in launch["resources_us"]))
        self.resources = np.array([[launch["resources_us"].get(name, 0) for launch in launches] for name in self.names])
        memory, alone = (np.array([name in those for name in self.names]) for those in (MEMORY, (CLUSTER,)))
        self.memory, self.sms = self.resources[memory], self.resources[~memory & ~alone]
        self.alone = self.resources[alone].sum(axis=0)
        (self.times, self.schedulers, self.warps, self.waits, self.launch, self.blocks, self.last_wave, self.starts,
         self.meets, self.follows) = (
            np.array([launch[field] for launch in launches], float) for field in (
                "times", "schedulers_us", "warps_us", "waits", "launch_us", "blocks", "last_wave", "starts", "meets",
                "follows"))
        self.prefetch = np.array([PREFETCH.index(launch["prefetch"]) for launch in launches], int)
        self.in_phases = (self.meets > 0) & (self.prefetch > 0)
        self.scale = np.maximum(self.resources.max(axis=0, initial=0), self.schedulers)  # what powers are taken over
        self.scale[self.scale == 0] = 1
        self.floor = self.of_rows(self.resources[self.names.index("hbm")])  # what must move, at the memory's rate

    def of_rows(self, of_launches):
        """Sums over the launches of each row."""
        return np.bincount(self.own, of_launches * self.times, self.rows)

    def issue(self, warp_rate):
        return np.maximum(self.schedulers, self.warps / warp_rate)

    def overlap(self, fit):
        half = np.array([fit.half_shared, fit.half_l2, fit.half_none])[self.prefetch]
        return 1 + (fit.overlap - 1) * np.where(self.meets > 0, self.blocks / (self.blocks + half), 1)

    def total_us(self, fit):
        """Of each kernel."""
        p = self.overlap(fit)
        q = np.where(self.in_phases, p, 2 * p - 1)
        of_sms = (((self.sms / self.scale) ** p).sum(axis=0) + (self.issue(fit.warp_rate) / self.scale) ** p) ** (1 / p)
        at_once = self.scale * (((self.memory / self.scale) ** q).sum(axis=0) + of_sms ** q) ** (1 / q)
        latencies = (self.waits * fit.wait_us + self.starts * fit.start_us + fit.fill_us
                     + self.in_phases * fit.phase_fill_us + self.follows * fit.follow_us)
        tail = 1 + fit.last_wave * (self.last_wave - 1)
        return self.of_rows(tail * at_once + self.alone + latencies + self.launch)

    def resource_times(self, fit):
        """{resource: us} of each kernel."""
        lines = [self.of_rows(line) for line in (*self.resources, self.issue(fit.warp_rate))]
        return [dict(zip([*self.names, ISSUE], column)) for column in np.array(lines).T.tolist()]

    def sum(self):
        """The time were nothing done at once, with instructions at the schedulers' rate: nothing is fitted."""
        return self.of_rows(self.resources.sum(axis=0) + self.schedulers + self.launch)

    def longest(self):
        """The time were everything done at once, likewise."""
        return self.of_rows(np.maximum(self.resources.max(axis=0, initial=0), self.schedulers) + self.launch)


def fit(rows, start, weights=None):
    """What has the least errors of log(predicted / measured). `start`: the numbers to begin with."""
    if not rows:
        raise Refusal("evaluation: 0 kernels to fit to, must be some")
    measured = np.array([row["measured_us"] for row in rows])
    return fitted(CountedWork(rows), measured, np.ones(len(rows)) if weights is None else weights, start)


def fitted(work, measured_us, weights, start):
    """By Levenberg and Marquardt's steps, within LEAST and MOST. `weights`: of each row, 0 where it is not seen."""
    begin = np.clip(astuple(start), LEAST, MOST)
    seen_rows = weights > 0  # others are in no sum, not even as zeros: the order of sums would depend on them
    span, weights = MOST - LEAST, weights[seen_rows] / weights.sum()

    def errors(numbers):
        return np.log(work.total_us(Concurrency(*numbers))[seen_rows] / measured_us[seen_rows])

    def cost(numbers, found):
        return (weights * 2 * ROBUST ** 2 * (np.sqrt(1 + (found / ROBUST) ** 2) - 1)).sum() + (
            PULL ** 2 * ((numbers - begin) / span) ** 2).sum()

    numbers, damping = begin, 1e-3
    found = errors(numbers)
    least = cost(numbers, found)
    for _ in range(ROUNDS):
        steps = np.where(numbers + 1e-4 * span < MOST, 1e-4, -1e-4) * span
        slopes = np.array([(errors(numbers + step) - found) / step.sum() for step in np.diag(steps)])
        seen = weights / np.sqrt(1 + (found / ROBUST) ** 2)
        square = (slopes * seen) @ slopes.T + np.diag((PULL / span) ** 2)
        down = -(slopes * seen) @ found - (PULL / span) ** 2 * (numbers - begin)
        better = False
        while not better and damping < 1e6:
            trial = np.clip(numbers + np.linalg.solve(square + damping * np.diag(np.diag(square)), down), LEAST, MOST)
            trial_errors = errors(trial)
            trial_cost = cost(trial, trial_errors)
            better = trial_cost < least
            damping *= 0.3 if better else 4
        if not better:
            break
        gain, numbers, found, least = least - trial_cost, trial, trial_errors, trial_cost
        if gain < ENOUGH * least:
            break
    return Concurrency(*numbers.tolist())
