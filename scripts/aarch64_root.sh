#!/usr/bin/env bash
# Makes build/aarch64: Debian's Python for aarch64 with torch, numpy and safetensors, for `make processors` to emulate.
# Needs Debian's qemu-user-static, and installs binutils-aarch64-linux-gnu where it is missing. It takes a download of half a gigabyte and two gigabytes of disk.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

readonly made=$PWD/build/aarch64 root=$PWD/build/aarch64.new # whole, or not there
readonly apt=$root/apt
readonly packages=(
    libc6 libstdc++6 libgcc-s1 zlib1g libexpat1 libssl3 libffi8 libbz2-1.0 liblzma5 libuuid1 libcrypt1
    python3.11-minimal libpython3.11-minimal libpython3.11-stdlib
)
arm() {
    apt-get -qq -o Dir::State="$apt/state" -o Dir::Cache="$apt/cache" -o Dir::State::status=/dev/null \
        -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root "$@"
}

command -v aarch64-linux-gnu-readelf >/dev/null ||
    bash scripts/apt_install.sh 'the emulation of aarch64 needs' binutils-aarch64-linux-gnu
rm -rf "$root"
mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$root/wheels" "$root/site"
arm update
(cd "$apt" && arm download "${packages[@]}")
for package in "$apt"/*.deb; do
    dpkg-deb -x "$package" "$root"
done

# The wheels of the versions that the lessons are published with; torch's has CUDA in it, which stays unused.
readonly lock=requirements.lock
for name in torch numpy safetensors typing_extensions sympy mpmath networkx Jinja2 MarkupSafe filelock fsspec; do
    ./.venv/bin/python -m pip download --quiet --no-deps --only-binary=:all: --python-version 3.11 --dest "$root/wheels" \
        --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux2014_aarch64 \
        "$(grep -i "^$name==" "$lock" || echo "$name")"
done
for wheel in "$root"/wheels/*.whl; do
    ./.venv/bin/python -m zipfile -e "$wheel" "$root/site"
done
./.venv/bin/python scripts/cuda_stubs.py "$root/site" "$root/stubs"

# What libraries read to learn what processor they run on; the emulator shows them this machine's where there is none.
readonly cpus=$root/sys/devices/system/cpu
mkdir -p "$cpus/cpu0/regs/identification" "$root/proc"
for file in present possible online; do echo 0 >"$cpus/$file"; done
echo 0x00000000410fd0c0 >"$cpus/cpu0/regs/identification/midr_el1"
printf '%s\t: %s\n' processor 0 BogoMIPS 50.00 Features 'fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics cpuid' \
    'CPU implementer' 0x41 'CPU architecture' 8 'CPU variant' 0x0 'CPU part' 0xd0c 'CPU revision' 0 >"$root/proc/cpuinfo"
rm -rf "$apt" "$root/wheels" "$made"
mv "$root" "$made"
echo 'aarch64: done'
