"""Arrays of NumPy and of other libraries as memory: where they lie, of what type, and who keeps them alive.

Others come by DLPack (__dlpack__) or by __cuda_array_interface__; nothing is copied.
"""

import ctypes
import sys
from ctypes import c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p, POINTER, py_object

import numpy as np

SIZES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}  # the words of tokens
WORDS = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}
NAMES = {word: name for name, word in WORDS.items()}
_BITS = {"f16": np.float16, "bf16": np.uint16, "f32": np.float32, "f64": np.float64}


class View:
    """Memory of an array.

    dtype is a token's word (f16, bf16, f32, f64), device None for the host, or a CUDA ordinal; stream is that on which
    the owner says that it writes the array, or None; strides are samples from one row of [B, H, L] to the next of the
    batch, and to the next channel's, or None where memory is contiguous.
    """

    def __init__(self, name, data, dtype, shape, device, owner, stream=None, readonly=False, strides=None):
        self.name, self.data, self.dtype, self.shape, self.device = name, data, dtype, tuple(shape), device
        self.owner, self.stream, self.readonly, self.strides = owner, stream, readonly, strides

    @property
    def samples(self):
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def bytes(self):
        """From the first sample to behind the last one."""
        samples = self.samples
        if self.strides and samples:
            samples = sum((extent - 1) * stride for extent, stride in zip(self.shape, self.strides)) + self.shape[2]
        return SIZES[self.dtype] * samples

    def overlaps(self, other):
        return (self.device == other.device and self.data < other.data + other.bytes
                and other.data < self.data + self.bytes)

    def is_finite(self, columns=None):
        """Of memory of the host: whether no sample is NaN or infinite, in so many columns or all."""
        array = self.numpy()[..., :columns]
        return bool(((array & 0x7f80) != 0x7f80).all() if self.dtype == "bf16" else np.isfinite(array).all())

    def numpy(self):
        """The memory of the host as an array; bfloat16 as its bits, uint16."""
        if self.samples == 0:
            return np.empty(self.shape, _BITS[self.dtype])
        memory = np.frombuffer((c_uint8 * self.bytes).from_address(self.data), _BITS[self.dtype])
        if self.strides:
            strides = [memory.itemsize * stride for stride in (*self.strides, 1)]
            return np.lib.stride_tricks.as_strided(memory, self.shape, strides)
        return memory.reshape(self.shape)


def doubles(array, dtype):
    """An array of the host as float64, exactly; bits of bfloat16 where dtype is bf16."""
    if dtype == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64)


def from_doubles(values, dtype):
    """The other way round, of values that the type can hold."""
    if dtype == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(_BITS[dtype])


def view(operation, name, array, dtype=None, copy=True, stream=None, strided=False):
    """The array as a View. dtype "bfloat16" says what uint16 stand for. Where NumPy's memory is not contiguous it is
    copied or, without copy, refused; strided: rows of three axes may have strides. stream is that on which a GPU's
    memory is to be read and written, None the default one. Raises TypeError for what is no array of a type that there
    is, ValueError for memory that is not contiguous."""
    if isinstance(array, np.ndarray):
        return _of_numpy(operation, name, array, dtype, copy, strided)
    if hasattr(array, "__dlpack__"):
        return _of_dlpack(operation, name, array, dtype, stream, strided)
    if hasattr(array, "__cuda_array_interface__"):
        return _of_cuda(operation, name, array, dtype, strided)
    raise TypeError(f"{operation}: {name} is a {type(array).__name__}, must be an array: of NumPy, or with __dlpack__ "
                    "or __cuda_array_interface__")


def empty_like(operation, array, shape=None, dtype=None):
    """A contiguous array like another that was viewed, to be written to: of NumPy by NumPy, and so on; of another shape
    and type where they are named."""
    if isinstance(array, np.ndarray):
        return np.empty(array.shape if shape is None else shape, dtype or array.dtype)
    library = sys.modules.get(type(array).__module__.partition(".")[0])
    make = getattr(library, "empty_like", None)
    if make is None:
        raise TypeError(f"{operation}: a {type(array).__name__} cannot be written to; give out=, an array that can")
    if shape is None:
        return make(array)
    if hasattr(array, "new_empty"):  # PyTorch
        return array.new_empty(shape, dtype=dtype and getattr(library, dtype))
    return make(array, dtype=dtype, shape=shape)


