/* The ledger's columns of a whole model. */
#include "base/number.h"
#include "ledger/block.h"
#include "ledger/infer.h"
#include "ledger/train.h"

static void sum_part(const struct al_whole *whole, enum al_part part, mpq_t out)
{
	mpq_set_ui(out, 0, 1);
	for (size_t i = 0; i < whole->n_tensors; i++)
		if (whole->tensors[i].is_parameter && whole->tensors[i].part == part)
			mpq_add(out, out, whole->tensors[i].elements);
}

static void share_of_attention(const struct al_whole *whole, mpq_t out)
{
	mpq_t all;

	mpq_init(all);
	al_whole_count(whole, AL_COUNT_PARAMETERS, all);
	sum_part(whole, AL_PART_ATTENTION, out);
	al_exact_multiply(out, 100);
	if (mpq_sgn(all) != 0)
		mpq_div(out, out, all);
	mpq_clear(all);
}

static bool read_tokens(struct al_settings *settings, const char *symbol, int64_t *out,
	struct al_error *err)
{
	const struct al_setting *setting;

	if (!al_settings_get(settings, symbol, &setting, err))
		return false;
	if (!setting)
		return al_fail(err, AL_EINPUT, "symbol \"%s\" is not given", symbol);
	*out = setting->value.integer;
	return *out >= 1
		|| al_fail(err, AL_EINPUT, "%s is %lld, expected at least 1", symbol,
			(long long)*out);
}

/* ---- training ---- */

static bool train(struct al_whole *whole, enum al_measure measure, const struct al_recipe *recipe,
	mpq_t out, struct al_error *err)
{
	struct al_training training = {.recipe = recipe,
		.share.parts = AL_ALL_PARTS,
		.batch = 1,
		.seq = 1,
		.tp = 1,
		.pp = 1,
		.interleave = 1,
		.dp = 1,
		.cp = 1,
		.ep = 1,
		.is_flash = recipe->is_flash};
	bool needs_tokens = measure == AL_ACTIVATIONS || measure == AL_TOTAL;
	struct al_settings *settings = whole->ask.settings;
	struct al_stage stage;

	if (needs_tokens
		&& (!read_tokens(settings, "batch", &training.batch, err)
			|| !read_tokens(settings, "seq", &training.seq, err)))
		return false;
	al_stage_init(&stage);
	bool ok = al_whole_train(whole, &training, &stage, err);
	if (measure == AL_TOTAL)
		al_stage_total(&stage, out);
	else
		al_stage_sum(&stage, (enum al_memory_state)(measure - AL_WEIGHTS), out);
	al_stage_finish(&stage);
	return ok;
}

/* ---- cache ---- */

static bool cache(struct al_whole *whole, bool in_bytes, mpq_t out, struct al_error *err)
{
	struct al_settings *settings = whole->ask.settings;
	const struct al_setting *source;
	const struct al_dtype *storage;
	struct al_cache_lines lines;
	int64_t batch = 1, seq = 0;
	mpq_t one;

	if (in_bytes
		&& (!read_tokens(settings, "batch", &batch, err)
			|| !read_tokens(settings, "seq", &seq, err)))
		return false;
	if (!al_settings_get(settings, "source_seq", &source, err)
		|| !al_dtype_find("bf16", &storage, err)
		|| !al_whole_cache(whole, storage, seq, source ? source->value.integer : seq,
			&lines, err))
		return false;
	mpq_init(one);
	for (size_t i = 0; i < lines.n; i++) {
		const struct al_cache_line *line = &lines.lines[i];
		mpq_set(one, line->elements);
		if (in_bytes) {
			al_dtype_exact_bytes(line->storage, line->elements, one);
			al_exact_multiply(one, line->tokens);
			al_exact_multiply(one, batch);
		} else if (line->kind == AL_CACHE_CROSS || line->kind == AL_CACHE_STATE)
			continue;
		mpq_add(out, out, one);
	}
	mpq_clear(one);
	return true;
}

