/* Families: what a config gives and what is wrong with it; a model's tensor list against published
 * totals. */
#include "with_catalog.h"

#include <unistd.h>

#include "base/number.h"
#include "catalog/tensor_list.h"
#include "support/folder.h"

static const struct al_family *find_family(const char *name)
{
	const struct al_family *family = NULL;
	struct al_error err = {0};

	must(al_catalog_family(catalog, name, &family, &err), &err);
	return family;
}

/* The settings of a config in JSON text. */
static bool configure(const char *family, const char *text, struct al_settings *settings,
	struct al_error *err)
{
	struct al_json doc;

	al_settings_init(settings, catalog);
	must(al_json_parse(&doc, "c.json", text, strlen(text), err), err);
	bool ok = al_family_settings(find_family(family), &doc, doc.root, "c.json", settings, err);
	al_json_finish(&doc);
	return ok;
}

static const struct al_setting *get(struct al_settings *settings, const char *symbol)
{
	const struct al_setting *setting = NULL;
	struct al_error err = {0};

	must(al_settings_get(settings, symbol, &setting, &err), &err);
	assert_non_null(setting);
	return setting;
}

#define TINY "tests/data/family.json"

/* ---- contexts ---- */

static const struct context {
	const char *family, *config;
	int64_t tokens; /* 0: it has none, or none is known */
} contexts[] = {
	{"gpt2", "{\"n_positions\": 2048}", 2048},
	{"bert", "{}", 512},
	{"roberta", "{\"max_position_embeddings\": 514}", 512},
	{"llama", "{}", 2048},
	{"llama", "{\"max_position_embeddings\": null}", 2048},
	{"llama",
		"{\"max_position_embeddings\": 131072, \"rope_scaling\": {\"rope_type\": "
		"\"llama3\", "
		"\"factor\": 8, \"original_max_position_embeddings\": 8192}}",
		131072},
	{"llama",
		"{\"max_position_embeddings\": 16384, \"rope_scaling\": {\"type\": \"linear\", "
		"\"factor\": 4}}",
		16384},
	{"qwen2",
		"{\"max_position_embeddings\": 32768, \"rope_scaling\": {\"type\": \"yarn\", "
		"\"factor\": 4, \"original_max_position_embeddings\": 32768}}",
		131072},
	{"deepseek_v3",
		"{\"max_position_embeddings\": 163840, \"rope_scaling\": {\"type\": \"yarn\", "
		"\"factor\": 40, \"original_max_position_embeddings\": 4096}}",
		163840},
	{"qwen3",
		"{\"max_position_embeddings\": 40960, \"rope_parameters\": {\"rope_type\": "
		"\"yarn\", "
		"\"factor\": 4.0, \"original_max_position_embeddings\": 32768}}",
		131072},
	{"gemma3", "{\"text_config\": {}}", 131072},
	{"mpt", "{\"max_seq_len\": 8192}", 8192},
	{"vit", "{}", 197},
	{"mt5", "{}", 0},
	{"deepseek_v4", "{}", 1048576},
};

/* As its config says, with the factor of YaRN alone; a text model's in what holds one. */
static void a_model_has_a_context(void **state)
{
	struct al_settings settings;
	struct al_error err = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(contexts) / sizeof(*contexts); i++) {
		must(configure(contexts[i].family, contexts[i].config, &settings, &err), &err);
		assert_int_equal(get(&settings, "context")->value.integer, contexts[i].tokens);
		al_settings_finish(&settings);
	}
}

static bool has_symbol(const struct al_family *family, const char *symbol)
{
	return AL_FIND(family->config, family->n_config, symbol);
}

/* Those without: what keeps a state alone, and towers that take pictures and sounds of any size. */
static void families_say_their_context(void **state)
{
	static const char *const unlimited[] = {"mamba", "mamba2", "falcon_mamba", "rwkv7",
		"torch-transformer-encoder", "gemma3n_vision", "gemma3n_audio", "gemma4_vision",
		"gemma4_audio", "florence_vision", "qwen2_vl_vision", "qwen2_5_vl_vision",
		"qwen3_vl_vision", "qwen3_5_vision", "kimi_k25_vision", "kimi_k3_vision", "pixtral",
		"exaone4_5_vision", "minimax_m3_vl_vision", "mllama_vision_model",
		"internvl_vision"};
	const size_t n = sizeof(unlimited) / sizeof(*unlimited);
	const struct al_embedded_list *files = al_catalog_files(AL_CATALOG_FAMILIES);

	(void)state;
	for (size_t i = 0; i < files->n_files; i++) {
		const char *name = files->files[i].name;
		if (has_symbol(find_family(name), "context")
			== (al_find_name(name, unlimited, n) >= 0))
			fail_msg("%s", name);
	}
}

/* ---- configs ---- */

/* Half of each head of 6,144 / 48 where nothing is given. */
static void a_part_is_of_a_default(void **state)
{
	static const struct {
		const char *config;
		int64_t width;
	} configs[] = {
		{"{}", 64},
		{"{\"partial_rotary_factor\": 0.25}", 32},
		{"{\"partial_rotary_factor\": 0.25, \"hidden_size\": 3072}", 16},
	};
	struct al_settings settings;
	struct al_error err = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(configs) / sizeof(*configs); i++) {
		must(configure("nemotron", configs[i].config, &settings, &err), &err);
		assert_int_equal(get(&settings, "rotary_part")->value.integer, configs[i].width);
		al_settings_finish(&settings);
	}
}

static void a_config_gives_symbols(void **state)
{
	struct al_settings settings;
	struct al_error err = {0};

	(void)state;
	must(configure(TINY, "{\"width\": 8, \"depth\": 4, \"heads\": null, \"tied\": false}",
		     &settings, &err),
		&err);
	assert_int_equal(get(&settings, "d_model")->value.integer, 8);
	assert_string_equal(get(&settings, "d_model")->origin, "c.json: width");
	assert_string_equal(get(&settings, "n_layers")->origin, "c.json: depth");
	assert_int_equal(get(&settings, "n_heads")->value.integer, 2);
	assert_string_equal(get(&settings, "n_heads")->origin, "tiny's default d_model/4");
	assert_int_equal(get(&settings, "tied")->value.integer, 0);
	assert_string_equal(get(&settings, "act")->value.word, "gelu");
	const struct al_setting *is_full = get(&settings, "is_full");
	assert_int_equal(is_full->n_list, 4);
	assert_int_equal(is_full->list[1].integer, 0);
	assert_int_equal(is_full->list[2].integer, 1);
	al_settings_finish(&settings);
}

