#!/usr/bin/env python3
"""What evaluate --arrays writes against an independent forward pass: attention weights, outputs of heads, logits and
losses of sequences of different lengths. Exit status 77, skipped, without numpy.

    arrays.py ATTNLEDGER
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import needs_numpy  # noqa: F401
import numpy as np
import reference

MODEL = 'tests/data/tiny-llama'
SEQUENCES = [[1, 5, 3, 7, 2, 9, 4, 6], [1, 4, 4, 2, 8], [3]]
TOLERANCE = 1e-5  # float32


def run(program, folder):
    tokens = folder / 'tokens'
    tokens.write_text(''.join(' '.join(map(str, ids)) + '\n' for ids in SEQUENCES))
    subprocess.run([program, 'evaluate', MODEL, '--tokens', tokens, '--arrays', folder / 'out', '--array-heads', '*:*',
                    '--array-logits', '-q'], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([program, 'evaluate', MODEL, '--tokens', tokens, '--arrays', folder / 'few', '-q'], check=True,
                   stdout=subprocess.DEVNULL)
    assert sorted(path.name for path in (folder / 'few').iterdir()) == ['index.json', 'losses.npy', 'tokens.npy']
    index = json.loads((folder / 'out/index.json').read_text())
    arrays = {a['file']: np.load(folder / 'out' / a['file']) for a in index['arrays']}
    for a in index['arrays']:
        assert list(arrays[a['file']].shape) == a['shape'] and arrays[a['file']].dtype == a['dtype'], a
    assert index['command'].startswith('attnledger evaluate ') and len(index['fingerprint']) == 16, index
    return arrays


def expected(weights, config, ids):
    """Logits, and of each layer the heads' attention weights and outputs."""
    layers = []
    attend = reference.attend

    def watched(q, k, v, mask, *rest):
        wide = np.repeat(np.eye(v.shape[1])[None], len(v), 0)  # outputs of unit values are weights
        layers.append((attend(q, k, wide, mask, *rest), attend(q, k, v, mask, *rest)))
        return layers[-1][1]
    reference.attend = watched
    logits = reference.llama(dict(weights), config, ids)
    reference.attend = attend
    return logits, layers


def check(name, found, wanted):
    n = tuple(slice(0, size) for size in wanted.shape)
    assert np.allclose(found[n], wanted, atol=TOLERANCE, equal_nan=True), (name, np.abs(found[n] - wanted).max())
    rest = found.copy()
    rest[n] = np.nan
    assert np.isnan(rest).all(), name


def main():
    config = json.loads(pathlib.Path(MODEL, 'config.json').read_text())
    weights = reference.load(MODEL)
    with tempfile.TemporaryDirectory() as folder:
        arrays = run(sys.argv[1], pathlib.Path(folder))
    n_heads, n = config['num_attention_heads'], 0
    for i, ids in enumerate(SEQUENCES):
        logits, layers = expected(weights, config, np.array(ids))
        assert list(arrays['tokens.npy'][i]) == ids + [-1] * (8 - len(ids))
        check('logits', arrays['logits.npy'][i], logits)
        losses = np.log(np.exp(logits).sum(-1))[:-1] - logits[np.arange(len(ids) - 1), ids[1:]]
        check('losses', arrays['losses.npy'][i], np.concatenate([[np.nan], losses])) if len(ids) > 1 else None
        for layer, (attention, output) in enumerate(layers):
            for head in range(n_heads):
                name = f'layers.{layer}.{head}'
                check(name, arrays[name + '.attention.npy'][i], attention.reshape(len(ids), n_heads, -1)[:, head])
                check(name, arrays[name + '.output.npy'][i], output.reshape(len(ids), n_heads, -1)[:, head])
                n += 1
    print(f'{n} heads of {len(SEQUENCES)} sequences agree')


main()
