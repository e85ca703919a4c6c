#!/usr/bin/env python3
"""Errors of refits by a calibration of stories15M, against those on fresh tokens, by numpy alone:

    crossed.py MODEL.bin CALIBRATION FRESH DROP.csv MOST

DROP.csv is the table of `audit --calibration CALIBRATION --only drop`. Its errors are computed anew, by least squares
on all folds but one, measured on that, and Burman's correction; and on the tokens of FRESH, another calibration, where all
folds of CALIBRATION are fitted. Ends with 1 where the audit's differ from the former by more than
a thousandth, or in the mean over heads from the latter by more than MOST."""
import csv
import json
import struct
import sys

import numpy as np

model, calibration, fresh, table, most = sys.argv[1:]


def read(folder, layer):
    """Second moments of the heads' outputs, [folds][n][n]."""
    stored = open(f"{folder}/calibration.safetensors", "rb").read()
    n = struct.unpack("<Q", stored[:8])[0]
    entry = json.loads(stored[8 : 8 + n])[f"layers.{layer}.heads"]
    first, end = entry["data_offsets"]
    dtype = {"F32": "<f4", "F64": "<f8"}[entry["dtype"]]
    packed = np.frombuffer(stored[8 + n + first : 8 + n + end], dtype).reshape(entry["shape"]).astype(float)
    m = int((2 * packed.shape[1]) ** 0.5)
    out = np.zeros((len(packed), m, m))
    rows, columns = np.tril_indices(m)
    out[:, rows, columns] = out[:, columns, rows] = packed
    return out


data = open(model, "rb").read()
D, F, L, H, KV, V, T = struct.unpack("7i", data[:28])
numbers = np.frombuffer(data, "<f4", offset=28).astype(float)
first = V * D + L * D + 3 * L * D * D
wo = numbers[first : first + L * D * D].reshape(L, D, D)
d = D // H


def change(fit, judge, w, gone):
    """The squared change of the output without the numbers in `gone`, and the squared output."""
    kept = np.setdiff1d(np.arange(D), gone)
    map_ = np.linalg.lstsq(fit[np.ix_(kept, kept)], fit[np.ix_(kept, gone)], rcond=2.0**-22)[0]
    left = np.zeros((D, len(gone)))
    left[gone], left[kept] = np.eye(len(gone)), -map_
    left = left @ w[:, gone].T
    return np.trace(left.T @ judge @ left), np.trace(w @ judge @ w.T)


rows = {(int(row["layer"]), int(row["head"])): row for row in csv.DictReader(open(table))}
bad, ratios = 0, []
for layer in range(L):
    folds, other = read(calibration, layer), read(fresh, layer).sum(0)
    all_ = folds.sum(0)
    for head in range(H):
        gone = np.arange(head * d, head * d + d)
        parts = np.array([change(all_ - fold, fold, wo[layer], gone) for fold in folds])
        fitted = [change(all_ - fold, all_ - fold, wo[layer], gone)[0] for fold in folds]
        in_sample, all_whole = change(all_, all_, wo[layer], gone)
        lost = parts[:, 0].sum() + in_sample - (parts[:, 0] + fitted).mean()
        crossed = np.sqrt(lost / all_whole)
        without = np.array([np.delete(parts, f, 0).sum(0) for f in range(len(parts))])
        jackknife = without[:, 0] / without[:, 1]
        k = len(parts)
        error = np.sqrt((k - 1) / k * ((jackknife - jackknife.mean()) ** 2).sum()) / (2 * crossed)
        lost, whole = change(all_, other, wo[layer], gone)
        found = rows[layer, head]
        for key, expected in ("error_compensated", crossed), ("error_compensated_error", error):
            if not abs(float(found[key]) / expected - 1) <= 1e-3:
                print(f"layer {layer} head {head}: {key} {found[key]}, expected {expected:.6g}")
                bad = 1
        ratios.append(np.sqrt([crossed**2, in_sample / all_whole]) / np.sqrt(lost / whole))
ratios = np.array(ratios)
crossed, in_sample = ratios.mean(0)
spread = ratios[:, 0]
print(f"{k} folds: cross-fitted errors are {crossed:.3f} of those on fresh tokens ({spread.min():.2f} to "
      f"{spread.max():.2f} by head), in sample {in_sample:.3f}")  # fmt: skip
if not abs(crossed - 1) <= float(most):
    print(f"expected 1 within {most}")
    bad = 1
sys.exit(bad)
