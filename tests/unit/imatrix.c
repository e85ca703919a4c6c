/* Importance matrices: both forms say the same, and what is none is refused by what is wrong. */
#include "unit.h"

#include <math.h>

#include "base/file.h"
#include "base/text.h"
#include "model/calibration/imatrix.h"
#include "model/calibration/outputs.h"
#include "formats/gguf_write.h"
#include "support/one_folder.h"

static char path[256];

/* A module of two heads of width 2 that reads three numbers; its tensors have their own names. */
static struct al_tensor stored = {.name = "self.q_proj.weight"};
static struct al_factor_run run = {.tensor = &stored};
#define FACTOR \
	{ \
		.runs = &run, .n_runs = 1, .rows = 3, .heads = 2, .width = 2 \
	}
static const struct al_attention module = {.name = "layers.7",
	.layer = 7,
	.stack = AL_STACK_ONLY,
	.n_heads = 2,
	.factors = {FACTOR, FACTOR, FACTOR, FACTOR}};

static void must(bool ok, const struct al_error *err)
{
	if (!ok)
		fail_msg("%s", err->message);
}

/* ---- files ---- */

static void add_int(struct al_text *out, int32_t number)
{
	al_text_add_bytes(out, (const char *)&number, sizeof(number));
}

static void add_entry(struct al_text *out, const char *name, int calls, int n, float first)
{
	add_int(out, (int32_t)strlen(name));
	al_text_add(out, name);
	add_int(out, calls);
	add_int(out, n);
	for (int i = 0; i < n; i++) {
		const float number = first + (float)i;
		al_text_add_bytes(out, (const char *)&number, sizeof(number));
	}
}

static void write_text(struct al_text *text, const char *name)
{
	test_write(test_path(path, &folder, name), text->data, text->length);
	al_text_finish(text);
}

static void write_legacy(const char *weight, int calls, int n, float first)
{
	struct al_text text;

	al_text_init(&text);
	add_int(&text, 2);
	add_entry(&text, "blk.0.ffn_up_exps.weight", 5, 40, 1);
	add_entry(&text, weight, calls, n, first);
	add_int(&text, 9);
	add_int(&text, 4);
	al_text_add(&text, "wiki");
	write_text(&text, "m.imatrix");
}

static const struct al_gguf_entry is_imatrix = {.key = "general.type", .text = "imatrix"};

/* [q, k, v of three numbers each; the outputs of four] by means and squares over 10 tokens. */
static void write_gguf(const float *squares, size_t n, float count, const float *sums)
{
	const struct al_gguf_vector vectors[] = {
		{"blk.7.attn_qkv.weight.in_sum2", squares, n},
		{"blk.7.attn_qkv.weight.counts", &count, 1},
		{"blk.7.attn_qkv.weight.in_sum", sums, n},
	};
	struct al_error err;

	must(al_gguf_write(test_path(path, &folder, "m.gguf"), &is_imatrix, 1, vectors,
		     sums ? 3 : 2, &err),
		&err);
}

/* ---- what is read ---- */

static void check(int p, const double *squares, const double *means, size_t n)
{
	struct al_imatrix imatrix;
	struct al_diagonal d;
	struct al_error err;

	assert_true(al_imatrix_is(path));
	must(al_imatrix_open(&imatrix, path, &err), &err);
	must(al_imatrix_read(&imatrix, &module, p, &d, &err), &err);
	assert_int_equal(d.n, n);
	assert_true((means == NULL) == (d.means == NULL));
	for (size_t i = 0; i < n; i++) {
		assert_true(fabs(d.squares[i] - squares[i]) < 1e-6);
		assert_true(!means || fabs(d.means[i] - means[i]) < 1e-6);
	}
	al_diagonal_finish(&d);
	al_imatrix_finish(&imatrix);
}

