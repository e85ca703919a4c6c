"""shrink on made-up models: formats by tensor in a GGUF file whose loss is the reported one; two equal key/value heads, of
which one goes, in all layers of a GGUF file and in the one layer of a folder that has them; a method for each layer. And
the frontier of audit --tokens, which goes on where it was ended as shrink does.

    shrink.py ATTNLEDGER REFERENCE    REFERENCE: the folder tests/reference
"""
import array
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM, REFERENCE = map(os.path.abspath, (sys.argv.pop(1), sys.argv.pop(1)))
sys.path.insert(0, REFERENCE)
import gguf_shapes  # noqa: E402
import made_up  # noqa: E402

VOCAB, LAYERS, WIDTH, HEAD = 320, 3, 64, 16
MODEL = gguf_shapes.decoder('llama', LAYERS, WIDTH, 4, 2, HEAD, 96, VOCAB, dtype='F32', tied=True)
CONFIG = {'architectures': ['LlamaForCausalLM'], 'model_type': 'llama', 'vocab_size': VOCAB, 'hidden_size': WIDTH,
          'intermediate_size': 96, 'num_hidden_layers': LAYERS, 'num_attention_heads': 4, 'num_key_value_heads': 2,
          'max_position_embeddings': 256, 'tie_word_embeddings': True}


def shapes_of_folder(kv=32):
    yield 'model.embed_tokens.weight', [VOCAB, WIDTH]
    for layer in range(LAYERS):
        for name, rows, columns in (('self_attn.q_proj', 64, 64), ('self_attn.k_proj', kv, 64), ('self_attn.v_proj', kv, 64),
                                    ('self_attn.o_proj', 64, 64), ('mlp.gate_proj', 96, 64), ('mlp.up_proj', 96, 64),
                                    ('mlp.down_proj', 64, 96)):
            yield 'model.layers.%d.%s.weight' % (layer, name), [rows, columns]
        for name in 'input_layernorm', 'post_attention_layernorm':
            yield 'model.layers.%d.%s.weight' % (layer, name), [WIDTH]
    yield 'model.norm.weight', [WIDTH]


def planted(layers, plain=made_up.numbers):
    """Numbers in which the second key/value head of these layers is the first; attention is sharp, so that heads count."""
    def numbers(name, shape):
        values = array.array('f', (8 * x if 'attn' in name and len(shape) > 1 else x for x in plain(name, shape)))
        layer = next((int(part) for part in name.split('.') if part.isdigit()), -1)
        if layer in layers and any(part in name for part in ('attn_k.', 'attn_v.', 'k_proj.', 'v_proj.')):
            half = len(values) // 2
            values[half:] = values[:half]
        return values
    return numbers


def one_method_each(name, shape, plain=made_up.numbers):
    """Four key/value heads: in layer 0 those of each pair are equal, in layer 2 the last head puts out nothing."""
    values = planted(())(name, shape)
    if 'layers.0.' in name and ('k_proj.' in name or 'v_proj.' in name):
        for pair in 0, 2:
            values[(pair + 1) * HEAD * WIDTH:(pair + 2) * HEAD * WIDTH] = values[pair * HEAD * WIDTH:(pair + 1) * HEAD * WIDTH]
    if 'layers.2.' in name and 'o_proj.' in name:
        for row in range(WIDTH):
            values[row * WIDTH + 3 * HEAD:(row + 1) * WIDTH] = array.array('f', [0] * HEAD)
    return values


