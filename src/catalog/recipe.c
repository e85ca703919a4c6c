/* Recipes: bytes per parameter of each state of training, and a rule for activations. */
#include "catalog/read.h"

enum { MOST_BYTES = 1024, MOST_PARTS = 8 };

const char *const al_state_fact_names[AL_N_STATE_FACTS] = {
	[AL_STATE_ELEMENTS] = "elements",
	[AL_STATE_ROWS] = "rows",
	[AL_STATE_COLS] = "cols",
	[AL_STATE_MATRIX] = "matrix",
	[AL_STATE_HIDDEN] = "hidden",
	[AL_STATE_RANK] = "rank",
	[AL_STATE_TRAINABLE] = "trainable",
};

const char *const al_working_fact_names[AL_N_WORKING_FACTS] = {
	[AL_WORKING_TOKENS] = "tokens",
	[AL_WORKING_TP] = "tp",
	[AL_WORKING_SP] = "sp",
	[AL_WORKING_ETP] = "etp",
	[AL_WORKING_PP] = "pp",
	[AL_WORKING_CP] = "cp",
	[AL_WORKING_LAST] = "last",
	[AL_WORKING_WEIGHT_SHAPES] = "weight_shapes",
	[AL_WORKING_HEAD] = "head",
	[AL_WORKING_LOGITS] = "logits",
	[AL_WORKING_LOGIT_BYTES] = "logit_bytes",
	[AL_WORKING_FEED_FORWARD] = "feed_forward",
	[AL_WORKING_ROUTED] = "routed",
	[AL_WORKING_HEADS] = "heads",
	[AL_WORKING_LAYER_BYTES] = "layer_bytes",
};

/* ---- states ---- */

static bool read_term(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_state_term *term = out;

	if (al_json_kind(node) == AL_JSON_TEXT)
		return al_read_formula(reader, node, &term->formula, err);
	return al_json_whole_from(reader->doc, node, 0, &term->bytes, err)
		&& (term->bytes <= MOST_BYTES
			|| al_json_fail(reader->doc, node, err,
				"found %lld bytes per parameter, expected at most %d",
				(long long)term->bytes, MOST_BYTES));
}

/* [2, 4]: a 2-byte working copy and a 4-byte master copy; ["4*if(matrix, rows + cols,
 * elements)"]. */
