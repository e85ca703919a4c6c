/* What stands in a compressed file, and which files compress leaves alone. */
#include "small_bert.h"

#include <math.h>

#include "support/state_dict.h"

/* ---- compressing ---- */

static bool try_compress(struct opened *o, const struct al_compress_options *options,
	const char *path)
{
	struct al_compress_options complete = *options;
	struct al_table table;

	complete.effort = (struct al_effort){.n_sweeps = 60, .seed = 1};
	al_table_init(&table, "compress", "");
	al_compress_add_columns(&table);
	bool ok = al_compress(&o->view, &complete, path, &table, NULL, &err);
	al_table_finish(&table);
	return ok;
}

static void assert_refused(struct opened *o, const struct al_compress_options *options,
	const char *path, const char *message)
{
	if (try_compress(o, options, path))
		fail_msg("expected \"%s\"", message);
	assert_int_equal(err.status, AL_EINPUT);
	if (!strstr(err.message, message))
		fail_msg("\"%s\", expected \"%s\"", err.message, message);
}

/* A model of tests/data/state-dicts in a folder of its own, with its config.json. */
struct folder_model {
	struct test_folder folder;
	struct opened opened;
};

static void open_dict(struct folder_model *m, struct state_dict *dict)
{
	test_folder_make(&m->folder);
	state_dict_write(dict, &m->folder, true);
	state_dict_finish(dict);
	open_model(&m->opened, m->folder.path, 0, 0);
}

static void open_state_dict(struct folder_model *m, const char *name)
{
	open_dict(m, state_dict_read(name));
}

static void close_state_dict(struct folder_model *m)
{
	close_model(&m->opened);
	test_folder_remove(&m->folder);
}

/* ---- files that stay ---- */

static char *text_of(const char *path, size_t *n)
{
	FILE *file = fopen(path, "rb");
	char *text = calloc(1, 1 << 20);

	assert_true(file && text);
	*n = fread(text, 1, 1 << 20, file);
	fclose(file);
	return text;
}

/* Compression into a file of the input is refused, and the file stays as it is. */
static void assert_stays(struct opened *o, const struct test_folder *folder, const char *name)
{
	const struct al_compress_options options = {.method = AL_METHOD_QK,
		.ranks = &(int64_t){2},
		.n_ranks = 1};
	char path[256];
	size_t n, n_after;
	char *before = text_of(test_path(path, folder, name), &n);

	assert_true(n > 0);
	assert_refused(o, &options, path, "is a file of the input, expected another one");
	char *after = text_of(path, &n_after);
	assert_int_equal(n, n_after);
	assert_memory_equal(before, after, n);
	free(before);
	free(after);
}

static void config_of_the_input_stays(void **state)
{
	struct folder_model bert;

	(void)state;
	open_state_dict(&bert, "bert");
	assert_non_null(bert.opened.checkpoint.config);
	assert_stays(&bert.opened, &bert.folder, "config.json");
	assert_stays(&bert.opened, &bert.folder, "model.safetensors");
	close_state_dict(&bert);
}

