/* Whole models: counts, training memory, cache and inference against published numbers and against
 * what must hold for any model. */
#include "unit.h"

#include <string.h>

#include "base/number.h"
#include "ledger/infer.h"
#include "ledger/solve.h"
#include "ledger/train.h"

static struct al_catalog *catalog;
static struct al_arena names; /* of quantizations */
static struct al_error err;

static void assert_no_error(bool ok, const struct al_error *e)
{
	if (!ok)
		fail_msg("%s", e->message);
}

static int set_up(void **state)
{
	(void)state;
	catalog = al_catalog_create();
	al_arena_init(&names);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	al_catalog_destroy(catalog);
	al_arena_finish(&names);
	return 0;
}

/* A model that is open, with what it was asked. */
struct subject {
	struct al_settings settings;
	struct al_basis basis;
	struct al_ledger ledger;
	struct al_configured_variant configured;
};

static void open_with(struct subject *s, const char *model, const char *variant, int64_t tp,
	enum al_tensor_list_detail detail)
{
	const struct al_model *found;
	const struct al_family *family;

	al_settings_init(&s->settings, catalog);
	al_basis_init(&s->basis);
	assert_no_error(al_catalog_model(catalog, model, &found, &err), &err);
	assert_no_error(al_model_settings(found, catalog, &s->settings, &err), &err);
	assert_no_error(al_catalog_family(catalog, found->family, &family, &err), &err);
	if (variant)
		assert_no_error(al_configured_variant_parse(&s->settings.arena, catalog, variant,
					&s->configured, &err),
			&err);
	const struct al_ledger_ask ask = {.catalog = catalog,
		.family = family,
		.settings = &s->settings,
		.basis = &s->basis,
		.configured = variant ? &s->configured : NULL,
		.tp = tp,
		.detail = detail};
	assert_no_error(al_ledger_open(&s->ledger, &ask, &err)
			&& al_ledger_update(&s->ledger, &err),
		&err);
}

static void open_model(struct subject *s, const char *model)
{
	open_with(s, model, NULL, 1, AL_TENSORS_BY_KIND);
}

static void close_model(struct subject *s)
{
	al_ledger_close(&s->ledger);
	al_settings_finish(&s->settings);
}

static void count(struct subject *s, enum al_count which, mpq_t out)
{
	assert_no_error(al_ledger_count(&s->ledger, which, out, &err), &err);
}

static void assert_exact(mpq_srcptr value, const char *expected)
{
	struct al_arena texts;

	al_arena_init(&texts);
	assert_string_equal(al_exact_text(&texts, value), expected);
	al_arena_finish(&texts);
}

/* ---- counts ---- */

static void tells_counts_apart(void **state)
{
	static const struct {
		const char *model;
		enum al_count count;
		const char *expected;
	} cases[] = {
		{"deepseek-v3", AL_COUNT_PARAMETERS, "671026404352"},
		{"deepseek-v3", AL_COUNT_STORED, "684531386000"},
		{"deepseek-v3", AL_COUNT_SCALES, "41540496"},
		{"deepseek-v3", AL_COUNT_BUFFERS, "14848"},
		{"gpt-oss-120b", AL_COUNT_PARAMETERS, "116829156672"},
		{"gpt-oss-120b", AL_COUNT_ACTIVE_WITHOUT_EMBEDDING, "5132849472"}, /* "5.13B" */
		{"gpt2", AL_COUNT_PARAMETERS, "124439808"},
		{"gpt2", AL_COUNT_TIED, "38597376"},
		{"gpt2", AL_COUNT_NON_EMBEDDING, "85056000"},
	};
	mpq_t value;
	(void)state;

	mpq_init(value);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct subject s;
		open_model(&s, cases[i].model);
		count(&s, cases[i].count, value);
		assert_exact(value, cases[i].expected);
		close_model(&s);
	}
	mpq_clear(value);
}

/* What a model holds doesn't depend on how closely one looks, and devices hold all of it
 * together. */
