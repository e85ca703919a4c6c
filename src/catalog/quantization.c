/* The quantization that a model's files specify, and its scheme. */

#include "base/file.h"
#include "catalog/cache.h"
#include "catalog/scheme.h"

/* ---- where it is ---- */

/* `out` stays NULL where the config has none, or null. */
static bool find_object(const struct al_json *doc, const struct al_item *object,
	const struct al_item **out, struct al_error *err)
{
	static const char *const keys[] = {"quantization_config", "compression_config"};

	for (size_t i = 0; object && !*out && i < sizeof(keys) / sizeof(*keys); i++) {
		const struct al_item *node = al_json_get(object, keys[i]);
		if (!node || al_json_kind(node) == AL_JSON_NULL)
			continue;
		if (!al_json_expect(doc, node, AL_JSON_OBJECT, err))
			return false;
		*out = node;
	}
	return true;
}

/* hf_quant_config.json next to config.json, or X.hf_quant_config.json next to X.json; NULL:
 * none. */
static const char *path_beside(struct al_arena *arena, const char *config)
{
	const char *slash = strrchr(config, '/'), *name = slash ? slash + 1 : config;
	const size_t length = strlen(name);

	if (length < 5 || strcmp(name + length - 5, ".json") != 0)
		return NULL;
	const char *stem = strcmp(name, "config.json") == 0
		? ""
		: al_format(arena, "%.*s.", (int)length - 5, name);
	const char *path = al_format(arena, "%.*s%shf_quant_config.json", (int)(name - config),
		config, stem);
	return al_path_kind(path) != AL_PATH_NONE ? path : NULL;
}

/* The document is kept with the catalog, where the model's own is. */
static bool read_beside(struct al_catalog *catalog, const struct al_model *model,
	struct al_quantization_config *out, struct al_error *err)
{
	const char *path = model->doc ? path_beside(&catalog->arena, model->doc->name) : NULL;
	const char *name = al_format(&catalog->arena, "quantization %s", path ? path : "");
	struct al_cached *cached = al_catalog_find_cached(catalog, AL_CATALOG_MODELS, name);

	if (!path)
		return true;
	if (!cached) {
		struct al_json *doc = al_new(&catalog->arena, struct al_json);
		if (!al_json_read(doc, path, err))
			return false;
		cached = al_catalog_keep(catalog, AL_CATALOG_MODELS, name);
		cached->doc = doc;
	}
	out->doc = cached->doc;
	return al_json_get_node(out->doc, out->doc->root, "quantization", AL_JSON_OBJECT, true,
		&out->object, err);
}

/* ---- methods ---- */

static bool fail_unknown(struct al_catalog *catalog, const char *method, struct al_error *err)
{
	const struct al_embedded_list *list = al_catalog_files(AL_CATALOG_SCHEMES);
	const char *known = "";

	for (size_t i = 0; i < list->n_files; i++) {
		const struct al_scheme *scheme;
		if (!al_catalog_scheme(catalog, list->files[i].name, &scheme, err))
			return false;
		for (size_t j = 0; j < scheme->methods.n; j++)
			known = al_format(&catalog->arena, "%s%s%s", known, *known ? ", " : "",
				scheme->methods.items[j]);
	}
	return al_fail(err, AL_EINPUT,
		"unknown quantization method \"%s\" (known: %s); set the weights' format with "
		"--dtype NAME",
		method, known);
}

/* ModelOpt's own file has no method: the producer's name replaces it. */
static bool read_method(struct al_quantization_config *q, bool is_beside, struct al_error *err)
{
	q->method = "modelopt";
	return is_beside
		|| al_json_get_text(q->doc, q->object, "quant_method",
			!al_json_get(q->object, "quant_algo"), &q->method, err);
}

static const struct al_item *member(const struct al_item *object, const char *key)
{
	const struct al_item *node = object ? al_json_get(object, key) : NULL;

	return node && al_json_kind(node) == AL_JSON_OBJECT ? node : NULL;
}

static bool find_scheme(struct al_catalog *catalog, struct al_quantization_config *q,
	struct al_error *err)
{
	const void *found;

	if (!al_catalog_find_by_word(catalog, AL_CATALOG_SCHEMES, q->method, &found, err))
		return false;
	q->scheme = found;
	return true;
}

/* An unknown method leaves the scheme NULL. */
static bool find_quantization(const struct al_model *model, struct al_catalog *catalog,
	struct al_quantization_config *out, struct al_error *err)
{
	*out = (struct al_quantization_config){.doc = model->doc};
	if (!model->config)
		return true;
	if (!find_object(model->doc, model->config, &out->object, err))
		return false;
	if (!out->object) {
		if (!find_object(model->doc, member(model->config, "text_config"), &out->object,
			    err))
			return false;
		out->is_of_text = out->object != NULL;
	}
	if (!out->object && !find_object(model->doc, model->doc->root, &out->object, err))
		return false;
	const bool is_beside = !out->object;
	if (is_beside && !read_beside(catalog, model, out, err))
		return false;
	return !out->object || (read_method(out, is_beside, err) && find_scheme(catalog, out, err));
}

bool al_model_quantization(const struct al_model *model, struct al_catalog *catalog,
	struct al_quantization_config *out, struct al_error *err)
{
	if (!find_quantization(model, catalog, out, err))
		return false;
	if (!out->object || out->scheme)
		return true;
	const struct al_item *node = al_json_get(out->object, "quant_method");
	return fail_unknown(catalog, out->method, err)
		|| al_json_in(out->doc, node ? node : out->object, err);
}

/* ---- the cache ---- */

static bool find_cache(const struct al_scheme *scheme, struct al_settings *settings,
	const char **dtype, struct al_error *err)
{
	const struct al_scope scope = al_settings_scope(settings);

	for (size_t i = 0; i < scheme->n_cache; i++) {
		bool holds;
		if (!al_formula_holds(scheme->cache[i].when, &scope, &holds, err))
			return al_in(err, "scheme %s", scheme->name);
		if (holds) {
			*dtype = scheme->cache[i].dtype;
			return true;
		}
	}
	return true;
}

bool al_model_cache(const struct al_model *model, struct al_catalog *catalog,
	struct al_declared_cache *out, struct al_error *err)
{
	struct al_quantization_config config;

	*out = (struct al_declared_cache){0};
	if (!find_quantization(model, catalog, &config, err))
		return false;
	if (!config.scheme || config.scheme->n_cache == 0)
		return true;
	out->scheme = config.scheme->name;
	out->file = config.doc->name;
	AL_SETTINGS(settings, catalog);
	return al_family_settings(&config.scheme->config, config.doc, config.object,
		       config.doc->name, &settings, err)
		&& find_cache(config.scheme, &settings, &out->dtype, err);
}

const char *al_model_dtype(const struct al_model *model)
{
	static const char *const keys[] = {"torch_dtype", "dtype"};
	const struct al_item *places[] = {model->config, member(model->config, "text_config")};

	for (size_t p = 0; p < sizeof(places) / sizeof(*places); p++)
		for (size_t i = 0; places[p] && i < sizeof(keys) / sizeof(*keys); i++) {
			const struct al_item *node = al_json_get(places[p], keys[i]);
			const char *text;
			if (node && al_json_text(model->doc, node, &text, NULL))
				return text;
		}
	return NULL;
}
