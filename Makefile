# One command each. `make demo` and `make test` do all the set-up: they need git, make and Python 3.11 or later.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip --disable-pip-version-check -q
ADD    := $(PIP) install -c constraints.txt

# Two workers share the cores: threads of BLAS beside them would wait for each other, three times as long on small tables.
PYTEST := OPENBLAS_NUM_THREADS=$(or $(OPENBLAS_NUM_THREADS),1) $(BIN)/pytest -n 2 --dist worksteal
APART  := --ignore=tests/neural --ignore=tests/browser
# What a processor may change: golden vectors, methods and baselines, metrics, kept and printed numbers.
PLAYED := tests/core tests/kernels tests/algorithms tests/baselines tests/aggregation tests/cnmf tests/fedsplit tests/samples \
          tests/evaluation tests/channel/test_vectors.py tests/http/test_vectors.py tests/http/test_device_vectors.py \
          tests/front/test_notebooks.py tests/studies/test_fidelity.py

.PHONY: demo demo-web federation web quick test test-all test-processors test-neural test-web bench-web pictures test-cluster test-flower test-faults \
        test-properties check lint types bench bench-core docs site locks sbom advisories clean

demo: $(VENV)/.demo
	$(BIN)/murmura demo

# STAY=1: the servers go on, with a page for browsers.
federation: $(VENV)/.federation
	$(BIN)/python examples/federation.py $(if $(STAY),--stay)

# A federation on embedded data, and its page: your browser is one more device.
demo-web: $(VENV)/.demo $(VENV)/.federation
	$(BIN)/python examples/browser_federation.py

# Build the page from its sources into the package. Needs node 20.19 or later; nothing else does.
web: web/node_modules/.installed
	cd web && npm run -s build

# What is cheap, on few examples: under a minute.
quick: $(VENV)/.test
	HYPOTHESIS_PROFILE=quick $(PYTEST) $(APART) -m "not process and not data and not slow"

# What takes no long training, one of each kind that does, and one of each kind of real process.
# docs/results/test-times.csv has how long it takes; the last lines it prints say how long it took.
test: check
	$(PYTEST) $(APART) --durations=20 -m "not data and (smoke or not (process or slow))"

# All processes, faults and real data as well: what CI runs.
test-all: check
	HYPOTHESIS_PROFILE=all MURMURA_FAULT_POINTS=some $(PYTEST) $(APART) --durations=20

# The tests that a processor may change, on processors that this one can play (x86-64, the larger with AVX-512).
test-processors: $(VENV)/.test
	for core in Haswell SkylakeX Zen; do for threads in 1 2; do \
	  OPENBLAS_CORETYPE=$$core OPENBLAS_NUM_THREADS=$$threads NUMBA_CPU_NAME=generic HYPOTHESIS_PROFILE=quick \
	  $(BIN)/pytest -n 2 --dist worksteal $(PLAYED) -m "not data and (smoke or not (process or slow))" || exit 1; done; done

test-neural: $(VENV)/.neural
	HYPOTHESIS_PROFILE=all $(PYTEST) tests/neural

# Every kill of a cluster: workers in each kind of task, all of them, the scheduler, the driver.
test-cluster: $(VENV)/.test
	MURMURA_CLUSTER_KILLS=all $(PYTEST) tests/runtimes/test_dask.py

# The page and its device: types, golden vectors, a federation it trains in beside Python's, and every promise in a real browser.
test-web: $(VENV)/.web web/node_modules/.installed
	cd web && npm run -s check && npm run -s test && npm run -s headless
	mkdir -p build
	cd web && MURMURA_PAGE=$(CURDIR)/build/page npm run -s build > ../build/page.log
	diff -r build/page src/murmura/server/http/static
	$(PYTEST) tests/browser

# The page in pictures, for the documentation.
pictures: $(VENV)/.web
	$(BIN)/python -m tests.browser.pictures

bench-web: web/node_modules/.installed
	cd web && npm run -s bench

