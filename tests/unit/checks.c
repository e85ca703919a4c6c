/* Each built-in variant reproduces the published numbers in its file, or says why there is none. */
#include "unit.h"

#include "ledger/ledger.h"

static struct al_catalog *catalog;

static void must(bool ok, const struct al_error *err)
{
	if (!ok)
		fail_msg("%s", err->message);
}

static void read_basis(const struct al_check *check, struct al_basis *basis)
{
	struct al_error err = {0};

	al_basis_init(basis);
	for (size_t i = 0; i < check->n_basis; i++)
		must(al_basis_set(basis, check->basis[i].name, check->basis[i].text, &err), &err);
}

static void expect(struct al_ledger *ledger, enum al_measure measure,
	const struct al_formula *printed, const char *source)
{
	struct al_scope scope = al_settings_scope(al_ledger_settings(ledger));
	struct al_error err = {0};
	struct al_value value;
	mpq_t found, expected;

	if (!printed)
		return;
	mpq_inits(found, expected, NULL);
	al_value_init(&value);
	must(al_formula_eval(printed, &scope, &value, &err), &err);
	al_value_get(&value, expected);
	must(al_ledger_measure(ledger, measure, NULL, found, &err), &err);
	if (!mpq_equal(found, expected))
		fail_msg("%s, %s: found %s, %s expects %s", ledger->ask.configured->name,
			al_measures[measure].key, mpq_get_str(NULL, 10, found), source,
			al_formula_source(printed));
	al_value_finish(&value);
	mpq_clears(found, expected, NULL);
}

static void run_check(const struct al_variant *variant, const struct al_check *check)
{
	const struct al_configured_variant configured = {.variant = variant,
		.name = variant->name,
		.with = check->with,
		.n_with = check->n_with};
	struct al_settings settings;
	struct al_error err = {0};
	struct al_basis basis;
	struct al_ledger ledger;

	read_basis(check, &basis);
	al_settings_init(&settings, catalog);
	must(al_ledger_open_module(&ledger, &configured, &settings, &basis, &err), &err);
	expect(&ledger, AL_PARAMETERS, check->parameters, check->source);
	expect(&ledger, AL_CACHE, check->cache, check->source);
	al_ledger_close(&ledger);
	al_settings_finish(&settings);
}

static void reproduces_what_it_says(void **state)
{
	const struct al_embedded_list *list = al_catalog_files(AL_CATALOG_VARIANTS);

	(void)state;
	for (size_t i = 0; i < list->n_files; i++) {
		const struct al_variant *variant;
		struct al_error err = {0};
		must(al_catalog_variant(catalog, list->files[i].name, &variant, &err), &err);
		if (variant->n_checks == 0)
			fail_msg("%s has no \"checks\": a published number, or \"derived\" and why",
				variant->name);
		for (size_t j = 0; j < variant->n_checks; j++)
			if (!variant->checks[j].derived)
				run_check(variant, &variant->checks[j]);
	}
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reproduces_what_it_says),
	};

	return cmocka_run_group_tests_name("checks", tests, set_up, tear_down);
}
