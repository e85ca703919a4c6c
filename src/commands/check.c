/* check: recomputes the numbers that a paper prints. */
#include "commands/check_paper.h"
#include "commands/scenarios.h"
#include "report/writer.h"

#include <string.h>

/* ---- on a terminal ---- */

struct page {
	struct al_arena *arena;
	const struct al_style *style;
	const struct al_table *table;
	struct al_text *out;
};

/* A cell as people read it; NULL: it is missing. */
static const char *cell_of(const struct page *p, size_t row, const char *key)
{
	int column = al_table_find_column(p->table, key);
	const struct al_cell *cell = &p->table->rows[row][column];

	return cell->kind == AL_CELL_MISSING
		? NULL
		: al_cell_display(p->arena, p->style, &p->table->columns[column], cell);
}

static void add_line(const struct page *p, size_t indent, const char *text)
{
	al_text_add_repeated(p->out, ' ', indent);
	al_help_add_wrapped(p->out, text, indent);
}

/* "printed 1.12, found 1.63 (1.61 to 1.64)" */
static const char *compare(const struct page *p, size_t row)
{
	const char *printed = cell_of(p, row, "printed"), *value = cell_of(p, row, "value"),
		   *low = cell_of(p, row, "low"), *high = cell_of(p, row, "high");
	bool is_range = low && high && strcmp(low, high) != 0;

	return al_format(p->arena, "printed %s%s%s%s%s%s%s%s", printed ? printed : "-",
		value ? ", found " : "", value ? value : "", is_range ? " (" : "",
		is_range ? low : "", is_range ? " to " : "", is_range ? high : "",
		is_range ? ")" : "");
}

static void add_claim(const struct page *p, size_t row, enum al_verdict verdict)
{
	const char *where = cell_of(p, row, "where"), *note = cell_of(p, row, "note");
	const char *kind = al_table_text(p->table, row, "kind");
	bool is_printed = strcmp(kind, al_claim_kind_names[AL_CLAIM_PRINTED]) == 0;
	const char *head = al_format(p->arena, "%s %s: %s%s%s%s", cell_of(p, row, "scenario"),
		cell_of(p, row, "id"), al_verdict_names[verdict], is_printed ? "" : " (",
		is_printed ? "" : kind, is_printed ? "" : ")");

	if (verdict == AL_REPRODUCED) {
		add_line(p, 0,
			al_format(p->arena, "%s, %s%s%s", head, where ? where : "",
				where ? ", " : "", compare(p, row)));
		return;
	}
	add_line(p, 0, head);
	if (where)
		add_line(p, 2, where);
	add_line(p, 2, compare(p, row));
	if (note)
		add_line(p, 2, note);
}

static void add_claims(const struct page *p, enum al_verdict verdict)
{
	for (size_t row = 0; row < p->table->n_rows; row++)
		if (strcmp(al_table_text(p->table, row, "verdict"), al_verdict_names[verdict]) == 0)
			add_claim(p, row, verdict);
}

/* On a terminal: each claim in lines of at most 79 columns, what is not reproduced first, then the
 * notes, of which the first, which holds the counts, is last. */
static const char *text_of(struct al_arena *arena, const struct al_style *style,
	const struct al_table *table)
{
	static const enum al_verdict order[] = {AL_INCONSISTENT, AL_UNDERIVABLE, AL_CONSISTENT,
		AL_REPRODUCED};
	struct al_text text;
	const struct page page = {arena, style, table, &text};

	al_text_init(&text);
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		add_claims(&page, order[i]);
	al_text_add(&text, "\n");
	for (size_t i = 1; i <= table->n_notes; i++)
		add_line(&page, 0, al_printable(arena, table->notes[i % table->n_notes]));
	if (style->summary) {
		al_text_add(&text, "\n");
		add_line(&page, 0, style->summary);
	}
	const char *copy = al_strdup(arena, text.data);
	al_text_finish(&text);
	return copy;
}

/* ---- in a sentence ---- */

struct report {
	struct al_table table;
	struct al_check_counts counts;
};

static bool check_one(void *context, struct al_scenario *scenario, struct al_error *err)
{
	struct report *report = context;

	return al_scenario_check(scenario, &report->table, &report->counts, err);
}

static size_t sum(const size_t *numbers, size_t n)
{
	size_t all = 0;

	for (size_t i = 0; i < n; i++)
		all += numbers[i];
	return all;
}

