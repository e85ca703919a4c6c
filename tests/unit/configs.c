/* Configs of many makers, as a serving planner keeps them: each counts as the reference
 * implementation does, and what share of popular models has a known family. The configs and what
 * they should count stand beside the project; without them this is skipped. */
#include "with_catalog.h"

#include <unistd.h>

#include "base/text.h"
#include "ledger/infer.h"
#include "ledger/ledger.h"

static struct al_catalog *catalog;
static char expected_path[4096], types_path[4096];

/* ---- counting one ---- */

struct counts {
	mpq_t all[AL_N_COUNTS], components[AL_N_COMPONENTS];
	mpq_t cached, in_windows; /* numbers a token */
};

static void counts_init(struct counts *counts)
{
	for (int i = 0; i < AL_N_COUNTS; i++)
		mpq_init(counts->all[i]);
	for (int i = 0; i < AL_N_COMPONENTS; i++)
		mpq_init(counts->components[i]);
	mpq_inits(counts->cached, counts->in_windows, NULL);
}

static void counts_finish(struct counts *counts)
{
	for (int i = 0; i < AL_N_COUNTS; i++)
		mpq_clear(counts->all[i]);
	for (int i = 0; i < AL_N_COMPONENTS; i++)
		mpq_clear(counts->components[i]);
	mpq_clears(counts->cached, counts->in_windows, NULL);
}

static bool count_tensors(struct al_ledger *ledger, struct counts *counts, struct al_error *err)
{
	const struct al_ledger_list *tensors;

	for (int i = 0; i < AL_N_COUNTS; i++)
		if (!al_ledger_count(ledger, (enum al_count)i, counts->all[i], err))
			return false;
	if (!al_ledger_list(ledger, AL_LIST_TENSORS, &tensors, err))
		return false;
	for (size_t i = 0; i < tensors->n; i++) {
		const struct al_ledger_entry *t = &tensors->items[i];
		mpq_ptr sum = counts->components[t->extra ? AL_COMPONENT_MTP : t->component];
		if (al_entry_is_own(t))
			mpq_add(sum, sum, t->elements);
	}
	return true;
}

static bool count_cached(struct al_ledger *ledger, struct counts *counts, struct al_error *err)
{
	struct al_cache_entries cached;
	const struct al_dtype *storage;

	if (!al_dtype_find("bf16", &storage, err)
		|| !al_ledger_cache(ledger, storage, 0, 0, 1, &cached, err))
		return false;
	for (size_t i = 0; i < cached.n; i++) {
		const struct al_cache_entry *line = &cached.lines[i];
		mpq_ptr sum = line->kind == AL_CACHE_WINDOW ? counts->in_windows : counts->cached;
		if (line->kind != AL_CACHE_STATE)
			mpq_add(sum, sum, line->entry->elements);
	}
	return true;
}

static bool count(const char *path, struct counts *counts, struct al_error *err)
{
	const struct al_family *family;
	const struct al_model *model;
	struct al_settings settings;
	struct al_basis basis;
	struct al_ledger ledger;

	if (!al_catalog_model(catalog, path, &model, err)
		|| !al_catalog_family(catalog, model->family, &family, err))
		return false;
	al_basis_init(&basis);
	al_settings_init(&settings, catalog);
	const struct al_ledger_ask ask = {.catalog = catalog,
		.family = family,
		.settings = &settings,
		.basis = &basis};
	bool ok = al_model_settings(model, catalog, &settings, err)
		&& al_ledger_open(&ledger, &ask, err);
	al_settings_finish(&settings);
	if (!ok)
		return false;
	ok = count_tensors(&ledger, counts, err) && count_cached(&ledger, counts, err);
	al_ledger_close(&ledger);
	return ok;
}

static bool is_count(const char *name, const char *what, mpq_srcptr found, int64_t expected)
{
	char text[64];

	if (mpq_cmp_si(found, expected, 1) == 0)
		return true;
	gmp_snprintf(text, sizeof(text), "%Qd", found);
	print_error("%s: %s: found %s, expected %lld\n", name, what, text, (long long)expected);
	return false;
}

/* A number that the list has for the config; without it, whatever was found is right. */
static bool check_number(const struct al_json *doc, const struct al_item *node, const char *key,
	mpq_srcptr found)
{
	const struct al_item *member = al_json_get(node, key);
	struct al_error err = {0};
	int64_t expected;

	if (!member || al_json_kind(member) != AL_JSON_NUMBER)
		return true;
	must(al_json_whole(doc, member, &expected, &err), &err);
	return is_count(al_json_key(node), key, found, expected);
}

