"""The suite by PyTorch: danaus.torch on tensors of the CPU, what a GPU's tensors go through with plans on the executor,
and the classes of danaus.flashfftconv.

  PYTHONPATH=BUILD/python torch_test.py CONFORMANCE_LIBRARY PROGRAM [unittest's own arguments]
"""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from torch_or_skip import torch  # noqa: E402, before what needs it

import danaus  # noqa: E402
import danaus.torch as danaus_torch  # noqa: E402
from conformance import cases_of, main, tests_of  # noqa: E402
from danaus import _torch_gated, _torch_short  # noqa: E402
from danaus.flashfftconv import FlashDepthWiseConv1d, FlashFFTConv  # noqa: E402
from danaus.torch import Filter, clear_plans, conv, gated_conv, short_conv  # noqa: E402
from torch_support import PretendedGpu  # noqa: E402

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}
GRADIENTS = {"du": "u", "dk": "k", "dbias": "bias", "dpregate": "pregate", "dpostgate": "postgate"}


def tensors_of(case):
    """Inputs and filters by name, leaves."""
    return {array["name"]: torch.from_numpy(case.doubles(array)).to(DTYPES[array["dtype"]])
            for array in case.arrays if array["role"] != "output"}


def asked(case, y, leaves):
    """What the case gives, as arrays of double, of y and its gradients by autograd."""
    names = [array["name"] for array in case.arrays if array["role"] == "output"]
    if "dy" in leaves:
        y.backward(leaves["dy"])
    return {name: (y if name == "y" else leaves[GRADIENTS[name]].grad).detach().double().numpy() for name in names}


def learnt(tensors):
    return {name: tensor if name == "dy" else tensor.requires_grad_() for name, tensor in tensors.items()}


def gates_of(tensors):
    return tensors.get("pregate"), tensors.get("postgate")


def mode_of(case):
    return "circular" if case.has("circular") else "causal"


def padding_of(case):
    return "same" if case.has("same") else "causal"


@tests_of("danaus.torch")
class Operators(PretendedGpu):
    def check(self, case):
        kind = {"fftconv": "long", "shortconv": "short", "gatedconv": "gated"}
        next(getattr(self, name) for word, name in kind.items() if case.operation.startswith(word))(case)

    def long(self, case):
        tensors, mode = tensors_of(case), mode_of(case)
        dy, (pregate, postgate) = tensors.get("dy"), gates_of(tensors)
        with torch.no_grad():
            alone = conv(tensors["u"], Filter(tensors["k"]), mode, pregate, postgate)
        leaves = learnt(tensors)
        y = conv(leaves["u"], leaves["k"], mode, *gates_of(leaves))
        self.assertTrue(torch.equal(y.detach(), alone))
        parts = {name: tensors[name].detach() for name in ("u", "pregate", "postgate") if name in tensors}
        of_projection = gated_conv(torch.cat([*parts.values()], 1), tensors["k"].detach(), mode=mode, order=(*parts,))
        self.assertTrue(torch.equal(of_projection, alone))
        self.assertEqual(case.complaint("samples", asked(case, y, leaves)), "")
        if case.refused:
            return
        # As a GPU's tensors go.
        u, k = leaves["u"].detach(), leaves["k"].detach()
        pregate, postgate = (None if gate is None else gate.detach() for gate in (pregate, postgate))
        y, spectrum = danaus_torch._conv_cuda(u, k, mode, pregate, postgate, dy is not None)
        outputs = {"y": y}
        if dy is not None:
            needed = [True, True, pregate is not None, postgate is not None]
            gradients = danaus_torch._conv_backward_cuda(dy, u, k, spectrum, mode, pregate, postgate, needed)
            outputs.update(zip(("du", "dk", "dpregate", "dpostgate"), gradients))
        else:
            kept = Filter(k)
            for _ in range(2):  # transformed, and kept
                self.assertTrue(torch.equal(danaus_torch._forward_of(kept, u, mode, pregate, postgate), y))
        self.expect_right(case, outputs)

    def short(self, case):
        tensors, padding, last = tensors_of(case), padding_of(case), case.has("channelslast")
        leaves = learnt(tensors)
        y = short_conv(leaves["u"], leaves["k"], leaves.get("bias"), padding, *gates_of(leaves), last)
        self.assertEqual(case.complaint("samples", asked(case, y, leaves)), "")
        if case.refused:
            return
        arguments = [None if x is None else x.detach() for x in (leaves["u"], leaves["k"], leaves.get("bias"))]
        arguments += [padding, *(None if x is None else x.detach() for x in gates_of(leaves)), last]
        outputs = {"y": _torch_short._short_conv_cuda(*arguments)}
        if "dy" in tensors:
            needed = [arguments[i] is not None for i in (0, 1, 2, 4, 5)]
            gradients = _torch_short._short_conv_backward_cuda(tensors["dy"], *arguments, needed)
            outputs.update(zip(("du", "dk", "dbias", "dpregate", "dpostgate"), gradients))
        self.expect_right(case, outputs)

    def gated(self, case):
        tensors = tensors_of(case)
        parts = [name for name in ("u", "pregate", "postgate") if name in tensors]
        taps, bias = (None if name not in tensors else tensors[name].flatten(0, 1) for name in ("taps", "bias"))
        y = gated_conv(torch.cat([tensors[name] for name in parts], 1), tensors["k"], taps, bias, tensors.get("skip"),
                       mode_of(case), tuple(parts))
        self.assertEqual(case.complaint("samples", {"y": y.double().numpy()}), "")
        if taps is None:
            return
        names = ("u", "pregate", "postgate", "taps", "bias")
        u, pregate, postgate, taps, bias = (tensors.get(name) for name in names)
        k = tensors["k"] if "skip" not in tensors else _torch_gated._with_skip(tensors["k"], tensors["skip"], 0)
        arguments = u, k, mode_of(case), pregate, postgate, taps, bias
        y = _torch_gated._gated_cuda(*arguments)
        self.assertEqual(case.complaint("samples", {"y": y.double().numpy()}), "")
        self.assertTrue(torch.equal(_torch_gated._gated_cuda(*arguments, kept=Filter(k)), y))

    def expect_right(self, case, outputs):
        names = [array["name"] for array in case.arrays if array["role"] == "output"]
        self.assertEqual(case.complaint("tensor", {name: outputs[name].double().numpy() for name in names}), "")


