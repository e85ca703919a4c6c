/* What views refuse: one line that says which tensor, what was found and what was expected. */
#include "unit.h"

#include "base/text.h"
#include "support/state_dict.h"
#include "model/heads/views.h"

static struct test_folder folder;
static struct al_catalog *catalog;

static int begin(void **state)
{
	(void)state;
	test_folder_make(&folder);
	catalog = al_catalog_create();
	return 0;
}

static int end(void **state)
{
	(void)state;
	al_catalog_destroy(catalog);
	test_folder_remove(&folder);
	return 0;
}

/* A Llama of 3 layers, 6 heads of 4, 2 key/value heads, d_model 12, and what is changed in it. */
struct refusal {
	const char *removed; /* a tensor, or NULL */
	const char *changed; /* a tensor whose shape and dtype become these, or NULL */
	struct weight to;
	const char *config; /* instead of the dict's; "": none */
	struct al_view_options options;
	const char *message; /* part of it */
};

#define Q "model.layers.1.self_attn.q_proj.weight"
#define K "model.layers.1.self_attn.k_proj.weight"
#define CONFIG(rest) \
	"{\"model_type\": \"llama\", \"vocab_size\": 17, \"hidden_size\": 12, " \
	"\"num_hidden_layers\": 3, \"intermediate_size\": 20, " rest "}"

static const struct refusal refusals[] = {
	{.removed = K, .message = "layers.1: tensor " K " is missing"},
	{.changed = Q,
		.to = {.dtype = "F32", .shape = {20, 12}, .n_dims = 2},
		.message = "layers.1: tensor " Q " is 20 x 12, expected 24 x 12"},
	{.changed = Q,
		.to = {.dtype = "F32", .shape = {288}, .n_dims = 1},
		.message = "tensor " Q " is 288, expected 24 x 12"},
	{.changed = Q,
		.to = {.dtype = "F32", .shape = {0, 12}, .n_dims = 2},
		.message = "tensor " Q " is 0 x 12, expected 24 x 12"},
	{.changed = K,
		.to = {.dtype = "F4", .shape = {8, 12}, .n_dims = 2},
		.message = "tensor " K " has dtype F4, which can't be converted"},
	{.config = CONFIG("\"num_attention_heads\": 5"),
		.message = "hidden_size (12) is not a multiple of num_attention_heads (5)"},
	{.config = CONFIG("\"num_attention_heads\": 6, \"num_key_value_heads\": 4"),
		.message = "num_attention_heads (6) is not a multiple of num_key_value_heads (4)"},
	{.config = CONFIG("\"num_attention_heads\": 6, \"num_key_value_heads\": 2"),
		.message = "tensor model.layers.0.self_attn.q_proj.weight is 24 x 12, expected 12 "
			   "x 12"},
	{.config = CONFIG("\"num_attention_heads\": \"6\""), .message = "num_attention_heads"},
	{.config = "[]", .message = "config.json:1:1: found an array, expected an object"},
	{.config = "{\"hidden_size\": 12}", .message = "key \"model_type\" is missing"},
	{.config = "{\"model_type\": \"llamb\"}",
		.message = "unsupported model_type \"llamb\": no"},
	{.config = "{\"model_type\": \"gpt2\"}",
		.message = "contains no attention tensors of family gpt2"},
	{.config = "{", .message = "config.json:"},
	{.config = "", .message = "pass --heads H[:KV] or a config.json"},
	{.config = "",
		.options = {.n_heads = 5},
		.message = "--heads 5 does not divide the query projection's 24 rows"},
	{.config = "",
		.options = {.n_heads = 6, .n_kv_heads = 3},
		.message = "is 8 x 12, expected 12 x 12"},
	{.options = {.n_heads = 12}, .message = "--heads sets n_heads to 12, "},
	{.options = {.n_heads = 6, .n_kv_heads = 3}, .message = "--heads sets n_kv_heads to 3, "},
	{.options = {.config = "nowhere.json"}, .message = "nowhere.json: can't open"},
	{.options = {.layout = "nowhere.json"}, .message = "nowhere.json: can't open"},
	{.options = {.layout = "llame"}, .message = "llame"},
};

