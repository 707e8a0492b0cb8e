"""experiments/checks.sh with programs that stand in for the tests, compute-sanitizer and danaus: what it runs, and when
it fails."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "experiments" / "checks.sh"
TOOLS = ["memcheck", "initcheck", "synccheck", "racecheck"]
OPERATIONS = ["fftconv", "ssmconv"]
PARTS = 16  # of two jobs


class ChecksTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.program("tests", f'echo "$GTEST_SHARD_INDEX/$GTEST_TOTAL_SHARDS" >>"{self.folder}/parts"\n'
                     f'echo "$CUDA_VISIBLE_DEVICES" >>"{self.folder}/devices"\n'
                     "for word; do case $word in\n"
                     '--gtest_output=json:*) echo {} >"${word#*json:}";;\nesac; done')

    def program(self, name, body):
        path = self.folder / name
        path.write_text(f'#!/bin/sh\necho "$(basename "$0") $*" >>"{self.folder}/asked"\n{body}\n')
        path.chmod(0o755)

    def danaus(self, body):
        table = "\\n".join(["operation  what it is", *(f"{word}  one of them" for word in OPERATIONS)])
        self.program("danaus", f"""if [ "$1" = list ]; then printf '{table}\\n'; exit 0; fi\n{body}""")

    def checks(self, *words):
        return subprocess.run([SCRIPT, "--out", self.folder / "out", "--tests", self.folder / "tests", "--program",
                               self.folder / "danaus", *words], capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"})

    def asked(self, program):
        return [line for line in (self.folder / "asked").read_text().splitlines() if line.startswith(program + " ")]

    def test_runs_the_tests_under_every_tool_and_random_cases(self):
        self.program("compute-sanitizer", 'shift 4; "$@"')
        self.danaus("exit 0")
        done = self.checks("--count", "7", "--jobs", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        watched = self.asked("compute-sanitizer")
        self.assertEqual([line.split()[2] for line in watched], [tool for tool in TOOLS for _ in range(PARTS)])
        self.assertEqual(sorted((self.folder / "parts").read_text().split()),
                         sorted(5 * [f"{part}/{PARTS}" for part in range(PARTS)]))
        self.assertEqual(["--gtest_filter=-" in line for line in watched],
                         [tool in ("racecheck", "initcheck") for tool in TOOLS for _ in range(PARTS)])
        recorded = [line for line in self.asked("danaus") if " record " in line]
        self.assertEqual([line.split("--tool ")[1].split()[0] for line in recorded], ["tests", *TOOLS])
        for line in recorded:
            self.assertIn(f"--parts {PARTS} ", line)
            self.assertEqual(line.count(f".%-of-{PARTS}."), 1 if "--tool tests" in line else 2)
        self.assertEqual([line.split(" --json")[0] for line in self.asked("danaus") if " random " in line],
                         [f"danaus random --operation {word} --count 7 --device 0" for word in OPERATIONS])
        self.assertEqual(len(list((self.folder / "out").glob("*.json"))), 5 * PARTS)

    def test_several_devices_share_the_tests(self):
        self.program("compute-sanitizer", 'shift 4; "$@"')
        self.danaus(f'echo "$1 $CUDA_VISIBLE_DEVICES" >>"{self.folder}/first"')
        self.assertEqual(self.checks("--count", "7", "--jobs", "2", "--device", "4,6").returncode, 0)
        devices = (self.folder / "devices").read_text().split()
        self.assertEqual(sorted(set(devices)), ["4", "6"])
        self.assertEqual(len(devices), 5 * PARTS)
        self.assertEqual(set((self.folder / "first").read_text().splitlines()), {"record 4", "random 4"})

    def test_goes_on_where_it_was(self):
        self.program("compute-sanitizer", 'shift 4; "$@"')
        self.danaus("exit 0")
        words = ["--count", "7", "--jobs", "2"]
        self.checks(*words)
        (self.folder / "out" / f"device0.racecheck.3-of-{PARTS}.json").unlink()
        (self.folder / "parts").unlink()
        self.checks(*words)
        self.assertEqual((self.folder / "parts").read_text(), f"3/{PARTS}\n")
        self.checks(*words, "--device", "1")  # of which there are none
        self.assertEqual(len((self.folder / "parts").read_text().split()), 1 + 5 * PARTS)
        (self.folder / "tests").touch()
        self.checks(*words)
        self.assertEqual(len((self.folder / "parts").read_text().split()), 1 + 10 * PARTS)

    def test_a_failure_does_not_stop_the_others_and_is_not_forgotten(self):
        self.program("compute-sanitizer", 'shift 4; "$@"; exit 1')
        self.danaus('case "$*" in *racecheck*) exit 1;; esac')
        self.assertEqual(self.checks().returncode, 1)
        self.assertEqual(len(self.asked("danaus")), len(["tests", "list", *OPERATIONS, *TOOLS]))
        self.danaus('case "$1" in random) exit 1;; esac')
        self.assertEqual(self.checks().returncode, 1)

    def test_stops_where_a_row_cannot_be_made(self):
        self.program("compute-sanitizer", 'shift 4; "$@"')
        self.danaus("exit 77")
        self.assertEqual(self.checks().returncode, 77)
        self.assertEqual(len(self.asked("danaus")), 1)
        self.danaus('case "$1" in random) exit 2;; esac')
        self.assertEqual(self.checks().returncode, 2)

    def test_refuses_what_it_does_not_know(self):
        self.assertIn("unknown option '--fast', must be --out", self.checks("--fast").stderr)
        self.assertIn("is no program", self.checks("--tests", "/nowhere").stderr)
        self.assertEqual(self.checks("--count").returncode, 2)


if __name__ == "__main__":
    unittest.main()
