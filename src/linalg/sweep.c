/* Alternating least squares for the head tensor (Kolda & Bader 2009, figure 3.3): the products of
 * the unfoldings with Khatri-Rao products go through the heads' factors.
 *
 * The best queries lie in the space of the heads' queries, A = Q a, and keys likewise: a sweep
 * knows a and c alone, and Q and K by their Gram matrices, which is half the work where heads are
 * no wider together than the model. */
#include "linalg/sweep.h"

/* Sums of a product that run side by side. */
enum { LANES = 16 };

/* Rows are shared out so that two threads or twenty end together, and wide enough that packing the
 * other operand for each share is little; by the shape alone, so that the bits are. */
struct share {
	size_t first, width;
};

enum { SHARES = 24, SHARE_LEAST = 64 };

static size_t share_width(size_t rows)
{
	const size_t even = (rows + SHARES - 1) / SHARES;

	return (even + SHARE_LEAST - 1) / SHARE_LEAST * SHARE_LEAST;
}

static size_t count_shares(size_t rows)
{
	const size_t width = share_width(rows);

	return (rows + width - 1) / width;
}

static struct share share_at(size_t rows, size_t index)
{
	const size_t width = share_width(rows), first = index * width;

	return (struct share){first, al_least(rows - first, width)};
}

/* The weight of the proximal term; and where the terms' squared norms exceed what they explain so
 * many times, what they explain is counted in double precision. */
#define PROXIMAL 1e-14
#define CANCELLING INFINITY
#include "linalg/in_double.h"
#include "linalg/sweep.inc"
#undef PROXIMAL
#undef CANCELLING

#define PROXIMAL 1e-6
#define CANCELLING 4
#include "linalg/in_single.h"
#include "linalg/sweep.inc"

/* One of the two. */
struct al_sweep {
	bool is_single;
	struct sweep wide;
	struct sweep_f narrow;
};

struct al_sweep *al_sweep_create(const struct al_heads *h, size_t rank, struct al_error *err)
{
	struct al_sweep *s = al_calloc(1, sizeof(*s));

	s->is_single = al_heads_shape(h).is_single;
	if (s->is_single ? sweep_init_f(&s->narrow, h, rank, err)
			 : sweep_init(&s->wide, h, rank, err))
		return s;
	al_sweep_destroy(s);
	return NULL;
}

void al_sweep_destroy(struct al_sweep *s)
{
	if (!s)
		return;
	al_scratch_finish(&s->wide.scratch);
	al_scratch_finish(&s->narrow.scratch);
	free(s);
}

bool al_sweep_load(struct al_sweep *s, const struct al_cp_terms *terms, struct al_error *err)
{
	return s->is_single ? load_f(&s->narrow, terms, err) : load(&s->wide, terms, err);
}

bool al_sweep_store(struct al_sweep *s, struct al_cp_terms *terms, struct al_error *err)
{
	return s->is_single ? store_f(&s->narrow, terms, err) : store(&s->wide, terms, err);
}

bool al_sweep_explain(struct al_sweep *s, double *explained, struct al_error *err)
{
	return s->is_single ? explain_f(&s->narrow, explained, err)
			    : explain(&s->wide, explained, err);
}

bool al_sweep_step(struct al_sweep *s, struct al_swept *out, struct al_error *err)
{
	return s->is_single ? step_f(&s->narrow, out, err) : step(&s->wide, out, err);
}

bool al_sweep_extrapolate(struct al_sweep *s, double momentum, struct al_error *err)
{
	return s->is_single ? extrapolate_f(&s->narrow, momentum, err)
			    : extrapolate(&s->wide, momentum, err);
}

bool al_sweep_go_back(struct al_sweep *s, struct al_error *err)
{
	return s->is_single ? go_back_f(&s->narrow, err) : go_back(&s->wide, err);
}

bool al_terms_init(struct al_cp_terms *t, const struct al_heads *heads, size_t rank,
	struct al_error *err)
{
	const struct al_heads_shape s = al_heads_shape(heads);

	*t = (struct al_cp_terms){{0}, {0}, {0}};
	return al_matrix_init(&t->query, s.d_query, rank, err)
		&& al_matrix_init(&t->key, s.d_key, rank, err)
		&& al_matrix_init(&t->mixing, s.n_heads, rank, err);
}

void al_terms_finish(struct al_cp_terms *t)
{
	al_matrix_finish(&t->mixing);
	al_matrix_finish(&t->key);
	al_matrix_finish(&t->query);
}

static bool apply_mixing(const void *context, size_t head, struct al_view x, struct al_matrix out,
	struct al_error *err)
{
	const struct al_matrix *mixing = context;

	(void)err;
	for (size_t j = 0; j < x.cols; j++)
		for (size_t r = 0; r < x.rows; r++)
			out.data[r + j * out.ld] = mixing->data[head + r * mixing->ld]
				* x.data[r + j * x.ld];
	return true;
}

bool al_terms_residual(const struct al_heads *heads, double norm_squared,
	const struct al_cp_terms *t, double most_flops, double *error, bool *is_estimate,
	struct al_error *err)
{
	const struct al_approximation a = {al_view(t->query), al_view(t->key), apply_mixing,
		&t->mixing};

	return al_residual(heads, norm_squared, &a, most_flops, error, is_estimate, err);
}
