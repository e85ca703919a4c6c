/* Views: every family's heads against the numbers at the places where its reference implementation
 * reads them, found here by index formulas that share nothing with the library. */
#include "unit.h"

#include <dirent.h>

#include "support/state_dict.h"
#include "model/heads/views.h"

/* ---- where a head's numbers lie ---- */

/* The place along the output axis of component c of head i of projection p (0: query ... 2:
 * value). */
enum layout {
	SEPARATE, /* a tensor each */
	JOINED, /* all queries, all keys, all values */
	BY_HEAD, /* query, key, value of head 0, of head 1 ... */
	BY_GROUP, /* a group's queries, its key, its value; the next group */
};

struct heads {
	int64_t n, n_kv, width, value_width;
};

static int64_t place_of(enum layout layout, const struct heads *h, int p, int64_t i, int64_t c)
{
	int64_t group = h->n / h->n_kv, d = h->width;

	switch (layout) {
	case SEPARATE:
		return i * d + c;
	case JOINED:
		return (p == 0 ? 0 : p == 1 ? h->n * d : (h->n + h->n_kv) * d) + i * d + c;
	case BY_HEAD:
		return (3 * i + p) * d + c;
	default:
		return p == 0 ? (i / group * (group + 2) + i % group) * d + c
			      : (i * (group + 2) + group + p - 1) * d + c;
	}
}

/* One module of a state dict: its tensors, without "weight", in the order of projections. */
struct example {
	const char *dict, *module;
	const char *names[AL_N_PROJECTIONS];
	struct heads heads;
	enum layout layout;
	bool is_in_out; /* Conv1D */
	const char *families; /* any of these may be found by names alone; NULL: none is */
};

#define FOUR(before, q, k, v, o) \
	{ \
		before q ".", before k ".", before v ".", before o "." \
	}
#define FUSED(before, qkv, o) \
	{ \
		before qkv, before qkv, before qkv, before o "." \
	}
#define LLAMA(layer) \
	FOUR("model.layers." layer ".self_attn.", "q_proj", "k_proj", "v_proj", "o_proj")
#define GGUF(layer) FOUR("blk." layer ".", "attn_q", "attn_k", "attn_v", "attn_output")
#define BART(before) FOUR(before, "q_proj", "k_proj", "v_proj", "out_proj")
#define T5(before) FOUR(before, "q", "k", "v", "o")
#define BERT(before, layer) \
	{ \
		before "attention." layer "query.", before "attention." layer "key.", \
			before "attention." layer "value.", before "attention.output.dense." \
	}
#define OPENAI(before) FOUR(before, "query", "key", "value", "out")

/* What Llama's names may be taken for: all read the same heads. */
#define LIKE_LLAMA \
	"llama mistral mixtral gemma gemma2 gemma3_text cohere cohere2 olmo olmo2 olmoe " \
	"qwen2 qwen2_moe qwen3 qwen3_moe smollm3 stablelm deepseek starcoder2 gpt_oss"
#define LIKE_GGUF \
	"gguf-bert gguf-gemma gguf-granite gguf-llama gguf-olmo2 gguf-qwen gguf-qwen-moe " \
	"gguf-stablelm"
#define LIKE_BERT "bert roberta"

