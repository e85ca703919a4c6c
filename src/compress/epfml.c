/* Checkpoints for epfml/collaborative-attention. */
#include "compress/job.h"

/* epfml/collaborative-attention asks for a projection each, with these names. */
bool al_epfml_check(const struct al_attention *a, struct al_error *err)
{
	static const char *const endings[] = {".query.weight", ".key.weight"};

	for (int p = AL_QUERY; p <= AL_KEY; p++) {
		const char *name = a->factors[p].runs[0].tensor->name;
		const size_t n = strlen(name), n_ending = strlen(endings[p]);
		if (n < n_ending || strcmp(name + n - n_ending, endings[p]) != 0)
			return al_fail(err, AL_EINPUT,
				"tensor %s: expected \"...%s\"; epfml/collaborative-attention "
				"supports only BERT-like layers",
				name, endings[p]);
	}
	return true;
}

static void scale_by(struct al_matrix m, double factor)
{
	for (size_t j = 0; j < m.cols; j++)
		for (size_t i = 0; i < m.rows; i++)
			m.data[i + j * m.ld] *= factor;
}

/* epfml scales scores by sqrt(n_heads/R), the original by 1/sqrt(d_head): the ratio of the two is
 * folded into the mixing matrix. */
void al_epfml_fold(struct al_job_module *module)
{
	const struct al_attention *a = module->layout.attention;
	const double theirs = sqrt((double)a->n_heads / (double)module->layout.rank);

	scale_by(module->pieces.of[AL_PIECE_MIXING], module->scale / theirs);
	scale_by(module->pieces.of[AL_PIECE_CONTENT], module->scale / theirs);
	module->scale = theirs;
}
