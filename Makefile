# What one can do with this repository. `make` alone prints it.
#
# Everything needs Rust through rustup (rust-toolchain.toml names the version) and nothing else, except where it is said.

.DEFAULT_GOAL := help
.PHONY: help demo test check bench soak fuzz install machines engines rust programs interpreter python-reader c-tests examples hostile linear \
  miri machines-install machines-kernels machines-tests format clippy documents elsewhere dependencies \
  workspace cpp-tests languages python python-tests python-installed bench-python docs links

CARGO_DENY_VERSION := 0.20.2
CARGO_FUZZ_VERSION := 0.13.2
BUILT := $(or $(CARGO_TARGET_DIR),target)
SEED := 1
MUTANTS := 60000
VISITS := 4000
AGREED := 3000
# `off` has everything done without generated code, but for the tests that are about it. The benchmark always has it.
GENERATE := on
FEATURES := $(if $(filter off,$(GENERATE)),--no-default-features)
TESTED := $(if $(FEATURES),--exclude isoform-bench $(FEATURES),--features isoform-bench/peers)
# What `check` and `test` consist of, and how many parts are made at a time (`tests/parts.sh`). What keeps one processor busy
# for long is begun early.
JOBS := 1
CHECKS := format clippy dependencies links documents elsewhere
TESTS := workspace miri engines hostile machines machines-kernels $(if $(FEATURES),,interpreter) python-reader \
  languages
PAIRS := 10000
MACHINE_PAIRS := 100
MACHINE_PROFILE := machines
MIRI_MUTANTS := 20
TOOLS := $(CURDIR)/target/tools
CARGO_FUZZ := $(TOOLS)/bin/cargo-fuzz
MINUTES := 20
comma := ,
# The machine on which the simulation of the demonstration runs, under an emulator.
FOREIGN := powerpc-unknown-linux-gnu
FOREIGN_LINKER := CARGO_TARGET_POWERPC_UNKNOWN_LINUX_GNU_LINKER=powerpc-linux-gnu-gcc
# What Miri runs: the tests that come near `unsafe` code, on this kind of machine; and whole exchanges of records as a
# big-endian machine and one of 32 bits would run them.
MIRI_FLAGS := MIRIFLAGS='-Zmiri-disable-isolation -Zmiri-permissive-provenance'
MIRI := $(MIRI_FLAGS) PROPTEST_CASES=4 \
  cargo +nightly miri test --locked --quiet -p isoform
# The vector instructions that it knows are asked for: it finds none by itself.
MIRI_VECTORS := PROPTEST_CASES=2 CARGO_TARGET_DIR=$(BUILT)/miri-vectors \
  $(if $(filter x86_64,$(shell uname -m)),RUSTFLAGS='-C target-feature=+sse4.1')
MIRI_TARGETS := s390x-unknown-linux-gnu i686-unknown-linux-gnu

# What is type-checked for the systems that no test runs on, and for a processor without 64-bit atomics; the machines on
# which the libraries' own tests run, with the fewer cases that an emulator has time for; and those on which both engines
# are compared as well.
ELSEWHERE := aarch64-apple-darwin x86_64-pc-windows-gnu powerpc-unknown-linux-gnu
# For which there are wheels of the Python package, besides x86-64.
WHEELS := aarch64-unknown-linux-gnu
TRIED := s390x powerpc i386 armv7 aarch64
GENERATING := s390x aarch64
TRIED_TESTS := conversion formats limits verify view declaration decoding encoding records stream vectors places

help: ## print this
	@echo 'make <target>, where target is one of'
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The simulation is a program of a big-endian machine where that can be made and run.
demo: rust ## four processes on a channel: a simulation, big-endian 32-bit, and who watches it; ten seconds
	@cargo build --release --locked -p isoform-cli
	@if ! command -v qemu-ppc >/dev/null || ! command -v powerpc-linux-gnu-gcc >/dev/null; then \
	  echo "Without qemu-ppc and powerpc-linux-gnu-gcc (sh tests/machines/install.sh), the simulation runs on this machine."; \
	  $(BUILT)/release/isoform demo; \
	elif ! { echo "Now the simulation, as a program for PowerPC:" && rustup target add $(FOREIGN) 2>/dev/null && \
	  $(FOREIGN_LINKER) cargo build --release --locked -p isoform-cli --no-default-features --target $(FOREIGN); }; then \
	  echo "No program for $(FOREIGN) could be built: the simulation runs on this machine."; \
	  $(BUILT)/release/isoform demo; \
	else \
	  $(BUILT)/release/isoform demo -- qemu-ppc -L /usr/powerpc-linux-gnu $(BUILT)/$(FOREIGN)/release/isoform; \
	fi

