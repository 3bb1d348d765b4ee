PYTHON ?= python3
BIN := .venv/bin
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test lint browser docs fuzz format bench clean

demo: .venv/ready-to-run
	rm -rf demo
	$(BIN)/chronolink demo --out demo

test: lint docs browser
	$(BIN)/pytest -n 2 --dist loadgroup

lint: .venv/ready-to-develop
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# the page of a study is tested in Chromium; as root on Debian it is fetched, elsewhere those tests are skipped
browser:
	@command -v chromium >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null \
		|| { apt-get update -q && apt-get install -y -q --no-install-recommends chromium; } >/dev/null

docs: .venv/ready-to-develop
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build
	@echo "docs/_build/index.html"

# ten thousand odd inputs in the place of CI's thousand
fuzz: .venv/ready-to-develop
	CHRONOLINK_FUZZ=10000 $(BIN)/pytest tests/test_fuzz.py tests/test_service_fuzz.py

format: .venv/ready-to-develop
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/ready-to-develop
	$(BIN)/pip install -q -e '.[peers]'
	@for file in benchmarks/[a-z]*.py; do echo "== $$file"; PYTHONPATH=. $(BIN)/python $$file || exit 1; done

clean:
	rm -rf .venv demo docs/_build

# Debian ships Python without venv; as root the missing package is fetched
.venv/bin/pip:
	$(PYTHON) -m venv .venv || { rm -rf .venv; apt-get update -q && apt-get install -y -q python3-venv && $(PYTHON) -m venv .venv; } \
		|| { echo "python3 -m venv does not work here; install python3-venv and try again"; exit 2; }

.venv/ready-to-run: pyproject.toml constraints.txt | .venv/bin/pip
	$(BIN)/pip install -q -e .
	touch $@

.venv/ready-to-develop: pyproject.toml constraints.txt | .venv/bin/pip
	$(BIN)/pip install -q -e '.[dev]'
	touch .venv/ready-to-run $@
