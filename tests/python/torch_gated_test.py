"""danaus.torch.gated_conv on tensors of the CPU, and with plans that the executor runs, against the sums in double.

  PYTHONPATH=BUILD/python PYTHON tests/python/torch_gated_test.py
"""

import itertools
import math
import unittest
from unittest import mock

from torch_or_skip import torch

from torch.autograd import gradcheck

from danaus import _tensors, _torch_gated
from danaus.nn import GatedLongConv, HyenaFilter, HyenaOperator
from danaus.torch import Filter, gated_conv
from torch_support import PretendedGpu, gated_operands as operands, gated_truth as truth, relative, short_truth

ORDERS = (("postgate", "pregate", "u"), ("u", "postgate", "pregate"), ("pregate", "u"), ("u", "postgate"), ("u",))
BOUNDS = {torch.float16: 4e-3, torch.bfloat16: 3e-2, torch.float32: 3e-6, torch.float64: 1e-13}


class Values(unittest.TestCase):
    def test_are_those_of_the_sums(self):
        modes = "causal", "circular", "bidirectional"
        for order, mode, interleaved in itertools.product(ORDERS, modes, (False, True)):
            for dtype, taps in ((torch.float64, 3), (torch.float32, 0), (torch.float16, 8), (torch.bfloat16, 1)):
                given = operands(order, taps=taps, mode=mode, dtype=dtype)
                words = dict(mode=mode, order=order, interleaved=interleaved)
                y = gated_conv(*given, **words)
                self.assertEqual((y.dtype, y.shape, y.is_contiguous()), (dtype, (2, 3, 12), True))
                self.assertLess(relative(y, truth(*given, **words)), BOUNDS[dtype], (order, words, dtype))

    def test_activations(self):
        given = operands()
        for word in ("gelu", "sigmoid", "silu"):
            for words in ({"gate_activation": word}, {"activation": word}):
                torch.testing.assert_close(gated_conv(*given, **words), truth(*given, **words))

    def test_without_what_is_optional(self):
        z, k, taps, _, _ = operands()
        torch.testing.assert_close(gated_conv(z, k), truth(z, k))
        torch.testing.assert_close(gated_conv(z, k, taps), truth(z, k, taps))
        self.assertEqual(gated_conv(z[:0], k, taps).shape, (0, 3, 12))

    def test_a_filter_is_its_tensor(self):
        z, k, taps, bias, skip = operands()
        torch.testing.assert_close(gated_conv(z, Filter(k), taps, bias), gated_conv(z, k, taps, bias))
        for words in ({"skip": skip}, {"mode": "bidirectional"}):
            with self.assertRaisesRegex(TypeError, "k is a Filter, with .* must be a torch.Tensor"):
                gated_conv(z, Filter(operands(mode=words.get("mode", ""))[1]), **words)

    def test_autocast_changes_z_once(self):
        given = operands(dtype=torch.float32)
        with torch.autocast("cpu", torch.bfloat16):
            y = gated_conv(*given)
        self.assertEqual(y.dtype, torch.bfloat16)
        self.assertLess(relative(y, truth(*given)), BOUNDS[torch.bfloat16])


