"""Rows of each kind, whole as danaus writes them, with made-up values."""

import json
import sys
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLOTS = ROOT / "plots"
sys.path.insert(0, str(PLOTS))
sys.dont_write_bytecode = True

import danaus  # noqa: E402
import results  # noqa: E402

PROVENANCE = {"date": "2026-11-20", "git": "0123456789ab", "dirty": False, "sources": "abcdef012345",
              "argv": ["danaus", "verify"],
              "host": {"cpu": "a <CPU>", "threads": 2, "os": "an OS", "compiler": "g++ 12.2.0"}}
LENGTHS = {256: "r16x16", 512: "r32x16"}
VARIANT = "exchange_a_variant"
CODE = "0123456789ab"  # of today
MEASURED = "fftconv_f16_circular_l1024_b64_h768"


def of(token):
    """The fields of a row of this case."""
    asked = danaus.asked(token)
    results.learn(token, asked)
    return {"case": token, "asked": asked}


def write_rows(path, rows):
    """A file of rows, and that danaus stale has seen it: rows with another code than today's are stale."""
    rows, judged = list(rows), path.parent / "verdicts.json"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    verdicts = json.loads(judged.read_text()) if judged.exists() else {}
    stale = [number for number, row in enumerate(rows, 1) if row.get("code", CODE) != CODE]
    verdicts[path.name] = {"crc32": zlib.crc32(path.read_bytes()), "stale": stale, "unknown": []}
    judged.write_text(json.dumps(verdicts))


def verdict(status, error, bound, clearance):
    return {"status": status, "samples": 64, "rel_l2": error, "rel_max": error, "snr_db": 80, "gain_error": 1e-5,
            "bound": bound, "clearance": clearance, "worst": 0, "truth": "fftw"}


def verify_row(case, status="passed", error=1e-4, scaling="unitary"):
    said = verdict(status, error, 2e-3, None if error is None else error / 2e-3)
    if status == "skipped":
        said = {"status": status, "reason": "no recording is installed"}
    return {"schema": 1, "kind": "verify", **of(case), "method": "rounded", "scaling": scaling,
            "data": {"kind": "gaussian", "scale": 1, "filter": "random", "seed": "1"}, "order": 2, "verify": said,
            **PROVENANCE}


def model_row(profile, n, factors, memory):
    terms = [{"factor": factor, "compute_us": 1, "memory_us": 1, "unit": "matrix" if factor >= 16 else "general",
              "memory": memory, "reason": "because"} for factor in factors]
    case = f"fftconv_f16_circular_l{n}_b1_h1_plain_r" + "x".join(map(str, factors))
    return {"schema": 1, "kind": "model", **of(case), "order": len(factors), "profile": profile, "model": "eq2",
            "total_us": n, "ps_per_token_bh": 3.5 * len(factors), "limit": memory, "terms": terms, "notes": [],
            **PROVENANCE}


def factors_row():
    """A DFT of 2 points."""
    matrix = {"name": "stage 1", "rows": 2, "columns": 2,
              "nonzeros": [[0, 0, 1, 0], [0, 1, 1, 0], [1, 0, 1, 0], [1, 1, -1, 0]]}
    return {"schema": 1, "kind": "factors", **of("fftconv_f64_circular_l2_b1_h1_r2"), "order": 1,
            "matrices": [matrix], **PROVENANCE}


def bench_row(case, method, us, code=None, status="passed", clock=1780):
    """The floor is 10 us."""
    series = {"median": us, "q1": us, "q3": us, "samples": [us], "launches": 10, "clock_mhz": clock}
    device = {"name": "NVIDIA H200", "sm": 90, "multiprocessors": 132, "l2_bytes": 62914560,
              "memory_bytes": 150109880320, "driver": "580", "runtime": "13.0", "cufft": "12000", "mig": False,
              "power_limit_watts": 700}
    protocol = {"launches": 10, "warmups": 3, "repetitions": 5, "idle_ms": 150, "load_ms": 300, "sustained": True}
    row = {"schema": 1, "kind": "bench", **of(case), "method": method, "device": device, "protocol": protocol,
           "code": code or CODE, "variant": VARIANT, "fft_size": 1024,
           "verify": {**verdict(status, 1e-4, 1e-3, 0.1), "rows": 64, "of": 49152, "nonfinite": 0},
           "floor": {"us": 10, "copy_bytes_per_s": 4e12}, "work": {"bytes": 1000, "useful_flops": 1000}, **PROVENANCE}
    if status == "passed":
        row |= {"time_us": {"burst_cold": series, "burst_warm": series,
                            "sustained_cold": {**series, "median": 1.5 * us, "clock_mhz": None}},
                "load": {"sm_clock_mhz": 1980, "power_watts": 350.5, "temperature_celsius": 43},
                "filter_us": series, "call_us": {"stream": series, "graph": {**series, "median": 2 * us}}, "sets": 5,
                "notes": []}
    return row