static void lists_hold_words_numbers_and_booleans(void **state)
{
	struct al_settings settings;
	struct al_error err = {0};

	(void)state;
	must(configure(TINY,
		     "{\"width\": 8, \"depth\": 3, \"full_layers\": [\"full\", 7, "
		     "true]}",
		     &settings, &err),
		&err);
	const struct al_setting *list = get(&settings, "is_full");
	assert_int_equal(list->n_list, 3);
	assert_string_equal(list->list[0].word, "full");
	assert_int_equal(list->list[1].integer, 7);
	assert_int_equal(list->list[2].integer, 1);
	assert_string_equal(list->origin, "c.json: full_layers");
	al_settings_finish(&settings);
}

static void keys_may_be_nested_null_or_layers(void **state)
{
	struct al_settings settings;
	struct al_error err = {0};

	(void)state;
	must(configure(TINY,
		     "{\"width\": 8, \"depth\": 3, \"experts\": 6, \"active\": null,"
		     " \"quantization\": {\"bits\": 4}, \"plain_layers\": [3, 1]}",
		     &settings, &err),
		&err);
	assert_int_equal(get(&settings, "n_active")->value.integer, 6);
	assert_string_equal(get(&settings, "n_active")->origin, "tiny's default n_experts");
	assert_int_equal(get(&settings, "bits")->value.integer, 4);
	const struct al_setting *plain = get(&settings, "is_plain");
	assert_int_equal(plain->n_list, 3);
	assert_int_equal(plain->list[0].integer, 1);
	assert_int_equal(plain->list[1].integer, 0);
	assert_int_equal(plain->list[2].integer, 1);
	const struct al_setting *kind = get(&settings, "kind");
	assert_int_equal(kind->list[0].integer, 0);
	assert_int_equal(kind->list[2].integer, 1);
	al_settings_finish(&settings);

	must(configure(TINY,
		     "{\"width\": 8, \"depth\": 2, \"quantization\": null,"
		     " \"plain_layers\": null, \"kinds\": [\"sliding\", \"full\"]}",
		     &settings, &err),
		&err);
	assert_int_equal(get(&settings, "kind")->list[0].integer, 1);
	assert_int_equal(get(&settings, "kind")->list[1].integer, 0);
	assert_int_equal(get(&settings, "n_active")->value.integer, 2);
	assert_int_equal(get(&settings, "bits")->value.integer, 16);
	assert_int_equal(get(&settings, "is_plain")->list[1].integer, 1);
	al_settings_finish(&settings);
}

static void objects_in_an_array_and_decimals(void **state)
{
	struct al_settings settings;
	struct al_error err = {0};

	(void)state;
	must(configure(TINY,
		     "{\"width\": 9, \"heads\": 3, \"depth\": 3, \"plain_layers\": \"3, 1\", "
		     "\"ratio\": 3.5, \"blocks\": [{\"ff\": {\"mult\": 2.625}}, "
		     "{\"ff\": {\"mult\": null}}, {\"ff\": 3}]}",
		     &settings, &err),
		&err);
	const struct al_setting *mult = get(&settings, "mult");
	assert_int_equal(mult->n_list, 3);
	assert_int_equal(mult->list[0].integer, 2625000);
	assert_int_equal(mult->list[1].integer, 7);
	assert_int_equal(mult->list[2].integer, 7);
	assert_int_equal(get(&settings, "is_plain")->list[2].integer, 1);
	assert_int_equal(get(&settings, "is_plain")->list[1].integer, 0);
	assert_int_equal(get(&settings, "d_up")->value.integer, 31);
	al_settings_finish(&settings);
}

static void synonyms_count_in_their_order(void **state)
{
	struct al_settings settings;
	struct al_error err = {0};

	(void)state;
	must(configure(TINY, "{\"width\": 8, \"depth\": 4, \"layers\": 3}", &settings, &err), &err);
	assert_int_equal(get(&settings, "n_layers")->value.integer, 3);
	al_settings_finish(&settings);
}

#define GOOD "\"width\": 8, \"layers\": 2"

