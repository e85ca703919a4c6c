/* What options make of stored weights: rotary offsets and second moments of inputs. */
#include "llama.h"

#include "audit/rotary.h"
#include "base/output.h"
#include "formats/gguf_write.h"
#include "formats/npy.h"

/* ---- offsets ---- */

/* A head's row at a position, as models compute it: x cos + rotate(x) sin. */
static void rope(const double *x, double position, enum al_pairs pairs, size_t width, double *out)
{
	memcpy(out, x, WIDTH * sizeof(*out));
	for (size_t i = 0; i < width; i++) {
		size_t pair = pairs == AL_PAIRS_HALVES ? i % (width / 2) : i / 2;
		bool is_second = pairs == AL_PAIRS_HALVES ? i >= width / 2 : i % 2 == 1;
		size_t other = pairs == AL_PAIRS_HALVES ? (i + width / 2) % width : i ^ 1;
		double angle = position / pow(THETA, 2 * (double)pair / (double)width);
		out[i] = x[i] * cos(angle) + (is_second ? x[other] : -x[other]) * sin(angle);
	}
}

static double rotated_dot(struct al_view q, size_t row_q, double at_q, struct al_view k,
	size_t row_k, double at_k, enum al_pairs pairs, size_t width)
{
	double x[WIDTH], y[WIDTH], turned_x[WIDTH], turned_y[WIDTH], sum = 0;

	for (size_t i = 0; i < WIDTH; i++) {
		x[i] = q.data[row_q + i * q.ld];
		y[i] = k.data[row_k + i * k.ld];
	}
	rope(x, at_q, pairs, width, turned_x);
	rope(y, at_k, pairs, width, turned_y);
	for (size_t i = 0; i < WIDTH; i++)
		sum += turned_x[i] * turned_y[i];
	return sum;
}

/* Queries at 12 and keys at 12 - T score as the form at offset T says. */
static void check_offset(const struct llama *m, enum al_pairs pairs, int64_t width, int64_t offset)
{
	const struct al_audit_options plain = {0}, at = {.offset = offset};

	m->view.modules[1].rotary_pairs = pairs;
	m->view.modules[1].rotary_width = width;
	struct al_audit_module a = load_layer(m, 1, plain), b = load_layer(m, 1, at);
	for (size_t i = 0; i < HEADS; i++) {
		struct al_matrix form = dense_form(&b.heads, i, false);
		struct al_view q = al_head_of(&a.heads, AL_QUERY, i);
		struct al_view k = al_head_of(&a.heads, AL_KEY, al_kv_head(&a.heads, i));
		for (size_t r = 0; r < D; r++)
			for (size_t c = 0; c < D; c++)
				assert_near(form.data[r + c * D],
					rotated_dot(q, r, 12, k, c, 12 - (double)offset, pairs,
						(size_t)width));
		al_matrix_finish(&form);
	}
	al_audit_module_finish(&a);
	al_audit_module_finish(&b);
}

static void offsets_equal_rotated_scores(void **state)
{
	struct llama m;

	(void)state;
	open_llama(&m);
	assert_true(m.view.modules[1].is_rotary && m.view.modules[1].rotary_base == THETA);
	assert_non_null(strstr(m.view.modules[1].rotary_base_origin, "rope_theta"));
	assert_true(m.view.modules[1].rotary_pairs == AL_PAIRS_HALVES);
	for (int64_t width = 2; width <= WIDTH; width += 2)
		for (int64_t offset = 0; offset <= 10; offset += 5) {
			check_offset(&m, AL_PAIRS_HALVES, width, offset);
			check_offset(&m, AL_PAIRS_INTERLEAVED, width, offset);
		}
	close_llama(&m);
}