class Shrink(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        tokens = made_up.tokens(24 * 40, VOCAB)
        with open(self.path('tokens'), 'w') as file:
            file.writelines(' '.join(map(str, tokens[at:at + 40])) + '\n' for at in range(0, len(tokens), 40))

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def ask(self, *words):
        out = subprocess.run([PROGRAM, *words, '-q', '-f', 'json'], cwd=self.folder.name, stdout=subprocess.PIPE, text=True)
        self.assertIn(out.returncode, (0, 1), words)
        answer = json.loads(out.stdout)
        return {table['id']: table['rows'] for table in answer.get('tables', [answer])}

    def write_folder(self, plant, kv_heads=2):
        os.mkdir(self.path('source'))
        numbers, made_up.numbers = made_up.numbers, plant
        try:
            made_up.write_model(self.path('source'), {**CONFIG, 'num_key_value_heads': kv_heads},
                                list(shapes_of_folder(kv_heads * HEAD)))
        finally:
            made_up.numbers = numbers

    def shrink(self, source, target, *options):
        return self.ask('shrink', source, '--tokens', 'tokens', '-o', target, *options)

    def chosen(self, answer):
        return next(row for row in answer['frontier'] if row['verdict'] == 'chosen')

    def loss(self, path, sequences):
        return self.ask('evaluate', path, '--tokens', 'tokens', '--sequences', sequences)['loss'][0]['loss']

    def test_formats(self):
        gguf_shapes.write(self.path('source.gguf'), MODEL, planted(()))
        answer = self.shrink('source.gguf', 'small.gguf', '--limit', '0.002kl')
        row = self.chosen(answer)
        self.assertLess(row['share'], 30)
        self.assertLessEqual(row['kl'] + row.get('kl_error', 0), .002)
        formats = {tensor['name']: tensor['dtype'] for tensor in self.ask('inspect', 'small.gguf')['tensors']}
        self.assertGreater(len(set(formats.values())), 2)
        self.assertEqual(formats['output_norm.weight'], 'F32')
        counted = {}
        for group in answer['formats']:
            counted[group['format']] = counted.get(group['format'], 0) + group['tensors']
        for dtype, n in counted.items():
            self.assertEqual(n, sum(found == dtype and not name.endswith('norm.weight') for name, found in formats.items()))
        added = self.loss('small.gguf', '16:24') - self.loss('source.gguf', '16:24')
        self.assertAlmostEqual(added, row['judged_increase'], places=9)

    def test_more_tokens_than_logits_in_memory(self):
        """What is measured of the same sequences, many times, is what is measured of them once."""
        gguf_shapes.write(self.path('source.gguf'), MODEL, planted(()))
        self.ask('compress', 'source.gguf', '--method', 'identity', '--dtype', 'q8_0', '-o', 'small.gguf')
        with open(self.path('tokens')) as once, open(self.path('many'), 'w') as many:
            many.write(6 * once.read())
        for keys, words in (('loss',), ('evaluate', 'small.gguf')), (('kl', 'compressed'), ('verify', 'source.gguf', 'small.gguf')):
            once, many = (self.ask(*words, '--tokens', tokens) for tokens in ('tokens', 'many'))
            for key in keys:
                self.assertAlmostEqual(once['loss'][0][key], many['loss'][0][key], places=6)

    def end_early(self, seconds, n, if_complete, *words):
        """Runs that are killed ever later."""
        for i in range(1, n):
            with subprocess.Popen([PROGRAM, *words], cwd=self.folder.name, stdout=subprocess.DEVNULL) as process:
                try:
                    process.wait(seconds * i / n)
                    if_complete()
                except subprocess.TimeoutExpired:
                    process.kill()

    def test_ended_in_the_middle(self):
        """Runs that are killed ever later: the next one takes their calibration and trials, and the last answers as one run
        does."""
        gguf_shapes.write(self.path('source.gguf'), MODEL, planted(()))
        options = '--limit', '0.002kl'
        begin = time.monotonic()
        whole = self.shrink('source.gguf', 'whole.gguf', *options)
        seconds = time.monotonic() - begin
        words = 'shrink', 'source.gguf', '--tokens', 'tokens', '-o', 'ended.gguf', *options, '-q'
        for n, more in ((2, ('--sequences', '0:20')), (20, ())): # what is kept of another text isn't taken
            self.end_early(seconds, n, lambda: os.remove(self.path('ended.gguf')), *words, *more)
        self.assertEqual(self.shrink('source.gguf', 'ended.gguf', *options), whole)
        with open(self.path('whole.gguf'), 'rb') as a, open(self.path('ended.gguf'), 'rb') as b:
            self.assertEqual(a.read(), b.read())
        self.assertEqual(sorted(os.listdir(self.folder.name)), ['ended.gguf', 'source.gguf', 'tokens', 'whole.gguf'])

    def test_audit_ended_in_the_middle(self):
        """The frontier of audit --tokens goes on in the same way; what it keeps is next to the calibration."""
        self.write_folder(planted(()))
        self.ask('calibrate', 'source', '--tokens', 'tokens', '--sequences', '0:12', '-o', 'kept')
        words = 'audit', 'source', '--calibration', 'kept', '--tokens', 'tokens', '--sequences', '12:24', '--null', '0'
        whole = self.ask(*words)
        self.assertLessEqual({'inside', 'tied', 'on it'}, {row['frontier'] for row in whole['frontier']})
        kept = self.path('kept/calibration.safetensors.frontier')
        for attempt in range(20):  # ended behind most of the results; once more if all were there
            if os.path.exists(kept):
                break
            with subprocess.Popen([PROGRAM, *words, '-q'], cwd=self.folder.name, stdout=subprocess.DEVNULL) as process:
                while process.poll() is None and not (os.path.exists(kept) and os.path.getsize(kept) > 4000):
                    time.sleep(.001)
                process.kill()
        self.assertTrue(os.path.exists(kept))
        self.assertEqual(self.ask(*words), whole)
        self.assertEqual(os.listdir(self.path('kept')), ['calibration.safetensors'])

    def test_budget(self):
        gguf_shapes.write(self.path('source.gguf'), MODEL, planted(()))
        for share in 50, 25, 16:
            answer = self.shrink('source.gguf', 'to%d.gguf' % share, '--budget', '%d%%' % share)
            small = [row for row in answer['frontier'] if row['share'] <= share]
            costs = [row['loss_increase'] + row['loss_increase_error'] for row in small]
            self.assertEqual(small[costs.index(min(costs))]['verdict'], 'chosen')
            self.assertGreater(min(row['share'] for row in small), share - 10)

    def test_from_a_folder(self):
        self.write_folder(planted(()))
        row = self.chosen(self.shrink('source', 'small.gguf', '--limit', '0.002kl'))
        self.assertLess(row['share'], 35)
        added = self.loss('small.gguf', '16:24') - self.loss('source', '16:24')
        self.assertAlmostEqual(added, row['judged_increase'], delta=1e-5)

    def test_twins_in_all_layers(self):
        gguf_shapes.write(self.path('source.gguf'), MODEL, planted(range(LAYERS)))
        for options in (), ('--for', 'cache', '--context', '128'):
            answer = self.shrink('source.gguf', 'small%d.gguf' % len(options), '--limit', '0.002kl', *options)
            self.assertEqual([row['rank'] for row in answer['modules']], [1] * LAYERS)
            self.assertIn('gqa', self.chosen(answer)['heads'])
        self.assertAlmostEqual(self.chosen(answer)['share'], 50)
        self.assertLess(abs(self.chosen(answer)['judged_increase']), 1e-5)

    def test_twins_in_one_layer(self):
        self.write_folder(planted((1,)))
        answer = self.shrink('source', 'small', '--limit', '0.002kl')
        self.assertEqual([row['module'] for row in answer['modules']], ['layers.1'])
        self.assertEqual([row['format'] for row in answer['formats']], ['F16'])
        self.assertLess(self.chosen(answer)['share'], 50)
        self.assertIn('modeling_attnledger.py', os.listdir(self.path('small')))
        added = self.loss('small', '16:24') - self.loss('source', '16:24')
        self.assertTrue(math.isclose(added, self.chosen(answer)['judged_increase'], abs_tol=1e-9))

    def test_a_method_for_each_layer(self):
        """Grouped keys in one layer and a head less in another, in one folder that reads back, and that verify understands."""
        self.write_folder(one_method_each, 4)
        answer = self.shrink('source', 'small', '--limit', '0.002kl', '--for', 'cache', '--context', '128')
        methods = {row['module']: row['method'] for row in answer['modules']}
        self.assertEqual(sorted(methods), ['layers.0', 'layers.2'])
        self.assertEqual(methods['layers.0'], 'gqa')
        self.assertIn(methods['layers.2'], ('drop', 'merge'))
        self.assertAlmostEqual(self.chosen(answer)['share'], 100 * (2 + 4 + 3) / 12)
        added = self.loss('small', '16:24') - self.loss('source', '16:24')
        self.assertTrue(math.isclose(added, self.chosen(answer)['judged_increase'], abs_tol=1e-9))
        verified = self.ask('verify', 'source', 'small')['verify']
        self.assertEqual({row['module'] for row in verified}, set(methods))
        self.assertLess(max(row['output_error'] for row in verified), 1e-5)


if __name__ == '__main__':
    unittest.main()
