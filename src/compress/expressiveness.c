/* How many of the shared dimensions each head of a collaborative layer uses. */
#include "compress/job.h"

#include "audit/measures.h"

static double column_norm(struct al_matrix m, size_t j)
{
	const struct al_view column = al_columns(al_view(m), j, 1);

	return sqrt(al_inner(column, column));
}

/* The adaptive expressiveness of Cordonnier et al.: how many shared dimensions hold 90 % of
 * m_ir^2 |a_r|^2 |c_r|^2 in each head. */
void al_count_dimensions(struct al_job *job, struct al_job_module *module)
{
	const struct al_pieces *pieces = &module->pieces;
	const struct al_matrix mixing = pieces->of[AL_PIECE_MIXING];
	double *norms = al_new_array(&job->arena, double, 2 * mixing.rows),
	       *weights = norms + mixing.rows;

	module->dimensions = al_new_array(&job->arena, size_t, mixing.cols);
	for (size_t r = 0; r < mixing.rows; r++)
		norms[r] = column_norm(pieces->of[AL_PIECE_QUERY], r)
			* column_norm(pieces->of[AL_PIECE_KEY], r);
	for (size_t i = 0; i < mixing.cols; i++) {
		for (size_t r = 0; r < mixing.rows; r++)
			weights[r] = fabs(mixing.data[r + i * mixing.ld]) * norms[r];
		al_sort_falling(weights, mixing.rows);
		module->dimensions[i] = al_components(weights, mixing.rows, 0.9);
	}
}

struct row {
	const char *module;
	int64_t layer;
	size_t head, dimensions;
};

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct row, module, "Module")},
	{AL_SHOW_WHOLE(struct row, layer, "Layer")},
	{AL_SHOW_KEY(struct row, head, "Head", .digits = AL_DIGITS_ALL)},
	{AL_SHOW_WHOLE(struct row, dimensions, "Shared dimensions")},
	AL_FIELDS_END,
};

void al_compress_add_head_columns(struct al_table *table)
{
	al_table_add_fields(table, fields, 0);
}

void al_answer_heads(const struct al_job *job, struct al_table *table)
{
	for (size_t m = 0; m < job->n_modules; m++) {
		const struct al_attention *a = job->modules[m].layout.attention;
		for (size_t i = 0; i < (size_t)a->n_heads; i++)
			al_table_add_record(table,
				&(struct row){a->name, a->layer, i, job->modules[m].dimensions[i]});
	}
	al_table_note(table,
		"number of shared dimensions r that capture 90 %% of m_ir^2 |a_r|^2 |c_r|^2");
}
