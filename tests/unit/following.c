/* A ledger that follows what is set is a ledger that was opened so: over all presets and all
 * families with their defaults, all variants alone, and many settings. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "ledger/ledger.h"
#include "support/folder.h"

static struct al_catalog *catalog;

static void must(bool ok, const struct al_error *err)
{
	if (!ok)
		fail_msg("%s", err->message);
}

static int set_up(void **state)
{
	(void)state;
	catalog = al_catalog_create();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	al_catalog_destroy(catalog);
	return 0;
}

static uint64_t next(uint64_t *random)
{
	*random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *random >> 33;
}

/* One model, or an attention module alone with its sizes, under what was asked so far, and the
 * ledger that follows it. */
struct subject {
	struct al_arena arena;
	const struct al_model *model;
	const struct al_family *family; /* NULL: alone */
	struct al_configured_variant configured;
	struct al_basis basis;
	struct al_settings settings; /* asked */
	struct al_ledger ledger;
};

static bool open_ledger(struct subject *s, struct al_ledger *out)
{
	const struct al_ledger_ask ask = {.catalog = catalog,
		.model = s->model,
		.settings = &s->settings,
		.basis = &s->basis,
		.configured = &s->configured};
	return al_ledger_open(out, &ask, NULL);
}

static void forget_settings(struct subject *s)
{
	al_settings_finish(&s->settings);
	al_arena_finish(&s->arena);
}

/* Without a ledger yet. */
static bool open_settings(struct subject *s, const char *model, const char *configured,
	const char *per)
{
	struct al_error err = {0};

	must(al_catalog_model(catalog, model, &s->model, &err), &err);
	s->family = NULL;
	al_arena_init(&s->arena);
	must(al_configured_variant_parse(&s->arena, catalog, configured, &s->configured, &err),
		&err);
	al_basis_init(&s->basis);
	must(al_basis_set(&s->basis, "per", per, &err), &err);
	al_settings_init(&s->settings, catalog);
	if (!al_model_settings(s->model, catalog, &s->settings, &err)) {
		forget_settings(s);
		return false;
	}
	al_settings_ask(&s->settings, "batch", 2, "test");
	al_settings_ask(&s->settings, "seq", 256, "test");
	return true;
}

static bool open_subject(struct subject *s, const char *model, const char *configured)
{
	struct al_error err = {0};

	if (!al_catalog_model(catalog, model, &s->model, &err) || !s->model->family
		|| !open_settings(s, model, configured, "whole"))
		return false;
	must(al_catalog_family(catalog, s->model->family, &s->family, &err), &err);
	assert_true(open_ledger(s, &s->ledger));
	return true;
}

/* A variant's own symbols have some sizes. */
static bool open_alone(struct subject *s, const char *model, const char *configured,
	const char *per)
{
	if (!open_settings(s, model, configured, per))
		return false;
	for (size_t i = 0; i < s->configured.variant->n_symbols; i++)
		if (!al_settings_gives(&s->settings, s->configured.variant->symbols[i].name))
			al_settings_ask(&s->settings, s->configured.variant->symbols[i].name,
				8 << i % 3, "test");
	if (open_ledger(s, &s->ledger))
		return true;
	forget_settings(s);
	return false;
}

static void close_subject(struct subject *s)
{
	al_ledger_close(&s->ledger);
	forget_settings(s);
}

/* ---- what is compared ---- */

static const enum al_count counts[] = {AL_COUNT_PARAMETERS, AL_COUNT_ACTIVE, AL_COUNT_TIED,
	AL_COUNT_BUFFERS, AL_COUNT_EXTRA, AL_COUNT_STORED};

static void assert_equal_numbers(const struct subject *s, const char *what, bool left_ok,
	bool right_ok, mpq_t left, mpq_t right, const struct al_error *left_err,
	const struct al_error *right_err)
{
	if (left_ok != right_ok)
		fail_msg("%s, %s: %s", s->model->name, what,
			left_ok ? right_err->message : left_err->message);
	if (!left_ok && strcmp(left_err->message, right_err->message) != 0)
		fail_msg("%s, %s: \"%s\", opened anew \"%s\"", s->model->name, what,
			left_err->message, right_err->message);
	if (left_ok && !mpq_equal(left, right))
		fail_msg("%s, %s: %s, opened anew %s", s->model->name, what,
			mpq_get_str(NULL, 10, left), mpq_get_str(NULL, 10, right));
}

/* True where all measures that there are of it have a value. */
static bool compare(struct subject *s, const struct al_recipe *recipe)
{
	struct al_ledger fresh;
	bool all = true;
	mpq_t left, right;

	if (!open_ledger(s, &fresh))
		return false;
	mpq_inits(left, right, NULL);
	for (int i = 0; i < (s->family ? AL_N_MEASURES : AL_ACTIVE); i++) {
		struct al_error a = {0}, b = {0};
		bool left_ok = al_ledger_measure(&s->ledger, (enum al_measure)i, recipe, left, &a);
		bool right_ok = al_ledger_measure(&fresh, (enum al_measure)i, recipe, right, &b);
		assert_equal_numbers(s, al_measures[i].key, left_ok, right_ok, left, right, &a, &b);
		all = all && left_ok;
	}
	for (size_t i = 0; all && i < sizeof(counts) / sizeof(*counts); i++) {
		struct al_error err = {0};
		must(al_ledger_count(&s->ledger, counts[i], left, &err)
				&& al_ledger_count(&fresh, counts[i], right, &err),
			&err);
		assert_equal_numbers(s, al_counts[counts[i]].key, true, true, left, right, &err,
			&err);
	}
	mpq_clears(left, right, NULL);
	al_ledger_close(&fresh);
	return all;
}

