/* Conversions: the error of each equals that of the layer that was converted, computed densely. */
#include "module.h"

#include "audit/convert.h"
#include "audit/forms.h"
#include "audit/grouping.h"
#include "audit/score_tensor.h"

static const struct shape plain = {20, 20, 20, 20, 6, 6, 4, 4};
static const struct shape grouped = {20, 20, 20, 20, 6, 3, 4, 4};
static const struct shape wide = {6, 6, 6, 6, 4, 4, 9, 9}; /* heads wider than the model */
static const size_t neighbors[] = {0, 1, 2, 3, 4, 5};
static double unused; /* of errors that a test does not ask for */

struct side {
	struct al_triangles triangles;
	struct al_stack keys, values;
	struct al_heads heads; /* the module's, with their Gram matrices */
	struct al_matrix grams[AL_N_PROJECTIONS];
};

static struct side open_side(const struct module *m)
{
	struct side s = {.heads = m->heads};

	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		const struct al_view a = al_projection_of(&m->heads, (enum al_projection)p);
		s.grams[p] = new_matrix(a.cols, a.cols);
		assert_true(al_gram(AL_TRANSPOSED, a, s.grams[p], NULL));
		s.heads.gram[p] = al_view(s.grams[p]);
	}
	assert_true(al_triangles_take(&s.triangles, &m->heads, NULL));
	assert_true(al_stack_init(&s.keys, &m->heads, &s.triangles, AL_FORM_QK, NULL));
	assert_true(al_stack_init(&s.values, &m->heads, &s.triangles, AL_FORM_OV, NULL));
	s.keys.own_gram = s.heads.gram[AL_KEY];
	assert_true(al_stack_form_gram(&s.keys, NULL) && al_stack_form_gram(&s.values, NULL));
	return s;
}

static void close_side(struct side *s)
{
	al_stack_finish(&s->keys);
	al_stack_finish(&s->values);
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		al_matrix_finish(&s->grams[p]);
	al_triangles_finish(&s->triangles);
}

static void assert_close(double found, double expected)
{
	if (!(fabs(found - expected) < 1e-11))
		fail_msg("found %.15g, expected %.15g", found, expected);
}

/* ---- dense ---- */

/* Head i's form with the shared side in its columns: Q K^T, or O V^T. */
static struct al_matrix form_of(const struct module *m, enum al_form form, size_t head)
{
	const struct al_heads *heads = &m->heads;
	size_t kv = al_kv_head(heads, head);

	return form == AL_FORM_QK
		? multiply(al_head_of(heads, AL_QUERY, head), al_head_of(heads, AL_KEY, kv))
		: multiply(al_head_of(heads, AL_OUTPUT, head), al_head_of(heads, AL_VALUE, kv));
}

static double squared(struct al_matrix a)
{
	return al_squared_norm(al_view(a));
}

static double total(const struct module *m, enum al_form form)
{
	double sum = 0;

	for (size_t i = 0; i < m->heads.n_heads; i++) {
		struct al_matrix f = form_of(m, form, i);
		sum += squared(f);
		al_matrix_finish(&f);
	}
	return sum;
}

/* sum += scale F^T F */
static void add_gram(struct al_matrix f, double scale, struct al_matrix sum)
{
	assert_true(al_gemm(AL_TRANSPOSED, AL_PLAIN, scale, al_view(f), al_view(f), 1, sum, NULL));
}

/* The `n` leading eigenvectors, [rows][n]; destroys the matrix. */
static struct al_matrix leading(struct al_matrix gram, size_t n)
{
	double values[64];

	assert_true(al_eigenvectors(gram, values, NULL));
	return al_part(gram, 0, 0, gram.rows, n);
}

/* The converted form F P P^T, less F: squared. */
static double lost(struct al_matrix f, struct al_matrix p)
{
	struct al_matrix queries = new_matrix(f.rows, p.cols);

	assert_true(al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(f), al_view(p), 0, queries, NULL));
	struct al_matrix converted = multiply(al_view(queries), al_view(p));
	for (size_t e = 0; e < f.rows * f.cols; e++)
		converted.data[e] -= f.data[e];
	double sum = squared(converted);
	al_matrix_finish(&converted);
	al_matrix_finish(&queries);
	return sum;
}

