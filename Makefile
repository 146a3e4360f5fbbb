# crashcart: `make demo` shows it, `make test` proves it. Each makes its own .venv and installs what it needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LAB := src/crashcart/jupyter/labextension
LAB_BUILT := $(LAB)/package.json
LAB_SOURCES := $(wildcard lab/*.json lab/core/*.json lab/src/*.ts lab/schema/* lab/style/*)

CASES ?= ../shared/cases/dev.jsonl

.PHONY: help demo test lab lint format bench bench-deaths bench-overhead bench-survive bench-alarms bench-guard-cost bench-logs bench-notebooks bench-kernel-cost bench-doctor bench-doctor-real bench-fit bench-pipeline bench-data bench-leaks bench-leaks-cost calibrate docs clean

.DEFAULT_GOAL := help

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  \1\t\2/' | expand -t 20

$(READY): pyproject.toml setup.py $(wildcard src/crashcart/record/native/*.[ch] src/crashcart/guard/airbag/*.[ch] src/crashcart/probe/native_files/*.[ch])
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[test,lint,bench]'
	@touch $@

demo: $(READY) ## kill three real TensorFlow programs and show the verdicts
	$(BIN)/python bench/demo.py

test: $(READY) ## run all tests, two files at a time, then those that need the machine alone; those in a browser skip where the extension cannot be built
	-@$(MAKE) --no-print-directory lab
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not alone"
	$(BIN)/python -m pytest -m alone

lab: $(READY) ## build the JupyterLab extension (needs Node; tools/system-packages installs it) and link it into .venv
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory $(LAB_BUILT); \
	else echo "make lab: npm is not here, so the JupyterLab extension is not built and its tests skip (see tools/system-packages)"; fi
	@mkdir -p $(VENV)/share/jupyter/labextensions $(VENV)/etc/jupyter/jupyter_server_config.d
	@ln -sfn $(CURDIR)/$(LAB) $(VENV)/share/jupyter/labextensions/crashcart
	@ln -sf $(CURDIR)/etc/jupyter/jupyter_server_config.d/crashcart.json $(VENV)/etc/jupyter/jupyter_server_config.d/crashcart.json

$(LAB_BUILT): $(LAB_SOURCES)
	cd lab && npm ci --no-fund --no-audit && npm run build

lint: $(READY) ## ruff and mypy --strict
	$(BIN)/ruff check src tests bench
	$(BIN)/ruff format --check src tests bench
	$(BIN)/mypy

format: $(READY) ## let ruff format the code
	$(BIN)/ruff check --fix src tests bench
	$(BIN)/ruff format src tests bench

bench: bench-deaths bench-overhead bench-survive bench-alarms bench-guard-cost bench-logs bench-notebooks bench-kernel-cost bench-doctor bench-fit bench-pipeline bench-data bench-leaks bench-leaks-cost ## run every benchmark and write docs/benchmarks.md

bench-deaths: $(READY) ## the death bench: cause and line of each death, beside what others tell
	$(BIN)/python -m bench.deaths

bench-overhead: $(READY) ## what recording costs, interleaved with plain runs
	$(BIN)/python -m bench.overhead

bench-survive: $(READY) ## programs that run out of memory: which live on under the guard
	$(BIN)/python -m bench.survive

bench-alarms: $(READY) ## programs that rightly use memory: the guard must not disturb them
	$(BIN)/python -m bench.alarms

bench-guard-cost: $(READY) ## what the guard costs, in lockstep with plain runs, memray, Fil and Scalene
	$(BIN)/python -m bench.guard_cost

bench-logs: $(READY) ## logs of real deaths: cause and advice of each, and how fast large logs are read (CASES=FILE adds cases)
	$(BIN)/python -m bench.logs --write --cases $(CASES)

bench-notebooks: $(READY) ## kernels that really die under nbclient and papermill: what the exception and the notebook say
	$(BIN)/python -m bench.notebooks

bench-kernel-cost: $(READY) ## what a watched kernel costs to start and per cell, interleaved with plain kernels
	$(BIN)/python -m bench.kernel_cost

bench-doctor: $(READY) ## broken and right environments: what doctor finds in them
	$(BIN)/python -m bench.doctor

bench-doctor-real: $(READY) ## environments built with pip (gigabytes), run, mended as doctor says, and run again
	$(BIN)/python -m bench.doctor --real

bench-fit: $(READY) ## true peaks of real models beside what is estimated; runs under the upper bound; the largest batch
	$(BIN)/python -m bench.fit.baselines
	$(BIN)/python -m bench.fit --write
	$(BIN)/python -m bench.fit.safety --write
	$(BIN)/python -m bench.fit.largest --write

bench-pipeline: $(READY) ## tf.data pipelines: what they hold beside what is estimated, which are killed; bounded ones in a budget, and their speed
	$(BIN)/python -m bench.pipeline --write
	$(BIN)/python -m bench.pipeline.bounded --write
	$(BIN)/python -m bench.pipeline.bounded_speed --write

bench-data: $(READY) ## damaged and clean files: what is found; speed beside others; a million files (needs a quiet machine)
	$(BIN)/python -m bench.data --write
	$(BIN)/python -m bench.data.speed --write
	$(BIN)/python -m bench.data.many --write

bench-leaks: $(READY) ## programs that leak and programs that do not: what is found, with line and holder; the smallest leaks; bad input
	$(BIN)/python -m bench.leaks.truth
	$(BIN)/python -m bench.leaks --write

bench-leaks-cost: $(READY) ## what watching for leaks costs, in lockstep with plain runs, memray, tracemalloc and memory_profiler
	$(BIN)/python -m bench.leaks.cost --write

calibrate: $(READY) ## measure what processes grow by on the host, and fit the estimate of it to that
	$(BIN)/python -m bench.fit.host --all --calibrate --write

docs: $(READY) ## generate docs/rules and docs/commands.md
	$(BIN)/python -m docs.generate

clean: ## remove the virtual environment and what was built
	rm -rf $(VENV) build src/*.egg-info src/crashcart/record/native/*.so src/crashcart/guard/airbag/*.so src/crashcart/probe/native_files/*.so $(LAB) lab/lib lab/node_modules
