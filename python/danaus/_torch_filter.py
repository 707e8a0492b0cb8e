"""Filters that stay, whose spectra a GPU keeps: danaus.torch.Filter."""

import contextlib
import threading
import weakref

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.modules import module as modules

from danaus._tensors import is_capturing, prepare, require_no_capture

_BITS = {2: torch.int16, 4: torch.int32}  # of the types of filters that kernels take
_AT_ONCE = 1 << 24  # samples of a checksum, of which copies in 64 bits are made


class Filter:
    """A filter that stays, as at inference: conv(u, Filter(k)) is conv(u, k), of whose transform a GPU is spared.

    Filter(k)            k [H, K], as conv() takes it, and still the caller's
    Filter(module, "k")  module.k, whichever tensor it is at each call: it follows load_state_dict(assign=True) and
                         module.to(). Filter(module.k) refuses with RuntimeError once another k is assigned in the
                         place of this one; where k is deleted first, as parametrizations and pruning do it, and under
                         torch.func.functional_call, it stays with the old k.

    A call transforms k again where k is another tensor, has moved, or counts another change in place (k._version).
    Changes that PyTorch does not count stay unseen: by k.data, by a CUDA graph, by a library that shares the memory,
    and in tensors of torch.inference_mode(). After these call refresh(); is_current() finds them by a checksum.

    4 H N bytes are kept for each L, mode, shape of k and kernel that calls ask for (single rows have a kernel of their
    own; N is L, rounded up to an FFT size). The call that writes them waits for its stream, since the next one may be
    on another, and is refused while a graph is captured; a graph reads them, so the Filter must outlive it. Any stream
    and thread may use a Filter, and may drop it while a call runs. Nothing is kept on the CPU, for float32 and float64,
    and where PyTorch must see the call: a gradient is to come, under autocast, in a compiled graph.
    """

    def __init__(self, k: Tensor | torch.nn.Module, name: str = None):
        if name is None and not isinstance(k, Tensor):
            raise TypeError(f"Filter: k is a {type(k).__name__}, must be a torch.Tensor, or a module with the name of "
                            "its tensor")
        if name is not None and not isinstance(getattr(k, name, None), Tensor):
            raise TypeError(f"Filter: {type(k).__name__}.{name} is no torch.Tensor")
        self._owner, self._name = (None, None) if name is None else (k, name)
        self._k, self._replaced = k if name is None else None, None
        self._reset()

    def _reset(self):
        self._lock = threading.Lock()
        self._spectra = {}  # layout, bytes, device, mode, L, shape and type of k -> its spectrum, _Kept
        if self._owner is None:
            _watch(self)

    # Copies and pickles have the filter alone.
    def __getstate__(self):
        return {name: getattr(self, name) for name in ("_owner", "_name", "_k", "_replaced")}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._reset()

    @property
    def k(self) -> Tensor:
        """The filter; another may take its place."""
        if self._owner is not None:
            return getattr(self._owner, self._name)
        if self._replaced is not None:
            raise RuntimeError(f"Filter: {self._replaced} is another tensor now, as load_state_dict(assign=True) makes "
                               "it; set the Filter's k to it, or make Filter(module, name), which follows")
        return self._k

    @k.setter
    def k(self, k):
        if self._owner is not None:
            setattr(self._owner, self._name, k)
        elif not isinstance(k, Tensor):
            raise TypeError(f"Filter: k is a {type(k).__name__}, must be a torch.Tensor")
        else:
            self._k, self._replaced = k, None

    def _spectrum(self, entry, source, k, mode, length):
        """Of k, which is self.k, source, or broadcast from it, as the entry's plan needs it. To be called, and read,
        under _lock."""
        device = k.get_device()
        place = entry.layout, entry.prepared_bytes, device, mode, length, tuple(k.shape), k.dtype
        spectrum, kept = self._spectra.get(place, (None, None))
        state = _state(source)
        if kept is None or (kept.state != state and not (kept.captured == state and is_capturing(device))):
            require_no_capture("conv", device, "a call with this Filter", "it writes what the Filter keeps")
            with _plain():
                if kept is None:
                    spectrum, kept = k.new_empty(entry.prepared_bytes, dtype=torch.uint8), _Kept(entry)
                    self._spectra[place] = spectrum, kept
                kept.write(spectrum, k)
            torch.cuda.current_stream(device).synchronize()
            # The storage's address is no other's as long as there is a reference to it, weak or not.
            kept.state, kept.storage = state, StorageWeakRef(source.untyped_storage())
        kept.reads(spectrum, device)
        return spectrum

    def refresh(self) -> None:
        """Transforms k as it is now into all that is kept, on the current stream of its device, after every stream that
        reads there, and waits for it. It may be captured: then a graph that changes k, as one of a training step,
        transforms it too."""
        with self._lock, _plain():
            k = self.k
            for place, (spectrum, kept) in self._spectra.items():
                if not _is_of(k, place):
                    kept.state = None
                    continue
                kept.write(spectrum, k.detach().expand(place[5]))
                if is_capturing(place[2]):  # nothing is done yet: for the graph's own calls alone it is
                    kept.captured = _state(k)
                else:
                    torch.cuda.current_stream(place[2]).synchronize()
                    kept.state, kept.storage = _state(k), StorageWeakRef(k.untyped_storage())

    def is_current(self) -> bool:
        """Whether all that is kept for such a k is of k as it is now, by a checksum of all of its bits, which overlooks
        one change in 2^33. It reads k once and waits for the device."""
        with self._lock, _plain():
            k, sums = self.k, {}
            for place, (_, kept) in self._spectra.items():
                shape = place[5]
                if not _is_of(k, place):
                    continue
                if shape not in sums:
                    sums[shape] = checksum(k.expand(shape))
                if kept.checksum is None or not torch.equal(sums[shape], kept.checksum):
                    return False
        return True