static const struct example examples[] = {
	{"albert", "groups.1.1",
		{"encoder.albert_layer_groups.1.albert_layers.1.attention.query.",
			"encoder.albert_layer_groups.1.albert_layers.1.attention.key.",
			"encoder.albert_layer_groups.1.albert_layers.1.attention.value.",
			"encoder.albert_layer_groups.1.albert_layers.1.attention.dense."},
		{3, 3, 4, 4}, SEPARATE, false, "albert"},
	{"bart", "encoder.1.self", BART("model.encoder.layers.1.self_attn."), {3, 3, 4, 4},
		SEPARATE, false, "bart"},
	{"bart", "decoder.2.self", BART("model.decoder.layers.2.self_attn."), {4, 4, 3, 3},
		SEPARATE, false, "bart"},
	{"bart", "decoder.2.cross", BART("model.decoder.layers.2.encoder_attn."), {4, 4, 3, 3},
		SEPARATE, false, "bart"},
	{"bert", "layers.1", BERT("bert.encoder.layer.1.", "self."), {3, 3, 4, 4}, SEPARATE, false,
		LIKE_BERT},
	{"bloom", "layers.1", FUSED("transformer.h.1.self_attention.", "query_key_value.", "dense"),
		{3, 3, 4, 4}, BY_HEAD, false, "bloom"},
	{"cohere", "layers.2", LLAMA("2"), {6, 2, 2, 2}, SEPARATE, false, LIKE_LLAMA},
	{"cohere-qk-norm", "layers.2", LLAMA("2"), {6, 2, 2, 2}, SEPARATE, false, LIKE_LLAMA},
	{"deepseek", "layers.2", LLAMA("2"), {6, 2, 2, 2}, SEPARATE, false, LIKE_LLAMA},
	{"deit", "layers.1", BERT("deit.encoder.layer.1.", "attention."), {3, 3, 4, 4}, SEPARATE,
		false, "vit"},
	{"distilbert", "layers.1",
		FOUR("distilbert.transformer.layer.1.attention.", "q_lin", "k_lin", "v_lin",
			"out_lin"),
		{3, 3, 4, 4}, SEPARATE, false, "distilbert"},
	{"falcon-11b", "layers.1",
		FUSED("transformer.h.1.self_attention.", "query_key_value.", "dense"), {6, 2, 4, 4},
		BY_GROUP, false, "falcon"},
	{"falcon-40b", "layers.1",
		FUSED("transformer.h.1.self_attention.", "query_key_value.", "dense"), {6, 2, 4, 4},
		BY_GROUP, false, "falcon"},
	{"falcon-7b", "layers.1",
		FUSED("transformer.h.1.self_attention.", "query_key_value.", "dense"), {3, 1, 4, 4},
		BY_GROUP, false, "falcon"},
	{"falcon-rw", "layers.1",
		FUSED("transformer.h.1.self_attention.", "query_key_value.", "dense"), {3, 3, 4, 4},
		BY_HEAD, false, "bloom falcon"},
	{"gemma", "layers.2", LLAMA("2"), {6, 2, 4, 4}, SEPARATE, false, LIKE_LLAMA},
	{"gemma2", "layers.2", LLAMA("2"), {6, 2, 4, 4}, SEPARATE, false, LIKE_LLAMA},
	{"gemma3_text", "layers.2", LLAMA("2"), {6, 2, 4, 4}, SEPARATE, false, LIKE_LLAMA},
	{"gpt2", "layers.1", FUSED("transformer.h.1.attn.", "c_attn.", "c_proj"), {3, 3, 4, 4},
		JOINED, true, "gpt2"},
	{"gpt2-six-heads", "layers.1", FUSED("transformer.h.1.attn.", "c_attn.", "c_proj"),
		{6, 6, 2, 2}, JOINED, true, "gpt2"},
	{"gpt_bigcode", "layers.1", FUSED("transformer.h.1.attn.", "c_attn.", "c_proj"),
		{3, 1, 4, 4}, BY_GROUP, false, "gpt_bigcode"},
	{"gpt_bigcode-mha", "layers.1", FUSED("transformer.h.1.attn.", "c_attn.", "c_proj"),
		{3, 3, 4, 4}, BY_HEAD, false, "gpt_bigcode"},
	{"gpt_neo", "layers.1",
		FOUR("transformer.h.1.attn.attention.", "q_proj", "k_proj", "v_proj", "out_proj"),
		{3, 3, 4, 4}, SEPARATE, false, "gpt_neo"},
	{"gpt_neox", "layers.1", FUSED("gpt_neox.layers.1.attention.", "query_key_value.", "dense"),
		{3, 3, 8, 8}, BY_HEAD, false, "gpt_neox"},
	{"gguf-bert", "layers.1", GGUF("1"), {3, 3, 4, 4}, SEPARATE, false, LIKE_GGUF},
	{"gguf-gemma", "layers.1", GGUF("1"), {6, 2, 4, 4}, SEPARATE, false, LIKE_GGUF},
	{"gguf-gemma2", "layers.1", GGUF("1"), {6, 2, 4, 4}, SEPARATE, false, LIKE_GGUF},
	{"gguf-gemma3", "layers.1", GGUF("1"), {6, 2, 4, 4}, SEPARATE, false, LIKE_GGUF},
	{"gguf-gpt2", "layers.1", FUSED("blk.1.", "attn_qkv.", "attn_output"), {3, 3, 4, 4}, JOINED,
		false, "gguf-gpt2 gguf-phi3"},
	{"gguf-granite", "layers.1", GGUF("1"), {4, 2, 6, 6}, SEPARATE, false, LIKE_GGUF},
	{"gguf-olmo2", "layers.1", GGUF("1"), {6, 2, 2, 2}, SEPARATE, false, LIKE_GGUF},
	{"gguf-phi3", "layers.1", FUSED("blk.1.", "attn_qkv.", "attn_output"), {6, 2, 2, 2}, JOINED,
		false, "gguf-gpt2 gguf-phi3"},
	{"gguf-qwen2moe", "layers.1", GGUF("1"), {6, 2, 2, 2}, SEPARATE, false, LIKE_GGUF},
	{"gguf-qwen3moe", "layers.1", GGUF("1"), {6, 2, 4, 4}, SEPARATE, false, LIKE_GGUF},
	{"gguf-stablelm", "layers.1", GGUF("1"), {6, 2, 2, 2}, SEPARATE, false, LIKE_GGUF},
	{"gguf-llama", "layers.1", GGUF("1"), {6, 2, 4, 4}, SEPARATE, false, LIKE_GGUF},
	{"gguf-qwen2", "layers.1", GGUF("1"), {6, 2, 4, 4}, SEPARATE, false, LIKE_GGUF},
	{"gguf-qwen3", "layers.1", GGUF("1"), {6, 2, 8, 8}, SEPARATE, false, LIKE_GGUF},
	{"gpt_oss", "layers.2", LLAMA("2"), {6, 2, 4, 4}, SEPARATE, false, LIKE_LLAMA},
	{"gpt_oss-mxfp4", "layers.2", LLAMA("2"), {6, 2, 4, 4}, SEPARATE, false, LIKE_LLAMA},
	{"gptj", "layers.1",
		FOUR("transformer.h.1.attn.", "q_proj", "k_proj", "v_proj", "out_proj"),
		{3, 3, 4, 4}, SEPARATE, false, NULL},
	{"llama", "layers.2", LLAMA("2"), {6, 2, 4, 4}, SEPARATE, false, LIKE_LLAMA},
	{"llama-biases", "layers.2", LLAMA("2"), {6, 6, 2, 2}, SEPARATE, false, LIKE_LLAMA},
	{"llama-six-keys", "layers.2", LLAMA("2"), {6, 6, 4, 4}, SEPARATE, false, LIKE_LLAMA},
	{"llama-meta", "layers.1", FOUR("layers.1.attention.", "wq", "wk", "wv", "wo"),
		{6, 2, 4, 4}, SEPARATE, false, "llama-meta"},
	{"llama-meta-llama2c", "layers.1", FOUR("layers.1.attention.", "wq", "wk", "wv", "wo"),
		{6, 2, 4, 4}, SEPARATE, false, "llama-meta"},
	{"mistral", "layers.2", LLAMA("2"), {6, 2, 4, 4}, SEPARATE, false, LIKE_LLAMA},
	{"mixtral", "layers.2", LLAMA("2"), {6, 2, 2, 2}, SEPARATE, false, LIKE_LLAMA},
	{"mpt", "layers.1", FUSED("transformer.blocks.1.attn.", "Wqkv.", "out_proj"), {3, 3, 4, 4},
		JOINED, false, "mpt"},
	{"olmo", "layers.2", LLAMA("2"), {6, 2, 2, 2}, SEPARATE, false, LIKE_LLAMA},
	{"olmo2", "layers.2", LLAMA("2"), {6, 2, 2, 2}, SEPARATE, false, LIKE_LLAMA},
	{"olmoe", "layers.2", LLAMA("2"), {6, 2, 2, 2}, SEPARATE, false, LIKE_LLAMA},
	{"opt", "layers.1", BART("model.decoder.layers.1.self_attn."), {3, 3, 4, 4}, SEPARATE,
		false, "opt"},
	{"opt-350m", "layers.1", BART("model.decoder.layers.1.self_attn."), {3, 3, 4, 4}, SEPARATE,
		false, "opt"},
	{"phi", "layers.1",
		FOUR("model.layers.1.self_attn.", "q_proj", "k_proj", "v_proj", "dense"),
		{3, 1, 4, 4}, SEPARATE, false, "phi"},
	{"phi3", "layers.2", FUSED("model.layers.2.self_attn.", "qkv_proj.", "o_proj"),
		{6, 2, 2, 2}, JOINED, false, "phi3"},
	{"qwen2", "layers.2", LLAMA("2"), {6, 2, 2, 2}, SEPARATE, false, LIKE_LLAMA},
	{"qwen2_moe", "layers.2", LLAMA("2"), {6, 2, 2, 2}, SEPARATE, false, LIKE_LLAMA},
	{"qwen3", "layers.2", LLAMA("2"), {6, 2, 4, 4}, SEPARATE, false, LIKE_LLAMA},
	{"qwen3_moe", "layers.2", LLAMA("2"), {6, 2, 4, 4}, SEPARATE, false, LIKE_LLAMA},
	{"roberta", "layers.1", BERT("roberta.encoder.layer.1.", "self."), {3, 3, 4, 4}, SEPARATE,
		false, LIKE_BERT},
	{"smollm3", "layers.2", LLAMA("2"), {6, 2, 2, 2}, SEPARATE, false, LIKE_LLAMA},
	{"stablelm", "layers.2", LLAMA("2"), {6, 2, 2, 2}, SEPARATE, false, LIKE_LLAMA},
	{"stablelm-12b", "layers.2", LLAMA("2"), {6, 2, 2, 2}, SEPARATE, false, LIKE_LLAMA},
	{"starcoder2", "layers.2", LLAMA("2"), {6, 2, 2, 2}, SEPARATE, false, LIKE_LLAMA},
	{"t5", "encoder.1.self", T5("encoder.block.1.layer.0.SelfAttention."), {3, 3, 5, 5},
		SEPARATE, false, "t5 mt5 umt5"},
	{"t5", "decoder.2.self", T5("decoder.block.2.layer.0.SelfAttention."), {3, 3, 5, 5},
		SEPARATE, false, "t5 mt5 umt5"},
	{"t5", "decoder.2.cross", T5("decoder.block.2.layer.1.EncDecAttention."), {3, 3, 5, 5},
		SEPARATE, false, "t5 mt5 umt5"},
	{"t5-gated", "decoder.2.cross", T5("decoder.block.2.layer.1.EncDecAttention."),
		{3, 3, 5, 5}, SEPARATE, false, "t5 mt5 umt5"},
	{"timm-vit", "layers.1", FUSED("blocks.1.attn.", "qkv.", "proj"), {3, 3, 4, 4}, JOINED,
		false, "timm-vit"},
	{"timm-vit-distilled", "layers.1", FUSED("blocks.1.attn.", "qkv.", "proj"), {3, 3, 4, 4},
		JOINED, false, "timm-vit"},
	{"torch-transformer-encoder", "layers.1",
		FUSED("layers.1.self_attn.", "in_proj_", "out_proj"), {3, 3, 4, 4}, JOINED, false,
		"torch-transformer-encoder"},
	{"torch-transformer-encoder-plain", "layers.1",
		FUSED("layers.1.self_attn.", "in_proj_", "out_proj"), {3, 3, 4, 4}, JOINED, false,
		"torch-transformer-encoder"},
	{"vit", "layers.1", BERT("vit.encoder.layer.1.", "attention."), {3, 3, 4, 4}, SEPARATE,
		false, "vit"},
	{"vit-model", "layers.1", BERT("encoder.layer.1.", "attention."), {3, 3, 4, 4}, SEPARATE,
		false, "vit"},
	{"whisper", "encoder.1.self", BART("model.encoder.layers.1.self_attn."), {3, 3, 4, 4},
		SEPARATE, false, "whisper"},
	{"whisper", "decoder.2.self", BART("model.decoder.layers.2.self_attn."), {4, 4, 3, 3},
		SEPARATE, false, "whisper"},
	{"whisper", "decoder.2.cross", BART("model.decoder.layers.2.encoder_attn."), {4, 4, 3, 3},
		SEPARATE, false, "whisper"},
	{"whisper-openai", "encoder.1.self", OPENAI("encoder.blocks.1.attn."), {3, 3, 4, 4},
		SEPARATE, false, "whisper-openai"},
	{"whisper-openai", "decoder.2.self", OPENAI("decoder.blocks.2.attn."), {4, 4, 3, 3},
		SEPARATE, false, "whisper-openai"},
	{"whisper-openai", "decoder.2.cross", OPENAI("decoder.blocks.2.cross_attn."), {4, 4, 3, 3},
		SEPARATE, false, "whisper-openai"},
	{"xlm-roberta", "layers.1", BERT("roberta.encoder.layer.1.", "self."), {3, 3, 4, 4},
		SEPARATE, false, LIKE_BERT},
};
enum { N_EXAMPLES = sizeof(examples) / sizeof(*examples) };