static void apply(const struct refusal *r, struct state_dict *dict)
{
	if (r->removed)
		state_dict_remove(dict, r->removed);
	if (r->changed) {
		struct weight *weight = state_dict_find(dict, r->changed);
		const char *name = weight->name;
		*weight = r->to;
		weight->name = name;
	}
	if (r->config)
		dict->config = r->config;
}

static bool open_view(const struct al_view_options *options, struct al_error *err)
{
	struct al_checkpoint checkpoint;
	struct al_model_view view;

	if (!al_checkpoint_open(&checkpoint, folder.path, err))
		return false;
	bool ok = al_model_view_open(&view, catalog, &checkpoint, options, err);
	if (ok)
		al_model_view_close(&view);
	al_checkpoint_close(&checkpoint);
	return ok;
}

static void check_refusal(const struct refusal *r)
{
	struct state_dict *dict = state_dict_read("llama");
	struct al_error err = {0};
	char path[256];

	apply(r, dict);
	remove(test_path(path, &folder, "config.json"));
	state_dict_write(dict, &folder, *dict->config != '\0');
	if (open_view(&r->options, &err))
		fail_msg("accepted, expected: %s", r->message);
	if (!strstr(err.message, r->message))
		fail_msg("\"%s\", expected: %s", err.message, r->message);
	assert_int_equal(err.status, AL_EINPUT);
	assert_null(strchr(err.message, '\n'));
	state_dict_finish(dict);
}

static void refusals_say_what_was_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++)
		check_refusal(&refusals[i]);
}

/* Llama's family names no scales: FP8 numbers are not read without those that stand beside them. */
static void scales_that_nobody_names_are_not_ignored(void **state)
{
	struct state_dict *dict = state_dict_read("llama");
	struct al_error err = {0};
	char path[256];

	(void)state;
	state_dict_find(dict, Q)->dtype = "F8_E4M3";
	dict->weights[dict->n++] =
		(struct weight){.name = Q "_scale", .dtype = "F32", .shape = {1, 1}, .n_dims = 2};
	remove(test_path(path, &folder, "config.json"));
	state_dict_write(dict, &folder, true);
	assert_false(open_view(&(struct al_view_options){0}, &err));
	assert_non_null(strstr(err.message,
		Q "_scale may be the scale of tensor " Q
		  ", but family llama doesn't specify that"));
	state_dict_remove(dict, Q "_scale");
	remove(test_path(path, &folder, "model.safetensors"));
	state_dict_write(dict, &folder, true);
	assert_true(open_view(&(struct al_view_options){0}, &err));
	state_dict_finish(dict);
}

/* DeepSeek's family names them; how many numbers have one is the config's to say. */
static void scales_need_their_blocks(void **state)
{
	static const struct {
		const char *block, *message;
	} cases[] = {
		{"[4, 5]", NULL},
		{"null", "q_b_proj.weight_scale_inv is 9 x 2, expected 1 x 1"},
		{"[4, 0]", "division by zero in \"ceil_div(d_model, block[1])\""},
		{"[4, 6]", "q_b_proj.weight_scale_inv is 9 x 2, expected 9 x 1"},
	};
	struct al_error err = {0};
	char path[256];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct state_dict *dict = state_dict_read("deepseek_v3-fp8");
		AL_TEXT(config);
		const char *block = strstr(dict->config, "[4, 5]");
		al_text_addf(&config, "%.*s%s%s", (int)(block - dict->config), dict->config,
			cases[i].block, block + strlen("[4, 5]"));
		dict->config = config.data;
		remove(test_path(path, &folder, "model.safetensors"));
		remove(test_path(path, &folder, "config.json"));
		state_dict_write(dict, &folder, true);
		state_dict_finish(dict);
		const bool is_open = open_view(&(struct al_view_options){0}, &err);
		if (is_open != !cases[i].message
			|| (!is_open && !strstr(err.message, cases[i].message)))
			fail_msg("%s: %s", cases[i].block, is_open ? "opens" : err.message);
	}
}

static void other_names_fit_no_family(void **state)
{
	struct state_dict *dict = state_dict_read("llama");
	struct al_error err = {0};
	char path[256];

	(void)state;
	state_dict_rename(dict, "", "unheard.of.");
	remove(test_path(path, &folder, "config.json"));
	state_dict_write(dict, &folder, false);
	assert_false(open_view(&(struct al_view_options){.n_heads = 6}, &err));
	assert_non_null(strstr(err.message, "its tensor names match no known family"));
	state_dict_finish(dict);
}

