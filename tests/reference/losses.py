#!/usr/bin/env python3
"""The loss that attnledger computes of GGUF files that it compressed, against llama.cpp's: llama_cpp_losses.json.

    losses.py ATTNLEDGER                          the made-up models
    losses.py ATTNLEDGER STORIES15M.BIN TOKENS    stories15M, a file of llama2.c, on the first sequences of an .npy of 200 int32 each
"""
import array
import concurrent.futures
import json
import math
import os
import subprocess
import sys
import tempfile

import agreement
import gguf_shapes
import made_up
from gguf_shapes import decoder

HERE = os.path.dirname(os.path.abspath(__file__))
TOLERANCE = 2e-4  # llama.cpp caches keys and values in float16
OF_BLOCKS = 1e-3  # and rounds what it multiplies by blocks to eight bits
VOCAB = 320
TOKENS = made_up.tokens(200, VOCAB)
EACH = ','.join('%d:%d' % (layer, head) for layer, head in enumerate((1, 5, 3)))
PAIRS = '0:2,0:3,1:0,1:1,2:4,2:5'  # of heads that share keys and values
NORMS = {'attn_q_norm': [16], 'attn_k_norm': [16]}
MODELS = {
    'llama': decoder('llama', 3, 96, 6, 6, 16, 160, VOCAB, dtype='F32'),
    'llama in f16': decoder('llama', 3, 96, 6, 6, 16, 160, VOCAB),
    'llama in q8_0': decoder('llama', 3, 96, 6, 6, 16, 160, VOCAB, dtype='Q8_0'),
    'llama with groups, of another width': decoder('llama', 3, 64, 6, 3, 16, 160, VOCAB, dtype='F32', tied=True),
    'qwen2': decoder('qwen2', 3, 96, 6, 3, 16, 160, VOCAB, dtype='F32', biases=('attn_q', 'attn_k', 'attn_v')),
    'qwen3': decoder('qwen3', 3, 96, 6, 3, 16, 160, VOCAB, dtype='F32', **NORMS),
    'granite': decoder('granite', 3, 96, 6, 3, 16, 160, VOCAB, dtype='F32', keys={
        'logit_scale': 2.0, 'residual_scale': .5, 'embedding_scale': 3.0, 'attention.scale': .125}),
    'gemma2': decoder('gemma2', 3, 96, 6, 3, 16, 160, VOCAB, dtype='F32', tied=True, keys={
        'attention.sliding_window': 64, 'attn_logit_softcapping': 5.0, 'final_logit_softcapping': 3.0},
        post_attention_norm=[96], post_ffw_norm=[96]),
}
STORIES = 'stories15M'
MODELS[STORIES] = decoder('llama', 6, 288, 6, 6, 48, 768, 32000, dtype='F32', tied=True)
METHODS = {
    'identity': '--method identity', 'gqa, 3 groups': '--method gqa --rank 3', 'gqa, 1 group': '--method gqa --rank 1',
    'drop, a head a layer': '--method drop --drop ' + EACH, 'drop, two heads a layer': '--method drop --drop ' + PAIRS,
    'drop, two heads a layer, within blocks': '--method drop --drop 0:1,0:4,1:0,1:5,2:2,2:3',
    'drop, a head of six layers': '--method drop --drop 0:0,1:1,2:2,3:3,4:4,5:5',
    'ov, rank 10, padded': '--method ov --rank 10', 'merge, a head a layer': '--method merge --drop 1 --calibration calibration'}
ALONE = ('identity', 'gqa, 3 groups', 'drop, a head a layer', 'merge, a head a layer', 'ov, rank 10, padded')
SHARED = ('identity', 'gqa, 1 group', 'drop, two heads a layer', 'ov, rank 10, padded')
BLOCKS = ('identity', 'gqa, 3 groups', 'drop, two heads a layer', 'drop, two heads a layer, within blocks')
CASES = {'llama': ALONE, 'llama in f16': ALONE, 'llama in q8_0': BLOCKS, 'llama with groups, of another width': SHARED, 'qwen2': SHARED[:2],
         'qwen3': SHARED[::2], 'granite': SHARED, 'gemma2': SHARED}
OF_STORIES = ('identity', 'gqa, 3 groups', 'drop, a head of six layers', 'merge, a head a layer')
PARTS = 'attn_norm', 'attn_q', 'attn_k', 'attn_v', 'attn_output', 'ffn_norm', 'ffn_gate', 'ffn_down', 'ffn_up'  # of llama2.c


def ask(program, *words, folder):
    return subprocess.run([os.path.abspath(program), *words], cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


def stories(path):
    """What reads a tensor's numbers"""
    names = ['token_embd.weight', *('blk.%d.%s.weight' % (layer, part) for part in PARTS for layer in range(6)), 'output_norm.weight']
    places, at = {}, 28
    for name in names:
        places[name] = at
        at += 4 * math.prod(MODELS[STORIES]['tensors'][name])

    def numbers(name, shape):
        values = array.array('f')
        with open(path, 'rb') as file:
            file.seek(places[name])
            values.fromfile(file, math.prod(shape))
        return values
    return numbers


def first_sequences(path):
    with open(path, 'rb') as file:
        file.seek(128)
        values = array.array('i', file.read(2 * 800))
    return [values[:200].tolist(), values[200:].tolist()]


def prepare(program, model, method, folder, numbers=made_up.numbers, sequences=(TOKENS,)):
    """The copy of the model, in the folder"""
    gguf_shapes.write(folder + '/source.gguf', MODELS[model], numbers)
    with open(folder + '/tokens', 'w') as file:
        file.writelines(' '.join(map(str, sequence)) + '\n' for sequence in sequences)
    if 'calibration' in METHODS[method]:
        ask(program, 'calibrate', 'source.gguf', '-q', '--tokens', 'tokens', '-o', 'calibration', folder=folder)
    ask(program, 'compress', 'source.gguf', *METHODS[method].split(), '-q', '-o', 'copy.gguf', folder=folder)
    return folder + '/copy.gguf'


def compare(program, row, *of):
    """How far the losses are apart, of what they may be"""
    with tempfile.TemporaryDirectory() as folder:
        prepare(program, row['model'], row['method'], folder, *of)
        out = ask(program, 'evaluate', 'copy.gguf', '--tokens', 'tokens', '--only', 'loss', '-f', 'json', folder=folder)
    allowed = OF_BLOCKS if MODELS[row['model']]['dtype'] == 'Q8_0' else TOLERANCE
    return abs(json.loads(out)['tables'][0]['rows'][0]['loss'] - row['loss']) / allowed


def are_near(program, rows, *of):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        apart = list(pool.map(lambda row: compare(program, row, *of), rows))
    for row, far in zip(rows, apart):
        if not far <= 1:
            print('%s, %s: the losses are %.2g times as far apart as they may be' % (row['model'], row['method'], far))
    return [far <= 1 for far in apart]


def main():
    program, *of = sys.argv[1:]
    with open(HERE + '/llama_cpp_losses.json') as file:
        vector = json.load(file)
    rows = [row for row in vector['rows'] if (row['model'] == STORIES) == bool(of)]
    near = are_near(program, rows, *(read(path) for read, path in zip((stories, first_sequences), of)))
    is_said = of or agreement.holds(
        'loss of a compressed GGUF file', agreement.versions(vector['made_by'], 'llama.cpp') + ', on a CPU', len(near), sum(near),
        'within 0.0002 nats per token; of q8_0 within 0.001: llama.cpp rounds what it multiplies by blocks to eight bits')
    return 0 if near and all(near) and is_said else 1


if __name__ == '__main__':
    sys.exit(main())
