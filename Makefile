# What one can do with this repository. `make` alone prints it. The work is done by `xtask`.
#
# Everything needs Rust through rustup (rust-toolchain.toml names the version) and nothing else, except where it is said.
# Settings such as PAIRS=1000000 reach xtask as they are; JOBS is how many parts of a suite run at once.

.DEFAULT_GOAL := help

TASKS := demo test check verify install docs python bench bench-python soak fuzz coverage engines machines
PARTS := clippy dependencies elsewhere documents format links spelling clang-format workspace languages python-reader \
  interpreter c-tests cpp-tests python-tests miri hostile machines-engines emulated wheel api linear machines-install \
  machines-tests
.PHONY: help rust $(TASKS) $(PARTS)

help: ## print this
	@echo 'make <target>, where target is one of'
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo 'Their parts are targets, too: $(PARTS)'

demo: ## four processes on a channel: a simulation, big-endian 32-bit where it can be, and who watches it; two minutes of build
test: ## what to run before a change is sent: Rust, doc examples, vectors, C, C++, Python; GENERATE=off: without generated code
check: ## what is asked of every change besides its tests
verify: ## what takes longer: machines under emulators, Miri, sanitizers, mutants, random pairs of formats
install: ## install the command `isoform` in cargo's directory; under PREFIX=..., also the C library with its headers
docs: ## the guides, the specification and the decisions as a book, target/book/html; and the crates' documentation, target/doc
python: ## the Python package: a wheel in target/wheels, to be installed with pip
bench: ## measure beside memcpy, compiled C (needs a C compiler) and others: target/bench/report.html; ARGS="convert --json"
bench-python: ## the Python package beside NumPy, struct, msgpack and fastavro; ARGS="--json"
engines: ## both engines on PAIRS=10000 random pairs of formats
machines: ## every kind of machine writes, and every other reads: prints the matrix
fuzz: ## hostile input by coverage, each target of fuzz/ for MINUTES=20; TARGETS="message stream" for some of them
coverage: ## which lines the tests reach: target/coverage/html; CRATES=isoform-kernels for some of them
soak: ## the tests again, each property with a hundred times as many cases; hours

$(TASKS) $(PARTS): rust
	@cargo run --quiet --locked -p xtask -- $@

rust:
	@command -v cargo >/dev/null || { echo 'Rust is missing: install rustup (see rustup.rs), then try again.' >&2; exit 1; }
	@cargo --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 && cargo fmt --version >/dev/null 2>&1 \
	  || rustup toolchain install --profile minimal --component rustfmt --component clippy \
	       "$$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)"
