/* The ledger: the numbers of the seed papers, counts worked by hand, and what must hold for any
 * shape. */
#include "unit.h"

#include "base/number.h"
#include "ledger/ledger.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Settings and bases are KEY=VALUE with blanks between them; a word without `=` is a model. A
 * variant that begins with a brace is the file inline.json. */
struct request {
	const char *variant, *set, *basis, *recipe;
};

struct asked {
	struct al_arena arena;
	struct al_catalog *catalog;
	struct al_configured_variant configured;
	struct al_settings settings;
	struct al_basis basis;
	struct al_ledger ledger;
	const struct al_recipe *recipe;
	bool has_ledger;
};

static bool apply_setting(struct asked *asked, const char *word, struct al_error *err)
{
	const struct al_model *model;

	if (strchr(word, '='))
		return al_settings_parse(&asked->settings, word, "test", err);
	return al_catalog_model(asked->catalog, word, &model, err)
		&& al_model_settings(model, asked->catalog, &asked->settings, err);
}

static bool apply_basis(struct asked *asked, const char *word, struct al_error *err)
{
	const char *equals = strchr(word, '=');

	assert_non_null(equals);
	const char *key = al_strndup(&asked->arena, word, (size_t)(equals - word));
	return al_basis_set(&asked->basis, key, equals + 1, err);
}

static bool each_word(struct asked *asked, const char *words,
	bool (*apply)(struct asked *asked, const char *word, struct al_error *err),
	struct al_error *err)
{
	for (const char *p = words ? words : ""; *p;) {
		size_t length = strcspn(p, " ");
		if (length && !apply(asked, al_strndup(&asked->arena, p, length), err))
			return false;
		p += length + (p[length] == ' ');
	}
	return true;
}

static bool find_variant(struct asked *asked, const char *variant, struct al_error *err)
{
	struct al_variant *parsed;
	struct al_json doc;

	if (*variant != '{')
		return al_configured_variant_parse(&asked->arena, asked->catalog, variant,
			&asked->configured, err);
	if (!al_json_parse(&doc, "inline.json", variant, strlen(variant), err))
		return false;
	bool ok = al_variant_parse(&asked->arena, &doc, doc.root, "inline.json", &parsed, err);
	al_json_finish(&doc);
	if (ok)
		asked->configured = (struct al_configured_variant){.variant = parsed,
			.name = parsed->name};
	return ok;
}

static void close_block(struct asked *asked)
{
	if (asked->has_ledger)
		al_ledger_close(&asked->ledger);
	al_settings_finish(&asked->settings);
	al_catalog_destroy(asked->catalog);
	al_arena_finish(&asked->arena);
}

static bool try_open(struct asked *asked, const struct request *request, struct al_error *err)
{
	*asked = (struct asked){.catalog = al_catalog_create()};
	al_arena_init(&asked->arena);
	al_settings_init(&asked->settings, asked->catalog);
	al_basis_init(&asked->basis);
	if (request->recipe
		&& !al_catalog_recipe(asked->catalog, request->recipe, &asked->recipe, err))
		return false;
	asked->has_ledger = each_word(asked, request->set, apply_setting, err)
		&& each_word(asked, request->basis, apply_basis, err)
		&& find_variant(asked, request->variant, err)
		&& al_ledger_open_module(&asked->ledger, &asked->configured, &asked->settings,
			&asked->basis, err);
	return asked->has_ledger;
}

static void open_block(struct asked *asked, const struct request *request)
{
	struct al_error err = {0};

	if (!try_open(asked, request, &err))
		fail_msg("%s: %s", request->variant, err.message);
}

static void ask_open(struct asked *asked, enum al_measure measure, mpq_t out)
{
	struct al_error err = {0};

	if (!al_ledger_measure(&asked->ledger, measure, asked->recipe, out, &err))
		fail_msg("%s: %s", al_measures[measure].key, err.message);
}

static void ask(const struct request *request, enum al_measure measure, mpq_t out)
{
	struct asked asked;

	open_block(&asked, request);
	ask_open(&asked, measure, out);
	close_block(&asked);
}

static void check(const struct request *request, enum al_measure measure, const char *expected)
{
	char *text;
	mpq_t value;

	mpq_init(value);
	ask(request, measure, value);
	text = mpq_get_str(NULL, 10, value);
	if (strcmp(text, expected) != 0)
		fail_msg("%s, %s: %s is %s, expected %s", request->variant, request->set,
			al_measures[measure].key, text, expected);
	free(text);
	mpq_clear(value);
}

/* ---- the seed papers ---- */

/* Xue & Aletras 2023, Table 13, with SHA's row worked out: 20 bytes for each of 737,280
 * parameters. */
static const struct table_13 {
	const char *variant, *weights, *optimizer, *total, *saving;
} table_13[] = {
	{"sha", "4423680", "5898240", "39911424", "44.84"},
	{"mha", "14155776", "18874368", "72351744", "0.00"},
	{"el-att", "7077888", "9437184", "48758784", "32.61"},
	{"mqa", "7667712", "10223616", "50724864", "29.89"},
	{"skv", "10616832", "14155776", "60555264", "16.30"},
	{"mhe-add", "4437504", "5916672", "39957504", "44.77"},
	{"mhe-mul", "4437504", "5916672", "39957504", "44.77"},
};

static void check_saving(const struct request *request, const char *expected)
{
	struct request mha = *request;
	struct al_arena arena;
	mpq_t total, baseline, hundred;

	al_arena_init(&arena);
	mpq_inits(total, baseline, hundred, NULL);
	mha.variant = "mha";
	ask(request, AL_TOTAL, total);
	ask(&mha, AL_TOTAL, baseline);
	mpq_set_ui(hundred, 100, 1);
	mpq_sub(total, baseline, total);
	mpq_div(total, total, baseline);
	mpq_mul(total, total, hundred);
	assert_string_equal(al_exact_decimal(&arena, total, 2), expected);
	mpq_clears(total, baseline, hundred, NULL);
	al_arena_finish(&arena);
}

static void shows_table_13(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(table_13); i++) {
		const struct table_13 *row = &table_13[i];
		struct request request = {row->variant, "bert-base batch=32 seq=512",
			"output_projection=full", "smith2022"};
		check(&request, AL_WEIGHTS, row->weights);
		check(&request, AL_GRADIENTS, row->weights);
		check(&request, AL_OPTIMIZER, row->optimizer);
		check(&request, AL_ACTIVATIONS, "25165824");
		check(&request, AL_TOTAL, row->total);
		check_saving(&request, row->saving);
	}
}

