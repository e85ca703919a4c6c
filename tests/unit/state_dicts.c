/* State dicts: what a family lists for a tiny model, name by name and shape by shape, against
 * the lists of tests/data/state-dicts.
 *
 * Such a file holds what the reference implementation's modules make of one config: lines of
 * comment, "config" with the JSON, then a tensor a line: its name and its dimensions. Tied tensors
 * are there, as in a state dict; what a family calls optional may be. Those in the folder "counted"
 * are of families whose heads nobody looks at; tests of views read the others. */
#include "with_catalog.h"

#include <dirent.h>

#include "base/text.h"
#include "catalog/stored.h"

#define FOLDER "tests/data/state-dicts"

enum { MOST_TENSORS = 1024, MOST_DICTS = 512 };

static void must_with(bool ok, const char *file, const struct al_error *err)
{
	if (!ok)
		fail_msg("%s: %s", file, err->message);
}

/* ---- two lists ---- */

struct tensor {
	const char *name;
	int64_t dims[AL_STORED_DIMS];
	size_t n_dims;
	bool is_optional, is_matched;
};

struct tensors {
	struct tensor items[MOST_TENSORS];
	size_t n;
};

struct dict {
	const char *file;
	struct al_arena arena;
	struct al_json config;
	const struct al_family *family;
	struct tensors listed, expected;
};

static void add(struct tensors *list, const char *name, const int64_t *dims, size_t n_dims,
	bool is_optional)
{
	struct tensor *tensor = &list->items[list->n++];

	assert_true(list->n < MOST_TENSORS);
	*tensor = (struct tensor){.name = name, .n_dims = n_dims, .is_optional = is_optional};
	memcpy(tensor->dims, dims, n_dims * sizeof(*dims));
}

/* ---- the reference's ---- */

/* "lm_head.weight 17 12" */
static void read_line(struct dict *dict, char *line)
{
	int64_t dims[AL_STORED_DIMS];
	size_t n_dims = 0;
	char *rest, *name = strtok_r(line, " ", &rest);

	for (char *word = strtok_r(NULL, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		dims[n_dims++] = strtoll(word, NULL, 10);
	add(&dict->listed, name, dims, n_dims, false);
}

static void read_dict(struct dict *dict)
{
	char *path = al_format(&dict->arena, FOLDER "/%s", dict->file), line[4096];
	struct al_error err = {0};
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		char *copy = al_strndup(&dict->arena, line, strcspn(line, "\n"));
		if (strncmp(copy, "config ", 7) == 0)
			must_with(al_json_parse(&dict->config, dict->file, copy + 7,
					  strlen(copy + 7), &err),
				dict->file, &err);
		else if (*copy != '#')
			read_line(dict, copy);
	}
	fclose(file);
}

/* ---- the family's ---- */

static void add_module(struct dict *dict, const struct al_model_item *module,
	const struct al_settings *settings)
{
	struct al_stored_module stored;
	struct al_error err = {0};

	must_with(al_stored_module_read(&stored, &dict->arena, catalog, module, settings, &err),
		dict->file, &err);
	for (size_t i = 0; i < stored.n_tensors; i++) {
		const struct al_stored_tensor *tensor = &stored.tensors[i];
		int64_t shape[AL_STORED_DIMS];
		const size_t n_dims = al_stored_shape(tensor, shape);
		add(&dict->expected, tensor->name, shape, n_dims, tensor->stored->is_optional);
	}
}

static void list_family(struct dict *dict)
{
	struct al_settings settings;
	struct al_tensor_list tensor_list;
	struct al_error err = {0};
	const char *name;

	must_with(al_catalog_family_for(catalog, &dict->config, dict->config.root, &dict->family,
			  &name, &err),
		dict->file, &err);
	al_settings_init(&settings, catalog);
	must_with(al_family_settings(dict->family, &dict->config, dict->config.root, dict->file,
			  &settings, &err),
		dict->file, &err);
	must_with(al_tensor_list_init(&tensor_list, catalog, dict->family, &settings,
			  AL_TENSORS_BY_NAME, &err),
		dict->file, &err);
	for (size_t i = 0; i < tensor_list.n_modules; i++)
		add_module(dict, &tensor_list.modules[i], &settings);
	for (size_t i = 0; i < tensor_list.n_tensors; i++) {
		const struct al_model_item *tensor = &tensor_list.tensors[i];
		int64_t dims[AL_STORED_DIMS];
		size_t n_dims = al_model_tensor_shape(tensor, dims);
		add(&dict->expected, al_strdup(&dict->arena, tensor->name), dims, n_dims,
			tensor->tensor->is_optional);
	}
	al_tensor_list_finish(&tensor_list);
	al_settings_finish(&settings);
}

/* ---- the comparison ---- */

static struct tensor *find(struct tensors *list, const char *name)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->items[i].name, name) == 0)
			return &list->items[i];
	return NULL;
}

/* Under each of the family's prefixes. */
static struct tensor *find_expected(struct dict *dict, const char *name)
{
	const struct al_family *family = dict->family;

	for (size_t i = 0; i < family->n_prefixes; i++) {
		size_t length = strlen(family->prefixes[i]);
		struct tensor *found = strncmp(name, family->prefixes[i], length) == 0
			? find(&dict->expected, name + length)
			: NULL;
		if (found)
			return found;
	}
	return NULL;
}

