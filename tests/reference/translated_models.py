#!/usr/bin/env python3
"""Writes translated_models.json: llama.cpp's loss of GGUF files that `compress` wrote of folders of the hub, and how far
transformers' logits of what it wrote back are from those of the first folder (translated.py).

    translated_models.py OUT.json

Needs Node and npm, as llama_cpp_buffers.py does, and build/attnledger (or ATTNLEDGER of the environment).
"""
import json
import subprocess
import sys
import tempfile

import tokenizers
import torch
import transformers

import llama_cpp_losses
import pieces
import translated
from lines import judged_lines
from llama_cpp_buffers import PACKAGE, install

LINES = 3000


def logits(path, sequence):
    with torch.no_grad():
        return transformers.AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)(torch.tensor([sequence])).logits


TOKENIZE = r'''
import {getLlama, LlamaLogLevel} from "node-llama-cpp";
import fs from "fs";
const llama = await getLlama({gpu: false, logLevel: LlamaLogLevel.error, build: "never"});
const model = await llama.loadModel({modelPath: process.argv[2], vocabOnly: true});
const lines = JSON.parse(fs.readFileSync(process.argv[3], "utf8"));
fs.writeFileSync("ids.json", JSON.stringify(lines.map((line) => model.tokenize(line, false))));
process.exit(0);
'''


def count_lines(home, path, tokenizer):
    """Lines of text, and those of which llama.cpp makes the tokens that tokenizer.json makes."""
    texts = [line for line in judged_lines()[:LINES] if not pieces.holds_special(line)]
    with open(home + '/lines.json', 'w') as file:
        json.dump(texts, file)
    with open(home + '/tokenize.mjs', 'w') as file:
        file.write(TOKENIZE)
    subprocess.run(['node', 'tokenize.mjs', path, 'lines.json'], cwd=home, check=True)
    expected = tokenizers.Tokenizer.from_file(tokenizer)
    with open(home + '/ids.json') as file:
        equal = sum(ids == expected.encode(text, add_special_tokens=False).ids for text, ids in zip(texts, json.load(file)))
    return [len(texts), equal]


def judge(home, case, vector):
    sequence = translated.tokens(vector['tokens'], vector['vocabulary'])
    with tempfile.TemporaryDirectory() as folder:
        translated.prepare(llama_cpp_losses.PROGRAM, case, vector, folder)
        found = llama_cpp_losses.ask(home, folder + '/model.gguf', [sequence])
        row = {'name': case['name'], 'loss': round(found['loss'], 6)}
        if case['name'] not in translated.ONE_WAY:
            apart = (logits(folder + '/model', sequence) - logits(folder + '/back', sequence)).abs().max().item()
            row['logits'] = float('%.2g' % apart)
        tokenizer = translated.tokenizer_of(case)
        if tokenizer not in judge.tokens:
            judge.tokens[tokenizer] = count_lines(home, folder + '/model.gguf', tokenizer)
    judge.release = found['release']
    return row


judge.tokens = {}


def main():
    with open(translated.HERE + '/transformers_logits.json') as file:
        vector = json.load(file)
    with tempfile.TemporaryDirectory() as home:
        install(home, llama_cpp_losses.ASK)
        rows = [judge(home, case, vector) for case in vector['cases'] if case['name'] in translated.CASES]
    made_by = {'node-llama-cpp': PACKAGE, 'llama.cpp': judge.release, 'transformers': transformers.__version__,
               'torch': torch.__version__}
    with open(sys.argv[1], 'w') as file:
        file.write(json.dumps({'made_by': made_by}, indent=1)[:-2] + ',\n "rows": [\n')
        file.write(',\n'.join(map(json.dumps, rows)) + '\n],\n "lines": %s}\n' % json.dumps(judge.tokens))


if __name__ == '__main__':
    main()
