"""Numbers for the arrays of a case, rounded to their types: plain ones, and rows that differ as users' rows do."""

import numpy as np

from danaus._arrays import doubles, from_doubles
from danaus.judging.cases import Case

# What u may be; each row of "rows" has a kind and a scale of its own.
KINDS = ("plain", "rows", "impulse", "ones", "integers")
_LOUDNESS = (-6.0, 4.0)  # decimal exponents of a row's scale


def round_to(values, dtype):
    """The nearest numbers that a type has, as float64; ties to even."""
    if dtype == "bf16":
        bits = np.asarray(values, np.float32).view(np.uint32)
        rounded = ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16)
        return np.where(np.isfinite(values), doubles(rounded, "bf16"), values)
    with np.errstate(over="ignore"):
        return np.asarray(from_doubles(np.asarray(values, np.float64), dtype), np.float64)


def half_ulp(values, dtype):
    """Half of the distance of numbers of a type near these values: what one rounding may take."""
    digits, least = {"f16": (11, -24), "bf16": (8, -133), "f32": (24, -149), "f64": (53, -1074)}[dtype]
    values = np.where(np.isfinite(values), values, 0)
    exponents = np.where(values == 0, least, np.frexp(values)[1] - digits)
    return np.exp2(np.maximum(exponents, least) - 1.0)


def make(token, data="plain", seed=0):
    """name -> float64 array of every input of a case; complex numbers have a last extent of 2.

    data   "plain": Gaussian numbers; "rows": each row and each filter of a kind and a scale of its own, 1e-6 to 1e4,
           among them constant, alternating, silent rows and spikes; "impulse": one sample of 1 in each row;
           "ones"; "integers": small ones.
    """
    if data not in KINDS:
        raise ValueError(f"judge: data {data!r}, must be one of {', '.join(KINDS)}")
    case = token if isinstance(token, Case) else Case.parse(token)
    random = np.random.default_rng([seed, 77])
    values = {}
    for name, (dtype, extents, _) in case.inputs.items():
        values[name] = round_to(_array(case, name, extents, data, random, values), dtype)
    return values


def _array(case, name, extents, data, random, values):
    if name in ("a", "b", "c", "x_initial"):
        return _states(case, name, extents, random, values)
    if name == "k":
        return _filters(extents, data, random)
    if name == "w":
        return random.standard_normal(extents) / np.sqrt(2 * case["C"][0])
    if name == "bias":
        return random.standard_normal(extents) if data != "integers" else random.integers(-4, 5, extents)
    if data == "ones":
        return np.ones(extents)
    if data == "integers":
        return random.integers(-4, 5, extents).astype(float)
    if data == "impulse":
        return _impulses(case, extents, random) if name in ("u", "dy") else random.standard_normal(extents)
    plain = random.standard_normal(extents)
    if data == "rows" and name in ("u", "dy"):
        return _different_rows(case, plain, random, 2.0**14 if case["dtype"] == "f16" else np.inf)
    return plain


def _filters(extents, data, random):
    channels, taps = extents
    k = random.standard_normal(extents) / np.sqrt(taps)
    if data == "integers":
        return random.integers(1, 5, extents).astype(float)
    if data == "ones":
        return np.ones(extents)
    if data == "rows":
        for row in k:
            kind = random.integers(6)
            if kind == 0:
                row[:], row[-1] = 0, 1
            elif kind == 1:
                row[:] = 4 / np.sqrt(taps) * np.exp(-8 * np.arange(taps) / taps)
            elif kind == 2:
                row[:] = (-1.0) ** np.arange(taps) / np.sqrt(taps)
            row *= 10 ** random.uniform(-3, 2) if kind > 3 else 1
    return k


def _rows_of(case, array):
    """A view [row, samples] of an array of samples that is contiguous in some order of axes."""
    batch, channels, samples = case.axes
    ends = tuple(range(max(samples) + 1, array.ndim)) if case["complex"] else ()
    return np.moveaxis(array, (batch, channels, *samples, *ends), range(array.ndim))


