//! Key points of a route: Douglas and Peucker's simplification with a budget.
//!
//! The usual algorithm has a tolerance and returns as many points as that takes; a model wants a
//! fixed number. So the order of its splits is kept instead: from the two ends, the point that lies
//! farthest from the present polyline is added until the budget is spent. A tolerance would have
//! returned a prefix of the same order. (The crate `geo` simplifies by tolerance only, and returns
//! no order.)
//!
//! No padding is needed: where every point lies on the line already, the longest stretch is halved.
//! Ties go to the earlier point.

use backcut_kernels::math::f64::cos;

use crate::sphere::{Position, RADIUS_KM, wrapped};

/// Indices of the key points, ascending, both ends among them: `budget` of them, or all if there
/// are fewer.
pub fn key_points(route: &[Position], budget: usize) -> Vec<usize> {
    if route.len() <= budget {
        return (0..route.len()).collect();
    }
    let Some(last) = route.len().checked_sub(1).filter(|_| budget >= 2) else {
        return Vec::new();
    };
    let plane = on_plane(route);
    let mut chosen = vec![0, last];
    let mut stretches = vec![Stretch::of(&plane, 0, last)];
    while chosen.len() < budget {
        // The first of the most significant ones, stretches being in the order of the route.
        let Some(next) = (0..stretches.len())
            .reduce(|best, i| if stretches[i].outranks(&stretches[best]) { i } else { best })
        else {
            break;
        };
        let Stretch { from, to, split, .. } = stretches[next];
        chosen.push(split);
        stretches[next] = Stretch::of(&plane, split, to);
        stretches.insert(next, Stretch::of(&plane, from, split));
    }
    chosen.sort_unstable();
    chosen
}

/// A stretch between neighbouring key points, and where it would be split.
struct Stretch {
    from: usize,
    to: usize,
    split: usize,
    /// How far the split lies from the chord, in square kilometres; negative if nothing can be
    /// split.
    deviation: f64,
}

impl Stretch {
    fn of(plane: &[[f64; 2]], from: usize, to: usize) -> Self {
        let middle = usize::midpoint(from, to);
        let mut found = Self { from, to, split: middle, deviation: 0.0 };
        if to - from < 2 {
            found.deviation = -1.0;
        }
        for i in from + 1..to {
            let deviation = from_chord(plane[i], plane[from], plane[to]);
            if deviation > found.deviation {
                (found.split, found.deviation) = (i, deviation);
            }
        }
        found
    }

    fn outranks(&self, other: &Self) -> bool {
        let length = |stretch: &Self| stretch.to - stretch.from;
        self.deviation > other.deviation
            || (self.deviation == other.deviation && length(self) > length(other))
    }
}

/// The squared distance of a point from a chord.
fn from_chord(point: [f64; 2], from: [f64; 2], to: [f64; 2]) -> f64 {
    let (x, y) = (point[0] - from[0], point[1] - from[1]);
    let (u, v) = (to[0] - from[0], to[1] - from[1]);
    let square = u * u + v * v;
    let part = if square > 0.0 { ((x * u + y * v) / square).clamp(0.0, 1.0) } else { 0.0 };
    let (x, y) = (x - part * u, y - part * v);
    x * x + y * y
}

/// North and east in kilometres on a plane at the route's beginning. Longitudes are summed step by
/// step, the short way around, so the date line is nowhere.
fn on_plane(route: &[Position]) -> Vec<[f64; 2]> {
    let Some(&[phi, mut before]) = route.first() else { return Vec::new() };
    let (shrink, mut turned) = (cos(phi), 0.0);
    let place = |&[lat, lon]: &Position| {
        turned += wrapped(lon - before);
        before = lon;
        [RADIUS_KM * (lat - phi), RADIUS_KM * shrink * turned]
    };
    route.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::f64::consts::PI;

    #[test]
    fn corners_come_first_and_straight_ways_are_halved() {
        // East, then north, then east again, across the date line.
        let mut route = Vec::new();
        for i in 0..10 {
            route.push([0.0, PI - 0.005 + 1e-3 * f64::from(i)]);
        }
        for i in 1..10 {
            route.push([1e-3 * f64::from(i), PI + 0.004]);
        }
        for point in &mut route {
            point[1] = wrapped(point[1]);
        }
        assert_eq!(key_points(&route, 3), [0, 9, 18]);
        assert_eq!(key_points(&route, 5).len(), 5);
        let straight: Vec<Position> = (0..9).map(|_| [0.5, 1.0]).collect();
        assert_eq!(key_points(&straight, 5), [0, 2, 4, 6, 8]);
        assert_eq!(key_points(&straight, 20).len(), 9);
    }

    /// Douglas and Peucker's recursion with a tolerance, as it is usually written.
    fn by_tolerance(plane: &[[f64; 2]], from: usize, to: usize, square: f64, out: &mut Vec<usize>) {
        let far = (from + 1..to).map(|i| (from_chord(plane[i], plane[from], plane[to]), i));
        let far = far.fold(
            (square, None),
            |(most, at), (d, i)| {
                if d > most { (d, Some(i)) } else { (most, at) }
            },
        );
        if let (_, Some(split)) = far {
            by_tolerance(plane, from, split, square, out);
            out.push(split);
            by_tolerance(plane, split, to, square, out);
        }
    }

    proptest! {
        #[test]
        fn a_tolerance_would_choose_the_same_points(
            steps in prop::collection::vec((-1e-3f64..1e-3, -1e-3f64..1e-3), 20..80),
            tolerance in 0.5f64..20.0,
            lon in -PI..PI,
        ) {
            let mut route = vec![[0.3, lon]];
            for (north, east) in steps {
                let [lat, lon] = route[route.len() - 1];
                route.push([lat + north, wrapped(lon + east)]);
            }
            let last = route.len() - 1;
            let mut want = vec![0];
            by_tolerance(&on_plane(&route), 0, last, tolerance * tolerance, &mut want);
            want.push(last);
            let all = key_points(&route, route.len() - 1);
            prop_assert_eq!(all.len(), route.len() - 1);
            let found = key_points(&route, want.len());
            prop_assert_eq!(found.len(), want.len());
            prop_assert!(found.windows(2).all(|two| two[0] < two[1]));
            prop_assert_eq!(found, want);
        }
    }
}
