/* Notes on what an audit's tables measure. */
#include "audit/notes.h"

#include "audit/measures.h"
#include "audit/rotary.h"
#include "model/heads/rotary.h"

static size_t count_rotary(const struct al_model_view *view)
{
	size_t n = 0;

	for (size_t i = 0; i < view->n_modules; i++)
		n += al_has_offset(&view->modules[i]);
	return n;
}

/* At an offset within the trained positions a sequence may be so short that the rule is theirs. */
static bool check_rule(const struct al_rotary_rule *rule, int64_t offset, struct al_error *err)
{
	return !al_rotary_is_plain(rule) || !al_rotary_is_long(rule, (size_t)offset + 1)
		|| al_fail(err, AL_EINPUT,
			"--offset %lld: with %s scaling scores depend on the sequence length from "
			"%.0f tokens on; use a smaller offset",
			(long long)offset, al_rotary_rule_name(rule), rule->original_positions);
}

static bool set_speeds(struct al_model_view *view, struct al_attention *a, int64_t offset,
	struct al_error *err)
{
	struct al_rotary_rule rule;

	if (!al_rotary_rule_read(view, a, &view->arena, &rule, err)
		|| !check_rule(&rule, offset, err))
		return false;
	a->rotary_speeds = al_rotary_speeds(&rule, a, (size_t)offset + 1, &view->arena);
	return true;
}

bool al_audit_set_offset(struct al_model_view *view, int64_t offset, struct al_error *err)
{
	if (offset == 0)
		return true;
	if (count_rotary(view) == 0)
		return al_fail(err, AL_EINPUT,
			"--offset %lld: %s has no rotary positions; its W_Q W_K^T is the same at "
			"every offset",
			(long long)offset, view->checkpoint->path);
	for (size_t i = 0; i < view->n_modules; i++)
		if (al_has_offset(&view->modules[i])
			&& !set_speeds(view, &view->modules[i], offset, err))
			return false;
	return true;
}

/* The base of the rotary frequencies, and where it is from: it may be a family's default. */
static void note_base(const struct al_attention *a, struct al_table *table)
{
	al_table_note(table, "rotary base: %lld (%s)", (long long)a->rotary_base,
		a->rotary_base_origin ? a->rotary_base_origin
				      : "the default, as its family sets none");
}

/* The config's rule for long sequences. What multiplies all scores alike is left out. */
static void note_rule(const struct al_model_view *view, const struct al_attention *a,
	int64_t offset, struct al_table *table)
{
	struct al_rotary_rule rule;

	if (!al_rotary_rule_read(view, a, &table->arena, &rule, NULL)
		|| !al_rotary_rule_name(&rule))
		return;
	al_table_note(table, "%s scaling of rotary positions, from %s", al_rotary_rule_name(&rule),
		view->config_path);
	if (al_rotary_hangs_on_length(&rule) && !al_rotary_is_long(&rule, (size_t)offset + 1))
		al_table_note(table, "in sequences of at most %.0f tokens",
			rule.original_positions);
	if (rule.attention_factor != 1)
		al_table_note(table, "its factor of %.6g on the scores at every offset is left out",
			rule.attention_factor * rule.attention_factor);
}

static void note_offset(const struct al_audit *audit, struct al_table *table)
{
	const struct al_model_view *view = audit->view;
	size_t i = 0;

	while (!al_has_offset(&view->modules[i]))
		i++;
	note_base(&view->modules[i], table);
	while (i + 1 < view->n_modules
		&& !(view->modules[i].n_rotary_scaling && al_has_offset(&view->modules[i])))
		i++;
	note_rule(view, &view->modules[i], audit->options.offset, table);
}

/* What the form W_Q W_K^T represents. */
static void note_positions(const struct al_audit *audit, struct al_table *table)
{
	const struct al_model_view *view = audit->view;
	size_t n = count_rotary(view);

	if (n == 0)
		return;
	al_table_note(table, "rotary positions: W_Q W_K^T is the form at offset %lld%s",
		(long long)audit->options.offset,
		n < view->n_modules ? "; modules without them have one form for all offsets" : "");
	if (audit->options.offset)
		note_offset(audit, table);
}

/* Which modules' norms went into their weights. */
static void note_norms(const struct al_attention *const *measured, size_t n, struct al_table *table)
{
	size_t n_folded = 0, n_cross = 0, n_biased = 0;

	for (size_t i = 0; i < n; i++) {
		n_folded += measured[i]->norm != NULL;
		n_cross += measured[i]->norm && measured[i]->is_cross;
		n_biased += measured[i]->norm_bias != NULL;
	}
	al_table_note(table, "norms folded into the weights of %zu of %zu modules%s%s%s", n_folded,
		n, n_biased ? ", and their offsets into the biases" : "",
		n_folded < n ? "; the family has none for the others (a norm at the end of the "
			       "previous layer doesn't count)"
			     : "",
		n_cross ? "; in cross-attention only into the queries" : "");
}

