/* Losses where words that are almost equal are taken together, beside losses word by word. */
#include "unit.h"

#include <math.h>

#include "model/forward/alike.h"
#include "support/folder.h"
#include "support/weights.h"

enum { WIDE = 8, VOCAB = 2048, ALIKE = 1365, TOKENS = 96, ONE = 4 }; /* ONE: its seed */

/* dim 8, hidden 1, 1 layer, 1 head, 3 positions; the embedding is the head */
static const int32_t header[7] = {WIDE, 1, 1, 1, 1, VOCAB, 3};
enum { NUMBERS = VOCAB * WIDE + 2 * WIDE + 4 * WIDE * WIDE + 3 * WIDE + WIDE + 3 * WIDE };

struct model {
	struct test_folder folder;
	struct al_catalog *catalog;
	struct al_checkpoint checkpoint;
	struct al_model_view view;
	struct al_network network;
};

/* Rows of normal numbers; but for every third they are one row, each off it by `spread` times
 * normal numbers. The rest of the model isn't looked at. */
static void write_model(const char *path, double spread)
{
	static double rows[VOCAB * WIDE];
	static char bytes[28 + 4 * NUMBERS];
	double one[WIDE];

	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, header, 28);
	fill_normal(rows, VOCAB * WIDE, 1);
	fill_normal(one, WIDE, ONE);
	for (size_t i = 0; i < VOCAB * WIDE; i++) {
		const bool is_alike = i / WIDE % 3 != 0;
		const float number = (float)(is_alike ? one[i % WIDE] + spread * rows[i] : rows[i]);
		memcpy(bytes + 28 + 4 * i, &number, 4);
	}
	test_write(path, bytes, sizeof(bytes));
}

static void open_model(struct model *m, double spread)
{
	struct al_error err;
	char path[256];

	test_folder_make(&m->folder);
	write_model(test_path(path, &m->folder, "model.bin"), spread);
	m->catalog = al_catalog_create();
	assert_true(al_checkpoint_open(&m->checkpoint, path, &err));
	assert_true(al_model_view_open(&m->view, m->catalog, &m->checkpoint,
		&(struct al_view_options){0}, &err));
	assert_true(al_network_open(&m->network, &m->view, &err));
}

static void close_model(struct model *m)
{
	al_network_close(&m->network);
	al_model_view_close(&m->view);
	al_checkpoint_close(&m->checkpoint);
	al_catalog_destroy(m->catalog);
	test_folder_remove(&m->folder);
}

static void find_losses(struct model *m, struct al_view_f hidden, const int32_t *targets,
	const struct al_alike *alike, double *losses)
{
	const struct al_batch batch = {targets, (size_t[]){0, TOKENS}, 1, 0};
	struct al_error err;

	assert_true(al_network_score(&m->network, &batch, hidden,
		&(struct al_token_scores){.targets = targets, .losses = losses, .alike = alike},
		&err));
}

/* Hidden states from short to long ones, every fourth of which the group likes, so that it is
 * nearly all of the sum; targets of both kinds. */
static void make_hidden(float hidden[TOKENS * WIDE], int32_t targets[TOKENS])
{
	double numbers[TOKENS * WIDE], one[WIDE];

	fill_normal(numbers, TOKENS * WIDE, 2);
	fill_normal(one, WIDE, ONE);
	for (int j = 0; j < TOKENS; j++) {
		const double length = pow(10, j * 3.0 / TOKENS - 1);
		targets[j] = j * 21 % VOCAB;
		for (int i = 0; i < WIDE; i++)
			hidden[j * WIDE + i] = (float)(length
				* (numbers[j * WIDE + i] / 4 + (j % 4 == 0 ? one[i] : 0)));
	}
}

static double norm(const float *x)
{
	double sum = 0;

	for (int i = 0; i < WIDE; i++)
		sum += (double)x[i] * (double)x[i];
	return sqrt(sum);
}

/* Sums in another order make the floats' own error, which grows with the logits. */
static void check_losses(double spread)
{
	float numbers[TOKENS * WIDE];
	int32_t targets[TOKENS];
	double expected[TOKENS], found[TOKENS];
	const struct al_view_f hidden = {numbers, WIDE, TOKENS, WIDE};
	struct al_alike alike;
	struct al_error err;
	struct model m;

	open_model(&m, spread);
	make_hidden(numbers, targets);
	assert_true(al_alike_find(&m.network, &alike, &err));
	assert_int_equal(alike.n, ALIKE);
	find_losses(&m, hidden, targets, NULL, expected);
	find_losses(&m, hidden, targets, &alike, found);
	for (int j = 0; j < TOKENS; j++) {
		const double length = norm(numbers + j * WIDE);
		if (!(fabs(found[j] - expected[j]) <= 1e-6 + 6e-7 * length))
			fail_msg("spread %g, token %d: %.9g, expected %.9g", spread, j, found[j],
				expected[j]);
	}
	al_alike_finish(&alike);
	close_model(&m);
}

static void losses(void **state)
{
	(void)state;
	check_losses(0);
	check_losses(1e-6);
	check_losses(2e-5);
}

/* The interval that the declaration states holds the sum of the group's exponentials. */
static void the_bound(void **state)
{
	float hidden[WIDE];
	double numbers[WIDE], one[WIDE], sum = 0;
	static double rows[VOCAB * WIDE];
	struct al_alike alike;
	struct al_error err;
	struct model m;

	(void)state;
	open_model(&m, 2e-5);
	assert_true(al_alike_find(&m.network, &alike, &err));
	fill_normal(numbers, WIDE, 3);
	fill_normal(rows, VOCAB * WIDE, 1);
	fill_normal(one, WIDE, ONE);
	for (int i = 0; i < WIDE; i++)
		hidden[i] = (float)(2000 * numbers[i]);
	const double mean = al_alike_logit(&alike, hidden);
	for (size_t row = 0; row < VOCAB; row++) {
		double logit = 0;
		for (size_t i = 0; i < WIDE; i++)
			logit += (double)(float)(one[i] + 2e-5 * rows[row * WIDE + i])
				* (double)hidden[i];
		sum += row % 3 != 0 ? exp(logit - mean) / ALIKE : 0;
	}
	assert_true(sum >= 1);
	assert_true(sum > 1 + 1e-4);
	assert_true(sum <= 1 + al_alike_error(&alike, hidden));
	al_alike_finish(&alike);
	close_model(&m);
}

/* Rows that differ are no group. */
static void no_group(void **state)
{
	struct al_alike alike;
	struct al_error err;
	struct model m;

	(void)state;
	open_model(&m, 0.1);
	assert_true(al_alike_find(&m.network, &alike, &err));
	assert_int_equal(alike.n, 0);
	al_alike_finish(&alike);
	close_model(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(losses),
		cmocka_unit_test(the_bound),
		cmocka_unit_test(no_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
