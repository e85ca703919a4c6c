#!/usr/bin/env python3
"""Writes transformers_defaults.json: what transformers takes where a config leaves a key out that a family of ours reads.

    transformers_defaults.py OUT.json
"""
import json
import sys

import transformers

import families


def defaults_of(model_type, names):
    config = transformers.CONFIG_MAPPING[model_type]().to_dict()
    found = {name: families.look_up(config, name) for name in names}
    return {name: value for name, value in found.items() if isinstance(value, (bool, int, float, str))}


def main():
    of_all = families.read()
    found = {}
    for family in sorted(of_all):
        names = sorted({name for key in families.all_keys_of(of_all, family).values() for name in families.names_of(key)} - {'model_type'})
        for model_type in of_all[family].get('model_types', ()):
            if model_type in transformers.CONFIG_MAPPING:
                found[model_type] = defaults_of(model_type, names)
    with open(sys.argv[1], 'w') as file:
        file.write('{"made_by": %s, "defaults": {\n%s\n}}\n' % (
            json.dumps({'transformers': transformers.__version__}),
            ',\n'.join('%s: %s' % (json.dumps(name), json.dumps(found[name])) for name in sorted(found))))


if __name__ == '__main__':
    main()
