#!/usr/bin/env python3
"""Our decompositions, composition scores, ranks and components against those of other libraries: peer_mathematics.json.

    mathematics.py ATTNLEDGER
"""
import json
import os
import subprocess
import sys
import tempfile

import agreement
import heads

HERE = os.path.dirname(os.path.abspath(__file__))
NEAR = 1e-5  # relative; our forms come from single precision
BEST = 1.001  # an error may be so many times another one's


def tables(program, *words):
    out = subprocess.run([program, *words, '-f', 'json'], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {table['id']: table['rows'] for table in json.loads(out)['tables']}


def errors(program, path, folder, method, rank):
    rows = tables(program, 'compress', path, '--heads', str(heads.N_HEADS), '--method', method, '--rank', str(rank),
                  '--quality', 'best', '--force', '-o', folder + '/out.safetensors')['compress']
    os.remove(folder + '/out.safetensors')
    return [row['relative_error'] for row in rows]


def decomposition_ratios(program, path, folder, cases):
    """{'cp': ratios of our errors to TensorLy's, 'tucker': ...}"""
    ratios = {'cp': [], 'tucker': []}
    for kind, method in (('cp', 'collab'), ('tucker', 'tucker')):
        ours = {rank: errors(program, path, folder, method, rank) for rank in {case['rank'] for case in cases}}
        ratios[kind] = [ours[case['rank']][case['layer']] / case[kind] for case in cases]
    return ratios


def off(ours, theirs):
    return abs(ours - theirs) / abs(theirs)


def audit_differences(program, path, vector):
    """How far composition scores are off, and stable ranks"""
    found = tables(program, 'audit', path, '--heads', str(heads.N_HEADS), '--across', '--top', '0')
    scores = [off(row[name + '_composition'], of[row['head_a']][row['head_b']])
              for row in found['across'] for name, of in vector['compositions'].items()]
    ranks = [off(row[name + '_stable_rank'], of[row['layer']][row['head']])
             for row in found['heads'] for name, of in vector['stable_ranks'].items()]
    return scores, ranks


def component_differences(program, expected):
    rows = tables(program, 'pca', 'tests/data/heads.npy', '--heads', '4', '--keep', '4')['components']
    return [off(row['share'], share) for row, share in zip(rows, expected)]


def rows_of_agreement(made_by, ratios, scores, ranks, shares):
    def judge(name):
        return agreement.versions(made_by, name)

    yield 'error of CP (collaborative attention) at equal rank', judge('tensorly'), ratios['cp'], BEST, \
        'at most 1.001 times the best of six starts, with --quality best'
    yield 'error of a partial Tucker decomposition at equal rank', judge('tensorly'), ratios['tucker'], BEST, 'at most 1.001 times'
    near = 'within 1e-5'
    yield 'composition scores of heads of two layers', judge('transformer-lens'), scores, NEAR, near
    yield "stable ranks of heads' queries and keys", judge('weightwatcher'), ranks, NEAR, near
    yield "shares of variance of the principal components of heads' outputs", judge('scikit-learn'), shares, NEAR, near


def main():
    with open(HERE + '/peer_mathematics.json') as file:
        vector = json.load(file)
    with tempfile.TemporaryDirectory() as folder:
        path = folder + '/heads.safetensors'
        heads.write(path)
        ratios = decomposition_ratios(sys.argv[1], path, folder, vector['decompositions'])
        scores, ranks = audit_differences(sys.argv[1], path, vector)
    shares = component_differences(sys.argv[1], vector['components'])
    rows = list(rows_of_agreement(vector['made_by'], ratios, scores, ranks, shares))
    for what, _, values, limit, _ in rows:
        print('%s: at the worst %.6g (limit %g)' % (what, max(values), limit))
    said = [agreement.holds(what, judge, len(values), sum(value <= limit for value in values), rest)
            for what, judge, values, limit, rest in rows]
    equal = max(ratios['cp'] + ratios['tucker']) <= BEST and max(scores + ranks + shares) <= NEAR
    return 0 if equal and all(said) and len(scores) == 3 * heads.N_HEADS ** 2 else 1


if __name__ == '__main__':
    sys.exit(main())
