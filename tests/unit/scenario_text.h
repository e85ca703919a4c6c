/* Scenarios in a test's own text: ' stands for ", and everything shares one small model, so that a
 * number can be checked in one's head. */
#pragma once

#include "report/report.h"
#include "scenario/contents.h"
#include "unit.h"

/* d_head = d_value = 2, seq 3: MHA has 4 tensors of 4 x 4, MQA 4*4 + 2*(4*2) + 4*4, SHA 4 of 4 x
 * 2. */
#define SMALL \
	"'title': 't', 'set': {'d_model': 4, 'n_heads': 2, 'n_layers': 3, 'batch': 1, 'seq': 3}, " \
	"'basis': {'biases': false}, 'recipe': 'smith2022', 'variants': ['mha', 'mqa', 'sha']"

enum { MHA = 64, MQA = 48, SHA = 32 };

/* "{...}" with each ' as ". */
static inline bool parse_text(struct al_scenario **out, struct al_catalog *catalog,
	const char *folder, const char *text, struct al_error *err)
{
	struct al_text json;

	al_text_init(&json);
	for (const char *p = text; *p; p++)
		al_text_add_bytes(&json, *p == '\'' ? "\"" : p, 1);
	bool ok = al_scenario_parse(out, catalog, "t", "t.json", folder, json.data, json.length,
		err);
	al_text_finish(&json);
	return ok;
}

static inline void write_as(const struct al_table *table, const char *format, struct al_text *out)
{
	const struct al_style style = {0};
	const struct al_writer *writer;

	assert_true(al_writer_find(format, &writer, NULL));
	al_text_init(out);
	al_write(writer, &style, &table, 1, out);
}

/* The table of that index as CSV (exact numbers, missing cells empty), or the message of the
 * error. */
static inline void table_text(const char *scenario, size_t index, const char *folder,
	const char *format, struct al_text *out)
{
	struct al_catalog *catalog = al_catalog_create();
	struct al_scenario *s = NULL;
	struct al_table table;
	struct al_error err = {0};

	if (parse_text(&s, catalog, folder, scenario, &err)
		&& al_scenario_table(s, index, &table, &err)) {
		write_as(&table, format, out);
		al_table_finish(&table);
	} else {
		al_text_init(out);
		al_text_add(out, err.message);
		assert_true(err.status == AL_EINPUT || err.status == AL_EUNSET);
	}
	al_scenario_destroy(s);
	al_catalog_destroy(catalog);
}

struct table_case {
	const char *what, *scenario, *expected;
};

static inline void expect_tables(const struct table_case *cases, size_t n)
{
	size_t n_wrong = 0;

	for (size_t i = 0; i < n; i++) {
		struct al_text text;
		table_text(cases[i].scenario, 0, "", "csv", &text);
		if (strcmp(text.data, cases[i].expected) != 0) {
			print_error("%s: found\n%s\nexpected\n%s\n", cases[i].what, text.data,
				cases[i].expected);
			n_wrong++;
		}
		al_text_finish(&text);
	}
	assert_int_equal(n_wrong, 0);
}

#define N_OF(array) (sizeof(array) / sizeof(*(array)))
