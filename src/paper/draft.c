/* Drafting a map: from the heads and labels of a table, for a reader to complete. */

#include "base/json.h"
#include "paper/lint.h"
#include "paper/sheet.h"
#include "scenario/printed.h"

/* NULL: none. */
static const char *column_of_head(const struct al_paper_subjects *subjects, struct al_arena *arena,
	const char *head)
{
	const struct al_paper_vocabulary *v = &subjects->vocabulary;
	const char *column = al_paper_meaning(v, arena, head)->column;
	return column ? column
		      : al_paper_heads_find(v->columns, v->n_columns, al_paper_normal(arena, head))
				->column;
}

/* Rows from the first on that have a variant's name at the left. */
static size_t count_named(const struct al_paper_table *table, size_t column,
	enum al_catalog_kind kind, struct al_paper_subjects *subjects, struct al_arena *arena,
	size_t *first)
{
	const char **names;
	size_t n = 0;

	*first = table->n_rows;
	for (size_t i = 0; i < table->n_rows; i++) {
		if (al_paper_names(kind, NULL, subjects, arena,
			    al_paper_row_text(&table->rows[i], column), &names)
			== 0)
			continue;
		*first = n ? *first : i;
		n++;
	}
	return n;
}

static bool is_numeric(const struct al_paper_table *table, size_t first, size_t column,
	struct al_arena *arena)
{
	size_t n = 0, of = 0;

	for (size_t i = first; i < table->n_rows; i++) {
		const char *cell = al_paper_row_text(&table->rows[i], column);
		of += *cell != '\0';
		cell = al_paper_number(arena, cell);
		n += *cell && strspn(cell, "0123456789.,()- \u00b1kMBi%x") == strlen(cell);
	}
	return n > 0 && 2 * n >= of;
}

static bool has_brackets(const struct al_paper_table *table, size_t first, size_t column)
{
	size_t n = 0;

	for (size_t i = first; i < table->n_rows; i++)
		n += strchr(al_paper_row_text(&table->rows[i], column), '(') != NULL;
	return n > (table->n_rows - first) / 2;
}

/* Cuts the unit off "KV cache (GiB)", "Params [M]"; NULL: there is none. */
const char *al_paper_cut_unit(char *head)
{
	static const char brackets[] = " ()[],/";
	size_t n = strlen(head);

	while (n > 0 && strchr(brackets, head[n - 1]))
		head[--n] = '\0';
	while (n > 0 && !strchr(brackets, head[n - 1]))
		n--;
	const char *unit = strcmp(head + n, "K") == 0 ? "k" : head + n;
	const bool is_letter = *unit != '%' && strlen(unit) == 1; /* "T" may be time */
	if ((is_letter && (n == 0 || !strchr("([,", head[n - 1])))
		|| (strcmp(unit, "%") != 0 && strcmp(unit, "bytes") != 0
			&& al_unit_factor(unit) == 1))
		return NULL;
	if (n > 0)
		head[n - 1] = '\0';
	return unit;
}

/* "cache_bytes in GiB"; B of bytes is no unit of a billion. */
static const char *with_unit(struct al_arena *arena, const char *column, const char *unit)
{
	const bool is_of_bytes = column == strstr(column, "cache_bytes");

	if (!unit || al_unit_factor(unit) == 1 || (is_of_bytes && strcmp(unit, "B") == 0))
		return column;
	return strncmp(column, "set:", 4) == 0 && strcmp(unit, "k") != 0
		? column
		: al_format(arena, "%s in %s", column, unit);
}

/* The word of the lowest head, which may have its unit in a row of its own. */
static const char *draft_column(const struct al_paper_table *table, size_t first, size_t column,
	const struct al_paper_subjects *subjects, struct al_arena *arena)
{
	const char *unit = NULL;

	for (size_t i = first; i-- > 0;) {
		char *head = al_strdup(arena, al_paper_row_text(&table->rows[i], column));
		const char *own = al_paper_cut_unit(head);
		unit = own ? own : unit;
		if (!*al_paper_normal(arena, head))
			continue;
		/* "Cache (per token)" is another number. */
		const char *known = strpbrk(head, "([") ? NULL
							: column_of_head(subjects, arena, head);
		if (!known)
			break;
		return with_unit(arena, known, unit);
	}
	if (!is_numeric(table, first, column, arena))
		return "skip";
	return has_brackets(table, first, column) ? "score(spread)" : "score";
}

static void draft_columns(const struct al_paper_table *table, struct al_paper_subjects *subjects,
	struct al_arena *arena, struct al_text *out)
{
	size_t first = 1, other, names = 0;

	while (names < table->n_columns
		&& count_named(table, names, AL_CATALOG_VARIANTS, NULL, arena, &first) == 0)
		names++;
	if (names == table->n_columns)
		first = 1;
	for (size_t i = 0; i < table->n_columns; i++) {
		const bool is_model = i != names
			&& count_named(table, i, AL_CATALOG_MODELS, subjects, arena, &other) > 0;
		al_text_add(out, i ? ", " : "");
		al_json_quote(out,
			i == names	   ? "name"
				: is_model ? "model"
					   : draft_column(table, first, i, subjects, arena));
	}
}

static void draft_table(const struct al_paper *paper, size_t index,
	struct al_paper_subjects *subjects, struct al_arena *arena, struct al_text *out)
{
	const struct al_paper_table *table = &paper->tables[index];

	al_text_addf(out, "%s\n    {\"table\": %zu, \"id\": \"t%zu\", \"note\": ",
		out->data[out->length - 1] == '}' ? "," : "", index + 1, index + 1);
	al_json_quote(out,
		al_format(arena, "%s: %s", al_paper_place(paper, arena, table->rows[0].line),
			al_paper_row_text(&table->rows[0], 0)));
	al_text_add(out, ",\n     \"columns\": [");
	draft_columns(table, subjects, arena, out);
	al_text_add(out, "]}");
}

void al_paper_draft(const struct al_paper *paper, struct al_paper_subjects *subjects,
	struct al_text *out)
{
	AL_ARENA(arena);
	size_t n = 0;

	al_text_add(out,
		"{\n  \"note\": \"add the \\\"model\\\" that variants are counted in, give "
		"\\\"names\\\" to labels that aren't found, and read each word of the "
		"columns\",\n  \"basis\": {\"per\": \"model\", "
		"\"output_projection\": \"full\", \"biases\": false},\n"
		"  \"names\": {},\n  \"tables\": [");
	for (size_t i = 0; i < paper->n_tables && n < AL_PAPER_MOST_TABLES; i++)
		if (paper->tables[i].n_rows > 0
			&& paper->tables[i].n_columns <= AL_PAPER_MOST_COLUMNS) {
			draft_table(paper, i, subjects, &arena, out);
			n++;
		}
	al_text_add(out, n ? "\n  ]\n}\n" : "]\n}\n");
}
