//! See the package description; under construction.