static void note_verdicts(struct al_table *table, const char *what, const size_t *verdicts)
{
	al_table_note(table,
		"%zu %s: %zu reproduced, %zu consistent, %zu inconsistent, %zu underivable",
		sum(verdicts, AL_N_VERDICTS), what, verdicts[AL_REPRODUCED],
		verdicts[AL_CONSISTENT], verdicts[AL_INCONSISTENT], verdicts[AL_UNDERIVABLE]);
}

/* What is printed once counts once; the other claims say more about the same numbers. */
static void add_notes(struct al_table *table, const struct al_check_counts *counts)
{
	const size_t *kinds = counts->kinds;

	note_verdicts(table, "printed numbers", counts->numbers);
	if (sum(counts->verdicts, AL_N_VERDICTS) > kinds[AL_CLAIM_PRINTED]) {
		note_verdicts(table, "claims", counts->verdicts);
		al_table_note(table,
			"besides printed numbers: other readings %zu, repeats %zu, identities %zu, "
			"derived %zu, statements %zu",
			kinds[AL_CLAIM_READING], kinds[AL_CLAIM_REPEAT], kinds[AL_CLAIM_IDENTITY],
			kinds[AL_CLAIM_DERIVED], kinds[AL_CLAIM_STATEMENT]);
	}
	al_table_note(table,
		"inconsistent: %zu listed errata, %zu that another reading explains, %zu others",
		counts->errata, counts->read_otherwise, counts->unlisted);
	if (counts->equalities)
		al_table_note(table,
			"%zu of %zu printed numbers that hold would hold too with their last digit "
			"one more",
			counts->indifferent, counts->equalities);
	if (counts->wrong_errata)
		al_table_note(table, "%zu listed errata are not inconsistent",
			counts->wrong_errata);
}

/* "; that contradict what derives them: 21, each a listed erratum". A number that another reading
 * explains holds. */
static const char *say_wrong(struct al_arena *arena, const struct al_check_counts *counts)
{
	const size_t wrong = counts->numbers[AL_INCONSISTENT];
	const char *listed = counts->unlisted == 0
		? wrong == 0 ? "" : ", each a listed erratum"
		: al_format(arena, " (claims that are no listed errata: %zu)", counts->unlisted);

	return wrong + counts->unlisted == 0
		? ""
		: al_format(arena, "; that contradict what derives them: %zu%s", wrong, listed);
}

static const char *say_rest(struct al_arena *arena, const struct al_check_counts *counts)
{
	const size_t unknown = counts->numbers[AL_UNDERIVABLE], errata = counts->wrong_errata;

	return al_format(arena, "%s%s",
		unknown ? al_format(arena, "; that can't be derived: %zu", unknown) : "",
		errata ? al_format(arena, "; listed errata that hold after all: %zu", errata) : "");
}

static const char *say(struct al_arena *arena, const struct al_check_counts *counts)
{
	const size_t *numbers = counts->numbers;

	return al_format(arena,
		"Printed numbers that hold: %zu of %zu, %zu of them exactly, %zu within the "
		"rounding of what they derive from%s%s.",
		numbers[AL_REPRODUCED] + numbers[AL_CONSISTENT], sum(numbers, AL_N_VERDICTS),
		numbers[AL_REPRODUCED], numbers[AL_CONSISTENT], say_wrong(arena, counts),
		say_rest(arena, counts));
}

static bool check_scenarios(struct al_session *session, struct al_error *err)
{
	struct report report = {0};
	const struct al_check_counts *counts = &report.counts;

	al_check_table_init(&report.table);
	bool ok = al_each_scenario(session, check_one, &report, err);
	add_notes(&report.table, counts);
	if (ok)
		session->style.summary = say(&session->arena, counts);
	if (al_session_is_on_terminal(session))
		session->raw = text_of(&session->arena, &session->style, &report.table);
	al_session_take(session, &report.table);
	session->answer_is_no = counts->unlisted > 0 || counts->wrong_errata > 0;
	return ok;
}

static bool run(struct al_session *session, struct al_error *err)
{
	return al_session_names_paper(session) ? al_check_papers(session, err)
					       : check_scenarios(session, err);
}

static const struct al_option_row rows[] = {
	OPTION_TEXT(struct al_check_options, map, "map", "FILE",
		"of a paper: what its tables' columns are; default: PAPER without its ending, "
		"with .map.json"),
	OPTION_FLAG(struct al_check_options, drafts_map, "draft-map",
		"of a paper: print a map to begin with"),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS, {rows, 0}, {NULL, 0}};

const struct al_command al_command_check = {
	.words = "[SCENARIO...|PAPER...]",
	.examples = {"check", "check mhe-memory -f csv", "check paper.tex --map paper.map.json"},
	.options = groups,
	.options_size = sizeof(struct al_check_options),
	.run = run,
};
