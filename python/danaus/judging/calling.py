"""What happens in the candidate's process: it is called, watched, and its outputs are read back as float64."""

import gc
import importlib
import importlib.util
import inspect
import random
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import numpy as np

from danaus.judging.adapters import Guarded, adapter_of
from danaus.judging.cases import ARRAY_FLAGS, KEYWORDS, Case
from danaus.judging.disturbing import keep_busy, leave_nan, load
from danaus.judging.library import Library
from danaus.judging.timing import turns_of

REFUSALS = (NotImplementedError, ValueError)
_CALLS = 20  # after which memory that is kept is measured
POSITIONAL = ("u", "k", "w", "a", "b", "c", "dy")  # in the order of Case.inputs; other arrays are keywords


class Wrong(Exception):
    """What a candidate did that it must not do; kind is the check that it fails."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


def loaded(candidate):
    """A callable, "module:name", "path/file.py:name" or a shared library."""
    if not isinstance(candidate, str):
        return candidate
    if candidate.endswith(".so"):
        return Library(candidate)
    place, _, name = candidate.rpartition(":")
    if place.endswith(".py"):
        sys.path.insert(0, str(Path(place).parent))
        spec = importlib.util.spec_from_file_location(Path(place).stem, place)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(place)
    for part in name.split("."):
        module = getattr(module, part)
    return module


def keywords_of(function):
    """Names of parameters that may be given by keyword; a library takes all that a case may have."""
    if isinstance(function, Library):
        return [*KEYWORDS, *ARRAY_FLAGS, "out"]
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]


class Caller:
    """A candidate with its arrays' library. Each action returns a dict for the judge, or raises."""

    def __init__(self, candidate, gradient, arrays, device):
        self.adapter = adapter_of(arrays, device)
        self.function = loaded(candidate)
        self.gradient = loaded(gradient) if isinstance(gradient, str) and ":" in gradient else gradient
        if not callable(self.function):
            raise TypeError(f"judge: candidate is a {type(self.function).__name__}, must be callable")

    def describe(self):
        return {"keywords": keywords_of(self.function), "library": self.adapter.version,
                "gradient_keywords": keywords_of(self.gradient) if callable(self.gradient) else [],
                "dtypes": list(self.adapter.types), "has_streams": self.adapter.new_stream() is not None}

    # Arrays and one call.

    def arrays_of(self, case, values, layout="plain"):
        """name -> Guarded or array of every input; only a layout other than plain is put between guard words."""
        arrays = {}
        for name, (dtype, _, _) in case.inputs.items():
            array = self.adapter.make(values[name], dtype, case.is_complex(name))
            arrays[name] = array if layout == "plain" else Guarded(self.adapter, array, layout)
        return arrays

    def invoke(self, case, arrays, out=None):
        """Outputs by name as the candidate gives them, checked for type, device, dtype and shape."""
        given = {name: each.view if isinstance(each, Guarded) else each for name, each in arrays.items()}
        if isinstance(self.function, Library):
            return self._by_library(case, given)
        is_gradient = "dy" in given
        if is_gradient and self.gradient == "autograd":
            return self._by_autograd(case, given)
        function = self.gradient if is_gradient and callable(self.gradient) else self.function
        results = self.called(function, case, given, {} if out is None else {"out": out})
        self.adapter.synchronize()
        return self.checked(case, results)

    def _by_library(self, case, given):
        outputs = {}
        for name, (dtype, extents, _) in case.outputs.items():
            unwritten = self.adapter.make(np.full(extents, np.nan), dtype, case.is_complex(name))
            outputs[name] = Guarded(self.adapter, unwritten, "plain")
        views = {name: each.view for name, each in outputs.items()}
        self.function(case, {**given, **views}, self.adapter)
        for name, each in outputs.items():
            if not each.is_intact():
                raise Wrong("writes", f"the candidate wrote outside of {name}, to guard words beside it")
        return views

    def called(self, function, case, given, options):
        positional = [given[name] for name in given if name in POSITIONAL]
        options = {**{name: array for name, array in given.items() if name not in POSITIONAL}, **options}
        return function(*positional, **options, **case.keywords(keywords_of(function)))

    def _by_autograd(self, case, given):
        dy = given.pop("dy")
        leaves = {name: tensor.detach().requires_grad_() for name, tensor in given.items()}
        y = self.called(self.function, case, leaves, {})
        if not getattr(y, "requires_grad", False):
            raise Wrong("gradients", "y has no gradient: it does not require one though its inputs do")
        y.backward(dy)
        results = {}
        for name in case.outputs:
            gradient = leaves[name[1:]].grad if name != "y" else y
            if gradient is None:
                raise Wrong("gradients", f"{name[1:]} has no gradient after y.backward()")
            results[name] = gradient
        return self.checked(case, results)

    def checked(self, case, results):
        expected = case.outputs
        names = list(expected)
        if isinstance(results, dict):
            missing = [name for name in names if name not in results]
            if missing:
                raise Wrong("outputs", f"returned {', '.join(map(str, results))}, but no {missing[0]}")
            outputs = {name: results[name] for name in names}
        else:
            results = (results,) if len(names) == 1 and not isinstance(results, (tuple, list)) else results
            if not isinstance(results, (tuple, list)) or len(results) != len(names):
                count = len(results) if isinstance(results, (tuple, list)) else 1
                raise Wrong("outputs", f"returned {count} outputs, must be {len(names)}: {', '.join(names)}")
            outputs = dict(zip(names, results))
        for name, (dtype, extents, _) in expected.items():
            is_complex = case.is_complex(name)
            allowed = (dtype, case.inputs["k"][0]) if name in ("dk", "dbias") else (dtype,)
            complaint = self.adapter.complaint(outputs[name], allowed, is_complex)
            if complaint:
                raise Wrong("outputs", f"{name} {complaint}")
            shape, right = tuple(outputs[name].shape), extents[:-1] if is_complex else extents
            if shape != tuple(right):
                raise Wrong("outputs", f"{name} has shape {shape}, must be {tuple(right)}")
        return outputs

    def read(self, outputs):
        return {name: self.adapter.read(array) for name, array in outputs.items()}

    def watch(self, case, arrays, outputs, before):
        """Inputs are what they were, and outputs have memory of their own."""
        for name, each in arrays.items():
            array = each.view if isinstance(each, Guarded) else each
            if tuple(array.shape) != before[name][0]:
                raise Wrong("inputs", f"the candidate changed the shape of {name} from {before[name][0]} to "
                                      f"{tuple(array.shape)}")
            if self.adapter.bits(array) != before[name][1]:
                raise Wrong("inputs", f"the candidate wrote to its input {name}")
            if isinstance(each, Guarded) and not each.is_intact():
                raise Wrong("writes", f"the candidate wrote outside of {name}, to guard words beside it")
            for output, result in outputs.items():
                if self.adapter.overlaps(result, array):
                    raise Wrong("outputs", f"{output} is memory of the input {name}, must be its own")

    def state(self, arrays):
        views = {name: each.view if isinstance(each, Guarded) else each for name, each in arrays.items()}
        return {name: (tuple(array.shape), self.adapter.bits(array)) for name, array in views.items()}

    # Actions.

    def call(self, token, values, layout="plain", use_out=False):
        """One call. layout: of the inputs; use_out: the candidate writes to memory between guard words."""
        case = Case.parse(token)
        arrays, out = self.arrays_of(case, values, layout), None
        use_out = use_out and not isinstance(self.function, Library)  # which always writes between guard words
        if use_out:
            name, (dtype, extents, _) = next(iter(case.outputs.items()))
            unwritten = self.adapter.make(np.full(extents, np.nan), dtype, case.is_complex(name))
            out = Guarded(self.adapter, unwritten, "offset")
        before = self.state(arrays)
        begin = time.perf_counter()
        outputs = self.invoke(case, arrays, out and out.view)
        seconds = time.perf_counter() - begin
        if use_out:
            if not self.adapter.overlaps(outputs[name], out.view):
                raise Wrong("writes", "with out= the result is not the array that was given")
            if not out.is_intact():
                raise Wrong("writes", "the candidate wrote outside of out, to guard words beside it")
        result = self.read(outputs)
        self.watch(case, arrays, outputs if not use_out else {}, before)
        types = {name: self.adapter.word_of(array) for name, array in outputs.items()}
        return {"outputs": result, "types": types, "seconds": seconds}

    def has_gradient(self, token, values):
        """Whether y requires a gradient where inputs do."""
        case = Case.parse(token)
        given = self.arrays_of(case, values)
        y = self.called(self.function, case, {name: each.requires_grad_() for name, each in given.items()}, {})
        return {"has_gradient": bool(getattr(y, "requires_grad", False))}

    def repeat(self, token, values, other_token, other_values, calls=100, budget_s=1.5):
        """The same call again, after another one, and up to the hundredth: bits. Results stay what they were."""
        case, other = Case.parse(token), Case.parse(other_token)
        arrays = self.arrays_of(case, values)
        first = self.invoke(case, arrays)
        at_once = {name: self.adapter.bits(array) for name, array in first.items()}
        time.sleep(0.02)
        self._expect_same(first, at_once, "finished", "was still being written when the call had returned")
        second = self.invoke(case, arrays)
        self._expect_same(second, at_once, "repeatability", "of a second call has other bits")
        self.invoke(case, self.arrays_of(case, {name: array * 0 for name, array in values.items()})
                    if case.operation != "ssmconv" else arrays)
        self._expect_same(first, at_once, "finished", "changed when the candidate was called again")
        self.invoke(other, self.arrays_of(other, other_values))
        again = self.invoke(case, self.arrays_of(case, values))
        self._expect_same(again, at_once, "repeatability", "has other bits after a call of another shape")
        begin, count = time.perf_counter(), 5
        while count < calls and time.perf_counter() - begin < budget_s:
            again, count = self.invoke(case, arrays), count + 1
            self._expect_same(again, at_once, "repeatability", f"of call {count} has other bits than of the first")
        return {"calls": count}

    def _expect_same(self, outputs, bits, kind, text):
        for name, array in outputs.items():
            if self.adapter.bits(array) != bits[name]:
                raise Wrong(kind, f"{name} {text}")

    def series(self, token, list_of_values, in_place=False):
        """Calls one after the other; in_place writes the next numbers into the same arrays."""
        case, results, arrays = Case.parse(token), [], None
        for values in list_of_values:
            fresh = self.arrays_of(case, values)
            if in_place and arrays is not None:
                for name, array in arrays.items():
                    self.adapter.fill(array, fresh[name])
            else:
                arrays = fresh
            results.append(self.read(self.invoke(case, arrays)))
        return {"results": results}

    def threads(self, token, list_of_values, rounds=3):
        """The same calls from as many threads at once, a few times; the results of the last round that differed."""
        case = Case.parse(token)
        arrays = [self.arrays_of(case, values) for values in list_of_values]
        alone = [self.read(self.invoke(case, each)) for each in arrays]
        results, errors = list(alone), []

        def work(i):
            try:
                start.wait()
                for _ in range(4):
                    outputs = self.read(self.invoke(case, arrays[i]))
                    if any((outputs[name] != alone[i][name]).any() for name in outputs):
                        results[i] = outputs
            except Exception as error:  # what a thread raises is the judge's to hear
                errors.append(error)

        for _ in range(rounds):
            start = threading.Barrier(len(arrays))
            pool = [threading.Thread(target=work, args=(i,)) for i in range(len(arrays))]
            for thread in pool:
                thread.start()
            for thread in pool:
                thread.join()
            if errors:
                raise errors[0]
        return {"results": results}

    def streams(self, token, list_of_values):
        """The same calls on as many streams at once. Each stream is busy before it writes the inputs, so that a kernel
        on another one comes too early."""
        case, results = Case.parse(token), []
        sources = [self.arrays_of(case, values) for values in list_of_values]
        targets = [self.arrays_of(case, {name: 0 * array for name, array in values.items()})
                   for values in list_of_values]
        self.adapter.synchronize()
        for source, target in zip(sources, targets):
            with self.adapter.new_stream():
                keep_busy(self.adapter)
                for name, array in target.items():
                    self.adapter.fill(array, source[name])
                by_library = isinstance(self.function, Library)
                results.append(self._by_library(case, target) if by_library else
                               self.called(self.function, case, target, {}))
        self.adapter.synchronize()
        return {"results": [self.read(self.checked(case, each)) for each in results]}

    def under_load(self, token, values, calls=5):
        """The results of a few calls while the machine does other work."""
        case, results = Case.parse(token), []
        arrays = self.arrays_of(case, values)
        for _ in range(calls):
            with load(self.adapter):
                results.append(self.read(self.invoke(case, arrays)))
        return {"results": results}

    def after(self, token, values, calls=3):
        """The same call after other kernels, which leave NaN in memory."""
        case = Case.parse(token)
        arrays = self.arrays_of(case, values)
        first = self.invoke(case, arrays)
        bits = {name: self.adapter.bits(array) for name, array in first.items()}
        for _ in range(calls):
            between = leave_nan(self.adapter, [*arrays.values(), *first.values()])
            self._expect_same(self.invoke(case, arrays), bits, "after",
                              "has other bits after other kernels, which left NaN in memory that is free")
            del between
        return {}

    def memory(self, token, values):
        """Bytes at the peak of one call beyond its inputs, outputs included, and what calls keep, on average."""
        case = Case.parse(token)
        arrays = self.arrays_of(case, values)
        self.invoke(case, arrays)
        if self.adapter.name == "numpy":
            tracemalloc.start()
            measured = self._allocated(case, arrays, tracemalloc.get_traced_memory, "tracemalloc")
            tracemalloc.stop()
            return measured
        if str(self.adapter.device).startswith("cuda") and self.adapter.name == "torch":
            cuda = self.adapter.torch.cuda
            cuda.reset_peak_memory_stats()
            return self._allocated(case, arrays, lambda: (cuda.memory_allocated(), cuda.max_memory_allocated()),
                                   "torch.cuda")
        return self._resident(case, arrays)

    def _allocated(self, case, arrays, measure, by):
        before, _ = measure()
        self.invoke(case, arrays)
        peak = measure()[1]
        gc.collect()  # cycles, such as of a function that calls itself, are freed some time
        after = measure()[0]
        for _ in range(_CALLS):
            self.invoke(case, arrays)
        gc.collect()
        return {"bytes": int(peak - before), "kept": (measure()[0] - after) / _CALLS, "by": by}

    def _resident(self, case, arrays):
        def line(name):
            return next((int(line.split()[1]) << 10 for line in Path("/proc/self/status").read_text().splitlines()
                         if line.startswith(name)), None)

        try:
            Path("/proc/self/clear_refs").write_text("5")  # the high-water mark begins anew
            before = line("VmRSS")
            self.invoke(case, arrays)
            return {"bytes": max(0, line("VmHWM") - before), "kept": 0, "by": "resident pages"}
        except OSError:
            return {"bytes": None, "kept": 0, "by": "not measured"}

    def timed(self, token, sets, turns=9, budget_s=3.0):
        """Times beside other methods; see timing.py."""
        return turns_of(self, Case.parse(token), sets, turns, budget_s)


def seeded():
    """The same numbers in every process of a judge, for candidates that draw some."""
    random.seed(0)
    np.random.seed(0)
