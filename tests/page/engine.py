"""The page that holds the engine, in headless Chromium: it answers as the native program does, for built-in models and for
configs that are dropped on it, soon, in 390 and 1,440 pixels, light and dark, by keyboard; and it requests nothing.

    engine.py ATTNLEDGER PAGE.html [FOLDER]   FOLDER: keeps pictures
"""
import glob
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

PAGE = os.path.abspath(sys.argv.pop(2))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser as pages  # noqa: E402

CONFIGS = sorted(glob.glob(os.path.join(os.environ.get('ATTNLEDGER_FIXTURES', ''), 'configs', '*.json')))
DROP = '''
const moved = new DataTransfer();
moved.items.add(new File([arguments[0]], 'config.json'));
document.body.dispatchEvent(new DragEvent('drop', {dataTransfer: moved, bubbles: true}));
'''


ENTER, ESCAPE, UP, DOWN = '\ue007', '\ue00c', '\ue013', '\ue015'


def answer(*words):
    return json.loads(subprocess.run([pages.PROGRAM, *words, '-f', 'json'], stdout=subprocess.PIPE, check=True).stdout)


def ask(*words, cwd=None):
    out = subprocess.run([pages.PROGRAM, *words, '-f', 'json'], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return json.loads(out.stdout)['answer']['text'] if out.returncode < 2 else out.stderr.strip()


class Engine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = pages.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def open(self, place='', width=1440):
        self.browser.call('POST', '/url', {'url': 'about:blank'})  # another fragment alone loads nothing
        self.browser.open(PAGE + place, width)
        self.browser.wait_until("document.body.dataset.done === '1'")

    def text(self, selector):
        return self.browser.run('return document.querySelector(arguments[0])?.textContent ?? null', selector)

    def go(self, script, *args):
        before = int(self.browser.run('return document.body.dataset.done'))
        self.browser.run(script, *args)
        self.browser.wait_until(f'Number(document.body.dataset.done) > {before}')

    def test_as_the_program(self):
        self.open('?embed=1')
        models = self.browser.run("return JSON.parse(document.getElementById('data').textContent).models.map(one => one.name)")
        devices = self.browser.run("return JSON.parse(document.getElementById('data').textContent).devices.map(one => one.name)")
        rng = random.Random(1)
        for _ in range(100):
            model, device, seq = rng.choice(models), rng.choice(devices), str(int(2 ** rng.uniform(0, 20)))
            with self.subTest(model=model, seq=seq, device=device):
                self.go('location.hash = arguments[0]', f'model={model}&seq={seq}&device={device}')
                self.assertEqual(self.text('#said'), ask('cache', model, '--seq', seq))
                fit = ask('fit', model, '--device', device, '--seq', seq, '--engine', 'vllm')
                self.assertEqual(self.text('#fits').rstrip('.'), fit.split('. The log of')[0].rstrip('.'))

    def test_below(self):
        for model, seq in ('llama-3-8b', 8192), ('deepseek-v3', 131072), ('gemma-2-2b', 3000), ('gpt2', 1024):
            with self.subTest(model=model):
                self.open(f'#model={model}&seq={seq}&device=H100')
                for variant in 'mha', 'gqa', 'mqa', 'mla', 'gqa:sliding=4/5,window=1024', 'linear-attention':
                    said = ask('cache', model, '--variant', variant, '--seq', str(seq))
                    shown = self.text(f'[data-variant="{variant}"]')
                    self.assertIn(shown if shown != '-' else 'attnledger cache: ', said)
                self.search('tpa', ENTER)
                self.browser.wait_until("document.querySelector('[data-variant=tpa]')")
                self.assertIn(self.text('[data-variant=tpa]'), ask('cache', model, '--variant', 'tpa', '--seq', str(seq)))
                self.assertEqual(self.text('#count'), ask('count', model))
                seq_words = '--seq', str(seq)
                for place, words in (('#memory .two > div p', ('memory', model, *seq_words, '--engine', 'vllm')),
                                     ('#memory .two > div + div p', ('memory', model, '--train', *seq_words)),
                                     ('#devices p', ('fit', model, *seq_words, '--engine', 'vllm'))):
                    self.assertEqual(self.text(place), ask(*words))
                self.check_sources(model, seq)

    def search(self, *keys):
        """Types into the empty field: the options that are shown, by ideas, and which one is marked."""
        self.browser.run("document.getElementById('variant').blur(); document.getElementById('variant').focus()")
        self.browser.press(''.join(keys))
        return self.browser.run('''
const field = document.getElementById('variant'), marked = document.getElementById(field.getAttribute('aria-activedescendant'));
const groups = [...document.querySelectorAll('#variants [role=group]')].map(one =>
  [document.getElementById(one.getAttribute('aria-labelledby')).textContent, [...one.querySelectorAll('[role=option]')].map(option => option.id.slice(8))]);
return [Object.fromEntries(groups), marked && marked.ariaSelected === 'true' ? marked.id.slice(8) : null];
''')

    def chosen(self):
        return self.browser.run("""return [document.getElementById('variant').value, new URLSearchParams(location.hash.slice(1)).get('variant'),
  document.getElementById('variant').ariaExpanded, document.getElementById('variants').hidden]""")

    def test_search(self):
        """Variants by name, title, paper and idea; arrows, Enter, Escape and a click."""
        variants = answer('list', 'variants')['tables'][0]['rows']
        by_idea = {}
        for one in variants:
            by_idea.setdefault(one['idea'], []).append(one['name'])
        for width in 1440, 390:
            self.open('', width)
            self.assertEqual(self.search(DOWN), [dict(sorted(by_idea.items())), min(by_idea.items())[1][0]])
            self.assertEqual(self.search('grouped query'), [{'shared keys and values': ['gqa']}, 'gqa'])
            self.assertEqual(self.search('Guo 2025'), [{'a state of one size': ['log-linear-mamba2']}, 'log-linear-mamba2'])
            self.assertEqual(self.search('2505.21487'), [{'low rank': ['gla'], 'shared keys and values': ['gta']}, 'gla'])
            self.assertEqual(self.search('mixed heads')[0], {'mixed heads': by_idea['mixed heads']})
            self.assertEqual(self.search('linear')[1], 'linear')  # the name itself before those that contain it
            self.assertEqual(self.search('nothing so'), [{}, None])
            self.assertIn('No variant', self.text('#matches'))
            self.assertEqual(self.chosen(), ['nothing so', None, 'false', True])
            self.assertEqual(self.search('2505.21487', DOWN), [{'low rank': ['gla'], 'shared keys and values': ['gta']}, 'gta'])
            self.assertEqual(self.search('2505.21487', DOWN, DOWN)[1], 'gla')
            self.assertEqual(self.search('2505.21487', UP)[1], 'gta')
            self.search('2505.21487', DOWN, ENTER)
            self.assertEqual(self.chosen(), ['Grouped-tied attention', 'gta', 'false', True])
            self.browser.wait_until("document.querySelector('[data-variant=gta]')")
            self.search('mla', ESCAPE)
            self.assertEqual(self.chosen(), ['Grouped-tied attention', 'gta', 'false', True])
            self.browser.press(ESCAPE)
            self.assertEqual(self.chosen(), ['', None, 'false', True])
            self.browser.wait_until("!document.querySelector('[data-variant=gta]')")
            self.search('tensor product')
            self.browser.click('#variant-tpa')
            self.assertEqual(self.chosen(), ['Tensor product attention', 'tpa', 'false', True])
            self.browser.wait_until("document.querySelector('[data-variant=tpa]')")

    def test_permalink_of_variant(self):
        self.open('#model=llama-3-8b&seq=8192&device=H100&variant=cla')
        self.assertEqual(self.chosen(), ['Cross-layer attention', 'cla', 'false', True])
        self.assertIn(self.text('[data-variant=cla]'), ask('cache', 'llama-3-8b', '--variant', 'cla', '--seq', '8192'))
        self.go("document.querySelector('#all tbody tr:nth-child(5) a').click()")  # another model, the same variant
        self.assertEqual(self.chosen()[1], 'cla')
        self.open('#model=llama-3-8b&seq=8192&device=H100&variant=none')
        self.assertEqual(self.chosen(), ['', None, 'false', True])

    def check_sources(self, model, seq):
        """Each part that explains has the formulas of the program's answer."""
        asked = (('cache', model, '--seq', str(seq)), ('count', model), ('memory', model, '--seq', str(seq), '--engine', 'vllm'),
                 ('memory', model, '--train', '--seq', str(seq)))
        for place, words in enumerate(asked, 1):
            part = f'#explained details:nth-of-type({place})'
            self.browser.run('document.querySelector(arguments[0]).open = true', part)
            self.browser.wait_until(f"document.querySelector('{part} table')")
            for table in answer(*words, '--explain')['tables'][1:]:
                for row in table['rows']:
                    self.assertIn(row.get('formula') or '', self.text(part))

    @unittest.skipIf(not CONFIGS, 'ATTNLEDGER_FIXTURES names no folder with configs')
    def test_dropped_configs(self):
        self.open()
        for config in CONFIGS:
            with self.subTest(config=os.path.basename(config)), tempfile.TemporaryDirectory() as folder:
                with open(config, encoding='utf-8') as file:
                    text = file.read()
                with open(os.path.join(folder, 'config.json'), 'w', encoding='utf-8') as file:
                    file.write(text)
                self.go(DROP, text)
                if self.browser.run("return document.getElementById('wrong').hidden"):
                    shown = self.text('#said').split(' at context ')
                    self.assertEqual(shown[0], ask('cache', 'config.json', cwd=folder).split(' at context ')[0])
                    self.assertEqual(self.text('#count'), ask('count', 'config.json', cwd=folder))
                else:
                    self.assertEqual(self.text('#wrong'), ask('cache', 'config.json', cwd=folder))

    def test_wrong(self):
        """What can't be read is one line, and what was shown stays, also when it is asked for anew."""
        self.open('#model=gpt2&seq=5000&device=H100')
        self.assertEqual(self.browser.run('return document.title'), 'GPT-2 small: KV cache at 5,000')
        said = self.text('#said')
        for text in '', '{', '[]', '{"model_type": "nothing"}':
            with self.subTest(text), tempfile.TemporaryDirectory() as folder:
                with open(os.path.join(folder, 'config.json'), 'w', encoding='utf-8') as file:
                    file.write(text)
                self.go(DROP, text)
                self.browser.wait_until("document.getElementById('wrong').textContent")
                self.assertEqual(self.text('#wrong'), ask('cache', 'config.json', cwd=folder))
                self.go("const one = document.getElementById('device'); one.value = 'L4'; one.dispatchEvent(new Event('change'))")
                self.assertEqual((self.text('#said'), self.browser.run("return document.getElementById('wrong').hidden")), (said, True))
        self.browser.run(DROP.replace("'config.json'", "'model.gguf'"), 'GGUF')
        self.assertEqual(self.text('#wrong'), "model.gguf is not a .json file: give the model's config.json.")
        for text, wrong in ('no such', 'No built-in model is called "no such"'), ('BERT-BASE', None):
            self.browser.run("const one = document.getElementById('model'); one.value = arguments[0]; one.dispatchEvent(new Event('change'))", text)
            if wrong:
                self.assertIn(wrong, self.text('#wrong'))
                self.assertEqual(self.browser.run("return document.getElementById('model').value"), 'gpt2')
        self.browser.wait_until("document.getElementById('said').textContent.startsWith('BERT-base')")
        self.browser.wait_until("document.getElementById('wrong').hidden")

    def test_soon(self):
        """A slow phone: the first number within a second of the page's being there."""
        self.browser.call('POST', '/goog/cdp/execute', {'cmd': 'Emulation.setCPUThrottlingRate', 'params': {'rate': 6}})
        try:
            self.open('?embed=1', 390)
            took = self.browser.run("return performance.getEntriesByName('first number')[0].startTime")
        finally:
            self.browser.call('POST', '/goog/cdp/execute', {'cmd': 'Emulation.setCPUThrottlingRate', 'params': {'rate': 1}})
        print(f'the first number takes {took:.0f} ms', file=sys.stderr)
        self.assertLess(took, 3000)  # what it takes depends on the machine: a second is measured on a quiet one

    def test_reads_well(self):
        for width in 1440, 390:
            self.open('', width)
            self.assertEqual(self.browser.run('return innerWidth'), width)
            for scheme in 'light', 'dark':
                self.browser.emulate(scheme=scheme)
                self.search(DOWN)
                seen = self.browser.run(pages.CONTRASTS)
                self.assertEqual({k: v for k, v in seen.items() if v[0] < 4.5}, {}, (width, scheme))
                self.assertEqual(self.browser.run(pages.COLLISIONS), [], (width, scheme))
                if pages.KEPT:
                    self.browser.picture(f'{pages.KEPT}/engine-{width}-{scheme}.png')

    def test_keys_and_sorting(self):
        self.open()
        first = self.text('#all tbody tr td')
        self.browser.run("document.querySelector('#all th:nth-child(6) button').focus()")
        self.browser.press('\ue007')
        self.assertEqual(self.browser.run("return document.querySelector('#all th:nth-child(6)').ariaSort"), 'ascending')
        self.assertNotEqual(self.text('#all tbody tr td'), first)
        before = self.text('#length')
        self.browser.run("document.getElementById('seq').focus()")
        self.browser.press('\ue014')
        self.browser.wait_until(f"document.getElementById('length').textContent !== '{before}'")

    def test_requests_nothing(self):
        self.browser.log('performance')
        self.open()
        urls = [event['params']['request']['url'] for event in (json.loads(line['message'])['message'] for line in self.browser.log('performance'))
                if event['method'] == 'Network.requestWillBeSent']
        self.assertEqual([url for url in urls if not url.startswith(('file:', 'data:', 'blob:'))], [])
        self.assertEqual([line for line in self.browser.log('browser') if line['level'] == 'SEVERE'], [])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
