/* Deriving tables without a map, and judging what they print. */
#include "paper/derive.h"

#include "paper/deriving.h"
#include "paper/expressions.h"
#include "paper/relations.h"
#include "paper/sizes.h"
#include "paper/within.h"
#include "scenario/scenario.h"

/* ---- judging ---- */

static bool is_swapped(const struct al_paper_cell *cell, const struct al_paper_cell *other)
{
	return other != cell && !other->holds && other->right > 0
		&& al_paper_rounds_to(other->right, cell->value, cell->half)
		&& al_paper_rounds_to(cell->right, other->value, other->half);
}

/* Another cell's number: the two are swapped, or it is that of another row. */
static struct al_paper_cause find_elsewhere(const struct al_deriving *d,
	const struct al_paper_cell *cell)
{
	for (size_t i = 0; i < d->n; i++)
		if (is_swapped(cell, d->cells[i]))
			return (struct al_paper_cause){"swap",
				al_format(d->arena, "swapped with %s of %s", d->cells[i]->printed,
					d->cells[i]->row == cell->row
						? "the same row"
						: d->cells[i]->subject->title),
				false};
	for (size_t i = 0; i < d->n; i++) {
		const struct al_paper_cell *other = d->cells[i];
		if (other->row != cell->row && other->column == cell->column && other->holds
			&& other->value == cell->value && other->digits == cell->digits)
			return (struct al_paper_cause){"row", "the number of another row", false};
	}
	return (struct al_paper_cause){0};
}

static struct al_paper_cause find_cause(const struct al_deriving *d,
	const struct al_paper_cell *cell)
{
	const struct al_paper_cause cause = find_elsewhere(d, cell);

	if (strcmp(cause.name ? cause.name : "", "swap") == 0)
		return cause;
	const struct al_paper_cause found = al_deriving_cause(d, cell);
	return found.name ? found : cause;
}

/* Does a column have few different texts, as a setting does? */
static bool is_setting(const struct al_paper_sheet *s, size_t column)
{
	size_t n = 0, n_new = 0;

	for (size_t i = s->n_heads; i < s->table->n_rows && i < s->n_heads + 200; i++) {
		bool is_new = true;
		for (size_t k = s->n_heads; k < i && is_new; k++)
			is_new = strcmp(al_paper_row_text(&s->table->rows[i], column),
					 al_paper_row_text(&s->table->rows[k], column))
				!= 0;
		n_new += is_new;
		n++;
	}
	return 2 * n_new <= n;
}

static bool occurs_elsewhere(const struct al_deriving *d, const struct al_paper_cell *cell,
	size_t column)
{
	const char *text = al_paper_row_text(&d->sheet->table->rows[cell->row], column);

	for (size_t i = 0; i < d->n; i++)
		if (d->cells[i]->holds && d->cells[i]->row != cell->row
			&& strcmp(al_paper_row_text(&d->sheet->table->rows[d->cells[i]->row],
					  column),
				   text)
				== 0)
			return true;
	return false;
}

/* Has the row a remark, or a setting that this program doesn't know, which no row that holds has?
 * Then it may be of something else. */
static bool is_unlike(const struct al_deriving *d, const struct al_paper_cell *cell)
{
	struct al_paper_cell number;

	for (size_t k = 1; k < d->sheet->table->n_columns; k++) {
		const char *text = al_paper_row_text(&d->sheet->table->rows[cell->row], k);
		if (d->sheet->heads[k].meaning != AL_MEANS_NOTHING || !*text
			|| al_paper_subject_find(d->sheet->subjects, text))
			continue;
		const bool is_number = al_paper_cell_number(d->arena, text, &number);
		if ((!is_number || is_setting(d->sheet, k)) && !occurs_elsewhere(d, cell, k))
			return true;
	}
	return false;
}

/* In few bits, or in a format that isn't stated, numbers may have scales, too: that can't be
 * decided where no cell of the same format holds. */
static bool may_have_scales(const struct al_deriving *d, const struct al_paper_cell *cell)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->cells[i]->holds && d->cells[i]->bytes == cell->bytes)
			return false;
	return cell->bytes < 2;
}

/* A note may tell that the number is of something else. */
static bool has_mark(const char *printed)
{
	return strchr(printed, '*') || strchr(printed, '^') || strstr(printed, "\u2020")
		|| strstr(printed, "\u2021");
}

/* Nothing is called wrong unless most of the table is right by the same reading. Parameters and
 * weights have so many conventions that a difference counts only with a cause. */