static const struct refusal {
	const char *text, *message;
} configs[] = {
	{"[]", "c.json:1:1: found an array, expected an object"},
	{"{\"width\": 8}", "c.json:1:1: key \"layers\" is missing, expected a whole number"},
	{"{\"width\": null, \"layers\": 2}",
		"c.json:1:11: \"width\" is null, expected a whole number"},
	{"{\"width\": \"8\", \"layers\": 2}",
		"c.json:1:11: \"width\" is a string, expected a number"},
	{"{\"width\": -8, \"layers\": 2}",
		"c.json:1:11: \"width\" is -8, expected a whole number of at least 0 and below "
		"2^53"},
	{"{\"width\": 8.5, \"layers\": 2}",
		"c.json:1:11: \"width\" is 8.5, expected a whole number of at least 0 and "
		"below 2^53"},
	{"{\"width\": 9007199254740992, \"layers\": 2}",
		"c.json:1:11: \"width\" is 9007199254740992, expected a whole number of at "
		"least 0 and below 2^53"},
	{"{\"width\": true, \"layers\": 2}",
		"c.json:1:11: \"width\" is true or false, expected a number"},
	{"{\"width\": 9, \"layers\": 2}",
		"c.json:1:11: \"heads\" is left out: d_model/4 = 9/4 is not a whole number; width "
		"= 9"},
	{"{" GOOD ", \"experts\": null}",
		"c.json:1:38: \"experts\" is null, expected a whole number"},
	{"{" GOOD ", \"tied\": 1}", "c.json:1:35: \"tied\" is a number, expected true or false"},
	{"{" GOOD ", \"act\": 1}", "c.json:1:34: \"act\" is a number, expected a string"},
	{"{" GOOD ", \"full_layers\": 3}",
		"c.json:1:42: \"full_layers\" is a number, expected an array"},
	{"{" GOOD ", \"full_layers\": [\"full\"]}",
		"c.json:1:42: \"full_layers\" has 1 items, expected n_layers = 2"},
	{"{" GOOD ", \"block\": [4]}", "c.json:1:36: \"block\" has 1 items, expected 2"},
	{"{" GOOD ", \"full_layers\": [\"full\", -1]}",
		"c.json:1:51: \"full_layers\" is -1, expected a whole number of at least 0 and "
		"below 2^53"},
	{"{" GOOD ", \"plain_layers\": \"1,3\"}",
		"c.json:1:43: \"plain_layers\" names layer 3, expected 1 to 2"},
	{"{" GOOD ", \"plain_layers\": \"1;2\"}",
		"c.json:1:43: \"plain_layers\" is \"1;2\", expected numbers of layers between "
		"commas"},
	{"{" GOOD ", \"blocks\": [{\"ff\": {\"mult\": 1}}]}",
		"c.json:1:37: \"blocks\" has 1 items, expected n_layers = 2"},
	{"{" GOOD ", \"blocks\": [{\"ff\": {\"mult\": 1}}, {\"ff\": {\"mult\": \"a\"}}]}",
		"c.json:1:75: \"mult\" is a string, expected a number"},
	{"{" GOOD ", \"ratio\": -1}",
		"c.json:1:36: \"ratio\" is -1, expected a decimal of at least 0"},
	{"{" GOOD ", \"plain_layers\": [1], \"other_layers\": [1, 2]}",
		"c.json:1:64: \"other_layers\" names layer 1, and so does c.json: plain_layers"},
	{"{" GOOD ", \"plain_layers\": [1], \"other_layers\": []}",
		"c.json:1:64: neither \"other_layers\" names layer 2 nor c.json: plain_layers"},
	{"{" GOOD ", \"kinds\": [\"full\", \"slide\"]}",
		"c.json:1:45: unknown kinds \"slide\" (known: full, sliding)"},
	{"{" GOOD ", \"kinds\": [\"full\", 1]}",
		"c.json:1:45: \"kinds\" has 1, expected one of full, sliding"},
	{"{" GOOD ", \"kinds\": [\"full\", true]}",
		"c.json:1:45: found true or false, expected a string"},
	{"{" GOOD ", \"pattern\": \"M-*\"}",
		"c.json:1:38: \"pattern\" has 3 items, expected n_layers = 2"},
	{"{" GOOD ", \"pattern\": \"MX\"}",
		"c.json:1:38: \"pattern\" has \"X\" for layer 1, expected one of M, -, *"},
	{"{" GOOD ", \"plain_layers\": 3}",
		"c.json:1:43: \"plain_layers\" is a number, expected an array"},
	{"{" GOOD ", \"plain_layers\": [1, 0]}",
		"c.json:1:47: \"plain_layers\" names layer 0, expected 1 to 2"},
	{"{" GOOD ", \"plain_layers\": [3]}",
		"c.json:1:44: \"plain_layers\" names layer 3, expected 1 to 2"},
	{"{" GOOD ", \"quantization\": {\"bits\": -4}}",
		"c.json:1:52: \"bits\" is -4, expected a whole number of at least 0 and below "
		"2^53"},
	{"{\"width\": 8, \"layers\": 1000000}",
		"c.json:1:1: \"plain_layers\" is left out: n_layers is 1000000, expected at "
		"most 65536"},
	{"{\"width\": 8, \"layers\": 3, \"experts\": 0, \"vocab\": 0}",
		"c.json:1:50: \"vocab\" is 0, expected a whole number of at least 1"},
	{"{\"width\": 8, \"layers\": 3, \"active\": 5}",
		"c.json:1:37: active is 5, expected at most experts = 4"},
};

static void refuses_configs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(configs) / sizeof(*configs); i++) {
		struct al_settings settings;
		struct al_error err = {0};
		assert_false(configure(TINY, configs[i].text, &settings, &err));
		assert_string_equal(err.message, configs[i].message);
		assert_int_equal(err.status, AL_EINPUT);
		al_settings_finish(&settings);
	}
}

/* A pattern has a letter a layer, or for the layers behind the model's too. */
static void patterns_are_lists(void **state)
{
	static const char text[] =
		"{\"width\": 8, \"layers\": 2, \"extra\": 1, \"pattern\": \"*M-\"}";
	struct al_settings settings;
	struct al_error err = {0};

	(void)state;
	must(configure(TINY, text, &settings, &err), &err);
	const struct al_setting *pattern = get(&settings, "pattern");
	assert_int_equal(pattern->n_list, 3);
	assert_int_equal(pattern->list[0].integer, 2);
	assert_int_equal(pattern->list[1].integer, 0);
	assert_int_equal(pattern->list[2].integer, 1);
	assert_int_equal(get(&settings, "n_pattern")->value.integer, 3);
	al_settings_finish(&settings);
}

/* ---- components ---- */

/* Keys of a tower are its own, and a key may stand in the outer config. */
static void components_have_symbols_of_their_own(void **state)
{
	static const char text[] =
		"{\"tie_word_embeddings\": true, \"text_config\": {\"hidden_size\": 64, "
		"\"odd\": 1}, \"vision_config\": {\"hidden_size\": 32, \"num_heads\": 4}, \"x\": "
		"2}";
	struct al_settings settings;
	struct al_error err = {0};
	struct al_arena arena;
	struct al_json doc;
	const char *const *keys;

	(void)state;
	must(configure("qwen3_vl", text, &settings, &err), &err);
	assert_int_equal(get(&settings, "d_model")->value.integer, 64);
	assert_int_equal(get(&settings, "vision_d_model")->value.integer, 32);
	assert_int_equal(get(&settings, "vision_d_head")->value.integer, 8);
	assert_string_equal(get(&settings, "vision_n_layers")->origin, "qwen3_vl's default 27");
	assert_int_equal(get(&settings, "has_vision")->value.integer, 1);
	assert_int_equal(get(&settings, "tied")->value.integer, 1);
	al_settings_finish(&settings);
	al_arena_init(&arena);
	assert_true(al_json_parse(&doc, "c.json", text, strlen(text), &err));
	assert_int_equal(al_family_ignored(find_family("qwen3_vl"), doc.root, &arena, &keys), 2);
	assert_string_equal(keys[0], "text_config.odd");
	assert_string_equal(keys[1], "x");
	al_json_finish(&doc);
	al_arena_finish(&arena);
}

static void a_config_may_lack_a_tower_but_no_text(void **state)
{
	struct al_settings settings;
	struct al_error err = {0};

	(void)state;
	must(configure("qwen3_vl", "{\"text_config\": {}}", &settings, &err), &err);
	assert_int_equal(get(&settings, "has_vision")->value.integer, 0);
	al_settings_finish(&settings);
	assert_false(configure("qwen3_vl", "{\"vision_config\": {}}", &settings, &err));
	assert_string_equal(err.message,
		"c.json:1:1: key \"text_config\" is missing, expected an object");
	al_settings_finish(&settings);
	assert_false(configure("qwen3_vl", "{\"text_config\": {\"hidden_size\": 3.5}}", &settings,
		&err));
	assert_string_equal(err.message,
		"c.json:1:33: \"hidden_size\" is 3.5, expected a whole number of at least 0 and "
		"below 2^53");
	al_settings_finish(&settings);
}