def measured_rows():
    return [bench_row(MEASURED, "kernel", 12), bench_row(MEASURED, "copy", 10.5), bench_row(MEASURED, "cufft_f32", 200),
            bench_row(MEASURED, "cufft_pairs", 80), bench_row(MEASURED.replace("1024", "2048"), "kernel", 13, "stale"),
            bench_row("fftconv_bf16_causal_l1024_b8_h768_pregate_postgate", "kernel", 14),
            bench_row("fftconv_bf16_causal_l768_b8_h768", "kernel", 0, status="failed")]


def step_row(case="fftconvstep_f16_circular_l1024_b64_h768", us=50):
    """Parts of 5, 10, 20, 20 and 5 us; the floor is 10 us."""
    parts = {"filter": 5, "y": 10, "du": 20, "dk chain_gradient": 20, "dk taps": 5}
    row = bench_row(case, "kernel", us)
    series = row["time_us"]["burst_cold"]
    return {**row, "parts_us": {name: {**series, "median": time} for name, time in parts.items()},
            "memory": {"arrays_bytes": 4 * 2 * 64 * 768 * 1024 + 2 * 4 * 768 * 1024, "kept_bytes": 50_000_000}}


LAYER = "spectral_f32_tf32_complex_b1024_c32x64_l128_m64_shared_channelmajor"


def layer_rows():
    """A kernel of 30 us beside a pipeline of 120; TurboFNO took 120.2 us, its own pipeline 118.8."""
    def row(case, method, us):
        return {**bench_row(case, method, us), "fft_size": 0}
    plane = LAYER.replace("l128_m64", "l256x256_m64x64").replace("b1024", "b16")
    return [row(LAYER, "kernel", 30), row(LAYER, "cufft_cublas_tf32", 120), row(LAYER, "cufft_cublas_f32", 130),
            row(LAYER.replace("b1024", "b16"), "kernel", 8), row(plane, "cufft_cublas_tf32", 1000)]


def layer_gradient_row():
    """90 us, three times the layer's."""
    return {**bench_row(LAYER.replace("spectral", "spectralgrad"), "kernel", 90), "fft_size": 0}


def way_row(case, us, method=None, floor=10):
    """Predicted by counted work."""
    resources = [{"name": "hbm", "us": floor, "what": "bytes"}]
    row = {"schema": 1, "kind": "model", **of(case), "profile": "H200", "model": "roofline", "overlap": 2.4,
           "warp_rate": 0.3, "wait_us": 0.5, "variant": VARIANT, "total_us": us, "limit": "hbm", "waits": 0,
           "launch_us": 1.5, "resources": resources, "notes": [], **PROVENANCE}
    return row if method is None else {**row, "method": method}


def forecast_row(us, profile="a test H100", case=MEASURED, date="2026-11-19", code=None):
    return {**way_row(case, us), "kind": "forecast", "profile": profile, "code": code or CODE,
            **PROVENANCE, "date": date}


SHORT = "shortconv_bf16_causal_k{}_l1024_b64_h768"
STATE = "ssmconv_f16_s64_l{}_b64_h{}"


def short_rows():
    """Taps are soonest to K=64, pieces from 256 on."""
    return [way_row(SHORT.format(4), 11), way_row(SHORT.format(4), 30, "full_fft"),
            way_row(SHORT.format(4), 25, "chunked_fft"), way_row(SHORT.format(64), 12),
            way_row(SHORT.format(64), 30, "full_fft"), way_row(SHORT.format(256), 40),
            way_row(SHORT.format(256), 35, "chunked_fft"), way_row(SHORT.format(4) + "_channelslast", 13)]


def state_rows():
    """Of 48 channels long ones; a state is cheaper from 64K on."""
    return [way_row(STATE.format(1024, 768), 100), way_row(STATE.format(1024, 768), 80, "full_fft"),
            way_row(STATE.format(65536, 48), 500), way_row(STATE.format(65536, 48), 900, "full_fft"),
            way_row(STATE.format(1048576, 48), 9000), way_row(STATE.format(1048576, 48), 20000, "full_fft")]


