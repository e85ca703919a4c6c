/* Layouts: how a module's tensors lie in a checkpoint, which dimensions of a head are rotated, and
 * what of a config decides it. */
#include "with_catalog.h"

#include <unistd.h>

#include "catalog/stored.h"

/* One module of a model. */
struct fixture {
	struct al_arena arena;
	struct al_settings settings;
	struct al_tensor_list tensor_list;
	struct al_stored_module stored;
};

static bool open_module(struct fixture *f, const char *family_name, const char *config,
	size_t index, struct al_error *err)
{
	const struct al_family *family;
	struct al_json doc;

	al_arena_init(&f->arena);
	al_settings_init(&f->settings, catalog);
	must(al_catalog_family(catalog, family_name, &family, err), err);
	must(al_json_parse(&doc, "config.json", config, strlen(config), err), err);
	must(al_family_settings(family, &doc, doc.root, "config.json", &f->settings, err), err);
	al_json_finish(&doc);
	must(al_tensor_list_init(&f->tensor_list, catalog, family, &f->settings, AL_TENSORS_BY_NAME,
		     err),
		err);
	assert_true(index < f->tensor_list.n_modules);
	return al_stored_module_read(&f->stored, &f->arena, catalog, &f->tensor_list.modules[index],
		&f->settings, err);
}

static void close_module(struct fixture *f)
{
	al_tensor_list_finish(&f->tensor_list);
	al_settings_finish(&f->settings);
	al_arena_finish(&f->arena);
}

/* ---- fused tensors ---- */

struct part {
	const char *tensor;
	int64_t width;
};

/* The first stored tensor of module 1, all of one shape of model: 6 heads of width 4. */
static const struct layout {
	const char *family, *config, *name;
	int64_t dims[2], repeat;
	struct part parts[3];
	size_t n_parts;
} layouts[] = {
	{"bert", "{\"hidden_size\": 24, \"num_attention_heads\": 6}",
		"encoder.layer.1.attention.self.query.weight", {24, 24}, 1, {{"W_Q", 24}}, 1},
	{"gpt2", "{\"n_embd\": 24, \"n_head\": 6}", "h.1.attn.c_attn.weight", {24, 72}, 1,
		{{"W_Q", 24}, {"W_K", 24}, {"W_V", 24}}, 3},
	{"gpt_neox", "{\"hidden_size\": 24, \"num_attention_heads\": 6}",
		"layers.1.attention.query_key_value.weight", {72, 24}, 6,
		{{"W_Q", 4}, {"W_K", 4}, {"W_V", 4}}, 3},
	{"falcon", "{\"hidden_size\": 24, \"num_attention_heads\": 6}",
		"h.1.self_attention.query_key_value.weight", {32, 24}, 1,
		{{"W_Q", 24}, {"W_K", 4}, {"W_V", 4}}, 3},
	{"falcon",
		"{\"hidden_size\": 24, \"num_attention_heads\": 6, \"num_kv_heads\": 2,"
		" \"new_decoder_architecture\": true}",
		"h.1.self_attention.query_key_value.weight", {40, 24}, 2,
		{{"W_Q", 12}, {"W_K", 4}, {"W_V", 4}}, 3},
	{"gpt_bigcode", "{\"n_embd\": 24, \"n_head\": 6, \"multi_query\": false}",
		"h.1.attn.c_attn.weight", {72, 24}, 6, {{"W_Q", 4}, {"W_K", 4}, {"W_V", 4}}, 3},
	{"mpt", "{\"d_model\": 24, \"n_heads\": 6}", "blocks.1.attn.Wqkv.weight", {72, 24}, 1,
		{{"W_Q", 24}, {"W_K", 24}, {"W_V", 24}}, 3},
};

static void fused_tensors_are_told_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		const struct layout *layout = &layouts[i];
		struct al_error err = {0};
		struct fixture f;
		must(open_module(&f, layout->family, layout->config, 1, &err), &err);
		const struct al_stored_tensor *tensor = &f.stored.tensors[0];
		assert_string_equal(tensor->name, layout->name);
		assert_int_equal(tensor->n_dims, 2);
		assert_memory_equal(tensor->dims, layout->dims, sizeof(layout->dims));
		assert_int_equal(tensor->repeat, layout->repeat);
		assert_int_equal(tensor->n_parts, layout->n_parts);
		for (size_t j = 0; j < layout->n_parts; j++) {
			assert_string_equal(tensor->parts[j].entry->name, layout->parts[j].tensor);
			assert_int_equal(tensor->parts[j].width, layout->parts[j].width);
		}
		close_module(&f);
	}
}

