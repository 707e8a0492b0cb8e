"""Convolutions by state-space models, S4D's and H3's: the state before them in, the state after them out."""

import numpy as np

from danaus import _arrays
from danaus._operands import Operands


def ssm_conv(u, a, b, c, x_initial=None, *, return_state=False, unstable=False, method=None, device=None, dtype=None,
             out=None, return_error=False):
    """y[n] = Re sum_s c_s x_s[n] of the shape and type of u, x[n] = a x[n - 1] + b u[n].

    u          [L], [H, L] or [B, H, L]: float16 or bfloat16 as of danaus.conv, float32 or float64 (these in double).
    a, b, c    [H, S], S states: complex64, of float64 samples complex128; or [H, S, 2], re and im, float32 or float64.
               [1, S] is of every channel; one row of u goes with all H, as of danaus.conv.
    x_initial  [B, H, S] or [B, H, S, 2] likewise, x before the first sample; zero where it is left out.
    unstable   allows |a| > 1.
    method     "definition" (default on the CPU): the recurrence in double, rounded once; "kernel": as of danaus.conv.

    With return_state (y, x), x after the last sample, complex [B, H, S]: x_initial of what follows. a, b, c and the
    states are NumPy's. With return_error the dict of danaus.conv comes last, of y or x: "output" says of which. The
    other arguments, and what is raised, are as of danaus.conv.
    """
    operands = Operands("ssm_conv", u, dtype)
    of_state = "f64" if operands.u.dtype == "f64" else "f32"
    channels, states = _states("a", a)
    if operands.channels == 1:
        operands.broadcast(channels)
    rows = (operands.channels, states)
    for name, array in (("a", a), ("b", b), ("c", c)):
        operands.filters.append(_parts(operands, name, array, of_state, rows))
    words = ["ssmconv", operands.u.dtype, f"s{states}", *operands.size_words()]
    rows = (operands.batch, *rows)
    if x_initial is not None:
        operands.inputs.append(_parts(operands, "x_initial", x_initial, of_state, rows))
        words.append("initial")
    if return_state:
        x_final = np.empty(rows, np.complex128 if of_state == "f64" else np.complex64)
        operands.outputs.append(_parts(operands, "x_final", x_final, of_state, rows))
        words.append("final")
    words += ["unstable"] * unstable
    y = operands.call("_".join(words), ("definition",), method, device, out, return_error)
    y, *error = y if return_error else (y,)
    return (y, *([x_final] if return_state else []), *error) if return_state or return_error else y


def _states(name, array):
    shape = getattr(array, "shape", ())
    if len(shape) < 2:
        raise ValueError(f"ssm_conv: {name} has shape {tuple(shape)}, must be [H, S] or [H, S, 2]")
    return shape[:2]


def _parts(operands, name, array, dtype, rows):
    """A view [..., 2] of re and im."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"ssm_conv: {name} is a {type(array).__name__}, must be an array of NumPy")
    _arrays.refuse_masked("ssm_conv", name, array)
    if array.ndim > 1 and array.shape[0] == 1 and len(rows) == 2:
        array = np.broadcast_to(array, (rows[0], *array.shape[1:]))
    shape, of = array.shape, array.dtype
    if np.iscomplexobj(array):
        array = np.ascontiguousarray(array)
        array = array.view(array.real.dtype).reshape(*shape, 2)
    view = _arrays.view("ssm_conv", name, array)
    if view.dtype != dtype:
        raise TypeError(f"ssm_conv: {name} is {of}, with u of {_arrays.NAMES[operands.u.dtype]} it must be "
                        + ("complex128 or float64" if dtype == "f64" else "complex64 or float32"))
    if view.shape != (*rows, 2):
        raise ValueError(f"ssm_conv: {name} has shape {shape}, must be {rows} of complex numbers or {(*rows, 2)}")
    return view
