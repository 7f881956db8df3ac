//! One ship: a route of waypoints, a helm, an engine, a current.

use std::f64::consts::TAU;

use backcut_kernels::math::f64::{cos, exp, ln, sin};
use backcut_kernels::random::Draws;

use crate::sphere::{Position, Velocity, near_km, offset_km, step, wrapped};

/// Seconds from one state to the next.
pub const TICK: u32 = 60;

/// What a kind of ship does. Ranges are uniform, or log-uniform where a range spans decades.
struct Habits {
    /// Cruising speed in knots.
    knots: [f64; 2],
    /// Length of a leg in kilometres, log-uniform.
    leg_km: [f64; 2],
    /// How likely a leg ends in a stop.
    stops: f64,
    /// Length of a stop in hours, log-uniform.
    stop_hours: [f64; 2],
    /// Spread of the change of course between legs, in radians.
    turn: f64,
    /// How far from home it goes, in kilometres.
    range_km: f64,
}

const LINER: Habits = Habits {
    knots: [10.0, 18.0],
    leg_km: [40.0, 500.0],
    stops: 0.15,
    stop_hours: [2.0, 30.0],
    turn: 0.5,
    range_km: 2500.0,
};
const RESEARCH: Habits = Habits {
    knots: [9.5, 14.0],
    leg_km: [10.0, 250.0],
    stops: 0.75,
    stop_hours: [0.6, 20.0],
    turn: 0.9,
    range_km: 1200.0,
};
const FISHING: Habits = Habits {
    knots: [3.0, 9.0],
    leg_km: [2.0, 40.0],
    stops: 0.3,
    stop_hours: [0.3, 8.0],
    turn: 1.6,
    range_km: 250.0,
};

enum Mode {
    Under {
        /// Where the leg ends.
        waypoint: Position,
        /// The speed that the engine is set to.
        target: f64,
    },
    /// At a station until a time; it drifts, and steams back when it has gone too far.
    Stop { station: Position, ticks: u32, is_returning: bool, reach_km: f64 },
}

/// A ship on its way.
pub struct Ship {
    /// When.
    pub time: i64,
    /// Where.
    pub position: Position,
    /// Through the water and with it.
    pub velocity: Velocity,
    habits: &'static Habits,
    home: Position,
    cruise: f64,
    /// The most that the course changes in a tick.
    helm: f64,
    course: f64,
    speed: f64,
    current: Velocity,
    current_knots: f64,
    mode: Mode,
    draws: Draws,
}

fn log_uniform(draws: &mut Draws, [low, high]: [f64; 2]) -> f64 {
    low * exp(draws.uniform() * ln(high / low))
}

impl Ship {
    /// A ship at home, setting out.
    pub fn new(time: i64, mut draws: Draws) -> Self {
        let kind = draws.uniform();
        let habits = if kind < 0.25 {
            &LINER
        } else if kind < 0.85 {
            &RESEARCH
        } else {
            &FISHING
        };
        let home = [draws.uniform_in(-0.9, 1.0), wrapped(draws.uniform_in(0.0, TAU))];
        let mut ship = Self {
            time,
            position: home,
            velocity: [0.0; 2],
            habits,
            home,
            cruise: draws.uniform_in(habits.knots[0], habits.knots[1]),
            helm: draws.uniform_in(0.1, 0.4),
            course: draws.uniform_in(0.0, TAU),
            speed: 0.0,
            current: [0.0; 2],
            current_knots: draws.uniform_in(0.1, 0.6),
            mode: Mode::Under { waypoint: home, target: 0.0 },
            draws,
        };
        ship.next_leg();
        ship
    }

    /// Goes on for a tick.
    pub fn tick(&mut self) {
        // A current that forgets itself in half a day.
        let keep = 1.0 - f64::from(TICK) / 43_200.0;
        let fresh = (1.0 - keep * keep).sqrt() * self.current_knots;
        for part in &mut self.current {
            *part = keep * *part + fresh * self.draws.normal();
        }
        let [north, east] = self.through_water();
        self.velocity = [north + self.current[0], east + self.current[1]];
        self.position = step(self.position, self.velocity, TICK);
        self.time += i64::from(TICK);
    }

    fn through_water(&mut self) -> Velocity {
        let here = self.position;
        match &mut self.mode {
            Mode::Under { waypoint, target } => {
                let (waypoint, mut target) = (*waypoint, *target);
                if near_km(here, waypoint) < 0.7 + 0.03 * self.speed {
                    self.arrive();
                    return self.made_good();
                }
                // Another speed about every eight hours.
                if self.draws.uniform() < f64::from(TICK) / 28_800.0 {
                    target = self.cruise * self.draws.uniform_in(0.75, 1.08);
                    self.mode = Mode::Under { waypoint, target };
                }
                self.steer(waypoint, target);
            }
            Mode::Stop { ticks: 0, .. } => self.next_leg(),
            Mode::Stop { station, ticks, is_returning, reach_km } => {
                *ticks -= 1;
                let station = *station;
                let away = near_km(here, station);
                *is_returning = away > *reach_km || (*is_returning && away > 0.3);
                if *is_returning {
                    self.steer(station, 2.5);
                } else {
                    self.speed *= 0.8;
                }
            }
        }
        self.made_good()
    }

    fn made_good(&self) -> Velocity {
        [self.speed * cos(self.course), self.speed * sin(self.course)]
    }

    /// Turns towards a place and lets the engine follow its order.
    fn steer(&mut self, place: Position, target: f64) {
        let [north, east] = offset_km(self.position, place);
        let off = wrapped(libm::atan2(east, north) - self.course);
        self.course = wrapped(self.course + off.clamp(-self.helm, self.helm));
        let noise = 0.05 * self.draws.normal();
        self.speed = (self.speed + 0.15 * (target - self.speed) + noise).max(0.0);
    }

    fn arrive(&mut self) {
        if self.draws.uniform() < self.habits.stops {
            let hours = log_uniform(&mut self.draws, self.habits.stop_hours);
            let ticks = (hours * 3600.0 / f64::from(TICK)) as u32;
            // Some hold station closely, some let themselves drift.
            let reach_km = log_uniform(&mut self.draws, [0.3, 6.0]);
            let station = self.position;
            self.mode = Mode::Stop { station, ticks, is_returning: false, reach_km };
        } else {
            self.next_leg();
        }
    }

    fn next_leg(&mut self) {
        let length = log_uniform(&mut self.draws, self.habits.leg_km);
        let mut course = self.course + self.habits.turn * self.draws.normal();
        let [north, east] = offset_km(self.position, self.home);
        let is_far = (north * north + east * east).sqrt() > self.habits.range_km;
        if is_far || self.position[0].abs() > 1.1 {
            course = libm::atan2(east, north) + 0.5 * self.draws.normal();
        }
        // As one long step: an hour at a speed of that many kilometres.
        let knots = length / crate::sphere::KM_PER_MILE;
        let leg = [knots * cos(course), knots * sin(course)];
        let waypoint = step(self.position, leg, 3600);
        let target = self.cruise * self.draws.uniform_in(0.9, 1.06);
        self.mode = Mode::Under { waypoint, target };
    }
}
