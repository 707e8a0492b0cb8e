"""danaus.torch.Filter on tensors of the CPU that go where a GPU's go; torch_cuda_test.py is for a GPU.

  PYTHONPATH=BUILD/python PYTHON tests/python/torch_filter_test.py
"""

import copy
import io
import threading
import unittest
from unittest import mock

from torch_or_skip import torch

from danaus import _tensors, _torch_filter
from danaus import torch as danaus_torch
from danaus.torch import Filter, conv
from torch_support import PretendedGpu, long_operands as operands, long_truth as truth, relative


def short_rows(batch=4, channels=2, seed=0):
    u, k, _, _ = operands(batch, channels, 256, 256, torch.float16)
    return u, k + seed


def forward(kept, u, mode="causal", pregate=None, postgate=None):
    return danaus_torch._forward_of(kept, u, mode, pregate, postgate)


class Layer(torch.nn.Module):
    def __init__(self, k, by_name):
        super().__init__()
        self.k = torch.nn.Parameter(k)
        self.kept = Filter(self, "k") if by_name else Filter(self.k)


class Transforms(PretendedGpu):
    def expect(self, calls, kept, u, mode="causal", pregate=None, postgate=None):
        expected, _ = danaus_torch._conv_cuda(u, kept.k, mode, pregate, postgate)
        with self.called() as names:
            y = forward(kept, u, mode, pregate, postgate)
        torch.testing.assert_close(y, expected, rtol=0, atol=0)
        self.assertEqual(names, [f"danaus_{call}" for call in calls])

    first, later = ("prepare", "execute"), ("execute",)

    def test_once_for_each_kernel_mode_and_length(self):
        u, k, pregate, postgate = operands(4, 2, 256, 256, torch.float16)
        kept = Filter(k.T.contiguous().T)
        with self.capturing(), self.assertRaisesRegex(RuntimeError, "captured before it ever ran"):
            forward(kept, u)
        self.expect(self.first, kept, u)
        self.expect(self.later, kept, u)
        self.expect(self.later, kept, u[:3])
        self.expect(self.first, kept, u, "circular")  # by another kernel
        self.expect(self.first, kept, u[..., :200])   # of another length
        before = [spectrum.data_ptr() for spectrum, _ in kept._spectra.values()]
        kept.k.mul_(2)
        with self.capturing(), self.assertRaisesRegex(RuntimeError, "a call with this Filter is captured"):
            forward(kept, u)
        self.expect(self.first, kept, u)
        with self.capturing():
            self.expect(self.later, kept, u)
        kept.k.data = k.clone()
        self.expect(self.first, kept, u)
        self.assertEqual([spectrum.data_ptr() for spectrum, _ in kept._spectra.values()], before)  # graphs read there
        self.expect(self.first, kept, u, "causal", pregate, postgate)
        with torch.inference_mode():
            kept = Filter(k.clone())
            self.expect(self.first, kept, u[:1])
            self.expect(self.later, kept, u[:1])

    def test_memory_is_that_of_the_plan_for_one_row_and_for_several(self):
        # A kernel of pieces keeps more copies of the spectrum from two rows on, under the same name.
        u, k, _, _ = operands(2, 16, 100000, 2048, torch.bfloat16)
        for order in ((u[:1], u), (u, u[:1])):
            kept = Filter(k)
            with self.noted() as sizes:
                for rows in (*order, *order):
                    forward(kept, rows)
            plans = [plan.bytes()["prepared"] for token, plan in sorted(_tensors.plans.items())]
            self.assertEqual(len(set(plans)), 2)
            by_rows = [plans[0] if len(rows) == 1 else plans[1] for rows in order]
            self.assertEqual(sizes, [by_rows[0]] * 2 + [by_rows[1]] * 2 + by_rows)

    def test_one_filter_for_several_rows_and_several_for_one(self):
        u, k = short_rows()
        for rows, filters in ((u, k[:1]), (u[:, :1].contiguous(), k)):
            kept = Filter(filters.clone())
            expected = truth(rows.expand(4, 2, 256), filters.expand(2, 256), "causal")
            for _ in range(2):
                y = forward(kept, rows)
                self.assertEqual(y.shape, (4, 2, 256))
                self.assertLess(relative(y, torch.from_numpy(expected)), 4e-3)
            self.assertTrue(kept.is_current())
            kept.refresh()
            torch.testing.assert_close(forward(kept, rows), y, rtol=0, atol=0)

    def test_an_empty_batch(self):
        u, k = short_rows()
        kept = Filter(k)
        self.assertEqual(forward(kept, u[:0]).shape, (0, 2, 256))
        self.assertEqual((kept._spectra, self.tokens), ({}, []))

    def test_a_transform_that_failed_leaves_nothing_behind(self):
        u, k = short_rows()
        kept = Filter(k)
        expected = forward(kept, u)
        k.mul_(2)
        other = Filter(k)
        with mock.patch.object(_torch_filter, "prepare", side_effect=MemoryError):
            for each in (kept, other):
                with self.assertRaises(MemoryError):
                    forward(each, u)
        self.assertFalse(other.is_current())
        torch.testing.assert_close(forward(kept, u), 2 * expected, rtol=1e-3, atol=1e-3)


