# make bench      sets up what it needs, builds the targets, runs scenarios/quick.toml (≤ 5 min), prints the ranking, writes report.html
# make test       sets up the same way and passes every test
# make lint       formats checked, clippy, ruff, mypy
# make bench-engine   the engine against the raw epoll loop, interleaved on the same two cores
SHELL := /bin/bash
FEEDBENCH := .venv/bin/feedbench
.DEFAULT_GOAL := bench
.PHONY: bench test lint format bench-engine setup setup-test lock clean

setup:
	@setup/setup.sh bench

setup-test:
	@setup/setup.sh test

bench: setup
	@$(FEEDBENCH) run scenarios/quick.toml

lint: setup-test
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy

test: setup-test
	cargo test --workspace --locked --quiet
	.venv/bin/pytest

format: setup-test
	cargo fmt --all
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

# Re-compiles the locked requirements; without the address of any index.
lock:
	pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-emit-index-url --no-emit-find-links --no-header --extra setup -o setup/requirements.lock pyproject.toml
	pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-emit-index-url --no-emit-find-links --no-header --extra setup --extra test -c setup/requirements.lock -o setup/requirements-test.lock pyproject.toml

clean:
	rm -rf .venv target .feedbench
