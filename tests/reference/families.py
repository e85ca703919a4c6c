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


def merge(base, own):
    """Objects member by member, as "like" does"""
    if not isinstance(base, dict) or not isinstance(own, dict):
        return own
    return {**base, **{name: merge(base.get(name), value) for name, value in own.items()}}


def forward_of(families, name):
    family = families[name]
    base = forward_of(families, family['like']) if 'like' in family else {}
    return merge(base, family.get('forward', {}))


def keys_within(node, path):
    """(place, key) of all that says where a config has a number and what it is without one"""
    if isinstance(node, dict) and 'key' in node and 'default' in node:
        yield path, node
    elif isinstance(node, dict):
        for name, value in node.items():
            yield from keys_within(value, '%s.%s' % (path, name))


def all_keys_of(families, name):
    """Those of the config, by symbol, and of the forward pass, by place"""
    return {**keys_of(families, name), **dict(keys_within(forward_of(families, name), 'forward'))}


def names_of(key):
    """The names under which a config may have it"""
    names = key.get('key') or []
    return names if isinstance(names, list) else [names]


def look_up(config, name):
    """The value of "a.b"; None: it has none"""
    for part in name.split('.'):
        config = config.get(part) if isinstance(config, dict) else None
    return config
