# `make` prints the targets, and `xtask` does their work.
#
# Every target needs Rust through rustup (rust-toolchain.toml names the version), and nothing else unless it says so.
# Settings such as PAIRS=1000000 reach xtask as they are; JOBS is how many parts of a suite run at once.

.DEFAULT_GOAL := help

TASKS := demo hydrology test check verify ready install dist docs python bench bench-python soak fuzz coverage engines machines
PARTS := clippy dependencies advisories elsewhere documents format links spelling clang-format workspace languages python-reader \
  interpreter c-tests cpp-tests python-tests miri hostile prices machines-engines windows emulated structs hosts service page frames wheel api model linear instructions machines-install \
  machines-tests
.PHONY: help rust $(TASKS) $(PARTS)

help: ## print the targets
	@echo 'make <target>, where target is one of'
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo 'Their parts are targets, too: $(PARTS)'

demo: ## run the demonstration: a simulation and three watchers on one channel; builds for two minutes
hydrology: ## run the example in Python, C and Rust: formats come from a document at a web server, which changes meanwhile
test: ## run the tests before you send a change: Rust, doc examples, vectors, C, C++, Python; GENERATE=off: without generated code
check: ## check formatting, lints, spelling, documents and licences, before each commit
verify: ## run the longer tests: machines under emulators, Miri, sanitizers, mutants, models, random pairs of formats, random structs of compilers
ready: ## run the parts of check, test and verify that have not passed for the tree as it is committed, what failed most often first
install: ## install the command `isoform` in cargo's directory; under PREFIX=..., also the C library with its headers
dist: ## build archives and Python wheels for this system, Windows and macOS, in target/dist; TARGETS=x86_64-pc-windows-gnu for some
docs: ## build guides, specification and decisions as a book, target/book/html; and the crates' documentation, target/doc
python: ## build the Python package: a wheel for pip in target/wheels
bench: ## measure beside memcpy, compiled C (needs a C compiler) and others: target/bench/report.html; ARGS="convert --json"
bench-python: ## measure the Python package beside NumPy, struct, msgpack and fastavro; ARGS="--json"
engines: ## compare both engines on PAIRS=10000 random pairs of formats
machines: ## run a writer and a reader on every kind of machine, and print the matrix
fuzz: ## search for hostile input by coverage, with each target of fuzz/ for MINUTES=20; TARGETS="message stream" for some of them
coverage: ## show the lines that the tests reach: target/coverage/html; CRATES=isoform-kernels for some of them
soak: ## run the tests with a hundred times as many cases; takes hours

$(TASKS) $(PARTS): rust
	@cargo run --quiet --locked -p xtask -- $@

rust:
	@command -v cargo >/dev/null || { echo 'Rust is missing: install rustup (see rustup.rs), then try again.' >&2; exit 1; }
	@cargo --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 && cargo fmt --version >/dev/null 2>&1 \
	  || rustup toolchain install --profile minimal --component rustfmt --component clippy \
	       "$$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)"