/* Rotations are orthogonal: spectra of W_Q stay; keys, values and offset 0 stay to the bit. */
static void offsets_keep_lengths(void **state)
{
	const struct al_audit_options plain = {0}, at = {.offset = 1000003};
	struct llama m;

	(void)state;
	open_llama(&m);
	struct al_audit_module a = load_layer(&m, 0, plain), b = load_layer(&m, 0, at);
	for (size_t i = 0; i < HEADS; i++) {
		double before[WIDTH], after[WIDTH];
		assert_true(al_singular_values(al_head_of(&a.heads, AL_QUERY, i), before, NULL));
		assert_true(al_singular_values(al_head_of(&b.heads, AL_QUERY, i), after, NULL));
		for (size_t k = 0; k < WIDTH; k++)
			assert_near(after[k], before[k]);
	}
	assert_memory_equal(a.heads.key.data, b.heads.key.data,
		D * KV_HEADS * WIDTH * sizeof(double));
	assert_memory_equal(a.heads.value.data, b.heads.value.data,
		D * KV_HEADS * WIDTH * sizeof(double));
	assert_memory_not_equal(a.heads.query.data, b.heads.query.data, D * D * sizeof(double));
	al_audit_module_finish(&b);
	m.view.modules[0].is_rotary = false;
	b = load_layer(&m, 0, at);
	assert_memory_equal(a.heads.query.data, b.heads.query.data, D * D * sizeof(double));
	al_audit_module_finish(&a);
	al_audit_module_finish(&b);
	close_llama(&m);
}

/* ---- second moments ---- */

static struct al_matrix second_moment(size_t n, uint64_t seed)
{
	struct al_matrix x = new_matrix(n, D), s = new_matrix(D, D);

	fill(x, seed);
	assert_true(al_gram(AL_TRANSPOSED, al_view(x), s, NULL));
	al_matrix_finish(&x);
	return s;
}

/* W^T Sigma W, of the weights as stored, and W^T W, of the weights as changed. */
static void check_grams(struct al_view stored, struct al_view changed, struct al_matrix sigma)
{
	struct al_matrix weighted = new_matrix(sigma.rows, stored.cols),
			 expected = new_matrix(stored.cols, stored.cols);
	struct al_matrix found = new_matrix(stored.cols, stored.cols);

	assert_true(al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(sigma), stored, 0, weighted, NULL));
	assert_true(
		al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, stored, al_view(weighted), 0, expected, NULL));
	assert_true(al_gram(AL_TRANSPOSED, changed, found, NULL));
	for (size_t i = 0; i < stored.cols * stored.cols; i++)
		assert_true(fabs(found.data[i] - expected.data[i]) < 1e-9);
	al_matrix_finish(&found);
	al_matrix_finish(&expected);
	al_matrix_finish(&weighted);
}

static void check_module(const struct llama *m, const char *path, struct al_matrix sigma)
{
	const struct al_audit_options plain = {0};
	struct al_covariance covariance;
	struct al_error err;

	if (!al_covariance_open(&covariance, path, NULL, NULL, 0, &err))
		fail_msg("%s", err.message);
	const struct al_audit_options with = {.covariance = &covariance};
	struct al_audit_module a = load_layer(m, 1, plain), b = load_layer(m, 1, with);
	check_grams(a.heads.query, b.heads.query, sigma);
	check_grams(a.heads.key, b.heads.key, sigma);
	check_grams(a.heads.value, b.heads.value, sigma);
	assert_memory_equal(a.heads.output.data, b.heads.output.data, D * D * sizeof(double));
	al_audit_module_finish(&a);
	al_audit_module_finish(&b);
	al_covariance_finish(&covariance);
}

/* A full moment, and one of rank 5: inputs of 5 dimensions. */
static void weights_as_inputs_use_them(void **state)
{
	struct llama m;
	char path[256];

	(void)state;
	open_llama(&m);
	for (size_t rows = 5; rows <= 40; rows += 35) {
		struct al_matrix sigma = second_moment(rows, rows);
		test_path(path, &m.folder, "layers.1.npy");
		write_npy(path, sigma.data, D, D, false);
		check_module(&m, path, sigma);
		check_module(&m, m.folder.path, sigma);
		al_matrix_finish(&sigma);
	}
	close_llama(&m);
}

/* Of [x, 1]: queries and values by the moment, keys by the covariance where they aren't rotated. */
static void check_moment(const struct llama *m, const char *path, struct al_matrix moment,
	struct al_matrix covariance)
{
	const struct al_audit_options plain = {0};
	struct al_covariance opened;

