#!/usr/bin/env bash
# The study: verify every default case, ask the cost models, measure where there is a GPU, judge the models by measured
# rows, draw the figures, write the report. Without a GPU the measured rows are those of experiments/results/.
# Resumable: rows that stand are not made again. Exit 1 when a case fails its bound (the report shows which).
#
#   ./run study [--out FOLDER] [--program FILE]
#
#   --out      where results go (default: out)
#   --program  danaus itself (default: built with every factorization, for this machine's GPU where it has one and nvcc)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=
out=out
while [ $# -gt 0 ]; do
  case "$1" in
    --program) program=${2:?study: --program needs a file}; shift 2 ;;
    --out) out=${2:?study: --out needs a folder}; shift 2 ;;
    *) echo "study: unknown option '$1', must be --program FILE or --out FOLDER" >&2; exit 2 ;;
  esac
done
mkdir -p "$out" || exit 2
if [ -z "$program" ]; then
  preset=study
  if nvidia-smi -L >/dev/null 2>&1; then
    if command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
      preset=study-gpu
    else
      echo "study: there is a GPU but no nvcc, so nothing can be measured on it" >&2
    fi
  fi
  ./run build danaus "$preset"
  program=build/$preset/danaus
fi
[ -x "$program" ] || { echo "study: $program is no program" >&2; exit 2; }

# Rows of an older program would stand in the report beside the new ones. Measured rows stay until their kernels change.
sources=$("$program" info | sed -n 's/^sources *//p')
for kind in verify error range model short state extension extension_memory factorizations-long factors fields memory \
  what_if ways explore table9 partial; do
  file=$out/$kind.jsonl
  if [ -f "$file" ] && grep -qvF "\"sources\":\"$sources\"" "$file"; then
    grep -F "\"sources\":\"$sources\"" "$file" >"$file.part" || true
    echo "study: $file: dropped rows that another program made or a crash cut short" >&2
    mv "$file.part" "$file"
  fi
done

failed=0
step() {  # step TITLE COMMAND...: goes on after a failed check (1), stops at anything else
  local code=0
  printf '\n== %s\n' "$1" >&2
  "${@:2}" || code=$?
  [ "$code" -le 1 ] || exit "$code"
  [ "$code" -eq 0 ] || failed=1
}

profile_of() {  # profile_of DEVICE: the program's own hardware profile of it, nothing where it has none
  "$program" list profiles | awk -v of="$1," 'index($0, of) { print $1; exit }'
}

