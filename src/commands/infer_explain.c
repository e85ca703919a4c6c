/* memory --inference --explain: the rules, and what each number is the sum of. */
#include "base/number.h"
#include "commands/explain.h"
#include "commands/memory.h"

/* ---- rules ---- */

static const struct {
	const char *state, *number, *rule;
} rules[] = {
	{"weights", "bytes", "numbers of each tensor on one device * bytes of its format"},
	{"weights", "read",
		"the same, but of experts at most batch * those that work on a token, and of an "
		"embedding batch rows"},
	{"weights", "flops", "2 * batch * numbers of the matrices that work on a token"},
	{"cache", "bytes", "numbers of a token * batch * tokens that are kept * bytes / tp"},
	{"cache", "read", "all that is cached"},
	{"cache", "flops",
		"2 * batch * multiply-adds of the products over the sequence / seq: one row each"},
	{"states", "bytes", "numbers of a sequence * batch * bytes / tp"},
	{"activations", "bytes",
		"numbers of a token, in the residual stream and in the block that holds most, * "
		"batch * seq * bytes"},
	{"total", "bytes", "weights + cache + states + activations; so are the other columns"},
	{"total", "intensity", "flops / read"},
};

static void add_rules(struct al_session *session)
{
	struct al_table *table = al_session_table(session, "rules", "How the numbers come about");

	al_table_add_column(table,
		(struct al_column){.key = "state", .title = "State", .is_key = true});
	al_table_add_column(table,
		(struct al_column){.key = "number", .title = "Column", .is_key = true});
	al_table_add_column(table, (struct al_column){.key = "rule", .title = "Rule"});
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		struct al_cell *cell = al_table_add_row(table);
		al_cell_set_text(table, cell++, rules[i].state);
		al_cell_set_text(table, cell++, rules[i].number);
		al_cell_set_text(table, cell, rules[i].rule);
	}
}

/* ---- entries ---- */

static struct al_table *entries_table(struct al_session *session)
{
	static const struct al_column columns[] = {
		{.key = "state", .title = "State", .is_key = true},
		{.key = "name", .title = "Entry", .is_key = true},
		{.key = "formula", .title = "Formula"},
		{.key = "substituted", .title = "Substituted"},
		{.key = "times",
			.title = "Times",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL},
	};
	struct al_table *table = al_session_table(session, "entries",
		"What each number is the sum of");

	al_table_add_columns(table, columns, sizeof(columns) / sizeof(*columns));
	al_inference_columns(table);
	al_table_add_column(table, (struct al_column){.key = "source", .title = "Source"});
	al_table_add_column(table, (struct al_column){.key = "format", .title = "Format"});
	return table;
}

struct texts {
	const char *formula, *substituted;
};

/* Beyond one device, its share of the entry: " * 1/8"; "" where it has all of it. */
static const char *share_of(struct al_arena *arena, const struct al_inference_part *part)
{
	mpq_t share;

	mpq_init(share);
	if (part->cached && mpq_sgn(part->entry->elements) != 0)
		mpq_div(share, part->cached->rank, part->entry->elements);
	else if (mpq_sgn(part->entry->elements) != 0)
		mpq_div(share, part->entry->device, part->entry->elements);
	else
		mpq_set_ui(share, 1, 1);
	const char *text = mpq_cmp_ui(share, 1, 1) == 0
		? ""
		: al_format(arena, " * %ld/%ld", mpz_get_si(mpq_numref(share)),
			mpz_get_si(mpq_denref(share)));
	mpq_clear(share);
	return text;
}

static struct texts texts_of_tensor(struct al_arena *arena, const struct al_inference *inference,
	const struct al_inference_part *part)
{
	const struct al_cache_entry *cached = part->cached;
	const char *share = share_of(arena, part), *bytes = al_explain_bytes(arena, part->storage),
		   *tokens = "", *counts = "";

	if (cached && *al_explain_tokens(cached)) {
		tokens = al_format(arena, " * %s%s", al_explain_tokens(cached),
			cached->held == cached->tokens ? "" : " as the engine holds them");
		counts = al_format(arena, " * %lld", (long long)cached->held);
	}
	if (cached) {
		tokens = al_format(arena, " * batch%s", tokens);
		counts = al_format(arena, " * %lld%s", (long long)inference->batch, counts);
	}
	return (struct texts){al_format(arena, "%s%s%s * %s bytes", part->entry->formula, tokens,
				      share, bytes),
		al_format(arena, "%s%s%s * %s", part->entry->substituted, counts, share, bytes)};
}

