"""Families of src/catalog as the loader completes them."""
import glob
import json
import os

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../src/catalog/families')


def read():
    """Each family by its name, without what it takes of the one that it is like"""
    found = {}
    for path in glob.glob(FOLDER + '/*.json'):
        with open(path) as file:
            family = json.load(file)
        found[family['name']] = family
    return found


def keys_of(families, name):
    """{symbol: what the config says of it}, those of the family that it is like, too"""
    family = families[name]
    found = keys_of(families, family['like']) if 'like' in family else {}
    for symbol, key in family.get('config', {}).items():
        found[symbol] = {**found.get(symbol, {}), **(key or {})}
    return {symbol: key for symbol, key in found.items() if family.get('config', {}).get(symbol, key) is not None}


def names_of(key):
    """The names under which a config may have it"""
    names = key.get('key') or []
    return names if isinstance(names, list) else [names]


def look_up(config, name):
    """The value of "a.b"; None: it has none"""
    for part in name.split('.'):
        config = config.get(part) if isinstance(config, dict) else None
    return config