static void adds_up(void **state)
{
	static const char *const models[] = {"gpt2", "llama-3-8b", "gpt-oss-20b", "deepseek-v3"};
	const struct al_ledger_list *tensors;
	mpq_t kinds, layers;
	(void)state;

	mpq_inits(kinds, layers, NULL);
	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++) {
		struct subject s;
		open_with(&s, models[i], NULL, 1, AL_TENSORS_BY_KIND);
		count(&s, AL_COUNT_STORED, kinds);
		close_model(&s);
		open_with(&s, models[i], NULL, 1, AL_TENSORS_BY_LAYER);
		count(&s, AL_COUNT_STORED, layers);
		assert_no_error(al_ledger_list(&s.ledger, AL_LIST_TENSORS, &tensors, &err), &err);
		for (size_t j = 0; j < tensors->n; j++)
			assert_true(
				mpq_equal(tensors->items[j].device, tensors->items[j].elements));
		close_model(&s);
		assert_true(mpq_equal(kinds, layers));
	}
	mpq_clears(kinds, layers, NULL);
}

static void swaps_attention(void **state)
{
	struct subject s;
	mpq_t value;
	(void)state;

	mpq_init(value);
	open_with(&s, "llama-3-8b", "gqa", 1, AL_TENSORS_BY_KIND);
	count(&s, AL_COUNT_PARAMETERS, value);
	assert_exact(value, "8030261248");
	close_model(&s);
	open_with(&s, "llama-3-8b", "gqa:n_kv_heads=1", 1, AL_TENSORS_BY_KIND);
	count(&s, AL_COUNT_PARAMETERS, value);
	assert_exact(value, "7795380224"); /* less 32 * 2 * 4096 * 7*128 */
	close_model(&s);
	mpq_clear(value);
}

/* ---- training ---- */

static const struct al_recipe *recipe(const char *name)
{
	const struct al_recipe *found;

	assert_no_error(al_catalog_recipe(catalog, name, &found, &err), &err);
	return found;
}

static struct al_training training_of(const char *name)
{
	return (struct al_training){.recipe = recipe(name),
		.share.parts = AL_ALL_PARTS,
		.batch = 1,
		.seq = 2048,
		.tp = 1,
		.pp = 1,
		.interleave = 1,
		.dp = 1,
		.cp = 1,
		.ep = 1};
}

static void train(struct subject *s, const struct al_training *t, int64_t index,
	struct al_stage_memory *stage)
{
	assert_no_error(al_ledger_train(&s->ledger, t, index, stage, &err), &err);
}

/*= Korthikanti et al. 2022, Table 2: an eager layer takes s*b*h*(34 + 5*a*s/h) bytes on one device,
 *= s*b*h*(10 + 24/t + 5*a*s/(h*t)) with tensor parallelism, /t with sequence parallelism */
static void saves_what_korthikanti_says(void **state)
{
	const int64_t sbh = INT64_C(2048) * 12288, layers = 96;
	const struct {
		int64_t tp;
		bool sp;
		enum al_recompute recompute;
		int64_t expected;
	} cases[] = {
		{1, false, AL_RECOMPUTE_NONE, sbh * layers * (34 + 80)},
		{8, false, AL_RECOMPUTE_NONE, sbh * layers * (10 + 3 + 10)},
		{8, true, AL_RECOMPUTE_NONE, sbh * layers * 114 / 8},
		{8, false, AL_RECOMPUTE_SELECTIVE, sbh * layers * 13},
		{8, true, AL_RECOMPUTE_SELECTIVE, sbh * layers * 34 / 8},
		{8, true, AL_RECOMPUTE_FULL, sbh * layers * 2 / 8},
		{1, false, AL_RECOMPUTE_FULL, sbh * layers * 2},
	};
	struct al_stage_memory stage;
	mpq_t value;
	(void)state;

	mpq_init(value);
	al_stage_memory_init(&stage);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct subject s;
		struct al_training t = training_of("megatron");
		t.share.only_layers = true;
		t.tp = cases[i].tp;
		t.is_sequence_parallel = cases[i].sp;
		t.recompute = cases[i].recompute;
		open_with(&s, "gpt3-175b", NULL, t.tp, AL_TENSORS_BY_KIND);
		train(&s, &t, 0, &stage);
		al_stage_memory_sum(&stage, AL_STATE_ACTIVATIONS, value);
		assert_int_equal(mpq_cmp_si(value, (long)cases[i].expected, 1), 0);
		close_model(&s);
	}
	al_stage_memory_finish(&stage);
	mpq_clear(value);
}

