#!/usr/bin/env bash
# Install Debian packages, or say which ones are missing and fail.
# Usage: apt_install.sh 'what they are for' PACKAGE…
set -euo pipefail

readonly purpose=$1
shift

is_debian() {
    command -v apt-get >/dev/null && grep -qsE '^ID(_LIKE)?=.*(debian|ubuntu)' /etc/os-release
}

# Prints the words that go before a command to run it as root; fails where that would ask for a password.
root_prefix() {
    if [[ $(id -u) -eq 0 ]]; then
        echo env
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        echo 'sudo -n'
    else
        return 1
    fi
}

if ! is_debian; then
    echo "Missing: $purpose. This is no Debian system, so install it in this system's own way." >&2
    echo "Debian calls it: $*" >&2
    exit 1
fi
if ! prefix=$(root_prefix); then
    echo "Missing: $purpose. Install it as root, then run make again:" >&2
    echo "  apt-get update && apt-get install -y $*" >&2
    exit 1
fi
echo "Installing $purpose from Debian: $*"
# shellcheck disable=SC2086  # the prefix is two words for sudo
$prefix apt-get update -qq </dev/null
# shellcheck disable=SC2086
$prefix env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" </dev/null
