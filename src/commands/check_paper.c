/* check PAPER...: the numbers of a .tex, .md or .txt file, by a map of its tables. */
#include "commands/check_paper.h"

#include <string.h>
#include <unistd.h>

#include "paper/lint.h"
#include "scenario/scenario.h"

static const struct al_check_options *options_of(const struct al_session *session)
{
	return session->options;
}

bool al_session_names_paper(const struct al_session *session)
{
	for (size_t i = 0; i < session->line.n_words; i++)
		if (al_paper_is_named(session->line.words[i]))
			return true;
	return options_of(session)->map || options_of(session)->drafts_map;
}

/* "paper.map.json" of "paper.tex", where there is such a file. */
static const char *map_beside(struct al_session *session, const char *path)
{
	const size_t n = (size_t)(strrchr(path, '.') - path);
	const char *map = al_format(&session->arena, "%.*s.map.json", (int)n, path);

	return access(map, F_OK) == 0 ? map : NULL;
}

static bool lint(struct al_session *session, const struct al_paper *paper, struct al_table *table,
	struct al_lint_counts *counts, struct al_error *err)
{
	const char *path = options_of(session)->map;
	struct al_paper_map map;

	if (!path)
		path = map_beside(session, paper->file);
	if (!path)
		return al_paper_lint(paper, NULL, session->catalog, table, counts, err);
	if (!al_paper_map_read(&map, path, err))
		return false;
	bool ok = al_paper_lint(paper, &map, session->catalog, table, counts, err);
	al_paper_map_finish(&map);
	return ok;
}

static void note_counts(struct al_table *table, const struct al_lint_counts *counts)
{
	al_table_note(table,
		"%zu numbers recomputed: %zu reproduced, %zu consistent within rounding, %zu "
		"contradicted, %zu undecided",
		counts->numbers, counts->verdicts[AL_REPRODUCED], counts->verdicts[AL_CONSISTENT],
		counts->verdicts[AL_INCONSISTENT], counts->verdicts[AL_UNDERIVABLE]);
	al_table_note(table,
		"%zu scores taken as they are; in running text %zu numbers of the tables again, "
		"%zu contradicted; %zu places not read",
		counts->scores, counts->in_prose, counts->slips, counts->gaps);
}

/* "; of 3 it can't be told" */
static const char *say_undecided(struct al_arena *arena, const struct al_lint_counts *counts)
{
	const size_t undecided = counts->verdicts[AL_UNDERIVABLE];

	return undecided ? al_format(arena, "; of %zu it can't be told", undecided) : "";
}

/* " and 1 in running text" */
static const char *say_slips(struct al_arena *arena, const struct al_lint_counts *counts)
{
	return counts->slips ? al_format(arena, " and %zu in running text", counts->slips) : "";
}

static const char *say(struct al_arena *arena, const struct al_lint_counts *counts)
{
	const size_t wrong = counts->verdicts[AL_INCONSISTENT];
	const size_t decided = counts->numbers - counts->verdicts[AL_UNDERIVABLE];

	if (wrong + counts->slips > 0)
		return al_format(arena,
			"%zu of %zu recomputed numbers%s don't follow from the others%s.", wrong,
			counts->numbers, say_slips(arena, counts), say_undecided(arena, counts));
	if (decided > 0)
		return al_format(arena, "All %zu numbers that could be decided hold%s.", decided,
			say_undecided(arena, counts));
	return "Nothing was recomputed: a map says what tables hold; --draft-map begins one.";
}

static void render_text(struct al_session *session, const struct al_table *table)
{
	al_text_init(&session->rendered);
	al_lint_text(table, &session->rendered);
	al_text_addf(&session->rendered, "\n%s\n", session->style.summary);
}

static bool draft(struct al_session *session, const struct al_paper *paper, struct al_error *err)
{
	if (session->line.n_words > 1)
		return al_fail(err, AL_EINPUT, "--draft-map is of one paper, found %zu",
			session->line.n_words);
	al_text_init(&session->rendered);
	al_paper_draft(paper, &session->rendered);
	return true;
}

static bool check_paper(struct al_session *session, const char *path, struct al_table *table,
	struct al_lint_counts *counts, struct al_error *err)
{
	struct al_paper paper;

	if (!al_paper_is_named(path))
		return al_fail(err, AL_EINPUT, "%s: a paper is .tex, .md or .txt", path);
	if (!al_paper_read(&paper, path, err))
		return false;
	bool ok = options_of(session)->drafts_map ? draft(session, &paper, err)
						  : lint(session, &paper, table, counts, err);
	al_paper_finish(&paper);
	return ok;
}

bool al_check_papers(struct al_session *session, struct al_error *err)
{
	struct al_table *table = al_session_table(session, "", "");
	struct al_lint_counts counts = {0};

	if (session->line.n_words == 0)
		return al_fail(err, AL_EINPUT, "expected a paper: a .tex, .md or .txt file");
	al_table_finish(table);
	al_lint_table_init(table);
	for (size_t i = 0; i < session->line.n_words; i++)
		if (!check_paper(session, session->line.words[i], table, &counts, err))
			return false;
	if (options_of(session)->drafts_map)
		return true;
	note_counts(table, &counts);
	session->style.summary = say(&session->arena, &counts);
	if (strcmp(session->writer->name, "text") == 0)
		render_text(session, table);
	session->answer_is_no = counts.verdicts[AL_INCONSISTENT] + counts.slips > 0;
	return true;
}
