"""Counted work as one time, and the fit of what is free in it.

A row of kind "prediction" says what time each resource needs, of which one time is made as in model/roofline.hpp:

  T = (t_hbm^q + t_l2^q + s^q)^(1/q) + waits + launch,   s = (t_1^p + t_2^p + ...)^(1/p),   q = 2p - 1

The overlap p is fitted, and so are the warp rate, of which the time of instruction issue follows (that of the
schedulers, or that of the warps over their rate where this is longer), and what each wait takes.
"""

from dataclasses import dataclass, fields

import numpy as np
from results import Refusal

ISSUE = "issue"
MEMORY = ("hbm", "l2")  # what is further apart from the rest

STEP, WAIT_STEP = 1.02, 0.05  # of the search for the best fit
OVERLAPS, WARP_RATES, WAITS_US = (1, 16), (0.05, 1), (0, 1.5)  # from, to


@dataclass(frozen=True)
class Concurrency:
    """What of counted work is fitted."""
    overlap: float
    warp_rate: float  # instructions, of those that are counted, that one warp can issue in a clock
    wait_us: float  # that each wait takes


FREE = tuple(field.name for field in fields(Concurrency))


class CountedWork:
    """Of some kernels, as arrays: a line for each resource but instruction issue, a column for each kernel."""

    def __init__(self, rows):
        counted = [row["counted"] for row in rows]
        self.names = list(dict.fromkeys(name for each in counted for name in each["resources_us"]))
        self.resources = np.array([[each["resources_us"].get(name, 0) for each in counted] for name in self.names])
        self.is_memory = np.array([name in MEMORY for name in self.names])
        self.schedulers, self.warps, self.waits, self.launch = (
            np.array([each[field] for each in counted])
            for field in ("schedulers_us", "warps_us", "waits", "launch_us"))
        self.scale = np.maximum(self.resources.max(axis=0), self.schedulers)  # what powers are taken over
        self.floor = self.resources[self.names.index("hbm")]  # what must move, at the memory's rate

    def issue(self, warp_rate):
        return np.maximum(self.schedulers, self.warps / warp_rate)

    def at_once(self, overlap, issue):
        """The time of all resources. `issue` as issue() has it, or several lines of such."""
        of_memory = 2 * overlap - 1
        of_sms = (((self.resources[~self.is_memory] / self.scale) ** overlap).sum(axis=0)
                  + (issue / self.scale) ** overlap) ** (1 / overlap)
        powers = ((self.resources[self.is_memory] / self.scale) ** of_memory).sum(axis=0) + of_sms ** of_memory
        return self.scale * powers ** (1 / of_memory)

    def one_after_the_other(self, wait_us):
        return self.waits * wait_us + self.launch

    def total_us(self, concurrency):
        """Of each kernel."""
        return (self.at_once(concurrency.overlap, self.issue(concurrency.warp_rate))
                + self.one_after_the_other(concurrency.wait_us))

    def resource_times(self, concurrency):
        """{resource: us} of each kernel."""
        times = np.vstack([self.resources, self.issue(concurrency.warp_rate)])
        return [dict(zip([*self.names, ISSUE], column)) for column in times.T.tolist()]

    def sum(self):
        """The time were nothing done at once, with instructions at the schedulers' rate: nothing is fitted."""
        return self.resources.sum(axis=0) + self.schedulers + self.launch

    def longest(self):
        """The time were everything done at once, likewise."""
        return self.scale + self.launch


def fit(rows):
    """What has the smallest mean square of log(predicted / measured), in steps of 2 % and of waits of 0.05 us."""
    if not rows:
        raise Refusal("evaluation: 0 kernels to fit to, must be some")
    measured = np.array([row["measured_us"] for row in rows])
    return fits(CountedWork(rows), measured, np.ones((len(rows), 1)))[0]


def fits(work, measured_us, taken):
    """Several at once: a column of `taken` has 1 for each kernel that one of them is fitted to, else 0. By every second
    overlap and rate first, then by all that are beside the best."""
    overlaps, rates, waits = steps(*OVERLAPS), steps(*WARP_RATES), np.arange(*WAITS_US, WAIT_STEP).tolist()
    rough = best(work, measured_us, taken, overlaps[::2], rates[::2], waits)
    return [best(work, measured_us, taken[:, i:i + 1], beside(overlaps, found.overlap), beside(rates, found.warp_rate),
                 beside(waits, found.wait_us))[0] for i, found in enumerate(rough)]


def best(work, measured_us, taken, overlaps, rates, waits):
    """For each column of `taken` the best of these numbers."""
    issue = work.issue(np.array(rates)[:, np.newaxis])  # a line for each rate
    after = np.array([work.one_after_the_other(wait) for wait in waits])[:, np.newaxis]  # a plane for each wait
    squares = np.stack([np.log((work.at_once(overlap, issue) + after) / measured_us) ** 2 @ taken
                        for overlap in overlaps])
    found = np.unravel_index(squares.reshape(-1, taken.shape[1]).argmin(axis=0), squares.shape[:-1])
    return [Concurrency(overlaps[p], rates[r], waits[w]) for p, w, r in zip(*(places.tolist() for places in found))]


def beside(values, value):
    at = values.index(value)
    return values[max(at - 1, 0):at + 2]


def steps(first, last):
    made = [first]
    while made[-1] * STEP <= last:
        made.append(made[-1] * STEP)
    return made
