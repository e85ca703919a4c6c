/* How an answer of fit reads: the largest that fits, what it depends on, and what limits it; and
 * how many decimals its numbers have. */
#include "answer/fit.h"

#include "report/claim.h"

/* ---- what it depends on ---- */

static const char *count(struct al_arena *arena, const char *noun, const char *name, int64_t n)
{
	return al_format(arena, "%s %s", noun, al_claim_count(arena, name, n));
}

/* "one H100", "each of 8 H100"; a size is named by its bytes. */
static const char *device(struct al_arena *arena, const struct al_fit *f)
{
	const struct al_training *t = &f->training;
	const int64_t n = f->is_inference ? f->inference.tp * f->inference.pp * t->dp
					  : t->tp * t->pp * t->dp * t->cp;
	const char *number = al_claim_count(arena, "devices", n);

	if (f->gpu.bandwidth)
		return al_format(arena, "%s%s",
			n == 1 ? "one " : al_format(arena, "each of %s ", number),
			al_claim_name(arena, "device", f->gpu.name));
	return al_format(arena, "%s of %s",
		n == 1 ? "one device" : al_format(arena, "each of %s devices", number),
		al_claim_bytes(arena, "device", al_exact_from_int(arena, f->gpu.usable)));
}

/* "90 % of its memory" */
static const char *share(struct al_arena *arena, const struct al_fit *f)
{
	static const char *const of[] = {
		[AL_COVERS_ALL] = "its memory",
		[AL_COVERS_STATIC] = "its memory for weights and cache",
		[AL_COVERS_CACHE] = "the rest of its memory for cache",
		[AL_COVERS_FREE] = "what weights leave of its memory for cache",
	};

	return al_format(arena, "%s %% of %s",
		al_claim_exact(arena, "utilization_percent",
			al_exact_scaled(arena, f->share, 100, 1)),
		of[f->request->engine.engine->covers]);
}

/* Are weights in the format that they would have had without --dtype? */
static bool has_usual_weights(const struct al_fit *f)
{
	const struct al_quantization *usual = al_request_quantization(f->request, NULL, NULL);

	return usual && strcmp(usual->name, f->inference.weights->name) == 0;
}

/* Formats where they aren't the usual ones. */
static const char *running(struct al_arena *arena, const struct al_fit *f)
{
	const struct al_device_options *o = &f->options->devices;
	const bool has_usual_cache = !f->request->cache.declared
		&& strcmp(f->inference.cache->name, "bf16") == 0;
	const char *text = al_is_ideal(f->request)
		? "lower bound"
		: al_claim_name(arena, "engine", f->request->engine.engine->title);

	if (o->dtype && !has_usual_weights(f))
		text = al_join(arena, text,
			al_format(arena, "weights in %s",
				al_claim_name(arena, "weights", f->inference.weights->name)));
	if (o->cache_dtype && !has_usual_cache)
		text = al_join(arena, text,
			al_format(arena, "cache in %s",
				al_claim_name(arena, "cache", f->inference.cache->name)));
	return text;
}

static const char *training(struct al_arena *arena, const struct al_fit *f)
{
	const struct al_training *t = &f->training;
	const char *recipe = al_claim_name(arena, "recipe", t->recipe->name);

	const char *text = t->recipe->activations_per_token || t->recompute == AL_RECOMPUTE_NONE
		? al_format(arena, "training with %s", recipe)
		: al_format(arena, "training with %s, recompute %s", recipe,
			al_recompute_names[t->recompute]);

	return f->is_reserved ? al_join(arena, text, "memory as reserved") : text;
}

const char *al_fit_conditions(struct al_arena *arena, const struct al_fit *f)
{
	const struct al_training *t = &f->training;
	const char *text = (f->is_inference ? running : training)(arena, f);

	if (f->gpu.name)
		text = al_join(arena, text, device(arena, f));
	if (f->gpu.name && mpq_cmp_ui(f->share, 1, 1) != 0)
		text = al_join(arena, text, share(arena, f));
	if (strcmp(f->symbol, "batch") != 0)
		text = al_join(arena, text, count(arena, "batch size", "batch", t->batch));
	if (strcmp(f->symbol, "seq") != 0)
		text = al_join(arena, text, count(arena, "context", "seq", t->seq));
	return text;
}

/* ---- one row ---- */

static const char *title(struct al_arena *arena, const struct al_fit *f)
{
	return al_claim_name(arena, "model", f->request->title);
}

