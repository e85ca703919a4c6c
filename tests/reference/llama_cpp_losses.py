#!/usr/bin/env python3
"""Writes llama_cpp_losses.json: the loss that llama.cpp computes of GGUF files that `compress` wrote from made-up ones (losses.py).

    llama_cpp_losses.py OUT.json [FIXTURES]

Needs Node and npm, as llama_cpp_buffers.py does, and build/attnledger (or ATTNLEDGER of the environment). Rows of stories15M
are renewed where STORIES15M of the environment names its file and FIXTURES has tokens; else they stay.
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
const context = await model.createContext({contextSize: 512, flashAttention: false}), sequence = context.getSequence();
const found = [];
for (const tokens of JSON.parse(process.argv[3])) {
	await sequence.clearHistory();
	const asked = tokens.slice(0, -1).map((token) => [token, {generateNext: {logits: true}}]);
	found.push(...(await sequence.controlledEvaluate(asked)).map(({next: {logits}}, i) => {
		const values = [...logits.values()], most = Math.max(...values);
		return most + Math.log(values.reduce((sum, logit) => sum + Math.exp(logit - most), 0)) - logits.get(tokens[i + 1]);
	}));
}
console.log(JSON.stringify({release: llama.llamaCppRelease.release, loss: found.reduce((sum, one) => sum + one) / found.length}));
process.exit(0);
'''


def ask(home, path, sequences):
    out = subprocess.run(['node', 'ask.mjs', path, json.dumps(sequences)], cwd=home, check=True, stdout=subprocess.PIPE,
                         text=True).stdout
    return json.loads(out.splitlines()[-1])


def judge(home, model, method, numbers, sequences):
    with tempfile.TemporaryDirectory() as folder:
        found = ask(home, losses.prepare(PROGRAM, model, method, folder, numbers, sequences), sequences)
    judge.release = found['release']
    return {'model': model, 'method': method, 'loss': round(found['loss'], 6)}


def of_stories(home, fixtures):
    if 'STORIES15M' not in os.environ or not fixtures:
        with open(losses.HERE + '/llama_cpp_losses.json') as file:
            return [row for row in json.load(file)['rows'] if row['model'] == losses.STORIES]
    of = losses.stories(os.environ['STORIES15M']), losses.first_sequences(fixtures[0] + '/tokens/stories15m.npy')
    return [judge(home, losses.STORIES, method, *of) for method in losses.OF_STORIES]


def main():
    with tempfile.TemporaryDirectory() as home:
        install(home, ASK)
        rows = [judge(home, model, method, losses.made_up.numbers, [losses.TOKENS])
                for model, methods in losses.CASES.items() for method in methods]
        rows += of_stories(home, sys.argv[2:])
    with open(sys.argv[1], 'w') as file:
        file.write(json.dumps({'made_by': {'node-llama-cpp': PACKAGE, 'llama.cpp': judge.release}}, indent=1)[:-2]
                   + ',\n "rows": [\n')
        file.write(',\n'.join(json.dumps(row) for row in rows) + '\n]}\n')


if __name__ == '__main__':
    main()
