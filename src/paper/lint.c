/* Linting a paper. */
#include "paper/lint.h"

#include "paper/deriving.h"
#include "scenario/contents.h"
#include "scenario/printed.h"
#include "scenario/scenario.h"

static const char not_read[] = "not read";

#define OF(member) AL_MEMBER(struct al_paper_finding, member)
static const struct al_table_field fields[] = {
	{{.key = "file", .is_key = true}, OF(file)},
	{{.key = "line", .digits = AL_DIGITS_ALL, .is_key = true}, OF(line)},
	{{.key = "printed"}, OF(printed)},
	{{.key = "expected"}, OF(expected)},
	{{.key = "verdict"}, OF(verdict)},
	{{.key = "note"}, OF(note)},
	{{.key = "cause"}, OF(cause)},
	{{.key = "derivation"}, OF(derivation)},
	{{.key = "instead"}, OF(instead)},
	AL_FIELDS_END,
};
#undef OF

void al_lint_table_init(struct al_table *table)
{
	al_table_init(table, "paper", "Numbers in the paper that don't follow");
	al_table_add_fields(table, fields, 0);
}

struct linter {
	const struct al_paper *paper;
	const struct al_paper_options *options;
	struct al_paper_subjects *subjects;
	struct al_bound *bound;
	struct al_arena *arena; /* the bound's */
	struct al_table *verdicts; /* of the claims, in their order */
	struct al_paper_truth *truths;
	size_t n_truths;
	struct al_paper_findings findings; /* to be sorted by line */
	struct al_lint_counts *counts;
};

/* All digits where they are few, otherwise two more than are printed. */
static const char *expected_text(struct al_arena *arena, mpq_srcptr value, int digits)
{
	enum { MOST_DECIMALS = 9 };
	mpq_ptr rounded = al_exact_new(arena);

	al_exact_round(rounded, value, MOST_DECIMALS);
	return mpq_equal(rounded, value) ? al_exact_text(arena, value)
					 : al_exact_decimal(arena, value, digits + 2);
}

/* The right number, as it would be printed. */
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

/* What may have happened to a number that is contradicted; another convention is no error. */
static void explain(struct linter *l, const struct al_paper_site *site, mpq_srcptr value,
	const struct al_printed *printed, struct al_paper_finding *finding)
{
	const char *unit = printed->unit ? printed->unit : site->unit;
	const struct al_paper_suspect suspect = {.printed = site->printed,
		.value = mpq_get_d(printed->first),
		.right = mpq_get_d(value) / (double)printed->scale,
		.half = 0.5 * pow(10, -printed->digits),
		.digits = printed->digits,
		.unit = unit,
		.is_unit_known = l->options->gb != AL_GB_ANY,
		.is_bytes = unit && strchr(unit, 'B') && strcmp(unit, "B") != 0};
	const struct al_paper_cause cause = al_paper_find_cause(l->arena, &suspect);

	const char *instead = fabs(suspect.right) < 0x1p53
		? al_paper_instead(l->arena, site->printed, suspect.right, printed->digits)
		: al_exact_decimal(l->arena, value, printed->digits);

	finding->cause = cause.name;
	finding->note = !cause.name ? al_format(l->arena, "erratum? write %s", instead)
		: cause.is_note	    ? cause.text
				    : al_format(l->arena, "erratum? %s", cause.text);
	if (cause.is_note)
		finding->verdict = al_verdict_names[AL_CONSISTENT];
	else
		finding->instead = instead;
}

/* A recomputed number in its message, and the right value. */
static void read_verdict(struct linter *l, size_t index)
{
	const struct al_paper_site *site = &l->bound->sites[index];
	const struct al_cell *value =
		&l->verdicts->rows[index][al_table_find_column(l->verdicts, "value")];
	const int found = al_find_name(al_table_text(l->verdicts, index, "verdict"),
		al_verdict_names, AL_N_VERDICTS);
	const enum al_verdict verdict = found < 0 ? AL_UNDERIVABLE : (enum al_verdict)found;
	const bool is_contradicted = verdict == AL_INCONSISTENT;
	struct al_paper_finding finding = {.line = site->line,
		.printed = site->printed,
		.verdict = verdict == AL_UNDERIVABLE ? NULL : al_verdict_names[verdict],
		.note = is_contradicted ? "erratum?" : al_table_text(l->verdicts, index, "note")};
	struct al_printed printed;

	const bool is_number = al_printed_parse(&printed, l->arena, site->printed);
	if (value->kind == AL_CELL_TEXT)
		finding.expected = al_strdup(l->arena, value->text);
	else if (value->kind == AL_CELL_EXACT)
		finding.expected = expected_text(l->arena, value->exact, printed.digits);
	if (value->kind == AL_CELL_EXACT && is_contradicted)
		explain(l, site, value->exact, &printed, &finding);
	const bool is_wrong = finding.verdict == al_verdict_names[AL_INCONSISTENT];
	l->counts->verdicts[is_contradicted && !is_wrong ? AL_CONSISTENT : verdict]++;
	al_paper_findings_add(&l->findings, finding);
	if (is_number && printed.scale == 1 && value->kind == AL_CELL_EXACT && site->is_of_ledger)
		add_truth(l, site, value->exact, &printed, is_wrong);
}

