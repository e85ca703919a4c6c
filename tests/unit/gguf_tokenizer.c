/* The tokenizer of a GGUF file gives the same tokens as the tokenizer.json that its metadata were
 * made of; what the metadata can't say is left out of the tokenizer.json first. */
#include "unit.h"

#include <math.h>

#include "base/budget.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "formats/checkpoint.h"
#include "support/one_folder.h"
#include "formats/gguf.h"
#include "model/tokenize/tokenizer.h"
#include "model/tokenize/vocabulary.h"

#define FOLDER "tests/data/tokenizers/"

static void must(bool ok, const struct al_error *err)
{
	if (!ok)
		fail_msg("%s", err->message);
}

static struct al_text read_file(const char *path)
{
	struct al_text text;
	struct al_error err;

	al_text_init(&text);
	must(al_file_read(&text, path, 1 << 20, &err), &err);
	return text;
}

/* ---- metadata ---- */

enum { U32 = 4, I32 = 5, F32 = 6, BOOL = 7, TEXT = 8, LIST = 9 };

struct metadata {
	struct al_text pairs;
	uint64_t n;
};

static void put(struct metadata *m, const void *bytes, size_t n)
{
	al_text_add_bytes(&m->pairs, bytes, n);
}

static void put_u32(struct metadata *m, uint32_t number)
{
	put(m, &number, sizeof(number));
}

static void put_text(struct metadata *m, const char *text)
{
	const uint64_t n = strlen(text);

	put(m, &n, sizeof(n));
	put(m, text, strlen(text));
}

static void begin_pair(struct metadata *m, const char *key, uint32_t type)
{
	char full[100];

	snprintf(full, sizeof(full), "tokenizer.ggml.%s", key);
	put_text(m, full);
	put_u32(m, type);
	m->n++;
}

static void begin_list(struct metadata *m, const char *key, uint32_t type, uint64_t n)
{
	begin_pair(m, key, LIST);
	put_u32(m, type);
	put(m, &n, sizeof(n));
}

static void add_text(struct metadata *m, const char *key, const char *text)
{
	begin_pair(m, key, TEXT);
	put_text(m, text);
}

static void add_number(struct metadata *m, const char *key, uint32_t number)
{
	begin_pair(m, key, U32);
	put_u32(m, number);
}

static void add_flag(struct metadata *m, const char *key, bool flag)
{
	const unsigned char byte = flag;

	begin_pair(m, key, BOOL);
	put(m, &byte, 1);
}

/* A file without tensors. */
static void write_file(struct metadata *m, char path[256])
{
	const uint32_t version = 3;
	const uint64_t no_tensors = 0;
	struct al_text file;

	al_text_init(&file);
	al_text_add(&file, "GGUF");
	al_text_add_bytes(&file, (const char *)&version, sizeof(version));
	al_text_add_bytes(&file, (const char *)&no_tensors, sizeof(no_tensors));
	al_text_add_bytes(&file, (const char *)&m->n, sizeof(m->n));
	al_text_add_bytes(&file, m->pairs.data, m->pairs.length);
	test_write(test_path(path, &folder, "t.gguf"), file.data, file.length);
	al_text_finish(&file);
	al_text_finish(&m->pairs);
}

/* ---- of a tokenizer.json ---- */

enum { MOST_TOKENS = 1024 };

struct vocabulary {
	const char *texts[MOST_TOKENS];
	float scores[MOST_TOKENS];
	int32_t types[MOST_TOKENS];
	size_t n;
};

static void set(struct vocabulary *v, int64_t token, const char *text, int32_t type)
{
	assert_between(token, 0, MOST_TOKENS - 1);
	v->texts[token] = text;
	v->types[token] = type;
	if ((size_t)token >= v->n)
		v->n = (size_t)token + 1;
}

static double number_of(const struct al_json *doc, const struct al_item *node)
{
	double number;
	struct al_error err;

	must(al_json_real(doc, node, &number, &err), &err);
	return number;
}

static const char *text_of(const struct al_json *doc, const struct al_item *node)
{
	const char *text;
	struct al_error err;

	must(al_json_text(doc, node, &text, &err), &err);
	return text;
}

static void take_vocabulary(const struct al_json *doc, struct vocabulary *v)
{
	const struct al_item *vocab = al_json_get(al_json_get(doc->root, "model"), "vocab");
	int64_t token = 0;

	al_json_each (item, vocab)
		if (al_json_kind(vocab) == AL_JSON_OBJECT)
			set(v, (int64_t)number_of(doc, item), al_json_key(item), 1);
		else {
			v->scores[token] = (float)number_of(doc, al_json_at(item, 1));
			set(v, token++, text_of(doc, al_json_at(item, 0)), 1);
		}
	al_json_each (added, al_json_get(doc->root, "added_tokens"))
		set(v, (int64_t)number_of(doc, al_json_get(added, "id")),
			text_of(doc, al_json_get(added, "content")), 3);
}

