"""Quantiles, and how far they and means would move with other cases: the bootstrap over cases.

Rows of one case are dependent, so that cases are drawn, each with all of its rows. Nothing is fitted again: an interval
says what the choice of cases does to a figure, not what noise does to a fit.
"""

import numpy as np

DRAWS, SEED = 2000, 1
INSIDE = 0.95


def quantile(values, share):
    """Between two neighbours by linear interpolation; None where there are no values."""
    return float(np.quantile(values, share)) if len(values) else None


class Bootstrap:
    """Of values that belong to cases: the same case, the same label. Seeded."""

    def __init__(self, labels):
        cases, self.case_of = np.unique(np.asarray(labels), return_inverse=True)
        generator = np.random.default_rng(SEED)
        drawn = generator.integers(len(cases), size=(DRAWS, len(cases)))
        offsets = len(cases) * np.arange(DRAWS)[:, np.newaxis]
        times = np.bincount((drawn + offsets).ravel(), minlength=DRAWS * len(cases)).reshape(DRAWS, -1)
        self.times = times[:, self.case_of]  # how often each value is in each draw

    def of_quantile(self, values, share):
        """(from, to) of the quantile(share) of what is drawn."""
        order = np.argsort(values)
        values = np.asarray(values)[order]
        last = np.cumsum(self.times[:, order], axis=1)  # the place behind the last copy of each value
        place = share * (last[:, -1] - 1)
        below = np.floor(place).astype(int)
        low, high = (values[(last <= np.minimum(at, last[:, -1] - 1)[:, np.newaxis]).sum(axis=1)]
                     for at in (below, below + 1))
        return inside(low + (place - below) * (high - low))

    def of_mean(self, values):
        return inside(self.times @ np.asarray(values) / self.times.sum(axis=1))


def inside(drawn):
    """The middle of what was drawn, (from, to)."""
    return tuple(float(np.quantile(drawn, share)) for share in ((1 - INSIDE) / 2, (1 + INSIDE) / 2))
