"""Reads the log of a run: one structured array, one row per update.

    python examples/read_log.py runs/NAME/log.bin
"""
import sys

import numpy as np

RECORD = np.dtype([("update", "<u8"), ("loss", "<f8"), ("raw_norm", "<f8"), ("clipped_norm", "<f8"),
                   ("factor", "<f8"), ("hash", "<u8"), ("evaluation", "<f8")])


def read_log(path):
    data = open(path, "rb").read()
    version, size = np.frombuffer(data, "<u4", 2, offset=8)
    assert data[:8] == b"BCUTLOG\0" and (version, size) == (1, RECORD.itemsize), "not a log"
    return np.frombuffer(data, RECORD, (len(data) - 16) // size, offset=16)  # a torn record is left out


if __name__ == "__main__":
    log = read_log(sys.argv[1])
    print(f"{len(log)} updates, loss {log['loss'][0]:.4f} to {log['loss'][-1]:.4f}, "
          f"{np.sum(log['factor'] < 1)} clipped")
    for row in log[~np.isnan(log["evaluation"])]:
        print(f"update {row['update']}: error {row['evaluation']:.6f}")
