/* Conditions: a case's question, with what a table or a sweep changes in it. */
#include "scenario/conditions.h"

bool al_question_change(struct al_question *question, const struct al_changes *changes,
	const char *origin, struct al_error *err)
{
	for (size_t i = 0; i < changes->n_symbols; i++)
		al_settings_ask(&question->settings, changes->symbols[i].symbol,
			changes->symbols[i].value, origin);
	if (changes->recipe)
		question->recipe = changes->recipe;
	for (size_t i = 0; i < changes->n_bases; i++)
		if (!al_basis_set(&question->basis, changes->bases[i].key, changes->bases[i].value,
			    err))
			return false;
	return true;
}

bool al_case_ask(struct al_question *question, const struct al_case *case_,
	const struct al_changes *changes, const char *origin, struct al_error *err)
{
	al_question_copy(question, &case_->question);
	if (al_question_change(question, changes, origin, err))
		return true;
	al_question_finish(question);
	return false;
}