# What servers install, with hashes, for every platform and Python from 3.11 on. Run it when a dependency changes or has a hole.
locks: build/locks/.made
	build/locks/bin/uv pip compile -q --upgrade --universal --generate-hashes --no-header --python-version 3.11 --extra serve \
	  pyproject.toml --custom-compile-command "make locks" -o locks/serve.txt

# A bill of materials (CycloneDX) for servers, from their lock, and one for the page, in build/sbom.
sbom: build/locks/.made
	mkdir -p build/sbom
	build/locks/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible -o build/sbom/serve.json locks/serve.txt
	cd web && npm sbom --package-lock-only --omit dev --sbom-format cyclonedx > ../build/sbom/page.json

# What public databases know against anything that is locked: exit 1 if there is something. Once a week; no test asks them.
advisories: build/locks/.made
	build/locks/bin/pip-audit --disable-pip --require-hashes -r locks/serve.txt
	cd web && npm audit --package-lock-only --omit dev

build/locks/.made: pyproject.toml
	$(PYTHON) -m venv build/locks
	build/locks/bin/pip --disable-pip-version-check -q install 'cyclonedx-bom>=7,<8' 'pip-audit>=2.10,<3' 'uv>=0.5,<1'
	touch $@

web/node_modules/.installed: web/package-lock.json
	cd web && npm ci --no-audit --no-fund
	touch $@

# A real SuperLink with SuperNodes; flwr has an environment of its own, as it asks for older packages.
test-flower: $(VENV)/.test build/flower/.made
	MURMURA_FLOWER=build/flower/bin $(BIN)/pytest tests/flower -n 0

# Every kill point of a federation (about 600) instead of some at random: a long run.
test-faults: $(VENV)/.test
	MURMURA_FAULT_POINTS=all MURMURA_FAULT_REQUESTS=100000 $(PYTEST) tests/faults

# Every property of the core on examples that nobody has tried; the others always take the same.
test-properties: $(VENV)/.test
	HYPOTHESIS_PROFILE=new $(PYTEST) $(APART) -m hypothesis

check: lint types

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

# What must not become slower, each beside its rival: exit 1 where a goal is missed. Under three minutes on two idle cores.
bench-core: $(VENV)/.bench-core
	$(BIN)/python -m benchmarks --core --write

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

# Write the generated parts of the documentation anew.
docs: $(VENV)/.test
	MURMURA_WRITE_DOCS=1 $(BIN)/pytest tests/docs tests/front/test_notebooks.py

# The documentation site, in build/site: no warning, nothing fetched from other hosts.
site: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs -q build --strict
	$(BIN)/python -m website.external build/site

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade pip

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml
	$(ADD) -e '.[demo,report]'
	touch $@

$(VENV)/.federation: $(VENV)/bin/python pyproject.toml
	$(ADD) -e '.[serve]'
	touch $@

$(VENV)/.test: $(VENV)/bin/python pyproject.toml
	$(ADD) -e '.[cluster,demo,graphs,images,report,search,serve,test]'
	touch $@

# A browser is installed only where there is none; on Debian and its relatives.
$(VENV)/.web: $(VENV)/.test
	$(ADD) 'playwright>=1.50,<2'
	command -v chromium || { apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium fonts-dejavu-core; }
	touch $@

$(VENV)/.neural: $(VENV)/.test
	$(ADD) -e '.[cluster,demo,graphs,images,report,search,serve,test,neural]'
	touch $@

$(VENV)/.docs: $(VENV)/bin/python pyproject.toml
	$(ADD) -e '.[docs]'
	touch $@

build/flower/.made: pyproject.toml
	$(PYTHON) -m venv build/flower
	build/flower/bin/pip --disable-pip-version-check -q install -c constraints.txt -e '.[flower]'
	touch $@

# The rivals of bench-core alone: no torch.
$(VENV)/.bench-core: $(VENV)/.test
	$(ADD) -e '.[bench-core]'
	touch $@

$(VENV)/.bench: $(VENV)/.test
	$(ADD) -e '.[cluster,demo,graphs,he,images,report,search,serve,test,neural,bench]'
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache
