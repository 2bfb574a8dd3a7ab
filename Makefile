# Two commands do everything: `make book` and `make test`. What they do stands in book/build.py,
# which also runs where there is no make; see README.md. While you work, `make check`: all of
# `make test` that needs neither a trained chapter nor a browser. CONTRIBUTING.md has their times.

# The Python that the environment is made from, 3.11 to 3.14.
PYTHON ?= python3
# Where else to look for torch: its builds for a CPU or a GPU have their own addresses; see README.md.
TORCH_INDEX ?=
# Where `make serve` listens.
PORT ?= 8000
# Where `make editions` makes them, if elsewhere; see book/editions/editions.py.
INTO =
# The course's folder, which no command overwrites, and what is chosen for it; see book/course/course.py.
COURSE =
SEED =
START =
DAY =
HINTS =
# Which week of it `make grade` grades, and what was handed in; see book/course/grading.py.
WEEK =
IN =
# A table that the platform gave, to be filled: Moodle's worksheet or Canvas's gradebook.
TABLE =
# Which differences of a page from what was read of it `make pages` takes over: `all`, or words of them.
TAKE =
# Which lesson `make page` shows.
LESSON =
# Whose benchmark `make benchmark` runs, as in CHAPTER=deep_qkv; every chapter's if it is not given.
CHAPTER =

SCRIPTS = .venv/bin
RUN = $(SCRIPTS)/python
INSTALLED = .venv/installed

# One thread: reproducible to the bit, and two processes side by side do not get in their way.
export OMP_NUM_THREADS = 1
# Kept from run to run, whatever is set outside: to compile anew takes each process six seconds.
export PYTHONDONTWRITEBYTECODE =

# Two processes; one that has nothing left takes over what the other has not begun.
PYTEST = $(RUN) -m pytest -n 2 --dist worksteal
# The longest versions of some tests are for `make test-all`.
SOME = not long

.PHONY: browsers book serve page editions decks print picture course grade lab style units check pages widget test test-all test-excerpt bounds experiments benchmark bench gpu trial strip clean

book: $(INSTALLED)
	@$(RUN) book/build.py book

serve: $(INSTALLED)
	@$(RUN) book/build.py serve --port $(PORT)

# One lesson with recorded runs, in a minute; rendered anew on each change of a file: `LESSON=trm`.
page: $(INSTALLED)
	@$(RUN) book/build.py page $(LESSON) --port $(PORT)

editions: $(INSTALLED)
	@$(RUN) book/build.py editions $(if $(INTO),--into "$(INTO)")

decks: $(INSTALLED)
	@$(RUN) book/build.py decks

print: $(INSTALLED)
	@$(RUN) book/build.py print

# The picture on top of the README.
picture: $(INSTALLED)
	@$(RUN) book/paper/picture.py

CHOSEN = $(SEED:%=--seed %) $(START:%=--start %) $(DAY:%=--day %) $(HINTS:%=--hints %)

course: $(INSTALLED)
	@$(RUN) book/build.py course $(if $(COURSE),"$(COURSE)") $(CHOSEN)

grade: $(INSTALLED)
	@$(RUN) book/build.py grade $(if $(COURSE),"$(COURSE)") $(WEEK:%=--week %) $(if $(IN),--in "$(IN)") $(if $(TABLE),--table "$(TABLE)")

lab: $(INSTALLED)
	$(RUN) -m jupyterlab book

style: $(INSTALLED)
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(SCRIPTS)/oxlint --deny-warnings
	$(RUN) -m book.page.bundle
	$(SCRIPTS)/lint-imports --no-logo
	$(RUN) -m mypy

# Tests of what needs neither a trained chapter nor a browser.
units: $(INSTALLED)
	$(PYTEST) -m "$(SOME)" --durations 10 --durations-min 3 --ignore tests/browser --ignore tests/engines

# The types are checked while the tests run.
check: $(INSTALLED)
	@$(MAKE) --no-print-directory --jobs=2 style units SOME="not slow and not long"

# What pages and widgets show, beside what was read of it; what is meant is taken over.
pages: $(INSTALLED)
	$(PYTEST) tests/pages tests/transcripts $(if $(TAKE),--take "$(TAKE)")