/*= Shoeybi et al. 2019, section 3: columns of the first matrix of each sublayer, with their
 *= biases, and rows of the second are shared out, and rows of the embedding; norms, positions and
 *= the second matrices' biases are on every device. GPT-3: d = 12288, 96 layers, 50257 rows of the
 *= vocabulary, 2048 positions. */
static void shares_out_what_megatron_does(void **state)
{
	const int64_t d = 12288, each = d + d + 4 * d, shared = 12 * d * d + 3 * d + 4 * d;
	struct al_stage_memory stage;
	mpq_t value;
	(void)state;

	mpq_init(value);
	al_stage_memory_init(&stage);
	for (int64_t tp = 1; tp <= 8; tp *= 2) {
		const int64_t rows = (50257 + tp - 1) / tp;
		const int64_t expected = 96 * (shared / tp + each) + (rows + 2048 + 2) * d;
		struct al_training t = training_of("megatron");
		struct subject s;
		t.tp = tp;
		open_with(&s, "gpt3-175b", NULL, tp, AL_TENSORS_BY_KIND);
		train(&s, &t, 0, &stage);
		al_stage_memory_sum(&stage, AL_STATE_WEIGHTS, value);
		assert_int_equal(mpq_cmp_si(value, (long)(2 * expected), 1), 0);
		close_model(&s);
	}
	al_stage_memory_finish(&stage);
	mpq_clear(value);
}

/* Three blocks of four layers on each of eight stages: as many blocks are kept as went forward
 * before the first backward. */
static void interleaved_stages_keep_more(void **state)
{
	const int64_t block = INT64_C(4) * 114 * 2048 * 12288;
	struct al_training t = training_of("megatron");
	struct al_stage_memory stage;
	struct subject s;
	mpq_t value;
	(void)state;

	mpq_init(value);
	al_stage_memory_init(&stage);
	t.share.only_layers = true;
	t.pp = 8;
	t.interleave = 3;
	open_with(&s, "gpt3-175b", NULL, 1, AL_TENSORS_BY_LAYER);
	for (int64_t i = 0; i < t.pp; i++) {
		train(&s, &t, i, &stage);
		al_stage_memory_sum(&stage, AL_STATE_ACTIVATIONS, value);
		assert_int_equal(mpq_cmp_si(value, (long)((8 * 3 + 8 - 1 - 2 * i) * block), 1), 0);
	}
	close_model(&s);
	al_stage_memory_finish(&stage);
	mpq_clear(value);
}

/* All pipeline stages together hold the model once. */
static void stages_hold_the_model(void **state)
{
	struct al_training t = training_of("zero");
	struct al_stage_memory stage;
	struct subject s;
	mpq_t sum, value;
	(void)state;

	mpq_inits(sum, value, NULL);
	al_stage_memory_init(&stage);
	t.pp = 7;
	t.interleave = 2;
	open_with(&s, "deepseek-v3", NULL, 1, AL_TENSORS_BY_LAYER);
	for (int64_t i = 0; i < t.pp; i++) {
		train(&s, &t, i, &stage);
		al_stage_memory_sum(&stage, AL_STATE_WEIGHTS, value);
		mpq_add(sum, sum, value);
	}
	assert_exact(sum, "1342052808704"); /* 2 * 671,026,404,352 */
	close_model(&s);
	al_stage_memory_finish(&stage);
	mpq_clears(sum, value, NULL);
}

static void assert_stage_weights(const char *model, const struct al_training *t, int64_t index,
	int64_t expected)
{
	struct al_stage_memory stage;
	struct subject s;
	mpq_t value;

	mpq_init(value);
	al_stage_memory_init(&stage);
	open_with(&s, model, NULL, 1, AL_TENSORS_BY_LAYER);
	train(&s, t, index, &stage);
	al_stage_memory_sum(&stage, AL_STATE_WEIGHTS, value);
	assert_int_equal(mpq_cmp_si(value, (long)expected, 1), 0);
	close_model(&s);
	al_stage_memory_finish(&stage);
	mpq_clear(value);
}

/* BERT base in two halves, in bf16: 30,522 words, 512 positions and 2 types with the norm of their
 * sum on the first, the pooler on the last, six layers on each. */
