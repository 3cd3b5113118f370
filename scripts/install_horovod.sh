#!/usr/bin/env bash
# Builds Horovod 0.28.1 against the torch and TensorFlow of an environment, and installs it there:
#
#     scripts/install_horovod.sh .venv/bin/python
#
# The wheel fits exactly these versions (C++ ABI) and is kept in a folder that is named by them, so
# that it is built once: about nine minutes of CPU time. Its only transport is Gloo: no MPI, no NCCL.
#
# The release on the package index is older than these frameworks. Three lines of its CMake files
# are edited before the build:
#   1, 2  C++14 becomes C++20: torch's headers need C++17 at least, and are built with 20.
#   3     xla_mpi_ops.cc is left out: its code is for GPUs only, but its headers include some that
#         TensorFlow's wheel doesn't ship.
set -euo pipefail

VERSION=0.28.1
PYTHON=$(readlink -m "$(dirname "${1:?usage: install_horovod.sh PYTHON [CACHE]}")")/$(basename "$1")
CACHE=${2:-${XDG_CACHE_HOME:-$HOME/.cache}/rlg-horovod}
PIP=("$PYTHON" -m pip -q --disable-pip-version-check --no-input)
export TF_CPP_MIN_LOG_LEVEL=3

versions=$("$PYTHON" - <<'EOP'
from importlib.metadata import PackageNotFoundError, version


def first(*names):
    for name in names:
        try:
            return version(name)
        except PackageNotFoundError:
            pass
    raise SystemExit(f"install-horovod: {names[0]} is not installed in this environment: make install")


print(f"torch-{first('torch')}-tf-{first('tensorflow-cpu', 'tensorflow')}")
EOP
)
wheels=$CACHE/$versions
mkdir -p "$wheels"

"${PIP[@]}" install 'setuptools>=70.1' wheel packaging cffi cloudpickle psutil pyyaml
if ! compgen -G "$wheels/horovod-$VERSION-*.whl" >/dev/null; then
    for tool in cmake g++ make; do
        command -v "$tool" >/dev/null || { echo "install-horovod: $tool is missing: install it with the system's package manager (Debian: apt-get install cmake g++ make)" >&2; exit 2; }
    done
    echo "Building Horovod for $versions: some minutes"
    source=$(mktemp -d)
    trap 'rm -rf "$source"' EXIT
    "${PIP[@]}" download --no-deps --no-binary horovod --no-build-isolation -d "$source" "horovod==$VERSION"
    tar -xzf "$source/horovod-$VERSION.tar.gz" -C "$source"
    cd "$source/horovod-$VERSION"
    sed -i 's/^set(CMAKE_CXX_STANDARD 14)/set(CMAKE_CXX_STANDARD 20)/' CMakeLists.txt
    sed -i 's/set(CMAKE_CXX_STANDARD 14)/set(CMAKE_CXX_STANDARD 20)/' horovod/torch/CMakeLists.txt
    sed -i '/xla_mpi_ops\.cc/d' horovod/tensorflow/CMakeLists.txt
    # Without isolation: the build asks the installed torch and TensorFlow for their headers.
    env HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_MPI=1 HOROVOD_CPU_OPERATIONS=GLOO \
        HOROVOD_WITH_PYTORCH=1 HOROVOD_WITH_TENSORFLOW=1 HOROVOD_WITHOUT_MXNET=1 \
        MAKEFLAGS="-j${JOBS:-$(nproc)}" PATH="$(dirname "$PYTHON"):$PATH" \
        "$PYTHON" -m pip wheel --no-build-isolation --no-deps -w "$wheels" . >"$wheels/build.log" 2>&1 \
        || { tail -n 20 "$wheels/build.log" >&2; echo "install-horovod: the build failed, see $wheels/build.log" >&2; exit 1; }
    cd - >/dev/null
fi
"${PIP[@]}" install --no-deps --force-reinstall "$wheels"/horovod-$VERSION-*.whl
echo "Horovod $VERSION is installed for $versions: rlg train executor=horovod"
