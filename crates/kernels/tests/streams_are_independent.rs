//! Random streams: independent of order, thread and grouping; distributed as stated.

use std::collections::BTreeSet;

use backcut_kernels::random::Stream;

const COUNT: usize = 20_000;

fn normals(seed: u64, name: &str, update: u64, row: u64) -> Vec<f64> {
    let mut out = vec![0.0; COUNT];
    Stream::new(seed, name).at(update, row).fill_normal(&mut out);
    out
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
    sum / count
}

#[test]
fn normals_do_not_depend_on_how_they_are_grouped() {
    let stream = Stream::new(3, "grouping");
    let mut whole = [0.0; 500];
    stream.at(1, 2).fill_normal(&mut whole);
    for sizes in [[1, 1, 1], [1, 63, 64], [2, 65, 128], [7, 130, 0], [0, 129, 1]] {
        let mut draws = stream.at(1, 2);
        let mut pieces = Vec::new();
        for size in sizes.into_iter().cycle().take(9) {
            let mut piece = vec![0.0; size];
            draws.fill_normal(&mut piece);
            pieces.extend(piece);
        }
        pieces.truncate(500);
        assert_eq!(pieces, whole[..pieces.len()]);
    }
    let mut draws = stream.at(1, 2);
    assert!(whole.iter().all(|&x| x == draws.normal()));
}

#[test]
fn draws_do_not_depend_on_order_or_thread() {
    let stream = Stream::new(9, "threads");
    let forward: Vec<f64> = (0..64).map(|row| stream.at(row / 8, row % 8).normal()).collect();
    let mut backward: Vec<f64> =
        (0..64).rev().map(|row| stream.at(row / 8, row % 8).normal()).collect();
    backward.reverse();
    let threaded: Vec<f64> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..64)
            .map(|row| {
                let stream = &stream;
                scope.spawn(move || stream.at(row / 8, row % 8).normal())
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    assert_eq!(forward, backward);
    assert_eq!(forward, threaded);
}

#[test]
fn sequences_of_different_coordinates_never_overlap() {
    let (mut words, mut count) = (BTreeSet::new(), 0);
    for seed in [0, 1, 2, u64::MAX] {
        for name in ["", "a", "b", "ab", "ba", "noise"] {
            let stream = Stream::new(seed, name);
            for update in [0, 1, 2, 1 << 32] {
                for row in [0, 1, 2, 1 << 32] {
                    let mut draws = stream.at(update, row);
                    words.extend(std::iter::repeat_with(|| draws.next_u64()).take(256));
                    count += 256;
                }
            }
        }
    }
    assert_eq!(words.len(), count);
}

#[test]
fn neighbouring_sequences_are_uncorrelated() {
    let here = normals(1, "noise", 10, 3);
    let neighbours = [
        normals(2, "noise", 10, 3),
        normals(1, "noisf", 10, 3),
        normals(1, "noise", 11, 3),
        normals(1, "noise", 10, 4),
    ];
    let limit = 4.0 / (COUNT as f64).sqrt();
    for there in &neighbours {
        for lag in [0, 1] {
            let product = mean(here.iter().zip(&there[lag..]).map(|(a, b)| a * b));
            assert!(product.abs() < limit, "correlation {product} at lag {lag}");
        }
    }
    let pairs = mean(here.chunks_exact(2).map(|pair| pair[0] * pair[1]));
    assert!(pairs.abs() < limit * 2f64.sqrt(), "correlation {pairs} inside a pair");
}

/// The normal distribution function, to 2e-7 (Abramowitz and Stegun 7.1.26).
fn normal_distribution(x: f64) -> f64 {
    let z = x.abs() / 2f64.sqrt();
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let p = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592]
        .iter()
        .fold(0.0, |p, c| (p + c) * t);
    let upper = 0.5 * p * (-z * z).exp();
    if x < 0.0 { upper } else { 1.0 - upper }
}

