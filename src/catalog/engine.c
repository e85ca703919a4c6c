/* Engines: their files, and the formulas in them. */
#include "catalog/engine.h"

#include "catalog/family_read.h"
#include "catalog/gpu.h"
#include "catalog/history.h"

/* ---- files ---- */

static const char *const heads_names[] = {"divided", "replicated"};
static const char *const latents_names[] = {"divided", "replicated", "twice", "expanded"};
static const char *const covers_names[] = {"all", "static", "cache", "free"};
static const char *const packing_names[] = {"widest", "slots", "tuples"};
static const char *const line_names[] = {"none", "blocks", "sequences"};

static const struct al_field log_fields[] = {
	{AL_KEY("line", TEXT, offsetof(struct al_log_line, line)), .is_required = true},
	{AL_TEXTS_FIELD("groups", offsetof(struct al_log_line, groups.items),
		 offsetof(struct al_log_line, groups.n)),
		.is_required = true},
	{AL_KEY("unit", TEXT, offsetof(struct al_log_line, unit))},
	{AL_KEY("is_sum", BOOLEAN, offsetof(struct al_log_line, is_sum))},
};
static const struct al_record log_record = {
	.fields = AL_FIELDS(log_fields),
	.size = sizeof(struct al_log_line),
};

static const struct al_field page_fields[] = {
	{AL_KEY("variant", TEXT, offsetof(struct al_engine_page, variant)), .is_required = true},
	{AL_KEY("cached", TEXT, offsetof(struct al_engine_page, cached)), .is_required = true},
	{AL_KEY("block", WHOLE, offsetof(struct al_engine_page, block)), .is_required = true,
		.least = 1},
};
static const struct al_record page_record = {
	.fields = AL_FIELDS(page_fields),
	.size = sizeof(struct al_engine_page),
};

static const struct al_field state_fields[] = {
	{AL_KEY("variant", TEXT, offsetof(struct al_engine_state, variant)), .is_required = true},
	{AL_KEY("dtype", BY, offsetof(struct al_engine_state, dtype)), .is_required = true,
		.read = al_read_dtype},
};
static const struct al_record state_record = {
	.fields = AL_FIELDS(state_fields),
	.size = sizeof(struct al_engine_state),
};

