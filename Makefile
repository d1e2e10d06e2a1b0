# Every target sets up the virtual environment it needs: uv if it is there, else venv and pip.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint docs bench clean

demo: $(READY)
	$(BIN)/sturdygp demo --output demo

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(READY)
	$(BIN)/python -m pytest -q tests/test_docs.py

bench: $(READY)
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/asor.py counts

clean:
	rm -rf $(VENV) demo .mypy_cache .ruff_cache .pytest_cache .hypothesis

# The development tools are read out of pyproject.toml, so that they are named in one place.
$(READY): pyproject.toml
	@if command -v uv >/dev/null 2>&1; then \
		test -x $(BIN)/python || uv venv --python $(PYTHON) $(VENV); \
		uv pip install --quiet --python $(BIN)/python --editable . --group dev; \
	else \
		test -x $(BIN)/python || $(PYTHON) -m venv $(VENV); \
		$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"; \
		$(BIN)/python -m pip install --quiet --editable . --group dev; \
	fi
	@touch $@
