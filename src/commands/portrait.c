/* The figures of an audit. */
#include "commands/portrait.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "commands/draw.h"

static const struct al_table *find_table(struct al_table *const *tables, const char *id)
{
	for (size_t i = 0; al_measurements[i]; i++)
		if (strcmp(al_measurements[i]->id, id) == 0)
			return tables[i];
	return NULL;
}

/* ---- captured variance ---- */

/* A row of the table `curves` as a point of the figure: in the panel of heads on their own or of
 * all together, by what it is the spectrum of. */
static const struct curve {
	const char *matrix;
	bool is_of_heads;
	const char *series;
} curves[] = {
	{"q", true, "W_Q"},
	{"k", true, "W_K"},
	{"qk", true, "W_Q W_Kᵀ"},
	{"q", false, "W_Q"},
	{"k", false, "W_K"},
	{"qk", false, "W_Q W_Kᵀ"},
	{"qk_gaussian", true, "W_Q W_Kᵀ of Gaussian weights"},
	{"qk_gaussian", false, "W_Q W_Kᵀ of Gaussian weights"},
	{"qk_independent", false, "W_Q W_Kᵀ of independent heads"},
};
enum { N_CURVES = sizeof(curves) / sizeof(*curves) };

static const struct curve *find_curve(const char *matrix, bool is_of_heads)
{
	for (int i = 0; i < N_CURVES; i++)
		if (curves[i].is_of_heads == is_of_heads && strcmp(curves[i].matrix, matrix) == 0)
			return &curves[i];
	return NULL;
}

/* The rows of one panel and matrix; a strand begins where components begin again. */
static void add_curves(struct al_table *out, const struct al_table *table,
	const struct curve *curve, int64_t *strand)
{
	double head, component, captured;

	for (size_t row = 0; row < table->n_rows; row++) {
		bool is_of_heads = al_table_number(table, row, "head", &head);
		if (find_curve(al_table_text(table, row, "matrix"), is_of_heads) != curve
			|| !al_table_number(table, row, "component", &component)
			|| !al_table_number(table, row, "cumulative", &captured))
			continue;
		*strand += component == 1;
		struct al_cell *cell = al_table_add_row(out);
		al_cell_set_text(out, cell++,
			is_of_heads ? "Heads separately" : "Heads concatenated");
		al_cell_set_text(out, cell++, curve->series);
		al_cell_set_int(out, cell++, *strand);
		al_cell_set_int(out, cell++, (int64_t)component);
		al_cell_set_real(cell, captured);
	}
}

static bool draw_captured(const char *folder, const struct al_table *table, struct al_error *err)
{
	static const double ticks[] = {0, .5, .9, 1};
	const char *bands[] = {curves[N_CURVES - 2].series,
		curves[N_CURVES - 1].series}; /* the nulls */
	const struct al_figure figure = {
		.id = "captured",
		.mark = "line",
		.x = {.column = "component", .title = "Components"},
		.y = {.column = "captured",
			.title = "Captured variance",
			.has_min = true,
			.has_max = true,
			.max = 1,
			.ticks = ticks,
			.n_ticks = 4},
		.series = "matrix",
		.strands = {.column = "strand", .bands = bands, .n_bands = 2},
		.panel = "panel",
		.has_own_x = true,
		.width_pt = AL_FIGURE_PAGE_PT,
		.height_pt = 200,
	};
	static const char *const keys[] = {"panel", "matrix", "strand", "component", "captured"};
	struct al_table points;
	int64_t strand = 0;

	al_table_init(&points, figure.id, "");
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		al_table_add_column(&points, (struct al_column){.key = keys[i]});
	for (int i = 0; i < N_CURVES; i++)
		add_curves(&points, table, &curves[i], &strand);
	bool ok = draw_all_formats(&figure, &points, folder, err);
	al_table_finish(&points);
	return ok;
}

/* ---- redundancy ---- */

/* Self and cross attention have the same layers. */
static bool has_layer_twice(const struct al_table *table)
{
	double a, b;

	for (size_t i = 0; i < table->n_rows; i++)
		for (size_t j = 0; j < i; j++)
			if (al_table_number(table, i, "layer", &a)
				&& al_table_number(table, j, "layer", &b) && a == b)
				return true;
	return false;
}

static bool draw_redundancy(const char *folder, const struct al_table *layers, struct al_error *err)
{
	const struct al_figure figure = {
		.id = "redundancy",
		.title = "Redundancy beyond independent heads",
		.mark = "bar",
		.x = {.column = has_layer_twice(layers) ? "module" : "layer"},
		.y = {.column = "redundancy", .title = "Redundancy"},
	};

	return draw_all_formats(&figure, layers, folder, err);
}

/* ---- heat maps ---- */