static const struct numbers {
	struct request request;
	enum al_measure measure;
	const char *expected;
} papers[] = {
	/* Xue & Aletras 2023, section 5.4: GPT-3's projections without W_O. */
	{{"mha", "gpt3-175b", "output_projection=none per=model", NULL}, AL_PARAMETERS,
		"43486543872"},
	{{"el-att", "gpt3-175b", "output_projection=none per=model", NULL}, AL_PARAMETERS,
		"14495514624"},
	{{"mqa", "gpt3-175b", "output_projection=none per=model", NULL}, AL_PARAMETERS,
		"14797504512"},
	{{"skv", "gpt3-175b", "output_projection=none per=model", NULL}, AL_PARAMETERS,
		"28991029248"},
	{{"mhe-add", "gpt3-175b", "output_projection=none per=model", NULL}, AL_PARAMETERS,
		"456523776"},
	{{"mhe-mul", "gpt3-175b", "output_projection=none per=model", NULL}, AL_PARAMETERS,
		"456523776"},
	/* The same with W_O, in bytes of training. */
	{{"mha", "gpt3-175b batch=1 seq=2048", "output_projection=full per=model", "smith2022"},
		AL_TOTAL, "1164473008128"},
	{{"skv", "gpt3-175b batch=1 seq=2048", "output_projection=full per=model", "smith2022"},
		AL_TOTAL, "874562715648"},
	{{"mhe-add", "gpt3-175b batch=1 seq=2048", "output_projection=full per=model", "smith2022"},
		AL_TOTAL, "303872606208"},
	/* Ampazis & Sakketou 2024, Table 3: the baseline's 6 modules, and what each variant adds to
	   them. */
	{{"mha", "deacon-wmt16", "per=model", NULL}, AL_PARAMETERS, "1572864"},
	{{"deacon-direct:n_pca=8", "deacon-wmt16", "per=model", NULL}, AL_PARAMETERS, "1576368"},
	{{"deacon-direct:n_pca=3", "deacon-wmt16", "per=model", NULL}, AL_PARAMETERS, "1330338"},
	{{"deacon-average:n_pca=8", "deacon-wmt16", "per=model", NULL}, AL_PARAMETERS, "1195440"},
	{{"deacon-average:n_pca=3", "deacon-wmt16", "per=model", NULL}, AL_PARAMETERS, "1187490"},
	{{"deacon-nonlinear:n_pca=8", "deacon-wmt16", "per=model", NULL}, AL_PARAMETERS, "1575552"},
	{{"deacon-nonlinear:n_pca=3", "deacon-wmt16", "per=model", NULL}, AL_PARAMETERS, "1328442"},
	/* Korthikanti et al. 2022: 11*s*b*h + 5*a*s^2*b, and what the variants do not save of
	 * it. */
	{{"mha", "bert-base batch=32 seq=512", NULL, "korthikanti2022"}, AL_ACTIVATIONS,
		"641728512"},
	{{"mqa", "bert-base batch=32 seq=512", NULL, "korthikanti2022"}, AL_ACTIVATIONS,
		"595591168"},
	{{"skv", "bert-base batch=32 seq=512", NULL, "korthikanti2022"}, AL_ACTIVATIONS,
		"616562688"},
	{{"mhe-add", "bert-base batch=32 seq=512", NULL, "korthikanti2022"}, AL_ACTIVATIONS,
		"641728512"},
	{{"mhe-mul", "bert-base batch=32 seq=512", NULL, "korthikanti2022"}, AL_ACTIVATIONS,
		"648019968"},
	/* Flash attention: 11*s*b*h and a logsumexp of 4 bytes for each of 12 heads. */
	{{"mha", "bert-base batch=32 seq=512", NULL, "korthikanti2022-flash"}, AL_ACTIVATIONS,
		"139198464"},
	/* Cordonnier et al. 2020 at BERT-base; 757 is the widest that is smaller than MHA's. */
	{{"collab:d_shared=768", "bert-base", "roles=query,key", NULL}, AL_PARAMETERS, "1198080"},
	{{"collab:d_shared=384", "bert-base", "roles=query,key", NULL}, AL_PARAMETERS, "603648"},
	{{"collab:d_shared=256", "bert-base", "roles=query,key", NULL}, AL_PARAMETERS, "405504"},
	{{"mha", "bert-base", "roles=query,key biases=true", NULL}, AL_PARAMETERS, "1181184"},
	{{"collab:d_shared=757", "bert-base", "roles=query,key", NULL}, AL_PARAMETERS, "1181052"},
	{{"collab:d_shared=758", "bert-base", "roles=query,key", NULL}, AL_PARAMETERS, "1182600"},
	/* DeepSeek-V2-Lite, V2 and V3, a layer. */
	{{"mla", "d_model=2048 n_heads=16 q_rank=0 kv_rank=512 d_nope=128 d_rope=64 d_value=128",
		 "per=layer", NULL},
		AL_PARAMETERS, "13763072"},
	{{"mla",
		 "d_model=5120 n_heads=128 q_rank=1536 kv_rank=512 d_nope=128 d_rope=64 "
		 "d_value=128",
		 NULL, NULL},
		AL_PARAMETERS, "149227520"},
	{{"mla",
		 "d_model=7168 n_heads=128 q_rank=1536 kv_rank=512 d_nope=128 d_rope=64 "
		 "d_value=128",
		 NULL, NULL},
		AL_PARAMETERS, "187107328"},
	/* DeepSeek-V3's 70,272 bytes a token in 61 layers. */
	{{"mla",
		 "d_model=7168 n_heads=128 q_rank=1536 kv_rank=512 d_nope=128 d_rope=64 "
		 "d_value=128 "
		 "n_layers=61 batch=1 seq=1",
		 "per=model", NULL},
		AL_CACHE_BYTES, "70272"},
	/* Llama-3-8B: 2,048 elements a token and layer, 131,072 bytes in 32 layers. */
	{{"gqa", "d_model=4096 n_heads=32 n_kv_heads=8 d_head=128", NULL, NULL}, AL_CACHE, "2048"},
	{{"gqa", "d_model=4096 n_heads=32 n_kv_heads=8 d_head=128 n_layers=32 batch=2 seq=3",
		 "per=model", NULL},
		AL_CACHE_BYTES, "786432"},
	/* 8*b*s*d^2 + 4*b*s^2*d. */
	{{"mha", "bert-base batch=32 seq=512", NULL, NULL}, AL_FLOPS, "103079215104"},
};

static void shows_the_papers_numbers(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(papers); i++)
		check(&papers[i].request, papers[i].measure, papers[i].expected);
}

/* ---- counts worked by hand ---- */

/* d_model 10, 6 heads (3 of keys), d_head 5, d_value 7: neither n_heads*d_head nor d_value is what
 * it usually is. */
#define ODD "d_model=10 n_heads=6 n_kv_heads=3 d_head=5 d_value=7"