def _impulses(case, extents, random):
    array = np.zeros(extents)
    rows = _rows_of(case, array)
    for place in np.ndindex(rows.shape[:2]):
        row = rows[place]
        row[tuple(int(random.integers(extent)) for extent in row.shape)] = 1
    return array


def _different_rows(case, plain, random, most):
    """Loudness differs by row, up to samples of `most`; of spectral layers by item, whose channels are mixed."""
    rows = _rows_of(case, plain)
    mixed = case.operation.startswith("spectral")
    places = [(b, slice(None)) for b in range(rows.shape[0])] if mixed else list(np.ndindex(rows.shape[:2]))
    for place in places:
        row = rows[place]
        kind, scale = random.integers(8), 10 ** random.uniform(*_LOUDNESS)
        if kind == 0:  # a constant, as of counts or pixels
            row[...] = 1
        elif kind == 1:  # noise with an offset
            row += 30
        elif kind == 2:  # one loud sample beside noise
            row[tuple(int(random.integers(extent)) for extent in row.shape)] = 1000
        elif kind == 3:  # one sample alone
            row[...] = 0
            row[tuple(int(random.integers(extent)) for extent in row.shape)] = 1
        elif kind == 4:
            row[...] = (-1.0) ** np.indices(row.shape).sum(0)
        elif kind == 5 and random.random() < 0.5:
            row[...] = 0
        row *= min(scale, most / max(np.abs(row).max(), 1e-300))
    return plain


def _states(case, name, extents, random, values):
    """As reference/state/recurrence.cpp makes them: filters of unit norm on average, states as noise leaves them."""
    normal = random.standard_normal(extents)
    if name == "b":
        return normal
    if name == "a":
        decay = 10.0 ** (-4 * random.uniform(size=extents[:-1]))
        angle = np.pi * random.uniform(size=extents[:-1])
        a = np.exp(-decay + 1j * angle)
        return np.stack([a.real, a.imag], -1)
    sizes = state_sizes(values["a"], values["b"], case["L"])[..., None]
    return normal / sizes / np.sqrt(case["S"]) if name == "c" else normal * sizes


def state_sizes(a, b, length):
    """|b| sqrt(sum_n |a|^2n), n < L [H, S]: what white noise makes of a state."""
    square = (a**2).sum(-1)
    rest = 1 - square
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(np.abs(rest) < 1e-12, length, -np.expm1(length * np.log(square)) / rest)
    return np.sqrt((b**2).sum(-1) * np.where(square == 0, 1, gain))


def make_within_range(case, data, seed, truth_of):
    """make() and the truth. Rows are scaled down by powers of two until their outputs are within their types."""
    values = make(case, data, seed)
    truth = truth_of(case, values)
    for _ in range(40):
        loud = _too_loud(case, truth)
        if not loud.any():
            break
        for name in ("u", "dy", "x_initial"):
            if name in values:
                array = values[name]
                rows = array if name == "x_initial" else _rows_of(case, array)
                by_item = loud if rows.shape[:2] == loud.shape else np.repeat(loud.any(1)[:, None], rows.shape[1], 1)
                rows[by_item] /= 16
                values[name] = round_to(array, case.inputs[name][0])
        truth = truth_of(case, values)
    return values, truth


def _too_loud(case, truth):
    """Rows [B, channels] in which an output is near the end of its type."""
    loud = None
    for name, (dtype, _, _) in case.outputs.items():
        if name in ("y", "du", "dpregate", "dpostgate"):
            rows = np.abs(_rows_of(case, truth[name]))
            largest = {"f16": 65504.0, "bf16": 3e38, "f32": 3e38, "f64": 1e300}[dtype]
            over = rows.reshape(*rows.shape[:2], -1).max(-1) > largest / 4
            over = over if loud is None or loud.shape == over.shape else over.any(1, keepdims=True) | (loud & False)
            loud = over if loud is None else loud | over
    return loud