class Changes(PretendedGpu):
    def expect_current(self, kept, u, is_equal=True):
        expected, _ = danaus_torch._conv_cuda(u, kept.k.detach(), "causal", None, None)
        self.assertEqual(torch.equal(forward(kept, u), expected), is_equal)

    def test_that_pytorch_counts_are_seen(self):
        u, k = short_rows()
        parameter = torch.nn.Parameter(k.clone())
        kept = Filter(parameter)
        with torch.no_grad():
            self.expect_current(kept, u)
            for change in (lambda: parameter.mul_(2), lambda: parameter.detach().mul_(-1),
                           lambda: torch.nn.utils.vector_to_parameters(torch.ones(512), [parameter]),
                           lambda: setattr(parameter, "data", k + 1)):
                change()
                self.expect_current(kept, u)

    def test_that_it_does_not_count_are_found_by_the_checksum_and_mended_by_refresh(self):
        u, k = short_rows()
        parameter = torch.nn.Parameter(k.clone())
        kept = Filter(parameter)
        with torch.no_grad():
            self.assertTrue(kept.is_current())  # of nothing
            self.expect_current(kept, u)
            place = next(iter(kept._spectra.values()))[0].data_ptr()
            for change in (lambda: parameter.data.mul_(2), lambda: parameter.data.copy_(k.flip(0)),
                           lambda: parameter.data[0, :2].neg_(), lambda: parameter.data[:, ::2].neg_()):
                self.assertTrue(kept.is_current())
                change()
                self.assertFalse(kept.is_current())
                self.expect_current(kept, u, False)  # as the page says
                kept.refresh()
                self.assertTrue(kept.is_current())
                self.expect_current(kept, u)
            self.assertEqual(next(iter(kept._spectra.values()))[0].data_ptr(), place)  # graphs read there

    def test_in_inference_mode_and_out_of_it(self):
        u, k = short_rows()
        with torch.inference_mode():
            of_the_mode = k.clone()
        for filters in (k, of_the_mode):
            kept = Filter(filters)
            with torch.inference_mode():
                self.expect_current(kept, u)
            for mode in (False, True, False):
                with torch.inference_mode(mode):
                    filters.data.numpy()[...] *= 2
                    self.assertFalse(kept.is_current())
                    kept.refresh()
                    self.assertTrue(kept.is_current())
                    self.expect_current(kept, u)

    def test_refresh_in_a_graph(self):
        u, k = short_rows()
        kept = Filter(k)
        forward(kept, u)
        k.data.mul_(2)
        with self.capturing(), self.called() as names:
            kept.refresh()
        self.assertEqual(names, ["danaus_prepare"])
        self.assertTrue(kept.is_current())

    def test_a_graph_that_changes_k_and_refreshes(self):
        u, k = short_rows()
        kept = Filter(k)
        forward(kept, u)
        k.add_(1)  # which no call has seen before the capture
        with self.capturing():
            k.mul_(2)
            with self.assertRaisesRegex(RuntimeError, "a call with this Filter is captured"):
                forward(kept, u)
            with self.noted() as sizes:  # captured is what runs later
                kept.refresh()
                forward(kept, u)
        self.assertEqual(len(sizes), 2)
        self.expect_current(kept, u)

    def test_another_tensor_at_the_same_address(self):
        u, k = short_rows()
        memory = k.numpy().copy()
        kept = Filter(torch.from_numpy(memory))
        self.expect_current(kept, u)
        state = next(iter(kept._spectra.values()))[1].state
        memory *= 2
        other = torch.from_numpy(memory)
        self.assertEqual((other.data_ptr(), other._version), state[1:3])
        kept.k = other
        self.expect_current(kept, u)

    def test_another_tensor_of_another_shape_or_type(self):
        u, k = short_rows()
        kept = Filter(k)
        for channels, dtype in ((2, torch.float32), (3, torch.float32), (2, torch.float16), (2, torch.float32)):
            u, k, _, _ = operands(4, channels, 256, 256, torch.float16)
            kept.k = (3 * k).to(dtype)
            self.expect_current(kept, u)
            self.assertTrue(kept.is_current())
        with self.assertRaisesRegex(TypeError, "Filter: k is a list, must be a torch.Tensor"):
            kept.k = [1]

    def test_a_checksum_is_of_every_bit_and_place(self):
        for dtype in (torch.float16, torch.bfloat16, torch.float32):
            k = torch.randn(3, 100, generator=torch.Generator().manual_seed(1)).to(dtype)
            changed = [k.neg(), 2 * k, k.flip(0), k.flip(1), k.roll(1, 1), k.T.contiguous().reshape(3, 100)]
            for index in ((0, 0), (2, 99)):
                one = k.clone()
                one.view(_torch_filter._BITS[k.element_size()])[index] ^= 1
                signs = k.clone()
                signs[index[0]] = -signs[index[0]]
                changed += [one, signs]
            whole = _torch_filter.checksum(k)
            for other in changed:
                self.assertFalse(torch.equal(_torch_filter.checksum(other), whole))
            self.assertTrue(torch.equal(_torch_filter.checksum(k.T.contiguous().T), whole))
            with mock.patch.object(_torch_filter, "_AT_ONCE", 1):
                self.assertTrue(torch.equal(_torch_filter.checksum(k), whole))


