"""The program as a process: what signals leave of its files, and what two of it do to one.

  program_test.py PROGRAM [unittest's own arguments]
"""

import fcntl
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LENGTH = 1 << 20  # a direct sum of 10^12 products, which takes minutes


def npy_of_ones(length):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({length},), }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack("<f", 1) * length


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def names(self):
        return sorted(os.listdir(self.folder))

    def long_sum(self):
        """A convolve that has begun to compute."""
        (self.folder / "u.npy").write_bytes(npy_of_ones(LENGTH))
        process = subprocess.Popen([PROGRAM, "convolve", "u.npy", "u.npy", "-o", "y.npy", "--method", "direct"],
                                   cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        for line in process.stderr:
            if line.startswith("  rows kept"):  # the last of the configuration
                return process
        self.fail(f"it ended: exit code {process.wait()}")

    def test_an_interrupt_is_heard_and_leaves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.long_sum()
            self.assertIn(f"y.npy.part{process.pid}", self.names())
            process.send_signal(number)
            self.assertEqual(process.wait(), 130)
            self.assertIn("interrupted, nothing was written", process.stderr.read())
            self.assertEqual(self.names(), ["u.npy"])

    def test_a_limit_of_file_sizes_is_an_error_and_leaves_nothing(self):
        (self.folder / "u.npy").write_bytes(npy_of_ones(1 << 16))
        (self.folder / "k.npy").write_bytes(npy_of_ones(2))
        ran = subprocess.run([PROGRAM, "convolve", "u.npy", "k.npy", "-o", "y.npy"], cwd=self.folder,
                             capture_output=True, text=True,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
        self.assertEqual(ran.returncode, 2, ran.stderr)
        self.assertIn("danaus: cannot write y.npy: File too large", ran.stderr)
        self.assertEqual(self.names(), ["k.npy", "u.npy"])

    def test_a_second_signal_ends_it_at_once_and_leaves_nothing(self):
        process = self.long_sum()
        process.send_signal(signal.SIGSTOP)  # so that both wait for it
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCONT):
            process.send_signal(number)
        self.assertIn(process.wait(), (-signal.SIGINT, -signal.SIGTERM))
        self.assertEqual(self.names(), ["u.npy"])

    def test_a_file_that_another_process_writes_to_is_refused(self):
        rows = self.folder / "rows.jsonl"
        command = [PROGRAM, "verify", "--case", "fftconv_f64_causal_l8_b1_h1", "--method", "fftw", "--json", rows]
        with open(rows, "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            ran = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(ran.returncode, 2)
            self.assertIn(f"danaus: cannot write {rows}: another process is writing to it\n", ran.stderr)
        self.assertEqual(rows.read_text(), "")
        self.assertEqual(subprocess.run(command, capture_output=True).returncode, 0)
        self.assertEqual(len(rows.read_text().splitlines()), 1)


class Readme(unittest.TestCase):
    def test_examples_make_the_arrays_that_they_read(self):
        """In each block that makes some: k.npy, u.npy."""
        text = (Path(__file__).parents[2] / "experiments/README.md").read_text()
        blocks = [block for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) if "np.save(" in block]
        self.assertTrue(blocks)
        for block in blocks:
            made = set(re.findall(r"np\.save\('(\w+\.npy)'", block)) | set(re.findall(r"-o (\w+\.npy)", block))
            self.assertEqual(set(re.findall(r"\w+\.npy", block)) - made, set())


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
