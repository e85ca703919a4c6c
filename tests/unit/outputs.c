/* What heads' outputs say of heads: known answers, and least squares on the tokens themselves. */
#include "unit.h"

#include <math.h>

#include "model/calibration/outputs.h"

enum { HEADS = 3, WIDTH = 2, ALL = HEADS * WIDTH, KEPT = ALL - WIDTH, D = 5, TOKENS = 40 };
enum { FOLDS = 4, FOLD = TOKENS / FOLDS };

static double tokens[TOKENS * ALL], stored[ALL * ALL], projection[D * ALL];
static const struct al_matrix o = {tokens, TOKENS, ALL, TOKENS}, moment = {stored, ALL, ALL, ALL},
			      output = {projection, D, ALL, D};

static void assert_close(double a, double b, double most)
{
	if (!(fabs(a - b) <= most))
		fail_msg("%.17g, expected %.17g", a, b);
}

static double number(int i)
{
	return sin(1 + .7 * i * i) * 2 + cos(i * 7.233);
}

static void fill(void)
{
	for (int i = 0; i < TOKENS * ALL; i++)
		tokens[i] = number(i);
	for (int i = 0; i < D * ALL; i++)
		projection[i] = number(-i - 1);
}

static void find_moment(void)
{
	assert_true(al_gram(AL_TRANSPOSED, al_view(o), moment, NULL));
}

/* In sample. */
static bool judge(struct al_view w, size_t n_heads, struct al_head_worth *worth,
	struct al_error *err)
{
	AL_OWNED struct al_matrix fold = {0};

	return al_packed_of(al_view(moment), &fold, err)
		&& al_heads_judge(fold, w, (struct al_turns){0}, n_heads, worth, err);
}

/* Head 1 is a linear map of head 0. */
static void copy_head(void)
{
	for (size_t t = 0; t < TOKENS; t++) {
		tokens[t + 2 * TOKENS] = 2 * tokens[t] - tokens[t + TOKENS];
		tokens[t + 3 * TOKENS] = 3 * tokens[t] + tokens[t + TOKENS];
	}
}

/* |o W - p W'|^2 / |o W|^2, p being o without a head. */
static double error_without(size_t head, struct al_view fitted)
{
	double changed = 0, whole = 0;

	for (size_t t = 0; t < TOKENS; t++)
		for (size_t d = 0; d < D; d++) {
			double y = 0, z = 0;
			size_t at = 0;
			for (size_t i = 0; i < ALL; i++) {
				y += tokens[t + i * TOKENS] * projection[d + i * D];
				if (i / WIDTH != head)
					z += tokens[t + i * TOKENS] * fitted.data[d + at++ * D];
			}
			whole += y * y;
			changed += (y - z) * (y - z);
		}
	return changed / whole;
}

static size_t without(size_t head, size_t i)
{
	return i < head * WIDTH ? i : i + WIDTH;
}

/* The square; W_O of the others as al_output_refit gives it, as it is where `keeps`. */
static double refitted_error(size_t head, bool keeps)
{
	double g[KEPT * KEPT], c[KEPT * ALL], w[D * KEPT];

	for (size_t i = 0; i < KEPT; i++) {
		for (size_t j = 0; j < KEPT; j++)
			g[i + j * KEPT] = stored[without(head, i) + without(head, j) * ALL];
		for (size_t j = 0; j < ALL; j++)
			c[i + j * KEPT] = stored[without(head, i) + j * ALL];
		for (size_t d = 0; d < D; d++)
			w[d + i * D] = projection[d + without(head, i) * D];
	}
	if (!keeps)
		assert_true(al_output_refit((struct al_view){g, KEPT, KEPT, KEPT},
			(struct al_view){c, KEPT, ALL, KEPT}, al_view(output),
			(struct al_matrix){w, D, KEPT, D}, NULL));
	return error_without(head, (struct al_view){w, D, KEPT, D});
}