class Modules(PretendedGpu):
    def loaded(self, layer, u):
        """One with another parameter, which load_state_dict(assign=True) put there."""
        with torch.no_grad():
            forward(layer.kept, u)
        layer.load_state_dict({"k": layer.k.detach() + 1}, assign=True)
        return layer

    def test_by_name_it_follows(self):
        u, k = short_rows()
        layer = self.loaded(Layer(k, True), u)
        with torch.no_grad():
            y = forward(layer.kept, u)
        torch.testing.assert_close(y, danaus_torch._conv_cuda(u, k + 1, "causal", None, None)[0], rtol=0, atol=0)
        self.assertIs(layer.kept.k, layer.k)
        torch.testing.assert_close(conv(u.float(), layer.kept), conv(u.float(), k + 1))
        layer.kept.k = torch.nn.Parameter(k)
        self.assertIs(layer.kept.k, layer.k)

    def test_by_its_tensor_it_refuses(self):
        u, k = short_rows()
        layer = self.loaded(Layer(k, False), u)
        for call in (lambda: conv(u, layer.kept), lambda: forward(layer.kept, u), layer.kept.refresh,
                     layer.kept.is_current):
            with self.assertRaisesRegex(RuntimeError, r"Filter: Layer.k is another tensor now.*Filter\(module, name\)"):
                call()
        layer.kept.k = layer.k
        self.assertEqual(conv(u, layer.kept).shape, u.shape)

    def test_a_buffer_likewise(self):
        _, k = short_rows()
        layer = torch.nn.Module()
        layer.register_buffer("k", k)
        kept = Filter(layer.k)
        layer.load_state_dict({"k": k.clone()})  # in place
        self.assertIs(kept.k, k)
        layer.load_state_dict({"k": k.clone()}, assign=True)
        with self.assertRaisesRegex(RuntimeError, "Module.k is another tensor now"):
            kept.k
        torch.nn.Module().register_buffer("none", None)
        scripted = torch.jit.script(torch.nn.Linear(2, 2))
        scripted.weight = torch.nn.Parameter(torch.ones(2, 2))
        other = torch.nn.Module()  # whose own k this is not
        other.register_buffer("k", k.clone())
        kept = Filter(layer.k)
        other.k = k.clone()
        self.assertIs(kept.k, layer.k)

    def test_copies_and_pickles_have_their_own(self):
        u, k = short_rows()
        for by_name in (True, False):
            layer = Layer(k, by_name)
            with torch.no_grad():
                forward(layer.kept, u)
            saved = io.BytesIO()
            torch.save(layer, saved)
            saved.seek(0)
            for other in (copy.deepcopy(layer), torch.load(saved, weights_only=False)):
                self.assertIs(other.kept.k, other.k)
                self.assertEqual(other.kept._spectra, {})

    def test_what_is_none(self):
        for words, arguments in (("k is a list", ([1],)), ("k is a Linear", (torch.nn.Linear(2, 2),)),
                                 ("Linear.k is no torch.Tensor", (torch.nn.Linear(2, 2), "k"))):
            with self.assertRaisesRegex(TypeError, "Filter: " + words):
                Filter(*arguments)

    def test_compiled(self):
        u, k, _, _ = operands(dtype=torch.float32)
        for kept in (Filter(k), Layer(k, True).kept):
            fast = torch.compile(lambda u: conv(u, kept), fullgraph=True, backend="aot_eager")
            torch.testing.assert_close(fast(u).detach(), conv(u, k), rtol=0, atol=0)


