# `make demo` and `make test` set everything up by themselves.
PYTHON ?= python3
MIRROR ?= $(BIASATLAS_MIRROR)
CORES ?= 2
CONFIG ?= config/config.yaml
RESULTS ?= results/demo
VENV := .venv
BIN := $(VENV)/bin
ATLAS := ./bias-atlas
READY := $(VENV)/.ready
SLURM := $(VENV)/.slurm
SITE := $(VENV)/.site
STORAGE := $(VENV)/storage
PIP = $(BIN)/pip install --quiet --disable-pip-version-check

.PHONY: demo check plan parse-report test pytest storage slurm replicate simulation lint docs site lock clean new-benchmark test-benchmark validate-benchmark benchmark-page

demo: $(READY) ## run the shipped configuration, from raw data to the report
	PYTHONPATH=scripts $(BIN)/snakemake --logger atlas --cores $(CORES)

check: $(READY) ## check CONFIG=file before a run: models, endpoints, data, number of requests, highest cost
	@$(ATLAS) check "$(CONFIG)" --cores $(CORES)

plan: $(READY) ## what a run of CONFIG=file could find, by models without bias on its data; then what `check` says
	@BIASATLAS_MIRROR="$(MIRROR)" $(ATLAS) plan "$(CONFIG)" --cores $(CORES)

parse-report: $(READY) ## replies of RESULTS=folder that give no answer, by form, and a file of them to label
	@$(ATLAS) parse-report "$(RESULTS)"

replicate: $(READY) ## check the papers' tables against released outputs (MIRROR=folder), or PAPER=twbias with TABLE=4 or FIGURE=5
	@BIASATLAS_MIRROR="$(MIRROR)" $(ATLAS) replicate $(PAPER) $(if $(TABLE),--table $(TABLE)) $(if $(FIGURE),--figure $(FIGURE)) --cores $(CORES)

simulation: $(READY) ## measure the metrics themselves on simulated models (hours; resumes where it stopped)
	BIASATLAS_MIRROR="$(MIRROR)" $(BIN)/snakemake --cores $(CORES) --configfile config/simulation.yaml --rerun-incomplete -- simulation
	@echo "In results/simulation/simulation: cards.csv, which ships in resources/simulation/, and validity.md, which is docs/validity-tables.md"

test: $(SLURM) ## every test; those on real data run where MIRROR (or BIASATLAS_MIRROR) names a mirror folder
	@BIASATLAS_MIRROR="$(MIRROR)" $(BIN)/python tests/needs.py
	@$(MAKE) --no-print-directory -j 2 lint pytest

pytest: $(SLURM) ## the tests without lint
	OMP_NUM_THREADS=1 BIASATLAS_MIRROR="$(MIRROR)" $(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder

storage: $(STORAGE)/.ready ## the tests on object storage and of Kubernetes' profile, with the servers that stand for them
	OMP_NUM_THREADS=1 $(STORAGE)/bin/python -m pytest -n 0 tests/workflow/test_storage.py

slurm: $(SLURM) ## install what runs on a SLURM cluster need beside

new-benchmark: $(READY) ## start a benchmark of NAME=... and FAMILY=pairs, questions, decisions or contexts: a description, and a few rows of data
	@$(ATLAS) new-benchmark "$(NAME)" "$(FAMILY)"

test-benchmark: $(READY) ## validate a described benchmark against theory: NAME=..., on its sample or DATA=folder
	@$(ATLAS) test-benchmark "$(NAME)" "$(DATA)"

validate-benchmark: $(READY) ## what its headlines find and what fools them, for verdicts: NAME=... or a description's path, on its sample or DATA=folder
	@$(ATLAS) validate-benchmark "$(NAME)" "$(DATA)"

benchmark-page: $(READY) ## write docs/NAME.md from the description of NAME=...
	@$(ATLAS) benchmark-page "$(NAME)"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=scripts $(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/snakefmt --check Snakefile rules
	$(BIN)/snakemake --lint

docs: $(READY) ## write the references in docs/ and config/schema.json from the typed configuration and the options
	$(ATLAS) write-reference

site: $(SITE) ## build the documentation as a site that opens from disk; a dead link fails
	$(BIN)/sphinx-build -q -W --keep-going docs site
	@! grep -rlE "(src=\"|@import *(url\()?[\"']?)(https?:)?//" --include=*.html --include=*.css site
	@echo "The site: site/index.html"

lock: $(READY) ## pin every dependency anew; then bring envs/ in line (a test says where they differ)
	$(PIP) uv
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --no-header --generate-hashes requirements.in requirements-docs.in requirements-slurm.in requirements-test.in -o requirements.lock

# The lock constrains what is installed and does not list it, since builds of torch have different dependencies. Its hashes are
# checked except torch's, whose builds (CPU, CUDA) come from several indexes. Older versions of pip refuse hashes in constraints.
# pip uses one core, and torch is half of its work: it is installed beside all that does not need it, and then the rest.
# pip compiles on one core, compileall on all; files for other versions of Python do not compile, and are never imported.
# transformers' architectures are a fifth of all code; a run needs one or two, which are compiled when they are loaded.
# Our modules are compiled, too: images often tell Python to write no compiled files, and every job would compile them again.
$(READY): requirements.in requirements-test.in requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14) and "Python 3.11 to 3.13 is needed, this is " + sys.version.split()[0] + ": make PYTHON=python3.12 ...")'
	@echo "Setting up $(VENV): half a minute to some minutes, by the network."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) pip==26.3
	@$(PIP) --no-compile --no-deps "$$(grep -o '^torch==[^ ]*' requirements.lock)" & \
	grep -hvE '^(torch|accelerate)\b' requirements.in requirements-test.in \
		| $(PIP) --no-compile --no-warn-conflicts -r /dev/stdin -c requirements.lock; wait
	@$(PIP) --no-compile -r requirements.in -r requirements-test.in -c requirements.lock
	@$(BIN)/python -m compileall -qq -j 0 -x '/tests?/|/transformers/models/(?!auto|llama)|/(mypyc?|pip|setuptools)/' "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" scripts || true
	@touch $@

$(SLURM): $(READY) requirements-slurm.in
	$(PIP) -r requirements-slurm.in -c requirements.lock
	@touch $@

# An environment on top of the other, which it does not change; its own packages come first.
$(STORAGE)/.ready: $(READY) requirements-s3.txt
	$(BIN)/python -m venv --without-pip $(STORAGE)
	$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > "$$($(STORAGE)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/below.pth"
	$(STORAGE)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-s3.txt
	@touch $@

$(SITE): $(READY) requirements-docs.in
	$(PIP) -r requirements-docs.in -c requirements.lock
	@touch $@

clean: ## remove what runs have made, but not downloaded data
	rm -rf results site .snakemake .pytest_cache .ruff_cache .mypy_cache .hypothesis