static const struct by_hand {
	const char *variant, *set, *parameters, *with_biases;
} by_hand[] = {
	/* 50+50+70 + 70; 5+5+7+10 */
	{"sha", ODD, "240", "267"},
	/* 300+300+420 + 420; 30+30+42+10 */
	{"mha", ODD, "1440", "1552"},
	/* 300+50+70 + 420; 30+5+7+10 */
	{"mqa", ODD, "840", "892"},
	/* 300+150+210 + 420; 30+15+21+10 */
	{"gqa", ODD, "1080", "1156"},
	/* 300 + 300; 30+10 */
	{"el-att", ODD, "600", "640"},
	/* 300+300 + 300; 30+30+10 */
	{"skv", ODD, "900", "970"},
	/* 50+50+70 + 30+30+42 + 420; 5+5+7+10 */
	{"mhe-add", ODD, "692", "719"},
	{"mhe-mul", ODD, "692", "719"},
	{"fnet", ODD, "0", "0"},
	/* 100 + 81 */
	{"linear", ODD " s_max=9", "181", "181"},
	/* 110+110+66 + 60 + 420 + 420; 42+10 */
	{"collab", ODD " d_shared=11", "1186", "1238"},
	{"collab:content_bias=false", ODD " d_shared=11", "1126", "1178"},
	/* 300+300+420 + 42+42 + 24+4 + 280; 30+30+42+10 */
	{"deacon-direct", ODD " n_pca=4", "1412", "1524"},
	/* 300+300+420 + 42+42 + 24+4 + 40 */
	{"deacon-average", ODD " n_pca=4", "1172", "1284"},
	/* 27 features: 300+300+420 + 27+27 + 108+4 + 280 */
	{"deacon-nonlinear", ODD " n_pca=4", "1466", "1578"},
	/* 40+4+168 + 30+20+3 + 90+126 + 420; 4+3+2+10 */
	{"mla", ODD " q_rank=4 kv_rank=3 d_nope=5 d_rope=2", "901", "920"},
	/* 420 instead of 40+4+168; 3+2+10 */
	{"mla", ODD " q_rank=0 kv_rank=3 d_nope=5 d_rope=2", "1109", "1124"},
};

static void counts_odd_shapes(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(by_hand); i++) {
		struct request request = {by_hand[i].variant, by_hand[i].set, NULL, NULL};
		check(&request, AL_PARAMETERS, by_hand[i].parameters);
		request.basis = "biases=true";
		check(&request, AL_PARAMETERS, by_hand[i].with_biases);
	}
}

#define GROUPED ODD " n_layers=4 n_groups=2 batch=1 seq=2"

static const struct numbers bases[] = {
	/* SHA's 7 x 10 becomes 10 x 10; so does MHA's 42 x 10. */
	{{"sha", ODD, "output_projection=full", NULL}, AL_PARAMETERS, "270"},
	{{"mha", ODD, "output_projection=full", NULL}, AL_PARAMETERS, "1120"},
	{{"mla", ODD " q_rank=4 kv_rank=3 d_nope=5 d_rope=2", "output_projection=full", NULL},
		AL_PARAMETERS, "581"},
	{{"mha", ODD, "output_projection=none", NULL}, AL_PARAMETERS, "1020"},
	/* Without W_O its bias goes too. */
	{{"mha", ODD, "output_projection=none biases=true", NULL}, AL_PARAMETERS, "1122"},
	/* A fixed projection stays under every basis, bias and all. */
	{{"deacon-direct:n_pca=4", ODD, "output_projection=full", NULL}, AL_PARAMETERS, "1412"},
	{{"deacon-direct:n_pca=4", ODD, "output_projection=none", NULL}, AL_PARAMETERS, "1412"},
	{{"deacon-direct:n_pca=4", ODD, "output_projection=none biases=true", NULL}, AL_PARAMETERS,
		"1524"},
	{{"mha", ODD, "roles=query", NULL}, AL_PARAMETERS, "300"},
	{{"mha", ODD, "roles=output,value", NULL}, AL_PARAMETERS, "840"},
	{{"mha", ODD, "roles=mix", NULL}, AL_PARAMETERS, "0"},
	{{"mha", ODD, "roles=all", NULL}, AL_PARAMETERS, "1440"},
	{{"mha", ODD " n_layers=5", "per=block", NULL}, AL_PARAMETERS, "1440"},
	{{"mha", ODD " n_layers=5", "per=layer", NULL}, AL_PARAMETERS, "1440"},
	{{"mha", ODD " n_layers=5", "per=model", NULL}, AL_PARAMETERS, "7200"},
	{{"mha", ODD " n_encoder_layers=2 n_decoder_layers=3", "per=model", NULL}, AL_PARAMETERS,
		"11520"},
	/* 72 elements in each of the 3 self-attentions of the decoder */
	{{"mha", ODD " n_encoder_layers=2 n_decoder_layers=3 n_layers=5", "per=model", NULL},
		AL_CACHE, "216"},
	/* 4 layers in 2 groups: 720 of each layer, 360 of each group, which also caches 15 + 21. */
	{{"cla", GROUPED, "per=model", NULL}, AL_PARAMETERS, "3600"},
	{{"cla", GROUPED, "per=model", NULL}, AL_CACHE, "72"},
	/* a layer's 4*720 + 8*6*12, a group's 4*360 */
	{{"cla", GROUPED, "per=model", NULL}, AL_FLOPS, "16704"},
	/* a layer's 2*(2*82 + 10) + 4*6*5, a group's 4*36 */
	{{"cla", GROUPED, "per=model", "korthikanti2022"}, AL_ACTIVATIONS, "2160"},
	/* 360 and a norm's 10 once */
	{{"yoco", GROUPED, "per=model", NULL}, AL_PARAMETERS, "3250"},
	{{"yoco", GROUPED, "per=model", NULL}, AL_CACHE, "36"},
	/* 1552 a group, 72 cached a layer */
	{{"albert", GROUPED, "per=model", NULL}, AL_PARAMETERS, "3104"},
	{{"albert", GROUPED, "per=model", NULL}, AL_CACHE, "288"},
	/* A configured variant says more than a basis, a basis more than a variant. */
	{{"mha:biases=false", ODD, "biases=true", NULL}, AL_PARAMETERS, "1440"},
	{{"mha:biases=true", ODD, "biases=false", NULL}, AL_PARAMETERS, "1552"},
	{{"mha:d_model=20", ODD, NULL, NULL}, AL_PARAMETERS, "2880"},
	/* Products of dimensions go beyond 64 bits. */
	{{"el-att", "d_model=9007199254740991 n_heads=3 d_head=3002399751580330 n_layers=4096",
		 "per=model", NULL},
		AL_PARAMETERS, "664613997892457715090974645625569280"},
};

static void follows_the_bases(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(bases); i++)
		check(&bases[i].request, bases[i].measure, bases[i].expected);
}

static const struct basis_text {
	const char *basis, *text;
} basis_texts[] = {
	{"", "one attention block"},
	{"output_projection=full biases=false per=block",
		"one attention block, output projection d_model x d_model, without biases"},
	{"output_projection=none biases=true roles=key,query per=model",
		"all attention of the model, only query and key, no output projection, with "
		"biases"},
	{"roles=query roles=all per=layer output_projection=none output_projection=own",
		"the attention of one layer"},
	{"per=whole", ""},
};

static void says_its_basis(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(basis_texts); i++) {
		struct asked asked;
		open_block(&asked, &(struct request){"mha", NULL, basis_texts[i].basis, NULL});
		assert_string_equal(al_basis_text(&asked.basis, &asked.arena), basis_texts[i].text);
		close_block(&asked);
	}
}

/* ---- entries ---- */

#define INLINE(lists) "{\"name\": \"mine\", \"symbols\": {\"k\": \"mine\"}, " lists "}"
#define TENSORS "\"tensors\": "