	assert_true(al_covariance_open(&opened, path, NULL, NULL, 0, NULL));
	const struct al_audit_options with = {.covariance = &opened};
	struct al_audit_module a = load_layer(m, 1, plain), b = load_layer(m, 1, with);
	check_grams(a.heads.query, b.heads.query, moment);
	check_grams(a.heads.key, b.heads.key, m->view.modules[1].is_rotary ? moment : covariance);
	check_grams(a.heads.value, b.heads.value, moment);
	al_audit_module_finish(&a);
	al_audit_module_finish(&b);
	al_covariance_finish(&opened);
}

/* [W; b]^T Sigma [W; b] */
static void biases_are_taken_in(const struct llama *m, const char *path, struct al_matrix moment)
{
	struct al_matrix all = new_matrix(D + 1, WIDTH), weights[AL_N_PROJECTIONS] = {{0}};
	struct al_matrix biases[AL_N_PROJECTIONS] = {{0}};
	struct al_covariance opened;

	fill(all, 6);
	weights[AL_QUERY] = new_matrix(D, WIDTH);
	biases[AL_QUERY] = new_matrix(1, WIDTH);
	assert_true(al_copy(al_view(al_part(all, 0, 0, D, WIDTH)), weights[AL_QUERY], NULL));
	assert_true(al_copy(al_view(al_part(all, D, 0, 1, WIDTH)), biases[AL_QUERY], NULL));
	assert_true(al_covariance_open(&opened, path, NULL, NULL, 0, NULL));
	assert_true(al_covariance_apply(&opened, &m->view.modules[1], weights, biases, NULL));
	check_grams(al_view(all), al_view(weights[AL_QUERY]), moment);
	assert_null(biases[AL_QUERY].data);
	al_covariance_finish(&opened);
	al_matrix_finish(&weights[AL_QUERY]);
	al_matrix_finish(&all);
}

/* Mean squares alone: what a moment that has nothing beside them says. */
static void a_diagonal_scales_rows(void **state)
{
	double squares[D];
	struct al_matrix moment = new_matrix(D, D);
	char path[512];
	struct al_text file;
	struct llama m;

	(void)state;
	open_llama(&m);
	for (size_t i = 0; i < D; i++)
		moment.data[i + i * D] = squares[i] = (double)(i * i);
	test_path(path, &m.folder, "diagonal.npy");
	al_text_init(&file);
	al_npy_add(&file, squares, 1, D, false);
	assert_true(al_file_write(path, file.data, file.length, NULL));
	al_text_finish(&file);
	check_moment(&m, path, moment, moment);
	al_matrix_finish(&moment);
	close_llama(&m);
}

static void keys_lose_the_mean(void **state)
{
	enum { N = 40 };
	struct al_matrix x = new_matrix(N, D + 1), centered = new_matrix(N, D),
			 all = new_matrix(D + 1, D + 1);
	struct al_matrix covariance = new_matrix(D, D);
	struct llama m;
	char path[256];

	(void)state;
	open_llama(&m);
	fill(x, 5);
	for (size_t j = 0; j <= D; j++) {
		double mean = 0;
		for (size_t i = 0; i < N; i++) {
			x.data[i + j * N] = j == D ? 1 / sqrt(N)
						   : (x.data[i + j * N] + (double)j) / sqrt(N);
			mean += x.data[i + j * N] / N;
		}
		for (size_t i = 0; j < D && i < N; i++)
			centered.data[i + j * N] = x.data[i + j * N] - mean;
	}
	assert_true(al_gram(AL_TRANSPOSED, al_view(x), all, NULL));
	assert_true(al_gram(AL_TRANSPOSED, al_view(centered), covariance, NULL));
	test_path(path, &m.folder, "moment.npy");
	write_npy(path, all.data, D + 1, D + 1, false);
	check_moment(&m, path, al_part(all, 0, 0, D, D), covariance);
	biases_are_taken_in(&m, path, all);
	m.view.modules[1].is_rotary = false;
	check_moment(&m, path, al_part(all, 0, 0, D, D), covariance);
	al_matrix_finish(&covariance);
	al_matrix_finish(&all);
	al_matrix_finish(&centered);
	al_matrix_finish(&x);
	close_llama(&m);
}