static void reads_sums_over_calls(void **state)
{
	(void)state;
	write_legacy("blk.7.attn_k.weight", 4, 3, 2);
	check(AL_KEY, (double[]){.5, .75, 1}, NULL, 3);
	write_legacy("self.q_proj.weight", 1, 3, 2);
	check(AL_QUERY, (double[]){2, 3, 4}, NULL, 3);
	write_legacy("blk.7.attn_output.weight", 2, 4, 0);
	check(AL_OUTPUT, (double[]){0, .5, 1, 1.5}, NULL, 4);
}

static void reads_sums_over_counts(void **state)
{
	const float squares[] = {40, 90, 10}, sums[] = {-20, 30, 0};

	(void)state;
	write_gguf(squares, 3, 10, sums);
	check(AL_VALUE, (double[]){4, 9, 1}, (double[]){-2, 3, 0}, 3);
	write_gguf(squares, 3, 10, NULL);
	check(AL_KEY, (double[]){4, 9, 1}, NULL, 3);
}

/* ---- what is refused ---- */

static void refuse(int p, const char *expected)
{
	struct al_imatrix imatrix;
	struct al_diagonal d;
	struct al_error err = {0};
	bool ok = al_imatrix_open(&imatrix, path, &err);

	if (ok) {
		ok = al_imatrix_read(&imatrix, &module, p, &d, &err);
		al_imatrix_finish(&imatrix);
	}
	assert_false(ok);
	if (strncmp(err.message, path, strlen(path)) != 0 || !strstr(err.message, expected))
		fail_msg("%s, expected %s", err.message, expected);
}

static void refuses_what_is_wrong_with_a_weight(void **state)
{
	const float squares[] = {40, -90, 10}, fine[] = {40, 90, 10}, beyond[] = {-20, 31, 0};

	(void)state;
	write_legacy("blk.6.attn_k.weight", 4, 3, 2);
	refuse(AL_KEY, "has neither self.q_proj.weight nor blk.7.attn_k.weight");
	write_legacy("blk.7.attn_k.weight", 4, 4, 2);
	refuse(AL_KEY, "blk.7.attn_k.weight: has 4 mean squares, but the layer has 3 inputs");
	write_legacy("blk.7.attn_k.weight", 0, 3, 2);
	refuse(AL_KEY, "blk.7.attn_k.weight: counts 0 tokens, expected at least 1");
	write_legacy("blk.7.attn_k.weight", 4, 3, -1);
	refuse(AL_KEY, "blk.7.attn_k.weight: number 0 is -1, expected a sum of squares");
	write_gguf(squares, 3, 10, NULL);
	refuse(AL_KEY, "blk.7.attn_qkv.weight: number 1 is -90, expected a sum of squares");
	write_gguf(fine, 3, NAN, NULL);
	refuse(AL_KEY, "blk.7.attn_qkv.weight: counts nan tokens, expected at least 1");
	write_gguf(fine, 3, 10, beyond);
	refuse(AL_KEY, "number 1 has mean 3.1 and mean square 9, which is impossible");
}

/* "b" of this file has two matrices of two numbers each, as many as this module reads. */
static void refuses_experts(void **state)
{
	struct al_tensor tensor = {.name = "b"};
	struct al_factor_run of_b = {.tensor = &tensor};
	const struct al_attention experts = {
		.factors[AL_KEY] = {.runs = &of_b, .n_runs = 1, .rows = 4}};
	struct al_imatrix imatrix;
	struct al_diagonal d;
	struct al_error err = {0};

	(void)state;
	must(al_imatrix_open(&imatrix, "tests/fuzz/corpus/imatrix/gguf-experts", &err), &err);
	assert_false(al_imatrix_read(&imatrix, &experts, AL_KEY, &d, &err));
	assert_non_null(strstr(err.message, "b: has 2 matrices (experts), expected one"));
	al_imatrix_finish(&imatrix);
}

