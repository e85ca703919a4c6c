#include "tensors.h"

#include <math.h>

#include "base/random.h"

struct al_matrix matrix(size_t rows, size_t cols)
{
	struct al_matrix m;

	assert_true(al_matrix_init(&m, rows, cols, NULL));
	return m;
}

struct al_matrix gaussian_matrix(size_t rows, size_t cols, uint64_t seed)
{
	struct al_random *random = al_random_create(seed, rows, cols, 0);
	struct al_matrix m = matrix(rows, cols);

	al_random_gaussian(random, m.data, rows * cols);
	al_random_destroy(random);
	return m;
}

static void multiply(enum al_op op_b, struct al_matrix a, struct al_view b, double beta,
	struct al_matrix c)
{
	assert_true(al_gemm(AL_PLAIN, op_b, 1, al_view(a), b, beta, c, NULL));
}

void renew_single(struct layer *l)
{
	assert_true(al_narrow(al_view(l->query), l->query_f, NULL));
	assert_true(al_narrow(al_view(l->key), l->key_f, NULL));
}

static struct layer layer_of(struct al_matrix query, struct al_matrix key, size_t n_heads,
	size_t n_kv_heads)
{
	struct layer l = {.query = query, .key = key};

	assert_true(al_matrix_init_f(&l.query_f, query.rows, query.cols, NULL));
	assert_true(al_matrix_init_f(&l.key_f, key.rows, key.cols, NULL));
	l.heads = (struct al_heads){.query = al_view(query),
		.key = al_view(key),
		.n_heads = n_heads,
		.n_kv_heads = n_kv_heads,
		.d_head = query.cols / n_heads};
	l.single = (struct al_heads){.query_f = al_view_f(l.query_f),
		.key_f = al_view_f(l.key_f),
		.n_heads = n_heads,
		.n_kv_heads = n_kv_heads,
		.d_head = query.cols / n_heads};
	renew_single(&l);
	return l;
}

void finish_layer(struct layer *l)
{
	al_matrix_finish_f(&l->key_f);
	al_matrix_finish_f(&l->query_f);
	al_matrix_finish(&l->key);
	al_matrix_finish(&l->query);
}

struct layer gaussian_layer(struct sizes s, uint64_t seed)
{
	return layer_of(gaussian_matrix(s.d_query, s.n_heads * s.d_head, seed),
		gaussian_matrix(s.d_key, s.n_kv_heads * s.d_head, seed + 1), s.n_heads,
		s.n_kv_heads);
}

static struct al_matrix noisy_factor(size_t d_model, size_t width, size_t cols, uint64_t seed)
{
	struct al_matrix basis = gaussian_matrix(d_model, width, seed),
			 inner = gaussian_matrix(width, cols, seed + 1);
	struct al_matrix factor = gaussian_matrix(d_model, cols, seed + 2);

	for (size_t k = 0; k < width; k++)
		for (size_t i = 0; i < d_model; i++)
			basis.data[i + k * basis.ld] *= pow((double)k + 1, -0.6);
	multiply(AL_PLAIN, basis, al_view(inner), 0.05, factor);
	al_matrix_finish(&inner);
	al_matrix_finish(&basis);
	return factor;
}

struct layer noisy_layer(size_t d_model, size_t width, uint64_t seed)
{
	return layer_of(noisy_factor(d_model, width, 768, seed),
		noisy_factor(d_model, width, 768, seed + 10), 12, 12);
}

/* The two heads that use dimension r: every head is used as often as any other. */
static size_t first_user(size_t r, size_t n_heads)
{
	return r % n_heads;
}

static size_t second_user(size_t r, size_t n_heads)
{
	return (r % n_heads + 1 + r / n_heads % (n_heads - 1)) % n_heads;
}

/* Gathers the columns that a head uses, times the head's mixing on the query side. */
static void gather(struct al_matrix shared, struct al_matrix weights, size_t head, size_t n_heads,
	struct al_matrix out)
{
	size_t used = 0;

	for (size_t r = 0; r < shared.cols; r++) {
		if (first_user(r, n_heads) != head && second_user(r, n_heads) != head)
			continue;
		for (size_t i = 0; i < shared.rows; i++)
			out.data[i + used * out.ld] = shared.data[i + r * shared.ld]
				* (weights.data ? weights.data[head + r * weights.ld] : 1);
		used++;
	}
	assert_int_equal(used, out.cols);
}

/* Every head in a basis of its own, so that nothing shows the shared dimensions. */
static void turn(struct al_matrix gathered, struct al_matrix rotation, struct al_matrix all,
	size_t head)
{
	const size_t d = gathered.cols;

	multiply(AL_PLAIN, gathered, al_view(rotation), 0, al_part(all, 0, head * d, all.rows, d));
}

struct layer collaborative_layer(size_t d_model, size_t n_heads, size_t d_head, uint64_t seed)
{
	const size_t width = n_heads * d_head / 2;
	struct al_matrix query = matrix(d_model, n_heads * d_head),
			 key = matrix(d_model, n_heads * d_head);
	struct al_matrix a = gaussian_matrix(d_model, width, seed),
			 c = gaussian_matrix(d_model, width, seed + 1);
	struct al_matrix mixing = gaussian_matrix(n_heads, width, seed + 2),
			 rotation = matrix(d_head, d_head);
	struct al_matrix gathered = matrix(d_model, d_head), none = {0};
	struct al_random *random = al_random_create(seed, 3, 0, 0);

	for (size_t head = 0; head < n_heads; head++) {
		assert_true(al_haar(random, rotation, NULL));
		gather(a, mixing, head, n_heads, gathered);
		turn(gathered, rotation, query, head);
		gather(c, none, head, n_heads, gathered);
		turn(gathered, rotation, key, head);
	}
	al_random_destroy(random);
	al_matrix_finish(&gathered);
	al_matrix_finish(&rotation);
	al_matrix_finish(&mixing);
	al_matrix_finish(&c);
	al_matrix_finish(&a);
	return layer_of(query, key, n_heads, n_heads);
}

static double element(const struct al_heads *h, size_t head, size_t i, size_t j)
{
	const size_t d = h->query.cols / h->n_heads, kv_head = al_kv_head(h, head);
	double sum = 0;

	for (size_t k = 0; k < d; k++)
		sum += h->query.data[i + (head * d + k) * h->query.ld]
			* h->key.data[j + (kv_head * d + k) * h->key.ld];
	return sum;
}

struct al_matrix dense_tensor(const struct al_heads *h)
{
	struct al_matrix t = matrix(h->n_heads * h->query.rows, h->key.rows);

	for (size_t head = 0; head < h->n_heads; head++)
		for (size_t i = 0; i < h->query.rows; i++)
			for (size_t j = 0; j < h->key.rows; j++)
				t.data[head + h->n_heads * i + j * t.ld] = element(h, head, i, j);
	return t;
}
