/* Rows that are called a total: each of their numbers against the sum of those above it. */
#include "paper/within.h"

#include "scenario/scenario.h"

enum { MOST_FAILED = 2 };

struct totals {
	const struct al_paper_sheet *sheet;
	struct al_arena *arena;
	size_t n_hold, n_near, n_fail;
	struct al_paper_cell failed[MOST_FAILED];
};

static bool is_total(const struct al_paper_row *row)
{
	static const char *const names[] = {"Total", "total", "TOTAL", "Sum", "In total",
		"Overall total"};

	return row->n_cells > 0
		&& al_find_name(row->cells[0], names, sizeof(names) / sizeof(*names)) >= 0;
}

/* The sum of the column in the rows [first, end), in each of which it has a number of one unit. */
static bool add_up(const struct totals *t, size_t column, size_t first, size_t end,
	const char *unit, double *sum, double *half)
{
	struct al_paper_cell cell;

	*sum = *half = 0;
	for (size_t i = first; i < end; i++) {
		const struct al_paper_row *row = &t->sheet->table->rows[i];
		if (column >= row->n_cells
			|| !al_paper_cell_number(t->arena, row->cells[column], &cell)
			|| strcmp(cell.unit ? cell.unit : "", unit ? unit : "") != 0)
			return false;
		*sum += cell.value;
		*half += cell.half;
	}
	return end >= first + 2;
}

static void judge(struct totals *t, size_t index, size_t first)
{
	const struct al_paper_row *row = &t->sheet->table->rows[index];
	struct al_paper_cell cell = {0};
	double half;

	for (size_t k = 1; k < row->n_cells; k++) {
		if (!al_paper_cell_number(t->arena, row->cells[k], &cell)
			|| !add_up(t, k, first, index, cell.unit, &cell.right, &half))
			continue;
		const double off = fabs(cell.value - cell.right), slack = 1e-9 * cell.value;
		cell.line = row->line;
		if (off <= cell.half + half + slack)
			t->n_hold++;
		else if (off <= 2 * cell.half + half + slack)
			t->n_near++;
		else if (t->n_fail++ < MOST_FAILED)
			t->failed[t->n_fail - 1] = cell;
	}
}

static void name(const struct totals *t, const struct al_paper_cell *cell,
	struct al_paper_findings *out, struct al_lint_counts *counts)
{
	const struct al_paper_suspect suspect = {.printed = cell->printed,
		.value = cell->value,
		.right = cell->right,
		.half = cell->half,
		.digits = cell->digits};

	al_paper_add_wrong(out, counts, &suspect,
		&(struct al_paper_finding){.line = cell->line,
			.expected = al_format(t->arena, "%.*f", cell->digits + 1, cell->right),
			.cause = "sum",
			.derivation = al_format(t->arena,
				"the sum of the rows above, as in %zu other cells", t->n_hold),
			.note = "not the sum of the rows above; "});
}

/* What a row of that name sums up is a sum; one that fails is wrong where the row's sum holds in
 * four cells at least, and fails in one (of ten, in two). */
void al_paper_read_totals(const struct al_paper_sheet *sheet, struct al_paper_findings *out,
	struct al_lint_counts *counts)
{
	struct totals t = {.sheet = sheet, .arena = out->arena};
	size_t first = sheet->n_heads;

	for (size_t i = sheet->n_heads; i < sheet->table->n_rows; i++)
		if (is_total(&sheet->table->rows[i])) {
			judge(&t, i, first);
			first = i + 1;
		}
	counts->numbers += t.n_hold;
	counts->verdicts[AL_REPRODUCED] += t.n_hold;
	const size_t most = t.n_hold + t.n_fail >= 10 ? 2 : 1;
	if (t.n_hold < 4 || 3 * t.n_near > t.n_hold || t.n_fail > most)
		return;
	for (size_t i = 0; i < t.n_fail; i++)
		name(&t, &t.failed[i], out, counts);
}
