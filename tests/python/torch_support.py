"""What the tests of PyTorch's operators share."""

import contextlib
import unittest
from unittest import mock

import torch

import danaus
from danaus import _tensors


class PretendedGpu(unittest.TestCase):
    """What a GPU's tensors go through, with tensors of the CPU and plans that the executor runs."""

    def setUp(self):
        for patch in (mock.patch.object(_tensors, "Plan", lambda token, _: self.plan(token)),
                      mock.patch.object(torch._C, "_cuda_getCurrentRawStream", lambda _: 0, create=True),
                      mock.patch.object(torch.cuda, "is_current_stream_capturing", lambda: self.is_capturing),
                      mock.patch.object(torch.cuda, "device", contextlib.nullcontext),
                      mock.patch.dict(_tensors.plans), mock.patch.dict(_tensors.entries)):
            patch.start()
            self.addCleanup(patch.stop)
        self.tokens, self.is_capturing = [], False

    def plan(self, token):
        self.tokens.append(token)
        return danaus.Plan(token)