/* ---- FLOPs ---- */

static bool add_module_flops(const struct al_whole_module *module, struct al_block *block,
	mpq_t out, struct al_error *err)
{
	mpq_t one;

	mpq_init(one);
	bool ok = al_block_measure(block, AL_FLOPS, NULL, one, err);
	al_exact_multiply(one, module->copies * module->uses);
	mpq_add(out, out, one);
	mpq_clear(one);
	return ok;
}

/* Attention's products, and two operations for each number of the matrices that work on a token. */
static bool flops(struct al_whole *whole, mpq_t out, struct al_error *err)
{
	int64_t batch = 1, seq = 1;
	mpq_t one;

	if (!read_tokens(whole->ask.settings, "batch", &batch, err)
		|| !read_tokens(whole->ask.settings, "seq", &seq, err))
		return false;
	mpq_init(one);
	for (size_t i = 0; i < whole->n_tensors; i++) {
		const struct al_whole_tensor *t = &whole->tensors[i];
		bool is_product = t->stored && t->is_matrix && !t->apart
			&& t->entry->kind == AL_TENSOR_WEIGHT
			&& (t->part == AL_PART_FEED_FORWARD || t->part == AL_PART_HEAD);
		if (!is_product)
			continue;
		mpq_set(one, t->active);
		al_exact_multiply(one, 2 * batch);
		al_exact_multiply(one, seq);
		mpq_add(out, out, one);
	}
	mpq_clear(one);
	for (size_t i = 0; i < whole->n_modules; i++)
		if (!whole->modules[i].apart
			&& !add_module_flops(&whole->modules[i], &whole->modules[i].block, out,
				err))
			return false;
	return true;
}

static bool measure_whole(struct al_whole *whole, enum al_measure measure,
	const struct al_recipe *recipe, mpq_t out, struct al_error *err)
{
	switch (measure) {
	case AL_PARAMETERS:
		al_whole_count(whole, AL_COUNT_PARAMETERS, out);
		return true;
	case AL_ACTIVE:
		al_whole_count(whole, AL_COUNT_ACTIVE, out);
		return true;
	case AL_ATTENTION_SHARE:
		share_of_attention(whole, out);
		return true;
	case AL_CACHE:
		return cache(whole, false, out, err);
	case AL_CACHE_BYTES:
		return cache(whole, true, out, err);
	case AL_FLOPS:
		return flops(whole, out, err);
	default:
		break;
	}
	if (measure < AL_EMBEDDING_PARAMETERS)
		return train(whole, measure, recipe, out, err);
	sum_part(whole, (enum al_part)(measure - AL_EMBEDDING_PARAMETERS), out);
	return true;
}

bool al_whole_measure(struct al_block *block, enum al_measure measure,
	const struct al_recipe *recipe, mpq_t out, struct al_error *err)
{
	const struct al_model *model = block->settings.model;
	struct al_settings settings = {.symbols = block->settings.symbols,
		.n_symbols = block->settings.n_symbols};
	const struct al_family *family;
	struct al_whole whole;

	if (!model || !model->family)
		return al_fail(err, AL_EINPUT,
			"the basis per=whole needs a model whose parts are known");
	al_arena_init(&settings.arena);
	bool ok = al_catalog_family(block->settings.catalog, model->family, &family, err)
		&& al_settings_derive(&settings, &block->settings, err);
	if (ok) {
		const struct al_whole_ask ask = {.catalog = block->settings.catalog,
			.family = family,
			.settings = &settings,
			.basis = block->basis,
			.use = block->use->is_models_own ? NULL : block->use,
			.tp = 1};
		ok = al_whole_init(&whole, &ask, err);
	}
	if (ok) {
		ok = measure_whole(&whole, measure, recipe, out, err);
		al_whole_finish(&whole);
	}
	al_settings_finish(&settings);
	return ok;
}
