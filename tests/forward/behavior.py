#!/usr/bin/env python3
"""What calibrate records of heads' attention against an independent forward pass, on sequences of different lengths: a
plain decoder, and models with windows, caps, sinks, biases of positions, and encoders. Exit status 77, skipped, without
numpy.

    behavior.py ATTNLEDGER WRITE_TINY
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import needs_numpy  # noqa: F401
import numpy as np
program, write_tiny = sys.argv[1:]
del sys.argv[2:]  # of reference.py they are cases
import reference

PLAIN = 'tests/data/tiny-llama'
CASES = ['mistral', 'gemma2', 'granite', 'gpt_oss', 'bloom', 'bert', 't5']
SHORT = 7  # tokens of a case's sequence, at most
SEQUENCES = [[1, 5, 3, 7, 5, 9, 4, 6, 5, 3, 3, 8, 2, 9, 1, 4, 6, 7, 7, 2], [1, 4, 4, 2, 8], [3], [2, 2, 2], [6, 1, 6]]
FOLDS = 2
RANDOM = 32
TOLERANCE = 1e-6  # float32


def read(path):
    data = pathlib.Path(path).read_bytes()
    n = struct.unpack('<Q', data[:8])[0]
    header = json.loads(data[8:8 + n])
    header.pop('__metadata__')
    types = {'F32': '<f4', 'F64': '<f8', 'U64': '<u8'}
    return {name: np.frombuffer(data[8 + n:][slice(*t['data_offsets'])], types[t['dtype']]).reshape(t['shape'])
            for name, t in header.items()}


def record(model, sequences, folder):
    tokens = folder / 'tokens'
    tokens.write_text(''.join(' '.join(map(str, ids)) + '\n' for ids in sequences))
    subprocess.run([program, 'calibrate', model, '--tokens', tokens, '--folds', str(FOLDS), '--behavior', '-o',
                    folder / 'out', '-q'], check=True, stdout=subprocess.DEVNULL)
    return read(folder / 'out/calibration.safetensors')


def attention(weights, config, ids):
    """Of each layer the attention weights [head][query][key], and which keys a query sees."""
    layers = []
    attend = reference.attend

    def watched(q, k, v, mask, *rest):
        wide = np.repeat(np.eye(v.shape[1])[None], len(v), 0)  # outputs of unit values are weights
        layers.append((attend(q, k, wide, mask, *rest).reshape(len(ids), len(q), -1).transpose(1, 0, 2), mask))
        return attend(q, k, v, mask, *rest)
    reference.attend = watched
    reference.FAMILIES[config['model_type']](dict(weights), config, ids)
    reference.attend = attend
    return layers


def streams(weights, config, ids, gone=None):
    """Of each layer the residual stream behind attention, [token][width], which the first norm behind attention reads, or
    the second where the first is of what attention adds; without head gone[1] of layer gone[0]."""
    later = 1 if config['model_type'] == 'gemma2' else 0
    inputs = []
    originals = {name: getattr(reference, name) for name in ('attend', 'rms_norm', 'layer_norm')}

    def attend(q, *rest):
        out = originals['attend'](q, *rest).reshape(len(ids), len(q), -1)
        if gone and gone[0] == len(inputs):
            out[:, gone[1]] = 0
        inputs.append([])
        return out.reshape(len(ids), -1)

    def watched(name):
        def norm(x, *rest):
            if inputs:
                inputs[-1].append(x)
            return originals[name](x, *rest)
        return norm
    reference.attend = attend
    reference.rms_norm, reference.layer_norm = watched('rms_norm'), watched('layer_norm')
    reference.FAMILIES[config['model_type']](dict(weights), config, ids)
    for name, function in originals.items():
        setattr(reference, name, function)
    return [of[later] for of in inputs]


def turns(weights, config, ids, n_heads):
    """The sums over tokens of the angle in degrees that each head turns the stream by, [layer][head]."""
    whole = streams(weights, config, ids)
    out = np.zeros((len(whole), n_heads))
    for layer, head in np.ndindex(out.shape):
        less = streams(weights, config, ids, (layer, head))[layer]
        a, b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (whole[layer], less))
        out[layer, head] = np.degrees(2 * np.arcsin(np.linalg.norm(a - b, axis=1) / 2)).sum()
    return out


def uniform(number):
    """Numbers of a stream, as src/base/random.c draws them: xoshiro256++ from SplitMix64."""
    most = 2**64 - 1

    def mix(z):
        z = z + 0x9e3779b97f4a7c15 & most
        out = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & most
        out = (out ^ out >> 27) * 0x94d049bb133111eb & most
        return z, out ^ out >> 31

    chain, state = 0, []
    for name in (0, number, 0, 0):
        chain = mix(chain ^ name)[1]
    for _ in range(4):
        chain, drawn = mix(chain)
        state.append(drawn)
    while True:
        a, b, c, d = state
        x = a + d & most
        yield ((((x << 23 | x >> 41) & most) + a & most) >> 11) * 2**-53
        c, d = c ^ a, d ^ b
        b, a = b ^ c, a ^ d
        state = [a, b, c ^ (state[1] << 17 & most), (d << 45 | d >> 19) & most]


def repeated(config, number, n, has_first):
    """Random tokens twice, behind the token that begins a text."""
    kinds = ['bos', 'eos', 'pad', 'cls', 'sep', 'unk', 'mask', 'decoder_start']
    named = [config.get(kind + '_token_id') for kind in kinds]
    drawn = []
    for u in uniform(number):
        token = int(u * config['vocab_size'])
        if token not in named + drawn:
            drawn.append(token)
        if len(drawn) == n:
            return named[:1] * has_first + drawn + drawn


def behavior(a, seen, ids):
    """Sums over the queries of one sequence, and how many there are of each kind."""
    n = len(ids)
    q, k = np.arange(n)[:, None], np.arange(n)[None, :]
    equal = (ids[:, None] == ids[None, :]) & (k < q)
    after = np.roll(equal, 1, 1) & (k > 0) & (k < q)
    keys = {'self': k == q, 'previous': k == q - 1, 'first': (k == 0) & (q > 0), 'duplicates': equal,
            'successors': after, 'spans': abs(q - k)}
    out = {name: (a * mask).sum((1, 2)) for name, mask in keys.items()}
    sampled = [(s + 1) * n // min(n, 16) - 1 for s in range(min(n, 16))]
    gram = np.zeros((len(a), len(a)))
    for i in sampled:
        gram += np.cov(np.log(a[:, i, seen[i]]), bias=True)
    out['logits'] = gram[np.tril_indices(len(a))]
    return out, {'queries': len(sampled), 'queries.later': n - 1, 'queries.repeated': equal.any(1).sum(),
                 'queries.turned': min(n, 64)}


def check(title, model, sequences):
    config = json.loads(pathlib.Path(model, 'config.json').read_text())
    weights = reference.load(str(model))
    with tempfile.TemporaryDirectory() as folder:
        stored = record(model, sequences, pathlib.Path(folder))
    modules = [name.removesuffix('.self') for name in stored if name.endswith('.self')]
    wanted = {}
    for i, ids in enumerate(np.array(ids) for ids in sequences):
        angles = turns(weights, config, ids, stored[modules[0] + '.turns'].shape[1])
        for layer, (a, seen) in enumerate(attention(weights, config, ids)):
            sums, counts = behavior(a, seen, ids)
            sums['turns'] = angles[layer]
            sums = {f'{modules[layer]}.{name}': numbers for name, numbers in sums.items()}
            for name, numbers in (sums | (counts if layer == 0 else {})).items():
                wanted.setdefault(name, np.zeros((FOLDS, np.size(numbers))))[i % FOLDS] += numbers
    n = int(stored['queries.random_repeated'].sum()) // RANDOM
    length = int(stored['queries.random_later'].sum()) // RANDOM + 1
    assert 2 <= n <= 50 and length - 2 * n == (config.get('bos_token_id') is not None), (title, n, length)
    for i in range(RANDOM):
        ids = np.array(repeated(config, i, n, length - 2 * n))
        for layer, (a, seen) in enumerate(attention(weights, config, ids)):
            sums, _ = behavior(a, seen, ids)
            for kind in ['previous', 'duplicates', 'successors']:
                to = wanted.setdefault(f'{modules[layer]}.random_{kind}', np.zeros((FOLDS, len(a))))
                to[i % FOLDS] += sums[kind]
    for kind, numbers in wanted.items():
        difference = np.abs(stored[kind].reshape(FOLDS, -1) - numbers).max() / max(np.abs(numbers).max(), 1)
        assert difference <= TOLERANCE, (title, kind, difference, stored[kind], numbers)
    print(f'{title}: {len(wanted)} sums agree')


check(PLAIN, PLAIN, SEQUENCES)
for case in CASES:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([write_tiny, f'tests/data/forward/{case}.json', folder], check=True)
        check(case, folder, [ids[:SHORT] for ids in SEQUENCES])
