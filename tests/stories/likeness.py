#!/usr/bin/env python3
"""How alike heads are by a calibration, against their attention on other tokens, by numpy alone:

    likeness.py COSINES.csv ARRAYS

COSINES.csv is the table of `audit --calibration --only cosines`, ARRAYS the folder of `evaluate --arrays --array-heads
'*:*'` on tokens that weren't recorded. Logits are the logarithms of attention weights but for a constant of each
query: over all queries, the correlation of two heads' logits, each query's mean taken away; and linear CKA of the
outputs. Ends with 1 where the table's numbers correlate with them at less than 0.95 over all pairs."""
import csv
import sys

import numpy as np

table, arrays = sys.argv[1:]


def load(module, head, kind):
    return np.load(f"{arrays}/{module}.{head}.{kind}.npy").astype(float)


def centred_logits(module, head):
    """[sequence][query][key], each query alike."""
    weights = load(module, head, "attention")
    seen = np.tril(np.ones(weights.shape[1:]))
    logits = np.log(np.where(seen > 0, weights, 1))
    logits = (logits - logits.sum(-1, keepdims=True) / seen.sum(-1, keepdims=True)) * seen
    return (logits / np.sqrt(seen.sum(-1, keepdims=True))).ravel()


def cka(a, b):
    a, b = (x.reshape(-1, x.shape[-1]) - x.mean((0, 1)) for x in (a, b))
    return ((a.T @ b) ** 2).sum() / np.sqrt(((a.T @ a) ** 2).sum() * ((b.T @ b) ** 2).sum())


rows = list(csv.DictReader(open(table)))
bad = 0
for key, kind, compare in (
    ("logit_correlation", centred_logits, lambda a, b: a @ b / np.sqrt((a @ a) * (b @ b))),
    ("output_cka", lambda module, head: load(module, head, "output"), cka),
):  # fmt: skip
    held, pairs = {}, []
    for row in rows:
        heads = [(row["module"], row[name]) for name in ("head_a", "head_b")]
        for head in heads:
            if head not in held:
                held[head] = kind(*head)
        pairs.append((float(row[key]), compare(*(held[head] for head in heads))))
    found, true = np.array(pairs).T
    correlation = np.corrcoef(found, true)[0, 1]
    print(f"{key}: correlation {correlation:.3f} with that on other tokens over {len(pairs)} pairs, largest difference "
          f"{np.abs(found - true).max():.3f}")  # fmt: skip
    if not (len(pairs) > 0 and correlation >= 0.95):
        print("expected 0.95 or more")
        bad = 1
sys.exit(bad)
