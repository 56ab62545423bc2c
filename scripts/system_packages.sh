#!/usr/bin/env bash
# The programs outside Python that the tests need: a browser, a JavaScript engine, two that watch the worker, Slurm.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

PATH=$PATH:/usr/sbin
missing=()
need() { # PROGRAM PACKAGE…
    command -v -- "$1" >/dev/null || missing+=("${@:2}")
}

need chromium chromium fonts-liberation # without a font a page has no text to measure
need node nodejs
need npm npm # brings the tools that check the scripts
need bwrap bubblewrap
need strace strace
need git git
need qemu-x86_64-static qemu-user-static # other processors, for the tests of the same bits
need slurmctld slurm-wlm # two nodes on this machine, for the test of profiles/slurm
need munged munge

if ((${#missing[@]})); then
    bash scripts/apt_install.sh 'what the tests need' "${missing[@]}"
fi
