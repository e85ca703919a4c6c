/* What a compressed file records of itself. */
#include "compress/plan.h"

#include "base/hash.h"
#include "base/json.h"

static void describe_dropped(struct al_text *out, const struct al_module_layout *layout)
{
	const char *comma = "";

	al_text_add(out, ", \"dropped\": [");
	for (int64_t i = 0; i < layout->attention->n_heads; i++)
		if (layout->is_dropped[i]) {
			al_text_addf(out, "%s%" PRId64, comma, i);
			comma = ", ";
		}
	al_text_add(out, "]");
}

static void describe_places(struct al_text *out, const struct al_module_layout *layout)
{
	al_text_add(out, ", \"places\": [");
	for (int64_t i = 0; i < layout->attention->n_kv_heads; i++)
		al_text_addf(out, "%s%zu", i ? ", " : "", layout->places[i]);
	al_text_add(out, "]");
}

static void describe_modules(const struct al_job *job, struct al_text *out)
{
	al_text_add(out, "[");
	for (size_t m = 0; m < job->n_modules; m++) {
		const struct al_job_module *module = &job->modules[m];
		al_text_addf(out, "%s{\"module\": ", m ? ", " : "");
		al_json_quote(out, module->layout.attention->name);
		if (module->layout.method != job->options->method)
			al_text_addf(out, ", \"method\": \"%s\"",
				al_method_names[module->layout.method]);
		if (al_method_drops(module->layout.method))
			describe_dropped(out, &module->layout);
		else
			al_text_addf(out, ", \"rank\": %" PRId64, module->layout.rank);
		if (module->layout.is_refitted)
			al_text_add(out, ", \"refitted\": true");
		if (module->layout.of_keys)
			al_text_add(out, ", \"of_keys\": true");
		if (module->layout.is_padded)
			al_text_add(out, ", \"padded\": true");
		if (module->layout.places)
			describe_places(out, &module->layout);
		al_text_addf(out,
			", \"parameters\": %" PRId64
			", \"relative_error\": %.9g, \"scale\": %.17g}",
			module->parameters, module->pieces.relative_error, module->scale);
	}
	al_text_add(out, "]");
}

const char *al_layout_unlisted(const struct al_module_layout *layout)
{
	switch (layout ? layout->method : AL_METHOD_DROP) {
	case AL_METHOD_TUCKER:
		return "queries and keys as products of two matrices";
	case AL_METHOD_LATENT:
		return layout->of_keys ? "keys as products of two matrices"
				       : "values as products of two matrices";
	case AL_METHOD_MHE_MUL:
		return "queries, keys and values that all heads share";
	case AL_METHOD_GQA:
		return layout->of_keys ? NULL : "values that more heads share than keys";
	default:
		return NULL;
	}
}

/* The slice that replaces a piece in the copy; NULL: none. */
static const struct al_slice *find_slice(const struct al_module_layout *layout,
	enum al_module_piece piece)
{
	for (size_t i = 0; i < layout->n_slices; i++)
		if (layout->slices[i].piece == piece && layout->slices[i].width > 0)
			return &layout->slices[i];
	return NULL;
}

static void describe_name(struct al_text *out, const char *key,
	const struct al_module_layout *layout, enum al_module_piece piece)
{
	const struct al_slice *slice = find_slice(layout, piece);

	if (!slice)
		return;
	al_text_addf(out, ", \"%s\": ", key);
	al_json_quote(out, slice->source ? slice->source->name : slice->name);
}

/* A projection that isn't where the family looks for it, or not as it looks for it. */
static void describe_projection(struct al_text *out, const struct al_module_layout *layout,
	enum al_projection p)
{
	al_text_addf(out, "{\"is\": \"%s\"", al_projection_names[p]);
	describe_name(out, "weight", layout, (enum al_module_piece)p);
	describe_name(out, "down", layout, al_piece_down(p));
	if (!find_slice(layout, (enum al_module_piece)p)->is_slow)
		al_text_add(out, ", \"in_out\": true");
	if (al_layout_changes(layout, p, true)) {
		al_text_add(out, ", \"moves_bias\": true");
		describe_name(out, "bias", layout, al_piece_of(p, true));
	}
	if (p == AL_QUERY)
		describe_name(out, "mixing", layout, AL_PIECE_MIXING);
	if (p == AL_KEY)
		describe_name(out, "content", layout, AL_PIECE_CONTENT);
	if (p == AL_VALUE && al_layout_shared(layout, p) > 0)
		al_text_addf(out, ", \"heads\": %" PRId64, al_layout_shared(layout, p));
	al_text_add(out, "}");
}

static void describe_stored(struct al_text *out, const struct al_module_layout *layout)
{
	const char *comma = "";

	al_text_add(out, ", \"stored\": [");
	for (int p = AL_QUERY; p < AL_OUTPUT; p++)
		if (al_layout_changes(layout, (enum al_projection)p, false)) {
			al_text_add(out, comma);
			describe_projection(out, layout, (enum al_projection)p);
			comma = ", ";
		}
	al_text_add(out, "]");
}

/* Is it stored so that its family, whatever heads it has, doesn't find it? */
static bool is_apart(const struct al_module_layout *layout, bool in_config)
{
	return al_layout_unlisted(layout) || al_method_mixes(layout->method)
		|| (layout->method == AL_METHOD_GQA && !in_config);
}

