/* check: which of the numbers that a paper prints can be derived. */
#include "commands/command.h"
#include "scenario/scenario.h"

#include <string.h>

static bool check_named(struct session *session, const char *name, struct al_table *table,
	struct al_check_counts *counts, struct al_error *err)
{
	struct al_scenario *scenario;

	if (!al_scenario_open(&scenario, session->catalog, name, err))
		return false;
	bool ok = al_scenario_check(scenario, table, counts, err);
	al_scenario_destroy(scenario);
	return ok;
}

static void add_notes(struct al_table *table, const struct al_check_counts *counts)
{
	size_t all = 0;

	for (int i = 0; i < AL_N_VERDICTS; i++)
		all += counts->verdicts[i];
	al_table_note(table, "%zu claims: %zu reproduced, %zu consistent, %zu inconsistent, %zu underivable",
		all, counts->verdicts[AL_REPRODUCED], counts->verdicts[AL_CONSISTENT],
		counts->verdicts[AL_INCONSISTENT], counts->verdicts[AL_UNDERIVABLE]);
	al_table_note(table, "%zu of the inconsistent are listed errata, %zu are not", counts->errata,
		counts->unlisted);
	if (counts->wrong_errata)
		al_table_note(table, "%zu listed errata are not inconsistent", counts->wrong_errata);
}

static bool run(struct session *session, struct al_error *err)
{
	const struct arguments *a = &session->arguments;
	const struct al_embedded_list *all = &al_embedded_scenarios;
	struct al_check_counts counts = {0};
	struct al_table table;
	bool ok = true;

	al_check_table_init(&table);
	for (size_t i = 0; ok && i < a->n_words; i++)
		ok = check_named(session, a->words[i], &table, &counts, err);
	for (size_t i = 0; ok && a->n_words == 0 && i < all->n_files; i++)
		ok = check_named(session, all->files[i].name, &table, &counts, err);
	add_notes(&table, &counts);
	session_take(session, &table);
	session->answer_is_no = counts.unlisted > 0 || counts.wrong_errata > 0;
	return ok;
}

const struct command command_check = {
	.name = "check",
	.words = "[SCENARIO...]",
	.summary = "which printed numbers can be derived; exit status 1 if one contradicts unlisted",
	.examples = {"check", "check mhe-memory -f csv"},
	.options = OPTIONS_OUTPUT,
	.most_words = 1000,
	.run = run,
};
