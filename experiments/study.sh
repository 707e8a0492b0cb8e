#!/usr/bin/env bash
# The study: verify every default case, measure the rounding model, ask the cost model, draw the figures, write the
# report. Resumable: rows that stand are not made again. Exit 1 when a case fails its bound (the report shows which).
#
#   ./run study [--out FOLDER] [--program FILE]     defaults: out, and the program that ./run build makes
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
  ./run build danaus
  program=build/default/danaus
fi
[ -x "$program" ] || { echo "study: $program is no program" >&2; exit 2; }

# Rows of an older program would stand in the report beside the new ones.
sources=$("$program" info | sed -n 's/^sources *//p')
for file in "$out"/{verify,error,range,model,factors}.jsonl; do
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

figures() {
  /usr/bin/python3 plots/make.py --data "$out" --out "$out/figures" --report "$out/report.html" >&2 || return 2
}

step "Verification: every candidate against the truth" "$program" verify --summary --json "$out/verify.jsonl"
step "Rounding error by length, order and type" "$program" verify --summary --sweep error --json "$out/error.jsonl"
step "Where 1/N goes: fp16 and bf16 at data scale 0.02" "$program" verify --summary --sweep range --json "$out/range.jsonl"
step "Predicted time: Eq. 2" "$program" model --sweep figure4 --json "$out/model.jsonl" >"$out/model.txt"
step "Monarch factors" "$program" factors --json "$out/factors.jsonl" >"$out/factors.txt"
step "Figures and report" figures

count() { grep -c "\"status\":\"$1\"" "$out/verify.jsonl" || true; }
printf '\nverified   %s passed, %s failed, %s skipped\n' "$(count passed)" "$(count failed)" "$(count skipped)"
printf 'figures    %s (SVG and PNG)\n' "$out/figures"
printf 'report     %s\n' "$out/report.html"
exit "$failed"