static double lost_in_head(const struct module *m, enum al_form form, size_t head,
	struct al_matrix p)
{
	struct al_matrix f = form_of(m, form, head);
	double sum = lost(f, p);

	al_matrix_finish(&f);
	return sum;
}

static void add_head(const struct module *m, enum al_form form, size_t head, double scale,
	struct al_matrix gram)
{
	struct al_matrix f = form_of(m, form, head);

	add_gram(f, scale, gram);
	al_matrix_finish(&f);
}

static size_t rows_of(const struct module *m)
{
	return m->of[AL_KEY].rows;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Is the head of a group of `size` key/value heads from place `first` of the order on? */
static bool is_in(const struct module *m, const size_t *order, size_t first, size_t size,
	size_t head)
{
	for (size_t k = first; k < first + size; k++)
		if (order[k] == al_kv_head(&m->heads, head))
			return true;
	return false;
}

static double dense_sharing(const struct module *m, enum al_form form, const size_t *order,
	size_t size)
{
	size_t d = rows_of(m), n = smaller(d, m->heads.d_head);
	double sum = 0;

	for (size_t first = 0; first < m->heads.n_kv_heads; first += size) {
		struct al_matrix gram = new_matrix(d, d);
		for (size_t i = 0; i < m->heads.n_heads; i++)
			if (is_in(m, order, first, size, i))
				add_head(m, form, i, 1, gram);
		struct al_matrix p = leading(gram, n);
		for (size_t i = 0; i < m->heads.n_heads; i++)
			if (is_in(m, order, first, size, i))
				sum += lost_in_head(m, form, i, p);
		al_matrix_finish(&gram);
	}
	return sqrt(sum / total(m, form));
}

/* The forms of a layer whose projections are others. */
static double dense_error(const struct module *m, const struct module *converted, enum al_form form)
{
	double sum = 0;

	for (size_t i = 0; i < m->heads.n_heads; i++) {
		struct al_matrix f = form_of(m, form, i), g = form_of(converted, form, i);
		for (size_t e = 0; e < f.rows * f.cols; e++)
			f.data[e] -= g.data[e];
		sum += squared(f);
		al_matrix_finish(&g);
		al_matrix_finish(&f);
	}
	return sqrt(sum / total(m, form));
}

/* ---- sharing ---- */

static void sharing_equals_the_converted_layer(void **state)
{
	static const struct shape *const shapes[] = {&plain, &grouped, &wide};
	static const size_t turned[] = {2, 0, 5, 1, 4, 3}, turned_3[] = {2, 0, 1},
			    turned_4[] = {3, 1, 0, 2};
	static const size_t *const orders[] = {turned, turned_3, turned_4};

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		struct module m = new_module(shapes[k], 20 + k);
		struct side s = open_side(&m);
		double error;
		for (size_t size = 1; size <= s.keys.n; size++) {
			if (s.keys.n % size != 0)
				continue;
			assert_true(al_stack_share(&s.keys, orders[k], size, &error, NULL));
			assert_close(error, dense_sharing(&m, AL_FORM_QK, orders[k], size));
			assert_true(al_stack_share(&s.values, orders[k], size, &error, NULL));
			assert_close(error, dense_sharing(&m, AL_FORM_OV, orders[k], size));
		}
		close_side(&s);
		finish_module(&m);
	}
}

static void set_mean(struct module *m, enum al_projection p, size_t first, size_t size)
{
	struct al_matrix head = head_of(m, p, first);

	for (size_t e = 0; e < head.rows * head.cols; e++) {
		double mean = 0;
		for (size_t i = 0; i < size; i++)
			mean += head_of(m, p, first + i).data[e] / (double)size;
		for (size_t i = 0; i < size; i++)
			head_of(m, p, first + i).data[e] = mean;
	}
}

