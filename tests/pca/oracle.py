"""Principal components across heads in float64 numpy, dense, written from the definitions:
what `attnledger pca` is held against. Not run by the tests: its values stand in tests/unit/pca.c and
tests/golden/pca/.

    oracle.py FILE.npy HEADS direct|average|nonlinear [TARGET.npy]
    oracle.py made                    the values in tests/unit/pca.c
    oracle.py write FOLDER            heads.npy and heads-target.npy of tests/data
"""
import sys

import numpy as np


def features(m, heads, architecture):
    """The PCA layer's inputs, [tokens][features][width], normalized."""
    n = len(m)
    x = m.astype(np.float64).reshape(n, heads, -1)

    def normalize(a, axes):
        centered = a - a.mean(axis=axes, keepdims=True)
        deviation = centered.std(axis=axes, keepdims=True)
        return np.divide(centered, deviation, out=np.zeros_like(centered), where=deviation > 0)

    if architecture == "direct":
        return normalize(x, 0)
    if architecture == "average":
        return normalize(x, 0).mean(axis=2, keepdims=True)
    products = [x[:, i] * x[:, k] for i in range(heads) for k in range(i + 1, heads)]
    return normalize(np.concatenate([x, x * x, np.stack(products, 1)] if products else [x, x * x], 1), (0, 2))


def principal(u):
    rows = u.transpose(0, 2, 1).reshape(-1, u.shape[1])
    values, vectors = np.linalg.eigh(rows.T @ rows / len(rows))
    return values[::-1], vectors[:, ::-1]


def target_errors(u, vectors, z):
    """|Z - Z_m|/|Z| of the best fit, with an intercept, from the first m components."""
    z = z - z.mean(axis=0)
    errors = []
    for m in range(1, u.shape[1] + 1):
        y = np.einsum("tkw,km->tmw", u, vectors[:, :m]).reshape(len(u), -1)
        y = y - y.mean(axis=0)
        best = np.linalg.lstsq(y, z, rcond=None)[0]
        errors.append(np.linalg.norm(z - y @ best) / np.linalg.norm(z))
    return errors


def made(tokens, heads, width, targets):
    """The heads and targets of tests/unit/pca.c: whole numbers, so that both programs have the same."""
    t, k = np.meshgrid(np.arange(tokens), np.arange(heads * width), indexing="ij")
    head, dimension = k // width, k % width
    noise = (t * 7919 + k * 104729 + t * t * (k + 3)) % 1009 - 504
    common = (t * 4001 + dimension * 911 + t * t * 17) % 2003 - 1001
    m = noise * (head + 1) + common * (1 - head % 3) + 500 * k
    t, k = np.meshgrid(np.arange(tokens), np.arange(targets), indexing="ij")
    z = m[:, k[0] % (heads * width)] * 3 - m[:, (k[0] * 5 + 1) % (heads * width)]
    return m, z + (t * 613 + k * 37) % 401


def batch_gha(covariance, weights, rate, steps):
    """Sanger's rule on all patterns at once; weights [m][n], as the paper's equation 12 has them."""
    for _ in range(steps):
        weights = weights + rate * (weights @ covariance - np.tril(weights @ covariance @ weights.T) @ weights)
    return weights


def show_gha():
    covariance = np.array([[1 / (1 + abs(i - k)) + (i == k) * i / 4 for k in range(5)] for i in range(5)])
    start = np.array([[((7 * i + 3 * c) % 5 - 2) / 8 for i in range(5)] for c in range(3)])
    for row in batch_gha(covariance, start, 0.125, 200):
        print("gha", *("%.16g," % x for x in row))


def show_made():
    show_gha()
    m, z = made(300, 3, 4, 5)
    for architecture in "direct", "average", "nonlinear":
        u = features(m, 3, architecture)
        values, vectors = principal(u)
        print(architecture, *("%.16g," % v for v in values))
        print("errors", *("%.12g," % e for e in target_errors(u, vectors, z.astype(np.float64))))


if __name__ == "__main__":
    if sys.argv[1] == "made":
        show_made()
        sys.exit()
    if sys.argv[1] == "write":
        for name, array in zip(("heads", "heads-target"), made(96, 3, 4, 5)):
            np.save("%s/%s.npy" % (sys.argv[2], name), array.astype(np.float32))
        sys.exit()
    u = features(np.load(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
    values, vectors = principal(u)
    for value in values:
        print("%.15g %.15g" % (value, value / values.sum()))
    if len(sys.argv) > 4:
        print("target", *("%.12g" % e for e in target_errors(u, vectors, np.load(sys.argv[4]))))