static int by_line(const void *a, const void *b)
{
	const struct al_paper_finding *left = a, *right = b;
	const int order = al_compare(left->line, right->line);

	return order ? order : al_compare(left->place, right->place);
}

static void tell(struct linter *l, struct al_table *table)
{
	if (l->findings.n > 0)
		qsort(l->findings.items, l->findings.n, sizeof(*l->findings.items), by_line);
	for (size_t i = 0; i < l->findings.n; i++) {
		struct al_paper_finding *f = &l->findings.items[i];
		const struct al_paper_line *line = &l->paper->lines[f->line - 1];
		f->file = line->file;
		f->line = line->number;
		f->verdict = f->verdict ? f->verdict : not_read;
		f->note = f->note && *f->note ? f->note : NULL;
		al_table_add_record(table, f);
	}
}

/* The next of our claims, which come before those that the scenario has itself. */
static bool judge(struct linter *l, struct al_scenario *scenario, const struct al_paper_map *map,
	struct al_error *err)
{
	struct al_check_counts counts = {0};
	size_t i = l->verdicts->n_rows;

	if (!al_scenario_check(scenario, l->verdicts, &counts, err))
		return al_in(err, "%s", map->doc.name);
	for (; i < l->verdicts->n_rows && i < l->bound->n_sites; i++)
		read_verdict(l, i);
	return true;
}

static bool judge_tables(struct linter *l, const struct al_paper_map *map, struct al_error *err)
{
	struct al_scenario *scenario;

	l->truths = al_new_array(l->arena, struct al_paper_truth, l->bound->n_sites + 1);
	/* A place in it is no place in the paper. */
	const char *file = al_format(l->arena, "%s, as a scenario", l->paper->file);

	if (!al_scenario_parse(&scenario, l->subjects->catalog, "paper", file, "",
		    l->bound->scenario.data, l->bound->scenario.length, err))
		return al_in(err, "%s", map->doc.name);
	scenario->takes_unset = true;
	bool ok = judge(l, scenario, map, err);
	al_scenario_destroy(scenario);
	return ok;
}

/* Values of \claim come from the author's scenario. */
static bool judge_annotated(struct linter *l, const struct al_paper_map *map,
	struct al_scenario **scenario, struct al_error *err)
{
	if (!al_paper_open_scenario(scenario, l->subjects->catalog, map->scenario,
		    l->bound->annotated.data, err))
		return al_in(err, "%s", map->doc.name);
	return judge(l, *scenario, map, err);
}

static bool lint_by(struct linter *l, const struct al_paper_map *map, struct al_error *err)
{
	struct al_scenario *scenario = NULL;

	bool ok = al_paper_bind(l->bound, l->paper, map, l->subjects, err)
		&& judge_tables(l, map, err)
		&& (!map->scenario || judge_annotated(l, map, &scenario, err))
		&& al_paper_read_ledgers(l->paper, scenario, map->scenario, &l->findings, l->counts,
			err);
	al_scenario_destroy(scenario);
	return ok;
}

/* Without a map only \claim{} and \ledger{} are bound. */
static bool lint_without(struct linter *l, struct al_error *err)
{
	static const char nothing[] = "{\"tables\":[]}";
	AL_ENDS(al_paper_map_finish) struct al_paper_map map = {0};

	return al_paper_map_parse(&map, "no map", nothing, strlen(nothing), err)
		&& lint_by(l, &map, err);
}

/* A numbers.tex before the document may come later; in the document, what is missing may be
 * wrong. */
static void add_files(struct linter *l)
{
	for (size_t i = 0; i < l->paper->n_unread; i++) {
		const struct al_paper_unread *unread = &l->paper->unread[i];
		al_paper_findings_add(&l->findings,
			(struct al_paper_finding){.line = unread->line,
				.printed = unread->macro,
				.note = unread->why});
		l->counts->files += unread->is_in_body;
	}
	l->counts->gaps += l->paper->n_unread;
}