static void errors_are_those_on_the_tokens(void **state)
{
	struct al_head_worth worth[HEADS];
	double sum = 0;

	(void)state;
	fill();
	find_moment();
	assert_true(judge(al_view(output), HEADS, worth, NULL));
	for (size_t head = 0; head < HEADS; head++) {
		sum += worth[head].share;
		assert_close(pow(worth[head].dropped, 2), refitted_error(head, true), 1e-12);
		assert_close(pow(worth[head].compensated.mean, 2), refitted_error(head, false),
			1e-12);
		assert_true(worth[head].compensated.mean <= worth[head].by_twin);
		assert_true(worth[head].by_twin <= worth[head].dropped);
		assert_int_not_equal(worth[head].twin, head);
	}
	assert_close(sum, 1, 1e-12);
}

/* The moment is singular then. */
static void equal_heads_cost_nothing(void **state)
{
	struct al_head_worth worth[HEADS];

	(void)state;
	fill();
	copy_head();
	find_moment();
	assert_true(judge(al_view(output), HEADS, worth, NULL));
	for (size_t head = 0; head < 2; head++) {
		assert_close(pow(worth[head].compensated.mean, 2), 0, 1e-9);
		assert_close(pow(worth[head].by_twin, 2), 0, 1e-9);
		assert_int_equal(worth[head].twin, 1 - head);
		assert_close(refitted_error(head, false), 0, 1e-9);
	}
	assert_true(worth[2].compensated.mean > 1e-3);
	assert_close(pow(worth[2].compensated.mean, 2), refitted_error(2, false), 1e-9);
}

/* The moment of tokens [first, end), or of all others. */
static void find_part(size_t first, size_t end, bool others, double *out)
{
	for (size_t i = 0; i < ALL * ALL; i++)
		out[i] = 0;
	for (size_t t = 0; t < TOKENS; t++)
		for (size_t i = 0; (t >= first && t < end) != others && i < ALL; i++)
			for (size_t j = 0; j < ALL; j++)
				out[i + j * ALL] += tokens[t + i * TOKENS] * tokens[t + j * TOKENS];
}

/* |o W - p W'|^2 on tokens of moment `judge`, W' fitted to those of moment `fit`. */
static double lost(size_t head, const double *fit, const double *judge)
{
	double g[KEPT * KEPT], c[KEPT * ALL], w[D * KEPT], change[D * ALL], power;

	for (size_t i = 0; i < KEPT; i++) {
		for (size_t j = 0; j < KEPT; j++)
			g[i + j * KEPT] = fit[without(head, i) + without(head, j) * ALL];
		for (size_t j = 0; j < ALL; j++)
			c[i + j * KEPT] = fit[without(head, i) + j * ALL];
	}
	assert_true(al_output_refit((struct al_view){g, KEPT, KEPT, KEPT},
		(struct al_view){c, KEPT, ALL, KEPT}, al_view(output),
		(struct al_matrix){w, D, KEPT, D}, NULL));
	for (size_t i = 0; i < D * ALL; i++)
		change[i] = projection[i];
	for (size_t i = 0; i < KEPT; i++)
		for (size_t d = 0; d < D; d++)
			change[d + without(head, i) * D] -= w[d + i * D];
	assert_true(al_output_power((struct al_view){judge, ALL, ALL, ALL},
		(struct al_view){change, D, ALL, D}, &power, NULL));
	return power;
}

/* By each fold of what the others give, and by all of how much more all give. */
static void folds_judge_fits_of_others(void **state)
{
	double parts[FOLDS][ALL * ALL], packed[FOLDS * ALL * (ALL + 1) / 2], others[ALL * ALL],
		angles[FOLDS * HEADS], whole, *to = packed;
	const int64_t n[FOLDS] = {3, 1, 2, 4};
	const struct al_turns turns = {{angles, HEADS, FOLDS, HEADS}, n};
	struct al_head_worth worth[HEADS];

	(void)state;
	fill();
	find_moment();
	for (size_t f = 0; f < FOLDS; f++)
		for (size_t head = 0; head < HEADS; head++)
			angles[f * HEADS + head] = (double)n[f] * ((double)head + 1);
	for (size_t f = 0; f < FOLDS; f++) {
		find_part(f * FOLD, f * FOLD + FOLD, false, parts[f]);
		for (size_t j = 0; j < ALL; j++)
			for (size_t i = 0; i <= j; i++)
				*to++ = parts[f][i + j * ALL];
	}
	assert_true(al_output_power(al_view(moment), al_view(output), &whole, NULL));
	assert_true(al_heads_judge((struct al_matrix){packed, ALL * (ALL + 1) / 2, FOLDS,
					   ALL * (ALL + 1) / 2},
		al_view(output), turns, HEADS, worth, NULL));
	for (size_t head = 0; head < HEADS; head++) {
		double sum = lost(head, stored, stored);
		for (size_t f = 0; f < FOLDS; f++) {
			find_part(f * FOLD, f * FOLD + FOLD, true, others);
			const double judged = lost(head, others, parts[f]);
			sum += judged - (judged + lost(head, others, others)) / FOLDS;
		}
		assert_close(pow(worth[head].compensated.mean, 2), sum / whole, 1e-9);
		assert_true(worth[head].compensated.error > 0);
		assert_true(sum / whole > refitted_error(head, false));
		assert_close(pow(worth[head].dropped, 2), refitted_error(head, true), 1e-12);
		assert_close(worth[head].turn, (double)head + 1, 1e-12);
		assert_close(worth[head].cost.mean,
			worth[head].turn * worth[head].compensated.mean / worth[head].dropped,
			1e-12);
	}
}