static void lists_what_it_ignores(void **state)
{
	static const char text[] = "{\"model_type\": \"tiny\", \"rope\": 1, \"depth\": 2, "
				   "\"dropout\": 0.1, \"quantization\": {}}";
	struct al_arena arena;
	struct al_json doc;
	const char *const *keys;
	struct al_error err = {0};

	(void)state;
	al_arena_init(&arena);
	assert_true(al_json_parse(&doc, "c.json", text, strlen(text), &err));
	assert_int_equal(al_family_ignored(find_family(TINY), doc.root, &arena, &keys), 2);
	assert_string_equal(keys[0], "rope");
	assert_string_equal(keys[1], "dropout");
	al_json_finish(&doc);
	al_arena_finish(&arena);
}

/* ---- models by path ---- */

static void a_config_finds_its_family(void **state)
{
	static const char *const paths[] = {"tests/data/tiny-gpt2", "tests/data/tiny-gpt2/",
		"tests/data/tiny-gpt2/config.json"};
	struct al_error err = {0};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const struct al_model *model;
		struct al_settings settings;
		must(al_catalog_model(catalog, paths[i], &model, &err), &err);
		assert_string_equal(model->family, "gpt2");
		al_settings_init(&settings, catalog);
		must(al_model_settings(model, catalog, &settings, &err), &err);
		assert_int_equal(get(&settings, "d_ff")->value.integer, 24);
		assert_int_equal(get(&settings, "positions")->value.integer, 5);
		al_settings_finish(&settings);
	}
}

static void an_unknown_model_type_is_not_guessed(void **state)
{
	const struct al_family *family;
	struct al_error err = {0};

	(void)state;
	assert_false(al_catalog_family_of(catalog, "gpt3", &family, &err));
	assert_string_equal(err.message,
		"unsupported model_type \"gpt3\": no built-in family matches it; add one with "
		"--families FILE");
	assert_false(al_catalog_family_of(catalog, "name", &family, &err));
}

/* ---- tensor lists ---- */

static void open_tensor_list(struct al_tensor_list *tensor_list, struct al_settings *settings,
	const char *family, const char *config, bool by_name)
{
	struct al_error err = {0};

	must(configure(family, config, settings, &err), &err);
	must(al_tensor_list_init(tensor_list, catalog, find_family(family), settings, by_name,
		     &err),
		&err);
}

/* In all copies of a tensor. */
static int64_t numbers_of(const struct al_model_item *tensor)
{
	int64_t n = 0;

	assert_true(al_multiply_dims(tensor->tensor->packed * tensor->count * tensor->copies,
		tensor->dims, tensor->n_dims, &n));
	return n;
}

static int64_t part_parameters(const struct al_tensor_list *tensor_list, enum al_part part)
{
	int64_t sum = 0;

	for (size_t i = 0; i < tensor_list->n_tensors; i++)
		if (al_model_tensor_is_parameter(&tensor_list->tensors[i])
			&& tensor_list->tensors[i].tensor->part == part)
			sum += numbers_of(&tensor_list->tensors[i]);
	return sum;
}

static int64_t all_parameters(const struct al_tensor_list *tensor_list)
{
	int64_t sum = 0;

	for (enum al_part part = 0; part < AL_N_PARTS; part++)
		sum += part_parameters(tensor_list, part);
	return sum;
}

/* Published totals (hub pages, parameters of the reference implementation) less what attention
 * holds: multi-head attention with biases has 4*d_model^2 + 4*d_model. */
static const struct published {
	const char *family, *config;
	int64_t d_model, n_layers, total;
} published[] = {
	{"bert", "{}", 768, 12, 109482240},
	{"bert",
		"{\"hidden_size\": 1024, \"num_hidden_layers\": 24, \"num_attention_heads\": 16,"
		" \"intermediate_size\": 4096}",
		1024, 24, 335141888},
	{"gpt2", "{}", 768, 12, 124439808},
	{"gpt2", "{\"n_embd\": 1024, \"n_layer\": 24, \"n_head\": 16}", 1024, 24, 354823168},
};

static void totals_are_the_published_ones(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(published) / sizeof(*published); i++) {
		const struct published *p = &published[i];
		for (int by_name = 0; by_name < 2; by_name++) {
			struct al_settings settings;
			struct al_tensor_list tensor_list;
			int64_t attention = p->n_layers
				* (4 * p->d_model * p->d_model + 4 * p->d_model);
			open_tensor_list(&tensor_list, &settings, p->family, p->config, by_name);
			assert_int_equal(all_parameters(&tensor_list) + attention, p->total);
			al_tensor_list_finish(&tensor_list);
			al_settings_finish(&settings);
		}
	}
}

/* 5 layers: sliding, sliding, full, sliding, sliding; layer 0 is dense. */
static const char tiny_config[] = "{\"width\": 8, \"layers\": 5}";

static void equal_tensors_are_one_entry(void **state)
{
	struct al_settings settings;
	struct al_tensor_list tensor_list;

	(void)state;
	open_tensor_list(&tensor_list, &settings, TINY, tiny_config, false);
	assert_int_equal(tensor_list.n_modules, 2);
	assert_int_equal(tensor_list.modules[0].copies, 4);
	assert_int_equal(tensor_list.modules[0].with[0].value, 0);
	assert_int_equal(tensor_list.modules[1].copies, 1);
	assert_int_equal(tensor_list.modules[1].with[0].value, 1);
	assert_string_equal(tensor_list.modules[1].with[1].symbol, "n_kv_heads");
	assert_string_equal(tensor_list.modules[0].name, "layers.{layer}.attn");
	assert_string_equal(tensor_list.modules[0].variant->name, "gqa");

	assert_int_equal(tensor_list.n_tensors, 7);
	assert_string_equal(tensor_list.tensors[1].name, "layers.{layer}.norm.weight");
	assert_int_equal(tensor_list.tensors[1].copies, 5);
	assert_int_equal(tensor_list.tensors[2].copies, 1);
	assert_int_equal(tensor_list.tensors[3].copies, 3 * 4);
	assert_int_equal(tensor_list.tensors[4].copies, 4);
	assert_int_equal(tensor_list.tensors[4].dims[0], 9);
	assert_int_equal(numbers_of(&tensor_list.tensors[4]), 4 * 9 * 8);
	al_tensor_list_finish(&tensor_list);
	al_settings_finish(&settings);
}

static void names_count_the_loops(void **state)
{
	struct al_settings settings;
	struct al_tensor_list tensor_list;

	(void)state;
	open_tensor_list(&tensor_list, &settings, TINY, tiny_config, true);
	assert_int_equal(tensor_list.n_modules, 5);
	assert_string_equal(tensor_list.modules[2].name, "layers.2.attn");
	assert_int_equal(tensor_list.modules[2].with[0].value, 1);
	assert_int_equal(tensor_list.n_tensors, 1 + 5 + 1 + 4 * 4 + 2);
	assert_string_equal(tensor_list.tensors[7].name, "layers.1.experts.0.up.weight");
	assert_string_equal(tensor_list.tensors[22].name, "layers.4.experts.3.up.weight");
	assert_int_equal(tensor_list.tensors[22].copies, 1);
	al_tensor_list_finish(&tensor_list);
	al_settings_finish(&settings);
}

