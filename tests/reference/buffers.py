#!/usr/bin/env python3
"""What llama.cpp allocates beside what is derived of the same GGUF files: llama_cpp_buffers.json.

    buffers.py ATTNLEDGER

The library reserves logits of all tokens of a step. So did llama-server until b9459, whose rules judge the compute buffer; later
ones reserve logits of the tokens that are sampled.
"""
import json
import os
import subprocess
import sys
import tempfile

import agreement
import gguf_shapes

HERE = os.path.dirname(os.path.abspath(__file__))
NEAR = .1  # of compute buffers


def derived(program, path, row, engine):
    """MiB of each state"""
    words = ['--engine', engine, '--seq', str(row['tokens']), '--cache-dtype', row['dtype'], '--max-num-seqs', '1',
             '--max-num-batched-tokens', str(row['step']), '--attention', 'flash' if row['flash'] else 'eager']
    out = subprocess.run([program, 'memory', path, *words, '-f', 'json'], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {one['state']: one['bytes'] / 2 ** 20 for one in json.loads(out)['tables'][0]['rows']}


def compare(program, folder, row):
    """Are weights and cache those of the log, and how far is the compute buffer off?"""
    path = '%s/%s.gguf' % (folder, row['model'])
    if not os.path.exists(path):
        gguf_shapes.write(path, gguf_shapes.MODELS[row['model']])
    ours = derived(program, path, row, 'llama.cpp')
    off = derived(program, path, row, 'llama.cpp@b9459')['activations'] / row['compute'] - 1
    equal = [abs(ours[part] - row[part]) < .006 for part in ('weights', 'cache')]
    print('%s %d %s %s: weights %.2f, derived %.2f; cache %.2f, derived %.2f; compute %.2f, %+.1f %%%s' % (
        row['model'], row['tokens'], row['dtype'], 'flash' if row['flash'] else 'eager', row['weights'], ours['weights'], row['cache'], ours['cache'], row['compute'],
        100 * off, '' if all(equal) and abs(off) <= NEAR else ' (differs)'))
    return *equal, off


def main():
    with open(HERE + '/llama_cpp_buffers.json') as file:
        vector = json.load(file)
    with tempfile.TemporaryDirectory() as folder:
        weights, caches, off = zip(*(compare(sys.argv[1], folder, row) for row in vector['rows']))
    judge = agreement.versions(vector['made_by'], 'llama.cpp') + ', on a CPU'
    near = [abs(one) <= NEAR for one in off]
    is_said = [agreement.holds('MiB of weights of a GGUF file', judge, len(weights), sum(weights), 'all printed digits'),
               agreement.holds('MiB of the KV cache of a GGUF file', judge, len(caches), sum(caches), 'all printed digits'),
               agreement.holds('compute buffer of a GGUF file', judge, len(near), sum(near),
                               'within 10 %%, at the worst %.1f %%; with logits of all tokens of a step, as the library and llama-server '
                               'until b9459 reserve them, with flash attention and without' % (100 * max(map(abs, off))))]
    return 0 if all((*weights, *caches, *near, *is_said)) else 1


if __name__ == '__main__':
    sys.exit(main())