static bool has_shape(const struct tensor *a, const struct tensor *b)
{
	return a->n_dims == b->n_dims
		&& memcmp(a->dims, b->dims, a->n_dims * sizeof(*a->dims)) == 0;
}

static const char *shape_text(struct dict *dict, const struct tensor *tensor)
{
	const char *text = "[";

	for (size_t i = 0; i < tensor->n_dims; i++)
		text = al_format(&dict->arena, "%s%s%lld", text, i ? ", " : "",
			(long long)tensor->dims[i]);
	return al_format(&dict->arena, "%s]", text);
}

static size_t count_differences(struct dict *dict)
{
	size_t wrong = 0;

	for (size_t i = 0; i < dict->listed.n; i++) {
		const struct tensor *listed = &dict->listed.items[i];
		struct tensor *expected = find_expected(dict, listed->name);
		if (expected && !expected->is_matched && has_shape(listed, expected)) {
			expected->is_matched = true;
			continue;
		}
		print_error("%s: %s %s: the family has %s\n", dict->file, listed->name,
			shape_text(dict, listed), expected ? shape_text(dict, expected) : "none");
		wrong++;
	}
	for (size_t i = 0; i < dict->expected.n; i++) {
		const struct tensor *expected = &dict->expected.items[i];
		if (expected->is_matched || expected->is_optional)
			continue;
		print_error("%s: %s %s: not in the state dict\n", dict->file, expected->name,
			shape_text(dict, expected));
		wrong++;
	}
	return wrong;
}

static size_t check_dict(const char *file, const struct al_family **family)
{
	struct dict *dict = calloc(1, sizeof(*dict));

	assert_non_null(dict);
	dict->file = file;
	al_arena_init(&dict->arena);
	read_dict(dict);
	list_family(dict);
	size_t wrong = count_differences(dict);
	*family = dict->family;
	al_json_finish(&dict->config);
	al_arena_finish(&dict->arena);
	free(dict);
	return wrong;
}

/* No family goes without a state dict. */
static void check_coverage(const struct al_family **seen, size_t n_seen)
{
	const struct al_embedded_list *list = al_catalog_files(AL_CATALOG_FAMILIES);

	for (size_t i = 0; i < list->n_files; i++) {
		const struct al_family *family;
		struct al_error err = {0};
		bool is_seen = false;
		must_with(al_catalog_family(catalog, list->files[i].name, &family, &err),
			"built-in", &err);
		for (size_t j = 0; j < n_seen; j++)
			is_seen |= strcmp(seen[j]->name, family->name) == 0;
		if (!is_seen)
			fail_msg("%s has no state dict in %s", family->name, FOLDER);
	}
}

static size_t check_folder(const char *path, const char *before, const struct al_family **seen,
	size_t *n)
{
	DIR *folder = opendir(path);
	size_t wrong = 0;

	assert_non_null(folder);
	for (const struct dirent *entry; (entry = readdir(folder));)
		if (strstr(entry->d_name, ".txt")) {
			char file[512];
			assert_true(*n < MOST_DICTS);
			snprintf(file, sizeof(file), "%s%s", before, entry->d_name);
			wrong += check_dict(file, &seen[(*n)++]);
		}
	closedir(folder);
	return wrong;
}

static void families_list_what_modules_make(void **state)
{
	const struct al_family *seen[MOST_DICTS];
	size_t n = 0;

	(void)state;
	size_t wrong = check_folder(FOLDER, "", seen, &n);
	wrong += check_folder(FOLDER "/counted", "counted/", seen, &n);
	check_coverage(seen, n);
	if (wrong > 0)
		fail_msg("%zu tensors of %zu state dicts differ", wrong, n);
}

/* ---- names of modules ---- */

/* "decoder.{layer}.cross" */
static bool is_module_name(const struct al_family_module *module)
{
	static const char *const names[] = {"layers.{layer}", "groups.{group}.{inner}",
		"encoder.{layer}.self", "decoder.{layer}.self", "vision.layers.{layer}",
		"audio.layers.{layer}", "mtp.{mtp}", "layers.{layer}.{half}",
		"layers.{layer}.mamba", "midlayer", "stages.{layer}.{block}",
		"vision.stages.{layer}.{block}", "global.{index}", "vision.global.{index}"};

	if (module->is_cross)
		return strcmp(module->name, "decoder.{layer}.cross") == 0
			|| strcmp(module->name, "layers.{layer}.cross") == 0;
	return al_find_name(module->name, names, sizeof(names) / sizeof(*names)) >= 0;
}

static void modules_are_called_alike(void **state)
{
	const struct al_embedded_list *list = al_catalog_files(AL_CATALOG_FAMILIES);

	(void)state;
	for (size_t i = 0; i < list->n_files; i++) {
		const struct al_family *family;
		struct al_error err = {0};
		must_with(al_catalog_family(catalog, list->files[i].name, &family, &err),
			"built-in", &err);
		for (size_t j = 0; j < family->n_modules; j++)
			if (!is_module_name(&family->modules[j]))
				fail_msg("%s has a module %s", family->name,
					family->modules[j].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(families_list_what_modules_make),
		cmocka_unit_test(modules_are_called_alike),
	};

	return cmocka_run_group_tests_name("state_dicts", tests, create_catalog, destroy_catalog);
}
