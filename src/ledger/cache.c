/* The KV cache of decoding, by kind of layer. */

#include "ledger/entries.h"
#include "ledger/groups.h"

const char *const al_cache_kind_names[AL_N_CACHE_KINDS] = {
	"full",
	"sliding window",
	"latent",
	"cross",
	"state",
	"draft",
	"padding",
};

const char *const al_cache_kind_titles[AL_N_CACHE_KINDS] = {
	[AL_CACHE_CROSS] = "cross attention",
	[AL_CACHE_STATE] = "recurrent state",
	[AL_CACHE_DRAFT] = "draft model",
	[AL_CACHE_PADDING] = "padding of layer groups",
};

struct keep {
	struct al_ledger *ledger;
	const struct al_dtype *storage;
	int64_t seq, source_seq, batch;
	struct al_cache_entries *out;
	bool is_draft; /* its lines are being added */
};

/* ---- kinds ---- */

static enum al_cache_kind kind_of(const struct al_ledger_entry *e, int64_t limit)
{
	if (e->entry->per == AL_PER_SEQUENCE)
		return AL_CACHE_STATE;
	if (e->entry->per == AL_PER_SOURCE_TOKEN || e->module->is_cross)
		return AL_CACHE_CROSS;
	if (limit > 0)
		return AL_CACHE_WINDOW;
	return e->entry->expanded ? AL_CACHE_LATENT : AL_CACHE_FULL;
}

/* ---- tokens ---- */

/* The tokens of the sequence. */
static bool look_up(void *context, const struct al_reference *reference, bool *found,
	struct al_value *out, struct al_error *err)
{
	const int64_t *seq = context;

	(void)err;
	*found = strcmp(reference->symbol, "seq") == 0;
	if (*found)
		al_value_set_int(out, *seq);
	return true;
}

static bool evaluate(const struct al_ledger_entry *e, int64_t seq, int64_t *out,
	struct al_error *err)
{
	const struct al_scope module = al_block_scope(e->module->block),
			      scope = {.lookup = look_up, .context = &seq, .outer = &module};

	return al_formula_whole(e->entry->tokens, &scope, 0, out, err);
}

/* The number that `tokens` doesn't pass, however long the sequence; 0: none. */
static bool find_limit(const struct al_ledger_entry *e, int64_t *out, struct al_error *err)
{
	const int64_t far = INT64_C(1) << 40;
	int64_t a, b;

	*out = 0;
	if (!e->entry->tokens || e->entry->per == AL_PER_SEQUENCE)
		return true;
	if (!evaluate(e, far, &a, err) || !evaluate(e, 2 * far, &b, err))
		return false;
	*out = a == b ? a : 0;
	return true;
}

static bool find_tokens(const struct keep *keep, struct al_cache_entry *line, struct al_error *err)
{
	if (keep->seq == 0 || line->kind == AL_CACHE_STATE) {
		line->tokens = line->kind == AL_CACHE_STATE;
		return true;
	}
	line->tokens = line->kind == AL_CACHE_CROSS ? keep->source_seq : keep->seq;
	return line->kind == AL_CACHE_CROSS || !line->entry->entry->tokens
		|| evaluate(line->entry, keep->seq, &line->tokens, err);
}

/* ---- numbers ---- */

/* What an engine keeps that doesn't absorb the up-projections. Of a module alone it may depend on
 * symbols that the latent doesn't need: not known then. */
static bool expand(const struct keep *keep, struct al_cache_entry *line, struct al_error *err)
{
	const struct al_ledger_entry *e = line->entry;
	struct al_scope scope = al_block_scope(e->module->device);
	struct al_arena *arena = &keep->ledger->cached;
	int64_t elements;

	if (line->kind != AL_CACHE_LATENT)
		return true;
	line->expanded = NULL;
	if (!al_formula_whole(e->entry->expanded, &scope, 0, &elements, err))
		return !e->module->of || al_in(err, "%s expanded", e->name);
	line->expanded = al_exact_scaled(arena, al_exact_from_int(arena, elements), e->times, 1);
	return true;
}

/* Of a state that has one: what was asked for, the model's own, or the engine's of such layers;
 * NULL: the variant's. */
static const char *find_state_dtype(const struct keep *keep, const struct al_ledger_entry *e)
{
	const struct al_engine_choice *choice = keep->ledger->ask.engine;
	const struct al_setting *own = NULL;

	if (choice && choice->state_dtype)
		return choice->state_dtype;
	if (al_settings_get(&e->module->block->settings, "state_dtype", &own, NULL) && own
		&& own->value.kind == AL_VALUE_WORD && strcmp(own->value.word, "auto") != 0)
		return own->value.word;
	return choice ? al_engine_state_dtype(choice->engine, e->module->configured.variant->name)
		      : NULL;
}

