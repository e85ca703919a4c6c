#!/usr/bin/env python3
"""What other calculators say of ten models, or seven GGUF files, beside what we count: peers.json, gguf_parser.json, and the README's
table of them.

    calculators.py COMMANDS
"""
import json
import os
import sys
import tempfile

import agreement
import commands
import gguf_shapes

HERE = os.path.dirname(os.path.abspath(__file__))
NEAR = 1e-5  # some count buffers as well
SOURCES = {'hf-mem': 'https://github.com/alvarobartt/hf-mem', 'llm-analysis': 'https://github.com/cli99/llm-analysis',
           'accelerate': 'https://github.com/huggingface/accelerate', 'cookbook': 'https://github.com/EleutherAI/cookbook',
           'gguf-parser': 'https://github.com/gpustack/gguf-parser-go'}
WHY = {
    'hf-mem': "numbers from a checkpoint's header; a latent (MLA) counts as keys and values, windows and recurrent layers as whole "
              'contexts, on purpose: an upper bound',
    'llm-analysis': 'two matrices in a feed-forward layer, one table for input and output tokens; no experts, latents or windows',
    'accelerate': "the model without its output head; DeepSeek-V3 takes more memory than the machine has",
    'gguf-parser': "of seven GGUF files; a window's cache has the tokens of a batch more, where llama.cpp's has those of a micro-batch",
    'cookbook': 'keys without values, as many as queries; two matrices in a feed-forward layer, no experts',
}


def ours(program, model, tokens, *more):
    def ask(*words):
        return int(commands.answer(program, *words, '-f', 'value')[1])

    return {'parameters': ask('count', model), 'cache': ask('cache', model, '--seq', str(tokens), *more)}


def of_files(program, answers):
    """The same of GGUF files, with llama.cpp"""
    with tempfile.TemporaryDirectory() as folder:
        path, counted = folder + '/model.gguf', {}
        for name, answer in answers.items():
            gguf_shapes.write(path, gguf_shapes.MODELS[name])
            counted[name] = ours(program, path, answer['tokens'], '--engine', 'llama.cpp', '--dtype', 'f16', '--max-num-seqs', '1')
    return counted


def right(answers, counted, what):
    """'N of M', of those that it answers"""
    given = {model: answer[what] for model, answer in answers.items() if answer.get(what) is not None}
    for model, value in given.items():
        print('    %s %s: %d, counted %d, %+.2f %%' % (model, what, value, counted[model][what],
                                                     100 * (value / counted[model][what] - 1)))
    equal = sum(abs(value / counted[model][what] - 1) <= NEAR for model, value in given.items())
    return '%d of %d' % (equal, len(given)) if given else '-'


def main():
    with open(HERE + '/peers.json') as file:
        vector = json.load(file)
    with open(HERE + '/gguf_parser.json') as file:
        files = json.load(file)
    models = next(iter(vector['answers'].values()))
    counted = {model: ours(sys.argv[1], model, vector['tokens']) for model in models}
    tools = [(tool, answers, counted) for tool, answers in vector['answers'].items()]
    tools += [(tool, files['answers'], of_files(sys.argv[1], files['answers'])) for tool in files['made_by']]
    said = []
    for tool, answers, counted in tools:
        print(tool)
        version = {**vector['made_by'], **files['made_by']}[tool]
        said.append(agreement.has_row('README.md', '[%s](%s) %s' % (tool, SOURCES[tool], version),
                                      right(answers, counted, 'parameters'), right(answers, counted, 'cache'), WHY[tool]))
    return 0 if all(said) and commands.end() else 1


if __name__ == '__main__':
    sys.exit(main())
