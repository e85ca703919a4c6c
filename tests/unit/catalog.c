/* The catalog: every built-in loads, and each thing that the grammar refuses gets its message. */
#include "with_catalog.h"

#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "catalog/family.h"
#include "catalog/family_names.h"
#include "catalog/read.h"
#include "support/folder.h"

/* ---- built-ins ---- */

static void assert_text(const char *text)
{
	assert_non_null(text);
	assert_true(*text);
}

static void every_variant_loads_and_has_a_check(void **state)
{
	const struct al_embedded_list *list = al_catalog_files(AL_CATALOG_VARIANTS);
	struct al_error err = {0};

	(void)state;
	for (size_t i = 0; i < list->n_files; i++) {
		const struct al_variant *variant;
		must(al_catalog_variant(catalog, list->files[i].name, &variant, &err), &err);
		assert_string_equal(variant->name, list->files[i].name);
		assert_string_equal(variant->file, "built-in");
		assert_text(variant->title);
		assert_text(variant->source);
		assert_true(variant->n_checks > 0);
	}
}

static void every_family_loads_with_its_own_defaults(void **state)
{
	const struct al_embedded_list *list = al_catalog_files(AL_CATALOG_FAMILIES);
	struct al_error err = {0};

	(void)state;
	for (size_t i = 0; i < list->n_files; i++) {
		const struct al_family *family, *again;
		must(al_catalog_family(catalog, list->files[i].name, &family, &err), &err);
		assert_string_equal(family->name, list->files[i].name);
		assert_text(family->source);
		for (size_t j = 0; j < family->model_types.n; j++) {
			must(al_catalog_family_of(catalog, family->model_types.items[j], &again,
				     &err),
				&err);
			assert_ptr_equal(again, family);
		}
	}
}

/* A user's files are checked when they are read. */
static void every_family_is_checked(void **state)
{
	const struct al_embedded_list *list = al_catalog_files(AL_CATALOG_FAMILIES);
	struct al_symbols standard;
	struct al_error err = {0};
	struct al_arena arena;

	(void)state;
	al_arena_init(&arena);
	must(al_symbols_load(&arena, &standard, &err), &err);
	const struct al_composition composition = {.catalog = catalog, .standard = &standard};
	for (size_t i = 0; i < list->n_files; i++) {
		struct al_family *family;
		struct al_json doc;
		must(al_catalog_family_document(catalog, list->files[i].name, &doc, &err), &err);
		must(al_family_read(&arena, &doc, &composition, NULL, &family, &err)
				&& al_family_check(family, &doc, catalog, &err),
			&err);
		al_json_finish(&doc);
	}
	al_arena_finish(&arena);
}

/* Families of a file are ranked by it before they are parsed. */
static void every_family_lists_as_many_tensors_as_its_text_names(void **state)
{
	const struct al_embedded_list *list = al_catalog_files(AL_CATALOG_FAMILIES);
	const struct al_family_names *names = al_catalog_family_names(catalog);
	struct al_error err = {0};

	(void)state;
	for (size_t i = 0; i < list->n_files; i++) {
		const struct al_family *family;
		size_t n = 0;
		must(al_catalog_family(catalog, list->files[i].name, &family, &err), &err);
		for (size_t k = 0; k < names[i].n; k++)
			n += names[i].items[k].bearer == AL_NAME_TENSOR;
		if (n != family->n_tensors)
			fail_msg("%s: %zu tensors, its text names %zu", family->name,
				family->n_tensors, n);
	}
}

static void every_recipe_loads(void **state)
{
	const struct al_embedded_list *list = al_catalog_files(AL_CATALOG_RECIPES);
	struct al_error err = {0};

	(void)state;
	for (size_t i = 0; i < list->n_files; i++) {
		const struct al_recipe *recipe;
		must(al_catalog_recipe(catalog, list->files[i].name, &recipe, &err), &err);
		assert_string_equal(recipe->name, list->files[i].name);
		assert_text(recipe->title);
		assert_text(recipe->source);
	}
}

