"""Mutations that nobody picked: faults at places that are drawn, many in one build.

usage: ./run mutations --drawn COUNT [--seed NUMBER] [--json FILE]

Draws operators and whole numbers of the C++ sources of kernels/, model/, reference/ and experiments/, and makes of each a
place where DANAUS_MUTANT=NUMBER breaks the program as it runs (drawn.hpp). Builds the tests of a few FFT sizes once. Then
runs the tests that come by a mutant, until one fails. Counted apart is what does not compile, and what no test comes by:
constant expressions, and code without a test. FILE gets a line for each mutant and keeps what an earlier call found; its
mutants are not tried again. Exit 1 where one survives.
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from run import ROOT, SCRATCH, TIMEOUT_S, Copy

FOLDERS = ("kernels", "model", "reference", "experiments")
SIZES = "256;512;1024"
NAMES = {"+": "+", "-": "-", "*": "*", "/": "/", "%": "%", "<": "<", "<=": "l", ">": ">", ">=": "g", "==": "=",
         "!=": "!", "&": "&", "|": "|", "<<": "L", ">>": "R"}
OPERATOR = re.compile(r"(?<=[\w)\]]) (\+|-|\*|/|%|<=?|>=?|==|!=|&|\||<<|>>) (?=[\w(~!-])")
NUMBER = re.compile(r"(?<![\w.'#<])([1-9]\d{0,3})(?![\w.'>])")
# Where a place is no expression that runs.
NO_CODE = re.compile(r"^\s*(//|#|template|static_assert|using|case|enum|friend|namespace)|operator|asm|constexpr|\bout\b|<< \"")
PROGRAMS = ("reference/test_reference", "model/test_model", "kernels/kernels_test", "experiments/test_experiments",
            "interface/interface_test", "conformance/conformance_test")


def code_of(line):
    """The line with what stands in strings, characters and comments as blanks."""
    blank = lambda match: " " * len(match.group())
    return re.sub(r"//.*", blank, re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])*\'', blank, line))


def places():
    """Every (file, line, column, length, what) that can be drawn, in an order that does not change."""
    listed = subprocess.run(["git", "ls-files", *FOLDERS], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    found = []
    for name in sorted(listed.split("\n")):
        if not name.endswith((".cpp", ".hpp")) or "/cuda" in name or name.endswith(("without_cuda.cpp", "tunings.hpp")):
            continue
        for number, line in enumerate((ROOT / name).read_text().split("\n")):
            code = code_of(line)
            if NO_CODE.search(code) or line.rstrip().endswith("\\"):
                continue
            for pattern in (OPERATOR, NUMBER):
                found += [(name, number, match.start(1), len(match.group(1)), match.group(1))
                          for match in pattern.finditer(code)]
    return found


def mutated(line, column, length, what, number):
    if what.isdigit():
        return f"{line[:column]}danaus_mutants::constant<{number}>({what}){line[column + length:]}"
    mark = f"danaus_mutants::Operator<{number}, '{NAMES[what]}'>{{}}"
    return f"{line[:column]}{what} {mark} {line[column:]}"


class Build:
    """A copy of the tree with all mutants but those that do not compile."""

    def __init__(self, mutants):
        self.copy, self.mutants, self.refused = Copy(), mutants, set()
        self.folder = SCRATCH / "drawn"
        subprocess.run(["cmake", "-S", self.copy.source, "-B", self.folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                        "-DDANAUS_CUDA=OFF", f"-DDANAUS_SIZES={SIZES}",
                        f"-DCMAKE_CXX_FLAGS=-w -std=c++20 -include {ROOT}/tests/mutations/drawn.hpp"],
                       check=True, stdout=subprocess.DEVNULL)

    def write(self):
        of_files = {}
        for number, mutant in self.mutants.items():
            of_files.setdefault(mutant[0], []).append((mutant[1:], number))
        for name, own in of_files.items():
            lines = (ROOT / name).read_text().split("\n")
            for (at, column, length, what), number in sorted(own, reverse=True):  # the last of a line first
                if number not in self.refused:
                    lines[at] = mutated(lines[at], column, length, what, number)
            path, text = self.copy.source / name, "\n".join(lines)
            if path.read_text() != text:
                path.write_text(text)

    def make(self):
        while True:
            self.write()
            done = subprocess.run(["ninja", "-k", "0", "-C", self.folder, *[f"tests/{each}" for each in PROGRAMS]],
                                  capture_output=True, text=True)
            if done.returncode == 0:
                return
            wrong = set()
            for name, line in re.findall(r"source/(\S+?\.[ch]pp):(\d+)", done.stdout):
                wrong |= {number for number, mutant in self.mutants.items()
                          if mutant[0] == name and mutant[1] == int(line) - 1}
            if not wrong - self.refused:
                sys.exit("mutations: the copy does not build:\n" + done.stdout[-3000:])
            self.refused |= wrong
            print(f"{len(self.refused)} do not compile so far", flush=True)


class Tests:
    """The tests of the build that pass without a mutant, and which mutants each program comes by."""

    def __init__(self, folder):
        self.folder, self.left_out, self.reached, self.seconds = folder, {}, {}, {}
        for each in PROGRAMS:
            log = folder / "reached.txt"
            log.unlink(missing_ok=True)
            began = time.monotonic()
            done = self.run(each, {"DANAUS_REACHED": str(log)}, ["--gtest_brief=1"], None)
            self.seconds[each] = time.monotonic() - began
            self.left_out[each] = set(re.findall(r"\[  FAILED  \] ([\w./]+)", done.stdout))  # of other sizes
            self.reached[each] = {int(word) for word in log.read_text().split()} if log.exists() else set()
            print(f"{each}: {self.seconds[each]:.0f} s, comes by {len(self.reached[each])} mutants, "
                  f"{len(self.left_out[each])} tests are left out, which fail without one", flush=True)

    def run(self, program, environment, options, timeout):
        return subprocess.run([self.folder / "tests" / program, *options], env={**os.environ, **environment},
                              capture_output=True, text=True, timeout=timeout, errors="replace")

    def verdict_on(self, number):
        """What catches a mutant, "not reached", or None."""
        programs = [each for each in PROGRAMS if number in self.reached[each]]
        for each in sorted(programs, key=self.seconds.get):
            options = ["--gtest_fail_fast", "--gtest_brief=1", f"--gtest_filter=-{':'.join(self.left_out[each])}"]
            try:
                done = self.run(each, {"DANAUS_MUTANT": str(number)}, options, TIMEOUT_S + 3 * self.seconds[each])
            except subprocess.TimeoutExpired:
                return f"{each} does not end"
            if done.returncode:
                failed = re.search(r"\[  FAILED  \] ([\w./]+)", done.stdout)
                return failed[1] if failed else f"{each} ended with {done.returncode}"
        return None if programs else "not reached"


def main():
    parser = argparse.ArgumentParser(prog="./run mutations", description=__doc__.splitlines()[0])
    parser.add_argument("--drawn", type=int, required=True, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=0, metavar="NUMBER")
    parser.add_argument("--json", metavar="FILE", help="a line for each mutant")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="tests at a time (default: one for each core)")
    options = parser.parse_args()
    drawn = random.Random(options.seed).sample(places(), options.drawn)
    build = Build({number: place for number, place in enumerate(drawn, 1)})
    known = {}
    if options.json and os.path.exists(options.json):
        known = {row["number"]: row for row in map(json.loads, open(options.json, encoding="utf-8"))
                 if row["seed"] == options.seed}
    build.make()
    tests = Tests(build.folder)

    def row_of(number):
        if number in known:
            return known[number]
        name, line, column, _, what = build.mutants[number]
        caught = "does not compile" if number in build.refused else tests.verdict_on(number)
        row = {"seed": options.seed, "number": number, "place": f"{name}:{line + 1}:{column + 1}", "what": what,
               "code": (ROOT / name).read_text().split("\n")[line].strip(), "caught": caught}
        if options.json:
            with open(options.json, "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        return row
    verdicts = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(row_of, build.mutants):
            verdicts.append(row["caught"])
            print(f"{row['number']:4} {row['place']:50} {row['what']:3} {row['caught'] or 'SURVIVED: ' + row['code']}",
                  flush=True)
    apart = {words: verdicts.count(words) for words in ("does not compile", "not reached")}
    survived = verdicts.count(None)
    print(f"{len(verdicts)} drawn: {len(verdicts) - survived - sum(apart.values())} caught, {survived} survived, "
          + ", ".join(f"{count} {words}" for words, count in apart.items()))
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
