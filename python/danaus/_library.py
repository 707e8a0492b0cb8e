"""The library's C interfaces by ctypes: kernels/danaus.h and python/native/study.h, name by name."""

import ctypes
import numbers
import operator
from ctypes import POINTER, byref, c_char, c_char_p, c_int, c_int64, c_size_t, c_uint8, c_void_p
from pathlib import Path

from danaus._version import __version__


class NoDevice(RuntimeError):
    """There is no such CUDA device, or the library was built without CUDA."""


class CudaError(RuntimeError):
    """The CUDA runtime or driver refused a call."""


class InternalError(RuntimeError):
    """An error of the library itself."""


class Interrupted(RuntimeError):
    """The caller of danaus_run has set its stop."""


MAX_RANK = 8  # DANAUS_MAX_RANK


class _Sized(ctypes.Structure):
    """A struct that begins with its size."""

    def __init__(self, **fields):
        super().__init__(size=ctypes.sizeof(type(self)), **fields)


class Array(ctypes.Structure):
    """danaus_array"""
    _fields_ = [("name", c_char_p), ("data", c_void_p), ("bytes", c_size_t)]


class Strides(ctypes.Structure):
    """danaus_strides"""
    _fields_ = [("name", c_char_p), ("row", c_int64), ("channel", c_int64)]


class Call(_Sized):
    """danaus_call"""
    _fields_ = [("size", c_size_t), ("stream", c_void_p), ("batch", c_int64), ("prepared", c_void_p),
                ("prepared_bytes", c_size_t), ("prepared_for", c_char_p), ("workspace", c_void_p),
                ("workspace_bytes", c_size_t), ("vouched", c_int), ("strides", POINTER(Strides)),
                ("stride_count", c_size_t)]


class ArrayInfo(_Sized):
    """danaus_array_info"""
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("dtype", c_char_p), ("role", c_int), ("batched", c_int),
                ("rank", c_int), ("extents", c_int64 * MAX_RANK)]


class Bytes(_Sized):
    """danaus_bytes"""
    _fields_ = [("size", c_size_t), ("prepared", c_int64), ("workspace", c_int64), ("constants", c_int64)]


class SelftestReport(_Sized):
    """danaus_selftest_report"""
    _fields_ = [("size", c_size_t), ("cases", c_int), ("same", c_int), ("differing", c_int), ("absent", c_int),
                ("first", c_char * 256)]


class Claim(_Sized):
    """danaus_claim"""
    _fields_ = [("size", c_size_t), ("arithmetic", c_char_p), ("roundings", c_int), ("results", c_int),
                ("expected", POINTER(Array)), ("expected_count", c_size_t)]


INPUT, OUTPUT = 0, 2  # danaus_role

_SIGNATURES = {
    "danaus_version": (c_char_p, []),
    "danaus_last_error": (c_char_p, []),
    "danaus_device_count": (c_int, []),
    "danaus_plan_create": (c_int, [c_char_p, c_int, c_void_p, c_size_t, POINTER(c_void_p)]),
    "danaus_plan_destroy": (None, [c_void_p]),
    "danaus_plan_description": (c_char_p, [c_void_p]),
    "danaus_plan_kernel": (c_char_p, [c_void_p]),
    "danaus_plan_layout": (c_char_p, [c_void_p]),
    "danaus_plan_bytes": (c_int, [c_void_p, c_int64, POINTER(Bytes)]),
    "danaus_selftest": (c_int, [c_int, POINTER(SelftestReport)]),
    "danaus_selftest_on_executor": (c_int, [POINTER(SelftestReport)]),
    "danaus_case_array": (c_int, [c_char_p, c_int, POINTER(ArrayInfo)]),
    "danaus_prepare": (c_int, [c_void_p, c_void_p, c_size_t, c_void_p]),
    "danaus_execute": (c_int, [c_void_p, c_void_p, c_size_t, c_void_p]),
    "danaus_whole_call": (c_int, [c_void_p, c_void_p, c_size_t, c_void_p]),
    "danaus_allocate": (c_int, [c_int, c_size_t, POINTER(c_void_p)]),
    "danaus_free": (None, [c_void_p]),
    "danaus_copy_to_device": (c_int, [c_int, c_void_p, c_void_p, c_size_t]),
    "danaus_copy_to_host": (c_int, [c_int, c_void_p, c_void_p, c_size_t]),
    "danaus_plan_create_on_executor": (c_int, [c_char_p, POINTER(c_void_p)]),
    "danaus_case_mask": (c_int, [c_char_p, c_void_p, c_size_t, POINTER(c_size_t)]),
    "danaus_case_bytes": (c_int, [c_char_p, c_int, POINTER(Bytes)]),
    "danaus_case_layout": (c_int, [c_char_p, c_int, POINTER(c_void_p)]),
    "danaus_case_asked": (c_int, [c_char_p, POINTER(c_void_p)]),
    "danaus_token_fields": (c_int, [c_char_p, POINTER(c_void_p)]),
    "danaus_case_masked": (c_int, [c_char_p, c_void_p, c_size_t, POINTER(c_void_p)]),
    "danaus_compute": (c_int, [c_char_p, c_char_p, POINTER(Array), c_size_t]),
    "danaus_text_data": (c_char_p, [c_void_p]),
    "danaus_text_destroy": (None, [c_void_p]),
    "danaus_judge": (c_int, [c_char_p, c_char_p, c_void_p, POINTER(Array), c_size_t, POINTER(c_void_p)]),
    "danaus_judge_claim": (c_int, [c_char_p, POINTER(Claim), POINTER(Array), c_size_t, POINTER(c_void_p)]),
    "danaus_run": (c_int, [POINTER(c_char_p), c_size_t, POINTER(c_int), POINTER(c_void_p)]),
}


