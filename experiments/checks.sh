#!/usr/bin/env bash
# What runs right on a GPU: the tests of the kernels by themselves and under each tool of compute-sanitizer, and random
# cases, a row each for experiments/results/. A tool that is not there is left out and said. Exit 1 when any failed.
#
#   experiments/checks.sh [--out FOLDER] [--device NUMBER] [--count NUMBER] [--tests FILE] [--program FILE]
#
#   --out      where checks.jsonl and random.jsonl go, and what tools print (default: out)
#   --device   which GPU (default: 0)
#   --count    random cases (default: 20000)
#   --tests    the tests' program, --program danaus (default: both built by the preset default)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

out=out device=0 count=20000 tests='' program=''
while [ $# -gt 0 ]; do
  case "$1" in
    --out | --device | --count | --tests | --program)
      [ $# -ge 2 ] || { echo "checks: $1 needs a value" >&2; exit 2; }
      declare "${1#--}=$2"
      shift 2
      ;;
    *) echo "checks: unknown option '$1', must be --out, --device, --count, --tests or --program" >&2; exit 2 ;;
  esac
done
mkdir -p "$out" || exit 2
if [ -z "$tests" ]; then
  ./run build kernels_cuda_test
  tests=build/default/tests/kernels/kernels_cuda_test
fi
if [ -z "$program" ]; then
  ./run build danaus
  program=build/default/danaus
fi
for file in "$tests" "$program"; do
  [ -x "$file" ] || { echo "checks: $file is no program" >&2; exit 2; }
done
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
export CUDA_VISIBLE_DEVICES=$device  # the tests take the first that they see

failed=0
record() {  # record TOOL [LOG]: what the run wrote; goes on after a failure (1), stops at anything else
  local code=0
  "$program" record --program "$(basename "$tests")" --results "$out/$1.json" --tool "$1" ${2:+--log "$2"} --device 0 \
    --json "$out/checks.jsonl" || code=$?
  [ "$code" -le 1 ] || exit "$code"
  [ "$code" -eq 0 ] || failed=1
}

rm -f "$out"/{tests,memcheck,racecheck,initcheck,synccheck}.json
"$tests" --gtest_brief=1 "--gtest_output=json:$out/tests.json" >&2 || true
record tests
for tool in memcheck racecheck initcheck synccheck; do
  if [ ! -x "$sanitizer" ]; then
    echo "checks: no compute-sanitizer, $tool is left out" >&2
    continue
  fi
  "$sanitizer" --tool "$tool" "$tests" --gtest_brief=1 "--gtest_output=json:$out/$tool.json" \
    >"$out/$tool.txt" 2>&1 || true
  record "$tool" "$out/$tool.txt"
done
code=0
"$program" random --count "$count" --device 0 --json "$out/random.jsonl" || code=$?
[ "$code" -le 1 ] || exit "$code"
exit $((failed | code))
