//! Sums in plain sequence, several side by side.
//!
//! An addition waits for the one before it, so one such sum leaves the processor idle most of the
//! time. Sums that do not depend on each other fill the gaps: every one keeps its order.

/// Pairs of sums that advance together: enough to keep two adders busy.
const ABREAST: usize = 6;

/// Adds every row of pairs to its pair of sums, term by term.
///
/// # Panics
/// If a row is shorter than the first of its company.
pub fn add_in_sequence(rows: &[&[[f64; 2]]], sums: &mut [[f64; 2]]) {
    for (rows, sums) in rows.chunks(ABREAST).zip(sums.chunks_mut(ABREAST)) {
        if let (Some(rows), Some(sums)) = (rows.first_chunk(), sums.first_chunk_mut()) {
            side_by_side::<ABREAST>(*rows, sums);
        } else {
            for (row, sum) in rows.iter().zip(sums) {
                side_by_side([row], std::array::from_mut(sum));
            }
        }
    }
}

fn side_by_side<const N: usize>(rows: [&[[f64; 2]]; N], sums: &mut [[f64; 2]; N]) {
    let n = rows[0].len();
    let rows = rows.map(|row| &row[..n]);
    let mut running = *sums;
    for i in 0..n {
        for (sum, row) in running.iter_mut().zip(rows) {
            sum[0] += row[i][0];
            sum[1] += row[i][1];
        }
    }
    *sums = running;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_own_order() {
        let row = |k: usize| -> Vec<[f64; 2]> {
            let term = |i: usize| ((i * k) as f64).sin() * 10f64.powi((i % 17) as i32);
            (0..133).map(|i| [term(i + 1), -term(i + k)]).collect()
        };
        for count in 0..11 {
            let rows: Vec<Vec<[f64; 2]>> = (1..=count).map(row).collect();
            let mut sums = vec![[0.25, -0.5]; count];
            let mut want = sums.clone();
            add_in_sequence(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut sums);
            for (row, want) in rows.iter().zip(&mut want) {
                for term in row {
                    want[0] += term[0];
                    want[1] += term[1];
                }
            }
            assert_eq!(sums, want, "{count} rows");
        }
    }
}
