# Thin: the work is in CMakePresets.json, pyproject.toml and tools/. Every path is
# relative, so that a checkout may lie in a folder whose name has spaces.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup build install quick check kernels demo bench results docs soak lint format wheel clean

# -U: the package is built in the same folder, and leaves the layout of a wheel in its cache.
DEV := cmake --preset dev -U 'SKBUILD*' --log-level=NOTICE && cmake --build --preset dev
NAME ?=
PYTHONS ?=

help: ## this list
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

setup: ## install what is missing: Debian's packages, .venv
	@tools/setup.sh packages venv

build: setup ## everything native but the unit tests, preset dev, in build/dev
	@$(DEV)

install: setup ## the Python package, in .venv
	@tools/setup.sh package

check: setup ## all set-up, build, install and every test: the one command before a commit
	@tools/check.sh check

quick: setup ## what a commit needs: unit tests, and a preload and an MPI case of each room
	@tools/check.sh quick

soak: setup ## the heavy suites that check leaves out
	@tools/check.sh soak

kernels: setup
	@$(DEV) --target kernels/all

demo: install kernels ## the whole loop on two kernels: record, train, run again, explain
	@tools/demo.sh

bench: build install ## measure: tests/bench/*/bench_*.py, or the one called NAME=
	@tools/bench.sh $(NAME)

results: setup ## the tables of docs/results from their data; NAME= takes a run in first
	@.venv/bin/python tests/run.py tests/bench/results/pages.py $(if $(NAME),take $(NAME))

docs: setup ## the documentation as a site, in build/site
	@NO_MKDOCS_2_WARNING=1 .venv/bin/python -m mkdocs build --strict
	@echo "docs: open build/site/index.html"

lint: setup ## clang-format, clang-tidy, ruff and mypy, changing nothing
	@tools/setup.sh lint
	@tools/lint.sh

format: setup ## rewrite sources in the project's format
	@tools/setup.sh lint
	@git ls-files -z -- '*.c' '*.cpp' '*.h' '*.hpp' | xargs -0r clang-format -i
	@.venv/bin/ruff check --fix --quiet . || true
	@.venv/bin/ruff format --quiet .

wheel: setup ## wheels for other machines, in build/wheels: of .venv's Python, or PYTHONS="python3.12 …"
	@tools/wheel.sh $(PYTHONS)

clean: ## remove what was built; .venv stays
	@rm -rf build
