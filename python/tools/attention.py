#!/usr/bin/env python3
"""Times causal attention by PyTorch, torch.nn.functional.scaled_dot_product_attention, as a peer of what is linear in L.

  PYTHON python/tools/attention.py [--csv FILE] [--lengths L ...] [--backends NAME ...] [--seconds S]

fp16, 768 channels as 12 heads of 64, B=64 and from 32K samples on as many rows as the sweep state of danaus bench has
samples: one at 1M. Times are taken as danaus bench takes bursts (experiments/timing/stopwatch.hpp): launches are queued
while the stream is held back, q, k, v and y rotate among more sets than the L2 holds, a row has the median and the
quartiles of several bursts that each begin idle. What takes long is launched less often. Some rows of y are compared
with the sum in double before they are timed.

FILE gets a line for each length and backend, and goes on where it was; plots/peers.py reads such a file as
experiments/results/h200_attention.csv. Without --csv lines are printed alone. Exit code 77 without PyTorch or a GPU,
2 where an argument is wrong or FILE is no such table, or one of another device or version, 1 where a result is wrong.
"""

import argparse
import csv
import datetime
import io
import statistics
import sys
import time
from pathlib import Path

CHANNELS, HEADS, BATCH = 768, 12, 64
SAMPLES = BATCH * (192 << 16)  # of all rows and channels, at most: as the sweep state
LENGTHS = [1 << e for e in range(8, 21)]
BACKENDS = {"cudnn": ("CUDNN_ATTENTION", "cuDNN"), "flash": ("FLASH_ATTENTION", "FlashAttention"),
            "efficient": ("EFFICIENT_ATTENTION", "memory-efficient")}
COLUMNS = ("peer", "dtype", "length", "batch", "channels", "us", "q1_us", "q3_us", "launches", "bursts", "heads", "rel_l2",
           "torch", "device", "date")
ABOUT = """# Causal attention by torch.nn.functional.scaled_dot_product_attention, measured by python/tools/attention.py.
# q, k, v and y are [batch, heads, length, channels / heads], caches cold; us is the median of bursts, rel_l2 of y.
"""
BOUND = 2e-3  # on rel_l2: several times what rounding the weights and y to fp16 leaves
TIMES_L2, IDLE_S = 4, 0.15  # as danaus bench
MOST_US = 100e3  # of launches timed together, where one takes less
NOT_THERE = ("No available kernel", "No viable backend")  # as PyTorch says that a backend does not take a case
NO_GPU = 77


class Refusal(Exception):
    """Why nothing is measured, in one line."""


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", type=Path, metavar="FILE", help="append to this table (default: print only)")
    parser.add_argument("--lengths", type=length, nargs="+", default=LENGTHS, metavar="L",
                        help="lengths of rows (default: the powers of two from 256 to 1M)")
    parser.add_argument("--backends", nargs="+", choices=BACKENDS, default=["cudnn", "flash"], metavar="NAME",
                        help=f"of {', '.join(BACKENDS)} (default: cudnn flash)")
    parser.add_argument("--seconds", type=float, default=8, metavar="S",
                        help="leave out what would take longer than this a launch (default: 8)")
    options = parser.parse_args(words)
    try:
        table = Table(options.csv)
        device = Device()
        if device.obstacle:
            print(f"attention.py: {device.obstacle}", file=sys.stderr)
            return NO_GPU
        table.require(device.about)
        return measure(device, table, options)
    except (Refusal, OSError) as refusal:
        print(f"attention.py: {refusal}", file=sys.stderr)
        return 2


def length(word):
    """Raises ValueError where it is none, which the parser says."""
    value = int(word)
    if value < 1 or value > SAMPLES // CHANNELS:
        raise argparse.ArgumentTypeError(f"{word}, must be from 1 to {SAMPLES // CHANNELS}")
    return value


def measure(device, table, options):
    """The exit code."""
    wrong = 0
    for backend in options.backends:
        before = None  # (length, batch, microseconds) of the last that was timed
        for samples in sorted(options.lengths):
            batch = batch_of(samples)
            asked = {"peer": f"torch SDPA ({BACKENDS[backend][1]})", "dtype": "f16", "length": samples, "batch": batch,
                     "channels": CHANNELS, "heads": HEADS, **device.about}
            near = expected_us(before, samples, batch)
            words = f"{asked['peer']}, L={samples}, B={batch}"
            if known := table.find(asked):
                before = samples, batch, float(known["us"])
                print(f"{words}: is in {table.path}")
            elif near > 1e6 * options.seconds:
                print(f"{words}: left out, would take {near / 1e6:.2g} s a launch")
            else:
                try:
                    found = device.times(backend, batch, samples)
                except Unable as reason:
                    print(f"{words}: left out, {reason}")
                    continue
                before = samples, batch, found["us"]
                if not found["rel_l2"] < BOUND:  # nor where it is no number
                    print(f"{words}: rel_l2 is {found['rel_l2']:.2g}, must be below {BOUND}", file=sys.stderr)
                    wrong += 1
                    continue
                print(f"{words}: {found['us']:.1f} us", flush=True)
                table.add({**asked, **found, "date": datetime.date.today().isoformat()})
    return 1 if wrong else 0


