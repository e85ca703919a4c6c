#!/usr/bin/env python3
"""Our token ids against those of `tokenizers` and SentencePiece, for 10,000 lines of text: token_ids.json.

    ids.py IDS [LINES]      IDS: the program of ids.c; LINES: the first ones alone, in hundreds
"""
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

import agreement
import pieces
from lines import digests, judged_lines, write_lines

HERE = os.path.dirname(os.path.abspath(__file__))


def ours(program, tokenizer, text):
    result = subprocess.run([program, tokenizer, text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return digests(line.split() for line in result.stdout.splitlines()), result.stderr


def cases(vector, folder, limit):
    """Each title, tokenizer, text and what it should give"""
    lines = list(judged_lines())
    write_lines(folder + '/lines', lines[:limit])
    write_lines(folder + '/ordinary', [line for line in lines if not pieces.holds_special(line)][:limit])
    for path, expected in vector['tokenizers'].items():
        yield path, path, folder + '/lines', expected
    for path, expected in vector['sentencepiece'].items():
        for end, write in (('.bin', pieces.write_llama2c), ('.gguf', pieces.write_gguf)):
            write(folder + '/tokenizer' + end, pieces.read(path))
            yield path + ' as ' + end, folder + '/tokenizer' + end, folder + '/ordinary', expected


def judge(title, expected, found, said, limit):
    hundreds = expected.split()[:limit and limit // 100]
    wrong = [100 * i for i, (a, b) in enumerate(zip(hundreds, found.split())) if a != b]
    if hundreds == found.split():
        return True
    print('%s: %s' % (title, said.strip() or 'other ids among the hundred lines from %s' % ', '.join(map(str, wrong[:8]))))
    return False


def main():
    program = sys.argv[1]
    limit = int(sys.argv[2]) if len(sys.argv) > 2 else None
    with open(HERE + '/token_ids.json') as file:
        vector = json.load(file)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = list(cases(vector, folder, limit))
        found = list(pool.map(lambda row: ours(program, row[1], row[2]), rows))
    equal = [judge(title, expected, *one, limit) for (title, _, _, expected), one in zip(rows, found)]
    if limit:
        return 0 if all(equal) else 1
    n = len(vector['tokenizers'])
    is_said = [
        agreement.holds('token ids of 10,000 lines of text, for a tokenizer.json',
                        agreement.versions(vector['made_by'], 'tokenizers'), n, sum(equal[:n]), ''),
        agreement.holds('token ids of 10,000 lines of text, for GGUF and llama2.c',
                        agreement.versions(vector['made_by'], 'sentencepiece'), len(rows) - n, sum(equal[n:]),
                        'lines that hold special tokens are left out')]
    return 0 if all(equal) and all(is_said) else 1


if __name__ == '__main__':
    sys.exit(main())
