//! One binary for all properties of the measurements: generic code is compiled once, not once per
//! file.
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod common;
mod small_quadrotor;

mod chain_equals_differences;
mod every_optimizer_is_measured;
mod measuring_is_repeatable;
mod memory_interventions;
mod memory_of_other_systems;
mod parts_sum_to_the_whole;
mod placements_differ_in_projections_alone;
mod probes_match_scikit_learn;
mod probes_read_taps;
mod replay_is_bitwise;
mod undefined_values_say_why;
