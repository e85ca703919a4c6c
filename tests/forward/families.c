/* Every case of tests/data/forward: the interpreter's logits or hidden states against those of an
 * independent program in float64. */
#include "tests/unit/unit.h"

#include <glob.h>
#include <math.h>

#include "base/memory.h"
#include "base/text.h"
#include "model/forward/evaluate.h"
#include "model/forward/generate.h"
#include "tests/forward/tiny.h"

#define FOLDER "tests/data/forward"
#define VECTOR "tests/reference/transformers_logits.json"
#define TOLERANCE 1e-4

enum { MOST_CASES = 256 };

static void must(bool ok, const char *what, const struct al_error *err)
{
	if (!ok)
		fail_msg("%s: %s", what, err->message);
}

/* ---- a case ---- */

struct opened {
	struct test_folder folder;
	struct al_catalog *catalog;
	struct al_checkpoint checkpoint;
	struct al_model_view view;
	struct al_network network;
};

static void open_view(struct opened *o, const char *state_dict, const char *family,
	const char *more)
{
	const struct al_view_options options = {.layout = family, .runs = true};
	struct al_error err;

	test_folder_make(&o->folder);
	tiny_write(state_dict, more, &o->folder);
	o->catalog = al_catalog_create();
	must(al_checkpoint_open(&o->checkpoint, o->folder.path, &err), state_dict, &err);
	must(al_model_view_open(&o->view, o->catalog, &o->checkpoint, &options, &err), state_dict,
		&err);
}

static void close_view(struct opened *o)
{
	al_model_view_close(&o->view);
	al_checkpoint_close(&o->checkpoint);
	al_catalog_destroy(o->catalog);
	test_folder_remove(&o->folder);
}

static void open_case(struct opened *o, const struct tiny *tiny, const char *path)
{
	struct al_error err;

	open_view(o, tiny->state_dict, tiny->family, tiny->more);
	must(al_network_open(&o->network, &o->view, &err), path, &err);
}

static void close_case(struct opened *o)
{
	al_network_close(&o->network);
	close_view(o);
}

static struct al_matrix_f run(struct opened *o, const struct tiny *tiny, const char *path)
{
	struct al_matrix_f x, hidden, logits;
	struct al_error err;

	must(al_network_check_tokens(&o->network, &tiny->batch, &err), path, &err);
	must(al_network_embed(&o->network, &tiny->batch, 0, &x, &err), path, &err);
	must(al_network_run_from(&o->network, 0, &tiny->batch, x, &hidden, &err), path, &err);
	al_matrix_finish_f(&x);
	if (o->network.how->kind == AL_FORWARD_ENCODER)
		return hidden;
	must(al_network_logits(&o->network, &tiny->batch, al_view_f(hidden), &logits, &err), path,
		&err);
	al_matrix_finish_f(&hidden);
	return logits;
}

static void compare(const struct al_matrix_f *found, const struct tiny *tiny, const char *path)
{
	assert_int_equal(found->cols, tiny->n_expected);
	assert_int_equal(found->rows, tiny->width);
	for (size_t j = 0; j < found->cols; j++)
		for (size_t i = 0; i < found->rows; i++) {
			const double expected = tiny->expected[i + j * tiny->width];
			const double is = (double)found->data[i + j * found->ld];
			if (!(fabs(is - expected) <= TOLERANCE))
				fail_msg("%s: number %zu of token %zu is %.7f, expected %.7f", path,
					i, j, is, expected);
		}
}

/* ---- what is made of it ---- */

/* The mean over a sequence's tokens has length 1. */
static void compare_embeddings(struct opened *o, const struct tiny *tiny, const char *path)
{
	struct al_matrix found;
	struct al_error err;

	must(al_evaluate_embeddings(&o->network, &tiny->batch, NULL, &found, &err), path, &err);
	assert_int_equal(found.cols, tiny->batch.n_sequences);
	for (size_t s = 0; s < found.cols; s++) {
		double *mean = al_calloc(tiny->width, sizeof(*mean)), squares = 0;
		for (size_t i = 0; i < tiny->width; i++) {
			for (size_t j = tiny->batch.begin[s]; j < tiny->batch.begin[s + 1]; j++)
				mean[i] += tiny->expected[i + j * tiny->width];
			squares += mean[i] * mean[i];
		}
		for (size_t i = 0; i < tiny->width; i++)
			if (!(fabs(found.data[i + s * found.ld] - mean[i] / sqrt(squares))
				    <= TOLERANCE))
				fail_msg("%s: number %zu of embedding %zu", path, i, s);
		free(mean);
	}
	al_matrix_finish(&found);
}

