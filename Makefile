# Every target sets up the virtual environment it needs: uv if it is there, else venv and pip.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
# One stamp for each group of tools, so that a target sets up no more than it needs.
DEV := $(VENV)/.ready-dev
DOCS := $(VENV)/.ready-docs

.PHONY: demo test lint docs bench clean

demo: $(DEV)
	$(BIN)/sturdygp demo --output demo

test: $(DEV)
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(DOCS)
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --nitpicky docs build/docs
	@echo "Open build/docs/index.html in a browser."

bench: $(DEV)
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/asor.py counts

clean:
	rm -rf $(VENV) demo build docs/api docs/gallery .mypy_cache .ruff_cache .pytest_cache .hypothesis

# The tools are read out of pyproject.toml, so that they are named in one place.
$(VENV)/.ready-%: pyproject.toml
	@if command -v uv >/dev/null 2>&1; then \
		test -x $(BIN)/python || uv venv --python $(PYTHON) $(VENV); \
		uv pip install --quiet --python $(BIN)/python --editable . --group $*; \
	else \
		test -x $(BIN)/python || $(PYTHON) -m venv $(VENV); \
		$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"; \
		$(BIN)/python -m pip install --quiet --editable . --group $*; \
	fi
	@touch $@
