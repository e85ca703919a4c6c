/* DEACON: the layer's tensors are the catalog's, the gradient is the loss's, and what both
 * constraints promise is seen. */
#include "unit.h"

#include <math.h>

#include "base/random.h"
#include "ledger/ledger.h"
#include "linalg/hebbian.h"
#include "deacon/deacon.h"
#include "support/folder.h"
#include "support/weights.h"

enum { HEADS = 4, D_HEAD = 3, WIDTH = HEADS * D_HEAD, TARGETS = 6, TOKENS = 500, KEPT = 3 };

/* ---- a module of known structure ---- */

static double rows[TOKENS * (WIDTH + TARGETS)];

/* Heads and targets as files hold them. */
struct outputs {
	struct test_folder folder;
	struct al_checkpoint files[2];
	struct al_rows rows[2];
};

static void open_outputs(struct outputs *o, const double *heads, size_t width,
	const double *targets, size_t n)
{
	static const char *const names[] = {"heads.npy", "targets.npy"};
	const double *const numbers[] = {heads, targets};
	const size_t widths[] = {width, TARGETS};
	char path[256];
	struct al_error err;

	*o = (struct outputs){0};
	test_folder_make(&o->folder);
	for (int i = 0; i < 2 && numbers[i]; i++) {
		write_npy(test_path(path, &o->folder, names[i]), numbers[i], widths[i], n, true);
		if (!al_checkpoint_open(&o->files[i], path, &err)
			|| !al_rows_of(&o->rows[i], &o->files[i], &o->files[i].tensors[0], &err))
			fail_msg("%s", err.message);
	}
}

static void close_outputs(struct outputs *o)
{
	for (int i = 0; i < 2; i++)
		if (o->rows[i].width)
			al_checkpoint_close(&o->files[i]);
	test_folder_remove(&o->folder);
}

/* Heads that have much in common, a target linear in them but for noise. */
static struct outputs outputs;

static int close_all(void **state)
{
	(void)state;
	close_outputs(&outputs);
	return 0;
}

static int make(void **state)
{
	static double heads[TOKENS * WIDTH], targets[TOKENS * TARGETS];
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
	for (size_t t = 0; t < TOKENS; t++) {
		const double *row = rows + t * (WIDTH + TARGETS);
		memcpy(heads + t * WIDTH, row, WIDTH * sizeof(*row));
		memcpy(targets + t * TARGETS, row + WIDTH, TARGETS * sizeof(*row));
	}
	open_outputs(&outputs, heads, WIDTH, targets, TOKENS);
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

	if (!al_principal_find(&f->principal, outputs.rows, &options, &err)
		|| !al_target_moments_find(&f->moments, outputs.rows, &f->principal, NULL, &err)
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

static void put(struct fixture *f, const double *weights, const double *step, double t)
{
	for (size_t i = 0; i < HEADS * KEPT; i++)
		f->deacon.weights.data[i] = weights[i] + t * step[i];
}

/* Along a step of W the loss of the tokens is the parabola that promise and curvature make: a step
 * goes past its least value, and beyond twice that the loss is larger than before. */
static void the_loss_is_a_parabola(void **state)
{
	enum { OUTPUTS = KEPT * D_HEAD * TARGETS };
	const struct al_deacon_options options = {.delta_p = .2, .xi = .8, .n_inner = 1};
	double weights[HEADS * KEPT], moved[HEADS * KEPT], output[OUTPUTS], then[OUTPUTS];
	size_t n_fell = 0;
	struct fixture f;

	(void)state;
	begin(&f, AL_DIRECT);
	for (int s = 0; s < 20; s++) {
		struct al_deacon_step step;
		memcpy(weights, f.deacon.weights.data, sizeof(weights));
		memcpy(output, f.deacon.output.data, sizeof(output));
		assert_true(al_deacon_step(&f.deacon, &options, &step, NULL));
		memcpy(moved, f.deacon.weights.data, sizeof(moved));
		memcpy(then, f.deacon.output.data, sizeof(then));
		memcpy(f.deacon.output.data, output, sizeof(output));
		for (size_t i = 0; i < HEADS * KEPT; i++)
			moved[i] -= weights[i];
		for (double t = 0; t <= 1; t += .25) {
			put(&f, weights, moved, t);
			const double expected = step.loss_before + t * step.constraint.decrease
				+ t * t * step.curvature;
			assert_true(fabs(loss_of_tokens(&f) / expected - 1) < 1e-10);
		}
		put(&f, weights, moved, step.falls_below / .2);
		assert_true(fabs(loss_of_tokens(&f) / step.loss_before - 1) < 1e-9);
		assert_int_equal(step.loss_between<step.loss_before, step.falls_below> .2);
		n_fell += step.loss_between < step.loss_before;
		put(&f, weights, moved, 1);
		memcpy(f.deacon.output.data, then, sizeof(then));
	}
	assert_between(n_fell, 1, 19);
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

/* ---- the catalog counts what the module builds ---- */

enum { PCA_TENSORS = 7 };

struct pca_tensor {
	const char *name;
	size_t shape[2]; /* shape[1] 0: a vector */
};

/* The tensors of a module beyond queries, keys and values, where n_pca components stay. */
static void layer_tensors(const struct al_pca_layer *layer, size_t n_pca, size_t d_model,
	struct pca_tensor out[PCA_TENSORS])
{
	const size_t norm = layer->n_norm, kept = n_pca * layer->width;
	const struct pca_tensor tensors[PCA_TENSORS] = {
		{"g_norm", {norm}},
		{"b_norm", {norm}},
		{"mean_norm", {norm}},
		{"var_norm", {norm}},
		{"W_PCA", {layer->n_features, n_pca}},
		{"b_PCA", {n_pca}},
		{"W_O", {kept, d_model}},
	};

	memcpy(out, tensors, sizeof(tensors));
}

static const struct al_ledger_entry *find_entry(const struct al_ledger_list *list, const char *name)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->items[i].name, name) == 0)
			return &list->items[i];
	fail_msg("the catalog has no %s", name);
	return NULL;
}