/* A note on the parts of queries and keys that forms leave out, if any module has some. */
static void note_forms(const struct al_attention *const *measured, size_t n, struct al_table *table)
{
	static const struct {
		size_t flag;
		const char *note;
	} notes[] = {
		{offsetof(struct al_attention, is_latent),
			"latent attention: W_Q W_K^T leaves out each head's rotary part, whose "
			"key all heads share"},
		{offsetof(struct al_attention, is_shared),
			"collaborative attention: a head's queries are the shared queries times "
			"its row of the mixing matrix, and all heads use the same keys; W_Q W_K^T "
			"leaves out the content bias, and conversions aren't measured"},
		{offsetof(struct al_attention, has_qk_norm),
			"a norm follows the query and key projections: W_Q W_K^T leaves out "
			"its gains"},
	};

	for (size_t i = 0; i < n; i++)
		if (measured[i]->biases[AL_QUERY].n_runs || measured[i]->biases[AL_VALUE].n_runs)
			al_table_note(table,
				"biases: comparisons of heads include them (maps of [x, 1]); "
				"spectra and conversions use the weights alone");
	for (size_t i = 0; i < n; i++)
		if (measured[i]->gate.n_runs)
			al_table_note(table,
				"what heads put out is multiplied by the sigmoid of a gate, which "
				"W_V W_O leaves out");
	for (size_t k = 0; k < sizeof(notes) / sizeof(*notes); k++)
		for (size_t i = 0; i < n; i++)
			if (*(const bool *)((const char *)measured[i] + notes[k].flag))
				al_table_note(table, "%s", notes[k].note);
}

/* Errors in the measure of data hold for these data. */
static void note_calibration(const struct al_calibration *calibration, struct al_table *table)
{
	al_table_note(table,
		"calibration: %s, %.0f tokens in %zu sequences; spectra, ranks and "
		"errors are weighted by how often these tokens use each direction of "
		"the inputs (for keys without rotary positions less the mean), and "
		"apply to text like it; errors of conversions are in sample",
		calibration->path, al_statistics_tokens(&calibration->modules[0]),
		calibration->n_sequences);
}

/* Older imatrices contain sums of squares only, no sums. */
static bool has_means(const struct al_imatrix *imatrix)
{
	for (size_t i = 0; i < imatrix->n_entries; i++)
		if (!imatrix->entries[i].sums)
			return false;
	return true;
}

static void note_imatrix(const struct al_imatrix *imatrix, struct al_table *table)
{
	al_table_note(table,
		"imatrix: %s; errors are weighted by the mean squares%s of the inputs, "
		"as if the inputs were uncorrelated; `calibrate` records their "
		"correlations too and finds lower ranks",
		imatrix->path, has_means(imatrix) ? " and means" : "");
	if (has_means(imatrix))
		al_table_note(table,
			"for keys without rotary positions the inputs' mean is removed, since "
			"softmax cancels it");
	else
		al_table_warn(table,
			"the imatrix has no means: constant parts of the inputs count as if "
			"they varied, and biases as if the mean were 0");
}

/* The coarsest format of the modules' weights; NULL: none is known. */
static const struct al_dtype *coarsest(const struct al_attention *const *measured, size_t n)
{
	const struct al_dtype *found = NULL;

	for (size_t i = 0; i < n; i++)
		for (int p = 0; p < AL_N_PROJECTIONS; p++) {
			const struct al_dtype *dtype = measured[i]->factors[p].dtype;
			if (dtype && (!found || dtype->epsilon > found->epsilon))
				found = dtype;
		}
	return found;
}

/* Rounding to few bits hides small singular values, or all of them. */
static void note_ranks(const struct al_attention *const *measured, size_t n, struct al_table *table)
{
	static const double large = 0.125; /* of the largest singular value */
	const struct al_dtype *dtype = coarsest(measured, n);
	const double unit = dtype ? dtype->epsilon / 2 : 0, hidden = al_rank_tolerance(1, unit);

	if (!al_rank_is_told(unit))
		al_table_warn(table,
			"no ranks for weights stored as %s: the rounding error of so few bits may "
			"be as large as the largest singular value; component shares are those of "
			"the rounded numbers",
			al_dtype_title(dtype));
	else if (hidden >= large)
		al_table_warn(table,
			"ranks mean little for weights stored as %s: the rounding error of so few "
			"bits may cause singular values of %g of the largest, and only larger ones "
			"are counted; component shares are those of the rounded numbers",
			al_dtype_title(dtype), hidden);
}

void al_audit_note(const struct al_audit *audit, const struct al_attention *const *measured,
	size_t n, const char *kernel, struct al_table *table)
{
	const struct al_audit_options *options = &audit->options;

	const bool is_computed = options->n_nulls == AL_NULL_IS_COMPUTED;
	const long long n_draws = is_computed ? AL_DRAWS_INSTEAD : (long long)options->n_nulls;
	const char *nulls = is_computed && !options->covariance
		? "nulls computed"
		: al_format(&table->arena, "null draws: %lld%s", n_draws,
			n_draws > 0 && options->covariance
				? ", of the stored heads, then weighed by the inputs as these are"
				: "");

	al_table_note(table, "seed: %llu, %s, BLAS kernel: %s%s", (unsigned long long)options->seed,
		nulls, kernel, options->is_centered ? ", centered" : "");
	if (options->folds_norms)
		note_norms(measured, n, table);
	note_positions(audit, table);
	note_forms(measured, n, table);
	note_ranks(measured, n, table);
	if (al_covariance_calibration(options->covariance))
		note_calibration(&options->covariance->calibration, table);
	else if (al_covariance_imatrix(options->covariance))
		note_imatrix(&options->covariance->imatrix, table);
	else if (options->covariance)
		al_table_note(table,
			"second moments of the inputs: %s; those of [x, 1] ((D+1) x (D+1)) "
			"give the mean, which is removed for keys without rotary positions; "
			"with those of x alone (D x D) or a diagonal the mean counts as 0",
			options->covariance->path);
}
