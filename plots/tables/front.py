"""The README's first table, in FlashFFTConv's own form, and the claims about speed: each with its conditions, its count
of cases and their median."""

import re
import textwrap
from statistics import median

from measurements import (BATCH, CHANNELS, LONG, at_fft_sizes, floor_with_spectrum, left_to_the_plan, passed, timed,
                          us)
from peers import DEVICE, FILE, Peers
from results import case_fields
from style import length

TORCH, FLASH = "torch rfft fp32", "FlashFFTConv"
LENGTHS = [1 << power for power in (8, 10, 12, 13, 14, 15, 16, 18, 20, 22)]
FEW_TAPS = 16
COLUMNS = ["L", "torch.fft, ms", "FlashFFTConv, ms", "Danaus, ms", "speed-up", "memory, GB"]


def speed(committed):
    """Whole calls on the device that others were timed on: a table for each mode, and a sentence about all others.
    Empty without rows of that device."""
    rows = timed(None, committed)
    kernels = kernels_of([row for row in rows.rows if DEVICE in row["device"]["name"]]) if rows else []
    if not kernels:
        return ""
    peers, lines = Peers(committed), [caption(kernels, (committed / FILE).read_text(encoding="utf-8"))]
    for mode in ("causal", "circular"):
        own = mains(kernels, mode)
        found = [line(n, own[n], *(peers.whole(name, mode, False, n) for name in (TORCH, FLASH)))
                 for n in LENGTHS if n in own]
        if any(found):
            lines += ["", f"{mode.capitalize()}:", "", *table(COLUMNS, filter(None, found))]
    gains = gains_of(kernels, rows.rows, peers)
    if gains:
        names = {peer.name.split()[0].replace("torch", "torch.fft") for peer in peers.all} | {"cuFFT"}
        others = sorted(names, key=str.lower)
        words = (f"Against the fastest of all other ways that were timed, {gain_words(gains)}. The others are "
                 f"{', '.join(others[:-1])} and {others[-1]}.")
        lines += ["", *textwrap.wrap(" ".join([words, *errors(kernels, peers)]), 120)]
    return "\n".join(lines)


def mains(kernels, mode):
    """Rows of the main cases of a mode, by length."""
    return {case_fields(row["case"])["l"]: row for row in kernels if is_main(case_fields(row["case"]), mode)}


def errors(kernels, peers, mode="causal", n=1024):
    """A sentence about the relative error of y of one case; none where one of the three is not known."""
    own = mains(kernels, mode).get(n)
    torch, flash = (peers.whole(name, mode, False, n) for name in (TORCH, FLASH))
    if not (own and torch and flash and torch.rel_l2 and flash.rel_l2):
        return []
    return [f"The relative error of y at {mode} {length(n)} is {own['verify']['rel_l2']:.1e}; FlashFFTConv's is "
            f"{flash.rel_l2:.1e}, and that of torch.fft, which computes in fp32, {torch.rel_l2:.1e}."]


def caption(kernels, peers):
    """Of `peers`, the file, the comment at the top says the day and the version of PyTorch."""
    days = sorted(row["date"] for row in kernels)
    day, version = (re.search(pattern, peers)[0] for pattern in (r"\d{4}-\d\d-\d\d", r"torch [\d.]+\d"))
    words = (f"{kernels[0]['device']['name']}, fp16, B = {BATCH}, H = {CHANNELS}, K = L, forward, "
             f"{' to '.join(dict.fromkeys((days[0], days[-1])))}. The other programs were timed on {day} with "
             f"{version}. Each time includes the transform of the filter. torch.fft is `rfft` in fp32. The speed-up is "
             "over torch.fft and over FlashFFTConv. Memory is what each needs beside u and k, in the same order. Lengths "
             "with ~ were timed with fewer channels and scaled; their memory is not compared.")
    return "\n".join(textwrap.wrap(words, 120))


def line(n, row, torch, flash):
    """Cells of a length; None where a time is missing."""
    ours = call_us(row)
    if not (ours and torch and flash):
        return None
    scaled = "scaled_from" in row or torch.scaled or flash.scaled
    arrays = 2 * BATCH * CHANNELS * n + 4 * CHANNELS * n  # u in 16 bits, k in 32
    whole = sum(row["memory"].values()) - arrays if "memory" in row else None
    memory = [torch.peak_bytes, flash.peak_bytes, whole]
    words = " / ".join(f"{each / 1e9:.2f}" for each in memory) if all(memory) and not scaled else ""
    return [("~" if scaled else "") + length(n), *(ms(time) for time in (torch.us, flash.us, ours)),
            f"{torch.us / ours:.1f}×, {flash.us / ours:.1f}×", words]