static const char *config_path(char path[8192], const char *name)
{
	const char *slash = strchr(name, '/');

	snprintf(path, 8192, "%s/configs/%.*s--%s.json", getenv("ATTNLEDGER_FIXTURES"),
		(int)(slash - name), name, slash + 1);
	return path;
}

static bool check_counts(const struct al_json *doc, const struct al_item *node,
	const struct counts *counts)
{
	const struct al_item *window = al_json_get(node, "window");

	return check_number(doc, node, "whole_parameters", counts->all[AL_COUNT_PARAMETERS])
		&& check_number(doc, node, "text_parameters", counts->components[AL_COMPONENT_TEXT])
		&& check_number(doc, node, "vision_parameters",
			counts->components[AL_COMPONENT_VISION])
		&& check_number(doc, node, "projector_parameters",
			counts->components[AL_COMPONENT_PROJECTOR])
		&& check_number(doc, node, "persistent_buffers", counts->all[AL_COUNT_BUFFERS])
		&& check_number(doc, node, "mtp_parameters_in_file_only",
			counts->components[AL_COMPONENT_MTP])
		&& check_number(doc, node, "kv_numbers_per_token", counts->cached)
		&& (!window || check_number(doc, window, "numbers_per_token", counts->in_windows));
}

static bool check_config(const struct al_json *doc, const struct al_item *node)
{
	struct al_error err = {0};
	struct counts counts;
	char path[8192];

	counts_init(&counts);
	bool ok = count(config_path(path, al_json_key(node)), &counts, &err);
	if (!ok)
		print_error("%s\n", err.message);
	ok = ok && check_counts(doc, node, &counts);
	counts_finish(&counts);
	return ok;
}

static bool is_known(const char *model_type)
{
	const struct al_family *family;
	struct al_error err = {0};

	if (al_catalog_family_of(catalog, model_type, &family, &err))
		return true;
	if (!strstr(err.message, "unsupported model_type"))
		fail_msg("%s", err.message);
	return false;
}

/* Every config is counted before the test fails, so that one run says all. */
static void configs_count_as_the_reference(void **state)
{
	struct al_error err = {0};
	struct al_json doc;
	size_t wrong = 0, n = 0, n_unknown = 0;

	(void)state;
	must(al_json_read(&doc, expected_path, &err), &err);
	al_json_each (node, doc.root) {
		const char *type;
		if (al_json_kind(node) != AL_JSON_OBJECT)
			continue;
		must(al_json_get_text(&doc, node, "model_type", true, &type, &err), &err);
		n++;
		if (is_known(type))
			wrong += !check_config(&doc, node);
		else
			n_unknown++;
	}
	al_json_finish(&doc);
	print_message("# %zu of %zu configs are of known families\n", n - n_unknown, n);
	if (wrong > 0)
		fail_msg("%s: %zu of %zu are wrong", expected_path, wrong, n - n_unknown);
}

/* ---- popular models ---- */

#define NO_REFERENCE \
	"ATTNLEDGER_FIXTURES names no folder beside reference/models-2026-expected.json"

enum { LEAST_PERCENT = 87 };

/* "llama\t271\t...": the type and how many models have it. */
static void known_types_make_most_models(void **state)
{
	size_t n = 0, n_known = 0, count_of = 0;
	char line[4096], type[256];
	FILE *file = fopen(types_path, "r");

	(void)state;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%255[^\t]\t%zu", type, &count_of) != 2)
			continue;
		n += count_of;
		if (is_known(type))
			n_known += count_of;
	}
	fclose(file);
	print_message("# %zu of %zu popular models are of known types\n", n_known, n);
	assert_true(n_known * 100 >= n * LEAST_PERCENT);
}

static bool has_reference(void)
{
	const char *folder = getenv("ATTNLEDGER_FIXTURES");

	if (!folder)
		return false;
	snprintf(expected_path, sizeof(expected_path), "%s/../reference/models-2026-expected.json",
		folder);
	snprintf(types_path, sizeof(types_path), "%s/../reference/model-types.tsv", folder);
	return access(expected_path, R_OK) == 0 && access(types_path, R_OK) == 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_TEST_WHERE(has_reference(), configs_count_as_the_reference, NO_REFERENCE),
		UNIT_TEST_WHERE(has_reference(), known_types_make_most_models, NO_REFERENCE),
	};

	return cmocka_run_group_tests_name("configs", tests, create_catalog, destroy_catalog);
}
