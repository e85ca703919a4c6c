/* What compress and verify say of two heads whose scores are known. */
#include "small_bert.h"

#include <math.h>

/* A layer of two heads of two dimensions whose scores are known. A row of the embedding is 1, -1,
 * 1, -1 or its opposite, which a norm leaves as it is; head h sees its dimensions 2h and 2h + 1,
 * where its form W_Q W_K^T is diag(first[h], second[h]). The keys' bias gives all keys of a query
 * the same, which no probability shows. Values and outputs are the identity: what head h puts out
 * is what it attends to in its own two dimensions. */
enum { WIDTH = 4, TOKENS = 2 };

static const double first[] = {1.5, 0.75}, second[] = {0.5, 0.25};

static void write_two_heads(const char *path)
{
	static const double rows[] = {1, -1, 1, -1, -1, 1, -1, 1};
	static const double key[] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
	static const double query[] = {1.5, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 0.75, 0, 0, 0, 0, 0.25};
	static const double zeros[WIDTH] = {0}, alike[] = {0.3, 0.6, 0.9, 1.2};
	static const struct weight weights[] = {
		{"bert.embeddings.word_embeddings.weight", "F64", {2, WIDTH}, 2, rows},
		{LAYER "attention.self.query.weight", "F64", {WIDTH, WIDTH}, 2, query},
		{LAYER "attention.self.query.bias", "F64", {WIDTH}, 1, zeros},
		{LAYER "attention.self.key.weight", "F64", {WIDTH, WIDTH}, 2, key},
		{LAYER "attention.self.key.bias", "F64", {WIDTH}, 1, alike},
		{LAYER "attention.self.value.weight", "F64", {WIDTH, WIDTH}, 2, key},
		{LAYER "attention.self.value.bias", "F64", {WIDTH}, 1, zeros},
		{LAYER "attention.output.dense.weight", "F64", {WIDTH, WIDTH}, 2, key},
		{LAYER "attention.output.dense.bias", "F64", {WIDTH}, 1, NULL},
		{LAYER "intermediate.dense.weight", "F64", {2 * WIDTH, WIDTH}, 2, NULL},
	};

	write_weights(path, weights, sizeof(weights) / sizeof(*weights));
}

/* The first of two probabilities, whose logits are s and -s. */
static double probability(double s)
{
	return exp(s) / (exp(s) + exp(-s));
}

static void assert_near(double found, double expected)
{
	if (!(fabs(found - expected) <= 1e-12))
		fail_msg("%.17g, expected %.17g", found, expected);
}

/* Of opposite tokens x and -x, head h puts out (2 p_h - 1) x in its dimensions, the compressed one
 * (2 p'_h - 1) x. */
static double output_error(const double p[2], const double compressed[2])
{
	double error = 0, norm = 0;

	for (int h = 0; h < 2; h++) {
		norm += (2 * p[h] - 1) * (2 * p[h] - 1);
		error += 4 * (p[h] - compressed[h]) * (p[h] - compressed[h]);
	}
	return sqrt(error / norm);
}

/* Truncation to one dimension leaves diag(first, 0). Where the two tokens are opposite, each has
 * logits s and -s with s = (first + second)/sqrt(2), and first/sqrt(2) when compressed; where they
 * are the same token, nothing can differ. */