/* ---- a layout of the user's own ---- */

#define LAYOUT(shape, tensor) \
	"{\"name\": \"own\", \"title\": \"Own\", \"source\": \"a test\", \"model_types\": " \
	"[\"own\"],\n" \
	" \"config\": {\"d_model\": {\"key\": \"d\"}, \"n_layers\": {\"key\": \"n\"}, " \
	"\"n_heads\": {\"key\": \"h\"}},\n" \
	" \"prefixes\": [\"\"],\n" \
	" \"modules\": [{\"name\": \"layers.{layer}\", \"for\": {\"layer\": \"n_layers\"}, " \
	"\"variant\": \"mha\",\n" \
	"  \"set\": {\"biases\": false}, \"rotary\": false, \"stored\": [\n" \
	"  {\"name\": \"a.{layer}.q\", \"is\": \"" tensor "\"},\n" \
	"  {\"name\": \"a.{layer}.kv\", \"order\": \"in,out\", \"fused\": {\"repeat\": \"1\",\n" \
	"   \"of\": [[\"W_K\", \"n_heads*d_head\"], [\"W_V\", \"n_heads*d_head\"]]}},\n" \
	"  {\"name\": \"a.{layer}.o\", \"is\": \"W_O\"}]}],\n" \
	" \"tensors\": [{\"part\": \"norm\", \"stage\": \"last\", \"name\": \"n\", \"shape\": " \
	"[\"" shape "\"], \"kind\": \"norm\"}]}\n"

static const struct weight own[] = {
	{"a.0.q", "F32", {6, 6}, 2, NULL},
	{"a.0.kv", "F32", {6, 12}, 2, NULL},
	{"a.0.o", "F32", {6, 6}, 2, NULL},
	{"a.1.q", "F32", {6, 6}, 2, NULL},
	{"a.1.kv", "F32", {6, 12}, 2, NULL},
	{"a.1.o", "F32", {6, 6}, 2, NULL},
	{"n", "F32", {6}, 1, NULL},
};

/* A catalog reads a file once: each layout is written to one of its own. */
static bool open_own(const char *name, const char *layout, struct al_model_view *view,
	struct al_checkpoint *checkpoint, struct al_error *err)
{
	char path[256], other[256];

	remove(test_path(other, &folder, "config.json"));
	write_weights(test_path(other, &folder, "model.safetensors"), own,
		sizeof(own) / sizeof(*own));
	test_path(path, &folder, name);
	test_write(path, layout, strlen(layout));
	assert_true(al_checkpoint_open(checkpoint, folder.path, err));
	if (al_model_view_open(view, catalog, checkpoint,
		    &(struct al_view_options){.layout = path, .n_heads = 3}, err))
		return true;
	al_checkpoint_close(checkpoint);
	return false;
}

static void own_layouts_are_laid(void **state)
{
	struct al_checkpoint checkpoint;
	struct al_model_view view;
	struct al_matrix keys;
	struct al_error err = {0};
	double numbers[72];

	(void)state;
	if (!open_own("own.json", LAYOUT("d_model", "W_Q"), &view, &checkpoint, &err))
		fail_msg("%s", err.message);
	assert_int_equal(view.n_modules, 2);
	const struct al_tensor *kv = al_checkpoint_find(&checkpoint, "a.1.kv");
	struct al_selection all = al_select_all(kv);
	assert_true(al_tensor_read_double(&checkpoint, kv, &all, numbers, 72, &err));
	assert_true(al_factor_load(&checkpoint, &view.modules[1].factors[AL_VALUE], &keys, &err));
	for (size_t row = 0; row < 6; row++)
		for (size_t column = 0; column < 6; column++)
			assert_true(keys.data[row + column * keys.ld]
				== numbers[row * 12 + 6 + column]);
	al_matrix_finish(&keys);
	al_model_view_close(&view);
	al_checkpoint_close(&checkpoint);
}

