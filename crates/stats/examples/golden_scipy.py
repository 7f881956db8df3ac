"""Writes tests/data/scipy.json: values that an independent implementation gives.

Run once, from the crate's folder, with numpy and scipy installed:

    python examples/golden_scipy.py > tests/data/scipy.json

The Rust test `agrees_with_scipy.rs` reads the file; nothing else needs Python.
"""

import json
import sys

import numpy as np
import scipy
from scipy import stats

rng = np.random.default_rng(20260914)


def sample(kind, n, shift):
    # Six decimals: any JSON reader gets the same doubles. Whole numbers: ties, without rounding in sums.
    if kind == "normal":
        return np.round(shift + rng.normal(size=n), 6)
    if kind == "lognormal":
        return np.round(shift + rng.lognormal(sigma=0.8, size=n) - 1.0, 6)
    return np.round(5.0 * (shift + rng.normal(size=n)))


def mean(x, axis=-1):
    return np.mean(x, axis=axis)


def main():
    paired, unpaired = [], []
    for kind in ("normal", "lognormal", "whole"):
        for n in (8, 12, 16, 28):
            x = sample(kind, n, 0.4)
            case = {"kind": kind, "x": x.tolist(), "mean": float(np.mean(x)), "sd": float(np.std(x, ddof=1))}
            for level in (0.90, 0.95, 0.99):
                b = stats.bootstrap((x,), mean, n_resamples=400_000, batch=20_000, confidence_level=level,
                                    method="percentile", rng=rng)
                case[f"bootstrap_{int(100 * level)}"] = [b.confidence_interval.low, b.confidence_interval.high]
            if n <= 16:
                for alternative in ("two-sided", "less", "greater"):
                    p = stats.permutation_test((x,), mean, permutation_type="samples", vectorized=True,
                                               n_resamples=np.inf, alternative=alternative)
                    case["sign_flip_" + alternative] = float(p.pvalue)
            y = np.round(0.5 * x + sample(kind, n, 0.0), 0 if kind == "whole" else 6)
            case["y"] = y.tolist()
            case["pearson"] = float(stats.pearsonr(x, y).statistic)
            case["spearman"] = float(stats.spearmanr(x, y).statistic)
            if n == 8:
                def rho(permuted):
                    return stats.spearmanr(permuted, y).statistic
                p = stats.permutation_test((x,), rho, permutation_type="pairings", n_resamples=np.inf)
                case["spearman_p"] = float(p.pvalue)
            paired.append(case)
        for n, m in ((6, 7), (8, 8), (9, 7), (40, 55)):
            x, y = sample(kind, n, 0.0), sample(kind, m, 0.7)
            ks = stats.ks_2samp(x, y, method="exact")
            case = {"kind": kind, "x": x.tolist(), "y": y.tolist(),
                    "ks_statistic": float(ks.statistic), "ks_p": float(ks.pvalue)}
            if n + m <= 16:
                # Of the absolute difference: scipy's own two-sided p doubles the smaller tail, which is another
                # definition when the sizes differ.
                def distance(a, b, axis):
                    return np.abs(np.mean(a, axis=axis) - np.mean(b, axis=axis))
                p = stats.permutation_test((x, y), distance, permutation_type="independent", vectorized=True,
                                           n_resamples=np.inf, alternative="greater")
                case["permutation_p"] = float(p.pvalue)
            unpaired.append(case)
    versions = {"numpy": np.__version__, "scipy": scipy.__version__}
    json.dump({"versions": versions, "paired": paired, "unpaired": unpaired}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
