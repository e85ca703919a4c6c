#!/usr/bin/env python3
"""`calibrate` on random tokens that come twice, against TransformerLens's detectors of heads: lens_scores.json.

    lens.py ATTNLEDGER                   small models
    lens.py ATTNLEDGER STORIES15M.BIN    stories15M, a file of llama2.c
"""
import json
import random
import subprocess
import sys
import tempfile

import agreement
from logits import listed
from made_up import write_model
from tensors import HERE

NEAR = 1e-5  # of the largest score; TransformerLens computes in float32
SCORES = {'previous_token_head': 'previous', 'duplicate_token_head': 'duplicates', 'induction_head': 'successors'}


STORIES = 'stories15M'


def twice(n, vocab):
    """Random tokens, none of them twice, and the same again"""
    return 2 * random.Random('twice').sample(range(4, vocab), n)


def ours(program, model, folder, tokens):
    """{name of TransformerLens: shares of all attention, [layer][head]}; what we give are means over the tokens that can have it"""
    with open(folder + '/tokens.txt', 'w') as file:
        print(*tokens, file=file)
    out = subprocess.run([program, 'calibrate', model, '--tokens', folder + '/tokens.txt', '-o', folder + '/calibration', '-f', 'json'],
                         check=True, stdout=subprocess.PIPE, text=True).stdout
    queries = {'previous': len(tokens) - 1, 'duplicates': len(tokens) // 2, 'successors': len(tokens) // 2}
    found = {name: [] for name in SCORES}
    for row in json.loads(out)['tables'][0]['rows']:
        for name, column in SCORES.items():
            found[name].append(row[column] * queries[column] / len(tokens))
    return found


def differences(found, scores):
    for name, of in scores.items():
        expected = [score for layer in of for score in layer]
        assert len(found[name]) == len(expected)
        yield from (abs(a - b) / max(expected) for a, b in zip(found[name], expected))


def of_models(program, vector):
    with open(HERE + '/transformers_logits.json') as file:
        cases = [case for case in json.load(file)['cases'] if case['name'] in vector['scores']]
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            write_model(folder, case['config'], listed(case['tensors']))
            found = ours(program, folder, folder, twice(vector['n'], vector['vocabulary']))
        yield from differences(found, vector['scores'][case['name']])


def of_stories(program, vector, path):
    with tempfile.TemporaryDirectory() as folder:
        found = ours(program, path, folder, twice(vector['n'], vector['vocabulary']))
    return differences(found, vector['scores'])


def main():
    program, *stories = sys.argv[1:]
    with open(HERE + '/lens_scores.json') as file:
        vector = json.load(file)
    off = list(of_stories(program, vector[STORIES], stories[0]) if stories else of_models(program, vector))
    print('at the worst %.3g of the largest score' % max(off))
    is_said = agreement.holds(
        'induction, duplicate-token and previous-token scores of heads, on random tokens twice' + (', of ' + STORIES if stories else ''),
        agreement.versions(vector['made_by'], 'transformer-lens'), len(off), sum(one <= NEAR for one in off),
        'within 1e-5 of the largest; ' + ('real weights' if stories else ', '.join(vector['scores'])))
    return 0 if max(off) <= NEAR and is_said else 1


if __name__ == '__main__':
    sys.exit(main())
