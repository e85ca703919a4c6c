/* The contents of a scenario: finding its parts by name, and a case as something asks of it. */
#include "scenario/contents.h"

/* ---- names ---- */

static void add_metrics(const struct al_scenario *s, struct al_names *names)
{
	for (size_t i = 0; i < s->n_data; i++)
		for (size_t j = 0; j < s->data[i].n_columns; j++)
			al_names_add(names, s->data[i].columns[j].name);
}

static void add_symbols(const struct al_scenario *s, struct al_names *names)
{
	for (size_t i = 0; i < s->n_symbols; i++)
		al_names_add(names, s->symbols[i].name);
	for (size_t i = 0; i < s->n_variants; i++) {
		const struct al_variant *variant = s->variants[i]->variant;
		for (size_t j = 0; j < variant->n_symbols; j++)
			al_names_add(names, variant->symbols[j].name);
	}
}

void al_names_add_of(const struct al_scenario *s, unsigned which, struct al_names *names)
{
	for (size_t i = 0; which & AL_NAMES_VARIANTS && i < s->n_known; i++)
		al_names_add(names, s->variants[i]->name);
	for (size_t i = 0; which & AL_NAMES_DRAWABLE && i < s->n_tables; i++)
		al_names_add(names, s->tables[i].id);
	for (size_t i = 0; which & AL_NAMES_DRAWABLE && i < s->n_sweeps; i++)
		al_names_add(names, s->sweeps[i].sweep.id);
	for (size_t i = 0; which & AL_NAMES_DRAWABLE && i < s->n_listings; i++)
		al_names_add(names, s->listings[i].id);
	for (size_t i = 0; which & AL_NAMES_DATA && i < s->n_data; i++)
		al_names_add(names, s->data[i].id);
	for (size_t i = 0; which & AL_NAMES_QUESTIONS && i < s->n_questions; i++)
		al_names_add(names, s->questions[i].id);
	if (which & AL_NAMES_METRICS)
		add_metrics(s, names);
	if (which & AL_NAMES_SYMBOLS)
		add_symbols(s, names);
}

bool al_unknown_fail(const struct al_scenario *s, unsigned which, const char *what,
	const char *name, struct al_error *err)
{
	struct al_names names;

	al_names_init(&names);
	al_names_add_of(s, which, &names);
	return al_names_fail(&names, what, name, err);
}

/* ---- parts ---- */

const struct al_configured_variant *al_variant_find(const struct al_scenario *s, const char *name,
	struct al_error *err)
{
	for (size_t i = 0; i < s->n_known; i++)
		if (strcmp(s->variants[i]->name, name) == 0)
			return s->variants[i];
	if (err)
		al_unknown_fail(s, AL_NAMES_VARIANTS, "variant", name, err);
	return NULL;
}

bool al_variant_find_counted(const struct al_scenario *s, const char *name,
	const struct al_configured_variant **out, struct al_error *err)
{
	*out = al_variant_find(s, name, err);
	return *out
		&& ((*out)->variant
			|| al_fail(err, AL_EINPUT, "variant \"%s\" is known from data only", name));
}

const struct al_case *al_case_find(const struct al_scenario *s, const char *id,
	struct al_error *err)
{
	return err ? AL_FIND_KNOWN(s->cases, s->n_cases, "case", id, err)
		   : AL_FIND(s->cases, s->n_cases, id);
}

bool al_metric_find(const struct al_scenario *s, const char *name, const struct al_data_set **set,
	size_t *column)
{
	for (size_t i = 0; i < s->n_data; i++) {
		const struct al_data_set *own = &s->data[i];
		const struct al_data_column *found = AL_FIND(own->columns, own->n_columns, name);
		if (found) {
			*set = own;
			*column = (size_t)(found - own->columns);
			return true;
		}
	}
	return false;
}

bool al_symbol_is_known(const struct al_scenario *s, const char *symbol)
{
	bool is_known = AL_FIND(s->symbols, s->n_symbols, symbol) != NULL;

	for (size_t i = 0; i < s->n_variants && !is_known; i++) {
		const struct al_variant *variant = s->variants[i]->variant;
		is_known = AL_FIND(variant->symbols, variant->n_symbols, symbol) != NULL;
	}
	return is_known;
}

/* ---- conditions ---- */

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
	return !changes->per.key
		|| al_basis_set(&request->basis, changes->per.key, changes->per.value, err);
}

bool al_case_ask(struct al_request *request, const struct al_case *case_,
	const struct al_changes *changes, const char *origin, struct al_error *err)
{
	al_request_copy(request, &case_->request);
	return al_request_change(request, changes, origin, err);
}

bool al_sweep_of_case(const struct al_scenario_sweep *sweep, const struct al_case *case_,
	struct al_request *request, struct al_ledger_sweep *out, struct al_error *err)
{
	if (!al_case_ask(request, case_, &sweep->changes, sweep->sweep.id, err))
		return false;
	*out = sweep->sweep;
	out->request = request;
	return true;
}

/* ---- rows ---- */

const struct al_datum *al_datum_find(const struct al_data_set *set, struct al_scenario_row row,
	size_t column)
{
	for (size_t i = 0; i < set->n_rows; i++) {
		const struct al_scenario_row *found = &set->rows[i].row;
		if ((!found->case_ || found->case_ == row.case_)
			&& (!found->variant || found->variant == row.variant))
			return &set->rows[i].cells[column];
	}
	return NULL;
}
