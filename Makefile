# make bench          sets up what it needs, builds the targets, runs scenarios/quick.toml (at most 5 minutes), prints the ranking, writes report.html
# make test           sets up the same way; format, lint, types, then every test
# make bench-engine   the engine against the raw epoll loop, interleaved on the same two cores
# make salih          the first paper's campaign, re-run (about 1½ hours)
SHELL := /bin/bash
FEEDBENCH := .venv/bin/feedbench
CARGO = $(shell cat .feedbench/cargo)
PIP_COMPILE := pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-emit-index-url --no-emit-find-links --no-header
.DEFAULT_GOAL := bench
.PHONY: setup setup-test bench test lint format bench-engine salih lock clean

setup:
	@setup/setup.sh bench

setup-test:
	@setup/setup.sh test

bench: setup
	@$(FEEDBENCH) run scenarios/quick.toml

test: setup-test lint
	$(CARGO) test --workspace --locked --quiet
	.venv/bin/pytest --quiet

lint: setup-test
	@setup/lint.sh

format: setup-test
	$(CARGO) fmt --all
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

# In a scheduling group of its own, ahead of other work, where the kernel lets us.
bench-engine: setup
	@setsid --wait bash -c '{ echo -20 >/proc/self/autogroup; } 2>/dev/null; exec target/release/feedbench-engine limit'

salih: setup
	@$(FEEDBENCH) run scenarios/papers/salih.toml

# Compiles the locked requirements anew; no index's address goes in.
lock:
	$(PIP_COMPILE) --extra setup -o setup/requirements.lock pyproject.toml
	$(PIP_COMPILE) --extra setup --extra test -c setup/requirements.lock -o setup/requirements-test.lock pyproject.toml

clean:
	rm -rf .venv target .feedbench
