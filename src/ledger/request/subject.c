/* The subject of a request: a model, or one attention block alone. */
#include "ledger/request/subject.h"

#include <strings.h>
#include <sys/stat.h>

#include "formats/checkpoint.h"

/* ---- the attention block that the model itself has ---- */

static void add_module(struct al_request *q, const struct al_model_item *module)
{
	struct al_configured_variants *variants = &q->variants;
	struct al_binding *with = al_new_array(q->arena, struct al_binding, module->n_with);

	for (size_t i = 0; i < module->n_with; i++)
		with[i] = module->with[i];
	*AL_APPEND(q->arena, variants->items, variants->n,
		variants->room) = (struct al_configured_variant){.variant = module->variant,
		.name = module->variant->name,
		.with = with,
		.n_with = module->n_with,
		.is_models_own = true};
}

bool al_request_add_own_block(struct al_request *q, enum al_tensor_list_detail detail,
	struct al_error *err)
{
	struct al_tensor_list tensor_list;

	q->is_own = true;
	if (!q->family)
		return al_configured_variants_add(&q->variants, q->arena, q->catalog, "mha", err);
	if (!al_tensor_list_init(&tensor_list, q->catalog, q->family, &q->settings, detail, err))
		return al_in(err, "%s", q->name);
	const bool has_modules = tensor_list.n_modules > 0;
	if (has_modules)
		add_module(q, &tensor_list.modules[0]);
	al_tensor_list_finish(&tensor_list);
	return has_modules || al_fail(err, AL_EINPUT, "%s has no attention modules", q->name);
}

/* ---- who is asked about ---- */

/* A file that lists tensors is a variant, any other JSON file a model's config. */
static bool is_variant_file(const char *path)
{
	AL_JSON(doc);
	size_t n = strlen(path);

	return n > 5 && al_ends_with(path, ".json") && al_json_read(&doc, path, NULL)
		&& al_json_get(doc.root, "tensors");
}

static bool is_variant_name(const char *word)
{
	return al_embedded_find(al_catalog_files(AL_CATALOG_VARIANTS), word) || strchr(word, ':')
		|| is_variant_file(word);
}

static const enum al_catalog_kind kinds[] = {AL_CATALOG_MODELS, AL_CATALOG_VARIANTS};

/* "Llama-3-8B" is the built-in llama-3-8b; what isn't built in stays as it is. */
static const char *find_built_in(const char *word)
{
	for (int i = 0; word && i < 2; i++) {
		const struct al_embedded_list *files = al_catalog_files(kinds[i]);
		for (size_t j = 0; j < files->n_files; j++)
			if (strcasecmp(files->files[j].name, word) == 0)
				return files->files[j].name;
	}
	return word;
}

static bool fail_unknown_subject(const char *word, struct al_error *err)
{
	struct al_names names;

	al_names_init(&names);
	for (int i = 0; i < 2; i++) {
		const struct al_embedded_list *files = al_catalog_files(kinds[i]);
		for (size_t j = 0; j < files->n_files; j++)
			al_names_add(&names, files->files[j].name);
	}
	return al_names_fail(&names, "model or variant", word, err);
}

/* A file that is no JSON may be a checkpoint. */
static bool is_checkpoint(const char *word)
{
	const size_t n = strlen(word);
	struct stat status;

	return !(n > 5 && strcmp(word + n - 5, ".json") == 0)
		&& !al_embedded_find(al_catalog_files(AL_CATALOG_MODELS), word)
		&& stat(word, &status) == 0 && S_ISREG(status.st_mode);
}

/* A checkpoint is asked about by the config.json that its header is. */
static bool add_checkpoint(struct al_request *q, const char *path, struct al_error *err)
{
	struct al_checkpoint checkpoint;

	if (!al_checkpoint_open(&checkpoint, path, err))
		return false;
	bool ok = al_checkpoint_check_purpose(&checkpoint, err);
	if (ok && checkpoint.header_config)
		ok = al_catalog_add_config(q->catalog, path, checkpoint.header_config, err);
	else if (ok)
		ok = al_fail(err, AL_EINPUT,
			"%s: says nothing of its model's sizes, expected its config.json, or the "
			"folder that holds it",
			path);
	al_checkpoint_close(&checkpoint);
	return ok;
}

bool al_request_find_subject(struct al_request *q, const struct al_asked *asked,
	struct al_error *err)
{
	const char *word = find_built_in(asked->subject);
	bool may_be_variant = asked->takes_variant;

	q->name = q->title = word;
	if (!word)
		return true;
	if (may_be_variant && !al_embedded_find(al_catalog_files(AL_CATALOG_MODELS), word)
		&& is_variant_name(word)) {
		if (!al_configured_variants_add(&q->variants, q->arena, q->catalog, word, err))
			return false;
		q->title = q->variants.items[0].variant->title;
		return true;
	}
	if (is_checkpoint(word) && !add_checkpoint(q, word, err))
		return false;
	if (!al_catalog_model(q->catalog, word, &q->model, err))
		return al_catalog_is_path(word) || !may_be_variant
			? false
			: fail_unknown_subject(word, err);
	q->title = q->model->title;
	return !q->model->family
		|| al_catalog_family(q->catalog, q->model->family, &q->family, err);
}
