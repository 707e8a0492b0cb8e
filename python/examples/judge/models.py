"""Two cost models from outside, for danaus.judge_model: a plain roofline, and ECM.

  python models.py ../../experiments/results/h200_predictions.jsonl
"""

import json
import sys

import danaus

BANDWIDTH, FLOPS = 4.8e6, 989e6  # of an H200, from its datasheet: bytes and fp16 operations a microsecond


def roofline(row):
    """The longer of bytes over bandwidth and operations over the peak, 5 N log2 N each transform."""
    n, rows = row["n"], row["batch"] * row["channels"]
    arrays = 2 + 2 * row["gated"]
    operations = rows * 2 * 2.5 * n * (n.bit_length() - 1)
    return max(2 * arrays * rows * n / BANDWIDTH, operations / FLOPS)


def ecm(row):
    """Execution-cache-memory (Stengel et al. 2015): transfers between levels add up, arithmetic overlaps with them."""
    needs = row["counted"]["resources_us"]
    return max(needs["hbm"] + needs["l2"] + needs["l1"], needs["tensor"], needs["fma"] + needs["alu"])


def fused(paths):
    """Rows of convolutions in one launch, which have an FFT size."""
    rows = [json.loads(line) for path in paths for line in open(path, encoding="utf-8")]
    return [row for row in rows if "n" in row]


if __name__ == "__main__":
    for model in (roofline, ecm):
        print(danaus.judge_model(model, fused(sys.argv[1:])), end="\n\n")
