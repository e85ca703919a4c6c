/* The scenarios that a command line names. */
#include "answer/scenarios.h"

#include "answer/question.h"

static bool is_left_out(const struct al_session *session, const char *name)
{
	if (session->line.n_words < 2 || !al_scenario_is_schema(name))
		return false;
	if (!session->output->is_quiet && !session->caller)
		fprintf(stderr, "attnledger: %s: a JSON Schema, not a scenario: left out\n", name);
	return true;
}

static bool ask(struct al_arena *arena, const char *text, struct al_scenario_answer *out,
	struct al_error *err)
{
	struct al_question question;
	struct al_session *asked;

	if (!al_question_read(arena, text, &question, err)
		|| !al_question_ask(arena, &question, question.words, &asked, err))
		return false;
	*out = (struct al_scenario_answer){asked->claim.values, asked->claim.n_values,
		AL_SESSION_TABLES(asked), asked->n_tables};
	return true;
}

static bool visit_named(struct al_session *session, const char *name,
	bool (*visit)(void *context, struct al_scenario *scenario, struct al_error *err),
	void *context, struct al_error *err)
{
	struct al_scenario *scenario;

	if (!al_scenario_open(&scenario, session->catalog, name, err))
		return is_left_out(session, name);
	al_scenario_set_asker(scenario, ask);
	bool ok = visit(context, scenario, err);
	al_scenario_destroy(scenario);
	return ok;
}

bool al_each_scenario(struct al_session *session,
	bool (*visit)(void *context, struct al_scenario *scenario, struct al_error *err),
	void *context, struct al_error *err)
{
	const struct al_command_line *a = &session->line;
	const struct al_embedded_list *all = &al_embedded_scenarios;

	for (size_t i = 0; i < a->n_words; i++)
		if (!visit_named(session, a->words[i], visit, context, err))
			return false;
	for (size_t i = 0; a->n_words == 0 && i < all->n_files; i++)
		if (!visit_named(session, all->files[i].name, visit, context, err))
			return false;
	return true;
}
