/* The subject of a request: a model, or one attention block alone. */
#include "ledger/request/subject.h"

#include <ctype.h>
#include <strings.h>

#include "base/alike.h"
#include "base/file.h"
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

static const char *find_alike(const char *word, int n_kinds)
{
	for (int i = 0; i < n_kinds; i++) {
		const struct al_embedded_list *files = al_catalog_files(kinds[i]);
		for (size_t j = 0; j < files->n_files; j++)
			if (al_is_alike(files->files[j].name, word))
				return files->files[j].name;
	}
	return NULL;
}

/* "Llama-3-8B" is the built-in llama-3-8b, "Qwen/Qwen3-8B" qwen3-8b; a file or folder, and what
 * isn't built in, stays as it is. */
static const char *find_built_in(struct al_request *q, const char *word)
{
	if (!word || al_path_kind(word) != AL_PATH_NONE)
		return word;
	const char *slash = strchr(word, '/');
	if (!slash) {
		const char *name = find_alike(word, 2);
		return name ? name : word;
	}
	const bool is_hub_name = isalnum((unsigned char)*word) && !strchr(slash + 1, '/');
	const char *name = is_hub_name ? find_alike(slash + 1, 1) : NULL;
	q->hub_name = name ? word : NULL;
	return name ? name : word;
}

bool al_request_names_model(const char *word)
{
	struct al_request q = {0};

	return al_path_kind(word) != AL_PATH_NONE
		|| al_embedded_find(al_catalog_files(AL_CATALOG_MODELS), find_built_in(&q, word));
}

static bool begins(const char *word, const char *name)
{
	return strlen(word) > 2 && al_begins_alike(word, name);
}

/* Another family or size than was typed is no answer: a name with a number is it or isn't, and what
 * comes before the first '-', or the first letter, is right. */
static bool may_be_mistyped(const char *word, const char *name)
{
	const size_t n_family = strchr(name, '-') ? strcspn(name, "-") : 1;

	return strlen(word) > 3 && !strpbrk(word, "0123456789")
		&& strncasecmp(word, name, n_family) == 0;
}

/* Names of models, and of variants if both kinds are allowed. */
static void find_names(const char *word, int n_kinds,
	bool (*is_one)(const char *word, const char *name), struct al_names *out)
{
	al_names_init(out);
	for (int i = 0; i < n_kinds; i++) {
		const struct al_embedded_list *files = al_catalog_files(kinds[i]);
		for (size_t j = 0; j < files->n_files; j++)
			if (is_one(word, files->files[j].name))
				al_names_add(out, files->files[j].name);
	}
}

static const char *find_near(struct al_arena *arena, const char *word, int n_kinds)
{
	struct al_names begun, mistyped;
	const char *near = "";

	find_names(word, n_kinds, begins, &begun);
	find_names(word, n_kinds, may_be_mistyped, &mistyped);
	const char *nearest = al_nearest(word, mistyped.items, mistyped.n);
	for (size_t i = 0; i < begun.n; i++)
		near = al_format(arena, "%s%s\"%s\"", near, i ? " or " : "", begun.items[i]);
	if (begun.n == 0 && nearest)
		near = al_format(arena, "\"%s\"", nearest);
	al_names_finish(&begun);
	al_names_finish(&mistyped);
	return near;
}

static bool fail_unknown_subject(const char *word, bool may_be_variant, struct al_error *err)
{
	AL_ARENA(arena);
	const char *what = may_be_variant ? "model or variant" : "model";
	const char *near = find_near(&arena, word, may_be_variant ? 2 : 1);

	if (*near)
		return al_fail(err, AL_EINPUT, "unknown %s \"%s\" (did you mean %s?)", what, word,
			near);
	return al_fail(err, AL_EINPUT,
		"unknown %s \"%s\": give its config.json, or a name of `list models`%s", what, word,
		may_be_variant ? " or `list variants`" : "");
}

/* A file that is no JSON may be a checkpoint. */
static bool is_checkpoint(const char *word)
{
	const size_t n = strlen(word);

	return !(n > 5 && strcmp(word + n - 5, ".json") == 0)
		&& !al_embedded_find(al_catalog_files(AL_CATALOG_MODELS), word)
		&& al_path_kind(word) == AL_PATH_FILE;
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
			"%s doesn't contain the model's dimensions; pass its config.json or the "
			"model folder",
			path);
	al_checkpoint_close(&checkpoint);
	return ok;
}

bool al_request_find_subject(struct al_request *q, const struct al_asked *asked,
	struct al_error *err)
{
	const char *word = find_built_in(q, asked->subject);
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
		return al_catalog_is_path(word) ? false
						: fail_unknown_subject(word, may_be_variant, err);
	q->title = q->model->title;
	return !q->model->family
		|| al_catalog_family(q->catalog, q->model->family, &q->family, err);
}