bool al_paper_open_subjects(struct al_paper_subjects *subjects, const struct al_paper *paper,
	const struct al_paper_options *options, struct al_arena *arena, struct al_catalog *catalog,
	struct al_error *err)
{
	const char *slash = strrchr(paper->file, '/');
	const char *beside = al_format(arena, "%.*sconfigs",
		slash ? (int)(slash + 1 - paper->file) : 0, paper->file);

	return al_paper_subjects_init(subjects, arena, catalog,
		options->models ? options->models : beside, options->models != NULL, err);
}

bool al_paper_lint(const struct al_paper *paper, const struct al_paper_map *map,
	const struct al_paper_options *options, struct al_catalog *catalog, struct al_table *table,
	struct al_lint_counts *counts, struct al_error *err)
{
	AL_ENDS(al_table_finish) struct al_table verdicts;
	AL_ENDS(al_bound_finish) struct al_bound bound;
	struct al_paper_subjects subjects;
	struct linter l = {.paper = paper,
		.options = options,
		.subjects = &subjects,
		.bound = &bound,
		.arena = &bound.arena,
		.findings.arena = &bound.arena,
		.verdicts = &verdicts,
		.counts = counts};

	al_bound_init(&bound);
	al_check_table_init(&verdicts);
	if (!al_paper_open_subjects(&subjects, paper, options, &bound.arena, catalog, err)
		|| !(map ? lint_by(&l, map, err) : lint_without(&l, err)))
		return false;
	const struct al_deriving deriving = {.paper = paper,
		.arena = &bound.arena,
		.options = options,
		.out = &l.findings,
		.counts = counts,
		.notes = table};
	al_paper_derive(&deriving, map, &subjects);
	if (!al_paper_subjects_check(&subjects, err))
		return false;
	al_paper_read_prose(paper, l.truths, l.n_truths, &l.findings, counts);
	al_paper_read_sentences(&deriving, &subjects);
	add_files(&l);
	for (size_t i = 0; i < bound.gaps.n; i++)
		al_paper_findings_add(&l.findings, bound.gaps.items[i]);
	tell(&l, table);
	counts->tables += map ? map->n_tables : 0;
	counts->gaps += bound.gaps.n;
	counts->numbers += bound.n_sites;
	counts->scores += bound.n_data;
	return true;
}

/* The rows from `first` on with the same finding of one line: their numbers side by side. */
static size_t add_unread(const struct al_table *table, size_t first, const char *place,
	struct al_text *out)
{
	const char *note = al_table_text(table, first, "note");
	const char *file = al_table_text(table, first, "file");
	double line = 0, other;
	size_t end = first;

	al_table_number(table, first, "line", &line);
	al_text_addf(out, "%snot read: ", place);
	for (; end < table->n_rows; end++) {
		const char *printed = al_table_text(table, end, "printed");
		if (strcmp(al_table_text(table, end, "verdict"), not_read) != 0
			|| strcmp(al_table_text(table, end, "note"), note) != 0
			|| strcmp(al_table_text(table, end, "file"), file) != 0
			|| !al_table_number(table, end, "line", &other) || other != line)
			break;
		al_text_addf(out, "%s%s", end > first && *printed ? ", " : "", printed);
	}
	al_text_addf(out, "%s%s\n", *al_table_text(table, first, "printed") ? ": " : "", note);
	return end;
}

void al_lint_text(const struct al_table *table, struct al_text *out)
{
	AL_ARENA(arena);

	for (size_t i = 0; i < table->n_rows;) {
		const char *verdict = al_table_text(table, i, "verdict");
		double line = 0;
		al_table_number(table, i, "line", &line);
		const char *place = al_format(&arena, "%s:%.0f: ", al_table_text(table, i, "file"),
			line);
		if (strcmp(verdict, not_read) == 0) {
			i = add_unread(table, i, place, out);
			continue;
		}
		const char *derivation = al_table_text(table, i, "derivation");
		const bool is_wrong = strcmp(verdict, al_verdict_names[AL_INCONSISTENT]) == 0;
		if (is_wrong)
			al_text_addf(out, "%s%s: %s expected (%s)\n", place,
				al_table_text(table, i, "printed"),
				al_table_text(table, i, "expected"),
				al_table_text(table, i, "note"));
		else if (*derivation || *al_table_text(table, i, "cause"))
			al_text_addf(out, "%s%s: %s\n", place, al_table_text(table, i, "printed"),
				al_table_text(table, i, "note"));
		if (*derivation)
			al_text_addf(out, "    %s\n", derivation);
		i++;
	}
	for (size_t i = 0; i < table->n_notes; i++)
		al_text_addf(out, "%s\n", table->notes[i]);
}