/* Experts, and tensors that layers share; a buffer that is no parameter. */
#define SHARED \
	INLINE(TENSORS \
		"[" \
		"{\"name\": \"A\", \"role\": \"query\", \"shape\": [\"k\", \"3\"], \"count\": " \
		"\"4\", \"active\": \"2\"}," \
		"{\"name\": \"L\", \"role\": \"key\", \"shape\": [\"10\"], \"per\": \"layer\"}," \
		"{\"name\": \"G\", \"role\": \"key\", \"shape\": [\"100\"], \"per\": \"group\"}," \
		"{\"name\": \"M\", \"role\": \"key\", \"shape\": [\"1000\"], \"per\": \"model\"}," \
		"{\"name\": \"buffer\", \"role\": \"other\", \"shape\": [\"9\"], \"kind\": " \
		"\"buffer\"}," \
		"{\"name\": \"none\", \"role\": \"other\", \"shape\": [\"k - 5\"], \"when\": \"k " \
		"> 5\"}]")

/* A window, the source's tokens, a state, and a size of its own. */
#define CACHED \
	INLINE(TENSORS "[], \"cache\": [" \
		       "{\"name\": \"K\", \"shape\": [\"k\"], \"tokens\": \"min(seq, 4)\"}," \
		       "{\"name\": \"V\", \"shape\": [\"k\"], \"dtype\": \"f8\"}," \
		       "{\"name\": \"source\", \"shape\": [\"7\"], \"per\": \"source_token\"}," \
		       "{\"name\": \"state\", \"shape\": [\"k\", \"k\"], \"per\": \"sequence\", " \
		       "\"dtype\": \"f32\"}]")

static const struct numbers inline_numbers[] = {
	{{SHARED, "k=5", NULL, NULL}, AL_PARAMETERS, "1170"},
	{{SHARED, "k=6", NULL, NULL}, AL_PARAMETERS, "1183"},
	{{SHARED, "k=5 n_layers=6 n_groups=2", "per=model", NULL}, AL_PARAMETERS, "1620"},
	{{SHARED, "k=5 n_layers=6 n_groups=2", "per=layer", NULL}, AL_PARAMETERS, "1170"},
	{{SHARED, "k=5 n_encoder_layers=2 n_decoder_layers=3 n_groups=2", "per=model", NULL},
		AL_PARAMETERS, "1730"},
	{{CACHED, "k=5 seq=10 batch=3 source_seq=2", NULL, NULL}, AL_CACHE, "10"},
	/* 3 * (2*5*4 + 5*10 + 2*7*2 + 4*25) */
	{{CACHED, "k=5 seq=10 batch=3 source_seq=2", NULL, NULL}, AL_CACHE_BYTES, "654"},
};

static void counts_what_is_shared_and_cached(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(inline_numbers); i++)
		check(&inline_numbers[i].request, inline_numbers[i].measure,
			inline_numbers[i].expected);
}

static void lists_its_tensors(void **state)
{
	const struct al_ledger_list *list;
	struct asked asked;
	struct al_error err;
	int64_t modules;

	(void)state;
	open_block(&asked,
		&(struct request){SHARED, "k=6 n_layers=3 n_groups=2", "per=model", NULL});
	asked.ledger.ask.explains = true;
	assert_true(al_ledger_list(&asked.ledger, AL_LIST_STORED, &list, &err));
	assert_true(al_ledger_modules(&asked.ledger, &modules, &err));
	assert_int_equal(modules, 3);
	assert_int_equal(list->n, 6);
	const struct al_ledger_entry *experts = &list->items[0];
	assert_string_equal(experts->name, "A");
	assert_int_equal(experts->n_dims, 2);
	assert_int_equal(experts->dims[0], 6);
	assert_int_equal(experts->dims[1], 3);
	assert_int_equal(experts->count, 4);
	assert_int_equal(experts->active_count, 2);
	assert_int_equal(experts->times, 3);
	assert_int_equal(mpq_cmp_ui(experts->elements, 3 * 72, 1), 0);
	assert_int_equal(mpq_cmp_ui(experts->active, 3 * 36, 1), 0);
	assert_string_equal(experts->formula, "4 * k * 3");
	assert_string_equal(experts->substituted, "4 * 6 * 3");
	assert_int_equal(list->items[2].times, 2);
	assert_int_equal(list->items[3].times, 1);
	assert_string_equal(list->items[4].name, "buffer");
	assert_string_equal(list->items[5].formula, "k - 5");
	assert_string_equal(list->items[5].substituted, "6 - 5");

	asked.ledger.ask.explains = false;
	assert_true(al_ledger_list(&asked.ledger, AL_LIST_TENSORS, &list, &err));
	assert_int_equal(list->n, 5);
	assert_null(list->items[0].substituted);
	close_block(&asked);
}

static const struct formula_text {
	const char *variant, *basis;
	size_t entry;
	const char *formula, *substituted;
} formula_texts[] = {
	{"mha", NULL, 0, "d_model * n_heads*d_head", "768 * 12*64"},
	{"sha", "output_projection=full", 3, "d_model * d_model", "768 * 768"},
	{"mla:q_rank=0,kv_rank=8,d_nope=3,d_rope=2", NULL, 0, "d_model * n_heads*(d_nope + d_rope)",
		"768 * 12*(3 + 2)"},
	{"deacon-nonlinear:n_pca=2", NULL, 5, "(n_heads*(n_heads + 1)/2 + n_heads) * n_pca",
		"(12*(12 + 1)/2 + 12) * 2"},
};

static void explains_a_number(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(formula_texts); i++) {
		const struct formula_text *row = &formula_texts[i];
		struct asked asked;
		const struct al_ledger_list *list;
		struct al_error err;
		open_block(&asked, &(struct request){row->variant, "bert-base", row->basis, NULL});
		asked.ledger.ask.explains = true;
		assert_true(al_ledger_list(&asked.ledger, AL_LIST_TENSORS, &list, &err));
		assert_string_equal(list->items[row->entry].formula, row->formula);
		assert_string_equal(list->items[row->entry].substituted, row->substituted);
		close_block(&asked);
	}
}

/* ---- what must hold for any shape ---- */

/* Knuth's MMIX generator: the same shapes in every run. */
static int64_t next_size(uint64_t *random, int64_t most)
{
	*random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return 1 + (int64_t)(*random >> 33) % most;
}

static const char *const symbols[] = {
	"d_model",
	"n_heads",
	"n_kv_heads",
	"d_head",
	"d_value",
	"n_layers",
	"batch",
	"seq",
	"s_max",
	"n_pca",
	"d_shared",
	"q_rank",
	"kv_rank",
	"d_nope",
	"d_rope",
};

#define ALL_GIVEN \
	"d_model=1 n_heads=1 n_kv_heads=1 d_head=1 d_value=1 n_layers=1 batch=1 seq=1 s_max=1 " \
	"n_pca=1 d_shared=1 q_rank=1 kv_rank=1 d_nope=1 d_rope=1"

