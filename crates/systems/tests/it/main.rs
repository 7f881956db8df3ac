//! One binary for all properties of the systems: generic code is compiled once, not once per file.
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod common;

mod analytic_gradients_have_a_closed_form;
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
mod small_tasks_do_what_they_say;
mod vessel_begins_at_constant_velocity;
mod vessel_config_is_checked;
mod vessel_gradients_match_the_oracle;
mod vessel_is_held_off_the_poles;
mod vessel_positions_hold_to_a_metre;
mod vessel_prefix_passes_no_credit;