/* " Llama 3 8B was made for 8,192 tokens." */
static const char *made_for(struct al_arena *arena, const struct al_fit *f)
{
	return f->context == 0 || strcmp(f->symbol, "seq") != 0
		? ""
		: al_format(arena, " %s was made for %s tokens.", title(arena, f),
			al_claim_count(arena, "context", f->context));
}

/* What limits the row is the device's memory: the state that grows most. */
static const char *limit(struct al_arena *arena, const struct al_table *table, size_t row)
{
	const char *binds = al_claim_cell(arena, table, row, "binds");

	return *binds ? al_format(arena, " Limited by %s.", binds) : "";
}

/* "memory alone would hold 2,041,984" */
static const char *by_memory(struct al_arena *arena, const struct al_table *table, size_t row)
{
	const char *tokens = al_claim_cell(arena, table, row, "by_memory");

	return *tokens ? al_format(arena, "memory alone would hold %s", tokens)
		       : "memory alone sets no limit";
}

static const char *say_context(struct al_arena *arena, const struct al_table *table, size_t row,
	const struct al_fit *f)
{
	const char *value = al_claim_cell(arena, table, row, "value"),
		   *on = al_fit_conditions(arena, f), *beyond = f->request->engine.engine->beyond;

	if (strcmp(al_table_text(table, row, "binds"), "context") == 0)
		return al_format(arena,
			"The longest context is " AL_CLAIM_LEAD
			"%s tokens, the most that %s was made for; %s (%s).%s%s%s%s",
			value, title(arena, f), by_memory(arena, table, row), on, beyond ? " " : "",
			beyond ? f->request->engine.engine->title : "", beyond ? " " : "",
			beyond ? al_claim_name(arena, "beyond", al_format(arena, "%s.", beyond))
			       : "");
	return al_format(arena,
		"The longest context that fits is " AL_CLAIM_LEAD "%s tokens (%s).%s%s", value, on,
		limit(arena, table, row),
		f->context ? al_format(arena, " %s was made for %s.", title(arena, f),
			al_claim_count(arena, "context", f->context))
			   : "");
}

static const char *say_largest(struct al_arena *arena, const struct al_table *table, size_t row,
	const struct al_fit *f)
{
	const char *value = al_claim_cell(arena, table, row, "value");

	if (strcmp(f->symbol, "seq") == 0)
		return say_context(arena, table, row, f);
	if (strcmp(f->symbol, "batch") == 0)
		return al_format(arena,
			"The largest batch that fits is " AL_CLAIM_LEAD "%s (%s).%s", value,
			al_fit_conditions(arena, f), limit(arena, table, row));
	return al_format(arena, "The largest %s that fits is " AL_CLAIM_LEAD "%s (%s).%s",
		f->symbol, value, al_fit_conditions(arena, f), limit(arena, table, row));
}

/* "--tp 4 or --dtype q4_k_m": more devices, as many as would do if all were shared out. */
const char *al_fit_advice(struct al_arena *arena, const struct al_fit *f, mpq_srcptr needed,
	mpq_srcptr memory)
{
	int64_t n = 2;

	while (n < 1024 && mpq_get_d(needed) > (double)n * mpq_get_d(memory))
		n *= 2;
	const char *devices = al_claim_count(arena, "devices", n);
	const char *format = al_claim_name(arena, "dtype", "--dtype q4_k_m");
	if (f->is_inference)
		return n > 16 ? al_format(arena, "%s, or larger devices", format)
			      : al_format(arena, "--tp %s or %s", devices, format);
	return al_format(arena,
		f->training.recipe->trainable ? "%s --dp %s" : "%s --dp %s or --recipe qlora",
		al_claim_name(arena, "zero", "--zero 3"), devices);
}

static const char *say_nothing(struct al_arena *arena, const struct al_table *table, size_t row,
	const struct al_fit *f)
{
	mpq_srcptr needed = al_cell_exact(table, row, "next_bytes"),
		   memory = al_cell_exact(table, row, "memory");
	return al_format(arena,
		"It doesn't fit: %s needs %s, and there are %s (%s). The largest part is %s; try "
		"%s.",
		al_format(arena, "%s %s",
			strcmp(f->symbol, "seq") == 0		  ? "a context of"
				: strcmp(f->symbol, "batch") == 0 ? "batch size"
								  : f->symbol,
			al_claim_cell(arena, table, row, "next")),
		al_claim_cell(arena, table, row, "next_bytes"),
		al_claim_cell(arena, table, row, "memory"), al_fit_conditions(arena, f),
		al_claim_cell(arena, table, row, "binds"), al_fit_advice(arena, f, needed, memory));
}

