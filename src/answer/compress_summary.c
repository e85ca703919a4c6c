/* compress and verify in a sentence: what is saved, and at what error. */
#include "answer/compress.h"

#include "report/claim.h"

static const struct al_table *find_table(const struct al_session *session, const char *id)
{
	for (size_t i = 0; i < session->n_tables; i++)
		if (strcmp(session->tables[i]->id, id) == 0)
			return session->tables[i];
	return NULL;
}

/* ---- the error ---- */

/* "a module's output changes by 21.5 % at most (layers.0, random inputs)"; NULL: not known. */
static const char *say_error(struct al_arena *arena, const struct al_table *verify)
{
	double worst;
	const size_t row = verify ? al_table_extreme(verify, "output_error", 1, &worst) : 0;

	if (!verify || row == verify->n_rows)
		return NULL;
	if (worst == 0)
		return "no layer's output changes";
	return al_format(arena, "layer outputs change by at most %s (%s, %s inputs)",
		al_claim_share(arena, verify, row, "output_error"),
		al_claim_cell(arena, verify, row, "module"),
		al_claim_cell(arena, verify, row, "input"));
}

/* ---- compress ---- */

static double sum_of(const struct al_table *table, const char *key)
{
	double sum = 0, number;

	for (size_t row = 0; row < table->n_rows; row++)
		if (al_table_number(table, row, key, &number))
			sum += number;
	return sum;
}

/* "collab saves 33.3 % of the query and key parameters of 6 modules (1,183,104 of 3,548,160)" */
static const char *say_saved(struct al_arena *arena, const struct al_table *table,
	enum al_method method)
{
	const double original = sum_of(table, "original"), left = sum_of(table, "parameters");
	const bool is_smaller = left <= original;

	return al_format(arena,
		"%s %s " AL_CLAIM_LEAD "%s of the %s parameters in %s module%s (%s of %s are left)",
		al_claim_cell(arena, table, 0, "method"), is_smaller ? "saves" : "adds",
		al_claim_percent(arena, "saved",
			(is_smaller ? original - left : left - original) / original),
		al_method_touches_all(method) ? "attention" : "query and key",
		al_claim_count(arena, "modules", (int64_t)table->n_rows),
		table->n_rows == 1 ? "" : "s", al_claim_count(arena, "parameters", (int64_t)left),
		al_claim_count(arena, "original", (int64_t)original));
}

const char *al_compress_summarize(struct al_session *session, enum al_method method,
	bool is_recoded)
{
	struct al_arena *arena = &session->arena;
	const struct al_table *table = find_table(session, "compress");
	const char *error = say_error(arena, find_table(session, "verify"));

	if (table->n_rows == 0 || !(sum_of(table, "original") > 0))
		return is_recoded ? "No layer is changed but for the number format of its tensors."
				  : "No layer is changed: every tensor is copied.";
	return al_format(arena, "%s%s%s. Run verify --tokens to measure the loss.",
		say_saved(arena, table, method), error ? "; " : "", error ? error : "");
}

/* ---- verify ---- */

/* "Loss rises by ..., 1.0681 to 1.0767; 95.6 % of the likeliest tokens are unchanged"; NULL: it
 * wasn't measured. */
static const char *say_loss(struct al_arena *arena, const struct al_table *loss)
{
	double before, after, agreement, error;

	if (!loss || !al_table_number(loss, 0, "original", &before)
		|| !al_table_number(loss, 0, "compressed", &after)
		|| !al_table_number(loss, 0, "agreement", &agreement))
		return NULL;
	if (!al_table_number(loss, 0, "loss_increase_error", &error))
		error = (double)NAN;
	return al_format(arena, "Loss %s; %s of the likeliest tokens are unchanged",
		al_claim_loss(arena, before, after, error),
		al_claim_percent(arena, "agreement", agreement / 100));
}

/* "No cosine of two sequences' embeddings changes by more than 0.0052"; NULL: an encoder didn't run
 * on two sequences. */
static const char *say_similarity(struct al_arena *arena, const struct al_table *similarity)
{
	double most = 0, original, compressed;

	if (!similarity || similarity->n_rows == 0)
		return NULL;
	for (size_t row = 0; row < similarity->n_rows; row++)
		if (al_table_number(similarity, row, "original", &original)
			&& al_table_number(similarity, row, "compressed", &compressed))
			most = fmax(most, fabs(original - compressed));
	return al_format(arena, "Cosines between sequence embeddings change by at most %s",
		al_claim_real(arena, "most", "", most, al_format(arena, "%.4f", most)));
}

static const char *say_copies(struct al_arena *arena, bool took_original)
{
	return al_format(arena, "; some tensors that should be copies differ (see the notes)%s",
		took_original ? ": the original's ran in their place" : "");
}

/* ", within the tolerance of 5 %; what was to be copied differs, as the notes list" */
static const char *say_checks(struct al_arena *arena, const struct al_verify_options *options,
	double worst, bool holds, bool took_original)
{
	const bool is_beyond = options->has_tolerance && worst > options->tolerance;
	const char *tolerance = options->has_tolerance
		? al_format(arena, ", %s the tolerance of %s", is_beyond ? "more than" : "within",
			al_claim_percent(arena, "tolerance", options->tolerance))
		: "";

	return al_format(arena, "%s%s", tolerance,
		holds || is_beyond ? "" : say_copies(arena, took_original));
}

/* The cost on tokens comes first, where the models ran on some; then the change of a module's
 * output, where nothing ran or a tolerance bounds it. */
const char *al_verify_summarize(struct al_session *session, const struct al_verify_options *options,
	bool holds, bool took_original)
{
	struct al_arena *arena = &session->arena;
	const struct al_table *verify = find_table(session, "verify");
	const char *loss = say_loss(arena, find_table(session, "loss"));
	const char *cost = loss ? loss : say_similarity(arena, find_table(session, "similarity"));
	const char *error = say_error(arena, verify);
	double worst = 0;

	if (error)
		(void)al_table_extreme(verify, "output_error", 1, &worst);
	else
		error = "no layer was compressed";
	const char *checks = say_checks(arena, options, worst, holds, took_original);
	if (cost && !*checks)
		return al_format(arena, "%s.", cost);
	return al_format(arena, "%s%s%s%s.%s", cost ? cost : "", cost ? "; " : "",
		cost ? error : al_text_of_capital(arena, error), checks,
		cost || worst == 0 ? "" : " Add --tokens to measure the loss.");
}
