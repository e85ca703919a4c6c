/* Scenarios: read, every table written in every format, every figure's rows, every claim. */
#include "fuzz.h"
#include "report/report.h"
#include "scenario/contents.h"

/* What the format allows would take minutes under the sanitizers. */
enum { MOST_POINTS = 200, MOST_TABLE_CELLS = 2000, MOST_FUZZED_CLAIMS = 20 };

static void check_message(const struct al_error *err)
{
	FUZZ_CHECK((err->status == AL_EINPUT || err->status == AL_EUNSET) && *err->message
		&& !strchr(err->message, '\n'));
}

/* What is written as JSON is strict JSON. */
static void write(const struct al_table *table)
{
	const struct al_style style = {.width = 40};
	struct al_text text;
	struct al_json doc;
	struct al_error err = {0};

	for (size_t i = 0; al_writers[i]; i++) {
		al_text_init(&text);
		al_write(al_writers[i], &style, &table, 1, &text);
		FUZZ_CHECK(text.length > 0 || strcmp(al_writers[i]->name, "value") == 0);
		if (strcmp(al_writers[i]->name, "json") == 0) {
			FUZZ_CHECK(al_json_parse(&doc, "written", text.data, text.length, &err));
			al_json_finish(&doc);
		}
		al_text_finish(&text);
	}
}

static void build(struct al_scenario *scenario, size_t index)
{
	struct al_table table;
	struct al_error err = {0};

	if (!al_scenario_table(scenario, index, &table, &err)) {
		check_message(&err);
		return;
	}
	write(&table);
	al_table_finish(&table);
}

static void al_figure_build(struct al_scenario *scenario, size_t index)
{
	struct al_table table;
	struct al_error err = {0};

	if (!al_scenario_figure_table(scenario, index, &table, &err)) {
		check_message(&err);
		return;
	}
	write(&table);
	al_table_finish(&table);
}

static void check(struct al_scenario *scenario)
{
	struct al_check_counts counts = {0};
	struct al_table table;
	struct al_error err = {0};
	size_t n = 0;

	al_check_table_init(&table);
	if (!al_scenario_check(scenario, &table, &counts, &err))
		check_message(&err);
	else {
		for (int i = 0; i < AL_N_VERDICTS; i++)
			n += counts.verdicts[i];
		FUZZ_CHECK(n == table.n_rows);
		write(&table);
	}
	al_table_finish(&table);
}

static void evaluate(struct al_scenario *scenario)
{
	if (scenario->n_points > MOST_POINTS || scenario->n_cells > MOST_TABLE_CELLS
		|| scenario->n_claims > MOST_FUZZED_CLAIMS)
		return;
	for (size_t i = 0; i < al_scenario_n_tables(scenario); i++)
		build(scenario, i);
	for (size_t i = 0; i < scenario->n_figures; i++)
		al_figure_build(scenario, i);
	check(scenario);
}

int fuzz_input(const uint8_t *data, size_t size)
{
	struct al_catalog *catalog = al_catalog_create();
	struct al_scenario *scenario;
	struct al_error err = {0};
	char *text = malloc(size + 1);

	FUZZ_CHECK(text != NULL);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	if (strstr(text, "\"/")) /* a file of this machine */
		;
	else if (al_scenario_parse(&scenario, catalog, "fuzz", "fuzz.json", "/nonexistent", text,
			 size, &err)) {
		evaluate(scenario);
		al_scenario_destroy(scenario);
	} else
		check_message(&err);
	free(text);
	al_catalog_destroy(catalog);
	return 0;
}
