"""Seconds that numpy takes for one BERT-base layer at R = 256, never forming a head's product: a sweep of
CP-ALS, and HOSVD through Gram and Cholesky with its residual. Exits with 77 where there is no numpy."""
import sys
import time

try:
    import numpy
except ImportError:
    sys.exit(77)

HEADS, D, WIDTH, R, SWEEPS = 12, 768, 64, 256, 5
rng = numpy.random.default_rng(1)
Q, K = rng.standard_normal((2, HEADS, D, WIDTH), dtype=numpy.float32)
A, C = rng.standard_normal((2, D, R), dtype=numpy.float32)
M = rng.standard_normal((HEADS, R), dtype=numpy.float32)


def median_time(work, runs):
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return sorted(times)[runs // 2]


def solve(right, x, y):
    return numpy.linalg.solve((x.T @ x) * (y.T @ y), right.T).T


def sweep():
    m, c = M, C
    key = K_t @ c
    a = solve(Q_wide @ (key.reshape(HEADS, WIDTH, R) * m[:, None, :]).reshape(-1, R), m, c)
    query = Q_t @ a
    m = solve((query * key).reshape(HEADS, WIDTH, R).sum(axis=1), a, c)
    solve(K_wide @ (query.reshape(HEADS, WIDTH, R) * m[:, None, :]).reshape(-1, R), m, a)


def hosvd():
    bases = []
    for own, other in ((Q64, K64), (K64, Q64)):
        triangles = numpy.linalg.cholesky(other.transpose(0, 2, 1) @ other)
        wide = (own @ triangles).transpose(1, 0, 2).reshape(D, -1)
        bases.append(numpy.linalg.eigh(wide @ wide.T)[1][:, -R:])
    query, key = (basis @ (basis.T @ own) for basis, own in zip(bases, (Q64, K64)))
    left = sum(numpy.linalg.norm(q @ k.T - x @ y.T)**2 for q, k, x, y in zip(Q64, K64, query, key))
    return numpy.sqrt(left)


Q_wide, K_wide = (x.transpose(1, 0, 2).reshape(D, -1).copy() for x in (Q, K))
Q_t, K_t = Q_wide.T.copy(), K_wide.T.copy()
Q64, K64 = Q.astype(float), K.astype(float)
print(median_time(sweep, SWEEPS), median_time(hosvd, 3))
