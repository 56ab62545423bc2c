#!/usr/bin/env bash
# The static checks, beside one another. What each says comes in one piece, in this order; one that fails fails all.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

readonly python=./.venv/bin/python
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
titles=() jobs=()

check() {
    titles+=("$1")
    "${@:2}" >"$scratch/${#jobs[@]}" 2>&1 &
    jobs+=("$!")
}

check 'mypy: types of src' "$python" -m mypy --strict src # the longest begins first
check 'ruff: style and errors' "$python" -m ruff check .
check 'snakefmt: layout of the rules' "$python" -m snakefmt --check Snakefile workflow
check 'snakemake --lint: practice of the rules' "$python" -m snakemake --lint
check "eslint and tsc: the pages' scripts" bash scripts/lint_scripts.sh

failed=0
for at in "${!jobs[@]}"; do
    wait "${jobs[$at]}" || failed=1
    echo "${titles[$at]}"
    cat "$scratch/$at"
done
exit "$failed"