/* The numbers of one head in an entry of all heads. */
static bool find_head_width(const struct al_ledger_entry *e, int64_t *out, struct al_error *err)
{
	struct al_block *block = e->module->block;
	int64_t heads = 1, width = 1;

	if (!(al_block_gives(block, "n_kv_heads")
			    ? al_block_read(block, "n_kv_heads", 1, &heads, err)
			    : al_block_read(block, "n_heads", 1, &heads, err)))
		return false;
	for (size_t i = 0; i < e->n_dims; i++)
		width *= e->dims[i];
	*out = width % heads == 0 ? width / heads : width;
	return true;
}

/* An engine's integers have a scale and a zero point for each head's keys, and for its values, or
 * for so many numbers. */
static bool add_scales(const struct keep *keep, const struct al_ledger_entry *e,
	const struct al_dtype **out, struct al_error *err)
{
	const struct al_engine *engine = keep->ledger->ask.engine->engine;
	const struct al_dtype *plain = keep->storage;
	struct al_dtype *scaled = al_new(&keep->ledger->cached, struct al_dtype);
	int64_t width = engine->scale_group;

	if (!width && !find_head_width(e, &width, err))
		return false;
	*scaled = *plain;
	scaled->block_elements = (size_t)width;
	scaled->block_bytes = (size_t)width * plain->block_bytes / plain->block_elements
		+ (size_t)engine->scale_bytes;
	*out = scaled;
	return true;
}

static bool is_of_integers(const struct al_dtype *dtype)
{
	static const char *const names[] = {"int8", "int4", "int2"};

	return dtype->name && al_find_name(dtype->name, names, 3) >= 0;
}

static bool find_storage(const struct keep *keep, const struct al_ledger_entry *e,
	const struct al_dtype **out, struct al_error *err)
{
	const struct al_engine_choice *choice = keep->ledger->ask.engine;
	const struct al_entry *entry = e->entry;
	const char *state = entry->per == AL_PER_SEQUENCE && entry->dtype && !entry->tokens
		? find_state_dtype(keep, e)
		: NULL;
	const char *name = state ? state
		: entry->dtype	 ? entry->dtype
		: entry->in_fp8 && keep->storage->name && strcmp(keep->storage->name, "fp8") == 0
		? entry->in_fp8
		: choice && entry->per == AL_PER_SEQUENCE ? choice->engine->states
							  : NULL;

	const bool is_narrow = 2 * keep->storage->block_elements > keep->storage->block_bytes;

	*out = keep->storage;
	if (choice && choice->engine->scale_bytes > 0 && entry->per != AL_PER_SEQUENCE
		&& is_of_integers(keep->storage))
		return add_scales(keep, e, out, err);
	if (choice && choice->engine->has_one_format && entry->per != AL_PER_SEQUENCE)
		return true;
	if (!name && entry->per == AL_PER_SEQUENCE && is_narrow)
		name = "bf16";
	return !name || al_dtype_find(name, out, err) || (state && al_in(err, "state_dtype"));
}

/* ---- engines ---- */

static mpq_srcptr divided(const struct keep *keep, const struct al_cache_entry *line)
{
	const int64_t tp = keep->ledger->ask.tp;

	return tp > 1 ? al_exact_scaled(&keep->ledger->cached, line->entry->elements, 1, tp)
		      : line->entry->elements;
}

/* Of states a device has what the variant's "tp" leaves it; of few tokens one may be filled in
 * part. */
static bool find_state_rank(const struct keep *keep, const struct al_engine_scope *scope,
	struct al_cache_entry *line, struct al_error *err)
{
	const struct al_ledger_entry *e = line->entry;
	int64_t more = 0;

	if (e->entry->is_inputs && scope->choice
		&& !al_engine_bytes(scope, scope->choice->engine->more_inputs, &more, err))
		return false;
	const int64_t inputs = more ? e->dims[e->n_dims - 1] : 1;
	const bool is_part = e->entry->tokens && keep->seq > 0;
	int64_t filled = 1;
	if (is_part && !evaluate(e, keep->seq, &filled, err))
		return false;
	line->rank = al_exact_scaled(&keep->ledger->cached, e->device, filled * (inputs + more),
		is_part ? inputs * e->dims[0] : inputs);
	return true;
}

static bool is_expanded(const struct al_engine *engine, const struct al_entry *latent)
{
	return engine->latents == AL_LATENTS_EXPANDED
		|| (latent->latent
			&& al_find_name(latent->latent, engine->expands.items, engine->expands.n)
				>= 0);
}

static mpq_srcptr find_rank(const struct keep *keep, const struct al_cache_entry *line)
{
	const struct al_engine_choice *choice = keep->ledger->ask.engine;
	const bool is_latent = line->kind == AL_CACHE_LATENT;

	if (!choice)
		return divided(keep, line);
	if (is_latent && is_expanded(choice->engine, line->entry->entry))
		return line->expanded;
	if (is_latent && choice->engine->latents == AL_LATENTS_TWICE
		&& !(line->expanded && mpq_sgn(line->expanded) == 0))
		return al_exact_scaled(&keep->ledger->cached, line->entry->device, 2, 1);
	const bool is_divided = is_latent ? choice->engine->latents == AL_LATENTS_DIVIDED
					  : choice->engine->heads == AL_HEADS_DIVIDED;
	return is_divided ? divided(keep, line) : line->entry->device;
}

