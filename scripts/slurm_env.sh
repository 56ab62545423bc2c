#!/usr/bin/env bash
# Make FOLDER (default .venv-slurm), an environment for submitting to Slurm: all of .venv, and the executor plugin beside
# it. Inside .venv itself the plugin would ask a controller at every start of Snakemake, and wait for seconds where none
# answers.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

readonly folder=${1:-.venv-slurm}
readonly plugin=(snakemake-executor-plugin-slurm==2.8.0 snakemake-executor-plugin-slurm-jobstep==0.6.1 throttler==1.2.3)

[[ -x .venv/bin/python ]] || { echo 'slurm: there is no .venv here; run: make setup' >&2; exit 1; }
base=$(./.venv/bin/python -c 'import sys; print(sys._base_executable)')
"$base" -m venv --clear --without-pip "$folder" </dev/null
site=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
./.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --no-deps --target "$site" \
    "${plugin[@]}" </dev/null
./.venv/bin/python -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' \
    >"$site/lessonpress.pth"
echo "slurm: $folder is ready"