/* "a b" */
static void add_merges(struct metadata *m, const struct al_json *doc)
{
	const struct al_item *merges = al_json_get(al_json_get(doc->root, "model"), "merges");

	begin_list(m, "merges", TEXT, al_json_size(merges));
	al_json_each (merge, merges) {
		char pair[200];
		if (al_json_kind(merge) == AL_JSON_ARRAY)
			snprintf(pair, sizeof(pair), "%s %s", text_of(doc, al_json_at(merge, 0)),
				text_of(doc, al_json_at(merge, 1)));
		else
			snprintf(pair, sizeof(pair), "%s", text_of(doc, merge));
		put_text(m, pair);
	}
}

/* The earlier a piece is joined the higher is its score; pieces that nothing is joined to are
 * found as they are, or not at all. */
static void score_merges(const struct al_json *doc, struct vocabulary *v)
{
	const struct al_item *merges = al_json_get(al_json_get(doc->root, "model"), "merges");
	float rank = 0;

	al_json_each (merge, merges) {
		char piece[200] = "";
		for (const char *p = text_of(doc, merge); *p; p++)
			if (*p != ' ')
				strncat(piece, p, 1);
		for (size_t i = 0; i < v->n; i++)
			if (v->texts[i] && strcmp(v->texts[i], piece) == 0 && v->scores[i] == 0)
				v->scores[i] = rank;
		rank--;
	}
}

/* As llama.cpp's converter calls the pieces of words. */
static const char *word_piece(char out[100], const char *text)
{
	const bool is_special = text[0] == '[' && strlen(text) > 2 && text[strlen(text) - 1] == ']';

	snprintf(out, 100, "%s%s", is_special || strncmp(text, "##", 2) == 0 ? "" : "\u2581",
		strncmp(text, "##", 2) == 0 ? text + 2 : text);
	return out;
}

static void add_vocabulary(struct metadata *m, const struct vocabulary *v, bool is_bert)
{
	char piece[100], none[32];

	begin_list(m, "tokens", TEXT, v->n);
	for (size_t i = 0; i < v->n; i++) {
		snprintf(none, sizeof(none), "<none %zu>", i);
		const char *text = v->texts[i] ? v->texts[i] : none;
		put_text(m, is_bert ? word_piece(piece, text) : text);
	}
	begin_list(m, "scores", F32, v->n);
	put(m, v->scores, v->n * sizeof(*v->scores));
	begin_list(m, "token_type", I32, v->n);
	put(m, v->types, v->n * sizeof(*v->types));
}

/* ---- cases ---- */

static const struct test_case {
	const char *name, *model, *pre;
	const char *bos, *sep, *eos; /* tokens around a text; NULL: none */
	const char *instead[3][2]; /* in the tokenizer.json */
	bool trims; /* spaces around a text, and all but one between words */
} cases[] = {
	{"gpt2", "gpt2", "gpt-2", NULL, NULL, NULL, {{NULL, NULL}}, false},
	{"gpt2", "gpt2", "starcoder", NULL, NULL, NULL,
		{{"\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
		  "\"trim_offsets\":true}",
			"\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":"
			"\"Digits\",\"individual_digits\":true},{\"type\":\"ByteLevel\","
			"\"add_prefix_space\":false,\"trim_offsets\":true}]}"}},
		false},
	{"llama-3", "gpt2", "llama-bpe", "<|begin_of_text|>", NULL, NULL, {{NULL, NULL}}, false},
	{"qwen-2", "gpt2", "qwen2", NULL, NULL, NULL,
		{{"\"ignore_merges\":true", "\"ignore_merges\":false"},
			{"\"normalized\":true", "\"normalized\":false"}},
		false},
	{"deepseek-3", "gpt2", "deepseek-v3", NULL, NULL, NULL,
		{{"\"ignore_merges\":true", "\"ignore_merges\":false"}}, false},
	{"llama-2", "llama", NULL, "<s>", NULL, NULL,
		{{"\"normalized\":true", "\"normalized\":false"}}, false},
	{"llama-2", "llama", NULL, "<s>", NULL, "</s>",
		{{"\"normalized\":true", "\"normalized\":false"},
			{"{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],",
				"{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},"
				"{\"SpecialToken\":{\"id\":\"</s>\",\"type_id\":0}}],"},
			{"\"special_tokens\":{",
				"\"special_tokens\":{\"</s>\":{\"id\":\"</s>\",\"ids\":[2],"
				"\"tokens\":[\"</s>\"]},"}},
		false},
	{"bert-uncased", "bert", NULL, "[CLS]", "[SEP]", NULL,
		{{"\"max_input_chars_per_word\":12", "\"max_input_chars_per_word\":100"}}, false},
	{"t5", "t5", NULL, NULL, NULL, "</s>",
		{{"\"NFKC\"", "\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\u2581\""},
			{"\"byte_fallback\":true", "\"byte_fallback\":false"},
			{"\"prepend_scheme\":\"first\"", "\"prepend_scheme\":\"always\""}},
		false},
	{"t5", "t5", NULL, NULL, NULL, "</s>",
		{{"\"NFKC\"",
			 "\"Sequence\",\"normalizers\":[{\"type\":\"Strip\",\"strip_left\":true,"
			 "\"strip_right\":true},{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" "
			 "{2,}\"},"
			 "\"content\":\" \"},{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},"
			 "\"content\":\"\u2581\"}]"},
			{"\"byte_fallback\":true", "\"byte_fallback\":false"},
			{"\"prepend_scheme\":\"first\"", "\"prepend_scheme\":\"always\""}},
		true},
};