#define STATE(name) \
	{ \
		AL_KEY(#name, LIST, AT(name.parts)), \
			.is_required = true, .n_offset = AT(name.n_parts), .read = read_term, \
			.item_size = sizeof(struct al_state_term), .most = MOST_PARTS, \
			.noun = "parts" \
	}

static void sum_terms(struct al_state_bytes *state)
{
	for (size_t i = 0; i < state->n_parts; i++) {
		state->total += state->parts[i].bytes;
		state->has_formula |= state->parts[i].formula != NULL;
	}
}

/* `trainable` may not be a formula of itself. */
static bool read_trainable(void *context, const struct al_item *node, void *out,
	struct al_error *err)
{
	struct al_reader *reader = context;

	reader->n_symbols--;
	bool ok = al_read_formula(reader, node, out, err);
	reader->n_symbols++;
	return ok;
}

/* ---- activations ---- */

struct ledger_rule {
	enum { KERNEL_EAGER, KERNEL_FLASH } kernel;
	int64_t bytes, logits;
};

static const char *const kernel_names[] = {"eager", "flash"};

static const struct al_field ledger_fields[] = {
	{AL_KEY("ledger", WORD, offsetof(struct ledger_rule, kernel)), .is_required = true,
		AL_WORDS(kernel_names)},
	{AL_KEY("bytes", WHOLE, offsetof(struct ledger_rule, bytes)), .least = 1, .fallback = 2},
	{AL_KEY("logits", WHOLE, offsetof(struct ledger_rule, logits)), .least = 1, .fallback = 4},
};
static const struct al_record ledger_record = {.fields = AL_FIELDS(ledger_fields)};

static const struct al_field formula_fields[] = {
	{AL_KEY("per_token", BY, offsetof(struct al_recipe, activations_per_token)),
		.is_required = true, .read = al_read_formula},
};
static const struct al_record formula_record = {.fields = AL_FIELDS(formula_fields)};

static bool read_rule(struct al_reader *reader, const struct al_item *rule,
	struct al_recipe *recipe, struct al_error *err)
{
	struct ledger_rule ledger = {0};
	bool has_formula = al_json_get(rule, "per_token");

	if (has_formula == (al_json_get(rule, "ledger") != NULL))
		return al_json_fail(reader->doc, rule, err,
			"expected either \"per_token\" (a formula) or \"ledger\" (eager or flash)");
	if (has_formula)
		return al_read_record(reader, &formula_record, rule, recipe, err);
	if (!al_read_record(reader, &ledger_record, rule, &ledger, err))
		return false;
	recipe->is_flash = ledger.kernel == KERNEL_FLASH;
	recipe->activation_bytes = ledger.bytes;
	recipe->logit_bytes = ledger.logits;
	return true;
}

/* A rule for activations is about a module, not about one of its tensors. */
static bool read_activations(void *context, const struct al_item *rule, void *recipe,
	struct al_error *err)
{
	struct al_reader *reader = context;

	if (!al_json_expect(reader->doc, rule, AL_JSON_OBJECT, err))
		return false;
	reader->n_symbols -= AL_N_STATE_FACTS;
	bool ok = read_rule(reader, rule, recipe, err);
	reader->n_symbols += AL_N_STATE_FACTS;
	return ok;
}

/* ---- the working set ---- */

static const struct al_field term_fields[] = {
	{AL_KEY("name", TEXT, offsetof(struct al_working_term, name)), .is_required = true},
	{AL_KEY("when", BY, offsetof(struct al_working_term, when)), .read = al_read_formula},
	{AL_KEY("during", TEXT, offsetof(struct al_working_term, during))},
	{AL_KEY("bytes", BY, offsetof(struct al_working_term, bytes)), .is_required = true,
		.read = al_read_formula},
	{AL_KEY("source", TEXT, offsetof(struct al_working_term, source)), .is_required = true},
};
static const struct al_record term_record = {.fields = AL_FIELDS(term_fields),
	.size = sizeof(struct al_working_term)};

/* Terms of one moment share its name. */
static void share_moment(const struct al_recipe *recipe, struct al_working_term *term)
{
	for (const struct al_working_term *t = recipe->working; t < term && term->during; t++)
		if (t->during && strcmp(t->during, term->during) == 0)
			term->during = t->during;
}

/* Its formulas are about a device, not about one of its tensors: what these know gives way, so
 * that this is the last key that is read. */
static bool read_working(void *context, const struct al_item *list, void *out, struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_recipe *recipe = out;

	if (recipe->activations_per_token)
		return al_json_fail(reader->doc, list, err,
			"\"working\" needs \"activations\" with \"ledger\"");
	if (!al_json_expect(reader->doc, list, AL_JSON_ARRAY, err))
		return false;
	reader->n_symbols -= AL_N_STATE_FACTS;
	for (size_t i = 0; i < AL_N_WORKING_FACTS; i++)
		al_reader_know(reader, al_working_fact_names[i]);
	recipe->working = al_new_array(reader->arena, struct al_working_term, al_json_size(list));
	al_json_each (node, list) {
		struct al_working_term *term = &recipe->working[recipe->n_working++];
		if (!al_read_record(reader, &term_record, node, term, err))
			return false;
		share_moment(recipe, term);
	}
	return true;
}

/* ---- recipes ---- */

#define AT(member) offsetof(struct al_recipe, member)

static const struct al_field recipe_fields[] = {
	{AL_KEY("name", TEXT, AT(name)), .is_required = true},
	{AL_KEY("title", TEXT, AT(title))},
	{AL_KEY("source", TEXT, AT(source))},
	STATE(weights),
	STATE(gradients),
	STATE(optimizer),
	{AL_KEY("activations", BY, 0), .is_required = true, .read = read_activations},
	{AL_KEY("trainable", BY, AT(trainable)), .read = read_trainable},
	{AL_KEY("rank", WHOLE, AT(rank)), .least = 1},
	{AL_KEY("working", BY, 0), .read = read_working},
};
static bool finish_recipe(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	struct al_recipe *recipe = record;

	(void)context;
	(void)node;
	(void)err;
	if (!recipe->title)
		recipe->title = recipe->name;
	sum_terms(&recipe->weights);
	sum_terms(&recipe->gradients);
	sum_terms(&recipe->optimizer);
	return true;
}

static const struct al_record recipe_record = {
	.fields = AL_FIELDS(recipe_fields),
	.size = sizeof(struct al_recipe),
	.check = finish_recipe,
};

const struct al_file_kind al_recipe_file = {
	.record = &recipe_record,
	.has_standard = true,
	.symbols = al_state_fact_names,
	.n_symbols = AL_N_STATE_FACTS,
};