/* ---- what is set ---- */

static bool is_number(struct subject *s, const char *symbol, int64_t *value)
{
	const struct al_setting *setting;

	if (!al_settings_get(&s->settings, symbol, &setting, NULL) || !setting || setting->list
		|| setting->value.kind != AL_VALUE_INTEGER)
		return false;
	*value = setting->value.integer;
	return true;
}

static const char *pick_symbol(struct subject *s, uint64_t *random)
{
	static const char *const tokens[] = {"seq", "batch"};
	uint64_t i = next(random) % ((s->family ? s->family->n_config : s->settings.n) + 2);

	if (i >= 2 && !s->family)
		return s->settings.items[i - 2].symbol;
	return i < 2 ? tokens[i] : s->family->config[i - 2].symbol;
}

/* Mostly a size that others divide: values are halved, doubled, or one more. */
static int64_t pick_value(int64_t value, uint64_t *random)
{
	switch (next(random) % 4) {
	case 0:
		return value < 100000 ? 2 * value : value / 2;
	case 1:
		return value / 2;
	case 2:
		return value + 1;
	default:
		return value > 1 ? value - 1 : 1;
	}
}

static void set(struct subject *s, const char *symbol, int64_t value)
{
	al_settings_ask(&s->settings, symbol, value, "set");
	al_ledger_set(&s->ledger, symbol, value);
}

static bool is_complete; /* by default a third of the steps */

static void follow(struct subject *s, const struct al_recipe *recipe, int steps)
{
	const int n = is_complete ? steps : (steps + 2) / 3;
	uint64_t random = 7;
	int64_t value;

	for (int i = 0; i < n; i++) {
		const char *symbol = pick_symbol(s, &random);
		if (!is_number(s, symbol, &value))
			continue;
		set(s, symbol, pick_value(value, &random));
		if (!compare(s, recipe)) {
			set(s, symbol, value);
			compare(s, recipe);
		}
	}
}

static void follow_model(const char *model, const char *configured, const char *recipe_name,
	int steps)
{
	const struct al_recipe *recipe;
	struct al_error err = {0};
	struct subject s;

	must(al_catalog_recipe(catalog, recipe_name, &recipe, &err), &err);
	if (!open_subject(&s, model, configured))
		return;
	follow(&s, recipe, steps);
	close_subject(&s);
}

/* A config that says nothing, where the family has a default for everything. */
static void follow_family(const char *name, const struct test_folder *folder, int steps)
{
	const struct al_family *family;
	struct al_error err = {0};
	char file[128], text[256], path[256];

	must(al_catalog_family(catalog, name, &family, &err), &err);
	if (family->model_types.n == 0)
		return;
	snprintf(file, sizeof(file), "%s.json", name);
	snprintf(text, sizeof(text), "{\"model_type\": \"%s\"}", family->model_types.items[0]);
	test_write(test_path(path, folder, file), text, strlen(text));
	follow_model(path, "own", "smith2022", steps);
}

static void follows(const char *configured, int steps)
{
	const struct al_embedded_list *models = al_catalog_files(AL_CATALOG_MODELS);

	for (size_t i = 0; i < models->n_files; i++)
		follow_model(models->files[i].name, configured, "korthikanti2022", steps);
}

static void families_follow(void **state)
{
	const struct al_embedded_list *families = al_catalog_files(AL_CATALOG_FAMILIES);
	struct test_folder folder;

	(void)state;
	test_folder_make(&folder);
	for (size_t i = 0; i < families->n_files; i++)
		follow_family(families->files[i].name, &folder, 25);
	test_folder_remove(&folder);
}

static void own_attention_follows(void **state)
{
	(void)state;
	follows("own", 40);
}

static void a_variant_follows(void **state)
{
	(void)state;
	follows("gqa:n_kv_heads=2", 12);
	follows("mha", 6);
}

static void follow_alone(const char *model, const char *configured, const char *per, int steps)
{
	const struct al_recipe *recipe;
	struct al_error err = {0};
	struct subject s;

	must(al_catalog_recipe(catalog, "korthikanti2022", &recipe, &err), &err);
	if (!open_alone(&s, model, configured, per))
		return;
	follow(&s, recipe, steps);
	close_subject(&s);
}

static void a_module_alone_follows(void **state)
{
	static const char *const models[] = {"bert-base", "llama-3-8b", "transformer-base"};
	static const char *const bases[] = {"module", "layer", "model"};
	const struct al_embedded_list *variants = al_catalog_files(AL_CATALOG_VARIANTS);

	(void)state;
	for (size_t i = 0; i < variants->n_files; i++)
		for (size_t m = 0; m < sizeof(models) / sizeof(*models); m++)
			for (size_t b = 0; b < sizeof(bases) / sizeof(*bases); b++)
				follow_alone(models[m], variants->files[i].name, bases[b], 30);
	follow_alone("bert-base", "gqa:n_kv_heads=2", "module", 60);
}

/* With an argument: complete. */
int main(int argc, char **argv)
{
	(void)argv;
	is_complete = argc > 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_attention_follows),
		cmocka_unit_test(families_follow),
		cmocka_unit_test(a_variant_follows),
		cmocka_unit_test(a_module_alone_follows),
	};

	return cmocka_run_group_tests_name("following", tests, set_up, tear_down);
}
