# Each target sets up .venv by itself; python3 (3.11 or later) and make are all that has to be there.
#   make demo     register, trace, fuse and run two ops on a photograph      (demo ARGS="--device cuda")
#   make examples train two small networks                                  (compiled steps, a Triton op of one's own)
#   make quick    a look at each level in half a minute: expected texts, no random programs, no processes
#   make check    the tests of one op or pass                               (check OP=silu, check PASS=fuse)
#   make test     the tests, without PyTorch                                 (test ARGS="-k softmax")
#   make lint     style, types, layers
#   make stubs    write stubs and examples of docstrings anew, after a change to what ops take or give
#   make parity   the tests that compare with PyTorch
#   make wheel    build the wheel, install it, run README, demo and a tenth of the tests there  (wheel PART=2/10)
#   make matrix   the kernel suite with each Triton that is supported        (matrix TRITONS=3.9)
#   make packages fla, Liger, FlagGems and others, with `import torch` giving opweave; a few minutes
#   make docs     the documentation as a site, in build/site
#   make bench    functions, models, products, kernels beside their peers; writes benchmarks/results.md and results.svg
#                 (bench ARGS=--quick: ten minutes; ARGS="--jax-python python": of an interpreter that has JAX)
#   make costs    calls, compilations, imports beside PyTorch; a quarter hour (costs ARGS="--only steady")
#   make kernels  Triton kernels beside other libraries; writes benchmarks/kernels.md and kernels.svg

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

# One thread a worker, or the workers would fight over the cores.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

# Tests start many processes, which start sooner from compiled files.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo examples quick check test lint stubs parity docs wheel matrix packages packages-light bench costs kernels \
  clean
.DELETE_ON_ERROR:
.SECONDARY:

demo: $(VENV)/.stamp-demo
	$(BIN)/python examples/demo.py $(ARGS)

examples: $(VENV)/.stamp-demo
	$(BIN)/python examples/train_digits.py
	$(BIN)/python examples/char_gpt.py

# Of each level, what is soon done: an op and its schema, a trace, passes, kernels, guards; and the rules of the house.
QUICK := $(addprefix tests/,test_house.py test_weave.py registry/test_schema.py registry/test_op.py registry/triton \
	fake/test_fake.py tracer/test_make_fx.py tracer/test_make_fx_tables.py tracer/test_printing.py codegen/test_loops.py \
	$(addprefix passes/test_,functionalize.py cleanup.py fuse.py reinplace.py missing.py) codegen/test_contraction.py \
	codegen/test_index.py codegen/test_triton_source.py codegen/test_wrapper.py triton_cpu/test_hidden.py \
	runtime/test_explain.py runtime/test_guards.py)

quick: $(VENV)/.stamp-test
	$(PYTEST) -q -m "not process and not property and not slow" $(QUICK) $(ARGS)

# The worth of a check is one name: of an op as in opweave.ops.aten, or of a file of passes/.
check: $(VENV)/.stamp-test
	$(if $(OP)$(PASS),,$(error make check OP=silu, or make check PASS=fuse))
	$(PYTEST) -q --ignore tests/parity $(if $(OP),--op $(OP)) $(if $(PASS),--pass $(PASS)) $(ARGS)

test: $(VENV)/.stamp-test
	$(PYTEST) --ignore tests/parity $(ARGS)

lint: $(VENV)/.stamp-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/pyright --pythonpath $(BIN)/python

stubs: $(VENV)/.stamp-test
	$(BIN)/python -m opweave.op_index
	$(BIN)/python -m opweave.typing_stubs
	$(BIN)/python -m opweave.doc_examples

parity: $(VENV)/.stamp-parity
	$(PYTEST) tests/parity $(ARGS)

docs: $(VENV)/.stamp-docs
	$(BIN)/python -m sphinx -W --keep-going -q docs build/site

# Which of the tests run with the installed wheel.
PART ?= 1/10

wheel: $(VENV)/.stamp-wheel .wheel/env/bin/python
	.ci/wheel $(PART)

.wheel/env/bin/python:
	$(PYTHON) -m venv .wheel/env
	$@ -m pip install --quiet --upgrade pip

# Of the releases, the first is what `make test` runs with.
TRITONS ?= 3.7 3.8 3.9
MATRIX_TESTS := $(addprefix tests/triton_cpu/,test_driver.py test_launching.py test_quick_triton.py test_suite.py \
	test_tutorials.py)

