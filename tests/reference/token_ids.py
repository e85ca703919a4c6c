#!/usr/bin/env python3
"""Writes token_ids.json: the ids that the reference implementations give 10,000 lines of text, as digests.

    token_ids.py OUT.json
    token_ids.py --show TOKENIZER.json IDS    prints the first lines for which the program IDS gives other ids

`tokenizers` reads each tokenizer of tests/data; SentencePiece reads a model that is made of llama-2.json's vocabulary.
"""
import glob
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile

import sentencepiece
import tokenizers
from sentencepiece import sentencepiece_model_pb2

import pieces
from lines import digests, judged_lines, write_lines

FOLDER = 'tests/data/tokenizers/'


def ids_of(path, lines):
    tokenizer = tokenizers.Tokenizer.from_file(path)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return [encoding.ids for encoding in tokenizer.encode_batch(lines)]


def sentencepiece_ids(vocabulary, lines):
    model = sentencepiece_model_pb2.ModelProto()
    for text, score, kind in vocabulary:
        model.pieces.add(piece=text, score=score, type=kind)
    model.trainer_spec.model_type = model.trainer_spec.BPE
    model.trainer_spec.byte_fallback = True
    model.normalizer_spec.name = 'identity'
    model.normalizer_spec.remove_extra_whitespaces = False
    return sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString()).encode(lines, add_bos=True)


def show(path, program):
    lines = judged_lines()
    with tempfile.TemporaryDirectory() as folder:
        write_lines(folder + '/lines', lines)
        found = subprocess.run([program, path, folder + '/lines'], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    rows = [(line, ids, ours) for line, ids, ours in zip(lines, ids_of(path, lines), found) if ' '.join(map(str, ids)) != ours]
    print('%d of %d lines differ' % (len(rows), len(lines)))
    for line, ids, ours in rows[:5]:
        print('%s\n  %s\n  %s' % (ascii(line), ' '.join(map(str, ids)), ours))


def main():
    if sys.argv[1] == '--show':
        return show(*sys.argv[2:])
    lines = judged_lines()
    paths = sorted(glob.glob(FOLDER + '*.json')) + ['tests/data/tiny-bert/tokenizer.json']
    ids = {path: digests(ids_of(path, lines)) for path in paths}
    ordinary = [line for line in lines if not pieces.holds_special(line)]
    vector = {'made_by': {name: importlib.metadata.version(name) for name in ('tokenizers', 'sentencepiece')},
              'tokenizers': ids,
              'sentencepiece': {FOLDER + 'llama-2.json': digests(sentencepiece_ids(pieces.read(FOLDER + 'llama-2.json'), ordinary))}}
    with open(sys.argv[1], 'w') as file:
        file.write(json.dumps(vector, indent=1) + '\n')


if __name__ == '__main__':
    main()