def _load(path):
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        raise ImportError(f"danaus: the library {path} cannot be loaded: {error}; pip install makes it") from error
    for name, (result, arguments) in _SIGNATURES.items():
        try:
            function = getattr(loaded, name)
        except AttributeError as error:
            raise ImportError(f"danaus: {path} has no {name}: it is of another version than {__version__}") from error
        function.restype, function.argtypes = result, arguments
    version = loaded.danaus_version().decode()
    if version != __version__:
        raise ImportError(f"danaus: {path} is of version {version}, the package of {__version__}; install both again")
    return loaded


library = _load(Path(__file__).with_name("libdanaus_python.so"))

_ERRORS = {1: ValueError, 2: NoDevice, 3: MemoryError, 4: CudaError, 5: InternalError, 6: Interrupted}


def check(status):
    """Raises what a danaus_status other than DANAUS_OK says, with the library's own words."""
    if status:
        raise _ERRORS.get(status, InternalError)(library.danaus_last_error().decode(errors="replace"))


def encoded(operation, what, word):
    """A word for the library. Raises TypeError where it is none, ValueError where C would end it early."""
    if not isinstance(word, str):
        raise TypeError(f"{operation}: {what} is a {type(word).__name__}, must be a str")
    try:
        if "\0" not in word:
            return word.encode()
    except UnicodeEncodeError:
        pass
    raise ValueError(f"{operation}: {what} {word[:80]!r} has a character that no word has")


def is_whole(number):
    """Of Python or NumPy."""
    return isinstance(number, numbers.Integral) and not isinstance(number, bool)


def whole(operation, what, number, least, most):
    """A number for the library, of whose range ctypes asks nothing."""
    number = operator.index(number)
    if not least <= number <= most:
        raise ValueError(f"{operation}: {what}={number}, must be from {least} to {most}")
    return number


def text_of(handle):
    """The words of a danaus_text, which is destroyed."""
    try:
        return library.danaus_text_data(handle).decode()
    finally:
        library.danaus_text_destroy(handle)


def arrays_of(token):
    """The ArrayInfo of every array of a case, in its order."""
    infos = []
    while True:
        info = ArrayInfo()
        if library.danaus_case_array(token.encode(), len(infos), byref(info)):
            break
        infos.append(info)
    if not infos:  # the token is none: its own error
        check(library.danaus_case_array(token.encode(), 0, byref(ArrayInfo())))
    return infos


def mask_of(token):
    """What danaus_plan_create takes as kept, as (c_uint8 array or None, count)."""
    count = c_size_t()
    check(library.danaus_case_mask(token.encode(), None, 0, byref(count)))
    if count.value == 0:
        return None, 0
    kept = (c_uint8 * count.value)()
    check(library.danaus_case_mask(token.encode(), kept, count.value, byref(count)))
    return kept, count.value


def layout_of(token, device=None):
    """The layout of what a case's plan prepares, which need not exist; without a device on an H100 or H200."""
    layout = c_void_p()
    check(library.danaus_case_layout(token.encode(), -1 if device is None else device, byref(layout)))
    return text_of(layout)


def prepared_bytes_of(token, device=None):
    """What that plan prepares of its filters."""
    found = Bytes()
    check(library.danaus_case_bytes(token.encode(), -1 if device is None else device, byref(found)))
    return found.prepared


def device_count():
    """CUDA devices that the library sees; 0 without a driver, or where it was built without CUDA."""
    return library.danaus_device_count()