matrix: $(TRITONS:%=matrix-%)

matrix-%: .matrix/%/.stamp
	OMP_NUM_THREADS=1 TRITON_CACHE_DIR=$(abspath .matrix/$*/cache) .matrix/$*/bin/python -m pytest -q -n 2 \
		--dist worksteal -p no:cacheprovider $(MATRIX_TESTS) $(ARGS)

# The dependencies come from pyproject.toml, all but the pin of Triton that the tests otherwise have.
.matrix/%/.stamp: pyproject.toml
	$(PYTHON) -m venv .matrix/$*
	.matrix/$*/bin/python -m pip install --quiet --upgrade pip
	.matrix/$*/bin/python -m pip install --quiet --editable . 'triton==$*.*' scipy pytest pytest-xdist hypothesis expecttest
	touch $@

# Packages that were written for PyTorch, where there is none: their modules import, and their ops are right.
packages: $(VENV)/.stamp-parity .packages/.stamp
	$(BIN)/python tests/packages/operations.py reference .packages/references.npz
	.packages/env/bin/python tests/packages/importing.py $(ARGS)
	.packages/env/bin/python tests/packages/operations.py check .packages/references.npz
	PYTHONPATH=$(wildcard .packages/env/lib/python3*/site-packages) $(BIN)/python tests/packages/models.py reference \
		.packages/models.npz
	.packages/env/bin/python tests/packages/models.py check .packages/models.npz
	PYTHONPATH=$(wildcard .packages/env/lib/python3*/site-packages) $(BIN)/python tests/packages/programs.py reference \
		.packages/programs.npz
	.packages/env/bin/python tests/packages/programs.py check .packages/programs.npz

# The part of it that takes two minutes, for CI: PyTorch is installed there, and hidden from the packages.
LIGHT := cut-cross-entropy liger_kernel flag_gems torchao SQLAlchemy torchdiffeq entmax pytorch-ignite \
	transformers huggingface_hub tokenizers safetensors regex PyYAML packaging filelock fsspec tqdm hf-xet httpx2 httpcore2 h11 anyio idna truststore typing_extensions click
LIGHTLY := PYTHONPATH=$(abspath .packages/light) $(BIN)/python

packages-light: $(VENV)/.stamp-parity
	@if timeout 120 $(BIN)/python -m pip install --quiet --upgrade --retries 0 --timeout 8 --no-deps \
		-c tests/packages/requirements.txt --target .packages/light $(LIGHT) 2>.packages-light.log; \
	then $(LIGHTLY) tests/packages/importing.py cut_cross_entropy && \
		$(BIN)/python tests/packages/operations.py reference .packages/references.npz && \
		$(LIGHTLY) tests/packages/operations.py check .packages/references.npz --quick && \
		$(LIGHTLY) tests/packages/models.py reference .packages/light.npz gpt2-sdpa && \
		$(LIGHTLY) tests/packages/models.py check .packages/light.npz gpt2-sdpa && \
		$(LIGHTLY) tests/packages/programs.py reference .packages/programs.npz equations,maxima,ignite && \
		$(LIGHTLY) tests/packages/programs.py check .packages/programs.npz equations,maxima,ignite; \
	else tail -n 2 .packages-light.log; echo "skipped: index not reachable"; fi; \
	status=$$?; rm -f .packages-light.log; exit $$status

.packages/.stamp: pyproject.toml tests/packages/requirements.txt
	$(PYTHON) -m venv .packages/env
	.packages/env/bin/python -m pip install --quiet --upgrade pip
	.packages/env/bin/python -m pip install --quiet --editable . 'triton==3.6.*' scipy
	.packages/env/bin/python -m pip install --quiet --no-deps -r tests/packages/requirements.txt
	touch $@

bench: $(VENV)/.stamp-bench
	$(BIN)/python benchmarks/results.py $(ARGS)

costs: $(VENV)/.stamp-bench
	$(BIN)/python benchmarks/run.py $(ARGS)

kernels: $(VENV)/.stamp-bench
	$(BIN)/python benchmarks/kernels.py --page $(ARGS)

clean:
	rm -rf $(VENV) .matrix .wheel .packages build dist opweave.egg-info .pytest_cache .ruff_cache .import_linter_cache .hypothesis

# A stamp says that the extra of its name is installed as pyproject.toml has it.
$(VENV)/.stamp-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[$*]'
	touch $@

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
