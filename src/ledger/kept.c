/* What decoding caches, by kind of layer. */
#include "base/number.h"
#include "ledger/block.h"
#include "ledger/infer.h"

const char *const al_cache_kind_names[AL_N_CACHE_KINDS] = {
	"full",
	"sliding window",
	"latent",
	"cross",
	"state",
};

struct keep {
	struct al_whole *whole;
	const struct al_dtype *storage;
	int64_t seq, source_seq;
	struct al_cache_lines *out;
};

/* ---- kinds ---- */

static enum al_cache_kind kind_of(const struct al_whole_module *module,
	const struct al_entry *entry, int64_t limit)
{
	if (entry->per == AL_PER_SEQUENCE)
		return AL_CACHE_STATE;
	if (entry->per == AL_PER_SOURCE_TOKEN || module->module->module->is_cross)
		return AL_CACHE_CROSS;
	if (limit > 0)
		return AL_CACHE_WINDOW;
	return entry->expanded ? AL_CACHE_LATENT : AL_CACHE_FULL;
}

/* An encoder sees its tokens once and keeps nothing. */
static bool is_encoder(const struct al_whole_module *module)
{
	return module->module->module->stack == AL_STACK_ENCODER;
}

/* ---- tokens ---- */

static bool evaluate(struct al_whole_module *module, const struct al_formula *tokens, int64_t seq,
	int64_t *out, struct al_error *err)
{
	struct al_scope scope = al_block_scope(&module->block);

	al_block_set(&module->block, "seq", seq);
	return al_formula_whole(tokens, &scope, 0, out, err);
}

/* The number that `tokens` doesn't pass, however long the sequence; 0: none. */
static bool find_limit(struct al_whole_module *module, const struct al_entry *entry, int64_t *out,
	struct al_error *err)
{
	const int64_t far = INT64_C(1) << 40;
	int64_t a, b;

	*out = 0;
	if (!entry->tokens || entry->per == AL_PER_SEQUENCE)
		return true;
	if (!evaluate(module, entry->tokens, far, &a, err)
		|| !evaluate(module, entry->tokens, 2 * far, &b, err))
		return false;
	*out = a == b ? a : 0;
	return true;
}

static bool find_tokens(struct keep *keep, struct al_whole_module *module,
	const struct al_entry *entry, struct al_cache_line *line, struct al_error *err)
{
	if (keep->seq == 0 || line->kind == AL_CACHE_STATE) {
		line->tokens = line->kind == AL_CACHE_STATE;
		return true;
	}
	if (line->kind == AL_CACHE_CROSS) {
		line->tokens = keep->source_seq;
		return true;
	}
	line->tokens = keep->seq;
	return !entry->tokens || evaluate(module, entry->tokens, keep->seq, &line->tokens, err);
}

/* ---- numbers ---- */

static int64_t works_in(const struct al_whole_module *module)
{
	return module->copies * module->uses;
}

/* What an engine keeps that doesn't absorb the up-projections. */
static bool expand(struct keep *keep, struct al_whole_module *module, const struct al_entry *entry,
	struct al_cache_line *line, struct al_error *err)
{
	struct al_scope scope = al_block_scope(&module->shard);
	int64_t elements;

	if (line->kind != AL_CACHE_LATENT)
		return true;
	if (!al_formula_whole(entry->expanded, &scope, 0, &elements, err))
		return al_in(err, "%s expanded", entry->name);
	line->expanded = al_exact_scaled(&keep->whole->arena,
		al_exact_from_int(&keep->whole->arena, elements), works_in(module), 1);
	return true;
}

static bool find_storage(const struct keep *keep, const struct al_entry *entry,
	const struct al_dtype **out, struct al_error *err)
{
	*out = keep->storage;
	return !entry->dtype || al_dtype_find(entry->dtype, out, err);
}

static bool add_entry(struct keep *keep, struct al_whole_module *module,
	const struct al_ledger_entry *entry, mpq_srcptr shard, bool is_first, struct al_error *err)
{
	struct al_arena *arena = &keep->whole->arena;
	const int64_t n = works_in(module);
	struct al_cache_line line = {.module = module->module->name,
		.name = entry->entry->name,
		.layers = n,
		.is_first = is_first,
		.elements = al_exact_scaled(arena, entry->elements, n, 1),
		.device = al_exact_scaled(arena, shard, n, 1)};
	struct al_cache_lines *out = keep->out;

	line.expanded = line.device;
	if (!find_limit(module, entry->entry, &line.limit, err))
		return false;
	line.kind = kind_of(module, entry->entry, line.limit);
	if (!find_tokens(keep, module, entry->entry, &line, err)
		|| !find_storage(keep, entry->entry, &line.storage, err)
		|| !expand(keep, module, entry->entry, &line, err))
		return false;
	out->lines = al_grow(arena, out->lines, out->n, &out->room, sizeof(*out->lines));
	out->lines[out->n++] = line;
	return true;
}

static bool add_module(struct keep *keep, struct al_whole_module *module, struct al_error *err)
{
	struct al_ledger ledger, shard;

	if (!al_ledger_cache(&ledger, &module->block, false, err))
		return false;
	bool ok = al_ledger_cache(&shard, &module->shard, false, err);
	if (ok) {
		for (size_t i = 0; ok && i < ledger.n; i++)
			ok = add_entry(keep, module, &ledger.entries[i], shard.entries[i].elements,
				i == 0, err);
		al_ledger_finish(&shard);
	}
	al_ledger_finish(&ledger);
	return ok;
}

bool al_whole_cache(struct al_whole *whole, const struct al_dtype *storage, int64_t seq,
	int64_t source_seq, struct al_cache_lines *out, struct al_error *err)
{
	struct keep keep = {whole, storage, seq, source_seq, out};

	*out = (struct al_cache_lines){0};
	for (size_t i = 0; i < whole->n_modules; i++) {
		struct al_whole_module *module = &whole->modules[i];
		if (!module->apart && !is_encoder(module) && !add_module(&keep, module, err))
			return al_in(err, "%s", module->module->module->name);
	}
	return true;
}
