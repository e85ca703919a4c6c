"""A page in headless Chromium, by chromedriver's plain HTTP: it sorts by click and key, switches between light and
dark, chooses heads, has readable contrast, says nothing on the console and requests nothing.

    browser.py ATTNLEDGER [FOLDER]   FOLDER: keeps the pages and pictures of them

Exits with 77 (skipped) where there is no chromium or no chromedriver.
"""
import base64
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import models  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
KEPT = sys.argv[2] if len(sys.argv) > 2 else None
ELEMENT = 'element-6066-11e4-a52e-4f735466cecf'
WIDE, PHONE = 1200, 390
PATIENCE = 60
BACKGROUND = 'return getComputedStyle(document.body).backgroundColor'
BACKGROUNDS = {'light': 'rgb(255, 255, 255)', 'dark': 'rgb(15, 19, 23)'}

# Every text that is seen, its color on the nearest background that isn't transparent: WCAG 2.1's contrast.
CONTRASTS = '''
const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const known = new Map();
function rgba(color) {
  if (known.has(color)) return known.get(color);
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = color;
  canvas.fillRect(0, 0, 1, 1);
  known.set(color, canvas.getImageData(0, 0, 1, 1).data);
  return known.get(color);
}
function luminance(color) {
  const part = [0.2126, 0.7152, 0.0722];
  return part.reduce((sum, weight, i) => {
    const c = color[i] / 255;
    return sum + weight * (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  }, 0);
}
function background(element) {
  const square = element.classList.contains('letter') && element.previousElementSibling;
  if (square) return getComputedStyle(square).fill;
  if (element.parentNode.classList.contains('best'))
    return getComputedStyle(element.previousElementSibling).fill;
  for (let e = element; e; e = e.parentElement) {
    const color = getComputedStyle(e).backgroundColor;
    if (rgba(color)[3] === 255) return color;
  }
  return 'white';
}
const seen = {};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || element.closest('script,style,title') || !element.getClientRects().length)
    continue;
  const style = getComputedStyle(element);
  const color = element instanceof SVGElement ? style.fill : style.color;
  const on = background(element), a = luminance(rgba(color)), b = luminance(rgba(on));
  seen[color + ' on ' + on] = [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), element.outerHTML.slice(0, 80)];
}
return seen;
'''

# Boxes of texts in a picture that overlap, and anything wider than the page.
COLLISIONS = '''
const found = [];
for (const svg of document.querySelectorAll('svg')) {
  const texts = Array.from(svg.querySelectorAll('text:not(.letter)')).filter(t => t.textContent.trim());
  if (texts.length > 400) continue;
  const boxes = texts.map(t => t.getBoundingClientRect());
  for (let i = 0; i < boxes.length; i++)
    for (let k = 0; k < i; k++)
      if (boxes[i].left < boxes[k].right - 1 && boxes[k].left < boxes[i].right - 1
          && boxes[i].top < boxes[k].bottom - 3 && boxes[k].top < boxes[i].bottom - 3)
        found.push(texts[i].textContent + ' on ' + texts[k].textContent);
}
if (document.documentElement.scrollWidth > innerWidth) found.push('wider than the page');
return found;
'''


