"""Pages of answers, read back: numbers equal the JSON's at their digits, each of a sentence, tile or bar names its cell or
itself, the command that a page names writes it again, a stranger's text is text, a target that can't be written stays
as it was.

    pages.py ATTNLEDGER
"""
import base64
import html
import html.parser
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import models  # noqa: E402

PROGRAM = os.path.abspath(sys.argv.pop(1))
TWINS = ['tests/data/twins.safetensors', '--heads', '6:2']
BERT = ['tests/data/small-bert.safetensors', '--heads', '3']


class Page(html.parser.HTMLParser):
    """Tables as (id, keys, rows of texts); elements and attributes as they are seen."""

    def __init__(self, path=None, raw=None):
        super().__init__()
        self.tables, self.seen, self.texts, self.inside = [], [], [], None
        self.values, self.value = [], None  # of sentences, tiles and bars: attributes of <data>, the number as it is shown
        if raw is None:
            with open(path, encoding='utf-8') as file:
                raw = file.read()
        self.raw = raw
        self.feed(raw)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.seen.append((tag, attributes))
        if tag == 'table':
            self.tables.append((attributes.get('data-table'), [], []))
        elif tag == 'th':
            self.tables[-1][1].append(attributes.get('data-key'))
        elif tag == 'tr':
            self.tables[-1][2].append([])
        elif tag == 'td':
            self.tables[-1][2][-1].append('')
        self.inside = tag
        self.value = attributes if tag == 'data' else None

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        self.texts.append((self.inside, data))
        if self.value is not None:
            self.values.append((self.value, data))
            self.value = None
        if self.inside == 'td':
            self.tables[-1][2][-1][-1] += data.rstrip('\n')

    def prose(self):
        """What answers, without its values: the sentence, tiles, advice, and numbers of bars."""
        parts = [r'<p class="lead">(.*?)</p>', r'<div class="tiles">(.*?)</div>\n', r'<div><span>[^<]*</span><span>(.*?)</span>',
                 r'<p>([^\n]*)</p>\n<div class="command">']
        for part in parts:
            for found in re.findall(part, self.raw, re.DOTALL):
                yield html.unescape(re.sub('<[^>]*>', '', re.sub('<data .*?</data>', '', found)))

    def rows(self, table):
        found = [(keys, rows) for name, keys, rows in self.tables if name == table]
        return [dict(zip(keys, row)) for keys, rows in found for row in rows if row]


def run(*words, **options):
    return subprocess.run([PROGRAM, *words], capture_output=True, check=False, **options)


