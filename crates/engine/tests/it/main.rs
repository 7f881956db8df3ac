//! One binary for all properties of the engine: its generic code is compiled once, not once per
//! file. Properties that need a process of their own (`no_allocation`) are beside it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

mod ages_sum_to_the_gradient;
mod columns_change_no_bit;
mod donors_replace_memory;
mod edges_match_the_oracle;
mod fed_values_keep_the_bits;
mod finite_differences;
mod forward_is_invariant;
mod gradients_match_the_oracle;
mod identities_are_bitwise;
mod non_finite_is_named;
mod odd_programs_match_the_oracle;
mod operations_people_reach_for;
mod parts_are_edges;
mod same_bits;
mod seeds_match_the_oracle;
