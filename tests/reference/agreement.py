#!/usr/bin/env python3
"""docs/agreement.md: a row for each comparison with a program. The test that compares says what its row must be.

    agreement.py     do the README's numbers stand in that table?

Where AGREEMENT=renew is in the environment, the row is written instead.
"""
import os
import re
import sys

TABLE = 'docs/agreement.md'


def versions(made_by, *names):
    return ', '.join('%s %s' % (name, made_by[name].split('+')[0]) for name in names)


def holds(what, judge, compared, equal, rest):
    """Is this the row of `what`? `rest` says how close, or what differs and why."""
    return has_row(TABLE, what, judge, compared, equal, rest)


def has_row(path, what, *cells):
    """Is this the row of a file that begins with `what`?"""
    row = '| %s |' % ' | '.join(map(str, (what, *cells)))
    with open(path, encoding='utf-8') as file:
        text = file.read()
    rows = re.findall(r'^\| %s \|.*$' % re.escape(what), text, re.M)
    if rows == [row]:
        return True
    if os.environ.get('AGREEMENT') == 'renew' and rows:
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text.replace(rows[0], row))
        return True
    print('%s has\n%s\nexpected\n%s' % (path, '\n'.join(rows) or 'no row of "%s"' % what, row))
    return False


def main():
    """Each "N of M" of the README's sentence about the table is a row's."""
    with open(TABLE, encoding='utf-8') as file:
        pairs = {(equal, compared) for compared, equal in re.findall(r'^\|[^|]*\|[^|]*\| ([\d,]+) \| ([\d,]+) \|', file.read(), re.M)}
    with open('README.md', encoding='utf-8') as file:
        sentences = [part for part in file.read().split('\n\n') if TABLE in part and re.search(r'[\d,]+\s+of\s+[\d,]+', part)]
    found = set(re.findall(r'([\d,]+)\s+of\s+([\d,]+)', sentences[0])) if sentences else set()
    if not found or found - pairs:
        print('README.md says %s, which %s has no row for' % (sorted(found - pairs) or 'nothing', TABLE))
    return 0 if found and not found - pairs else 1


if __name__ == '__main__':
    sys.exit(main())
