#!/usr/bin/env bash
# ESLint and TypeScript's checker on the scripts of the pages. They are tools for whoever changes a script: nothing of
# them is needed to publish or to read a lesson, so without Node this step only prints a message.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

readonly stamp=node_modules/lessonpress-lock
readonly oldest=20.19 # what ESLint asks for

skip() {
    echo "eslint and tsc: NOT RUN, $1. The scripts of the pages were not checked; CI does it." >&2
    exit 0
}

command -v node >/dev/null || skip 'because Node is missing (make system installs it on Debian)'
command -v npm >/dev/null || skip 'because npm is missing (make system installs it on Debian)'
version=$(node --version)
if [[ $(printf '%s\n' "$oldest" "${version#v}" | sort --version-sort | head -n 1) != "$oldest" ]]; then
    skip "because Node $version is older than $oldest"
fi

if [[ ! -f $stamp || $(<"$stamp") != "$(sha256sum <package-lock.json)" ]]; then
    echo 'eslint and tsc: installing what package-lock.json lists'
    npm ci --no-audit --no-fund --loglevel=error </dev/null
    sha256sum <package-lock.json >"$stamp"
fi

echo 'eslint: faults in the scripts'
node node_modules/eslint/bin/eslint.js .
echo 'actionlint: the workflows, also the one that init writes'
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
./.venv/bin/python -c 'import sys; from lessonpress.authoring import repository as r; print(r.make_files()[r.SITE], end="")' >"$made/site.yml"
node scripts/lint_workflows.mjs .github/workflows/*.yml "$made/site.yml"
echo 'tsc: types of the scripts'
node node_modules/typescript/bin/tsc --project tsconfig.json --pretty false