@contextlib.contextmanager
def _plain():
    """Tensors that are made can be written to in any mode, and have no gradient."""
    with torch.inference_mode(False), torch.no_grad():
        yield


def _state(k):
    """What changes where PyTorch knows that k has."""
    return k.untyped_storage()._cdata, k.data_ptr(), None if k.is_inference() else k._version, k.stride()


def _is_of(k, place):
    """Whether a spectrum's place is for a filter like k."""
    _, _, device, _, _, shape, dtype = place
    return k.ndim == 2 and (k.get_device(), k.dtype, k.shape[1]) == (device, dtype, shape[1]) and (
        k.shape[0] in (1, shape[0]))


class _Kept:
    """What is known of a spectrum: the entry whose plan prepares it, the state and checksum of its filter, the state
    that a graph which is being captured transforms, and the streams that read it."""

    def __init__(self, entry):
        self.entry, self.state, self.captured, self.storage, self.checksum = entry, None, None, None, None
        self.streams = {}

    def write(self, spectrum, k):
        device = spectrum.get_device()
        now = torch.cuda.current_stream(device)
        if not is_capturing(device):
            for stream in self.streams.values():
                now.wait_stream(stream)
            self.state = None  # until it is whole
        prepare(self.entry, spectrum, [k.contiguous()])
        total = checksum(k)
        if self.checksum is None:
            self.checksum = total
        else:
            self.checksum.copy_(total)
        self.reads(spectrum, device)

    def reads(self, spectrum, device):
        """Once for each stream: memory is nobody else's before all of them are done with it. A graph's stream is not
        known; the Filter outlives graphs."""
        stream = torch._C._cuda_getCurrentRawStream(device)
        if stream not in self.streams and not is_capturing(device):
            self.streams[stream] = torch.cuda.current_stream(device)
            record(spectrum, self.streams[stream])


def record(tensor, stream):
    if tensor.is_cuda:
        tensor.record_stream(stream)


def checksum(k):
    """Of the bits of k [H, K], each weighted by its place: int64 [1], on the device of k."""
    bits, (channels, taps) = k.detach().resolve_neg().view(_BITS[k.element_size()]), k.shape
    total, step = bits.new_zeros(1, dtype=torch.int64), max(1, _AT_ONCE // taps)
    of_taps, of_channels = _weights(taps, k.device), _weights(channels, k.device)
    for first in range(0, channels, step):
        rows = (bits[first:first + step] * of_taps).sum(1)
        total += (rows * of_channels[first:first + step]).sum()
    return total


def _weights(count, device):
    """Odd numbers of 64 bits without a pattern, by two steps of SplitMix64."""
    weights = torch.arange(1, count + 1, device=device) * -0x61c8864680b583eb
    weights = (weights ^ (weights >> 30)) * -0x40a7b892e31b1a47
    return (weights ^ (weights >> 27)) * -0x6b2fb644ecceee15 | 1


# A module that gets another tensor under the same name says so where it registers that.

_watched = weakref.WeakSet()
_watching = threading.Lock()
_hooks = []


def _watch(kept):
    with _watching:
        _watched.add(kept)
        if not _hooks:
            _hooks.append(modules.register_module_parameter_registration_hook(_note))
            _hooks.append(modules.register_module_buffer_registration_hook(_note))


def _note(module, name, tensor):
    kinds = [vars(module).get(kind) for kind in ("_parameters", "_buffers")]  # of a scripted module no dictionaries
    before = next((kind[name] for kind in kinds if isinstance(kind, dict) and name in kind), None)
    if before is None or before is tensor:
        return
    with _watching:
        for kept in _watched:
            if kept._k is before:
                kept._replaced = f"{type(module).__name__}.{name}"
