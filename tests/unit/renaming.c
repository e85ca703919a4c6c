/* Names are names: a family whose modules and tensors are all called otherwise, one consistent new
 * name for each, has the same counts, memory and caches, and so has a variant whose tensors, cache,
 * activations and products are. What a number hangs on is said by a key of the file. */
#include "unit.h"

#include "complete_family.h"

#include "base/text.h"
#include "ledger/infer.h"
#include "ledger/train.h"
#include "support/folder.h"

static const char list_path[] = "tests/data/models.json";
static const char shapes_path[] = "tests/data/odd-shapes.json";

static struct al_catalog *catalog;
static struct test_folder folder;

static int set_up(void **state)
{
	(void)state;
	catalog = al_catalog_create();
	test_folder_make(&folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	test_folder_remove(&folder);
	al_catalog_destroy(catalog);
	return 0;
}

static void must(bool ok, const struct al_error *err)
{
	if (!ok)
		fail_msg("%s", err->message);
}

/* ---- a file with other names ---- */

/* The old names; the new one of names[i] is "n" and i, with the old one's loop variables. */
struct names {
	struct al_arena arena;
	const char **items;
	size_t n, room;
};

/* Is it a new one? */
static bool add_name(struct names *names, const char *name)
{
	if (al_find_name(name, names->items, names->n) >= 0)
		return false;
	names->items = al_grow(&names->arena, names->items, names->n, &names->room,
		sizeof(*names->items));
	names->items[names->n++] = al_strdup(&names->arena, name);
	return true;
}

static void collect_names(struct names *names, const struct al_json *doc,
	const struct al_item *list)
{
	struct al_error err = {0};

	al_json_each (node, list) {
		const char *name;
		must(al_json_get_text(doc, node, "name", true, &name, &err), &err);
		add_name(names, name);
		collect_names(names, doc, al_json_get(node, "stored"));
	}
}

static void add_new_name(struct al_text *out, const char *name, size_t index)
{
	al_text_addf(out, "\"n%zu", index);
	for (const char *p = name; (p = strchr(p, '{')); p++) {
		al_text_add(out, ".");
		al_text_add_bytes(out, p, strcspn(p, "}") + 1);
	}
	al_text_add(out, "\"");
}

/* The keys whose values are names of the file's own, and what "forward" calls its tensors; there a
 * name may stand in a list beside its bias. */
static const char *const naming_keys[] = {"name", "tied_to", "before", "down", "gain", "scale",
	"tokens", "project_tokens", "positions", "types", "norm", "project", "behind", "sum",
	"query_norm", "key_norm", "gate", "up", "gate_up", "head", "weight", "bias", "otherwise",
	"sinks", "router", "of", "times", "add", "content", "beta", "alpha", "step", "rate",
	"output", "learned", "taps"};

static void add_renamed_text(struct al_text *out, const struct names *names,
	const struct al_json *doc, const struct al_item *node)
{
	const char *key = al_json_key(node);
	struct al_error err = {0};
	const char *text;
	int index = -1;

	must(al_json_text(doc, node, &text, &err), &err);
	if (!key || al_find_name(key, naming_keys, sizeof(naming_keys) / sizeof(*naming_keys)) >= 0)
		index = al_find_name(text, names->items, names->n);
	if (index >= 0)
		add_new_name(out, text, (size_t)index);
	else
		al_json_quote(out, text);
}

static void add_renamed(struct al_text *out, const struct names *names, const struct al_json *doc,
	const struct al_item *node)
{
	const bool is_object = al_json_kind(node) == AL_JSON_OBJECT;
	struct al_error err = {0};
	const char *comma = "";
	double number;
	bool truth;

	switch (al_json_kind(node)) {
	case AL_JSON_TEXT:
		add_renamed_text(out, names, doc, node);
		return;
	case AL_JSON_NUMBER:
		must(al_json_real(doc, node, &number, &err), &err);
		al_text_addf(out, "%.17g", number);
		return;
	case AL_JSON_BOOLEAN:
		must(al_json_boolean(doc, node, &truth, &err), &err);
		al_text_add(out, truth ? "true" : "false");
		return;
	case AL_JSON_NULL:
		al_text_add(out, "null");
		return;
	default:
		break;
	}
	al_text_add(out, is_object ? "{" : "[");
	al_json_each (child, node) {
		al_text_add(out, comma);
		if (is_object) {
			al_json_quote(out, al_json_key(child));
			al_text_add(out, ":");
		}
		add_renamed(out, names, doc, child);
		comma = ",";
	}
	al_text_add(out, is_object ? "}" : "]");
}

/* Writes a catalog file whose entries in `lists` (up to NULL) are called otherwise. */
static void write_renamed(const char *path, const char *name, const char *text,
	const char *const *lists)
{
	struct al_error err = {0};
	struct names names = {0};
	struct al_json doc;
	struct al_text out;

	al_arena_init(&names.arena);
	al_text_init(&out);
	must(al_json_parse(&doc, name, text, strlen(text), &err), &err);
	for (; *lists; lists++)
		collect_names(&names, &doc, al_json_get(doc.root, *lists));
	add_renamed(&out, &names, &doc, doc.root);
	test_write(path, out.data, out.length);
	al_json_finish(&doc);
	al_text_finish(&out);
	al_arena_finish(&names.arena);
}

/* ---- all numbers of a model ---- */

struct subject {
	const struct al_family *family;
	const struct al_json *doc;
	const struct al_item *config;
	const char *name;
};

/* How a model is opened. */
struct layout {
	int64_t tp;
	enum al_tensor_list_detail detail;
	int64_t n_layers; /* 0: its own */
};

static void open_model(const struct subject *s, const struct layout *layout,
	struct al_settings *settings, struct al_basis *basis, struct al_ledger *ledger)
{
	struct al_error err = {0};

	al_basis_init(basis);
	al_settings_init(settings, catalog);
	must(al_family_settings(s->family, s->doc, s->config, s->name, settings, &err), &err);
	if (layout->n_layers)
		al_settings_ask(settings, "n_layers", layout->n_layers, "test");
	al_settings_ask(settings, "batch", 2, "test");
	al_settings_ask(settings, "seq", 512, "test");
	const struct al_ledger_ask ask = {.catalog = catalog,
		.family = s->family,
		.settings = settings,
		.basis = basis,
		.tp = layout->tp,
		.detail = layout->detail};
	must(al_ledger_open(ledger, &ask, &err), &err);
}

static void add_number(struct al_text *out, mpq_srcptr number)
{
	char *text = mpq_get_str(NULL, 10, number);

	al_text_addf(out, " %s", text);
	free(text);
}

static void add_counts(struct al_text *out, struct al_ledger *ledger)
{
	struct al_error err = {0};
	mpq_t number;

	mpq_init(number);
	al_text_add(out, "counts");
	for (int i = 0; i < AL_N_COUNTS; i++) {
		must(al_ledger_count(ledger, (enum al_count)i, number, &err), &err);
		add_number(out, number);
	}
	al_text_add(out, "\n");
	mpq_clear(number);
}

static void add_cache(struct al_text *out, struct al_ledger *ledger)
{
	struct al_error err = {0};
	const struct al_dtype *storage;
	struct al_cache_entries cache;

	must(al_dtype_find("bf16", &storage, &err)
			&& al_ledger_cache(ledger, storage, 512, 256, 1, &cache, &err),
		&err);
	for (size_t i = 0; i < cache.n; i++) {
		const struct al_cache_entry *line = &cache.lines[i];
		al_text_addf(out, "cache %s %lld %lld %lld", al_cache_kind_names[line->kind],
			(long long)line->entry->times, (long long)line->tokens,
			(long long)line->limit);
		add_number(out, line->entry->elements);
		add_number(out, line->entry->device);
		add_number(out, line->expanded);
		al_text_add(out, "\n");
	}
}

static void add_inference(struct al_text *out, struct al_ledger *ledger, const char *file_type)
{
	struct al_inference_row rows[AL_N_STATES];
	struct al_inference inference = {.share = {.parts = AL_ALL_PARTS},
		.batch = 2,
		.seq = 512,
		.source_seq = 256,
		.tp = ledger->ask.tp,
		.activation_bytes = 2};
	struct al_error err = {0};

	al_inference_rows_init(rows);
	struct al_quantization quantization;
	struct al_arena arena;
	al_arena_init(&arena);
	inference.weights = &quantization;
	must(al_quantization_init(&quantization, &arena, ledger->ask.catalog, NULL, file_type, &err)
			&& al_dtype_find("bf16", &inference.cache, &err)
			&& al_ledger_infer(ledger, &inference, rows, &err),
		&err);
	for (int i = 0; i < AL_N_STATES; i++) {
		al_text_addf(out, "%s %s", file_type, al_memory_state_names[i]);
		add_number(out, rows[i].bytes);
		add_number(out, rows[i].read);
		add_number(out, rows[i].flops);
		al_text_add(out, "\n");
	}
	al_inference_rows_finish(rows);
	al_quantization_finish(&quantization);
	al_arena_finish(&arena);
}

static void add_training(struct al_text *out, struct al_ledger *ledger, int64_t pp, int zero,
	enum al_recompute recompute)
{
	struct al_stage_memory stage;
	struct al_training training = {.share = {.parts = AL_ALL_PARTS},
		.batch = 2,
		.seq = 512,
		.tp = ledger->ask.tp,
		.pp = pp,
		.dp = zero ? 4 : 1,
		.cp = 1,
		.ep = 1,
		.interleave = 1,
		.zero = zero,
		.recompute = recompute};
	struct al_error err = {0};

	al_stage_memory_init(&stage);
	must(al_catalog_recipe(catalog, "megatron", &training.recipe, &err), &err);
	for (int64_t i = 0; i < pp; i++) {
		must(al_ledger_train(ledger, &training, i, &stage, &err), &err);
		al_text_addf(out, "stage %lld of %lld, zero %d, recompute %d", (long long)i,
			(long long)pp, zero, (int)recompute);
		for (int state = 0; state < AL_N_TRAINING_STATES; state++)
			for (int part = 0; part < AL_N_PARTS; part++)
				add_number(out, stage.bytes[state][part]);
		al_text_add(out, "\n");
	}
	al_stage_memory_finish(&stage);
}

static void add_whole(struct al_text *out, const struct subject *s, const struct layout *layout)
{
	struct al_settings settings;
	struct al_basis basis;
	struct al_ledger ledger;

	open_model(s, layout, &settings, &basis, &ledger);
	al_text_addf(out, "-- %s, tp %lld, detail %d, %lld layers\n", s->name,
		(long long)layout->tp, (int)layout->detail, (long long)layout->n_layers);
	add_counts(out, &ledger);
	add_cache(out, &ledger);
	add_inference(out, &ledger, layout->detail == AL_TENSORS_BY_LAYER ? "q4_k_m" : "bf16");
	if (layout->detail == AL_TENSORS_BY_KIND) {
		add_training(out, &ledger, 1, 0, AL_RECOMPUTE_NONE);
		add_training(out, &ledger, 1, 3, AL_RECOMPUTE_SELECTIVE);
	} else
		add_training(out, &ledger, 2, 1, AL_RECOMPUTE_FULL);
	al_ledger_close(&ledger);
	al_settings_finish(&settings);
}

static bool is_possible(const struct subject *s, const struct layout *layout)
{
	struct al_settings settings;
	struct al_error err = {0};
	struct al_basis basis;
	struct al_ledger ledger;

	open_model(s, layout, &settings, &basis, &ledger);
	const bool ok = al_ledger_update(&ledger, &err);
	al_ledger_close(&ledger);
	al_settings_finish(&settings);
	return ok;
}

/* With few layers, where its config leaves their number open (what comes later is counted by kind);
 * on two devices where these can share its heads. */
static void add_layers(struct al_text *out, const struct subject *s)
{
	struct layout layout = {1, AL_TENSORS_BY_LAYER, 8};

	if (!is_possible(s, &layout))
		layout.n_layers = 0;
	layout.tp = 2;
	if (!is_possible(s, &layout))
		layout.tp = 1;
	add_whole(out, s, &layout);
}

static char *all_numbers(const struct subject *s, bool by_layer)
{
	struct al_text out;

	al_text_init(&out);
	add_whole(&out, s, &(struct layout){1, AL_TENSORS_BY_KIND, 0});
	if (by_layer)
		add_layers(&out, s);
	return out.data;
}

/* ---- all numbers of a variant ---- */

static void must_open(struct al_ledger *ledger, const struct al_configured_variant *configured,
	const struct al_basis *basis)
{
	struct al_settings settings;
	struct al_error err = {0};

	al_settings_init(&settings, catalog);
	al_settings_set(&settings, "batch", 2, "test");
	al_settings_set(&settings, "seq", 512, "test");
	al_settings_set(&settings, "source_seq", 256, "test");
	must(al_ledger_open_module(ledger, configured, &settings, basis, &err), &err);
	al_settings_finish(&settings);
}

/* Where a basis leaves a measure no meaning, both say so. */
static void add_measures(struct al_text *out, const struct al_configured_variant *configured,
	const char *key, const char *value)
{
	static const char *const recipes[] = {"korthikanti2022", "korthikanti2022-flash"};
	const struct al_recipe *recipe;
	struct al_error err = {0};
	struct al_basis basis;
	struct al_ledger ledger;
	mpq_t number;

	mpq_init(number);
	al_basis_init(&basis);
	if (key)
		must(al_basis_set(&basis, key, value, &err), &err);
	al_text_addf(out, "%s=%s", key ? key : "basis", key ? value : "own");
	must_open(&ledger, configured, &basis);
	for (size_t r = 0; r < sizeof(recipes) / sizeof(*recipes); r++) {
		must(al_catalog_recipe(catalog, recipes[r], &recipe, &err), &err);
		for (int i = 0; i < AL_N_BLOCK_MEASURES; i++)
			if (al_ledger_measure(&ledger, (enum al_measure)i, recipe, number, NULL))
				add_number(out, number);
			else
				al_text_add(out, " none");
	}
	al_text_add(out, "\n");
	al_ledger_close(&ledger);
	mpq_clear(number);
}

/* The variant in the place of a model's own attention. */
static void add_model_with(struct al_text *out, const struct al_configured_variant *configured)
{
	static const char config[] = "{\"model_type\": \"llama\", \"num_hidden_layers\": 4}";
	struct al_settings settings;
	struct al_error err = {0};
	const struct al_family *family = NULL;
	struct al_ledger ledger;
	struct al_basis basis;
	struct al_json doc;

	al_basis_init(&basis);
	al_settings_init(&settings, catalog);
	must(al_json_parse(&doc, "config.json", config, strlen(config), &err)
			&& al_catalog_family(catalog, "llama", &family, &err)
			&& al_family_settings(family, &doc, doc.root, "config.json", &settings,
				&err),
		&err);
	al_settings_ask(&settings, "batch", 2, "test");
	al_settings_ask(&settings, "seq", 512, "test");
	const struct al_ledger_ask ask = {.catalog = catalog,
		.family = family,
		.settings = &settings,
		.basis = &basis,
		.configured = configured,
		.tp = 1,
		.detail = AL_TENSORS_BY_LAYER};
	must(al_ledger_open(&ledger, &ask, &err), &err);
	add_counts(out, &ledger);
	add_cache(out, &ledger);
	add_inference(out, &ledger, "q4_k_m");
	add_training(out, &ledger, 2, 1, AL_RECOMPUTE_SELECTIVE);
	al_ledger_close(&ledger);
	al_settings_finish(&settings);
	al_json_finish(&doc);
}

static char *numbers_of_variant(const struct al_configured_variant *configured)
{
	struct al_text out;

	al_text_init(&out);
	al_text_addf(&out, "-- %s\n", configured->name);
	add_measures(&out, configured, NULL, NULL);
	add_measures(&out, configured, "output_projection", "full");
	add_measures(&out, configured, "output_projection", "none");
	add_measures(&out, configured, "biases", "true");
	add_measures(&out, configured, "roles", "query,key");
	add_model_with(&out, configured);
	return out.data;
}

/* ---- families ---- */

static const char *const family_lists[] = {"modules", "tensors", NULL};

static const struct al_family *load_renamed(const char *name)
{
	char *text = complete_family(catalog, name);
	const struct al_family *family;
	struct al_error err = {0};
	char path[256], json[64];

	snprintf(json, sizeof(json), "%s.json", name);
	write_renamed(test_path(path, &folder, json), name, text, family_lists);
	free(text);
	must(al_catalog_family(catalog, path, &family, &err), &err);
	return family;
}

/* Layer by layer the first model of each type. */
static void check_family(const char *name, const struct al_json *models)
{
	const struct al_family *family, *renamed;
	struct names types = {0};
	struct al_error err = {0};

	al_arena_init(&types.arena);
	must(al_catalog_family(catalog, name, &family, &err), &err);
	renamed = load_renamed(name);
	al_json_each (node, models->root) {
		struct subject s = {.family = family, .doc = models};
		const char *type = NULL;
		must(al_json_get_node(models, node, "config", AL_JSON_OBJECT, true, &s.config, &err)
				&& al_json_get_text(models, node, "name", true, &s.name, &err)
				&& al_json_get_text(models, s.config, "model_type", true, &type,
					&err),
			&err);
		if (al_find_name(type, family->model_types.items, family->model_types.n) < 0)
			continue;
		const bool is_first = add_name(&types, type);
		char *own = all_numbers(&s, is_first);
		s.family = renamed;
		char *others = all_numbers(&s, is_first);
		assert_string_equal(others, own);
		free(own);
		free(others);
	}
	al_arena_finish(&types.arena);
}

static void names_of_families_decide_nothing(void **state)
{
	const struct al_embedded_list *list = al_catalog_files(AL_CATALOG_FAMILIES);
	struct al_error err = {0};
	struct al_json models;

	(void)state;
	must(al_json_read(&models, list_path, &err), &err);
	for (size_t i = 0; i < list->n_files; i++)
		check_family(list->files[i].name, &models);
	al_json_finish(&models);
}

/* BART keeps nothing in its encoder, whatever the encoder's modules are called. */
static void an_encoder_by_any_name_caches_nothing(void **state)
{
	static const char config[] = "{\"model_type\": \"bart\"}";
	struct al_error err = {0};
	struct al_cache_entries cache;
	struct al_settings settings;
	struct al_basis basis;
	struct al_ledger ledger;
	struct al_json doc;
	mpq_t bytes;

	(void)state;
	must(al_json_parse(&doc, "config.json", config, strlen(config), &err), &err);
	const struct subject s = {.family = load_renamed("bart"),
		.doc = &doc,
		.config = doc.root,
		.name = "config.json"};
	open_model(&s, &(struct layout){1, AL_TENSORS_BY_KIND, 0}, &settings, &basis, &ledger);
	const struct al_dtype *storage;
	must(al_dtype_find("bf16", &storage, &err)
			&& al_ledger_cache(&ledger, storage, 1024, 1024, 1, &cache, &err),
		&err);
	mpq_init(bytes);
	for (size_t i = 0; i < cache.n; i++)
		mpq_add(bytes, bytes, cache.lines[i].entry->elements);
	mpz_mul_ui(mpq_numref(bytes), mpq_numref(bytes), 2 * 1024);
	assert_int_equal(mpq_cmp_ui(bytes, 100663296, 1), 0);
	mpq_clear(bytes);
	al_ledger_close(&ledger);
	al_settings_finish(&settings);
	al_json_finish(&doc);
}

/* ---- variants ---- */

static const struct al_variant *load_renamed_variant(const char *name)
{
	static const char *const lists[] = {"tensors", "cache", "activations", "products", NULL};
	const struct al_embedded *file = al_embedded_find(al_catalog_files(AL_CATALOG_VARIANTS),
		name);
	const struct al_variant *variant;
	struct al_error err = {0};
	char path[256], json[64];

	assert_non_null(file);
	snprintf(json, sizeof(json), "variant-%s.json", name);
	write_renamed(test_path(path, &folder, json), name, file->text, lists);
	must(al_catalog_variant(catalog, path, &variant, &err), &err);
	return variant;
}

enum { MOST_BINDINGS = 16 };

/* Numbers and options. */
static size_t read_bindings(const struct al_json *doc, const struct al_item *with,
	struct al_binding bindings[MOST_BINDINGS])
{
	struct al_error err = {0};
	size_t n = 0;
	bool is_on;

	al_json_each (member, with) {
		struct al_binding *binding = &bindings[n++];
		assert_between(n, 1, MOST_BINDINGS);
		binding->symbol = al_json_key(member);
		if (al_json_kind(member) == AL_JSON_BOOLEAN) {
			must(al_json_boolean(doc, member, &is_on, &err), &err);
			binding->value = is_on;
		} else
			must(al_json_whole(doc, member, &binding->value, &err), &err);
	}
	return n;
}

static void check_variant(const struct al_json *shapes, const struct al_item *node)
{
	struct al_binding with[MOST_BINDINGS];
	struct al_configured_variant configured = {.with = with};
	struct al_error err = {0};

	must(al_json_get_text(shapes, node, "variant", true, &configured.name, &err)
			&& al_catalog_variant(catalog, configured.name, &configured.variant, &err),
		&err);
	configured.n_with = read_bindings(shapes, al_json_get(node, "with"), with);
	char *own = numbers_of_variant(&configured);
	configured.variant = load_renamed_variant(configured.name);
	char *others = numbers_of_variant(&configured);
	assert_string_equal(others, own);
	free(own);
	free(others);
}

static void names_of_variants_decide_nothing(void **state)
{
	struct al_error err = {0};
	struct al_json shapes;

	(void)state;
	must(al_json_read(&shapes, shapes_path, &err), &err);
	al_json_each (node, al_json_get(shapes.root, "cases"))
		check_variant(&shapes, node);
	al_json_finish(&shapes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_variants_decide_nothing),
		cmocka_unit_test(an_encoder_by_any_name_caches_nothing),
		cmocka_unit_test(names_of_families_decide_nothing),
	};

	return cmocka_run_group_tests_name("renaming", tests, set_up, tear_down);
}
