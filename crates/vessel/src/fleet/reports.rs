//! What a ship sends: now and then, rounded, with the faults of real files.

use std::f64::consts::TAU;

use backcut_kernels::math::f64::ln;
use backcut_kernels::random::Draws;

use super::ship::{Ship, TICK};
use crate::report::Report;
use crate::sphere::{RADIUS_KM, step, wrapped};

/// Reports per fault, for faults of single reports.
const JUMP: f64 = 1.0 / 4000.0;
const NO_POSITION: f64 = 1.0 / 3000.0;
const NO_SPEED: f64 = 1.0 / 3000.0;
const TWICE: f64 = 1.0 / 1000.0;
/// Seconds from one long silence to the next, on average.
const SILENCE_EVERY: f64 = 8.0 * 86_400.0;
/// Kilometres by which a receiver errs.
const NOISE_KM: f64 = 0.006;

/// A ship's reports until a time.
pub struct Reports {
    ship: Ship,
    draws: Draws,
    end: i64,
    /// When the next report is due.
    due: i64,
    /// Seconds between reports, on average.
    interval: f64,
    /// A report that is sent twice.
    again: Option<Report>,
}

impl Reports {
    pub fn new(ship: Ship, mut draws: Draws, end: i64) -> Self {
        let (due, interval) = (ship.time, draws.uniform_in(60.0, 240.0));
        Self { ship, draws, end, due, interval, again: None }
    }

    /// When the next report is due after this one.
    fn wait(&mut self) -> i64 {
        let mut seconds = self.interval * (0.6 - 0.4 * ln(1.0 - self.draws.uniform()));
        if self.draws.uniform() < self.interval / SILENCE_EVERY {
            seconds += self.draws.uniform_in(2400.0, 30_000.0);
        }
        (seconds as i64).max(2)
    }

    fn report(&mut self) -> Report {
        let ahead = (self.due - self.ship.time) as u32;
        let [lat, lon] = step(self.ship.position, self.ship.velocity, ahead.max(1));
        let noise = [self.draws.normal(), self.draws.normal()].map(|n| n * NOISE_KM / RADIUS_KM);
        let round = |radians: f64| (radians.to_degrees() * 1e5).round() / 1e5;
        let [north, east] = self.ship.velocity;
        let knots = (north * north + east * east).sqrt();
        let course = libm::atan2(east, north);
        let course = (if course < 0.0 { course + TAU } else { course }).to_degrees();
        let tenth = |value: f64| (value * 10.0).round() / 10.0;
        let mut report = Report {
            time: self.due,
            lat: round(lat + noise[0]),
            lon: round(wrapped(lon + noise[1])),
            sog: Some(tenth(knots)),
            cog: Some(tenth(course).min(359.9)),
            heading: Some(course.floor()),
        };
        if self.draws.uniform() < JUMP {
            report.lat = (report.lat + self.draws.uniform_in(-2.0, 2.0)).clamp(-90.0, 90.0);
        }
        if self.draws.uniform() < NO_POSITION {
            (report.lat, report.lon) = (91.0, 181.0);
        }
        if self.draws.uniform() < NO_SPEED {
            (report.sog, report.cog, report.heading) = (Some(102.3), Some(360.0), Some(511.0));
        }
        if self.draws.uniform() < TWICE {
            self.again = Some(report);
        }
        report
    }
}

impl Iterator for Reports {
    type Item = Report;

    fn next(&mut self) -> Option<Report> {
        if let Some(report) = self.again.take() {
            return Some(report);
        }
        if self.due >= self.end {
            return None;
        }
        while self.ship.time + i64::from(TICK) <= self.due {
            self.ship.tick();
        }
        let report = self.report();
        self.due += self.wait();
        Some(report)
    }
}