static void every_model_gives_its_symbols(void **state)
{
	const struct al_embedded_list *list = al_catalog_files(AL_CATALOG_MODELS);
	struct al_error err = {0};

	(void)state;
	for (size_t i = 0; i < list->n_files; i++) {
		const struct al_model *model;
		const struct al_setting *setting;
		struct al_settings settings;
		must(al_catalog_model(catalog, list->files[i].name, &model, &err), &err);
		assert_string_equal(model->name, list->files[i].name);
		assert_text(model->title);
		assert_text(model->source);
		char year[8];
		snprintf(year, sizeof(year), "%lld", (long long)model->year);
		assert_non_null(strstr(model->source, year));
		al_settings_init(&settings, catalog);
		must(al_model_settings(model, catalog, &settings, &err), &err);
		must(al_settings_get(&settings, "d_head", &setting, &err), &err);
		assert_non_null(setting);
		assert_true(setting->value.integer > 0);
		al_settings_finish(&settings);
	}
}

static void symbols_have_latex(void **state)
{
	size_t n;
	const struct al_symbol *symbols = al_catalog_symbols(catalog, &n);

	(void)state;
	assert_true(n > 10);
	assert_string_equal(symbols[0].name, "d_model");
	for (size_t i = 0; i < n; i++) {
		assert_text(symbols[i].latex);
		assert_text(symbols[i].title);
	}
	assert_string_equal(al_catalog_latex(catalog, "n_heads"), "n");
	assert_string_equal(al_catalog_latex(catalog, "q_bits"), "q_\\mathrm{bits}");
	assert_string_equal(al_catalog_latex(catalog, "R_K"), "R_K");
	assert_string_equal(al_catalog_latex(catalog, "a_b_c"), "\\mathit{a\\_b\\_c}");
	assert_string_equal(al_catalog_latex(catalog, "n"), "n");
}

static void reads_a_recipe(void **state)
{
	const struct al_recipe *recipe;
	struct al_error err = {0};

	(void)state;
	assert_true(al_catalog_recipe(catalog, "smith2022", &recipe, &err));
	assert_int_equal(recipe->weights.total, 6);
	assert_int_equal(recipe->weights.n_parts, 2);
	assert_int_equal(recipe->weights.parts[1].bytes, 4);
	assert_int_equal(recipe->optimizer.total, 8);
	assert_string_equal(al_formula_source(recipe->activations_per_token), "2*d_model");
}

static void loads_once(void **state)
{
	const struct al_variant *first, *second;
	struct al_error err = {0};

	(void)state;
	assert_true(al_catalog_variant(catalog, "mha", &first, &err));
	assert_true(al_catalog_variant(catalog, "mha", &second, &err));
	assert_ptr_equal(first, second);
}

/* ---- one entry ---- */

static void reads_an_entry_whole(void **state)
{
	static const char text[] =
		"{\"name\": \"v\", \"options\": {\"big\": true}, \"symbols\": {\"n_experts\": "
		"\"experts\"},"
		" \"tensors\": [{\"name\": \"E\", \"role\": \"gate\", \"shape\": [\"d_model\", 4],"
		" \"kind\": \"norm\", \"count\": \"n_experts\", \"active\": 2, \"per\": \"group\","
		" \"when\": \"big and layer > 0\", \"fixed\": true}],"
		" \"cache\": [{\"name\": \"K\", \"shape\": [3], \"per\": \"source_token\","
		" \"tokens\": \"min(seq, window)\", \"dtype\": \"f32\"}],"
		" \"activations\": [{\"name\": \"p\", \"shape\": [\"n_heads\"], \"per\": \"pair\","
		" \"saved\": \"eager\", \"bytes\": 1}],"
		" \"products\": [{\"name\": \"q\", \"left\": [\"seq\", 2], \"right\": [2, 3], "
		"\"count\": 5}]}";
	struct al_arena arena;
	struct al_json doc;
	struct al_variant *variant;
	struct al_error err = {0};

	(void)state;
	al_arena_init(&arena);
	assert_true(al_json_parse(&doc, "v.json", text, strlen(text), &err));
	must(al_variant_parse(&arena, &doc, doc.root, "v.json", &variant, &err), &err);
	al_json_finish(&doc);

	const struct al_entry *tensor = &variant->tensors.items[0];
	assert_int_equal(tensor->role, AL_ROLE_GATE);
	assert_int_equal(tensor->kind, AL_TENSOR_NORM);
	assert_int_equal(tensor->per, AL_PER_GROUP);
	assert_true(tensor->is_fixed);
	assert_string_equal(al_formula_source(tensor->shape.dims[1]), "4");
	assert_string_equal(al_formula_source(tensor->active), "2");
	assert_string_equal(al_formula_source(tensor->when), "big and layer > 0");
	assert_int_equal(variant->cache.items[0].per, AL_PER_SOURCE_TOKEN);
	assert_string_equal(variant->cache.items[0].dtype, "f32");
	assert_int_equal(variant->activations.items[0].per, AL_PER_PAIR);
	assert_int_equal(variant->activations.items[0].saved, AL_SAVED_EAGER);
	assert_int_equal(variant->activations.items[0].bytes, 1);
	assert_int_equal(variant->products.items[0].right.n_dims, 2);
	assert_string_equal(variant->title, "v");
	al_arena_finish(&arena);
}