/* -log of the probability that the expected logits give to the token. */
static double expected_loss(const struct tiny *tiny, size_t column, int32_t token)
{
	const double *logits = tiny->expected + column * tiny->width;
	double sum = 0;

	for (size_t i = 0; i < tiny->width; i++)
		sum += exp(logits[i] - logits[token]);
	return log(sum);
}

static void compare_loss(struct opened *o, const struct tiny *tiny, const char *path)
{
	const struct al_batch *batch = &tiny->batch;
	AL_FREED struct al_unit *sequences = al_calloc(batch->n_sequences, sizeof(*sequences));
	const struct al_loss found = {.all = batch, .sequences = sequences};
	double nats = 0, n_predicted = 0;
	struct al_error err;
	double expected = 0;
	size_t n = 0;

	for (size_t s = 0; s < batch->n_sequences; s++)
		for (size_t j = batch->begin[s]; j + 1 < batch->begin[s + 1]; j++, n++)
			expected += expected_loss(tiny, j, batch->tokens[j + 1]);
	must(al_evaluate_loss(&o->network, &found, NULL, &err), path, &err);
	for (size_t s = 0; s < batch->n_sequences; s++) {
		nats += sequences[s].sum;
		n_predicted += sequences[s].n;
	}
	assert_true(n_predicted == (double)n);
	if (!(fabs(nats - expected) <= TOLERANCE * (double)(n + 1)))
		fail_msg("%s: %.7f nats, expected %.7f", path, nats, expected);
}

/* ---- token by token, with what came before in a cache ---- */

static void write_sequence(struct opened *o, const struct tiny *tiny, size_t sequence,
	struct al_matrix_f found, const char *path)
{
	const size_t first = tiny->begin[sequence], n = tiny->begin[sequence + 1] - first;
	struct al_error err;
	struct al_generator *g = al_generator_create(&o->network, 1, n, &err);

	must(g != NULL, path, &err);
	for (size_t j = first; j < first + n; j++) {
		struct al_matrix_f logits;
		must(al_generator_step(g, &tiny->tokens[j], &logits, &err), path, &err);
		memcpy(found.data + j * found.ld, logits.data, found.rows * sizeof(float));
		al_matrix_finish_f(&logits);
	}
	struct al_matrix_f none;
	assert_false(al_generator_step(g, &tiny->tokens[first], &none, &err));
	assert_string_equal(err.message,
		al_format(&o->view.arena, "a sequence has %zu tokens, expected at most %zu", n + 1,
			n));
	al_generator_destroy(g);
}

static void check_generator(struct opened *o, const struct tiny *tiny, const char *path)
{
	struct al_matrix_f found;
	struct al_error err;

	if (o->network.how->kind == AL_FORWARD_ENCODER) {
		assert_null(al_generator_create(&o->network, 1, 1, &err));
		assert_non_null(strstr(err.message, "is an encoder and predicts no next token"));
		return;
	}
	must(al_matrix_init_f(&found, (size_t)o->network.vocab, al_batch_tokens(&tiny->batch),
		     &err),
		path, &err);
	for (size_t i = 0; i < tiny->batch.n_sequences; i++)
		write_sequence(o, tiny, i, found, path);
	compare(&found, tiny, path);
	al_matrix_finish_f(&found);
}

static void a_case(void **state)
{
	const char *path = *state;
	struct tiny *tiny = tiny_read(path);
	struct opened opened;

	open_case(&opened, tiny, path);
	struct al_matrix_f found = run(&opened, tiny, path);
	compare(&found, tiny, path);
	al_matrix_finish_f(&found);
	for (int in_file = 0; in_file < 2; in_file++) {
		opened.network.most_kept *= !in_file;
		if (opened.network.how->kind == AL_FORWARD_ENCODER)
			compare_embeddings(&opened, tiny, path);
		else
			compare_loss(&opened, tiny, path);
	}
	check_generator(&opened, tiny, path);
	close_case(&opened);
	tiny_finish(tiny);
}

/* ---- models that don't run ---- */

#define T5 "\"architectures\": [\"T5EncoderModel\"], \"relative_attention_max_distance\": "

