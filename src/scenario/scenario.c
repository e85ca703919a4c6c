/* Scenarios: reading the file, and finding its parts by name. */
#include "scenario/internal.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

/* ---- finding ---- */

static const struct variant *variant_among(struct variant *const *variants, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(variants[i]->use.name, name) == 0)
			return variants[i];
	return NULL;
}

static bool fail_unknown_variant(const struct al_scenario *s, const char *name, struct al_error *err)
{
	struct al_arena arena;

	al_arena_init(&arena);
	const char **names = al_new_array(&arena, const char *, s->n_variants + s->n_data_variants + 1);
	size_t n = 0;
	for (size_t i = 0; i < s->n_variants; i++)
		names[n++] = s->variants[i]->use.name;
	for (size_t i = 0; i < s->n_data_variants; i++)
		names[n++] = s->data_variants[i]->use.name;
	al_fail_unknown(err, "variant", name, names, n);
	al_arena_finish(&arena);
	return false;
}

const struct variant *find_variant(const struct al_scenario *s, const char *name, struct al_error *err)
{
	const struct variant *found = variant_among(s->variants, s->n_variants, name);

	if (!found)
		found = variant_among(s->data_variants, s->n_data_variants, name);
	if (!found && err)
		fail_unknown_variant(s, name, err);
	return found;
}

const struct kase *find_case(const struct al_scenario *s, const char *id, struct al_error *err)
{
	for (size_t i = 0; i < s->n_cases; i++)
		if (strcmp(s->cases[i].id, id) == 0)
			return &s->cases[i];
	if (!err)
		return NULL;

	struct al_arena arena;
	al_arena_init(&arena);
	const char **names = al_new_array(&arena, const char *, s->n_cases + 1);
	for (size_t i = 0; i < s->n_cases; i++)
		names[i] = s->cases[i].id;
	al_fail_unknown(err, "case", id, names, s->n_cases);
	al_arena_finish(&arena);
	return NULL;
}

const struct table *find_table(const struct al_scenario *s, const char *id)
{
	for (size_t i = 0; i < s->n_tables; i++)
		if (strcmp(s->tables[i].id, id) == 0)
			return &s->tables[i];
	return NULL;
}

const struct sweep *find_sweep(const struct al_scenario *s, const char *id)
{
	for (size_t i = 0; i < s->n_sweeps; i++)
		if (strcmp(s->sweeps[i].sweep.id, id) == 0)
			return &s->sweeps[i];
	return NULL;
}

/* ---- words ---- */

bool read_word(const struct al_scenario *s, const struct cJSON *owner, const char *key,
	const char *const *words, size_t n, int *out, struct al_error *err)
{
	const char *word = NULL;

	if (!al_json_get_text(&s->doc, owner, key, false, &word, err))
		return false;
	if (!word)
		return true;
	*out = al_find_name(word, words, n);
	if (*out >= 0)
		return true;
	al_fail_unknown(err, key, word, words, n);
	return al_json_in(&s->doc, al_json_get(owner, key), err);
}

/* ---- settings and bases ---- */

bool is_note(const struct cJSON *member)
{
	return strcmp(al_json_key(member), "note") == 0;
}

static bool is_known_symbol(const struct al_scenario *s, const char *symbol)
{
	for (size_t i = 0; i < s->settings.n_symbols; i++)
		if (strcmp(s->settings.symbols[i].name, symbol) == 0)
			return true;
	for (size_t i = 0; i < s->n_variants; i++) {
		const struct al_variant *variant = s->variants[i]->use.variant;
		for (size_t j = 0; j < variant->n_symbols; j++)
			if (strcmp(variant->symbols[j].name, symbol) == 0)
				return true;
	}
	return false;
}

static bool fail_unknown_symbol(const struct al_scenario *s, const char *symbol, struct al_error *err)
{
	struct al_arena arena;
	size_t room = s->settings.n_symbols, n = 0;

	for (size_t i = 0; i < s->n_variants; i++)
		room += s->variants[i]->use.variant->n_symbols;
	al_arena_init(&arena);
	const char **names = al_new_array(&arena, const char *, room + 1);
	for (size_t i = 0; i < s->settings.n_symbols; i++)
		names[n++] = s->settings.symbols[i].name;
	for (size_t i = 0; i < s->n_variants; i++)
		for (size_t j = 0; j < s->variants[i]->use.variant->n_symbols; j++)
			names[n++] = s->variants[i]->use.variant->symbols[j].name;
	al_fail_unknown(err, "symbol", symbol, names, n);
	al_arena_finish(&arena);
	return false;
}