static void means_equal_the_converted_layer(void **state)
{
	(void)state;
	for (size_t size = 2; size <= 6; size += size == 3 ? 3 : 1) {
		struct module m = new_module(&plain, 30), c = new_module(&plain, 30);
		struct side s = open_side(&m);
		double error;
		for (size_t first = 0; first < 6; first += size) {
			set_mean(&c, AL_KEY, first, size);
			set_mean(&c, AL_VALUE, first, size);
		}
		assert_true(al_convert_mean(&s.keys, NULL, neighbors, size, &error, &unused, NULL));
		assert_close(error, dense_error(&m, &c, AL_FORM_QK));
		assert_true(
			al_convert_mean(&s.values, NULL, neighbors, size, &error, &unused, NULL));
		assert_close(error, dense_error(&m, &c, AL_FORM_OV));
		close_side(&s);
		finish_module(&c);
		finish_module(&m);
	}
}

/* Heads in another order are the listed groups' neighbors. */
static void means_are_of_the_listed_heads(void **state)
{
	static const size_t order[] = {3, 0, 5, 2, 1, 4};
	struct module m = new_module(&plain, 31), c = new_module(&plain, 32);
	double listed, expected;

	(void)state;
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		for (size_t i = 0; i < 6; i++)
			assert_true(al_copy(al_view(head_of(&m, (enum al_projection)p, order[i])),
				head_of(&c, (enum al_projection)p, i), NULL));
	struct side a = open_side(&m), b = open_side(&c);
	const struct al_stack *const stacks[][2] = {{&a.keys, &b.keys}, {&a.values, &b.values}};
	for (size_t k = 0; k < 2; k++)
		for (size_t size = 2; size <= 3; size++) {
			assert_true(al_convert_mean(stacks[k][0], NULL, order, size, &listed,
				&unused, NULL));
			assert_true(al_convert_mean(stacks[k][1], NULL, neighbors, size, &expected,
				&unused, NULL));
			assert_close(listed, expected);
		}
	close_side(&b);
	close_side(&a);
	finish_module(&c);
	finish_module(&m);
}

/* ---- keys and values together ---- */

static void one_projection_for_keys_and_values(void **state)
{
	struct module m = new_module(&plain, 40);
	struct side s = open_side(&m);
	double errors[2], sums[2] = {0}, totals[2] = {total(&m, AL_FORM_QK), total(&m, AL_FORM_OV)};

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		struct al_matrix gram = new_matrix(20, 20);
		for (int form = 0; form < AL_N_FORMS; form++)
			add_head(&m, (enum al_form)form, i, 1 / totals[form], gram);
		struct al_matrix p = leading(gram, 4);
		for (int form = 0; form < AL_N_FORMS; form++)
			sums[form] += lost_in_head(&m, (enum al_form)form, i, p);
		al_matrix_finish(&gram);
	}
	assert_true(al_convert_shared_kv(&s.keys, &s.values, errors, NULL));
	for (int form = 0; form < AL_N_FORMS; form++)
		assert_close(errors[form], sqrt(sums[form] / totals[form]));
	close_side(&s);
	finish_module(&m);
}

static void latent_keys_and_values(void **state)
{
	static const struct shape *const shapes[] = {&plain, &grouped};
	static const size_t ranks[] = {20, 15, 5, 1};

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct module m = new_module(shapes[k], 50 + k);
		struct side s = open_side(&m);
		double errors[4][2], totals[2] = {total(&m, AL_FORM_QK), total(&m, AL_FORM_OV)};
		assert_true(al_convert_latent(&s.keys, &s.values, ranks, 4, errors, NULL));
		for (size_t r = 0; r < 4; r++) {
			struct al_matrix gram = new_matrix(20, 20);
			for (int form = 0; form < AL_N_FORMS; form++)
				for (size_t i = 0; i < 6; i++)
					add_head(&m, (enum al_form)form, i, 1 / totals[form], gram);
			struct al_matrix p = leading(gram, ranks[r]);
			for (int form = 0; form < AL_N_FORMS; form++) {
				double sum = 0;
				for (size_t i = 0; i < 6; i++)
					sum += lost_in_head(&m, (enum al_form)form, i, p);
				assert_close(errors[r][form], sqrt(sum / totals[form]));
			}
			al_matrix_finish(&gram);
		}
		close_side(&s);
		finish_module(&m);
	}
}

/* ---- embeddings ---- */

