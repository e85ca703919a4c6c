/* Whole models: a config.json's parameters through its family, against published totals.
 *
 * tests/data/models.json holds configs, totals and where each was published. The same code reads a
 * longer list of that form, reference/models.json beside the folder of fixtures, where that is
 * present. */
#include "with_catalog.h"

#include <unistd.h>

#include "base/text.h"
#include "ledger/ledger.h"

static const char own_list[] = "tests/data/models.json";
static char reference_list[4096];

/* ---- counting ---- */

static bool count_tensors(struct al_ledger *ledger, int64_t *out, struct al_error *err)
{
	const struct al_ledger_list *list;

	*out = 0;
	if (!al_ledger_list(ledger, AL_LIST_TENSORS, &list, err))
		return false;
	for (size_t i = 0; i < list->n; i++)
		*out += list->items[i].times;
	return true;
}

static bool count(const struct al_family *family, const struct al_json *doc,
	const struct al_item *config, enum al_tensor_list_detail detail, mpq_t out[AL_N_COUNTS],
	int64_t *n_tensors, struct al_error *err)
{
	struct al_settings settings;
	struct al_basis basis;
	struct al_ledger ledger;

	al_basis_init(&basis);
	al_settings_init(&settings, catalog);
	const struct al_ledger_ask ask = {.catalog = catalog,
		.family = family,
		.settings = &settings,
		.basis = &basis,
		.tp = 1,
		.detail = detail};
	bool ok = al_family_settings(family, doc, config, "config.json", &settings, err)
		&& al_ledger_open(&ledger, &ask, err);
	if (ok) {
		ok = count_tensors(&ledger, n_tensors, err);
		for (int i = 0; ok && i < AL_N_COUNTS; i++)
			ok = al_ledger_count(&ledger, (enum al_count)i, out[i], err);
		al_ledger_close(&ledger);
	}
	al_settings_finish(&settings);
	return ok;
}

/* What a hub's page adds up, a file's tensors: the parameters and whole counts beside them. */
static bool is_stored_total(mpq_t counts[AL_N_COUNTS], int64_t total)
{
	static const enum al_count beside[] = {AL_COUNT_TIED, AL_COUNT_BUFFERS, AL_COUNT_SCALES,
		AL_COUNT_EXTRA};
	bool is_total = false;
	mpq_t sum;

	mpq_init(sum);
	for (unsigned chosen = 0; chosen < 1U << 4; chosen++) {
		mpq_set(sum, counts[AL_COUNT_PARAMETERS]);
		for (unsigned i = 0; i < 4; i++)
			if (chosen >> i & 1)
				mpq_add(sum, sum, counts[beside[i]]);
		is_total |= mpq_cmp_si(sum, total, 1) == 0;
	}
	mpq_clear(sum);
	return is_total;
}

/* ---- lists ---- */

struct model {
	const char *name, *model_type;
	const struct al_item *config;
	int64_t total, stored, non_embedding; /* the last two 0 where nobody published them */
};

/* 0 where nobody published it. */
static bool read_total(const struct al_json *doc, const struct al_item *node, const char *key,
	int64_t *out, struct al_error *err)
{
	const struct al_item *member = al_json_get(node, key);

	*out = 0;
	return !member || al_json_whole(doc, member, out, err);
}

static void read_model(const struct al_json *doc, const struct al_item *node, struct model *model)
{
	struct al_error err = {0};

	must(al_json_get_text(doc, node, "name", true, &model->name, &err)
			&& al_json_get_node(doc, node, "config", AL_JSON_OBJECT, true,
				&model->config, &err)
			&& al_json_get_text(doc, model->config, "model_type", true,
				&model->model_type, &err)
			&& read_total(doc, node, "total_params", &model->total, &err)
			&& read_total(doc, node, "stored_params", &model->stored, &err)
			&& read_total(doc, node, "non_embedding_params", &model->non_embedding,
				&err),
		&err);
}

static bool is_count(const struct model *model, const char *what, mpq_srcptr found,
	int64_t published)
{
	char text[64];

	if (mpq_cmp_si(found, published, 1) == 0)
		return true;
	gmp_snprintf(text, sizeof(text), "%Qd", found);
	print_error("%s: %s: found %s, published %lld\n", model->name, what, text,
		(long long)published);
	return false;
}

static bool has_counts(const struct model *model, mpq_t counts[AL_N_COUNTS])
{
	if (model->stored && !is_stored_total(counts, model->stored)) {
		print_error("%s: nothing adds up to %lld stored\n", model->name,
			(long long)model->stored);
		return false;
	}
	return is_count(model, "parameters", counts[AL_COUNT_PARAMETERS], model->total)
		&& (!model->non_embedding
			|| is_count(model, "without embedding and head",
				counts[AL_COUNT_NON_EMBEDDING], model->non_embedding));
}

