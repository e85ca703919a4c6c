/* check: recomputes the numbers that a paper prints: those of scenarios, or of a .tex, .md or .txt
 * file by a map of its tables. */
#include "answer/scenarios.h"
#include "base/file.h"
#include "paper/lint.h"
#include "report/writer.h"

/* "all" before the verdicts' names. */
enum { N_STATUSES = 1 + AL_N_VERDICTS };
static const char *const statuses[N_STATUSES] = {"all", "reproduced", "consistent", "inconsistent",
	"underivable"};

struct check_options {
	struct al_output_options output;
	const char *map; /* NULL: the one next to the paper */
	struct al_paper_options paper;
	int status; /* of which numbers are shown: statuses */
	bool drafts_map, writes_letter;
};

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

	if (verdict == AL_REPRODUCED && !note) {
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

/* On a terminal: each claim in lines of at most 79 columns, what is not reproduced first, then the
 * notes, of which the first, which holds the counts, is last. */
static void render_claims(struct al_session *session, const struct al_table *table)
{
	static const enum al_verdict order[] = {AL_INCONSISTENT, AL_UNDERIVABLE, AL_CONSISTENT,
		AL_REPRODUCED};
	const struct page page = {&session->arena, &session->style, table, &session->rendered};

	al_text_init(page.out);
	add_line(&page, 0, session->claim.text);
	al_text_add(page.out, "\n");
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		for (size_t row = 0; row < table->n_rows; row++)
			if (strcmp(al_table_text(table, row, "verdict"), al_verdict_names[order[i]])
				== 0)
				add_claim(&page, row, order[i]);
	al_text_add(page.out, "\n");
	for (size_t i = 1; i <= table->n_notes; i++)
		add_line(&page, 0, al_printable(page.arena, table->notes[i % table->n_notes]));
}

/* Only the rows of one verdict. */
static void keep_status(const struct check_options *options, struct al_table *table)
{
	size_t n = 0;

	for (size_t i = 0; options->status && i < table->n_rows; i++)
		if (strcmp(al_table_text(table, i, "verdict"), statuses[options->status]) == 0)
			table->rows[n++] = table->rows[i];
	if (options->status)
		table->n_rows = n;
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

/* Each printed number counts once; the other claims are about the same numbers. */
static void add_notes(struct al_table *table, const struct al_check_counts *counts)
{
	const size_t *kinds = counts->kinds;

	note_verdicts(table, "printed numbers", counts->numbers);
	if (sum(counts->verdicts, AL_N_VERDICTS) > kinds[AL_CLAIM_PRINTED]) {
		note_verdicts(table, "claims", counts->verdicts);
		al_table_note(table,
			"other claims: %zu alternative readings, %zu repeats, %zu identities, %zu "
			"derived numbers, %zu statements",
			kinds[AL_CLAIM_READING], kinds[AL_CLAIM_REPEAT], kinds[AL_CLAIM_IDENTITY],
			kinds[AL_CLAIM_DERIVED], kinds[AL_CLAIM_STATEMENT]);
	}
	al_table_note(table,
		"inconsistent: %zu listed errata, %zu explained by another reading, %zu others",
		counts->errata, counts->read_otherwise, counts->unlisted);
	if (counts->equalities)
		al_table_note(table,
			"%zu of the %zu matching numbers would also match with the last digit one "
			"higher",
			counts->indifferent, counts->equalities);
}

/* "; 21 wrong, all of them listed errata". A number that another reading explains holds. */
static const char *say_wrong(struct al_arena *arena, const struct al_check_counts *counts)
{
	const size_t wrong = counts->numbers[AL_INCONSISTENT];
	const char *listed = counts->unlisted == 0
		? wrong == 0 ? "" : ", all of them listed errata"
		: al_format(arena, " (%s unlisted)",
			al_claim_count(arena, "unlisted", (int64_t)counts->unlisted));

	return wrong + counts->unlisted == 0
		? ""
		: al_format(arena, "; %s wrong%s",
			al_claim_count(arena, "inconsistent", (int64_t)wrong), listed);
}

static const char *say(struct al_arena *arena, const struct al_check_counts *counts)
{
	const size_t *numbers = counts->numbers;
	const int64_t unknown = (int64_t)numbers[AL_UNDERIVABLE],
		      errata = (int64_t)counts->wrong_errata,
		      tolerated = (int64_t)counts->tolerated, cut_off = (int64_t)counts->cut_off;

	return al_format(arena,
		AL_CLAIM_LEAD "%s of %s printed numbers hold: %s exactly, %s within rounding of "
			      "their inputs%s%s%s%s%s.",
		al_claim_count(arena, "holding",
			(int64_t)(numbers[AL_REPRODUCED] + numbers[AL_CONSISTENT])),
		al_claim_count(arena, "printed", (int64_t)sum(numbers, AL_N_VERDICTS)),
		al_claim_count(arena, "reproduced", (int64_t)numbers[AL_REPRODUCED]),
		al_claim_count(arena, "consistent",
			(int64_t)numbers[AL_CONSISTENT] - tolerated - cut_off),
		tolerated ? al_format(arena, ", %s within the tolerance of a measurement",
			al_claim_count(arena, "tolerated", tolerated))
			  : "",
		cut_off ? al_format(arena, ", %s cut off instead of rounded",
			al_claim_count(arena, "cut_off", cut_off))
			: "",
		say_wrong(arena, counts),
		unknown ? al_format(arena, "; %s can't be derived",
			al_claim_count(arena, "underivable", unknown))
			: "",
		errata ? al_format(arena,
			errata == 1 ? "; %s listed as an erratum isn't found wrong"
				    : "; %s listed as errata aren't found wrong",
			al_claim_count(arena, "wrong_errata", errata))
		       : "");
}

static bool check_scenarios(struct al_session *session, struct al_error *err)
{
	struct report report = {0};
	const struct al_check_counts *counts = &report.counts;

	al_check_table_init(&report.table);
	bool ok = al_each_scenario(session, check_one, &report, err);
	add_notes(&report.table, counts);
	keep_status(session->options, &report.table);
	if (ok)
		al_session_claim(session, say(&session->arena, counts));
	if (ok && (al_session_is_on_terminal(session) || al_session_is_short(session)))
		render_claims(session, &report.table);
	al_session_take(session, &report.table);
	session->answer_is_no = counts->unlisted > 0 || counts->wrong_errata > 0;
	return ok;
}

/* ---- papers ---- */

static const struct check_options *options_of(const struct al_session *session)
{
	return session->options;
}

/* Is a paper among the words, or asked for by an option? */
static bool names_paper(const struct al_session *session)
{
	for (size_t i = 0; i < session->line.n_words; i++)
		if (al_paper_is_named(session->line.words[i]))
			return true;
	const struct check_options *o = options_of(session);

	return o->map || o->drafts_map || o->writes_letter || o->paper.models || o->paper.gb;
}

/* "paper.map.json" of "paper.tex", where there is such a file. */
static const char *map_beside(struct al_session *session, const char *path)
{
	const size_t n = (size_t)(strrchr(path, '.') - path);
	const char *map = al_format(&session->arena, "%.*s.map.json", (int)n, path);

	return al_path_kind(map) != AL_PATH_NONE ? map : NULL;
}

static bool lint(struct al_session *session, const struct al_paper *paper, struct al_table *table,
	struct al_lint_counts *counts, struct al_error *err)
{
	const char *path = options_of(session)->map;
	const struct al_paper_options *o = &options_of(session)->paper;
	AL_ENDS(al_paper_map_finish) struct al_paper_map map = {0};

	if (!path)
		path = map_beside(session, paper->file);
	if (!path)
		return al_paper_lint(paper, NULL, o, session->catalog, table, counts, err);
	return al_paper_map_read(&map, path, err)
		&& al_paper_lint(paper, &map, o, session->catalog, table, counts, err);
}

static void add_count(struct al_text *out, const char *what, size_t n)
{
	if (n > 0)
		al_text_addf(out, "%s%s: %zu", out->length > 0 ? "; " : "", what, n);
}

static void note_counts(struct al_table *table, const struct al_lint_counts *counts)
{
	AL_TEXT(rest);

	al_table_note(table,
		"numbers recomputed: %zu (%zu reproduced, %zu consistent within rounding, "
		"%zu wrong, %zu undecided)",
		counts->numbers, counts->verdicts[AL_REPRODUCED], counts->verdicts[AL_CONSISTENT],
		counts->verdicts[AL_INCONSISTENT], counts->verdicts[AL_UNDERIVABLE]);
	add_count(&rest, "scores not checked", counts->scores);
	add_count(&rest, "table numbers repeated in the text", counts->in_prose);
	add_count(&rest, "of them wrong", counts->slips);
	add_count(&rest, "places not read", counts->gaps);
	if (rest.length > 0)
		al_table_note(table, "%s", rest.data);
}

static const char *say_papers(struct al_arena *arena, const struct al_lint_counts *counts)
{
	const int64_t wrong = (int64_t)counts->verdicts[AL_INCONSISTENT],
		      slips = (int64_t)counts->slips,
		      undecided = (int64_t)counts->verdicts[AL_UNDERIVABLE],
		      decided = (int64_t)counts->numbers - undecided;
	const char *rest = al_format(arena, "%s%s",
		undecided ? al_format(arena,
			undecided == 1 ? "; %s is undecided" : "; %s are undecided",
			al_claim_count(arena, "undecided", undecided))
			  : "",
		counts->files ? al_format(arena, "; included files that could not be read: %s",
			al_claim_count(arena, "unread_files", (int64_t)counts->files))
			      : "");

	if (wrong + slips > 0)
		return al_format(arena,
			"%s of %s recomputed numbers%s don't follow from the others%s.",
			al_claim_count(arena, "inconsistent", wrong),
			al_claim_count(arena, "recomputed", (int64_t)counts->numbers),
			slips ? al_format(arena, " and %s in running text",
				al_claim_count(arena, "in_text", slips))
			      : "",
			rest);
	if (decided > 0)
		return al_format(arena,
			decided == 1 ? "%s number can be recomputed, and holds%s."
				     : "All %s numbers that can be recomputed hold%s.",
			al_claim_count(arena, "decided", decided), rest);
	return al_format(arena, "Nothing was recomputed%s%s.",
		counts->numbers + counts->tables > 0
			? ""
			: ": no table names known models with what follows from their sizes; start "
			  "from --draft-map",
		rest);
}

static bool draft(struct al_session *session, const struct al_paper *paper, struct al_error *err)
{
	if (session->line.n_words > 1)
		return al_fail(err, AL_EINPUT, "--draft-map needs one paper, found %zu",
			session->line.n_words);
	struct al_paper_subjects subjects;
	if (!al_paper_open_subjects(&subjects, paper, &options_of(session)->paper, &session->arena,
		    session->catalog, err))
		return false;
	al_text_init(&session->rendered);
	al_paper_draft(paper, &subjects, &session->rendered);
	return true;
}

static bool check_paper(struct al_session *session, const char *path, struct al_table *table,
	struct al_lint_counts *counts, struct al_error *err)
{
	AL_ENDS(al_paper_finish) struct al_paper paper = {0};

	if (!al_paper_is_named(path))
		return al_fail(err, AL_EINPUT, "%s: expected a paper (.tex, .md or .txt)", path);
	if (!al_paper_read(&paper, path, err))
		return false;
	return options_of(session)->drafts_map ? draft(session, &paper, err)
					       : lint(session, &paper, table, counts, err);
}

static bool check_papers(struct al_session *session, struct al_error *err)
{
	struct al_lint_counts counts = {0};
	struct al_table lines;

	if (session->line.n_words == 0)
		return al_fail(err, AL_EINPUT, "name a paper: a .tex, .md or .txt file");
	al_lint_table_init(&lines);
	struct al_table *table = al_session_take(session, &lines);
	for (size_t i = 0; i < session->line.n_words; i++)
		if (!check_paper(session, session->line.words[i], table, &counts, err))
			return false;
	if (options_of(session)->drafts_map)
		return true;
	note_counts(table, &counts);
	al_session_claim(session, say_papers(&session->arena, &counts));
	keep_status(options_of(session), table);
	if (options_of(session)->writes_letter) {
		al_text_init(&session->rendered);
		al_paper_letter(table, &session->rendered);
	} else if (strcmp(session->writer->name, "text") == 0) {
		al_text_init(&session->rendered);
		al_text_addf(&session->rendered, "%s\n\n", session->claim.text);
		al_lint_text(table, &session->rendered);
	}
	session->answer_is_no = counts.verdicts[AL_INCONSISTENT] || counts.slips || counts.files;
	return true;
}

/* ---- the command ---- */

static bool run(struct al_session *session, struct al_error *err)
{
	return names_paper(session) ? check_papers(session, err) : check_scenarios(session, err);
}

static const char *const gb_words[] =
	{[AL_GB_ANY] = "any", [AL_GB_DECIMAL] = "decimal", [AL_GB_BINARY] = "binary"};

static const struct al_option_row rows[] = {
	OPTION_TEXT(struct check_options, map, "map", "FILE",
		"map that describes the columns of a paper's tables (default: PAPER's name with "
		".map.json as its extension)"),
	OPTION_FLAG(struct check_options, drafts_map, "draft-map",
		"print a draft of the map for a paper", .shows_all = true),
	OPTION_TEXT(struct check_options, paper.models, "models", "FOLDER",
		"config.json files NAME.json (default: configs next to a paper)"),
	OPTION_CHOICE(struct check_options, paper.gb, "gb", "any|decimal|binary",
		"GB of a paper: 10^9 bytes, 2^30, or what fits (default)", .words = gb_words,
		.n_words = 3, .noun = "reading of GB"),
	OPTION_CHOICE(struct check_options, status, "status", "VERDICT",
		"show only numbers that are inconsistent, consistent, ...", .words = statuses,
		.n_words = N_STATUSES, .noun = "verdict"),
	OPTION_FLAG(struct check_options, writes_letter, "letter",
		"write a paper's contradictions as Markdown to its authors", .shows_all = true),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS, {rows, 0}, {NULL, 0}};

const struct al_command al_command_check = {
	.words = "[SCENARIO...|PAPER...]",
	.examples = {"check", "check mhe-memory -f csv", "check paper.tex --map paper.map.json"},
	.options = groups,
	.options_size = sizeof(struct check_options),
	.run = run,
};
