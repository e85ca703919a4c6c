/* memory in a sentence: the total, what is assumed, and its parts. */
#include "answer/memory.h"

#include "report/claim.h"

/* ---- pieces ---- */

/* Of the total; after it may follow what an allocator reserves for that. */
static size_t total_row(const struct al_table *table)
{
	size_t row = 0;

	while (row + 1 < table->n_rows && !table->rows[row][0].is_total)
		row++;
	return row;
}

/* "19.50 GiB allocated, about 21.06 GiB reserved," */
static const char *amount(struct al_arena *arena, const struct al_table *table)
{
	const size_t row = total_row(table);
	const char *total = al_claim_cell(arena, table, row, "bytes");

	return row + 1 == table->n_rows
		? al_format(arena, AL_CLAIM_LEAD "%s", total)
		: al_format(arena, AL_CLAIM_LEAD "%s allocated, about %s reserved,", total,
			al_claim_cell(arena, table, row + 1, "bytes"));
}

/* "14.96 GiB weights, 1.00 GiB cache": the rows before the total that hold something. */
static const char *parts(struct al_arena *arena, const struct al_table *table)
{
	const char *text = "";
	double bytes;

	for (size_t row = 0; row < total_row(table); row++)
		if (al_table_number(table, row, "bytes", &bytes) && bytes > 0)
			text = al_join(arena, text,
				al_format(arena, "%s %s", al_claim_cell(arena, table, row, "bytes"),
					al_claim_cell(arena, table, row, "state")));
	return text;
}

/* The fullest stage of a pipeline. */
static const char *of_devices(struct al_arena *arena, const struct al_memory_told *told)
{
	const struct al_training *t = told->training;
	const struct al_inference *i = told->inference;
	const int64_t pp = t ? t->pp : i ? i->pp : 1;
	const int64_t n = t ? t->tp * t->pp * t->dp * t->cp
		: i	    ? i->tp * i->pp * told->options->devices.training.dp
			    : 1;

	return n > 1 ? al_format(arena, " on %s of %s devices", pp > 1 ? "the fullest" : "one",
		       al_claim_count(arena, "devices", n))
		     : "";
}

/* " at context 8,192, batch size 1" */
static const char *tokens(struct al_arena *arena, const struct al_memory_told *told)
{
	const struct al_training *t = told->training;
	const struct al_inference *i = told->inference;
	const char *batch = al_claim_count(arena, "batch", t ? t->batch : i ? i->batch : 1);
	const char *per_device = i && told->options->devices.training.dp > 1 ? " per device" : "";

	if (!t && !i)
		return "";
	if (told->request->lacks_seq)
		return al_format(arena, " at batch size %s%s", batch, per_device);
	return al_format(arena, " at %s%s, batch size %s%s",
		told->has_contexts ? "each one's own context" : "context ",
		told->has_contexts ? "" : al_claim_count(arena, "context", t ? t->seq : i->seq),
		batch, per_device);
}

/* "recipe megatron, FlashAttention, no recomputation"; "bf16"; "weights mxfp4, cache bf16" */
static const char *assumed(struct al_arena *arena, const struct al_memory_told *told)
{
	const struct al_recipe *recipe = told->request->recipe;
	const struct al_training *t = told->training;
	const struct al_device_options *o = &told->options->devices;
	const char *cache = o->is_training ? "" : told->request->cache.dtype->name;
	const bool is_encoder = told->inference && told->inference->is_encoder;
	const char *weights = told->inference ? told->inference->weights->name
		: o->dtype		      ? o->dtype
					      : "bf16";

	if (told->has_formats)
		return "each one's own formats";
	if (!o->is_training)
		return is_encoder || strcmp(weights, cache) == 0
			? al_claim_name(arena, "weights", weights)
			: al_format(arena, "weights %s, cache %s",
				al_claim_name(arena, "weights", weights),
				al_claim_name(arena, "cache", cache));
	const char *name = al_claim_name(arena, "recipe", recipe->name);
	if (recipe->activations_per_token)
		return al_format(arena, "recipe %s", name);
	return al_format(arena, "recipe %s, %s%s", name,
		recipe->is_flash ? "FlashAttention" : "eager attention",
		!t ? ""
			: t->recompute == AL_RECOMPUTE_NONE
			? ", no recomputation"
			: al_format(arena, ", %s recomputation", al_recompute_names[t->recompute]));
}