/* Column j of all heads at rank one, by an SVD. */
static void set_multiples(struct module *m, enum al_projection p, size_t j)
{
	struct al_matrix columns = new_matrix(20, 6), u = new_matrix(20, 6), v = new_matrix(6, 6);
	double values[6];

	for (size_t i = 0; i < 6; i++)
		memcpy(columns.data + 20 * i, head_of(m, p, i).data + 20 * j, 20 * sizeof(double));
	assert_true(al_svd(columns, u, values, v, NULL));
	for (size_t i = 0; i < 6; i++)
		for (size_t e = 0; e < 20; e++)
			head_of(m, p, i).data[20 * j + e] = values[0] * u.data[e] * v.data[i];
	al_matrix_finish(&v);
	al_matrix_finish(&u);
	al_matrix_finish(&columns);
}

static void embeddings_equal_the_converted_layer(void **state)
{
	(void)state;
	for (int kind = AL_EMBEDDING_ADD; kind <= AL_EMBEDDING_MUL; kind++) {
		struct module m = new_module(&plain, 60), c = new_module(&plain, 60);
		struct side s = open_side(&m);
		double errors[2];
		for (int p = AL_QUERY; p <= AL_VALUE; p++) {
			if (kind == AL_EMBEDDING_ADD)
				set_mean(&c, (enum al_projection)p, 0, 6);
			for (size_t j = 0; kind == AL_EMBEDDING_MUL && j < 4; j++)
				set_multiples(&c, (enum al_projection)p, j);
		}
		assert_true(al_convert_embedding(&s.heads, &s.keys, &s.values,
			(enum al_embedding)kind, errors, NULL));
		assert_close(errors[0], dense_error(&m, &c, AL_FORM_QK));
		assert_close(errors[1], dense_error(&m, &c, AL_FORM_OV));
		close_side(&s);
		finish_module(&c);
		finish_module(&m);
	}
}

/* Head i is head 0 with every column multiplied by another number. */
static struct module multiplied_module(void)
{
	struct module m = new_module(&plain, 70);

	for (int p = AL_QUERY; p <= AL_VALUE; p++)
		for (size_t i = 1; i < 6; i++)
			for (size_t j = 0; j < 4; j++)
				for (size_t e = 0; e < 20; e++)
					head_of(&m, (enum al_projection)p, i).data[20 * j + e] =
						head_of(&m, (enum al_projection)p, 0)
							.data[20 * j + e]
						* (1 + 0.3 * sin((double)(7 * i + 3 * j) + p));
	return m;
}

static void exact_embeddings_lose_nothing(void **state)
{
	struct module m = multiplied_module();
	struct side s = open_side(&m);
	double errors[2], best;

	(void)state;
	assert_true(
		al_convert_embedding(&s.heads, &s.keys, &s.values, AL_EMBEDDING_MUL, errors, NULL));
	assert_true(errors[0] < 1e-13 && errors[1] < 1e-13);
	assert_true(
		al_convert_embedding(&s.heads, &s.keys, &s.values, AL_EMBEDDING_ADD, errors, NULL));
	assert_true(errors[0] > 0.05);
	assert_true(al_convert_collaborative(&s.heads, 0, 1, &best, NULL));
	assert_true(best < 1e-10);
	close_side(&s);
	finish_module(&m);
}

/* ---- copies ---- */

/* Head i = head 0 A with A orthogonal, queries and keys alike: the same form in another basis. */
static void turn_heads(struct module *m, enum al_projection p, uint64_t seed, size_t heads)
{
	for (size_t i = 1; i < heads; i++) {
		struct al_matrix a = new_matrix(4, 4), r = new_matrix(4, 4);
		fill(a, seed + i);
		assert_true(al_qr(a, r, NULL));
		assert_true(al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(head_of(m, p, 0)), al_view(a), 0,
			head_of(m, p, i), NULL));
		al_matrix_finish(&r);
		al_matrix_finish(&a);
	}
}

static void turned_copies_are_one_head(void **state)
{
	struct module m = new_module(&plain, 80);
	double raw, best;

	(void)state;
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		turn_heads(&m, (enum al_projection)p, p < AL_VALUE ? 800 : 900, 6);
	struct side s = open_side(&m);
	const struct al_stack *const stacks[] = {&s.keys, &s.values};
	for (size_t k = 0; k < 2; k++) {
		assert_true(al_convert_mean(stacks[k], NULL, neighbors, 6, &raw, &unused, NULL));
		assert_true(al_stack_share(stacks[k], neighbors, 6, &best, NULL));
		assert_true(raw > 0.5 && best < 1e-12);
	}
	close_side(&s);
	finish_module(&m);
}