/* Dicts of multi-head latent attention, which have a test of their own. */
static const char *const latent[] = {"deepseek_v2", "deepseek_v2-lite", "deepseek_v3",
	"deepseek_v3-fp8"};
enum { N_LATENT = sizeof(latent) / sizeof(*latent) };

/* ---- a checkpoint ---- */

struct setting {
	struct test_folder folder;
	struct al_catalog *catalog;
	struct al_checkpoint checkpoint;
	struct al_model_view view;
};

static struct setting at;

static int begin(void **state)
{
	(void)state;
	test_folder_make(&at.folder);
	at.catalog = al_catalog_create();
	return 0;
}

static int end(void **state)
{
	(void)state;
	al_catalog_destroy(at.catalog);
	test_folder_remove(&at.folder);
	return 0;
}

/* Opens what was written to the folder; false and `err` where that fails. */
static bool open_view(const struct al_view_options *options, struct al_error *err)
{
	if (!al_checkpoint_open(&at.checkpoint, at.folder.path, err))
		return false;
	if (al_model_view_open(&at.view, at.catalog, &at.checkpoint, options, err))
		return true;
	al_checkpoint_close(&at.checkpoint);
	return false;
}

static void close_view(void)
{
	al_model_view_close(&at.view);
	al_checkpoint_close(&at.checkpoint);
}