static const char *verb(const struct al_memory_told *told)
{
	return told->options->devices.is_training ? "Training" : "Running";
}

static const char *with_engine(struct al_arena *arena, const struct al_memory_told *told)
{
	return told->options->devices.is_training || al_is_ideal(told->request)
		? ""
		: al_format(arena, " with %s",
			al_claim_name(arena, "engine", told->request->engine.engine->title));
}

/* An engine's other memory is unknown. */
static const char *at_least(const struct al_memory_told *told)
{
	return told->inference && al_is_ideal(told->request) ? " at least" : "";
}

static const char *unknown(struct al_arena *arena, const struct al_memory_told *told,
	const char *subject)
{
	if (told->request->lacks_seq)
		return al_format(arena,
			"%s %s%s takes %s; it has no context length of its own: pass --seq N for "
			"the rest.",
			verb(told), subject, tokens(arena, told), parts(arena, told->table));
	return al_format(arena,
		"The total of %s %s is unknown: a variant's file doesn't list all of it (see the "
		"notes).",
		told->options->devices.is_training ? "training" : "running", subject);
}

/* " H100 gives at most 208.3 new tokens per second, limited by memory bandwidth, ..." */
static const char *say_bound(struct al_arena *arena, const struct al_memory_told *told)
{
	const struct al_table *bounds = told->bounds;
	if (!bounds || bounds->n_rows == 0
		|| !*al_claim_cell(arena, bounds, 0, "tokens_per_second"))
		return "";
	return al_format(arena, " %s gives at most %s%s tokens per second, limited by %s.",
		al_claim_name(arena, "device", told->options->devices.device),
		al_claim_cell(arena, bounds, 0, "tokens_per_second"),
		told->inference->is_encoder ? "" : " new",
		al_claim_cell(arena, bounds, 0, "limited_by"));
}

/* ---- sentences ---- */

const char *al_memory_summarize(struct al_arena *arena, const struct al_memory_told *told)
{
	const struct al_device_options *o = &told->options->devices;
	const char *covered = al_claim_name(arena, "subject",
		al_request_covered(told->request, o->is_whole || !o->is_training));

	if (!*al_claim_cell(arena, told->table, total_row(told->table), "bytes"))
		return unknown(arena, told, covered);
	return al_format(arena, "%s %s%s takes%s %s%s%s (%s): %s.%s", verb(told), covered,
		with_engine(arena, told), at_least(told), amount(arena, told->table),
		of_devices(arena, told), tokens(arena, told), assumed(arena, told),
		parts(arena, told->table), say_bound(arena, told));
}

const char *al_memory_summarize_compared(struct al_arena *arena, const struct al_memory_told *told,
	const char *base)
{
	const struct al_device_options *o = &told->options->devices;
	const struct al_table *table = told->table;
	struct al_compared *items = al_new_array(arena, struct al_compared, table->n_rows + 1);
	size_t n = 0, base_at = 0;

	for (size_t row = 0; row < table->n_rows; row++) {
		double value;
		if (!al_table_number(table, row, "total", &value))
			continue;
		if (base && strcmp(al_table_text(table, row, "variant"), base) == 0)
			base_at = n;
		items[n++] = (struct al_compared){al_claim_row(arena, table, row, ""),
			al_claim_cell(arena, table, row, "total"), value};
	}
	if (n == 0)
		return unknown(arena, told, "it");
	if (n == 1)
		return al_format(arena, "%s with %s%s takes " AL_CLAIM_LEAD "%s (%s).", verb(told),
			items[0].name, tokens(arena, told), items[0].text, assumed(arena, told));
	return al_format(arena, "%s memory%s%s%s%s (%s), %s.",
		o->is_training ? "Training" : "Inference", base ? " of " : "",
		base ? al_claim_name(arena, "subject",
			al_request_covered(told->request, o->is_whole || !o->is_training))
		     : "",
		with_engine(arena, told), tokens(arena, told), assumed(arena, told),
		al_claim_order(arena, items, n, base_at));
}