def measured_ways():
    """As predicted at K=4, not at 64; of a state as predicted."""
    def row(case, method, us):
        return {**bench_row(case, method, us), "fft_size": 0}
    return [row(SHORT.format(4), "kernel", 12), row(SHORT.format(4), "full_fft", 28), row(SHORT.format(64), "kernel", 31),
            row(SHORT.format(64), "full_fft", 27), row(STATE.format(1024, 768), "kernel", 110),
            row(STATE.format(1024, 768), "cufft_f32", 400)]


def field_rows():
    """Of 2 x 2 and of 4 points; two modes keep all."""
    def row(name, lengths, samples, spectrum, kept):
        word = "x".join(map(str, lengths))

        def layer(modes, lost, result, error):
            return {"case": f"spectral_f32_tf32_b1_c1x1_l{word}_m{modes}_shared", "modes": modes, "kept": modes,
                    "share": modes / len(spectrum), "lost": lost, "kernel_error": error, "result": result}
        return {"schema": 1, "kind": "field", "field": name, "what": f"a {name} field", "lengths": lengths,
                "samples": samples, "spectrum_db": spectrum,
                "truncations": [layer(1, 0.25, kept, 3e-4), layer(2, 1e-9, samples, None)], **PROVENANCE}
    return [row("random", [2, 2], [1, 0.5, -1, 0], [0, -10, -20, -30], [0.5, 0.5, -0.5, -0.5]),
            row("burgers", [4], [1, 0.5, -1, 0], [0, -10, -20], [0.1, 0.1, 0.1, 0.1])]


def long_factor_rows():
    """Predicted, of 64K; the second factors are sooner by counted work, the first by Eq. 2, 5000 to 6000 us."""
    case = "fftconv_f16_circular_l65536_b64_h192_r{}"
    cases = case.format("8x8x16x8x8"), case.format("16x8x2x16x16")

    def eq2(case, us):
        row = model_row("H200", 65536, [int(n) for n in case.split("_r")[1].split("x")], "hbm")
        return {**row, **of(case), "total_us": us}
    return [eq2(cases[0], 5000), eq2(cases[1], 6000), way_row(cases[0], 2700), way_row(cases[1], 2600)]


def timed_long_factors():
    """The second took a tenth more than the first, 12 ms at B=64, H=768."""
    return [bench_row(row["case"], "kernel", us) for row, us in zip(long_factor_rows(), (3000, 3300))]


def ways_row(profile, n, us, taps=None, complete=True):
    """us: {way: microseconds, or none}."""
    names = sorted((way for way in us if us[way] is not None), key=us.get)
    said = [{"way": way, "case": f"fftconv_f16_causal_l{n}_b64_h12", "n": 16384, "kernel": "a kernel", "launches": 1,
             "us": us[way], "limit": "hbm"} for way in names]
    others = [{"way": way, "reason": "too long"} for way in us if us[way] is None]
    k = f"_k{taps}" if taps else ""
    return {"schema": 1, "kind": "ways", **of(f"fftconv_f16_causal_l{n}{k}_b64_h12"), "profile": profile, "l": n,
            "k": taps or n, "batch": 64, "channels": 12, "ways": said, "others": others,
            "complete": complete, "plan": names[0] if names else "none",
            **PROVENANCE}


def ways_rows():
    """Pieces win at 64K of 2K taps on the H200; on the A100 a build lacked a kernel."""
    return [ways_row("A100-40GB", 65536, {"fused": None, "outer passes": 900, "pieces": None}),
            ways_row("A100-40GB", 65536, {"outer passes": 900, "pieces": None}, 2048, complete=False),
            ways_row("H200", 32768, {"fused": 100, "outer passes": 400, "pieces": None}),
            ways_row("H200", 65536, {"fused": None, "outer passes": 300, "pieces": None}),
            ways_row("H200", 65536, {"fused": None, "outer passes": 300, "pieces": 100}, 2048)]


def extension_rows():
    """Of 8K taps whole at 8K, in pieces at 64K; of 1M whole."""
    return [way_row("fftconv_f16_causal_l8192_b64_h768", 730),
            {**way_row("fftconv_f16_causal_l65536_k8192_b64_h192", 2200), "variant": "pieces_exchange_a_variant"},
            {**way_row("fftconv_f16_causal_l2000000_k1000000_b64_h6", 4900), "variant": "outer_a_variant"}]