static void copies_need_no_turning(void **state)
{
	struct module m = new_module(&plain, 81);
	double raw;

	(void)state;
	for (size_t i = 1; i < 6; i++)
		assert_true(al_copy(al_view(head_of(&m, AL_KEY, 0)), head_of(&m, AL_KEY, i), NULL));
	struct side s = open_side(&m);
	assert_true(al_convert_mean(&s.keys, NULL, neighbors, 6, &raw, &unused, NULL));
	assert_true(raw < 1e-14);
	close_side(&s);
	finish_module(&m);
}

static bool share_cost(const void *context, const size_t *heads, size_t n, double *cost,
	struct al_error *err)
{
	struct al_stack one = *(const struct al_stack *)context;
	double error, estimate;

	one.n = n;
	assert_true(al_stack_share(&one, heads, n, &error, NULL));
	assert_true(al_stack_estimate(context, heads, n, &estimate, err));
	*cost = error * error;
	assert_true(fabs(estimate - *cost) < 1e-6);
	return true;
}

static void group(const struct al_stack *stack, size_t size, size_t *order)
{
	const struct al_group_cost cost = {share_cost, stack};
	AL_SCRATCH(scratch);
	struct al_matrix pairs;

	assert_true(al_pair_costs(&scratch, &cost, stack->n, &pairs, NULL));
	assert_true(al_group_heads(&cost, pairs, size, NAN, order, NULL));
}

static double cost_of(const struct al_stack *stack, const size_t *order, size_t size)
{
	double error;

	assert_true(al_stack_share(stack, order, size, &error, NULL));
	return error;
}

/* The least error of all pairings: the first head that is left goes with each other. */
static double best_pairing(const struct al_stack *stack, size_t *order, size_t at)
{
	double best = INFINITY;

	if (at + 1 >= stack->n)
		return cost_of(stack, order, 2);
	for (size_t j = at + 1; j < stack->n; j++) {
		size_t was = order[at + 1];
		order[at + 1] = order[j];
		order[j] = was;
		best = fmin(best, best_pairing(stack, order, at + 2));
		order[j] = order[at + 1];
		order[at + 1] = was;
	}
	return best;
}

static void pairs_are_matched_best(void **state)
{
	static const struct shape eight = {20, 20, 20, 20, 8, 8, 4, 4};

	(void)state;
	for (uint64_t seed = 140; seed < 144; seed++) {
		struct module m = new_module(&eight, seed);
		struct side s = open_side(&m);
		size_t order[8], all[16] = {0, 1, 2, 3, 4, 5, 6, 7};
		group(&s.keys, 2, order);
		assert_close(cost_of(&s.keys, order, 2), best_pairing(&s.keys, all, 0));
		group(&s.keys, 4, order);
		assert_true(cost_of(&s.keys, order, 4) <= cost_of(&s.keys, all, 4));
		close_side(&s);
		finish_module(&m);
	}
}

/* More heads than are matched exactly, every one alike to one far away. */
static void many_pairs_are_found(void **state)
{
	enum { N = 24 };
	static const struct shape many = {60, 60, 60, 60, N, N, 2, 2};
	struct module m = new_module(&many, 150);
	size_t order[N];

	(void)state;
	for (size_t i = 0; i < N / 2; i++) {
		struct al_matrix a = new_matrix(2, 2);
		fill(a, 160 + i);
		assert_true(al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(head_of(&m, AL_KEY, i)),
			al_view(a), 0, head_of(&m, AL_KEY, N - 1 - i), NULL));
		al_matrix_finish(&a);
	}
	struct side s = open_side(&m);
	group(&s.keys, 2, order);
	assert_true(cost_of(&s.keys, order, 2) < 1e-12);
	for (size_t i = 0; i < N; i += 2)
		assert_int_equal(order[i] + order[i + 1], N - 1);
	close_side(&s);
	finish_module(&m);
}

