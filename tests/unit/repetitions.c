/* What a family's file says twice, it says alike: a bias is as wide as its weight and there when it
 * is, in the list of tensors and in views; a layer that predicts further tokens (MTP) stores what a
 * layer stores. State dicts show only those that their configs have. */
#include "unit.h"

#include "base/json.h"
#include "base/text.h"
#include "catalog/catalog.h"

enum { MOST_ENTRIES = 512 };

/* Objects with a name: tensors, and what modules store. */
struct entries {
	const struct al_item *items[MOST_ENTRIES];
	size_t n;
};

static const char *text_of(const struct al_item *entry, const char *key)
{
	const struct al_item *node = al_json_get(entry, key);

	return node && al_json_kind(node) == AL_JSON_TEXT ? node->text : "";
}

static void add_all(struct entries *entries, const struct al_item *array)
{
	al_json_each (entry, array) {
		assert_true(entries->n < MOST_ENTRIES);
		entries->items[entries->n++] = entry;
	}
}

static void collect(struct entries *entries, const struct al_item *root)
{
	const struct al_item *modules = al_json_get(root, "modules");

	entries->n = 0;
	if (al_json_get(root, "tensors"))
		add_all(entries, al_json_get(root, "tensors"));
	for (const struct al_item *m = modules ? al_json_first(modules) : NULL; m;
		m = al_json_next(m))
		if (al_json_get(m, "stored"))
			add_all(entries, al_json_get(m, "stored"));
}

static bool is_alike(const struct al_item *a, const struct al_item *b)
{
	struct al_text text_a, text_b;

	if (!a || !b)
		return a == b;
	al_text_init(&text_a);
	al_text_init(&text_b);
	al_json_add_compact(&text_a, a);
	al_json_add_compact(&text_b, b);
	const bool is_equal = strcmp(text_a.data, text_b.data) == 0;
	al_text_finish(&text_a);
	al_text_finish(&text_b);
	return is_equal;
}

static bool is_same(const struct al_item *a, const struct al_item *b, const char *key)
{
	return is_alike(al_json_get(a, key), al_json_get(b, key));
}

/* ---- a bias and its weight ---- */

static const char *first_dim(const struct al_item *entry)
{
	return al_json_first(al_json_get(entry, "shape"))->text;
}

/* Some layers store their weights as [in, out]. */
static bool is_as_wide(const struct al_item *bias, const struct al_item *weight)
{
	const struct al_item *shape = al_json_get(weight, "shape");
	const char *width = first_dim(bias);
	const char *last = al_json_at(shape, al_json_size(shape) - 1)->text;

	return strcmp(width, first_dim(weight)) == 0 || strcmp(width, last) == 0;
}

/* Do "labels > 0 and distilled" and "labels > 1" compare one thing in two ways? */
static bool contradicts(struct al_arena *arena, const char *a, const char *b)
{
	char *rest_a, *rest_b;

	for (char *x = al_strdup(arena, a); (x = strtok_r(x, "&", &rest_a)); x = NULL)
		for (char *y = al_strdup(arena, b); (y = strtok_r(y, "&", &rest_b)); y = NULL) {
			const size_t n = strcspn(x, " ");
			if (x[n] && strchr("<>=!", x[n + 1]) && strncmp(x, y, n + 1) == 0
				&& strcmp(x, y) != 0)
				return true;
		}
	return false;
}

/* " and " as one character, without parentheses. */
static char *terms(struct al_arena *arena, const char *condition)
{
	char *out = al_strdup(arena, condition), *end = out;

	for (const char *at = condition; *at; at++) {
		const bool joins = strncmp(at, " and ", 5) == 0;
		if (joins)
			at += 4;
		if (*at != '(' && *at != ')')
			*end++ = (char)(joins ? '&' : *at);
	}
	*end = 0;
	return out;
}

