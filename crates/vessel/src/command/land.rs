//! Outlines of land behind a map of tracks.
//!
//! `land.txt` says what it holds and where it comes from (Natural Earth, public domain). At 0.07
//! degrees it shows where a coast is, not a harbour.

use crate::sphere::Position;

const TEXT: &str = include_str!("land.txt");

/// Hundredths of a degree in a radian.
const UNITS: f64 = 18000.0 / std::f64::consts::PI;

/// A ring of points on the paper.
pub type Ring = Vec<(f64, f64)>;

/// What a map shows: west, south, east and north on the paper's axes.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The least and the greatest abscissa.
    pub x: [f64; 2],
    /// The least and the greatest ordinate.
    pub y: [f64; 2],
}

/// Every ring of land that reaches into a frame, cut at its edges. `place` says where a position
/// lies on the paper when its longitude is told as so much east of the map's own, unwrapped: a ring
/// is seen from both sides of the date line.
pub fn outlines(longitude: f64, frame: Frame, place: impl Fn(Position) -> (f64, f64)) -> Vec<Ring> {
    let turn = 2.0 * std::f64::consts::PI;
    let mut found = Vec::new();
    for ring in rings() {
        for shift in [-turn, 0.0, turn] {
            let points = ring.iter().map(|[lat, lon]| place([*lat, lon + shift - longitude]));
            let seen = within(points.collect(), frame);
            found.extend((seen.len() >= 3).then_some(seen));
        }
    }
    found
}

/// The rings of the file, as latitude and longitude in radians.
fn rings() -> impl Iterator<Item = Vec<Position>> {
    TEXT.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut at = [0.0, 0.0];
        let steps = line.split(' ').filter_map(|step| step.split_once(','));
        let steps = steps.filter_map(|(x, y)| Some([x.parse().ok()?, y.parse().ok()?]));
        let points = steps.map(|[x, y]: [f64; 2]| {
            at = [at[0] + x, at[1] + y];
            [at[1] / UNITS, at[0] / UNITS]
        });
        points.collect()
    })
}

/// A polygon cut by the four edges of a frame, one after the other (Sutherland and Hodgman 1974).
fn within(mut ring: Ring, frame: Frame) -> Ring {
    type Side = (fn(&(f64, f64)) -> f64, f64, f64);
    let sides: [Side; 4] = [
        (|p| p.0, frame.x[0], 1.0),
        (|p| p.0, frame.x[1], -1.0),
        (|p| p.1, frame.y[0], 1.0),
        (|p| p.1, frame.y[1], -1.0),
    ];
    for (of, edge, sign) in sides {
        let inside = |p: &(f64, f64)| (of(p) - edge) * sign;
        let mut kept = Vec::with_capacity(ring.len());
        for (i, to) in ring.iter().enumerate() {
            let from = &ring[(i + ring.len() - 1) % ring.len()];
            let (a, b) = (inside(from), inside(to));
            if (a < 0.0) != (b < 0.0) {
                let share = a / (a - b);
                kept.push((from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1)));
            }
            if b >= 0.0 {
                kept.push(*to);
            }
        }
        ring = kept;
    }
    ring
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether land lies at a place, by the rings of a map around it.
    fn is_land(latitude: f64, longitude: f64) -> bool {
        let at = [latitude.to_radians(), longitude.to_radians()];
        let frame = Frame { x: [-0.2, 0.2], y: [-0.2, 0.2] };
        let rings = outlines(at[1], frame, |[lat, east]| (east, lat - at[0]));
        // A ray to the east crosses a ring an odd number of times from within.
        let crosses = |[a, b]: [(f64, f64); 2]| {
            (a.1 > 0.0) != (b.1 > 0.0) && a.0 - a.1 * (b.0 - a.0) / (b.1 - a.1) > 0.0
        };
        let edges = |ring: &Ring| {
            (0..ring.len()).filter(|&i| crosses([ring[i], ring[(i + 1) % ring.len()]])).count()
        };
        rings.iter().map(edges).sum::<usize>() % 2 == 1
    }

    #[test]
    fn land_lies_where_it_is() {
        for (name, latitude, longitude, is) in [
            ("Hawaii", 19.6, -155.5, true),
            ("the Pacific", 0.0, -140.0, false),
            ("Kansas", 38.5, -98.0, true),
            ("Tasmania", -42.0, 146.6, true),
            ("the Caspian Sea", 41.0, 51.0, false),
            ("Antarctica", -80.0, 120.0, true),
            // On either side of the date line, and seen across it.
            ("Chukotka, west", 67.0, -179.0, true),
            ("Chukotka, east", 67.0, 179.0, true),
            ("the Bering Sea", 58.0, 179.9, false),
            // Where a ring that jumps at the date line would leave a streak.
            ("the Norwegian Sea", 68.8, -8.0, false),
            ("the Ross Sea", -75.0, -170.0, false),
        ] {
            assert_eq!(is_land(latitude, longitude), is, "{name}");
        }
    }

    #[test]
    fn the_file_is_small_whole_and_says_where_it_comes_from() {
        assert!(TEXT.len() < 100_000 && TEXT.contains("public domain"));
        let lines = TEXT.lines().filter(|line| !line.starts_with('#'));
        let points = lines.map(|line| line.split(' ').count()).sum::<usize>();
        assert_eq!(rings().map(|ring| ring.len()).sum::<usize>(), points, "every point is read");
    }

    #[test]
    fn a_ring_is_cut_at_the_frame() {
        let frame = Frame { x: [0.0, 2.0], y: [0.0, 2.0] };
        let square = |at: f64| vec![(at, 0.5), (at + 1.0, 0.5), (at + 1.0, 1.5), (at, 1.5)];
        assert_eq!(within(square(0.5), frame), square(0.5));
        let cut = within(square(1.5), frame);
        assert!(cut.len() == 4 && cut.iter().all(|p| p.0 <= 2.0), "{cut:?}");
        assert!(within(square(5.0), frame).is_empty());
    }
}
