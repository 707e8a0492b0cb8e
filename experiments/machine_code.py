#!/usr/bin/env python3
"""Asks nvcc what it makes of the kernels, for experiments/results/machine_code.json: of each kernel a digest of its
machine code, the registers of a thread and the bytes of its local memory. No GPU is needed.

  experiments/machine_code.py                  families whose sources have changed since
  experiments/machine_code.py chain layer      these families
  experiments/machine_code.py --build FOLDER   what a build there has compiled already: in seconds, by cuobjdump

Each family is written as it is done: what an interrupt cut short, the same command continues.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "experiments" / "results" / "machine_code.json"
PATHS = ("tensor", "enclosing", "overhang", "threads")
KERNEL = re.compile(r"_ZN6danaus\d+\w+_kernelILm(\d+)ELm(\d+)ELN\w*?4PathE(\d)E")  # instances.cu.in
# Of a cubin's .nv.info: a kind, and with 4 bytes before it a symbol and its number.
REGISTERS, FRAME_BYTES = 0x2f, 0x11
SIZED, NO_BITS = 4, 8


def sections(cubin):
    """{name: (header, bytes)} of an ELF file of 64 bits."""
    at, = struct.unpack_from("<Q", cubin, 40)
    size, count, of_names = struct.unpack_from("<HHH", cubin, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, at + i * size) for i in range(count)]

    def body(header):
        return b"" if header[1] == NO_BITS else cubin[header[4]:header[4] + header[5]]
    names = body(headers[of_names])
    return {names[h[0]:names.index(b"\0", h[0])].decode(): (h, body(h)) for h in headers}


def numbers(info, kind):
    """{symbol: number} of one kind of attribute in .nv.info."""
    found, at = {}, 0
    while at < len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if form == SIZED:
            if attribute == kind:
                symbol, number = struct.unpack_from("<II", info, at)
                found[symbol] = number
            at += size
    return found


def kernels_of(cubin):
    """{symbol: [digest, registers, bytes of local memory]} of the kernels of a cubin. The digest is of the instructions,
    both numbers, and the sizes of static shared memory and arguments: not of names, lines or places."""
    parts = sections(cubin)
    registers, frames = (numbers(parts[".nv.info"][1], kind) for kind in (REGISTERS, FRAME_BYTES))
    symbols, names = parts[".symtab"][1], parts[".strtab"][1]
    made = {}
    for i in range(len(symbols) // 24):
        at, = struct.unpack_from("<I", symbols, 24 * i)
        name = names[at:names.index(b"\0", at)].decode()
        if i not in registers or f".text.{name}" not in parts:
            continue
        sizes = [parts[f"{section}.{name}"][0][5] if f"{section}.{name}" in parts else 0
                 for section in (".nv.shared", ".nv.constant0")]
        said = [registers[i], frames.get(i, 0)]
        digest = hashlib.sha256(parts[f".text.{name}"][1] + repr(said + sizes).encode()).hexdigest()[:12]
        made[name] = [digest, *said]
    return made


def compiled(command, folder, output):
    """The cubin that a compiler's command makes of its file."""
    words = [word for word in shlex.split(command) if word != "-c"]
    words[words.index("-o") + 1] = str(output)
    subprocess.run([*words, "-cubin"], cwd=folder, check=True)
    return output.read_bytes()


def extracted(command, folder, output):
    """The cubin in the object file that the command has made."""
    words = shlex.split(command)
    output.mkdir()
    subprocess.run(["cuobjdump", "-xelf", "all", Path(folder, words[words.index("-o") + 1]).resolve()], cwd=output,
                   check=True, stdout=subprocess.DEVNULL)
    cubin, = output.iterdir()
    return cubin.read_bytes()


def named(kernels):
    """By LINE.INSTANCE.PATH."""
    made = {}
    for symbol, said in kernels.items():
        line, instance, path = KERNEL.match(symbol).groups()
        made[f"{line}.{instance}.{PATHS[int(path)]}"] = said
    return made


def sources():
    """{family: digest of what nvcc makes it of}, as a build has it."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "revision.cpp"
        subprocess.run(["cmake", f"-DSOURCE_DIR={ROOT}", f"-DOUTPUT={output}", "-P",
                        ROOT / "experiments" / "revision.cmake"], check=True)
        return dict(re.findall(r'\{"(\w+)", "(\w+)"\}', output.read_text().split("kBaselines")[0]))


def write(families):
    lines = ",\n".join(json.dumps(family) for family in sorted(families, key=lambda f: (f["architecture"], f["family"])))
    TABLE.write_text(f'{{"families": [\n{lines}\n]}}\n')


def main(arguments):
    now = sources()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", metavar="FAMILY", choices=[*now, []], help="these, whatever they were")
    parser.add_argument("--architecture", default="90a", help="of the GPU (default: 90a)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="at a time (default: one for each core)")
    parser.add_argument("--build", type=Path, metavar="FOLDER", help="of a build for this architecture alone")
    options = parser.parse_args(arguments)

    build = options.build or ROOT / "build" / f"machine-code-{options.architecture}"
    if not options.build:
        subprocess.run(["cmake", "--preset", "hopper", "-B", build, "-DDANAUS_TESTS=OFF",
                        f"-DDANAUS_CUDA_ARCHITECTURES={options.architecture}"], cwd=ROOT, check=True, stdout=sys.stderr)
    text = (build / "compile_commands.json").read_text()
    compiler = re.search(r"DANAUS_COMPILER=\W*(NVIDIA.*?), sm_", text)[1]
    table = json.loads(TABLE.read_text())["families"] if TABLE.exists() else []
    known = {(made["architecture"], made["family"]): made for made in table}

    def is_known(family):
        made = known.get((options.architecture, family), {})
        is_whole = all(digest for digest, *_ in made.get("kernels", {"": [""]}).values())
        return is_whole and (made["sources"], made["compiler"]) == (now[family], compiler)
    wanted = options.families or [family for family in now if options.build or not is_known(family)]
    cubin_of = extracted if options.build else compiled
    parts = {family: [entry for entry in json.loads(text) if re.search(rf"/cuda_{family}_\d+\.cu$", entry["file"])]
             for family in wanted}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        made = {family: [pool.submit(cubin_of, part["command"], part["directory"], Path(folder) / f"{family}{i}.cubin")
                         for i, part in enumerate(of_family)] for family, of_family in parts.items()}
        for family, cubins in made.items():
            kernels = {name: said for cubin in cubins for name, said in named(kernels_of(cubin.result())).items()}
            known[options.architecture, family] = {
                "architecture": options.architecture, "family": family, "sources": now[family], "compiler": compiler,
                "kernels": dict(sorted(kernels.items()))}
            write(known.values())
            print(f"{family}: {len(kernels)} kernels", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
