/* A table as rows, columns and cells of known meaning: its heads and its caption. */
#include "paper/sheet.h"

#include <ctype.h>
#include <strings.h>

#include "paper/words.h"
#include "scenario/printed.h"

bool al_paper_cell_number(struct al_arena *arena, const char *text, struct al_paper_cell *out)
{
	struct al_printed printed;

	if (!*text || isalpha((unsigned char)*text) || strlen(text) > 40
		|| !al_printed_parse(&printed, arena, al_paper_number(arena, text))
		|| printed.is_fraction || !mpq_equal(printed.first, printed.last))
		return false;
	out->printed = text;
	out->value = mpq_get_d(printed.first);
	out->digits = printed.digits;
	out->half = 0.5 * pow(10, -printed.digits);
	out->scale = (double)printed.scale;
	out->unit = printed.unit;
	return out->value > 0;
}

bool al_paper_is_number(struct al_arena *arena, const char *text)
{
	struct al_paper_cell cell;

	return al_paper_cell_number(arena, text, &cell);
}

bool al_paper_is_baseline(const char *text)
{
	static const char *const names[] = {"full", "full cache", "full kv", "full attention",
		"baseline", "original", "dense", "none", "-", "vanilla", "fp16", "bf16", "default"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcasecmp(text, names[i]) == 0)
			return true;
	return !*text;
}

/* ---- heads ---- */

bool al_paper_sheet_names_model(const struct al_paper_sheet *s, size_t index)
{
	const struct al_paper_row *row = &s->table->rows[index];

	for (size_t i = 0; i < row->n_cells; i++)
		if (al_paper_subject_find(s->subjects, row->cells[i]))
			return true;
	return false;
}

/* Rows above the first rule, in Markdown all of them, and those enclosed in two rules. Contexts as
 * numbers may be in those whose first cell is empty or goes on from above. */
static bool is_head(const struct al_paper_sheet *s, size_t index, size_t rule)
{
	enum { MOST = 4 };
	const struct al_paper_row *row = &s->table->rows[index];
	const char *label = al_paper_row_text(row, 0), *first = al_paper_row_text(row - index, 0);
	size_t n = 0, n_measured = 0, n_digits = 0, filled = 0;

	if (s->paper->kind == AL_PAPER_MARKDOWN && rule > 0)
		return index < rule;
	for (size_t i = 0; i < row->n_cells; i++) {
		const char *text = row->cells[i], *p = text + strspn(text, "+-~<>(");
		const size_t length = al_number_length(p);
		const bool is_measured = memchr(p, '.', length) || memchr(p, ',', length);
		n_measured += is_measured; /* "66.4 tok/s", "4,783ms"; "16 bits" may be a head */
		n += al_paper_is_number(s->arena, text) || is_measured;
		n_digits += i > 0 && length > 0;
		filled += *text != '\0';
	}
	if (index == 0)
		return n < filled;
	if (index >= MOST
		|| (rule > 0 && index >= rule
			&& (index + 1 == s->table->n_rows || !row[1].has_rule)))
		return false;
	if (!*label || strcmp(label, first) == 0 || (index < rule && !*first))
		return n_measured == 0;
	return rule > 0 && n_digits == 0 && filled > 1;
}

/* The first row below a rule; 0: there is none near. */
static size_t find_rule(const struct al_paper_table *t)
{
	for (size_t i = 1; i < t->n_rows && i < 5; i++)
		if (t->rows[i].has_rule)
			return i;
	return 0;
}

/* The heads of a column from above, each once; one over several columns belongs to each. */
static const char *head_text(const struct al_paper_sheet *s, size_t column)
{
	AL_TEXT(out);
	const char *last = "";

	for (size_t i = 0; i < s->n_heads; i++) {
		const struct al_paper_row *row = &s->table->rows[i];
		size_t from = column;
		while (from > 0 && al_paper_row_text(row, from) == al_paper_spanned)
			from--;
		const char *text = al_paper_row_text(row, from);
		if (*text && strcmp(text, last) != 0)
			al_text_addf(&out, "%s%s", out.length ? " \n" : "", text);
		last = text;
	}
	return al_strdup(s->arena, out.data);
}

