/* Papers: every kind of text, its tables, its annotated numbers, a map drafted of it, and the
 * answer about it without a map. */
#include "base/json.h"
#include "base/text.h"
#include "fuzz.h"
#include "paper/lint.h"

#include <stdio.h>

static void check_tables(const struct al_paper *paper)
{
	for (size_t i = 0; i < paper->n_tables; i++) {
		const struct al_paper_table *table = &paper->tables[i];
		for (size_t row = 0; row < table->n_rows; row++) {
			FUZZ_CHECK(table->rows[row].n_cells <= table->n_columns);
			FUZZ_CHECK(table->rows[row].line >= 1
				&& table->rows[row].line <= paper->n_lines);
			for (size_t k = 0; k < table->rows[row].n_cells; k++)
				FUZZ_CHECK(table->rows[row].cells[k] != NULL);
		}
	}
}

/* The draft is a map that can be read. */
static void check_draft(const struct al_paper *paper, struct al_catalog *catalog)
{
	const struct al_paper_options options = {0};
	struct al_paper_subjects subjects;
	struct al_paper_map map;
	struct al_error err = {0};
	struct al_text text;
	AL_ARENA(arena);

	al_text_init(&text);
	FUZZ_CHECK(al_paper_open_subjects(&subjects, paper, &options, &arena, catalog, &err));
	al_paper_draft(paper, &subjects, &text);
	FUZZ_CHECK(al_paper_map_parse(&map, "draft", text.data, text.length, &err));
	al_paper_map_finish(&map);
	al_text_finish(&text);
}

/* What is wrong has a right number; what is written ends. */
static void check_answer(const struct al_paper *paper, struct al_catalog *catalog)
{
	const struct al_paper_options options = {0};
	struct al_lint_counts counts = {0};
	struct al_error err = {0};
	struct al_table table;
	struct al_text text;

	al_text_init(&text);
	al_lint_table_init(&table);
	if (!al_paper_lint(paper, NULL, &options, catalog, &table, &counts, &err)) {
		fprintf(stderr, "%s\n", err.message);
		abort();
	}
	for (size_t i = 0; i < table.n_rows; i++)
		if (strcmp(al_table_text(&table, i, "verdict"), "inconsistent") == 0)
			FUZZ_CHECK(*al_table_text(&table, i, "printed")
				&& *al_table_text(&table, i, "expected"));
	al_lint_text(&table, &text);
	al_paper_letter(&table, &text);
	al_text_finish(&text);
	al_table_finish(&table);
}

int fuzz_input(const uint8_t *data, size_t size)
{
	static const char *const files[] = {"a.tex", "a.md", "a.txt"};

	for (size_t i = 0; i < 3; i++) {
		struct al_paper paper;
		struct al_error err = {0};
		if (al_paper_parse(&paper, files[i], (const char *)data, size, &err)) {
			check_tables(&paper);
			struct al_catalog *catalog = al_catalog_create();
			check_draft(&paper, catalog);
			check_answer(&paper, catalog);
			al_catalog_destroy(catalog);
			al_paper_finish(&paper);
		} else
			FUZZ_CHECK(err.status == AL_EINPUT && *err.message);
	}
	return 0;
}
