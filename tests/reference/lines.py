"""Lines of text for tokenizers: many scripts, code, emoji, control characters and long blanks, the same ones each time."""
import hashlib
import random

SCRIPTS = [
    (0x61, 0x7a), (0x41, 0x5a), (0xc0, 0x17f), (0x370, 0x373), (0x391, 0x3a1), (0x3b1, 0x3c9), (0x410, 0x44f), (0x531, 0x556),
    (0x5d0, 0x5ea), (0x5b0, 0x5bd), (0x627, 0x64a), (0x64b, 0x652), (0x904, 0x94d), (0x985, 0x98c), (0xe01, 0xe3a),
    (0xe40, 0xe4e), (0x10d0, 0x10f0), (0x1100, 0x1112), (0x1161, 0x1175), (0x11a8, 0x11c2), (0x1e00, 0x1eff), (0x1f00, 0x1f15),
    (0x3041, 0x3096), (0x30a1, 0x30fa), (0x4e00, 0x9fa5), (0xac00, 0xd7a3), (0xf900, 0xfa2d), (0x300, 0x345), (0x20000, 0x2a6d6),
    (0x1d400, 0x1d454), (0x10330, 0x1034a), (0x1e900, 0x1e943)]
DIGITS = [(0x30, 0x39)] * 4 + [(0x660, 0x669), (0x966, 0x96f), (0xff10, 0xff19), (0x2160, 0x2188), (0x2070, 0x2079),
                               (0x2460, 0x2473), (0xbc, 0xbe), (0x1d7ce, 0x1d7ff)]
MARKS = [(0x21, 0x2f), (0x3a, 0x40), (0x5b, 0x60), (0x7b, 0x7e), (0xa1, 0xbf), (0x2010, 0x2027), (0x2030, 0x205e), (0x20a0, 0x20bf),
         (0x2190, 0x21ff), (0x2200, 0x22ff), (0x2500, 0x257f), (0x3001, 0x301f), (0xff01, 0xff0f), (0xfe30, 0xfe52)]
CONTROLS = [(0x01, 0x09), (0x0b, 0x1f), (0x7f, 0x9f), (0xad, 0xad), (0x200b, 0x200f), (0x2028, 0x202e), (0x2060, 0x2064),
            (0xfeff, 0xfeff), (0xfff9, 0xfffd), (0xe000, 0xe00f), (0xe0020, 0xe007f), (0xfe00, 0xfe0f)]
BLANKS = [' '] * 12 + ['\t', '\t', '\r', '\x0b', '\x0c', '\x85', '\xa0', '\u1680', '\u2003', '\u2009', '\u202f', '\u3000']
EMOJI = ['\U0001f600', '\U0001f468\u200d\U0001f469\u200d\U0001f467', '\U0001f44d\U0001f3fd', '\U0001f1e9\U0001f1ea', '\u2764\ufe0f',
         '1\ufe0f\u20e3', '\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f', '\u263a', '\U0001f9d1\u200d\U0001f4bb']
CODE = ['for (int i = 0; i < n; i++)', '\tif x is None:', 'return', '    self.q_proj', '->', '!=', '<<=', '/*', '*/', '//', '#define',
        '{', '}', '();', '"%s\\n"', "f'{x:.2f}'", 'snake_case_name', 'camelCaseName', 'HTTPServer2', '0xFF', '1e-5', '&&', '||', '::',
        'std::vector<int>', 'import numpy as np', '[0]', '\\frac{a}{b}', '$x^2$', 'https://example.org/a?b=c&d=%20', 'a@b.org', '<br/>']
SPECIAL = ['<s>', '</s>', '<unk>', '<pad>', '<mask>', '[MASK]', '[CLS]', '[SEP]', '[UNK]', '<|endoftext|>', '<|im_start|>', '<0x0A>',
           '<|begin_of_text|>', '<|eot_id|>', '<bos>', '<start_of_turn>', '<extra_id_0>', '\u2581', '\u0120', '##', '\u2581a']
WORDS = ('the of attention head is all you need a transformer layer with query keys and values in model that to for we are not '
         "don't I'm we'll they've it's you'd I'LL THE Attention KEY's l'eau na\u00efve caf\u00e9 stra\u00dfe \u0130stanbul \u03a3\u038a\u03a3\u03a5\u03a6\u039f\u03a3 "
         'fi\u0301nd o\ufb03ce \ufb01 \u017fo \u2122 \u00bd \u3392 dog\u2019s re\u0301sume\u0301 \u212b \u1e9b\u0323 \uac00\u11a8').split(' ')


class Lines:
    def __init__(self, seed):
        self.random = random.Random(seed).random  # its numbers are the same in each version of Python

    def below(self, n):
        return int(self.random() * n)

    def one(self, items):
        return items[self.below(len(items))]

    def text(self, ranges, n):
        """n letters, mostly of one range"""
        found, (first, last) = '', self.one(ranges)
        for _ in range(n):
            if self.below(8) == 0:
                first, last = self.one(ranges)
            found += chr(first + self.below(last - first + 1))
        return found

    def blanks(self):
        n = 1 + self.below(40) if self.below(10) == 0 else 1
        blank = self.one(BLANKS)
        return ''.join(blank if self.below(4) else self.one(BLANKS) for _ in range(n))

    def part(self):
        kind = self.below(16)
        if kind < 4:
            return self.one(WORDS)
        if kind < 7:
            return self.text(SCRIPTS, 1 + self.below(9))
        if kind == 7:
            return self.one(CODE)
        if kind == 8:
            return self.text(DIGITS, 1 + self.below(10))
        if kind == 9:
            return self.text(MARKS, 1 + self.below(4))
        if kind == 10:
            return self.one(EMOJI)
        if kind == 11:
            return self.text(CONTROLS, 1 + self.below(3))
        if kind == 12:
            return self.one(SPECIAL)
        if kind == 13:
            return self.one(WORDS) * (1 + self.below(30))
        return ''.join(self.one(WORDS)[:1 + self.below(3)] for _ in range(1 + self.below(4)))

    def line(self):
        parts = [self.part() for _ in range(1 + self.below(10))]
        joined = ''.join(part + (self.blanks() if self.below(4) else '') for part in parts)
        return (self.blanks() if self.below(6) == 0 else '') + joined


def judged_lines():
    """Those that were written by hand, and made ones, 10,000 in all"""
    with open('tests/data/tokenizers/lines.txt', encoding='utf-8', newline='\n') as file:
        written = file.read().split('\n')[:-1]
    made = Lines(1)
    return written + [made.line() for _ in range(10000 - len(written))]


def write_lines(path, lines):
    with open(path, 'w', encoding='utf-8', newline='\n') as file:
        file.writelines(line + '\n' for line in lines)


def digests(ids):
    """One text: twelve digits for each hundred lines"""
    texts = [' '.join(map(str, line)) for line in ids]
    return ' '.join(hashlib.sha256('\n'.join(texts[at:at + 100]).encode()).hexdigest()[:12] for at in range(0, len(texts), 100))