static void the_first_stage_norms_the_embedding(void **state)
{
	const int64_t d = 768, layer = 4 * (d * d + d) + 2 * 4 * d * d + 4 * d + d + 4 * d;
	struct al_training t = training_of("zero");
	(void)state;

	t.pp = 2;
	assert_stage_weights("bert-base", &t, 0, 2 * ((30522 + 512 + 2) * d + 2 * d + 6 * layer));
	assert_stage_weights("bert-base", &t, 1, 2 * (6 * layer + d * d + d));
}

static void shares_states_out(void **state)
{
	struct al_training t = training_of("zero");
	struct al_stage_memory stage;
	struct subject s;
	mpq_t a, b;
	(void)state;

	mpq_inits(a, b, NULL);
	al_stage_memory_init(&stage);
	open_model(&s, "gpt2");
	t.dp = 8;
	t.zero = 3;
	train(&s, &t, 0, &stage);
	mpq_set_ui(a, 0, 1);
	for (int state_of = 0; state_of < AL_STATE_ACTIVATIONS; state_of++) {
		al_stage_memory_sum(&stage, (enum al_memory_state)state_of, b);
		mpq_add(a, a, b);
	}
	assert_exact(a, "248879616"); /* 16 bytes over 8 devices */
	close_model(&s);
	al_stage_memory_finish(&stage);
	mpq_clears(a, b, NULL);
}

static void refuses_degrees(void **state)
{
	struct al_training t = training_of("zero");
	(void)state;

	t.is_sequence_parallel = true;
	assert_false(al_training_check(&t, &err));
	t = training_of("zero");
	t.cp = 3;
	assert_false(al_training_check(&t, &err));
	t = training_of("zero");
	t.ep = 2;
	assert_false(al_training_check(&t, &err));
	t.dp = INT64_MAX;
	t.cp = 2;
	assert_false(al_training_check(&t, &err));
}

/* ---- recipes ---- */

static void weighs_one_tensor(void **state)
{
	static const int64_t dims[] = {300, 1000, 300};
	static const struct {
		const char *recipe;
		enum al_memory_state state;
		bool is_matrix;
		const char *expected;
	} cases[] = {
		{"adafactor", AL_STATE_OPTIMIZER, true, "5200"}, /* 4*(1000 + 300) */
		{"adafactor", AL_STATE_OPTIMIZER, false, "1200"},
		{"adam8bit", AL_STATE_OPTIMIZER, true, "1809375"}, /* 4 + 2.03125 bytes */
		{"adam8bit", AL_STATE_OPTIMIZER, false, "3600"}, /* too small: 4 + 8 */
		{"muon", AL_STATE_OPTIMIZER, true, "2400000"},
		{"muon", AL_STATE_OPTIMIZER, false, "3600"},
		{"lora", AL_STATE_GRADIENTS, true, "83200"}, /* 4*16*1300 */
		{"lora", AL_STATE_GRADIENTS, false, "0"},
		{"lora", AL_STATE_WEIGHTS, true, "683200"},
		{"fp8", AL_STATE_WEIGHTS, true, "300000"},
		{"fp8", AL_STATE_WEIGHTS, false, "600"},
		{"sgd", AL_STATE_OPTIMIZER, true, "2400000"},
		{"zero", AL_STATE_OPTIMIZER, true, "3600000"},
	};
	mpq_t bytes;
	(void)state;

	mpq_init(bytes);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		bool is_matrix = cases[i].is_matrix;
		struct al_ledger_entry tensor = {.n_dims = is_matrix ? 2 : 1,
			.count = 1,
			.times = 1,
			.is_matrix = is_matrix,
			.is_in_layers = true};
		memcpy(tensor.dims, &dims[is_matrix], tensor.n_dims * sizeof(*dims));
		mpq_inits(tensor.elements, tensor.device, NULL);
		al_exact_set(tensor.elements, is_matrix ? 300000 : 300);
		mpq_set(tensor.device, tensor.elements);
		assert_no_error(al_entry_state(recipe(cases[i].recipe), cases[i].state, &tensor, 0,
					bytes, &err),
			&err);
		mpq_clears(tensor.elements, tensor.device, NULL);
		assert_exact(bytes, cases[i].expected);
	}
	mpq_clear(bytes);
}

/* ---- the cache: what well-known calculators get wrong ---- */