/* A config.json of a test before must not stay. */
static void write_dict(const struct state_dict *dict, bool with_config)
{
	char path[256];

	remove(test_path(path, &at.folder, "config.json"));
	state_dict_write(dict, &at.folder, with_config);
}

static const struct al_attention *find_module(const char *name)
{
	for (size_t i = 0; i < at.view.n_modules; i++)
		if (strcmp(at.view.modules[i].name, name) == 0)
			return &at.view.modules[i];
	fail_msg("no module %s", name);
	return NULL;
}

/* ---- the comparison ---- */

/* All numbers of a stored tensor as they lie; NULL where there is none of that name. */
static double *load_stored(const char *name, int64_t *columns)
{
	const struct al_tensor *tensor = al_checkpoint_find(&at.checkpoint, name);
	struct al_error err = {0};

	if (!tensor)
		return NULL;
	struct al_selection all = al_select_all(tensor);
	double *numbers = calloc((size_t)tensor->n_elements + 1, sizeof(*numbers));
	assert_non_null(numbers);
	assert_true(al_tensor_read_double(&at.checkpoint, tensor, &all, numbers,
		(size_t)tensor->n_elements, &err));
	*columns = tensor->n_dims == 2 ? tensor->shape[1] : 1;
	return numbers;
}

/* Blocks of deepseek_v3-fp8, from its config. */
enum { BLOCK_ROWS = 4, BLOCK_COLUMNS = 5 };

