/* fit --match: models with as many parameters as another. */

#include "answer/fit.h"
#include "report/claim.h"

static bool count_at(void *context, int64_t x, mpq_t out, struct al_error *err)
{
	struct al_fit *f = context;

	al_ledger_set(f->ledger, f->symbol, x);
	return al_ledger_count(f->ledger, AL_COUNT_PARAMETERS, out, err)
		|| al_in(err, "%s = %lld", f->symbol, (long long)x);
}

struct record {
	const char *variant, *symbol;
	int64_t value;
	mpq_srcptr parameters, target, distance;
};

enum { WITH_VARIANT = 1 };

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct record, variant, "Variant"), .when = WITH_VARIANT},
	{AL_SHOW_KEY(struct record, symbol, "Solved for")},
	{AL_SHOW_COUNT(struct record, value, "Value")},
	{AL_SHOW_COUNT(struct record, parameters, "Parameters")},
	{AL_SHOW_COUNT(struct record, target, "Target")},
	{AL_SHOW_COUNT(struct record, distance, "Difference")},
	AL_FIELDS_END,
};

static bool add_neighbor(struct al_fit *f, struct al_table *table, int64_t value, mpq_srcptr target,
	struct al_error *err)
{
	mpq_ptr parameters = al_exact_new(&table->arena), distance = al_exact_new(&table->arena);

	if (!count_at(f, value, parameters, err))
		return false;
	mpq_sub(distance, parameters, target);
	al_table_add_record(table,
		&(struct record){f->configured ? f->configured->name : NULL, f->symbol, value,
			parameters, target, distance});
	return true;
}

static bool match_variant(struct al_fit *f, struct al_table *table, mpq_srcptr target,
	struct al_error *err)
{
	const struct al_growth growth = {count_at, f, 1, 1, f->most_passed, false};
	struct al_largest largest;

	f->ledger = al_open_model(f->request, f->configured, 1, AL_TENSORS_BY_KIND, NULL, err);
	if (!f->ledger)
		return false;
	if (!al_solve_largest(&growth, target, &largest, err))
		return al_in(err, "--solve %s", f->symbol);
	if (!largest.fits)
		f->session->answer_is_no = true;
	return (!largest.fits || add_neighbor(f, table, largest.value, target, err))
		&& (!largest.has_next || add_neighbor(f, table, largest.next, target, err));
}

/* ---- in a sentence ---- */

static double distance_of(const struct al_table *table, size_t row)
{
	double distance = 0;

	(void)al_table_number(table, row, "distance", &distance);
	return distance;
}

static const char *say_match(struct al_arena *arena, const struct al_table *table, size_t row,
	const char *like)
{
	const char *variant = al_claim_cell(arena, table, row, "variant");
	const double distance = distance_of(table, row);
	const char *far = al_claim_count(arena, "distance", (int64_t)fabs(distance));

	return al_format(arena, "%s%s%s = %s has %s parameters, %s", variant,
		*variant ? " with " : "", al_claim_cell(arena, table, row, "symbol"),
		al_claim_cell(arena, table, row, "value"),
		al_claim_cell(arena, table, row, "parameters"),
		distance == 0
			? al_format(arena, "as many as %s", al_claim_name(arena, "match", like))
			: al_format(arena, "%s %s than %s", far, distance > 0 ? "more" : "fewer",
				al_claim_name(arena, "match", like)));
}

/* Rows of a variant follow each other: the nearest of them. `like`: the variant to be matched. */
static const char *say(struct al_arena *arena, const struct al_table *table, const char *like)
{
	const char *text = NULL;

	for (size_t row = 0, end; row < table->n_rows; row = end) {
		const char *variant = al_table_text(table, row, "variant");
		size_t nearest = row;
		for (end = row; end < table->n_rows
			&& strcmp(al_table_text(table, end, "variant"), variant) == 0;
			end++)
			if (fabs(distance_of(table, end)) < fabs(distance_of(table, nearest)))
				nearest = end;
		text = al_format(arena, "%s%s%s", text ? text : "Nearest: ", text ? "; " : "",
			say_match(arena, table, nearest, like));
	}
	return text ? al_format(arena, "%s.", text) : NULL;
}

/* ---- the answer ---- */

bool al_fit_parameters(struct al_fit *f, const char *match, struct al_error *err)
{
	static const char key[] = "parameters=";
	struct al_request *q = f->request;
	mpq_ptr target = al_exact_new(q->arena);
	struct al_configured_variant like;

	if (strncmp(match, key, strlen(key)) != 0)
		return al_fail(err, AL_EINPUT, "--match %s: expected parameters=VARIANT", match);
	if (!al_configured_variant_parse(&f->session->arena, q->catalog, match + strlen(key), &like,
		    err))
		return al_in(err, "--match");
	struct al_table *table = al_session_table(f->session, "fit", fields,
		q->is_own ? 0 : WITH_VARIANT,
		"Closest to the parameter count of %s (whole model) with %s", q->title, like.name);
	struct al_ledger *ledger = al_open_model(q, &like, 1, AL_TENSORS_BY_KIND, NULL, err);
	if (!ledger || !al_ledger_count(ledger, AL_COUNT_PARAMETERS, target, err))
		return false;
	for (size_t i = 0; i < q->variants.n; i++) {
		f->configured = q->is_own ? NULL : &q->variants.items[i];
		if (!match_variant(f, table, target, err))
			return false;
	}
	al_note_request(q, true, table);
	al_session_claim(f->session, say(&f->session->arena, table, like.name));
	return true;
}
