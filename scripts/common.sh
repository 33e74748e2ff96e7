# What the scripts share: where things are, what has to be installed, ptxas, and
# the build. Sourced, not run.

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build_dir=${JFA_BUILD_DIR:-$source_dir/build}
jobs=${JFA_JOBS:-$(nproc)}
# Makes ccache work with the precompiled header.
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros,include_file_mtime,include_file_ctime}

build_packages=(cmake ninja-build ccache g++ libeigen3-dev libmlir-22-dev mlir-22-tools
  llvm-22-dev llvm-22-tools nlohmann-json3-dev libgtest-dev python3 python3-venv)
check_packages=(clang-22 clang-format-22)
# A version that is known to assemble the kernels.
ptxas_package=nvidia-cuda-nvcc==13.0.88

say() { printf '== %s\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

# Installs the Debian packages among the arguments that are missing.
install_packages() {
  local missing=() package as_root=()
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null |
      grep -qx installed || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    return
  fi
  say "Installing ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      fail "expected to run as root or to have sudo, to install ${missing[*]}"
    as_root=(sudo)
  fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# Prints the path of ptxas, or fails: where jfa-opt looks, in CUDA's usual
# place, or what find_or_install_ptxas installed.
find_ptxas() {
  local candidate
  for candidate in "${JFA_PTXAS:-}" "$(command -v ptxas)" \
    "${CUDA_HOME:-/nonexistent}/bin/ptxas" "${CUDA_PATH:-/nonexistent}/bin/ptxas" \
    /usr/local/cuda/bin/ptxas \
    "$build_dir"/ptxas/lib/python3*/site-packages/nvidia/cu13/bin/ptxas; do
    if [ -x "$candidate" ]; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  return 1
}

# Sets JFA_PTXAS, and installs NVIDIA's package from PyPI if there is no ptxas.
find_or_install_ptxas() {
  [ -z "${JFA_PTXAS:-}" ] || [ -x "$JFA_PTXAS" ] ||
    fail "expected JFA_PTXAS to name an executable file, but got '$JFA_PTXAS'"
  if ! find_ptxas >/dev/null; then
    say "Installing ptxas ($ptxas_package) below $build_dir"
    python3 -m venv "$build_dir/ptxas" &&
      "$build_dir/ptxas/bin/pip" install --quiet --disable-pip-version-check \
        --no-deps "$ptxas_package" ||
      say "ptxas could not be installed: no kernels will be embedded"
  fi
  if JFA_PTXAS=$(find_ptxas); then
    export JFA_PTXAS
  else
    unset JFA_PTXAS
  fi
}

# Configures build_dir; the arguments go to CMake.
configure() {
  local launcher=()
  if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache
      -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  if [ -n "${JFA_PTXAS:-}" ]; then
    launcher+=("-DJFA_PTXAS=$JFA_PTXAS")
  fi
  say "Configuring $build_dir"
  mkdir -p "$build_dir"
  cmake -G Ninja -S "$source_dir" -B "$build_dir" "${launcher[@]}" "$@" \
    >"$build_dir/configure.log" 2>&1 ||
    { cat "$build_dir/configure.log"; fail "configuring failed"; }
  grep -A4 'CMake Warning' "$build_dir/configure.log" || true
}

# Builds targets, everything by default.
build() {
  say "Building ${*:-everything} in $build_dir"
  NINJA_STATUS='[%f/%t %es] ' ninja -C "$build_dir" -j "$jobs" -k 0 "$@" \
    >"$build_dir/build.log" 2>&1 ||
    { grep -aA 20 FAILED "$build_dir/build.log" | head -n 200; fail "the build failed"; }
}
