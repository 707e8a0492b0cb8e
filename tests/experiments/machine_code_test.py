"""experiments/machine_code.py: which changes of a source change the digest of its machine code, where nvcc is."""

import concurrent.futures
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "experiments"))

import machine_code  # noqa: E402

NVCC = shutil.which("nvcc", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/cuda/bin"]))
SOURCE = """
template <int n> __global__ void a_kernel(float* x) { x[threadIdx.x] = 3 * x[threadIdx.x] + n; }
template __global__ void a_kernel<1>(float*);
template __global__ void a_kernel<2>(float*);
"""
CHANGED = {
    "as it is": ("k.cu", SOURCE),
    "moved": ("elsewhere/k.cu", SOURCE),
    "commented": ("commented.cu", "// What it does.\n\n" + SOURCE.replace("{", "{ /* here */", 1)),
    "with a header": ("header.cu", '#include "nothing.hpp"' + SOURCE),
    "renamed": ("renamed.cu", SOURCE.replace("a_kernel", "another_kernel")),
    "beside another": ("beside.cu", SOURCE + "__global__ void b_kernel(float* x) { x[0] = 1; }\n"),
    "another": ("another.cu", SOURCE.replace("3 * x", "5 * x")),
    "with more registers": ("registers.cu", SOURCE.replace("x[threadIdx.x] = ", "x[threadIdx.x] = x[threadIdx.x + 1] / ")),
}


@unittest.skipUnless(NVCC, "there is no nvcc")
class MachineCodeTest(unittest.TestCase):
    def made(self, folder, name, text):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        command = f"{NVCC} -arch=sm_90a -O3 -c {path} -o {path.stem}.o"
        return machine_code.kernels_of(machine_code.compiled(command, folder, path.with_suffix(".cubin")))

    def test_only_another_instruction_makes_another_digest(self):
        with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor() as pool:
            folder = Path(name)
            (folder / "nothing.hpp").write_text("inline int unused() { return 1; }\n")
            found = dict(zip(CHANGED, pool.map(lambda change: self.made(folder, *change), CHANGED.values())))
        digests = {name: {said[0] for symbol, said in kernels.items() if "b_kernel" not in symbol}
                   for name, kernels in found.items()}
        now = digests.pop("as it is")
        self.assertEqual(len(now), 2)
        for name in ("moved", "commented", "with a header", "renamed", "beside another"):
            self.assertEqual(digests[name], now, name)
        for name in ("another", "with more registers"):
            self.assertFalse(digests[name] & now, name)
        for kernels in found.values():
            for digest, registers, local_bytes in kernels.values():
                self.assertGreater(registers, 0)
                self.assertEqual(local_bytes, 0)

    @unittest.skipUnless(shutil.which("cuobjdump"), "there is no cuobjdump")
    def test_an_object_file_has_the_same_code(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "k.cu").write_text(SOURCE)
            command = f"{NVCC} -arch=sm_90a -O3 -c k.cu -o k.o"
            subprocess.run(shlex.split(command), cwd=folder, check=True)
            self.assertEqual(machine_code.extracted(command, folder, folder / "extracted"),
                             machine_code.compiled(command, folder, folder / "k.cubin"))

    def test_symbols_of_kernels_say_which_they_are(self):
        symbol = "_ZN6danaus15exchange_kernelILm12ELm3ELNS_4PathE2EEEvNS_8exchange9ArgumentsE"
        self.assertEqual(machine_code.named({symbol: ["abc", 1, 0]}), {"12.3.overhang": ["abc", 1, 0]})


if __name__ == "__main__":
    unittest.main()
