/* The figures of an audit's `mixing` table: a module's mixing matrix beside concatenation's at the
 * same width, where every dimension belongs to one head. */
#include "commands/portrait.h"

#include <string.h>

#include "commands/draw.h"

static double number_at(const struct al_table *table, size_t row, const char *key)
{
	double value = 0;

	(void)al_cell_number(&table->rows[row][al_table_find_column(table, key)], &value);
	return value;
}

static const char *module_at(const struct al_table *table, size_t row)
{
	return table->rows[row][al_table_find_column(table, "module")].text;
}

static void add_cell(struct al_table *page, const char *panel, double dimension, double head,
	double weight)
{
	struct al_cell *cell = al_table_add_row(page);

	al_cell_set_text(page, cell++, panel);
	al_cell_set_real(cell++, dimension);
	al_cell_set_real(cell++, head);
	al_cell_set_real(cell, weight);
}

static void add_blocks(struct al_table *page, size_t n_heads, size_t n_dimensions)
{
	for (size_t r = 0; r < n_dimensions; r++)
		for (size_t i = 0; i < n_heads; i++)
			add_cell(page, "concatenated heads", (double)r, (double)i,
				r * n_heads / n_dimensions == i);
}

/* One module, from `*row` on; the table ends it with its last head and dimension. */
static void take_module(struct al_table *page, const struct al_table *table, size_t *row)
{
	const char *name = module_at(table, *row);

	al_table_add_column(page, (struct al_column){.key = "panel"});
	al_table_add_column(page, (struct al_column){.key = "dimension"});
	al_table_add_column(page, (struct al_column){.key = "head"});
	al_table_add_column(page, (struct al_column){.key = "weight"});
	for (; *row < table->n_rows && strcmp(module_at(table, *row), name) == 0; ++*row)
		add_cell(page, "collaborative heads", number_at(table, *row, "dimension"),
			number_at(table, *row, "head"), number_at(table, *row, "weight"));
	add_blocks(page, (size_t)number_at(table, *row - 1, "head") + 1,
		(size_t)number_at(table, *row - 1, "dimension") + 1);
}

static bool draw_module(const char *folder, struct al_table *page, const char *module, int number,
	struct al_error *err)
{
	const struct al_figure figure = {
		.id = al_format(&page->arena, "mixing-%d", number),
		.title = al_format(&page->arena, "Mixing in %s", module),
		.mark = "heatmap",
		.x = {.column = "dimension", .title = "Shared dimension"},
		.y = {.column = "head", .title = "Head"},
		.color = {.column = "weight",
			.title = "Weight of a shared dimension in a head",
			.has_min = true,
			.has_max = true,
			.min = -1,
			.max = 1},
		.is_diverging = true,
		.panel = "panel",
		.width_pt = AL_FIGURE_PAGE_PT,
		.height_pt = 200,
	};

	return draw_all_formats(&figure, page, folder, err);
}

bool portrait_draw_mixing(const char *folder, const struct al_table *table, struct al_error *err)
{
	bool ok = true;
	size_t row = 0;

	for (int number = 1; ok && row < table->n_rows; number++) {
		struct al_table page;
		al_table_init(&page, "page", "");
		const char *module = module_at(table, row);
		take_module(&page, table, &row);
		ok = draw_module(folder, &page, module, number, err);
		al_table_finish(&page);
	}
	return ok;
}