# The hardware profile of the GPU at hand: the program's own, or one that is measured once.
calibrated_profile() {
  local device=${gpu%%,*}
  profile=$(profile_of "$device")
  [ -z "$profile" ] || return 0
  profile=${device#NVIDIA }
  profile=$out/${profile// /-}.json
  [ -f "$profile" ] || step "Calibration: what this GPU can do" "$program" calibrate --output "$profile" >"$out/calibration.txt"
}

measure() {
  calibrated_profile
  measured=("$out/bench.jsonl") profiles=("$profile")
  for sweep in speed whole-call odd-batches lengths sparse long sparse-long gradients step spectral spectral-types spectral-gradients short short-gradients \
    state factorizations-fp16 factorizations-bf16 factorizations-long extension; do
    step "Measured time: the sweep $sweep" "$program" bench --sweep "$sweep" --json "$out/bench.jsonl" >"$out/bench-$sweep.txt"
  done
  step "Measured time: decoding" "$program" decode --device 0 --json "$out/decode.jsonl" >"$out/decode-measured.txt"
  printf '\n== The GPU'\''s own counters\n' >&2
  "$program" count --hardware --json "$out/counters.jsonl" >"$out/counters.txt" ||
    echo "study: no counters of the GPU; the report shows committed ones, where there are any" >&2
}

committed() {
  local file device
  profile=H200 profiles=()  # of each measured file
  mapfile -t measured < <(grep -lF '"kind":"bench"' experiments/results/*.jsonl)
  for file in "${measured[@]}"; do
    device=$(sed -n '1s/.*"device":{"name":"\([^"]*\)".*/\1/p' "$file")
    profiles+=("$(profile_of "$device")")
  done
  echo "study: no GPU to measure on: measured rows are those of experiments/results/ (${#measured[@]} files)" >&2
}

predict() {  # one device at a time
  local i rows parts=()
  : >"$out/predictions.txt"
  for i in "${!measured[@]}"; do
    rows=$out/predictions-$(basename "${profiles[i]}" .json).jsonl
    "$program" model --measured "${measured[i]}" --profile "${profiles[i]}" --json "$rows" >>"$out/predictions.txt" || return
    parts+=("$rows")
  done
  cat "${parts[@]}" >"$out/predictions.jsonl"
}

judgement() {  # how well the models predict, in a few lines
  [ ! -f "$out/predictions.jsonl" ] || /usr/bin/python3 plots/make.py --data "$out" --judge
}

# A small exploration of masks, with measured times beside it where there are some; of 2M by any device that has them.
explore() {
  local beside=() long=() case=fftconv_f16_circular_l4096 i
  local of_long=fftconv_f16_circular_l2097152_b64_h6_n2097152_pair_r64x32x32x32
  for i in "${!measured[@]}"; do
    if [ "${profiles[i]}" = "$profile" ]; then beside+=("--measured=${measured[i]}"); fi
    if grep -qF "${of_long}_" "${measured[i]}"; then long=("--measured=${measured[i]}" --profile "${profiles[i]}"); fi
  done
  "$program" explore --case ${case}_b64_h768 --count 24 "${beside[@]}" --json "$out/explore.jsonl" >"$out/explore.txt"
  "$program" explore --case ${case}_b1_h768 --count 24 "${beside[@]}" --json "$out/explore.jsonl" >>"$out/explore.txt"
  "$program" explore --pattern paper --case fftconv_f16_circular_l2097152_b1_h768_plain_r64x32x32x32 \
    --json "$out/table9.jsonl" >"$out/table9.txt"
  "$program" explore --pattern paper --pattern lines --case $of_long "${long[@]}" --json "$out/table9.jsonl" \
    >>"$out/table9.txt"
  "$program" explore --partial "${beside[@]}" --json "$out/partial.jsonl" >"$out/partial.txt"
}

figures() {
  "$program" stale "$out" >"$out/stale.txt" || return
  /usr/bin/python3 plots/make.py --data "$out" --out "$out/figures" --report "$out/report.html" >&2 || return 2
}

gpu=$("$program" info | sed -n 's/^GPU  *//p')
step "Verification: every method against the truth" "$program" verify --summary --json "$out/verify.jsonl"
step "Rounding error by length, order and type" "$program" verify --summary --sweep error --json "$out/error.jsonl"
step "Where 1/N goes: fp16 and bf16 at data scale 0.02" "$program" verify --summary --sweep range --json "$out/range.jsonl"
step "Monarch factors" "$program" factors --json "$out/factors.jsonl" >"$out/factors.txt"
step "Predicted time: Eq. 2" "$program" model --sweep figure4 --json "$out/model.jsonl" >"$out/model.txt"
step "Fields and their truncated spectra" "$program" fields --json "$out/fields.jsonl" >"$out/fields.txt"
if [ "$gpu" = none ]; then committed; else measure; fi
[ ${#measured[@]} -eq 0 ] || step "What the cost models predict for what was measured" predict
for sweep in short state extension; do
  step "What counted work predicts: the sweep $sweep" "$program" model --sweep "$sweep" --model roofline --profile "$profile" \
    --json "$out/$sweep.jsonl" >"$out/$sweep.txt"
done
for each in "${profiles[@]:-$profile}"; do  # beside what was measured on each
  step "What counted work predicts: spectral layers, $(basename "$each" .json)" "$program" model --sweep spectral \
    --model roofline --profile "$each" --json "$out/spectral.jsonl" >"$out/spectral.txt"
done
step "What counted work predicts: decoding" "$program" decode --profile "$profile" --json "$out/decode.jsonl" >"$out/decode.txt"
step "What the models predict: the sweep factorizations-long" "$program" model --sweep factorizations-long \
  --profile "$profile" --json "$out/factorizations-long.jsonl" >"$out/factorizations-long.txt"
step "Memory" "$program" memory --json "$out/memory.jsonl" >"$out/memory.txt"
step "Memory of filters over longer rows" "$program" memory --sweep extension --json "$out/extension_memory.jsonl" \
  >"$out/extension_memory.txt"
step "What if a block had less shared memory?" "$program" what-if --profile "$profile" --json "$out/what_if.jsonl" >"$out/what_if.txt"
step "Which way is the soonest on which device?" "$program" what-if --ways --json "$out/ways.jsonl" >"$out/ways.txt"
step "Sparsity: masks, and partial filters" explore
step "Figures and report" figures

count() { grep -c "\"status\":\"$1\"" "$out/verify.jsonl" || true; }
printf '\nverified   %s passed, %s failed, %s skipped\n' "$(count passed)" "$(count failed)" "$(count skipped)"
printf 'figures    %s (SVG and PNG)\n' "$out/figures"
printf 'report     %s\n\n' "$out/report.html"
judgement
exit "$failed"