/* Two shards and the index that names them; the second is neither the first file nor the path. */
static void shards_and_index_of_the_input_stay(void **state)
{
	static const char index[] =
		"{\"weight_map\": {\"wte.weight\": \"model-00001-of-00002.safetensors\",\n"
		"\"h.0.attn.c_attn.weight\": \"model-00002-of-00002.safetensors\",\n"
		"\"h.0.attn.c_attn.bias\": \"model-00002-of-00002.safetensors\",\n"
		"\"h.0.attn.c_proj.weight\": \"model-00002-of-00002.safetensors\",\n"
		"\"h.0.attn.c_proj.bias\": \"model-00002-of-00002.safetensors\",\n"
		"\"h.0.mlp.c_fc.weight\": \"model-00002-of-00002.safetensors\"}}\n";
	static const struct weight embedding = {"wte.weight", "F32", {VOCAB, D}, 2, NULL};
	static const struct weight layer[] = {
		{"h.0.attn.c_attn.weight", "F32", {D, 3 * D}, 2, NULL},
		{"h.0.attn.c_attn.bias", "F32", {3 * D}, 1, NULL},
		{"h.0.attn.c_proj.weight", "F32", {D, D}, 2, NULL},
		{"h.0.attn.c_proj.bias", "F32", {D}, 1, NULL},
		{"h.0.mlp.c_fc.weight", "F32", {D, 4 * D}, 2, NULL},
	};
	static const char *const names[] = {"model-00001-of-00002.safetensors",
		"model-00002-of-00002.safetensors", "model.safetensors.index.json"};
	struct test_folder folder;
	struct opened gpt2;
	char path[256];

	(void)state;
	test_folder_make(&folder);
	write_weights(test_path(path, &folder, names[0]), &embedding, 1);
	write_weights(test_path(path, &folder, names[1]), layer, sizeof(layer) / sizeof(*layer));
	test_write(test_path(path, &folder, names[2]), index, sizeof(index) - 1);
	open_model(&gpt2, folder.path, HEADS, 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_stays(&gpt2, &folder, names[i]);
	close_model(&gpt2);
	test_folder_remove(&folder);
}

/* ---- what a method would break ---- */

/* T5 has a position bias [buckets][n_heads], Cohere's norms of queries are [n_heads][d_head], those
 * of StableLM a tensor a head: a head that goes would leave its numbers there, and OLMo 2's norm is
 * of all heads together. A mean of normed keys is no normed key, however the norm is stored.
 * Refused before anything is written. */
static void what_a_method_would_break(void **state)
{
	static const struct al_dropped of_t5 = {"encoder.0.self", 1},
				       group[] = {{"0", 0}, {"0", 1}, {"0", 2}};
	static const struct al_compress_options of_position = {.method = AL_METHOD_DROP,
							.dropped = &of_t5,
							.n_dropped = 1},
						drop = {.method = AL_METHOD_DROP,
							.dropped = group,
							.n_dropped = 3},
						groups = {.method = AL_METHOD_GQA, .of_keys = true},
						qk = {.method = AL_METHOD_QK};
	static const struct {
		const char *model;
		const struct al_compress_options *options;
		const char *message;
	} cases[] = {
		{"t5", &of_position,
			"tensor "
			"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight "
			"also has values per head"},
		{"cohere-qk-norm", &drop,
			"tensor layers.0.self_attn.q_norm.weight also has values per head"},
		{"stablelm-12b", &drop,
			"tensor layers.0.self_attn.q_layernorm.norms.0.weight also has values per "
			"head"},
		{"bloom", &of_position,
			"drop can't remove heads: its positions are ALiBi's, whose slopes differ "
			"by head"},
		{"olmo2", &drop, "its variant gqa has qk_norm_wide, which drop doesn't support"},
		{"qwen3", &groups,
			"layers.0: its keys are normalized after their projection, so they have no "
			"common key: use --of values"},
		{"olmo2", &groups, "its keys are normalized"},
		{"cohere-qk-norm", &groups, "its keys are normalized"},
		{"stablelm-12b", &groups, "its keys are normalized"},
		{"qwen3", &qk,
			"layers.0: its queries and keys are normalized after their projections, so "
			"preserving W_Q W_K^T (qk) would not preserve scores"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct folder_model model;
		open_state_dict(&model, cases[i].model);
		assert_refused(&model.opened, cases[i].options, f->compressed, cases[i].message);
		close_state_dict(&model);
	}
	FILE *file = fopen(f->compressed, "rb");
	assert_null(file);
}

/* ---- metadata ---- */

static size_t count_keys(const struct al_checkpoint *checkpoint, const char *key)
{
	size_t n = 0;

	for (size_t i = 0; i < checkpoint->n_metadata; i++)
		n += strcmp(checkpoint->metadata[i].key, key) == 0;
	return n;
}

static const char *metadata_of(const struct al_checkpoint *checkpoint, const char *key)
{
	assert_int_equal(count_keys(checkpoint, key), 1);
	for (size_t i = 0; i < checkpoint->n_metadata; i++)
		if (strcmp(checkpoint->metadata[i].key, key) == 0)
			return checkpoint->metadata[i].value;
	return NULL;
}

/* Every key of ours once, with the last compression's words; the original's own key stays. */
static void assert_metadata(const char *path, const char *method)
{
	static const char *const keys[] = {"format", "attnledger", "attnledger.method",
		"attnledger.source", "attnledger.family", "attnledger.scale", "attnledger.modules",
		"attnledger.shapes"};
	struct al_checkpoint checkpoint;

	MUST(al_checkpoint_open(&checkpoint, path, &err));
	assert_int_equal(checkpoint.n_metadata, sizeof(keys) / sizeof(*keys));
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		assert_int_equal(count_keys(&checkpoint, keys[i]), 1);
	assert_string_equal(metadata_of(&checkpoint, "attnledger.method"), method);
	assert_string_equal(metadata_of(&checkpoint, "format"), "pt");
	al_checkpoint_close(&checkpoint);
}

static void compressed_again(void **state)
{
	const struct al_compress_options drop = {.method = AL_METHOD_DROP,
		.dropped = &(struct al_dropped){"0", 2},
		.n_dropped = 1};
	const struct al_compress_options qk = {.method = AL_METHOD_QK,
		.ranks = &(int64_t){3},
		.n_ranks = 1};
	struct fixture *f = *state;
	struct opened fewer;
	char path[256];

	MUST(try_compress(&f->opened, &drop, f->compressed));
	assert_metadata(f->compressed, "drop");
	open_model(&fewer, f->compressed, HEADS - 1, 0);
	MUST(try_compress(&fewer, &qk, test_path(path, &f->folder, "again.safetensors")));
	assert_metadata(path, "qk");
	close_model(&fewer);
}

/* The factor of the logits stays the original's, 1/sqrt(d_head) whatever the width; T5 has none. */
static void scale_is_the_original_models(void **state)
{
	static const struct {
		const char *model;
		const char *modules, *scale; /* 1/sqrt(4) */
	} cases[] = {{"bert", "layers.0", "\"scale\": 0.5}"},
		{"t5", "encoder.0.self", "\"scale\": 1}"}};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct al_compress_options options = {.method = AL_METHOD_QK,
			.ranks = &(int64_t){2},
			.n_ranks = 1,
			.modules = cases[i].modules};
		struct al_checkpoint checkpoint;
		struct folder_model model;
		open_state_dict(&model, cases[i].model);
		MUST(try_compress(&model.opened, &options, f->compressed));
		close_state_dict(&model);
		MUST(al_checkpoint_open(&checkpoint, f->compressed, &err));
		const char *modules = metadata_of(&checkpoint, "attnledger.modules");
		if (!strstr(modules, cases[i].scale))
			fail_msg("%s, expected %s", modules, cases[i].scale);
		al_checkpoint_close(&checkpoint);
	}
}

/* ---- numbers ---- */

static int64_t count_elements(const struct al_checkpoint *checkpoint)
{
	int64_t n = 0;

	for (size_t i = 0; i < checkpoint->n_tensors; i++)
		n += checkpoint->tensors[i].n_elements;
	return n;
}

/* What the answer says is saved is what the file has less, with one key for all heads too. */
static void files_hold_what_the_answer_says(void **state)
{
	static const char *const models[] = {"bert", "gpt_bigcode"};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++)
		for (int method = AL_METHOD_COLLAB; method <= AL_METHOD_QK; method++) {
			const struct al_compress_options options = {.method = (enum al_method)
									    method,
				.ranks = &(int64_t){3},
				.n_ranks = 1,
				.effort = {.n_sweeps = 20, .seed = 1}};
			struct al_checkpoint after;
			struct folder_model model;
			struct al_table table;
			double saved = 0;
			open_state_dict(&model, models[i]);
			al_table_init(&table, "compress", "");
			al_compress_add_columns(&table);
			MUST(al_compress(&model.opened.view, &options, f->compressed, &table, NULL,
				&err));
			for (size_t row = 0; row < table.n_rows; row++)
				saved += number(&table, row, "original")
					- number(&table, row, "parameters");
			MUST(al_checkpoint_open(&after, f->compressed, &err));
			assert_true((double)(count_elements(&model.opened.checkpoint)
					    - count_elements(&after))
				== saved);
			al_checkpoint_close(&after);
			al_table_finish(&table);
			close_state_dict(&model);
		}
}

