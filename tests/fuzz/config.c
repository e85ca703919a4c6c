/* Configs: a config.json laid over the family that it names, over another where it names none; then
 * the model's tensor list, and where its first modules are stored. */
#include "base/hash.h"
#include "catalog/stored.h"
#include "fuzz.h"

/* What the format allows would take minutes under the sanitizers. */
enum { MOST_STEPS = 4096, MOST_MODULES = 4 };

static void check_message(const struct al_error *err)
{
	FUZZ_CHECK(err->status == AL_EINPUT && *err->message && !strchr(err->message, '\n'));
}

/* A config without a known model_type: any family, the same for the same bytes. */
static const struct al_family *find_family(struct al_catalog *catalog, const struct al_json *doc,
	const uint8_t *data, size_t size)
{
	const struct al_embedded_list *list = al_catalog_files(AL_CATALOG_FAMILIES);
	const struct al_family *family;
	const char *name;
	struct al_error err = {0};

	if (al_catalog_family_for(catalog, doc, doc->root, &family, &name, &err))
		return family;
	uint64_t any = al_hash(AL_HASH_EMPTY, data, size) % list->n_files;
	FUZZ_CHECK(al_catalog_family(catalog, list->files[any].name, &family, &err));
	return family;
}

static void read_stored(struct al_catalog *catalog, const struct al_tensor_list *tensor_list,
	struct al_settings *settings)
{
	for (size_t i = 0; i < tensor_list->n_modules && i < MOST_MODULES; i++) {
		struct al_stored_module stored;
		struct al_error err = {0};
		struct al_arena arena;
		al_arena_init(&arena);
		if (!al_stored_module_read(&stored, &arena, catalog, &tensor_list->modules[i],
			    settings, &err))
			check_message(&err);
		al_arena_finish(&arena);
	}
}

/* False: refused, or too large to be named tensor by tensor. */
static bool keep_counts(struct al_catalog *catalog, const struct al_family *family,
	struct al_settings *settings, enum al_tensor_list_detail detail)
{
	struct al_tensor_list tensor_list;
	struct al_error err = {0};

	if (!al_tensor_list_init(&tensor_list, catalog, family, settings, detail, &err)) {
		check_message(&err);
		return false;
	}
	bool is_small = tensor_list.n_steps <= MOST_STEPS;
	if (detail == AL_TENSORS_BY_NAME)
		read_stored(catalog, &tensor_list, settings);
	al_tensor_list_finish(&tensor_list);
	return is_small;
}

/* Not so many layers of so many experts that their tensors' names alone take tens of megabytes. */
static bool is_short(const struct al_settings *settings)
{
	static const struct {
		const char *part;
		int64_t most;
	} limits[] = {{"layers", MOST_STEPS / 64}, {"experts", MOST_STEPS / 8}};
	const struct al_setting *items = settings->items;

	for (size_t i = 0; i < settings->n; i++)
		for (size_t k = 0; k < sizeof(limits) / sizeof(*limits); k++)
			if (strstr(items[i].symbol, limits[k].part)
				&& items[i].value.kind == AL_VALUE_INTEGER
				&& items[i].value.integer > limits[k].most)
				return false;
	return true;
}

static void lay(struct al_catalog *catalog, const struct al_json *doc, const uint8_t *data,
	size_t size)
{
	const struct al_family *family = find_family(catalog, doc, data, size);
	struct al_settings settings;
	struct al_error err = {0};

	al_settings_init(&settings, catalog);
	if (!al_family_settings(family, doc, doc->root, "fuzz", &settings, &err))
		check_message(&err);
	else if (is_short(&settings) && keep_counts(catalog, family, &settings, AL_TENSORS_BY_KIND))
		keep_counts(catalog, family, &settings, AL_TENSORS_BY_NAME);
	al_settings_finish(&settings);
}

int fuzz_input(const uint8_t *data, size_t size)
{
	static struct al_catalog *catalog; /* reading a family anew would take most of the time */
	struct al_json doc;
	struct al_error err = {0};

	if (!catalog)
		catalog = al_catalog_create();
	if (!al_json_parse(&doc, "fuzz", (const char *)data, size, &err))
		return 0;
	if (al_json_kind(doc.root) == AL_JSON_OBJECT)
		lay(catalog, &doc, data, size);
	al_json_finish(&doc);
	return 0;
}