static void an_entry_has_defaults(void **state)
{
	const struct al_variant *variant;
	struct al_error err = {0};

	(void)state;
	assert_true(al_catalog_variant(catalog, "mha", &variant, &err));
	assert_int_equal(variant->tensors.items[0].kind, AL_TENSOR_WEIGHT);
	assert_int_equal(variant->tensors.items[0].per, AL_PER_MODULE);
	assert_int_equal(variant->cache.items[0].per, AL_PER_TOKEN);
	assert_int_equal(variant->activations.items[0].per, AL_PER_TOKEN);
	assert_int_equal(variant->activations.items[0].saved, AL_SAVED_ALWAYS);
	assert_null(variant->tensors.items[0].count);
	assert_null(variant->tensors.items[0].when);
	assert_null(variant->cache.items[0].dtype);
}

/* ---- refusals ---- */

#define TENSORS(list) "{\"name\": \"v\", \"tensors\": [" list "]}"
#define WITH(more) "{\"name\": \"v\", \"tensors\": [], " more "}"
#define DELTA(inputs) \
	"\"delta\": {\"inputs\": [" inputs "], \"taps\": [\"W\", \"W\", \"W\"], \"beta\": " \
	"\"W\", \"alpha\": \"W\", \"step\": \"W\", \"rate\": \"W\", \"norm\": \"W\", " \
	"\"gate\": \"W\", \"output\": \"W\"}"
#define ACROSS(norm) "\"across\": {\"norm\": [" norm "], \"weight\": \"W\", \"bias\": \"W\"}"
#define CONVOLUTION(inputs) \
	"\"convolution\": {\"inputs\": [" inputs "], \"taps\": \"W\", \"gate\": \"W\", " \
	"\"output\": \"W\"}"
#define TENSOR(more) TENSORS("{\"name\": \"W\", \"role\": \"query\", " more "}")

