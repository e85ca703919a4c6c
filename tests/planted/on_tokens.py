"""Heads that are planted in models that run, as a calibration shows them: independent heads are nobody's twins, a copy is,
a copy whose queries are scaled is of other sharpness, and one that writes something else attends as its twin does.

    on_tokens.py COMMANDS
"""
import json
import os
import random
import struct
import sys
import tempfile
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../reference'))
import commands  # noqa: E402

PROGRAM = os.path.abspath(sys.argv.pop(1))
WIDTH, VOCAB, LONGEST, SEQUENCES, HIDDEN = 4, 48, 24, 24, 8
SHAPES = [(8, 8), (8, 2), (8, 1), (32, 8), (72, 8), (72, 1), (16, 16)]
SOME = [(8, 8), (8, 2), (16, 1)]


class Model:
    """One layer of random heads; W_Q, W_K, W_V as lists of a head's rows, W_O by head, [d][width]."""

    def __init__(self, heads, kv_heads, seed=1):
        self.rng = random.Random(seed)
        self.heads, self.kv_heads, self.d = heads, kv_heads, heads * WIDTH
        self.q = [self.rows(WIDTH, self.d, 1.5) for _ in range(heads)]
        self.k, self.v = ([self.rows(WIDTH, self.d, 1.5) for _ in range(kv_heads)] for _ in range(2))
        self.o = [self.rows(self.d, WIDTH, 1) for _ in range(heads)]

    def rows(self, n, width, size):
        return [self.draw(width, size / self.d ** .5) for _ in range(n)]

    def draw(self, n, deviation):
        """Uniform ones: quicker than normal ones."""
        number, width = self.rng.random, 12 ** .5 * deviation
        return [width * (number() - .5) for _ in range(n)]

    def write_llama(self, path):
        """As llama2.c has it: rotary positions."""
        d, draw = self.d, self.draw
        with open(path, 'wb') as out:
            def put(numbers):
                out.write(struct.pack(f'<{len(numbers)}f', *numbers))
            out.write(struct.pack('<7i', d, HIDDEN, 1, self.heads, self.kv_heads, VOCAB, LONGEST))
            put(draw(VOCAB * d, 1) + [1] * d)
            for part in self.q, self.k, self.v:
                put([x for head in part for row in head for x in row])
            put([x for row in range(d) for head in self.o for x in head[row]])
            put([1] * d + draw(3 * d * HIDDEN, .1) + [1] * d + [0] * LONGEST * WIDTH)

    def write_gpt2(self, folder):
        """Learned positions, and W stored as [in][out]."""
        d, draw = self.d, self.draw
        tensors = {'wte.weight': [VOCAB, d], 'wpe.weight': [LONGEST, d]}
        data = {name: draw(shape[0] * d, 1) for name, shape in tensors.items()}
        both = [row for part in (self.q, self.k, self.v) for head in part for row in head]
        layer = {'attn.c_attn.weight': ([d, 3 * d], [row[i] for i in range(d) for row in both]),
                 'attn.c_attn.bias': ([3 * d], [0] * 3 * d),
                 'attn.c_proj.weight': ([d, d], [head[row][i] for head in self.o for i in range(WIDTH) for row in range(d)]),
                 'attn.c_proj.bias': ([d], [0] * d)}
        for norm in 'ln_1', 'ln_2':
            layer |= {f'{norm}.weight': ([d], [1] * d), f'{norm}.bias': ([d], [0] * d)}
        for name, n, m in ('mlp.c_fc', d, HIDDEN), ('mlp.c_proj', HIDDEN, d):
            layer |= {f'{name}.weight': ([n, m], draw(n * m, .1)), f'{name}.bias': ([m], [0] * m)}
        layer = {f'h.0.{name}': both for name, both in layer.items()} | {'ln_f.weight': ([d], [1] * d), 'ln_f.bias': ([d], [0] * d)}
        for name, (shape, numbers) in layer.items():
            tensors[name], data[name] = shape, numbers
        at, header = 0, {}
        for name, shape in tensors.items():
            header[name] = {'dtype': 'F32', 'shape': shape, 'data_offsets': [at, at + 4 * len(data[name])]}
            at = header[name]['data_offsets'][1]
        text = json.dumps(header).encode()
        os.makedirs(folder)
        with open(f'{folder}/model.safetensors', 'wb') as out:
            out.write(struct.pack('<Q', len(text)) + text)
            for numbers in data.values():
                out.write(struct.pack(f'<{len(numbers)}f', *numbers))
        with open(f'{folder}/config.json', 'w', encoding='utf-8') as out:
            json.dump({'model_type': 'gpt2', 'architectures': ['GPT2LMHeadModel'], 'vocab_size': VOCAB, 'n_positions': LONGEST,
                       'n_embd': d, 'n_layer': 1, 'n_head': self.heads, 'n_inner': HIDDEN, 'activation_function': 'gelu_new',
                       'layer_norm_epsilon': 1e-5}, out)