/* The variant's tensors beyond queries, keys and values are the layer's; returns its parameters. */
static int64_t check_tensors(struct al_ledger *ledger, const struct al_pca_layer *layer,
	size_t n_pca, size_t d_model)
{
	const struct al_ledger_list *list;
	struct pca_tensor tensors[PCA_TENSORS];
	int64_t parameters = 0;

	assert_true(al_ledger_list(ledger, AL_LIST_STORED, &list, NULL));
	assert_int_equal(list->n, PCA_TENSORS + 3);
	layer_tensors(layer, n_pca, d_model, tensors);
	for (size_t i = 0; i < PCA_TENSORS; i++) {
		const struct al_ledger_entry *entry = find_entry(list, tensors[i].name);
		int64_t elements = (int64_t)tensors[i].shape[0];
		assert_int_equal(entry->dims[0], tensors[i].shape[0]);
		assert_int_equal(entry->n_dims, tensors[i].shape[1] ? 2 : 1);
		if (tensors[i].shape[1]) {
			assert_int_equal(entry->dims[1], tensors[i].shape[1]);
			elements *= (int64_t)tensors[i].shape[1];
		}
		parameters += entry->is_parameter ? elements : 0;
	}
	return parameters;
}

static int64_t count_layer(struct al_catalog *catalog, enum al_pca_architecture a, int64_t n_heads,
	int64_t d_head, int64_t d_model, int64_t n_pca)
{
	static const char *const variants[] = {"deacon-direct", "deacon-average",
		"deacon-nonlinear"};
	struct al_configured_variant configured;
	struct al_settings settings;
	struct al_basis basis;
	struct al_arena arena;
	struct al_ledger ledger;
	struct al_pca_layer layer;
	struct al_error err;
	AL_SCRATCH(scratch);

	al_arena_init(&arena);
	al_settings_init(&settings, catalog);
	al_settings_set(&settings, "n_heads", n_heads, "test");
	al_settings_set(&settings, "d_head", d_head, "test");
	al_settings_set(&settings, "d_model", d_model, "test");
	al_settings_set(&settings, "n_pca", n_pca, "test");
	al_basis_init(&basis);
	if (!al_configured_variant_parse(&arena, catalog, variants[a], &configured, &err)
		|| !al_ledger_open_module(&ledger, &configured, &settings, &basis, &err))
		fail_msg("%s", err.message);
	assert_true(al_pca_layer_init(&layer, a, (size_t)n_heads, (size_t)d_head, &scratch, NULL));
	const int64_t parameters = check_tensors(&ledger, &layer, (size_t)n_pca, (size_t)d_model);
	al_ledger_close(&ledger);
	al_settings_finish(&settings);
	al_arena_finish(&arena);
	return parameters;
}

/* The totals of Tables 3 and 4: six modules in which the layer takes the place of W_O. */
static void tables_3_and_4(void **state)
{
	static const struct {
		enum al_pca_architecture architecture;
		int64_t n_pca, total;
	} printed[] = {{AL_DIRECT, 8, 5373616}, {AL_DIRECT, 3, 5127586}, {AL_AVERAGE, 8, 4992688},
		{AL_AVERAGE, 3, 4984738}, {AL_NONLINEAR, 8, 5372800}, {AL_NONLINEAR, 3, 5125690}};
	struct al_catalog *catalog = al_catalog_create();

	(void)state;
	for (size_t i = 0; i < sizeof(printed) / sizeof(*printed); i++)
		assert_int_equal(5370112
				+ 6
					* (count_layer(catalog, printed[i].architecture, 8, 32, 256,
						   printed[i].n_pca)
						- 8 * 32 * 256),
			printed[i].total);
	for (int a = 0; a < AL_N_ARCHITECTURES; a++)
		(void)count_layer(catalog, (enum al_pca_architecture)a, 5, 7, 11, 4);
	al_catalog_destroy(catalog);
}