static const struct {
	const char *state_dict, *more, *message; /* NULL: it runs */
} refused[] = {
	{"llama-meta", "\"use_scaled_rope\": true", "the scaling of frequencies is unspecified"},
	{"t5", "\"architectures\": [\"T5ForConditionalGeneration\"]",
		"the forward pass of family t5 only supports an encoder (T5EncoderModel)"},
	{"gpt_oss", "\"sliding_window\": 3",
		"has no rope_scaling; the forward pass of family gpt_oss needs it"},
	{"gpt_oss", "\"rope_scaling\": null, \"swiglu_limit\": 6.5",
		"swiglu_limit is 6.5; the forward pass of family gpt_oss only supports 7"},
	{"mpt", "\"attn_config\": {\"clip_qkv\": 6}",
		"attn_config.clip_qkv is 6; the forward pass of family mpt only supports null"},
	{"gemma", "\"use_bidirectional_attention\": true",
		"use_bidirectional_attention is true; the forward pass of family gemma only "
		"supports false or null"},
	{"mpt", "\"attn_config\": {\"clip_qkv\": [6]}",
		"attn_config.clip_qkv is a list or an object; the forward pass of family mpt only "
		"supports null"},
	{"bart", "\"n_ctx\": 8", "family bart has no forward pass (\"forward\") and can't be run"},
	{"llama", "\"max_position_embeddings\": 16777216", NULL},
	{"llama", "\"max_position_embeddings\": 16777217",
		"config.json: its context is 16777217 tokens, expected at most 16777216"},
	{"roberta", "\"pad_token_id\": 16", NULL},
	{"roberta", "\"pad_token_id\": 18",
		"tensor roberta.embeddings.position_embeddings.weight has 19 rows, but positions "
		"begin at "
		"19"},
	{"t5", T5 "2", NULL},
	{"t5", T5 "1",
		"relative_attention_bias.weight has 7 buckets, too few or too many for distances "
		"to 1"},
	{"t5", T5 "2.5",
		"config.json: relative_attention_max_distance is 2.5, expected a whole number up "
		"to 16777216"},
	{"t5", T5 "16777217",
		"config.json: relative_attention_max_distance is 1.67772e+07, expected a whole "
		"number up to 16777216"},
	{"llama", "\"rms_norm_eps\": 0", NULL},
	{"gguf-granite", "\"logit_scale\": 0",
		"config.json: logit_scale is 0, expected more than 0"},
	{"deepseek_v3", "\"n_group\": 4", NULL},
	/* an activation with learned numbers */
	{"bert", "\"hidden_act\": \"xielu\"",
		"the head for masked tokens can't have an activation with learned numbers"},
	{"llama", "\"hidden_act\": \"xielu\"",
		"the activation has learned numbers, which family llama doesn't name"},
	{"mixtral", "\"hidden_act\": \"xielu\"",
		"experts can't have an activation with learned numbers"},
	{"deepseek_v3", "\"n_group\": 3",
		"4 experts aren't 3 groups of one size, of which 4 are chosen"},
	{"deepseek_v3", "\"n_group\": 2, \"topk_group\": 3",
		"4 experts aren't 2 groups of one size, of which 3 are chosen"},
	{"deepseek_v3", "\"n_group\": 2, \"topk_group\": 2", NULL},
};

static bool run_two(struct al_network *network, struct al_error *err)
{
	const struct al_batch batch = {.tokens = (int32_t[]){1, 2},
		.begin = (size_t[]){0, 2},
		.n_sequences = 1};
	struct al_matrix_f x = {0}, hidden = {0};
	const bool ok = al_network_embed(network, &batch, 0, &x, err)
		&& al_network_run_from(network, 0, &batch, x, &hidden, err);

	al_matrix_finish_f(&x);
	al_matrix_finish_f(&hidden);
	return ok;
}

static void what_does_not_run(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		struct opened o;
		struct al_error err;

		open_view(&o, refused[i].state_dict, NULL, refused[i].more);
		bool ok = al_network_open(&o.network, &o.view, &err);
		if (ok) {
			ok = run_two(&o.network, &err);
			al_network_close(&o.network);
		}
		if (ok != !refused[i].message || (!ok && !strstr(err.message, refused[i].message)))
			fail_msg("%s: %s: %s", refused[i].state_dict, refused[i].more,
				ok ? "runs" : err.message);
		close_view(&o);
	}
}

/* ---- tokens that a config names ---- */

