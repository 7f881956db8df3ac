//! Stepping with a window's velocities reproduces its positions.

use backcut_vessel::model::{Shape, Window, valid_starts};
use backcut_vessel::sphere::{step, wrapped};
use backcut_vessel::{Fleet, Reserved, Rules};

#[test]
fn velocities_lead_from_position_to_position() {
    let tracks = Fleet { ships: 12, days: 5, seed: 11 }
        .tracks(&Rules::default(), 0, Reserved::Excluded)
        .unwrap();
    let shape = Shape::default();
    let mut crosses = 0;
    for segment in tracks.segments() {
        let Some(&start) = valid_starts(segment, 300, &shape).first() else { continue };
        let window = Window::of(segment, start, 300, &shape).unwrap();
        assert_eq!([window.positions.len(), window.velocities.len()], [304, 304]);
        let mut here = window.origin;
        for (velocity, position) in window.velocities.iter().zip(&window.positions) {
            let next = step(here, *velocity, 300);
            assert!((next[0] - position[0]).abs() < 1e-13, "latitude");
            assert!(wrapped(next[1] - position[1]).abs() < 1e-12, "longitude");
            crosses += usize::from((next[1] - here[1]).abs() > 3.0);
            here = next;
        }
        assert_eq!(window.key_points.len(), 16);
        assert_eq!([window.key_points[0], window.key_points[15]], [15, 303]);
        assert_eq!(window.route().len(), 16);
    }
    println!("{crosses} steps across the date line");
}

#[test]
fn a_window_that_does_not_fit_is_an_error() {
    let tracks = Fleet { ships: 3, days: 3, seed: 2 }
        .tracks(&Rules::default(), 0, Reserved::Excluded)
        .unwrap();
    let segment = &tracks.segments()[0];
    let last = segment.places.len() - 305;
    assert!(Window::of(segment, last, 300, &Shape::default()).is_ok());
    assert!(Window::of(segment, last + 1, 300, &Shape::default()).is_err());
    assert!(Window::of(segment, usize::MAX, 300, &Shape::default()).is_err());
    let shape = Shape { key_points: 1, ..Shape::default() };
    assert!(Window::of(segment, 0, 300, &shape).is_err());
}
