//! Cargo wants a source file in a package; this one only has a dependency.
