#!/usr/bin/env bash
# From the sources to the first number in two commands, in a fresh environment, timed. Exit 77 where the packages that
# pip needs cannot be had. Arguments go to pip.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
/usr/bin/python3 -m venv "$folder/environment"
python=$folder/environment/bin/python
if ! "$python" -m pip download --quiet --no-deps --dest "$folder" scikit-build-core 2>"$folder/errors"; then
  echo "install_test: pip has no scikit-build-core: $(tail -n 1 "$folder/errors")"
  exit 77
fi
cd "$root"
seconds=$SECONDS
"$python" -m pip install --quiet "$@" .
cd "$folder"
"$python" -c "
import danaus
row, = danaus.verify('fftconv_f16_causal_l1024_b2_h3', method='kernel')
assert row['verify']['status'] == 'passed', row
print(danaus.__version__, row['verify'])"
echo "install_test: $((SECONDS - seconds)) s from the sources to the first number"
needed=$(readelf -d "$folder"/environment/lib/python3*/site-packages/danaus/libdanaus_python.so | grep NEEDED)
if grep -E 'boost|fftw|sndfile|cufft|cudart|stdc' <<<"$needed"; then
  echo "install_test: the library needs what should be in it" >&2
  exit 1
fi