/* The same times the scale of each block, where there are scales. */
static double *load(const char *name, int64_t *columns)
{
	double *numbers = load_stored(name, columns);
	char scale_name[256];
	int64_t scale_columns;

	snprintf(scale_name, sizeof(scale_name), "%s_scale_inv", name);
	double *scales = load_stored(scale_name, &scale_columns);
	if (!scales)
		return numbers;
	int64_t n = al_checkpoint_find(&at.checkpoint, name)->n_elements;
	for (int64_t i = 0; i < n; i++)
		numbers[i] *= scales[i / *columns / BLOCK_ROWS * scale_columns
			+ i % *columns / BLOCK_COLUMNS];
	free(scales);
	return numbers;
}

static int64_t heads_of(const struct example *e, int p)
{
	return p == AL_KEY || p == AL_VALUE ? e->heads.n_kv : e->heads.n;
}

/* Number (row, c of head i) of a projection, in the stored matrix of `columns` columns. */
static double number_at(const struct example *e, int p, const double *stored, int64_t columns,
	int64_t row, int64_t i, int64_t c)
{
	int64_t place = p == AL_OUTPUT ? i * e->heads.value_width + c
				       : place_of(e->layout, &e->heads, p, i, c);
	bool is_slow = e->is_in_out == (p == AL_OUTPUT);

	return is_slow ? stored[place * columns + row] : stored[row * columns + place];
}

static void compare(const struct example *e, int p, const struct al_factor *factor,
	const double *stored, int64_t columns, bool is_bias)
{
	struct al_matrix numbers;
	struct al_error err = {0};

	if (!al_factor_load(&at.checkpoint, factor, &numbers, &err))
		fail_msg("%s %s: %s", e->dict, e->module, err.message);
	assert_int_equal(factor->heads, heads_of(e, p));
	assert_int_equal(factor->width, p >= AL_VALUE ? e->heads.value_width : e->heads.width);
	for (int64_t column = 0; column < factor->heads * factor->width; column++)
		for (int64_t row = 0; row < factor->rows; row++) {
			int64_t i = column / factor->width, c = column % factor->width;
			double expected = is_bias ? stored[place_of(e->layout, &e->heads, p, i, c)]
						  : number_at(e, p, stored, columns, row, i, c);
			double found = numbers.data[(size_t)row + (size_t)column * numbers.ld];
			if (found != expected)
				fail_msg("%s %s %s%s: row %lld of head %lld, %lld: %g, expected %g",
					e->dict, e->module, al_projection_names[p],
					is_bias ? " bias" : "", (long long)row, (long long)i,
					(long long)c, found, expected);
		}
	al_matrix_finish(&numbers);
}

static bool is_close(double a, double b)
{
	return a - b < 1e-12 && b - a < 1e-12;
}

/* One head alone gives what all of them give; a composed one may differ in how its product is
 * summed. */
static void compare_alone(const struct al_factor *factor)
{
	struct al_matrix all, one;
	struct al_error err = {0};
	int64_t last = factor->heads - 1;

	assert_true(al_factor_load(&at.checkpoint, factor, &all, &err));
	assert_true(al_matrix_init(&one, all.rows, (size_t)factor->width, &err));
	assert_true(al_factor_read(&at.checkpoint, factor, last, 1, one, &err));
	for (size_t j = 0; j < one.cols; j++)
		for (size_t i = 0; i < one.rows; i++)
			assert_true(is_close(one.data[i + j * one.ld],
				all.data[i + (j + (size_t)(last * factor->width)) * all.ld]));
	assert_false(al_factor_read(&at.checkpoint, factor, last, 2, one, &err));
	al_matrix_finish(&all);
	al_matrix_finish(&one);
}

