# `make run` and `make test` set up all they need in .venv; nothing else has to be installed by hand.
.PHONY: help setup web web-dev run demo test check quick bench fault server-fault fuzz mutants schemas traceability api lock clean
.DEFAULT_GOAL := help

help:  ## show this
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup:  ## everything into .venv; the command is .venv/bin/bobstay
	@bash scripts/setup.sh

web:  ## build the page of the console (needs Node); does nothing when nothing changed
	@bash scripts/web.sh

web-dev:  ## the page as you write it, from Vite, beside a console that runs (BOBSTAY_URL=http://127.0.0.1:3001)
	@bash scripts/web.sh --modules
	@npm --prefix web run dev

run: setup  ## start the console; it prints the address to open (PORT=3002 make run for another port)
	@bash scripts/web.sh --or-plain
	@.venv/bin/bobstay serve $(ARGS)

demo: setup  ## play the offline demo in a scratch project, with real tools
	@bash scripts/demo.sh

test: setup  ## all checks and all tests, with the time of each suite
	@bash scripts/test.sh

check: setup  ## static checks only
	@bash scripts/check.sh

quick: setup  ## the fast checks, pyright and the tests of tests/unit and tests/flow: for the minutes between two edits
	@bash scripts/check.sh --quick

bench: setup  ## the numbers of the README, beside the peers that are found
	@.venv/bin/python -m benchmarks $(ARGS)

fault: setup  ## kill -9 at 200 points of a run, and other mishaps (BOBSTAY_FAULT_SEED repeats one)
	@bash scripts/fault.sh

server-fault: setup  ## kill -9 the server a hundred times, in every status of a session
	@BOBSTAY_FAULT_ROUNDS=20 .venv/bin/python -m pytest -q tests/server/fault -o timeout=3000

fuzz: setup  ## look for holes in the permission policy: 50,000 allowed commands run in a sandbox
	@bash scripts/packages.sh
	@bash scripts/fuzz.sh

mutants: setup  ## change the code in 300 small ways and see that a test fails (BOBSTAY_MUTANTS=30 for fewer, ARGS="--module loop")
	@command -v bwrap >/dev/null || bash scripts/packages.sh
	@nice -n 10 .venv/bin/python -m scripts.mutants --count $${BOBSTAY_MUTANTS:-300} $(ARGS)

schemas: setup  ## write the list of built-in tools again
	@.venv/bin/python scripts/make_schemas.py

traceability: setup  ## write the list of requirements and their tests again
	@.venv/bin/python scripts/make_traceability.py

api: setup  ## write the OpenAPI document and the TypeScript types again
	@.venv/bin/python scripts/make_openapi.py
	@npx --yes openapi-typescript@7.13.0 docs/openapi.json -o web/src/gen/api.ts

lock: setup  ## resolve the dependencies again (no download addresses are recorded)
	@.venv/bin/uv pip compile -q pyproject.toml --all-extras --group dev --generate-hashes --no-emit-index-url --no-annotate --no-header -o requirements.lock

clean:  ## remove what was built and installed
	rm -rf .venv scripts/pyright/node_modules scripts/inspector/node_modules web/node_modules src/bobstay/server/static/web .hypothesis .mypy_cache .ruff_cache .pytest_cache dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
