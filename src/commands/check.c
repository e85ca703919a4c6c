/* check: recomputes the numbers that a paper prints. */
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

static void add_notes(struct al_table *table, const struct al_check_counts *counts)
{
	size_t all = 0;

	for (int i = 0; i < AL_N_VERDICTS; i++)
		all += counts->verdicts[i];
	al_table_note(table,
		"%zu claims: %zu reproduced, %zu consistent, %zu inconsistent, %zu underivable",
		all, counts->verdicts[AL_REPRODUCED], counts->verdicts[AL_CONSISTENT],
		counts->verdicts[AL_INCONSISTENT], counts->verdicts[AL_UNDERIVABLE]);
	al_table_note(table, "%zu of the inconsistent are listed errata, %zu are not",
		counts->errata, counts->unlisted);
	if (counts->equalities)
		al_table_note(table,
			"%zu of %zu numbers that hold would hold too with their last digit one "
			"more",
			counts->indifferent, counts->equalities);
	if (counts->wrong_errata)
		al_table_note(table, "%zu listed errata are not inconsistent",
			counts->wrong_errata);
}

static bool run(struct al_session *session, struct al_error *err)
{
	struct report report = {0};
	const struct al_check_counts *counts = &report.counts;

	al_check_table_init(&report.table);
	bool ok = al_each_scenario(session, check_one, &report, err);
	add_notes(&report.table, counts);
	al_session_take(session, &report.table);
	session->answer_is_no = counts->unlisted > 0 || counts->wrong_errata > 0;
	return ok;
}

static const struct al_option_group groups[] = {OUTPUT_GROUPS, {NULL, 0}};

const struct al_command al_command_check = {
	.words = "[SCENARIO...]",
	.examples = {"check", "check mhe-memory -f csv"},
	.options = groups,
	.options_size = sizeof(struct al_output_options),
	.most_words = 1000,
	.run = run,
};