static uint32_t token_of(const struct vocabulary *v, const char *text)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->texts[i] && strcmp(v->texts[i], text) == 0)
			return (uint32_t)i;
	fail_msg("no token \"%s\"", text);
	return 0;
}

/* Without a flag what llama.cpp takes by default. */
static void add_around(struct metadata *m, const struct vocabulary *v, const char *flag,
	const char *key, const char *text)
{
	if (!flag)
		return;
	add_flag(m, flag, text != NULL);
	if (text)
		add_number(m, key, token_of(v, text));
}

static void write_metadata(const struct test_case *c, const struct al_json *doc, char path[256])
{
	static struct vocabulary v;
	struct metadata m = {.n = 0};

	v = (struct vocabulary){.n = 0};
	al_text_init(&m.pairs);
	take_vocabulary(doc, &v);
	if (strcmp(c->model, "llama") == 0)
		score_merges(doc, &v);
	add_text(&m, "model", c->model);
	if (c->pre)
		add_text(&m, "pre", c->pre);
	add_vocabulary(&m, &v, strcmp(c->model, "bert") == 0);
	if (strcmp(c->model, "gpt2") == 0)
		add_merges(&m, doc);
	add_around(&m, &v, strcmp(c->model, "llama") != 0 ? "add_bos_token" : NULL, "bos_token_id",
		c->bos);
	add_around(&m, &v, "add_sep_token", "seperator_token_id", c->sep);
	add_around(&m, &v, strcmp(c->model, "t5") != 0 ? "add_eos_token" : NULL, "eos_token_id",
		c->eos);
	if (strcmp(c->model, "bert") == 0)
		add_number(&m, "unknown_token_id", token_of(&v, "[UNK]"));
	if (strcmp(c->model, "t5") == 0)
		add_number(&m, "unknown_token_id", 0);
	add_flag(&m, "remove_extra_whitespaces", c->trims);
	write_file(&m, path);
}

/* The tokenizer.json with its texts replaced. */
static struct al_text read_case(const struct test_case *c)
{
	char path[256];
	struct al_text text;

	snprintf(path, sizeof(path), FOLDER "%s.json", c->name);
	text = read_file(path);
	for (size_t i = 0; i < 3 && c->instead[i][0]; i++) {
		struct al_text changed;
		const char *at = strstr(text.data, c->instead[i][0]);
		if (!at)
			fail_msg("%s: no %s", path, c->instead[i][0]);
		al_text_init(&changed);
		al_text_add_bytes(&changed, text.data, (size_t)(at - text.data));
		al_text_add(&changed, c->instead[i][1]);
		al_text_add(&changed, at + strlen(c->instead[i][0]));
		al_text_finish(&text);
		text = changed;
	}
	return text;
}

static void compare(const char *name, struct al_tokenizer *a, struct al_tokenizer *b)
{
	struct al_text lines = read_file(FOLDER "lines.txt");
	struct al_tokens x, y;
	struct al_error err;

	for (char *line = strtok(lines.data, "\n"); line; line = strtok(NULL, "\n")) {
		al_tokens_init(&x);
		al_tokens_init(&y);
		must(al_tokenizer_encode(a, line, strlen(line), &x, &err), &err);
		must(al_tokenizer_encode(b, line, strlen(line), &y, &err), &err);
		for (size_t i = 0; i < x.begin[1] && i < y.begin[1]; i++)
			if (x.items[i] != y.items[i])
				fail_msg("%s: token %zu of \"%s\" is %d, expected %d", name, i,
					line, x.items[i], y.items[i]);
		if (x.begin[1] != y.begin[1])
			fail_msg("%s: %zu tokens of \"%s\", expected %zu", name, x.begin[1], line,
				y.begin[1]);
		al_tokens_finish(&x);
		al_tokens_finish(&y);
	}
	al_text_finish(&lines);
}