static void reshape(struct asked *asked, uint64_t *random)
{
	const struct al_variant *variant = asked->configured.variant;
	int64_t n_groups, d_head;

	for (size_t i = 0; i < COUNT(symbols); i++)
		al_ledger_set(&asked->ledger, symbols[i], next_size(random, 1000));
	for (size_t i = 0; i < variant->n_symbols; i++)
		al_ledger_set(&asked->ledger, variant->symbols[i].name, next_size(random, 1000));
	/* some variants halve heads, and deal them to groups */
	if (al_ledger_symbol(&asked->ledger, "d_head", 1, &d_head, NULL))
		al_ledger_set(&asked->ledger, "d_head", 2 * d_head);
	if (al_ledger_symbol(&asked->ledger, "n_o_groups", 1, &n_groups, NULL))
		al_ledger_set(&asked->ledger, "n_heads", n_groups * next_size(random, 100));
}

static void assert_same(struct asked *a, struct asked *b)
{
	mpq_t left, right;

	mpq_inits(left, right, NULL);
	for (enum al_measure measure = 0; measure < AL_N_BLOCK_MEASURES; measure++) {
		ask_open(a, measure, left);
		ask_open(b, measure, right);
		if (!mpq_equal(left, right))
			fail_msg("%s and %s differ in %s", a->configured.name, b->configured.name,
				al_measures[measure].key);
	}
	mpq_clears(left, right, NULL);
}

/* Grouped queries with as many key heads as query heads are MHA, with one key head MQA. */
static void gqa_lies_between_mha_and_mqa(void **state)
{
	struct asked gqa, mha, mqa;
	int64_t n_heads;

	(void)state;
	open_block(&gqa, &(struct request){"gqa", ALL_GIVEN, NULL, "korthikanti2022"});
	open_block(&mha, &(struct request){"mha", ALL_GIVEN, NULL, "korthikanti2022"});
	open_block(&mqa, &(struct request){"mqa", ALL_GIVEN, NULL, "korthikanti2022"});
	for (uint64_t seed = 1; seed <= 20; seed++) {
		uint64_t a = seed, b = seed, c = seed;
		reshape(&gqa, &a);
		reshape(&mha, &b);
		reshape(&mqa, &c);
		assert_true(al_ledger_symbol(&gqa.ledger, "n_heads", 1, &n_heads, NULL));
		al_ledger_set(&gqa.ledger, "n_kv_heads", n_heads);
		assert_same(&gqa, &mha);
		al_ledger_set(&gqa.ledger, "n_kv_heads", 1);
		assert_same(&gqa, &mqa);
	}
	close_block(&gqa);
	close_block(&mha);
	close_block(&mqa);
}

static void assert_parts_sum(struct asked *asked)
{
	const struct al_ledger_list *list;
	struct al_error err;
	mpq_t sum, part, whole;

	mpq_inits(sum, part, whole, NULL);
	if (!al_ledger_list(&asked->ledger, AL_LIST_TENSORS, &list, &err))
		fail_msg("%s", err.message);
	for (size_t i = 0; i < list->n; i++)
		mpq_add(sum, sum, list->items[i].elements);
	ask_open(asked, AL_PARAMETERS, whole);
	assert_true(mpq_equal(sum, whole));

	mpq_set_ui(sum, 0, 1);
	for (enum al_measure measure = AL_WEIGHTS; measure < AL_TOTAL; measure++) {
		ask_open(asked, measure, part);
		mpq_add(sum, sum, part);
	}
	ask_open(asked, AL_TOTAL, whole);
	assert_true(mpq_equal(sum, whole));
	mpq_clears(sum, part, whole, NULL);
}

/* Evaluates a polynomial's text where the block stands. */
static void assert_polynomial_is(struct asked *asked, const char *text)
{
	const struct al_formula *formula;
	struct al_scope scope = al_settings_scope(al_ledger_settings(&asked->ledger));
	struct al_value value;
	struct al_error err = {0};
	mpq_t evaluated, counted;

	if (!al_formula_parse(&asked->arena, text, AL_DIALECT_CATALOG, &formula, &err))
		fail_msg("%s: %s", text, err.message);
	al_value_init(&value);
	mpq_inits(evaluated, counted, NULL);
	assert_true(al_formula_eval(formula, &scope, &value, &err));
	al_value_get(&value, evaluated);
	ask_open(asked, AL_PARAMETERS, counted);
	if (!mpq_equal(evaluated, counted))
		fail_msg("%s is not %s", asked->configured.name, text);
	mpq_clears(evaluated, counted, NULL);
	al_value_finish(&value);
}

static void write_polynomial(struct asked *asked, struct al_text *text)
{
	struct al_polynomial *polynomial;
	struct al_error err = {0};

	if (!al_ledger_polynomial(&asked->ledger, NULL, 0, &polynomial, &err))
		fail_msg("%s", err.message);
	al_polynomial_text(polynomial, text);
	al_polynomial_destroy(polynomial);
}

/* Any variant: parts sum to their wholes, and the formula counts what the tensors count. */
static void check_variant(const char *variant, const char *basis)
{
	struct asked asked;
	struct al_text text;
	uint64_t random = 42;

	open_block(&asked, &(struct request){variant, ALL_GIVEN, basis, "korthikanti2022"});
	al_text_init(&text);
	write_polynomial(&asked, &text);
	for (int i = 0; i < 10; i++) {
		reshape(&asked, &random);
		assert_parts_sum(&asked);
		assert_polynomial_is(&asked, text.data);
	}
	al_text_finish(&text);
	close_block(&asked);
}

/* Queries from one projection, or through a rank. */
static bool has_two_forms(const char *variant)
{
	return strcmp(variant, "mla") == 0 || strcmp(variant, "tpa") == 0
		|| strcmp(variant, "gla") == 0;
}

static void check_form(const char *variant, int q_rank, const char *basis)
{
	char configured[64];

	snprintf(configured, sizeof(configured), "%s:%s=%d", variant,
		strcmp(variant, "tpa") == 0 ? "q_products" : "q_rank", q_rank);
	check_variant(configured, basis);
}

static void formulas_count_what_tensors_count(void **state)
{
	static const char *const some_bases[] = {
		NULL,
		"output_projection=full biases=true",
		"output_projection=none per=model",
		"roles=query,output per=model biases=true",
	};
	const struct al_embedded_list *variants = al_catalog_files(AL_CATALOG_VARIANTS);

	(void)state;
	for (size_t b = 0; b < COUNT(some_bases); b++)
		for (size_t i = 0; i < variants->n_files; i++) {
			const char *name = variants->files[i].name;
			if (!has_two_forms(name)) {
				check_variant(name, some_bases[b]);
				continue;
			}
			check_form(name, 0, some_bases[b]);
			check_form(name, 7, some_bases[b]);
		}
}

/* A block that was changed is a block that was made so: defaults follow, what the configured
 * variant fixes stays. */
static void a_changed_block_is_a_new_one(void **state)
{
	struct asked changed, made;

	(void)state;
	open_block(&changed,
		&(struct request){"gqa:n_kv_heads=4", "d_model=768 n_heads=12 batch=1 seq=8",
			"biases=true", "smith2022"});
	assert_parts_sum(&changed);
	al_ledger_set(&changed.ledger, "n_heads", 24);
	al_ledger_set(&changed.ledger, "n_kv_heads", 2);
	al_ledger_set(&changed.ledger, "biases", 0);
	open_block(&made,
		&(struct request){"gqa:n_kv_heads=4", "d_model=768 n_heads=24 batch=1 seq=8",
			"biases=true", "smith2022"});
	assert_same(&changed, &made);
	close_block(&changed);
	close_block(&made);
}

