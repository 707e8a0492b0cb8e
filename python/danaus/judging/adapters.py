"""Arrays of a candidate's library: from float64 and back, laid out as views or between guard words."""

import numpy as np

from danaus import _arrays

GUARD, WORD = 64, 12288.0  # guard words on either side of an array, and their value, which every type has
COMPLEX = {"f32": "complex64", "f64": "complex128"}
LAYOUTS = ("plain", "strided", "transposed", "offset")


class NumPy:
    """Arrays of the host; bfloat16 where ml_dtypes is installed."""

    name, device = "numpy", "cpu"

    def __init__(self, device="cpu"):
        if device != "cpu":
            raise ValueError(f"judge: device {device!r} of NumPy's arrays, must be cpu")
        self.types = {"f16": np.dtype("float16"), "f32": np.dtype("float32"), "f64": np.dtype("float64")}
        try:
            import ml_dtypes
            self.types["bf16"] = np.dtype(ml_dtypes.bfloat16)
        except ImportError:
            pass
        self.complex = {word: np.dtype(name) for word, name in COMPLEX.items()}

    @property
    def version(self):
        return f"numpy {np.__version__}"

    def make(self, values, dtype, is_complex=False):
        if is_complex:
            pairs = np.ascontiguousarray(values.astype(_arrays.NAMES[dtype]))
            return pairs.view(self.complex[dtype])[..., 0]
        return values.astype(self.types[dtype])

    def read(self, array):
        """float64; complex numbers as a last extent of 2."""
        array = np.asarray(array)
        if array.dtype.kind == "c":
            return np.stack([array.real, array.imag], -1).astype(np.float64)
        return array.astype(np.float64)

    def bits(self, array):
        return np.ascontiguousarray(array).tobytes()

    def complaint(self, array, dtypes, is_complex):
        """Which rule of type, device or dtype an output breaks; dtypes may be several. None for none."""
        if not isinstance(array, np.ndarray):
            return f"is a {type(array).__name__}, must be an array of NumPy"
        allowed = [self.complex[each] if is_complex else self.types[each] for each in dtypes]
        if array.dtype not in allowed:
            return f"is {array.dtype}, must be {' or '.join(map(str, dict.fromkeys(allowed)))}"
        return None

    def word_of(self, array):
        """The token's word for the type of an array's parts."""
        return next(word for word, of in [*self.types.items(), *self.complex.items()] if of == array.dtype)

    def empty(self, count, like):
        return np.empty(count, like.dtype)

    def fill(self, array, values):
        array[...] = values

    def spoil(self, array):
        """Writes bits that are NaN in every type."""
        array.view(np.uint8).fill(255)

    def overlaps(self, one, other):
        return np.shares_memory(one, other)

    def address(self, array):
        return array.ctypes.data

    def stream(self):
        return None

    def new_stream(self):
        """A context in which another stream of the device is current; None of the host."""
        return None

    def synchronize(self):
        pass


class Host(NumPy):
    """Arrays of the host for a library in C; bfloat16 as its bits."""

    name = "host"

    def __init__(self, device="cpu"):
        super().__init__(device)
        self.types["bf16"] = np.dtype("uint16")

    def make(self, values, dtype, is_complex=False):
        return _arrays.from_doubles(values, "bf16") if dtype == "bf16" else super().make(values, dtype, is_complex)

    def read(self, array):
        return _arrays.doubles(array, "bf16") if array.dtype == np.uint16 else super().read(array)

    def fill(self, array, values):
        if array.dtype == np.uint16 and not isinstance(values, np.ndarray):
            values = _arrays.from_doubles(np.array(values), "bf16")
        array[...] = values