static void sum_cache(const char *model, int64_t seq, mpq_t elements, mpq_t bytes)
{
	const struct al_dtype *bf16;
	struct al_cache_entries cache;
	struct subject s;
	mpq_t one;

	mpq_init(one);
	mpq_set_ui(elements, 0, 1);
	mpq_set_ui(bytes, 0, 1);
	open_model(&s, model);
	assert_no_error(al_dtype_find("bf16", &bf16, &err), &err);
	assert_no_error(al_ledger_cache(&s.ledger, bf16, seq, seq, 1, &cache, &err), &err);
	for (size_t i = 0; i < cache.n; i++) {
		mpq_add(elements, elements, cache.lines[i].entry->elements);
		mpq_set_si(one, (long)cache.lines[i].tokens, 1);
		mpq_mul(one, one, cache.lines[i].entry->elements);
		mpq_add(bytes, bytes, one);
	}
	mpq_set_ui(one, 2, 1);
	mpq_mul(elements, elements, one);
	mpq_mul(bytes, bytes, one);
	close_model(&s);
	mpq_clear(one);
}

/* Keys and values both, and only those of the key/value heads: a known calculator shows half and
 * twice and four times as much. MLA keeps 512 + 64 numbers, not 24.89 times as many, nor without
 * the rotary ones. A window ends the layers that have one, neither all nor none. */
static void caches_what_is_kept(void **state)
{
	static const struct {
		const char *model;
		int64_t seq;
		const char *per_token, *bytes;
	} cases[] = {
		{"gpt3-175b", 2048, "4718592", "9663676416"}, /* 9.00 GiB */
		{"llama-3-8b", 8192, "131072", "1073741824"}, /* 1.00 GiB */
		{"tests/data/llama-2-70b.json", 4096, "327680", "1342177280"}, /* 1.25 GiB */
		{"tests/data/llama-2-7b.json", 4096, "524288", "2147483648"},
		{"tests/data/deepseek-v2-lite.json", 1000, "31104", "31104000"},
		{"deepseek-v3", 1000, "70272", "70272000"},
		{"gpt-oss-120b", 128, "73728", "9437184"},
		{"gpt-oss-120b", 131072, "73728", "4836556800"},
		{"gpt-oss-20b", 131072, "49152",
			"3224371200"}, /* 12 of 24 layers end at 128 tokens */
	};
	mpq_t elements, bytes;
	(void)state;

	mpq_inits(elements, bytes, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		sum_cache(cases[i].model, cases[i].seq, elements, bytes);
		assert_exact(elements, cases[i].per_token);
		assert_exact(bytes, cases[i].bytes);
	}
	mpq_clears(elements, bytes, NULL);
}

/* The other lines of the table: parameters that calculators with one formula for all get wrong. */
static void counts_what_others_get_wrong(void **state)
{
	static const struct {
		const char *model, *expected;
	} cases[] = {
		{"bert-base", "109482240"},
		{"llama-3-8b", "8030261248"},
		{"tests/data/deepseek-v2-lite.json", "15706484224"},
	};
	mpq_t value;
	(void)state;

	mpq_init(value);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct subject s;
		open_model(&s, cases[i].model);
		count(&s, AL_COUNT_PARAMETERS, value);
		assert_exact(value, cases[i].expected);
		close_model(&s);
	}
	mpq_clear(value);
}

/* A well-known estimator leaves 5*a*s^2*b out without sequence parallelism: 816 MiB a layer of
 * GPT-3. */
static void a_gpt3_layer_saves_2736_mib(void **state)
{
	struct al_training t = training_of("megatron");
	struct al_stage_memory stage;
	struct subject s;
	mpq_t value;
	(void)state;

	mpq_init(value);
	al_stage_memory_init(&stage);
	open_model(&s, "gpt3-175b");
	t.share.only_layers = true;
	train(&s, &t, 0, &stage);
	al_stage_memory_sum(&stage, AL_STATE_ACTIVATIONS, value);
	assert_int_equal(mpq_cmp_si(value, 96L * 2736 * 1024 * 1024, 1), 0);
	close_model(&s);
	al_stage_memory_finish(&stage);
	mpq_clear(value);
}

/* ---- files ---- */

static struct al_quantization quantization;

static void open_quantization(struct al_inference *inference, const char *name)
{
	assert_no_error(al_quantization_init(&quantization, &names, catalog, NULL, name, &err),
		&err);
	inference->weights = &quantization;
}