static void compare_texts(const char *name, const struct al_gguf_items *is, const char **found,
	size_t n)
{
	assert_int_equal(n, is->n);
	for (size_t i = 0; i < n; i++)
		if (strcmp(is->texts[i], found[i]) != 0)
			fail_msg("%s: %zu is \"%s\", expected \"%s\"", name, i, found[i],
				is->texts[i]);
}

/* As a tokenizer.json the file's tokenizer makes the same tokens, and is read as what the file
 * holds. */
static void write_and_read(const struct test_case *c, const struct al_checkpoint *checkpoint,
	struct al_tokenizer *of_gguf)
{
	struct al_budget budget = {0};
	struct al_arena arena;
	struct al_text json;
	struct al_tokenizer again;
	struct al_vocabulary v;
	struct al_gguf_items tokens, merges, types, scores;
	struct al_error err;
	char path[256];

	al_arena_init(&arena);
	arena.budget = &budget;
	al_text_init(&json);
	must(al_tokenizer_json_write(checkpoint, &arena, &json, &err), &err);
	must(al_tokenizer_parse_json(&again, c->name, json.data, json.length, &err), &err);
	compare(c->name, &again, of_gguf);
	al_tokenizer_finish(&again);

	test_write(test_path(path, &folder, "tokenizer.json"), json.data, json.length);
	must(al_gguf_read_items(checkpoint, "tokenizer.ggml.tokens", true, &arena, &tokens, &err),
		&err);
	must(al_gguf_read_items(checkpoint, "tokenizer.ggml.merges", true, &arena, &merges, &err),
		&err);
	must(al_gguf_read_items(checkpoint, "tokenizer.ggml.token_type", false, &arena, &types,
		     &err),
		&err);
	must(al_gguf_read_items(checkpoint, "tokenizer.ggml.scores", false, &arena, &scores, &err),
		&err);
	must(al_vocabulary_read(&v, &arena, path, (int64_t)tokens.n, &err), &err);
	assert_string_equal(v.model, c->model);
	assert_string_equal(v.pre, c->pre ? c->pre : "default");
	compare_texts(c->name, &tokens, v.tokens, v.n);
	if (strcmp(c->model, "gpt2") == 0)
		compare_texts(c->name, &merges, v.merges, v.n_merges);
	for (size_t i = 0; i < v.n; i++)
		assert_int_equal(v.types[i] == AL_TOKEN_USER_DEFINED,
			types.numbers[i] == AL_TOKEN_USER_DEFINED);
	for (size_t i = 0; v.scores && i < v.n; i++)
		for (size_t k = 0; k < v.n; k++)
			if (v.scores[i] < v.scores[k] && v.scores[k] < 0)
				assert_true(scores.numbers[i] < scores.numbers[k]);
	assert_true(c->bos ? strcmp(v.tokens[v.first], c->bos) == 0 : v.first < 0);
	assert_true(c->eos ? strcmp(v.tokens[v.last], c->eos) == 0 : v.last < 0);
	al_text_finish(&json);
	al_arena_finish(&arena);
}

static void check_case(const struct test_case *c)
{
	struct al_text text = read_case(c);
	struct al_tokenizer of_gguf, of_json;
	struct al_checkpoint checkpoint;
	struct al_json doc;
	struct al_error err;
	char path[256];

	must(al_json_parse(&doc, c->name, text.data, text.length, &err), &err);
	write_metadata(c, &doc, path);
	al_json_finish(&doc);
	must(al_tokenizer_parse_json(&of_json, c->name, text.data, text.length, &err), &err);
	must(al_checkpoint_open(&checkpoint, path, &err), &err);
	must(al_tokenizer_open(&of_gguf, &checkpoint, 0, &err), &err);
	compare(c->name, &of_gguf, &of_json);
	if (strcmp(c->model, "gpt2") == 0 || strcmp(c->model, "llama") == 0)
		write_and_read(c, &checkpoint, &of_gguf);
	al_tokenizer_finish(&of_gguf);
	al_tokenizer_finish(&of_json);
	al_checkpoint_close(&checkpoint);
	al_text_finish(&text);
}

static void gives_the_tokens_of_tokenizer_json(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check_case(&cases[i]);
}

/* "ab" is a pair. */
static void add_pairs(struct metadata *m)
{
	add_text(m, "model", "gpt2");
	add_text(m, "pre", "gpt-2");
	begin_list(m, "tokens", TEXT, 3);
	put_text(m, "a");
	put_text(m, "b");
	put_text(m, "ab");
	begin_list(m, "merges", TEXT, 1);
	put_text(m, "a b");
}

static void add_tokens(struct metadata *m, const char *model)
{
	add_text(m, "model", model);
	begin_list(m, "tokens", TEXT, 2);
	put_text(m, "a");
	put_text(m, "b");
}

