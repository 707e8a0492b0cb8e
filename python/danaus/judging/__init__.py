"""The judge: a kernel of anybody's against the truth in double, row by row. docs/judge.md of the sources has examples.

    import danaus
    report = danaus.judge(my_convolution, "fftconv_f32_causal")
    print(report)

    report = danaus.judge_model(predict, "experiments/results/h200_predictions.jsonl")

danaus.judge() says what it asks. Here are the parts that its answers name: inputs(), arrays() and truth() repeat a
case, CHECKS lists all checks, Rejected is what raises=True raises.
"""

import numpy as np

from danaus.judging import data as _data
from danaus.judging import verdicts as _verdicts
from danaus.judging.adapters import adapter_of as _adapter_of
from danaus.judging.cases import Case
from danaus.judging.candidates import judge
from danaus.judging.models import ModelReport, judge_model
from danaus.judging.report import CHECKS, Rejected, Report

__all__ = ["CHECKS", "Case", "ModelReport", "Rejected", "Report", "arrays", "inputs", "judge", "judge_model", "truth"]


def inputs(token, data="plain", seed=0, library="numpy", device=None):
    """The inputs of a case in the order of a candidate's arguments, as the judge draws them; alone, not in a tuple,
    where there is one."""
    case = Case.parse(token)
    values, _ = _data.make_within_range(case, data, seed, _verdicts.truth)
    return arrays(token, *values.values(), library=library, device=device)


def arrays(token, *values, library="numpy", device=None):
    """Lists or arrays of numbers as arrays of the case's types, in the order of a candidate's arguments."""
    case, adapter = Case.parse(token), _adapter_of(library, device)
    return tuple(adapter.make(np.asarray(each, np.float64), dtype, case.is_complex(name))
                 for each, (name, (dtype, _, _)) in zip(values, case.inputs.items()))


def truth(token, *given):
    """name -> float64 array of every output in double, of inputs of a candidate; complex numbers as re and im."""
    case = Case.parse(token)
    values = {}
    for name, array in zip(case.inputs, given):
        if hasattr(array, "detach"):
            array = array.detach().cpu()
            array = array.numpy() if array.is_complex() else array.double().numpy()
        array = np.asarray(array)
        values[name] = np.stack([array.real, array.imag], -1).astype(float) if np.iscomplexobj(array) else \
            array.astype(float)
    return _verdicts.truth(case, values)