class Planted(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        rng = random.Random(2)
        with open(f'{self.folder.name}/tokens', 'w', encoding='ascii') as out:
            for _ in range(SEQUENCES):
                print(*[rng.randrange(VOCAB) for _ in range(LONGEST)], file=out)

    def run_program(self, *words):
        status, said = commands.answer(PROGRAM, *words)
        self.assertEqual(status, 0, (words, said))
        return said

    def audit(self, model, is_rotary=True):
        """Its sentence, and its tables' rows."""
        name = f'{self.folder.name}/{model.heads}-{model.kv_heads}' + '.bin' * is_rotary
        (model.write_llama if is_rotary else model.write_gpt2)(name)
        self.run_program('calibrate', name, '--tokens', f'{self.folder.name}/tokens', '-o', f'{name}-recorded', '-q')
        answer = json.loads(self.run_program('audit', name, '--calibration', f'{name}-recorded', '--only',
                                             'similarity,redundant,drop', '--null', '0', '-f', 'json'))
        return answer['answer']['text'], {table['id']: table['rows'] for table in answer['tables']}

    def shapes(self, some):
        for heads, kv_heads in some:
            for is_rotary in (True, False) if heads == kv_heads else (True,):
                with self.subTest((heads, kv_heads, is_rotary)):
                    yield Model(heads, kv_heads), is_rotary

    def test_independent(self):
        for model, is_rotary in self.shapes(SHAPES):
            text, tables = self.audit(model, is_rotary)
            self.assertEqual(tables['redundant'], [])
            self.assertNotIn('repeat', text)
            self.assertNotIn('attend', text)
            self.assertLess(max(row['logit_correlation'] for row in tables['similarity']), .9)

    def only(self, tables, reason, head, twin):
        """The one row: either head is the other's twin."""
        self.assertEqual([row['reason'] for row in tables['redundant']], [reason])
        row, = tables['redundant']
        self.assertEqual({row['head'], row['twin']}, {head, twin})
        self.assertGreater(row['logit_correlation'], .9999)
        nearest = {row['head']: row['alike'] for row in tables['drop']}
        self.assertEqual((nearest[head], nearest[twin]), (twin, head))
        return row

    def test_copy(self):
        """W_O may be any: the twin's takes it in."""
        for model, is_rotary in self.shapes(SOME):
            model.q[1] = model.q[0]
            if model.heads == model.kv_heads:
                model.k[1], model.v[1] = model.k[0], model.v[0]
            text, tables = self.audit(model, is_rotary)
            row = self.only(tables, 'twin', 1, 0)
            self.assertLess(row['cumulative_error'], 1e-3)
            self.assertGreater(row['output_cka'], .9999)
            self.assertIn('1 head repeats another', text)

    def test_other_sharpness(self):
        for model, is_rotary in self.shapes(SOME):
            model.q[1] = [[.05 * x for x in row] for row in model.q[0]]
            if model.heads == model.kv_heads:
                model.k[1] = model.k[0]
            text, tables = self.audit(model, is_rotary)
            row = self.only(tables, 'other sharpness', 1, 0)
            self.assertAlmostEqual(row['sharpness'], .05, delta=1e-4)
            self.assertNotIn('repeat', text)

    def test_same_attention(self):
        for model, is_rotary in self.shapes([(8, 8), (16, 16)]):
            model.q[1], model.k[1] = model.q[0], model.k[0]
            text, tables = self.audit(model, is_rotary)
            row = self.only(tables, 'same attention', 1, 0)
            self.assertAlmostEqual(row['sharpness'], 1, delta=1e-4)
            self.assertIn('1 head attends as another', text)

    def test_silent(self):
        for model, is_rotary in self.shapes(SOME):
            model.o[3] = [[.01 * x for x in row] for row in model.o[3]]
            _, tables = self.audit(model, is_rotary)
            self.assertEqual([(row['reason'], row['head']) for row in tables['redundant']], [('silent', 3)])


def tearDownModule():
    assert commands.end()


if __name__ == '__main__':
    unittest.main()