static void parts_leave_out_tied_tensors_and_buffers(void **state)
{
	struct al_settings settings;
	struct al_tensor_list tensor_list;

	(void)state;
	for (int tied = 0; tied < 2; tied++) {
		open_tensor_list(&tensor_list, &settings, TINY,
			tied ? "{\"width\": 8, \"layers\": 5, \"tied\": true}"
			     : "{\"width\": 8, \"layers\": 5, \"tied\": false}",
			false);
		assert_int_equal(part_parameters(&tensor_list, AL_PART_EMBEDDING), 80);
		assert_int_equal(part_parameters(&tensor_list, AL_PART_NORM), 40);
		assert_int_equal(part_parameters(&tensor_list, AL_PART_FEED_FORWARD),
			192 + 12 * 64 + 4 * 72);
		assert_int_equal(part_parameters(&tensor_list, AL_PART_OTHER), 0);
		assert_int_equal(part_parameters(&tensor_list, AL_PART_ATTENTION), 0);
		assert_int_equal(part_parameters(&tensor_list, AL_PART_HEAD), tied ? 0 : 80);
		al_tensor_list_finish(&tensor_list);
		al_settings_finish(&settings);
	}
}

/* Layers 5 and 6 predict further tokens; half of 4 experts work on a token. */
static const char extra_config[] =
	"{\"width\": 8, \"layers\": 5, \"extra\": 2, \"quantization\": {\"bits\": 4}}";

static void what_is_not_part_of_the_model_is_counted_by_itself(void **state)
{
	struct al_settings settings;
	struct al_tensor_list tensor_list;

	(void)state;
	open_tensor_list(&tensor_list, &settings, TINY, extra_config, false);
	const struct al_model_item *packed = &tensor_list.tensors[5],
				   *extra = &tensor_list.tensors[6],
				   *scale = &tensor_list.tensors[7];
	assert_int_equal(packed->copies, 5);
	assert_null(packed->extra);
	assert_int_equal(numbers_of(packed), 5 * 8);
	assert_true(al_model_tensor_is_parameter(packed));
	assert_int_equal(extra->copies, 2);
	assert_string_equal(extra->extra, "further tokens");
	assert_int_equal(numbers_of(extra), 2 * 8);
	assert_false(al_model_tensor_is_parameter(extra));
	assert_int_equal(scale->tensor->entry.kind, AL_TENSOR_SCALE);
	assert_false(al_model_tensor_is_parameter(scale));
	assert_int_equal(part_parameters(&tensor_list, AL_PART_FEED_FORWARD),
		192 + 12 * 64 + 4 * 72 + 5 * 8);
	al_tensor_list_finish(&tensor_list);
	al_settings_finish(&settings);
}

static void experts_are_active_in_part(void **state)
{
	struct al_settings settings;
	struct al_tensor_list tensor_list;

	(void)state;
	for (int by_name = 0; by_name < 2; by_name++) {
		int64_t all = 0, active = 0;
		open_tensor_list(&tensor_list, &settings, TINY, tiny_config, by_name);
		for (size_t i = 0; i < tensor_list.n_tensors; i++)
			if (strstr(tensor_list.tensors[i].name, "experts")) {
				all += tensor_list.tensors[i].copies;
				active += tensor_list.tensors[i].active_copies;
			}
		assert_int_equal(all, 4 * 4);
		assert_int_equal(active, 4 * 2);
		al_tensor_list_finish(&tensor_list);
		al_settings_finish(&settings);
	}
}

static void tensor_lists_are_bounded(void **state)
{
	static const struct {
		bool by_name;
		const char *text, *message; /* NULL: it's taken */
	} cases[] = {
		{true, "{\"width\": 8, \"layers\": 60000, \"experts\": 900000000000}",
			"layers.{layer}.experts.{expert}.up.weight: the loops take more than "
			"262144 iterations"},
		/* 2^53 - 1 experts in each of 1,024 or 1,025 equal layers */
		{false, "{\"width\": 8, \"layers\": 1537, \"experts\": 9007199254740991}", NULL},
		{false, "{\"width\": 8, \"layers\": 1538, \"experts\": 9007199254740991}",
			"layers.{layer}.experts.{expert}.up.weight: the loops make more than 2^63 "
			"copies"},
	};
	struct al_settings settings;
	struct al_tensor_list tensor_list;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct al_error err = {0};
		must(configure(TINY, cases[i].text, &settings, &err), &err);
		const bool is_taken = al_tensor_list_init(&tensor_list, catalog, find_family(TINY),
			&settings, cases[i].by_name, &err);
		assert_int_equal(is_taken, cases[i].message == NULL);
		if (is_taken)
			al_tensor_list_finish(&tensor_list);
		else
			assert_string_equal(err.message, cases[i].message);
		al_settings_finish(&settings);
	}
}

/* ---- files that are refused ---- */

#define FAMILY(more) "{\"name\": \"f\", \"model_types\": [\"f\"], " more "}"
#define MODULE(more) FAMILY("\"modules\": [{\"name\": \"a\", \"variant\": \"mha\", " more "}]")
#define STORED(more) MODULE("\"stored\": [{\"name\": \"w\", " more "}]")
#define TENSOR(more) FAMILY("\"tensors\": [{\"name\": \"w\", \"shape\": [1], " more "}]")

#define FORWARD_WITH(modules, kind, feed_forward, tokens, more) \
	FAMILY("\"modules\": [" modules "], \"tensors\": [{\"name\": \"w\", \"part\": " \
	       "\"embedding\", \"shape\": [1]}], \"forward\": {\"kind\": \"" kind "\", \"norm\": " \
	       "{\"kind\": \"rms\", \"epsilon\": 1}, \"attention\": {}, " \
	       "\"feed_forward\": " feed_forward more ", \"embedding\": {\"tokens\": " tokens \
	       "}}")
#define ONE_MODULE "{\"name\": \"a\", \"variant\": \"mha\"}"
#define PLAIN "{\"up\": \"w\", \"down\": \"w\", \"activation\": \"relu\"}"
#define LAST ", \"last\": {\"head\": \"w\"}"
#define FORWARD(tokens, last) \
	FORWARD_WITH(ONE_MODULE, "decoder", PLAIN, tokens, ", \"last\": " last)