/* Heads that can't be shared out are refused where they are set, as where a block is made. */
static void refuses_groups_that_are_set(void **state)
{
	struct al_error err = {0};
	struct asked asked;
	mpq_t out;

	(void)state;
	open_block(&asked,
		&(struct request){"gqa:n_kv_heads=4", "d_model=480 n_heads=12 batch=1 seq=8", NULL,
			"smith2022"});
	mpq_init(out);
	for (enum al_measure measure = 0; measure < AL_N_BLOCK_MEASURES; measure++) {
		al_ledger_set(&asked.ledger, "n_heads", 10);
		for (int again = 0; again < 2; again++) {
			assert_false(
				al_ledger_measure(&asked.ledger, measure, asked.recipe, out, &err));
			assert_string_equal(err.message,
				"variant gqa:n_kv_heads=4 (gqa, built-in): n_heads (10) is not a "
				"multiple of n_kv_heads (4)");
		}
		al_ledger_set(&asked.ledger, "n_heads", 16);
		ask_open(&asked, measure, out);
	}
	mpq_clear(out);
	close_block(&asked);
}

/* ---- polynomials ---- */

#define PER_HEADS "d_model=n_heads*d_head"

static const struct theory {
	const char *variant, *set, *basis, *substitution, *text;
	int order;
} theory[] = {
	/* The poster's table: O(n) or O(n^2) in the number of heads. */
	{"sha", NULL, "output_projection=none", PER_HEADS, "3*d_head^2*n_heads", 1},
	{"mha", NULL, "output_projection=none", PER_HEADS, "3*d_head^2*n_heads^2", 2},
	{"el-att", NULL, "output_projection=none", PER_HEADS, "d_head^2*n_heads^2", 2},
	{"mqa", NULL, "output_projection=none", PER_HEADS,
		"d_head^2*n_heads^2 + 2*d_head^2*n_heads", 2},
	{"skv", NULL, "output_projection=none", PER_HEADS, "2*d_head^2*n_heads^2", 2},
	{"mhe-add", NULL, "output_projection=none", PER_HEADS,
		"3*d_head^2*n_heads + 3*d_head*n_heads", 1},
	{"mhe-mul", NULL, "output_projection=none", PER_HEADS,
		"3*d_head^2*n_heads + 3*d_head*n_heads", 1},
	{"gqa:n_kv_heads=4", NULL, "output_projection=none", PER_HEADS,
		"d_head^2*n_heads^2 + 8*d_head^2*n_heads", 2},
	/* A variant keeps the symbols that it declares. */
	{"gqa", NULL, "output_projection=none", PER_HEADS,
		"d_head^2*n_heads^2 + 2*d_head^2*n_heads*n_kv_heads", 2},
	{"gqa", "n_kv_heads=8", "output_projection=none", PER_HEADS,
		"d_head^2*n_heads^2 + 2*d_head^2*n_heads*n_kv_heads", 2},
	{"mha", "d_value=64 d_head=32 n_heads=2", NULL, NULL,
		"2*d_head*d_model*n_heads + 2*d_model*d_value*n_heads", 1},
	{"mha", NULL, NULL, NULL, "4*d_head*d_model*n_heads", 1},
	{"mha:n_heads=5", NULL, NULL, PER_HEADS, "100*d_head^2", 0},
	{"gqa:n_heads=5", NULL, "output_projection=none", PER_HEADS,
		"10*d_head^2*n_kv_heads + 25*d_head^2", 0},
	{"mha", NULL, "roles=value", "d_head=3*n_heads", "3*d_model*n_heads^2", 2},
	{"mha", NULL, "roles=value", "d_value=d_head + 1",
		"d_head*d_model*n_heads + d_model*n_heads", 1},
	/* Bases. */
	{"mha:biases=true", NULL, "roles=key", NULL, "d_head*d_model*n_heads + d_head*n_heads", 1},
	{"sha", NULL, "output_projection=full", NULL, "3*d_head*d_model + d_model^2", 0},
	{"mha", NULL, "per=model", NULL, "4*d_head*d_model*n_heads*n_layers", 1},
	{"mha", "n_encoder_layers=2 n_decoder_layers=2", "per=model roles=key", NULL,
		"2*d_head*d_model*n_decoder_layers*n_heads + "
		"d_head*d_model*n_encoder_layers*n_heads",
		1},
	{SHARED, "k=5", "roles=key per=model", NULL, "100*n_groups + 10*n_layers + 1000", 0},
	/* A cubic term. */
	{INLINE(TENSORS
		 "[{\"name\": \"T\", \"role\": \"mix\", \"shape\": [\"n_heads^2\", \"d_model\"]}]"),
		NULL, NULL, PER_HEADS, "d_head*n_heads^3", 3},
};

static bool make_polynomial(struct asked *asked, const char *substitution,
	struct al_polynomial **out, struct al_error *err)
{
	struct al_substitution one = {0};

	if (!substitution)
		return al_ledger_polynomial(&asked->ledger, NULL, 0, out, err);
	const char *equals = strchr(substitution, '=');
	one.symbol = al_strndup(&asked->arena, substitution, (size_t)(equals - substitution));
	return al_formula_parse(&asked->arena, equals + 1, AL_DIALECT_CATALOG, &one.formula, err)
		&& al_ledger_polynomial(&asked->ledger, &one, 1, out, err);
}

static void derives_theory_from_tensors(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(theory); i++) {
		const struct theory *row = &theory[i];
		struct al_polynomial *polynomial;
		struct al_error err = {0};
		struct al_text text;
		struct asked asked;
		int order;
		open_block(&asked, &(struct request){row->variant, row->set, row->basis, NULL});
		if (!make_polynomial(&asked, row->substitution, &polynomial, &err))
			fail_msg("%s", err.message);
		al_text_init(&text);
		al_polynomial_text(polynomial, &text);
		assert_string_equal(text.data, row->text);
		assert_true(al_polynomial_degree(polynomial, "n_heads", &order, &err));
		assert_int_equal(order, row->order);
		al_text_finish(&text);
		al_polynomial_destroy(polynomial);
		close_block(&asked);
	}
}

/* The abstract of Xue & Aletras 2023: MHA takes (3n^2-3n)d^2 - 3nd more than MHE. */
static void derives_what_mhe_saves(void **state)
{
	struct request requests[2] = {
		{"mha", NULL, "output_projection=none", NULL},
		{"mhe-mul", NULL, "output_projection=none", NULL},
	};
	struct al_polynomial *polynomials[2], *difference;
	struct al_error err = {0};
	struct al_text text;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct asked asked;
		open_block(&asked, &requests[i]);
		assert_true(make_polynomial(&asked, PER_HEADS, &polynomials[i], &err));
		close_block(&asked);
	}
	assert_true(al_polynomial_difference(polynomials[0], polynomials[1], &difference, &err));
	al_text_init(&text);
	al_polynomial_text(difference, &text);
	assert_string_equal(text.data,
		"3*d_head^2*n_heads^2 - 3*d_head^2*n_heads - 3*d_head*n_heads");
	al_text_finish(&text);
	al_polynomial_destroy(difference);
	al_polynomial_destroy(polynomials[0]);
	al_polynomial_destroy(polynomials[1]);
}

