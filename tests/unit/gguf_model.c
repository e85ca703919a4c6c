/* A GGUF file as a model: its weights take what its list of tensors says. */
#include "with_catalog.h"

#include "formats/checkpoint.h"
#include "ledger/infer.h"

/* A model that is open, with the number formats that its file gives its tensors. */
struct subject {
	struct al_arena arena;
	struct al_settings settings;
	struct al_basis basis;
	struct al_quantization quantization;
	struct al_ledger ledger;
};

/* The inference's weights are the subject's. */
static void open_subject(struct subject *s, const char *path, struct al_inference *inference)
{
	const struct al_family *family;
	const struct al_model *model;
	struct al_error err;

	al_arena_init(&s->arena);
	al_settings_init(&s->settings, catalog);
	al_basis_init(&s->basis);
	must(al_catalog_model(catalog, path, &model, &err), &err);
	must(al_model_settings(model, catalog, &s->settings, &err), &err);
	must(al_catalog_family(catalog, model->family, &family, &err), &err);
	must(al_quantization_init(&s->quantization, &s->arena, catalog, model, NULL, &err), &err);
	inference->weights = &s->quantization;
	const struct al_ledger_ask ask = {.catalog = catalog,
		.family = family,
		.settings = &s->settings,
		.basis = &s->basis,
		.quantization = &s->quantization,
		.tp = 1,
		.detail = al_inference_detail(inference)};
	must(al_ledger_open(&s->ledger, &ask, &err) && al_ledger_update(&s->ledger, &err), &err);
}

static void close_subject(struct subject *s)
{
	al_ledger_close(&s->ledger);
	al_quantization_finish(&s->quantization);
	al_settings_finish(&s->settings);
	al_arena_finish(&s->arena);
}

/* Bytes of the data, and the config that the header makes. */
static uint64_t add_file(const char *path)
{
	struct al_checkpoint checkpoint;
	struct al_error err;
	uint64_t bytes = 0;

	must(al_checkpoint_open(&checkpoint, path, &err), &err);
	must(al_catalog_add_config(catalog, path, checkpoint.header_config, &err), &err);
	for (size_t i = 0; i < checkpoint.n_tensors; i++)
		bytes += checkpoint.tensors[i].bytes;
	al_checkpoint_close(&checkpoint);
	return bytes;
}

static void check_file(const char *path)
{
	const uint64_t bytes = add_file(path);
	struct al_inference inference = {.share.parts = AL_ALL_PARTS,
		.batch = 1,
		.seq = 1,
		.source_seq = 1,
		.tp = 1,
		.activation_bytes = 2,
		.cache = al_dtype_named("f16")};
	struct al_inference_row rows[AL_N_STATES];
	struct al_error err;
	struct subject s;

	al_inference_rows_init(rows);
	open_subject(&s, path, &inference);
	must(al_ledger_infer(&s.ledger, &inference, rows, &err), &err);
	if (mpq_cmp_ui(rows[AL_STATE_WEIGHTS].bytes, bytes, 1) != 0)
		fail_msg("%s: %.0f bytes of weights, the file holds %llu", path,
			mpq_get_d(rows[AL_STATE_WEIGHTS].bytes), (unsigned long long)bytes);
	close_subject(&s);
	al_inference_rows_finish(rows);
}

static void weighs_what_it_holds(void **state)
{
	(void)state;
	check_file("tests/data/tiny-llama.gguf");
}

static void weighs_mixtures_of_other_writers(void **state)
{
	static const char *const names[] = {"minimind2-small.Q2_K", "minimind2-small.Q4_K_M",
		"stories15M.q4_0", "stories260K.f16", "stories260K.f32"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char path[4096];
		snprintf(path, sizeof(path), "%s/gguf/%s.gguf", fixtures(), names[i]);
		check_file(path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weighs_what_it_holds),
		UNIT_TEST_OF_FIXTURES(weighs_mixtures_of_other_writers),
	};

	return cmocka_run_group_tests(tests, create_catalog, destroy_catalog);
}