#define FEED(feed_forward, more) \
	FORWARD_WITH(ONE_MODULE, "decoder", feed_forward, "\"w\"", LAST more)

static const struct refusal families[] = {
	{"{\"name\": \"f\"}", ":1:1: key \"model_types\" is missing"},
	{FAMILY("\"components\": {\"txt\": {}}"),
		":1:59: unknown component \"txt\" (did you mean \"text\"?)"},
	{FAMILY("\"components\": {\"text\": {\"family\": \"qwen3\"}}"),
		":1:60: key \"config\" is missing"},
	{FAMILY("\"components\": {\"text\": {\"config\": \"\", \"family\": \"qwen3\", \"by\": "
		"[\"version\"]}}"),
		":1:100: expected a key, and \"value=family\" for each value of it"},
	{FAMILY("\"components\": {\"text\": {\"config\": \"\", \"family\": \"qwen3\", \"by\": "
		"[\"version\", \"qwen2\"]}}"),
		":1:100: expected a key, and \"value=family\" for each value of it"},
	{FAMILY("\"components\": {\"text\": {\"config\": \"\", \"family\": \"qwen3\", \"by\": "
		"[\"1=qwen2\", \"2=qwen3\"]}}"),
		":1:100: expected a key, and \"value=family\" for each value of it"},
	{FAMILY("\"components\": {\"text\": {\"config\": \"t\", \"family\": \"qwn3\"}}"),
		":1:86: unknown family \"qwn3\" (did you mean \"qwen3\"?)"},
	{FAMILY("\"components\": {\"text\": {\"config\": \"t\", \"family\": \"qwen3_vl\"}}"),
		":1:86: families/qwen3_vl.json:7:13: a family with components can't be a component "
		"itself"},
	{FAMILY("\"components\": {\"vision\": {\"config\": \"v\", \"family\": "
		"\"qwen3_vl_vision\", \"defaults\": {\"vocab\": 3}}}"),
		":1:129: family qwen3_vl_vision has no symbol \"vocab\""},
	{FAMILY("\"module\": []"), ":1:47: unknown key \"module\" (did you mean \"modules\"?)"},
	{FAMILY("\"config\": {\"d_model\": \"width\"}"),
		":1:59: \"d_model\" is a string, expected an object"},
	{FAMILY("\"config\": {\"d_model\": {}}"), ":1:59: needs \"key\" or \"default\""},
	{FAMILY("\"config\": {\"d_model\": {\"key\": []}}"), ":1:67: the list of texts is empty"},
	{FAMILY("\"config\": {\"d_ff\": {\"key\": \"ff\", \"default\": \"4*d_modle\"}}"),
		":1:81: column 3: unknown symbol \"d_modle\" (did you mean \"d_model\"?)"},
	{FAMILY("\"config\": {\"d_ff\": {\"key\": \"ff\", \"type\": \"integer\"}}"),
		":1:78: unknown type \"integer\" (known: whole, boolean, word, list, indices, "
		"size, layers, millionths, entries, times, group, context)"},
	{FAMILY("\"config\": {\"d_ff\": {\"key\": \"ff\", \"length\": 3}}"),
		":1:80: only a list has a \"length\""},
	{FAMILY("\"config\": {\"biases\": {\"key\": \"bias\", \"default\": true}},"
		" \"modules\": [{\"name\": \"a\", \"variant\": \"mha\"}]"),
		":1:58: \"biases\" is an option of variant mha, which module a doesn't set"},
	{FAMILY("\"modules\": [{\"name\": \"a\"}]"), ":1:49: key \"variant\" is missing"},
	{FAMILY("\"modules\": [{\"name\": \"a\", \"variant\": \"mah\"}]"),
		":1:74: unknown variant \"mah\" (did you mean \"mha\"?)"},
	{FAMILY("\"modules\": [{\"name\": \"a.{layer}\", \"variant\": \"mha\"}]"),
		":1:49: \"a.{layer}\" has {layer}, but no \"for\" defines it"},
	{FAMILY("\"modules\": [{\"name\": \"a.{layer\", \"variant\": \"mha\", \"for\": {\"layer\": "
		"1}}]"),
		":1:49: \"a.{layer\" lacks a \"}\""},
	{MODULE("\"set\": {\"biass\": true}"),
		":1:98: variant mha: unknown symbol or option \"biass\" (did you mean "
		"\"biases\"?)"},
	{MODULE("\"set\": {\"biases\": \"yes\"}"),
		":1:99: column 1: unknown symbol \"yes\" (did you mean \"seq\"?)"},
	{MODULE("\"for\": {\"layer\": \"n_layer\"}"),
		":1:98: column 1: unknown symbol \"n_layer\" (did you mean \"n_layers\"?)"},
	{MODULE("\"cross\": true"),
		":1:49: module a of a model with two stacks lacks \"stack\" (\"encoder\" or "
		"\"decoder\")"},
	{FAMILY("\"modules\": [{\"name\": \"a\", \"variant\": \"mha\", \"stack\": \"encoder\"}, "
		"{\"name\": \"b\", \"variant\": \"mha\"}]"),
		":1:102: module b of a model with two stacks lacks \"stack\" (\"encoder\" or "
		"\"decoder\")"},
	{MODULE("\"stack\": \"enc\""), ":1:90: unknown stack \"enc\" (did you mean \"encoder\"?)"},
	{MODULE("\"before\": \"b\""), ":1:91: unknown module \"b\" (did you mean \"a\"?)"},
	{STORED("\"is\": \"W_R\""),
		":1:112: variant mha: unknown tensor \"W_R\" (did you mean \"W_Q\"?)"},
	{STORED("\"order\": \"out\""), ":1:115: unknown order \"out\" (did you mean \"out,in\"?)"},
	{STORED("\"order\": \"in,out\""),
		":1:92: expected either \"is\" (one tensor) or \"fused\" (several)"},
	{STORED("\"fused\": {\"repeat\": 1, \"of\": [[\"W_Q\"]]}"),
		":1:136: found 1 items, expected a tensor's name and a width"},
	{STORED("\"fused\": {\"repeat\": 1, \"of\": [[\"W_q\", 1]]}"),
		":1:136: variant mha: unknown tensor \"W_q\" (did you mean \"W_Q\"?)"},
	{STORED("\"fused\": {\"repeat\": 1, \"of\": []}"), ":1:115: \"of\" names no tensors"},
	{STORED("\"is\": \"W_Q\", \"heads\": 2, \"apart\": true"),
		":1:140: \"apart\" also needs \"heads\" and the order \"in,out\""},
	{STORED("\"is\": \"W_Q\", \"order\": \"in,out\", \"apart\": true"),
		":1:147: \"apart\" also needs \"heads\" and the order \"in,out\""},
	{STORED("\"heads\": 2, \"fused\": {\"repeat\": 1, \"of\": [[\"W_Q\", 1]]}"),
		":1:115: \"heads\" also needs \"is\": it splits the heads of one tensor"},
	{TENSOR("\"part\": \"ffn\""),
		":1:85: unknown part \"ffn\" (known: embedding, attention, feed_forward, norm, "
		"other, head)"},
	{TENSOR("\"roll\": \"up\""), ":1:85: unknown key \"roll\" (did you mean \"role\"?)"},
	{TENSOR("\"part\": \"feed_forward\", \"role\": \"query\""),
		":1:109: unknown role \"query\" (known: up, gate, down, router)"},
	{TENSOR("\"part\": \"head\", \"role\": \"up\""),
		":1:101: only a feed-forward tensor has a \"role\""},
	{FAMILY("\"tensors\": [{\"name\": \"w\", \"shape\": [1, 1], \"part\": \"feed_forward\"}]"),
		":1:49: feed-forward tensor w lacks \"role\" (\"up\", \"gate\", \"down\" or "
		"\"router\")"},
	{TENSOR("\"part\": \"feed_forward\", \"kind\": \"bias\""),
		":1:49: feed-forward tensor w lacks \"role\" (\"up\", \"gate\", \"down\" or "
		"\"router\")"},
	{FAMILY("\"modules\": [{\"name\": \"a\", \"variant\": \"mha\", \"stack\": \"encoder\"}], "
		"\"tensors\": [{\"name\": \"w\", \"shape\": [1], \"part\": \"feed_forward\", "
		"\"kind\": \"bias\", \"role\": \"up\"}]"),
		":1:115: feed-forward tensor w of a model with two stacks lacks \"stack\" "
		"(\"encoder\" or \"decoder\")"},
	{TENSOR("\"part\": \"head\", \"tied_to\": \"embed\""),
		":1:104: unknown tensor \"embed\" (known: w)"},
	{TENSOR("\"part\": \"norm\", \"before\": \"attn\""),
		":1:103: unknown module \"attn\" (there are none)"},
	{TENSOR("\"part\": \"norm\", \"for\": {\"a\": 1, \"b\": 1, \"c\": 1, \"d\": 1, \"e\": 1}"),
		":1:100: \"for\" has 5 loops, expected at most 4"},
	{TENSOR("\"part\": \"norm\", \"for\": {\"a\": [3, 2, 1]}"),
		":1:106: found 3 items, expected two: the total and the active number"},
	{TENSOR("\"part\": \"norm\""),
		":1:49: tensor w of a norm lacks \"kind\" (\"norm\" for its scale, \"bias\")"},
	{TENSOR("\"part\": \"norm\", \"kind\": \"norm\""),
		":1:49: norm w outside of the layers lacks \"stage\" (\"first\" or \"last\")"},
	{TENSOR("\"part\": \"norm\", \"kind\": \"bias\", \"stage\": \"middle\""),
		":1:118: unknown stage \"middle\" (known: first, last)"},
	{TENSOR("\"part\": \"head\", \"stage\": \"last\""),
		":1:102: only a norm outside of the layers has a \"stage\""},
	{TENSOR("\"part\": \"norm\", \"packed\": 0"), ":1:103: found 0, expected 1 or more"},
	{TENSOR("\"part\": \"norm\", \"each\": [\"{expert}.w1\"]"),
		":1:101: only a tensor with a \"count\" has it"},
	{TENSOR("\"part\": \"norm\", \"count\": \"2\", \"each\": [\"w1\"]"),
		":1:115: found \"w1\", expected a name with {expert}"},
	{FAMILY("\"spellings\": [\"a.\"]"),
		":1:50: found an odd number of texts, 1, expected pairs: a text in names, and "
		"another "
		"spelling"},
	{FAMILY("\"apart\": {\"a\": {\"layer\": 1, \"expert\": 2}}"),
		":1:52: found 2 loops, expected a loop and its first iteration"},
	{FAMILY("\"apart\": {\"a\": 3}"), ":1:52: \"a\" is a number, expected an object"},
	{FAMILY("\"config\": {\"d_ff\": {\"key\": \"ff\", \"first\": 1}}"),
		":1:79: only indices have a \"first\""},
	{FAMILY("\"config\": {\"d_ff\": {\"key\": \"ff\", \"or_length\": 3}}"),
		":1:83: only a list has an \"or_length\""},
	{FAMILY("\"config\": {\"d_ff\": {\"key\": \"ff\", \"type\": \"indices\", \"or_length\": "
		"3}}"),
		":1:102: only a list has an \"or_length\""},
	{FAMILY("\"config\": {\"d_ff\": {\"key\": \"ff\", \"type\": \"list\", \"others\": "
		"\"is_full\"}}"),
		":1:96: only indices have \"others\""},
	{FAMILY("\"config\": {\"d_ff\": {\"key\": \"ff\", \"type\": \"indices\", \"words\": "
		"[\"full\"]}}"),
		":1:98: only a list has \"words\""},
	{FAMILY("\"config\": {\"d_ff\": {\"key\": \"ff\", \"type\": \"list\", \"of\": "
		"\"d_model\"}}"),
		":1:92: found \"of\": \"d_model\", expected a list of millionths"},
	{FAMILY("\"config\": {\"d_ff\": {\"key\": \"ff\", \"type\": \"times\"}}"),
		":1:56: found no \"of\""},
	{FAMILY("\"config\": {\"d_ff\": {\"key\": \"ff\", \"of\": \"d_model\"}}"),
		":1:76: found \"of\": \"d_model\", expected a list of millionths"},
	{FORWARD("\"x\"", "{\"head\": \"w\"}"), ":1:157: \"x\" is none of the family's tensors"},
	{FORWARD("\"w\"", "{}"), ":1:157: a decoder needs a \"head\""},
	{FORWARD("[\"w\"]", "{\"head\": \"w\"}"),
		":1:344: found 1 names, expected those of a weight and a bias"},
	{FORWARD("{\"weight\": \"w\", \"wen\": 1}", "{\"head\": \"w\"}"),
		":1:367: unknown key \"wen\" (did you mean \"when\"?)"},
	{FEED("{\"down\": \"w\", \"activation\": \"relu\"}", ""),
		":1:249: expected \"down\", and either \"up\" or \"gate_up\" (both in one)"},
	{FEED("{\"down\": \"w\", \"up\": \"w\", \"gate_up\": \"w\", \"activation\": \"relu\"}", ""),
		":1:249: expected \"down\", and either \"up\" or \"gate_up\" (both in one)"},
	{FEED("{\"activation\": \"relu\"}", ""),
		":1:157: expected \"down\" in \"feed_forward\", or \"experts\""},
	{FEED("{\"activation\": \"relu\"}",
		 ", \"experts\": {\"router\": \"w\", \"count\": 2, \"active\": 1, \"up\": \"w\"}"),
		":1:307: expected \"down\", and either \"up\" or \"gate_up\" (both in one)"},
	{FEED("{\"activation\": \"relu\"}",
		 ", \"experts\": {\"router\": \"w\", \"count\": 2, \"active\": 1, \"up\": \"w\", "
		 "\"down\": \"w\", \"shared\": {\"down\": \"w\"}}"),
		":1:382: expected \"down\", and either \"up\" or \"gate_up\" (both in one)"},
	{FEED(PLAIN, ", \"when\": 1"), ":1:157: \"when\" also needs \"only\""},
	{FORWARD_WITH(ONE_MODULE, "encoder", PLAIN, "\"w\"", LAST),
		":1:157: an encoder has a \"head\" in \"masked\" alone"},
	{FORWARD_WITH(ONE_MODULE ", {\"name\": \"b\", \"variant\": \"mha\"}", "decoder", PLAIN,
		 "\"w\"", LAST),
		":1:190: the family has modules \"a\" and \"b\": name one, or make them exclusive "
		"with \"when\""},
	{TENSOR("\"part\": \"norm\", \"when\": \"exprt > 1\", \"for\": {\"expert\": 2}"),
		":1:101: column 1: unknown symbol \"exprt\" (did you mean \"expert\"?)"},
};

