/* DEACON: the layer's tensors are the catalogue's, the gradient is the loss's, and what both
 * constraints promise is seen. */
#include "unit.h"

#include <math.h>

#include "base/random.h"
#include "linalg/hebbian.h"
#include "pca/deacon.h"
#include "support/weights.h"

enum { HEADS = 4, D_HEAD = 3, WIDTH = HEADS * D_HEAD, TARGETS = 6, TOKENS = 500, KEPT = 3 };

/* ---- a module of known structure ---- */

static double rows[TOKENS * (WIDTH + TARGETS)];

static bool first(const void *context, double *out, struct al_error *err)
{
	(void)context;
	(void)err;
	memcpy(out, rows, (WIDTH + TARGETS) * sizeof(double));
	return true;
}

/* Heads alone where no target is asked for. */
static bool feed(const void *context, struct al_sums *sums, struct al_error *err)
{
	double row[WIDTH + TARGETS];

	(void)context;
	for (size_t t = 0; t < TOKENS; t++) {
		memcpy(row, rows + t * (WIDTH + TARGETS), sizeof(row));
		if (!al_sums_add(sums, row, 1, err))
			return false;
	}
	return true;
}

static const struct al_head_outputs outputs = {.width = WIDTH + TARGETS,
	.first = first,
	.feed = feed};

/* Heads that have much in common, a target linear in them but for noise. */
static int make(void **state)
{
	struct al_random *random = al_random_create(5, 0, 0, 0);
	double common[D_HEAD], noise[WIDTH + TARGETS], mix[WIDTH * TARGETS];

	(void)state;
	al_random_gaussian(random, mix, WIDTH * TARGETS);
	for (size_t t = 0; t < TOKENS; t++) {
		double *row = rows + t * (WIDTH + TARGETS);
		al_random_gaussian(random, common, D_HEAD);
		al_random_gaussian(random, noise, WIDTH + TARGETS);
		for (size_t k = 0; k < WIDTH; k++)
			row[k] = (double)(k / D_HEAD + 1) * (noise[k] + common[k % D_HEAD]);
		for (size_t z = 0; z < TARGETS; z++) {
			row[WIDTH + z] = noise[WIDTH + z] / 4;
			for (size_t k = 0; k < WIDTH; k++)
				row[WIDTH + z] += mix[k + z * WIDTH] * row[k];
		}
	}
	al_random_destroy(random);
	return 0;
}

struct fixture {
	struct al_principal principal;
	struct al_target_moments moments;
	struct al_deacon deacon;
};

static void begin(struct fixture *f, enum al_pca_architecture a)
{
	const struct al_pca_options options = {.architecture = a,
		.n_heads = HEADS,
		.d_head = D_HEAD};
	struct al_error err;

	if (!al_principal_find(&f->principal, &outputs, &options, &err)
		|| !al_target_moments_find(&f->moments, &outputs, &f->principal, TARGETS, &err)
		|| !al_deacon_init(&f->deacon, &f->moments, &f->principal, KEPT, 1, &err))
		fail_msg("%s", err.message);
}

static void end(struct fixture *f)
{
	al_deacon_finish(&f->deacon);
	al_target_moments_finish(&f->moments);
	al_principal_finish(&f->principal);
}

/* ---- the loss ---- */

/* Half the mean squared error of a token, from the tokens themselves. */
static double loss_of_tokens(const struct fixture *f)
{
	const struct al_pca_layer *layer = &f->principal.layer;
	double mean_u[64] = {0}, mean_z[TARGETS] = {0}, u[64], loss = 0;
	const size_t columns = layer->n_features * layer->width;

	for (size_t t = 0; t < TOKENS; t++) {
		al_pca_features(layer, rows + t * (WIDTH + TARGETS), u);
		for (size_t k = 0; k < columns; k++)
			mean_u[k] += u[k] / TOKENS;
		for (size_t z = 0; z < TARGETS; z++)
			mean_z[z] += rows[t * (WIDTH + TARGETS) + WIDTH + z] / TOKENS;
	}
	for (size_t t = 0; t < TOKENS; t++) {
		al_pca_features(layer, rows + t * (WIDTH + TARGETS), u);
		for (size_t z = 0; z < TARGETS; z++) {
			double left = rows[t * (WIDTH + TARGETS) + WIDTH + z] - mean_z[z];
			for (size_t c = 0; c < KEPT; c++)
				for (size_t i = 0; i < layer->n_features; i++)
					for (size_t j = 0; j < layer->width; j++)
						left -= (u[i * layer->width + j]
								- mean_u[i * layer->width + j])
							* f->deacon.weights
								  .data[i + c * layer->n_features]
							* f->deacon.output.data[c * layer->width + j
								+ z * KEPT * layer->width];
			loss += left * left / 2 / TOKENS;
		}
	}
	return loss;
}

