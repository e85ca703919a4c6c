/* A paper's contradictions as Markdown, for its authors: each once, with all of its places. */
#include "paper/lint.h"
#include "scenario/scenario.h"

/* Is it printed for the same reason as an earlier row? */
static bool is_same(const struct al_table *table, size_t a, size_t b)
{
	static const char *const keys[] = {"verdict", "printed", "expected", "note", "derivation"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (strcmp(al_table_text(table, a, keys[i]), al_table_text(table, b, keys[i])) != 0)
			return false;
	return true;
}

static bool is_told(const struct al_table *table, size_t row)
{
	for (size_t i = 0; i < row; i++)
		if (is_same(table, i, row))
			return true;
	return false;
}

/* A bar would end the cell. */
static void add_cell(struct al_text *out, const char *text)
{
	for (const char *p = *text ? text : "-"; *p; p++)
		al_text_addf(out, *p == '|' ? "\\%c" : "%c", *p);
	al_text_add(out, " | ");
}

static void add_places(const struct al_table *table, size_t row, struct al_text *out)
{
	const char *comma = "| ";

	for (size_t i = row; i < table->n_rows; i++) {
		double line = 0;
		if (!is_same(table, i, row))
			continue;
		al_table_number(table, i, "line", &line);
		al_text_addf(out, "%s%s:%.0f", comma, al_table_text(table, i, "file"), line);
		comma = ", ";
	}
	al_text_add(out, " | ");
}

static const char *why(const struct al_table *table, size_t row)
{
	static const char sign[] = "erratum? ";
	const char *note = al_table_text(table, row, "note");

	return strncmp(note, sign, strlen(sign)) == 0 ? note + strlen(sign) : note;
}

static size_t add_verdict(const struct al_table *table, enum al_verdict verdict, const char *title,
	struct al_text *out)
{
	size_t n = 0;

	for (size_t i = 0; i < table->n_rows; i++) {
		const bool is_note = verdict != AL_INCONSISTENT
			&& !*al_table_text(table, i, "cause");
		if (strcmp(al_table_text(table, i, "verdict"), al_verdict_names[verdict]) != 0
			|| is_note || is_told(table, i))
			continue;
		if (n++ == 0)
			al_text_addf(out,
				"\n## %s\n\n| place | printed | derived | why | derivation |\n"
				"|---|---|---|---|---|\n",
				title);
		add_places(table, i, out);
		add_cell(out, al_table_text(table, i, "printed"));
		add_cell(out, al_table_text(table, i, "expected"));
		add_cell(out, why(table, i));
		add_cell(out, al_table_text(table, i, "derivation"));
		out->data[--out->length] = '\0';
		al_text_add(out, "\n");
	}
	return n;
}

void al_paper_letter(const struct al_table *table, struct al_text *out)
{
	al_text_add(out, "# Numbers that don't follow from the paper's other numbers\n");
	size_t n = add_verdict(table, AL_INCONSISTENT, "Contradictions", out);
	n += add_verdict(table, AL_UNDERIVABLE, "To be explained", out);
	n += add_verdict(table, AL_CONSISTENT, "Right in another convention", out);
	if (n == 0)
		al_text_add(out, "\nNone was found.\n");
	for (size_t i = 0; i < table->n_notes; i++)
		al_text_addf(out, "%s%s.\n", i ? "" : "\n", table->notes[i]);
}
