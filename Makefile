# make bench          sets up what it needs, builds the targets, runs scenarios/quick.toml (at most 5 minutes), prints the ranking, writes report.html
# make test           sets up the same way; format, lint, types, then every test
# make conformance    the simulated exchange's FIX against its definitions; then unmodified exchange clients from the registries, compared message by message
# make bench-engine   the engine against the raw epoll loop, interleaved on the same two cores
# make bench-fix      our FIX parser against simplefix and QuickFIX's C++, pass by pass in one run
# make bench-exchange  the simulated exchange against raw loops of writes, interleaved on the same two cores
# make bench-pipeline  the analysis of feed clients' files: as many events as Papík had, then beside polars and hashlib
# make bench-partitions  the same in parts: one process, 2 and 4 workers, and 2 GB for each
# make servers        sets up every server target that this machine can have, and ranks them all: scenarios/servers/all.toml
# make salih          the first paper's campaign, re-run (about 1½ hours)
# make grandhi        the fifth paper's campaigns through REST, WebSocket and FIX, re-run (8 minutes)
# make tomasetti      the second paper's ramp to 10,000 connections, re-run (hours; ^C and again goes on: feedbench ramp RUN_DIR)
SHELL := /bin/bash
FEEDBENCH := .venv/bin/feedbench
CARGO = $(shell cat .feedbench/cargo)
PIP_COMPILE := pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-emit-index-url --no-emit-find-links --no-header
.DEFAULT_GOAL := bench
.PHONY: setup setup-test setup-targets bench servers test conformance lint format bench-engine bench-exchange bench-fix bench-pipeline bench-partitions salih grandhi tomasetti lock clean

setup:
	@setup/setup.sh bench

setup-test:
	@setup/setup.sh test

setup-targets:
	@setup/setup.sh targets

bench: setup
	@$(FEEDBENCH) run scenarios/quick.toml

test: setup-test lint
	$(CARGO) test --workspace --locked --quiet
	.venv/bin/pytest --quiet --numprocesses=2 -m "not end_to_end and not browser" --ignore=tests/targets
	.venv/bin/pytest --quiet -m "end_to_end or browser" --ignore=tests/targets  # real processes, one test at a time
	.venv/bin/pytest --quiet --numprocesses=4 --ignore=tests/targets/test_target_pollers.py tests/targets
	.venv/bin/pytest --quiet tests/targets/test_target_pollers.py  # ages are measured there: not beside other work

conformance: setup
	$(CARGO) build --release --locked --quiet -p feedbench-exchange-server
	$(CARGO) build --release --locked --quiet -p feedbench-wire --example fix_initiator
	@PYTHONPATH=conformance/exchange:conformance/fix .venv/bin/python -m fix_conformance
	@PYTHONPATH=conformance/exchange:conformance/fix .venv/bin/python -m fix_conformance.trials
	@PYTHONPATH=conformance/exchange .venv/bin/python -m exchange_conformance

lint: setup-test
	@setup/lint.sh

format: setup-test
	$(CARGO) fmt --all
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

# In a scheduling group of its own, ahead of other work, where the kernel lets us.
bench-engine: setup
	@setsid --wait bash -c '{ echo -20 >/proc/self/autogroup; } 2>/dev/null; exec target/release/feedbench-engine limit'

bench-exchange: setup
	$(CARGO) build --release --locked --quiet -p feedbench-exchange-server --example limit
	@setsid --wait bash -c '{ echo -20 >/proc/self/autogroup; } 2>/dev/null; exec target/release/examples/limit'

# polars is there for tests and for this. The generated events want about 25 GB of disk.
bench-pipeline: setup-test
	@.venv/bin/python -m feedbench.pipeline.bench

# The generated events want about 6 GB of disk. A smaller one: make bench-partitions EVENTS=200000
bench-partitions: setup-test
	@.venv/bin/python -m feedbench.pipeline.bench.partitions $(if $(EVENTS),--events $(EVENTS))

bench-fix: setup
	$(CARGO) build --release --locked --quiet -p feedbench-wire --example fix_parse
	@PYTHONPATH=conformance/exchange:conformance/fix .venv/bin/python -m fix_conformance.bench

servers: setup-targets
	@$(FEEDBENCH) run scenarios/servers/all.toml

salih: setup
	@$(FEEDBENCH) run scenarios/papers/salih.toml

grandhi: setup
	@$(FEEDBENCH) run scenarios/papers/grandhi.toml

tomasetti: setup
	@$(FEEDBENCH) ramp scenarios/papers/tomasetti.toml

# Compiles the locked requirements anew; no index's address goes in.
lock:
	$(PIP_COMPILE) --extra setup -o setup/requirements.lock pyproject.toml
	$(PIP_COMPILE) --extra setup --extra test -c setup/requirements.lock -o setup/requirements-test.lock pyproject.toml

clean:
	rm -rf .venv target .feedbench