bool check_symbol_name(const struct al_scenario *s, const struct cJSON *node, const char *symbol,
	struct al_error *err)
{
	if (is_known_symbol(s, symbol))
		return true;
	fail_unknown_symbol(s, symbol, err);
	return al_json_in(&s->doc, node, err);
}

bool check_symbol(const struct al_scenario *s, const struct cJSON *member, struct al_error *err)
{
	return check_symbol_name(s, member, al_json_key(member), err);
}

bool read_settings(const struct al_scenario *s, const struct cJSON *node, const char *origin,
	struct al_settings *settings, struct al_error *err)
{
	int64_t value;

	if (!node)
		return true;
	if (!al_json_expect(&s->doc, node, AL_JSON_OBJECT, err))
		return false;
	al_json_each(member, node) {
		const char *symbol = al_json_key(member);
		if (is_note(member))
			continue;
		if (!check_symbol(s, member, err)
			|| !al_json_whole_from(&s->doc, member, 0, &value, err))
			return false;
		al_settings_set(settings, symbol, value, origin);
	}
	return true;
}

/* The value of a basis key as the command line writes it: "full", "true", "query,key". */
static bool basis_value(const struct al_scenario *s, const struct cJSON *node, struct al_text *out,
	struct al_error *err)
{
	const char *text;

	if (al_json_kind(node) == AL_JSON_BOOLEAN) {
		bool is_true;
		if (!al_json_boolean(&s->doc, node, &is_true, err))
			return false;
		al_text_add(out, is_true ? "true" : "false");
		return true;
	}
	if (al_json_kind(node) == AL_JSON_ARRAY) {
		al_json_each(child, node) {
			if (!al_json_text(&s->doc, child, &text, err))
				return false;
			al_text_addf(out, "%s%s", out->length ? "," : "", text);
		}
		return true;
	}
	if (!al_json_text(&s->doc, node, &text, err))
		return false;
	al_text_add(out, text);
	return true;
}

bool read_basis(const struct al_scenario *s, const struct cJSON *node, struct al_basis *basis,
	struct al_error *err)
{
	if (!node)
		return true;
	if (!al_json_expect(&s->doc, node, AL_JSON_OBJECT, err))
		return false;
	al_json_each(member, node) {
		if (is_note(member))
			continue;
		struct al_text value;
		al_text_init(&value);
		bool ok = basis_value(s, member, &value, err);
		if (ok && !al_basis_set(basis, al_json_key(member), value.data, err))
			ok = al_json_in(&s->doc, member, err);
		al_text_finish(&value);
		if (!ok)
			return false;
	}
	return true;
}

static bool read_formula(struct al_scenario *s, const struct cJSON *node, enum al_dialect dialect,
	const struct al_formula **out, struct al_error *err)
{
	const char *text;

	return al_json_text(&s->doc, node, &text, err)
		&& (al_formula_parse(&s->arena, text, dialect, out, err) || al_json_in(&s->doc, node, err));
}

bool read_substitutions(struct al_scenario *s, const struct cJSON *node,
	struct al_substitution **out, size_t *n, struct al_error *err)
{
	*n = 0;
	*out = NULL;
	if (!node)
		return true;
	if (!al_json_expect(&s->doc, node, AL_JSON_OBJECT, err))
		return false;
	*out = al_new_array(&s->arena, struct al_substitution, al_json_size(node) + 1);
	al_json_each(member, node) {
		if (is_note(member))
			continue;
		struct al_substitution *item = &(*out)[*n];
		item->symbol = al_json_key(member);
		if (!read_formula(s, member, AL_DIALECT_CATALOG, &item->formula, err))
			return false;
		++*n;
	}
	return true;
}