/* The widths of ["W_DKV", "kv_rank"], ["W_KR", "d_rope"] and of their biases. */
static bool is_fused_alike(const struct al_item *bias, const struct al_item *weight)
{
	const struct al_item *a = al_json_get(bias, "fused"), *b = al_json_get(weight, "fused");

	if (!a || !b)
		return a == b;
	const struct al_item *of_a = al_json_get(a, "of"), *of_b = al_json_get(b, "of");
	bool same = is_same(a, b, "repeat") && al_json_size(of_a) == al_json_size(of_b);
	for (size_t i = 0; same && i < al_json_size(of_a); i++)
		same = is_alike(al_json_at(al_json_at(of_a, i), 1),
			al_json_at(al_json_at(of_b, i), 1));
	return same;
}

static bool belongs_to(struct al_arena *arena, const struct al_item *bias,
	const struct al_item *weight)
{
	return (!al_json_get(bias, "shape") || is_as_wide(bias, weight))
		&& is_fused_alike(bias, weight)
		&& !contradicts(arena, terms(arena, text_of(bias, "when")),
			terms(arena, text_of(weight, "when")));
}

/* "q_proj.bias" and "q_proj.weight", of one list */
static bool is_weight_of(const struct al_item *bias, const struct al_item *weight)
{
	const char *a = text_of(bias, "name"), *b = text_of(weight, "name");
	const size_t n = strlen(a) - strlen("bias");

	return strncmp(a, b, n) == 0 && strcmp(b + n, "weight") == 0
		&& !al_json_get(bias, "shape") == !al_json_get(weight, "shape");
}

static size_t check_bias(const struct entries *entries, const struct al_item *bias,
	const char *file)
{
	struct al_arena arena;
	bool has_weight = false, holds = false;

	al_arena_init(&arena);
	for (size_t i = 0; i < entries->n; i++)
		if (is_weight_of(bias, entries->items[i])) {
			has_weight = true;
			holds |= belongs_to(&arena, bias, entries->items[i]);
		}
	al_arena_finish(&arena);
	if (has_weight && !holds)
		fail_msg("%s: %s isn't like its weight", file, text_of(bias, "name"));
	return has_weight;
}

/* ---- a layer that predicts further tokens ---- */

/* What follows "{mtp}" or "{layer}"; NULL: neither. */
static const char *within(const char *name, const char *index)
{
	const char *found = strstr(name, index);

	return found ? found + strlen(index) : NULL;
}

static size_t check_further(const struct entries *entries, const struct al_item *further,
	const char *file)
{
	const char *name = within(text_of(further, "name"), "{mtp}");
	bool has_layer = false, holds = false;

	for (size_t i = 0; name && i < entries->n; i++) {
		const struct al_item *entry = entries->items[i];
		const char *other = within(text_of(entry, "name"), "{layer}");
		if (!other || strcmp(other, name) != 0)
			continue;
		has_layer = true;
		holds |= is_same(further, entry, "shape") && is_same(further, entry, "is")
			&& is_same(further, entry, "fused");
	}
	if (has_layer && !holds)
		fail_msg("%s: %s isn't like a layer's", file, text_of(further, "name"));
	return has_layer;
}

/* ---- all ---- */

static bool is_bias(const struct al_item *entry)
{
	const char *name = text_of(entry, "name");
	const size_t n = strlen(name);

	return n > 5 && strcmp(name + n - 5, ".bias") == 0;
}

static void families_agree_with_themselves(void **state)
{
	const struct al_embedded_list *list = al_catalog_files(AL_CATALOG_FAMILIES);
	size_t n_biases = 0, n_further = 0;

	(void)state;
	for (size_t i = 0; i < list->n_files; i++) {
		const struct al_embedded *file = &list->files[i];
		struct entries entries;
		struct al_error err;
		struct al_json doc;
		assert_true(al_json_parse(&doc, file->name, file->text, file->length, &err));
		collect(&entries, doc.root);
		for (size_t j = 0; j < entries.n; j++) {
			if (is_bias(entries.items[j]))
				n_biases += check_bias(&entries, entries.items[j], file->name);
			n_further += check_further(&entries, entries.items[j], file->name);
		}
		al_json_finish(&doc);
	}
	assert_true(n_biases > 400 && n_further > 80);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(families_agree_with_themselves)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