/* By the turn times the share of the error that a refit leaves, 10 * 3/5 and 4 * 1, and the first
 * one without each fold. */
static void heads_are_in_order_of_turns(void **state)
{
	const struct al_unit dropped[] = {{16, 9}, {16, 9}, {18, 9}, {4, 9}, {4, 9}, {4, 9}};
	const struct al_unit refitted[] = {{5, 9}, {7, 9}, {6, 9}, {4, 9}, {4, 9}, {4, 9}};
	double sums[] = {8, 4, 20, 8, 12, 4}; /* fold by fold */
	const int64_t n[] = {1, 2, 1};
	const double without[] = {32. / 3 * sqrt(13. / 34), 10 * sqrt(11. / 34),
		28. / 3 * sqrt(12. / 32)};
	const double mean = (without[0] + without[1] + without[2]) / 3;
	struct al_head_squares squares = {2, 3, dropped, refitted, {{sums, 2, 3, 2}, n}};
	struct al_head_worth worth[2];
	double spread = 0;

	(void)state;
	assert_true(al_heads_order(&squares, worth, NULL));
	for (int i = 0; i < 3; i++)
		spread += pow(without[i] - mean, 2);
	assert_close(worth[0].turn, 10, 1e-12);
	assert_close(worth[0].cost.mean, 6, 1e-12);
	assert_close(worth[0].cost.error, sqrt(spread * 2 / 3), 1e-12);
	assert_close(worth[1].cost.mean, 4, 1e-12);
	assert_true(worth[1].is_least && worth[0].is_tied);
	squares.turns = (struct al_turns){0};
	assert_true(al_heads_order(&squares, worth, NULL));
	assert_true(isnan(worth[0].turn));
	assert_close(worth[0].cost.mean, sqrt(18. / 27), 1e-12);
	squares.n_folds = 1; /* the first head's first fold, and its second as another head's */
	assert_true(al_heads_order(&squares, worth, NULL));
	assert_close(worth[0].cost.mean, sqrt(16. / 9), 1e-12);
	assert_true(isnan(worth[0].cost.error));
}

static void one_head_has_no_twin(void **state)
{
	struct al_head_worth worth;

	(void)state;
	fill();
	find_moment();
	assert_true(judge(al_view(output), 1, &worth, NULL));
	assert_int_equal(worth.twin, 0);
	assert_close(worth.share, 1, 1e-12);
	assert_close(worth.dropped, 1, 1e-12);
	assert_false(judge(al_columns(al_view(output), 0, 4), 2, &worth, NULL));
}

static void silence_is_worth_nothing(void **state)
{
	struct al_head_worth worth[HEADS];

	(void)state;
	for (size_t i = 0; i < ALL * ALL; i++)
		stored[i] = 0;
	fill();
	assert_true(judge(al_view(output), HEADS, worth, NULL));
	for (size_t head = 0; head < HEADS; head++)
		assert_true(worth[head].dropped == 0 && worth[head].compensated.mean == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_are_those_on_the_tokens),
		cmocka_unit_test(folds_judge_fits_of_others),
		cmocka_unit_test(heads_are_in_order_of_turns),
		cmocka_unit_test(equal_heads_cost_nothing),
		cmocka_unit_test(one_head_has_no_twin),
		cmocka_unit_test(silence_is_worth_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