class Gradients(unittest.TestCase):
    def test_of_all_tensors(self):
        for order, mode, interleaved in ((ORDERS[0], "causal", False), (ORDERS[1], "circular", True),
                                         (ORDERS[0], "bidirectional", False), (ORDERS[3], "causal", True)):
            given = operands(order, batch=1, channels=2, length=5, mode=mode, grad=True)
            self.assertTrue(gradcheck(lambda *of: gated_conv(*of, mode=mode, order=order, interleaved=interleaved,
                                                             activation="silu"), given))

    def test_compiled_without_a_break(self):
        given = operands(grad=True)
        compiled = torch.compile(gated_conv, fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(compiled(*given), gated_conv(*given))
        one, other = (torch.autograd.grad(call(*given).square().sum(), given) for call in (compiled, gated_conv))
        torch.testing.assert_close(one, other)


class Plans(PretendedGpu):
    def test_parts_are_read_where_they_are(self):
        from danaus import torch as danaus_torch
        z, k, *_ = operands(length=256, dtype=torch.float16, taps=0)
        read = []
        for interleaved in (False, True):
            with mock.patch.object(danaus_torch, "run", lambda *of: read.append(of[3])):
                postgate, pregate, u = _torch_gated._parts_of(z, 3, interleaved)
                danaus_torch._forward(u, k, "causal", pregate, postgate)
            storages = {x.untyped_storage().data_ptr() for x in read[-1][1:4]}
            self.assertEqual(storages, {z.untyped_storage().data_ptr()})
        self.assertEqual(self.tokens, ["fftconv_f16_causal_l256_b2_h3_pregate_postgate"])
        self.assertEqual(len(_tensors.entries), 2)  # strides of their own


class Layers(unittest.TestCase):
    # The state of the published HyenaOperator(4, 16). Its sines share one tensor under three names.
    NAMES = {"in_proj.weight": (12, 4), "in_proj.bias": (12,), "out_proj.weight": (4, 4), "out_proj.bias": (4,),
             "short_filter.weight": (12, 1, 3), "short_filter.bias": (12,), "filter_fn.bias": (4,),
             "filter_fn.pos_emb.z": (1, 16, 3), "filter_fn.pos_emb.t": (1, 16, 1),
             "filter_fn.implicit_filter.0.weight": (64, 3), "filter_fn.implicit_filter.0.bias": (64,),
             "filter_fn.implicit_filter.1.freq": (1, 64), "filter_fn.implicit_filter.2.weight": (64, 64),
             "filter_fn.implicit_filter.2.bias": (64,), "filter_fn.implicit_filter.3.freq": (1, 64),
             "filter_fn.implicit_filter.4.weight": (64, 64), "filter_fn.implicit_filter.4.bias": (64,),
             "filter_fn.implicit_filter.5.freq": (1, 64), "filter_fn.implicit_filter.6.weight": (4, 64),
             "filter_fn.modulation.deltas": (1, 1, 4)}

    def test_a_hyena_has_the_published_names(self):
        state = HyenaOperator(4, 16).state_dict()
        self.assertEqual({name: tuple(each.shape) for name, each in state.items()}, self.NAMES)

    def test_a_hyena_is_its_formula(self):
        torch.manual_seed(1)
        layer = HyenaOperator(4, 16, emb_dim=5, w=2, num_inner_mlps=1).double()
        for length in (16, 9):
            u = torch.randn(2, length, 4, dtype=torch.float64)
            x0, x1, v = layer.short_filter(layer.in_proj(u).mT)[..., :length].chunk(3, 1)
            k = layer.filter_fn.filter(length)[0].mT
            x = x1 * v
            mixed = short_truth(x, k, None, "causal", None, None, False) + layer.filter_fn.bias[:, None] * x
            torch.testing.assert_close(layer(u), layer.out_proj((x0 * mixed).mT))
        self.assertEqual(layer(torch.randn(2, 20, 4).double()).shape, (2, 16, 4))  # cut

    def test_the_filter_is_the_published_one(self):
        torch.manual_seed(1)
        layer = HyenaFilter(3, emb_dim=5, order=8, seq_len=10, w=3)
        position = torch.arange(10.)
        angles = 2 * math.pi * position[:, None] / 10 * torch.tensor([1e-4, 1.])
        h = torch.cat([position[:, None] / 9, angles.cos(), -angles.sin()], -1)
        for i in (0, 2, 4):
            h = torch.sin(3 * layer.implicit_filter[i](h))
        decay = torch.linspace(math.log(1e-2) / 1.5, math.log(1e-2) / 0.3, 3).abs()
        h = layer.implicit_filter[6](h) * torch.exp(-position[:, None] / 9 * decay)
        torch.testing.assert_close(layer.filter(10)[0], h)

    def test_a_gated_long_convolution_learns(self):
        torch.manual_seed(1)
        for taps, mode in ((3, "causal"), (0, "circular")):
            layer = GatedLongConv(3, 12, taps, mode=mode)
            z = torch.randn(2, 9, 12)
            weights = (None, None) if taps == 0 else (layer.short_filter.weight[:, 0].flip(1), layer.short_filter.bias)
            self.assertLess(relative(layer(z), truth(z, layer.k, *weights, layer.D, mode=mode)), BOUNDS[torch.float32])
            layer(z).square().mean().backward()
            self.assertTrue(all(each.grad is not None for each in layer.parameters()))

    def test_refusals(self):
        with self.assertRaisesRegex(ValueError, "HyenaOperator: order 3, must be 2"):
            HyenaOperator(4, 16, order=3)
        with self.assertRaisesRegex(ValueError, "HyenaFilter: emb_dim 4, must be odd"):
            HyenaFilter(4, emb_dim=4)


class Refusals(unittest.TestCase):
    def test_say_what_is_wrong(self):
        z, k, taps, bias, skip = operands()
        for pattern, words in (
                (r"z has shape \(2, 6, 12\), must be \[B, 9, L\]", {"z": z[:, :6]}),
                (r"mode 'full', must be one of causal, circular, bidirectional", {"mode": "full"}),
                (r"order \('u', 'u'\), must have u", {"order": ("u", "u")}),
                (r"order \('pregate',\), must have u", {"order": ("pregate",)}),
                (r"k has shape \(12,\), must be \[H, K\]", {"k": k[0]}),
                (r"k has 12 taps, bidirectional it must have 2 L - 1 = 23", {"mode": "bidirectional"}),
                (r"taps has shape \(3, 3\), must be \[9, T\], T from 1 to 8; short_conv", {"taps": taps[:3]}),
                (r"T from 1 to 8; short_conv takes more taps", {"taps": taps.repeat(1, 3)}),
                (r"bias without taps", {"taps": None}),
                (r"skip has shape \(2,\), must be \(3,\), H of k", {"skip": skip[:2]}),
                (r"activation 'relu', must be one of gelu, sigmoid, silu", {"activation": "relu"}),
                (r"gate_activation 'silu', but order has no postgate",
                 {"gate_activation": "silu", "order": ("pregate", "u")})):
            with self.assertRaisesRegex(ValueError, "gated_conv: .*" + pattern):
                gated_conv(**{"z": z, "k": k, "taps": taps, "bias": bias, "skip": skip, **words})
        for name, wrong in (("skip", skip.half()), ("z", z.numpy()), ("k", None)):
            with self.assertRaisesRegex(TypeError, f"gated_conv: {name} is"):
                gated_conv(**{"z": z, "k": k, "skip": skip, name: wrong})


if __name__ == "__main__":
    unittest.main()
