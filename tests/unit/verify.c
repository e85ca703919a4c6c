/* What verify says of two checkpoints, beside softmax worked out here. */
#include "small_bert.h"

#include <math.h>

#include "compress/verify.h"

/* A layer of two heads of two dimensions whose scores are known. A row of the embedding is 1, -1,
 * 1, -1 or its opposite, which a norm leaves as it is; head h sees its dimensions 2h and 2h + 1,
 * where its form W_Q W_K^T is diag(first[h], second[h]). The keys' bias gives all keys of a query
 * the same, which no probability shows. */
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
		{LAYER "attention.self.value.weight", "F64", {WIDTH, WIDTH}, 2, NULL},
		{LAYER "attention.self.value.bias", "F64", {WIDTH}, 1, NULL},
		{LAYER "attention.output.dense.weight", "F64", {WIDTH, WIDTH}, 2, NULL},
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

/* Truncation to one dimension leaves diag(first, 0). Where the two tokens are opposite, each has
 * logits s and -s with s = (first + second)/sqrt(2), and first/sqrt(2) when compressed; where they
 * are the same token, nothing can differ. */
static void probabilities_by_hand(void **state)
{
	const struct al_compress_options options = {.method = AL_METHOD_TRUNCATE,
		.ranks = &(int64_t){1},
		.n_ranks = 1};
	struct fixture *f = *state;
	struct al_checkpoint compressed;
	struct al_table table, rows;
	double largest = 0, mean = 0;
	char path[256];
	struct opened two;
	size_t n_opposite = 0;

	for (int h = 0; h < 2; h++) {
		const double difference = probability((first[h] + second[h]) / sqrt(2))
			- probability(first[h] / sqrt(2));
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
		MUST(al_verify(&two.view, &compressed, &verify, &table, &err));
		const size_t row = table.n_rows - 1;
		assert_string_equal(table.rows[row][2].text, "embedding");
		const bool is_opposite = number(&table, row, "logit_max") > 1e-9;
		assert_near(number(&table, row, "logit_max"),
			is_opposite ? second[0] / sqrt(2) : 0);
		assert_near(number(&table, row, "probability_max"), is_opposite ? largest : 0);
		assert_near(number(&table, row, "probability_mean"), is_opposite ? mean : 0);
		n_opposite += is_opposite;
	}
	assert_true(n_opposite > 0 && n_opposite < 16);
	al_table_finish(&table);
	al_table_finish(&rows);
	al_checkpoint_close(&compressed);
	close_model(&two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_BERT(probabilities_by_hand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
