//! Whole-system tests live in the integration targets of this package.
