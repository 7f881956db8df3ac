//! What the tests of memory share.
pub mod memory;
