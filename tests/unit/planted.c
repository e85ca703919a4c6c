/* audit's verdict on planted heads of made-up weights: independent heads are no copies of each
 * other and none of them is silent, however many there are and however they share keys. */
#include "unit.h"

#include <inttypes.h>
#include <math.h>

#include "attnledger.h"
#include "base/base.h"
#include "base/random.h"

enum { WIDTH = 128, HEAD = 16, MOST_HEADS = 72 };

struct model {
	size_t n_heads, n_kv_heads;
	float *query, *key, *value, *output; /* a head's [HEAD][WIDTH] after the other's */
};

static float *draw(struct al_random *random, size_t n_heads)
{
	float *weights = al_alloc(n_heads * HEAD * WIDTH, sizeof(*weights));

	al_random_gaussian_f(random, weights, n_heads * HEAD * WIDTH);
	return weights;
}

static struct model draw_model(size_t n_heads, size_t n_kv_heads, uint64_t seed)
{
	struct al_random *random = al_random_create(seed, 0, 0, 0);
	const struct model m = {n_heads, n_kv_heads, draw(random, n_heads),
		draw(random, n_kv_heads), draw(random, n_kv_heads), draw(random, n_heads)};

	al_random_destroy(random);
	return m;
}

static void free_model(struct model *m)
{
	free(m->query);
	free(m->key);
	free(m->value);
	free(m->output);
}

static void copy_head(float *weights, size_t from, size_t to)
{
	memcpy(weights + to * HEAD * WIDTH, weights + from * HEAD * WIDTH,
		HEAD * WIDTH * sizeof(*weights));
}

static void scale_head(float *weights, size_t head, float factor)
{
	for (size_t i = 0; i < HEAD * WIDTH; i++)
		weights[head * HEAD * WIDTH + i] *= factor;
}

/* A model's tensors, as arrays of a checkpoint. */
struct tensors {
	int64_t query[2], key[2], output[2], transposed[2];
	struct al_array items[4];
};

static void list_tensors(const struct model *m, struct tensors *t)
{
	const int64_t rows[] = {(int64_t)m->n_heads * HEAD, (int64_t)m->n_kv_heads * HEAD};

	*t = (struct tensors){{rows[0], WIDTH}, {rows[1], WIDTH}, {WIDTH, rows[0]}, {1, WIDTH},
		{{"model.layers.0.self_attn.q_proj.weight", "F32", 2, t->query, NULL, m->query},
			{"model.layers.0.self_attn.k_proj.weight", "F32", 2, t->key, NULL, m->key},
			{"model.layers.0.self_attn.v_proj.weight", "F32", 2, t->key, NULL,
				m->value},
			{"model.layers.0.self_attn.o_proj.weight", "F32", 2, t->output,
				t->transposed, m->output}}};
}

/* Answers `audit m --heads H:KV WORD...`, words up to NULL; beside `other`, called n, and the file
 * m.npy, where they aren't NULL. */
static struct al_answer *ask(const struct model *m, const struct model *other,
	const struct al_bytes *moments, const char *const *more)
{
	struct tensors own, others;
	struct al_arrays arrays[] = {{"m", own.items, 4, NULL}, {"n", others.items, 4, NULL}};
	const struct al_ask_options options = {.checkpoints = arrays,
		.n_checkpoints = other ? 2 : 1,
		.files = moments,
		.n_files = moments != NULL};
	char heads[32];
	const char *words[16] = {"audit", "m", "--heads", heads, "--layout", "llama"};
	size_t n = 6;
	struct al_answer *answer;
	struct al_error err;

	list_tensors(m, &own);
	if (other)
		list_tensors(other, &others);
	snprintf(heads, sizeof(heads), "%zu:%zu", m->n_heads, m->n_kv_heads);
	while (*more)
		words[n++] = *more++;
	if (!al_ask_with(n, words, &options, &answer, &err))
		fail_msg("%s", err.message);
	return answer;
}

/* One table, with inputs of these second moments, or NULL. */
static struct al_answer *audit(const struct model *m, const char *table,
	const struct al_bytes *moments, uint64_t seed)
{
	char seed_text[32];

	snprintf(seed_text, sizeof(seed_text), "%" PRIu64, seed);
	return ask(m, NULL, moments,
		(const char *const[]){"--seed", seed_text, "--only", table,
			moments ? "--calibration" : NULL, "m.npy", NULL});
}