enum { MODULES_A_PAGE = 3 };

/* What of the table `correlation` makes a map, three modules a page. */
static const struct map {
	const char *form, *column, *title;
} maps[] = {
	{"qk", "cosine", "Cosine of heads' scores, W_Q W_K^T"},
	{"ov", "cosine", "Cosine of heads' values, W_V W_O"},
	{"qk", "pearson", "Pearson correlation of heads' scores, W_Q W_K^T"},
	{"ov", "pearson", "Pearson correlation of heads' values, W_V W_O"},
};
enum { N_MAPS = sizeof(maps) / sizeof(*maps) };

static void copy_row(struct al_table *out, const struct al_table *table, size_t row,
	const char *column)
{
	const char *const keys[] = {"head_b", "head_a", column};
	struct al_cell *cell = al_table_add_row(out);
	double value;

	al_cell_set_text(out, cell++, al_table_text(table, row, "module"));
	for (size_t i = 0; i < 3; i++, cell++)
		if (al_table_number(table, row, keys[i], &value))
			al_cell_set_real(cell, value);
}

/* The rows of a map from `*row` on, of so many modules as a page takes. */
static void take_page(struct al_table *out, const struct al_table *table, const struct map *map,
	size_t *row)
{
	const char *module = "";
	size_t n_modules = 0;

	al_table_add_column(out, (struct al_column){.key = "module"});
	al_table_add_column(out, (struct al_column){.key = "head_b", .title = "Head"});
	al_table_add_column(out, (struct al_column){.key = "head_a", .title = "Head"});
	al_table_add_column(out, (struct al_column){.key = map->column});
	for (; *row < table->n_rows; ++*row) {
		if (strcmp(al_table_text(table, *row, "form"), map->form) != 0)
			continue;
		const char *next = al_table_text(table, *row, "module");
		if (strcmp(next, module) != 0 && n_modules++ == MODULES_A_PAGE)
			break;
		module = next;
		copy_row(out, table, *row, map->column);
	}
}

/* Forms without length have neither cosines nor correlations. */
static bool has_numbers(const struct al_table *page, const char *column)
{
	double number;

	for (size_t row = 0; row < page->n_rows; row++)
		if (al_table_number(page, row, column, &number))
			return true;
	return false;
}

static bool draw_page(const char *folder, const struct al_table *page, const struct map *map,
	int number, struct al_error *err)
{
	struct al_arena arena;

	al_arena_init(&arena);
	const struct al_figure figure = {
		.id = al_format(&arena, "%s-%s-%d", map->column, map->form, number),
		.mark = "heatmap",
		.x = {.column = "head_b"},
		.y = {.column = "head_a"},
		.color = {.column = map->column,
			.title = map->title,
			.has_min = true,
			.has_max = true,
			.min = -1,
			.max = 1},
		.is_diverging = true,
		.panel = "module",
		.width_pt = AL_FIGURE_PAGE_PT,
		.height_pt = 200,
	};
	bool ok = draw_all_formats(&figure, page, folder, err);
	al_arena_finish(&arena);
	return ok;
}

static bool draw_map(const char *folder, const struct al_table *table, const struct map *map,
	struct al_error *err)
{
	bool ok = true, is_there = true;
	size_t row = 0;

	for (int number = 1; ok && is_there; number++) {
		struct al_table page;
		al_table_init(&page, "page", "");
		take_page(&page, table, map, &row);
		is_there = page.n_rows > 0;
		ok = !has_numbers(&page, map->column) || draw_page(folder, &page, map, number, err);
		al_table_finish(&page);
	}
	return ok;
}

static bool draw_maps(const char *folder, const struct al_table *table, struct al_error *err)
{
	bool ok = true;

	for (int i = 0; ok && i < N_MAPS; i++)
		ok = draw_map(folder, table, &maps[i], err);
	return ok;
}

/* ---- all ---- */

bool portrait_draw(const char *folder, struct al_table *const *tables, struct al_error *err)
{
	const struct al_table *layers = find_table(tables, "layers"),
			      *curve = find_table(tables, "curves");
	const struct al_table *cosines = find_table(tables, "correlation");
	const struct al_table *widths = find_table(tables, "tucker");
	const struct al_table *mixing = find_table(tables, "mixing");
	bool has_nulls = layers && al_table_find_column(layers, "redundancy") >= 0;

	return al_folder_make(folder, err) && (!widths || portrait_draw_widths(folder, widths, err))
		&& (!mixing || portrait_draw_mixing(folder, mixing, err))
		&& (!curve || draw_captured(folder, curve, err))
		&& (!has_nulls || draw_redundancy(folder, layers, err))
		&& (!cosines || draw_maps(folder, cosines, err));
}
