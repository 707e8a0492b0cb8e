"""The edit of docs/tutorials/write-a-kernel.md, made to a copy of the sources and built as the page says: danaus-tuning
names the rule that an illegal line breaks, and the edited kernel alone is compiled, verified and counted.

  kernel_edit_test.py DANAUS     the program, in the folder of a build by Ninja; without one the test is skipped (77)

It compiles a few files of the copy, and links them before the libraries of the build. About half a minute of CPU.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/tutorials/write-a-kernel.md").read_text(encoding="utf-8")
TUNINGS = "kernels/families/exchange/tunings.hpp"
CASE = "fftconv_f16_circular_l4096_b4_h2"
PROGRAM = None

# What danaus runs in place of all kernels: the edited one, and the transform of filters.
KERNELS = """
#include <map>
#include "kernels/cpu/kernels.hpp"
namespace danaus {
%s
static const std::map<KernelId, HostKernel>& all() {
  static const std::map<KernelId, HostKernel> kAll = [] {
    std::map<KernelId, HostKernel> list;
    for (const auto& part : {%s})
      for (const HostKernelEntry& entry : part) list.emplace(entry.id, entry.run);
    return list;
  }();
  return kAll;
}
HostKernel host_kernel(const KernelId& kernel) {
  const auto found = all().find(kernel);
  return found == all().end() ? nullptr : found->second;
}
std::vector<KernelId> host_kernels() {
  std::vector<KernelId> ids;
  for (const auto& [id, run] : all()) ids.push_back(id);
  return ids;
}
}
"""


def run(*words, **options):
    return subprocess.run([str(word) for word in words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          **options)


class Copy:
    """Sources in a folder whose kernels may be edited, and how the build compiles them."""

    def __init__(self, folder):
        self.folder = Path(folder)
        shutil.copytree(ROOT / "kernels", self.folder / "kernels")
        os.symlink(ROOT / "reference", self.folder / "reference")
        self.build = PROGRAM.parent
        self.entries = json.loads((self.build / "compile_commands.json").read_text())

    def compile(self, source, like, output, *more):
        """The words of the command, by those of a file of the build."""
        entry = next(each for each in self.entries if re.search(like, each["file"]))
        command = entry["command"].replace(f"-I{ROOT} ", f"-I{self.folder} ").replace(f"-I{ROOT}/. ", f"-I{self.folder} ")
        words, skip = [], False
        for word in shlex.split(command):
            if not skip and word not in ("-o", "-c") and not word.startswith(("-MD", "-MF", "-MT")):
                if word != entry["file"] and not word.startswith("-DDANAUS_SOURCE_FOLDER="):
                    words.append(word)
            skip = word in ("-o", "-MF", "-MT")
        words += [f'-DDANAUS_SOURCE_FOLDER="{self.folder}"', *more, "-c", str(source), "-o", str(output)]
        done = run(*words, cwd=entry["directory"])
        assert done.returncode == 0, " ".join(words) + "\n" + done.stdout[-3000:]
        return output

    def tuning(self, *words):
        """danaus-tuning of the copy, built and run."""
        with ThreadPoolExecutor(2) as pool:
            objects = list(pool.map(lambda each: self.compile(*each), [
                (self.build / "kernels/tunings.cpp", r"/kernels/tunings\.cpp$", self.folder / "tunings.o"),
                (ROOT / "reference/basics.cpp", r"/kernels/tunings\.cpp$", self.folder / "basics.o")]))
        flags = [word for word in os.environ.get("LDFLAGS", "").split() if word]
        done = run("c++", *flags, *objects, "-o", self.folder / "danaus-tuning")
        assert done.returncode == 0, done.stdout
        return run(self.folder / "danaus-tuning", *words)

    def program(self, line):
        """danaus with the line of the copy's table as its only convolution."""
        instances = (ROOT / "kernels/cpu/instances.cpp.in").read_text()
        parts = {}
        for family, shard, shards in (("exchange", line, 1000000), ("spectrum", 0, 1)):
            text = instances.replace("@FAMILY@", family).replace("@SHARD@", str(shard)).replace("@SHARDS@", str(shards))
            (self.folder / f"host_{family}.cpp").write_text(text)
            parts[f"host_kernels_{family}_{shard}()"] = f"host_{family}.cpp"
        declarations = "".join(f"std::vector<HostKernelEntry> {call};\n" for call in parts)
        (self.folder / "host_kernels.cpp").write_text(KERNELS % (declarations, ", ".join(parts)))
        like = r"/host_exchange_\d+\.cpp$"  # with the options of kernels, which compile fast
        sources = [*(self.folder / name for name in (*parts.values(), "host_kernels.cpp")),
                   *(self.folder / f"kernels/families/exchange/{name}.cpp" for name in ("family", "tables")),
                   self.build / "kernels/registry.cpp"]
        with ThreadPoolExecutor(2) as pool:
            objects = list(pool.map(lambda at: self.compile(sources[at], like, self.folder / f"{at}.o", "-g0"),
                                    range(len(sources))))
        commands = run("ninja", "-C", self.build, "-t", "commands", "danaus").stdout.splitlines()
        link = next(line for line in reversed(commands) if " -o danaus " in line)
        words = [word for word in shlex.split(link) if word not in (":", "&&")]
        at = words.index("-o")
        words[at:at + 2] = ["-Wl,--allow-multiple-definition", "-o", str(self.folder / "danaus"), *map(str, objects)]
        done = run(*words, cwd=self.build)
        assert done.returncode == 0, done.stdout[-3000:]
        return self.folder / "danaus"


