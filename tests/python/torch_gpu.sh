#!/usr/bin/env bash
# All tests of the package that take PyTorch or a GPU, one after the other, on a machine that has both, with a library
# that is built. Fails where any of them fails or is skipped.
#
#   [PYTHON=python3] tests/python/torch_gpu.sh BUILD [PART...]     # BUILD/python is the package; parts: as below
set -uo pipefail
if [ $# -lt 1 ] || [ ! -e "$1/python/danaus/libdanaus_python.so" ]; then
  echo "torch_gpu: ${1:-BUILD}/python/danaus/libdanaus_python.so is not there; name the folder of a build" >&2
  exit 2
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PYTHONPATH=$(cd "$1/python" && pwd)
export PYTHONPATH
shift
parts=("$@")
# A GPU's own come first.
[ $# -gt 0 ] || parts=(torch_cuda torch_doors_cuda torch_short_cuda numpy numpy_doors readme torch_short torch_filter
                       torch_plans torch_dropin examples torch)
python=${PYTHON:-python3}
"$python" -B -c "
import danaus, torch
print('danaus', danaus.__version__, 'torch', torch.__version__, torch.cuda.get_device_name())
print('devices:', danaus.device_count(), 'of the library,', torch.cuda.device_count(), 'of PyTorch')" || exit 1
failed=()
for part in "${parts[@]}"; do
  seconds=$SECONDS
  "$python" -B "$here/${part}_test.py" || failed+=("$part, exit code $?")
  echo "== $part: $((SECONDS - seconds)) s"
done
if [ ${#failed[@]} -gt 0 ]; then
  printf 'torch_gpu: failed or skipped: %s\n' "${failed[@]}"
  exit 1
fi
echo "torch_gpu: all passed"