class Torch:
    """Tensors of PyTorch, on the CPU or a CUDA device."""

    name = "torch"

    def __init__(self, device="cpu"):
        import torch
        self.torch, self.device = torch, torch.device(device)
        self.types = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}
        self.complex = {"f32": torch.complex64, "f64": torch.complex128}

    @property
    def version(self):
        return f"torch {self.torch.__version__}"

    def make(self, values, dtype, is_complex=False):
        tensor = self.torch.from_numpy(np.array(values, np.float64, order="C")).to(self.types[dtype]).to(self.device)
        return self.torch.view_as_complex(tensor) if is_complex else tensor

    def read(self, tensor):
        tensor = tensor.detach()
        if tensor.is_complex():
            tensor = self.torch.view_as_real(tensor.resolve_conj())
        return tensor.double().cpu().numpy().copy()

    def bits(self, tensor):
        return self.read(tensor).tobytes()

    def complaint(self, tensor, dtypes, is_complex):
        if not isinstance(tensor, self.torch.Tensor):
            return f"is a {type(tensor).__name__}, must be a tensor of PyTorch"
        if tensor.device.type != self.device.type:
            return f"is on {tensor.device}, must be on {self.device}"
        allowed = [self.complex[each] if is_complex else self.types[each] for each in dtypes]
        if tensor.dtype not in allowed:
            return f"is {tensor.dtype}, must be {' or '.join(map(str, dict.fromkeys(allowed)))}"
        return None

    word_of = NumPy.word_of

    def empty(self, count, like):
        return self.torch.empty(count, dtype=like.dtype, device=like.device)

    def fill(self, tensor, values):
        with self.torch.no_grad():
            tensor.copy_(values) if isinstance(values, self.torch.Tensor) else tensor.fill_(values)

    def spoil(self, tensor):
        tensor.view(self.torch.uint8).fill_(255)

    def overlaps(self, one, other):
        return one.numel() > 0 and one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()

    def address(self, tensor):
        return tensor.data_ptr()

    def stream(self):
        return self.torch.cuda.current_stream(self.device).cuda_stream if self.device.type == "cuda" else None

    def new_stream(self):
        cuda = self.torch.cuda
        return cuda.stream(cuda.Stream(self.device)) if self.device.type == "cuda" else None

    def synchronize(self):
        if self.device.type == "cuda":
            self.torch.cuda.synchronize(self.device)


class CuPy(NumPy):
    """Arrays of CuPy on a CUDA device."""

    name = "cupy"

    def __init__(self, device="cuda"):
        import cupy
        super().__init__()
        self.cupy, self.device = cupy, device
        self.types.pop("bf16", None)

    @property
    def version(self):
        return f"cupy {self.cupy.__version__}"

    def make(self, values, dtype, is_complex=False):
        return self.cupy.asarray(super().make(values, dtype, is_complex))

    def read(self, array):
        return super().read(self.cupy.asnumpy(array))

    def bits(self, array):
        return self.cupy.asnumpy(array).tobytes()

    def complaint(self, array, dtypes, is_complex):
        if not isinstance(array, self.cupy.ndarray):
            return f"is a {type(array).__name__}, must be an array of CuPy"
        return super().complaint(np.empty(0, array.dtype), dtypes, is_complex)

    def empty(self, count, like):
        return self.cupy.empty(count, like.dtype)

    def overlaps(self, one, other):
        return self.cupy.shares_memory(one, other)

    def address(self, array):
        return array.data.ptr

    def stream(self):
        return self.cupy.cuda.get_current_stream().ptr

    def new_stream(self):
        return self.cupy.cuda.Stream(non_blocking=True)

    def synchronize(self):
        self.cupy.cuda.Device().synchronize()


LIBRARIES = {"numpy": NumPy, "torch": Torch, "cupy": CuPy, "host": Host}


def adapter_of(arrays, device):
    if arrays not in LIBRARIES:
        raise ValueError(f"judge: arrays {arrays!r}, must be one of {', '.join(LIBRARIES)}")
    return LIBRARIES[arrays](device or ("cuda" if arrays == "cupy" else "cpu"))


class Guarded:
    """An array in a slab of memory, with guard words before and behind it, and between its numbers where it is strided.

    layout   "plain": contiguous; "offset": one number behind an aligned address; "strided": every second number of
             memory; "transposed": another axis is the last in memory
    """

    def __init__(self, adapter, array, layout="plain"):
        self.adapter = adapter
        step, first = (2 if layout == "strided" else 1), GUARD + (layout == "offset")
        shape = tuple(array.shape)
        if layout == "transposed" and len(shape) > 1:
            shape = (*shape[:-2], shape[-1], shape[-2])
        count = int(np.prod(shape))
        self.slab = adapter.empty(2 * GUARD + 1 + step * count, array)
        adapter.fill(self.slab, WORD)
        self.places = slice(first, first + step * count, step)
        view = self.slab[self.places].reshape(shape) if step * count else self.slab[:0].reshape(shape)
        if layout == "transposed" and len(shape) > 1:
            view = view.swapaxes(-1, -2)
        adapter.fill(view, array)
        self.view = view

    def is_intact(self):
        """Whether the guard words are what they were."""
        slab = self.adapter.read(self.slab)
        inside = np.zeros(len(slab), bool)
        inside[self.places] = True
        return bool((slab[~inside] == (WORD if slab.ndim == 1 else (WORD, 0))).all())
