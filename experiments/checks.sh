#!/usr/bin/env bash
# What runs right on a GPU: the tests of the kernels by themselves and under each tool of compute-sanitizer, and random
# cases, a row each for experiments/results/. A tool that is not there is left out and said. Exit 1 when any failed.
# Resumable: parts of the tests that have ended stand as long as the tests' program does, and random cases by their rows.
#
#   experiments/checks.sh [--out FOLDER] [--device NUMBER,...] [--count NUMBER] [--jobs NUMBER] [--tests FILE]
#                         [--program FILE]
#
#   --out      where checks.jsonl and random.jsonl go, and what tools print (default: out)
#   --device   which GPU (default: 0), or several of one kind, which share the tests; random cases take the first
#   --count    random cases of each operation (default: 20000)
#   --jobs     processes at once, of many parts of the tests (default: a CPU core each; the truth in double takes most of
#              the time)
#   --tests    the tests' program, --program danaus (default: both built by the preset default)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

out=out device=0 count=20000 jobs=$(nproc) tests='' program=''
while [ $# -gt 0 ]; do
  case "$1" in
    --out | --device | --count | --jobs | --tests | --program)
      [ $# -ge 2 ] || { echo "checks: $1 needs a value" >&2; exit 2; }
      declare "${1#--}=$2"
      shift 2
      ;;
    *) echo "checks: unknown option '$1', must be --out, --device, --count, --jobs, --tests or --program" >&2; exit 2 ;;
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
export CUDA_VISIBLE_DEVICES=${device%%,*}  # programs take the first that they see

failed=0
parts=$((8 * jobs))
run_part() {  # run_part NAME FILTER PART [COMMAND...]
  local name=$1.$3-of-$parts filter=$2 part=$3
  shift 3
  IFS=, read -ra devices <<<"$device"
  CUDA_VISIBLE_DEVICES=${devices[slot % ${#devices[@]}]} GTEST_TOTAL_SHARDS=$parts GTEST_SHARD_INDEX=$part \
    "$@" "$tests" --gtest_brief=1 "--gtest_filter=$filter" "--gtest_output=json:$name.json" \
    >"$name.txt" 2>&1 || true  # what failed is in the results
}
export -f run_part
export tests parts device

check() {  # check TOOL [COMMAND...]: the tests, watched by the command, and their row; stops where no row can be made
  local tool=$1 name=$out/device$device.$1 code=0 part log=() left=()
  shift
  local filter='*'
  case "$tool" in
    # It takes hundreds of times as long, and looks at the threads of a block: not for large shapes and for many calls.
    racecheck) filter='-*Large*:*Million*:Cuda.CallsThat*:Cuda.AFilterFromTheHost*' ;;
    # It takes no bulk store for a write (cp.async.bulk, CUDA 13.0), and decoding reads what one left in fresh memory.
    initcheck) filter='-CudaDecodings.*' ;;
  esac
  for part in $(seq 0 $((parts - 1))); do
    [ "$name.$part-of-$parts.json" -nt "$tests" ] || left+=("$part")
  done
  [ "$tool" = tests ] || log=(--log "$name.%-of-$parts.txt")
  [ ${#left[@]} -eq 0 ] || printf '%s\n' "${left[@]}" |
    xargs -P "$jobs" --process-slot-var=slot -I{} bash -c 'run_part "$@"' run_part "$name" "$filter" {} "$@"
  "$program" record --program "$(basename "$tests")" --tool "$tool" --parts "$parts" --device 0 \
    --results "$name.%-of-$parts.json" "${log[@]}" --json "$out/checks.jsonl" || code=$?
  [ "$code" -le 1 ] || exit "$code"
  [ "$code" -eq 0 ] || failed=1
}

check tests
operations=$("$program" list operations | awk 'NR > 1 {print $1}')
for operation in $operations; do
  code=0
  "$program" random --operation "$operation" --count "$count" --device 0 --json "$out/random.jsonl" || code=$?
  [ "$code" -le 1 ] || exit "$code"
  [ "$code" -eq 0 ] || failed=1
done
for tool in memcheck initcheck synccheck racecheck; do  # the last takes longer than all before
  if [ -x "$sanitizer" ]; then
    # Every call of the driver is checked by the program itself, and its tests make some that must be refused.
    check "$tool" "$sanitizer" --tool "$tool" --report-api-errors no
  else
    echo "checks: no compute-sanitizer, $tool is left out" >&2
  fi
done
exit "$failed"
