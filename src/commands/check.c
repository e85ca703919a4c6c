/* check: recomputes the numbers that a paper prints. */
#include "commands/check_paper.h"
#include "commands/check_text.h"
#include "commands/scenarios.h"

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
		session->raw = al_check_text(&session->arena, &session->style, &report.table);
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
	.most_words = 1000,
	.run = run,
};
