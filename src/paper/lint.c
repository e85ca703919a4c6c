/* Linting a paper. */
#include "paper/lint.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "scenario/printed.h"
#include "scenario/scenario.h"
#include "scenario/units.h"

static const char not_read[] = "not read";

enum { C_FILE, C_LINE, C_PRINTED, C_EXPECTED, C_VERDICT, C_NOTE };

void al_lint_table_init(struct al_table *table)
{
	static const char *const keys[] = {"file", "line", "printed", "expected", "verdict",
		"note"};

	al_table_init(table, "paper", "Numbers of the paper that do not follow");
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		al_table_add_column(table,
			(struct al_column){.key = keys[i],
				.digits = AL_DIGITS_ALL,
				.is_key = i <= C_LINE});
}

struct linter {
	const struct al_paper *paper;
	struct al_bound *bound;
	struct al_arena *arena; /* the bound's */
	struct al_table *verdicts; /* of the claims, in their order */
	struct al_paper_truth *truths;
	size_t n_truths;
	struct al_paper_finding *findings; /* to be sorted by line */
	size_t n_findings, room;
	struct al_lint_counts *counts;
};

static void add_finding(struct linter *l, struct al_paper_finding finding)
{
	finding.place = l->n_findings;
	l->findings = al_grow(l->arena, l->findings, l->n_findings, &l->room, sizeof(*l->findings));
	l->findings[l->n_findings++] = finding;
}

static const char *cell_text(const struct linter *l, size_t row, const char *key)
{
	return al_table_text(l->verdicts, row, key);
}

static enum al_verdict verdict_of(const struct linter *l, size_t row)
{
	const char *word = cell_text(l, row, "verdict");

	for (int i = 0; i < AL_N_VERDICTS; i++)
		if (strcmp(word, al_verdict_names[i]) == 0)
			return (enum al_verdict)i;
	return AL_UNDERIVABLE;
}

/* All digits where they are few, otherwise two more than are printed. */
static const char *expected_text(struct al_arena *arena, mpq_srcptr value, int digits)
{
	enum { MOST_DECIMALS = 9 };
	mpq_t rounded;

	mpq_init(rounded);
	al_exact_round(rounded, value, MOST_DECIMALS);
	const bool is_short = mpq_equal(rounded, value);
	mpq_clear(rounded);
	return is_short ? al_exact_text(arena, value) : al_exact_decimal(arena, value, digits + 2);
}

/* What would be right, as it would be printed. */
static void add_truth(struct linter *l, const struct al_paper_site *site, mpq_srcptr value,
	const struct al_printed *printed, bool is_contradicted)
{
	const char *right = al_exact_decimal(l->arena, value, printed->digits);
	const bool has_commas = strchr(site->printed, ',') != NULL;
	const char *unit = printed->unit ? printed->unit : site->unit ? site->unit : "";

	l->truths[l->n_truths++] =
		(struct al_paper_truth){.printed = al_strndup(l->arena, site->printed,
						strspn(site->printed, "0123456789.,")),
			.right = has_commas || !*unit ? al_exact_grouped(l->arena, right) : right,
			.unit = unit,
			.expected = expected_text(l->arena, value, printed->digits),
			.is_contradicted = is_contradicted};
}

static const char *note_of(struct al_arena *arena, const struct al_paper_site *site,
	mpq_srcptr value, const struct al_printed *printed)
{
	const char *number = al_strndup(arena, site->printed,
		strspn(site->printed, "0123456789.,"));
	const char *right = al_exact_decimal(arena, value, printed->digits);

	if (strchr(number, ','))
		right = al_exact_grouped(arena, right);
	return al_paper_is_slip(number, right) ? al_format(arena, "erratum? a slip for %s%s", right,
		       site->printed + strlen(number))
					       : "erratum?";
}

/* What a number that was recomputed is told with. */
static struct al_paper_finding finding_of(const struct linter *l, size_t index,
	const struct al_cell *value, const struct al_printed *printed)
{
	const struct al_paper_site *site = &l->bound->sites[index];
	const enum al_verdict verdict = verdict_of(l, index);
	const bool is_contradicted = verdict == AL_INCONSISTENT;
	struct al_paper_finding finding = {.line = site->line,
		.printed = site->printed,
		.verdict = verdict == AL_UNDERIVABLE ? NULL : al_verdict_names[verdict],
		.note = is_contradicted ? "erratum?" : cell_text(l, index, "note")};

	if (value->kind == AL_CELL_TEXT)
		finding.expected = al_strdup(l->arena, value->text);
	else if (value->kind == AL_CELL_EXACT)
		finding.expected = expected_text(l->arena, value->exact, printed->digits);
	if (value->kind == AL_CELL_EXACT && is_contradicted)
		finding.note = note_of(l->arena, site, value->exact, printed);
	return finding;
}

