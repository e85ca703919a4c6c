/* Rows of reference, by their labels, their marks and the heads of columns. */
#include "paper/bases.h"

/* "1.0x", "100%", "0%", a dash: the row to which others refer. 1 alone is a number as any. */
static bool is_mark(const struct al_paper_number *n)
{
	static const char *const dashes[] = {"\u2013", "\u2014", "\u00b10"};
	const char *text = n->text ? n->text : "";

	if (n->half > 0 && n->value != 0)
		return (n->digits > 0 || strpbrk(text, "x%")) && (n->value == 1 || n->value == 100);
	return !text[strspn(text, "-+0.%")] || al_paper_is_baseline(text)
		|| al_find_name(text, dashes, sizeof(dashes) / sizeof(*dashes)) >= 0;
}

/* "FP16 (default)", "OpenAlex (baseline)" */
static bool is_labelled(const struct al_paper_grid *g, size_t row)
{
	const char *label = g->labels[row], *open = strchr(label, '('), *at = open ? open : "";
	const size_t n = open > label ? (size_t)(open - label) - (open[-1] == ' ') : 0;

	return *label
		&& (al_paper_is_baseline(label)
			|| strstr(al_paper_normal(g->arena, label), "BASELINE")
			|| (n > 0 && al_paper_is_baseline(al_strndup(g->arena, label, n)))
			|| (*at
				&& al_paper_is_baseline(
					al_strndup(g->arena, at + 1, strcspn(at + 1, ")")))));
}

/* The marked row before each; the last one for all where no other is marked; else the first row
 * before the marked ones. */
static void find_marked(struct al_paper_bases *bases, const struct al_paper_grid *g, size_t column)
{
	size_t n = 0, base = 0;

	for (size_t i = 0; i < g->n_rows; i++)
		if (is_mark(al_paper_grid_at(g, i, column))) {
			base = i;
			n++;
		}
	base = n == 1 && base == g->n_rows - 1 ? base : 0;
	for (size_t i = 0; i < g->n_rows; i++) {
		if (is_mark(al_paper_grid_at(g, i, column)))
			base = i;
		bases->rows[AL_BASE_MARKED][i] = base;
	}
	bases->is_sure[AL_BASE_MARKED] = n == 1;
}

/* What a head refers to: "M4" of "share of M4"; NULL: nothing. */
static const char *name_of_reference(const struct al_paper_grid *g, const char *head)
{
	const struct al_paper_list *words =
		&g->sheet->subjects->vocabulary.words[AL_WORDS_REFERRING];
	const char *found = NULL;

	for (size_t i = 0; i < words->n; i++) {
		const char *word = strstr(head, words->items[i]);
		found = word && (!found || word > found) ? word + strlen(words->items[i]) : found;
	}
	return found ? al_paper_normal(g->arena, found) : NULL;
}

/* The one label that begins with this name; else `n_rows`. */
static size_t find_beginning(const struct al_paper_grid *g, const char *name)
{
	size_t found = g->n_rows;

	for (size_t i = 0; name && strlen(name) > 1 && i < g->n_rows; i++)
		if (strncmp(al_paper_normal(g->arena, g->labels[i]), name, strlen(name)) == 0) {
			if (found < g->n_rows)
				return g->n_rows;
			found = i;
		}
	return found;
}

/* "vs q8_0": the row of this label. */
void al_paper_bases_look(struct al_paper_bases *bases, struct al_paper_grid *g, size_t column)
{
	const char *name = column < g->n_columns ? g->columns[column].name : "";
	const char *head = al_paper_normal(g->arena, name);
	size_t found = 0, longest = 1;

	find_marked(bases, g, column);
	bases->given = al_paper_grid_base(g, name);
	for (size_t i = 0; i < g->n_rows; i++) {
		const char *label = al_paper_normal(g->arena, g->labels[i]);
		if (strlen(label) > longest && strstr(head, label)) {
			found = i;
			longest = strlen(label);
		}
	}
	const size_t beginning = longest > 1 ? g->n_rows
					     : find_beginning(g, name_of_reference(g, name));
	if (beginning < g->n_rows)
		found = beginning;
	bases->is_sure[AL_BASE_IN_HEAD] = longest > 1 || beginning < g->n_rows;
	for (size_t i = 0; i < g->n_rows; i++)
		bases->rows[AL_BASE_IN_HEAD][i] = found;
}

/* Is there a rule, or a line of text or of none, before the row? */
static bool begins_block(const struct al_paper_grid *g, size_t row)
{
	const struct al_paper_row *rows = g->sheet->table->rows + g->sheet->n_heads;
	bool has_numbers = false;

	for (size_t k = 1; k < g->n_columns; k++)
		has_numbers |= al_paper_grid_at(g, row - 1, k)->half > 0;
	return !has_numbers
		|| (!g->is_turned
			&& (rows[row].has_rule || rows[row].line > rows[row - 1].line + 1));
}

/* The first row with a base's label; the first one of each label, for those below it that have the
 * same or none; the last one; the one before; the first one of a block. */
void al_paper_bases_init(struct al_paper_bases *bases, const struct al_paper_grid *g,
	struct al_arena *scratch)
{
	const size_t n = g->n_rows;
	size_t labelled = n - 1, group = 0;

	for (size_t i = 0; i < AL_N_BASES; i++)
		bases->rows[i] = al_new_array(scratch, size_t, n);
	for (size_t i = n; i-- > 0;)
		labelled = is_labelled(g, i) ? i : labelled;
	for (size_t i = 0; i < n; i++) {
		const char *label = g->labels[i];
		group = *label && strcmp(label, g->labels[group]) != 0 ? i : group;
		bases->rows[AL_BASE_LABELLED][i] = labelled;
		bases->rows[AL_BASE_OF_GROUP][i] = group;
		bases->rows[AL_BASE_LAST][i] = n - 1;
		bases->rows[AL_BASE_BEFORE][i] = i > 0 ? i - 1 : 0;
		bases->rows[AL_BASE_OF_BLOCK][i] = i > 0 && !begins_block(g, i)
			? bases->rows[AL_BASE_OF_BLOCK][i - 1]
			: i;
	}
}
