/* Modules of random weights with known answers, for the tests of measurements. */
#pragma once

#include "unit.h"

#include <math.h>

#include "audit/triangles.h"
#include "base/random.h"

struct module {
	struct al_matrix of[AL_N_PROJECTIONS];
	struct al_heads heads;
};

static inline struct al_matrix new_matrix(size_t rows, size_t cols)
{
	struct al_matrix m;

	assert_true(al_matrix_init(&m, rows, cols, NULL));
	return m;
}

static inline void fill(struct al_matrix m, uint64_t seed)
{
	struct al_random *random = al_random_create(seed, 0, 0, 0);

	for (size_t j = 0; j < m.cols; j++)
		al_random_gaussian(random, m.data + j * m.ld, m.rows);
	al_random_destroy(random);
}

struct shape {
	size_t query_rows, key_rows, value_rows, output_rows;
	size_t n_heads, n_kv_heads, d_head, d_value;
};

/* The views again, after the matrices have changed places. */
static inline void look(struct module *m)
{
	m->heads.query = al_view(m->of[AL_QUERY]);
	m->heads.key = al_view(m->of[AL_KEY]);
	m->heads.value = al_view(m->of[AL_VALUE]);
	m->heads.output = al_view(m->of[AL_OUTPUT]);
}

/* Gaussian weights. */
static inline struct module new_module(const struct shape *s, uint64_t seed)
{
	struct module m = {
		.of =
			{
				new_matrix(s->query_rows, s->n_heads * s->d_head),
				new_matrix(s->key_rows, s->n_kv_heads * s->d_head),
				new_matrix(s->value_rows, s->n_kv_heads * s->d_value),
				new_matrix(s->output_rows, s->n_heads * s->d_value),
			},
		.heads =
			{
				.n_heads = s->n_heads,
				.n_kv_heads = s->n_kv_heads,
				.d_head = s->d_head,
				.d_value = s->d_value,
				.unit = 0x1p-53,
			},
	};

	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		fill(m.of[p], 4 * seed + (uint64_t)p);
	look(&m);
	return m;
}

static inline void finish_module(struct module *m)
{
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		al_matrix_finish(&m->of[p]);
}

/* A head as a matrix to write to. */
static inline struct al_matrix head_of(struct module *m, enum al_projection p, size_t head)
{
	const size_t width = al_heads_run(&m->heads, p).width;

	return al_part(m->of[p], 0, head * width, m->of[p].rows, width);
}

/* A B^T */
static inline struct al_matrix multiply(struct al_view a, struct al_view b)
{
	struct al_matrix c = new_matrix(a.rows, b.rows);

	for (size_t j = 0; j < c.cols; j++)
		for (size_t k = 0; k < a.cols; k++)
			for (size_t i = 0; i < c.rows; i++)
				c.data[i + j * c.ld] += a.data[i + k * a.ld] * b.data[j + k * b.ld];
	return c;
}

/* Head i's dense form: Q_i K_g^T, or V_g O_i^T. */
static inline struct al_matrix dense_form(const struct al_heads *f, size_t head, bool of_values)
{
	const size_t kv_head = al_kv_head(f, head);

	return of_values
		? multiply(al_head_of(f, AL_VALUE, kv_head), al_head_of(f, AL_OUTPUT, head))
		: multiply(al_head_of(f, AL_QUERY, head), al_head_of(f, AL_KEY, kv_head));
}