class StreamsAndThreads(PretendedGpu):
    def test_each_stream_that_reads_is_recorded_once(self):
        u, k = short_rows()
        kept = Filter(k)
        forward(kept, u)
        for stream in (7, 8, 7, 0):
            with self.on_stream(stream):
                forward(kept, u)
        (spectrum, _), = kept._spectra.values()
        self.assertEqual([stream for _, stream in self.recorded], [self.streams[at] for at in (0, 7, 8)])
        self.assertTrue(all(tensor is spectrum for tensor, _ in self.recorded))

    def test_a_transform_waits_for_all_that_read(self):
        u, k = short_rows()
        kept = Filter(k)
        forward(kept, u)
        with self.on_stream(7):
            forward(kept, u)
        with self.on_stream(9), self.capturing():  # of a graph no stream is known
            forward(kept, u)
        for change in (lambda: k.mul_(2), kept.refresh):
            for stream in self.streams.values():
                stream.reset_mock()
            change()
            with self.on_stream(8):
                kept.refresh()
            waited = [call.args[0] for call in self.streams[8].wait_stream.call_args_list]
            self.assertLessEqual({id(self.streams[0]), id(self.streams[7])}, set(map(id, waited)))
            self.assertNotIn(id(self.streams[9]), map(id, waited))

    def test_a_first_call_is_done_before_others_read(self):
        u, k = short_rows()
        kept = Filter(k)
        forward(kept, u)
        self.streams[0].synchronize.assert_called_once()
        kept.refresh()
        self.assertEqual(self.streams[0].synchronize.call_count, 2)

    def test_two_first_calls_at_once(self):
        u, k = short_rows()
        expected, _ = danaus_torch._conv_cuda(u, k, "causal", None, None)
        kept, results, order = Filter(k), [], []
        prepare = _torch_filter.prepare
        other = threading.Thread(target=lambda: results.append(forward(kept, u)))

        def slow(*arguments):
            if not order:
                order.append("the first begins")
                other.start()
                other.join(0.2)  # in which the other one would have come as far
                order.append("the first goes on")
            else:
                order.append("a second one")
            prepare(*arguments)

        with mock.patch.object(_torch_filter, "prepare", slow):
            results.append(forward(kept, u))
            other.join()
        self.assertEqual(order, ["the first begins", "the first goes on"])
        for y in results:
            torch.testing.assert_close(y, expected, rtol=0, atol=0)


if __name__ == "__main__":
    unittest.main()