static void loss_and_gradient(void **state)
{
	(void)state;
	for (int a = 0; a < AL_N_ARCHITECTURES; a++) {
		struct fixture f;
		struct al_matrix gradient = {0};
		begin(&f, (enum al_pca_architecture)a);
		const size_t n = f.principal.layer.n_features;
		assert_true(al_matrix_init(&gradient, n, KEPT, NULL)
			&& al_deacon_loss(&f.deacon, gradient, NULL));
		const double loss = f.deacon.loss;
		assert_true(fabs(loss / loss_of_tokens(&f) - 1) < 1e-12);
		for (size_t i = 0; i < n * KEPT; i++) {
			const double h = 1e-3, expected = gradient.data[i];
			double sides[2];
			for (int side = 0; side < 2; side++) {
				f.deacon.weights.data[i] += side ? 2 * h : -h;
				sides[side] = loss_of_tokens(&f);
			}
			f.deacon.weights.data[i] -= h;
			/* the loss is a parabola in W: the difference of the two sides is exact */
			assert_true(fabs((sides[1] - sides[0]) / (2 * h) - expected)
				< 1e-9 * (1 + fabs(expected) + loss));
		}
		al_matrix_finish(&gradient);
		end(&f);
	}
}

/* ---- the promises ---- */

static void promises_are_seen(void **state)
{
	const struct al_deacon_options options = {.delta_p = .2, .xi = .8, .n_inner = 1};
	double cosines[KEPT], before, after;
	struct fixture f;

	(void)state;
	begin(&f, AL_DIRECT);
	const struct al_view vectors = al_columns(al_view(f.principal.vectors), 0, KEPT);
	assert_true(
		al_hebbian_alignment(al_view(f.deacon.weights), vectors, cosines, &before, NULL));
	for (int s = 0; s < 40; s++) {
		struct al_deacon_step step;
		assert_true(al_deacon_step(&f.deacon, &options, &step, NULL));
		assert_true(fabs(step.constraint.length - .2) < 1e-14);
		assert_true(fabs(step.constraint.decrease / step.constraint.delta_q - 1) < 1e-12);
		assert_true(step.loss_after <= step.loss_between);
		/* while the gradient is large: near the floor such a step goes too far */
		assert_true(s >= 6 || step.loss_between < step.loss_before);
		assert_true(fabs(step.loss_after / loss_of_tokens(&f) - 1) < 1e-9);
	}
	assert_true(
		al_hebbian_alignment(al_view(f.deacon.weights), vectors, cosines, &after, NULL));
	assert_true(after < before);
	end(&f);
}

/* What the loss changes by less what the constraint promises falls with delta_p^2: over five
 * halvings by 4 each. */
static void first_order_to_second_order(void **state)
{
	double missed[6];

	(void)state;
	for (int halvings = 0; halvings < 6; halvings++) {
		const struct al_deacon_options options = {.delta_p = .2 / (1 << halvings),
			.xi = .8,
			.n_inner = 1};
		struct al_deacon_step step;
		struct fixture f;
		begin(&f, AL_DIRECT);
		assert_true(al_deacon_step(&f.deacon, &options, &step, NULL));
		missed[halvings] = step.loss_between - step.loss_before - step.constraint.delta_q;
		end(&f);
		assert_true(
			halvings == 0 || fabs(missed[halvings - 1] / missed[halvings] - 4) < 1e-6);
	}
}

/* The paper's inner loop leads to the principal components themselves. */
static void inner_loop(void **state)
{
	const struct al_deacon_options options = {.delta_p = .2,
		.xi = .8,
		.n_inner = 500,
		.rate = .2};
	double cosines[KEPT], angle;
	struct fixture f;

	(void)state;
	begin(&f, AL_DIRECT);
	for (int s = 0; s < 60; s++) {
		struct al_deacon_step step;
		assert_true(al_deacon_step(&f.deacon, &options, &step, NULL));
	}
	assert_true(al_hebbian_alignment(al_view(f.deacon.weights),
		al_columns(al_view(f.principal.vectors), 0, KEPT), cosines, &angle, NULL));
	assert_true(cosines[0] > .9);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loss_and_gradient),
		cmocka_unit_test(promises_are_seen),
		cmocka_unit_test(first_order_to_second_order),
		cmocka_unit_test(inner_loop),
	};

	return cmocka_run_group_tests(tests, make, NULL);
}