/* Divided by, not multiplied: a whole number, but where a scale is folded in; that is the one of
 * the family of shared queries and keys. */
static void describe_shape(struct al_text *out, const struct al_attention *a,
	const struct al_module_layout *layout, bool is_folded, bool in_config)
{
	const enum al_method method = layout ? layout->method : AL_METHOD_DROP;
	const bool is_dropped = layout && al_method_drops(method);

	al_text_add(out, "{\"module\": ");
	al_json_quote(out, a->name);
	al_text_addf(out, ", \"n_heads\": %" PRId64,
		is_dropped ? al_layout_heads(layout, false) : a->n_heads);
	if (method == AL_METHOD_COLLAB)
		al_text_addf(out, ", \"d_shared\": %" PRId64, layout->rank);
	else
		al_text_addf(out, ", \"n_kv_heads\": %" PRId64 ", \"d_head\": %" PRId64,
			layout ? al_layout_kv_heads(layout) : a->n_kv_heads,
			method == AL_METHOD_QK ? layout->rank : a->d_head);
	al_text_addf(out, ", \"d_value\": %" PRId64,
		method == AL_METHOD_OV && !layout->is_padded ? layout->rank : a->d_value);
	if (!is_folded && a->score_divisor > 0)
		al_text_addf(out, ", \"score_divisor\": %" PRId64, a->score_divisor);
	else if (!is_folded)
		al_text_addf(out, ", \"score_scale\": %.17g", a->score_scale);
	if (al_layout_unlisted(layout))
		al_text_addf(out, ", \"unlisted\": \"%s\"", al_layout_unlisted(layout));
	if (layout && !is_folded && is_apart(layout, in_config))
		describe_stored(out, layout);
	al_text_add(out, "}");
}

/* Records every module, so that the record of an earlier compression isn't lost. */
static void describe_shapes(const struct al_job *job, struct al_text *out)
{
	al_text_add(out, "[");
	for (size_t i = 0; i < job->view->n_modules; i++) {
		const struct al_attention *a = &job->view->modules[i];
		if (a->is_latent)
			continue;
		al_text_add(out, out->length > 1 ? ", " : "");
		const struct al_job_module *module = al_job_find(job, a);
		describe_shape(out, a, module ? &module->layout : NULL,
			module && job->options->for_epfml, job->config_note != NULL);
	}
	al_text_add(out, "]");
}

static bool is_ours(const char *key)
{
	return strncmp(key, "attnledger", 10) == 0;
}

static bool is_listed(const struct al_metadata *list, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].key, key) == 0)
			return true;
	return false;
}

const struct al_metadata *al_job_record(struct al_job *job, const char *config, size_t *n)
{
	enum { MOST = 10 };
	struct al_metadata *list = al_new_array(&job->arena, struct al_metadata, MOST);
	AL_TEXT(modules);
	AL_TEXT(shapes);

	describe_modules(job, &modules);
	describe_shapes(job, &shapes);
	const struct al_metadata all[MOST] = {
		{.key = "attnledger", .value = al_version()},
		{.key = "attnledger.method", .value = al_method_names[job->options->method]},
		{.key = "attnledger.source",
			.value = al_fingerprint_text(&job->arena, job->source)},
		{.key = "attnledger.family", .value = job->view->family->name},
		{.key = "attnledger.scale",
			.value = job->options->for_epfml
				? "1/sqrt(R/n_heads), folded into mixing and content_bias"
				: "as in the original, whatever the width is"},
		{.key = "attnledger.modules", .value = al_strdup(&job->arena, modules.data)},
		{.key = "attnledger.shapes", .value = al_strdup(&job->arena, shapes.data)},
		{.key = AL_RECORD_DTYPE,
			.value = job->options->formats ? AL_DTYPE_BY_TENSOR
				: job->dtype	       ? job->dtype->name
						       : NULL},
		{.key = "attnledger.weighted", .value = job->is_weighted ? "true" : NULL},
		{.key = AL_CHECKPOINT_CONFIG, .value = config},
	};
	*n = 0;
	for (size_t i = 0; i < MOST; i++)
		if (all[i].value)
			list[(*n)++] = all[i];
	return list;
}

const struct al_metadata *al_job_metadata(struct al_job *job, size_t shard, const char *config,
	size_t *n)
{
	const struct al_checkpoint *checkpoint = job->view->checkpoint;
	size_t n_ours;
	const struct al_metadata *ours = al_job_record(job, config, &n_ours);
	struct al_metadata *list = al_new_array(&job->arena, struct al_metadata,
		checkpoint->n_metadata + n_ours);

	*n = 0;
	for (size_t i = 0; i < checkpoint->n_metadata; i++)
		if ((shard == AL_ALL_SHARDS || checkpoint->metadata[i].shard == shard)
			&& !is_ours(checkpoint->metadata[i].key)
			&& !is_listed(list, *n, checkpoint->metadata[i].key))
			list[(*n)++] = checkpoint->metadata[i];
	memcpy(list + *n, ours, n_ours * sizeof(*ours));
	*n += n_ours;
	return list;
}
