//! The 2-norm of a small matrix: the square root of the largest eigenvalue of `M^T M`, by cyclic
//! Jacobi rotations in a fixed order. A library's singular values would do, but their bits follow
//! the machine's vector width; a norm needs forty lines and no power iteration that stalls on close
//! values.

/// Sweeps before giving up; ten suffice for any matrix of this size.
const SWEEPS: usize = 60;

/// Largest singular value of a row-major `dim x dim` matrix; infinite if an entry is not finite.
pub fn norm2(matrix: &[f64], dim: usize) -> f64 {
    let largest = matrix.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
    if matrix.iter().any(|m| !m.is_finite()) {
        return f64::INFINITY;
    }
    if largest == 0.0 {
        return 0.0;
    }
    // Scaled to entries within [-1, 1]: squares neither overflow nor vanish.
    let mut s = vec![0.0; dim * dim];
    for row in matrix.chunks_exact(dim) {
        for i in 0..dim {
            for j in 0..dim {
                s[i * dim + j] += (row[i] / largest) * (row[j] / largest);
            }
        }
    }
    // What is left beside the diagonal moves no eigenvalue by more than `dim` times this.
    let negligible = 1e-17 * (0..dim).map(|i| s[i * dim + i]).sum::<f64>();
    for _ in 0..SWEEPS {
        let mut rotated = false;
        for p in 0..dim {
            for q in p + 1..dim {
                if s[p * dim + q].abs() > negligible {
                    rotate(&mut s, dim, p, q);
                    rotated = true;
                }
            }
        }
        if !rotated {
            break;
        }
    }
    let top = (0..dim).map(|i| s[i * dim + i]).fold(0.0, f64::max);
    largest * top.sqrt()
}

/// Makes entry (p, q) of a symmetric matrix zero.
fn rotate(s: &mut [f64], dim: usize, p: usize, q: usize) {
    let (pp, qq, pq) = (s[p * dim + p], s[q * dim + q], s[p * dim + q]);
    let theta = (qq - pp) / (2.0 * pq);
    let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let c = 1.0 / (t * t + 1.0).sqrt();
    let sine = t * c;
    for k in 0..dim {
        let (kp, kq) = (s[k * dim + p], s[k * dim + q]);
        s[k * dim + p] = c * kp - sine * kq;
        s[k * dim + q] = sine * kp + c * kq;
    }
    for k in 0..dim {
        let (pk, qk) = (s[p * dim + k], s[q * dim + k]);
        s[p * dim + k] = c * pk - sine * qk;
        s[q * dim + k] = sine * pk + c * qk;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_matrices() {
        // Singular values of [[3, 0], [4, 5]] are 3 sqrt 5 and sqrt 5.
        assert!((norm2(&[3.0, 0.0, 4.0, 5.0], 2) - 45f64.sqrt()).abs() < 1e-14);
        assert_eq!(norm2(&[0.0; 9], 3), 0.0);
        assert_eq!(norm2(&[-7.0], 1), 7.0);
        let huge = [1e200, 0.0, 0.0, -1e200];
        assert!((norm2(&huge, 2) / 1e200 - 1.0).abs() < 1e-15);
    }

    #[test]
    fn a_product_of_unit_vectors_has_the_norm_it_was_given() {
        // sigma u v^T plus a smaller orthogonal part.
        let n = 6;
        let u: Vec<f64> = (0..n).map(|i| ((i * i + 1) as f64).sin()).collect();
        let v: Vec<f64> = (0..n).map(|i| ((3 * i + 2) as f64).cos()).collect();
        let length = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let (lu, lv) = (length(&u), length(&v));
        let m: Vec<f64> = (0..n * n).map(|i| 2.5 * (u[i / n] / lu) * (v[i % n] / lv)).collect();
        assert!((norm2(&m, n) - 2.5).abs() < 1e-13);
        // The norm bounds every image and some image reaches it.
        let dense: Vec<f64> = (0..n * n).map(|i| ((7 * i * i + 3) as f64).sin()).collect();
        let mut x = vec![1.0; n];
        let mut gain = 0.0;
        for _ in 0..4000 {
            let y: Vec<f64> =
                dense.chunks(n).map(|r| r.iter().zip(&x).map(|(a, b)| a * b).sum()).collect();
            gain = length(&y) / length(&x);
            let mut back = vec![0.0; n];
            for (row, y) in dense.chunks(n).zip(&y) {
                back.iter_mut().zip(row).for_each(|(b, a)| *b += a * y);
            }
            let scale = length(&back);
            x = back.iter().map(|b| b / scale).collect();
        }
        assert!((norm2(&dense, n) - gain).abs() < 1e-12, "{} {gain}", norm2(&dense, n));
    }
}