static void read_verdict(struct linter *l, size_t index)
{
	const struct al_paper_site *site = &l->bound->sites[index];
	const struct al_cell *value =
		&l->verdicts->rows[index][al_table_find_column(l->verdicts, "value")];
	const enum al_verdict verdict = verdict_of(l, index);
	struct al_printed printed;

	l->counts->verdicts[verdict]++;
	al_printed_init(&printed);
	const bool is_number = al_printed_parse(&printed, site->printed);
	add_finding(l, finding_of(l, index, value, &printed));
	if (is_number && value->kind == AL_CELL_EXACT && site->is_of_ledger)
		add_truth(l, site, value->exact, &printed, verdict == AL_INCONSISTENT);
	al_printed_finish(&printed);
}

static void read_prose(struct linter *l)
{
	struct al_paper_prose prose;

	al_paper_read_prose(l->paper, l->truths, l->n_truths, l->arena, &prose);
	for (size_t i = 0; i < prose.n_slips; i++)
		add_finding(l, prose.slips[i]);
	for (size_t i = 0; i < prose.n_runs; i++)
		add_finding(l, prose.runs[i]);
	l->counts->gaps += prose.n_runs;
	l->counts->in_prose += prose.n_repeats;
	l->counts->slips += prose.n_slips;
}

static void read_relations(struct linter *l)
{
	struct al_paper_relations relations;

	al_paper_read_relations(l->paper, l->arena, &relations);
	for (size_t i = 0; i < relations.n; i++)
		add_finding(l, relations.items[i]);
	for (size_t i = 0; i < AL_N_VERDICTS; i++) {
		l->counts->verdicts[i] += relations.n_verdicts[i];
		l->counts->numbers += relations.n_verdicts[i];
	}
	l->counts->gaps += relations.n_unread;
}

static void read_gaps(struct linter *l)
{
	for (size_t i = 0; i < l->bound->n_gaps; i++)
		add_finding(l,
			(struct al_paper_finding){.line = l->bound->gaps[i].line,
				.note = l->bound->gaps[i].why});
	l->counts->gaps += l->bound->n_gaps;
}

static int by_line(const void *a, const void *b)
{
	const struct al_paper_finding *left = a, *right = b;

	if (left->line != right->line)
		return left->line < right->line ? -1 : 1;
	return left->place < right->place ? -1 : left->place > right->place;
}

static void tell(struct linter *l, struct al_table *table)
{
	if (l->n_findings > 0)
		qsort(l->findings, l->n_findings, sizeof(*l->findings), by_line);
	for (size_t i = 0; i < l->n_findings; i++) {
		const struct al_paper_finding *finding = &l->findings[i];
		struct al_cell *row = al_table_add_row(table);
		al_cell_set_text(table, &row[C_FILE], l->paper->file);
		al_cell_set_int(table, &row[C_LINE], (int64_t)finding->line);
		if (finding->printed)
			al_cell_set_text(table, &row[C_PRINTED], finding->printed);
		if (finding->expected)
			al_cell_set_text(table, &row[C_EXPECTED], finding->expected);
		al_cell_set_text(table, &row[C_VERDICT],
			finding->verdict ? finding->verdict : not_read);
		if (finding->note && *finding->note)
			al_cell_set_text(table, &row[C_NOTE], finding->note);
	}
}

static bool judge(struct linter *l, const struct al_paper_map *map, struct al_catalog *catalog,
	struct al_error *err)
{
	struct al_check_counts counts = {0};
	struct al_scenario *scenario;

	l->truths = al_new_array(l->arena, struct al_paper_truth, l->bound->n_sites + 1);
	/* A place in it is no place in the paper. */
	const char *file = al_format(l->arena, "%s, as a scenario", l->paper->file);

	if (!al_scenario_parse(&scenario, catalog, "paper", file, "", l->bound->scenario.data,
		    l->bound->scenario.length, err))
		return al_in(err, "%s", map->doc.name);
	bool ok = al_scenario_check(scenario, l->verdicts, &counts, err)
		|| al_in(err, "%s", map->doc.name);
	for (size_t i = 0; ok && i < l->verdicts->n_rows; i++)
		read_verdict(l, i);
	al_scenario_destroy(scenario);
	return ok;
}

/* \claim's values are the author's scenario's. */
static bool judge_annotated(struct linter *l, const struct al_paper_map *map,
	struct al_catalog *catalog, struct al_scenario **scenario, struct al_error *err)
{
	struct al_check_counts counts = {0};
	const size_t n_before = l->verdicts->n_rows;

