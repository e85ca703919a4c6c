/* fit --match: models with as many parameters as another. */
#include <string.h>

#include "commands/fit.h"

static bool count_at(void *context, int64_t x, mpq_t out, struct al_error *err)
{
	struct al_fit *f = context;

	al_ledger_set(&f->ledger, f->symbol, x);
	return al_ledger_count(&f->ledger, AL_COUNT_PARAMETERS, out, err)
		|| al_in(err, "%s = %lld", f->symbol, (long long)x);
}

static void add_match_columns(struct al_table *t, bool shows_variant)
{
	static const struct al_column columns[] = {
		{.key = "symbol", .title = "Solved for", .is_key = true},
		{.key = "value",
			.title = "Value",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL},
		{.key = "parameters",
			.title = "Parameters",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL},
		{.key = "target",
			.title = "To match",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL},
		{.key = "distance",
			.title = "Distance",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL},
	};

	if (shows_variant)
		al_table_add_column(t,
			(struct al_column){.key = "variant", .title = "Variant", .is_key = true});
	al_table_add_columns(t, columns, sizeof(columns) / sizeof(*columns));
}

static bool add_neighbour(struct al_fit *f, struct al_table *table, int64_t value,
	mpq_srcptr target, struct al_error *err)
{
	struct al_cell *cell = al_table_add_row(table);
	mpq_t parameters;

	mpq_init(parameters);
	bool ok = count_at(f, value, parameters, err);
	if (ok) {
		if (!f->request->is_own)
			al_cell_set_text(table, cell++, f->configured->name);
		al_cell_set_text(table, cell++, f->symbol);
		al_cell_set_int(table, cell++, value);
		al_cell_set_exact(table, cell++, parameters);
		al_cell_set_exact(table, cell++, target);
		mpq_sub(parameters, parameters, target);
		al_cell_set_exact(table, cell, parameters);
	}
	mpq_clear(parameters);
	return ok;
}

static bool match_variant(struct al_fit *f, struct al_table *table, mpq_srcptr target,
	struct al_error *err)
{
	const struct al_growth growth = {count_at, f, 1, 1, al_fit_most_passed(f)};
	struct al_largest largest;

	if (!al_open_model(f->request, f->configured, 1, AL_TENSORS_BY_KIND, NULL, &f->ledger, err))
		return false;
	bool ok = al_solve_largest(&growth, target, &largest, err)
		|| al_in(err, "--solve %s", f->symbol);
	if (ok && !largest.fits)
		f->session->answer_is_no = true;
	ok = ok && (!largest.fits || add_neighbour(f, table, largest.value, target, err))
		&& (!largest.has_next || add_neighbour(f, table, largest.next, target, err));
	al_ledger_close(&f->ledger);
	return ok;
}

static bool count_like(struct al_request *q, const struct al_configured_variant *like, mpq_t out,
	struct al_error *err)
{
	struct al_ledger ledger;

	if (!al_open_model(q, like, 1, AL_TENSORS_BY_KIND, NULL, &ledger, err))
		return false;
	bool ok = al_ledger_count(&ledger, AL_COUNT_PARAMETERS, out, err);
	al_ledger_close(&ledger);
	return ok;
}

bool al_fit_parameters(struct al_fit *f, const char *match, struct al_error *err)
{
	static const char key[] = "parameters=";
	struct al_request *q = f->request;
	struct al_configured_variant like;
	mpq_t target;

	if (strncmp(match, key, strlen(key)) != 0)
		return al_fail(err, AL_EINPUT, "--match %s: expected parameters=VARIANT", match);
	if (!al_configured_variant_parse(&f->session->arena, q->catalog, match + strlen(key), &like,
		    err))
		return al_in(err, "--match");
	struct al_table *table = al_session_table(f->session, "fit",
		al_format(&f->session->arena, "As many parameters as %s, the whole model with %s",
			q->title, like.name));
	add_match_columns(table, !q->is_own);
	mpq_init(target);
	bool ok = count_like(q, &like, target, err);
	for (size_t i = 0; ok && i < q->variants.n; i++) {
		f->configured = q->is_own ? NULL : &q->variants.items[i];
		ok = match_variant(f, table, target, err);
	}
	al_note_request(q, true, table);
	f->session->style.summary = al_fit_summarize_match(&f->session->arena, table, like.name);
	mpq_clear(target);
	return ok;
}
