#!/usr/bin/env bash
# Brings this checkout to the state that `make bench` and `make test` need; a second run changes nothing and takes a second.
#   setup/setup.sh bench    virtual environment, feedbench, the engine
#   setup/setup.sh test     the same, with the test tools and a headless browser
#   setup/setup.sh targets  like bench, and Debian's packages that targets need and this machine lacks
# Says on stderr what it takes from where. Ends with one line and status 1 when something can't be had.
set -euo pipefail
cd "$(dirname "$0")/.."
purpose="${1:-bench}"

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# The list of Debian's packages, fetched once.
apt_lists() {
    mkdir -p .feedbench
    [ -e .feedbench/apt-updated ] || { apt-get update -qq >/dev/null 2>&1 && touch .feedbench/apt-updated; } || true
}

# apt_install PACKAGE...: as root on a Debian-like machine; returns 1 elsewhere, or when the archive has no such package.
apt_install() {
    command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ] || return 1
    apt_lists
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >.feedbench/apt.log 2>&1
}

find_python() {
    local candidate
    for candidate in "${PYTHON:-}" python3 python3.13 python3.12 python3.11; do
        [ -n "$candidate" ] || continue
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    return 1
}

virtual_environment() {
    local lock="setup/requirements.lock" python digest
    [ "$purpose" = test ] && lock="setup/requirements-test.lock"
    digest="$(cat "$lock" pyproject.toml | sha256sum | cut -d' ' -f1)"
    if [ -x .venv/bin/feedbench ] && grep -qs "$digest" .venv/locked; then return; fi
    if [ ! -x .venv/bin/python ]; then
        python="$(find_python)" || fail "Python 3.11 or later is needed (Debian 12: apt-get install python3 python3-venv)"
        say "virtual environment .venv from $("$python" --version)"
        "$python" -m venv .venv >/dev/null 2>&1 || { apt_install python3-venv && "$python" -m venv .venv; } ||
            fail "the venv module is missing (Debian: apt-get install python3-venv)"
    fi
    say "Python packages from $lock"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r "$lock" ||
        fail "the locked Python packages could not be installed (see above)"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . ||
        fail "feedbench itself could not be installed (see above)"
    echo "$digest" >>.venv/locked
}

# The engine wants the Rust that Cargo.toml names; cargo on PATH, else Debian's, else rustup.
cargo_command() {
    local minimum candidate
    minimum="$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)"
    for candidate in cargo "$HOME/.cargo/bin/cargo"; do
        if new_enough "$candidate" "$minimum"; then echo "$candidate"; return; fi
    done
    local flavour
    for flavour in "" -web; do # -web: the newer Rust that Debian stable carries for its browsers
        if debian_offers "rustc$flavour" "$minimum" && apt_install "cargo$flavour" gcc libc6-dev &&
            new_enough /usr/bin/cargo "$minimum"; then
            say "cargo from Debian's package cargo$flavour"
            echo /usr/bin/cargo
            return
        fi
    done
    if command -v rustup >/dev/null 2>&1; then
        say "cargo from rustup"
        rustup toolchain install stable --profile minimal >&2 && new_enough cargo "$minimum" && { echo cargo; return; }
    fi
    fail "Rust $minimum or later is needed and neither Debian nor rustup had it (try: apt-get install cargo, or rustup.rs)"
}

# at_least VERSION MINIMUM
at_least() {
    [ -n "$1" ] && [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n1)" = "$2" ]
}

# new_enough CARGO MINIMUM
new_enough() {
    at_least "$("$1" --version 2>/dev/null | sed -n 's/^cargo \([0-9.]*\).*/\1/p')" "$2"
}

# debian_offers PACKAGE MINIMUM
debian_offers() {
    command -v apt-cache >/dev/null 2>&1 || return 1
    apt_lists
    at_least "$(apt-cache policy "$1" | sed -n 's/^ *Candidate: \([0-9.]*\).*/\1/p')" "$2"
}

engine() {
    local cargo
    mkdir -p .feedbench
    cargo="$(cargo_command)"
    echo "$cargo" >.feedbench/cargo
    [ -x target/release/feedbench-engine ] && [ -x target/release/feedbench-exchange ] &&
        [ -x target/release/feedbench-path ] && [ -x target/release/feedbench-wire-stamps ] ||
        say "engine, exchange, path and wire-stamps with $("$cargo" --version)"
    "$cargo" build --release --locked --quiet -p feedbench-engine -p feedbench-exchange-server -p feedbench-path \
        -p feedbench-wire-stamps ||
        fail "the engine, the exchange, the path or wire-stamps did not build (see above)"
}

browser() {
    command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 && return
    say "Chromium for the report's tests"
    apt_install chromium || say "no Chromium to be had: the browser tests will be skipped and say so"
}

# What targets need and Debian has: all at once, and one by one where the archive lacks some of them.
target_packages() {
    local packages package
    packages="$(.venv/bin/feedbench targets --debian)" || fail "the targets' needs could not be read (see above)"
    [ -n "$packages" ] || return 0
    if ! command -v apt-get >/dev/null 2>&1 || [ "$(id -u)" != 0 ]; then
        say "as root on Debian, this would bring more targets in: apt-get install $(echo $packages)"
        return 0
    fi
    say "packages for the targets: $(echo $packages)"
    apt_install $packages && return 0
    for package in $packages; do
        apt_install "$package" || say "no package $package to be had: its targets stay missing"
    done
}

virtual_environment
engine
if [ "$purpose" = test ]; then browser; fi
if [ "$purpose" = targets ]; then target_packages; fi