static void biases_follow_the_options(void **state)
{
	static const struct {
		const char *family, *config;
		size_t n_tensors;
	} cases[] = {
		{"bart", "{}", 8},
		{"whisper", "{}", 7},
		{"gpt_neo", "{}", 5},
		{"gptj", "{}", 4},
		{"vit", "{}", 8},
		{"vit", "{\"qkv_bias\": false}", 5},
		{"gpt_neox", "{}", 4},
		{"gpt_neox", "{\"attention_bias\": false}", 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct al_error err = {0};
		struct fixture f;
		must(open_module(&f, cases[i].family, cases[i].config, 0, &err), &err);
		assert_int_equal(f.stored.n_tensors, cases[i].n_tensors);
		close_module(&f);
	}
}

/* ---- rotary embeddings ---- */

static void heads_are_rotated_in_part(void **state)
{
	static const struct {
		const char *family, *config;
		bool is_rotary;
		enum al_pairs pairs;
		int64_t width, base;
	} cases[] = {
		{"bert", "{}", false, AL_PAIRS_HALVES, 0, 0},
		{"gpt_neox", "{}", true, AL_PAIRS_HALVES, 24, 10000},
		{"gpt_neox",
			"{\"rotary_pct\": 0.4, \"hidden_size\": 2560, \"num_attention_heads\": 32,"
			" \"rotary_emb_base\": 500000}",
			true, AL_PAIRS_HALVES, 32, 500000},
		{"gptj", "{}", true, AL_PAIRS_INTERLEAVED, 64, 10000},
		{"phi", "{}", true, AL_PAIRS_HALVES, 32, 10000},
		{"phi",
			"{\"rope_parameters\": {\"rope_theta\": 5e5, \"partial_rotary_factor\": "
			"0.25}}",
			true, AL_PAIRS_HALVES, 16, 500000},
		{"falcon", "{}", true, AL_PAIRS_HALVES, 64, 10000},
		{"falcon", "{\"alibi\": true}", false, AL_PAIRS_HALVES, 0, 0},
		{"llama", "{}", true, AL_PAIRS_HALVES, 128, 10000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct al_error err = {0};
		struct fixture f;
		must(open_module(&f, cases[i].family, cases[i].config, 0, &err), &err);
		assert_int_equal(f.stored.is_rotary, cases[i].is_rotary);
		if (f.stored.is_rotary) {
			assert_int_equal(f.stored.rotary_pairs, cases[i].pairs);
			assert_int_equal(f.stored.rotary_width, cases[i].width);
			assert_int_equal(f.stored.rotary_base, cases[i].base);
		}
		close_module(&f);
	}
}

/* ---- shared layers ---- */

/* transformers takes group floor(layer*n_groups/n_layers): 0, 0, 0, 1, 1 of 5 layers and 2
 * groups. */
static void groups_work_in_several_layers(void **state)
{
	struct al_error err = {0};
	struct fixture f;

	(void)state;
	must(open_module(&f, "albert", "{\"num_hidden_layers\": 5, \"num_hidden_groups\": 2}", 0,
		     &err),
		&err);
	assert_int_equal(f.tensor_list.n_modules, 2);
	assert_int_equal(f.tensor_list.modules[0].uses, 3);
	assert_int_equal(f.tensor_list.modules[1].uses, 2);
	assert_string_equal(f.tensor_list.modules[1].name, "groups.1.0");
	close_module(&f);
	must(open_module(&f, "bert", "{}", 0, &err), &err);
	assert_int_equal(f.tensor_list.modules[11].uses, 1);
	assert_int_equal(f.tensor_list.modules[11].iteration[0], 11);
	close_module(&f);
}

/* ---- values of configs ---- */

static int64_t setting(struct fixture *f, const char *symbol)
{
	const struct al_setting *found = NULL;
	struct al_error err = {0};

	must(al_settings_get(&f->settings, symbol, &found, &err), &err);
	assert_non_null(found);
	return found->value.integer;
}

static void labels_may_be_counted(void **state)
{
	static const struct {
		const char *config;
		int64_t labels, distilled, is_bare;
	} cases[] = {
		{"{}", 2, 0, 0},
		{"{\"num_labels\": 1000}", 1000, 0, 0},
		{"{\"id2label\": {\"0\": \"cat\", \"1\": \"dog\", \"2\": \"eel\"}}", 3, 0, 0},
		{"{\"architectures\": [\"ViTModel\"]}", 2, 0, 1},
		{"{\"model_type\": \"deit\"}", 2, 0, 0},
		{"{\"model_type\": \"deit\", \"architectures\": [\"DeiTModel\", \"Other\"]}", 2, 1,
			1},
		{"{\"model_type\": \"deit\", \"architectures\": \"DeiTForImageClassification\"}", 2,
			1, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct al_error err = {0};
		struct fixture f;
		must(open_module(&f, "vit", cases[i].config, 0, &err), &err);
		assert_int_equal(setting(&f, "labels"), cases[i].labels);
		assert_int_equal(setting(&f, "distilled"), cases[i].distilled);
		assert_int_equal(setting(&f, "is_bare"), cases[i].is_bare);
		close_module(&f);
	}
}

struct refusal {
	const char *family, *text, *message;
};

static void refuses_configs(void **state)
{
	static const struct refusal cases[] = {
		{"vit", "{\"architectures\": []}",
			"c:1:19: \"architectures\" is empty, expected a string"},
		{"vit", "{\"architectures\": [1]}", "c:1:20: found a number, expected a string"},
		{"vit", "{\"id2label\": \"x\"}",
			"c:1:14: \"id2label\" is a string, expected a number"},
		{"gpt_neox", "{\"rotary_pct\": -0.5}",
			"c:1:16: \"rotary_pct\" is -0.5, expected a decimal of at least 0 and at "
			"most six places"},
		{"gpt_neox", "{\"rotary_pct\": 0.1234567}",
			"c:1:16: \"rotary_pct\" is 0.1234567, expected a decimal of at least 0 and "
			"at most six "
			"places"},
		{"vit", "{\"patch_size\": 0}",
			"c:1:16: tokens: column 11: division by zero in \"((image - mod(image, "
			"patch))/patch)^2 + 1 "
			"+ distilled\"; image_size = 224; patch_size = 0; distilled = false"},
		{"phi", "{\"num_attention_heads\": 32, \"num_key_value_heads\": 12}",
			"c:1:52: num_attention_heads (32) is not a multiple of num_key_value_heads "
			"(12)"},
		{"phi", "{\"num_key_value_heads\": 0}",
			"c:1:25: num_attention_heads (32) is not a multiple of num_key_value_heads "
			"(0)"},
		{"falcon",
			"{\"num_attention_heads\": 64, \"num_kv_heads\": 3,"
			" \"new_decoder_architecture\": true}",
			"c:1:1: num_attention_heads (64) is not a multiple of n_kv_heads (3)"},
		{"gpt_neox", "{\"rotary_pct\": true}",
			"c:1:16: \"rotary_pct\" is true or false, expected a number"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct al_family *family;
		struct al_settings settings;
		struct al_error err = {0};
		struct al_json doc;
		must(al_catalog_family(catalog, cases[i].family, &family, &err), &err);
		must(al_json_parse(&doc, "c", cases[i].text, strlen(cases[i].text), &err), &err);
		al_settings_init(&settings, catalog);
		assert_false(al_family_settings(family, &doc, doc.root, "c", &settings, &err));
		assert_string_equal(err.message, cases[i].message);
		al_settings_finish(&settings);
		al_json_finish(&doc);
	}
}

/* ---- layouts that don't fit ---- */

#define FAMILY(variant, more) \
	"{\"name\": \"f\", \"model_types\": [\"f\"], \"config\":" \
	" {\"d_model\": {\"default\": 12}, \"n_heads\": {\"default\": 3}," \
	" \"d_value\": {\"default\": 5}}," \
	" \"modules\": [{\"name\": \"m\", \"variant\": \"" variant "\", " more "}]}"
#define STORED(more) FAMILY("mha", "\"stored\": [{\"name\": \"w\", " more "}]")
#define FUSED(repeat, of) STORED("\"fused\": {\"repeat\": " repeat ", \"of\": [" of "]}")

static void refuses_layouts(void **state)
{
	static const struct refusal cases[] = {
		{NULL, FUSED("1", "[\"W_Q\", 12], [\"W_K\", 12], [\"W_V\", 12]"),
			"m: w: the blocks of W_V are 12 wide, expected 15"},
		{NULL, FUSED("2", "[\"W_Q\", 12]"),
			"m: w: the blocks of W_Q are 24 wide, expected 12"},
		{NULL, FUSED("1", "[\"W_Q\", 12], [\"b_Q\", 12]"),
			"m: w: fused tensor: 1 of its 2 parts exist, expected all or none"},
		{NULL, FUSED("1", "[\"W_Q\", 12], [\"W_O\", 12]"),
			"m: w: W_Q and W_O have different inputs"},
		{NULL, FUSED("\"d_value - 5\"", "[\"W_Q\", 12]"),
			"m: w: d_value - 5 = 0, expected 1 or more"},
		{NULL, FAMILY("mha", "\"rotary\": {\"width\": 6}"),
			"m: 6 dimensions of a head are rotated, but d_head is 4"},
	};
	char path[] = "/tmp/attnledger-layout-XXXXXX";
	int file = mkstemp(path);

	(void)state;
	assert_true(file >= 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct al_catalog *shared = catalog;
		struct al_error err = {0};
		struct fixture f;
		size_t length = strlen(cases[i].text);
		assert_int_equal(ftruncate(file, 0), 0);
		assert_int_equal(pwrite(file, cases[i].text, length, 0), length);
		catalog = al_catalog_create(); /* a catalog reads a path once */
		assert_false(open_module(&f, path, "{}", 0, &err));
		assert_string_equal(err.message, cases[i].message);
		close_module(&f);
		al_catalog_destroy(catalog);
		catalog = shared;
	}
	close(file);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fused_tensors_are_told_apart),
		cmocka_unit_test(biases_follow_the_options),
		cmocka_unit_test(heads_are_rotated_in_part),
		cmocka_unit_test(groups_work_in_several_layers),
		cmocka_unit_test(labels_may_be_counted),
		cmocka_unit_test(refuses_configs),
		cmocka_unit_test(refuses_layouts),
	};

	return cmocka_run_group_tests_name("layouts", tests, create_catalog, destroy_catalog);
}