class PlansThatAreKept(PretendedGpu):
    def test_are_made_anew_once_cleared(self):
        case = next(case for case in cases_of("danaus.torch") if case.operation == "fftconv" and not case.refused)
        arguments = tensors_of(case)["u"], tensors_of(case)["k"], mode_of(case), None, None
        y, _ = danaus_torch._conv_cuda(*arguments)
        self.assertEqual(clear_plans(), 1)
        self.assertTrue(torch.equal(danaus_torch._conv_cuda(*arguments)[0], y))


@tests_of("danaus.Plan")
class Plans(unittest.TestCase):
    """Tensors by DLPack, of every operation."""

    def check(self, case):
        if case.refused:
            return
        plan = danaus.Plan(case.token)
        tensors, roles = tensors_of(case), {array["name"]: array["role"] for array in case.arrays}
        plan.prepare(**{name: tensor for name, tensor in tensors.items() if roles[name] == "filter"})
        given = plan.execute(**{name: tensor for name, tensor in tensors.items() if roles[name] == "input"})
        outputs = [array for array in case.arrays if array["role"] == "output"]
        given = given if len(outputs) > 1 else {outputs[0]["name"]: given}
        for array in outputs:
            self.assertEqual(given[array["name"]].dtype, DTYPES[array["dtype"]])
        self.assertEqual(case.complaint("kernel", {name: y.double().numpy() for name, y in given.items()}), "")


@tests_of("danaus.flashfftconv")
class DropIns(unittest.TestCase):
    def check(self, case):
        leaves = learnt(tensors_of(case))
        y = self.long(case, leaves) if case.operation.startswith("fftconv") else self.short(case, leaves)
        self.assertEqual(case.complaint("samples", asked(case, y, leaves)), "")

    def long(self, case, leaves):
        length, taps = leaves["u"].shape[2], leaves["k"].shape[1]
        size = length if case.has("circular") else length + taps - 1
        return FlashFFTConv(size, DTYPES[case.dtype])(leaves["u"], leaves["k"], *gates_of(leaves))

    def short(self, case, leaves):
        """The layer has weights from the filter's end on, as PyTorch's."""
        u, k, bias, last = leaves["u"], leaves["k"], leaves.get("bias"), case.has("channelslast")
        channels, taps = k.shape
        # y[n] is of u[n - K + 1 + ahead] on: between as many zeros, of which those behind the row are too many.
        ahead = taps // 2 if case.has("same") else 0
        first, padding = (0, ahead) if 2 * ahead == taps - 1 else (ahead, taps - 1)
        layer = FlashDepthWiseConv1d(channels, taps, padding, k.detach().flip(1),
                                     None if bias is None else bias.detach(), is_bhl=not last)
        y = layer(u)
        axis = 1 if last else 2
        y = y.narrow(axis, first, u.shape[axis]).contiguous()

        if "dy" in leaves:
            y.backward(leaves.pop("dy"))
            weights = layer.weights.grad if not last else layer.weights.grad.T
            k.grad = weights.flip(1).contiguous()
            if bias is not None:
                bias.grad = layer.bias.grad
        return y


if __name__ == "__main__":
    main()