bool read_id(const struct al_scenario *s, const struct cJSON *node, const char **id,
	struct al_error *err)
{
	if (!al_json_get_text(&s->doc, node, "id", true, id, err))
		return false;
	for (const char *p = *id; *p; p++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-", *p) || (p == *id && *p == '-'))
			return al_json_fail(&s->doc, al_json_get(node, "id"), err,
				"id \"%s\" must be of small letters, digits and '-'", *id);
	if (!**id)
		return al_json_fail(&s->doc, al_json_get(node, "id"), err, "the id is empty");
	if (find_table(s, *id) || find_sweep(s, *id) || find_data(s, *id))
		return al_json_fail(&s->doc, al_json_get(node, "id"), err, "the id \"%s\" appears twice", *id);
	return true;
}

/* ---- variants ---- */

bool check_size(const struct al_scenario *s, const struct cJSON *list, const char *what, size_t most,
	struct al_error *err)
{
	return al_json_size(list) <= most
		|| al_json_fail(&s->doc, list, err, "found %zu %s, expected at most %zu", al_json_size(list),
			what, most);
}

bool check_name(const struct al_scenario *s, const struct cJSON *node, const char *what,
	const char *name, struct al_error *err)
{
	if (!*name || strpbrk(name, "/,[]"))
		return al_json_fail(&s->doc, node, err,
			"the %s \"%s\" must not be empty or hold '/', ',', '[' or ']'", what, name);
	return true;
}

/* A file that a scenario names is looked for beside it. */
static const char *beside(struct al_scenario *s, const char *name)
{
	size_t n = strlen(name);
	bool is_file = strchr(name, '/') || (n > 5 && strcmp(name + n - 5, ".json") == 0);

	if (!is_file || name[0] == '/' || !*s->folder)
		return name;
	return al_format(&s->arena, "%s/%s", s->folder, name);
}

static bool binding_value(const struct al_scenario *s, const struct cJSON *node, int64_t *value,
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

/* {"use": "gqa", "as": "gqa-4", "n_kv_heads": 4} */
static bool read_use(struct al_scenario *s, const struct cJSON *node, struct variant *variant,
	struct al_error *err)
{
	static const char *const own[] = {"use", "as", "title", "note"};
	const char *name;

	if (!al_json_get_text(&s->doc, node, "use", true, &name, err))
		return false;
	if (!al_catalog_variant(s->catalog, beside(s, name), &variant->use.variant, err))
		return al_json_in(&s->doc, al_json_get(node, "use"), err);
	variant->use.name = variant->use.variant->name;
	al_json_each(member, node) {
		int64_t value;
		if (al_find_name(al_json_key(member), own, 4) >= 0)
			continue;
		if (!binding_value(s, member, &value, err))
			return false;
		if (!al_variant_use_set(&s->arena, &variant->use, al_json_key(member), value,
			    s->settings.symbols, s->settings.n_symbols, err))
			return al_json_in(&s->doc, member, err);
	}
	return al_json_get_text(&s->doc, node, "as", false, &variant->use.name, err)
		&& al_json_get_text(&s->doc, node, "title", false, &variant->use.title, err);
}

static bool read_variant(struct al_scenario *s, const struct cJSON *node, struct variant *variant,
	struct al_error *err)
{
	const char *name;
	struct al_variant *own;

	if (al_json_kind(node) == AL_JSON_OBJECT && al_json_get(node, "tensors")) {
		if (!al_variant_parse(&s->arena, &s->doc, node, s->file, &own, err))
			return false;
		variant->use.variant = own;
		variant->use.name = own->name;
		variant->use.title = own->title;
		return true;
	}
	if (al_json_kind(node) == AL_JSON_OBJECT)
		return read_use(s, node, variant, err);
	if (!al_json_text(&s->doc, node, &name, err))
		return false;
	if (!al_catalog_variant(s->catalog, beside(s, name), &variant->use.variant, err))
		return al_json_in(&s->doc, node, err);
	variant->use.name = variant->use.variant->name;
	return true;
}

static bool read_variants(struct al_scenario *s, const struct cJSON *list, struct al_error *err)
{
	if (!check_size(s, list, "variants", MOST_NAMES, err))
		return false;
	al_json_each(node, list) {
		struct variant *variant = al_new(&s->arena, struct variant);
		if (!read_variant(s, node, variant, err)
			|| !check_name(s, node, "variant name", variant->use.name, err))
			return false;
		if (find_variant(s, variant->use.name, NULL))
			return al_json_fail(&s->doc, node, err,
				"variant \"%s\" appears twice; give one another name with \"as\"", variant->use.name);
		s->variants = al_grow(&s->arena, s->variants, s->n_variants, &s->variants_room,
			sizeof(*s->variants));
		s->variants[s->n_variants++] = variant;
	}
	return true;
}

/* ---- cases ---- */

static bool read_model(struct al_scenario *s, const struct cJSON *owner, struct al_settings *settings,
	bool *has_model, struct al_error *err)
{
	const struct cJSON *node = al_json_get(owner, "model");
	const struct al_model *model;
	const char *name;

	if (!node)
		return true;
	*has_model = true;
	return al_json_text(&s->doc, node, &name, err)
		&& ((al_catalog_model(s->catalog, name, &model, err)
			    && al_settings_from_model(settings, s->catalog, model, err))
			|| al_json_in(&s->doc, node, err));
}

static bool read_recipe(struct al_scenario *s, const struct cJSON *owner,
	const struct al_recipe **recipe, struct al_error *err)
{
	const struct cJSON *node = al_json_get(owner, "recipe");
	const char *name;

	return !node
		|| (al_json_text(&s->doc, node, &name, err)
			&& (al_catalog_recipe(s->catalog, name, recipe, err)
				|| al_json_in(&s->doc, node, err)));
}

/* The scenario's own, where a case says nothing. */
static void inherit(const struct al_scenario *s, struct kase *kase)
{
	kase->basis = s->basis;
	kase->recipe = s->recipe;
	kase->has_model = s->has_model;
	al_settings_init(&kase->settings, s->catalog);
	al_settings_merge(&kase->settings, &s->settings);
}

static bool read_case(struct al_scenario *s, const struct cJSON *node, struct kase *kase,
	struct al_error *err)
{
	static const char *const keys[] = {"id", "title", "model", "set", "basis", "recipe"};

	if (!al_json_only(&s->doc, node, keys, 6, err)
		|| !al_json_get_text(&s->doc, node, "id", true, &kase->id, err)
		|| !check_name(s, node, "case id", kase->id, err)
		|| !al_json_get_text(&s->doc, node, "title", false, &kase->title, err)
		|| !read_model(s, node, &kase->settings, &kase->has_model, err))
		return false;
	return read_settings(s, al_json_get(s->doc.root, "set"),
		       s->name, &kase->settings, err)
		&& read_settings(s, al_json_get(node, "set"), kase->id, &kase->settings, err)
		&& read_basis(s, al_json_get(node, "basis"), &kase->basis, err)
		&& read_recipe(s, node, &kase->recipe, err);
}

static bool read_cases(struct al_scenario *s, const struct cJSON *list, struct al_error *err)
{
	size_t n = al_json_size(list);

	if (!check_size(s, list, "cases", MOST_NAMES, err))
		return false;
	s->cases = al_new_array(&s->arena, struct kase, n + 1);
	if (n == 0) {
		inherit(s, &s->cases[0]);
		s->cases[0].id = "";
		s->n_cases = 1;
		return true;
	}
	al_json_each(node, list) {
		struct kase *kase = &s->cases[s->n_cases++];
		kase->id = "";
		inherit(s, kase);
		if (!read_case(s, node, kase, err))
			return false;
		if (find_case(s, kase->id, NULL) != kase)
			return al_json_fail(&s->doc, node, err, "case \"%s\" appears twice", kase->id);
	}
	return true;
}

/* ---- the file ---- */

static bool read_head(struct al_scenario *s, struct al_error *err)
{
	static const char *const keys[] = {"title", "source", "model", "set", "basis", "recipe", "variants",
		"cases", "data", "tables", "sweeps", "figures", "claims", "errata"};
	const struct cJSON *root = s->doc.root, *variants, *cases;
	const char *source;

	return al_json_only(&s->doc, root, keys, sizeof(keys) / sizeof(*keys), err)
		&& al_json_get_text(&s->doc, root, "title", true, &s->title, err)
		&& al_json_get_text(&s->doc, root, "source", false, &source, err)
		&& al_json_get_node(&s->doc, root, "variants", AL_JSON_ARRAY, false, &variants, err)
		&& read_variants(s, variants, err)
		&& read_model(s, root, &s->settings, &s->has_model, err)
		&& read_settings(s, al_json_get(root, "set"), s->name, &s->settings, err)
		&& read_basis(s, al_json_get(root, "basis"), &s->basis, err)
		&& read_recipe(s, root, &s->recipe, err)
		&& al_json_get_node(&s->doc, root, "cases", AL_JSON_ARRAY, false, &cases, err)
		&& read_cases(s, cases, err);
}

static bool read_body(struct al_scenario *s, struct al_error *err)
{
	const struct cJSON *root = s->doc.root, *data, *tables, *sweeps, *figures, *claims, *errata;

	return al_json_get_node(&s->doc, root, "data", AL_JSON_ARRAY, false, &data, err)
		&& al_json_get_node(&s->doc, root, "tables", AL_JSON_ARRAY, false, &tables, err)
		&& al_json_get_node(&s->doc, root, "sweeps", AL_JSON_ARRAY, false, &sweeps, err)
		&& al_json_get_node(&s->doc, root, "figures", AL_JSON_ARRAY, false, &figures, err)
		&& al_json_get_node(&s->doc, root, "claims", AL_JSON_ARRAY, false, &claims, err)
		&& al_json_get_node(&s->doc, root, "errata", AL_JSON_ARRAY, false, &errata, err)
		&& read_data(s, data, err) && read_tables(s, tables, err) && read_sweeps(s, sweeps, err)
		&& read_figures(s, figures, err) && read_claims(s, claims, errata, err);
}

bool al_scenario_parse(struct al_scenario **out, struct al_catalog *catalog, const char *name,
	const char *file, const char *folder, const char *text, size_t length, struct al_error *err)
{
	struct al_arena arena;

	al_arena_init(&arena);
	struct al_scenario *s = al_new(&arena, struct al_scenario);
	s->arena = arena;
	s->catalog = catalog;
	s->name = al_strdup(&s->arena, name);
	s->file = al_strdup(&s->arena, file);
	s->folder = al_strdup(&s->arena, folder);
	al_settings_init(&s->settings, catalog);
	al_basis_init(&s->basis);
	if (al_json_parse(&s->doc, file, text, length, err) && read_head(s, err) && read_body(s, err)) {
		*out = s;
		return true;
	}
	al_scenario_destroy(s);
	return false;
}

/* "a/b/mhe.json" -> "mhe" and "a/b" */
static void split_path(struct al_arena *arena, const char *path, const char **name, const char **folder)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t n = strlen(base);

	if (n > 5 && strcmp(base + n - 5, ".json") == 0)
		n -= 5;
	*name = al_strndup(arena, base, n);
	*folder = slash ? al_strndup(arena, path, (size_t)(slash - path)) : ".";
}

static bool open_file(struct al_scenario **out, struct al_catalog *catalog, const char *path,
	struct al_error *err)
{
	struct al_arena arena;
	struct al_text text;
	const char *name, *folder;

