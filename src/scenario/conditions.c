/* Conditions: a case's request, with what a table or a sweep changes in it. */
#include "scenario/conditions.h"

bool al_request_change(struct al_request *request, const struct al_changes *changes,
	const char *origin, struct al_error *err)
{
	for (size_t i = 0; i < changes->n_symbols; i++)
		al_settings_ask(&request->settings, changes->symbols[i].symbol,
			changes->symbols[i].value, origin);
	if (changes->recipe)
		request->recipe = changes->recipe;
	for (size_t i = 0; i < changes->n_bases; i++)
		if (!al_basis_set(&request->basis, changes->bases[i].key, changes->bases[i].value,
			    err))
			return false;
	return true;
}

bool al_case_ask(struct al_request *request, const struct al_case *case_,
	const struct al_changes *changes, const char *origin, struct al_error *err)
{
	al_request_copy(request, &case_->request);
	if (al_request_change(request, changes, origin, err))
		return true;
	al_request_finish(request);
	return false;
}
