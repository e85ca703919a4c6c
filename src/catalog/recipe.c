/* Recipes: bytes per parameter of each state of training, and a rule for activations. */
#include "catalog/read.h"

enum { MOST_BYTES = 1024, MOST_PARTS = 8 };

const char *const al_recompute_names[AL_N_RECOMPUTES] = {"none", "selective", "full", "offloaded"};

const char *const al_state_fact_names[AL_N_STATE_FACTS] = {
	[AL_STATE_ELEMENTS] = "elements",
	[AL_STATE_ROWS] = "rows",
	[AL_STATE_COLS] = "cols",
	[AL_STATE_MATRIX] = "matrix",
	[AL_STATE_HIDDEN] = "hidden",
	[AL_STATE_RANK] = "rank",
	[AL_STATE_ADAPTED] = "adapted",
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
	[AL_WORKING_SHARDS] = "shards",
	[AL_WORKING_ZERO] = "zero",
	[AL_WORKING_BYTES] = "bytes",
	[AL_WORKING_RESIDUAL] = "residual",
	[AL_WORKING_ENCODER] = "encoder",
	[AL_WORKING_CHUNKED] = "chunked",
	[AL_WORKING_FUSED] = "fused",
	[AL_WORKING_COMPILED_LOSS] = "compiled_loss",
	[AL_WORKING_COMPILED] = "compiled",
	[AL_WORKING_WEIGHTS] = "weights",
	[AL_WORKING_GRADIENTS] = "gradients",
	[AL_WORKING_OPTIMIZER] = "optimizer",
	[AL_WORKING_ACTIVATIONS] = "activations",
	[AL_WORKING_IN_BACKWARD] = "in_backward",
	[AL_WORKING_STEP] = "step",
	[AL_WORKING_BLOCK] = "block",
	[AL_WORKING_OUTER] = "outer",
	[AL_WORKING_MATRICES] = "matrices",
	[AL_WORKING_BLOCK_GRADIENT] = "block_gradient",
	[AL_WORKING_HEAD_GRADIENT] = "head_gradient",
	[AL_WORKING_TIED_GRADIENT] = "tied_gradient",
	[AL_WORKING_PEAK] = "peak",
	[AL_WORKING_TEMPORARY] = "temporary",
};