/* What is built has those shapes. */
static void layer_is_built_so(void **state)
{
	(void)state;
	for (int a = 0; a < AL_N_ARCHITECTURES; a++) {
		struct fixture f;
		struct pca_tensor t[PCA_TENSORS];
		begin(&f, (enum al_pca_architecture)a);
		layer_tensors(&f.principal.layer, KEPT, TARGETS, t);
		assert_int_equal(t[0].shape[0], f.principal.layer.n_norm);
		assert_int_equal(t[4].shape[0], f.deacon.weights.rows);
		assert_int_equal(t[4].shape[1], f.deacon.weights.cols);
		assert_int_equal(t[6].shape[0], f.deacon.output.rows);
		assert_int_equal(t[6].shape[1], f.deacon.output.cols);
		end(&f);
	}
}

/* ---- a Gaussian whose covariance is known ---- */

enum { G_HEADS = 4, G_DIMS = 2, G_TOKENS = 20000 };

/* Heads i and k correlate by 0.8^|i - k|, in each dimension alike. */
static double gaussian_heads[G_TOKENS * G_HEADS * G_DIMS];

static void make_gaussian(void)
{
	struct al_random *random = al_random_create(6, 0, 0, 0);

	al_random_gaussian(random, gaussian_heads, G_TOKENS * G_HEADS * G_DIMS);
	al_random_destroy(random);
	for (size_t t = 0; t < G_TOKENS; t++)
		for (size_t i = 1; i < G_HEADS; i++)
			for (size_t j = 0; j < G_DIMS; j++) {
				double *x = gaussian_heads + (t * G_HEADS + i) * G_DIMS + j;
				*x = .6 * *x + .8 * x[-G_DIMS];
			}
}

static double largest_angle(struct al_view weights, struct al_view vectors)
{
	double cosines[G_HEADS], angle;

	assert_true(al_hebbian_alignment(weights, al_columns(vectors, 0, weights.cols), cosines,
		&angle, NULL));
	for (size_t c = 0; c < weights.cols; c++)
		angle = fmax(angle, acos(fmin(cosines[c], 1)));
	return angle;
}

/* Shares of variance along learned weights are LAPACK's to 1e-12, angles below 1e-3. */
static void gaussian_is_learned(void **state)
{
	const struct al_pca_options asked = {.architecture = AL_DIRECT,
		.n_heads = G_HEADS,
		.d_head = G_DIMS};
	struct al_matrix w = {0}, truth = {0};
	struct al_principal p;
	double values[G_HEADS];

	(void)state;
	struct outputs gaussian;
	make_gaussian();
	open_outputs(&gaussian, gaussian_heads, G_HEADS * G_DIMS, NULL, G_TOKENS);
	assert_true(al_principal_find(&p, gaussian.rows, &asked, NULL)
		&& al_matrix_init(&w, G_HEADS, G_HEADS, NULL)
		&& al_matrix_init(&truth, G_HEADS, G_HEADS, NULL));
	al_hebbian_start(w, 1);
	assert_true(al_hebbian_batch(al_view(p.covariance), al_hebbian_default_rate(&p), 0, 4000, w,
		NULL));
	assert_true(largest_angle(al_view(w), al_view(p.vectors)) < 1e-3);
	for (size_t c = 0; c < G_HEADS; c++) {
		double share = 0;
		for (size_t i = 0; i < G_HEADS; i++)
			for (size_t k = 0; k < G_HEADS; k++)
				share += w.data[i + c * w.ld] * w.data[k + c * w.ld]
					* p.covariance.data[i + k * p.covariance.ld] / p.sum;
		assert_true(fabs(share - p.values[c] / p.sum) < 1e-12);
	}

	for (size_t i = 0; i < G_HEADS; i++)
		for (size_t k = 0; k < G_HEADS; k++)
			truth.data[i + k * truth.ld] = pow(.8, fabs((double)i - (double)k));
	assert_true(al_eigenvectors(truth, values, NULL));
	assert_true(largest_angle(al_view(p.vectors), al_view(truth)) < .02);
	for (size_t c = 0; c < G_HEADS; c++)
		assert_true(fabs(p.values[c] - values[c]) < .02);
	al_matrix_finish(&w);
	al_matrix_finish(&truth);
	al_principal_finish(&p);
	close_outputs(&gaussian);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loss_and_gradient),
		cmocka_unit_test(promises_are_seen),
		cmocka_unit_test(the_loss_is_a_parabola),
		cmocka_unit_test(first_order_to_second_order),
		cmocka_unit_test(inner_loop),
		cmocka_unit_test(tables_3_and_4),
		cmocka_unit_test(layer_is_built_so),
		cmocka_unit_test(gaussian_is_learned),
	};

	return cmocka_run_group_tests(tests, make, close_all);
}