class Pages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.file = f'{self.folder.name}/page.html'

    def tearDown(self):
        self.folder.cleanup()

    def answer(self, *words):
        result = run('audit', *words, '--report', self.file, '-f', 'json')
        self.assertEqual((result.returncode, result.stderr), (0, b''))
        self.json, self.words = json.loads(result.stdout), words
        return Page(self.file), {table['id']: table['rows'] + table['totals'] for table in self.json['tables']}

    def cosines(self):
        """Of all pairs of the heads that `answer` asked about."""
        pairs = run('audit', *self.words, '--only', 'cosines', '-f', 'json')
        return json.loads(pairs.stdout)['tables'][0]['rows']

    def same(self, text, number, where):
        """The number, rounded to the text's digits."""
        if number is None:
            self.assertEqual(text, '-', where)
        elif isinstance(number, str):
            self.assertEqual(text, number, where)
        else:
            text = text.replace(',', '')
            digits = len(text.partition('.')[2])
            self.assertLessEqual(abs(float(text) - number), .5 * 10 ** -digits + 1e-9 * max(1, abs(number)), where)

    def compare(self, page, table, rows, keys):
        """All rows of a table of the page, in columns that the answer has too."""
        by_key = {tuple(str(row[key]) for key in keys): row for row in rows}
        found = page.rows(table)
        for row in found:
            expected = by_key[tuple(row[key] for key in keys)]
            for key, text in row.items():
                if key in expected:
                    self.same(text, expected[key], (table, row, key))
        return len(found)

    def shows(self, text, value, unit):
        """The text of a value: a name, or the number at its digits and in its unit."""
        found = re.fullmatch(r'(-?[\d,.]+(?:e-\d+)?)(?: (%|B|[KMGT]iB))?', text)
        if not found or value == text:
            return
        number, shown = found.groups()
        scale = {'KiB': 2**10, 'MiB': 2**20, 'GiB': 2**30, 'TiB': 2**40, '%': 1 if unit == '%' else .01}.get(shown, 1)
        digits = len(number.partition('e')[0].partition('.')[2])
        if 'e' not in number:
            self.assertLessEqual(abs(float(number.replace(',', '')) - float(value) / scale),
                                 .51 * 10 ** -digits, (text, value, unit))

    def compare_values(self, page, answer, tables):
        """No number is without a value; those of the sentence are the answer's, others the cell that they name or
        themselves, with a name and the same number wherever it is."""
        for prose in page.prose():
            self.assertNotRegex(prose, r'\d')
        values = answer['answer']['values']
        self.assertEqual([text for _, text in page.values[:len(values)]], [value['text'] for value in values])
        typed = {}
        for value, (attributes, _) in zip(values, page.values):
            exact = value['value']
            self.assertEqual(attributes['value'] if isinstance(exact, str) else float(attributes['value']), exact)
        for attributes, text in page.values:
            if 'value' in attributes:
                is_share = attributes.get('data-cell', '').endswith('/redundancy')  # "24 - 37 %"
                self.shows(text + ' %' * is_share, attributes['value'], attributes.get('data-unit'))
            if 'data-cell' not in attributes:
                named = attributes['data-name'], attributes.get('data-unit')
                if named[0] in ('heads', 'removable', 'copies', 'silent', 'dropped', 'refitted'):
                    self.assertEqual(typed.setdefault(named, attributes['value']), attributes['value'], named)
        for attributes, text in page.values[len(values):]:
            if 'data-cell' not in attributes:
                continue
            table, row, key = attributes['data-cell'].split('/')
            if table in tables:
                cell = tables[table][int(row)][key]
            else:  # the page's own
                cell = float(page.rows(table)[int(row)][key])
            if 'value' not in attributes:
                self.same(text, cell, attributes)
            elif isinstance(cell, str):
                self.assertEqual(attributes['value'], cell)
            else:
                self.assertAlmostEqual(float(attributes['value']), cell, delta=.05 if table not in tables else 0)
        return typed

    def compare_bars(self, page, tables):
        """Bars are as long as their numbers."""
        lengths = [float(a['width'].rstrip('%')) for _, a in page.seen if a.get('class') == 'bar']
        bars = [a['data-cell'].split('/') for tag, a in page.seen
                if tag == 'data' and 'value' not in a and 'independent' not in a['data-cell']]
        numbers = [tables[table][int(row)][key] for table, row, key in bars]
        self.assertEqual(len(lengths), len(numbers))
        for length, number in zip(lengths, numbers):
            self.assertAlmostEqual(length * numbers[0], number * lengths[0], delta=.02 * (numbers[0] + number))

    def compare_neighbors(self, page):
        """The nearest head is one of the likest, and its cosines are those of the pair."""
        pairs = {}
        for row in self.cosines():
            for a, b in ((row['head_a'], row['head_b']), (row['head_b'], row['head_a'])):
                pairs.setdefault((row['module'], str(a)), {})[str(b)] = (row['qk_cosine'], row['ov_cosine'])

        def likeness(cosines):
            known = [c for c in (cosines[0], None if cosines[1] is None else abs(cosines[1])) if c is not None]
            return min(known)

        for row in page.rows('map'):
            own = pairs[row['module'], row['head']]
            nearest = own[row['nearest']]
            self.same(row['qk_cosine'], nearest[0], row)
            self.same(row['ov_cosine'], nearest[1], row)
            self.assertEqual(likeness(nearest), max(likeness(c) for c in own.values()))
            for text in row['next'].split('; ') if row['next'] != '-' else []:
                head, _, cosines = text.partition(' (')
                for cosine, number in zip(cosines.rstrip(')').split(', '), own[head]):
                    self.same(cosine, number, row)

    def compare_doings(self, page, tables):
        """Heads that do the same on tokens have one color, which the legend has; their nearest heads are those of the
        table `drop`, and no other: the next ones are less alike."""
        names = ['itself', 'previous token', 'first token', 'same token', 'induction']
        colors = [a['class'] for tag, a in page.seen if tag == 'rect' and re.fullmatch('[bs][0-9]', a.get('class', ''))]
        said = [row['doing'] and row['doing'].rpartition(' ')[0] for row in tables['drop']]
        expected = [f'b{names.index(name)}' if name else 's0' for name in said]
        self.assertEqual(colors[:len(said)], expected)
        self.assertEqual(sorted(colors[len(said):]), sorted(set(expected)))
        pairs = {}
        for row in self.cosines():
            for a, b in ((row['head_a'], row['head_b']), (row['head_b'], row['head_a'])):
                pairs[row['module'], str(a), str(b)] = row['logit_correlation'], row['output_cka']
        for row in page.rows('map'):
            self.assertEqual([key for key in row if 'cosine' in key or key == 'nearest'], [])
            nearest = pairs[row['module'], row['head'], row['alike']]
            for text, number in zip((row['logit_correlation'], row['output_cka']), nearest):
                self.same(text, number, row)
            for text in row['next'].split('; ') if row['next'] != '-' else []:
                head, _, numbers = text.partition(' (')
                own = pairs[row['module'], row['head'], head]
                self.assertLessEqual(sum(own), sum(nearest))
                for shown, number in zip(numbers.rstrip(')').split(', '), own):
                    self.same(shown, number, row)

    def compare_conversions(self, page, tables):
        """Over all modules: the largest error, and the total saving."""
        totals = {}
        for row in tables['conversion']:
            totals.setdefault((row['variant'], row['setting'], row['gauge']), []).append(row)
        shown = page.rows('conversions')
        self.assertEqual(len(shown), len(totals))
        for text, rows in zip(shown, totals.values()):
            self.assertEqual(text['variant'], rows[0]['variant'])
            for key in ('qk_relative_error', 'ov_relative_error'):
                errors = [row[key] for row in rows if row[key] is not None]
                self.same(text[key], max(errors) if errors else None, text)
            self.same(text['cache_saving'], sum(row['cache_saving'] for row in rows) / len(rows), text)
        for row in page.rows('best'):
            row.pop('circle')
            self.assertIn(row, shown)

    def test_numbers(self):
        for words in (TWINS, BERT, ['tests/data/tiny-llama.gguf']):
            with self.subTest(words):
                page, tables = self.answer(*words)
                self.assertEqual(self.compare(page, 'map', tables['heads'], ['module', 'head']), len(tables['heads']))
                self.assertEqual(self.compare(page, 'layers', tables['layers'], ['module']), len(tables['layers']))
                self.assertEqual(self.compare(page, 'redundant', tables['redundant'], ['module', 'head']),
                                 len(tables['redundant']))
                self.compare(page, 'similarity', tables['similarity'], ['module_a', 'head_a', 'module_b', 'head_b'])
                self.compare(page, 'summary', tables['summary'], ['item', 'value'])
                self.compare_tiles(page, tables)
                self.compare_bars(page, tables)
                self.compare_neighbors(page)
                self.compare_conversions(page, tables)

    def compare_tiles(self, page, tables):
        typed = self.compare_values(page, self.json, tables)
        twins = [row for row in tables['redundant'] if row['twin'] is not None]
        counts = {'heads': tables['heads'], 'removable': tables['redundant'], 'copies': twins,
                  'silent': [row for row in tables['redundant'] if row['twin'] is None]}
        for (name, unit), value in typed.items():
            self.assertEqual((int(value), unit), (len(counts[name]), None), name)
        self.assertLessEqual({'heads', 'removable', 'copies', 'silent'}, {name for name, _ in typed})

    def test_other_answers(self):
        """Pages of other commands: their tables, row by row, with bars where a table is of parts."""
        variants = ['mha', 'mqa']
        for words, charts in ((['count', 'bert-base'], 1), (['count', 'gpt2', '--variant', 'mha,mqa'], 0),
                              (['cache', 'llama-3-8b', '--seq', '4096'], 1),
                              (['memory', 'gpt2', '--batch', '2', '--seq', '128'], 1),
                              (['fit', 'gpt2', '--solve', 'batch', '--engine', 'vllm', '--device', 'H100'], 0),
                              (['sweep', 'gpt2', '--variant', 'mha,mqa', '--over', 'seq=1k,2k', '--measure', 'cache'], 0)):
            with self.subTest(words):
                result = run(*words, '--report', self.file, '-f', 'json')
                self.assertEqual((result.returncode, result.stderr), (0, b''))
                answer = json.loads(result.stdout)
                page = Page(self.file)
                tables = {table['id']: table['rows'] for table in answer['tables']}
                self.compare_values(page, answer, tables)
                self.compare_bars(page, tables)
                for table in answer['tables']:
                    rows, all_rows = page.rows(table['id']), table['rows'] + table['totals']
                    self.assertEqual(len(rows), len(all_rows))
                    # a total follows the rows that it sums
                    all_rows.sort(key=lambda row: variants.index(row.get('variant')) if 'variant' in row else 0)
                    for found, expected in zip(rows, all_rows):
                        for key, text in found.items():
                            if not isinstance(expected[key], str):
                                self.same(text, expected[key], (words, key))
                    prose = ''.join(text for _, text in page.texts)
                    for note in table['notes']:
                        self.assertIn(note.replace('`', ''), prose)
                self.assertEqual([a.get('class') for tag, a in page.seen if tag == 'figure'].count('bars'), charts)
                pictures = [a for tag, a in page.seen if tag == 'svg' or a.get('class') == 'bar']
                for picture, bar in zip(pictures[::2], pictures[1::2]):
                    self.assertEqual(2 * int(bar['y']) + int(bar['height']), int(picture['height']))
                command = [text for tag, text in page.texts if tag == 'pre']
                self.assertEqual(command, [f'attnledger {" ".join(words)} --report {self.file}'])

    def test_scenario(self):
        """An index of a scenario's tables and figures, whose names are a stranger's."""
        with open('scenarios/example-variants.json', encoding='utf-8') as file:
            scenario = json.load(file)
        scenario['tables'][0]['title'] = '"><script>alert(1)</script>]]>'
        path = f'{self.folder.name}/a"b<i>.json'
        with open(path, 'w', encoding='utf-8') as file:
            json.dump(scenario, file)
        result = run('run', path, '-o', self.folder.name, '--report', self.file, '--no-tables')
        self.assertEqual((result.returncode, result.stderr), (0, b''))
        page, files = Page(self.file), path[:-len('.json')]
        self.assertEqual([tag for tag, _ in page.seen].count('script'), 1)
        self.assertNotIn(']]>', page.raw)
        self.assertEqual([a['id'] for tag, a in page.seen if tag == 'section'], ['a"b<i>', 'made'])
        for table in scenario['tables']:
            with open(f'{files}/{table["id"]}.json', encoding='utf-8') as file:
                rows = json.load(file)['tables'][0]['rows']
            found = page.rows(table['id'])
            self.assertEqual(len(found), len(rows))
            for key in set(rows[0]) & {'saving', 'share'}:
                for text, row in zip(found, rows):
                    self.same(text[key], row[key], (table['id'], key))
        pictures = [a['src'].partition(',')[2] for tag, a in page.seen if tag == 'img']
        for picture, figure in zip(pictures, scenario['figures'], strict=True):
            with open(f'{files}/{figure["id"]}.svg', 'rb') as file:
                self.assertEqual(base64.b64decode(picture), file.read())

    def reproduce(self, *words, cwd=None):
        """The page's command writes the page and all other files once more, byte for byte (but that merge computes
        nothing)."""
        library = re.compile(rb'\n  "computed_with": .*')
        here = cwd or self.folder.name
        before = files_of(self.folder.name)
        result = run(*words, cwd=here)
        self.assertEqual(result.returncode, 0, (words, result.stderr))
        made = {path: path.read_bytes() for path in files_of(self.folder.name) - before}
        page = next(path for path in made if path.suffix == '.html')
        for path in made:
            path.unlink()
        command = [text for tag, text in Page(raw=made[page].decode()).texts if tag == 'pre'][-1]
        again = subprocess.run(['bash', '-c', f'attnledger() {{ "$PROGRAM" "$@"; }}; {command}'], cwd=here, check=False,
                               capture_output=True, env={**os.environ, 'PROGRAM': PROGRAM})
        self.assertEqual(again.returncode, 0, (command, again.stderr))
        once_more = {path: path.read_bytes() for path in files_of(self.folder.name) - before}
        for path in once_more:
            path.unlink()
        self.assertEqual(set(once_more), set(made), command)
        for path, content in made.items():
            self.assertEqual(library.sub(b'', once_more[path]), library.sub(b'', content), (command, path))

    def test_commands_reproduce(self):
        folder = self.folder.name
        twins = f'{folder}/it\'s $HOME "twins".safetensors'
        shutil.copy(TWINS[0], twins)
        shutil.copy(TWINS[0], f'{folder}/-dash.safetensors')
        os.makedirs(f'{folder}/a sub/\x07')
        model, tokens = f'{folder}/m.bin', f'{folder}/tokens'
        models.write_running(model)
        with open(tokens, 'w', encoding='ascii') as out:
            out.write('1 5 3 7 2 9 4 6\n1 4 4 2 8 3 3 5\n')
        run('calibrate', 'm.bin', '--tokens', 'tokens', '-o', 'recorded', cwd=folder)
        page = ['--report', 'a sub/p.html']
        for words in (
                ['count', 'bert-base', *page], ['count', 'gpt2', 'llama-3-8b', '--variant', 'mha,mqa', '-f', 'json', *page],
                ['count', 'gpt2', '--set', 'n_heads=8', '-o', 'a sub/\x07/it\'s.md', '--units', 'si', *page],
                ['count', 'gpt2', '--variant', 'gqa:n_kv_heads=4', '--only', 'count', '-f', 'csv', *page],
                ['cache', 'llama-3-8b', '--seq', '4k', '--engine', 'vllm', '--tp', '2', '-o', 'cache.csv', *page],
                ['memory', 'gpt2', '--train', '--batch', '2', '--seq', '128', '-q', *page],
                ['memory', 'llama-3-8b', '--device', 'H100', '--only', 'bounds', '-o', 'bounds.csv', *page],
                ['fit', 'gpt2', '--solve', 'batch', '--engine', 'vllm', '--device', 'H100', *page], ['fit', 'gpt2', *page],
                ['sweep', 'gpt2', '--over', 'seq=1k,2k', '--measure', 'cache', '--figure', 'curve.svg', *page],
                ['run', os.path.abspath('scenarios/example-variants.json'), '-o', 'a sub/out', *page],
                ['audit', os.path.basename(twins), '--heads', '6:2', '--null', '1', '--seed', '4', *page],
                ['audit', '--heads', '6:2', '--across', '--tables', 'a sub/t', '--figures', 'a sub/f', '--only', 'heads,similarity,curves',
                 '--null', '0', '-o', 'audit.md', *page, '--', '-dash.safetensors'],
                ['audit', 'm.bin', '--calibration', 'recorded', '--tokens', 'tokens', '--sequences', '0:1', '--threads', '1', *page],
                ['audit', 'm.bin', '--only', 'heads,layers', '-f', 'json', *page]):
            with self.subTest(words):
                self.reproduce(*words)

    def test_merged_command_reproduces(self):
        for shard in ('1/2', '2/2'):
            run('audit', *BERT, '--tables', 'x', '--report', 'x.html', '--shard', shard, '--fragment', f'{self.folder.name}/parts')
        path = os.path.relpath(self.folder.name)
        self.reproduce('merge', f'{path}/parts', '--tables', f'{path}/t', '--report', f'{path}/p.html', '-o', f'{path}/all.json',
                       cwd='.')

    def test_threads(self):
        pages = set()
        for threads in ('1', '2', '3'):
            self.answer(*TWINS, '--threads', threads)
            pages.add(Page(self.file).raw)
        self.assertEqual(len(pages), 1)

    def test_names_are_text(self):
        name = 'a<script>alert(1)<|script>]]>&"\'\x07'
        folder = models.write(f'{self.folder.name}/{name}', 2, 4, 4)
        page, _ = self.answer(folder)
        titles = [text for tag, text in page.texts if tag == 'h1']
        self.assertEqual(titles, ['a<script>alert(1)<|script>]]>&"\'\\x07'])
        self.assertEqual([tag for tag, _ in page.seen].count('script'), 1)
        self.assertNotIn('<script>alert', page.raw)
        self.assertNotIn(']]>', page.raw)
        self.assertNotIn('\x07', page.raw)

    def test_nothing_is_requested(self):
        page, _ = self.answer(*TWINS)
        for tag, attributes in page.seen:
            self.assertNotIn(tag, ('img', 'link', 'iframe', 'object', 'embed', 'base', 'form'))
            for key in attributes:
                self.assertFalse(key in ('src', 'href', 'style', 'srcset') or key.startswith('on'), (tag, key))
        policy = [a['content'] for tag, a in page.seen if a.get('http-equiv') == 'Content-Security-Policy']
        self.assertRegex(policy[0], "^default-src 'none'; style-src 'sha256-")
        self.assertNotIn('unsafe', policy[0])

    def test_marks(self):
        page, _ = self.answer(*TWINS)
        marks = [row['mark'] for row in page.rows('map')]
        self.assertEqual(marks[:6], ['A: copies', 'A: copies', '-', '-', '-', '-'])
        self.assertEqual(marks[12:18], ['C: copies', 'D: copies', 'E: copies'] * 2)
        self.assertIn('heads of a group read one key and value', page.raw)
        commands = [text for tag, text in page.texts if tag == 'pre']
        lines = [text.split() for tag, text in page.texts if tag == 'pre' and ' compress ' in text]
        self.assertEqual(lines[0][:7], ['attnledger', 'compress', *TWINS, '--method', 'merge'])
        # Layers 0 and 1 have copies too, but not of all heads that share a key.
        self.assertEqual(set(lines[0][8].split(',')), {'layers.2:3', 'layers.2:4', 'layers.2:5'})
        self.assertEqual(lines[0][9:], ['--calibration', 'DIR', '-o', 'smaller/'])
        self.assertIn('DIR is the folder that attnledger calibrate wrote', page.raw)

    def test_line_to_copy_runs(self):
        page, _ = self.answer(*models_of(self, layers=2, heads=4, silent=3))
        line = next(text for tag, text in page.texts if tag == 'pre' and ' compress ' in text)
        self.assertIn('--method drop --drop layers.0:3 ', line)
        result = run(*line.split()[1:], cwd=self.folder.name)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_data(self):
        folder = self.folder.name
        model, tokens, recorded = f'{folder}/m.bin', f'{folder}/tokens', f'{folder}/recorded'
        models.write_running(model)
        with open(tokens, 'w', encoding='ascii') as out:
            out.write('1 5 3 7 2 9 4 6\n1 4 4 2 8 3 3 5\n1 6 2 9 9 4 7 8\n')
        run('calibrate', model, '--tokens', tokens, '-o', recorded)
        data = ['--calibration', recorded, '--tokens', tokens]
        page, tables = self.answer(model, *data)
        held = {name for name, _, _ in page.tables}
        self.assertLessEqual({'summary', 'layers', 'similarity', 'drop', 'conversions', 'losses', 'frontier'}, held)
        self.assertIn('Removable heads', page.raw)
        for table, keys in ('drop', ['module', 'head']), ('losses', ['module', 'head']), ('frontier', ['method', 'setting']):
            self.assertEqual(self.compare(page, table, tables[table], keys), len(tables[table]))
        self.assertEqual(self.compare(page, 'map', tables['drop'], ['module', 'head']), len(tables['drop']))
        self.compare_doings(page, tables)
        self.compare_values(page, self.json, tables)
        self.compare_bars(page, tables)
        self.assertIn('losses', {a['data-cell'].split('/')[0] for a, _ in page.values if 'data-cell' in a})
        added = [row['loss_increase'] for row in tables['losses']]
        self.assertIn(f'<b><data value="{min(added)}" data-cell="losses/', page.raw)
        lines = [text for tag, text in page.texts if tag == 'pre' and ' compress ' in text]
        self.assertIn('--method drop --drop layers.', lines[0])
        for line in lines:
            result = run(*line.split()[1:], cwd=folder)
            self.assertEqual(result.returncode, 0, result.stderr)
            shutil.rmtree(f'{folder}/smaller')

    def test_calibration(self):
        """Without losses: colors, and conversions by the recorded inputs."""
        folder = self.folder.name
        model, tokens, recorded = f'{folder}/m.bin', f'{folder}/tokens', f'{folder}/recorded'
        models.write_running(model, heads=4)
        with open(tokens, 'w', encoding='ascii') as out:
            out.write('1 5 3 7 2 9 4 6\n1 4 4 2 8 3 3 5\n1 6 2 9 9 4 7 8\n')
        run('calibrate', model, '--tokens', tokens, '-o', recorded)
        page, tables = self.answer(model, '--calibration', recorded)
        self.compare_doings(page, tables)
        self.compare(page, 'similarity', tables['similarity'], ['module_a', 'head_a', 'module_b', 'head_b'])
        self.assertIn('judged by weights as the recorded inputs use them', page.raw)
        self.assertNotIn('judged from weights.', page.raw)
        self.assertIn('the correlation of logits above the diagonal', page.raw)

    def test_no_twins(self):
        page, _ = self.answer(*models_of(self, layers=2, heads=4))
        self.assertIn('No head can be dropped or merged', page.raw)
        self.assertEqual(page.rows('redundant'), [])

    def test_one_head(self):
        page, _ = self.answer(*models_of(self, layers=2, heads=1))
        self.assertEqual(self.cosines(), [])
        self.assertEqual([row['nearest'] for row in page.rows('map')], ['-', '-'])
        self.assertIn('class=unknown', page.raw)

    def test_module_that_is_not_finite(self):
        page, _ = self.answer(*models_of(self, layers=3, heads=4, broken=1))
        self.assertIn('url(#hatch)', page.raw)
        self.assertIn('layers.1 is left out', page.raw)
        self.assertEqual({row['module'] for row in page.rows('map')}, {'layers.0', 'layers.2'})

    def test_sizes(self):
        drawn = ('--null', '1')  # as large as a computed null, and sooner there for many heads
        # half of the 80 layers whose page may take 2 MiB: each takes as much
        for layers, heads, kv_heads, most, more in ((12, 12, 12, 200 << 10, ()), (40, 64, 8, 1 << 20, drawn)):
            with self.subTest(heads):
                folder = models_of(self, layers=layers, heads=heads, width=2, kv_heads=kv_heads)
                result = run('audit', *folder, *more, '--report', self.file, '-o', '/dev/null')
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertLessEqual(os.path.getsize(self.file), most)

    def test_input_is_kept(self):
        folder, = models_of(self, layers=1, heads=2)
        for file in ('model.safetensors', 'config.json'):
            path = f'{folder}/{file}'
            with open(path, 'rb') as whole:
                before = whole.read()
            result = run('audit', folder, '--report', path)
            self.assertEqual((result.returncode, result.stdout), (2, b''))
            with open(path, 'rb') as whole:
                self.assertEqual(whole.read(), before)

    def test_target_that_cannot_be_written(self):
        result = run('audit', *BERT, '--report', f'{self.folder.name}/no/page.html')
        self.assertEqual((result.returncode, result.stdout), (3, b''))
        with open(self.file, 'w', encoding='utf-8') as old:
            old.write('old')
        result = run('audit', *BERT, '--report', self.file,
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
        self.assertEqual((result.returncode, result.stdout), (3, b''))
        with open(self.file, encoding='utf-8') as old:
            self.assertEqual(old.read(), 'old')
        self.assertEqual(os.listdir(self.folder.name), ['page.html'])

    def test_two_checkpoints_have_no_page(self):
        result = run('audit', *BERT, '--report', self.file, '--against', BERT[0])
        self.assertEqual((result.returncode, result.stdout), (2, b''))
        self.assertIn(b'--report describes one checkpoint', result.stderr)

    def test_merged_parts_have_the_same_page(self):
        page, _ = self.answer(*BERT, '--seed', '3')
        os.remove(self.file)
        parts = f'{self.folder.name}/parts'
        for shard in ('1/2', '2/2'):
            run('audit', '--seed', '3', *BERT, '--report', self.file, '--shard', shard, '--fragment', parts)
        self.assertFalse(os.path.exists(self.file))
        self.assertEqual(run('merge', parts, '--report', self.file).returncode, 0)
        with open(self.file, encoding='utf-8') as merged:
            self.assertEqual(merged.read(), page.raw)


def files_of(folder):
    return {path for path in pathlib.Path(folder).rglob('*') if path.is_file()}


def models_of(test, layers, heads, **more):
    width = more.pop('width', 4)
    return [models.write(f'{test.folder.name}/model{layers}x{heads}', layers, heads, width, **more)]


if __name__ == '__main__':
    unittest.main()