static const struct refusal {
	const char *text, *message;
} variants[] = {
	{"[]", "v.json:1:1: found an array, expected an object"},
	{"{\"tensors\": []}", "v.json:1:1: key \"name\" is missing"},
	{"{\"name\": \"v\"}", "v.json:1:1: key \"tensors\" is missing"},
	{"{\"name\": 3, \"tensors\": []}", "v.json:1:10: \"name\" is a number, expected a string"},
	{WITH("\"titel\": \"x\""), "v.json:1:39: unknown key \"titel\" (did you mean \"title\"?)"},
	{WITH("\"cache\": {}"), "v.json:1:39: \"cache\" is an object, expected an array"},
	{TENSORS("3"), "v.json:1:27: found a number, expected an object"},
	{TENSORS("{\"name\": \"W\", \"shape\": [1]}"), "v.json:1:27: key \"role\" is missing"},
	{TENSORS("{\"name\": \"W\", \"role\": \"qeury\", \"shape\": [1]}"),
		"v.json:1:49: unknown role \"qeury\" (did you mean \"query\"?)"},
	{TENSOR("\"shap\": [1]"), "v.json:1:66: unknown key \"shap\" (did you mean \"shape\"?)"},
	{TENSOR("\"kind\": \"weight\""), "v.json:1:27: key \"shape\" is missing"},
	{TENSOR("\"shape\": []"), "v.json:1:67: the list of dimensions is empty"},
	{TENSOR("\"shape\": [1,1,1,1,1,1,1,1,1]"),
		"v.json:1:67: \"shape\" has 9 dimensions, expected at most 8"},
	{TENSOR("\"shape\": \"d_model\""), "v.json:1:67: \"shape\" is a string, expected an array"},
	{TENSOR("\"shape\": [\"d_modle*2\"]"),
		"v.json:1:68: column 1: unknown symbol \"d_modle\" (did you mean \"d_model\"?)"},
	{TENSOR("\"shape\": [\"2*d_head + q_rnk\"]"),
		"v.json:1:68: column 12: unknown symbol \"q_rnk\" (did you mean \"q_rank\"?)"},
	{TENSOR("\"shape\": [\"d_model*\"]"),
		"v.json:1:68: column 9: the formula ends, expected a number, a symbol or \"(\""},
	{TENSOR("\"shape\": [true]"), "v.json:1:68: found true or false, expected a string"},
	{TENSOR("\"shape\": [1.5]"), "v.json:1:68: found 1.5, expected a whole number"},
	{TENSOR("\"shape\": [-1]"), "v.json:1:68: found -1, expected 0 or more"},
	{TENSOR("\"shape\": [9007199254740992]"),
		"v.json:1:68: the number is too large to be exact (2^53 or more)"},
	{TENSOR("\"shape\": [1], \"kind\": \"wieght\""),
		"v.json:1:80: unknown kind \"wieght\" (did you mean \"weight\"?)"},
	{TENSOR("\"shape\": [1], \"per\": \"token\""),
		"v.json:1:79: unknown per \"token\" (known: module, layer, group, model)"},
	{"{\"name\": \"v\", \"options\": {\"bias\": true}, \"tensors\": [{\"name\": \"W\", "
	 "\"role\": \"key\", \"shape\": [1], \"when\": \"biases\"}]}",
		"v.json:1:105: column 1: unknown symbol \"biases\" (did you mean \"bias\"?)"},
	{TENSOR("\"shape\": [1], \"fixed\": 1"),
		"v.json:1:81: \"fixed\" is a number, expected true or false"},
	{TENSOR("\"shape\": [1], \"tokens\": \"seq\""),
		"v.json:1:82: unknown key \"tokens\" (known: name, role, shape, kind, "
		"count, active, per, when, fixed, factor, down, gain, head_width, common, scores)"},
	{TENSOR("\"shape\": [1], \"factor\": \"qeury\""),
		"v.json:1:82: unknown factor \"qeury\" (did you mean \"query\"?)"},
	{TENSOR("\"shape\": [1], \"factor\": \"key\", \"kind\": \"norm\""),
		"v.json:1:82: a norm can't be a factor of heads; expected a weight or a bias"},
	{TENSOR("\"shape\": [1], \"factor\": \"key\", \"common\": true"),
		"v.json:1:99: a factor is split into heads and can't be shared by all"},
	{TENSOR("\"shape\": [1], \"factor\": \"value\", \"scores\": true"),
		"v.json:1:101: a factor of heads can't affect only their scores"},
	{TENSOR("\"shape\": [1], \"down\": \"W\""), "v.json:1:80: \"down\" also needs \"factor\""},
	{TENSOR("\"shape\": [1], \"factor\": \"key\", \"gain\": \"W\""),
		"v.json:1:97: \"gain\" also needs \"down\""},
	{TENSOR("\"shape\": [1], \"head_width\": 2"),
		"v.json:1:86: \"head_width\" also needs \"factor\""},
	{TENSOR("\"shape\": [1], \"factor\": \"key\", \"down\": \"V\""),
		"v.json:1:97: unknown tensor \"V\" (did you mean \"W\"?)"},
	{TENSORS("{\"name\": \"A\", \"role\": \"key\", \"shape\": [1], \"factor\": \"key\"},"
		 "{\"name\": \"B\", \"role\": \"key\", \"shape\": [1], \"factor\": \"key\", "
		 "\"when\": 1}"),
		"v.json:1:140: A and B are both the factor \"key\", without conditions that "
		"distinguish them"},
	{TENSORS("{\"name\": \"W\", \"role\": \"key\", \"shape\": [1]},"
		 "{\"name\": \"W\", \"role\": \"key\", \"shape\": [2]}"),
		"v.json:1:70: \"W\" appears twice in \"tensors\", without conditions that "
		"distinguish them"},
	{WITH("\"pass\": {\"query\": {}, \"key\": {}}"),
		"v.json:1:38: expected \"query\", \"key\", \"value\" and \"output\", or \"delta\" "
		"or \"convolution\" alone"},
	{WITH("\"pass\": {\"output\": {}, " DELTA("\"W\", \"W\", \"W\"") "}"),
		"v.json:1:38: expected \"query\", \"key\", \"value\" and \"output\", or \"delta\" "
		"or \"convolution\" alone"},
	{WITH("\"pass\": {" DELTA("\"W\", \"W\"") "}"),
		"v.json:1:48: found 2 names in \"inputs\" and 3 in \"taps\", expected those of "
		"queries, keys and values in both"},
	{WITH("\"pass\": {" DELTA("\"W\", \"W\", \"V\"") "}"),
		"v.json:1:38: \"W\" is none of the variant's tensors"},
	{WITH("\"pass\": {" ACROSS("\"W\", \"W\", \"W\"") "}"),
		"v.json:1:58: found 3 names, expected those of scale, bias, mean and variance"},
	{WITH("\"pass\": {" ACROSS("\"W\", \"W\", \"W\", \"W\", \"W\"") "}"),
		"v.json:1:58: found 5 names, expected those of scale, bias, mean and variance"},
	{WITH("\"pass\": {" ACROSS("\"W\", \"W\", \"W\", \"W\"") "}"),
		"v.json:1:38: expected \"query\", \"key\", \"value\" and \"output\", or \"delta\" "
		"or \"convolution\" alone"},
	{WITH("\"pass\": {" CONVOLUTION("\"W\"") "}"),
		"v.json:1:54: expected two names in \"inputs\", of what is multiplied"},
	{WITH("\"pass\": {" CONVOLUTION("\"W\", \"W\"") ", " DELTA("\"W\", \"W\", \"W\"") "}"),
		"v.json:1:38: expected \"delta\" or \"convolution\", not both"},
	{WITH("\"cache\": [{\"name\": \"K\", \"shape\": [1], \"per\": \"tokn\"}]"),
		"v.json:1:75: unknown per \"tokn\" (did you mean \"token\"?)"},
	{WITH("\"activations\": [{\"name\": \"x\", \"shape\": [1], \"bytes\": 0}]"),
		"v.json:1:83: found 0, expected 1 or more"},
	{WITH("\"activations\": [{\"name\": \"x\", \"shape\": [1], \"saved\": \"flsh\"}]"),
		"v.json:1:83: unknown saved \"flsh\" (did you mean \"flash\"?)"},
	{WITH("\"products\": [{\"name\": \"x\", \"left\": [1, 2], \"right\": [2]}]"),
		"v.json:1:82: \"right\" has 1 dimension, expected 2"},
	{WITH("\"products\": [{\"name\": \"x\", \"left\": [1, 2]}]"),
		"v.json:1:43: key \"right\" is missing"},
	{WITH("\"tp\": {\"n_haeds\": \"divided\"}"),
		"v.json:1:48: unknown key \"n_haeds\" (did you mean \"n_heads\"?)"},
	{WITH("\"tp\": {\"n_heads\": \"devided\"}"),
		"v.json:1:48: unknown n_heads \"devided\" (did you mean \"divided\"?)"},
	{WITH("\"tp\": {\"n_heads\": 2}"),
		"v.json:1:48: \"n_heads\" is a number, expected a string"},
	{WITH("\"options\": {\"d_model\": true}"),
		"v.json:1:53: option \"d_model\" is a symbol already"},
	{WITH("\"options\": {\"biases\": 1}"),
		"v.json:1:52: \"biases\" is a number, expected true or false"},
	{WITH("\"symbols\": {\"a-b\": \"x\"}"),
		"v.json:1:49: found \"a-b\", expected a symbol's name (letters, digits and _)"},
	{WITH("\"symbols\": {\"min\": \"x\"}"),
		"v.json:1:49: found \"min\", expected a symbol's name (letters, digits and _)"},
	{WITH("\"symbols\": {\"a\": 1}"), "v.json:1:47: \"a\" is a number, expected a string"},
	{WITH("\"checks\": [{}]"),
		"v.json:1:41: expected either \"source\" (a published number) or "
		"\"derived\" (why there is none)"},
	{WITH("\"checks\": [{\"source\": \"a\", \"derived\": \"b\"}]"),
		"v.json:1:41: expected either \"source\" (a published number) or "
		"\"derived\" (why there is none)"},
	{WITH("\"checks\": [{\"source\": \"a\"}]"),
		"v.json:1:41: a check with a source needs \"parameters\" or \"cache\""},
	{WITH("\"checks\": [{\"source\": \"a\", \"parameters\": 1, \"with\": {\"d_modl\": 1}}]"),
		"v.json:1:93: unknown key \"d_modl\" (did you mean \"d_model\"?)"},
	{WITH("\"checks\": [{\"source\": \"a\", \"parameters\": 1, \"with\": {\"d_model\": -1}}]"),
		"v.json:1:94: found -1, expected 0 or more"},
};

