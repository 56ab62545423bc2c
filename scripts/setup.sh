#!/usr/bin/env bash
# Make .venv with exactly what requirements.lock says, and lessonpress itself as an editable install.
# A stamp inside .venv names the lock, the project file and the folder that it was made for, so that a second
# call does nothing, and a copied or moved folder does not go on using the code of the old one.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

readonly python=./.venv/bin/python
readonly stamp=.venv/lessonpress-setup

fail() {
    printf 'set-up: %s\n' "$@" >&2
    exit 1
}

wanted_stamp() {
    { cat requirements.lock pyproject.toml scripts/setup.sh; pwd -P; } | sha256sum
}

is_python311() {
    "$1" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' </dev/null 2>/dev/null
}

find_python311() {
    local candidate
    for candidate in "${PYTHON:-python3.11}" python3.11 python3 python; do
        if is_python311 "$candidate"; then
            command -v -- "$candidate"
            return
        fi
    done
    fail 'Python 3.11 was not found (the published numbers name it).' \
        'Install it (Debian 12: apt-get install python3.11 python3.11-venv), or run: make PYTHON=/path/to/python3.11 …'
}

# Debian ships venv and ensurepip apart from Python.
ensure_venv_module() {
    if ! "$1" -c 'import venv, ensurepip' </dev/null 2>/dev/null; then
        bash scripts/apt_install.sh 'the module venv of Python 3.11' python3.11-venv
    fi
}

make_venv() {
    local base
    base=$(find_python311)
    ensure_venv_module "$base"
    echo "set-up: making .venv with $base"
    "$base" -m venv --clear .venv </dev/null
}

install_lock() {
    echo 'set-up: installing what requirements.lock lists (a few minutes the first time; torch is large)'
    $python -m pip install --quiet --disable-pip-version-check --no-input -r requirements.lock </dev/null
}

# The build tool comes from the lock, hence no isolated build that would fetch one; no dependency is resolved again.
install_project() {
    echo 'set-up: installing lessonpress itself (editable)'
    $python -m pip install --quiet --disable-pip-version-check --no-input --no-build-isolation --no-deps --editable . \
        </dev/null
}

wanted=$(wanted_stamp)
if [[ -x $python && -f $stamp && $(<"$stamp") == "$wanted" ]]; then
    exit 0
fi
is_python311 $python || make_venv
rm -f -- "$stamp"
install_lock
install_project
printf '%s\n' "$wanted" >"$stamp"
echo 'set-up: done'
