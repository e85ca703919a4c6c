/* The lower bound of inference memory: no engine holds less of any built-in model. */
#include "with_catalog.h"

#include "base/number.h"
#include "ledger/infer.h"

static struct al_arena arena;
static struct al_error err;

static int set_up(void **state)
{
	al_arena_init(&arena);
	return create_catalog(state);
}

static int tear_down(void **state)
{
	al_arena_finish(&arena);
	return destroy_catalog(state);
}

/* States in one format: engines have them in others. */
static struct al_engine_choice choose(const char *name, bool is_finest)
{
	struct al_engine_choice choice = {.state_dtype = "f32"};

	must(al_catalog_engine(catalog, name, &choice.engine, &err), &err);
	choice.block = is_finest ? 1 : choice.engine->block;
	choice.asked_chunk = is_finest;
	must(al_engine_settle(&choice, NULL, &err), &err);
	return choice;
}

/* ---- one model under one engine ---- */

struct layout {
	const char *weights, *cache;
	int64_t tp, pp, ep;
};

struct subject {
	const struct al_model *model;
	const struct layout *layout;
	struct al_engine_choice choice;
	struct al_quantization quantization;
	struct al_settings settings;
	struct al_basis basis;
	struct al_ledger ledger;
	struct al_inference inference;
};

/* false: the model can't be laid out like that, under any engine. */
static bool open_subject(struct subject *s)
{
	const struct layout *l = s->layout;
	struct al_ledger_ask ask = {.catalog = catalog,
		.model = s->model,
		.settings = &s->settings,
		.basis = &s->basis,
		.quantization = &s->quantization,
		.engine = &s->choice,
		.tp = l->tp};

	al_settings_init(&s->settings, catalog);
	al_basis_init(&s->basis);
	must(al_quantization_init(&s->quantization, &arena, catalog, s->model, l->weights, &err)
			&& al_model_settings(s->model, catalog, &s->settings, &err)
			&& al_catalog_family(catalog, s->model->family, &ask.family, &err),
		&err);
	s->inference = (struct al_inference){.weights = &s->quantization,
		.share.parts = AL_ALL_PARTS,
		.tp = l->tp,
		.pp = l->pp,
		.ep = l->ep,
		.activation_bytes = s->choice.engine->activation_bytes,
		.engine = &s->choice};
	must(al_dtype_find(l->cache, &s->inference.cache, &err), &err);
	ask.cache = s->inference.cache;
	ask.detail = al_inference_detail(&s->inference);
	if (al_ledger_open(&s->ledger, &ask, &err))
		return true;
	al_settings_finish(&s->settings);
	al_quantization_finish(&s->quantization);
	return false;
}

static void close_subject(struct subject *s)
{
	al_ledger_close(&s->ledger);
	al_settings_finish(&s->settings);
	al_quantization_finish(&s->quantization);
}

/* Numbers of tokens around the windows of models, blocks and chunks. */
static const struct size {
	int64_t batch, seq;
} all_sizes[] = {{1, 1}, {3, 159}, {64, 4100}};
enum { N_SIZES = sizeof(all_sizes) / sizeof(*all_sizes) };

struct sizes {
	const struct size *items;
	size_t n;
};

static bool hold(struct subject *s, const struct size *size,
	struct al_inference_row rows[AL_N_STATES])
{
	s->inference.batch = size->batch;
	s->inference.seq = s->inference.source_seq = size->seq;
	return al_ledger_infer_largest(&s->ledger, &s->inference, rows, &err);
}

/* ---- all of them ---- */

/* Of each state, unless another stage of a pipeline holds most; and in all. */
static void compare(const struct subject *s, const struct al_inference_row bound[AL_N_STATES],
	const struct al_inference_row rows[AL_N_STATES])
{
	const char *engine = s->choice.engine->name;

	for (int k = 0; s->layout->pp == 1 && k < AL_N_STATES; k++)
		if (mpq_cmp(bound[k].bytes, rows[k].bytes) > 0)
			fail_msg("%s, %s: %s", s->model->name, engine, al_memory_state_names[k]);
	AL_EXACT(least);
	AL_EXACT(all);
	for (int k = 0; k < AL_N_STATES; k++) {
		al_exact_add(least, bound[k].bytes);
		al_exact_add(all, rows[k].bytes);
	}
	if (mpq_cmp(least, all) > 0)
		fail_msg("%s, %s", s->model->name, engine);
}

