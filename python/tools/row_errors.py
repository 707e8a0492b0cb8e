#!/usr/bin/env python3
"""Asks how wrong the worst of two rows is that share a transform: against their loudness, an offset and their scale.

  PYTHON python/tools/row_errors.py [--device cpu|cuda] [--json FILE]

Circular, L = 4096, eight channels, noise and filters of unit norm. The error of a row is the norm of y less the truth in
double over |u| |k| of the row, at most 1. Methods: danaus (its kernel, which the CPU executes), torch.fft in fp32 and,
on a GPU, in fp16, and flashfftconv where that is installed. FILE gets a row for each method, type and value
(experiments/results/schemas/row_error.schema.json). Exit code 77 without PyTorch.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

import danaus

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))

LENGTH, CHANNELS = 4096, 8
SWEEPS = {
    "partner": [10.0**e for e in range(7)],  # how many times as loud as the first row the second is
    "offset": [10.0**e for e in range(-1, 4)],  # added to both rows of unit noise
    "scale": [10.0**e for e in range(-6, 5)],  # of both rows
}


def rows_of(sweep, value, noise):
    """u [2, H, L] in double."""
    if sweep == "partner":
        return noise * np.array([value**-0.5, value**0.5])[:, None, None]
    return noise + value if sweep == "offset" else noise * value


def methods(torch, dtype, device):
    """{name: function(u, k) of tensors of PyTorch}, u in 16 bits, k in fp32."""
    def by_fft(arithmetic):
        def convolve(u, k):
            of_u = torch.fft.rfft(u.to(arithmetic))
            return torch.fft.irfft(of_u * torch.fft.rfft(k.to(arithmetic)), n=LENGTH).to(u.dtype)
        return convolve

    def by_danaus(u, k):
        return danaus.conv(u, k, "circular", method="kernel", device=device)
    found = {"danaus": by_danaus, "torch.fft, fp32": by_fft(torch.float32)}
    if device == "cuda" and dtype == torch.float16:
        found["torch.fft, fp16"] = by_fft(torch.float16)
    try:
        from flashfftconv import FlashFFTConv
        if device == "cuda":
            module = FlashFFTConv(LENGTH, dtype=dtype).to(device)
            found["flashfftconv"] = lambda u, k: module(u, k)
    except ImportError:
        pass
    return found


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="where methods run (default: cpu)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="append rows to this file (default: print only)")
    options = parser.parse_args(words)
    try:
        import torch
    except ImportError:
        print("row_errors.py: PyTorch is not installed", file=sys.stderr)
        return 77
    import rows
    origin = rows.origin("row_error", options.device)
    random = np.random.default_rng(73)
    noise = random.standard_normal((2, CHANNELS, LENGTH))
    k = random.standard_normal((CHANNELS, LENGTH))
    k = torch.from_numpy(k / np.linalg.norm(k, axis=-1, keepdims=True)).float().to(options.device)
    for dtype, word in ((torch.float16, "f16"), (torch.bfloat16, "bf16")):
        for name, convolve in methods(torch, dtype, options.device).items():
            for sweep, values in SWEEPS.items():
                for value in values:
                    u = torch.from_numpy(rows_of(sweep, value, noise)).to(options.device, dtype)
                    truth = torch.fft.irfft(torch.fft.rfft(u.double()) * torch.fft.rfft(k.double()), n=LENGTH)
                    errors = (convolve(u, k).double() - truth).norm(dim=-1) / (u.double().norm(dim=-1) *
                                                                              k.double().norm(dim=-1))
                    error = errors.nan_to_num(1).clamp(max=1).max().item()
                    print(f"{name}, {word}, {sweep} {value:g}: {error:.3g}", flush=True)
                    if options.json:
                        rows.append(options.json, {
                            **origin, "method": name, "dtype": word, "length": LENGTH, "sweep": sweep, "value": value,
                            "error": error})
    return 0


if __name__ == "__main__":
    sys.exit(main())