	if (!al_file_read(&text, path, AL_JSON_FILE_LIMIT, err))
		return false;
	al_arena_init(&arena);
	split_path(&arena, path, &name, &folder);
	bool ok = al_scenario_parse(out, catalog, name, path, folder, text.data, text.length, err);
	al_arena_finish(&arena);
	al_text_finish(&text);
	return ok;
}

static bool fail_unknown_scenario(const char *name, struct al_error *err)
{
	struct al_arena arena;

	al_arena_init(&arena);
	const char **names = al_new_array(&arena, const char *, al_embedded_scenarios.n_files + 1);
	for (size_t i = 0; i < al_embedded_scenarios.n_files; i++)
		names[i] = al_embedded_scenarios.files[i].name;
	al_fail_unknown(err, "scenario", name, names, al_embedded_scenarios.n_files);
	al_arena_finish(&arena);
	return false;
}

bool al_scenario_open(struct al_scenario **out, struct al_catalog *catalog, const char *name,
	struct al_error *err)
{
	size_t n = strlen(name);

	if (strchr(name, '/') || (n > 5 && strcmp(name + n - 5, ".json") == 0))
		return open_file(out, catalog, name, err);
	const struct al_embedded *file = al_embedded_find(&al_embedded_scenarios, name);
	if (!file)
		return fail_unknown_scenario(name, err);

	char shown[300];
	snprintf(shown, sizeof(shown), "%s.json", name);
	return al_scenario_parse(out, catalog, name, shown, "", file->text, file->length, err);
}

const char *al_scenario_name(const struct al_scenario *scenario)
{
	return scenario->name;
}

const char *al_scenario_title(const struct al_scenario *scenario)
{
	return scenario->title;
}