/* What a method writes of a family's tensors is read again as that family's, of other sizes or as
 * the file records it. */
static void what_is_written_is_read_again(void **state)
{
	static const char *const models[] = {"bert", "gpt2", "llama", "gpt_neox", "phi3",
		"falcon-40b", "bloom", "t5", "gpt_bigcode"};
	static const int64_t ranks[AL_N_METHODS] = {4, 2, 2, 0, 2, 2, 1, 0, 0};
	const struct al_dropped dropped = {"0", 1};
	struct fixture *f = *state;
	size_t n_read = 0;

	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++)
		for (int method = 0; method < AL_METHOD_IDENTITY; method++) {
			const struct al_compress_options options = {.method = (enum al_method)
									    method,
				.ranks = ranks[method] ? &ranks[method] : NULL,
				.n_ranks = ranks[method] > 0,
				.dropped = &dropped,
				.n_dropped = al_method_drops((enum al_method)method)};
			struct folder_model model;
			open_state_dict(&model, models[i]);
			const bool is_done = try_compress(&model.opened, &options, f->compressed);
			const struct al_view_options config = {
				.config = model.opened.checkpoint.config};
			struct al_checkpoint checkpoint;
			struct al_model_view view;
			if (is_done) {
				MUST(al_checkpoint_open(&checkpoint, f->compressed, &err));
				if (!al_model_view_open(&view, model.opened.catalog, &checkpoint,
					    &config, &err))
					fail_msg("%s: %s", models[i], err.message);
				al_model_view_close(&view);
				n_read++;
				al_checkpoint_close(&checkpoint);
			}
			close_state_dict(&model);
		}
	assert_int_equal(n_read, 52); /* BLOOM loses no heads */
}

