//! Composition: builds store, engine, executor and registries from configuration.
