# Everything a contributor or CI runs. Each verb sets up the environment first if need be.
VENV   ?= .venv
PYTHON ?= python3.11
PYTEST_ARGS ?=
BENCH_ARGS ?=
PEERS ?= .venv-peers

BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP   := $(BIN)/python -m pip -qq --disable-pip-version-check --no-input
TORCH := $(shell sed -n '/^torch==/p' constraints.txt)
JUNIT := build/test-all.xml

# Two threads each: frameworks that share a process slow each other down with more.
export OMP_NUM_THREADS ?= 2
export OPENBLAS_NUM_THREADS ?= 2
export MKL_NUM_THREADS ?= 2
export NUMBA_NUM_THREADS ?= 2
export TF_NUM_INTRAOP_THREADS ?= 2
export TF_NUM_INTEROP_THREADS ?= 2
export TF_CPP_MIN_LOG_LEVEL ?= 2
export RAY_USAGE_STATS_ENABLED ?= 0

# Tests run in two processes with one thread each, file by file.
WORKERS ?= -n 2 --dist loadfile
SINGLE  := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 \
	TF_NUM_INTRAOP_THREADS=1 TF_NUM_INTEROP_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help install install-horovod demo test check format format-check lint type imports sizes tests test-all \
	test-horovod bench bench-peers figures clean

help: ## Show the verbs
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

install: $(STAMP) ## Set up the environment with the exact versions of constraints.txt

# torch goes first and by its exact version: left to the resolver, pip may fetch GPU packages.
$(STAMP): pyproject.toml setup.py constraints.txt
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV): some minutes the first time"
	@$(PIP) install -c constraints.txt "$(TORCH)"
	@$(PIP) install -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(STAMP) ## Train DQN on CartPole, on PyTorch and on TensorFlow, and then Ape-X on Pong for a while
	@$(BIN)/rlg train experiment=cartpole_dqn backend=torch
	@$(BIN)/rlg train experiment=cartpole_dqn backend=tf
	@$(BIN)/rlg train agent=apex env=pong total_timesteps=20000 agent.learning_starts=2000 \
		memory.buffer_size=20000 evaluation.episodes=2

test: install check ## Set up, then check: what CI runs

check: format-check lint type imports sizes tests ## Format, lint, types, imports, sizes and the default tests

format: $(STAMP) ## Rewrite the code in the project's format
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format .

format-check: $(STAMP) ## Fail where `make format` would change something
	@$(BIN)/ruff format --check .

lint: $(STAMP) ## Lint with ruff
	@$(BIN)/ruff check .

type: $(STAMP) ## Check types with mypy, strictly
	@$(BIN)/mypy

imports: $(STAMP) ## Check the order of the layers with import-linter
	@$(BIN)/lint-imports --no-logo

sizes: $(STAMP) ## Fail where a file of the package is too long
	@$(BIN)/python scripts/sizes.py

tests: $(STAMP) ## Run the default tests, or some of them: PYTEST_ARGS="tests/graph -k box"
	@$(SINGLE) $(BIN)/python -m pytest $(WORKERS) $(PYTEST_ARGS)

test-all: $(STAMP) ## Run every test, slow ones too, and record the counts in docs/results.md
	@rm -f $(JUNIT)
	@$(SINGLE) $(BIN)/python -m pytest $(WORKERS) -m "" --junitxml=$(JUNIT) $(PYTEST_ARGS); status=$$?; \
	$(BIN)/python scripts/record_results.py $(JUNIT) && exit $$status

install-horovod: $(STAMP) ## Build Horovod for this environment's torch and TensorFlow: executor=horovod
	@scripts/install_horovod.sh $(BIN)/python

test-horovod: install-horovod ## Build Horovod, then run the tests that need it
	@$(SINGLE) $(BIN)/python -m pytest -m horovod tests/execution $(PYTEST_ARGS)

bench: $(STAMP) ## Measure what rlg costs beside named opponents: BENCH_ARGS="bench=all --full"
	@$(BIN)/rlg bench $(BENCH_ARGS)

# On a quiet machine. A suite alone: BENCH_ARGS="bench=act"; sooner: BENCH_ARGS="bench=all processes=3".
figures: BENCH_ARGS := bench=all
figures: $(STAMP) $(PEERS)/.installed ## Measure everything, and rewrite the README's table and docs/performance.md
	@$(BIN)/rlg bench --full $(BENCH_ARGS) --output outputs/figures
	@$(BIN)/python scripts/performance.py outputs/figures/bench.json

bench-peers: $(PEERS)/.installed ## Set up .venv-peers with the libraries that benchmarks compare with

# torch goes first and by its exact version, as above. Versions are those of the figures' opponents.
$(PEERS)/.installed: Makefile
	@test -x $(PEERS)/bin/pip || $(PYTHON) -m venv $(PEERS)
	@echo "Installing into $(PEERS): some minutes the first time"
	@$(PEERS)/bin/python -m pip -qq --disable-pip-version-check --no-input install "$(TORCH)"
	@$(PEERS)/bin/python -m pip -qq --disable-pip-version-check --no-input install "$(TORCH)" \
		"ray[rllib]==2.60.0" gymnasium ale-py opencv-python-headless stable-baselines3 cpprb psutil \
		tqdm wandb moviepy imageio tensorboard pettingzoo scipy einops pyglet==1.5.15
	@# XuanCe asks for an older NumPy than the others, but runs with theirs.
	@$(PEERS)/bin/python -m pip -qq --disable-pip-version-check --no-input install --no-deps xuance==1.4.4
	@touch $@

clean: ## Remove caches and build products, but neither the environment nor outputs/
	rm -rf build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		.import_linter_cache
	find rlg tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +
