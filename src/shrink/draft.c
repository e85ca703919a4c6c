/* Drafts: `compress` writes the heads, and what it wrote is read back before it would be put in its
 * place, from where it vanishes. */
#include "shrink/draft.h"

#include "linalg/cp.h"

struct al_compress_options al_conversion_options(const struct al_drafting *from,
	const struct al_fewer_heads *conversion)
{
	const bool drops = al_method_drops(conversion->method);
	const bool is_identity = conversion->method == AL_METHOD_IDENTITY;

	return (struct al_compress_options){.method = conversion->method,
		.ranks = drops || is_identity ? NULL : &conversion->setting,
		.n_ranks = !drops && !is_identity,
		.n_of_each = drops ? (size_t)conversion->setting : 0,
		.of_keys = conversion->method == AL_METHOD_GQA,
		.modules = conversion->modules,
		.data = {.calibration = is_identity ? NULL : from->calibration},
		.effort = {.n_sweeps = AL_CP_SWEEPS, .seed = 1},
		.watch = from->watch};
}

static uint64_t cached_by(const struct al_model_view *view)
{
	uint64_t n = 0;

	for (size_t i = 0; i < view->n_modules; i++)
		n += (uint64_t)al_original_cached(&view->modules[i]);
	return n;
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

	draft->is_open = has_network;
	if (!draft->is_open) {
		close_parts(draft, has_view, has_network);
		return false;
	}
	al_recoding_init(&draft->recoding, &draft->checkpoint);
	for (size_t i = 0; i < draft->checkpoint.n_tensors; i++)
		draft->bytes += draft->checkpoint.tensors[i].bytes;
	draft->cached = cached_by(&draft->view);
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
	struct al_compress_options options = al_conversion_options(from, &draft->conversion);
	struct al_table table;
	const char *path = al_format(&draft->arena, "%s%s", from->path,
		from->is_gguf ? ".draft.gguf" : ".draft.safetensors");

	options.check = open_written;
	options.context = &opening;
	al_table_init(&table, "draft", "");
	al_compress_add_columns(&table);
	const bool is_put = al_compress(from->view, &options, path, &table, NULL, err);
	al_table_finish(&table);
	return !is_put && draft->is_open;
}

bool al_draft_open(struct al_draft *draft, const struct al_drafting *from,
	const struct al_fewer_heads *conversion, struct al_error *err)
{
	*draft = (struct al_draft){.conversion = *conversion};
	if ((conversion->method == AL_METHOD_IDENTITY && !from->is_translated
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
