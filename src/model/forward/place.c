/* Which token something is about. */
#include "model/forward/internal.h"

static const char *layer_text(char text[64], int64_t layer)
{
	if (layer == AL_BEFORE_LAYERS)
		return "the embedding";
	if (layer == AL_BEHIND_LAYERS)
		return "behind the last layer";
	snprintf(text, 64, "layer %lld", (long long)layer);
	return text;
}

static bool fail_token(struct al_pass_place place, size_t column, const char *what,
	struct al_error *err)
{
	const struct al_batch *batch = place.batch;
	const size_t token = place.first + column;
	size_t sequence = 0;
	char text[64];

	while (sequence + 1 < batch->n_sequences && batch->begin[sequence + 1] <= token)
		sequence++;
	return al_fail(err, AL_ENOTFINITE, "%s: sequence %zu, token %zu (both counted from 0): %s",
		layer_text(text, place.layer), batch->first_sequence + sequence,
		token - batch->begin[sequence], what);
}

bool al_check_columns(struct al_pass_place place, struct al_view_f x, struct al_error *err)
{
	if (al_is_finite_f(x))
		return true;
	for (size_t j = 0; j < x.cols; j++)
		if (!al_is_finite_f(al_columns_f(x, j, 1)))
			return fail_token(place, j, "an activation is NaN or infinite", err);
	return true;
}

bool al_fail_largest(const struct al_layer *layer, const struct al_batch *batch, struct al_view_f x,
	struct al_error *err)
{
	char what[96];
	double most = -1;
	size_t token = 0;

	for (size_t j = 0; j < x.cols; j++)
		for (size_t i = 0; i < x.rows; i++) {
			const double size = fabs((double)x.data[i + j * x.ld]);
			token = size > most ? j : token;
			most = fmax(most, size);
		}
	snprintf(what, sizeof(what),
		"numbers of up to %.3g are too large to be squared and added up", most);
	return fail_token((struct al_pass_place){layer->number, batch, 0}, token, what, err);
}

bool al_multiply(struct al_pass_place place, enum al_op op, float scale, struct al_view_f w,
	struct al_view_f x, bool is_added, struct al_matrix_f c, struct al_error *err)
{
	struct al_error failure = {0};

	if (al_gemm_f(op, AL_PLAIN, scale, w, x, is_added ? 1 : 0, c, &failure))
		return true;
	if (!al_check_columns(place, al_view_f(c), err))
		return false;
	if (err)
		*err = failure;
	return false;
}

enum { COLUMNS_AT_ONCE = 32 };

struct columns {
	size_t n;
	void (*work)(void *context, size_t first, size_t n);
	void *context;
};

static bool work_on(void *context, size_t index, struct al_error *err)
{
	const struct columns *columns = context;
	const size_t first = index * COLUMNS_AT_ONCE, left = columns->n - first;

	(void)err;
	columns->work(columns->context, first, al_least(left, COLUMNS_AT_ONCE));
	return true;
}

void al_each_columns(size_t n, void (*work)(void *context, size_t first, size_t n), void *context)
{
	struct columns columns = {n, work, context};
	const bool ok = al_parallel((n + COLUMNS_AT_ONCE - 1) / COLUMNS_AT_ONCE, work_on, &columns,
		NULL);

	(void)ok; /* the work can't fail */
}