static void probabilities_by_hand(void **state)
{
	const struct al_compress_options options = {.method = AL_METHOD_QK,
		.ranks = &(int64_t){1},
		.n_ranks = 1};
	struct fixture *f = *state;
	struct al_checkpoint compressed;
	struct al_table table, rows;
	double largest = 0, mean = 0, p[2], truncated[2];
	char path[256];
	struct opened two;
	size_t n_opposite = 0;

	for (int h = 0; h < 2; h++) {
		const double difference = probability((first[h] + second[h]) / sqrt(2))
			- probability(first[h] / sqrt(2));
		p[h] = probability((first[h] + second[h]) / sqrt(2));
		truncated[h] = probability(first[h] / sqrt(2));
		largest = fmax(largest, difference);
		mean += difference / 2;
	}
	write_two_heads(test_path(path, &f->folder, "two.safetensors"));
	open_model(&two, path, 2, 0);
	al_table_init(&rows, "compress", "");
	al_compress_add_columns(&rows);
	MUST(al_compress(&two.view, &options, f->compressed, &rows, NULL, &err));
	MUST(al_checkpoint_open(&compressed, f->compressed, &err));
	al_table_init(&table, "verify", "");
	al_verify_add_columns(&table);
	for (uint64_t seed = 0; seed < 16; seed++) {
		const struct al_verify_options verify = {.n_tokens = TOKENS, .seed = seed};
		bool holds;
		MUST(al_verify(&two.view, &compressed, &verify, &table, &holds, &err));
		assert_true(holds);
		const size_t row = table.n_rows - 1;
		assert_string_equal(table.rows[row][2].text, "embedding");
		const bool is_opposite = number(&table, row, "logit_max") > 1e-9;
		assert_near(number(&table, row, "logit_max"),
			is_opposite ? second[0] / sqrt(2) : 0);
		assert_near(number(&table, row, "probability_max"), is_opposite ? largest : 0);
		assert_near(number(&table, row, "total_variation"), is_opposite ? mean : 0);
		assert_near(number(&table, row, "output_error"),
			is_opposite ? output_error(p, truncated) : 0);
		n_opposite += is_opposite;
	}
	assert_true(n_opposite > 0 && n_opposite < 16);
	al_table_finish(&table);
	al_table_finish(&rows);
	al_checkpoint_close(&compressed);
	close_model(&two);
}

/* A head that is gone changes no probability of the others, but the output: p'_0 = 1/2 puts out
 * nothing. Of equal tokens each head puts out x in its dimensions, so that half of it is gone. */
static void dropped_head_shows(void **state)
{
	const struct al_dropped head = {"0", 0};
	const struct al_compress_options options = {.method = AL_METHOD_DROP,
		.dropped = &head,
		.n_dropped = 1};
	const double p[] = {probability((first[0] + second[0]) / sqrt(2)),
		probability((first[1] + second[1]) / sqrt(2))};
	const double gone[] = {0.5, p[1]};
	struct fixture *f = *state;
	struct al_checkpoint compressed;
	struct al_table table, rows;
	char path[256];
	struct opened two;
	size_t n_opposite = 0;

	write_two_heads(test_path(path, &f->folder, "two.safetensors"));
	open_model(&two, path, 2, 0);
	al_table_init(&rows, "compress", "");
	al_compress_add_columns(&rows);
	MUST(al_compress(&two.view, &options, f->compressed, &rows, NULL, &err));
	MUST(al_checkpoint_open(&compressed, f->compressed, &err));
	al_table_init(&table, "verify", "");
	al_verify_add_columns(&table);
	for (uint64_t seed = 0; seed < 16; seed++) {
		const struct al_verify_options verify = {.n_tokens = TOKENS,
			.seed = seed,
			.has_tolerance = true,
			.tolerance = seed % 2 ? 10 : 0.1};
		bool holds;
		MUST(al_verify(&two.view, &compressed, &verify, &table, &holds, &err));
		assert_int_equal(holds, seed % 2);
		const size_t row = table.n_rows - 1;
		const double error = number(&table, row, "output_error");
		const bool is_opposite = fabs(error - sqrt(0.5)) > 1e-9;
		assert_near(error, is_opposite ? output_error(p, gone) : sqrt(0.5));
		assert_near(number(&table, row, "total_variation"), 0);
		n_opposite += is_opposite;
	}
	assert_true(n_opposite > 0 && n_opposite < 16);
	al_table_finish(&table);
	al_table_finish(&rows);
	al_checkpoint_close(&compressed);
	close_model(&two);
}

/* One head of one rotary pair, which turns by one radian from token to token, among five
 * positions; its keys are diag(1, 1/2). */
