"""Pages whose blocks of shell commands run from top to bottom: every ```sh block, in order, in one scratch folder. And
sizes that pages state, against those of the program.

  tutorials_test.py DANAUS     the program; without it the tests are skipped (77)

Blocks ```console are for a GPU or a compiler and do not run. The scratch folder holds copies or links of the sources
that a page reads, so that a page may edit a file.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What each page must print.
PAGES = {
    "README.md": r"largest batch",
    "docs/quickstart.md": r"(?m)^kernel passed 0\.",
    "docs/tokens.md": r"ssmconv_f16_s4_l256_b2_h2 +kernel .*passed",
    "docs/tutorials/write-a-kernel.md": r"(?m)^ +/\*  4096 \*/.*kChosen.*\{ 4,  2,  2,",  # the edited line
    "docs/tutorials/study-a-cost-model.md": r"(?m)^order 4: \d+ kernels",
    "docs/tutorials/explore-sparsity.md": r"(?m)^SNR [3-9]\d\.\d dB$",  # at least 30 dB, as asked
    "docs/judge.md": r"(?s)fftconv_f32_causal, numpy: failed.*numpy: passed.*host: passed.*beaten by",
}
PROGRAM = None


def commands(page):
    blocks = re.findall(r"^```sh\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return "set -euo pipefail\n" + "\n".join(blocks)


class Tutorials(unittest.TestCase):
    def run_page(self, page):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("experiments", "model", "plots", "python", "reference"):
                os.symlink(ROOT / name, Path(folder, name))
            shutil.copytree(ROOT / "kernels", Path(folder, "kernels"))
            shim = Path(folder, "bin", "python3")  # pages say python3, and mean one that has NumPy
            shim.parent.mkdir()
            shim.write_text(f'#!/bin/sh\nexec {sys.executable} -B "$@"\n')
            shim.chmod(0o755)
            environment = {**os.environ, "PATH": f"{shim.parent}:{PROGRAM.parent}:{os.environ['PATH']}",
                           "PYTHONPATH": str(PROGRAM.parent / "python")}
            done = subprocess.run(["bash", "-c", commands(page)], cwd=folder, env=environment, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, 0, done.stdout[-3000:])
            return done.stdout

    def test_each_page_runs(self):
        for page, printed in PAGES.items():
            with self.subTest(page):
                self.assertRegex(commands(page), r"danaus[ .]")
                self.assertRegex(self.run_page(page), printed)

    def test_the_page_of_tokens_is_what_help_prints(self):
        page = (ROOT / "docs/tokens.md").read_text(encoding="utf-8")
        first, last = "written by danaus help tokens --markdown -->\n\n", "<!-- End of operations and fields -->"
        self.assertEqual(page.partition(first)[2].partition(last)[0], run("help", "tokens", "--markdown").stdout)

    def test_sizes_are_those_of_the_program(self):
        kernels, sizes = (ROOT / "docs/kernels.md").read_text(encoding="utf-8"), {}
        for row in map(json.loads, run("list", "kernels", "--json", "-").stdout.splitlines()):
            sizes.setdefault(row["kernel"].split("_")[0], set()).add(int(row["N"]))
        for family in ("chain", "exchange"):
            least, most = short(min(sizes[family])), short(max(sizes[family]))
            self.assertRegex(kernels, rf"\| `{family}` .*\| {least} to {most} \|")
        self.assertRegex(kernels, rf"\| `cluster` .*\| {', '.join(map(short, sorted(sizes['cluster'])))} \|")
        self.assertIn("L = 14M", kernels)
        self.assertEqual(max(sizes["outer"]) // (1 << 20), 14)
        limits = (ROOT / "docs/limits.md").read_text(encoding="utf-8")
        self.assertIn("gradients reach L = 5.5M on", limits)
        refused = run("memory", "--case", "fftconvgrad_f16_causal_l6000000_b1_h1")
        self.assertIn("have room for 5505024 samples", refused.stderr)


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], text=True, capture_output=True)


def short(size):
    return f"{size // 1024}K" if size % 1024 == 0 else str(size)


if __name__ == "__main__":
    if len(sys.argv) < 2 or not Path(sys.argv[1]).is_file():
        print("the program is not built")
        sys.exit(77)
    PROGRAM = Path(sys.argv.pop(1)).resolve()
    unittest.main()
