#!/usr/bin/env bash
# Put Snakemake's executor for Slurm into FOLDER (default .slurm), apart from .venv: installed beside the rest, it would ask
# for a controller at every start of Snakemake, and wait for seconds where none answers. To use it:
#   PYTHONPATH=.slurm .venv/bin/python -m snakemake --workflow-profile profiles/slurm
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

readonly folder=${1:-.slurm}
readonly packages=(
    snakemake-executor-plugin-slurm==2.8.0
    snakemake-executor-plugin-slurm-jobstep==0.6.1
    throttler==1.2.3
)

if [[ ! -x .venv/bin/python ]]; then
    echo 'slurm: there is no .venv here. Run: make setup' >&2
    exit 1
fi
./.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --no-deps --upgrade --target "$folder" \
    "${packages[@]}" </dev/null
echo "slurm: the executor is in $folder"
