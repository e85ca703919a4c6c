/* What the tables of an audit are of. */
#include "audit/notes.h"

#include "audit/losses.h"
#include "audit/rotary.h"
#include "linalg/kernel.h"

static size_t count_rotary(const struct al_model_view *view)
{
	size_t n = 0;

	for (size_t i = 0; i < view->n_modules; i++)
		n += al_has_offset(&view->modules[i]);
	return n;
}

bool al_audit_check_offset(const struct al_model_view *view, int64_t offset, struct al_error *err)
{
	return offset == 0 || count_rotary(view) > 0
		|| al_fail(err, AL_EINPUT,
			"--offset %lld: %s has no rotary positions, its W_Q W_K^T is the "
			"same at every offset",
			(long long)offset, view->checkpoint->path);
}

/* The base of the rotary frequencies, and where it is from: it may be a family's default. */
static void note_base(const struct al_model_view *view, struct al_table *table)
{
	size_t i = 0;

	while (!al_has_offset(&view->modules[i]))
		i++;
	const struct al_attention *a = &view->modules[i];
	al_table_note(table, "rotary base: %lld (%s)", (long long)a->rotary_base,
		a->rotary_base_origin ? a->rotary_base_origin : "its family names no other");
}

/* What the form W_Q W_K^T is of. */
static void note_positions(const struct al_audit *audit, struct al_table *table)
{
	const struct al_model_view *view = audit->view;
	size_t n = count_rotary(view);
	const char *keys[] = {"rope_scaling", "rope_parameters"};

	if (n == 0)
		return;
	al_table_note(table, "rotary positions: W_Q W_K^T is the form at offset %lld%s",
		(long long)audit->options.offset,
		n < view->n_modules ? "; modules without them have one form for all offsets" : "");
	if (audit->options.offset)
		note_base(view, table);
	for (size_t i = 0; audit->options.offset && view->has_config && i < 2; i++)
		if (al_json_get(view->config.root, keys[i]))
			al_table_note(table, "%s of %s: frequencies are taken unscaled", keys[i],
				view->config_path);
}

/* Which modules' norms went into their weights. */
static void note_norms(const struct al_attention *const *measured, size_t n, struct al_table *table)
{
	size_t n_folded = 0, n_cross = 0;

	for (size_t i = 0; i < n; i++) {
		n_folded += measured[i]->norm != NULL;
		n_cross += measured[i]->norm && measured[i]->is_cross;
	}
	al_table_note(table, "norms folded into %zu of %zu modules%s%s", n_folded, n,
		n_folded < n ? "; for the others the family names none (a norm at the end of the "
			       "layer before does not count)"
			     : "",
		n_cross ? "; of cross attention into the queries alone" : "");
}

/* What of queries and keys isn't in the forms. */
static void note_forms(const struct al_attention *const *measured, size_t n, struct al_table *table)
{
	bool is_latent = false, is_normed = false, is_biased = false;

	for (size_t i = 0; i < n; i++) {
		is_biased |= measured[i]->biases[AL_QUERY].n_runs
			|| measured[i]->biases[AL_VALUE].n_runs;
		is_latent |= measured[i]->is_latent;
		is_normed |= al_has_qk_norm(measured[i]);
	}
	if (is_biased)
		al_table_note(table,
			"biases: pairs and different heads are compared by what they make of [x, "
			"1], "
			"biases included; spectra and conversions are of the weights");
	if (is_latent)
		al_table_note(table,
			"latent attention: forms leave out each head's rotary part, whose key all "
			"heads share");
	if (is_normed)
		al_table_note(table,
			"queries and keys pass norms: forms are those of the projections, without "
			"the norms' gains");
}

/* Errors in the measure of data hold for these data. */
static void note_calibration(const struct al_calibration *calibration, struct al_table *table)
{
	const struct al_module_statistics *first = &calibration->modules[0];
	const double width = (double)first->of[AL_STATISTIC_INPUTS].rows - 1;
	const double n = al_statistics_tokens(first);

	al_table_note(table,
		"calibration: %s, %.0f tokens in %zu sequences; spectra, ranks and conversions are "
		"in the measure of its inputs, of which keys without rotary positions lose the "
		"mean: errors hold for these tokens",
		calibration->path, n, calibration->n_sequences);
	if (n < 10 * width)
		al_table_note(table, "%.1f tokens for each of an input's %.0f numbers%s", n / width,
			width,
			n < width ? ": directions that no token takes count as nothing" : "");
}

void al_audit_note(const struct al_audit *audit, const struct al_attention *const *measured,
	size_t n, struct al_table *table)
{
	const struct al_audit_options *options = &audit->options;

	al_table_note(table, "seed: %llu, null draws: %lld, BLAS kernel: %s%s",
		(unsigned long long)options->seed, (long long)options->n_nulls, al_blas_kernel(),
		options->is_centred ? ", centred" : "");
	if (options->folds_norms)
		note_norms(measured, n, table);
	note_positions(audit, table);
	note_forms(measured, n, table);
	if (al_covariance_calibration(options->covariance))
		note_calibration(&options->covariance->calibration, table);
	else if (options->covariance)
		al_table_note(table,
			"second moment of the inputs: %s; of [x, 1] ((D+1) x (D+1)) it takes the "
			"mean off the keys' inputs where there are no rotary positions, of x alone "
			"(D x D) and as a diagonal it doesn't, and biases count as if the mean "
			"were "
			"0",
			options->covariance->path);
}
