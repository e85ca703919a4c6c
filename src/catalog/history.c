/* Values by version. */
#include "catalog/history.h"

#include <ctype.h>

#include "base/base.h"

/* ---- versions ---- */

static const char *after_letter(const char *version)
{
	return isalpha((unsigned char)*version) ? version + 1 : version;
}

const char *al_version_cut(struct al_arena *arena, const char *text, const char **version)
{
	const char *at = strrchr(text, '@');
	const bool has = at && !strchr(at, '/');

	if (version)
		*version = has ? at + 1 : NULL;
	return has ? al_strndup(arena, text, (size_t)(at - text)) : text;
}

bool al_version_is_valid(const char *text)
{
	return isdigit((unsigned char)*after_letter(text));
}

/* The number at *at, which is moved to the next one, or to NULL where there is none. */
static int64_t take_number(const char **at)
{
	char *end;
	const int64_t number = strtoll(*at, &end, 10);

	*at = *end == '.' && isdigit((unsigned char)end[1]) ? end + 1 : NULL;
	return number;
}

int al_version_compare(const char *a, const char *b)
{
	a = after_letter(a);
	b = after_letter(b);
	while (a && b) {
		const int64_t x = take_number(&a), y = take_number(&b);
		if (x != y)
			return al_compare(x, y);
	}
	return 0;
}

/* ---- values ---- */

static const char *const keys[] = {"value", "since", "source"};

static bool is_rule(const struct al_item *node)
{
	return al_json_kind(node) == AL_JSON_OBJECT && al_json_get(node, "value");
}

static bool is_history(const struct al_item *node)
{
	return is_rule(node) || (al_json_size(node) > 0 && is_rule(al_json_first(node)));
}

struct history {
	const struct al_json *doc;
	const char *version, *newest; /* newest: the "since" that was read last, if any */
	bool has_rule;
	const struct al_item *value; /* that holds; NULL: none */
};

static bool read_rule(struct history *h, const struct al_item *rule, struct al_error *err)
{
	const char *since = NULL, *source = NULL;

	if (!al_json_only(h->doc, rule, keys, sizeof(keys) / sizeof(*keys), err)
		|| !al_json_get_text(h->doc, rule, "since", false, &since, err)
		|| !al_json_get_text(h->doc, rule, "source", true, &source, err))
		return false;
	if (since && !al_version_is_valid(since))
		return al_json_fail(h->doc, rule, err,
			"since is \"%s\", expected a version, such as 0.21", since);
	if (h->has_rule && (!since || (h->newest && al_version_compare(since, h->newest) <= 0)))
		return al_json_fail(h->doc, rule, err, "expected \"since\", a version after %s",
			h->newest ? h->newest : "those before");
	h->has_rule = true;
	h->newest = since;
	if (!since || al_version_compare(since, h->version) <= 0)
		h->value = al_json_get(rule, "value");
	return true;
}

static bool read_history(struct history *h, const struct al_item *node, struct al_error *err)
{
	bool ok = true;

	if (is_rule(node))
		return read_rule(h, node, err);
	for (const struct al_item *rule = al_json_first(node); ok && rule;
		rule = al_json_next(rule))
		ok = al_json_expect(h->doc, rule, AL_JSON_OBJECT, err) && read_rule(h, rule, err);
	return ok;
}

bool al_history_at(struct al_arena *arena, const struct al_json *doc, const struct al_item *object,
	const char *version, const struct al_item **out, struct al_error *err)
{
	struct al_item *settled = al_new(arena, struct al_item), **last = &settled->first;

	*settled = *object;
	al_json_each (member, object) {
		struct history h = {.doc = doc, .version = version, .value = member};
		if (is_history(member)) {
			h.value = NULL;
			if (!read_history(&h, member, err))
				return false;
		}
		if (!h.value || (h.value != member && al_json_kind(h.value) == AL_JSON_NULL))
			continue;
		*last = al_new(arena, struct al_item);
		**last = *h.value;
		(*last)->key = al_json_key(member);
		last = &(*last)->next;
	}
	*last = NULL;
	*out = settled;
	return true;
}

struct versions {
	const struct al_json *doc;
	struct al_arena *arena;
	const char **items;
	size_t n, room;
};

static bool add_version(struct versions *v, const struct al_item *rule, struct al_error *err)
{
	const char *since = NULL;

	if (!al_json_get_text(v->doc, rule, "since", false, &since, err))
		return false;
	if (since && al_find_name(since, v->items, v->n) < 0)
		*AL_APPEND(v->arena, v->items, v->n, v->room) = al_strdup(v->arena, since);
	return true;
}

bool al_history_versions(struct al_arena *arena, const struct al_json *doc,
	const struct al_item *object, struct al_texts *out, struct al_error *err)
{
	struct versions versions = {.doc = doc, .arena = arena};

	al_json_each (member, object) {
		const struct al_item *rule = is_rule(member) ? member : al_json_first(member);
		for (; is_history(member) && rule;
			rule = is_rule(member) ? NULL : al_json_next(rule))
			if (!add_version(&versions, rule, err))
				return false;
	}
	*out = (struct al_texts){versions.items, versions.n};
	return true;
}
