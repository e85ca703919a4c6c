/* Names are names, for views too: with all tensors of a family's variants called otherwise, the
 * modules of each state dict have the same heads, made of the same stored numbers. Which tensor is
 * what of a head is said by keys of the variant. */
#include "unit.h"

#include "complete_family.h"

#include <cjson/cJSON.h>
#include <dirent.h>

#include "base/text.h"
#include "catalog/family.h"
#include "support/state_dict.h"
#include "model/heads/views.h"

static struct al_catalog *catalog;
static struct test_folder folder;

static int begin(void **state)
{
	(void)state;
	catalog = al_catalog_create();
	test_folder_make(&folder);
	return 0;
}

static int end(void **state)
{
	(void)state;
	test_folder_remove(&folder);
	al_catalog_destroy(catalog);
	return 0;
}

/* ---- other names ---- */

static cJSON *parse(const char *text)
{
	cJSON *root = cJSON_Parse(text);

	assert_non_null(root);
	return root;
}

static cJSON *parse_variant(const char *name)
{
	return parse(al_embedded_find(al_catalog_files(AL_CATALOG_VARIANTS), name)->text);
}

static cJSON *parse_family(const char *name)
{
	char *text = complete_family(catalog, name);
	cJSON *root = parse(text);

	free(text);
	return root;
}

/* Writes the file and frees the tree. */
static void write_tree(const char *path, cJSON *root)
{
	char *text = cJSON_PrintUnformatted(root);

	test_write(path, text, strlen(text));
	cJSON_free(text);
	cJSON_Delete(root);
}

static void set_text(cJSON *node, const char *text)
{
	assert_non_null(cJSON_SetValuestring(node, text));
}

static void rename_text(cJSON *node)
{
	char name[256];

	if (!node)
		return;
	snprintf(name, sizeof(name), "many letters once called %s", node->valuestring);
	set_text(node, name);
}

/* All texts of a "pass" are names of tensors. */
static void rename_pass(cJSON *node)
{
	cJSON *member;

	if (cJSON_IsString(node))
		rename_text(node);
	cJSON_ArrayForEach(member, node) rename_pass(member);
}

static void write_variant(const char *path, const char *name)
{
	cJSON *root = parse_variant(name), *tensor;

	cJSON_ArrayForEach(tensor, cJSON_GetObjectItem(root, "tensors"))
	{
		rename_text(cJSON_GetObjectItem(tensor, "name"));
		rename_text(cJSON_GetObjectItem(tensor, "down"));
		rename_text(cJSON_GetObjectItem(tensor, "gain"));
	}
	rename_pass(cJSON_GetObjectItem(root, "pass"));
	write_tree(path, root);
}

static void rename_stored(cJSON *stored)
{
	cJSON *part, *fused = cJSON_GetObjectItem(stored, "fused");

	rename_text(cJSON_GetObjectItem(stored, "is"));
	cJSON_ArrayForEach(part, cJSON_GetObjectItem(fused, "of"))
		rename_text(cJSON_GetArrayItem(part, 0));
}

/* The family under another name, with the same names in checkpoints, of variants with others. */
static void write_family(const char *path, const char *name)
{
	cJSON *root = parse_family(name), *module, *stored;

	rename_text(cJSON_GetObjectItem(root, "name"));
	cJSON_ArrayForEach(module, cJSON_GetObjectItem(root, "modules"))
	{
		cJSON *variant = cJSON_GetObjectItem(module, "variant");
		char file[300], json[128];
		snprintf(json, sizeof(json), "variant-%s.json", variant->valuestring);
		test_path(file, &folder, json);
		write_variant(file, variant->valuestring);
		set_text(variant, file);
		cJSON_ArrayForEach(stored, cJSON_GetObjectItem(module, "stored"))
			rename_stored(stored);
	}
	write_tree(path, root);
}

/* ---- two views ---- */

static void compare_factors(const struct al_factor *a, const struct al_factor *b)
{
	assert_int_equal(a->n_runs, b->n_runs);
	for (size_t i = 0; i < a->n_runs; i++) {
		assert_ptr_equal(a->runs[i].tensor, b->runs[i].tensor);
		assert_ptr_equal(a->runs[i].scale, b->runs[i].scale);
		assert_int_equal(a->runs[i].first, b->runs[i].first);
		assert_int_equal(a->runs[i].width, b->runs[i].width);
		assert_int_equal(a->runs[i].is_slow, b->runs[i].is_slow);
	}
	assert_int_equal(a->rows, b->rows);
	assert_int_equal(a->heads, b->heads);
	assert_int_equal(a->width, b->width);
	assert_int_equal(a->stride, b->stride);
	assert_ptr_equal(a->gain, b->gain);
	assert_int_equal(a->down != NULL, b->down != NULL);
	if (a->down)
		compare_factors(a->down, b->down);
}

