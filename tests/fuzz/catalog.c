/* Catalog files: read as each kind; a family that is one is laid over an empty config. */
#include "catalog/tensor_list.h"
#include "catalog/read.h"
#include "fuzz.h"

struct input {
	struct al_arena arena;
	struct al_json doc;
	struct al_symbols symbols;
	struct al_catalog *catalog;
};

static void check_message(const struct al_error *err)
{
	FUZZ_CHECK(err->status == AL_EINPUT || err->status == AL_EUNSET);
	FUZZ_CHECK(*err->message && !strchr(err->message, '\n'));
}

static void read_variant(struct input *in)
{
	struct al_error err = {0};
	void *item;

	if (!al_read_file(&al_variant_file, &in->arena, &in->doc, in->doc.root, &in->symbols, &item,
		    &err)) {
		check_message(&err);
		return;
	}
	const struct al_variant *variant = item;
	for (size_t i = 0; i < variant->tensors.n; i++)
		FUZZ_CHECK(variant->tensors.items[i].name
			&& variant->tensors.items[i].shape.n_dims > 0);
}

static void read_recipe(struct input *in)
{
	struct al_error err = {0};
	void *item;

	if (!al_read_file(&al_recipe_file, &in->arena, &in->doc, in->doc.root, &in->symbols, &item,
		    &err)) {
		check_message(&err);
		return;
	}
	const struct al_recipe *recipe = item;
	FUZZ_CHECK(recipe->activations_per_token || recipe->activation_bytes > 0);
}

static void read_model(struct input *in)
{
	struct al_settings settings;
	void *item;
	struct al_error err = {0};

	al_settings_init(&settings, in->catalog);
	if (!al_read_file(&al_model_file, &in->arena, &in->doc, in->doc.root, NULL, &item, &err)) {
		check_message(&err);
		al_settings_finish(&settings);
		return;
	}
	const struct al_model *model = item;
	if (!model->family || !strchr(model->family, '.')) /* no file by path */
		if (!al_model_settings(model, in->catalog, &settings, &err))
			check_message(&err);
	al_settings_finish(&settings);
}

static bool names_files(const struct al_family *family)
{
	for (size_t i = 0; i < family->n_modules; i++)
		if (strpbrk(family->modules[i].variant, "./"))
			return true;
	return false;
}

static void keep_counts(struct input *in, const struct al_family *family, bool by_name)
{
	struct al_tensor_list tensor_list;
	struct al_settings settings;
	struct al_json config;
	struct al_error err = {0};

	FUZZ_CHECK(al_json_parse(&config, "config", "{}", 2, &err));
	al_settings_init(&settings, in->catalog);
	if (!al_family_settings(family, &config, config.root, "fuzz", &settings, &err)
		|| !al_tensor_list_init(&tensor_list, in->catalog, family, &settings, by_name,
			&err))
		check_message(&err);
	else
		al_tensor_list_finish(&tensor_list);
	al_settings_finish(&settings);
	al_json_finish(&config);
}

static bool is_like_a_file(const struct al_json *doc)
{
	const struct al_item *like = al_json_get(doc->root, "like");

	return al_json_kind(like) == AL_JSON_TEXT && strpbrk(like->text, "./");
}

static bool has_components_of_files(const struct al_json *doc)
{
	const struct al_item *components = al_json_get(doc->root, "components");
	const char *name;

	if (!components || al_json_kind(components) != AL_JSON_OBJECT)
		return false;
	al_json_each (member, components)
		if (al_json_kind(member) == AL_JSON_OBJECT
			&& al_json_get_text(doc, member, "family", true, &name, NULL)
			&& strpbrk(name, "./"))
			return true;
	return false;
}

static void read_family(struct input *in)
{
	const struct al_composition composition = {.catalog = in->catalog,
		.standard = &in->symbols};
	struct al_family *family;
	struct al_error err = {0};

	if (is_like_a_file(&in->doc) || has_components_of_files(&in->doc))
		return;
	if (!al_family_complete(in->catalog, &in->doc, &err)
		|| !al_family_read(&in->arena, &in->doc, &composition, NULL, &family, &err))
		check_message(&err);
	else if (names_files(family))
		return;
	else if (!al_family_check(family, &in->doc, in->catalog, &err))
		check_message(&err);
	else
		for (int by_name = 0; by_name < 2; by_name++)
			keep_counts(in, family, by_name);
}

/* A family of a few lines may list tensors by the hundred thousand. */
long long fuzz_held_bytes(void)
{
	return 512LL << 20;
}

int fuzz_input(const uint8_t *data, size_t size)
{
	struct input in = {0};
	struct al_error err = {0};
	char *text = malloc(size + 1);

	FUZZ_CHECK(text != NULL);
	if (size)
		memcpy(text, data, size);
	if (al_json_parse(&in.doc, "fuzz", text, size, &err)) {
		al_arena_init(&in.arena);
		in.catalog = al_catalog_create();
		FUZZ_CHECK(al_symbols_load(&in.arena, &in.symbols, &err));
		read_variant(&in);
		read_recipe(&in);
		read_model(&in);
		read_family(&in);
		al_catalog_destroy(in.catalog);
		al_arena_finish(&in.arena);
		al_json_finish(&in.doc);
	}
	free(text);
	return 0;
}
