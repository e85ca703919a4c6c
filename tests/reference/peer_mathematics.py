#!/usr/bin/env python3
"""Writes peer_mathematics.json: what other libraries compute from the heads of heads.py and tests/data/heads.npy.

    peer_mathematics.py OUT.json
"""
import importlib.metadata
import json
import sys
import warnings

import numpy
import torch
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler
from tensorly.decomposition import parafac, partial_tucker
from tensorly.tenalg import multi_mode_dot
from transformer_lens.FactoredMatrix import FactoredMatrix
from transformer_lens.utilities.matrix import composition_scores
from weightwatcher.RMT_Util import stable_rank

from heads import D_HEAD, N_HEADS, N_LAYERS, tensors

RANKS = 8, 16, 24
LIBRARIES = 'tensorly', 'scikit-learn', 'transformer-lens', 'weightwatcher'


def by_head(found, part):
    """[layer][head][D_HEAD][WIDTH]; of outputs, transposed"""
    layers = [numpy.array(found['encoder.layer.%d.attention.%s.weight' % (i, part)], numpy.float32).astype(float)
              for i in range(N_LAYERS)]
    return numpy.stack([(w.T if part == 'output.dense' else w).reshape(N_HEADS, D_HEAD, -1) for w in layers])


def cp_error(tensor, rank):
    """The least of five starts from random factors and one from singular vectors"""
    starts = [('svd', 0)] + [('random', seed) for seed in range(5)]
    return min(float(parafac(tensor, rank, n_iter_max=2000, init=init, random_state=seed, tol=1e-9, return_errors=True)[1][-1])
               for init, seed in starts)


def tucker_error(tensor, rank):
    (core, factors), _ = partial_tucker(tensor, rank=[rank, rank], modes=[1, 2], n_iter_max=1000, tol=1e-12)
    return float(numpy.linalg.norm(multi_mode_dot(core, factors, modes=[1, 2]) - tensor) / numpy.linalg.norm(tensor))


def decompositions(queries, keys):
    for layer in range(N_LAYERS):
        tensor = numpy.einsum('hda,hdb->hab', queries[layer], keys[layer])
        for rank in RANKS:
            yield {'layer': layer, 'rank': rank, 'cp': cp_error(tensor, rank), 'tucker': tucker_error(tensor, rank)}


def compositions(queries, keys, values, outputs):
    """Of heads of layer 0, the first index, with those of layer 1, as TransformerLens's all_composition_scores has them"""
    def matrix(left, right):
        return FactoredMatrix(torch.tensor(left).transpose(-2, -1), torch.tensor(right))

    writes, scores = matrix(values[0], outputs[0]), matrix(queries[1], keys[1])
    reads = {'query': scores, 'key': scores.T, 'value': matrix(values[1], outputs[1])}
    return {name: composition_scores(writes, right).tolist() for name, right in reads.items()}


def stable_ranks(**parts):
    return {name: [[float(stable_rank(numpy.linalg.svd(w, compute_uv=False) ** 2)) for w in layer] for layer in of]
            for name, of in parts.items()}


def components(path, n_heads):
    """Shares of variance across heads: of each token and dimension a sample, normalized by dimension and head"""
    outputs = StandardScaler().fit_transform(numpy.load(path))
    samples = outputs.reshape(len(outputs), n_heads, -1).transpose(0, 2, 1).reshape(-1, n_heads)
    return PCA().fit(samples).explained_variance_ratio_.tolist()


def main():
    warnings.filterwarnings('ignore')
    found = tensors()
    queries, keys, values, outputs = (by_head(found, part) for part in ('self.query', 'self.key', 'self.value', 'output.dense'))
    vector = {'made_by': {name: importlib.metadata.version(name) for name in LIBRARIES},
              'decompositions': list(decompositions(queries, keys)),
              'compositions': compositions(queries, keys, values, outputs),
              'stable_ranks': stable_ranks(q=queries, k=keys),
              'components': components('tests/data/heads.npy', 4)}
    with open(sys.argv[1], 'w') as file:
        file.write(json.dumps(vector, indent=1) + '\n')


if __name__ == '__main__':
    main()
