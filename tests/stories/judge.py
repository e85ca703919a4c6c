"""Walks over stories15m-conversions.json: judge.py ATTNLEDGER WORK TOKENS EXPECTED; `judge` tells it.

Ends with 1 where a number differs by more than a thousandth."""
import csv
import io
import json
import subprocess
import sys

attnledger, work, tokens, expected = sys.argv[1:]
expected = json.load(open(expected))
model, calibration = f"{work}/stories15M.bin", f"{work}/calibration"
bad = []


def run(*words):
    done = subprocess.run([attnledger, *words, "-f", "csv"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{words}: {done.stderr}")
    return list(csv.DictReader(io.StringIO(done.stdout)))


def check(what, found, wanted, most=1e-3):
    if not abs(found / wanted - 1) <= most:
        bad.append(f"{what}: found {found:.10g}, expected {wanted:.10g}")


def ranks(numbers):
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    return [order.index(i) for i in range(len(numbers))]


def spearman(a, b):
    n = len(a)
    return 1 - 6 * sum((x - y) ** 2 for x, y in zip(ranks(a), ranks(b))) / (n**3 - n)


# ---- heads ----

scores = {"error_dropped": [], "error_compensated": []}
for row in run("audit", model, "--calibration", calibration, "--only", "drop"):
    for key, layers in scores.items():
        if int(row["layer"]) == len(layers):
            layers.append([])
        layers[-1].append(float(row[key]))
for key, layers in scores.items():
    for layer, heads in enumerate(layers):
        for head, found in enumerate(heads):
            check(f"{key} of layer {layer} head {head}", found, expected["head_scores"][key][layer][head])

single = expected["single_heads"]
mean = sum(map(spearman, scores["error_dropped"], single["kl"])) / len(single["kl"])
print(f"error_dropped orders heads within layers as the KL divergence does: Spearman {mean:.2f}")
if mean < 0.7:
    bad.append(f"Spearman {mean}, expected at least 0.7")
for layer, heads in enumerate(scores["error_compensated"]):
    kl = single["kl_refit"][layer]
    above = kl[heads.index(min(heads))] - min(kl)
    print(f"layer {layer}: the head chosen by error_compensated costs {above:.4f} KL above the cheapest")
    if above > 0.02:
        bad.append(f"layer {layer}: {above} above the cheapest, expected at most 0.02")

for line in bad:
    print(line, file=sys.stderr)
sys.exit(bool(bad))