test: rust machines-install ## all tests: Rust, doc examples, vectors, machines, engines, mutants, Miri; GENERATE=off: without generated code
	@bash tests/parts.sh $(JOBS) $(TESTS)

check: rust ## what is asked of every change besides its tests
	@bash tests/parts.sh $(JOBS) $(CHECKS) && echo 'check: passed'

bench: rust ## measure beside memcpy, compiled C (needs a C compiler) and others: target/bench/report.html; ARGS="convert --json"
	cargo run --quiet --release --locked -p isoform-bench --features peers -- --report $(BUILT)/bench $(ARGS)

soak: rust ## the tests again, each property with a hundred times as many cases; hours
	PROPTEST_CASES=$${PROPTEST_CASES:-25600} SIMULATIONS=$${SIMULATIONS:-200000} \
	  cargo test --release --workspace --locked --no-fail-fast
	@$(MAKE) --no-print-directory engines SEED=2 PAIRS=1000000 MACHINE_PAIRS=10000 MACHINE_PROFILE=release GENERATING='s390x aarch64 riscv64'
	for seed in $$(seq 100 299); do $(MAKE) --no-print-directory python-reader SEED=$$seed || exit 1; done
	@$(MAKE) --no-print-directory hostile SEED=2 MUTANTS=1000000 VISITS=1000000 AGREED=20000
	@$(MAKE) --no-print-directory miri SEED=2 MIRI_MUTANTS=2000
	@$(MAKE) --no-print-directory linear
	@$(MAKE) --no-print-directory machines-tests
	@$(MAKE) --no-print-directory fuzz

machines: rust machines-install ## every kind of machine writes, and every other reads: prints the matrix
	cargo run --quiet --locked -p isoform-machines

fuzz: rust ## hostile input by coverage, each target of fuzz/ for MINUTES=20; TARGETS="message stream" for some of them
	@if ! cargo +nightly --version >/dev/null 2>&1; then \
	  echo '*** SKIPPED: fuzzing. It needs the nightly toolchain: rustup toolchain install nightly ***'; \
	elif ! command -v c++ >/dev/null; then \
	  echo '*** SKIPPED: fuzzing. libFuzzer needs a C++ compiler ***'; \
	else \
	  $(MAKE) --no-print-directory $(CARGO_FUZZ) && \
	  PATH="$(TOOLS)/bin:$$PATH" sh fuzz/run.sh $(MINUTES) $(TARGETS); \
	fi

install: rust ## install the command `isoform` in cargo's directory; under PREFIX=..., also the C library with its headers
	cargo install --locked --path crates/cli $(if $(PREFIX),--root "$(PREFIX)")
	$(if $(PREFIX),cargo build --release --locked -p isoform-capi && sh faces/c/package/install.sh "$(PREFIX)" $(BUILT)/release)

python: python-installed ## the Python package: a wheel in target/wheels, to be installed with pip
	cd faces/python && CARGO_TARGET_DIR="$(abspath $(BUILT))" "$(abspath $(VENV))/bin/maturin" build --release --locked

bench-python: python-installed ## the Python package beside NumPy, struct, msgpack and fastavro; ARGS="--json"
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r faces/python/requirements-bench.txt
	cd faces/python && CARGO_TARGET_DIR="$(abspath $(BUILT))" VIRTUAL_ENV="$(abspath $(VENV))" "$(abspath $(VENV))/bin/maturin" develop --release --locked --quiet
	$(VENV)/bin/python faces/python/bench/bench.py $(ARGS)

# The parts of the above.