static void weighs_files(void **state)
{
	static const struct {
		const char *model, *dtype, *expected;
	} cases[] = {
		{"gpt-oss-120b", "mxfp4", "63374323968"}, {"gpt-oss-120b", "bf16", "65248815744"},
		{"gpt-oss-20b", "bf16", "13761264768"},
		{"tests/data/gemma-3-270m.json", "q8_0", "285018624"},
		{"tests/data/gemma-3-1b.json", "q4_k_m", "799525120"},
		{"deepseek-v3", "bf16",
			"1342052808704"}, /* 2*671026404352: no scales of FP8 blocks */
		{"deepseek-v3", "fp8", "671189757280"}, /* 671026404352 + 4*40838232 */
	};
	struct al_inference_row rows[AL_N_STATES];
	(void)state;

	al_inference_rows_init(rows);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct al_inference inference = {.share.parts = AL_ALL_PARTS,
			.batch = 1,
			.seq = 1,
			.source_seq = 1,
			.tp = 1,
			.activation_bytes = 2};
		struct subject s;
		open_quantization(&inference, cases[i].dtype);
		assert_no_error(al_dtype_find("bf16", &inference.cache, &err), &err);
		open_with(&s, cases[i].model, NULL, 1, al_inference_detail(&inference));
		assert_no_error(al_ledger_infer(&s.ledger, &inference, rows, &err), &err);
		assert_exact(rows[AL_STATE_WEIGHTS].bytes, cases[i].expected);
		close_model(&s);
		al_quantization_finish(inference.weights);
	}
	al_inference_rows_finish(rows);
}

/* Answers for one number of tokens leave nothing behind for the next. */
static void answers_for_any_tokens_in_turn(void **state)
{
	static const struct {
		const char *model;
		int64_t tp;
	} cases[] = {{"llama-3-8b", 1}, {"llama-3-8b", 16}, {"deepseek-v3", 8}, {"gpt2", 4}};
	struct al_inference_row rows[AL_N_STATES], fresh[AL_N_STATES];
	(void)state;

	al_inference_rows_init(rows);
	al_inference_rows_init(fresh);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct al_inference inference = {.share.parts = AL_ALL_PARTS,
			.batch = 2,
			.source_seq = 1,
			.tp = cases[i].tp,
			.activation_bytes = 2};
		struct subject used, new;
		open_quantization(&inference, "bf16");
		assert_no_error(al_dtype_find("bf16", &inference.cache, &err), &err);
		open_with(&used, cases[i].model, NULL, cases[i].tp,
			al_inference_detail(&inference));
		for (inference.seq = 64; inference.seq <= 1024; inference.seq *= 4) {
			open_with(&new, cases[i].model, NULL, cases[i].tp,
				al_inference_detail(&inference));
			assert_no_error(al_ledger_infer(&used.ledger, &inference, rows, &err)
					&& al_ledger_infer(&new.ledger, &inference, fresh, &err),
				&err);
			for (int k = 0; k < AL_N_STATES; k++) {
				assert_true(mpq_equal(rows[k].bytes, fresh[k].bytes));
				assert_true(mpq_equal(rows[k].read, fresh[k].read));
				assert_true(mpq_equal(rows[k].flops, fresh[k].flops));
			}
			close_model(&new);
		}
		close_model(&used);
		al_quantization_finish(inference.weights);
	}
	al_inference_rows_finish(rows);
	al_inference_rows_finish(fresh);
}

static void falls_back_by_row(void **state)
{
	static const struct {
		const char *asked;
		int64_t row;
		const char *expected;
	} cases[] = {
		{"q4_k", 256, "q4_k"},
		{"q4_k", 1152, "q5_0"},
		{"q6_k", 1152, "q8_0"},
		{"q5_k", 96, "q5_1"},
		{"iq2_xs", 320, "iq4_nl"},
		{"q8_0", 33, "f16"},
		{"q4_k", 33, "f16"},
		{"bf16", 33, "bf16"},
		{"Q4_K", 512, "q4_k"},
		{"fp16", 1, "f16"},
	};
	const struct al_dtype *storage;
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_no_error(al_dtype_find(cases[i].asked, &storage, &err), &err);
		assert_string_equal(al_dtype_of_row(storage, cases[i].row)->name,
			cases[i].expected);
	}
	assert_false(al_dtype_find("q4_q", &storage, &err));
	assert_non_null(strstr(err.message, "did you mean"));
}