/* Its rows by reason. */
static void check(const struct model *m, const char *expected)
{
	static const char *const reasons[] = {"twin", "silent", "same attention",
		"other sharpness"};
	struct al_answer *answer = audit(m, "redundant", NULL, 1);
	char found[100] = "";

	for (size_t k = 0; k < 4; k++) {
		size_t n = 0;
		for (size_t row = 0; row < al_answer_n_rows(answer, 0); row++)
			n += strcmp(al_answer_cell(answer, 0, row, 3), reasons[k]) == 0;
		snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s%zu %s",
			k ? ", " : "", n, reasons[k]);
	}
	assert_string_equal(found, expected);
	al_answer_free(answer);
}

static const char nothing[] = "0 twin, 0 silent, 0 same attention, 0 other sharpness";

/* Heads of equal norms, of norms that differ, and one head thirty times as sharp. */
static void independent_heads_are_none(void **state)
{
	static const size_t shapes[][2] = {{8, 8}, {12, 12}, {MOST_HEADS, MOST_HEADS}, {8, 2},
		{MOST_HEADS, 8}, {71, 1}};
	(void)state;

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		struct model m = draw_model(shapes[i][0], shapes[i][1], i + 1);
		check(&m, nothing);
		struct al_random *random = al_random_create(i, 1, 0, 0);
		for (size_t head = 0; head < m.n_heads; head++) {
			double norm;
			al_random_gaussian(random, &norm, 1);
			scale_head(m.query, head, (float)exp(norm / 2));
		}
		al_random_destroy(random);
		check(&m, nothing);
		scale_head(m.query, 0, 30);
		check(&m, nothing);
		free_model(&m);
	}
}

static void a_copy_is_a_twin(void **state)
{
	(void)state;
	for (size_t n_kv = 1; n_kv <= 8; n_kv *= 2) {
		struct model m = draw_model(8, n_kv, 20 + n_kv);
		const size_t group = 8 / n_kv;
		copy_head(m.query, 0, 7);
		if (n_kv > 1) {
			copy_head(m.key, 0, 7 / group);
			copy_head(m.value, 0, 7 / group);
		}
		check(&m, "1 twin, 0 silent, 0 same attention, 0 other sharpness");
		scale_head(m.query, 7, 0.05F);
		check(&m, "0 twin, 0 silent, 0 same attention, 1 other sharpness");
		free_model(&m);
	}
}

static void shared_queries_and_keys_are_told(void **state)
{
	struct model m = draw_model(8, 8, 30);
	(void)state;

	copy_head(m.query, 2, 5);
	copy_head(m.key, 2, 5);
	check(&m, "0 twin, 0 silent, 1 same attention, 0 other sharpness");
	free_model(&m);
}

static void a_head_that_writes_little_is_silent(void **state)
{
	(void)state;
	for (size_t n = 8; n <= MOST_HEADS; n *= 9) {
		struct model m = draw_model(n, n, 40 + n);
		scale_head(m.value, 3, 0.09F);
		check(&m, "0 twin, 1 silent, 0 same attention, 0 other sharpness");
		free_model(&m);
	}
}

/* ---- two checkpoints ---- */

/* Puts head i where to[i] says. */
static void move_heads(float *weights, size_t n, const size_t *to)
{
	const size_t size = HEAD * WIDTH;
	float *old = al_alloc(n * size, sizeof(*old));

	memcpy(old, weights, n * size * sizeof(*old));
	for (size_t i = 0; i < n; i++)
		memcpy(weights + to[i] * size, old + i * size, size * sizeof(*old));
	free(old);
}

/* The model with its groups, and the heads of each group, in another order; to[n_heads]. */
static void permute(struct model *m, size_t *to)
{
	const size_t size = m->n_heads / m->n_kv_heads;
	size_t groups[MOST_HEADS];

	for (size_t g = 0; g < m->n_kv_heads; g++) {
		groups[g] = (5 * g + 2) % m->n_kv_heads;
		for (size_t i = 0; i < size; i++)
			to[g * size + i] = groups[g] * size + (3 * i + g) % size;
	}
	move_heads(m->query, m->n_heads, to);
	move_heads(m->output, m->n_heads, to);
	move_heads(m->key, m->n_kv_heads, groups);
	move_heads(m->value, m->n_kv_heads, groups);
}

static void check_matches(const struct model *a, const struct model *b, const size_t *to,
	const char *claim)
{
	struct al_answer *answer = ask(a, b, NULL, (const char *const[]){"--against", "n", NULL});

	for (size_t i = 0; i < a->n_heads; i++) {
		double match;
		assert_true(al_answer_number(answer, 0, i, 3, &match));
		assert_int_equal(match, to[i]);
	}
	assert_non_null(strstr(al_answer_text(answer), claim));
	al_answer_free(answer);
}

