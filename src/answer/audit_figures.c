/* The figures of an audit, as measurements describe them. */
#include "answer/audit_run.h"

#include "base/file.h"
#include "answer/draw.h"

const char *const al_drawing_width_names[AL_N_DRAWING_WIDTHS] = {"page", "column"};

/* ---- which rows ---- */

static bool is_drawn(const struct al_drawing *drawing, const struct al_table *table, size_t row)
{
	return !drawing->only[0]
		|| strcmp(al_table_text(table, row, drawing->only[0]), drawing->only[1]) == 0;
}

/* The table with the rows of one figure, from `*row` on: so many modules as a figure takes. */
static struct al_table take_rows(const struct al_drawing *drawing, const struct al_table *table,
	size_t *row, struct al_arena *arena)
{
	struct al_table taken = *table;
	const char *module = "";
	size_t n_modules = 0;

	taken.rows = al_new_array(arena, struct al_cell *, table->n_rows + 1);
	taken.n_rows = 0;
	for (; *row < table->n_rows; ++*row) {
		if (!is_drawn(drawing, table, *row))
			continue;
		const char *next = al_table_text(table, *row, "module");
		if (strcmp(next, module) != 0 && drawing->modules_a_figure
			&& n_modules++ == drawing->modules_a_figure)
			break;
		module = next;
		taken.rows[taken.n_rows++] = table->rows[*row];
	}
	return taken;
}

/* ---- one figure ---- */

static bool is_left_out(const struct al_figure *figure, const struct al_table *points, size_t row)
{
	double x, y;

	return figure->leaves_diagonal && al_table_number(points, row, figure->x.column, &x)
		&& al_table_number(points, row, figure->y.column, &y) && x == y;
}

static bool has_points(const struct al_figure *figure, const struct al_table *points)
{
	const char *column = figure->color.column ? figure->color.column : figure->y.column;
	double number;

	for (size_t row = 0; row < points->n_rows; row++)
		if (al_table_number(points, row, column, &number)
			&& !is_left_out(figure, points, row))
			return true;
	return false;
}

static struct al_figure make_figure(const struct al_drawing *drawing, enum al_drawing_width width,
	const struct al_table *rows, int number, struct al_arena *arena)
{
	struct al_figure figure = drawing->figure;

	if (width == AL_DRAWN_COLUMN) {
		figure.width_pt = AL_FIGURE_COLUMN_PT;
		figure.panels_a_row = (figure.panels_a_row + 1) / 2;
	}
	if (drawing->modules_a_figure)
		figure.id = al_format(arena, "%s-%d", figure.id, number);
	if (drawing->is_titled_by_module)
		figure.title = al_format(arena, "%s in %s", figure.title,
			al_table_text(rows, 0, "module"));
	return figure;
}

static bool draw_rows(struct al_audit_run *run, const struct al_drawing *drawing,
	const struct al_figure *figure, const struct al_table *rows, struct al_error *err)
{
	AL_ENDS(al_table_finish) struct al_table points;

	al_table_init(&points, figure->id, "");
	if (drawing->take_points) {
		if (drawing->points)
			al_table_add_fields(&points, drawing->points, 0);
		drawing->take_points(&points, rows);
		rows = &points;
	}
	return !has_points(figure, rows)
		|| al_draw_into(&run->session->files, figure, rows, run->options->figures, err);
}

/* ---- all ---- */

static bool draw_all(struct al_audit_run *run, const struct al_drawing *drawing,
	const struct al_table *table, struct al_error *err)
{
	bool ok = true;
	size_t row = 0;

	AL_ARENA(arena);
	for (int number = 1; ok && row < table->n_rows; number++) {
		const struct al_table rows = take_rows(drawing, table, &row, &arena);
		const struct al_figure figure = make_figure(drawing,
			(enum al_drawing_width)run->options->width, &rows, number, &arena);
		ok = rows.n_rows == 0 || draw_rows(run, drawing, &figure, &rows, err);
	}
	return ok;
}

bool al_audit_figures_draw(struct al_audit_run *run, struct al_error *err)
{
	bool ok = al_folder_make(run->options->figures, err);

	for (size_t i = 0; ok && i < AL_N_MEASUREMENTS; i++)
		for (size_t k = 0; ok && run->tables[i] && k < al_measurements[i]->n_drawings; k++)
			ok = draw_all(run, &al_measurements[i]->drawings[k], run->tables[i], err);
	return ok;
}