class Browser:
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # Chromium leaves files in it
        self.driver = subprocess.Popen(['chromedriver', '--port=0'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                       text=True, env={**os.environ, 'TMPDIR': self.folder.name})
        for line in self.driver.stdout:
            if 'started successfully on port' in line:
                self.url = 'http://127.0.0.1:' + line.split('port')[1].strip(' .\n')
                break
        arguments = ['--headless=new', '--incognito', '--disable-ipc-flooding-protection', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--disable-dev-shm-usage']
        options = {'goog:chromeOptions': {'args': arguments},
                   'goog:loggingPrefs': {'browser': 'ALL', 'performance': 'ALL'}}
        answer = self.call('POST', '/session', {'capabilities': {'alwaysMatch': options}})
        self.url += '/session/' + answer['sessionId']

    def close(self):
        self.call('DELETE', '')
        self.driver.terminate()
        self.driver.wait()
        self.driver.stdout.close()
        self.folder.cleanup()

    def call(self, method, path, body=None):
        data = None if method in ('GET', 'DELETE') else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.url + path, data, {'Content-Type': 'application/json'}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)['value']
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from error

    def emulate(self, media='', scheme='light'):
        self.call('POST', '/goog/cdp/execute', {'cmd': 'Emulation.setEmulatedMedia', 'params': {
            'media': media, 'features': [{'name': 'prefers-color-scheme', 'value': scheme}]}})

    def open(self, path, width, scheme='light'):
        self.emulate(scheme=scheme)
        self.call('POST', '/goog/cdp/execute', {'cmd': 'Emulation.setDeviceMetricsOverride', 'params': {
            'width': width, 'height': 900, 'deviceScaleFactor': 1, 'mobile': width < 600}})
        self.call('POST', '/url', {'url': 'file://' + path})

    def run(self, script, *args):
        return self.call('POST', '/execute/sync', {'script': script, 'args': args})

    def wait_until(self, condition):
        begin = time.monotonic()
        while not self.run('return ' + condition):
            if time.monotonic() > begin + PATIENCE:
                raise AssertionError(f'{condition} does not become true')
            time.sleep(.02)

    def find(self, selector):
        return self.call('POST', '/element', {'using': 'css selector', 'value': selector})[ELEMENT]

    def click(self, selector):
        self.call('POST', f'/element/{self.find(selector)}/click')

    def press(self, keys):
        for key in keys:
            actions = [{'type': 'keyDown', 'value': key}, {'type': 'keyUp', 'value': key}]
            self.call('POST', '/actions', {'actions': [{'type': 'key', 'id': 'keys', 'actions': actions}]})

    def picture(self, path):
        shot = self.call('POST', '/goog/cdp/execute', {'cmd': 'Page.captureScreenshot', 'params': {
            'captureBeyondViewport': True}})
        with open(path, 'wb') as file:
            file.write(base64.b64decode(shot['data']))

    def log(self, kind):
        return self.call('POST', '/se/log', {'type': kind})


def check_reads_well(test, browser, name, width):
    """On light and dark every text of the open page has contrast, none overlaps another, nothing is wider than the
    page; `name` and `width` name its pictures."""
    for scheme, background in BACKGROUNDS.items():
        with test.subTest(name, width=width, scheme=scheme):
            browser.emulate(scheme=scheme)
            test.assertEqual(browser.run(BACKGROUND), background)
            seen = browser.run(CONTRASTS)
            test.assertGreater(len(seen), 3)
            test.assertEqual({k: v for k, v in seen.items() if v[0] < 4.5}, {})
            test.assertEqual(browser.run(COLLISIONS), [])
            if KEPT:
                browser.picture(f'{KEPT}/{name}-{width}-{scheme}.png')


def record(folder):
    """A model that runs and its calibration."""
    model, tokens, recorded = f'{folder}/m.bin', f'{folder}/tokens', f'{folder}/recorded'
    models.write_running(model, layers=4, heads=8)
    with open(tokens, 'w', encoding='ascii') as out:
        out.write('1 5 3 7 2 9 4 6\n1 4 4 2 8 3 3 5\n1 6 2 9 9 4 7 8\n')
    subprocess.run([PROGRAM, 'calibrate', model, '--tokens', tokens, '-o', recorded], check=True, stdout=subprocess.DEVNULL)
    return model, '--calibration', recorded


def make_pages(folder):
    """By name, audits with copies, without, with keys that groups share, with a module that is left out, on tokens."""
    recorded = record(folder)
    commands = {
        'tokens': ['audit', *recorded],
        'copies': ['audit', 'tests/data/twins.safetensors', '--heads', '6:2'],
        'many': ['audit', models.write(f'{folder}/model', 12, 12, 4, broken=5, silent=7)],
    }
    for name, words in commands.items():
        subprocess.run([PROGRAM, *words, '--report', f'{folder}/{name}.html'], check=True, stdout=subprocess.DEVNULL)
    return {name: f'{folder}/{name}.html' for name in commands}


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.pages = make_pages(cls.folder.name)
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def column(self, browser, table, key):
        return browser.run('''
const table = document.querySelector(`table[data-table=${arguments[0]}]`);
const heads = Array.from(table.querySelectorAll('th')).map(head => head.dataset.key);
return Array.from(table.tBodies[0].rows).map(row => row.cells[heads.indexOf(arguments[1])].textContent.trim());
''', table, key)

    def test_sorts(self):
        browser = self.browser
        browser.open(self.pages['copies'], WIDE)
        browser.run('document.querySelectorAll("details").forEach(part => { part.open = true; })')
        given = self.column(browser, 'map', 'qk_norm')
        rising = sorted(given, key=float)
        head = 'table[data-table=map] th[data-key=qk_norm]'
        self.assertNotEqual(given, rising)
        browser.click(head + ' button')
        self.assertEqual(self.column(browser, 'map', 'qk_norm'), rising)
        self.assertEqual(browser.run('return document.querySelector(arguments[0]).ariaSort', head), 'ascending')
        browser.press('\ue007')
        self.assertEqual(self.column(browser, 'map', 'qk_norm'), rising[::-1])
        self.assertEqual(browser.run('return document.querySelector(arguments[0]).ariaSort', head), 'descending')
        browser.press(' ')
        self.assertEqual(self.column(browser, 'map', 'qk_norm'), rising)

    def test_chooses_heads(self):
        browser = self.browser
        title = 'return document.querySelector("#head h3").textContent'
        browser.open(self.pages['copies'], WIDE)
        self.assertEqual(browser.run(title), 'layers.0, head 0')
        browser.click('#map g:nth-of-type(2) .head:nth-of-type(3) rect')
        self.assertEqual(browser.run(title), 'layers.1, head 2')
        browser.press('\ue014\ue015')
        self.assertEqual(browser.run(title), 'layers.2, head 3')
        browser.press('\ue011\ue013\ue012')
        self.assertEqual(browser.run(title), 'layers.1, head 0')
        browser.press('\ue010')
        self.assertEqual(browser.run(title), 'layers.1, head 5')
        shown = browser.run('return document.querySelector("#head").textContent')
        row = browser.run('return document.querySelector("tr.chosen").textContent')
        self.assertEqual(row[:9], 'layers.15')
        self.assertIn(self.column(browser, 'map', 'qk_norm')[11], shown)

    def test_light_and_dark(self):
        browser = self.browser
        for scheme, other in (('light', 'dark'), ('dark', 'light')):
            browser.open(self.pages['copies'], WIDE, scheme)
            self.assertEqual(browser.run(BACKGROUND), BACKGROUNDS[scheme])
            browser.click('#theme')
            self.assertEqual(browser.run(BACKGROUND), BACKGROUNDS[other])
            browser.press('\ue007')
            self.assertEqual(browser.run(BACKGROUND), BACKGROUNDS[scheme])

    def test_reads_well(self):
        browser = self.browser
        for (name, path), width in itertools.product(self.pages.items(), (WIDE, PHONE)):
            browser.open(path, width)
            browser.run('document.querySelectorAll("details").forEach(part => { part.open = true; })')
            check_reads_well(self, browser, name, width)

    def test_is_quiet(self):
        browser = self.browser
        browser.log('browser')
        browser.log('performance')
        for path in self.pages.values():
            browser.open(path, WIDE)
            time.sleep(.2)
        self.assertEqual(browser.log('browser'), [])
        events = [json.loads(entry['message'])['message'] for entry in browser.log('performance')]
        urls = {event['params']['request']['url'] for event in events if event['method'] == 'Network.requestWillBeSent'}
        self.assertEqual(urls, {'file://' + path for path in self.pages.values()})

    def test_prints(self):
        """Paper has the headings of tables, and not the screen's controls."""
        browser = self.browser
        shown = 'return [...document.querySelectorAll(arguments[0])].filter(e => e.getClientRects().length).length'
        browser.open(self.pages['copies'], WIDE)
        heads, others = 'table[data-table=redundant] th button', '#theme, .copy'
        for media, has_others in (('print', False), ('', True)):
            browser.emulate(media)
            self.assertGreater(browser.run(shown, heads), 3)
            self.assertEqual(browser.run(shown, others) > 0, has_others)

    def test_without_script(self):
        browser = self.browser
        browser.call('POST', '/goog/cdp/execute', {'cmd': 'Emulation.setScriptExecutionDisabled',
                                                   'params': {'value': True}})
        browser.open(self.pages['copies'], WIDE)
        browser.call('POST', '/goog/cdp/execute', {'cmd': 'Emulation.setScriptExecutionDisabled',
                                                   'params': {'value': False}})
        self.assertEqual(browser.run('return document.querySelectorAll("button:not([hidden])").length'), 0)
        self.assertIn('Which heads are alike', browser.run('return document.body.innerText'))


if __name__ == '__main__':
    if not shutil.which('chromium') or not shutil.which('chromedriver'):
        print('skipped: no chromium with chromedriver')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