static bool find_held(const struct keep *keep, struct al_cache_entry *line, struct al_error *err)
{
	const struct al_engine_choice *choice = keep->ledger->ask.engine;
	const bool is_cross = line->kind == AL_CACHE_CROSS;
	const struct al_engine_scope scope = {.choice = choice,
		.seq = is_cross		  ? keep->source_seq
			: line->limit > 0 ? keep->seq
					  : line->tokens,
		.window = is_cross ? 0 : line->limit,
		.batch = keep->batch,
		.tp = keep->ledger->ask.tp,
		.devices = keep->ledger->ask.tp};

	line->held = line->tokens;
	if (line->kind == AL_CACHE_STATE)
		return find_state_rank(keep, &scope, line, err);
	line->rank = find_rank(keep, line);
	if (!choice || keep->seq == 0)
		return true;
	return al_engine_tokens(&scope, &line->held, err);
}

static void add(struct keep *keep, struct al_cache_entry line)
{
	struct al_cache_entries *out = keep->out;

	line.is_first_of_kind = true;
	for (size_t i = 0; i < out->n; i++)
		if (out->lines[i].entry->module == line.entry->module
			&& out->lines[i].kind == line.kind)
			line.is_first_of_kind = false;
	*AL_APPEND(&keep->ledger->cached, out->lines, out->n, out->room) = line;
}

/* A block that represents all of an encoder-decoder's: the decoder's cross-attentions cache what
 * its self-attentions do, but of every token of the source, which no window cuts. */
static void add_cross(struct keep *keep, struct al_cache_entry line)
{
	line.kind = AL_CACHE_CROSS;
	line.tokens = line.held = keep->source_seq;
	line.limit = 0;
	add(keep, line);
}

static bool add_entry(struct keep *keep, const struct al_ledger_entry *e, bool is_first,
	struct al_error *err)
{
	struct al_cache_entry line = {.entry = e,
		.is_first = is_first,
		.is_draft = keep->is_draft,
		.expanded = e->device};

	if (!find_limit(e, &line.limit, err))
		return false;
	line.kind = kind_of(e, line.limit);
	if (!find_tokens(keep, &line, err) || !find_storage(keep, e, &line.storage, err)
		|| !expand(keep, &line, err) || !find_held(keep, &line, err))
		return false;
	add(keep, line);
	if (!e->module->of && e->entry->per == AL_PER_TOKEN
		&& al_block_is_two_sided(e->module->block))
		add_cross(keep, line);
	return true;
}

static bool group(struct keep *keep, struct al_error *err)
{
	struct al_ledger *ledger = keep->ledger;
	const struct al_engine_choice *choice = ledger->ask.engine;
	const struct al_engine_scope scope = {.choice = choice,
		.seq = keep->seq,
		.tp = ledger->ask.tp,
		.devices = ledger->ask.tp,
		.is_fp8 = keep->storage->name && strcmp(keep->storage->name, "fp8") == 0};

	return !choice || !al_cache_is_grouped(choice->engine, keep->out) || keep->seq == 0
		|| al_cache_group(ledger, &scope, keep->source_seq, keep->out, err);
}

/* An encoder sees its tokens once and keeps nothing. */
static bool is_cached(const struct keep *keep, const struct al_ledger_entry *e)
{
	const struct al_engine_choice *choice = keep->ledger->ask.engine;
	const bool has_extra = e->extra && choice && choice->has_mtp && !keep->is_draft;

	return (e->sees_text || has_extra) && !e->module->is_encoder;
}

static bool add_entries(struct keep *keep, struct al_ledger *of, struct al_error *err)
{
	const struct al_ledger_module *module = NULL;
	const struct al_ledger_list *lines;

	if (!al_ledger_entries(of, AL_LIST_CACHE, &lines, err))
		return false;
	for (size_t i = 0; i < lines->n; i++) {
		const struct al_ledger_entry *e = &lines->items[i];
		if (is_cached(keep, e) && !add_entry(keep, e, e->module != module, err))
			return e->module->of ? al_in(err, "%s", e->module->name)
					     : al_line_in(AL_LIST_CACHE, e->entry, err);
		module = e->module;
	}
	return true;
}

bool al_ledger_cache(struct al_ledger *ledger, const struct al_dtype *storage, int64_t seq,
	int64_t source_seq, int64_t batch, struct al_cache_entries *out, struct al_error *err)
{
	struct keep keep = {.ledger = ledger,
		.storage = storage,
		.seq = seq,
		.source_seq = source_seq,
		.batch = batch,
		.out = out};

	*out = (struct al_cache_entries){0};
	al_arena_finish(&ledger->cached);
	al_arena_init(&ledger->cached);
	if (!add_entries(&keep, ledger, err))
		return false;
	keep.is_draft = true;
	return (!ledger->ask.draft || add_entries(&keep, ledger->ask.draft, err)
		       || al_in(err, "draft model"))
		&& group(&keep, err);
}
