"""Walks over stories15m-conversions.json: judge.py ATTNLEDGER WORK TOKENS EXPECTED; see `judge`.

Ends with 1 where a number differs by more than a thousandth of itself."""
import json
import os
import subprocess
import sys

attnledger, work, tokens, expected = sys.argv[1:]
expected = json.load(open(expected))
model, calibration = f"{work}/stories15M.bin", f"{work}/calibration"
bad = []


def run(*words):
    """The rows of the answer's first table, as texts."""
    done = subprocess.run([attnledger, *words, "-f", "json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{words}: {done.stderr}")
    rows = json.loads(done.stdout)["tables"][0]["rows"]
    return [{key: "" if value is None else str(value) for key, value in row.items()} for row in rows]


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
            wanted = expected["head_scores"][key][layer][head]  # of squares, in sample
            if key == "error_dropped":
                check(f"{key} of layer {layer} head {head}", found**2, wanted)
            elif not 1 < found**2 / wanted < 3:
                bad.append(f"{key} of layer {layer} head {head}: {found**2 / wanted} times that in sample")

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

# ---- conversions ----

METHODS = {"ov": "ov", "ov_refit": "ov", "latent": "kv-latent", "latent_output": "kv-latent",
           "latent_keys": "kv-latent", "share": "gqa", "share_refit": "gqa",
           "drop": "drop", "drop_greedy": "drop"}  # fmt: skip
MEASURES = {"C": "inputs", "C0": "centered", "P": "outputs"}


def heads_of(conversion):
    """LAYER:HEAD of each head that is left out, or how many; a greedy path is given once."""
    if conversion["method"] == "drop":
        return [f"{layer}:{head}" for layer, head in enumerate(conversion["heads"])]
    path = conversion["path"]
    if isinstance(path, str):
        refit = path.endswith("True")
        path = next(c["path"] for c in expected["conversions"] if c["method"] == "drop_greedy"
                    and not isinstance(c["path"], str) and c["refit"] == refit)  # fmt: skip
    return [f"{step['layer']}:{step['head']}" for step in path]


def refit_of(conversion):
    sample = ["--tokens", tokens, "--sequences", "0:16"]
    if conversion.get("refit") == "sequential":
        return ["--refit", "sequential", *sample]
    if conversion["method"] == "share_refit":
        return ["--refit", "tokens", *sample]
    return [] if conversion["method"] == "ov_refit" or conversion.get("refit") else ["--refit", "none"]


def options_of(conversion):
    method = conversion["method"]
    if METHODS[method] == "drop":
        return ["--drop", ",".join(heads_of(conversion)), *refit_of(conversion)]
    measure = MEASURES.get(conversion["measure"], conversion["measure"])
    options = ["--measure", "weighed" if method == "latent_output" else measure]
    options += ["--rank", str(3 if METHODS[method] == "gqa" else conversion["rank"])]
    options += ["--of", "keys"] if method == "latent_keys" else []
    options += ["--of", "values"] if METHODS[method] == "gqa" else []
    return options + refit_of(conversion)


made_by = [c for c in expected["conversions"] if c["method"] in METHODS]  # `share_procrustes` is no more
for i, conversion in enumerate(made_by):
    method = conversion["method"]
    made = f"{work}/{i}.safetensors"
    options = options_of(conversion)
    run("compress", model, "--calibration", calibration, "--method", METHODS[method], *options,
        "--force", "-o", made)  # fmt: skip
    verified = run("verify", model, made, "--tokens", tokens, "--sequences", "16:24")
    check(f"{method} {' '.join(options)}: KL", float(verified[0]["kl"]), conversion["kl"])
    check(f"{method} {' '.join(options)}: loss", float(verified[0]["compressed"]), conversion["loss"])
    alone = run("evaluate", made, "--tokens", tokens, "--sequences", "16:24")
    check(f"{method} {' '.join(options)}: the copy's own loss", float(alone[0]["loss"]),
          float(verified[0]["compressed"]), 1e-6)  # fmt: skip
print(f"{len(made_by)} conversions")

# ---- the frontier ----

done = subprocess.run([attnledger, "audit", model, "--only", "drop,conversion", "--calibration", calibration,
                       "--tokens", tokens, "--sequences", "16:24", "--figures", f"{work}/figures", "-f", "json"],
                      capture_output=True, text=True)  # fmt: skip
if done.returncode != 0:
    sys.exit(f"audit: {done.stderr}")
answer = json.loads(done.stdout)
losses = next(table["rows"] for table in answer["tables"] if table["id"] == "losses")
refitted = single["loss_increase_refit"]
if not os.path.getsize(f"{work}/figures/frontier.svg"):
    bad.append("the frontier isn't drawn")
for row in losses:
    check(f"loss without head {row['head']} of {row['module']}", row["loss_increase"],
          refitted[row["layer"]][row["head"]])  # fmt: skip
print(f"{len(losses)} heads left out")

# The sentence: the head of least loss and the smallest cache.
sentence = answer["answer"]["text"]
print(sentence)
for part in (f"Without layer 5 head 5 and with W_O refitted the loss rises by {refitted[5][5]:.4f} +- 0.0051 nats",
             "Smallest cache at KL <= 0.05: kv-latent (values from 180), 18.8 % smaller, KL 0.0248 +- "):  # fmt: skip
    if part not in sentence:
        bad.append(f"the sentence lacks: {part}")

for line in bad:
    print(line, file=sys.stderr)
sys.exit(bool(bad))