#define AT(member) offsetof(struct al_engine, member)
static const struct al_field engine_fields[] = {
	{AL_KEY("name", TEXT, AT(name)), .is_required = true},
	{AL_KEY("title", TEXT, AT(title)), .is_required = true},
	{AL_KEY("version", TEXT, AT(version)), .is_required = true},
	{AL_KEY("since", TEXT, AT(since))},
	{AL_KEY("source", TEXT, AT(source)), .is_required = true},
	{AL_KEY("windows", TEXT, AT(windows))},
	{AL_KEY("no_windows", TEXT, AT(no_windows))},
	{AL_TEXTS_FIELD("windowed", AT(windowed.items), AT(windowed.n))},
	{AL_KEY("beyond", TEXT, AT(beyond))},
	{AL_KEY("heads", WORD, AT(heads)), .is_required = true, AL_WORDS(heads_names)},
	{AL_KEY("latents", WORD, AT(latents)), .is_required = true, AL_WORDS(latents_names)},
	{AL_KEY("covers", WORD, AT(covers)), AL_WORDS(covers_names)},
	{AL_KEY("window", BY, AT(window)), .is_required = true, .read = al_read_formula},
	{AL_KEY("peak_window", BY, AT(peak_window)), .read = al_read_formula},
	{AL_KEY("utilization", BY, AT(utilization)), .is_required = true, .read = al_read_formula},
	{AL_KEY("overhead", BY, AT(overhead)), .read = al_read_formula},
	{AL_KEY("sampling", BY, AT(sampling)), .read = al_read_formula},
	{AL_KEY("with_attention", BY, AT(with_attention)), .read = al_read_formula},
	{AL_KEY("with_feed_forward", BY, AT(with_feed_forward)), .read = al_read_formula},
	{AL_KEY("shared_inputs", BOOLEAN, AT(has_shared_inputs))},
	{AL_KEY("activation_bytes", WHOLE, AT(activation_bytes)), .least = 1, .fallback = 2},
	{AL_KEY("offload", BY, AT(offload)), .read = al_read_formula},
	{AL_KEY("state_pages", BY, AT(state_pages)), .read = al_read_formula},
	{AL_KEY("more_inputs", BY, AT(more_inputs)), .read = al_read_formula},
	{AL_KEY("group_spread", WHOLE, AT(group_spread))},
	{AL_KEY("pages", LIST, AT(pages)), .n_offset = AT(n_pages), .record = &page_record,
		.item_size = sizeof(struct al_engine_page), .most = 64, .noun = "pages"},
	{AL_KEY("packing", WORD, AT(packing)), AL_WORDS(packing_names)},
	{AL_KEY("alignment", BY, AT(alignment)), .read = al_read_formula},
	{AL_KEY("page_dtype", BY, AT(page_dtype)), .read = al_read_dtype},
	{AL_KEY("line", WORD, AT(line)), AL_WORDS(line_names)},
	{AL_KEY("before", BY, AT(before)), .read = al_read_formula},
	{AL_KEY("pool", BY, AT(pool)), .read = al_read_formula},
	{AL_KEY("quantizes_by_flash", BOOLEAN, AT(quantizes_by_flash))},
	{AL_KEY("block", WHOLE, AT(block)), .least = 1, .fallback = 1},
	{AL_KEY("chunk", BY, AT(chunk)), .read = al_read_formula},
	{AL_KEY("sequences", BY, AT(sequences)), .read = al_read_formula},
	{AL_KEY("captured", BY, AT(reserves[0])), .read = al_read_formula},
	{AL_KEY("captured_sizes", BY, AT(reserves[1])), .read = al_read_formula},
	{AL_KEY("prompt_graphs", BY, AT(reserves[2])), .read = al_read_formula},
	{AL_KEY("reserved", BY, AT(reserves[3])), .read = al_read_formula},
	{AL_TEXTS_FIELD("small", AT(small.items), AT(small.n))},
	{AL_KEY("prefix_caching", BOOLEAN, AT(caches_prefixes))},
	{AL_KEY("tile_rows", WHOLE, AT(tile_rows)), .least = 1, .fallback = 1},
	{AL_KEY("tile_columns", WHOLE, AT(tile_columns)), .least = 1, .fallback = 1},
	{AL_KEY("state_dtypes", LIST, AT(state_dtypes)), .n_offset = AT(n_state_dtypes),
		.record = &state_record, .item_size = sizeof(struct al_engine_state), .most = 64,
		.noun = "variants"},
	{AL_KEY("scale_bytes", WHOLE, AT(scale_bytes))},
	{AL_KEY("scale_group", WHOLE, AT(scale_group))},
	{AL_KEY("states", BY, AT(states)), .read = al_read_dtype},
	{AL_KEY("fp8", TEXT, AT(fp8))},
	{AL_TEXTS_FIELD("declared", AT(declared.items), AT(declared.n))},
	{AL_TEXTS_FIELD("whole", AT(whole.items), AT(whole.n))},
	{AL_TEXTS_FIELD("expands", AT(expands.items), AT(expands.n))},
	{AL_KEY("one_format", BOOLEAN, AT(has_one_format))},
	{AL_TEXTS_FIELD("causes", AT(causes.items), AT(causes.n))},
	{AL_KEY("log", LIST, AT(log)), .n_offset = AT(n_log), .record = &log_record,
		.item_size = sizeof(struct al_log_line), .most = 64, .noun = "lines"},
};
#undef AT
static const struct al_record engine_record = {
	.fields = AL_FIELDS(engine_fields),
	.size = sizeof(struct al_engine),
};

static const char *const symbols[] = {"seq", "window", "block", "chunk", "tp", "devices", "vocab",
	"speculated", "caching", "sequences", "memory", "reported", "small", "fp8", "batch",
	"whole_windows", "d_model", "page", "replicated", "n_heads", "eager", "latents", "captured",
	"captured_sizes", "prompt_graphs", "reserved"};
enum { N_SYMBOLS = sizeof(symbols) / sizeof(*symbols) };

static const struct al_file_kind engine_file = {
	.record = &engine_record,
	.symbols = symbols,
	.n_symbols = N_SYMBOLS,
};

/* ---- versions ---- */

/* The version that is asked for, or the newest that the file knows. */
static bool find_version(const struct al_json *doc, const char *name, const char *asked,
	const char **out, struct al_error *err)
{
	const char *oldest;

	if (!al_json_get_text(doc, doc->root, "version", true, out, err))
		return false;
	oldest = *out;
	if (!al_json_get_text(doc, doc->root, "since", false, &oldest, err))
		return false;
	if (!asked)
		return true;
	if (!al_version_is_valid(asked) || al_version_compare(asked, oldest) < 0
		|| al_version_compare(asked, *out) > 0)
		return al_fail(err, AL_EINPUT,
			"unknown version \"%s\" of %s; use one from %s to %s, or %s alone for the "
			"newest",
			asked, name, oldest, *out, name);
	*out = asked;
	return true;
}

bool al_engine_read(struct al_arena *arena, const struct al_json *doc, const char *name, void **out,
	struct al_error *err)
{
	const struct al_item *object;
	const char *asked, *version, *known = al_version_cut(arena, name, &asked);

	if (!al_json_expect(doc, doc->root, AL_JSON_OBJECT, err)
		|| !find_version(doc, known, asked, &version, err)
		|| !al_history_at(arena, doc, doc->root, version, &object, err)
		|| !al_read_file(&engine_file, arena, doc, object, NULL, out, err))
		return false;
	struct al_engine *engine = *out;
	engine->version = al_strdup(arena, version);
	return al_history_versions(arena, doc, doc->root, &engine->versions, err);
	return true;
}