static void refuses_variants(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(variants) / sizeof(*variants); i++) {
		const char *text = variants[i].text;
		struct al_arena arena;
		struct al_variant *variant;
		struct al_json doc;
		struct al_error err = {0};
		al_arena_init(&arena);
		must(al_json_parse(&doc, "v.json", text, strlen(text), &err), &err);
		assert_false(al_variant_parse(&arena, &doc, doc.root, "v.json", &variant, &err));
		assert_string_equal(err.message, variants[i].message);
		assert_int_equal(err.status, AL_EINPUT);
		al_json_finish(&doc);
		al_arena_finish(&arena);
	}
}

/* ---- by name and by path ---- */

typedef bool find_item(const char *name, struct al_error *err);

static bool find_variant(const char *name, struct al_error *err)
{
	const struct al_variant *variant;

	return al_catalog_variant(catalog, name, &variant, err);
}

static bool find_recipe(const char *name, struct al_error *err)
{
	const struct al_recipe *recipe;

	return al_catalog_recipe(catalog, name, &recipe, err);
}

static bool find_model(const char *name, struct al_error *err)
{
	const struct al_model *model;

	return al_catalog_model(catalog, name, &model, err);
}

static bool find_family(const char *name, struct al_error *err)
{
	const struct al_family *family;

	return al_catalog_family(catalog, name, &family, err);
}

