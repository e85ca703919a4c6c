#!/usr/bin/env python3
"""What attnledger computes of checkpoints that it compressed, against transformers: transformers_copies.json.

    copies.py COMMANDS
"""
import concurrent.futures
import json
import os
import struct
import sys
import tempfile

import agreement
import commands
from logits import ask, farthest, listed
from made_up import write_model
from tensors import HERE

TOLERANCE = 1e-5  # transformers computes in float32
METHODS = {
    'identity': '--method identity', 'half of the heads': '--method drop --drop *', 'one head': '--method drop --drop 1:0',
    'one group': '--method drop --drop 1:0,1:1', 'gqa': '--method gqa --rank 1', 'ov': '--method ov --rank 4',
    'qk': '--method qk --rank 4', 'collab': '--method collab --rank 12', 'tucker': '--method tucker --rank 16',
    'values': '--method kv-latent --rank 12', 'keys': '--method kv-latent --of keys --rank 12', 'mhe-mul': '--method mhe-mul'}


def cached(folder):
    """Numbers that a token needs in the caches of a copy's modules, as the copy's record has their shapes; None without one"""
    with open(folder + '/model.safetensors', 'rb') as file:
        size, = struct.unpack('<Q', file.read(8))
        header = json.loads(file.read(size))
    total = 0
    for shape in json.loads(header['__metadata__'].get('attnledger.shapes', '[]')):
        stored = {one['is']: one for one in shape.get('stored', ())}
        for part, width in (('key', shape.get('d_head', 0)), ('value', shape['d_value'])):
            one = stored.get(part, {})
            if 'down' in one:
                total += min(header[one['down']]['shape'])
            elif 'content' in one:
                total += min(header[one['weight']]['shape']) + shape['n_heads']
            else:
                total += width * one.get('heads', shape.get('n_kv_heads', shape['n_heads']))
    return total


def words_of(method, n_layers):
    """'*': heads 0 and 1 of each layer"""
    return METHODS[method].replace('*', ','.join('%d:%d' % (layer, head) for layer in range(n_layers) for head in (0, 1))).split()


def compress(program, case, method, folder):
    """The folder of the copy, and why there is none"""
    source, out = folder + '/source', folder + '/out'
    os.mkdir(source)
    write_model(source, case['config'], listed(case['tensors']))
    words = words_of(method, case['config'].get('num_hidden_layers', case['config'].get('n_layer')))
    return out, commands.run(program, 'compress', source, *words, '--force', '-q', '-o', out)


def compare(program, vector, logits, copy):
    """None where the copy computes the same; else what is wrong"""
    case = next(one for one in logits['cases'] if one['name'] == copy['model'])
    with tempfile.TemporaryDirectory() as folder:
        out, wrong = compress(program, case, copy['method'], folder)
        rows, wrong = (None, wrong) if wrong else ask(program, logits, case, out)
        if not rows:
            return wrong
        if os.path.exists(out + '/modeling_attnledger.py') != copy['code']:
            return 'the modelling file is%s there' % (' not' if copy['code'] else '')
        if copy['code'] and 'cached' in copy and 'one ' not in copy['method'] and cached(out) != copy['cached']:
            return 'caches %g numbers a token, recorded are %d' % (copy['cached'], cached(out))
        worst = max(farthest(rows[row][::vector['every']], expected, copy['largest'])
                    for row, expected in zip(vector['rows'], copy['numbers']))
        return None if worst <= TOLERANCE else 'differs by %.2g of the largest number' % worst


def counted(copies, brings_code):
    return [copy for copy in copies if copy.get('code') is brings_code]


def main():
    with open(HERE + '/transformers_copies.json') as file:
        vector = json.load(file)
    with open(HERE + '/transformers_logits.json') as file:
        logits = json.load(file)
    ran = [copy for copy in vector['copies'] if 'not_run' not in copy]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = list(pool.map(lambda copy: compare(sys.argv[1], vector, logits, copy), ran))
    for copy, why in zip(ran, wrong):
        if why:
            print('%s, %s: %s' % (copy['model'], copy['method'], why))
    equal = [copy for copy, why in zip(ran, wrong) if not why]
    judge = agreement.versions(vector['made_by'], 'transformers', 'torch')
    is_said = [agreement.holds('logits or hidden states of a compressed copy, ' + how, judge, len(counted(ran, code)),
                               len(counted(equal, code)), 'within 1e-5 of the largest number, with a cache as well')
               for how, code in (('loaded as it is', False), ('run by modeling_attnledger.py', True))]
    return 0 if len(equal) == len(ran) and all(is_said) and commands.end() else 1


if __name__ == '__main__':
    sys.exit(main())