const char *const al_saved_fact_names[AL_N_SAVED_FACTS] = {
	[AL_SAVED_BYTES] = "bytes",
	[AL_SAVED_RESIDUAL] = "residual",
	[AL_SAVED_READERS] = "readers",
	[AL_SAVED_RMS] = "rms",
	[AL_SAVED_GATED] = "gated",
	[AL_SAVED_DROPOUT] = "dropout",
	[AL_SAVED_FROZEN] = "frozen",
	[AL_SAVED_EXPERT] = "expert",
	[AL_SAVED_ENCODER] = "encoder",
	[AL_SAVED_UNIT_OFFSET] = "unit_offset",
	[AL_SAVED_SCORE_CAP] = "score_cap",
	[AL_SAVED_LOGIT_CAP] = "logit_cap",
	[AL_SAVED_SELECTIVE] = "selective",
	[AL_SAVED_CHUNKED] = "chunked",
	[AL_SAVED_FUSED] = "fused",
	[AL_SAVED_COMPILED_LOSS] = "compiled_loss",
	[AL_SAVED_COMPILED] = "compiled",
	[AL_SAVED_SP] = "sp",
	[AL_SAVED_ADAPTER_DROPOUT] = "adapter_dropout",
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
#define STATE(name, required) \
	{ \
		AL_KEY(#name, LIST, AT(name.parts)), \
			.is_required = (required), .n_offset = AT(name.n_parts), \
			.read = read_term, .item_size = sizeof(struct al_state_term), \
			.most = MOST_PARTS, .noun = "parts" \
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
	int64_t bytes, residual, logits;
	const char *grouped;
};

static const char *const kernel_names[] = {"eager", "flash"};

static const struct al_field ledger_fields[] = {
	{AL_KEY("ledger", WORD, offsetof(struct ledger_rule, kernel)), .is_required = true,
		AL_WORDS(kernel_names)},
	{AL_KEY("bytes", WHOLE, offsetof(struct ledger_rule, bytes)), .least = 1, .fallback = 2},
	{AL_KEY("residual", WHOLE, offsetof(struct ledger_rule, residual)), .least = 1},
	{AL_KEY("grouped", TEXT, offsetof(struct ledger_rule, grouped)), .words = kernel_names,
		.n_words = 1},
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
	recipe->residual_bytes = ledger.residual ? ledger.residual : ledger.bytes;
	recipe->grouped = ledger.grouped;
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

/* ---- how a framework saves tensors ---- */

#define AT(member) offsetof(struct al_saved_rule, member)

static const struct al_field rule_fields[] = {
	{AL_KEY("as", WORD, AT(of)), .is_required = true, AL_WORDS(al_saved_of_names)},
	{AL_KEY("activations", LIST, AT(activations)), .n_offset = AT(n_activations)},
	{AL_KEY("bytes", BY, AT(bytes)), .is_required = true, .read = al_read_formula},
	{AL_KEY("source", TEXT, AT(source)), .is_required = true},
};
#undef AT
static const struct al_record rule_record = {.fields = AL_FIELDS(rule_fields),
	.size = sizeof(struct al_saved_rule)};

/* ---- the working set ---- */

static const char *const term_state_names[AL_N_TERM_STATES] = {"gradients", "activations",
	"reserved"};

static const struct al_field term_fields[] = {
	{AL_KEY("name", TEXT, offsetof(struct al_working_term, name)), .is_required = true},
	{AL_KEY("when", BY, offsetof(struct al_working_term, when)), .read = al_read_formula},
	{AL_KEY("during", TEXT, offsetof(struct al_working_term, during))},
	{AL_KEY("bytes", BY, offsetof(struct al_working_term, bytes)), .is_required = true,
		.read = al_read_formula},
	{AL_KEY("state", WORD, offsetof(struct al_working_term, state)),
		.has_offset = offsetof(struct al_working_term, has_state),
		AL_WORDS(term_state_names)},
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

/* Formulas about a device or a saved tensor, not about one of the parameters: what these know gives
 * way to `names`. */
static void know_instead(struct al_reader *reader, size_t n_known, const char *const *names,
	size_t n)
{
	reader->n_symbols = n_known;
	for (size_t i = 0; i < n; i++)
		al_reader_know(reader, names[i]);
}

static bool read_rules(struct al_reader *reader, const struct al_item *list,
	struct al_recipe *recipe, struct al_error *err)
{
	recipe->saved = al_new_array(reader->arena, struct al_saved_rule, al_json_size(list));
	al_json_each (node, list)
		if (!al_read_record(reader, &rule_record, node, &recipe->saved[recipe->n_saved++],
			    err))
			return false;
	return true;
}

static bool read_terms(struct al_reader *reader, const struct al_item *list,
	struct al_recipe *recipe, struct al_error *err)
{
	recipe->working = al_new_array(reader->arena, struct al_working_term, al_json_size(list));
	al_json_each (node, list) {
		struct al_working_term *term = &recipe->working[recipe->n_working++];
		if (!al_read_record(reader, &term_record, node, term, err))
			return false;
		share_moment(recipe, term);
	}
	return true;
}

static bool check_list(const struct al_reader *reader, const struct al_item *list, const char *key,
	const struct al_recipe *recipe, struct al_error *err)
{
	if (recipe->activations_per_token)
		return al_json_fail(reader->doc, list, err,
			"\"%s\" needs \"activations\" with \"ledger\"", key);
	return al_json_expect(reader->doc, list, AL_JSON_ARRAY, err);
}

static bool read_saved(void *context, const struct al_item *list, void *out, struct al_error *err)
{
	struct al_reader *reader = context;
	const size_t n_known = reader->n_symbols;

	know_instead(reader, n_known - AL_N_STATE_FACTS, al_saved_fact_names, AL_N_SAVED_FACTS);
	bool ok = check_list(reader, list, "saved", out, err) && read_rules(reader, list, out, err);
	know_instead(reader, n_known - AL_N_STATE_FACTS, al_state_fact_names, AL_N_STATE_FACTS);
	return ok;
}

static bool read_working(void *context, const struct al_item *list, void *out, struct al_error *err)
{
	struct al_reader *reader = context;

	know_instead(reader, reader->n_symbols - AL_N_STATE_FACTS, al_working_fact_names,
		AL_N_WORKING_FACTS);
	return check_list(reader, list, "working", out, err) && read_terms(reader, list, out, err);
}

/* ---- optimizers ---- */

#define AT(member) offsetof(struct al_optimizer, member)

static const struct al_field optimizer_fields[] = {
	{AL_KEY("name", TEXT, AT(name)), .is_required = true},
	STATE(optimizer, false),
	STATE(step, false),
	{AL_KEY("in_backward", BOOLEAN, AT(is_in_backward))},
	{AL_KEY("source", TEXT, AT(source)), .is_required = true},
};
#undef AT

static bool finish_optimizer(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	struct al_optimizer *optimizer = record;

	(void)context;
	(void)node;
	(void)err;
	sum_terms(&optimizer->optimizer);
	sum_terms(&optimizer->step);
	return true;
}

static const struct al_record optimizer_record = {.fields = AL_FIELDS(optimizer_fields),
	.size = sizeof(struct al_optimizer),
	.check = finish_optimizer};

/* ---- recipes ---- */

#define AT(member) offsetof(struct al_recipe, member)

static const struct al_field recipe_fields[] = {
	{AL_KEY("name", TEXT, AT(name)), .is_required = true}, {AL_KEY("title", TEXT, AT(title))},
	{AL_KEY("source", TEXT, AT(source))}, STATE(weights, true), STATE(gradients, true),
	STATE(optimizer, true), STATE(step, false),
	{AL_KEY("activations", BY, 0), .is_required = true, .read = read_activations},
	{AL_KEY("trainable", BY, AT(trainable)), .read = read_trainable},
	{AL_KEY("rank", WHOLE, AT(rank)), .least = 1}, {AL_KEY("zero", WHOLE, AT(zero))},
	{AL_KEY("recompute", WORD, AT(recompute)), AL_WORDS(al_recompute_names)},
	{AL_KEY("optimizers", LIST, AT(optimizers)), .n_offset = AT(n_optimizers),
		.record = &optimizer_record},
	{AL_KEY("like", TEXT, AT(like))}, {AL_KEY("saved", BY, 0), .read = read_saved},
	{AL_KEY("working", BY, 0), .read = read_working}, /* last: forgets tensors' symbols */
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
	sum_terms(&recipe->step);
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
