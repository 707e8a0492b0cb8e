"""Judges a candidate or a model from a shell. Exit code 0: passed; 1: a check failed; 2: wrong words.

  python -m danaus.judging FILE.py:NAME [OPERATION]        a function of Python, or MODULE:NAME
  python -m danaus.judging --library FILE.so [OPERATION]   a library with danaus_candidate(), see candidate.h
  python -m danaus.judging --model FILE.csv --measured FILE.jsonl
"""

import argparse
import json
import sys
from pathlib import Path

import danaus
from danaus.judging import CHECKS, judge_model


def parser():
    words = argparse.ArgumentParser(prog="python -m danaus.judging", description=__doc__.splitlines()[0],
                                    epilog="\n".join(__doc__.splitlines()[2:]),
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    add = words.add_argument
    add("candidate", nargs="?", help="FILE.py:NAME or MODULE:NAME")
    add("operation", nargs="?", help="the first words of a token (default fftconv)")
    add("--library", metavar="FILE.so", help="a shared library in place of a function")
    add("--model", metavar="FILE.csv", help="columns case, kernel and us, to be judged by --measured")
    add("--measured", metavar="FILE.jsonl", nargs="+", help="rows of danaus bench or danaus model --measured")
    add("--arrays", default="numpy", help="numpy (default), torch or cupy")
    add("--device", help="cpu, cuda or cuda:N")
    add("--claim", help="rounding, fp32 or 16bit")
    add("--gradient", default="auto", help="autograd, FILE.py:NAME, or none")
    add("--dtype", dest="dtypes", nargs="+", help="types of samples: f16, bf16, f32, f64")
    add("--length", dest="lengths", nargs="+", type=int, help="lengths that the candidate takes")
    add("--count", type=int, default=40, help="random cases (default 40)")
    add("--seed", type=int, default=0, help="number of the first case")
    add("--samples", type=int, default=1 << 14, help="of u in a case, at most (default 16384)")
    add("--limit", dest="limit_s", type=float, default=20.0, help="seconds for a call (default 20)")
    add("--budget", dest="budget_s", type=float, default=60.0, help="seconds for everything, roughly (default 60)")
    add("--without", nargs="+", default=[], metavar="CHECK", help=f"checks to leave out: {', '.join(CHECKS)}")
    add("--only", nargs="+", metavar="CHECK", help="checks to make alone")
    add("--timed", nargs="*", metavar="TOKEN", help="times these cases, or the largest right one")
    add("--json", metavar="FILE", help="rows, one a line; - for the standard output")
    add("--page", metavar="FILE", help="a page, FILE.md or FILE.html")
    add("--include", action="store_true", help="prints the folder of candidate.h and ends")
    return words


def main(arguments=None):
    words = parser().parse_args(arguments)
    if words.include:
        print(Path(__file__).parent)
        return 0
    try:
        report = _model(words) if words.model else _candidate(words)
    except (ValueError, TypeError, OSError) as error:
        print(f"danaus: {error}", file=sys.stderr)
        return 2
    if words.json == "-":
        for row in report.rows:
            print(json.dumps(row))
    else:
        print(report)
    for path in (words.json, words.page):
        if path not in (None, "-"):
            report.write(path)
    return getattr(report, "exit_code", 0)


def _model(words):
    if not words.measured:
        raise ValueError("judge: --model without --measured, the rows that it is judged by")
    return judge_model(words.model, words.measured)


def _candidate(words):
    if words.library and words.candidate and not words.operation:
        words.candidate, words.operation = None, words.candidate
    if bool(words.library) == bool(words.candidate):
        raise ValueError("judge: give one candidate, FILE.py:NAME or --library FILE.so (see --help)")
    timed = words.timed if words.timed else words.timed is not None
    return danaus.judge(words.library or words.candidate, words.operation or "fftconv", arrays=words.arrays,
                        device=words.device, claim=words.claim, dtypes=words.dtypes, lengths=words.lengths,
                        gradient=None if words.gradient == "none" else words.gradient, count=words.count,
                        seed=words.seed, samples=words.samples, limit_s=words.limit_s, budget_s=words.budget_s,
                        without=words.without, only=words.only, timed=timed)


if __name__ == "__main__":
    sys.exit(main())