static bool check_counts(const struct al_family *family, const struct al_json *doc,
	const struct model *model, enum al_tensor_list_detail detail, int64_t *n_tensors)
{
	mpq_t counts[AL_N_COUNTS];
	struct al_error err = {0};

	for (int i = 0; i < AL_N_COUNTS; i++)
		mpq_init(counts[i]);
	bool ok = count(family, doc, model->config, detail, counts, n_tensors, &err);
	if (!ok)
		print_error("%s: %s\n", model->name, err.message);
	ok = ok && has_counts(model, counts);
	for (int i = 0; i < AL_N_COUNTS; i++)
		mpq_clear(counts[i]);
	return ok;
}

/* A mixture of experts has up to 250,000 tensors, most of them in equal loops over its experts. By
 * default one by one only those of smaller models are counted. */
enum { MOST_BY_NAME = 10000 };
static bool is_complete;

static bool check_model(const struct al_json *doc, const struct model *model)
{
	const struct al_family *family;
	struct al_error err = {0};
	int64_t n_tensors;
	const char *name;

	if (!al_catalog_family_for(catalog, doc, model->config, &family, &name, &err)) {
		print_error("%s: %s\n", model->name, err.message);
		return false;
	}
	return check_counts(family, doc, model, AL_TENSORS_BY_KIND, &n_tensors)
		&& check_counts(family, doc, model, AL_TENSORS_BY_LAYER, &n_tensors)
		&& ((!is_complete && n_tensors > MOST_BY_NAME)
			|| check_counts(family, doc, model, AL_TENSORS_BY_NAME, &n_tensors));
}

/* Every model of a list is counted before the test fails, so that one run says all. */
static void check_list(const char *path)
{
	struct al_error err = {0};
	struct al_json doc;
	size_t wrong = 0;

	must(al_json_read(&doc, path, &err), &err);
	al_json_each (node, doc.root) {
		struct model model = {0};
		read_model(&doc, node, &model);
		wrong += !check_model(&doc, &model);
	}
	size_t n = al_json_size(doc.root);
	al_json_finish(&doc);
	if (wrong > 0)
		fail_msg("%s: %zu of %zu models are wrong", path, wrong, n);
}

static void totals_are_published(void **state)
{
	(void)state;
	check_list(own_list);
}

static void totals_of_the_reference(void **state)
{
	(void)state;
	check_list(reference_list);
}

static void every_total_has_a_source(void **state)
{
	struct al_error err = {0};
	struct al_json doc;
	const char *source;

	(void)state;
	must(al_json_read(&doc, own_list, &err), &err);
	al_json_each (node, doc.root)
		must(al_json_get_text(&doc, node, "source", true, &source, &err), &err);
	al_json_finish(&doc);
}

static bool is_counted(const struct al_json *doc, const struct al_family *family)
{
	al_json_each (node, doc->root) {
		struct model model = {0};
		read_model(doc, node, &model);
		if (al_find_name(model.model_type, family->model_types.items, family->model_types.n)
			>= 0)
			return true;
	}
	return false;
}

static void every_family_has_a_total(void **state)
{
	const struct al_embedded_list *list = al_catalog_files(AL_CATALOG_FAMILIES);
	struct al_error err = {0};
	struct al_json doc;

	(void)state;
	must(al_json_read(&doc, own_list, &err), &err);
	for (size_t i = 0; i < list->n_files; i++) {
		const struct al_family *family;
		must(al_catalog_family(catalog, list->files[i].name, &family, &err), &err);
		if (!is_counted(&doc, family))
			fail_msg("%s has no published total in %s", family->name, own_list);
	}
	al_json_finish(&doc);
}

static bool has_reference(void)
{
	const char *folder = fixtures();

	if (!folder)
		return false;
	snprintf(reference_list, sizeof(reference_list), "%s/../reference/models.json", folder);
	return access(reference_list, R_OK) == 0;
}

/* With an argument: complete. */
int main(int argc, char **argv)
{
	(void)argv;
	is_complete = argc > 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_are_published),
		cmocka_unit_test(every_total_has_a_source),
		cmocka_unit_test(every_family_has_a_total),
		UNIT_TEST_WHERE(has_reference(), totals_of_the_reference,
			"ATTNLEDGER_FIXTURES names no folder beside reference/models.json"),
	};

	return cmocka_run_group_tests_name("models", tests, create_catalog, destroy_catalog);
}