/* An importance matrix's means of inputs, between which nothing correlates. */
static void means_are_taken_in(void **state)
{
	float squares[D], sums[D];
	const float count = 4;
	static const char *const names[] = {"blk.1.attn_q.weight.", "blk.1.attn_k.weight.",
		"blk.1.attn_v.weight."};
	char keys[3][3][64];
	struct al_gguf_vector vectors[9];
	const struct al_gguf_entry type = {.key = "general.type", .text = "imatrix"};
	struct al_matrix all = new_matrix(D + 1, D + 1), covariance = new_matrix(D, D);
	struct llama m;
	char path[256];

	(void)state;
	open_llama(&m);
	for (size_t i = 0; i <= D; i++) {
		const double mean = i == D ? 1 : (double)i - 3;
		for (size_t j = 0; j <= D; j++)
			all.data[i + j * (D + 1)] = mean * (j == D ? 1 : (double)j - 3);
		if (i == D)
			continue;
		covariance.data[i + i * D] = (double)(i % 3);
		all.data[i + i * (D + 1)] += covariance.data[i + i * D];
		squares[i] = count * (float)all.data[i + i * (D + 1)];
		sums[i] = count * (float)mean;
	}
	for (size_t i = 0; i < 3; i++) {
		static const char *const endings[] = {"in_sum2", "counts", "in_sum"};
		const struct al_gguf_vector of[] = {{keys[i][0], squares, D},
			{keys[i][1], &count, 1}, {keys[i][2], sums, D}};
		for (size_t k = 0; k < 3; k++) {
			snprintf(keys[i][k], sizeof(keys[i][k]), "%s%s", names[i], endings[k]);
			vectors[3 * i + k] = of[k];
		}
	}
	assert_true(al_gguf_write(test_path(path, &m.folder, "means.gguf"), &type, 1, vectors, 9,
		NULL));
	check_moment(&m, path, al_part(all, 0, 0, D, D), covariance);
	biases_are_taken_in(&m, path, all);
	m.view.modules[1].is_rotary = false;
	check_moment(&m, path, al_part(all, 0, 0, D, D), covariance);
	al_matrix_finish(&covariance);
	al_matrix_finish(&all);
	close_llama(&m);
}

static void roots_are_refused(void **state)
{
	struct al_matrix s = second_moment(40, 1), wide = new_matrix(2, 3);
	struct al_error err;

	(void)state;
	s.data[3] += 1;
	assert_false(al_symmetric_root(s, 0x1p-53, &err));
	assert_non_null(strstr(err.message, "not symmetric"));
	memset(s.data, 0, D * D * sizeof(double));
	for (size_t i = 0; i < D; i++)
		s.data[i * (D + 1)] = (double)i - 1;
	assert_false(al_symmetric_root(s, 0x1p-53, &err));
	assert_string_equal(err.message, "not positive semidefinite: eigenvalues from -1 to 14");
	assert_false(al_symmetric_root(wide, 0x1p-53, &err));
	assert_string_equal(err.message, "2 x 3, expected a square matrix");
	al_matrix_finish(&wide);
	al_matrix_finish(&s);
}

/* What rounding leaves below zero is zero. */
static void rounding_is_not_refused(void **state)
{
	struct al_matrix s = new_matrix(D, D);

	(void)state;
	for (size_t i = 0; i < D; i++)
		s.data[i * (D + 1)] = i ? 4 : -1e-16;
	assert_true(al_symmetric_root(s, 0x1p-53, NULL));
	for (size_t i = 0; i < D * D; i++)
		assert_near(s.data[i], i % (D + 1) == 0 && i ? 2 : 0);
	al_matrix_finish(&s);
}

/* ---- over all offsets ---- */

enum { ROWS = 7, HEAD = 6, ROTATED = 4, QUERIES = 4, KEYS = 2, OFFSETS = 16 };