def extension_memory_rows():
    """Twice u and y."""
    row = memory_row(65536, False)
    return [{**row, **of("fftconv_f16_causal_l65536_k8192_b64_h192"), "total_bytes": 2 * 4 * 64 * 192 * 65536}]


def decode_row(method, us, measured=False, **more):
    """To 64 and to 32K so many microseconds a position."""
    spans = [{"from": 0, "to": 64, "us": us[0]}, {"from": 64, "to": 32768, "us": us[1]}]
    row = {"schema": 1, "kind": "decode", **of("fftconv_f16_causal_l32768_b1_h4096"), "method": method,
           "positions": spans, **more, **PROVENANCE}
    if not measured:
        return {**row, "source": "predicted", "profile": "H200"}
    said = {name: value for name, value in verdict("passed", 1e-4, 1e-3, 0.1).items() if name != "truth"}
    return {**row, "source": "measured", "device": {"name": "NVIDIA H200", "sm": 90, "multiprocessors": 132},
            "families": ["decode"], "code": CODE,
            "verify": {**said, "rows": 8, "of": 4096}}


def decode_rows():
    return [decode_row("dot", (2, 100)), decode_row("tiles", (2, 3)), decode_row("recurrence", (4, 4), states=64),
            decode_row("tiles", (5, 6), measured=True)]


def long_rows():
    """A sixteenth of H=768."""
    return [{**bench_row("fftconv_f16_circular_l1048576_b64_h48", "kernel", 1000), "factors": [8, 8, 16, 32, 32]},
            bench_row("fftconv_f16_circular_l1048576_b64_h48", "cufft_pairs", 2000)]


def counters_row():
    quantities = [{"name": "matrix instructions", "counted": 1536, "hardware": 1536, "ratio": 1, "metric": "a"},
                  {"name": "byte permutes", "counted": 100, "hardware": 130, "ratio": 1.3, "metric": "b",
                   "least": 90, "most": 130, "why": "a reason"},
                  {"name": "global store sectors", "counted": 0, "hardware": 0, "ratio": None, "metric": "c",
                   "least": 0, "most": 0}]
    return {"schema": 1, "kind": "counters", **of(MEASURED), "method": "kernel",
            "device": {"name": "NVIDIA H200", "sm": 90, "multiprocessors": 132}, "code": CODE, "variant": "exchange",
            "blocks": 18, "quantities": quantities, **PROVENANCE}


def row_error_rows():
    return [{"schema": 1, "kind": "row_error", "date": "2026-11-30", "git": git, "dirty": False, "torch": "2.11.0",
             "device": {"name": "CPU"}, "method": method, "dtype": dtype, "length": 4096, "sweep": sweep, "value": value,
             "error": error}
            for dtype in ("f16", "bf16") for sweep in ("partner", "offset", "scale") for value in (1.0, 1000.0)
            for method, git, error in (("danaus", "0123456789ab", 1e-3), ("danaus", "0000456789ab", value / 1000),
                                       ("torch.fft, fp32", "0123456789ab", 2e-4))]


def check_row(method="tests", failed=(), stale=False):
    row = {"schema": 1, "kind": "check", "method": method, "device": {"name": "NVIDIA H200", "sm": 90,
           "multiprocessors": 132}, "driver": "580.1", "code": "stale" if stale else CODE,
           "compiler": "NVIDIA 13.0", "program": "kernels_cuda_test",
           "tests": {"passed": 30 - len(failed), "failed": len(failed), "skipped": 1}, "failed": list(failed),
           "status": "failed" if failed else "passed", **PROVENANCE}
    return row if method == "tests" else {**row, "errors": 0}


def random_row(first=0, clearance=0.4, failed=()):
    worst = {"number": first + 7, "case": "fftconv_f16_causal_l100_b1_h1", "data": "filter gaussian, scale 1",
             "error": clearance * 1e-3, "bound": 1e-3, "clearance": clearance}
    return {"schema": 1, "kind": "random", "seed": "3", "first": first, "count": 500,
            "code": CODE, "driver": "580.1",
            "device": {"name": "NVIDIA H200", "sm": 90, "multiprocessors": 132},
            "failed": list(failed), "worst": worst, **PROVENANCE}