static void compare_projection(const struct example *e, const char *before,
	const struct al_attention *attention, int p)
{
	char name[256];
	int64_t columns;
	double *stored;

	snprintf(name, sizeof(name), "%s%sweight", before, e->names[p]);
	stored = load(name, &columns);
	assert_non_null(stored);
	compare(e, p, &attention->factors[p], stored, columns, false);
	compare_alone(&attention->factors[p]);
	free(stored);
	if (p == AL_OUTPUT)
		return;
	snprintf(name, sizeof(name), "%s%sbias", before, e->names[p]);
	stored = load(name, &columns);
	if ((stored != NULL) != (attention->biases[p].n_runs > 0))
		fail_msg("%s %s: %s as family %s", e->dict, e->module, name, at.view.family->name);
	if (stored)
		compare(e, p, &attention->biases[p], stored, 1, true);
	free(stored);
}

/* The open view against the example; its names stand behind `before`. */
static void compare_module(const struct example *e, const char *before)
{
	const struct al_attention *attention = find_module(e->module);

	assert_int_equal(attention->n_heads, e->heads.n);
	assert_int_equal(attention->n_kv_heads, e->heads.n_kv);
	assert_int_equal(attention->d_head, e->heads.width);
	assert_int_equal(attention->d_value, e->heads.value_width);
	assert_int_equal(attention->is_cross, strstr(e->module, "cross") != NULL);
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		compare_projection(e, before, attention, p);
}

static void heads_are_where_the_reference_reads_them(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_EXAMPLES; i++) {
		struct state_dict *dict = state_dict_read(examples[i].dict);
		struct al_error err = {0};
		write_dict(dict, true);
		if (!open_view(&(struct al_view_options){0}, &err))
			fail_msg("%s: %s", examples[i].dict, err.message);
		compare_module(&examples[i], "");
		close_view();
		state_dict_finish(dict);
	}
}

/* All heads share their queries and keys: there is none to view. */
static const char *const shared[] = {"bert-collaborative"};
enum { N_SHARED = sizeof(shared) / sizeof(*shared) };

/* No state dict goes without an example, so no family does (tests/unit/state_dicts.c). */
static bool is_listed(const char *name, size_t length)
{
	for (size_t i = 0; i < N_EXAMPLES; i++)
		if (strlen(examples[i].dict) == length
			&& strncmp(examples[i].dict, name, length) == 0)
			return true;
	for (size_t i = 0; i < N_SHARED; i++)
		if (strlen(shared[i]) == length && strncmp(shared[i], name, length) == 0)
			return true;
	for (size_t i = 0; i < N_LATENT; i++)
		if (strlen(latent[i]) == length && strncmp(latent[i], name, length) == 0)
			return true;
	return false;
}

static void every_state_dict_is_an_example(void **state)
{
	DIR *folder = opendir(STATE_DICTS);

	(void)state;
	assert_non_null(folder);
	for (const struct dirent *entry; (entry = readdir(folder));) {
		const char *ending = strstr(entry->d_name, ".txt");
		if (ending && !is_listed(entry->d_name, (size_t)(ending - entry->d_name)))
			fail_msg("%s has no example", entry->d_name);
	}
	closedir(folder);
}

/* ---- names and shapes alone ---- */

static bool is_word_of(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *found = list; (found = strstr(found, word)); found += length)
		if ((found == list || found[-1] == ' ') && (!found[length] || found[length] == ' '))
			return true;
	return false;
}

/* Any family will do whose heads are the same; one whose config has keys without defaults may say
 * that nothing gives them. */
static void detect_heads(const struct example *e)
{
	struct al_view_options options = {.n_heads = e->heads.n, .n_kv_heads = e->heads.n_kv};
	struct al_error err = {0};

	if (!open_view(&options, &err)) {
		if (!strstr(err.message, "is missing, expected a whole number"))
			fail_msg("%s: %s", e->dict, err.message);
		return;
	}
	compare_module(e, "");
	close_view();
}

static void detect(const struct example *e)
{
	struct al_view_options options = {.n_heads = e->heads.n, .n_kv_heads = e->heads.n_kv};
	struct al_error err = {0};

	if (!open_view(&options, &err)) {
		if (e->families)
			fail_msg("%s: %s", e->dict, err.message);
		return;
	}
	if (!is_word_of(e->families ? e->families : "", at.view.family->name))
		fail_msg("%s is taken for %s", e->dict, at.view.family->name);
	compare_module(e, "");
	close_view();
}

