"""A candidate that is a shared library with danaus_candidate() of candidate.h."""

import ctypes
import os

REFUSED = 1
_MAX_RANK = 8


class _Array(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.c_void_p), ("dtype", ctypes.c_char_p),
                ("rank", ctypes.c_int), ("extents", ctypes.c_int64 * _MAX_RANK)]


class Library:
    """The function of a library. It writes to memory of the judge, which has guard words on either side."""

    def __init__(self, path):
        loaded = ctypes.CDLL(os.path.abspath(path))
        try:
            self.function = loaded.danaus_candidate
        except AttributeError as error:
            raise TypeError(f"judge: {path} has no function danaus_candidate; candidate.h of the package declares it"
                            ) from error
        self.function.restype = ctypes.c_int
        self.function.argtypes = [ctypes.c_char_p, ctypes.POINTER(_Array), ctypes.c_size_t, ctypes.c_void_p]

    def __call__(self, case, arrays, adapter):
        """Runs it on arrays by name, inputs and outputs."""
        kinds, list_of = {**case.inputs, **case.outputs}, []
        for name, array in arrays.items():
            dtype, extents, _ = kinds[name]
            list_of.append(_Array(name.encode(), adapter.address(array), dtype.encode(), len(extents),
                                  (ctypes.c_int64 * _MAX_RANK)(*extents)))
        status = self.function(case.token.encode(), (_Array * len(list_of))(*list_of), len(list_of), adapter.stream())
        adapter.synchronize()
        if status == REFUSED:
            raise NotImplementedError("danaus_candidate returned DANAUS_CANDIDATE_REFUSED")
        if status:
            raise RuntimeError(f"danaus_candidate returned {status}")