static void refuses_what_is_no_imatrix(void **state)
{
	const float number = 1;
	const struct al_gguf_vector lone = {"a.in_sum2", &number, 1}, other = {"a", &number, 1};
	const struct al_gguf_entry type = {.key = "general.type", .text = "model"};
	struct al_error err;

	(void)state;
	test_path(path, &folder, "m.gguf");
	must(al_gguf_write(path, &type, 1, &lone, 1, &err), &err);
	refuse(AL_KEY, "general.type in its metadata is \"model\", expected \"imatrix\"");
	must(al_gguf_write(path, NULL, 0, &lone, 1, &err), &err);
	refuse(AL_KEY, "general.type in its metadata is \"\", expected \"imatrix\"");
	must(al_gguf_write(path, &is_imatrix, 1, &lone, 1, &err), &err);
	refuse(AL_KEY, "has a.in_sum2, and no a.counts");
	must(al_gguf_write(path, &is_imatrix, 1, &other, 1, &err), &err);
	refuse(AL_KEY, ": contains no mean squares");
}

/* Squares and counts of one weight, and perhaps sums. */
static void refuse_vectors(size_t n_squares, size_t n_counts, size_t n_sums, const char *expected)
{
	static const float numbers[] = {1, 1, 1};
	const struct al_gguf_vector vectors[] = {
		{"a.in_sum2", numbers, n_squares},
		{"a.counts", numbers, n_counts},
		{"a.in_sum", numbers, n_sums},
	};
	struct al_error err;

	test_path(path, &folder, "m.gguf");
	must(al_gguf_write(path, &is_imatrix, 1, vectors, n_sums ? 3 : 2, &err), &err);
	if (expected)
		refuse(AL_KEY, expected);
}

/* Of the weight's squares, as the file lists it: its name, one dimension of three, a type. */
static void write_type(uint32_t type)
{
	struct al_text file;
	struct al_error err;

	al_text_init(&file);
	must(al_file_read(&file, path, 1 << 20, &err), &err);
	for (size_t i = 0; i + 32 < file.length; i++)
		if (memcmp(file.data + i, "a.in_sum2", 9) == 0)
			memcpy(file.data + i + 9 + 4 + 8, &type, sizeof(type));
	write_text(&file, "m.gguf");
}

static void refuses_sums_of_other_shapes(void **state)
{
	(void)state;
	refuse_vectors(3, 2, 0, ": a: .in_sum2 and .counts have different numbers of matrices");
	refuse_vectors(3, 1, 2, ": a: the shapes of .in_sum and .in_sum2 differ");
	refuse_vectors(1, 1, 0, "has neither self.q_proj.weight nor blk.7.attn_k.weight");
	refuse_vectors(3, 1, 3, "has neither self.q_proj.weight nor blk.7.attn_k.weight");
	refuse_vectors(3, 1, 3, NULL);
	write_type(1);
	refuse(AL_KEY, ": a: sums of F16 and counts of F32, expected F32");
}

/* A file of the .dat form from what begins it. */
static void refuse_legacy(const struct al_text *begin, const char *expected)
{
	test_write(test_path(path, &folder, "m.dat"), begin->data, begin->length);
	refuse(AL_KEY, expected);
}

static void takes_names_of_a_kibibyte(void **state)
{
	struct al_text text;
	char name[1026] = "";

	(void)state;
	memset(name, 'n', 1024);
	for (int i = 0; i < 2; i++) {
		al_text_init(&text);
		add_int(&text, 1);
		add_entry(&text, name, 1, 1, 0);
		refuse_legacy(&text,
			i == 0 ? "has neither self.q_proj.weight nor blk.7.attn_k.weight"
			       : "byte 4: 1025 bytes of a weight's name: is it an imatrix?");
		al_text_finish(&text);
		name[1024] = 'n';
	}
}