	if (!al_paper_open_scenario(scenario, catalog, map->scenario, l->bound->annotated.data, err)
		|| !al_scenario_check(*scenario, l->verdicts, &counts, err))
		return al_in(err, "%s", map->doc.name);
	for (size_t i = n_before; i < l->bound->n_sites; i++)
		read_verdict(l, i);
	return true;
}

static bool read_ledgers(struct linter *l, const struct al_paper_map *map,
	struct al_scenario *scenario, struct al_error *err)
{
	struct al_paper_ledgers ledgers;

	if (!al_paper_read_ledgers(l->paper, scenario, map->scenario, l->arena, &ledgers, err))
		return false;
	for (size_t i = 0; i < ledgers.n_findings; i++)
		add_finding(l, ledgers.findings[i]);
	l->counts->numbers += ledgers.n_right + ledgers.n_wrong;
	l->counts->verdicts[AL_REPRODUCED] += ledgers.n_right;
	l->counts->verdicts[AL_INCONSISTENT] += ledgers.n_wrong;
	l->counts->gaps += ledgers.n_findings - ledgers.n_wrong;
	return true;
}

static bool lint_by(struct linter *l, const struct al_paper_map *map, struct al_catalog *catalog,
	struct al_error *err)
{
	struct al_scenario *scenario = NULL;

	bool ok = al_paper_bind(l->bound, l->paper, map, catalog, err)
		&& judge(l, map, catalog, err)
		&& (!map->scenario || judge_annotated(l, map, catalog, &scenario, err))
		&& read_ledgers(l, map, scenario, err);
	al_scenario_destroy(scenario);
	return ok;
}

/* Without a map tables are only named. */
static bool lint_without(struct linter *l, struct al_catalog *catalog, struct al_error *err)
{
	static const char nothing[] = "{\"tables\":[]}";
	struct al_paper_map map;

	if (!al_paper_map_parse(&map, "no map", nothing, strlen(nothing), err))
		return false;
	bool ok = lint_by(l, &map, catalog, err);
	al_paper_map_finish(&map);
	return ok;
}

bool al_paper_lint(const struct al_paper *paper, const struct al_paper_map *map,
	struct al_catalog *catalog, struct al_table *table, struct al_lint_counts *counts,
	struct al_error *err)
{
	struct al_table verdicts;
	struct al_bound bound;
	struct linter l = {.paper = paper,
		.bound = &bound,
		.verdicts = &verdicts,
		.counts = counts};

	al_bound_init(&bound);
	l.arena = &bound.arena;
	al_check_table_init(&verdicts);
	bool ok = map ? lint_by(&l, map, catalog, err) : lint_without(&l, catalog, err);
	if (ok) {
		read_prose(&l);
		read_relations(&l);
		read_gaps(&l);
		tell(&l, table);
		counts->numbers += bound.n_sites;
		counts->scores += bound.n_data;
	}
	al_table_finish(&verdicts);
	al_bound_finish(&bound);
	return ok;
}

/* The rows from `first` on that say the same of one line: their numbers side by side. */
static size_t add_unread(const struct al_table *table, size_t first, const char *place,
	struct al_text *out)
{
	const char *note = al_table_text(table, first, "note");
	const struct al_cell *line = &table->rows[first][C_LINE];
	size_t end = first;

	al_text_addf(out, "%snot read: ", place);
	for (; end < table->n_rows; end++) {
		const char *printed = al_table_text(table, end, "printed");
		if (strcmp(al_table_text(table, end, "verdict"), not_read) != 0
			|| strcmp(al_table_text(table, end, "note"), note) != 0
			|| !mpq_equal(table->rows[end][C_LINE].exact, line->exact))
			break;
		al_text_addf(out, "%s%s", end > first && *printed ? ", " : "", printed);
	}
	al_text_addf(out, "%s%s\n", *al_table_text(table, first, "printed") ? ": " : "", note);
	return end;
}

void al_lint_text(const struct al_table *table, struct al_text *out)
{
	struct al_arena arena;

	al_arena_init(&arena);
	for (size_t i = 0; i < table->n_rows;) {
		const char *verdict = al_table_text(table, i, "verdict");
		const char *place = al_format(&arena, "%s:%s: ", al_table_text(table, i, "file"),
			al_exact_text(&arena, table->rows[i][C_LINE].exact));
		if (strcmp(verdict, not_read) == 0) {
			i = add_unread(table, i, place, out);
			continue;
		}
		if (strcmp(verdict, al_verdict_names[AL_INCONSISTENT]) == 0)
			al_text_addf(out, "%s%s: %s expected (%s)\n", place,
				al_table_text(table, i, "printed"),
				al_table_text(table, i, "expected"),
				al_table_text(table, i, "note"));
		i++;
	}
	for (size_t i = 0; i < table->n_notes; i++)
		al_text_addf(out, "%s\n", table->notes[i]);
	al_arena_finish(&arena);
}
