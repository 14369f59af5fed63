#!/usr/bin/env bash
# Format, lint and types. A tool that this machine's Rust lacks (Debian's may come without clippy or rustfmt) is left out
# by name; with CI=true that is an error.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo="$(cat .feedbench/cargo)"

rust() {
    local what="$1"
    shift
    if "$cargo" "$what" --version >/dev/null 2>&1; then
        "$cargo" "$what" "$@"
    elif [ "${CI:-}" = true ]; then
        echo "lint: cargo $what is missing and CI wants it" >&2
        exit 1
    else
        echo "lint: cargo $what is not on this machine; left out" >&2
    fi
}

rust fmt --all --check
rust clippy --workspace --all-targets --locked --quiet -- -D warnings
.venv/bin/ruff format --check --quiet .
.venv/bin/ruff check --quiet .
.venv/bin/mypy --no-error-summary