static void families_are_found_by_names_and_shapes(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_EXAMPLES; i++) {
		struct state_dict *dict = state_dict_read(examples[i].dict);
		write_dict(dict, false);
		detect(&examples[i]);
		state_dict_finish(dict);
	}
}

/* Without ":KV" the key projection says how many there are. */
static void shapes_say_how_many_keys_there_are(void **state)
{
	struct state_dict *dict = state_dict_read("llama");
	struct al_error err = {0};

	(void)state;
	write_dict(dict, false);
	assert_true(open_view(&(struct al_view_options){.n_heads = 6}, &err));
	assert_int_equal(at.view.modules[0].n_kv_heads, 2);
	assert_int_equal(at.view.n_modules, 3);
	close_view();
	state_dict_finish(dict);
}

/* A checkpoint of attention alone: no embedding or norm says d_model. */
static void attention_alone_says_how_wide_it_is(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_EXAMPLES; i++) {
		const struct example *e = &examples[i];
		struct state_dict *dict = state_dict_read(e->dict);
		if (!e->families || strncmp(e->dict, "bart", 4) == 0
			|| strncmp(e->dict, "whisper", 7) == 0) {
			state_dict_finish(dict);
			continue;
		}
		for (size_t j = dict->n; j-- > 0;)
			if (!strstr(dict->weights[j].name, "att")
				&& !strstr(dict->weights[j].name, "Att"))
				state_dict_remove(dict, dict->weights[j].name);
		write_dict(dict, false);
		detect_heads(e);
		state_dict_finish(dict);
	}
}

/* ---- prefixes ---- */

static const struct example *find_example(const char *dict)
{
	for (size_t i = 0; i < N_EXAMPLES; i++)
		if (strcmp(examples[i].dict, dict) == 0)
			return &examples[i];
	fail_msg("no example %s", dict);
	return NULL;
}

/* An example whose names begin with `removed`, without it. */
static struct example without_prefix(const struct example *e, const char *removed)
{
	struct example bare = *e;

	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		if (strncmp(bare.names[p], removed, strlen(removed)) == 0)
			bare.names[p] += strlen(removed);
	return bare;
}

static void check_prefix(const char *name, const char *removed, const char *added, bool with_config)
{
	struct state_dict *dict = state_dict_read(name);
	struct example e = without_prefix(find_example(name), removed);
	struct al_view_options options = {.n_heads = e.heads.n, .n_kv_heads = e.heads.n_kv};
	struct al_error err = {0};

	state_dict_rename(dict, removed, added);
	write_dict(dict, with_config);
	if (!open_view(&options, &err))
		fail_msg("%s behind \"%s\": %s", name, added, err.message);
	compare_module(&e, added);
	close_view();
	state_dict_finish(dict);
}