workspace: rust
	cargo test --workspace $(TESTED) --locked --no-fail-fast

rust:
	@command -v cargo >/dev/null || { echo 'Rust is missing: install rustup (see rustup.rs), then try again.' >&2; exit 1; }
	@cargo --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 && cargo fmt --version >/dev/null 2>&1 \
	  || rustup toolchain install --profile minimal --component rustfmt --component clippy \
	       "$$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)"

format: rust
	cargo fmt --all --check

clippy: rust
	cargo clippy --workspace --all-targets --features isoform-bench/peers$(if $(shell command -v c++),$(comma)isoform-fuzz/libfuzzer) --locked -- -D warnings

# Compiled, as far as that goes without a linker of the other system.
elsewhere: rust
	@for target in $(ELSEWHERE); do \
	  if rustup target add $$target >/dev/null 2>&1; then \
	    echo "cargo check --target $$target" && \
	    cargo check --quiet --locked --target $$target -p isoform -p isoform-cli -p isoform-channel -p isoform-capi || exit 1; \
	  else echo "*** SKIPPED: check for $$target: rustup target add $$target ***"; fi; \
	done
	@if rustup target add $(WHEELS) >/dev/null 2>&1; then \
	  echo 'cargo check --target $(WHEELS), the Python package' && \
	  PYO3_NO_PYTHON=1 cargo check --quiet --locked --target $(WHEELS) -p isoform-python; \
	else echo '*** SKIPPED: check of the Python package for $(WHEELS): rustup target add $(WHEELS) ***'; fi

# Links between documents lead somewhere, and the book lists every page.
links: rust
	@cargo run --quiet --locked -p xtask -- documents

docs: rust ## the guides, the specification and the decisions as a book, target/book/html; and the crates' documentation, target/doc
	@cargo run --quiet --locked -p xtask -- book
	cargo doc --workspace --no-deps --locked --quiet

documents: rust
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --document-private-items --locked --quiet

# Built without optimisation and kept, so that it takes a minute once.
$(TOOLS)/bin/cargo-deny-$(CARGO_DENY_VERSION):
	CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR=$(TOOLS)/build cargo install cargo-deny --version $(CARGO_DENY_VERSION) \
	  --locked --debug --quiet --root $(TOOLS) --force
	@rm -rf $(TOOLS)/build && mv $(TOOLS)/bin/cargo-deny $@

# The same for what fuzzing needs.
$(CARGO_FUZZ):
	CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR=$(TOOLS)/build cargo install cargo-fuzz --version $(CARGO_FUZZ_VERSION) \
	  --locked --debug --quiet --root $(TOOLS) --force
	@rm -rf $(TOOLS)/build

dependencies: rust $(TOOLS)/bin/cargo-deny-$(CARGO_DENY_VERSION)
	$(TOOLS)/bin/cargo-deny-$(CARGO_DENY_VERSION) --all-features --locked check licenses bans sources
	@echo 'The advisory database was not asked: cargo deny check advisories does, where it can be fetched.'

python-reader:
	@command -v python3 >/dev/null || { echo 'python3 is missing: the independent reader of the vectors needs it (3.9 or later).' >&2; exit 1; }
	python3 tests/reader/run.py
	cargo build --quiet --locked -p isoform-cli $(FEATURES)
	python3 tests/reader/against.py $(BUILT)/debug/isoform $(SEED)

# What is checked of the Python package is checked with tools of its own, in an environment of its own.
VENV = $(BUILT)/python
PYTHON = $(shell for python in python3 python3.13 python3.12 python3.11 python3.10 python3.9; do \
  $$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))' 2>/dev/null && echo $$python && break; done)
python-installed: rust
	@if [ -z "$(PYTHON)" ]; then echo 'The Python package needs Python 3.9 or later, with venv.' >&2; exit 1; fi
	@$(VENV)/bin/python -c '' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	@cmp -s faces/python/requirements-dev.txt $(VENV)/installed || \
	  { $(VENV)/bin/pip install --quiet --disable-pip-version-check -r faces/python/requirements-dev.txt && \
	    cp faces/python/requirements-dev.txt $(VENV)/installed; }

