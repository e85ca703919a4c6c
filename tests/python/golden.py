#!/usr/bin/env python3
"""The commands of golden tests, asked in Python: byte for byte the program's JSON, or its error; and the functions of
Python with the same options give the same tables.

    golden.py ATTNLEDGER COMMANDS.json FOLDER    the cases of tests/golden/FOLDER, or the one
"""
import inspect
import json
import keyword
import os
import pathlib
import subprocess
import sys
import tempfile

import attnledger

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"
# Replaces attnledger: writes down what it's asked, and where.
SHIM = """#!/bin/sh
{ printf '%s\\0' "$PWD" "$@"; printf '\\n\\0'; } >>"$ASKED"
exec "$ATTNLEDGER" "$@"
"""


def script_of(case):
    lines = case.read_text().split("\n--- exit ")[0].splitlines()
    return "\n".join(line[2:] for line in lines if line.startswith("$ "))


def questions(case, program, work):
    """What the case asks, with the folder that it asks in."""
    asked, bin = pathlib.Path(work, "asked"), pathlib.Path(work, "bin")
    bin.mkdir()
    shim = bin / "attnledger"
    shim.write_text(SHIM)
    shim.chmod(0o755)
    subprocess.run(["sh", "-c", script_of(case)], cwd=GOLDEN.parent.parent, stdin=subprocess.DEVNULL,
                   capture_output=True, check=False,
                   env=dict(os.environ, PATH=f"{bin}:{os.environ['PATH']}", TMP=work, ASKED=str(asked),
                            ATTNLEDGER=str(program)))
    text = asked.read_bytes().decode("utf-8", "surrogateescape") if asked.exists() else ""
    for question in text.split("\n\0")[:-1]:
        folder, *words = question.split("\0")[:-1]
        yield folder, words


class Words:
    """A command line, taken apart by the options that the command has."""

    def __init__(self, options, words):
        by_name = {f"--{option['name']}": option for option in options}
        by_letter = {f"-{option['letter']}": option for option in options if option["letter"]}
        self.options, self.words, self.is_known = [], [], True
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if word == "--":
                self.words += rest
                return
            if not word.startswith("-") or word == "-":
                self.words.append(word)
                continue
            name, equals, value = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
            option = (by_name if word.startswith("--") else by_letter).get(name)
            if option is None or option["kind"] == "flag" and equals or option["kind"] != "flag" and not (equals or rest):
                self.is_known = False
                return
            if option["kind"] != "flag" and not equals:
                value = rest.pop(0)
            self.options.append((option, value))

    def plain(self):
        """Without what changes only how the answer looks."""
        kept = [(option, value) for option, value in self.options if not option["is_common"]]
        return [f"--{o['name']}" + ("" if o["kind"] == "flag" else f"={value}") for o, value in kept] + ["--", *self.words]

    def keywords(self):
        found = {}
        for option, value in self.options:
            name = option["name"].replace("-", "_")
            name += "_" if keyword.iskeyword(name) else ""
            if option["is_common"]:
                continue
            if option["kind"] == "list":
                found.setdefault(name, []).append(value)
            else:
                found[name] = True if option["kind"] == "flag" else value
        return found


def outcome(ask, *words, **keywords):
    try:
        return ask(*words, **keywords)
    except attnledger.Error as error:
        return error


def compare_json(program, command, words):
    """What the program prints, and what Python gives."""
    ran = subprocess.run([program, command, *words], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    answer = outcome(attnledger.ask, command, *words)
    if ran.returncode >= 2:
        expected = ran.stderr.decode("utf-8", "replace")
        found = f"attnledger {command}: {answer}\n" if isinstance(answer, Exception) else answer.json
        return None if found == expected else f"{found[:200]!r}, expected {expected[:200]!r}"
    if isinstance(answer, Exception):
        return str(answer)
    if not ran.stdout.startswith(b'{\n  "attnledger"'):
        return None  # a file's text: it has no tables
    if answer.json != ran.stdout.decode("utf-8", "replace"):
        return "answers otherwise"
    return None if answer.is_no == (ran.returncode == 1) else "yes is no"


def shown(answer):
    """Of two orders of the same options all is the same but what repeats them."""
    if isinstance(answer, Exception):
        return str(answer)
    tables = [dict(table, notes=[note for note in table["notes"] if "attnledger " not in note])
              for table in answer.data["tables"]]
    return [answer.text, answer.values, answer.value, tables]


def compare_function(command, words):
    plain = outcome(attnledger.ask, command, *words.plain())
    called = outcome(getattr(attnledger, command), *words.words, **words.keywords())
    return None if shown(plain) == shown(called) else f"the function: {str(called)[:200]!r}, expected {str(plain)[:200]!r}"


def mistakes(program, options, command, words):
    line = Words(options, words)
    if not line.is_known:
        found = compare_json(program, command, words)
        return [found] if found else []
    kept = [word for option, value in line.options if option["name"] != "format"
            for word in ([f"--{option['name']}"] if option["kind"] == "flag" else [f"--{option['name']}", value])]
    if any(option["name"] in ("help", "output") for option, _ in line.options):
        return []
    found = [compare_json(program, command, [*kept, "--format", "json", "--", *line.words])]
    once = [option["name"] for option, _ in line.options if option["kind"] != "list"]
    if len(once) > len(set(once)):
        return found if found[0] else []
    try:
        inspect.signature(getattr(attnledger, command)).bind(*line.words, **line.keywords())
        found.append(compare_function(command, line))
    except TypeError:
        pass  # Python's own error
    return [mistake for mistake in found if mistake]


def main():
    program, folder = pathlib.Path(sys.argv[1]).resolve(), sys.argv[3]
    commands = {c["name"]: c["options"] for c in json.loads(pathlib.Path(sys.argv[2]).read_text())}
    os.environ.update(LC_ALL="C.UTF-8", XDG_CONFIG_HOME="/nonexistent")
    n = wrong = 0
    for case in sorted((GOLDEN / folder).rglob("*.test")) or [GOLDEN / f"{folder}.test"]:
        with tempfile.TemporaryDirectory() as work:
            for where, words in questions(case, program, work):
                if not words or words[0] not in commands:
                    continue
                n += 1
                os.chdir(where)
                for mistake in mistakes(program, commands[words[0]], words[0], words[1:]):
                    wrong += 1
                    print(f"{case.relative_to(GOLDEN)}: {' '.join(words)}: {mistake}")
        os.chdir(GOLDEN)
    print(f"{n} questions, {wrong} mistakes")
    sys.exit(wrong > 0 or n == 0)


main()
