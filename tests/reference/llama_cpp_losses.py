#!/usr/bin/env python3
"""Writes llama_cpp_losses.json: the loss that llama.cpp computes of GGUF files that `compress` wrote from made-up ones (losses.py).

    llama_cpp_losses.py OUT.json

Needs Node and npm, as llama_cpp_buffers.py does, and build/attnledger (or ATTNLEDGER of the environment).
"""
import json
import os
import subprocess
import sys
import tempfile

import losses
from llama_cpp_buffers import PACKAGE, install

PROGRAM = os.environ.get('ATTNLEDGER', 'build/attnledger')
ASK = r'''
import {getLlama, LlamaLogLevel} from "node-llama-cpp";
const llama = await getLlama({gpu: false, logLevel: LlamaLogLevel.error, build: "never"});
const model = await llama.loadModel({modelPath: process.argv[2]});
const tokens = JSON.parse(process.argv[3]);
const context = await model.createContext({contextSize: 512, flashAttention: false});
const asked = tokens.slice(0, -1).map((token) => [token, {generateNext: {logits: true}}]);
const found = (await context.getSequence().controlledEvaluate(asked)).map(({next: {logits}}, i) => {
	const most = Math.max(...logits.values());
	return most + Math.log([...logits.values()].reduce((sum, logit) => sum + Math.exp(logit - most), 0)) - logits.get(tokens[i + 1]);
});
console.log(JSON.stringify({release: llama.llamaCppRelease.release, loss: found.reduce((sum, one) => sum + one) / found.length}));
process.exit(0);
'''


def ask(home, path):
    out = subprocess.run(['node', 'ask.mjs', path, json.dumps(losses.TOKENS)], cwd=home, check=True, stdout=subprocess.PIPE,
                         text=True).stdout
    return json.loads(out.splitlines()[-1])


def main():
    with tempfile.TemporaryDirectory() as home:
        install(home, ASK)
        rows = []
        for model, methods in losses.CASES.items():
            for method in methods:
                with tempfile.TemporaryDirectory() as folder:
                    found = ask(home, losses.prepare(PROGRAM, model, method, folder))
                rows.append({'model': model, 'method': method, 'loss': round(found['loss'], 6)})
    with open(sys.argv[1], 'w') as file:
        file.write(json.dumps({'made_by': {'node-llama-cpp': PACKAGE, 'llama.cpp': found['release']}}, indent=1)[:-2]
                   + ',\n "rows": [\n')
        file.write(',\n'.join(json.dumps(row) for row in rows) + '\n]}\n')


if __name__ == '__main__':
    main()