def over_floors(of_device, origin):
    """A claim for each kind of convolution: how far its kernels are from their floor."""
    lines = []
    for name, is_of in GROUPS.items():
        own = [row for row in kernels_of(of_device) if is_of(row, case_fields(row["case"]))]
        if own:
            words = range_words([us(row) / row["floor"]["us"] for row in own], "floors")
            whole = median(us(row) / floor_with_spectrum(row) for row in own)
            lines.append([f"Time over that of copying u to y: {name}.",
                          f"{words}; median {whole:.2f} with the spectrum in the floor", *origin])
    return lines


def over_others(of_device, origin, peers):
    """How many times as fast as the fastest of all others, each in its own convention."""
    gains = gains_of(kernels_of(of_device), of_device, peers)
    return [["Speed against the fastest other way, in its own convention (with or without the filter's transform).",
             range_words(gains, "times"), *origin]] if gains else []


def over_short_peers(of_device, origin, peers):
    """Short filters against cuDNN, which alone has times of such, to as many taps as go by multiply-adds and beyond."""
    gains = {}
    for row in of_device:
        fields = case_fields(row["case"])
        if fields["operation"] == "shortconv" and row["method"] == "kernel" and passed(row):
            peer = peers.forward(fields, row["device"]["name"])
            if peer:
                name = f"{'to' if fields['k'] <= FEW_TAPS else 'above'} {FEW_TAPS} taps"
                gains.setdefault(name, []).append(peer.us / us(row))
    return [[f"Short filters, bf16, causal, {name}, against cuDNN.", range_words(found, "times as fast"), *origin]
            for name, found in gains.items()]


def kernels_of(rows):
    """Forward kernels that a plan chooses, right, K = L."""
    def is_one(row):
        fields = case_fields(row["case"])
        return (row["method"] == "kernel" and passed(row) and left_to_the_plan(row["case"])
                and fields["operation"] == "fftconv" and fields["k"] == fields["l"])
    return list(filter(is_one, rows))


def is_main(fields, mode):
    return ((fields["dtype"], fields["mode"], fields["b"], fields["h"]) == ("f16", mode, BATCH, CHANNELS)
            and not fields["gates"])


def is_fused_size(row, fields):
    return fields["l"] < LONG and bool(at_fft_sizes([row]))


GROUPS = {
    f"circular, fp16, B={BATCH}, at FFT sizes to 32K": lambda row, f: is_main(f, "circular") and is_fused_size(row, f),
    f"causal, fp16, B={BATCH}, at powers of two to 32K": lambda row, f: is_main(f, "causal") and is_fused_size(row, f),
    "few rows, B=1 and 8, to 32K": lambda row, f: f["b"] <= 8 and f["l"] < LONG,
    f"lengths between FFT sizes, fp16, B={BATCH}":
        lambda row, f: f["b"] == BATCH and f["l"] < LONG and not at_fft_sizes([row]),
    "long, from 64K on": lambda row, f: f["l"] >= LONG,
    "all forward cases": lambda row, f: True,
}


def gains_of(kernels, rows, peers):
    """For each kernel's case that another program computes: their least time over ours. Others are peers of either
    16-bit type, and cuFFT as it is used here. A time with the filter's transform stands against one of ours with it."""
    cufft, gains = {}, []
    for row in rows:
        if row["method"].startswith("cufft") and passed(row):
            cufft.setdefault((row["case"], row["device"]["name"]), []).append(row)
    for row in kernels:
        others = peers.all_of(row)
        if others:
            call = call_us(row)
            times = [peer.us / (call if peer.with_filter else us(row)) for peer in others
                     if call or not peer.with_filter]
            times += [us(each) / us(row) for each in cufft.get((row["case"], row["device"]["name"]), [])]
            gains += [min(times)] if times else []
    return gains


def call_us(row):
    """The filter's transform and the convolution, as a user pays them; None where they were not timed."""
    return ((row.get("call_us") or {}).get("graph") or {}).get("median")


def gain_words(gains):
    return f"Danaus is {range_words(gains, 'times')[:-len(' cases')].replace(' times', ' times as fast')} cases"


def range_words(values, unit):
    return f"{min(values):.2f} to {max(values):.2f} {unit}, median {median(values):.2f}, {len(values)} cases"


def ms(time):
    time /= 1000
    return f"{time:.{3 if time < 1 else 2 if time < 10 else 1 if time < 100 else 0}f}"


def table(columns, rows):
    return ["| " + " | ".join(cells) + " |" for cells in (columns, ["---"] * len(columns), *rows)]