/* Heads 0 2 5 and 1 3 4 have one key each, every one in a basis of its own. */
static void groups_are_found(void **state)
{
	static const size_t members[2][3] = {{0, 2, 5}, {1, 3, 4}};
	struct module m = new_module(&plain, 82);
	struct al_text text;
	size_t order[6];
	double error;

	(void)state;
	for (size_t g = 0; g < 2; g++) {
		for (size_t k = 1; k < 3; k++) {
			struct al_matrix a = new_matrix(4, 4);
			fill(a, 10 * g + k);
			assert_true(al_gemm(AL_PLAIN, AL_PLAIN, 1,
				al_view(head_of(&m, AL_KEY, members[g][0])), al_view(a), 0,
				head_of(&m, AL_KEY, members[g][k]), NULL));
			al_matrix_finish(&a);
		}
	}
	struct side s = open_side(&m);
	group(&s.keys, 3, order);
	al_text_init(&text);
	al_group_print(order, 6, 3, &text);
	assert_string_equal(text.data, "0 2 5, 1 3 4");
	al_text_finish(&text);
	assert_true(al_stack_share(&s.keys, order, 3, &error, NULL));
	assert_true(error < 1e-12);
	assert_true(al_stack_share(&s.keys, neighbors, 3, &error, NULL));
	assert_true(error > 0.1);
	close_side(&s);
	finish_module(&m);
}

/* ---- rotary ---- */

/* Key i = key 0, every pair of dimensions turned and scaled; from `rotary_width` on mixed
 * freely. */
static void turn_pairs(struct module *m, const struct al_attention *a)
{
	size_t half = (size_t)a->rotary_width / 2, n = (size_t)a->rotary_width;

	for (size_t i = 1; i < 6; i++) {
		double *from = head_of(m, AL_KEY, 0).data, *to = head_of(m, AL_KEY, i).data;
		for (size_t p = 0; p < half; p++) {
			bool halves = a->rotary_pairs == AL_PAIRS_HALVES;
			size_t re = 20 * (halves ? p : 2 * p),
			       im = 20 * (halves ? p + half : 2 * p + 1);
			double angle = 1.3 * (double)(i + p), scale = 0.5 + 0.2 * (double)i;
			for (size_t e = 0; e < 20; e++) {
				to[re + e] = scale
					* (cos(angle) * from[re + e] - sin(angle) * from[im + e]);
				to[im + e] = scale
					* (sin(angle) * from[re + e] + cos(angle) * from[im + e]);
			}
		}
		for (size_t j = n; j < 4; j++)
			for (size_t e = 0; e < 20; e++)
				to[20 * j + e] = from[20 * n + e] * cos((double)(i + j))
					+ from[20 * 3 + e] * sin((double)(2 * i + j));
	}
}

static void turned_pairs_are_one_key(void **state)
{
	static const struct al_attention cases[] = {
		{.is_rotary = true, .rotary_pairs = AL_PAIRS_HALVES, .rotary_width = 4},
		{.is_rotary = true, .rotary_pairs = AL_PAIRS_INTERLEAVED, .rotary_width = 4},
		{.is_rotary = true, .rotary_pairs = AL_PAIRS_HALVES, .rotary_width = 2},
	};

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		struct module m = new_module(&plain, 90 + k);
		double raw, aligned, other, mean;
		turn_pairs(&m, &cases[k]);
		struct side s = open_side(&m);
		struct al_attention wrong = cases[k];
		wrong.rotary_pairs = cases[k].rotary_pairs == AL_PAIRS_HALVES ? AL_PAIRS_INTERLEAVED
									      : AL_PAIRS_HALVES;
		assert_true(al_convert_mean(&s.keys, NULL, neighbors, 6, &raw, &unused, NULL));
		assert_true(
			al_convert_rotary(&s.keys, &cases[k], neighbors, 6, &aligned, &mean, NULL));
		assert_true(
			al_convert_rotary(&s.keys, &wrong, neighbors, 6, &other, &unused, NULL));
		assert_true(raw > 0.5 && aligned < 1e-12 && mean < 1e-12);
		assert_true(cases[k].rotary_width == 2 || other > 0.1);
		close_side(&s);
		finish_module(&m);
	}
}