static void compare_modules(const struct al_attention *a, const struct al_attention *b)
{
	assert_string_equal(a->name, b->name);
	assert_int_equal(a->layer, b->layer);
	assert_int_equal(a->is_latent, b->is_latent);
	assert_int_equal(a->is_rotary, b->is_rotary);
	assert_int_equal(a->n_heads, b->n_heads);
	assert_int_equal(a->n_kv_heads, b->n_kv_heads);
	assert_int_equal(a->d_head, b->d_head);
	assert_int_equal(a->d_value, b->d_value);
	assert_int_equal(a->score_divisor, b->score_divisor);
	assert_ptr_equal(a->norm, b->norm);
	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		compare_factors(&a->factors[p], &b->factors[p]);
		compare_factors(&a->biases[p], &b->biases[p]);
	}
}

static void compare_views(const struct al_model_view *a, const struct al_model_view *b)
{
	assert_int_equal(a->n_modules, b->n_modules);
	for (size_t i = 0; i < a->n_modules; i++)
		compare_modules(&a->modules[i], &b->modules[i]);
	assert_int_equal(a->n_notes, b->n_notes);
	for (size_t i = 0; i < a->n_notes; i++)
		assert_string_equal(a->notes[i], b->notes[i]);
}

/* What the family and what its double see, or refuse; the number of heads where they see some. */
static int64_t check_view(struct al_checkpoint *checkpoint, const char *family, const char *renamed,
	int64_t n_heads)
{
	const struct al_view_options own = {.layout = family, .n_heads = n_heads};
	const struct al_view_options other = {.layout = renamed, .n_heads = n_heads};
	struct al_model_view a, b;
	struct al_error err = {0};
	const bool is_seen = al_model_view_open(&a, catalog, checkpoint, &own, &err);

	if (al_model_view_open(&b, catalog, checkpoint, &other, &err) != is_seen)
		fail_msg("%s", err.message);
	if (!is_seen)
		return 0;
	compare_views(&a, &b);
	n_heads = a.modules[0].n_heads;
	al_model_view_close(&a);
	al_model_view_close(&b);
	return n_heads;
}

static const struct al_family *family_of(const struct state_dict *dict)
{
	const struct al_family *family;
	struct al_error err = {0};
	cJSON *config = cJSON_Parse(dict->config);

	assert_true(al_catalog_family_of(catalog,
		cJSON_GetObjectItem(config, "model_type")->valuestring, &family, &err));
	cJSON_Delete(config);
	return family;
}

/* By its config, and again by shapes alone. */
static int64_t check_dict(const char *name)
{
	struct state_dict *dict = state_dict_read(name);
	const struct al_family *family = family_of(dict);
	struct al_checkpoint checkpoint;
	struct al_error err = {0};
	char path[256], json[128];

	snprintf(json, sizeof(json), "family-%s.json", family->name);
	write_family(test_path(path, &folder, json), family->name);
	state_dict_write(dict, &folder, true);
	assert_true(al_checkpoint_open(&checkpoint, folder.path, &err));
	const int64_t n_heads = check_view(&checkpoint, family->name, path, 0);
	checkpoint.config = NULL;
	check_view(&checkpoint, family->name, path, n_heads);
	al_checkpoint_close(&checkpoint);
	state_dict_finish(dict);
	return n_heads;
}

static void names_of_tensors_decide_nothing(void **state)
{
	DIR *directory = opendir(STATE_DICTS);
	size_t n_seen = 0;
	char name[256];

	(void)state;
	assert_non_null(directory);
	for (struct dirent *entry; (entry = readdir(directory));) {
		const char *ending = strstr(entry->d_name, ".txt");
		if (!ending)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(ending - entry->d_name), entry->d_name);
		n_seen += check_dict(name) > 0;
	}
	closedir(directory);
	assert_between(n_seen, 50, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_tensors_decide_nothing),
	};

	return cmocka_run_group_tests_name("renaming of views", tests, begin, end);
}
