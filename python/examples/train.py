"""Trains the model of language_model.py by torch.fft and by danaus, from the same weights on the same batches.

  python python/examples/train.py --json rows.jsonl                     small, on the CPU: that it learns
  python python/examples/train.py --device cuda --length 1024 --batch 64 --channels 256 --layers 4 --json rows.jsonl

--graph makes the whole step a CUDA graph, so that it takes what the GPU needs and waits for no Python.
--json appends a row for each method and task (experiments/results/schemas/training.schema.json). curves.py draws their
losses, python/tools/tables.py compares their times, masks.py looks at the filters of a model that --save kept.
"""

import argparse
import contextlib
import statistics
import sys
import time
from pathlib import Path

import torch

import rows
from language_model import CONVOLUTIONS, TASKS, LanguageModel

WARM_STEPS = 5  # which make plans and fill caches, and are in no time


def main(arguments=None):
    options = parsed(arguments)
    for task in options.task:
        for method in options.method:
            model, row = trained(task, method, options)
            print(f"{task:<8}{method:<12}L={row['length']}: loss {row['losses'][0]:.3f} to {row['losses'][-1]:.3f}, "
                  f"{row['step_ms']['median']:.2f} ms a step", file=sys.stderr)
            if options.json:
                rows.append(options.json, row)
            if options.save:
                torch.save({"row": row, "weights": model.state_dict()}, options.save / f"{task}_{method}.pt")


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=TASKS, nargs="+", default=list(TASKS))
    parser.add_argument("--method", choices=CONVOLUTIONS, nargs="+", default=list(CONVOLUTIONS))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), help="of the arithmetic; weights are float32 "
                        "(default: float32 on the CPU, bfloat16 by autocast on a GPU)")
    for name, default in (("length", 256), ("batch", 8), ("channels", 64), ("layers", 2), ("steps", 300), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--rate", type=float, default=3e-3, help="of AdamW, after a rise over the first tenth")
    parser.add_argument("--graph", action="store_true", help="a step is a CUDA graph")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--save", type=Path, metavar="DIR", help="folder that the models go to")
    options = parser.parse_args(arguments)
    options.dtype = options.dtype or ("float32" if options.device == "cpu" else "bfloat16")
    if options.length % 2 or options.length < 16:
        parser.error(f"--length {options.length}, must be even and at least 16")
    if options.steps < WARM_STEPS + 2:
        parser.error(f"--steps {options.steps}, must be at least {WARM_STEPS + 2}")
    if options.device != "cpu" and options.dtype == "float32" and "danaus" in options.method:
        parser.error("--dtype float32, for which a GPU has no kernel of danaus; bfloat16 has")
    if options.graph and options.device == "cpu":
        parser.error("--graph with --device cpu, must be with a GPU")
    return options


def trained(task, method, options):
    """The model, and the row of its training."""
    device = torch.device(options.device)
    torch.manual_seed(options.seed)
    data = TASKS[task]()
    model = LanguageModel(data.vocabulary, options.length, options.channels, options.layers).to(device)
    model.convolve_by(CONVOLUTIONS[method])
    rate = torch.tensor(options.rate, device=device) if options.graph else options.rate  # a graph reads it anew
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.01, capturable=options.graph)
    rising = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / (0.1 * options.steps)))
    generator = torch.Generator().manual_seed(options.seed)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)

    def step(tokens, targets):
        with torch.autocast(device.type, torch.bfloat16, enabled=options.dtype == "bfloat16"):
            loss = model.loss(tokens, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    losses, times = [], []
    with torch.cuda.stream(torch.cuda.Stream(device)) if options.graph else contextlib.nullcontext():
        for i in range(options.steps):
            batch = [x.to(device) for x in data.batch(options.batch, options.length, generator)]
            if options.graph and i == WARM_STEPS:
                step = captured(step, *batch)
            start = now(device)
            loss = step(*batch)
            times.append(1e3 * (now(device) - start))
            rising.step()
            losses.append(round(loss.item(), 5))
    settings = ("length", "batch", "channels", "layers", "steps", "rate", "seed", "dtype", "graph")
    return model, {
        **rows.origin("training", device), "task": task, "data": data.origin, "method": method,
        **{name: getattr(options, name) for name in settings},
        "losses": losses, "step_ms": dict(zip(("q1", "median", "q3"), statistics.quantiles(times[WARM_STEPS:], n=4))),
        "memory_bytes": torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None}


def captured(step, *batch):
    """The same step as a CUDA graph of the current stream, which is not the default one; it takes batches of these
    shapes. To capture it runs nothing."""
    inputs = [x.clone() for x in batch]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
        loss = step(*inputs)

    def replayed(*batch):
        for x, given in zip(inputs, batch):
            x.copy_(given)
        graph.replay()
        return loss

    return replayed


def now(device):
    """Seconds, when the device has done all that it was asked for."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


if __name__ == "__main__":
    main()
