/* The copy's config.json: where its family has keys for all that is new (heads, key/value heads,
 * their width), the original's text with these numbers; else the original's, marked.
 *
 * Nothing is trusted to a key's name: under the new numbers the family must expect every attention
 * tensor as it is written, and divide the scores as the original does. */

#include "catalog/config.h"
#include "catalog/family.h"
#include "compress/plan.h"

/* ---- what is new ---- */

void al_job_sizes(const struct al_job *job, const struct al_attention *a, struct al_head_sizes *out)
{
	const struct al_job_module *module = al_job_find(job, a);

	out->n_heads = module ? al_layout_heads(&module->layout, false) : a->n_heads;
	out->n_kv_heads = module ? al_layout_kv_heads(&module->layout) : a->n_kv_heads;
	out->d_head = a->d_head;
}

/* The sizes of all modules, if they are the same; a config gives them once. */
static bool find_common(const struct al_job *job, struct al_head_sizes *out)
{
	const struct al_model_view *view = job->view;
	struct al_head_sizes own;

	for (size_t i = 0; i < view->n_modules; i++) {
		if (view->modules[i].is_latent || view->modules[i].is_shared)
			return false;
		al_job_sizes(job, &view->modules[i], &own);
		if (i > 0 && memcmp(&own, out, sizeof(own)) != 0)
			return false;
		*out = own;
	}
	return true;
}

/* ---- is it complete? ---- */

struct check {
	struct al_job *job;
	const struct al_plan *plan;
	struct al_settings *settings;
};

/* The written tensor of a family's name; NULL: none. */
static const struct al_tensor *find_written(const struct check *c, const char *name)
{
	const struct al_tensor *source = al_model_view_find(c->job->view, name);

	for (size_t i = 0; source && i < c->plan->n; i++)
		if (strcmp(c->plan->headers[i].name, source->name) == 0)
			return &c->plan->headers[i];
	return NULL;
}

static bool has_shape(const struct al_tensor *written, const int64_t *dims, size_t n_dims)
{
	return written && written->n_dims == n_dims
		&& memcmp(written->shape, dims, n_dims * sizeof(*dims)) == 0;
}

static bool scores_alike(const struct check *c, const struct al_model_item *module,
	const struct al_stored_module *stored)
{
	const struct al_model_view *view = c->job->view;

	for (size_t i = 0; i < view->n_modules; i++) {
		const struct al_attention *a = &view->modules[i];
		if (strcmp(a->name, module->name) == 0
			&& ((a->score_divisor > 0
				    && (stored->score_divisor ? stored->score_divisor : a->d_head)
					    != a->score_divisor)
				|| (a->is_rotary && stored->rotary_width != a->rotary_width)))
			return false;
	}
	return true;
}

static bool fits(struct check *c, const struct al_tensor_list *list)
{
	struct al_job *job = c->job;
	struct al_stored_module stored;

	for (size_t i = 0; i < list->n_modules; i++) {
		if (!al_stored_module_read(&stored, &job->arena, job->view->catalog,
			    &list->modules[i], c->settings, NULL)
			|| !scores_alike(c, &list->modules[i], &stored))
			return false;
		for (size_t k = 0; k < stored.n_tensors; k++)
			if (!has_shape(find_written(c, stored.tensors[k].name),
				    stored.tensors[k].dims, stored.tensors[k].n_dims))
				return false;
	}
	return true;
}

static bool describes_all(struct al_job *job, const struct al_plan *plan,
	const struct al_text *config)
{
	const struct al_model_view *view = job->view;
	AL_ENDS(al_tensor_list_finish) struct al_tensor_list list = {0};
	AL_SETTINGS(settings, view->catalog);
	AL_JSON(doc);

	if (!al_json_parse(&doc, "config.json", config->data, config->length, NULL)
		|| !al_family_settings(view->family, &doc, doc.root, "config.json", &settings, NULL)
		|| !al_tensor_list_init(&list, view->catalog, view->family, &settings,
			AL_TENSORS_BY_NAME, NULL))
		return false;
	struct check c = {.job = job, .plan = plan, .settings = &settings};
	return fits(&c, &list);
}

/* ---- the text ---- */

static bool is_unlisted(const struct al_job *job)
{
	for (size_t i = 0; i < job->n_modules; i++)
		if (al_layout_unlisted(&job->modules[i].layout)
			|| al_method_mixes(job->modules[i].layout.method))
			return true;
	return false;
}

/* transformers 5 refuses a llama of other widths (LlamaConfig, validate_architecture), whatever its
 * head_dim is. */
static const char *warn(const struct al_job *job, int64_t n_heads)
{
	const struct al_setting *width;

	return al_settings_get(&job->view->settings, "d_model", &width, NULL) && width
			&& width->value.integer % n_heads != 0
		? ", but those that ask the model's width to be a multiple of its heads "
		  "(transformers 5)"
		: "";
}

static const char runs[] = "modeling_attnledger.Model";