static void write_rotary(const struct test_folder *folder, const char *family)
{
	static const char format[] =
		"{\"model_type\": %s, \"hidden_size\": 2, \"num_attention_heads\": 1, "
		"\"num_hidden_layers\": 1, \"intermediate_size\": 2, \"vocab_size\": 2, "
		"\"max_position_embeddings\": 5}";
	static const double rows[] = {1, -1, -1, 1}, one[] = {1, 0, 0, 1}, key[] = {1, 0, 0, .5};
	static const struct weight weights[] = {
		{"model.embed_tokens.weight", "F64", {2, 2}, 2, rows},
		{"model.layers.0.self_attn.q_proj.weight", "F64", {2, 2}, 2, one},
		{"model.layers.0.self_attn.k_proj.weight", "F64", {2, 2}, 2, key},
		{"model.layers.0.self_attn.v_proj.weight", "F64", {2, 2}, 2, one},
		{"model.layers.0.self_attn.o_proj.weight", "F64", {2, 2}, 2, one},
	};
	char path[256], config[512];
	const int length = snprintf(config, sizeof(config), format, family);

	write_weights(test_path(path, folder, "model.safetensors"), weights,
		sizeof(weights) / sizeof(*weights));
	test_write(test_path(path, folder, "config.json"), config, (size_t)length);
}

/* The keys' latent of one dimension leaves diag(1, 0). The query (1, -1) is turned by t into (cos t
 * + sin t, sin t - cos t); its own key is (1, -1/2), the other token's that one's opposite. Scores
 * are multiplied by `scale`. */
static void check_offsets(struct fixture *f, const char *family, double scale)
{
	static const double offsets[] = {0, 1, 2, 4};
	const struct al_compress_options options = {.method = AL_METHOD_LATENT,
		.of_keys = true,
		.ranks = &(int64_t){1},
		.n_ranks = 1};
	double logit = 0, variation = 0, error = 0, norm = 0;
	struct al_checkpoint compressed;
	struct al_table table, rows;
	struct test_folder folder;
	struct opened model;
	size_t n_opposite = 0;
	bool holds;

	for (size_t i = 0; i < 4; i++) {
		const double c = cos(offsets[i]), s = sin(offsets[i]);
		const double p = probability(scale * (1.5 * c + 0.5 * s)),
			     q = probability(scale * (c + s));
		logit = fmax(logit, scale * fabs(c - s) / 2);
		variation += fabs(p - q) / 4;
		error += 4 * (p - q) * (p - q);
		norm += (2 * p - 1) * (2 * p - 1);
	}
	test_folder_make(&folder);
	write_rotary(&folder, family);
	open_model(&model, folder.path, 0, 0);
	al_table_init(&rows, "compress", "");
	al_compress_add_columns(&rows);
	MUST(al_compress(&model.view, &options, f->compressed, &rows, NULL, &err));
	MUST(al_checkpoint_open(&compressed, f->compressed, &err));
	al_table_init(&table, "verify", "");
	al_verify_add_columns(&table);
	for (uint64_t seed = 0; seed < 16; seed++) {
		const struct al_verify_options verify = {.n_tokens = TOKENS, .seed = seed};
		MUST(al_verify(&model.view, &compressed, &verify, &table, &holds, &err));
		const size_t row = table.n_rows - 1;
		if (number(&table, row, "logit_max") < 1e-9)
			continue;
		assert_near(number(&table, row, "logit_max"), logit);
		assert_near(number(&table, row, "total_variation"), variation);
		assert_near(number(&table, row, "output_error"), sqrt(error / norm));
		n_opposite++;
	}
	assert_true(n_opposite > 0 && n_opposite < 16);
	al_table_finish(&table);
	al_table_finish(&rows);
	al_checkpoint_close(&compressed);
	close_model(&model);
	/* the compressed file alone says it, too */
	open_model(&model, f->compressed, 0, 0);
	assert_near(model.view.modules[0].score_scale, scale);
	close_model(&model);
	test_folder_remove(&folder);
}

static void offsets_by_hand(void **state)
{
	check_offsets(*state, "\"llama\"", 1 / sqrt(2));
}

/* Granite's config says itself by what scores are multiplied. */
static void the_familys_scale_by_hand(void **state)
{
	check_offsets(*state, "\"granite\", \"attention_multiplier\": 0.3", 0.3);
	check_offsets(*state, "\"granite\"", 1);
}

/* ---- errors ---- */

/* The singular values of the two forms, largest first. */
static const double values[] = {1.5, 0.75, 0.5, 0.25};

/* The relative error of forms that keep the `n` largest. */
static double error_of_keeping(size_t n)
{
	double left = 0, all = 0;

	for (size_t i = 0; i < 4; i++) {
		all += values[i] * values[i];
		left += i < n ? 0 : values[i] * values[i];
	}
	return sqrt(left / all);
}

/* The forms are diagonal, so that the best of each method keeps whole singular values. The control
 * keeps as many of them as it has pairs of columns for the method's weights. */