# The widgets of a lesson on an empty page, made again on each change of a file: `STEM=trm`.
widget: $(INSTALLED)
	@$(RUN) -m tests.transcripts $(STEM)

test: $(INSTALLED)
	@$(MAKE) --no-print-directory --jobs=2 style units SOME="$(SOME)"
	$(RUN) book/build.py book
	$(PYTEST) -m "$(SOME)" -rs tests/browser
	$(PYTEST) -m "not long" -rs tests/engines

# Every page in Chromium, Firefox and WebKit, as far as they are here; what is missing is said.
browsers: $(INSTALLED)
	@$(RUN) book/build.py book
	$(PYTEST) -m long -rs -o junit_family=xunit1 --junitxml .cache/engines.xml tests/engines
	$(RUN) -m tests.engines .cache/engines.xml

test-all:
	@$(MAKE) test SOME="long or not long" PYTEST="$(PYTEST) --hypothesis-profile thorough"

# The chapter that reads a data set, where it cannot be had: in a folder that cannot be made.
test-excerpt: export ATTN_NOTES_DATA = $(CURDIR)/Makefile/none
test-excerpt: $(INSTALLED)
	$(RUN) book/build.py book
	$(PYTEST) -m "$(SOME)" -k equilibrium book/lessons/equilibrium/tests tests/browser/test_equilibrium.py tests/browser/test_widgets.py tests/browser/test_measures.py

# The package where its needs are the oldest that it names, or `highest`, the newest there are.
RESOLUTION = lowest-direct
BOUNDS = .cache/bounds
bounds:
	@$(PYTHON) -m venv --clear $(BOUNDS)
	@$(BOUNDS)/bin/pip install --quiet uv
	@$(BOUNDS)/bin/uv pip install --quiet --python $(BOUNDS) --resolution $(RESOLUTION) $(TORCH_INDEX:%=--extra-index-url %) '.[weights,text,doubt]' ./book
	@$(BOUNDS)/bin/uv pip install --quiet --python $(BOUNDS) pytest-xdist hypothesis beartype flit_core nbclient nbformat pyyaml
	@$(BOUNDS)/bin/uv pip list --python $(BOUNDS) | grep -E '^(torch|numpy|einops|jaxtyping|scipy) '
	$(PYTEST:$(RUN)%=$(BOUNDS)/bin/python%) -q -m "not slow and not long" $(addprefix tests/,tasks models training analysis programs doubt)

# A JupyterHub on this machine with two students: see hub/trial.py.
trial: $(INSTALLED)
	@$(RUN) -m pip install --quiet --constraint requirements.txt --requirement hub/requirements.txt
	$(RUN) hub/trial.py

experiments: $(INSTALLED)
	$(RUN) book/experiments

benchmark: $(INSTALLED)
	@for file in book/lessons/$(or $(CHAPTER),*)/benchmark.py; do $(RUN) $$file || exit; done

# All that is a matter of time, which no test asserts: what a reader waits for, beside its bound; a
# training step in a page, beside torch's own; what each lesson costs, as recorded; and what doubt
# finds, beside what else there is, and how long it takes.
bench: $(INSTALLED)
	@$(RUN) book/build.py book
	@$(RUN) benchmarks/waiting.py
	@echo && $(RUN) benchmarks/programs.py
	@echo && $(RUN) benchmarks/costs.py
	@echo && $(RUN) benchmarks/doubt.py

# All lessons on a GPU, if there is one: writes the record lessons_gpu.
gpu: $(INSTALLED)
	$(RUN) benchmarks/gpu.py

strip: $(INSTALLED)
	@$(RUN) book/build.py strip

# Not for an environment that is only out of date: it can clean.
clean: | $(INSTALLED)
	@$(RUN) book/build.py clean

# Made once, and again when the pins or the package's own needs change. The file that says so comes
# last, so that an installation cut short is taken up again.
$(INSTALLED): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' || \
	  { echo "This book needs Python 3.11 to 3.14. Say which: make PYTHON=python3.12"; exit 1; }
	@echo "Installing into .venv, which takes a few minutes ..."
	@$(PYTHON) -m venv .venv
	@$(RUN) -m pip install --quiet -r requirements.txt $(TORCH_INDEX:%=--extra-index-url %)
	@$(RUN) -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@