/* Never better at an offset than what is free to mix, over all offsets never worse than the mean of
 * the keys. */
static void rotary_stands_between(void **state)
{
	static const struct al_attention attention = {.is_rotary = true, .rotary_width = 4};

	(void)state;
	for (uint64_t seed = 100; seed < 110; seed++) {
		struct module m = new_module(&plain, seed);
		struct side s = open_side(&m);
		double raw, raw_mean, aligned, mean, best;
		assert_true(
			al_convert_mean(&s.keys, &attention, neighbors, 2, &raw, &raw_mean, NULL));
		assert_true(al_convert_rotary(&s.keys, &attention, neighbors, 2, &aligned, &mean,
			NULL));
		assert_true(al_stack_share(&s.keys, neighbors, 2, &best, NULL));
		assert_true(best <= aligned && mean <= raw_mean);
		close_side(&s);
		finish_module(&m);
	}
}

/* Sum over heads of ||Q_i R(t) (K_i - K'_i)^T||^2, the p-th pair of dimensions turned by (p + 1) of
 * N_TURNS parts of a turn a token; what isn't rotated stays. */
enum { N_TURNS = 64 };

static double at_offset(const struct module *m, const struct al_attention *a,
	struct al_matrix other, size_t t)
{
	double sum = 0;

	for (size_t i = 0; i < 6; i++) {
		struct al_matrix q = new_matrix(20, 4), dk = new_matrix(20, 4);
		assert_true(al_copy(al_head_of(&m->heads, AL_QUERY, i), q, NULL));
		for (size_t j = 0; j < 4; j++)
			for (size_t r = 0; r < 20; r++)
				dk.data[r + 20 * j] =
					al_head_of(&m->heads, AL_KEY, i).data[r + 20 * j]
					- other.data[r + (4 * i + j) * 20];
		for (size_t p = 0; p < (size_t)a->rotary_width / 2; p++) {
			size_t first = a->rotary_pairs == AL_PAIRS_HALVES ? p : 2 * p;
			size_t second = a->rotary_pairs == AL_PAIRS_HALVES
				? p + (size_t)a->rotary_width / 2
				: 2 * p + 1;
			double angle = 6.283185307179586 * (double)((p + 1) * t) / N_TURNS;
			for (size_t r = 0; r < 20; r++) {
				double x = q.data[r + 20 * first], y = q.data[r + 20 * second];
				q.data[r + 20 * first] = x * cos(angle) - y * sin(angle);
				q.data[r + 20 * second] = x * sin(angle) + y * cos(angle);
			}
		}
		struct al_matrix form = multiply(al_view(q), al_view(dk));
		sum += squared(form);
		al_matrix_finish(&form);
		al_matrix_finish(&dk);
		al_matrix_finish(&q);
	}
	return sum;
}

static void mean_errors_are_those_of_all_offsets(void **state)
{
	static const struct al_attention cases[] = {
		{.is_rotary = true, .rotary_pairs = AL_PAIRS_HALVES, .rotary_width = 4},
		{.is_rotary = true, .rotary_pairs = AL_PAIRS_INTERLEAVED, .rotary_width = 4},
		{.is_rotary = true, .rotary_pairs = AL_PAIRS_HALVES, .rotary_width = 2},
	};

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		struct module m = new_module(&plain, 120 + k);
		struct side s = open_side(&m);
		struct al_matrix other = new_matrix(20, 24), zero = new_matrix(20, 24);
		double error, norm, mean, group, lost = 0, whole = 0;
		fill(other, 130 + k);
		for (size_t t = 0; t < N_TURNS; t++) {
			lost += at_offset(&m, &cases[k], other, t) / N_TURNS;
			whole += at_offset(&m, &cases[k], zero, t) / N_TURNS;
		}
		assert_true(al_rotary_error(&s.keys, &cases[k], al_view(other), &error, NULL));
		assert_close(error, sqrt(lost / whole));
		assert_true(al_rotary_norm(&s.keys, &cases[k], &norm, NULL));
		assert_close(norm / sqrt(whole), 1);
		assert_true(
			al_convert_rotary(&s.keys, &cases[k], neighbors, 6, &error, &mean, NULL));
		assert_true(al_rotary_share_group(&s.keys, &cases[k], neighbors, 6, &group, NULL));
		assert_close(sqrt(group) / norm, mean);
		al_matrix_finish(&zero);
		al_matrix_finish(&other);
		close_side(&s);
		finish_module(&m);
	}
}