def follow_default_stream(view):
    """Makes the current stream of a GPU array's library, PyTorch or CuPy, wait for CUDA's default one."""
    array = view.owner[0] if isinstance(view.owner, tuple) else view.owner
    if view.device is None:
        return
    # The array's class may be another module's, and a subclass of the library's.
    libraries = [sys.modules.get(of.__module__.partition(".")[0]) for of in type(array).__mro__]
    of_cuda = next((library.cuda for library in libraries if hasattr(library, "cuda")), None)
    if hasattr(of_cuda, "default_stream"):  # PyTorch
        of_cuda.current_stream(view.device).wait_stream(of_cuda.default_stream(view.device))
    elif hasattr(of_cuda, "get_current_stream"):  # CuPy
        with of_cuda.Device(view.device):
            of_cuda.get_current_stream().wait_event(of_cuda.Stream.null.record())


def refuse_masked(operation, name, array):
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{operation}: {name} is a masked array, must be one without a mask; {name}.filled(0) has 0 "
                        "where it is masked")


def _word(operation, name, of, dtype, conversion=""):
    if of == "uint16" and dtype == "bfloat16":
        return "bf16"
    if of not in WORDS:
        raise TypeError(f"{operation}: {name} is {of}, must be one of {', '.join(WORDS)}"
                        f"{'; ' if conversion else ''}{conversion}")
    return WORDS[of]


def _conversion(name, dtype):
    """How NumPy makes such an array one of a type that there is."""
    if dtype == np.uint16 or (dtype.kind == "V" and dtype.names is None and dtype.itemsize == 2):
        bits = f"{name}.view(np.uint16)" if dtype.kind == "V" else name
        number = "" if dtype.kind == "V" else f", of numbers {name}.astype(np.float32)"
        return f"of bfloat16's bits give {bits} with dtype=\"bfloat16\"{number}"
    if not dtype.isnative and dtype.newbyteorder("=").name in WORDS:
        return f"of big-endian samples give {name}.astype({name}.dtype.newbyteorder('='))"
    if dtype.kind == "c":
        return f"give {name}.real and {name}.imag apart"
    return f"give {name}.astype(np.{'float32' if dtype.kind in 'biu' else 'float64'})" if dtype.kind in "biufO" else ""


