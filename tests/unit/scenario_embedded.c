/* The scenarios that the binary holds: each number of the four papers is a claim of exactly one of
 * them, and a wrong formula in the catalog is found by the claims that stand on it. */
#include "base/embedded.h"
#include "scenario_text.h"

/* S0001 to S0637, but for S0633 and S0634, which are not the papers' claims; K001 to K052 of
 * serving-claims; the formulas of deepseek-v2-and-tpa. */
enum { LAST_CLAIM = 637, N_CLAIMS = 635, N_SERVING_CLAIMS = 54, N_FORMULAS = 13 };

static struct al_scenario *open_scenario(struct al_catalog *catalog, const char *name)
{
	struct al_scenario *s = NULL;
	struct al_error err = {0};

	if (!al_scenario_open(&s, catalog, name, &err))
		fail_msg("%s", err.message);
	return s;
}

static void check_scenario(struct al_scenario *s, struct al_table *table,
	struct al_check_counts *counts)
{
	struct al_error err = {0};

	if (!al_scenario_check(s, table, counts, &err))
		fail_msg("%s", err.message);
}

static void check_all(struct al_table *table, struct al_check_counts *counts)
{
	struct al_catalog *catalog = al_catalog_create();

	al_check_table_init(table);
	*counts = (struct al_check_counts){0};
	for (size_t i = 0; i < al_embedded_scenarios.n_files; i++) {
		const char *name = al_embedded_scenarios.files[i].name;
		if (strcmp(name, "serving-logs") == 0)
			continue; /* of questions, which the program answers */
		struct al_scenario *s = open_scenario(catalog, name);
		check_scenario(s, table, counts);
		al_scenario_destroy(s);
	}
	al_catalog_destroy(catalog);
}

static const char *cell_of(const struct al_table *table, size_t row, const char *key)
{
	const struct al_cell *cell = &table->rows[row][al_table_find_column(table, key)];

	return cell->kind == AL_CELL_TEXT ? cell->text : "";
}

/* ---- all claims ---- */

static bool is_of_a_paper(const struct al_table *table, size_t row)
{
	const char *scenario = cell_of(table, row, "scenario");

	return strcmp(scenario, "serving-claims") != 0
		&& strcmp(scenario, "deepseek-v2-and-tpa") != 0;
}

static void holds_every_claim_once(void **state)
{
	struct al_check_counts counts;
	struct al_table table;
	unsigned n_seen[LAST_CLAIM + 1] = {0};
	char expected[8];

	(void)state;
	check_all(&table, &counts);
	assert_int_equal(table.n_rows, N_CLAIMS + N_SERVING_CLAIMS + N_FORMULAS);
	for (size_t i = 0; i < table.n_rows; i++) {
		if (!is_of_a_paper(&table, i))
			continue;
		const char *id = cell_of(&table, i, "id");
		int number = atoi(id + 1);
		snprintf(expected, sizeof(expected), "S%04d", number);
		assert_string_equal(id, expected);
		assert_between(number, 1, LAST_CLAIM);
		assert_int_equal(n_seen[number]++, 0);
	}
	al_table_finish(&table);
}

/* 18 numbers that the sources print contradict what they are computed from, some of them again
 * where they are repeated; each is explained as an erratum. */
static void reaches_the_known_verdicts(void **state)
{
	struct al_check_counts counts;
	struct al_table table;

	(void)state;
	check_all(&table, &counts);
	assert_int_equal(counts.verdicts[AL_REPRODUCED], 539);
	assert_int_equal(counts.verdicts[AL_CONSISTENT], 105);
	assert_int_equal(counts.verdicts[AL_INCONSISTENT], 41);
	assert_int_equal(counts.verdicts[AL_UNDERIVABLE], 17);
	assert_int_equal(counts.numbers[AL_INCONSISTENT], 18);
	assert_int_equal(counts.errata, 31);
	assert_int_equal(counts.read_otherwise, 10);
	assert_int_equal(counts.unlisted, 0);
	assert_int_equal(counts.wrong_errata, 0);
	for (size_t i = 0; i < table.n_rows; i++)
		if (strcmp(cell_of(&table, i, "verdict"), "reproduced") != 0)
			assert_string_not_equal(cell_of(&table, i, "note"), "");
	al_table_finish(&table);
}

static void builds_every_table_and_figure(void **state)
{
	struct al_catalog *catalog = al_catalog_create();
	struct al_error err = {0};
	struct al_table table;

	(void)state;
	for (size_t i = 0; i < al_embedded_scenarios.n_files; i++) {
		struct al_scenario *s = open_scenario(catalog, al_embedded_scenarios.files[i].name);
		for (size_t j = 0; j < al_scenario_n_tables(s); j++) {
			if (!al_scenario_table(s, j, &table, &err))
				fail_msg("%s", err.message);
			assert_true(table.n_rows > 0);
			al_table_finish(&table);
		}
		for (size_t j = 0; j < s->n_figures; j++) {
			if (!al_scenario_figure_table(s, j, &table, &err))
				fail_msg("%s", err.message);
			assert_true(table.n_rows > 0);
			al_table_finish(&table);
		}
		al_scenario_destroy(s);
	}
	al_catalog_destroy(catalog);
}

/* ---- a wrong formula ---- */