static struct texts texts_of_product(struct al_arena *arena, const struct al_inference *inference,
	const struct al_inference_part *part)
{
	const char *share = share_of(arena, part);

	return (struct texts){al_format(arena, "2 * batch * %s%s / seq", part->entry->formula,
				      share),
		al_format(arena, "2 * %lld * %s%s / %lld", (long long)inference->batch,
			part->entry->substituted, share, (long long)inference->seq)};
}

static struct texts texts_of_held(struct al_arena *arena, const struct al_inference *inference,
	const struct al_inference_part *part)
{
	const char *bytes = al_explain_bytes(arena, part->storage);
	const int64_t all = inference->batch * inference->seq;
	const int64_t tokens = al_inference_tokens_at_once(inference->engine, inference);

	if (part->formula)
		return (struct texts){part->formula,
			al_exact_text(arena, al_exact_scaled(arena, part->numbers, 1, 1))};
	if (tokens < all)
		return (struct texts){al_format(arena, "numbers of a token * chunk * %s bytes",
					      bytes),
			al_format(arena, "%s * %lld * %s",
				al_exact_text(arena,
					al_exact_scaled(arena, part->numbers, 1, tokens)),
				(long long)tokens, bytes)};
	return (struct texts){al_format(arena, "numbers of a token * batch * seq * %s bytes",
				      bytes),
		al_format(arena, "%s * %lld * %lld * %s",
			al_exact_text(arena, al_exact_scaled(arena, part->numbers, 1, tokens)),
			(long long)inference->batch, (long long)inference->seq, bytes)};
}

/* "layers.{layer}: W_Q (layer 3)", where layers are told apart. */
static const char *name_of(struct al_arena *arena, const struct al_inference_part *part)
{
	const struct al_ledger_entry *e = part->entry;
	const char *name = part->name;

	if (e && e->module && e->module->name)
		name = al_format(arena, "%s: %s", e->module->name, name);
	return e && e->layer >= 0 ? al_format(arena, "%s (layer %lld)", name, (long long)e->layer)
				  : name;
}

/* "fp8", or of numbers that a scheme packs "4 bits". */
static const char *format_of(struct al_arena *arena, const struct al_dtype *storage)
{
	return storage->name
		? storage->name
		: al_format(arena, "%zu bits", 8 * storage->block_bytes / storage->block_elements);
}

static void hear(void *context, const struct al_inference_part *part)
{
	const struct al_inference_explainer *explainer = context;
	const struct al_inference *inference = explainer->inference;
	struct al_table *table = explainer->table;
	struct al_cell *cell = al_table_add_row(table);
	struct texts texts = (!part->entry ? texts_of_held
			: part->numbers	   ? texts_of_tensor
					   : texts_of_product)(&table->arena, inference, part);

	al_cell_set_text(table, &cell[0], al_memory_state_names[part->state]);
	al_cell_set_text(table, &cell[1], name_of(&table->arena, part));
	al_cell_set_text(table, &cell[2], texts.formula);
	al_cell_set_text(table, &cell[3], texts.substituted);
	al_cell_set_int(table, &cell[4], part->entry ? part->entry->times : 1);
	al_cell_set_exact(table, &cell[5], part->row->bytes);
	cell += 6;
	al_cell_set_exact(table, cell++, part->row->read);
	al_cell_set_exact(table, cell++, part->row->flops);
	if (part->entry && part->entry->source)
		al_cell_set_text(table, cell, part->entry->source);
	cell++;
	if (part->storage)
		al_cell_set_text(table, cell, format_of(&table->arena, part->storage));
}

void al_explain_inference(struct al_session *session, const struct al_inference *inference,
	struct al_inference_explainer *explainer)
{
	add_rules(session);
	*explainer = (struct al_inference_explainer){.table = entries_table(session),
		.inference = inference,
		.watch = {hear, explainer}};
}
