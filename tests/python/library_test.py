"""What leaves the library of the Python package, what it needs, and how the package refuses another one.

  PYTHONPATH=BUILD/python library_test.py LIBRARY [unittest's own arguments]
"""

import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import danaus
from danaus import _library

ROOT = Path(__file__).resolve().parents[2]


def declared(header):
    return set(re.findall(r"DANAUS_API [\w* ]*?(danaus_\w+)\(", (ROOT / header).read_text()))


class Library(unittest.TestCase):
    def test_only_the_c_interfaces_leave_it(self):
        symbols = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True)
        exported = {line.split()[-1] for line in symbols.stdout.splitlines()}
        sanitizers = {name for name in exported if not name.startswith("danaus_") and "san" in name}
        self.assertEqual(exported - sanitizers,
                         declared("kernels/danaus.h") | declared("python/native/study.h"))

    def test_python_knows_every_function(self):
        self.assertEqual(set(_library._SIGNATURES),
                         declared("kernels/danaus.h") | declared("python/native/study.h"))

    def test_it_needs_neither_recordings_nor_a_gpus_libraries(self):
        needed = subprocess.run(["readelf", "-d", LIBRARY], capture_output=True, text=True, check=True).stdout
        self.assertIn("NEEDED", needed)
        for library in ("sndfile", "cufft", "cudart", "libcuda"):
            self.assertNotRegex(needed, f"NEEDED.*{library}")

    def test_what_a_plan_would_need(self):
        for operation in ("fftconv", "fftconvgrad"):
            token = operation + "_f16_causal_l256_b2_h3"
            plan = danaus.Plan(token)
            self.assertEqual(_library.layout_of(token), plan.layout)
            self.assertEqual(_library.prepared_bytes_of(token), plan.bytes()["prepared"])
            self.assertEqual(_library.mask_of(token), (None, 0))

    def test_null_is_no_crash(self):
        library = _library.library
        for name, (result, arguments) in _library._SIGNATURES.items():
            if result is ctypes.c_int and arguments and name != "danaus_device_count":
                nothing = [kind() if kind in (ctypes.c_int, ctypes.c_size_t, ctypes.c_int64) else None
                           for kind in arguments]
                self.assertNotEqual(getattr(library, name)(*nothing), 0, name)
                self.assertIn("null", library.danaus_last_error().decode(), name)

    def test_structs_have_the_library_s_sizes(self):
        header = (ROOT / "kernels/danaus.h").read_text() + (ROOT / "python/native/study.h").read_text()
        self.assertEqual(_library.MAX_RANK, int(re.search(r"#define DANAUS_MAX_RANK (\d+)", header).group(1)))
        for struct in ("Call", "ArrayInfo", "Bytes", "SelftestReport", "Claim"):
            named = re.search(rf"typedef struct \w+ {{([^}}]*)}} {getattr(_library, struct).__doc__};", header).group(1)
            fields = re.findall(r"(\w+)(?:\[\w+\])?;", re.sub(r"/\*.*?\*/", "", named, flags=re.DOTALL))
            self.assertEqual([field for field, _ in getattr(_library, struct)._fields_], fields, struct)
            self.assertEqual(getattr(_library, struct)().size, ctypes.sizeof(getattr(_library, struct)))
        self.assertRegex(header, r"danaus_strides \{\s+const char\* name;\s+int64_t row;\s+int64_t channel;\s+\}")
        self.assertEqual([field for field, _ in _library.Strides._fields_], ["name", "row", "channel"])

    def test_arrays_of_any_rank(self):
        plan = danaus.Plan("spectral_f32_complex_b1_c2x2_l16x16_m4x4")
        self.assertEqual(plan.arrays, {"u": ("float32", (1, 2, 16, 16, 2)), "w": ("float32", (2, 2, 4, 4, 2)),
                                       "y": ("float32", (1, 2, 16, 16, 2))})

    def test_another_version_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            package = Path(folder) / "danaus"
            shutil.copytree(Path(_library.__file__).parent, package)

            def imported():
                return subprocess.run([sys.executable, "-B", "-c", "import danaus"], cwd=folder, capture_output=True,
                                      text=True, env={**os.environ, "PYTHONPATH": folder}).stderr

            self.assertEqual(imported(), "")
            (package / "_version.py").write_text('__version__ = "0.0.9"\n')
            self.assertIn(f"is of version {danaus.__version__}, the package of 0.0.9", imported())
            (package / Path(LIBRARY).name).unlink()
            self.assertIn("ImportError: danaus: the library", imported())
            (package / Path(LIBRARY).name).write_text("no library")
            self.assertIn("ImportError: danaus: the library", imported())


if __name__ == "__main__":
    LIBRARY = sys.argv.pop(1)
    unittest.main()
