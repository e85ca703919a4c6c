"""The page of `explore` in headless Chromium: its numbers are those of `count`, `cache` and `sweep` at 200 random
settings, to the last digit, and where a command refuses a setting the page has no number.

    explorer.py ATTNLEDGER [FOLDER]   FOLDER: keeps the page and pictures of it

Exits with 77 (skipped) where there is no chromium or no chromedriver.
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from fractions import Fraction

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser  # noqa: E402

PROGRAM, KEPT = browser.PROGRAM, browser.KEPT
N_SETTINGS = 200
N_VARIANTS = int(os.environ.get('EXPLORER_VARIANTS', '1'))  # at each of them
STANDARD = ('d_model', 'n_heads', 'n_kv_heads', 'd_head', 'd_value', 'n_layers', 'batch', 'seq')
DTYPES = ('bf16', 'f32', 'fp8', 'q8_0', 'q4_0', 'int8')

FUNCTIONS = '''
function set(address) {
  history.replaceState(null, '', address);
  dispatchEvent(new HashChangeEvent('hashchange'));
}
function read() {
  const heads = Array.from(document.querySelectorAll('table[data-table=numbers] th')).map(head => head.dataset.key);
  const rows = Array.from(document.querySelectorAll('table[data-table=numbers] tbody tr'));
  return Object.fromEntries(rows.map(row => [row.cells[0].textContent,
    Object.fromEntries(heads.map((key, i) => [key, row.cells[i].textContent]))]));
}
'''
SET = FUNCTIONS + 'set(arguments[0]);'
READ = FUNCTIONS + 'return read();'
READ_AT = FUNCTIONS + 'return arguments[0].map(address => { set(address); return read(); });'


def run(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)


def number(text):
    return None if text == '-' else Fraction(text.replace(',', ''))


def read_json(text):
    return json.loads(text, parse_float=Fraction, parse_int=Fraction)


class Explorer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.page = f'{cls.folder.name}/explorer.html'
        subprocess.run([PROGRAM, 'explore', '-o', cls.page], check=True, stdout=subprocess.DEVNULL)
        with open(cls.page, encoding='utf-8') as file:
            text = file.read()
        cls.size = len(text.encode())
        cls.data = json.loads(text.split('id="data">')[1].split('</script>')[0])
        cls.browser = browser.Browser()
        if KEPT:
            shutil.copy(cls.page, KEPT)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def setting(self, rng, variant):
        """Symbols of a variant with values; most divide, some don't, some aren't given."""
        heads, width = rng.choice([1, 2, 3, 8, 12, 32, 96]), rng.choice([4, 64, 100, 128])
        values = {'n_heads': heads, 'd_model': heads * width, 'n_layers': rng.randint(1, 130),
                  'batch': rng.randint(1, 4096), 'seq': rng.choice([1, 100, 8192, 1 << 20, 10 ** 12])}
        if rng.random() < .1:
            values['d_model'] += 1
        if rng.random() < .5:
            values['n_kv_heads'] = rng.choice([k for k in range(1, heads + 1) if heads % k == 0])
        if rng.random() < .5:
            values['d_head'] = rng.choice([1, 16, 96, 128, 10 ** 6])
        if rng.random() < .5:
            values['d_value'] = rng.choice([1, 64, 256])
        for name in variant['symbols']:
            if rng.random() < .97 and name not in STANDARD:
                values[name] = rng.choice([1, 2, 4, 16, 64, 128, 512, 1536, 4096])
        for name, on, _ in variant['options']:
            if rng.random() < .25:
                values[name] = 1 - on
        return values

    @staticmethod
    def address(variant, values, per, dtype):
        options = {name for name, _, _ in variant['options']}
        own = [f'{variant["name"]}.{name}={value}' if name in options else f'{name}={value}'
               for name, value in values.items()]
        follow = [f'{name}=follows' for name in ('n_kv_heads', 'd_head', 'd_value') if name not in values]
        none = [f'{name}=' for name in variant['symbols'] if name not in values and name not in STANDARD]
        return '#' + '&'.join([f'v={variant["name"]}', f'per={per}', f'dtype={dtype}', *own, *follow, *none])

    def totals(self, command, variant, values, per, *more):
        """Of the command's last row; None where the command refuses."""
        options = {name for name, _, _ in variant['options']}
        words = [word for name, value in values.items() if name not in options for word in ('--set', f'{name}={value}')]
        changed = ','.join(f'{name}={str(value == 1).lower()}' for name, value in values.items() if name in options)
        result = run(command, variant['name'] + (':' if changed else '') + changed, *words, '--basis', f'per={per}', '-f', 'json', *more)
        if result.returncode == 2:
            return None, result.stderr
        self.assertEqual(result.returncode, 0, result.stderr)
        table = read_json(result.stdout)['tables'][0]
        return (table['rows'] + table['totals'])[-1], ''

    def check(self, page, key, row, other, where):
        expected = row and row[other]
        self.assertEqual(number(page[key]), expected, (key, *where))
        return expected is not None

    def shown(self, settings):
        """Rows of the page at each of them; many in one call, and nothing is drawn."""
        rows, addresses = [], [self.address(*setting) for setting in settings]
        self.browser.open(self.page, browser.WIDE)
        self.browser.run('document.body.hidden = true')
        for i in range(0, len(addresses), 20):
            rows += self.browser.run(READ_AT, addresses[i:i + 20])
        return [row[variant['name']] for row, (variant, *_) in zip(rows, settings, strict=True)]

    def test_numbers_are_those_of_the_commands(self):
        rng, n, n_refused, settings = random.Random(16), 0, 0, []
        for _ in range(N_SETTINGS):
            for variant in rng.sample(self.data['variants'], N_VARIANTS):
                settings.append((variant, self.setting(rng, variant), rng.choice(['model', 'module']), rng.choice(DTYPES)))
        for i, ((variant, values, per, dtype), page) in enumerate(zip(settings, self.shown(settings))):
            count, why = self.totals('count', variant, values, per)
            where = (variant['name'], values, per, dtype, why)
            n += self.check(page, 'parameters', count, 'parameters', where)
            cache, why = self.totals('cache', variant, values, per, '--dtype', dtype)
            where = (*where, why)
            n += self.check(page, 'cache_bytes', cache, 'bytes', where)
            if cache:
                self.check(page, 'cache', cache, 'elements_per_token', where)
                self.check(page, 'cache_bytes_per_token', cache, 'bytes_per_token', where)
            if i // N_VARIANTS % 10 == 0:
                words = {name: value for name, value in values.items() if name not in ('seq', 'batch')}
                flops, why = self.totals('sweep', variant, words, per, '--measure', 'flops',
                                         '--over', f'seq={values["seq"]}', '--batch', str(values['batch']))
                n += self.check(page, 'flops', flops, 'flops', (*where, why))
            n_refused += count is None
        self.assertGreater(n, N_SETTINGS * N_VARIANTS)
        self.assertGreater(n_refused, 10)

    def test_begins_where_the_answer_says(self):
        one, page = self.browser, f'{self.folder.name}/other.html'
        for words in ([], ['deepseek-v3', '--seq', '128k'], ['mixtral-8x22b', '--batch', '3', '--dtype', 'q8_0'],
                      ['gpt2', '--basis', 'output_projection=full', '--basis', 'biases=true'],
                      ['qwen3-8b', '--basis', 'roles=query,key', '--basis', 'per=module'],
                      ['bert-base', '--basis', 'tensors=matrices', '--basis', 'output_projection=none']):
            with self.subTest(words):
                answer = read_json(run('explore', *words, '-o', page, '-f', 'json').stdout)
                one.open(page, browser.WIDE)
                one.click('#all')
                rows = one.run(READ)
                self.assertEqual(len(rows), len(answer['tables'][0]['rows']))
                self.assertEqual(len(rows), len(self.data['variants']))
                for row in answer['tables'][0]['rows']:
                    for key in ('parameters', 'cache', 'cache_bytes', 'flops'):
                        self.assertEqual(number(rows[row['variant']][key]), row[key], (row['variant'], key))

    def test_is_small_and_names_no_other_place(self):
        self.assertLess(self.size, 150000)
        with open(self.page, encoding='utf-8') as file:
            text = file.read()
        head = text.split('<body>')[0]
        self.assertIn("default-src 'none'", head)
        self.assertNotIn('unsafe', head)
        for word in (' src=', ' href=', '@import', 'url(', 'fetch(', 'XMLHttpRequest', 'style="'):
            self.assertNotIn(word, text)

    def test_by_hand(self):
        """By keys and clicks: fields, sliders, ticks and their effects; the address keeps it all."""
        one = self.browser
        one.open(self.page, browser.WIDE)
        field = one.find('#n-n_layers')
        one.call('POST', f'/element/{field}/clear')
        one.call('POST', f'/element/{field}/value', {'text': '7'})
        self.assertEqual(one.run(READ)['mha']['parameters'], '469,762,048')
        one.run('document.querySelector("#n-n_heads").closest(".control").querySelector("[type=range]").focus()')
        one.press('\ue014')
        self.assertEqual(one.run('return document.querySelector("#n-n_heads").value'), '40')
        self.assertEqual(one.run(READ)['mha']['parameters'], '-')
        self.assertIn('d_model/n_heads = 512/5 is not a whole number',
                      one.run('return document.querySelector("#problems").textContent'))
        one.press('\ue012')
        one.click('#variants input[value=skv]')
        self.assertEqual(one.run(READ)['skv']['parameters'], '352,321,536')
        self.assertEqual(one.run('return document.querySelector("#which").value'), 'skv')
        one.click('#variants input[value=gqa]')
        self.assertNotIn('gqa', one.run(READ))
        one.click('#options input[value=biases]')
        self.assertEqual(one.run(READ)['skv']['parameters'], '352,407,552')
        one.wait_until('location.hash.includes("skv.biases=1")')
        rows, address = one.run(READ), one.run('return location.href')
        one.call('POST', '/url', {'url': 'about:blank'})
        one.call('POST', '/url', {'url': address})
        self.assertEqual(one.run(READ), rows)

    def test_links_that_make_no_sense(self):
        one = self.browser
        one.open(self.page, browser.WIDE)
        given = one.run(READ)
        one.run(SET, '#v=mha,gqa,mqa,mla&d_model=-1&nothing=3&per=row&%zz&x')
        self.assertEqual(one.run(READ), given)
        said = one.run('return document.querySelector("#problems").textContent')
        self.assertEqual(said, 'left out of the link: d_model=-1, nothing=3, per=row, %zz, x')
        for text in ('', '1.5', '-3', '1e400', '99999999999999999999'):
            one.run('''
const field = document.querySelector('#n-seq');
field.value = arguments[0];
field.dispatchEvent(new Event('input'));''', text)
            self.assertEqual(one.run(READ)['mha']['cache_bytes'], '-')
            self.assertIn('symbol "seq" is not set',
                          one.run('return document.querySelector("#problems").textContent'))

    def test_reads_well(self):
        one = self.browser
        for width in (browser.WIDE, browser.PHONE):
            for name, address in (('start', ''), ('all', '#v=' + ','.join(v['name'] for v in self.data['variants']))):
                one.call('POST', '/url', {'url': 'about:blank'})
                one.open(self.page + address, width)
                browser.check_reads_well(self, one, f'explorer-{name}', width)

    def test_is_quiet(self):
        one = self.browser
        one.log('browser')
        one.log('performance')
        one.open(self.page, browser.WIDE)
        one.click('#all')
        time.sleep(.5)
        self.assertEqual(one.log('browser'), [])
        events = [json.loads(entry['message'])['message'] for entry in one.log('performance')]
        urls = {event['params']['request']['url'] for event in events if event['method'] == 'Network.requestWillBeSent'}
        self.assertEqual(urls, {'file://' + self.page})

    def test_without_script(self):
        one = self.browser
        one.call('POST', '/goog/cdp/execute', {'cmd': 'Emulation.setScriptExecutionDisabled', 'params': {'value': True}})
        one.open(self.page, browser.WIDE)
        one.call('POST', '/goog/cdp/execute', {'cmd': 'Emulation.setScriptExecutionDisabled', 'params': {'value': False}})
        text = one.run('return document.body.innerText')
        self.assertIn('without JavaScript you see the formulas below', text)
        self.assertIn('4*d_head*d_model*n_heads', text)
        self.assertNotIn('Settings', text)

    def test_a_file_adds_its_variant(self):
        one, own = self.browser, f'{self.folder.name}/own.json'
        variant = json.loads(run('list', 'variants', '--source', 'skv').stdout)
        variant['name'], variant['title'] = 'mine', 'Mine </script><b>&'
        with open(own, 'w', encoding='utf-8') as file:
            json.dump(variant, file)
        page = f'{self.folder.name}/mine.html'
        result = run('explore', 'gpt2', '--variant', own, '--variant', 'gqa:n_kv_heads=4,biases=true', '-o', page)
        self.assertEqual(result.returncode, 0, result.stderr)
        one.open(page, browser.WIDE)
        rows = one.run(READ)
        self.assertEqual(rows['mine']['parameters'], '21,233,664')
        self.assertEqual(rows['gqa:n_kv_heads=4,biases=true']['cache'], '6,144')
        self.assertEqual(one.run('return document.querySelectorAll("main b").length'), 0)
        one.click('#variants input[value=mine]')
        one.wait_until('location.hash !== ""')
        rows, address = one.run(READ), one.run('return location.href')
        self.assertEqual(list(rows), ['gqa:n_kv_heads=4,biases=true'])
        one.call('POST', '/url', {'url': 'about:blank'})
        one.call('POST', '/url', {'url': address})
        self.assertEqual(one.run(READ), rows)


if __name__ == '__main__':
    if not shutil.which('chromium') or not shutil.which('chromedriver'):
        print('skipped: no chromium with chromedriver')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
