/* Drafts: `compress` writes the heads, and what it wrote is read back before it would be put in its
 * place, from where it vanishes. */
#include "shrink/draft.h"

#include "linalg/cp.h"

/* ---- as compress takes it ---- */

static bool is_same(const struct al_fewer_heads *a, const struct al_fewer_heads *b)
{
	return a->method == b->method && a->setting == b->setting;
}

static bool is_in_all(const struct al_model_view *view, const struct al_fewer_heads *conversion)
{
	for (size_t i = 1; i < view->n_modules; i++)
		if (!is_same(&conversion[i], &conversion[0]))
			return false;
	return true;
}

/* The modules whose heads become what those of the first do. */
static const char *list_modules(struct al_arena *arena, const struct al_model_view *view,
	const struct al_fewer_heads *conversion, size_t first)
{
	const char *list = view->modules[first].name;

	for (size_t i = first + 1; i < view->n_modules; i++)
		if (is_same(&conversion[i], &conversion[first]))
			list = al_format(arena, "%s,%s", list, view->modules[i].name);
	return list;
}

static bool is_first(const struct al_fewer_heads *conversion, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (is_same(&conversion[i], &conversion[at]))
			return false;
	return conversion[at].method != AL_METHOD_IDENTITY;
}

struct al_compress_options al_conversion_options(struct al_arena *arena,
	const struct al_drafting *from, const struct al_fewer_heads *conversion)
{
	const struct al_model_view *view = from->view;
	struct al_compress_options options = {.method = AL_METHOD_IDENTITY,
		.effort = {.n_sweeps = AL_CP_SWEEPS, .seed = 1},
		.watch = from->watch};
	const struct al_compress_options *also = NULL;

	for (size_t i = conversion ? view->n_modules : 0; i-- > 0;) {
		if (!is_first(conversion, i))
			continue;
		const bool drops = al_method_drops(conversion[i].method);
		if (options.method != AL_METHOD_IDENTITY)
			also = memcpy(al_new(arena, struct al_compress_options), &options,
				sizeof(options));
		options.method = conversion[i].method;
		options.ranks = drops ? NULL : &conversion[i].setting;
		options.n_ranks = !drops;
		options.n_of_each = drops ? (size_t)conversion[i].setting : 0;
		options.of_keys = options.method == AL_METHOD_GQA;
		options.modules = is_in_all(view, conversion)
			? NULL
			: list_modules(arena, view, conversion, i);
		options.data.calibration = from->calibration;
		options.also = also;
	}
	return options;
}

/* ---- opening ---- */

static bool count_cached(struct al_draft *draft, int64_t context, struct al_error *err)
{
	const struct al_model_view *view = &draft->view;
	int64_t seen;

	for (size_t i = 0; i < view->n_modules && context > 0; i++) {
		if (!al_layer_seen(&draft->network, view->modules[i].layer, context, &seen, err))
			return false;
		draft->cached += (uint64_t)al_original_cached(&view->modules[i]) * (uint64_t)seen
			* AL_CACHED_BYTES;
	}
	return true;
}

static void close_parts(struct al_draft *draft, bool has_view, bool has_network)
{
	if (has_network)
		al_network_close(&draft->network);
	if (has_view)
		al_model_view_close(&draft->view);
	al_checkpoint_close(&draft->checkpoint);
}

bool al_draft_open_file(struct al_draft *draft, const struct al_drafting *from, const char *path,
	struct al_error *err)
{
	if (!al_checkpoint_open(&draft->checkpoint, path, err))
		return false;
	const bool has_view = from->lay(from->context, &draft->checkpoint, &draft->view, err);
	const bool has_network = has_view && al_network_open(&draft->network, &draft->view, err);

	draft->is_open = has_network && count_cached(draft, from->cached_tokens, err);
	if (!draft->is_open) {
		close_parts(draft, has_view, has_network);
		return false;
	}
	al_recoding_init(&draft->recoding, &draft->checkpoint);
	for (size_t i = 0; i < draft->checkpoint.n_tensors; i++)
		draft->bytes += draft->checkpoint.tensors[i].bytes;
	return true;
}

struct opening {
	struct al_draft *draft;
	const struct al_drafting *from;
};

/* The check of al_compress: false in any case, so that nothing is put in its place. */
static bool open_written(void *context, const char *written, struct al_error *err)
{
	const struct opening *o = context;

	return al_draft_open_file(o->draft, o->from, written, err)
		&& al_fail(err, AL_ECANCELLED, "opened");
}

static bool open_converted(struct al_draft *draft, const struct al_drafting *from,
	struct al_error *err)
{
	struct opening opening = {draft, from};
	struct al_compress_options options = al_conversion_options(&draft->arena, from,
		draft->conversion);
	struct al_table table;
	const char *path = al_format(&draft->arena, "%s%s", from->path,
		from->is_gguf ? ".draft.gguf" : ".draft.safetensors");

	options.check = open_written;
	options.context = &opening;
	al_table_init(&table, "draft", "");
	const bool is_put = al_compress(from->view, &options, path, &table, NULL, err);
	al_table_finish(&table);
	return !is_put && draft->is_open;
}

bool al_draft_open(struct al_draft *draft, const struct al_drafting *from,
	const struct al_fewer_heads *conversion, struct al_error *err)
{
	*draft = (struct al_draft){.conversion = conversion};
	if ((!conversion && !from->is_translated
			    ? al_draft_open_file(draft, from, from->view->checkpoint->path, err)
			    : open_converted(draft, from, err))
		&& al_choices_find(draft, from->is_gguf, err))
		return true;
	al_draft_close(draft);
	return false;
}

void al_draft_close(struct al_draft *draft)
{
	if (draft->is_open)
		close_parts(draft, true, true);
	al_arena_finish(&draft->arena);
	*draft = (struct al_draft){0};
}