/* What reading a family's file with this text says, behind the file's name. */
static void check_family(const char *text, const char *message)
{
	char path[] = "/tmp/attnledger-family-XXXXXX";
	int file = mkstemp(path);
	struct al_catalog *own = al_catalog_create();
	const struct al_forward *forward;
	const struct al_family *family;
	struct al_error err = {0};
	const size_t length = strlen(text);

	assert_true(file >= 0);
	assert_int_equal(write(file, text, length), length);
	close(file);
	assert_false(al_catalog_family(own, path, &family, &err)
		&& al_catalog_forward(own, family, &forward, &err));
	unlink(path);
	assert_memory_equal(err.message, path, strlen(path));
	assert_string_equal(err.message + strlen(path), message);
	assert_int_equal(err.status, AL_EINPUT);
	al_catalog_destroy(own);
}

static void refuses_families(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
		check_family(families[i].text, families[i].message);
}

/* As many keys as one object may have, all unknown, and one more. */
static void differences_are_bounded(void **state)
{
	AL_TEXT(text);

	(void)state;
	al_text_add(&text, "{\"name\": \"f\", \"like\": \"gpt2\"");
	for (int i = 0; i < 1024 - 1; i++)
		al_text_addf(&text, ", \"k%d\": 1", i);
	al_text_add(&text, "}");
	check_family(text.data,
		":1:37: unknown key \"k0\" (known: name, title, model_types, source, components, "
		"config, class, architectures, prefixes, spellings, modules, tensors, apart, "
		"dropout, forward, bare_norms, gguf, hub)");
	text.length--;
	al_text_add(&text, ", \"k\": 1}");
	check_family(text.data, ":1:1: found 1025 differences, expected at most 1024");
}