/* A single one of the head's lines, from below, means what the column is. */
static void read_meaning(const struct al_paper_sheet *s, struct al_paper_head *head)
{
	char *rest = al_strdup(s->arena, head->text), *line;
	const char *lines[8];
	size_t n = 0;

	while (n < 8 && (line = strtok_r(rest, "\n", &rest)))
		lines[n++] = line;
	for (size_t i = n; i-- > 0 && head->meaning == AL_MEANS_NOTHING;) {
		char *cut = al_strdup(s->arena, lines[i]);
		const char *unit = al_paper_cut_unit(cut);
		head->unit = head->unit ? head->unit : unit;
		head->subject = head->subject ? head->subject
					      : al_paper_subject_find(s->subjects, cut);
		const struct al_paper_heads *known = al_paper_meaning(&s->subjects->vocabulary,
			s->arena, lines[i]);
		if (unit) /* "KV GB" */
			known = al_paper_meaning(&s->subjects->vocabulary, s->arena, cut);
		head->meaning = known->meaning;
		head->size = known->size;
		head->is_guess = known->meaning == AL_MEANS_SIZE
			&& (known->size >= AL_DIM_FFN
				|| strlen(al_paper_normal(s->arena, lines[i])) == 1); /* "L" */
	}
}

static void read_head(const struct al_paper_sheet *s, size_t column)
{
	struct al_paper_head *head = &s->heads[column];
	double round;

	head->text = head_text(s, column);
	al_paper_read_facts(head->text, false, &head->facts);
	read_meaning(s, head);
	const struct al_paper_vocabulary *v = &s->subjects->vocabulary;
	const bool has_facts = al_paper_tokens(head->text, &round) > 0 || head->facts.bytes > 0
		|| head->facts.tokens > 0 || head->subject;
	if (head->meaning == AL_MEANS_NOTHING && has_facts
		&& !al_paper_is_other(v, s->arena, head->text)) {
		head->meaning = s->meaning;
		head->is_guess = s->is_guess;
	}
	if (!head->unit && head->facts.unit)
		head->unit = head->facts.unit;
}

/* "KV" next to "Heads" are key heads where all its numbers are whole and no more than the heads. */
static void read_kv(struct al_paper_sheet *s, size_t column)
{
	struct al_paper_head *head = &s->heads[column];
	struct al_paper_cell kv, all;
	size_t heads = 0;
	bool fits = head->meaning == AL_MEANS_CACHE && !head->unit
		&& strcmp(al_paper_normal(s->arena, head->text), "KV") == 0;

	while (fits && heads < s->table->n_columns
		&& (s->heads[heads].meaning != AL_MEANS_SIZE
			|| s->heads[heads].size != AL_DIM_HEADS))
		heads++;
	fits = fits && heads < s->table->n_columns;
	for (size_t i = s->n_heads; fits && i < s->table->n_rows; i++) {
		const struct al_paper_row *row = &s->table->rows[i];
		fits = !al_paper_cell_number(s->arena, al_paper_row_text(row, column), &kv)
			|| (al_paper_cell_number(s->arena, al_paper_row_text(row, heads), &all)
				&& !kv.unit && kv.digits == 0 && kv.value <= all.value);
	}
	if (!fits)
		return;
	head->meaning = AL_MEANS_SIZE;
	head->size = AL_DIM_KV_HEADS;
}

/* ---- the caption ---- */

/* The one model that it names: the words up to a comma or a bracket, the longest name first. */
static const struct al_paper_subject *find_in_text(const struct al_paper_sheet *s, const char *text)
{
	enum { MOST_WORDS = 4, MOST_STARTS = 80 };
	const struct al_paper_subject *found = NULL;
	size_t starts = 0;

	for (const char *p = text; *p && starts < MOST_STARTS; starts++) {
		const char *ends[MOST_WORDS];
		size_t n = 0;
		for (const char *q = p; n < MOST_WORDS && *q; q += strspn(q, " ")) {
			q += strcspn(q, " ,.;:()");
			while (*q == '.' && al_is_digit(q[1]))
				q += 1 + strcspn(q + 1, " ,.;:()");
			ends[n++] = q;
			if (*q != ' ')
				break;
		}
		const char *next = p + strcspn(p, " ");
		while (n-- > 0) {
			const struct al_paper_subject *subject = al_paper_subject_find(s->subjects,
				al_strndup(s->arena, p, (size_t)(ends[n] - p)));
			if (!subject)
				continue;
			if (found && found != subject)
				return NULL;
			found = subject;
			next = ends[n];
			break;
		}
		p = next + strspn(next, " ,.;:()");
	}
	return found;
}

