"""Breaks the kernels in one place at a time, and the tests must notice.

usage: ./run mutations [--list] [NAME...]

Applies each mutation of mutations.toml to a copy of the working tree under build/mutations, builds the tests of a few FFT
sizes there and runs the ones that must catch it. Prints a table; exits with 1 where one survives that is not named as
equivalent, or is untried since its tests fail without it, and with 2 on bad input.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SCRATCH = ROOT / "build" / "mutations"
TIMEOUT_S = 300  # of a test, which may hang for a mutation


class BadInput(Exception):
    pass


def find_and_replace(change):
    """["find", "replace"] of a change, and why it may survive. Lines of a diff begin with a blank, - or +."""
    if isinstance(change, list):
        return change
    lines = change.split("\n")
    return ["\n".join(line[1:] for line in lines if line[:1] in kept) for kept in (" -", " +")]


def read_mutations():
    mutations = {}
    for file, groups in tomllib.loads((HERE / "mutations.toml").read_text()).items():
        for group in groups:
            of_group = {"file": file, "sizes": group.pop("sizes"), "tests": group.pop("tests"),
                        "program": group.pop("program", "kernels_test")}
            for name, change in group.items():
                if name in mutations:
                    raise BadInput(f"mutation {name}: the name stands twice")
                found = dict(zip(("find", "replace", "equivalent"), find_and_replace(change)))
                mutations[name] = {"name": name, **of_group, **found}
                count = (ROOT / file).read_text().count(found["find"])
                if count != 1:
                    raise BadInput(f"mutation {name}: what it replaces stands {count} times in {file}, must be once")
    return list(mutations.values())


class Copy:
    """A copy of the working tree, and one build of it for each set of sizes."""

    def __init__(self):
        self.source = SCRATCH / "source"
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, check=True,
                                capture_output=True, text=True).stdout
        files = {f for f in listed.split("\0") if f and (ROOT / f).is_file()}
        for old in [p for p in self.source.rglob("*") if p.is_file()]:
            if str(old.relative_to(self.source)) not in files:
                old.unlink()
        for f in files:  # those that are the same keep their time, so that they are not built again
            to, data = self.source / f, (ROOT / f).read_bytes()
            if not to.is_file() or to.read_bytes() != data:
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / f, to)
        self.configured = set()

    def build(self, sizes, program):
        """The output of the build where it fails, else None."""
        build = SCRATCH / sizes.replace(";", "-")
        if sizes not in self.configured:
            subprocess.run(["cmake", "-S", self.source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                            "-DDANAUS_CUDA=OFF", f"-DDANAUS_SIZES={sizes}", "-DDANAUS_SHARDS=2"],
                           check=True, stdout=subprocess.DEVNULL)
            self.configured.add(sizes)
        done = subprocess.run(["cmake", "--build", build, "--target", program], capture_output=True, text=True)
        return done.stdout if done.returncode else None

    def test(self, sizes, program, tests):
        """The first failure, "" where all pass, or None where the filter selects nothing."""
        program = next((SCRATCH / sizes.replace(";", "-") / "tests").glob(f"*/{program}"))
        try:
            done = subprocess.run([program, f"--gtest_filter={tests}", "--gtest_fail_fast"], capture_output=True,
                                  text=True, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return f"ran longer than {TIMEOUT_S} s"
        if done.returncode == 0:
            return None if "0 tests from 0 test suites ran" in done.stdout else ""
        failed = [line for line in done.stdout.splitlines() if line.startswith("[  FAILED  ]")]
        return failed[0].removeprefix("[  FAILED  ] ").split(",")[0] if failed else f"ended with {done.returncode}"


def try_mutation(copy, m):
    """(verdict, what caught it)."""
    path = copy.source / m["file"]
    original = path.read_text()
    path.write_text(original.replace(m["find"], m["replace"]))
    try:
        if output := copy.build(m["sizes"], m["program"]):
            errors = [line for line in output.splitlines() if "error" in line]
            return "caught", "the compiler: " + (errors or ["?"])[0].split("error: ")[-1]
        failure = copy.test(m["sizes"], m["program"], m["tests"])
    finally:
        path.write_text(original)
    if failure:
        return "caught", failure
    return ("equivalent", m["equivalent"]) if "equivalent" in m else ("SURVIVED", m["tests"])


def failure_without(copy, sizes, program, tests):
    """What fails where nothing is broken, or ""."""
    if output := copy.build(sizes, program):
        return f"does not build without a mutation: {output[-500:]}"
    failure = copy.test(sizes, program, tests)
    return f"'{tests}' selects no test" if failure is None else failure and f"without a mutation, {failure} fails"


def main():
    parser = argparse.ArgumentParser(prog="./run mutations", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="of mutations; all where none is given")
    parser.add_argument("--list", action="store_true", help="print the names and what they change, and run nothing")
    options = parser.parse_args()
    mutations = read_mutations()
    if unknown := set(options.names) - {m["name"] for m in mutations}:
        raise BadInput(f"no mutation {', '.join(sorted(unknown))}; --list has the names")
    chosen = [m for m in mutations if not options.names or m["name"] in options.names]
    if options.list:
        for m in chosen:
            print(f"{m['name']:28} {m['file']}")
        return 0

    copy, verdicts, whole = Copy(), [], {}
    for m in sorted(chosen, key=lambda m: m["sizes"]):  # one build at a time
        asked = m["sizes"], m["program"], m["tests"]
        if asked not in whole:
            whole[asked] = failure_without(copy, *asked)
        began = time.monotonic()
        verdict, by = ("UNTRIED", whole[asked]) if whole[asked] else try_mutation(copy, m)
        verdicts.append(verdict)
        print(f"{verdict:10} {m['name']:28} {time.monotonic() - began:4.0f} s  {by}", flush=True)
    print(f"{len(verdicts)} mutations: {verdicts.count('caught')} caught, {verdicts.count('equivalent')} equivalent, "
          f"{verdicts.count('SURVIVED')} survived, {verdicts.count('UNTRIED')} untried")
    return 1 if {"SURVIVED", "UNTRIED"} & set(verdicts) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BadInput as error:
        print(f"mutations: {error}", file=sys.stderr)
        sys.exit(2)