/* Three heads of width 5 on hidden states of width 4: T5's tiny model, made narrower. */
static void open_wide_heads(struct folder_model *m)
{
	struct state_dict *dict = state_dict_read("t5");
	const char *rest = strstr(dict->config, "12, \"d_kv\": 5");

	assert_non_null(rest);
	dict->config = al_format(&dict->arena, "%.*s4%s", (int)(rest - dict->config), dict->config,
		rest + 2);
	for (size_t i = 0; i < dict->n; i++)
		for (size_t k = 0; k < dict->weights[i].n_dims; k++)
			if (dict->weights[i].shape[k] == 12)
				dict->weights[i].shape[k] = 4;
	open_dict(m, dict);
}

/* Falcon's ALiBi, which no forward pass of the catalog describes, has a slope for each head: heads
 * keep their places. */
static void heads_with_slopes_keep_their_places(void **state)
{
	const struct al_compress_options options = {.method = AL_METHOD_GQA,
		.of_keys = true,
		.ranks = &(int64_t){3},
		.n_ranks = 1};
	struct state_dict *dict = state_dict_read("falcon-rw");
	const char *rest = strstr(dict->config, "3, \"num_kv_heads\"");
	struct fixture *f = *state;
	struct al_checkpoint checkpoint;
	struct folder_model m;

	assert_non_null(rest);
	dict->config = al_format(&dict->arena, "%.*s6%s", (int)(rest - dict->config), dict->config,
		rest + 1);
	open_dict(&m, dict);
	MUST(try_compress(&m.opened, &options, f->compressed));
	MUST(al_checkpoint_open(&checkpoint, f->compressed, &err));
	assert_null(strstr(metadata_of(&checkpoint, "attnledger.modules"), "places"));
	al_checkpoint_close(&checkpoint);
	close_state_dict(&m);
}

/* A head's form has no larger rank than what it reads is wide. */
static void ranks_end_with_the_model(void **state)
{
	static const struct {
		enum al_method method;
		int64_t bound;
		const char *message;
	} cases[] = {
		{AL_METHOD_QK, 4, "rank 5, expected 1 to 4"},
		{AL_METHOD_TUCKER, 4, "rank 5, expected 1 to 4"},
		{AL_METHOD_COLLAB, 12, "rank 13, expected 1 to 12"},
	};
	struct fixture *f = *state;
	struct folder_model m;

	open_wide_heads(&m);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int64_t rank = cases[i].bound + 1;
		const struct al_compress_options options = {.method = cases[i].method,
			.ranks = &rank,
			.n_ranks = 1};
		assert_refused(&m.opened, &options, f->compressed, cases[i].message);
		rank = cases[i].bound;
		MUST(try_compress(&m.opened, &options, f->compressed));
	}
	close_state_dict(&m);
}

/* W_K b_Q of keys as large as F16 allows is larger. */
static void numbers_that_the_format_cannot_hold(void **state)
{
	const struct al_compress_options options = {.method = AL_METHOD_COLLAB,
		.ranks = &(int64_t){8},
		.n_ranks = 1};
	struct fixture *f = *state;
	struct opened large;
	char path[256];

	for (size_t i = 0; i < WIDE; i++)
		for (size_t x = 0; x < D; x++) {
			f->model.query[i][x] *= 1e-4;
			f->model.key[i][x] = 3e4;
		}
	write_bert(test_path(path, &f->folder, "large.safetensors"), "F16", &f->model.query[0][0],
		&f->model.key[0][0]);
	open_model(&large, path, HEADS, 0);
	assert_false(try_compress(&large, &options, f->compressed));
	assert_int_equal(err.status, AL_ESYSTEM);
	assert_non_null(strstr(err.message,
		"F16 can't represent the new values of tensor " LAYER
		"attention.self.content_bias.weight"));
	close_model(&large);
}