def batch_of(samples):
    """B rows of so many samples and all channels."""
    return max(1, min(BATCH, SAMPLES // (CHANNELS * samples)))


def expected_us(before, samples, batch):
    """From a shorter one: it grows with the square of L. 0 without one."""
    return before[2] * (samples / before[0]) ** 2 * batch / before[1] if before else 0


def protocol(near_us):
    """(warm-up launches, launches timed together, bursts): as danaus bench has them, fewer of what takes long."""
    launches = int(min(10, max(1, MOST_US // near_us)))
    return min(3, launches), launches, 5 if near_us < 1e6 else 3


class Table:
    """The lines of a file of the kind; of none where the path is None."""

    def __init__(self, path):
        self.path, self.rows = path, []
        if path is None or not path.exists() or path.stat().st_size == 0:
            return
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise Refusal(f"{path}: is no text in UTF-8") from None
        table = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
        if tuple(table.fieldnames or ()) != COLUMNS:
            raise Refusal(f"{path}: is no table of attention's times, whose columns are {','.join(COLUMNS)}")
        if not text.endswith("\n"):
            raise Refusal(f"{path}: its last line is cut short; take it out")
        for row in table:
            if None in row or None in row.values():
                raise Refusal(f"{path}, row {len(self.rows) + 1} of the table: has not {len(COLUMNS)} columns")
            self.rows.append(row)

    def require(self, about):
        """That it is of the device and version, as all that is compared is."""
        for name, value in about.items():
            others = {row[name] for row in self.rows} - {value}
            if others:
                raise Refusal(f"{self.path}: its times are of {name} {', '.join(sorted(others))}, here it is {value}; "
                              "write another file")

    def find(self, asked):
        return next((row for row in self.rows if all(row[name] == str(value) for name, value in asked.items())), None)

    def add(self, row):
        cells = {name: f"{value:.4g}" if isinstance(value, float) else str(value) for name, value in row.items()}
        self.rows.append(cells)
        if self.path is None:
            return
        begun = self.path.exists() and self.path.stat().st_size > 0
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        if not begun:
            text.write(ABOUT)
            writer.writeheader()
        writer.writerow(cells)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(text.getvalue())


class Unable(Exception):
    """Why a backend does not take a case."""


class Device:
    """The first GPU that PyTorch sees."""

    def __init__(self):
        self.obstacle = None
        try:
            import torch
            import torch.nn.attention
        except ImportError as error:
            self.obstacle = f"needs PyTorch 2.3 or later: {error}"
            return
        if not torch.cuda.is_available():
            self.obstacle = "no GPU that PyTorch can use"
            return
        self.torch = torch
        self.about = {"torch": torch.__version__, "device": torch.cuda.get_device_name()}
        self.hold_cycles = 20_000_000

    def times(self, backend, batch, samples):
        """The columns that are measured."""
        torch = self.torch
        kind = getattr(torch.nn.attention.SDPBackend, BACKENDS[backend][0], None)
        if kind is None:
            raise Unable(f"PyTorch {torch.__version__} has no such backend")
        torch.cuda.empty_cache()
        try:
            with torch.no_grad(), torch.nn.attention.sdpa_kernel(kind):
                return self.timed(batch, samples)
        except torch.cuda.OutOfMemoryError:
            raise Unable("too little memory on the device") from None
        except RuntimeError as error:
            if not any(words in str(error) for words in NOT_THERE):
                raise
            raise Unable(str(error).splitlines()[0]) from None

    def timed(self, batch, samples):
        torch = self.torch
        l2_bytes = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
        count = max(1, -(-TIMES_L2 * l2_bytes // (4 * 2 * batch * samples * CHANNELS)))
        generator = torch.Generator("cuda").manual_seed(1)

        def noise():
            return torch.randn(batch, HEADS, samples, CHANNELS // HEADS, generator=generator, device="cuda",
                               dtype=torch.float16)
        sets = [(noise(), noise(), noise()) for _ in range(count)]
        outputs, next_set = [None] * count, 0

        def launch():
            nonlocal next_set
            outputs[next_set] = attention(torch, *sets[next_set])  # kept until its turn comes again, so that y rotates
            next_set = (next_set + 1) % count

        launch()  # what is launched for the first time may have to be loaded
        error = relative_error(torch, *sets[0], outputs[0])
        warmups, launches, bursts = protocol(self.group(launch, 0, 1))
        series = []
        for _ in range(bursts):
            time.sleep(IDLE_S)
            series.append(self.group(launch, warmups, launches))
        if not all(torch.isfinite(y).all() for y in outputs if y is not None):
            error = float("nan")
        q1, median, q3 = statistics.quantiles(series, n=4, method="inclusive")
        return {"us": median, "q1_us": q1, "q3_us": q3, "launches": launches, "bursts": bursts, "rel_l2": error}

    def group(self, launch, warmups, launches):
        """Microseconds of one of some launches that were all queued before the first began."""
        torch = self.torch
        while self.hold_cycles < 1 << 32:
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(self.hold_cycles)  # a kernel that spins
            for _ in range(warmups):
                launch()
            start.record()
            for _ in range(launches):
                launch()
            stop.record()
            in_time = not start.query()
            torch.cuda.synchronize()
            if in_time:
                return 1e3 * start.elapsed_time(stop) / launches
            self.hold_cycles *= 2
        raise Refusal(f"the host takes too long to queue {launches} launches")


def attention(torch, q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def relative_error(torch, q, k, v, y):
    """Relative L2 of some positions of some heads, the first and the last among them, against the sum in double."""
    batch, heads, samples, width = q.shape
    drawn = torch.Generator().manual_seed(2)
    places = {0, samples - 1, *torch.randint(samples, (14,), generator=drawn).tolist()}
    wrong = whole = 0.0
    for row, head in {(0, 0), (batch - 1, heads - 1), (batch // 2, heads // 2)}:
        keys, values = k[row, head].double(), v[row, head].double()
        for place in places:
            weights = torch.softmax(keys[:place + 1] @ q[row, head, place].double() / width ** 0.5, 0)
            truth = weights @ values[:place + 1]
            wrong += (y[row, head, place].double() - truth).square().sum().item()
            whole += truth.square().sum().item()
    return (wrong / whole) ** 0.5


if __name__ == "__main__":
    sys.exit(main())