static void permuted_heads_are_matched(void **state)
{
	static const size_t shapes[][2] = {{8, 8}, {MOST_HEADS, MOST_HEADS}, {32, 8}, {8, 2},
		{16, 1}};
	(void)state;

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		struct model a = draw_model(shapes[i][0], shapes[i][1], 90 + i);
		struct model b = draw_model(shapes[i][0], shapes[i][1], 90 + i);
		size_t to[MOST_HEADS];
		permute(&b, to);
		check_matches(&a, &b, to, " heads are the same in both checkpoints; ");
		scale_head(b.query, to[3], 1.5F);
		check_matches(&a, &b, to,
			"Head 3 of layers.0 moved most: its QK form by 50.0 % of its norm (cosine "
			"1.0000).");
		free_model(&a);
		free_model(&b);
	}
}

static void unrelated_heads_are_called_so(void **state)
{
	struct model a = draw_model(8, 8, 100), b = draw_model(8, 8, 101);
	struct al_answer *answer = ask(&a, &b, NULL, (const char *const[]){"--against", "n", NULL});
	(void)state;

	assert_non_null(
		strstr(al_answer_text(answer), "The heads are unrelated: the largest cosine "));
	al_answer_free(answer);
	free_model(&a);
	free_model(&b);
}

/* ---- redundancy ---- */

/* As .npy: variances that fall with a power, in directions that no head knows. */
static struct al_bytes draw_moments(void)
{
	enum { HEADER = 128, BYTES = HEADER + WIDTH * WIDTH * (int)sizeof(double) };
	static char bytes[BYTES];
	double *moments = (double *)(void *)(bytes + HEADER), *direction = al_alloc(WIDTH, 8);
	struct al_random *random = al_random_create(50, 0, 0, 0);

	memset(bytes, ' ', HEADER);
	memcpy(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
	snprintf(bytes + 10, HEADER - 10,
		"{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d)}", WIDTH, WIDTH);
	bytes[strlen(bytes + 10) + 10] = ' ';
	bytes[HEADER - 1] = '\n';
	for (int k = 1; k <= 2 * WIDTH; k++) {
		al_random_gaussian(random, direction, WIDTH);
		for (size_t j = 0; j < WIDTH; j++)
			for (size_t i = 0; i < WIDTH; i++)
				moments[i + j * WIDTH] += direction[i] * direction[j] / k;
	}
	al_random_destroy(random);
	free(direction);
	return (struct al_bytes){"m.npy", bytes, BYTES};
}

static double redundancy_of(const struct model *m, const struct al_bytes *moments, uint64_t seed)
{
	struct al_answer *answer = audit(m, "layers", moments, seed);
	double found = NAN;

	for (size_t k = 0; k < al_answer_n_columns(answer, 0); k++)
		if (strcmp(al_answer_column(answer, 0, k).key, "redundancy") == 0)
			assert_true(al_answer_number(answer, 0, 0, k, &found));
	al_answer_free(answer);
	assert_true(found <= 1);
	return found;
}

/* The mean of several models: heads that happen to read the inputs' main directions make one of
 * them differ by a tenth. */
static void inputs_make_no_heads_redundant(void **state)
{
	enum { N = 12, HEADS = 16 };
	const struct al_bytes moments = draw_moments();
	double independent = 0, squares = 0, halves = 0;
	(void)state;

	for (uint64_t seed = 0; seed < N; seed++) {
		struct model m = draw_model(HEADS, HEADS, 60 + seed);
		const double found = redundancy_of(&m, &moments, seed);
		independent += found / N;
		squares += found * found / N;
		for (size_t head = HEADS / 2; head < HEADS; head++) {
			copy_head(m.query, head - HEADS / 2, head);
			copy_head(m.key, head - HEADS / 2, head);
		}
		halves += redundancy_of(&m, &moments, seed) / N;
		free_model(&m);
	}
	const double error = sqrt((squares - independent * independent) / (N - 1));
	if (!(error < 0.04) || !(fabs(independent) < 2.5 * error) || !(fabs(halves - 0.5) < 0.03))
		fail_msg("%.3f +- %.3f of independent heads, %.3f of half copies", independent,
			error, halves);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(independent_heads_are_none),
		cmocka_unit_test(a_copy_is_a_twin),
		cmocka_unit_test(shared_queries_and_keys_are_told),
		cmocka_unit_test(a_head_that_writes_little_is_silent),
		cmocka_unit_test(permuted_heads_are_matched),
		cmocka_unit_test(unrelated_heads_are_called_so),
		cmocka_unit_test(inputs_make_no_heads_redundant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