/* The vocabulary of the state dict is 17: 16 is its last token. */
static void named_tokens_are_in_the_vocabulary(void **state)
{
	struct opened o;
	struct al_error err;
	int32_t tokens[2];
	size_t n;

	(void)state;
	open_view(&o, "llama", NULL, "\"bos_token_id\": 17, \"eos_token_id\": [3, 16]");
	must(al_network_open(&o.network, &o.view, &err), "llama", &err);
	must(al_network_named_tokens(&o.network, "eos_token_id", tokens, 2, &n, &err), "llama",
		&err);
	assert_int_equal(n, 2);
	assert_true(tokens[0] == 3 && tokens[1] == 16);
	assert_false(al_network_named_tokens(&o.network, "bos_token_id", tokens, 1, &n, &err));
	assert_non_null(strstr(err.message, "token 17 is beyond the vocabulary of 17"));
	close_case(&o);
}

/* ---- all of them ---- */

struct tried {
	struct al_catalog *catalog;
	const struct al_embedded_list *files;
	bool *is_tried; /* [n_files] */
};

/* A model's own family, and its text's. */
static void try_config(struct tried *tried, const struct al_json *doc, const struct al_item *config)
{
	const struct al_item *text = al_json_get(config, "text_config");
	const struct al_family *family;
	const char *model_type = "";
	struct al_error err;

	must(al_json_get_text(doc, config, "model_type", true, &model_type, &err), "", &err);
	const bool is_known = al_catalog_family_of(tried->catalog, model_type, &family, NULL);
	for (size_t j = 0; is_known && j < tried->files->n_files; j++)
		tried->is_tried[j] |= strcmp(tried->files->files[j].name, family->name) == 0;
	if (text && al_json_get(text, "model_type"))
		try_config(tried, doc, text);
}

static void try_case(struct tried *tried, const char *path)
{
	struct tiny *tiny = tiny_read(path);
	struct al_json doc;
	struct al_error err;

	if (!tiny->family) {
		struct state_dict *dict = state_dict_read(tiny->state_dict);
		must(al_json_parse(&doc, "config", dict->config, strlen(dict->config), &err), path,
			&err);
		try_config(tried, &doc, doc.root);
		al_json_finish(&doc);
		state_dict_finish(dict);
	}
	tiny_finish(tiny);
}

static void try_vector(struct tried *tried)
{
	struct al_json doc;
	struct al_error err;

	must(al_json_read(&doc, VECTOR, &err), VECTOR, &err);
	al_json_each (item, al_json_get(doc.root, "cases"))
		try_config(tried, &doc, al_json_get(item, "config"));
	al_json_finish(&doc);
}

/* A family that says how it runs has a case here, or one that transformers computes. */
static void every_family_has_a_case(void **state)
{
	const glob_t *cases = *state;
	const struct al_embedded_list *files = al_catalog_files(AL_CATALOG_FAMILIES);
	struct tried tried = {al_catalog_create(), files, al_calloc(files->n_files, sizeof(bool))};

	for (size_t i = 0; i < cases->gl_pathc; i++)
		try_case(&tried, cases->gl_pathv[i]);
	try_vector(&tried);
	for (size_t j = 0; j < files->n_files; j++) {
		const struct al_family *family;
		struct al_error err;
		must(al_catalog_family(tried.catalog, files->files[j].name, &family, &err), "",
			&err);
		if (family->runs && family->n_components == 0 && !tried.is_tried[j])
			fail_msg("family %s has no case in " FOLDER " or " VECTOR, family->name);
	}
	free(tried.is_tried);
	al_catalog_destroy(tried.catalog);
}

int main(void)
{
	struct CMUnitTest tests[MOST_CASES + 3];
	glob_t cases;

	if (glob(FOLDER "/*.json", 0, NULL, &cases) != 0 || cases.gl_pathc > MOST_CASES)
		return EXIT_FAILURE;
	for (size_t i = 0; i < cases.gl_pathc; i++)
		tests[i] = (struct CMUnitTest){cases.gl_pathv[i], a_case, NULL, NULL,
			cases.gl_pathv[i]};
	tests[cases.gl_pathc] = (struct CMUnitTest){"every family that runs has a case",
		every_family_has_a_case, NULL, NULL, &cases};
	tests[cases.gl_pathc + 1] = (struct CMUnitTest){"what doesn't run", what_does_not_run, NULL,
		NULL, NULL};
	tests[cases.gl_pathc + 2] = (struct CMUnitTest){"tokens that a config names",
		named_tokens_are_in_the_vocabulary, NULL, NULL, NULL};
	const int n_failed = _cmocka_run_group_tests("forward", tests, cases.gl_pathc + 3, NULL,
		NULL);
	globfree(&cases);
	return n_failed;
}