/* ---- variants as they are used ---- */

static const struct configured_name {
	const char *text, *name;
} configured_names[] = {
	{"gqa", "gqa"},
	{"gqa:n_kv_heads=4", "gqa:n_kv_heads=4"},
	{"gqa:n_kv_heads=4,biases=true,n_layers=3", "gqa:n_kv_heads=4,biases=true,n_layers=3"},
	{"src/catalog/variants/mha.json", "mha"},
	{"src/catalog/variants/mha.json:d_head=4", "mha:d_head=4"},
};

static void names_a_configured_variant(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(configured_names); i++) {
		struct asked asked;
		open_block(&asked, &(struct request){configured_names[i].text, NULL, NULL, NULL});
		assert_string_equal(asked.configured.name, configured_names[i].name);
		close_block(&asked);
	}
}

/* ---- refusals ---- */

static const struct refusal {
	struct request request;
	enum al_measure measure;
	const char *message;
} refusals[] = {
	/* configured variants */
	{{"gqq", NULL, NULL, NULL}, AL_PARAMETERS,
		"unknown variant \"gqq\" (did you mean \"gqa\"?)"},
	{{"gqa:n_kv_head=4", NULL, NULL, NULL}, AL_PARAMETERS,
		"variant gqa (built-in): unknown symbol or option \"n_kv_head\" (did you mean "
		"\"n_kv_heads\"?)"},
	{{"gqa:", NULL, NULL, NULL}, AL_PARAMETERS, "variant gqa: found \"\", expected KEY=VALUE"},
	{{"gqa:n_kv_heads", NULL, NULL, NULL}, AL_PARAMETERS,
		"variant gqa: found \"n_kv_heads\", expected KEY=VALUE"},
	{{"gqa:n_kv_heads=4k", NULL, NULL, NULL}, AL_PARAMETERS,
		"variant gqa: n_kv_heads is \"4k\", expected a whole number of at least 0 and "
		"below 2^53"},
	{{"gqa:biases=yes", NULL, NULL, NULL}, AL_PARAMETERS,
		"variant gqa: biases is \"yes\", expected true, false, or a share of layers such "
		"as 4/5"},
	{{"gqa:d_head=4,d_head=4", NULL, NULL, NULL}, AL_PARAMETERS,
		"variant gqa (built-in): \"d_head\" is set twice"},
	/* bases */
	{{"mha", NULL, "output_project=own", NULL}, AL_PARAMETERS,
		"unknown basis \"output_project\" (did you mean \"output_projection\"?)"},
	{{"mha", NULL, "output_projection=ful", NULL}, AL_PARAMETERS,
		"unknown output_projection \"ful\" (did you mean \"full\"?)"},
	{{"mha", NULL, "roles=query,keys", NULL}, AL_PARAMETERS,
		"unknown role \"keys\" (did you mean \"key\"?)"},
	{{"mha", NULL, "biases=ture", NULL}, AL_PARAMETERS,
		"unknown biases \"ture\" (did you mean \"true\"?)"},
	{{"mha", NULL, "per=modul", NULL}, AL_PARAMETERS,
		"unknown per \"modul\" (did you mean \"module\"?)"},
	/* symbols and shapes */
	{{"latent-kv", "d_model=8 n_heads=2", NULL, NULL}, AL_PARAMETERS,
		"variant latent-kv (built-in): tensor W_DKV: symbol \"kv_rank\" is not set"},
	{{"gqa:n_kv_heads=4", "d_model=8 d_head=2", NULL, NULL}, AL_CACHE_BYTES,
		"variant gqa:n_kv_heads=4 (gqa, built-in): cache K: symbol \"seq\" is not set"},
	{{"mha", "d_model=0 n_heads=1 d_head=1", NULL, NULL}, AL_PARAMETERS,
		"variant mha (built-in): tensor W_Q: d_model = 0, expected 1 or more"},
	{{"mha", "d_model=1 n_heads=4503599627370496 d_head=2", NULL, NULL}, AL_PARAMETERS,
		"variant mha (built-in): tensor W_Q: n_heads*d_head = 9007199254740992, expected "
		"less than 2^53"},
	{{INLINE(TENSORS
		  "[{\"name\": \"T\", \"role\": \"mix\", \"shape\": [\"d_model/n_heads\"]}]"),
		 "d_model=7 n_heads=2", NULL, NULL},
		AL_PARAMETERS,
		"variant mine (inline.json): tensor T: d_model/n_heads = 7/2 is not a whole "
		"number"},
	{{INLINE(TENSORS "[{\"name\": \"T\", \"role\": \"mix\", \"shape\": [\"3 - k\"]}]"), "k=5",
		 NULL, NULL},
		AL_PARAMETERS,
		"variant mine (inline.json): tensor T: 3 - k = -2, expected 1 or more"},
	{{INLINE(TENSORS
		  "[{\"name\": \"T\", \"role\": \"mix\", \"shape\": [\"2\"], \"count\": \"2\", "
		  "\"active\": \"k\"}]"),
		 "k=5", NULL, NULL},
		AL_PARAMETERS,
		"variant mine (inline.json): tensor T: 5 are active, more than the total of 2"},
	{{INLINE(TENSORS "[], \"products\": [{\"name\": \"P\", \"left\": [\"seq\", \"k\"], "
			 "\"right\": [\"d_model\", \"k\"]}]"),
		 "k=5 d_model=6 seq=1 batch=1", NULL, NULL},
		AL_FLOPS,
		"variant mine (inline.json): product P: left ends in k = 5 and right begins with "
		"d_model = 6"},
	{{INLINE(TENSORS
		  "[], \"cache\": [{\"name\": \"K\", \"shape\": [\"k\"], \"dtype\": \"f33\"}]"),
		 "k=5 seq=1 batch=1", NULL, NULL},
		AL_CACHE_BYTES,
		"variant mine (inline.json): cache K: unknown dtype \"f33\" (did you mean "
		"\"f32\"?)"},
	/* what the basis covers */
	{{"mha", ODD, "per=model", NULL}, AL_PARAMETERS,
		"variant mha (built-in): symbol \"n_layers\" is not set"},
	{{"mha", ODD " n_layers=0", "per=model", NULL}, AL_PARAMETERS,
		"variant mha (built-in): n_layers = 0, expected 1 or more"},
	{{"mha", ODD " n_encoder_layers=2", "per=model", NULL}, AL_PARAMETERS,
		"variant mha (built-in): symbol \"n_decoder_layers\" is not set"},
	{{"mha", "transformer-base", "per=layer", NULL}, AL_PARAMETERS,
		"variant mha (built-in): the layers of an encoder-decoder differ: use --basis "
		"per=module or per=model"},
	{{"mha", "transformer-base n_layers=24", "per=model", NULL}, AL_PARAMETERS,
		"variant mha (built-in): n_layers is 24, expected n_encoder_layers + "
		"n_decoder_layers = 12"},
	{{SHARED, "k=5 n_layers=2", "per=model", NULL}, AL_PARAMETERS,
		"variant mine (inline.json): symbol \"n_groups\" is not set"},
	/* recipes */
	{{"mha", "bert-base", NULL, NULL}, AL_WEIGHTS, "\"weights\" needs a recipe"},
	{{"mha", "bert-base seq=0 batch=1", NULL, "smith2022"}, AL_TOTAL,
		"variant mha (built-in): seq is 0, expected at least 1"},
	{{"fnet", "seq=1 batch=1", NULL, "smith2022"}, AL_TOTAL,
		"variant fnet (built-in): recipe smith2022: symbol \"d_model\" is not set"},
};

