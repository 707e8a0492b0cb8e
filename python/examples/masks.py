# Which frequencies of its filters does a trained model need? Table 9 of Fu et al. 2023, on weights that train.py made.
#
#   python python/examples/train.py --task text --method danaus --length 256 --save DIR
#   python python/examples/masks.py DIR/text_danaus.pt --json rows.jsonl
#   python python/examples/masks.py DIR/text_danaus.pt --mask keep0to63      # what a mask of your own does to the loss
#
# Each cell, after a line "# %%", runs by itself in an editor that knows such cells. Without a GPU the masked kernels
# are executed operation by operation: few and short rows.

# %% A trained model, and rows that it has not seen

import argparse
from pathlib import Path

import numpy as np
import torch

import danaus
import rows
from language_model import TASKS, LanguageModel

parser = argparse.ArgumentParser()
parser.add_argument("model", type=Path)
parser.add_argument("--device", default="cpu")
parser.add_argument("--rows", type=int, default=4, help="that the loss is taken of, two or more")
parser.add_argument("--mask", nargs="+", metavar="WORD", help="masks as a token has them, in place of those below")
parser.add_argument("--filters", type=Path, metavar="FILE",
                    help=".npy that the filters of all layers go to, [H, K], as the program danaus explore takes them")
parser.add_argument("--snr", type=float, nargs="+", metavar="DB", default=[30, 20, 10],
                    help="of y, at which masks are explored (default: 30 20 10)")
parser.add_argument("--json", type=Path, metavar="FILE")
options = parser.parse_args()

saved = torch.load(options.model, map_location=options.device)
trained = saved["row"]
data = TASKS[trained["task"]]()
model = LanguageModel(data.vocabulary, trained["length"], trained["channels"], trained["layers"]).to(options.device)
model.load_state_dict(saved["weights"])
tokens, targets = data.batch(options.rows, trained["length"], torch.Generator().manual_seed(10**6))
tokens, targets = tokens.to(options.device), targets.to(options.device)
with torch.no_grad():
    filters = torch.cat([block.mixer.filter() for block in model.blocks]).cpu().numpy()
if options.filters:
    np.save(options.filters, filters)


# %% The convolutions as a case whose spectra a mask zeroes
#
# A causal convolution in the pair fold has N = 2L or more points. Its spectrum is reshaped to N's factors, last factor
# first; a mask zeroes the last so many indices of each dimension. What is removed has to be so of a frequency and of
# its mirror, for a real filter to stay real: half of the first dimension alone removes next to nothing.

def kernel_of_pairs():
    """The gated one of the fewest points that hold the linear convolution."""
    fits = [row for row in danaus.kernels()
            if row["fold"] == "pair" and row["dtype"] == "bf16" and row["gates"] == "with"
            and row["chosen"] == "by default" and int(row["N"]) >= 2 * trained["length"]]
    if not fits:
        raise SystemExit(f"masks: L={trained['length']} has no kernel of pairs, which have up to 32768 points")
    return min(fits, key=lambda row: int(row["N"]))


kernel = kernel_of_pairs()
dimensions = [int(factor) for factor in reversed(kernel["factors"].split("x"))]
layout = f"pair_n{kernel['N']}_r{kernel['factors']}"
case = f"fftconv_bf16_causal_l{trained['length']}_b{options.rows}_h{trained['channels']}_pregate_postgate_{layout}"


def masked(mask):
    """The model's convolution under a mask, as the kernel computes it, and the share of frequencies that are zero."""
    plan = danaus.Plan(f"{case}_{mask}" if mask else case, options.device)

    def convolution(u, k, pregate, postgate):
        arrays = {"u": u, "pregate": pregate, "postgate": postgate}
        plan.prepare(k=k.contiguous())
        return plan.execute(**{name: array.bfloat16().contiguous() for name, array in arrays.items()}).to(u.dtype)

    return convolution, 0.0 if plan.kept is None else float(1 - plan.kept.mean())


# %% The loss against the zeros
#
# Three ways to remove more and more: half of one dimension after another, which leaves a comb of bands; more and more
# of the first, which leaves the low frequencies; and of hundreds of masks the one that removes most while y, of noise,
# keeps an SNR. (Not that which saves most time: with gates no kernel does less for a mask.)

def zeroed(*shares):
    counts = [int(share * extent) for share, extent in zip(shares, dimensions)]
    return "zero" + "x".join(map(str, counts + [0] * (len(dimensions) - len(counts))))


patterns = [("none", "")]
if options.mask:
    patterns += [("given", mask) for mask in options.mask]
else:
    patterns += [("halves", zeroed(*[1 / 2] * count)) for count in range(2, len(dimensions) + 1)]
    patterns += [("low", zeroed(share)) for share in (5 / 8, 6 / 8, 7 / 8)]
    dense = f"fftconv_bf16_causal_l{trained['length']}_b{options.rows}_h{len(filters)}_{layout}"
    try:
        tried = danaus.explore(filters, case=dense, best_above_snr=min(options.snr))
        for snr in options.snr:
            most = danaus.best(tried, snr, cost=lambda row: -row["zeros"])
            patterns.append(("explored", most["mask"]))
    except ValueError as error:
        raise SystemExit(f"masks: {error}; ask for another --snr") from None

found = []
for pattern, mask in patterns:
    convolution, share = masked(mask)
    model.convolve_by(convolution)
    with torch.no_grad():
        loss = model.loss(tokens, targets).item()
    found.append({**rows.origin("masked_model", options.device), "task": trained["task"], "data": trained["data"],
                  "steps": trained["steps"], "case": case, "asked": danaus.asked(case), "pattern": pattern,
                  "mask": mask, "zeros": share, "loss": loss})
    print(f"{pattern:<8}{mask:<16}{share:7.1%} zeros, loss {loss:.4f}, "
          f"{loss - found[0]['loss']:+.4f}")

if options.json:
    rows.append(options.json, *found)
