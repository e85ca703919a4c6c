#!/usr/bin/env python3
"""The order in which heads may go, from one recording pass, against losses measured without each head:

    order.py DROP.csv ABLATION.csv LEAST

The former is of `audit --calibration --only drop`, the latter of `evaluate --ablate heads`. Ends with 1 where the mean over
layers of Spearman's correlation is below LEAST."""
import csv
import sys


def read(path, key):
    layers = {}
    for row in csv.DictReader(open(path)):
        layers.setdefault(row["layer"], []).append(float(row[key]))
    return list(layers.values())


def ranks(numbers):
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    return [order.index(i) for i in range(len(numbers))]


def spearman(a, b):
    n = len(a)
    return 1 - 6 * sum((x - y) ** 2 for x, y in zip(ranks(a), ranks(b))) / (n**3 - n)


drop, ablation, least = sys.argv[1:]
losses = read(ablation, "loss_increase")
means = {}
for key in "turn_refitted", "turn", "error_compensated", "error_dropped":
    costs = read(drop, key)
    means[key] = sum(map(spearman, costs, losses)) / len(losses)
    print(f"{key}: Spearman {means[key]:.3f} within layers, {spearman(sum(costs, []), sum(losses, [])):.2f} across")
if means["turn_refitted"] < float(least):
    sys.exit(f"expected at least {least} of turn_refitted within layers")