const char *al_engine_state_dtype(const struct al_engine *engine, const char *variant)
{
	for (size_t i = 0; i < engine->n_state_dtypes; i++)
		if (strcmp(engine->state_dtypes[i].variant, variant) == 0)
			return engine->state_dtypes[i].dtype;
	return NULL;
}

bool al_engine_has_pages(const struct al_engine *engine, const char *variant)
{
	for (size_t i = 0; i < engine->n_pages; i++)
		if (strcmp(engine->pages[i].variant, variant) == 0)
			return true;
	return false;
}

/* ---- formulas ---- */

static bool look_up(void *context, const struct al_reference *reference, bool *found,
	struct al_value *out, struct al_error *err)
{
	const struct al_engine_scope *s = context;
	const struct al_engine_choice *c = s->choice;
	const int64_t values[N_SYMBOLS] = {s->seq, s->window, c->block, c->chunk, s->tp, s->devices,
		s->vocab, c->speculated, c->caches_prefixes, c->sequences, c->memory, c->reported,
		c->small, s->is_fp8, s->batch, c->holds_windows_whole, s->d_model, s->page,
		s->is_replicated, s->n_heads, al_engine_is_eager(c), s->has_latents, s->reserves[0],
		s->reserves[1], s->reserves[2], s->reserves[3]};
	int i = al_find_name(reference->symbol, symbols, N_SYMBOLS);

	(void)err;
	*found = i >= 0;
	if (*found)
		al_value_set_int(out, values[i]);
	return true;
}

static bool in_engine(const struct al_engine_scope *scope, struct al_error *err)
{
	return al_in(err, "engine %s", scope->choice->engine->name);
}

bool al_engine_bytes(const struct al_engine_scope *s, const struct al_formula *formula,
	int64_t *out, struct al_error *err)
{
	struct al_engine_scope copy = *s;
	const struct al_scope scope = {.lookup = look_up, .context = &copy};

	*out = 0;
	return !formula || al_formula_whole(formula, &scope, 0, out, err) || in_engine(s, err);
}

bool al_engine_settle(struct al_engine_choice *choice, const struct al_gpu *gpu,
	struct al_error *err)
{
	const struct al_texts *small = &choice->engine->small;
	const struct al_engine_scope scope = {.choice = choice};

	choice->memory = gpu ? gpu->memory : 0;
	choice->reported = gpu ? gpu->reported : 0;
	choice->small = gpu && gpu->name ? al_find_name(gpu->name, small->items, small->n) + 1 : 0;
	choice->chunk = choice->asked_chunk;
	choice->sequences = choice->asked_sequences;
	return (choice->chunk
		       || al_engine_bytes(&scope, choice->engine->chunk, &choice->chunk, err))
		&& (choice->sequences
			|| al_engine_bytes(&scope, choice->engine->sequences, &choice->sequences,
				err));
}

bool al_engine_tokens(const struct al_engine_scope *scope, int64_t *out, struct al_error *err)
{
	const struct al_engine *engine = scope->choice->engine;
	const int64_t block = scope->choice->block;
	const bool is_peak = scope->choice->is_at_peak && engine->peak_window;

	*out = scope->seq;
	if (scope->window > 0
		&& !al_engine_bytes(scope, is_peak ? engine->peak_window : engine->window, out,
			err))
		return false;
	*out = al_divide_up(*out, block) * block;
	return true;
}

static bool evaluate(const struct al_engine_scope *s, const struct al_formula *formula, mpq_t out,
	struct al_error *err)
{
	struct al_engine_scope copy = *s;
	const struct al_scope scope = {.lookup = look_up, .context = &copy};

	AL_VALUE(value);
	if (!al_formula_eval(formula, &scope, &value, err))
		return in_engine(s, err);
	al_value_get(&value, out);
	return true;
}

bool al_engine_pool(const struct al_engine_scope *s, mpq_t out, struct al_error *err)
{
	mpq_set_ui(out, 0, 1);
	return !s->choice->engine->pool || evaluate(s, s->choice->engine->pool, out, err);
}

bool al_engine_utilization(const struct al_engine_scope *s, mpq_t out, struct al_error *err)
{
	const char *asked = s->choice->utilization;
	int digits;

	if (asked) {
		if (!al_exact_parse(asked, out, &digits) || mpq_sgn(out) <= 0
			|| mpq_cmp_ui(out, 1, 1) > 0)
			return al_fail(err, AL_EINPUT,
				"--utilization %s: expected a share such as 0.9, above 0 and at "
				"most 1",
				asked);
		return true;
	}
	struct al_engine_scope known = *s;
	for (size_t i = 0; i < AL_N_RESERVES; i++)
		if (!al_engine_bytes(&known, s->choice->engine->reserves[i], &known.reserves[i],
			    err))
			return false;
	return evaluate(&known, s->choice->engine->utilization, out, err);
}