def prediction_row(factors, us, counted_us, n=None, mode="circular", eq2=100, batch=64, asked_by_factors=True,
                   stale=False):
    """Eq. 2 says 100 us by this GPU's rates, and twice that by the paper's. Counted work needs so long of HBM, a tenth
    of it of another resource, and nothing to launch; its instructions hardly any time."""
    product = 1
    for factor in factors:
        product *= factor
    n = n or product
    case = f"fftconv_f16_{mode}_l{n}_b{batch}_h768" + ("_r" + "x".join(map(str, factors)) if asked_by_factors else "")
    return {"schema": 1, "kind": "prediction", **of(case), "profile": "H200", "kernel": "a kernel", "dtype": "f16",
            "mode": mode, "gated": False, "fold": "pair" if mode == "circular" else "rightangle", "n": n,
            "order": len(factors), "factors": factors, "asked_by_factors": asked_by_factors, "batch": batch,
            "channels": 768, "measured_us": us, "clock_mhz": 1780, "stale": stale,
            "eq2_paper": {"us": 2 * eq2, "limit": "matrix"}, "eq2_profile": {"us": eq2, "limit": "matrix"},
            "counted": counted({"hbm": counted_us, "l2": 0, "l1": 0, "tensor": 0, "fma": 0, "alu": 0}), "notes": [],
            **PROVENANCE}


def counted(resources):
    """Of one launch, whose latencies are nothing."""
    times = {"resources_us": resources, "schedulers_us": 0, "warps_us": 0, "waits": 0, "launch_us": 0}
    fit = {"overlap": 2.4, "half_shared": 0.1, "half_l2": 1, "half_none": 2.5, "warp_rate": 0.3, "last_wave": 0.5,
           "wait_us": 0.5, "start_us": 0, "fill_us": 0, "phase_fill_us": 0, "follow_us": 0}
    return {**times, "launches": [{**times, "times": 1, "blocks": 1, "meets": False, "prefetch": "shared",
                                   "last_wave": 1, "starts": 0, "follows": False}], "fit": fit}


def prediction_rows():
    """At 1K the clock prefers 8x16x8, Eq. 2 does not know; at 768 the counted work is fitted, to no avail."""
    return [prediction_row([8, 16, 8], 50, 52.5), prediction_row([4, 16, 16], 60, 57, eq2=90),
            prediction_row([2, 16, 16], 25, 25, stale=True, asked_by_factors=False),
            prediction_row([3, 16, 16], 40, 41, asked_by_factors=False)]


def what_if_rows():
    """99 KB are 1.5 times slower at 1K, and too little at 2K."""
    fits = {"kernel": "exchange_64x16", "factors": [64, 16], "shared_bytes": 50000, "blocks_per_sm": 2,
            "transfer": "threads", "limit": "hbm"}
    none = {"kernel": None, "shared_bytes": None, "blocks_per_sm": None, "us": None, "reason": "too large"}

    def row(kilobytes, n, rest):
        return {"schema": 1, "kind": "what_if", **of(f"fftconv_f16_circular_l{n}_b64_h768"), "profile": "H200",
                "dtype": "f16", "mode": "circular", "gated": False, "n": n, "batch": 64, "channels": 768,
                "shared_kb": kilobytes, **rest, **PROVENANCE}
    return [row(227, 1024, {**fits, "us": 50}), row(99, 1024, {**fits, "us": 75}), row(227, 2048, {**fits, "us": 90}),
            row(99, 2048, none)]


def explore_row(pattern, mask, us, snr_db, factors=(16, 16), profile="H200"):
    """Dense it takes 100 us; half of the matrix instructions are left."""
    n = 1
    for factor in factors:
        n *= factor
    case = f"fftconv_f16_circular_l{n}_b64_h768_pair_r" + "x".join(map(str, factors))
    error, lost = (0, {}) if snr_db is None else (10 ** (-snr_db / 20), {"snr_db": snr_db})
    return {"schema": 1, "kind": "explore", **of(f"{case}_{mask}"), "pattern": pattern, "seed": 0,
            "data": {"filters": {"name": "hyena"}, "inputs": [{"name": "gaussian"}], "channels": 16},
            "profile": profile, "mask": mask,
            "dense_case": case, "n": n, "factors": list(factors), "zeros": 0.5,
            "stages": [{"factor": factor, "blocks": 16, "live": 8, "dead_digits": 0} for factor in factors],
            "energy_kept": 0.9, "energy_bins": [0.5, 0.01, 0, 1e-5], "kept_bins": [1, 1, 0.5, 0],
            "errors": [{"input": "gaussian", "relative_l2": error} | lost], **lost,
            "predicted_by": "counted work", "skips": False, "dense_us": 100, "us": us, "limit": "hbm",
            "dense_matrix_instructions": 2000, "matrix_instructions": 1000, "dense_bytes": 1e6, "bytes": 9e5,
            "measured_dense_us": 101, **PROVENANCE}