/* Each family behind none, and behind every third of the others; each of these before two. */
static void prefixes_are_seen_through(void **state)
{
	static const char *const added[] = {"", "model.", "_orig_mod.", "module.",
		"module._orig_mod.", "_orig_mod.module.", "_orig_mod.model.", "module.model.",
		"model._orig_mod."};
	static const struct {
		const char *dict, *own;
	} families[] = {
		{"bert", "bert."},
		{"llama", "model."},
		{"gpt2", "transformer."},
		{"gpt_neox", "gpt_neox."},
		{"timm-vit", ""},
		{"vit", "vit."},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
		for (size_t j = 0; j < sizeof(added) / sizeof(*added); j++)
			for (int with_config = 0; with_config < 2; with_config++) {
				if (j > 0 && (i + j) % 3 > 0)
					continue;
				check_prefix(families[i].dict, families[i].own, added[j],
					with_config);
				check_prefix(families[i].dict, "", added[j], with_config);
			}
}

/* ---- multi-head latent attention ---- */

/* 6 heads of 4 dimensions beside 2 rotated ones, values of 5; ranks 6 and 8; d_model 12. */
enum { MLA_HEADS = 6, MLA_NOPE = 4, MLA_ROPE = 2, MLA_VALUE = 5, MLA_RANK = 8, MLA_MODEL = 12 };

struct latent_part {
	const char *down, *gain, *up;
	int64_t rank, stride, first, width; /* of the rows of `up` */
};

/* sum over r of down[r][row] * gain[r] * up[i*stride + first + c][r] */
static double composed(const struct latent_part *part, const double *down, const double *gain,
	const double *up, int64_t row, int64_t i, int64_t c)
{
	const double *line = up + (i * part->stride + part->first + c) * part->rank;
	double sum = 0;

	for (int64_t r = 0; r < part->rank; r++)
		sum += down[r * MLA_MODEL + row] * gain[r] * line[r];
	return sum;
}

static void compare_latent(const char *dict, const struct latent_part *part,
	const struct al_factor *factor)
{
	int64_t columns;
	double *down = load(part->down, &columns), *gain = load(part->gain, &columns),
	       *up = load(part->up, &columns);
	struct al_matrix found;
	struct al_error err = {0};

	assert_true(down && gain && up);
	if (!al_factor_load(&at.checkpoint, factor, &found, &err))
		fail_msg("%s: %s", dict, err.message);
	assert_int_equal(factor->heads, MLA_HEADS);
	assert_int_equal(factor->width, part->width);
	assert_int_equal(found.rows, MLA_MODEL);
	for (int64_t i = 0; i < MLA_HEADS; i++)
		for (int64_t c = 0; c < part->width; c++)
			for (int64_t row = 0; row < MLA_MODEL; row++) {
				double expected = composed(part, down, gain, up, row, i, c);
				double number = found.data[(size_t)row
					+ (size_t)(i * part->width + c) * found.ld];
				if (!is_close(number, expected))
					fail_msg("%s %s: %g, expected %g", dict, part->up, number,
						expected);
			}
	compare_alone(factor);
	al_matrix_finish(&found);
	free(down);
	free(gain);
	free(up);
}

#define MLA "model.layers.1.self_attn."

static void check_latent(const char *name)
{
	static const struct latent_part query = {MLA "q_a_proj.weight", MLA "q_a_layernorm.weight",
						MLA "q_b_proj.weight", 6, MLA_NOPE + MLA_ROPE, 0,
						MLA_NOPE},
					key = {MLA "kv_a_proj_with_mqa.weight",
						MLA "kv_a_layernorm.weight", MLA "kv_b_proj.weight",
						MLA_RANK, MLA_NOPE + MLA_VALUE, 0, MLA_NOPE},
					value = {MLA "kv_a_proj_with_mqa.weight",
						MLA "kv_a_layernorm.weight", MLA "kv_b_proj.weight",
						MLA_RANK, MLA_NOPE + MLA_VALUE, MLA_NOPE,
						MLA_VALUE};
	const struct example output = {name, "layers.1", {[AL_OUTPUT] = MLA "o_proj."},
		{MLA_HEADS, MLA_HEADS, MLA_NOPE, MLA_VALUE}, SEPARATE, false, NULL};
	const struct al_attention *attention = find_module("layers.1");

	assert_true(attention->is_latent);
	if (strcmp(name, "deepseek_v2-lite") != 0)
		compare_latent(name, &query, &attention->factors[AL_QUERY]);
	compare_latent(name, &key, &attention->factors[AL_KEY]);
	compare_latent(name, &value, &attention->factors[AL_VALUE]);
	compare_projection(&output, "", attention, AL_OUTPUT);
}

/* Queries without a latent: W_Q itself, its heads 6 rows apart. */
static void check_lite_queries(void)
{
	const struct al_factor *factor = &find_module("layers.1")->factors[AL_QUERY];
	int64_t columns;
	double *stored = load(MLA "q_proj.weight", &columns);
	struct al_matrix found;
	struct al_error err = {0};

	assert_true(al_factor_load(&at.checkpoint, factor, &found, &err));
	for (int64_t i = 0; i < MLA_HEADS; i++)
		for (int64_t c = 0; c < MLA_NOPE; c++)
			for (int64_t row = 0; row < MLA_MODEL; row++)
				assert_true(found.data[(size_t)row
						    + (size_t)(i * MLA_NOPE + c) * found.ld]
					== stored[(i * (MLA_NOPE + MLA_ROPE) + c) * MLA_MODEL
						+ row]);
	al_matrix_finish(&found);
	free(stored);
}

static void latent_factors_are_composed(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_LATENT; i++) {
		struct state_dict *dict = state_dict_read(latent[i]);
		struct al_error err = {0};
		write_dict(dict, true);
		if (!open_view(&(struct al_view_options){0}, &err))
			fail_msg("%s: %s", latent[i], err.message);
		check_latent(latent[i]);
		if (strcmp(latent[i], "deepseek_v2-lite") == 0)
			check_lite_queries();
		close_view();
		state_dict_finish(dict);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_are_where_the_reference_reads_them),
		cmocka_unit_test(every_state_dict_is_an_example),
		cmocka_unit_test(families_are_found_by_names_and_shapes),
		cmocka_unit_test(shapes_say_how_many_keys_there_are),
		cmocka_unit_test(attention_alone_says_how_wide_it_is),
		cmocka_unit_test(prefixes_are_seen_through),
		cmocka_unit_test(latent_factors_are_composed),
	};

	return cmocka_run_group_tests_name("views", tests, begin, end);
}