static void refuses_by_byte(void **state)
{
	struct al_text text;

	(void)state;
	al_text_init(&text);
	al_text_add(&text, "GG");
	refuse_legacy(&text, "ends at byte 2, within the number of entries");
	al_text_add(&text, "ML");
	refuse_legacy(&text, "byte 0: 1280132935 entries: is it an imatrix?");
	text.length = 0;
	add_int(&text, 2);
	add_entry(&text, "a", 1, 2, 0);
	refuse_legacy(&text, "byte 0: 2 entries: is it an imatrix?");
	add_entry(&text, "a", 1, 1, 0);
	refuse_legacy(&text, "weight \"a\" appears twice");
	text.length = 0;
	add_int(&text, 1);
	add_entry(&text, "a", 1, 2, 0);
	text.data[8] = '\0';
	refuse_legacy(&text, "byte 8: the name of a weight isn't text: is it an imatrix?");
	text.data[8] = 'a';
	text.data[13] = (char)0xff;
	refuse_legacy(&text, "ends at byte 25, within a");
	text.data[16] = (char)0xff;
	refuse_legacy(&text, "mean squares of a weight from 1 calls: is it an imatrix?");
	text.data[12] = (char)0xff;
	refuse_legacy(&text, "calls: is it an imatrix?");
	text.data[7] = (char)0xff;
	refuse_legacy(&text, "bytes of a weight's name: is it an imatrix?");
	text.length = 0;
	add_int(&text, 1);
	add_entry(&text, "a", 1, 2, 0);
	add_int(&text, 1);
	add_int(&text, 3);
	refuse_legacy(&text, "byte 33: a dataset's name of 3 bytes, 0 are left");
	text.data[29] = 0; /* no name at all */
	refuse_legacy(&text, "has neither self.q_proj.weight nor blk.7.attn_k.weight");
	text.length -= 2;
	refuse_legacy(&text, "ends at byte 31, within the dataset's name");
	text.length -= 4;
	refuse_legacy(&text, "ends at byte 27, within the number of calls");
	text.length -= 2; /* as old files end */
	refuse_legacy(&text, "has neither self.q_proj.weight nor blk.7.attn_k.weight");
	al_text_finish(&text);
}

/* ---- heads by their diagonal ---- */

/* Uncorrelated numbers are worth what their moment says. */
static void judges_heads_as_their_moment_does(void **state)
{
	double squares[] = {4, 9, 1, 16}, means[] = {1, -2, .5, 0};
	double moment[16], w[] = {1, 2, 0, 3, -1, 1, 2, .5};
	const struct al_matrix m = {moment, 4, 4, 4}, output = {w, 2, 4, 2};
	AL_OWNED struct al_matrix fold = {0};
	struct al_head_worth by_diagonal[2], by_moment[2];
	struct al_error err;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < 4; j++)
			moment[i + 4 * j] = i == j ? squares[i] : means[i] * means[j];
	must(al_packed_of(al_view(m), &fold, &err)
			&& al_heads_judge(fold, al_view(output), (struct al_turns){0}, 2, by_moment,
				&err),
		&err);
	al_heads_judge_diagonal(squares, means, al_view(output), 2, by_diagonal);
	for (size_t i = 0; i < 2; i++) {
		assert_true(fabs(by_diagonal[i].share - by_moment[i].share) < 1e-12);
		assert_true(fabs(by_diagonal[i].dropped - by_moment[i].dropped) < 1e-12);
		assert_true(by_diagonal[i].cost.mean == by_diagonal[i].dropped);
	}
	memset(squares, 0, sizeof(squares));
	al_heads_judge_diagonal(squares, NULL, al_view(output), 2, by_diagonal);
	for (size_t i = 0; i < 2; i++)
		assert_true(by_diagonal[i].share == 0 && by_diagonal[i].dropped == 0
			&& by_diagonal[i].cost.mean == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_sums_over_calls),
		cmocka_unit_test(reads_sums_over_counts),
		cmocka_unit_test(refuses_what_is_wrong_with_a_weight),
		cmocka_unit_test(refuses_experts),
		cmocka_unit_test(refuses_what_is_no_imatrix),
		cmocka_unit_test(refuses_sums_of_other_shapes),
		cmocka_unit_test(takes_names_of_a_kibibyte),
		cmocka_unit_test(refuses_by_byte),
		cmocka_unit_test(judges_heads_as_their_moment_does),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