def _of_numpy(operation, name, array, dtype, copy, strided):
    refuse_masked(operation, name, array)
    word = _word(operation, name, array.dtype.name if array.dtype.isnative else str(array.dtype), dtype,
                 _conversion(name, array.dtype))
    strides = None
    if not array.flags.aligned or (not array.flags.c_contiguous and copy):
        if not copy:
            raise ValueError(f"{operation}: {name} is not aligned, must be")
        array = np.array(array, order="C")
    elif not array.flags.c_contiguous:
        whole = all(stride % array.itemsize == 0 for stride in array.strides)
        of_samples = [stride // array.itemsize for stride in array.strides]
        strides = _strides_of_rows(operation, name, array.shape, of_samples, strided and whole)
    return View(name, array.ctypes.data, word, array.shape, None, array, readonly=not array.flags.writeable,
                strides=strides)


def _of_cuda(operation, name, array, dtype, strided):
    interface = array.__cuda_array_interface__
    of = np.dtype(interface["typestr"])
    word = _word(operation, name, of.name if of.isnative else str(of), dtype, _conversion(name, of))
    shape, strides = interface["shape"], interface.get("strides")
    if strides is not None:
        of_samples = [stride // of.itemsize for stride in strides]
        strides = _strides_of_rows(operation, name, shape, of_samples, strided)
    data, readonly = interface["data"]
    # Of device 0 or any other: the library asks CUDA where the memory lies.
    device = getattr(getattr(array, "device", None), "id", 0)
    return View(name, data, word, shape, device, array, interface.get("stream"), readonly, strides)


def _strides_of_rows(operation, name, shape, strides, strided):
    """What a View has, of strides in samples."""
    expected, contiguous = 1, True
    for extent, stride in zip(reversed(shape), reversed(strides)):
        contiguous &= extent <= 1 or stride == expected
        expected *= extent
    if contiguous:
        return None
    if not strided or len(shape) != 3:
        raise ValueError(f"{operation}: {name} has strides {tuple(strides)}, must be contiguous")
    # An axis of one index may have any stride.
    channel = strides[1] if shape[1] > 1 else shape[2]
    row = strides[0] if shape[0] > 1 else shape[1] * channel
    if (shape[2] > 1 and strides[2] != 1) or row < 1 or channel < 1:
        raise ValueError(f"{operation}: {name} has strides {tuple(strides)}, must be contiguous, or contiguous "
                         "rows, one after the other")
    return row, channel


# DLPack 0.8, dlpack.h: the tensor in a capsule "dltensor", which is renamed by who takes it over.

class _Tensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("rank", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


class _Managed(ctypes.Structure):
    pass


_Managed._fields_ = [("tensor", _Tensor), ("context", c_void_p),
                     ("deleter", ctypes.CFUNCTYPE(None, POINTER(_Managed)))]

_HOST, _CUDA, _CUDA_HOST, _CUDA_MANAGED = 1, 2, 3, 13
_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = c_void_p, [py_object, c_char_p]
_rename = ctypes.pythonapi.PyCapsule_SetName
_rename.restype, _rename.argtypes = ctypes.c_int, [py_object, c_char_p]
_USED = b"used_dltensor"  # which the capsule keeps a pointer to


class _Taken:
    """A tensor that was taken over from its capsule; given back with the last view of it."""

    def __init__(self, operation, name, capsule):
        try:
            pointer = _pointer_of(capsule, b"dltensor")
        except ValueError as error:
            raise ValueError(f"{operation}: {name} gives a {type(capsule).__name__} for its memory, must be a capsule "
                             "of DLPack that nobody has taken") from error
        self.managed = ctypes.cast(pointer, POINTER(_Managed))
        _rename(capsule, _USED)

    def __del__(self):
        managed = getattr(self, "managed", None)
        if managed and managed.contents.deleter:
            managed.contents.deleter(managed)


def _answer(operation, name, array, question, **options):
    """Of the owner, who may refuse."""
    try:
        return getattr(array, question)(**options)
    except (BufferError, RuntimeError, ValueError) as error:
        raise ValueError(f"{operation}: {name}, a {type(array).__name__}, does not give its memory: {error}") from error


def _of_dlpack(operation, name, array, dtype, stream, strided):
    where = _answer(operation, name, array, "__dlpack_device__")
    try:
        kind, ordinal = map(int, where)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{operation}: {name} says that its device is {where!r}, must be DLPack's kind and number"
                         ) from error
    if kind not in (_HOST, _CUDA, _CUDA_HOST, _CUDA_MANAGED):
        raise ValueError(f"{operation}: {name} is on a device of DLPack's kind {kind}, must be of the host or CUDA")
    if hasattr(array, "is_neg") and array.is_neg():  # PyTorch exports its memory nevertheless
        raise ValueError(f"{operation}: {name} is a negation that is not computed yet, must be resolve_neg() of it")
    on_device = kind in (_CUDA, _CUDA_MANAGED)
    # The owner orders its work before what comes on the stream, of which 1 is CUDA's default.
    taken = _Taken(operation, name, _answer(operation, name, array, "__dlpack__", **({"stream": stream or 1} if on_device else {})))
    tensor = taken.managed.contents.tensor
    if tensor.lanes != 1:
        raise TypeError(f"{operation}: {name} has vectors of {tensor.lanes} for elements, must have numbers")
    of = f"{_CODES.get(tensor.code, f'DLPack type {tensor.code} ')}{tensor.bits}"
    word = _word(operation, name, of, dtype, "of bfloat16's bits give dtype=\"bfloat16\" too" if of == "uint16" else
                 "convert it to one of these")
    shape, strides = tensor.shape[:tensor.rank], None
    if tensor.strides:
        strides = _strides_of_rows(operation, name, shape, tensor.strides[:tensor.rank], strided)
    return View(name, (tensor.data or 0) + tensor.byte_offset, word, shape, ordinal if on_device else None,
                (array, taken), strides=strides)
