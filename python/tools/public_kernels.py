#!/usr/bin/env python3
"""Judges public kernels: each of those whose package is installed, by danaus.judge.

  PYTHON python/tools/public_kernels.py [--list] [--device cpu|cuda] [--json FILE] [--budget S] [--only CHECK ...]
         [NAME ...]

Each kernel is called as its documentation says. What it does not take, a length or a type, it refuses with the rule in
words. FILE gets a row for each check, with the package and its version, as experiments/results/schemas/judge.schema.json
describes them; kernels that it has rows of are left out. Exit code 77 without PyTorch.
"""

import argparse
import functools
import importlib
import importlib.metadata
import json
import sys
from pathlib import Path

KERNELS = {}  # name: Kernel


class Kernel:
    """A function here that calls a public kernel; `words` are arguments of danaus.judge()."""

    def __init__(self, function, package, operation, gpu_alone, words):
        self.function, self.package, self.operation = function, package, operation
        self.gpu_alone, self.words = gpu_alone, words

    def version(self):
        """None where the package is not installed."""
        try:
            return importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return None


def public(package, operation, gpu_alone=True, **words):
    def add(function):
        KERNELS[function.__name__] = Kernel(function, package, operation, gpu_alone, words)
        return function
    return add


def refuse_unless(holds, rule):
    if not holds:
        raise NotImplementedError(rule)


def takes_filter(u, k, most=None, least=1):
    refuse_unless(k.dtype == u.dtype, "k of the type of u")
    most = u.shape[-1] if most is None else most
    refuse_unless(least <= k.shape[-1] <= most, f"{least} to {most} taps")


# Long convolutions.


def by_torch_fft(u, k, arithmetic, mode):
    size = u.shape[-1] if mode == "circular" else u.shape[-1] + k.shape[-1] - 1
    refuse_unless(mode == "causal" or k.shape[-1] <= size, "K of at most L")
    torch = importlib.import_module("torch")
    spectra = [torch.fft.rfft(x.to(arithmetic), n=size) for x in (u, k)]
    return torch.fft.irfft(spectra[0] * spectra[1], n=size)[..., :u.shape[-1]].to(u.dtype)


@public("torch", "fftconv", gpu_alone=False, claim="fp32", dtypes=["f16", "bf16", "f32"])
def torch_fft_fp32(u, k, mode="causal"):
    return by_torch_fft(u, k, importlib.import_module("torch").float32, mode)


@public("torch", "fftconv_f16_circular", claim="16bit", lengths=[256, 512, 1024, 2048, 4096, 8192])
def torch_fft_fp16(u, k):
    return by_torch_fft(u, k, u.dtype, "circular")


@public("subquadratic-ops-torch-cu13", "fftconv_causal", claim="fp32", dtypes=["f16", "bf16", "f32"])
def subquadratic_fft_causal_conv1d(u, k):
    module = importlib.import_module("subquadratic_ops_torch.fft_causal_conv1d")
    takes_filter(u, k)
    return module.fft_causal_conv1d(u, k)


@public("nvsubquadratic", "fftconv_causal", gpu_alone=False, claim="fp32", dtypes=["f16", "bf16", "f32"])
def nvsubquadratic_causal_fftconv1d(u, k):
    module = importlib.import_module("nvsubquadratic.ops.fftconv")
    return module.causal_fftconv1d_fp32_bhl(u, k[None])


@public("fla-core", "fftconv_f32_causal", gpu_alone=False)
def fla_fft_conv(u, k):
    takes_filter(u, k)
    module = importlib.import_module("fla.modules.long_conv")
    return module.fft_conv(u, k, None, gelu=False) - u  # it adds u


@functools.cache
def flash_fft_conv(length, dtype):
    conv = importlib.import_module("flashfftconv").FlashFFTConv(length, dtype=dtype)
    return conv.to("cuda")


def by_flash_fft_conv(size, u, k, pregate, postgate):
    refuse_unless(k.shape[-1] <= u.shape[-1], "K of at most L")
    refuse_unless((pregate is None) == (postgate is None), "two gates or none")
    gates = () if pregate is None else (pregate, postgate)
    return flash_fft_conv(size, u.dtype)(u, k.float(), *gates)


@public("flashfftconv", "fftconv_circular", claim="16bit", dtypes=["f16", "bf16"],
        lengths=[256, 512, 1024, 2048, 4096, 8192])
def flashfftconv_circular(u, k, pregate=None, postgate=None):
    return by_flash_fft_conv(u.shape[-1], u, k, pregate, postgate)


@public("flashfftconv", "fftconv_causal", claim="16bit", dtypes=["f16", "bf16"],
        lengths=[128, 256, 512, 1024, 2048, 4096])
def flashfftconv_causal(u, k, pregate=None, postgate=None):
    return by_flash_fft_conv(2 * u.shape[-1], u, k, pregate, postgate)


# Short convolutions.


