# What the scripts share: where things are, what has to be installed, NVIDIA's
# tools, and the build. Sourced, not run.

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
# The oldest that PyPI has; it reads what any earlier ptxas wrote.
nvdisasm_package=nvidia-cuda-nvdisasm==13.2.51

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

# Prints the path of a tool of NVIDIA's, given its name and what its variable says,
# or fails: where jfa-opt looks for ptxas, in CUDA's usual place, or what
# install_tool installed.
find_tool() {
  local candidate
  for candidate in "$2" "$(command -v "$1")" \
    "${CUDA_HOME:-/nonexistent}/bin/$1" "${CUDA_PATH:-/nonexistent}/bin/$1" \
    "/usr/local/cuda/bin/$1" \
    "$build_dir/$1"/lib/python3*/site-packages/nvidia/cu13/bin/"$1"; do
    if [ -x "$candidate" ]; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  return 1
}

# Finds a tool, or installs NVIDIA's package from PyPI: the tool's name, the variable
# that names one and is set and exported (unset if there is none), the package, and
# what goes without it.
find_or_install_tool() {
  local name=$1 variable=$2 package=$3 without=$4
  local given=${!variable:-} found
  [ -z "$given" ] || [ -x "$given" ] ||
    fail "expected $variable to name an executable file, but got '$given'"
  if ! find_tool "$name" "$given" >/dev/null; then
    say "Installing $name ($package) below $build_dir"
    python3 -m venv "$build_dir/$name" &&
      "$build_dir/$name/bin/pip" install --quiet --disable-pip-version-check \
        --no-deps "$package" ||
      say "$name could not be installed: $without"
  fi
  if found=$(find_tool "$name" "$given"); then
    export "$variable=$found"
  else
    unset "$variable"
  fi
}

find_or_install_nvidia_tools() {
  find_or_install_tool ptxas JFA_PTXAS "$ptxas_package" \
    "no kernels will be embedded"
  find_or_install_tool nvdisasm JFA_NVDISASM "$nvdisasm_package" \
    "tests of machine code will be skipped"
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
  if [ -n "${JFA_NVDISASM:-}" ]; then
    launcher+=("-DJFA_NVDISASM=$JFA_NVDISASM")
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
