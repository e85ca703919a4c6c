/* A compressed module's projections in the shape of the original's. */
#include "compress/job.h"

#include "model/heads/shared_heads.h"

/* Where head number i of the original's projection begins in the piece, and how wide it is there;
 * 0: nowhere. */
struct spot {
	size_t at, width;
};

/* Where a head is among those that are grouped; query heads go with their keys. */
static size_t find_place(const struct al_module_layout *layout, const struct al_factor *factor,
	size_t head)
{
	const size_t group = (size_t)(factor->heads / layout->attention->n_kv_heads);

	return layout->places ? layout->places[head / group] * group + head % group : head;
}

static struct spot find_spot(const struct al_module_layout *layout, enum al_projection p,
	size_t original)
{
	const struct al_factor *factor = &layout->attention->factors[p];
	const size_t head = find_place(layout, factor, original);
	const size_t heads = (size_t)factor->heads, width = (size_t)factor->width;
	const size_t n = (size_t)layout->attention->n_heads;
	const size_t shared = (size_t)al_layout_shared(layout, p);
	size_t at = 0;

	if (shared > 0)
		return (struct spot){head / (heads / shared) * width, width};
	if (!layout->is_dropped) {
		const size_t own = (size_t)al_layout_columns(layout, al_piece_of(p, false)) / heads;
		return (struct spot){head * own, own};
	}
	for (size_t i = 0; i < head; i++)
		at += layout->is_dropped[i * n / heads] ? 0 : width;
	return (struct spot){at, layout->is_dropped[head * n / heads] ? 0 : width};
}

/* Columns of all heads from the piece to their places, or back. */
static void move(const struct al_module_layout *layout, enum al_projection p, struct al_view from,
	struct al_matrix to, bool is_back)
{
	const struct al_factor *factor = &layout->attention->factors[p];

	for (size_t head = 0; head < (size_t)factor->heads; head++) {
		const struct spot spot = find_spot(layout, p, head);
		const size_t place = head * (size_t)factor->width;
		for (size_t j = 0; j < spot.width; j++)
			memcpy(to.data + ((is_back ? spot.at : place) + j) * to.ld,
				from.data + ((is_back ? place : spot.at) + j) * from.ld,
				to.rows * sizeof(double));
	}
}

/* A narrow projection, if there is one, times what follows it. */
static bool make(const struct al_module_layout *layout, const struct al_matrix pieces[AL_N_PIECES],
	enum al_projection p, bool is_bias, struct al_matrix *out, struct al_error *err)
{
	const struct al_factor *factor = &layout->attention->factors[p];
	const struct al_matrix piece = pieces[al_piece_of(p, is_bias)];
	const struct al_matrix *down = is_bias || p == AL_OUTPUT ? NULL : &pieces[al_piece_down(p)];
	AL_OWNED struct al_matrix product = {0};
	struct al_view whole = al_view(piece);

	if (down && down->data) {
		if (!al_product(AL_PLAIN, al_view(*down), AL_PLAIN, whole, &product, err))
			return false;
		whole = al_view(product);
	}
	if (!al_matrix_init(out, whole.rows, (size_t)(factor->heads * factor->width), err))
		return false;
	move(layout, p, whole, *out, false);
	return true;
}

static bool make_shared(const struct al_job_module *module,
	const struct al_matrix pieces[AL_N_PIECES], enum al_projection p, bool is_bias,
	struct al_matrix *out, struct al_error *err)
{
	const struct al_attention *a = module->layout.attention;
	const struct al_shared_heads heads = {.columns = pieces[p],
		.mixing = pieces[AL_PIECE_MIXING],
		.content = pieces[AL_PIECE_CONTENT],
		.n_heads = (size_t)a->n_heads,
		.factor = module->scale / a->score_scale};

	return al_shared_heads_make(&heads, p == AL_QUERY, is_bias, out, err);
}