static void refuses_in_one_line(void **state)
{
	mpq_t value;

	(void)state;
	mpq_init(value);
	for (size_t i = 0; i < COUNT(refusals); i++) {
		const struct refusal *row = &refusals[i];
		struct al_error err = {0};
		struct asked asked;
		if (try_open(&asked, &row->request, &err)
			&& al_ledger_measure(&asked.ledger, row->measure, asked.recipe, value,
				&err))
			fail_msg("not refused: %s", row->message);
		assert_string_equal(err.message, row->message);
		assert_true(err.status == AL_EINPUT || err.status == AL_EUNSET);
		close_block(&asked);
	}
	mpq_clear(value);
}

/* What fails leaves nothing behind: no ledger, no polynomial. */
static void refusals_leave_nothing(void **state)
{
	const struct al_ledger_list *list;
	struct asked asked;
	struct al_polynomial *polynomial;
	struct al_error err;

	(void)state;
	open_block(&asked, &(struct request){SHARED, NULL, NULL, NULL});
	assert_false(al_ledger_list(&asked.ledger, AL_LIST_TENSORS, &list, &err));
	assert_string_equal(err.message,
		"variant mine (inline.json): tensor A: symbol \"k\" is not set");
	assert_false(make_polynomial(&asked, "k=d_model^17", &polynomial, &err));
	assert_string_equal(err.message,
		"variant mine (inline.json): tensor A: k = d_model^17: column 8: "
		"expands to degree 17, expected at most 16");
	assert_null(polynomial);
	close_block(&asked);

	open_block(&asked, &(struct request){"mha", "transformer-base", "per=layer", NULL});
	assert_false(make_polynomial(&asked, NULL, &polynomial, &err));
	assert_null(polynomial);
	close_block(&asked);
}

/* ---- metrics ---- */

static const struct metric {
	const char *score, *reference, *parameters, *base_parameters;
	bool higher_is_better;
	const char *retention, *elasticity; /* NULL: none */
	int digits;
} metrics[] = {
	/* Xue & Aletras 2023, Table 1, GLUE: SKV's PRR, SHA's. */
	{"81.4", "81.9", "1", "1", true, "99.4", NULL, 1},
	{"79.2", "81.9", "1", "1", true, "96.7", NULL, 1},
	/* Table 14: perplexity, where more is worse. */
	{"53.8", "43.0", "1", "1", false, "74.9", NULL, 1},
	{"50.7", "44.3", "1", "1", false, "85.6", NULL, 1},
	/* Table 1, GLUE against SHA: MHA's and MQA's PEoP. */
	{"81.9", "79.2", "28311552", "8847360", true, "103.41", "0.02", 2},
	{"81.3", "79.2", "15335424", "8847360", true, "102.65", "0.04", 2},
	/* Half the perplexity for twice the parameters. */
	{"5", "10", "2", "1", false, "150", "0.5", 1},
	{"5", "10", "2", "1", true, "50", "-0.5", 1},
	/* Nothing to compare with. */
	{"5", "0", "2", "1", true, NULL, NULL, 1},
	{"5", "10", "2", "0", true, "50", NULL, 1},
};

static void check_metric(struct al_arena *arena, bool has_value, mpq_srcptr value, int digits,
	const char *expected)
{
	mpq_t number;
	int expected_digits;

	assert_int_equal(has_value, expected != NULL);
	if (!expected)
		return;
	mpq_init(number);
	assert_true(al_exact_parse(expected, number, &expected_digits));
	const char *rounded = al_exact_decimal(arena, number, digits);
	assert_string_equal(al_exact_decimal(arena, value, digits), rounded);
	mpq_clear(number);
}

static void measures_retention_and_elasticity(void **state)
{
	struct al_arena arena;
	mpq_t score, reference, parameters, base_parameters, out;
	int digits;

	(void)state;
	al_arena_init(&arena);
	mpq_inits(score, reference, parameters, base_parameters, out, NULL);
	for (size_t i = 0; i < COUNT(metrics); i++) {
		const struct metric *row = &metrics[i];
		assert_true(al_exact_parse(row->score, score, &digits));
		assert_true(al_exact_parse(row->reference, reference, &digits));
		assert_true(al_exact_parse(row->parameters, parameters, &digits));
		assert_true(al_exact_parse(row->base_parameters, base_parameters, &digits));
		bool has = al_retention(out, score, reference, row->higher_is_better);
		check_metric(&arena, has, out, row->digits, row->retention);
		has = al_elasticity(out, score, reference, parameters, base_parameters,
			row->higher_is_better);
		check_metric(&arena, has, out, row->digits, row->elasticity);
		/* The result may take the place of what it is made from. */
		has = al_elasticity(reference, score, reference, parameters, base_parameters,
			row->higher_is_better);
		check_metric(&arena, has, reference, row->digits, row->elasticity);
	}
	mpq_clears(score, reference, parameters, base_parameters, out, NULL);
	al_arena_finish(&arena);
}

static void finds_a_measure(void **state)
{
	(void)state;
	for (int i = 0; i < AL_N_MEASURES; i++)
		assert_int_equal(al_measure_find(al_measures[i].key), i);
	assert_int_equal(al_measure_find("cache_bytes"), AL_CACHE_BYTES);
	assert_int_equal(al_measure_find("saving"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shows_table_13),
		cmocka_unit_test(shows_the_papers_numbers),
		cmocka_unit_test(counts_odd_shapes),
		cmocka_unit_test(follows_the_bases),
		cmocka_unit_test(says_its_basis),
		cmocka_unit_test(counts_what_is_shared_and_cached),
		cmocka_unit_test(lists_its_tensors),
		cmocka_unit_test(explains_a_number),
		cmocka_unit_test(gqa_lies_between_mha_and_mqa),
		cmocka_unit_test(formulas_count_what_tensors_count),
		cmocka_unit_test(a_changed_block_is_a_new_one),
		cmocka_unit_test(refuses_groups_that_are_set),
		cmocka_unit_test(derives_theory_from_tensors),
		cmocka_unit_test(derives_what_mhe_saves),
		cmocka_unit_test(names_a_configured_variant),
		cmocka_unit_test(refuses_in_one_line),
		cmocka_unit_test(refusals_leave_nothing),
		cmocka_unit_test(measures_retention_and_elasticity),
		cmocka_unit_test(finds_a_measure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
