/* Recipes: bytes per parameter of each state of training, and a rule for activations. */
#include "catalog/read.h"

enum { MOST_BYTES = 1024 };

static bool parse_term(struct al_reader *reader, const struct cJSON *node,
	struct al_state_bytes *state, struct al_error *err)
{
	struct al_state_term *term = &state->parts[state->n_parts++];

	if (al_json_kind(node) == AL_JSON_TEXT) {
		state->has_formula = true;
		return al_read_formula(reader, node, &term->formula, err);
	}
	if (!al_json_whole_from(reader->doc, node, 0, &term->bytes, err))
		return false;
	if (term->bytes > MOST_BYTES)
		return al_json_fail(reader->doc, node, err,
			"found %lld bytes a parameter, expected at most %d", (long long)term->bytes,
			MOST_BYTES);
	state->total += term->bytes;
	return true;
}

/* [2, 4]: a 2-byte working copy and a 4-byte master copy; ["4*if(matrix, rows + cols,
 * elements)"]. */
static bool parse_state(struct al_reader *reader, const char *key, struct al_state_bytes *out,
	struct al_error *err)
{
	const struct cJSON *list;

	if (!al_json_get_node(reader->doc, reader->doc->root, key, AL_JSON_ARRAY, true, &list, err))
		return false;
	if (al_json_size(list) > AL_RECIPE_PARTS)
		return al_json_fail(reader->doc, list, err,
			"\"%s\" has %zu parts, expected at most %d", key, al_json_size(list),
			AL_RECIPE_PARTS);
	al_json_each (node, list)
		if (!parse_term(reader, node, out, err))
			return false;
	return true;
}

/* What terms may speak of. `trainable` may not be a formula of itself. */
static bool parse_states(struct al_reader *reader, struct al_recipe *recipe, struct al_error *err)
{
	static const char *const facts[] = {"elements", "rows", "cols", "matrix", "hidden", "rank"};
	size_t n_symbols = reader->n_symbols;
	const struct cJSON *rank = al_json_get(reader->doc->root, "rank");

	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++)
		al_reader_know(reader, facts[i]);
	if ((rank && !al_json_whole_from(reader->doc, rank, 1, &recipe->rank, err))
		|| !al_read_formula_at(reader, reader->doc->root, "trainable", false,
			&recipe->trainable, err))
		return false;
	al_reader_know(reader, "trainable");
	bool ok = parse_state(reader, "weights", &recipe->weights, err)
		&& parse_state(reader, "gradients", &recipe->gradients, err)
		&& parse_state(reader, "optimizer", &recipe->optimizer, err);
	reader->n_symbols = n_symbols;
	return ok;
}

static bool parse_ledger_rule(struct al_reader *reader, const struct cJSON *rule,
	struct al_recipe *recipe, struct al_error *err)
{
	static const char *const kernels[] = {"eager", "flash"};
	const struct cJSON *bytes = al_json_get(rule, "bytes");
	size_t kernel = 0;

	if (!al_read_word(reader, rule, "ledger", true, kernels, 2, &kernel, err))
		return false;
	recipe->is_flash = kernel == 1;
	recipe->activation_bytes = 2;
	return !bytes || al_json_whole_from(reader->doc, bytes, 1, &recipe->activation_bytes, err);
}

static bool parse_activations(struct al_reader *reader, struct al_recipe *recipe,
	struct al_error *err)
{
	static const char *const formula_keys[] = {"per_token"};
	static const char *const ledger_keys[] = {"ledger", "bytes"};
	const struct cJSON *rule;

	if (!al_json_get_node(reader->doc, reader->doc->root, "activations", AL_JSON_OBJECT, true,
		    &rule, err))
		return false;
	bool has_formula = al_json_get(rule, "per_token");
	if (has_formula == (al_json_get(rule, "ledger") != NULL))
		return al_json_fail(reader->doc, rule, err,
			"expected either \"per_token\" (a formula) or \"ledger\" (eager or flash)");
	if (!has_formula)
		return al_json_only(reader->doc, rule, ledger_keys, 2, err)
			&& parse_ledger_rule(reader, rule, recipe, err);
	return al_json_only(reader->doc, rule, formula_keys, 1, err)
		&& al_read_formula_at(reader, rule, "per_token", true,
			&recipe->activations_per_token, err);
}

bool al_recipe_read(struct al_arena *arena, const struct al_json *doc,
	const struct al_symbols *standard, struct al_recipe **out, struct al_error *err)
{
	static const char *const keys[] = {
		"name",
		"title",
		"source",
		"weights",
		"gradients",
		"optimizer",
		"activations",
		"trainable",
		"rank",
	};
	struct al_recipe *recipe = al_new(arena, struct al_recipe);
	struct al_reader reader;

	al_reader_init(&reader, arena, doc, standard);
	if (!al_json_only(doc, doc->root, keys, sizeof(keys) / sizeof(*keys), err)
		|| !al_read_text(&reader, doc->root, "name", true, &recipe->name, err))
		return false;
	recipe->title = recipe->name;
	if (!al_read_text(&reader, doc->root, "title", false, &recipe->title, err)
		|| !al_read_text(&reader, doc->root, "source", false, &recipe->source, err)
		|| !parse_states(&reader, recipe, err) || !parse_activations(&reader, recipe, err))
		return false;
	*out = recipe;
	return true;
}