/* ---- search ---- */

struct quadratic {
	int64_t a, b, c, calls;
};

static bool quadratic(void *context, int64_t x, mpq_t out, struct al_error *e)
{
	struct quadratic *q = context;
	(void)e;

	q->calls++;
	mpq_set_si(out, (long)(q->a * x * x + q->b * x + q->c), 1);
	return true;
}

/* Exhaustive search finds the same, for steps and limits around every value. */
static void equals_brute_force(void **state)
{
	mpq_t limit;
	(void)state;

	mpq_init(limit);
	for (int64_t a = 0; a < 3; a++)
		for (int64_t most = -2; most < 60; most++)
			for (int64_t step = 1; step < 4; step++) {
				struct quadratic f = {a, 1, 1, 0};
				const struct al_growth g = {quadratic, &f, step, step, 0, false};
				struct al_largest largest;
				int64_t found = 0;
				for (int64_t x = step; a * x * x + x + 1 <= most; x += step)
					found = x;
				mpq_set_si(limit, (long)most, 1);
				assert_no_error(al_solve_largest(&g, limit, &largest, &err), &err);
				assert_int_equal(largest.fits, found > 0);
				assert_int_equal(largest.value, found);
				assert_int_equal(largest.next, found + step);
			}
	mpq_clear(limit);
}

/* Has a value at the divisors of 360 alone. */
static bool at_divisors(void *context, int64_t x, mpq_t out, struct al_error *e)
{
	(void)context;
	mpq_set_si(out, (long)x, 1);
	return x <= 360 && 360 % x == 0
		? true
		: al_fail(e, AL_EINPUT, "%lld does not divide", (long long)x);
}

static void passes_over_what_has_no_value(void **state)
{
	const struct al_growth g = {at_divisors, NULL, 1, 1, 200, false};
	struct al_largest largest;
	mpq_t limit;
	(void)state;

	mpq_init(limit);
	for (long most = 0; most < 400; most++) {
		int64_t found = 0, next = 0;
		for (int64_t x = 1; x <= 360; x++)
			if (360 % x == 0) {
				found = x <= most ? x : found;
				next = x > most && next == 0 ? x : next;
			}
		mpq_set_si(limit, most, 1);
		assert_no_error(al_solve_largest(&g, limit, &largest, &err), &err);
		assert_int_equal(largest.fits, found > 0);
		assert_int_equal(largest.value, found);
		assert_int_equal(largest.has_next, next > 0);
		assert_int_equal(largest.next, next);
	}
	mpq_clear(limit);
}

static void says_that_nothing_grows(void **state)
{
	struct quadratic f = {0, 0, 7, 0};
	const struct al_growth g = {quadratic, &f, 1, 1, 0, false};
	struct al_largest largest;
	mpq_t limit;
	(void)state;

	mpq_init(limit);
	mpq_set_ui(limit, 7, 1);
	assert_false(al_solve_largest(&g, limit, &largest, &err));
	assert_non_null(strstr(err.message, "grows too slowly"));
	assert_true(f.calls < 64);
	mpq_clear(limit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_counts_apart),
		cmocka_unit_test(adds_up),
		cmocka_unit_test(swaps_attention),
		cmocka_unit_test(saves_what_korthikanti_says),
		cmocka_unit_test(shares_out_what_megatron_does),
		cmocka_unit_test(interleaved_stages_keep_more),
		cmocka_unit_test(stages_hold_the_model),
		cmocka_unit_test(the_first_stage_norms_the_embedding),
		cmocka_unit_test(shares_states_out),
		cmocka_unit_test(refuses_degrees),
		cmocka_unit_test(weighs_one_tensor),
		cmocka_unit_test(caches_what_is_kept),
		cmocka_unit_test(counts_what_others_get_wrong),
		cmocka_unit_test(a_gpt3_layer_saves_2736_mib),
		cmocka_unit_test(weighs_files),
		cmocka_unit_test(answers_for_any_tokens_in_turn),
		cmocka_unit_test(falls_back_by_row),
		cmocka_unit_test(equals_brute_force),
		cmocka_unit_test(passes_over_what_has_no_value),
		cmocka_unit_test(says_that_nothing_grows),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