static void judge(const struct al_deriving *d, const struct al_paper_cell *cell)
{
	const struct al_paper_cause none = {0}, *convention = al_deriving_convention(d, cell);
	const bool is_alone = d->fit.n_fit >= 3 && d->fit.n_other == 1;
	const bool needs_cause = cell->meaning == AL_MEANS_TOTAL
		|| cell->meaning == AL_MEANS_WEIGHTS || !is_alone
		|| (cell->meaning != AL_MEANS_SIZE && !cell->subject->has_plain_cache);

	if (convention || cell->holds) {
		al_deriving_add(d, cell, convention ? AL_CONSISTENT : AL_REPRODUCED,
			convention ? convention : &none);
		*al_paper_sheet_judged(d->sheet, cell->row, cell->column) = true;
		return;
	}
	if (cell->is_guess)
		return;
	const struct al_paper_cause cause = find_cause(d, cell);
	if (!d->is_sure || is_unlike(d, cell) || has_mark(cell->printed) || may_have_scales(d, cell)
		|| (!cause.name && needs_cause))
		al_deriving_add_undecided(d, cell, &cause);
	else
		al_deriving_add(d, cell, cause.is_note ? AL_CONSISTENT : AL_INCONSISTENT, &cause);
}

/* Parameters of a model of the paper's own. */
static bool is_of_sizes(const struct al_paper_cell *cell)
{
	return cell->meaning == AL_MEANS_TOTAL && cell->size == AL_TOTAL_OF_ROW;
}

/* Cells that fit by chance tell nothing; of what isn't stated, three have to agree. */
static bool is_telling(const struct al_deriving *d)
{
	const struct al_paper_fit *fit = &d->fit;
	const bool is_guess = fit->reading.tokens > 0;

	return fit->n_fit > (is_of_sizes(d->cells[0]) ? 2 : 0)
		&& fit->evidence > (is_guess ? 3 : 1) + fit->reading.penalty
		&& fit->n_fit >= fit->n_other;
}

/* "7B" of a model of 7.6 billion parameters is its name. */
static void drop_names(struct al_deriving *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct al_paper_cell *cell = d->cells[i];
		const bool is_name = cell->meaning == AL_MEANS_TOTAL && !cell->holds
			&& cell->digits == 0 && cell->unit;
		if (!is_name)
			d->cells[n++] = d->cells[i];
	}
	d->n = n;
}

static void set_units(const struct al_deriving *d, const char *unit)
{
	for (size_t i = 0; i < d->n; i++)
		d->cells[i]->unit = unit;
}

/* A unit that the table doesn't state: the one by which most cells fit, if three do. */
static void guess_unit(struct al_deriving *d)
{
	static const char *const units[] = {"GB", "MB"};
	const enum al_meaning meaning = d->cells[0]->meaning;
	double best = 3.5; /* digits that chance would have to hit */

	d->guessed = NULL;
	for (size_t i = 0; i < d->n; i++)
		if (d->cells[i]->unit)
			return;
	if (meaning != AL_MEANS_CACHE && meaning != AL_MEANS_WEIGHTS)
		return;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		set_units(d, units[i]);
		const struct al_paper_fit fit = al_paper_best_reading(d->cells, d->n,
			(enum al_paper_gb)d->options->gb);
		if (fit.n_fit >= 3 && fit.score > best) {
			best = fit.score;
			d->guessed = units[i];
		}
	}
	set_units(d, d->guessed);
}

static void judge_group(struct al_deriving *d)
{
	guess_unit(d);
	d->fit = al_paper_best_reading(d->cells, d->n, (enum al_paper_gb)d->options->gb);
	const struct al_paper_fit *fit = &d->fit;
	const size_t least = d->guessed || fit->reading.tokens > 0 ? 4 : 2;
	d->is_sure = fit->n_fit >= least && fit->n_fit >= 2 * fit->n_other && fit->evidence >= 2.5
		&& is_telling(d);
	bool is_stated = fit->reading.tokens == 0;
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++) {
		struct al_paper_cell *cell = d->cells[i];
		al_paper_read_cell(cell, &fit->reading);
		n += cell->right > 0;
		is_stated &= !cell->is_guess;
	}
	if (n == 0 || (!is_telling(d) && !is_stated))
		return;
	drop_names(d);
	for (size_t i = 0; i < d->n; i++)
		if (d->cells[i]->right > 0)
			judge(d, d->cells[i]);
	if (d->n > 0)
		al_deriving_note(d);
}

/* Cells of one meaning, of parameters of one kind; sizes aren't read in several ways. */
static void judge_sheet(struct al_deriving *d, const struct al_paper_sheet *sheet)
{
	d->sheet = sheet;
	d->cells = al_new_array(d->arena, struct al_paper_cell *, sheet->n + 1);
	for (int meaning = AL_MEANS_SIZE; meaning <= AL_MEANS_CACHE_OF_TOKEN; meaning++) {
		const int n_sizes = meaning == AL_MEANS_TOTAL ? AL_TOTAL_OF_ROW + 1 : 1;
		for (int size = 0; size < n_sizes; size++) {
			d->n = 0;
			for (size_t i = 0; i < sheet->n; i++)
				if (sheet->cells[i].meaning == (enum al_meaning)meaning
					&& (n_sizes == 1 || sheet->cells[i].size == size))
					d->cells[d->n++] = &sheet->cells[i];
			if (d->n > 0)
				judge_group(d);
		}
	}
}

