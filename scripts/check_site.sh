#!/usr/bin/env bash
# Is the committed site what the lessons give? For any CI system, or by hand before a commit.
#
#   check_site.sh             regenerate, compare, publish again, and let git say whether anything changed
#
# Works in the repository's folder (or the one that is given as the only argument). Reads: PYTHON (an interpreter that
# has lessonpress; else .venv/bin/python, else python3), CORES (else all), AGAINST (a commit: what changed since then in
# the published site is said too). Leaves work/verify/{report.html, report.json, junit.xml, summary.md} and
# work/diff/review.{html,md}; summary and review go to GITHUB_STEP_SUMMARY as well, where that is set.
# Exit code: 0 when all is as committed, 1 when not.
set -euo pipefail
cd -- "${1:-.}"

python=${PYTHON:-}
if [[ -z $python ]]; then
    python=python3
    [[ -x .venv/bin/python ]] && python=.venv/bin/python
fi
if ! "$python" -c 'import lessonpress' 2>/dev/null; then
    echo "$python has no lessonpress. Name an interpreter that has: PYTHON=/path/to/python $0" >&2
    exit 1
fi
results=$("$python" -c 'from lessonpress.core import config; print(config.read().results)')
work=$("$python" -c 'from lessonpress.core import config; print(config.read().work)')
failed=0

step() { # WORDS COMMAND…
    echo "== $1"
    shift
    "$@" || failed=1
}

# The committed site, not one that an earlier step has changed, is what counts.
unchanged_in_git() {
    local changes
    changes=$(git status --porcelain --untracked-files=all -- "$results")
    if [[ -n $changes ]]; then
        echo "$results is not what is committed:"
        echo "$changes"
        return 1
    fi
}

# What the branch changes, in words; a commit that is not there (the first push of a branch) is no failure.
review() {
    rm -f -- "$work/diff/review.md"
    [[ -n ${AGAINST:-} ]] || return 0
    if ! git rev-parse --verify --quiet "$AGAINST^{commit}" >/dev/null; then
        echo "there is no commit $AGAINST here to compare with"
        return 0
    fi
    "$python" -m lessonpress diff --against "$AGAINST" >/dev/null
}

summary() {
    local file=$work/verify/summary.md
    [[ -f $file ]] || return 0
    [[ ! -f $work/diff/review.md ]] || { printf '\n' && cat -- "$work/diff/review.md"; } >>"$file"
    if [[ -n ${1:-} ]]; then
        printf '\n- ❌ Publishing again changed `%s`; publish and commit, or take the change back.\n' "$results" >>"$file"
    fi
    if [[ -n ${GITHUB_STEP_SUMMARY:-} ]]; then
        cat -- "$file" >>"$GITHUB_STEP_SUMMARY"
    fi
}

step 'read every lesson closely' "$python" -m lessonpress lint
step 'regenerate every lesson and compare' "$python" -m snakemake --cores "${CORES:-all}" verify
step 'look for what is inconsistent' "$python" -m lessonpress doctor
step 'publish again' "$python" -m snakemake --cores "${CORES:-all}"
drifted=
if git rev-parse --git-dir >/dev/null 2>&1; then
    echo '== compare with the commit'
    unchanged_in_git || { failed=1; drifted=yes; }
fi
step 'say what changed' review
summary "$drifted"
if ((failed)); then
    echo "The site is not what the lessons give: see $work/verify/report.html"
fi
exit "$failed"