/* ---- epfml/collaborative-attention ---- */

static double *numbers_of(const struct al_checkpoint *checkpoint, const char *name, int64_t rows,
	int64_t columns)
{
	const struct al_tensor *tensor = al_checkpoint_find(checkpoint, name);
	double *out = calloc((size_t)(rows * columns), sizeof(*out));

	if (!tensor)
		fail_msg("no tensor %s", name);
	assert_true(out && tensor->n_elements == rows * columns && tensor->shape[0] == rows);
	const struct al_selection all = al_select_all(tensor);
	MUST(al_tensor_read_double(checkpoint, tensor, &all, out, (size_t)(rows * columns), &err));
	return out;
}

static double dot(const double *a, const double *b, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

enum { ASKING, ANSWERING, N_TOKENS };

/* A head's logit of token x for y in the original: ((W_Q x + b_Q) . (W_K y))/sqrt(d_head). The key
 * bias adds the same to all y. */
static double original_logit(double *const of[3], size_t head, const double *x, const double *y)
{
	double sum = 0;

	for (size_t j = head * D_HEAD; j < (head + 1) * D_HEAD; j++)
		sum += (dot(of[0] + j * D, x, D) + of[1][j]) * dot(of[2] + j * D, y, D);
	return sum / sqrt(D_HEAD);
}

/* The same in epfml/collaborative-attention: query and key are shared [R][D], mixing is
 * [n_heads][R], content_bias [n_heads][D]; the sum is divided by sqrt(R/n_heads). */
static double reference_logit(double *const of[4], size_t head, const double *x, const double *y)
{
	double sum = dot(of[3] + head * D, y, D);

	for (size_t r = 0; r < SHARED; r++)
		sum += dot(of[0] + r * D, x, D) * of[2][head * SHARED + r]
			* dot(of[1] + r * D, y, D);
	return sum / sqrt((double)SHARED / HEADS);
}

static void reference_implementation_reads_its_layer(void **state)
{
	const struct al_compress_options options = {.method = AL_METHOD_COLLAB,
		.ranks = &(int64_t){SHARED},
		.n_ranks = 1,
		.for_epfml = true};
	struct fixture *f = *state;
	const struct al_checkpoint *before = &f->opened.checkpoint;
	struct al_checkpoint after;
	double tokens[N_TOKENS][D];

	MUST(try_compress(&f->opened, &options, f->compressed));
	MUST(al_checkpoint_open(&after, f->compressed, &err));
	double *original[] = {numbers_of(before, LAYER "attention.self.query.weight", WIDE, D),
		numbers_of(before, LAYER "attention.self.query.bias", WIDE, 1),
		numbers_of(before, LAYER "attention.self.key.weight", WIDE, D)};
	double *shared[] = {numbers_of(&after, LAYER "attention.self.query.weight", SHARED, D),
		numbers_of(&after, LAYER "attention.self.key.weight", SHARED, D),
		numbers_of(&after, LAYER "attention.self.mixing", HEADS, SHARED),
		numbers_of(&after, LAYER "attention.self.content_bias.weight", HEADS, D)};
	fill_normal(&tokens[0][0], sizeof(tokens) / sizeof(double), 7);
	for (size_t head = 0; head < HEADS; head++) {
		const double expected = original_logit(original, head, tokens[ASKING],
			tokens[ANSWERING]);
		const double found = reference_logit(shared, head, tokens[ASKING],
			tokens[ANSWERING]);
		if (!(fabs(found - expected) < 1e-3 && fabs(expected) > 1e-2))
			fail_msg("head %zu: %.9g, expected %.9g", head, found, expected);
	}
	for (size_t i = 0; i < 3; i++)
		free(original[i]);
	for (size_t i = 0; i < 4; i++)
		free(shared[i]);
	al_checkpoint_close(&after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(config_of_the_input_stays),
		cmocka_unit_test(shards_and_index_of_the_input_stay),
		WITH_BERT(what_a_method_would_break),
		WITH_BERT(compressed_again),
		WITH_BERT(scale_is_the_original_models),
		WITH_BERT(files_hold_what_the_answer_says),
		WITH_BERT(what_is_written_is_read_again),
		WITH_BERT(heads_with_slopes_keep_their_places),
		WITH_BERT(ranks_end_with_the_model),
		WITH_BERT(numbers_that_the_format_cannot_hold),
		WITH_BERT(reference_implementation_reads_its_layer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