/* A recipe that is like `other`. */
static void check_like(const char *other, const char *message)
{
	struct test_folder folder;
	char path[256];
	struct al_error err = {0};
	AL_TEXT(text);

	al_text_addf(&text,
		"{\"name\": \"r\", \"like\": \"%s\", \"weights\": [2], \"gradients\": [], "
		"\"optimizer\": [4], \"activations\": {\"ledger\": \"flash\"}}",
		other);
	test_folder_make(&folder);
	test_write(test_path(path, &folder, "r.json"), text.data, text.length);
	assert_int_equal(find_recipe(path, &err), !message);
	test_folder_remove(&folder);
	if (message)
		assert_string_equal(err.message, message);
}

static void recipes_are_like_one_with_a_working_set(void **state)
{
	(void)state;
	check_like("bf16", NULL);
	check_like("fp32", "recipe r: like: recipe fp32 has no working set of its own");
	check_like("smith2022", "recipe r: like: recipe smith2022 has no working set of its own");
	check_like("smith2020",
		"recipe r: like: unknown recipe \"smith2020\" (did you mean \"smith2022\"?)");
}

static const struct {
	find_item *find;
	const char *name, *message;
} unknown[] = {
	{find_variant, "mhe-mull", "unknown variant \"mhe-mull\" (did you mean \"mhe-mul\"?)"},
	{find_recipe, "smith2023", "unknown recipe \"smith2023\" (did you mean \"smith2022\"?)"},
	{find_model, "bert_base", "unknown model \"bert_base\" (did you mean \"bert-base\"?)"},
	{find_family, "bet", "unknown family \"bet\" (did you mean \"bert\"?)"},
	{find_variant, "no/such.json", "no/such.json: can't open: No such file or directory"},
	{find_variant, "none.json", "none.json: can't open: No such file or directory"},
	{find_variant, "tests/data/", "tests/data/: is a directory, expected a file"},
	{find_model, "tests/data",
		"tests/data: contains no config.json; give a model's folder, its config.json or a "
		"name from `list models`"},
	{find_model, "src/catalog/variants/mha.json",
		"src/catalog/variants/mha.json:5:11: unknown key \"idea\" (known: name, "
		"title, source, year, symbols, family, config)"},
	{find_variant, "src/catalog/models/bert-base.json",
		"src/catalog/models/bert-base.json:5:11: unknown key \"year\" (known: name, "
		"title, source, idea, symbols, options, defaults, tp, tensors, cache, activations, "
		"products, "
		"pass, checks)"},
};