python-tests:
	@if [ -z "$(PYTHON)" ]; then \
	  echo '*** SKIPPED: the Python package. It needs Python 3.9 or later, with venv ***'; \
	else \
	  $(MAKE) --no-print-directory python-installed && cd faces/python && \
	  CARGO_TARGET_DIR="$(abspath $(BUILT))" VIRTUAL_ENV="$(abspath $(VENV))" "$(abspath $(VENV))/bin/maturin" develop --locked --quiet && \
	  "$(abspath $(VENV))/bin/python" -m pytest --quiet && \
	  echo 'mypy:' && "$(abspath $(VENV))/bin/mypy" && \
	  "$(abspath $(VENV))/bin/stubtest" isoform._isoform --mypy-config-file pyproject.toml && \
	  echo 'pyright:' && "$(abspath $(VENV))/bin/pyright" --pythonpath "$(abspath $(VENV))/bin/python"; \
	fi

# The C library, installed, and programs compiled as its users compile theirs.
c-tests: rust
	cargo build --quiet --locked -p isoform-capi $(FEATURES)
	@sh faces/c/package/install.sh $(BUILT)/c/prefix $(BUILT)/debug
	@sh faces/c/tests/c/run.sh $(BUILT)/c/prefix $(BUILT)/c/work

# The same for C++.
cpp-tests: c-tests
	@sh faces/c/tests/cpp/run.sh $(BUILT)/c/prefix $(BUILT)/cpp/work