/* The known text's tokens, first and last; of the other text, the character that has none. */
static void check_missing(struct metadata *m, const char *known, const int32_t tokens_of_known[2],
	const char *other, const char *missing)
{
	struct al_checkpoint checkpoint;
	struct al_tokenizer tokenizer;
	struct al_tokens tokens;
	struct al_error err = {0};
	char path[256];

	write_file(m, path);
	must(al_checkpoint_open(&checkpoint, path, &err), &err);
	must(al_tokenizer_open(&tokenizer, &checkpoint, 0, &err), &err);
	al_tokens_init(&tokens);
	must(al_tokenizer_encode(&tokenizer, known, strlen(known), &tokens, &err), &err);
	assert_int_equal(tokens.begin[1], 2);
	assert_memory_equal(tokens.items, tokens_of_known, 2 * sizeof(*tokens.items));
	assert_false(al_tokenizer_encode(&tokenizer, other, strlen(other), &tokens, &err));
	assert_non_null(strstr(err.message, missing));
	assert_non_null(strstr(err.message, "there is no unknown token"));
	al_tokens_finish(&tokens);
	al_tokenizer_finish(&tokenizer);
	al_checkpoint_close(&checkpoint);
	*m = (struct metadata){.n = 0};
	al_text_init(&m->pairs);
}

/* Of bytes that the vocabulary lacks, where no token is the unknown one. What begins a text may be
 * token 0. */
static void names_what_has_no_token(void **state)
{
	struct metadata m = {.n = 0};

	(void)state;
	al_text_init(&m.pairs);
	add_pairs(&m);
	add_flag(&m, "add_bos_token", true);
	add_number(&m, "bos_token_id", 0);
	check_missing(&m, "ab", (int32_t[]){0, 2}, "c", "\"c\"");
	add_tokens(&m, "llama");
	begin_list(&m, "scores", F32, 2);
	put_u32(&m, 0);
	put_u32(&m, 0);
	begin_pair(&m, "unknown_token_id", I32);
	put_u32(&m, (uint32_t)-1);
	add_flag(&m, "add_bos_token", false);
	add_flag(&m, "add_space_prefix", false);
	check_missing(&m, "ba", (int32_t[]){1, 0}, "a\xc3\xa9", "\"\xc3\xa9\"");
	al_text_finish(&m.pairs);
}

/* ---- refusals ---- */

static void refuse(struct metadata *m, const char *expected)
{
	struct al_checkpoint checkpoint;
	struct al_tokenizer tokenizer;
	struct al_error err = {0};
	char path[256];

	write_file(m, path);
	must(al_checkpoint_open(&checkpoint, path, &err), &err);
	assert_false(al_tokenizer_open(&tokenizer, &checkpoint, 0, &err));
	if (strncmp(err.message, path, strlen(path)) != 0 || !strstr(err.message, expected))
		fail_msg("%s, expected %s", err.message, expected);
	al_checkpoint_close(&checkpoint);
	*m = (struct metadata){.n = 0};
	al_text_init(&m->pairs);
}

static void refuses_what_it_cannot_tell(void **state)
{
	struct metadata m = {.n = 0};

	(void)state;
	al_text_init(&m.pairs);
	add_tokens(&m, "rwkv");
	refuse(&m, "tokenizer.ggml.model is \"rwkv\", expected llama, gpt2, bert or t5");
	add_tokens(&m, "gpt2");
	refuse(&m, "tokenizer.ggml.pre is missing, so words can't be split");
	add_tokens(&m, "gpt2");
	add_text(&m, "pre", "jais-9");
	refuse(&m,
		"tokenizer.ggml.pre is \"jais-9\", an unsupported pre-tokenizer; pass token ids "
		"with --tokens");
	add_tokens(&m, "gpt2");
	add_text(&m, "pre", "gpt-2");
	refuse(&m, "tokenizer.ggml.merges is missing");
	add_pairs(&m);
	add_flag(&m, "add_eos_token", true);
	refuse(&m,
		"tokenizer.ggml.add_eos_token is true, but tokenizer.ggml.eos_token_id names no "
		"token");
	add_pairs(&m);
	add_flag(&m, "add_bos_token", true);
	add_number(&m, "bos_token_id", 3);
	refuse(&m, "tokenizer.ggml.bos_token_id is 3, of 3 tokens");
	add_tokens(&m, "bert");
	begin_pair(&m, "unknown_token_id", I32);
	put_u32(&m, (uint32_t)-1);
	refuse(&m, "the vocabulary has no \"[UNK]\"");
	add_tokens(&m, "llama");
	refuse(&m, "tokenizer.ggml.scores is missing");
	add_tokens(&m, "llama");
	begin_list(&m, "scores", F32, 1);
	put_u32(&m, 0);
	refuse(&m, "tokenizer.ggml.scores has 1 numbers, of 2 tokens");
	add_tokens(&m, "llama");
	begin_list(&m, "scores", F32, 2);
	put_u32(&m, 0x7fc00000);
	put_u32(&m, 0);
	refuse(&m, "not a number");
	add_tokens(&m, "llama");
	add_number(&m, "unknown_token_id", 7);
	refuse(&m, "tokenizer.ggml.unknown_token_id is 7, of 2 tokens");
	add_tokens(&m, "t5");
	add_number(&m, "unknown_token_id", 0);
	begin_list(&m, "scores", F32, 2);
	put_u32(&m, 0);
	put_u32(&m, 0);
	/* bytes may have a sign: -128, 255, 256 */
	begin_list(&m, "precompiled_charsmap", F32, 3);
	put_u32(&m, 0xc3000000);
	put_u32(&m, 0x437f0000);
	put_u32(&m, 0x43800000);
	refuse(&m, "tokenizer.ggml.precompiled_charsmap has 256 at 2, expected bytes");
	add_text(&m, "model", "llama");
	add_text(&m, "tokens", "a");
	refuse(&m, "tokenizer.ggml.tokens is not a list of texts");
	al_text_finish(&m.pairs);
}