static void unknown_names_and_paths(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++) {
		struct al_error err = {0};
		assert_false(unknown[i].find(unknown[i].name, &err));
		assert_string_equal(err.message, unknown[i].message);
	}
}

static void a_path_is_not_a_built_in(void **state)
{
	const struct al_variant *built_in, *own;
	struct al_error err = {0};

	(void)state;
	assert_true(al_catalog_variant(catalog, "mha", &built_in, &err));
	assert_true(al_catalog_variant(catalog, "src/catalog/variants/mha.json", &own, &err));
	assert_ptr_not_equal(built_in, own);
	assert_string_equal(own->file, "src/catalog/variants/mha.json");
	assert_string_equal(own->name, built_in->name);
	assert_int_equal(own->tensors.n, built_in->tensors.n);
}

#define RECIPE(rule) \
	"{\"name\": \"r\", \"weights\": [2], \"gradients\": [], \"optimizer\": [4], " rule "}"
#define MODEL(more) "{\"name\": \"m\", " more "}"

/* The message stands behind the file's name. */
static const struct {
	find_item *find;
	const char *text, *message;
} files[] = {
	{find_recipe, "{\"name\": \"r\"}", ":1:1: key \"weights\" is missing"},
	{find_recipe, RECIPE("\"activations\": {\"per_token\": \"2*d_model\"}, \"working\": []"),
		":1:120: \"working\" needs \"activations\" with \"ledger\""},
	{find_recipe,
		RECIPE("\"activations\": {\"ledger\": \"eager\"}, \"working\": [{\"name\": \"x\", "
		       "\"bytes\": \"2*token\", \"source\": \"y\"}]"),
		":1:137: column 3: unknown symbol \"token\" (did you mean \"tokens\"?)"},
	{find_recipe,
		RECIPE("\"activations\": {\"ledger\": \"eager\"}, \"working\": [{\"name\": \"x\", "
		       "\"bytes\": 1}]"),
		":1:114: key \"source\" is missing"},
	{find_recipe, RECIPE("\"activation\": {}"),
		":1:80: unknown key \"activation\" (did you mean \"activations\"?)"},
	{find_recipe, RECIPE("\"activations\": {}"),
		":1:81: expected either \"per_token\" (a formula) or \"ledger\" (eager or "
		"flash)"},
	{find_recipe, RECIPE("\"activations\": {\"per_token\": \"2*n_haeds\"}"),
		":1:95: column 3: unknown symbol \"n_haeds\" (did you mean \"n_heads\"?)"},
	{find_recipe, RECIPE("\"activations\": {\"per_token\": 2, \"ledger\": \"eager\"}"),
		":1:81: expected either \"per_token\" (a formula) or \"ledger\" (eager or "
		"flash)"},
	{find_recipe, RECIPE("\"activations\": {\"ledger\": \"eger\"}"),
		":1:92: unknown ledger \"eger\" (did you mean \"eager\"?)"},
	{find_recipe, RECIPE("\"activations\": {\"ledger\": \"eager\", \"bytes\": 0}"),
		":1:110: found 0, expected 1 or more"},
	{find_recipe, "{\"name\": \"r\", \"weights\": [2, -1]}",
		":1:30: found -1, expected 0 or more"},
	{find_recipe, "{\"name\": \"r\", \"weights\": [1,1,1,1,1,1,1,1,1]}",
		":1:26: \"weights\" has 9 parts, expected at most 8"},
	{find_recipe, "{\"name\": \"r\", \"weights\": [2048]}",
		":1:27: found 2048 bytes per parameter, expected at most 1024"},
	{find_model, "[]", ":1:1: found an array, expected an object"},
	{find_model, "{\"model_type\": 3}", ":1:16: \"model_type\" is a number, expected a string"},
	{find_model, "{\"model_type\": \"berd\"}",
		":1:16: unsupported model_type \"berd\": no built-in family matches it; add one "
		"with --families FILE"},
	{find_model, MODEL("\"titel\": \"x\""),
		":1:24: unknown key \"titel\" (did you mean \"title\"?)"},
	{find_model, MODEL("\"title\": \"x\""),
		":1:1: expected either \"symbols\", or \"family\" and \"config\""},
	{find_model, MODEL("\"symbols\": {}, \"family\": \"bert\""),
		":1:1: expected either \"symbols\", or \"family\" and \"config\""},
	{find_model, MODEL("\"family\": \"bert\""), ":1:1: key \"config\" is missing"},
	{find_model, MODEL("\"symbols\": {\"d_model\": 7.5}"),
		":1:38: found 7.5, expected a whole number"},
	{find_model, MODEL("\"symbols\": {\"d_model\": -7}"),
		":1:38: found -7, expected 0 or more"},
	{find_model, MODEL("\"symbols\": {\"d model\": 7}"),
		":1:38: found \"d model\", expected a symbol's name (letters, digits and _)"},
};

