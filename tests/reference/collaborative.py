#!/usr/bin/env python3
"""What epfml's collaborative layer gives with the file of `compress --for epfml`, beside the plain copy of the same rank: epfml_layer.json.

    collaborative.py ATTNLEDGER
"""
import array
import json
import math
import struct
import subprocess
import sys
import tempfile

import agreement
import heads
from made_up import numbers
from tensors import HERE

RANKS = heads.WIDTH, heads.WIDTH // 2  # the first is exact
TOKENS, NEAR = 9, 1e-5
LAYER = 'encoder.layer.0.attention.'


def read(path):
    """{name: rows} of the first layer"""
    with open(path, 'rb') as file:
        data = file.read()
    n, = struct.unpack_from('<Q', data)
    found = {}
    for name, tensor in json.loads(data[8:8 + n]).items():
        if name.startswith(LAYER):
            begin, end = (8 + n + at for at in tensor['data_offsets'])
            values, width = array.array('f', data[begin:end]), tensor['shape'][-1]
            found[name[len(LAYER):]] = [list(values[i:i + width]) for i in range(0, len(values), width)]
    return found


def compress(program, folder, rank, *more):
    """Of the heads of heads.py; few sweeps, so that rounding doesn't lead elsewhere"""
    heads.write(folder + '/heads.safetensors')
    subprocess.run([program, 'compress', folder + '/heads.safetensors', '--heads', str(heads.N_HEADS), '--method', 'collab', '--rank',
                    str(rank), '--sweeps', '1', *more, '--force', '-q', '-o', folder + '/out.safetensors'], check=True,
                   stdout=subprocess.DEVNULL)
    return read(folder + '/out.safetensors')


def hidden():
    values = numbers('hidden', [TOKENS, heads.WIDTH])
    return [list(values[i * heads.WIDTH:(i + 1) * heads.WIDTH]) for i in range(TOKENS)]


def times(x, weight):
    return [[math.fsum(a * b for a, b in zip(row, column)) for column in weight] for row in x]


def softmax(scores):
    powers = [math.exp(score - max(scores)) for score in scores]
    return [power / math.fsum(powers) for power in powers]


def run(t, x):
    """The layer's output; scores have the scale of the original"""
    query, key, value = (times(x, t['self.%s.weight' % part]) for part in ('query', 'key', 'value'))
    content, mixed = times(x, t['self.content_bias.weight']), [[] for _ in x]
    for head, mixing in enumerate(t['self.mixing']):
        scores = times([[q * m for q, m in zip(row, mixing)] for row in query], key)
        values = list(zip(*value))[head * heads.D_HEAD:(head + 1) * heads.D_HEAD]
        for out, row in zip(mixed, scores):
            weights = softmax([(score + c[head]) / math.sqrt(heads.D_HEAD) for score, c in zip(row, content)])
            out += times([weights], values)[0]
    return times(mixed, t['output.dense.weight'])


def main():
    with open(HERE + '/epfml_layer.json') as file:
        vector = json.load(file)
    off = []
    for rank in RANKS:
        with tempfile.TemporaryDirectory() as folder:
            ours = run(compress(sys.argv[1], folder, rank), hidden())
        theirs = vector['outputs'][str(rank)]
        off.append(max(abs(a - b) for x, y in zip(ours, theirs) for a, b in zip(x, y)) / max(abs(b) for y in theirs for b in y))
    print('off by', off)
    is_said = agreement.holds('output of the collaborative layer that compress --for epfml writes, against the plain copy',
                              agreement.versions(vector['made_by'], 'epfml/collaborative-attention'), len(off),
                              sum(one <= NEAR for one in off), 'within 1e-5 of the largest number; the full rank and half of it')
    return 0 if max(off) <= NEAR and is_said else 1


if __name__ == '__main__':
    sys.exit(main())
