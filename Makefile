# `make` alone lists what there is. Everything runs on a fresh Debian or Ubuntu machine that has Rust.
.DEFAULT_GOAL := help
.PHONY: help test deny sbom crash soak setup check docs unit openapi reference book dist deb fuzz-api bench bench-api bench-claim bench-rivals counters growth flame ten-million-sources year clean fuzz attack hostile hostile-urls hostile-bodies rebinding scale ledger
SHELL := /bin/bash

help: ## List what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 24

test: setup check docs unit ## Everything CI runs: format, lints, documentation, all tests on both databases

setup: ## Install what the tests need and the machine lacks
	@scripts/setup

check: ## Formatting, and clippy with warnings denied
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --features gleaner/test-faults,gleaner/oidc -- -D warnings

docs: ## The API documentation, with warnings denied
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

unit: ## All tests, beside a PostgreSQL of their own
	scripts/with-postgres scripts/run-tests

openapi: ## Write docs/openapi.json anew, from the code
	UPDATE_OPENAPI=1 cargo test --locked --package gleaner --test gleaner the_committed_document_is_the_one_in_use

reference: ## Write what of the book comes from the code: commands, settings, default config, timelines of policies
	UPDATE_REFERENCE=1 cargo test --locked --package gleaner --test gleaner -- book::the_committed

book: ## The book as pages in target/book, where mdbook is installed
	mdbook build docs

dist: ## A release in target/bundle: binary, completions, manual pages, unit, config, checksums, tar.gz
	scripts/dist

deb: dist ## A Debian package of it
	scripts/deb

deny: ## What comes in with dependencies: licences, sources, bans, duplicates, and advisories where they can be reached
	scripts/deny

sbom: ## All that the binary is made of, as CycloneDX, in target/gleaner.cdx.json
	@mkdir -p target
	scripts/sbom > target/gleaner.cdx.json

fuzz-api: setup ## The API against its own document, 50,000 requests on each database
	SCHEMATHESIS_EXAMPLES=1200 SCHEMATHESIS_SEED=$(or $(SEED),2) scripts/with-postgres scripts/run-tests the_api_is_what_its_document_says

crash: ## The whole process killed 1,000 times on each database (KILLS=n), and what that lost: a line of JSON each
	KILLS=$(or $(KILLS),1000) scripts/with-postgres cargo test --release --locked --features gleaner/test-faults --package gleaner --test gleaner -- --nocapture --test-threads 1 a_killed_process_loses_nothing

attack: ## Hostile clients against the binary, beside a farm that is polled; limits on answers, polls and memory; a line of JSON
	cargo build --release --locked --package gleaner
	cargo run --release --locked --quiet --manifest-path bench/attack/Cargo.toml -- $(if $(SECONDS),--seconds $(SECONDS))

hostile: ## A hostile world at full length: every spelling of a private target, rebinding, bodies that mean harm
	$(MAKE) --no-print-directory hostile-urls
	$(MAKE) --no-print-directory rebinding
	$(MAKE) --no-print-directory hostile-bodies

hostile-urls: ## Every spelling of a private target in every field that takes a URL; ends with one line of figures
	scripts/figures hostile::fields:: hostile::polls::

rebinding: ## 10,000 fetches of names that point outside and inside by turns; the same
	REBINDING_FETCHES=$(or $(FETCHES),10000) scripts/figures hostile::rebinding::a_name_that_changes_its_mind_never_leads_inside

hostile-bodies: ## Bodies that mean harm, through the engine, in a process whose memory is measured; the same
	scripts/figures hostile::bodies::parent::every_body_ends_as_it_should

fuzz: ## Each fuzz target RUNS times (5,000,000); needs cargo-fuzz; ends with one line of figures
	scripts/fuzz $(or $(RUNS),5000000)

scale: ## Workers, API nodes, PostgreSQL and NATS as processes, in trouble for 300 rounds (ROUNDS=n), and 4 workers against 1
	SCALE_ROUNDS=$(or $(ROUNDS),300) SCALE_THROUGHPUT=1 cargo test --release --locked --package gleaner --test gleaner -- --nocapture --test-threads 1 scale::

ledger: ## Feeds with known truth through EDITIONS (300) editions: entries, stored, lost, twice, edits, revisions in one line
	LEDGER_EDITIONS=$(or $(EDITIONS),300) scripts/with-postgres cargo test --release --locked --package gleaner --test gleaner -- --nocapture --test-threads 1 ledger::

bench: ## What polls cost, in CPU seconds, beside a bare loop; with slow servers; while nothing is due; and the API
	@kept=0; for part in '' --latency --idle '--api 100000'; do \
	  cargo run --release --locked --quiet --manifest-path bench/polls/Cargo.toml -- $$part || kept=1; \
	done; exit $$kept

counters: ## Instructions, allocations, statements and bytes a poll, against bench/polls/counters.tsv (UPDATE=1 writes it)
	cargo run --release --locked --quiet --manifest-path bench/polls/Cargo.toml -- --counters $(if $(UPDATE),update)

growth: ## Claims, minutes, memory and databases from 1,000 to 1,000,000 sources, on both databases
	scripts/with-postgres cargo run --release --locked --quiet --manifest-path bench/polls/Cargo.toml -- --growth

flame: ## A flame graph of each hot path, in docs/flames; needs perf and inferno
	scripts/flame

soak: ## SOURCES (100,000) polled every minute for MINUTES (60): memory, files and lateness must stay flat; a line of JSON
	cargo run --release --locked --quiet --manifest-path bench/polls/Cargo.toml -- --soak $(or $(SOURCES),100000) $(or $(MINUTES),60)

bench-api: ## How fast the API lists 50 of 100,000 sources, beside a bare handler
	cargo run --release --locked --quiet --manifest-path bench/polls/Cargo.toml -- --api 100000

bench-claim: ## What a claim costs: 1,000 due among 1,000,000 sources, on both databases
	cargo run --release --locked --example claim_cost -- --sources 1000000
	scripts/with-postgres bash -c 'cargo run --release --locked --example claim_cost -- --sources 1000000 --store "$$TEST_POSTGRES"'

ten-million-sources: ## 10,000,000 sources and posts on PostgreSQL (SOURCES, POSTS): claims by 4 workers, lists, clean-up, plans; 15 GB of disk
	scripts/with-postgres bash -c 'cargo run --release --locked --package gleaner --example ten_million_sources -- --store "$$TEST_POSTGRES" --sources $(or $(SOURCES),10000000) --posts $(or $(POSTS),10000000)'

bench-rivals: ## Half a year of the polling rules of other readers, in the world of `gleaner simulate`
	cargo run --release --locked --quiet --manifest-path bench/rivals/Cargo.toml

year: ## A year of 1,000 sources with faults, on a clock that runs by hand; SEED=n replays one
	cargo run --release --locked --example long_run -- --sources 1000 --days 365 --seed $(or $(SEED),1)

clean: ## Remove what was built
	cargo clean