static void errors_by_hand(void **state)
{
	static const int64_t one = 1, two = 2, three = 3;
	static const struct al_dropped first_head = {"0", 0};
	static const struct {
		struct al_compress_options options;
		double parameters; /* weights and biases; all are 40 */
		size_t kept, control; /* of the singular values */
	} cases[] = {
		{{.method = AL_METHOD_QK, .ranks = &one, .n_ranks = 1}, 16 + 4, 2, 2},
		{{.method = AL_METHOD_TUCKER, .ranks = &one, .n_ranks = 1}, 16 + 8, 1, 2},
		{{.method = AL_METHOD_TUCKER, .ranks = &two, .n_ranks = 1}, 32 + 8, 2, 4},
		{{.method = AL_METHOD_COLLAB, .ranks = &two, .n_ranks = 1}, 20 + 8, 2, 2},
		{{.method = AL_METHOD_COLLAB, .ranks = &three, .n_ranks = 1}, 30 + 8, 3, 3},
	};
	const struct al_compress_options drop = {.method = AL_METHOD_DROP,
		.dropped = &first_head,
		.n_dropped = 1};
	struct fixture *f = *state;
	struct al_table table;
	struct opened two_heads;
	char path[256];

	write_two_heads(test_path(path, &f->folder, "two.safetensors"));
	open_model(&two_heads, path, 2, 0);
	al_table_init(&table, "compress", "");
	al_compress_add_columns(&table);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct al_compress_options options = cases[i].options;
		const double error = error_of_keeping(cases[i].kept);
		const double control = error_of_keeping(cases[i].control);
		options.effort = (struct al_effort){.n_sweeps = 20, .seed = 1};
		MUST(al_compress(&two_heads.view, &options, f->compressed, &table, NULL, &err));
		assert_near(number(&table, i, "original"), 40);
		assert_near(number(&table, i, "parameters"), cases[i].parameters);
		assert_near(number(&table, i, "saving"), 100 - 100 * cases[i].parameters / 40);
		assert_near(number(&table, i, "relative_error"), error);
		assert_near(number(&table, i, "control_error"), control);
		assert_near(number(&table, i, "sharing_gain"), control / error);
	}
	/* without head 0 two values are left out; its 16 weights would hold two as well */
	MUST(al_compress(&two_heads.view, &drop, f->compressed, &table, NULL, &err));
	const size_t last = table.n_rows - 1;
	/* half of four projections of 4 x 4 and of three biases */
	assert_near(number(&table, last, "original"), 4 * 16 + 3 * 4);
	assert_near(number(&table, last, "parameters"), 4 * 8 + 3 * 2);
	assert_near(number(&table, last, "relative_error"), sqrt((1.5 * 1.5 + 0.5 * 0.5) / 3.125));
	assert_near(number(&table, last, "control_error"), error_of_keeping(2));
	al_table_finish(&table);
	close_model(&two_heads);
}

/* Of four shared dimensions each head uses its own two; the larger holds 90 % of the squares. */
static void dimensions_by_hand(void **state)
{
	const struct al_compress_options options = {.method = AL_METHOD_COLLAB,
		.ranks = &(int64_t){4},
		.n_ranks = 1};
	struct fixture *f = *state;
	struct al_table table, heads;
	struct opened two_heads;
	char path[256];

	write_two_heads(test_path(path, &f->folder, "two.safetensors"));
	open_model(&two_heads, path, 2, 0);
	al_table_init(&table, "compress", "");
	al_compress_add_columns(&table);
	al_table_init(&heads, "heads", "");
	al_compress_add_head_columns(&heads);
	MUST(al_compress(&two_heads.view, &options, f->compressed, &table, &heads, &err));
	assert_int_equal(heads.n_rows, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_true(number(&heads, i, "head") == (double)i);
		assert_true(number(&heads, i, "dimensions") == 1);
	}
	al_table_finish(&heads);
	al_table_finish(&table);
	close_model(&two_heads);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_BERT(probabilities_by_hand),
		WITH_BERT(dropped_head_shows),
		WITH_BERT(offsets_by_hand),
		WITH_BERT(the_familys_scale_by_hand),
		WITH_BERT(errors_by_hand),
		WITH_BERT(dimensions_by_hand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
