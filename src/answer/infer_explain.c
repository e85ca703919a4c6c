/* memory --explain of a model that runs: the rules, and what each number is the sum of. */
#include "answer/explain.h"
#include "answer/memory.h"

/* ---- rules ---- */

static const struct rule {
	const char *state, *number, *rule;
} rules[] = {
	{"weights", "bytes", "numbers of each tensor on one device * bytes of its format"},
	{"weights", "read",
		"the same, but at most batch * active experts, and batch rows of an embedding"},
	{"weights", "flops", "2 * batch * numbers in the matrices that a token uses"},
	{"cache", "bytes", "numbers per token * batch * tokens kept * bytes / tp"},
	{"cache", "read", "everything cached"},
	{"cache", "flops",
		"2 * batch * multiply-adds of the products over the sequence / seq: one row each"},
	{"states", "bytes", "numbers per sequence * batch * bytes / tp"},
	{"activations", "bytes",
		"numbers per token, in the residual stream and the largest block, * tokens "
		"processed at once * bytes"},
	{"total", "bytes", "weights + cache + states + activations, as in the other columns"},
	{"total", "intensity", "flops / read"},
};

static const struct al_table_field rule_fields[] = {
	{AL_SHOW_KEY(struct rule, state, "State")},
	{AL_SHOW_KEY(struct rule, number, "Column")},
	{AL_SHOW(struct rule, rule, "Rule")},
	AL_FIELDS_END,
};

/* ---- entries ---- */

struct record {
	const char *state, *name, *formula, *substituted, *source, *format;
	int64_t times;
	struct al_inference_row row;
};

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct record, state, "State")},
	{AL_SHOW_KEY(struct record, name, "Entry")},
	{AL_SHOW(struct record, formula, "Formula")},
	{AL_SHOW(struct record, substituted, "Substituted")},
	{AL_SHOW_COUNT(struct record, times, "Times")},
	{AL_COLUMN_BYTES("bytes", "Memory"), AL_MEMBER(struct record, row.bytes)},
	{AL_COLUMN_BYTES("read", "Read/new token"), AL_MEMBER(struct record, row.read)},
	{AL_COLUMN_FLOPS("flops", "FLOPs/new token"), AL_MEMBER(struct record, row.flops)},
	{AL_SHOW(struct record, source, "Source")},
	{AL_SHOW(struct record, format, "Format")},
	AL_FIELDS_END,
};

struct texts {
	const char *formula, *substituted;
};

static const char *ratio_text(struct al_arena *arena, mpq_srcptr a, mpq_srcptr b)
{
	mpq_ptr ratio = al_exact_new(arena);
	int64_t above, below;

	if (mpq_sgn(b) == 0 || mpq_cmp(a, b) == 0)
		return "";
	mpq_div(ratio, a, b);
	al_integer_get(mpq_numref(ratio), &above);
	al_integer_get(mpq_denref(ratio), &below);
	return al_format(arena, " * %lld/%lld", (long long)above, (long long)below);
}

/* Beyond one device, its share of the entry: " * 1/8"; "" where it has all of it. */
static const char *share_of(struct al_arena *arena, const struct al_inference_part *part)
{
	return ratio_text(arena, part->cached ? part->cached->rank : part->entry->device,
		part->entry->elements);
}

/* What kernels fill tiles up to: " * 23/22"; "" where they don't. */
static const char *filling_of(struct al_arena *arena, const struct al_inference_part *part)
{
	mpq_ptr bytes = al_exact_new(arena);

	if (part->cached)
		return "";
	al_dtype_exact_bytes(part->storage, part->numbers, bytes);
	return ratio_text(arena, part->row->bytes, bytes);
}

static struct texts texts_of_tensor(struct al_arena *arena, const struct al_inference *inference,
	const struct al_inference_part *part)
{
	const struct al_cache_entry *cached = part->cached;
	const char *share = share_of(arena, part), *bytes = al_explain_bytes(arena, part->storage),
		   *tokens = "", *counts = "", *filling = filling_of(arena, part);

	if (cached && *al_explain_tokens(cached)) {
		tokens = al_format(arena, " * %s%s", al_explain_tokens(cached),
			cached->held == cached->tokens ? "" : " as the engine stores them");
		counts = al_format(arena, " * %lld", (long long)cached->held);
	} else if (cached && cached->held != 1) {
		tokens = " * states that the engine keeps";
		counts = al_format(arena, " * %lld", (long long)cached->held);
	}
	if (cached) {
		tokens = al_format(arena, " * batch%s", tokens);
		counts = al_format(arena, " * %lld%s", (long long)inference->batch, counts);
	}
	return (struct texts){al_format(arena, "%s%s%s * %s bytes%s%s", part->entry->formula,
				      tokens, share, bytes, filling,
				      *filling ? " in whole tiles" : ""),
		al_format(arena, "%s%s%s * %s%s", part->entry->substituted, counts, share, bytes,
			filling)};
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
	const int64_t tokens = al_inference_tokens_at_once(inference->engine, inference);
	const bool is_chunk = tokens < inference->batch * inference->seq;

	if (part->formula)
		return (struct texts){part->formula,
			al_exact_text(arena, al_exact_scaled(arena, part->numbers, 1, 1))};
	return (struct texts){al_format(arena, "numbers per token * %s * %s bytes",
				      is_chunk ? "tokens of a step" : "batch * seq", bytes),
		al_format(arena, "%s * %s * %s",
			al_exact_text(arena, al_exact_scaled(arena, part->numbers, 1, tokens)),
			is_chunk ? al_format(arena, "%lld", (long long)tokens)
				 : al_format(arena, "%lld * %lld", (long long)inference->batch,
					 (long long)inference->seq),
			bytes)};
}

/* "layers.{layer}: W_Q (layer 3)", where layers differ. */
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

struct explainer {
	struct al_table *table;
	const struct al_inference *inference;
	struct al_inference_watch watch;
};

static void hear(void *context, const struct al_inference_part *part)
{
	const struct explainer *explainer = context;
	struct al_arena *arena = &explainer->table->arena;
	const struct texts texts = (!part->entry ? texts_of_held
			: part->numbers		 ? texts_of_tensor
					: texts_of_product)(arena, explainer->inference, part);

	al_table_add_record(explainer->table,
		&(struct record){.state = al_memory_state_names[part->state],
			.name = name_of(arena, part),
			.formula = texts.formula,
			.substituted = texts.substituted,
			.source = part->entry ? part->entry->source : NULL,
			.format = part->storage ? format_of(arena, part->storage) : NULL,
			.times = part->entry ? al_entry_times(part->entry) : 1,
			.row = *part->row});
}

void al_explain_inference(struct al_session *session, struct al_inference *inference)
{
	struct al_table *table = al_session_table(session, "rules", rule_fields, 0,
		"How the numbers are computed");
	struct explainer *explainer = al_new(&session->arena, struct explainer);

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		al_table_add_record(table, &rules[i]);
	*explainer = (struct explainer){.table = al_session_table(session, "entries", fields, 0,
						"Terms of each number"),
		.inference = inference,
		.watch = {hear, explainer}};
	inference->watch = &explainer->watch;
}