/* The table's columns as rows, where they are called after models. */
static bool judge_turned(struct al_deriving *d, const struct al_paper_sheet *sheet, size_t table)
{
	enum { MOST_ROWS = 100 };
	struct al_paper_sheet turned;

	if (!al_paper_sheet_names_model(sheet, 0) || sheet->table->n_rows > MOST_ROWS)
		return false;
	al_paper_sheet_init(&turned, d->arena, d->paper, table, sheet->subjects, true);
	judge_sheet(d, &turned);
	for (size_t i = 0; i < sheet->table->n_rows; i++)
		for (size_t k = 0; k < sheet->table->n_columns; k++)
			*al_paper_sheet_judged(sheet, i, k) |= *al_paper_sheet_judged(&turned, k,
				i);
	return turned.n > 0;
}

/* Is a cell of a known model, or by the sizes of its row? */
static bool is_known(const struct al_paper_sheet *sheet)
{
	for (size_t i = 0; i < sheet->n; i++) {
		const struct al_paper_cell *cell = &sheet->cells[i];
		if (!is_of_sizes(cell) || *al_paper_sheet_judged(sheet, cell->row, cell->column))
			return true;
	}
	return false;
}

/* A table of caches or parameters of nothing that is known. */
static void name_unknown(const struct al_deriving *d, const struct al_paper_sheet *sheet,
	size_t number)
{
	if (!al_paper_sheet_has_numbers(sheet))
		return;
	al_paper_findings_add(d->out,
		(struct al_paper_finding){.line = sheet->table->rows[0].line,
			.note = al_format(d->arena,
				"no row of table %zu names a known model (--models FOLDER adds "
				"NAME.json)",
				number)});
	d->counts->gaps++;
}

/* What a cell of a row states by itself: "14/18 (78 %)", "12.4 -> 9.1 (-27 %)", "28 layers, 8 KV
 * heads" of the row's model. One over several rows is read once. */
static void read_cell(const struct al_deriving *d, size_t index, size_t column,
	struct al_paper_topic topic)
{
	const struct al_paper_row *row = &d->sheet->table->rows[index];
	struct al_sentence s = {.vocabulary = &d->sheet->subjects->vocabulary};
	struct al_operands operands = {.n = 0};
	const char *rest = row->cells[column];
	AL_ARENA(words);

	if (row[-1].n_cells > column && row[-1].cells[column] == rest)
		return;
	while (al_sentence_add_line(&s, &words, rest, row->line, &rest))
		;
	al_paper_read_expressions(&s, d->out, d->counts);
	al_paper_read_sizes(&s, d, d->sheet->subjects, &topic);
	al_operands_add(&operands, &s);
	al_paper_read_relations(&s, &operands, d->out, d->counts);
}

static void read_cells(const struct al_deriving *d)
{
	const struct al_paper_sheet *s = d->sheet;

	for (size_t i = al_most(s->n_heads, 1); i < s->table->n_rows; i++) {
		struct al_paper_topic topic = {s->subject, 0};
		for (size_t k = 0; k < s->table->rows[i].n_cells; k++) {
			const bool *judged = al_paper_sheet_judged(s, i, k);
			const char *text = s->table->rows[i].cells[k];
			const struct al_paper_subject *named = al_paper_subject_find(s->subjects,
				text);
			topic.subject = named ? named : topic.subject;
			if (!judged[0] && !judged[1]
				&& (strpbrk(text, "(/=") || (topic.subject && strchr(text, ' '))))
				read_cell(d, i, k, topic);
		}
	}
}

static bool is_mapped(const struct al_paper_map *map, size_t table)
{
	for (size_t i = 0; map && i < map->n_tables; i++)
		if (map->tables[i].table == (int64_t)table)
			return true;
	return false;
}

void al_paper_derive(const struct al_deriving *deriving, const struct al_paper_map *map,
	struct al_paper_subjects *subjects)
{
	const struct al_paper *paper = deriving->paper;
	struct al_deriving d = *deriving;

	for (size_t i = 0; i < paper->n_tables; i++) {
		struct al_paper_sheet sheet;
		if (is_mapped(map, i + 1) || paper->tables[i].n_rows < 2)
			continue;
		al_paper_sheet_init(&sheet, d.arena, paper, i, subjects, false);
		if (sheet.n > 0)
			judge_sheet(&d, &sheet);
		if (!is_known(&sheet) && !judge_turned(&d, &sheet, i))
			name_unknown(&d, &sheet, i + 1);
		al_paper_relate(&sheet, d.out, d.counts);
		d.sheet = &sheet;
		read_cells(&d);
	}
}
