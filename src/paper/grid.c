#include "paper/grid.h"

#include "scenario/printed.h"

static bool is_summary(const char *label)
{
	static const char *const words[] = {"Average", "Avg", "Mean", "Total", "Sum", "Improvement",
		"Gain", "Speedup", "Delta", "Median", "Std", "Overall"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strncmp(label, words[i], strlen(words[i])) == 0)
			return true;
	return false;
}

/* The length of a sign in front of a number. */
static size_t sign_length(const char *text)
{
	static const char *const signs[] = {"+", "-", "\u2212"};

	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		if (strncmp(text, signs[i], strlen(signs[i])) == 0)
			return strlen(signs[i]);
	return 0;
}

static void read_number(struct al_paper_grid *g, const char *text, struct al_paper_number *out)
{
	const size_t sign = sign_length(text);
	struct al_paper_cell cell;

	if (!al_paper_cell_number(g->arena, text + sign, &cell))
		return;
	const double scale = (double)al_unit_factor(cell.unit);
	*out = (struct al_paper_number){(sign > 0 && *text != '+' ? -1 : 1) * cell.value * scale,
		cell.half * scale, cell.digits, text};
}

/* "71.2 (+1.3)" is two numbers. */
static void read_cell(struct al_paper_grid *g, const char *text, bool is_unread,
	struct al_paper_number *out)
{
	const char *open = strchr(text, '('), *close = open ? strchr(open, ')') : NULL;
	struct al_paper_number *inner = &out[g->n_columns];
	const char *outer = text;

	if (close && !close[1] && open > text && sign_length(open + 1) > 0) {
		size_t n = (size_t)(open - text);
		while (n > 0 && text[n - 1] == ' ')
			n--;
		outer = al_strndup(g->arena, text, n);
		inner->text = al_strndup(g->arena, open + 1, (size_t)(close - open - 1));
		if (!is_unread)
			read_number(g, inner->text, inner);
	}
	out->text = outer;
	if (!is_unread)
		read_number(g, outer, out);
}

static void read_numbers(struct al_paper_grid *g)
{
	for (size_t i = 0; i < g->n_rows; i++) {
		const struct al_paper_row *row = &g->sheet->table->rows[g->sheet->n_heads + i];
		for (size_t k = 0; k < row->n_cells && k < g->n_columns; k++)
			read_cell(g, row->cells[k], is_summary(row->cells[0]),
				&g->numbers[i * 2 * g->n_columns + k]);
	}
}

static const char *unit_of(const struct al_paper_grid *g, size_t column)
{
	for (size_t i = 0; i < g->n_rows; i++) {
		const char *text = al_paper_grid_at(g, i, column)->half > 0
			? al_paper_grid_at(g, i, column)->text
			: "";
		const char *behind = text + sign_length(text);
		const char *unit = behind + strspn(behind, "~0123456789., ");
		if (*text)
			return *unit ? unit
				: column < g->n_columns && g->sheet->heads[column].unit
				? g->sheet->heads[column].unit
				: "";
	}
	return "";
}

static void read_columns(struct al_paper_grid *g)
{
	for (size_t k = 0; k < 2 * g->n_columns; k++) {
		struct al_paper_grid_column *column = &g->columns[k];
		double least = INFINITY, most = -INFINITY;
		column->is_whole = true;
		column->unit = unit_of(g, k);
		for (size_t i = 0; i < g->n_rows; i++)
			if (al_paper_grid_at(g, i, k)->half > 0) {
				column->is_whole &= al_paper_grid_at(g, i, k)->half == 0.5;
				least = fmin(least, al_paper_grid_at(g, i, k)->value);
				most = fmax(most, al_paper_grid_at(g, i, k)->value);
			}
		column->span = most > least ? most - least : 0;
		column->least = least;
		column->most = most;
	}
}

void al_paper_grid_init(struct al_paper_grid *g, const struct al_paper_sheet *sheet,
	struct al_arena *arena, struct al_arena *scratch)
{
	*g = (struct al_paper_grid){.sheet = sheet,
		.arena = arena,
		.n_rows = sheet->table->n_rows - sheet->n_heads,
		.n_columns = sheet->table->n_columns};
	g->numbers = al_new_array(scratch, struct al_paper_number, g->n_rows * 2 * g->n_columns);
	g->columns = al_new_array(scratch, struct al_paper_grid_column, 2 * g->n_columns);
	read_numbers(g);
	read_columns(g);
}