/* ---- translations that are refused ---- */

#define FILE_OF(parts, model) "{" parts ", \"model\": {\"type\": \"BPE\", " model "}}"
#define VOCAB "\"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, \"merges\": [\"a b\"]"
#define BYTES(more) \
	"{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, " more "}"
#define SPLIT(regex) \
	"{\"type\": \"Split\", \"behavior\": \"Isolated\", \"invert\": false, \"pattern\": " \
	"{\"Regex\": \"" regex "\"}}"
#define PRE(list) "\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [" list "]}"
#define METASPACE "{\"type\": \"Metaspace\", \"replacement\": \"\u2581\"}"
#define BLANKS "\"pre_tokenizer\": " METASPACE
#define BLANK(text) \
	"{\"type\": \"Split\", \"behavior\": \"MergedWithNext\", \"invert\": false, \"pattern\": " \
	"{\"String\": \"" text "\"}}"
#define AROUND(single) \
	"\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [" single \
	"], \"special_tokens\": {\"a\": {\"id\": \"a\", \"ids\": [0], \"tokens\": [\"a\"]}}}"
#define A "{\"SpecialToken\": {\"id\": \"a\", \"type_id\": 0}}"
#define TEXT_A "{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}"

static const struct {
	const char *json, *message; /* NULL: it's taken */
} untranslated[] = {
	{FILE_OF(PRE(BYTES("\"use_regex\": true")), VOCAB), NULL},
	{FILE_OF(PRE(BYTES("\"use_regex\": false")), VOCAB),
		": pre_tokenizer: llama.cpp's name of this regular expression isn't known: "
		"\"none\""},
	{FILE_OF(PRE(SPLIT("a+") ", " BYTES("\"use_regex\": false")), VOCAB),
		": pre_tokenizer: llama.cpp's name of this regular expression isn't known: \"a+\""},
	{FILE_OF(PRE(SPLIT("a+") ", " BYTES("\"use_regex\": true")), VOCAB),
		": pre_tokenizer: llama.cpp's name of this regular expression isn't known: \"a+\""},
	{FILE_OF(PRE("{\"type\": \"Digits\", \"individual_digits\": true}, " BYTES(
			 "\"use_regex\": true")),
		 VOCAB),
		NULL},
	{FILE_OF(PRE("{\"type\": \"Digits\", \"individual_digits\": false}, " BYTES(
			 "\"use_regex\": true")),
		 VOCAB),
		":1:58: Digits has no counterpart in llama.cpp's tokenizers"},
	{FILE_OF(BLANKS, "\"byte_fallback\": true, " VOCAB), NULL},
	{FILE_OF(BLANKS, VOCAB),
		": neither byte-level pairs nor SentencePiece's with bytes, which llama.cpp's "
		"tokenizers are"},
	{FILE_OF(PRE(METASPACE ", " BLANK("\u2581")), "\"byte_fallback\": true, " VOCAB), NULL},
	{FILE_OF(PRE(METASPACE ", " BLANK("a")), "\"byte_fallback\": true, " VOCAB),
		":1:101: Split has no counterpart in llama.cpp's tokenizers"},
	/* what is joined is token 0 */
	{FILE_OF(BLANKS,
		 "\"byte_fallback\": true, \"vocab\": {\"ab\": 0, \"a\": 1, \"b\": 2}, "
		 "\"merges\": [\"a b\"]"),
		NULL},
	{FILE_OF(PRE(""), "\"byte_fallback\": true, " VOCAB),
		": neither byte-level pairs nor SentencePiece's with bytes, which llama.cpp's "
		"tokenizers are"},
	{FILE_OF("\"normalizer\": {\"type\": \"NFKC\"}", VOCAB),
		":1:16: NFKC has no counterpart in llama.cpp's tokenizers"},
	{FILE_OF(PRE(BYTES("\"use_regex\": true")) ", " AROUND(A ", " TEXT_A ", " A), VOCAB), NULL},
	{FILE_OF(PRE(BYTES("\"use_regex\": true")) ", " AROUND(A ", " A ", " TEXT_A), VOCAB),
		": post_processor: 2 tokens before a text and 0 after it, but llama.cpp adds at "
		"most one each"},
	{FILE_OF(PRE(BYTES("\"use_regex\": true")) ", " AROUND(TEXT_A ", " A ", " A), VOCAB),
		": post_processor: 0 tokens before a text and 2 after it, but llama.cpp adds at "
		"most one each"},
	{FILE_OF(PRE(BYTES("\"use_regex\": true")),
		 "\"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 3}, \"merges\": [\"a b\"]"),
		":1:208: token 3 is beyond the model's 3 tokens"},
	{FILE_OF(BLANKS,
		 "\"byte_fallback\": true, \"continuing_subword_prefix\": \"#\", \"vocab\": "
		 "{\"a\": 0, \"#b\": 1, \"ab\": 2}, \"merges\": [\"a #b\"]"),
		":1:192: \"a#b\" isn't a token"},
};