def explore_rows():
    """The front: 40 us at 10 dB, 80 at 45, 90 without loss."""
    return [explore_row("paper", "zero8x0", 90, None), explore_row("grid", "zero8x8", 95, 30),
            explore_row("grid", "zero12x0", 90, 44), explore_row("low", "keep0to63", 80, 45),
            explore_row("greedy", "blocks16x1h8003", 40, 10)]


def table9_rows():
    """What is sliced would be twice as fast, at 6 dB; with mirrors nothing is lost or saved. Of lines one is measured."""
    factors = (64, 32, 32, 32)
    return [explore_row("paper", "zero16x0x0x0literal", 50, 6, factors),
            explore_row("paper", "zero16x0x0x0", 100, None, factors),
            {**explore_row("lines", "zero0x0x0x48", 80, 20, factors), "measured_us": 60}]


def partial_row(taps, us, snr_db):
    error, lost = (0, {}) if snr_db is None else (10 ** (-snr_db / 20), {"snr_db": snr_db})
    return {"schema": 1, "kind": "partial", **of(f"fftconv_f16_causal_l8192_k{taps}_b64_h768"),
            "data": {"filters": {"name": "hyena"}, "inputs": [{"name": "gaussian"}], "channels": 16}, "seed": 0,
            "profile": "H200", "l": 8192, "k": taps, "whole_k": 8192,
            "errors": [{"input": "gaussian", "relative_l2": error} | lost], "total_bytes": 1700000000,
            "additional_bytes": 800000000, "k_bytes": 4 * 768 * taps, "kernel": "a kernel", "us": us,
            **PROVENANCE}


def memory_row(n, gated):
    """0.2 of the paper's units in all, half as much beside the inputs."""
    return {"schema": 1, "kind": "memory", **of(f"fftconv_f16_circular_l{n}_b64_h768"), "profile": "H200",
            "dtype": "f16", "mode": "circular", "gated": gated, "n": n, "batch": 64, "channels": 768, "u_bytes": 1000,
            "k_bytes": 1000, "gates_bytes": 0, "y_bytes": 1000, "spectrum_bytes": 1000, "tables_bytes": 1000,
            "total_bytes": 200 << 20, "additional_bytes": 100 << 20, "paper_unit": 0.2, **PROVENANCE}


def good_rows():
    """A folder's worth: {file: rows}."""
    cases = [f"fftconv_{dtype}_circular_l{n}_b1_h1_{factors}" for dtype in ("f16", "bf16")
             for n, factors in LENGTHS.items()]
    points = ((1024, [32, 32], "sram"), (65536, [256, 256], "hbm"), (1024, [16, 8, 8], "sram"))
    return {
        "verify.jsonl": [verify_row("fftconv_f16_causal_l100_k7_b2_h3_pregate_rightangle"),
                         verify_row("fftconv_f16_causal_l100_b2_h3", "skipped")],
        "error.jsonl": [verify_row(case) for case in cases],
        "range.jsonl": [verify_row(case) for case in cases] +
                       [verify_row(case, "failed", None if "l512" in case else 5e-3, "one_side") for case in cases],
        "model.jsonl": [model_row(profile, *point) for profile in ("A100-40GB", "H200") for point in points],
        "factors.jsonl": [factors_row()],
        "predictions.jsonl": prediction_rows(),
        "what_if.jsonl": what_if_rows(),
        "ways.jsonl": ways_rows(),
        "fields.jsonl": field_rows(),
        "factorizations-long.jsonl": long_factor_rows(),
        "extension.jsonl": extension_rows(),
        "extension_memory.jsonl": extension_memory_rows(),
        "explore.jsonl": explore_rows(),
        "table9.jsonl": table9_rows(),
        "partial.jsonl": [partial_row(8192, 600, None), partial_row(256, 550, 12.5)],
        "memory.jsonl": [memory_row(1024, False), memory_row(1024, True)],
        "checks.jsonl": [check_row(), check_row("memcheck")],
        "random.jsonl": [random_row(), random_row(500, 0.45)],
        "row_errors.jsonl": row_error_rows(),
        "forecast.jsonl": [forecast_row(13, "NVIDIA H200")],
        "short.jsonl": short_rows(),
        "state.jsonl": state_rows(),
        "decode.jsonl": decode_rows(),
    }