static void read_caption(struct al_paper_sheet *s)
{
	const char *normal = al_paper_normal(s->arena, s->caption);

	al_paper_read_facts(s->caption, true, &s->facts);
	s->subject = find_in_text(s, s->caption);
	if (!strstr(normal, "KVCACHE"))
		return;
	s->meaning = strstr(normal, "PERTOKEN") ? AL_MEANS_CACHE_OF_TOKEN : AL_MEANS_CACHE;
	s->is_guess = al_paper_is_other(&s->subjects->vocabulary, s->arena, s->caption);
}

/* ---- all of it ---- */

/* The model that a row alone in its table's width names is that of the rows below it. */
static bool is_section(const struct al_paper_sheet *s, const struct al_paper_row *row,
	const struct al_paper_subject **section)
{
	const char *text = NULL;
	size_t n = 0;

	for (size_t i = 0; i < row->n_cells; i++)
		if (*row->cells[i]) {
			text = row->cells[i];
			n++;
		}
	if (n != 1 || al_paper_is_number(s->arena, text))
		return false;
	*section = find_in_text(s, text);
	return true;
}

bool al_paper_sheet_has_numbers(const struct al_paper_sheet *sheet)
{
	for (size_t i = 0; i < sheet->table->n_columns; i++)
		for (size_t k = sheet->n_heads;
			sheet->heads[i].meaning > AL_MEANS_SIZE && k < sheet->table->n_rows; k++)
			if (al_paper_is_number(sheet->arena,
				    al_paper_row_text(&sheet->table->rows[k], i)))
				return true;
	return false;
}

/* Quantities as rows and models as columns. */
static const struct al_paper_table *turn(struct al_arena *arena, const struct al_paper_table *from)
{
	struct al_paper_table *out = al_new(arena, struct al_paper_table);

	*out = (struct al_paper_table){.rows = al_new_array(arena, struct al_paper_row,
					       from->n_columns),
		.n_rows = from->n_columns,
		.n_columns = from->n_rows,
		.turned = from};
	for (size_t i = 0; i < out->n_rows; i++) {
		struct al_paper_row *row = &out->rows[i];
		row->line = from->rows[0].line;
		row->cells = al_new_array(arena, const char *, out->n_columns);
		row->n_cells = out->n_columns;
		for (size_t k = 0; k < row->n_cells; k++) {
			const char *text = al_paper_row_text(&from->rows[k], i);
			row->cells[k] = text == al_paper_spanned ? al_strdup(arena, "") : text;
		}
	}
	return out;
}

void al_paper_sheet_init(struct al_paper_sheet *sheet, struct al_arena *arena,
	const struct al_paper *paper, size_t table, struct al_paper_subjects *subjects,
	bool is_turned)
{
	const struct al_paper_table *t = is_turned ? turn(arena, &paper->tables[table])
						   : &paper->tables[table];
	const struct al_paper_subject *section = NULL;
	bool has_meaning = false;

	*sheet = (struct al_paper_sheet){.arena = arena,
		.paper = paper,
		.table = t,
		.subjects = subjects,
		.caption = al_paper_caption(paper, arena, table),
		.heads = al_new_array(arena, struct al_paper_head, t->n_columns),
		.is_judged = al_new_array(arena, bool, t->n_rows * t->n_columns * 2)};
	read_caption(sheet);
	const size_t rule = find_rule(t);
	while (sheet->n_heads < t->n_rows && is_head(sheet, sheet->n_heads, rule))
		sheet->n_heads++;
	for (size_t i = 0; i < t->n_columns; i++) {
		read_head(sheet, i);
		has_meaning |= sheet->heads[i].meaning >= AL_MEANS_SIZE;
	}
	for (size_t i = 0; i < t->n_columns; i++)
		read_kv(sheet, i);
	if (!sheet->subject)
		sheet->subject = find_in_text(sheet, sheet->heads[0].text);
	for (size_t i = sheet->n_heads; has_meaning && i < t->n_rows; i++) {
		if (!is_section(sheet, &t->rows[i], &section))
			al_paper_sheet_add_row(sheet, i, section);
	}
}
