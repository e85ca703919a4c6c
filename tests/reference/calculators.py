#!/usr/bin/env python3
"""What other calculators say of ten models beside what we count: peers.json, and the README's table of them.

    calculators.py ATTNLEDGER
"""
import json
import os
import subprocess
import sys

import agreement

HERE = os.path.dirname(os.path.abspath(__file__))
NEAR = 1e-5  # some count buffers as well
SOURCES = {'hf-mem': 'https://github.com/alvarobartt/hf-mem', 'llm-analysis': 'https://github.com/cli99/llm-analysis',
           'accelerate': 'https://github.com/huggingface/accelerate', 'cookbook': 'https://github.com/EleutherAI/cookbook'}
WHY = {
    'hf-mem': "numbers from a checkpoint's header; a latent (MLA) counts as keys and values, windows and recurrent layers as whole "
              'contexts, on purpose: an upper bound',
    'llm-analysis': 'two matrices in a feed-forward layer, one table for input and output tokens; no experts, latents or windows',
    'accelerate': "the model without its output head; DeepSeek-V3 takes more memory than the machine has",
    'cookbook': 'keys without values, as many as queries; two matrices in a feed-forward layer, no experts',
}


def ours(program, model, tokens):
    def ask(*words):
        return int(subprocess.run([program, *words, '-f', 'value'], check=True, stdout=subprocess.PIPE, text=True).stdout)

    return {'parameters': ask('count', model), 'cache': ask('cache', model, '--seq', str(tokens))}


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
    models = next(iter(vector['answers'].values()))
    counted = {model: ours(sys.argv[1], model, vector['tokens']) for model in models}
    said = []
    for tool, answers in vector['answers'].items():
        print(tool)
        said.append(agreement.has_row('README.md', '[%s](%s) %s' % (tool, SOURCES[tool], vector['made_by'][tool]),
                                      right(answers, counted, 'parameters'), right(answers, counted, 'cache'), WHY[tool]))
    return 0 if all(said) else 1


if __name__ == '__main__':
    sys.exit(main())