/// Kolmogorov's distance times the root of the count; above 1.95 once in a thousand samples.
fn kolmogorov(mut values: Vec<f64>, distribution: fn(f64) -> f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let distance = values.iter().enumerate().fold(0f64, |worst, (i, &x)| {
        let p = distribution(x);
        worst.max(p - i as f64 / n).max((i + 1) as f64 / n - p)
    });
    distance * n.sqrt()
}

#[test]
fn normals_are_standard_normal() {
    for row in 0..4 {
        let x = normals(1, "noise", 0, row);
        let n = COUNT as f64;
        let m = mean(x.iter().copied());
        let variance = mean(x.iter().map(|x| (x - m).powi(2)));
        let fourth = mean(x.iter().map(|x| (x - m).powi(4))) / variance.powi(2);
        assert!(m.abs() < 4.0 / n.sqrt(), "mean {m}");
        assert!((variance - 1.0).abs() < 4.0 * (2.0 / n).sqrt(), "variance {variance}");
        assert!((fourth - 3.0).abs() < 4.0 * (24.0 / n).sqrt(), "kurtosis {fourth}");
        let distance = kolmogorov(x, normal_distribution);
        assert!(distance < 1.95, "Kolmogorov distance {distance}");
    }
}

#[test]
fn uniforms_are_uniform_and_inside() {
    let mut draws = Stream::new(5, "uniform").at(0, 0);
    let unit: Vec<f64> = (0..COUNT).map(|_| draws.uniform()).collect();
    assert!(unit.iter().all(|u| (0.0..1.0).contains(u)));
    assert!(kolmogorov(unit, |x| x) < 1.95);
    let wide: Vec<f64> = (0..COUNT).map(|_| draws.uniform_in(-3.0, 5.0)).collect();
    assert!(wide.iter().all(|x| (-3.0..5.0).contains(x)));
    assert!(kolmogorov(wide, |x| (x + 3.0) / 8.0) < 1.95);
}

/// Pearson's statistic of equally likely cells.
fn chi_square(cells: &[u32]) -> f64 {
    let expected = f64::from(cells.iter().sum::<u32>()) / cells.len() as f64;
    cells.iter().map(|&c| (f64::from(c) - expected).powi(2) / expected).sum()
}

#[test]
fn below_is_unbiased() {
    let mut draws = Stream::new(5, "below").at(0, 0);
    for n in [1u64, 2, 7, 10] {
        let mut cells = vec![0; n as usize];
        for _ in 0..COUNT {
            cells[draws.below(n) as usize] += 1;
        }
        assert!(chi_square(&cells) < 30.0, "{cells:?}");
    }
    // 2^64 words onto 3 * 2^62 values: without rejection, multiples of 3 would come up twice as
    // often.
    let mut thirds = [0; 3];
    for _ in 0..COUNT {
        thirds[(draws.below(3 << 62) % 3) as usize] += 1;
    }
    assert!(chi_square(&thirds) < 20.0, "{thirds:?}");
}

#[test]
fn permutations_and_derangements_are_uniform() {
    let mut draws = Stream::new(5, "orders").at(0, 0);
    let mut permutations = std::collections::BTreeMap::<Vec<usize>, u32>::new();
    let mut derangements = permutations.clone();
    for _ in 0..COUNT {
        *permutations.entry(draws.permutation(4)).or_default() += 1;
        *derangements.entry(draws.derangement(4).unwrap()).or_default() += 1;
    }
    assert!(derangements.keys().all(|order| order.iter().enumerate().all(|(i, &x)| i != x)));
    assert_eq!((permutations.len(), derangements.len()), (24, 9));
    let cells =
        |counts: std::collections::BTreeMap<_, u32>| counts.into_values().collect::<Vec<_>>();
    assert!(chi_square(&cells(permutations)) < 60.0);
    assert!(chi_square(&cells(derangements)) < 30.0);
}

#[test]
fn a_single_item_has_no_derangement() {
    let mut draws = Stream::new(5, "orders").at(0, 0);
    assert_eq!(draws.derangement(1), None);
    assert_eq!(draws.derangement(0), Some(vec![]));
    assert_eq!(draws.derangement(2), Some(vec![1, 0]));
}