class KernelEdit(unittest.TestCase):
    def test_the_rule_of_an_illegal_line_is_printed(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = Copy(folder)
            path = copy.folder / TUNINGS
            lines = path.read_text().split("\n")
            place = next(at for at, line in enumerate(lines) if "/*  4096 */" in line and "kChosen" in line)
            lines[place] = re.sub(r"\{ *4, *2, *3,", "{ 3,  2,  3,", lines[place])
            path.write_text("\n".join(lines))
            done = copy.tuning()
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertRegex(done.stdout, rf"{TUNINGS}:{place + 1}: exchange:\d+ .*breaks the rule of warps: each takes")

    def test_the_edit_of_the_tutorial_runs(self):
        edit = re.search(r"^python3 - <<'EDIT'\n(.*?)^EDIT$", PAGE, re.MULTILINE | re.DOTALL)[1]
        with tempfile.TemporaryDirectory() as folder:
            copy = Copy(folder)
            done = run(sys.executable, "-c", edit, cwd=copy.folder)
            self.assertEqual(done.returncode, 0, done.stdout)
            done = copy.tuning("exchange")
            self.assertEqual(done.returncode, 0, done.stdout)
            line = int(re.search(r"exchange:(\d+) N=4096, f16, pair, \d+ bytes of shared memory, 2 blocks an SM, for H100",
                                 done.stdout)[1])
            self.assertIn(f"DANAUS_VARIANT=exchange:{line}", PAGE)
            program = copy.program(line)
            kernel = re.search(r"--kernel (\w+_x\d+)", PAGE)[1]
            counted = run(program, "count", "--case", CASE)
            self.assertIn(f"{CASE}: {kernel}, ", counted.stdout)
            self.assertNotIn(kernel, run(PROGRAM, "list", "kernels", "--details").stdout, "it is there without the edit")
            verified = run(program, "verify", "--case", CASE, "--kernel", kernel)
            self.assertEqual(verified.returncode, 0, verified.stdout)
            self.assertRegex(verified.stdout, rf"{CASE} +kernel .*passed")


if __name__ == "__main__":
    if len(sys.argv) < 2 or not (Path(sys.argv[1]).parent / "build.ninja").is_file():
        print("the program is not built by Ninja")
        sys.exit(77)
    PROGRAM = Path(sys.argv.pop(1)).resolve()
    unittest.main()