static void refuses_recipes_and_models(void **state)
{
	char path[] = "/tmp/attnledger-catalog-XXXXXX";
	int file = mkstemp(path);

	(void)state;
	assert_true(file >= 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		size_t length = strlen(files[i].text);
		struct al_error err = {0};
		assert_int_equal(ftruncate(file, 0), 0);
		assert_int_equal(pwrite(file, files[i].text, length, 0), length);
		assert_false(files[i].find(path, &err));
		assert_memory_equal(err.message, path, strlen(path));
		assert_string_equal(err.message + strlen(path), files[i].message);
		assert_int_equal(err.status, AL_EINPUT);
	}
	close(file);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_variant_loads_and_has_a_check),
		cmocka_unit_test(every_family_loads_with_its_own_defaults),
		cmocka_unit_test(every_family_is_checked),
		cmocka_unit_test(every_family_lists_as_many_tensors_as_its_text_names),
		cmocka_unit_test(every_recipe_loads),
		cmocka_unit_test(every_model_gives_its_symbols),
		cmocka_unit_test(symbols_have_latex),
		cmocka_unit_test(reads_a_recipe),
		cmocka_unit_test(loads_once),
		cmocka_unit_test(reads_an_entry_whole),
		cmocka_unit_test(an_entry_has_defaults),
		cmocka_unit_test(refuses_variants),
		cmocka_unit_test(recipes_are_like_one_with_a_working_set),
		cmocka_unit_test(unknown_names_and_paths),
		cmocka_unit_test(a_path_is_not_a_built_in),
		cmocka_unit_test(refuses_recipes_and_models),
	};

	return cmocka_run_group_tests(tests, create_catalog, destroy_catalog);
}
