/* Reading a scenario's variants: named, in a file, configured, or listed tensor by tensor. */
#include "scenario/read.h"

#include "base/file.h"

bool al_size_check(const struct al_scenario *s, const struct al_item *list, const char *what,
	size_t most, struct al_error *err)
{
	return al_json_size(list) <= most
		|| al_json_fail(&s->doc, list, err, "found %zu %s, expected at most %zu",
			al_json_size(list), what, most);
}

bool al_name_check(const char *what, const char *name, struct al_error *err)
{
	return (*name && !strpbrk(name, "/,[]"))
		|| al_fail(err, AL_EINPUT,
			"the %s \"%s\" must not be empty or hold '/', ',', '[' or ']'", what, name);
}

const char *al_scenario_beside(struct al_scenario *s, const char *name)
{
	if (!al_json_is_path(name) || name[0] == '/' || !*s->folder)
		return name;
	return al_path_join(&s->arena, s->folder, name);
}

static bool binding_value(const struct al_scenario *s, const struct al_item *node, int64_t *value,
	struct al_error *err)
{
	bool is_on;

	if (al_json_kind(node) != AL_JSON_BOOLEAN)
		return al_json_whole_from(&s->doc, node, 0, value, err);
	if (!al_json_boolean(&s->doc, node, &is_on, err))
		return false;
	*value = is_on;
	return true;
}

/* A built-in variant, a file in the scenario's folder, or a model's own attention. */
static bool find_configured(struct al_scenario *s, const char *name,
	struct al_configured_variant *out, struct al_error *err)
{
	if (strcmp(name, AL_OWN_ATTENTION) == 0)
		return al_configured_variant_parse(&s->arena, s->catalog, name, out, err);
	if (!al_catalog_variant(s->catalog, al_scenario_beside(s, name), &out->variant, err))
		return false;
	out->name = out->variant->name;
	return true;
}

/* Without "use" no one knows the variant's symbols: a key that is nearly one of our own is a
 * slip. */
static bool check_has_use(const struct al_scenario *s, const struct al_item *node,
	const char *const *own, struct al_error *err)
{
	if (al_json_get(node, "use"))
		return true;
	al_json_each (member, node) {
		const char *key = al_json_key(member);
		if (al_find_name(key, own, 4) < 0 && al_nearest(key, own, 4)) {
			al_fail_unknown(err, "key", key, own, 4);
			return al_json_in(&s->doc, member, err);
		}
	}
	return true;
}

/* "n_kv_heads": 4, or "n_heads/4" of each case. */
static bool read_change(struct al_scenario *s, const struct al_item *member,
	struct al_configured_variant *variant, struct al_error *err)
{
	struct al_substitution tied = {0};
	int64_t value;

	if (al_json_kind(member) == AL_JSON_TEXT)
		return al_scenario_read_letter(s, member, &tied, err)
			&& (al_configured_variant_add_tied(&s->arena, variant, &tied, s->symbols,
				    s->n_symbols, err)
				|| al_json_in(&s->doc, member, err));
	return binding_value(s, member, &value, err)
		&& (al_configured_variant_set(&s->arena, variant, al_json_key(member), value,
			    s->symbols, s->n_symbols, err)
			|| al_json_in(&s->doc, member, err));
}

/* {"use": "gqa", "as": "gqa-4", "n_kv_heads": 4} */
static bool read_configured(struct al_scenario *s, const struct al_item *node,
	struct al_configured_variant *variant, struct al_error *err)
{
	static const char *const own[] = {"use", "as", "title", "note"};
	const char *name;

	if (!check_has_use(s, node, own, err)
		|| !al_json_get_text(&s->doc, node, "use", true, &name, err))
		return false;
	if (!find_configured(s, name, variant, err))
		return al_json_in(&s->doc, al_json_get(node, "use"), err);
	al_json_each (member, node) {
		if (al_find_name(al_json_key(member), own, 4) < 0
			&& !read_change(s, member, variant, err))
			return false;
	}
	if (!al_configured_variant_check(variant, s->symbols, s->n_symbols, err))
		return al_json_in(&s->doc, node, err);
	return al_json_get_text(&s->doc, node, "as", false, &variant->name, err)
		&& al_json_get_text(&s->doc, node, "title", false, &variant->title, err);
}

static bool read_variant(struct al_scenario *s, const struct al_item *node,
	struct al_configured_variant *variant, struct al_error *err)
{
	const char *name;
	struct al_variant *own;

	if (al_json_kind(node) == AL_JSON_OBJECT && al_json_get(node, "tensors")) {
		if (!al_variant_parse(&s->arena, &s->doc, node, s->file, &own, err))
			return false;
		variant->variant = own;
		variant->name = own->name;
		variant->title = own->title;
		return true;
	}
	if (al_json_kind(node) == AL_JSON_OBJECT)
		return read_configured(s, node, variant, err);
	if (!al_json_text(&s->doc, node, &name, err))
		return false;
	return find_configured(s, name, variant, err) || al_json_in(&s->doc, node, err);
}

bool al_scenario_read_variants(void *context, const struct al_item *list, void *out,
	struct al_error *err)
{
	struct al_scenario *s = context;

	(void)out;
	if (!al_json_expect(&s->doc, list, AL_JSON_ARRAY, err)
		|| !al_size_check(s, list, "variants", AL_MOST_NAMES, err))
		return false;
	s->variants = al_new_array(&s->arena, const struct al_configured_variant *,
		al_json_size(list));
	al_json_each (node, list) {
		struct al_configured_variant *variant = al_new(&s->arena,
			struct al_configured_variant);
		if (!read_variant(s, node, variant, err))
			return false;
		if (!al_name_check("variant name", variant->name, err))
			return al_json_in(&s->doc, node, err);
		if (al_variant_find(s, variant->name, NULL))
			return al_json_fail(&s->doc, node, err,
				"variant \"%s\" appears twice; give one another name with \"as\"",
				variant->name);
		s->variants[s->n_variants++] = variant;
		s->n_known = s->known_room = s->n_variants;
	}
	return true;
}
