/* The figure of an audit's `tucker` table: error against shared width, module by module. */
#include "commands/portrait.h"

#include <string.h>

#include "commands/draw.h"

enum { MODULES_A_PAGE = 3 };

static const char *text_at(const struct al_table *table, size_t row, const char *key)
{
	const struct al_cell *cell = &table->rows[row][al_table_find_column(table, key)];

	return cell->kind == AL_CELL_TEXT ? cell->text : "";
}

static void add_point(struct al_table *page, const struct al_table *table, size_t row,
	const char *series, const char *error)
{
	double rank, value;
	struct al_cell *cell;

	if (!al_cell_number(&table->rows[row][al_table_find_column(table, "rank")], &rank)
		|| !al_cell_number(&table->rows[row][al_table_find_column(table, error)], &value))
		return;
	cell = al_table_add_row(page);
	al_cell_set_text(page, cell++, text_at(table, row, "module"));
	al_cell_set_text(page, cell++, series);
	al_cell_set_real(cell++, rank);
	al_cell_set_real(cell, value);
}

/* CP and the control at as many parameters stand in one row; Tucker's error has nothing to do with
 * how its core is kept. */
static void add_points(struct al_table *page, const struct al_table *table, size_t row)
{
	const char *method = text_at(table, row, "method");

	if (strcmp(method, "collab") == 0) {
		add_point(page, table, row, "CP", "relative_error");
		add_point(page, table, row, "truncated heads", "control_error");
	} else if (strcmp(text_at(table, row, "core"), "factored") == 0) {
		add_point(page, table, row, "Tucker", "relative_error");
	}
}

static void take_page(struct al_table *page, const struct al_table *table, size_t *row)
{
	const char *module = "";
	size_t n_modules = 0;

	al_table_add_column(page, (struct al_column){.key = "module"});
	al_table_add_column(page, (struct al_column){.key = "method"});
	al_table_add_column(page, (struct al_column){.key = "rank"});
	al_table_add_column(page, (struct al_column){.key = "error"});
	for (; *row < table->n_rows; ++*row) {
		const char *next = text_at(table, *row, "module");
		if (strcmp(next, module) != 0 && n_modules++ == MODULES_A_PAGE)
			return;
		module = next;
		add_points(page, table, *row);
	}
}

static bool draw_page(const char *folder, struct al_table *page, int number, struct al_error *err)
{
	const struct al_figure figure = {
		.id = al_format(&page->arena, "width-%d", number),
		.mark = "line",
		.x = {.column = "rank", .title = "Shared width"},
		.y = {.column = "error", .title = "Relative error", .has_min = true},
		.series = "method",
		.panel = "module",
		.width_pt = AL_FIGURE_PAGE_PT,
		.height_pt = 200,
		.legend = true,
	};

	return page->n_rows == 0 || draw_all_formats(&figure, page, folder, err);
}

bool portrait_draw_widths(const char *folder, const struct al_table *table, struct al_error *err)
{
	bool ok = true;
	size_t row = 0;

	for (int number = 1; ok && row < table->n_rows; number++) {
		struct al_table page;
		al_table_init(&page, "page", "");
		take_page(&page, table, &row);
		ok = draw_page(folder, &page, number, err);
		al_table_finish(&page);
	}
	return ok;
}