static void heads_of_nothing_have_no_norm(void **state)
{
	struct module m = new_module(&plain, 110);
	struct al_triangles triangles;
	struct al_stack stack;

	(void)state;
	memset(m.of[AL_KEY].data, 0, 20 * 24 * sizeof(double));
	assert_true(al_triangles_take(&triangles, &m.heads, NULL));
	assert_true(al_stack_init(&stack, &m.heads, &triangles, AL_FORM_QK, NULL));
	assert_true(stack.norm == 0);
	al_stack_finish(&stack);
	al_triangles_finish(&triangles);
	finish_module(&m);
}

/* Squares of what single precision holds may not be held by it. */
static void tensors_are_scaled(void **state)
{
	(void)state;
	for (int exponent = -100; exponent <= 100; exponent += 50) {
		struct module m = new_module(&plain, 6);
		AL_SCRATCH(scratch);
		struct al_heads tensor;
		double norm;
		for (size_t i = 0; i < m.of[AL_QUERY].rows * m.of[AL_QUERY].cols; i++)
			m.of[AL_QUERY].data[i] = ldexp(m.of[AL_QUERY].data[i], exponent);
		m.heads.unit = 0x1p-24;
		assert_true(al_score_tensor_take(&scratch, &m.heads, &tensor, NULL));
		assert_true(al_heads_norm(&tensor, &norm, NULL));
		assert_true(norm > 1 && norm < 1e6);
		finish_module(&m);
	}
}

/* ---- biases ---- */

static void biases_add_to_a_forms_norm(void **state)
{
	struct module m = new_module(&grouped, 40);
	struct al_matrix q = new_matrix(1, 24), k = new_matrix(1, 12), with, without;
	struct al_triangles t;
	AL_SCRATCH(scratch);

	(void)state;
	fill(q, 41);
	fill(k, 42);
	assert_true(al_triangles_take(&t, &m.heads, NULL));
	assert_true(al_form_inner(&scratch, &m.heads, &m.heads, AL_FORM_QK, &without, NULL));
	m.heads.bias[AL_QUERY] = al_view(q);
	for (int both = 0; both < 2; both++) {
		if (both)
			m.heads.bias[AL_KEY] = al_view(k);
		assert_true(al_form_inner(&scratch, &m.heads, &m.heads, AL_FORM_QK, &with, NULL));
		for (size_t i = 0; i < 6; i++) {
			double added;
			assert_true(al_form_bias(&t, &m.heads, AL_FORM_QK, i, &added, NULL));
			assert_close(added / with.data[i * 7],
				1 - without.data[i * 7] / with.data[i * 7]);
		}
	}
	al_triangles_finish(&t);
	al_matrix_finish(&k);
	al_matrix_finish(&q);
	finish_module(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sharing_equals_the_converted_layer),
		cmocka_unit_test(means_equal_the_converted_layer),
		cmocka_unit_test(means_are_of_the_listed_heads),
		cmocka_unit_test(one_projection_for_keys_and_values),
		cmocka_unit_test(latent_keys_and_values),
		cmocka_unit_test(embeddings_equal_the_converted_layer),
		cmocka_unit_test(exact_embeddings_lose_nothing),
		cmocka_unit_test(turned_copies_are_one_head),
		cmocka_unit_test(copies_need_no_turning),
		cmocka_unit_test(groups_are_found),
		cmocka_unit_test(pairs_are_matched_best),
		cmocka_unit_test(many_pairs_are_found),
		cmocka_unit_test(turned_pairs_are_one_key),
		cmocka_unit_test(rotary_stands_between),
		cmocka_unit_test(mean_errors_are_those_of_all_offsets),
		cmocka_unit_test(heads_of_nothing_have_no_norm),
		cmocka_unit_test(tensors_are_scaled),
		cmocka_unit_test(biases_add_to_a_forms_norm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