static const char *say_row(struct al_arena *arena, const struct al_table *table, size_t row,
	const struct al_fit *f)
{
	if (al_cell_exact(table, row, "bytes"))
		return say_largest(arena, table, row, f);
	if (al_cell_exact(table, row, "next_bytes"))
		return say_nothing(arena, table, row, f);
	return al_format(arena, "What fits of %s is unknown: a variant's file doesn't list it.",
		title(arena, f));
}

/* ---- several ---- */

/* Rows of which nothing fits, or that aren't known. */
static const char *say_left_out(struct al_arena *arena, const struct al_table *table)
{
	const char *none = "", *unknown = "";

	for (size_t row = 0; row < table->n_rows; row++) {
		const char **names = al_cell_exact(table, row, "next_bytes") ? &none : &unknown;
		if (!al_cell_exact(table, row, "value"))
			*names = al_join(arena, *names, al_claim_row(arena, table, row, "symbol"));
	}
	return al_format(arena, "%s%s",
		*none ? al_format(arena, " Nothing fits for %s.", none) : "",
		*unknown ? al_format(arena, " Unknown for %s.", unknown) : "");
}

/* The claim if nothing fits, or only in one row. */
static const char *say_only(struct al_arena *arena, const struct al_table *table,
	const struct al_fit *f)
{
	size_t row = 0;

	while (row < table->n_rows && !al_cell_exact(table, row, "value"))
		row++;
	if (row == table->n_rows)
		row = 0;
	return al_format(arena, "%s: %s%s", al_claim_row(arena, table, row, "symbol"),
		say_row(arena, table, row, f), say_left_out(arena, table));
}

/* Contexts are compared by what memory holds: what the model was made for is the same for all. */
static const char *say_several(struct al_arena *arena, const struct al_table *table,
	const struct al_fit *f)
{
	const bool is_context = strcmp(f->symbol, "seq") == 0;
	const char *compared = al_claim_compared(arena, table, "symbol", f->symbol,
		is_context ? "by_memory" : "value");

	if (!compared)
		return say_only(arena, table, f);
	return al_format(arena, "%s%s, %s (%s).%s%s",
		is_context ? "Context that memory alone would hold" : "Largest ",
		is_context ? "" : al_format(arena, "%s that fits", f->symbol), compared,
		al_fit_conditions(arena, f), made_for(arena, f), say_left_out(arena, table));
}

const char *al_fit_summarize(struct al_arena *arena, const struct al_table *table,
	const struct al_fit *f)
{
	return table->n_rows > 1 ? say_several(arena, table, f) : say_row(arena, table, 0, f);
}

/* ---- enough decimals to distinguish the size that fits, the next larger one, and the memory
 * ---- */

static const char *const keys[] = {"bytes", "next_bytes", "memory"};

enum { N_KEYS = sizeof(keys) / sizeof(*keys) };

/* Unequal numbers that read the same? */
static bool reads_alike(const struct al_style *style, struct al_table *table, size_t row, int a,
	int b)
{
	const struct al_cell *x = &table->rows[row][a], *y = &table->rows[row][b];

	return x->kind == AL_CELL_EXACT && y->kind == AL_CELL_EXACT
		&& !mpq_equal(x->exact, y->exact)
		&& strcmp(al_cell_display(&table->arena, style, &table->columns[a], x),
			   al_cell_display(&table->arena, style, &table->columns[b], y))
		== 0;
}

static bool tells_apart(const struct al_style *style, struct al_table *table, const int at[N_KEYS])
{
	for (size_t row = 0; row < table->n_rows; row++)
		for (int i = 0; i < N_KEYS; i++)
			if (reads_alike(style, table, row, at[i], at[(i + 1) % N_KEYS]))
				return false;
	return true;
}

void al_fit_choose_digits(const struct al_style *style, struct al_table *table)
{
	const struct al_style readable = {
		.units = style->units == AL_UNITS_DEFAULT ? AL_UNITS_READABLE : style->units};
	int at[N_KEYS];

	for (int i = 0; i < N_KEYS; i++)
		at[i] = al_table_find_column(table, keys[i]);
	for (int digits = 3; !tells_apart(&readable, table, at); digits++)
		for (int i = 0; i < N_KEYS; i++)
			table->columns[at[i]].digits = digits;
}