/* The original's own; values of heads that go put out nothing. */
static bool load_own(const struct al_module_layout *layout, const struct al_checkpoint *original,
	enum al_projection p, bool is_bias, struct al_matrix *out, struct al_error *err)
{
	const struct al_attention *a = layout->attention;
	const struct al_factor *own = is_bias ? &a->biases[p] : &a->factors[p];

	if (!al_factor_load(original, own, out, err))
		return false;
	for (size_t j = 0; p == AL_VALUE && layout->is_dropped && j < out->cols; j++)
		if (find_spot(layout, p, j / (size_t)own->width).width == 0)
			memset(out->data + j * out->ld, 0, out->rows * sizeof(double));
	return true;
}

/* What of the file such a projection is made of. */
static bool takes_piece(const struct al_module_layout *layout, enum al_module_piece piece,
	enum al_projection p, bool is_bias)
{
	if (al_method_mixes(layout->method) && p <= AL_KEY)
		return piece == al_piece_of(p, false) || piece == AL_PIECE_MIXING
			|| piece == AL_PIECE_CONTENT;
	return al_layout_changes(layout, p, is_bias)
		&& (piece == al_piece_of(p, is_bias)
			|| (!is_bias && p != AL_OUTPUT && piece == al_piece_down(p)));
}

static bool read_pieces(const struct al_job *job, const struct al_module_layout *layout,
	enum al_projection p, bool is_bias, struct al_pieces *out, struct al_error *err)
{
	for (int i = 0; i < AL_N_PIECES; i++)
		if (takes_piece(layout, (enum al_module_piece)i, p, is_bias)
			&& !al_layout_read(layout, job->compressed, (enum al_module_piece)i,
				&out->of[i], err))
			return false;
	return true;
}

bool al_effective_gather(const struct al_module_layout *layout, enum al_projection p,
	struct al_view effective, struct al_matrix *piece, struct al_error *err)
{
	const int64_t columns = al_layout_columns(layout, al_piece_of(p, false));

	al_matrix_finish(piece);
	if (!al_matrix_init(piece, effective.rows, (size_t)columns, err))
		return false;
	move(layout, p, effective, *piece, true);
	return true;
}

/* ---- of a job ---- */

const struct al_job_module *al_job_find(const struct al_job *job,
	const struct al_attention *attention)
{
	for (size_t i = 0; i < job->n_modules; i++)
		if (job->modules[i].layout.attention == attention)
			return &job->modules[i];
	return NULL;
}

/* A projection as the forward pass runs it, from pieces in memory or in the compressed file: what
 * has none is the original's own, a bias that there isn't without data. Of heads that share queries
 * and keys (collab) every head's columns, R of them, or one more where there are content biases:
 * what a key's token adds to its scores, which the query takes once; the module's scale multiplies
 * their scores. */
static bool load(void *context, const struct al_attention *attention, enum al_projection p,
	bool is_bias, struct al_matrix *out, struct al_error *err)
{
	const struct al_job *job = context;
	const struct al_checkpoint *original = job->view->checkpoint;
	const struct al_job_module *module = al_job_find(job, attention);
	AL_ENDS(al_pieces_finish) struct al_pieces read = {0};

	if (!module)
		return al_factor_load(original,
			is_bias ? &attention->biases[p] : &attention->factors[p], out, err);
	const struct al_module_layout *layout = &module->layout;
	const struct al_matrix *pieces = job->compressed ? read.of : module->pieces.of;
	if (job->compressed && !read_pieces(job, layout, p, is_bias, &read, err))
		return false;
	if (al_method_mixes(layout->method) && p <= AL_KEY)
		return make_shared(module, pieces, p, is_bias, out, err);
	if (pieces[al_piece_of(p, is_bias)].data)
		return make(layout, pieces, p, is_bias, out, err);
	return load_own(layout, original, p, is_bias, out, err);
}

struct al_factor_source al_job_factors(struct al_job *job)
{
	return (struct al_factor_source){.load = load, .context = job};
}