static void refuses_what_llama_cpp_lacks(void **state)
{
	struct al_budget budget = {0};
	struct al_arena arena;
	char path[256];

	(void)state;
	al_arena_init(&arena);
	arena.budget = &budget;
	test_path(path, &folder, "tokenizer.json");
	for (size_t i = 0; i < sizeof(untranslated) / sizeof(*untranslated); i++) {
		const char *json = untranslated[i].json, *message = untranslated[i].message;
		struct al_vocabulary v;
		struct al_error err = {0};
		test_write(path, json, strlen(json));
		if (al_vocabulary_read(&v, &arena, path, 3, &err) != !message)
			fail_msg("%s: %s", json, err.message);
		if (!message)
			continue;
		assert_memory_equal(err.message, path, strlen(path));
		assert_string_equal(err.message + strlen(path), message);
	}
	al_arena_finish(&arena);
}

/* ---- as text ---- */

/* All but the vocabulary. */
static const char *without_vocabulary(struct al_arena *arena, const char *json)
{
	const char *begin = strstr(json, "\"vocab\""), *end = strstr(json, "\"merges\"");

	return begin && end ? al_format(arena, "%.*s... %s", (int)(begin - json), json, end) : json;
}

static void check_written(struct metadata *m, const char *expected)
{
	struct al_checkpoint checkpoint;
	struct al_budget budget = {0};
	struct al_arena arena;
	struct al_error err = {0};
	char path[256];
	AL_TEXT(json);

	al_arena_init(&arena);
	arena.budget = &budget;
	write_file(m, path);
	must(al_checkpoint_open(&checkpoint, path, &err), &err);
	const bool ok = al_tokenizer_json_write(&checkpoint, &arena, &json, &err);
	const char *message = strncmp(err.message, path, strlen(path)) == 0
		? err.message + strlen(path)
		: err.message;
	assert_string_equal(ok ? without_vocabulary(&arena, json.data) : message, expected);
	al_checkpoint_close(&checkpoint);
	al_arena_finish(&arena);
	*m = (struct metadata){.n = 0};
	al_text_init(&m->pairs);
}

/* Behind those of bytes pieces of which "bc" is the best, "abc" two pairs, and as good as "ab". */
static void add_pieces(struct metadata *m, uint64_t n_bytes, bool adds)
{
	static const char *const pieces[] = {"a", "b", "c", "ab", "bc", "abc"};
	static const uint32_t scores[] = {0, 0, 0, 0xc0000000, 0xbf800000, 0xc0000000};
	const uint64_t n = 7 + n_bytes;
	char text[8];

	add_text(m, "model", "llama");
	begin_list(m, "tokens", TEXT, n);
	put_text(m, "<unk>");
	for (uint64_t i = 0; i < n_bytes; i++) {
		snprintf(text, sizeof(text), "<0x%02X>", (unsigned)i);
		put_text(m, text);
	}
	for (int i = 0; i < 6; i++)
		put_text(m, pieces[i]);
	begin_list(m, "scores", F32, n);
	for (uint64_t i = 0; i < n; i++)
		put_u32(m, i > n_bytes ? scores[i - n_bytes - 1] : 0);
	begin_list(m, "token_type", I32, n);
	for (uint64_t i = 0; i < n; i++)
		put_u32(m,
			i == 0		       ? AL_TOKEN_UNKNOWN
				: i <= n_bytes ? AL_TOKEN_BYTE
					       : AL_TOKEN_NORMAL);
	add_flag(m, "add_eos_token", adds);
	add_flag(m, "add_space_prefix", adds);
	add_number(m, "bos_token_id", 257);
	add_number(m, "eos_token_id", 258);
	if (!adds)
		add_flag(m, "add_bos_token", false);
}