/* A head's scores at offset t of OFFSETS: the p-th pair turns p + 1 times over them. */
static void scores_at(const struct al_attention *a, const struct al_heads *heads, size_t head,
	int t, double out[ROWS * ROWS])
{
	const double *k = heads->key.data + al_kv_head(heads, head) * HEAD * ROWS;
	double q[ROWS * HEAD];

	memcpy(q, heads->query.data + head * HEAD * ROWS, sizeof(q));
	for (size_t p = 0; p < ROTATED / 2; p++) {
		const struct al_rotary_pair pair = al_rotary_pair(a, ROTATED, p);
		const double angle = 2 * acos(-1) * (double)(p + 1) * t / OFFSETS;
		for (size_t row = 0; row < ROWS; row++) {
			double *x = &q[pair.first * ROWS + row], *y = &q[pair.second * ROWS + row];
			const double old = *x;
			*x = old * cos(angle) - *y * sin(angle);
			*y = old * sin(angle) + *y * cos(angle);
		}
	}
	memset(out, 0, ROWS * ROWS * sizeof(*out));
	for (size_t i = 0; i < ROWS; i++)
		for (size_t j = 0; j < ROWS; j++)
			for (size_t d = 0; d < HEAD; d++)
				out[i * ROWS + j] += q[d * ROWS + i] * k[d * ROWS + j];
}

/* Products of scores, the mean over offsets at which no two pairs turn alike; of dimensions that
 * don't turn it is the product at any offset. */
static void products_are_means_over_offsets(void **state)
{
	static double query[ROWS * HEAD * QUERIES], key[ROWS * HEAD * KEYS],
		of_queries[HEAD * QUERIES * HEAD * QUERIES], of_keys[HEAD * KEYS * HEAD * KEYS],
		found[QUERIES * QUERIES], one[ROWS * ROWS], other[ROWS * ROWS];
	const struct al_heads heads = {.query = {query, ROWS, HEAD * QUERIES, ROWS},
		.key = {key, ROWS, HEAD * KEYS, ROWS},
		.n_heads = QUERIES,
		.n_kv_heads = KEYS,
		.d_head = HEAD};
	const struct al_matrix q = {of_queries, HEAD * QUERIES, HEAD * QUERIES, HEAD * QUERIES},
			       k = {of_keys, HEAD * KEYS, HEAD * KEYS, HEAD * KEYS};

	(void)state;
	for (size_t i = 0; i < ROWS * HEAD * QUERIES; i++)
		query[i] = sin(1.3 * (double)(i * i) + 1);
	for (size_t i = 0; i < ROWS * HEAD * KEYS; i++)
		key[i] = cos(2.1 * (double)(i * i) + 2);
	assert_true(al_gram(AL_TRANSPOSED, heads.query, q, NULL)
		&& al_gram(AL_TRANSPOSED, heads.key, k, NULL));
	for (int pairs = AL_PAIRS_HALVES; pairs <= AL_PAIRS_INTERLEAVED; pairs++) {
		const struct al_attention a = {.is_rotary = true,
			.rotary_width = ROTATED,
			.rotary_pairs = (enum al_pairs)pairs,
			.d_head = HEAD};
		al_rotary_inner(&heads, &a, al_view(q), al_view(k),
			(struct al_matrix){found, QUERIES, QUERIES, QUERIES});
		for (size_t i = 0; i < QUERIES; i++)
			for (size_t j = 0; j < QUERIES; j++) {
				double mean = 0;
				for (int t = 0; t < OFFSETS; t++) {
					scores_at(&a, &heads, i, t, one);
					scores_at(&a, &heads, j, t, other);
					for (size_t n = 0; n < ROWS * ROWS; n++)
						mean += one[n] * other[n] / OFFSETS;
				}
				assert_true(fabs(found[i + j * QUERIES] - mean) < 1e-10);
			}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_are_means_over_offsets),
		cmocka_unit_test(offsets_equal_rotated_scores),
		cmocka_unit_test(offsets_keep_lengths),
		cmocka_unit_test(weights_as_inputs_use_them),
		cmocka_unit_test(a_diagonal_scales_rows),
		cmocka_unit_test(keys_lose_the_mean),
		cmocka_unit_test(means_are_taken_in),
		cmocka_unit_test(roots_are_refused),
		cmocka_unit_test(rounding_is_not_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
