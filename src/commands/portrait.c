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

static const char *text_at(const struct al_table *table, size_t row, const char *key)
{
	const struct al_cell *cell = &table->rows[row][al_table_find_column(table, key)];

	return cell->kind == AL_CELL_TEXT ? cell->text : "";
}

static bool number_at(const struct al_table *table, size_t row, const char *key, double *out)
{
	return al_cell_number(&table->rows[row][al_table_find_column(table, key)], out);
}

/* ---- captured variance ---- */

static const struct curve {
	const char *matrix, *title;
} curves[] = {{"q", "W_Q"}, {"k", "W_K"}, {"qk", "W_Q W_K^T"}, {"qk_independent", "independent heads"}};
enum { N_CURVES = sizeof(curves) / sizeof(*curves) };

/* The mean over heads or modules, component by component. */
struct mean {
	double *sums;
	size_t *counts, n;
};

static struct mean take_mean(struct al_arena *arena, const struct al_table *table, const char *matrix,
	bool is_of_heads)
{
	struct mean mean = {al_new_array(arena, double, table->n_rows + 1),
		al_new_array(arena, size_t, table->n_rows + 1), 0};
	double head, component, captured;

	for (size_t row = 0; row < table->n_rows; row++) {
		if (strcmp(text_at(table, row, "matrix"), matrix) != 0
			|| number_at(table, row, "head", &head) != is_of_heads
			|| !number_at(table, row, "component", &component)
			|| !number_at(table, row, "cumulative", &captured))
			continue;
		size_t place = (size_t)component - 1;
		mean.sums[place] += captured;
		mean.counts[place]++;
		mean.n = place + 1 > mean.n ? place + 1 : mean.n;
	}
	return mean;
}

static void add_mean(struct al_table *out, const struct curve *curve, const struct mean *mean)
{
	for (size_t i = 0; i < mean->n; i++) {
		if (mean->counts[i] == 0)
			continue;
		struct al_cell *cell = al_table_add_row(out);
		al_cell_set_text(out, cell++, curve->title);
		al_cell_set_int(out, cell++, (int64_t)i + 1);
		al_cell_set_real(cell, mean->sums[i] / (double)mean->counts[i]);
	}
}

static bool draw_captured(const char *folder, const struct al_table *table, bool is_of_heads,
	struct al_error *err)
{
	const struct al_figure figure = {
		.id = is_of_heads ? "captured-heads" : "captured-together",
		.title = is_of_heads ? "Heads separately" : "Heads concatenated",
		.mark = "line",
		.x = {.column = "component", .title = "Components"},
		.y = {.column = "captured", .title = "Captured variance", .has_min = true, .has_max = true,
			.max = 1},
		.series = "matrix",
	};
	struct al_table means;

	al_table_init(&means, figure.id, figure.title);
	al_table_add_column(&means, (struct al_column){.key = "matrix"});
	al_table_add_column(&means, (struct al_column){.key = "component"});
	al_table_add_column(&means, (struct al_column){.key = "captured"});
	for (int i = 0; i < N_CURVES; i++) {
		struct mean mean = take_mean(&means.arena, table, curves[i].matrix, is_of_heads);
		add_mean(&means, &curves[i], &mean);
	}
	bool ok = draw_all_formats(&figure, &means, folder, err);
	al_table_finish(&means);
	return ok;
}

/* ---- redundancy ---- */

/* Self and cross attention have the same layers. */
static bool has_layer_twice(const struct al_table *table)
{
	double a, b;

	for (size_t i = 0; i < table->n_rows; i++)
		for (size_t j = 0; j < i; j++)
			if (number_at(table, i, "layer", &a) && number_at(table, j, "layer", &b) && a == b)
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

static void copy_row(struct al_table *out, const struct al_table *table, size_t row)
{
	static const char *const keys[] = {"head_b", "head_a", "cosine"};
	struct al_cell *cell = al_table_add_row(out);
	double value;

	al_cell_set_text(out, cell++, text_at(table, row, "module"));
	for (size_t i = 0; i < 3; i++, cell++)
		if (number_at(table, row, keys[i], &value))
			al_cell_set_real(cell, value);
}

/* The rows of one form from `*row` on, of so many modules as a page takes; false where there are none. */
static bool take_page(struct al_table *out, const struct al_table *table, const char *form, size_t *row)
{
	const char *module = "";
	size_t n_modules = 0;

	al_table_add_column(out, (struct al_column){.key = "module"});
	al_table_add_column(out, (struct al_column){.key = "head_b", .title = "Head"});
	al_table_add_column(out, (struct al_column){.key = "head_a", .title = "Head"});
	al_table_add_column(out, (struct al_column){.key = "cosine"});
	for (; *row < table->n_rows; ++*row) {
		if (strcmp(text_at(table, *row, "form"), form) != 0)
			continue;
		const char *next = text_at(table, *row, "module");
		if (strcmp(next, module) != 0 && n_modules++ == MODULES_A_PAGE)
			break;
		module = next;
		copy_row(out, table, *row);
	}
	return out->n_rows > 0;
}

static bool draw_page(const char *folder, const struct al_table *page, const char *form, int number,
	struct al_error *err)
{
	bool is_qk = strcmp(form, "qk") == 0;
	struct al_arena arena;

	al_arena_init(&arena);
	const struct al_figure figure = {
		.id = al_format(&arena, "cosine-%s-%d", form, number),
		.mark = "heatmap",
		.x = {.column = "head_b"},
		.y = {.column = "head_a"},
		.color = {.column = "cosine", .title = is_qk ? "Cosine of heads' scores, W_Q W_K^T"
			: "Cosine of heads' values, W_V W_O", .has_min = true, .has_max = true, .min = -1, .max = 1},
		.is_diverging = true,
		.panel = "module",
		.width_pt = AL_FIGURE_PAGE_PT,
		.height_pt = 200,
	};
	bool ok = draw_all_formats(&figure, page, folder, err);
	al_arena_finish(&arena);
	return ok;
}

static bool draw_cosines(const char *folder, const struct al_table *table, const char *form,
	struct al_error *err)
{
	bool ok = true, is_there = true;
	size_t row = 0;

	for (int number = 1; ok && is_there; number++) {
		struct al_table page;
		al_table_init(&page, "page", "");
		is_there = take_page(&page, table, form, &row);
		ok = !is_there || draw_page(folder, &page, form, number, err);
		al_table_finish(&page);
	}
	return ok;
}

/* ---- all ---- */

bool portrait_draw(const char *folder, struct al_table *const *tables, struct al_error *err)
{
	const struct al_table *layers = find_table(tables, "layers"), *curve = find_table(tables, "curves");
	const struct al_table *cosines = find_table(tables, "correlation");
	const struct al_table *widths = find_table(tables, "tucker");
	const struct al_table *mixing = find_table(tables, "mixing");
	bool has_nulls = layers && al_table_find_column(layers, "redundancy") >= 0;

	return al_folder_make(folder, err) && (!widths || portrait_draw_widths(folder, widths, err))
		&& (!mixing || portrait_draw_mixing(folder, mixing, err))
		&& (!curve || (draw_captured(folder, curve, true, err) && draw_captured(folder, curve, false, err)))
		&& (!has_nulls || draw_redundancy(folder, layers, err))
		&& (!cosines || (draw_cosines(folder, cosines, "qk", err) && draw_cosines(folder, cosines, "ov", err)));
}