static void writes_files_whole(void **state)
{
	struct metadata m = {.n = 0};

	(void)state;
	al_text_init(&m.pairs);
	check_written(&m, " has none in its metadata");
	add_tokens(&m, "bert");
	add_number(&m, "unknown_token_id", 0);
	add_flag(&m, "add_bos_token", false);
	add_flag(&m, "add_sep_token", false);
	check_written(&m,
		"tokenizer.ggml.model is \"bert\", and only gpt2 and llama are written as "
		"tokenizer.json");
	add_pairs(&m);
	check_written(&m, "\"T\" isn't in the vocabulary, and there is no unknown token");
	add_pieces(&m, 0, false);
	check_written(&m,
		"tokenizer.json: makes other tokens of \"The quick brown fox jumps over the lazy "
		"dog.\" than llama.cpp: this tokenizer can't be translated");
	add_pieces(&m, 256, false);
	check_written(&m,
		"{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n  "
		"\"added_tokens\": [\n    {\"id\": 0, \"content\": \"<unk>\", \"single_word\": "
		"false, \"lstrip\": false, \"rstrip\": false, \"normalized\": false, \"special\": "
		"true}],\n  \"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": "
		"\"Replace\", \"pattern\": {\"String\": \" \"}, \"content\": \"\u2581\"}]},\n  "
		"\"pre_tokenizer\": null,\n  \"post_processor\": null,\n  \"decoder\": {\"type\": "
		"\"Sequence\", \"decoders\": [{\"type\": \"Replace\", \"pattern\": {\"String\": "
		"\"\u2581\"}, \"content\": \" \"}, {\"type\": \"ByteFallback\"}, {\"type\": "
		"\"Fuse\"}]},\n  \"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": "
		"\"<unk>\", \"continuing_subword_prefix\": null, \"end_of_word_suffix\": null, "
		"\"fuse_unk\": true, \"byte_fallback\": true, \"ignore_merges\": false, ... "
		"\"merges\": [[\"b\", \"c\"], [\"a\", \"b\"], [\"a\", \"bc\"], [\"ab\", "
		"\"c\"]]}\n}\n");
	add_pieces(&m, 256, true);
	check_written(&m,
		"{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n  "
		"\"added_tokens\": [\n    {\"id\": 0, \"content\": \"<unk>\", \"single_word\": "
		"false, \"lstrip\": false, \"rstrip\": false, \"normalized\": false, \"special\": "
		"true}],\n  \"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": "
		"\"Prepend\", \"prepend\": \"\u2581\"}, {\"type\": \"Replace\", \"pattern\": "
		"{\"String\": \" \"}, \"content\": \"\u2581\"}]},\n  \"pre_tokenizer\": null,\n  "
		"\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": "
		"[{\"SpecialToken\": {\"id\": \"a\", \"type_id\": 0}}, {\"Sequence\": {\"id\": "
		"\"A\", \"type_id\": 0}}, {\"SpecialToken\": {\"id\": \"b\", \"type_id\": 0}}], "
		"\"pair\": [{\"SpecialToken\": {\"id\": \"a\", \"type_id\": 0}}, {\"Sequence\": "
		"{\"id\": \"A\", \"type_id\": 0}}, {\"Sequence\": {\"id\": \"B\", \"type_id\": "
		"1}}, {\"SpecialToken\": {\"id\": \"b\", \"type_id\": 0}}], \"special_tokens\": "
		"{\"a\": {\"id\": \"a\", \"ids\": [257], \"tokens\": [\"a\"]}, \"b\": {\"id\": "
		"\"b\", \"ids\": [258], \"tokens\": [\"b\"]}}},\n  \"decoder\": {\"type\": "
		"\"Sequence\", \"decoders\": [{\"type\": \"Replace\", \"pattern\": {\"String\": "
		"\"\u2581\"}, \"content\": \" \"}, {\"type\": \"ByteFallback\"}, {\"type\": "
		"\"Fuse\"}, "
		"{\"type\": \"Strip\", \"content\": \" \", \"start\": 1, \"stop\": 0}]},\n  "
		"\"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": \"<unk>\", "
		"\"continuing_subword_prefix\": null, \"end_of_word_suffix\": null, \"fuse_unk\": "
		"true, \"byte_fallback\": true, \"ignore_merges\": false, ... \"merges\": [[\"b\", "
		"\"c\"], "
		"[\"a\", \"b\"], [\"a\", \"bc\"], [\"ab\", \"c\"]]}\n}\n");
	al_text_finish(&m.pairs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_the_tokens_of_tokenizer_json),
		cmocka_unit_test(names_what_has_no_token),
		cmocka_unit_test(refuses_what_it_cannot_tell),
		cmocka_unit_test(refuses_what_llama_cpp_lacks),
		cmocka_unit_test(writes_files_whole),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