/* What the bound says of each size. */
struct least {
	bool is_known;
	struct al_inference_row rows[AL_N_STATES];
};

static void compare_engine(const struct subject *as, struct sizes sizes,
	struct least least[N_SIZES], const char *name, bool is_finest)
{
	struct al_inference_row rows[AL_N_STATES];
	struct subject s = {.model = as->model,
		.layout = as->layout,
		.choice = choose(name, is_finest)};

	al_inference_rows_init(rows);
	assert_true(open_subject(&s));
	for (size_t i = 0; i < sizes.n; i++) {
		assert_int_equal(hold(&s, &sizes.items[i], rows), least[i].is_known);
		if (least[i].is_known)
			compare(&s, least[i].rows, rows);
	}
	close_subject(&s);
	al_inference_rows_finish(rows);
}

static void compare_engines(const struct al_model *model, const struct layout *layout,
	struct sizes sizes, bool is_finest)
{
	const struct al_embedded_list *engines = al_catalog_files(AL_CATALOG_ENGINES);
	struct subject ideal = {.model = model, .layout = layout, .choice = choose("ideal", false)};
	struct least least[N_SIZES];

	if (!open_subject(&ideal))
		return;
	for (size_t i = 0; i < sizes.n; i++) {
		al_inference_rows_init(least[i].rows);
		least[i].is_known = hold(&ideal, &sizes.items[i], least[i].rows);
	}
	for (size_t i = 0; i < engines->n_files; i++)
		if (strcmp(engines->files[i].name, "ideal") != 0)
			compare_engine(&ideal, sizes, least, engines->files[i].name, is_finest);
	for (size_t i = 0; i < sizes.n; i++)
		al_inference_rows_finish(least[i].rows);
	close_subject(&ideal);
}

/* Every model on one device, and on several in one of the other ways: one of them with the blocks
 * and chunks of the engine, one with those of a single token. A pipeline, whose stages are counted
 * one by one, in one size. */
static void no_engine_holds_less(void **state)
{
	static const struct layout one = {NULL, "bf16", 1, 1, 1};
	static const struct layout several[] = {{"fp8", "f32", 8, 1, 1},
		{"q4_k_m", "q8_0", 4, 1, 4}, {NULL, "fp8", 2, 3, 1}};
	const struct al_embedded_list *models = al_catalog_files(AL_CATALOG_MODELS);
	(void)state;

	for (size_t i = 0; i < models->n_files; i++) {
		const struct layout *other = &several[i % (sizeof(several) / sizeof(*several))];
		const struct sizes all = {all_sizes, N_SIZES};
		const struct sizes single = {&all_sizes[i / 3 % N_SIZES], 1};
		const struct al_model *model;
		must(al_catalog_model(catalog, models->files[i].name, &model, &err), &err);
		if (!model->family)
			continue;
		compare_engines(model, &one, all, i % 2);
		compare_engines(model, other, other->pp > 1 ? single : all, i % 2 == 0);
	}
}

/* What an engine reads of a checkpoint's files and the bound doesn't could make its cache
 * smaller. */
static void takes_all_declared_formats(void **state)
{
	const struct al_embedded_list *engines = al_catalog_files(AL_CATALOG_ENGINES);
	const struct al_texts *taken = &choose("ideal", false).engine->declared;
	(void)state;

	for (size_t i = 0; i < engines->n_files; i++) {
		const struct al_texts *declared =
			&choose(engines->files[i].name, false).engine->declared;
		for (size_t k = 0; k < declared->n; k++)
			assert_true(al_find_name(declared->items[k], taken->items, taken->n) >= 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_engine_holds_less),
		cmocka_unit_test(takes_all_declared_formats),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
