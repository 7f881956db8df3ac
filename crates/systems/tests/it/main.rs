//! One binary for all properties of the systems: generic code is compiled once, not once per file.
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod common;

mod catalogue_ignores_nothing;
mod quadrotor_batches_are_paired;
mod quadrotor_chart_exit_raises;
mod quadrotor_choices_change_the_result;
mod quadrotor_config_is_checked;
mod quadrotor_follows_the_simulation;
mod quadrotor_gradients_match_the_oracle;
mod quadrotor_obeys_physics;
mod quadrotor_reference_is_an_integral;
mod quadrotor_velocity_has_one_reading;
mod results_are_of_what_a_system_does;
mod small_tasks_do_what_they_say;