/* A shape of a variant changed in one scenario, and the claims that contradict it then. */
static const struct mistake {
	const char *scenario, *variant, *right, *wrong, *claims;
} mistakes[] = {
	/* Table 13, MHE-MUL: all but activations */
	{"mhe-memory", "mhe-mul",
		"\"e_V\", \"role\": \"value\", \"shape\": [\"n_heads\", \"d_value\"]",
		"\"e_V\", \"role\": \"value\", \"shape\": [\"d_value\"]",
		"S0320 S0321 S0322 S0324 S0325"},
	/* Table 13 counts d_model x d_model for any declared output projection */
	{"mhe-memory", "mhe-mul", "[\"n_heads*d_value\", \"d_model\"]",
		"[\"n_heads*d_value\", \"2*d_model\"]", ""},
	/* Table 13, SKV, and how much better MHE saves */
	{"mhe-memory", "skv",
		"\"W_KV\", \"role\": \"key\", \"shape\": [\"d_model\", \"n_heads*d_head\"]",
		"\"W_KV\", \"role\": \"key\", \"shape\": [\"d_model\", \"d_head\"]",
		"S0308 S0309 S0310 S0312 S0313 S0326"},
	/* a third of MHA's parameters, 0.8B at 48 layers, GPT-3 */
	{"mhe-scaling", "mqa", "\"W_K\", \"role\": \"key\", \"shape\": [\"d_model\", \"d_head\"]",
		"\"W_K\", \"role\": \"key\", \"shape\": [\"d_model\", \"n_heads*d_head\"]",
		"S0263 S0268 S0278"},
	/* parameters, the elasticity of four benchmarks, the theory; retention needs no
	 * parameters */
	{"mhe-poster", "mhe-add",
		"\"e_Q\", \"role\": \"query\", \"shape\": [\"n_heads\", \"d_head\"]",
		"\"e_Q\", \"role\": \"query\", \"shape\": [\"n_heads^2\", \"d_head\"]",
		"S0013 S0147 S0160 S0173 S0186 S0252 S0253"},
};

/* `text` with the first `old` as `new`, which must be there. */
static void replace(struct al_text *text, const char *old, const char *new, const char *end)
{
	struct al_text result;
	const char *at = strstr(text->data, old);

	if (!at)
		fail_msg("\"%s\" is not there", old);
	const char *rest = end ? strstr(at, end) + strlen(end) : at + strlen(old);
	al_text_init(&result);
	al_text_add_bytes(&result, text->data, (size_t)(at - text->data));
	al_text_add(&result, new);
	al_text_add(&result, rest);
	al_text_finish(text);
	*text = result;
}

/* The scenario's text with the variant as a whole object that has the mistake. */
static void write_mistake(const struct mistake *m, struct al_text *scenario)
{
	const struct al_embedded *file = al_embedded_find(&al_embedded_scenarios, m->scenario);
	const struct al_embedded *variant = al_embedded_find(al_catalog_files(AL_CATALOG_VARIANTS),
		m->variant);
	struct al_text copy;
	char use[64];

	al_text_init(&copy);
	al_text_add_bytes(&copy, variant->text, variant->length);
	replace(&copy, m->right, m->wrong, NULL);
	al_text_init(scenario);
	al_text_add_bytes(scenario, file->text, file->length);
	snprintf(use, sizeof(use), "{\"use\": \"%s\"", m->variant);
	replace(scenario, use, copy.data, "}");
	al_text_finish(&copy);
}

/* The ids of the claims that are inconsistent in `wrong` and weren't in `right`. */
static void list_new(const struct al_table *right, const struct al_table *wrong,
	struct al_text *out)
{
	assert_int_equal(right->n_rows, wrong->n_rows);
	al_text_init(out);
	for (size_t i = 0; i < right->n_rows; i++)
		if (strcmp(cell_of(wrong, i, "verdict"), "inconsistent") == 0
			&& strcmp(cell_of(right, i, "verdict"), "inconsistent") != 0)
			al_text_addf(out, "%s%s", out->length ? " " : "", cell_of(right, i, "id"));
}

static bool is_found(struct al_catalog *catalog, const struct mistake *m)
{
	struct al_check_counts counts = {0};
	struct al_table right, wrong;
	struct al_text text, found;
	struct al_error err = {0};
	struct al_scenario *s = open_scenario(catalog, m->scenario);

	al_check_table_init(&right);
	check_scenario(s, &right, &counts);
	al_scenario_destroy(s);

	write_mistake(m, &text);
	if (!al_scenario_parse(&s, catalog, "wrong", "wrong.json", "", text.data, text.length,
		    &err))
		fail_msg("%s", err.message);
	al_check_table_init(&wrong);
	check_scenario(s, &wrong, &counts);
	al_scenario_destroy(s);

	list_new(&right, &wrong, &found);
	bool same = strcmp(found.data, m->claims) == 0;
	if (!same)
		print_error("%s, %s as %s\n  found    %s\n  expected %s\n", m->scenario, m->variant,
			m->wrong, found.data, m->claims);
	al_text_finish(&text);
	al_text_finish(&found);
	al_table_finish(&right);
	al_table_finish(&wrong);
	return same;
}

static void finds_a_wrong_formula(void **state)
{
	struct al_catalog *catalog = al_catalog_create();
	size_t n_wrong = 0;

	(void)state;
	for (size_t i = 0; i < N_OF(mistakes); i++)
		n_wrong += !is_found(catalog, &mistakes[i]);
	al_catalog_destroy(catalog);
	assert_int_equal(n_wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holds_every_claim_once),
		cmocka_unit_test(reaches_the_known_verdicts),
		cmocka_unit_test(builds_every_table_and_figure),
		cmocka_unit_test(finds_a_wrong_formula),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
