/* What checkpoints store beside a model's parameters: the totals that hub pages print, item by
 * item. */
#include "with_catalog.h"

#include "base/number.h"
#include "catalog/tensor_list.h"
#include "ledger/ledger.h"

enum item { PARAMETERS, BUFFERS, EXTRA, COPIES, SCALES, N_ITEMS };

static const char *const item_names[N_ITEMS] = {
	"parameters",
	"buffers",
	"apart",
	"copies",
	"scales",
};

/* Numbers; the last is what the hub's page adds up to. */
static const struct stored {
	const char *preset, *family, *config;
	int64_t items[N_ITEMS], total;
} cases[] = {
	/* the model, the corrections of its routers (58 layers of 256), the layer that predicts
	 * further tokens with a correction of its own, its copies of embedding and head, scales of
	 * blocks of 128 x 128; 684,489,845,504 without the scales */
	{.preset = "deepseek-v3",
		.items = {671026404352, 58 * 256, 11610068224, 2 * 129280 * 7168, 41540496},
		.total = 684531386000},
	/* MXFP4: one scale for 32 numbers of an expert */
	{.preset = "gpt-oss-20b", .items = {20914757184, 0, 0, 0, 597196800}, .total = 21511953984},
	/* Qwen3-0.6B: the tied head is stored all the same */
	{.family = "qwen3",
		.config = "{\"vocab_size\": 151936, \"hidden_size\": 1024, \"intermediate_size\": "
			  "3072,"
			  " \"num_hidden_layers\": 28, \"num_attention_heads\": 16, "
			  "\"num_key_value_heads\": 8,"
			  " \"head_dim\": 128, \"tie_word_embeddings\": true}",
		.items = {596049920, 0, 0, 151936 * 1024, 0},
		.total = 751632384},
	/* Llama-2-7b: rotary frequencies of each layer */
	{.family = "llama",
		.config = "{\"vocab_size\": 32000}",
		.items = {6738415616, 32 * 64, 0, 0, 0},
		.total = 6738417664},
};

static int64_t whole(mpq_srcptr number)
{
	assert_true(mpz_fits_slong_p(mpq_numref(number)));
	return mpz_get_si(mpq_numref(number));
}

static int64_t numbers_of(const struct al_model_item *tensor)
{
	int64_t n = 0;

	assert_true(al_multiply_dims(tensor->tensor->packed * tensor->count * tensor->copies,
		tensor->dims, tensor->n_dims, &n));
	return n;
}

static enum item item_of(const struct al_model_item *tensor)
{
	if (tensor->tensor->entry.kind == AL_TENSOR_SCALE)
		return SCALES;
	if (tensor->tensor->tied_to)
		return COPIES;
	if (tensor->extra)
		return EXTRA;
	return tensor->tensor->entry.kind == AL_TENSOR_BUFFER ? BUFFERS : PARAMETERS;
}

static void add_module(const struct al_model_item *module, const struct al_settings *settings,
	int64_t items[N_ITEMS])
{
	const struct al_configured_variant configured = {.variant = module->variant,
		.name = module->variant->name,
		.with = module->with,
		.n_with = module->n_with};
	struct al_basis basis;
	struct al_ledger ledger;
	struct al_error err = {0};
	mpq_t parameters;

	mpq_init(parameters);
	al_basis_init(&basis);
	must(al_ledger_open_module(&ledger, &configured, settings, &basis, &err), &err);
	must(al_ledger_measure(&ledger, AL_PARAMETERS, NULL, parameters, &err), &err);
	items[module->extra ? EXTRA : PARAMETERS] += module->copies * whole(parameters);
	al_ledger_close(&ledger);
	mpq_clear(parameters);
}

static void add_tensor_list(const struct al_tensor_list *tensor_list,
	const struct al_settings *settings, int64_t items[N_ITEMS])
{
	for (size_t i = 0; i < tensor_list->n_modules; i++)
		add_module(&tensor_list->modules[i], settings, items);
	for (size_t i = 0; i < tensor_list->n_tensors; i++)
		items[item_of(&tensor_list->tensors[i])] += numbers_of(&tensor_list->tensors[i]);
}

/* Settings of a preset, or of a family's config. */
static const struct al_family *configure(const struct stored *stored, struct al_settings *settings)
{
	const struct al_family *family = NULL;
	const struct al_model *model;
	struct al_error err = {0};
	struct al_json doc;

	al_settings_init(settings, catalog);
	if (stored->preset) {
		must(al_catalog_model(catalog, stored->preset, &model, &err)
				&& al_catalog_family(catalog, model->family, &family, &err)
				&& al_model_settings(model, catalog, settings, &err),
			&err);
		return family;
	}
	must(al_json_parse(&doc, "config.json", stored->config, strlen(stored->config), &err),
		&err);
	must(al_catalog_family(catalog, stored->family, &family, &err)
			&& al_family_settings(family, &doc, doc.root, "config.json", settings,
				&err),
		&err);
	al_json_finish(&doc);
	return family;
}

static void totals_of_checkpoints(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct stored *stored = &cases[i];
		struct al_settings settings;
		struct al_tensor_list tensor_list;
		struct al_error err = {0};
		int64_t items[N_ITEMS] = {0}, total = 0;
		const struct al_family *family = configure(stored, &settings);
		must(al_tensor_list_init(&tensor_list, catalog, family, &settings, false, &err),
			&err);
		add_tensor_list(&tensor_list, &settings, items);
		for (int j = 0; j < N_ITEMS; j++) {
			total += items[j];
			if (items[j] != stored->items[j])
				fail_msg("%s: %s: found %lld, published %lld", family->name,
					item_names[j], (long long)items[j],
					(long long)stored->items[j]);
		}
		assert_int_equal(total, stored->total);
		al_tensor_list_finish(&tensor_list);
		al_settings_finish(&settings);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_of_checkpoints),
	};

	return cmocka_run_group_tests_name("stored", tests, create_catalog, destroy_catalog);
}