/* ---- what a config must give ---- */

static void keys_without_defaults_are_asked_for(void **state)
{
	static const struct {
		const char *type, *expected;
	} types[] = {
		{"whole", "a whole number"},
		{"boolean", "true or false"},
		{"word", "a string"},
		{"list", "a list"},
		{"indices", "a list of layers"},
		{"size", "a whole number or an object"},
		{"layers", "a whole number or a pattern"},
		{"millionths", "a decimal"},
		{"entries", "a list"},
		{"times\", \"of\": \"d_model", "a decimal"},
		{"group", "a whole number or -1"},
		{"context", "a whole number"},
	};
	struct test_folder folder;
	char path[256];

	(void)state;
	test_folder_make(&folder);
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		struct al_catalog *own = al_catalog_create();
		struct al_settings settings;
		const struct al_family *family;
		struct al_error err = {0};
		struct al_json doc;
		AL_TEXT(text);
		al_text_addf(&text,
			FAMILY("\"config\": {\"seq\": {\"key\": \"k\", \"type\": \"%s\"}}"),
			types[i].type);
		test_write(test_path(path, &folder, "f.json"), text.data, text.length);
		must(al_catalog_family(own, path, &family, &err)
				&& al_json_parse(&doc, "c.json", "{}", 2, &err),
			&err);
		al_settings_init(&settings, own);
		assert_false(al_family_settings(family, &doc, doc.root, "c.json", &settings, &err));
		assert_string_equal(err.message,
			al_format(&settings.arena, "c.json:1:1: key \"k\" is missing, expected %s",
				types[i].expected));
		al_settings_finish(&settings);
		al_json_finish(&doc);
		al_catalog_destroy(own);
	}
	test_folder_remove(&folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_model_has_a_context),
		cmocka_unit_test(families_say_their_context),
		cmocka_unit_test(refuses_configs),
		cmocka_unit_test(patterns_are_lists),
		cmocka_unit_test(components_have_symbols_of_their_own),
		cmocka_unit_test(a_config_may_lack_a_tower_but_no_text),
		cmocka_unit_test(refuses_families),
		cmocka_unit_test(differences_are_bounded),
		cmocka_unit_test(keys_without_defaults_are_asked_for),
		cmocka_unit_test(a_part_is_of_a_default),
		cmocka_unit_test(a_config_gives_symbols),
		cmocka_unit_test(lists_hold_words_numbers_and_booleans),
		cmocka_unit_test(keys_may_be_nested_null_or_layers),
		cmocka_unit_test(objects_in_an_array_and_decimals),
		cmocka_unit_test(synonyms_count_in_their_order),
		cmocka_unit_test(lists_what_it_ignores),
		cmocka_unit_test(a_config_finds_its_family),
		cmocka_unit_test(an_unknown_model_type_is_not_guessed),
		cmocka_unit_test(totals_are_the_published_ones),
		cmocka_unit_test(equal_tensors_are_one_entry),
		cmocka_unit_test(names_count_the_loops),
		cmocka_unit_test(parts_leave_out_tied_tensors_and_buffers),
		cmocka_unit_test(what_is_not_part_of_the_model_is_counted_by_itself),
		cmocka_unit_test(experts_are_active_in_part),
		cmocka_unit_test(tensor_lists_are_bounded),
	};

	return cmocka_run_group_tests(tests, create_catalog, destroy_catalog);
}