# The small programs of examples/, each language's against every other's.
EXAMPLES = $(BUILT)/examples
examples: rust cpp-tests python-tests
	cargo build --quiet --locked -p isoform -p isoform-channel --examples
	@mkdir -p $(EXAMPLES) && rm -f $(EXAMPLES)/*-*
	@for program in stream source sink; do \
	  cp $(BUILT)/debug/examples/$$program $(EXAMPLES)/$$program-rust && \
	  for language in c cpp; do \
	    if [ -x $(BUILT)/$$language/work/$$program ]; then \
	      cp $(BUILT)/$$language/work/$$program $(EXAMPLES)/$$program-$$language; fi; \
	  done || exit 1; \
	  if $(VENV)/bin/python -c 'import isoform' 2>/dev/null; then \
	    printf '#!/bin/sh\nexec "%s" "%s" "$$@"\n' "$(abspath $(VENV))/bin/python" "$(CURDIR)/examples/python/$$program.py" \
	      > $(EXAMPLES)/$$program-python && chmod +x $(EXAMPLES)/$$program-python; fi; \
	done
	@sh tests/examples/run.sh $(EXAMPLES)

# Every language with every other: streams and channels, types that differ. Behind all that it needs, which nothing else may build
# at the same time.
languages: examples python-tests
	cargo build --quiet --locked -p isoform-channel --example languages
	@sh tests/languages/run.sh $(BUILT)/c/prefix $(BUILT)/debug/examples/languages "$(if $(PYTHON),$(abspath $(VENV))/bin/python)" \
	  $(BUILT)/languages

# Programs that try a great deal. Under AddressSanitizer, where there is a nightly compiler: what it keeps for its reports
# costs more than all its checks, and `mutant SEED NUMBER`, `pair SEED NUMBER` give them.
HOST = $$(rustc -vV | sed -n 's/^host: //p')
SANITIZED := $(shell cargo +nightly --version 2>/dev/null)
PROGRAMS = $(BUILT)/$(if $(SANITIZED),sanitized/$(HOST)/sanitized,release)
# The code generator, which is not of this project and most of the work, is built without; that takes nightly's cargo.
SANITIZE := -Zprofile-rustflags --config 'profile.sanitized.rustflags=["-Zsanitizer=address"]' \
  --config 'profile.sanitized.build-override.rustflags=[]' \
  --config 'profile.sanitized.package.cranelift-codegen.rustflags=[]'
export ASAN_OPTIONS := malloc_context_size=0:quarantine_size_mb=16
programs: rust
ifneq ($(SANITIZED),)
	@cargo +nightly $(SANITIZE) build --locked --quiet --profile sanitized --target $(HOST) \
	  --target-dir $(BUILT)/sanitized -p isoform-hostile -p isoform-engines
else
	@echo '*** SKIPPED: AddressSanitizer. It needs the nightly toolchain: rustup toolchain install nightly ***'
	@cargo build --release --locked --quiet -p isoform-hostile -p isoform-engines
endif

# Mutants through everything that a receiver does; strangers who visit a node; what is read of some of them, compared with the independent reader.
hostile: programs
	@program=$(PROGRAMS)/isoform-hostile && \
	$$program bits && printf '%s\n' $(SEED) $$(($(SEED) + 1000)) | xargs -P 2 -I{} $$program mutants {} $$(($(MUTANTS) / 2)) && \
	$$program visits $(SEED) $(VISITS) && \
	python3 tests/hostile/agree.py $$program $(SEED) $(AGREED)

engines: programs ## both engines on PAIRS=10000 random pairs of formats; fewer on emulated machines that have a generator
	@$(PROGRAMS)/isoform-engines pairs $(SEED) $(PAIRS)
	@for machine in $(GENERATING); do \
	  cargo run --quiet --locked -p isoform-machines -- on $$machine run --quiet --locked \
	    --profile $(MACHINE_PROFILE) -p isoform-engines -- pairs $(SEED) $(MACHINE_PAIRS) || exit 1; done

linear: rust
	cargo build --release --locked --quiet -p isoform-hostile
	$(BUILT)/release/isoform-hostile linear

# What decodes, once more where no code is ever generated: in the workspace, the command has that switched on for all.
# What does not compile is found out here as well: the compiler then has no code generator to look through.
interpreter: rust
	cargo test --locked --no-fail-fast -p isoform -p isoform-cli --no-default-features --lib \
	  $(patsubst %,--test %,allocation compile_fail decoding declaration encoding records stream stream_properties vectors command)

machines-install:
	@sh tests/machines/install.sh

# Vector instructions that are not here: tried on emulated machines that have them.
machines-kernels: rust
	@cargo run --quiet --locked -p isoform-machines -- on aarch64 test --quiet --locked --profile machines \
	  -p isoform-kernels --lib --tests

machines-tests: rust
	@for machine in $(TRIED); do echo "tests on $$machine:" && PROPTEST_CASES=$${MACHINE_CASES:-16} \
	  cargo run --quiet --locked -p isoform-machines -- on $$machine test --locked --no-fail-fast --profile machines \
	  -p isoform-core -p isoform-kernels -p isoform --lib $(TRIED_TESTS:%=--test %) || exit 1; done
	@for machine in $(GENERATING); do echo "generated code on $$machine:" && PROPTEST_CASES=$${MACHINE_CASES:-16} \
	  cargo run --quiet --locked -p isoform-machines -- on $$machine test --locked --no-fail-fast --profile machines \
	  -p isoform-jit -p isoform --features isoform/generate --lib --test conversion --test equality --test engines \
	  --test decoding --test vectors || exit 1; done

miri: rust
	@if ! cargo +nightly miri --version >/dev/null 2>&1; then \
	  rustup +nightly component add miri rust-src >/dev/null 2>&1 || true; \
	fi; \
	if ! cargo +nightly miri --version >/dev/null 2>&1; then \
	  echo '*** SKIPPED: Miri. It needs the nightly toolchain: rustup toolchain install nightly --component miri,rust-src ***'; \
	else \
	  echo 'miri:' && $(MIRI_FLAGS) $(MIRI_VECTORS) cargo +nightly miri test --locked --quiet -p isoform-kernels --lib --tests && \
	  $(MIRI) --lib -- native:: && \
	  $(MIRI) --test records --test encoding --test decoding --test declaration --test forbidden --test any_memory && \
	  for target in $(MIRI_TARGETS); do echo "miri as $$target:" && $(MIRI) --target $$target --test records || exit 1; done && \
	  echo 'miri, hostile input:' && \
	  $(MIRI_FLAGS) cargo +nightly miri run --locked --quiet -p isoform-hostile -- mutants $(SEED) $(MIRI_MUTANTS); \
	fi