def of_type(u, bias):
    """bias in the type of u, where that is exact."""
    if bias is None:
        return None
    rounded = bias.to(u.dtype)
    refuse_unless(bool((rounded.to(bias.dtype) == bias).all()), "a bias of the type of u")
    return rounded


@public("torch", "shortconv_causal", gpu_alone=False, claim="fp32", dtypes=["f16", "bf16", "f32"])
def torch_conv1d(u, k, bias=None):
    """On a GPU by cuDNN."""
    torch = importlib.import_module("torch")
    takes_filter(u, k, 256)
    offset, taps = of_type(u, bias), k.flip(-1)[:, None]
    return torch.nn.functional.conv1d(u, taps, offset, padding=k.shape[-1] - 1, groups=k.shape[0])[..., :u.shape[-1]]


@public("causal-conv1d", "shortconv_causal", claim="fp32", dtypes=["f16", "bf16", "f32"])
def causal_conv1d_fn(u, k, bias=None):
    takes_filter(u, k, 4, 2)
    module = importlib.import_module("causal_conv1d")
    return module.causal_conv1d_fn(u, k.flip(-1).contiguous(), of_type(u, bias))


@public("fla-core", "shortconv_causal_channelslast", claim="fp32", dtypes=["f16", "bf16", "f32"])
def fla_causal_conv1d(u, k, bias=None):
    takes_filter(u, k, 8)
    module = importlib.import_module("fla.modules.causal_conv1d")
    return module.causal_conv1d(u, k.flip(-1).contiguous(), of_type(u, bias))[0]


@public("subquadratic-ops-torch-cu13", "shortconv_causal", claim="fp32", dtypes=["f16", "bf16", "f32"])
def subquadratic_causal_conv1d(u, k):
    takes_filter(u, k, 256)
    module = importlib.import_module("subquadratic_ops_torch.causal_conv1d")
    return module.causal_conv1d(u, k)


# Spectral layers.


@public("neuraloperator", "spectral_f32", gpu_alone=False, gradient="autograd")
def neuraloperator_spectral_conv(u, w):
    torch = importlib.import_module("torch")
    refuse_unless(u.ndim == 3, "one axis")
    module = importlib.import_module("neuralop.layers.spectral_convolution")
    layer = module.SpectralConv(u.shape[1], w.shape[1], n_modes=(2 * (w.shape[-1] - 1),), bias=False).to(u.device)
    call = torch.func.functional_call
    names = [name for name, each in layer.named_parameters() if each.numel() == w.numel()]
    refuse_unless(len(names) == 1, "one dense weight")
    shape = dict(layer.named_parameters())[names[0]].shape
    return call(layer, {names[0]: w.reshape(shape)}, (u,))


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of these kernels (default: all that can run)")
    parser.add_argument("--list", action="store_true", help="says which there are, and ends")
    parser.add_argument("--device", choices=("cpu", "cuda"), help="default: a GPU where there is one")
    parser.add_argument("--json", type=Path, metavar="FILE", help="appends rows")
    parser.add_argument("--budget", type=float, default=60, metavar="S", help="seconds for a kernel (default 60)")
    parser.add_argument("--only", nargs="+", metavar="CHECK", help="checks to make alone, without times")
    options = parser.parse_args(words)
    if unknown := set(options.names) - set(KERNELS):
        parser.error(f"no kernel {sorted(unknown)[0]}; there are {', '.join(KERNELS)}")
    if options.list:
        for name, kernel in KERNELS.items():
            print(f"{name:32}  {kernel.operation:32}  {kernel.package} {kernel.version() or 'is not installed'}")
        return 0
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        print("public_kernels: PyTorch is not installed", file=sys.stderr)
        return 77
    device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    done = set()
    if options.json and options.json.exists():
        done = {json.loads(line)["candidate"] for line in options.json.read_text().splitlines()}
    for name in options.names or KERNELS:
        if name not in done:
            judge(name, device, options)
    return 0


def judge(name, device, options):
    danaus, kernel = importlib.import_module("danaus"), KERNELS[name]
    version = kernel.version()
    if version is None or kernel.gpu_alone and device == "cpu":
        why = f"{kernel.package} is not installed" if version is None else "needs a GPU"
        print(f"{name}: left out, {why}", flush=True)
        return
    report = danaus.judge(f"{Path(__file__).resolve()}:{name}", kernel.operation, arrays="torch", device=device,
                          budget_s=options.budget, limit_s=60,
                          only=options.only, timed=not options.only, **kernel.words)
    print(report, end="\n\n", flush=True)
    if options.json:
        where = torch_device_name(device)
        with options.json.open("a") as file:
            for row in report.rows:
                more = {"candidate": name, "package": f"{kernel.package} {version}", "device": row.get("device", where)}
                file.write(json.dumps({**row, **more}) + "\n")


def torch_device_name(device):
    torch = importlib.import_module("torch")
    return torch.cuda.get_device_name() if device == "cuda" else "CPU"


if __name__ == "__main__":
    sys.exit(main())