/* Does a config name the modelling file as what runs it? */
static bool names_modeling(const struct al_json *config)
{
	const struct al_item *name = al_json_get(al_json_get(config->root, "auto_map"),
		"AutoModel");
	const char *text;

	return name && al_json_text(config, name, &text, NULL) && strcmp(text, runs) == 0;
}

/* The original's, marked where modules are others: who counts by it must know, and who runs it. */
static void mark(struct al_job *job, const struct al_json *config, struct al_text *out)
{
	const size_t start = strcspn(config->text, "{") + 1;

	if (al_json_get(config->root, AL_CONFIG_COMPRESSED)) {
		job->writes_modeling = job->writes_folder && names_modeling(config);
		return;
	}
	job->writes_modeling = job->writes_folder && job->view->checkpoint->config
		&& !job->options->for_epfml && !al_json_get(config->root, "auto_map");
	out->length = start;
	al_text_addf(out, "\n  \"%s\": true", AL_CONFIG_COMPRESSED);
	if (job->writes_modeling)
		al_text_addf(out,
			",\n  \"auto_map\": {\"AutoModel\": \"%s\", "
			"\"AutoModelForCausalLM\": \"%sForCausalLM\"}",
			runs, runs);
	al_text_add(out, al_json_first(config->root) ? "," : "\n");
	al_text_add_bytes(out, config->text + start, config->length - start);
}

bool al_job_edit_config(struct al_job *job, const struct al_plan *plan, struct al_text *out,
	struct al_head_sizes *sizes)
{
	const struct al_json *config = &job->view->config;

	if (al_json_get(config->root, AL_CONFIG_COMPRESSED) || is_unlisted(job)
		|| !find_common(job, sizes))
		return false;
	const struct al_binding values[] = {{"n_heads", sizes->n_heads},
		{"n_kv_heads", sizes->n_kv_heads}, {"d_head", sizes->d_head}};
	al_text_add_bytes(out, config->text, config->length);
	return al_config_edit(job->view->family, out, values, sizeof(values) / sizeof(*values),
		       NULL)
		&& describes_all(job, plan, out);
}

/* Who reads the copy by its new config. */
static const char *find_readers(struct al_job *job, const struct al_head_sizes *sizes)
{
	const struct al_checkpoint *checkpoint = job->view->checkpoint;

	if (checkpoint->shards[0].pairs)
		return "its tensors keep GGUF's names, which only attnledger reads in a "
		       "safetensors file; -o FILE.gguf writes one that llama.cpp runs";
	if (checkpoint->header_config && !checkpoint->config && !checkpoint->of)
		return "attnledger reads it, other programs don't";
	return al_format(&job->arena, "%s%s",
		job->writes_folder
			? "its config.json has these sizes, so programs that load the family load "
			  "it"
			: "-o FOLDER/ writes a config.json with these sizes, for programs that "
			  "load the family",
		warn(job, sizes->n_heads));
}

/* The format that all tensors get; NULL: there isn't one. */
static const struct al_dtype *find_dtype(const struct al_job *job)
{
	const struct al_dtype *const *formats = job->options->formats, *found = job->dtype;

	for (size_t i = 0; formats && i < job->view->checkpoint->n_tensors; i++) {
		if (formats[i] && found && formats[i] != found)
			return NULL;
		found = formats[i] ? formats[i] : found;
	}
	return found;
}

/* "float16" in place of what the config names: programs convert what they load to that. */
static bool edit_dtype(const struct al_job *job, struct al_text *out, struct al_error *err)
{
	static const char *const keys[] = {"dtype", "torch_dtype"};
	const struct al_dtype *dtype = find_dtype(job);
	const char *name = NULL;
	AL_JSON(doc);

	if (!al_json_parse(&doc, "config.json", out->data, out->length, err))
		return false;
	for (int i = 0; dtype && i < AL_DTYPE_ALIASES && dtype->aliases[i]; i++)
		name = dtype->aliases[i];
	const struct al_item *node = al_config_find_first(doc.root, keys, 2);
	if (!name || !node)
		return true;
	out->length = (size_t)(node->place - doc.text);
	al_text_addf(out, "\"%s\"%s", name, node->end);
	return true;
}

static void describe(struct al_job *job, const struct al_plan *plan, struct al_text *out)
{
	const struct al_json *config = &job->view->config;
	struct al_head_sizes sizes;

	if (job->n_modules > 0 && al_job_edit_config(job, plan, out, &sizes)) {
		job->config_note = al_format(&job->arena,
			"family %s with %" PRId64 " heads, %" PRId64 " of keys and values, %" PRId64
			" wide: %s",
			job->view->family->name, sizes.n_heads, sizes.n_kv_heads, sizes.d_head,
			find_readers(job, &sizes));
		return;
	}
	out->length = 0;
	al_text_add_bytes(out, config->text, config->length);
	if (job->n_modules > 0 || al_json_get(config->root, AL_CONFIG_COMPRESSED))
		mark(job, config, out);
}

bool al_job_write_config(struct al_job *job, const struct al_plan *plan, struct al_text *out,
	struct al_error *err)
{
	describe(job, plan, out);
	return edit_dtype(job, out, err);
}
