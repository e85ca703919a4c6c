/* The copy's config.json: where its family has keys for all that is new (heads, key/value heads,
 * their width), the original's text with these numbers; else the original's, marked.
 *
 * Nothing is trusted to a key's name: under the new numbers the family must expect every attention
 * tensor as it is written, and divide the scores as the original does. */

#include "catalog/family.h"
#include "compress/plan.h"

/* ---- what is new ---- */

static const char *const symbols[] = {"n_heads", "n_kv_heads", "d_head"};
enum { N_SYMBOLS = sizeof(symbols) / sizeof(*symbols) };

static void numbers_of(const struct al_job *job, const struct al_attention *a,
	int64_t numbers[N_SYMBOLS])
{
	const struct al_job_module *module = al_job_find(job, a);

	numbers[0] = module ? al_layout_heads(&module->layout, false) : a->n_heads;
	numbers[1] = module ? al_layout_kv_heads(&module->layout) : a->n_kv_heads;
	numbers[2] = a->d_head;
}

/* The numbers of all modules, if they are the same; a config gives them once. */
static bool find_common(const struct al_job *job, struct al_binding values[N_SYMBOLS])
{
	const struct al_model_view *view = job->view;
	int64_t own[N_SYMBOLS];

	for (size_t i = 0; i < view->n_modules; i++) {
		if (view->modules[i].is_latent || view->modules[i].is_shared)
			return false;
		numbers_of(job, &view->modules[i], own);
		for (size_t k = 0; k < N_SYMBOLS; k++) {
			if (i > 0 && values[k].value != own[k])
				return false;
			values[k] = (struct al_binding){symbols[k], own[k]};
		}
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

void al_job_write_config(struct al_job *job, const struct al_plan *plan, struct al_text *out)
{
	const struct al_json *config = &job->view->config;
	struct al_binding values[N_SYMBOLS];

	al_text_add_bytes(out, config->text, config->length);
	if (job->n_modules == 0)
		return;
	if (!al_json_get(config->root, AL_CONFIG_COMPRESSED) && !is_unlisted(job)
		&& find_common(job, values)
		&& al_config_edit(job->view->family, out, values, N_SYMBOLS, NULL)
		&& describes_all(job, plan, out)) {
		job->config_note = al_format(&job->arena,
			"family %s with %" PRId64 " heads, %" PRId64 " of keys and values, %" PRId64
			" wide: %s%s",
			job->view->family->name, values[0].value, values[1].value, values[2].value,
			job->writes_folder ? "its config.json has these sizes, so programs that "
					     "load the family load it"
					   : "-o FOLDER/ writes a config.json with these sizes, "
					     "for programs that "
					     "load the family",
			warn(job, values[0].value));
		return;
	}
	out->length = 0;
	al_text_add_bytes(out, config->text, config->length);
	mark(job, config, out);
}