/* The built-in family without the line that says where a tensor is. */
static void write_without(const char *path, const char *tensor)
{
	char line[1024], said[64];
	FILE *family = fopen("src/catalog/families/deepseek_v2.json", "r");
	FILE *layout = fopen(path, "w");
	int n_left_out = 0;

	assert_true(family && layout);
	snprintf(said, sizeof(said), "\"is\": \"%s\"", tensor);
	while (fgets(line, sizeof(line), family))
		if (strstr(line, said))
			n_left_out++;
		else
			fputs(line, layout);
	assert_int_equal(n_left_out, 1);
	fclose(family);
	fclose(layout);
}

/* Queries without what comes before them would be another matrix's. */
static void latent_heads_need_all_their_tensors(void **state)
{
	static const char *const cases[][2] = {
		{"W_UQ", "layers.0: variant mla has no query projection of its own"},
		{"W_DQ", "layers.0: W_DQ, which precedes W_UQ, isn't stored"},
		{"g_Q", "layers.0: g_Q, which precedes W_UQ, isn't stored"},
		{"g_KV", "layers.0: g_KV, which precedes W_UK, isn't stored"},
	};
	struct state_dict *dict = state_dict_read("deepseek_v2");
	struct al_error err = {0};
	char path[256];

	(void)state;
	state_dict_write(dict, &folder, true);
	state_dict_finish(dict);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		write_without(test_path(path, &folder, cases[i][0]), cases[i][0]);
		assert_false(open_view(&(struct al_view_options){.layout = path}, &err));
		if (!strstr(err.message, cases[i][1]))
			fail_msg("\"%s\", expected: %s", err.message, cases[i][1]);
	}
}

#define NO_HEADS(variant, tensor) \
	"{\"name\": \"own\", \"title\": \"Own\", \"source\": \"a test\", \"model_types\": " \
	"[\"own\"], \"config\": {\"d_model\": {\"key\": \"d\"}, \"n_layers\": {\"key\": \"n\"}, " \
	"\"n_heads\": {\"key\": \"h\"}}, \"prefixes\": [\"\"], \"modules\": [{\"name\": " \
	"\"layers.{layer}\", \"for\": {\"layer\": \"n_layers\"}, \"variant\": \"" variant "\", " \
	"\"stored\": [{\"name\": \"a.{layer}.q\", \"is\": \"" tensor "\"}]}], \"tensors\": " \
	"[{\"part\": \"norm\", \"stage\": \"last\", \"name\": \"n\", \"shape\": [\"d_model\"], " \
	"\"kind\": \"norm\"}]}"

static void layers_without_heads(void **state)
{
	static const char *const cases[][3] = {
		{"differential", NO_HEADS("differential", "W_Q"),
			": no attention modules: variant differential doesn't specify the factors "
			"of its heads"},
		{"short-conv", NO_HEADS("short-conv", "W_B"),
			": no attention modules: Gated short convolution has no attention weights"},
	};
	struct al_checkpoint checkpoint;
	struct al_model_view view;
	struct al_error err = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_false(open_own(cases[i][0], cases[i][1], &view, &checkpoint, &err));
		if (!strstr(err.message, cases[i][2]))
			fail_msg("%s", err.message);
	}
}

static void own_layouts_are_refused_where_they_are_wrong(void **state)
{
	struct al_checkpoint checkpoint;
	struct al_model_view view;
	struct al_error err = {0};

	(void)state;
	assert_false(open_own("shape.json", LAYOUT("d_modle", "W_Q"), &view, &checkpoint, &err));
	if (!strstr(err.message, "shape.json:10:") || !strstr(err.message, "d_modle"))
		fail_msg("%s", err.message);
	assert_false(open_own("tensor.json", LAYOUT("d_model", "W_X"), &view, &checkpoint, &err));
	if (!strstr(err.message, "tensor.json:6:") || !strstr(err.message, "W_X"))
		fail_msg("%s", err.message);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refusals_say_what_was_found),
		cmocka_unit_test(scales_that_nobody_names_are_not_ignored),
		cmocka_unit_test(scales_need_their_blocks),
		cmocka_unit_test(other_names_fit_no_family),
		cmocka_unit_test(own_layouts_are_laid),
		cmocka_unit_test(layers_without_heads),
		cmocka_unit_test(own_layouts_are_refused_where_they_are_wrong),
		cmocka_unit_test(latent_heads_need_all_their_tensors),
	};

	return cmocka_run_group_tests_name("view_refusals", tests, begin, end);
}
