/* tokenizer.json: what is refused, what it may cost, and the order of merges. That ids are right is
 * shown by tests/reference/ids.py. */
#include "unit.h"

#include <stdio.h>

#include "base/text.h"
#include "model/tokenize/tokenizer.h"

/* ---- what is refused ---- */

#define WORDS \
	"\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"u\", \"vocab\": {\"u\": 0, \"a\": " \
	"1}}"
#define SPLIT(pattern) \
	"{" WORDS ", \"pre_tokenizer\": {\"type\": \"Split\", \"behavior\": \"Removed\", " \
	"\"invert\": false, \"pattern\": {\"Regex\": \"" pattern "\"}}}"

#define AROUND(single) \
	"{" WORDS ", \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [" single \
	"], \"special_tokens\": {}}}"
#define SIXTY "123456789-123456789-123456789-123456789-123456789-123456789-"
static const struct {
	const char *json, *message;
} refused[] = {
	{"[]", "t:1:1: found an array, expected an object"},
	{"{}", "t:1:1: key \"model\" is missing"},
	{"{" WORDS ", \"modle\": 1}", "t:1:88: unknown key \"modle\" (did you mean \"model\"?)"},
	{"{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"a\", \"vocab\": {\"a\": "
	 "2147483647}}}",
		"t:1:66: token 2147483647, expected at most 2147483646"},
	{"{" WORDS ", \"pre_tokenizer\": {\"type\": \"Split\", \"behavior\": \"Removed\", "
	 "\"invert\": false, \"pattern\": {}}}",
		"t:1:165: expected either \"String\" or \"Regex\""},
	{"{" WORDS ", \"pre_tokenizer\": {\"type\": \"Split\", \"behavior\": \"Removed\", "
	 "\"invert\": false, \"pattern\": {\"String\": \"a\", \"Regex\": \"b\"}}}",
		"t:1:165: expected either \"String\" or \"Regex\""},
	{SPLIT("(a)\\\\1"),
		"t:1:175: regular expression: \"\\1\" is a back reference, which isn't supported"},
	{SPLIT("(a)\\\\9"),
		"t:1:175: regular expression: \"\\9\" is a back reference, which isn't supported"},
	{SPLIT("(?P<x>a)(?P=x)"),
		"t:1:175: regular expression: \"(?P<x>a)(?\" means different things to different "
		"libraries"},
	{"{\"model\": {\"type\": \"Bpe\"}}",
		"t:1:20: unknown model \"Bpe\" (did you mean \"BPE\"?)"},
	{"{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"u\", \"vocab\": {\"a\": -1}}}",
		"t:1:66: found -1, expected 0 or more"},
	{"{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"u\", \"vocab\": {\"a\": 0}}}",
		"t:1:11: \"unk_token\" is \"u\", which the vocabulary doesn't have"},
	{"{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"u\", \"vocab\": {}}}",
		"t:1:60: the vocabulary is empty"},
	{"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1}, \"merges\": [\"a b\"]}}",
		"t:1:65: \"ab\" isn't in the vocabulary"},
	{"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1}, \"merges\": [\"ab\"]}}",
		"t:1:65: found \"ab\", expected two pieces with a blank between them"},
	{"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [\"a " SIXTY "y\"]}}",
		"t:1:57: \"" SIXTY "\" isn't in the vocabulary"},
	{"{" WORDS ", \"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"_\", "
	 "\"add_prefix_space\": false, \"prepend_scheme\": \"first\"}}",
		"t:1:96: \"add_prefix_space\" is false, \"prepend_scheme\" isn't \"never\""},
	{"{" WORDS ", \"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"__\"}}",
		"t:1:96: \"replacement\" is \"__\", expected one character"},
	{"{\"model\": {\"type\": \"BPE\", \"dropout\": 0.5, \"vocab\": {\"a\": 0}, \"merges\": "
	 "[]}}",
		"t:1:38: \"dropout\" is 0.5: tokenization would be random"},
	{"{\"model\": {\"type\": \"Unigram\", \"unk_id\": 1, \"vocab\": [[\"a\", -1.5]]}}",
		"t:1:11: \"unk_id\" is 1, the vocabulary has 1 pieces"},
	{"{\"model\": {\"type\": \"Unigram\", \"vocab\": []}}", "t:1:40: the vocabulary is empty"},
	{"{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\"]]}}",
		"t:1:41: 1 items, expected a text and its score"},
	{"{" WORDS ", \"normalizer\": {\"type\": \"NFKB\"}}",
		"t:1:102: unknown normalizer \"NFKB\" (did you mean \"NFKC\"?)"},
	{"{" WORDS ", \"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": "
	 "\"AAA=\"}}",
		"t:1:141: \"precompiled_charsmap\" isn't a table of replacements in base64"},
	{"{" WORDS ", \"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": "
	 "\"AAAAAAAAA===\"}}",
		"t:1:141: \"precompiled_charsmap\" isn't a table of replacements in base64"},
	{SPLIT("a("), "t:1:175: regular expression: missing closing parenthesis"},
	{SPLIT("[a[b]]"),
		"t:1:175: regular expression: \"[b]]\" means different things to different "
		"libraries"},
	{SPLIT("a\\\\b"),
		"t:1:175: regular expression: \"\\b\" means different things to different "
		"libraries"},
	{SPLIT("(?m).b"),
		"t:1:175: regular expression: \"(?m).b\" means different things to different "
		"libraries"},
	{"{" WORDS ", \"added_tokens\": [{\"id\": 5, \"content\": \"a\", \"special\": true, "
	 "\"single_word\": false, \"lstrip\": false, \"rstrip\": false, \"normalized\": false}]}",
		"t:1:96: \"a\" is token 5 here but 1 in the vocabulary"},
	{"{" WORDS ", \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": "
	 "[{\"SpecialToken\": {\"id\": \"x\"}}], \"special_tokens\": {}}}",
		"t:1:156: \"special_tokens\" has no \"x\""},
	{AROUND("{\"Sequence\": {\"id\": \"B\"}}"),
		"t:1:152: \"single\" has the text \"B\" here, expected \"A\" once"},
	{AROUND("{\"Sequence\": {\"id\": \"A\"}}, {\"Sequence\": {\"id\": \"A\"}}"),
		"t:1:179: \"single\" has the text \"A\" here, expected \"A\" once"},
	{"{" WORDS ", \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [], "
	 "\"special_tokens\": {}}}",
		"t:1:138: \"single\" has no text \"A\""},
};

/* llama2.c's tokenizer.bin: pieces without a text, of 258 of them or 259. */
static void test_too_few_pieces(void **state)
{
	static const char bytes[4 + 259 * 8];
	struct al_tokenizer tokenizer;
	struct al_error err;

	(void)state;
	assert_false(al_tokenizer_parse_bin(&tokenizer, "t", bytes, 4, &err));
	assert_string_equal(err.message, "t: has 4 bytes, expected pieces of a vocabulary");
	assert_false(al_tokenizer_parse_bin(&tokenizer, "t", bytes, 4 + 7, &err));
	assert_string_equal(err.message, "t: piece 0: 7 bytes are left, expected 8 or more");
	assert_false(al_tokenizer_parse_bin(&tokenizer, "t", bytes, 4 + 258 * 8, &err));
	assert_string_equal(err.message, "t: holds 258 pieces, expected at least 259");
	assert_true(al_tokenizer_parse_bin(&tokenizer, "t", bytes, 4 + 259 * 8, &err));
	al_tokenizer_finish(&tokenizer);
}

static void test_refused(void **state)
{
	struct al_tokenizer tokenizer;
	struct al_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		assert_false(al_tokenizer_parse_json(&tokenizer, "t", refused[i].json,
			strlen(refused[i].json), &err));
		assert_string_equal(err.message, refused[i].message);
	}
}

/* What a text is refused for; the file is well. */
static const struct {
	const char *json, *text, *message;
} unencodable[] = {
	{"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": []}}", "ab",
		"\"b\" isn't in the vocabulary, and there is no unknown token"},
	{"{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\", -1]]}}", "a\xc3\xa9",
		"\"\xc3\xa9\" isn't in the vocabulary, and there is no unknown token"},
	{"{" WORDS "}", "a\xc3", "byte 1 is not UTF-8"},
};

/* A file and all lines that it reads have one budget: it is exceeded, by steps or by memory. */
static void check_costs(const char *json, const char *line, int n_lines, const char *of_what)
{
	struct al_tokenizer tokenizer;
	struct al_tokens tokens;
	struct al_error err;
	bool ok = al_tokenizer_parse_json(&tokenizer, "t", json, strlen(json), &err);

	if (ok) {
		al_tokens_init(&tokens);
		for (int i = 0; ok && i < n_lines; i++)
			ok = al_tokenizer_encode(&tokenizer, line, strlen(line), &tokens, &err);
		al_tokens_finish(&tokens);
		al_tokenizer_finish(&tokenizer);
	}
	if (ok)
		fail_msg("%.100s is answered", json);
	assert_int_equal(err.status, AL_EINPUT);
	if (!strstr(err.message, "too costly: needs ") || !strstr(err.message, of_what))
		fail_msg("%s", err.message);
}

static void add_steps(struct al_text *json, const char *step, size_t n)
{
	al_text_finish(json);
	al_text_init(json);
	al_text_add(json,
		"{" WORDS ", \"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [");
	for (size_t i = 0; i < n; i++)
		al_text_addf(json, "%s%s", i ? "," : "", step);
	al_text_add(json, "]}}");
}

#define REPLACE(pattern, by) \
	"{\"type\": \"Replace\", \"pattern\": {" pattern "}, \"content\": \"" by "\"}"

static void test_costs(void **state)
{
	AL_TEXT(json);
	AL_TEXT(text);

	(void)state;
	al_text_add_repeated(&text, 'a', 1 << 14);
	add_steps(&json, "{\"type\": \"NFC\"}", 1000);
	check_costs(json.data, text.data, 1, " steps or more, the limit for ");
	AL_TEXT(replace);
	al_text_addf(&replace, REPLACE("\"String\": \"a\"", "%s"), text.data);
	add_steps(&json, replace.data, 1);
	check_costs(json.data, text.data, 1, " bytes of memory or more, the limit for ");
	/* compiled, each has thousands of times its length */
	add_steps(&json, REPLACE("\"Regex\": \"(?:(?:a|b){100}){8}\"", "b"), 5000);
	check_costs(json.data, text.data, 1, " or more, the limit for ");
	al_text_finish(&json);
	al_text_init(&json);
	al_text_add(&json, "{\"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[\"");
	al_text_add_repeated(&json, 'a', 8192);
	al_text_add(&json, "\", -1]]}}");
	check_costs(json.data, text.data, 2, " steps or more, the limit for ");
}

/* What a search remembers grows with the text. */
static void test_memory_of_searches(void **state)
{
	AL_TEXT(text);

	(void)state;
	al_text_add_repeated(&text, 'a', 1 << 21);
	check_costs(SPLIT("(?:a|b|(c))*[de]"), text.data, 1,
		" bytes of memory or more, the limit for ");
}

/* Lines that cost little add up. */
static void test_lines(void **state)
{
	(void)state;
	check_costs(SPLIT("(a+)+$"), "aaaaaaaaaaaaaaaab", 1000,
		"regular expression \"(a+)+$\": too costly: needs ");
}

/* What it costs grows with the square of the text: looking ahead, and what reads on to the end at
 * each character. */
static void test_quadratic(void **state)
{
	enum { N = 40000 };
	char text[N + 1];

	(void)state;
	memset(text, 'a', N);
	text[N] = '\0';
	check_costs(SPLIT("(?=.*b)a|a"), text, 1, " steps or more");
	check_costs(SPLIT("a*+[bc]"), text, 1, " steps or more");
}

static void test_unencodable(void **state)
{
	struct al_tokenizer tokenizer;
	struct al_tokens tokens;
	struct al_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(unencodable) / sizeof(*unencodable); i++) {
		if (!al_tokenizer_parse_json(&tokenizer, "t", unencodable[i].json,
			    strlen(unencodable[i].json), &err))
			fail_msg("%s", err.message);
		al_tokens_init(&tokens);
		assert_false(al_tokenizer_encode(&tokenizer, unencodable[i].text,
			strlen(unencodable[i].text), &tokens, &err));
		assert_string_equal(err.message, unencodable[i].message);
		al_tokens_finish(&tokens);
		al_tokenizer_finish(&tokenizer);
	}
}

/* ---- ids by hand ---- */

#define TEMPLATE(before, after) \
	"{\"type\": \"TemplateProcessing\", \"single\": [" before \
	"{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}" after \
	"], \"pair\": [], \"special_tokens\": {\"u\": {\"id\": \"u\", \"ids\": [0], \"tokens\": " \
	"[\"u\"]}, \"a\": {\"id\": \"a\", \"ids\": [1], \"tokens\": [\"a\"]}}}"
#define SPECIAL(id) "{\"SpecialToken\": {\"id\": \"" id "\", \"type_id\": 0}}"
#define PIECES \
	"\"continuing_subword_prefix\": \"##\", \"max_input_chars_per_word\": 5, \"vocab\": " \
	"{\"u\": 0, \"##\": 1, \"a\": 2, \"##b\": 3, \"##bb\": 4}"
#define LOWERCASE(letter) \
	"{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"u\", \"vocab\": {\"u\": 0, " \
	"\"" letter "\": 1}}, \"normalizer\": {\"type\": \"Lowercase\"}}"

static const struct {
	const char *json, *text, *ids;
} encoded[] = {
	/* more than the prefix continues a word, the longest piece first; at most 5 characters */
	{"{\"model\": {\"type\": \"WordPiece\", \"unk_token\": \"u\", " PIECES "}}", "ab", "2 3"},
	{"{\"model\": {\"type\": \"WordPiece\", \"unk_token\": \"u\", " PIECES "}}", "abbb",
		"2 4 3"},
	{"{\"model\": {\"type\": \"WordPiece\", \"unk_token\": \"u\", " PIECES "}}", "abc", "0"},
	{"{\"model\": {\"type\": \"WordPiece\", \"unk_token\": \"u\", " PIECES "}}", "abbbb",
		"2 4 4"},
	{"{\"model\": {\"type\": \"WordPiece\", \"unk_token\": \"u\", " PIECES "}}", "abbbbb", "0"},
	/* models without a type */
	{"{\"model\": {\"unk_token\": \"u\", " PIECES "}}", "abb", "2 4"},
	{"{\"model\": {\"unk_token\": \"u\", \"vocab\": {\"u\": 0, \"ab\": 1}}}", "ab", "1"},
	{"{\"model\": {\"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, \"merges\": [\"a b\"]}}", "abb",
		"2 1"},
	{"{\"model\": {\"unk_id\": 0, \"vocab\": [[\"u\", -9], [\"a\", -1], [\"aa\", -1.5]]}}",
		"aa", "2"},
	{"{\"model\": {\"unk_id\": 0, \"vocab\": [[\"u\", -9], [\"a\", -1], [\"aa\", -2.5]]}}",
		"aa", "1 1"},
	/* one processor around the other */
	{"{" WORDS ", \"post_processor\": {\"type\": \"Sequence\", \"processors\": [" TEMPLATE(
		 SPECIAL("u") ", ", "") ", " TEMPLATE(SPECIAL("a") ", ", ", " SPECIAL("u")) "]}}",
		"a", "1 0 1 0"},
	/* token 0 is one like any other: a whole word, a piece, a byte */
	{"{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"u\", \"vocab\": {\"a\": 0, \"u\": "
	 "1}}}",
		"a", "0"},
	{"{\"model\": {\"type\": \"WordPiece\", \"unk_token\": \"u\", "
	 "\"continuing_subword_prefix\": \"##\", \"max_input_chars_per_word\": 5, \"vocab\": "
	 "{\"a\": 0, \"u\": 1, \"##b\": 2}}}",
		"ab", "0 2"},
	{"{\"model\": {\"type\": \"BPE\", \"ignore_merges\": true, \"vocab\": {\"ab\": 0, \"a\": "
	 "1, \"b\": 2}, \"merges\": []}}",
		"ab", "0"},
	{"{\"model\": {\"type\": \"BPE\", \"byte_fallback\": true, \"unk_token\": \"u\", "
	 "\"vocab\": {\"<0x61>\": 0, \"u\": 1}, \"merges\": []}}",
		"a", "0"},
	/* accents stay where lower case alone is wanted */
	{"{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"u\", \"vocab\": {\"u\": 0, "
	 "\"\u00e9\": 1}}, \"normalizer\": {\"type\": \"BertNormalizer\", \"clean_text\": true, "
	 "\"handle_chinese_chars\": true, \"strip_accents\": false, \"lowercase\": true}}",
		"\u00c9", "1"},
	/* all but letters, digits and _ */
	{SPLIT("\\\\W"), "a-a", "1 1"},
	/* no replacements */
	{"{" WORDS
	 ", \"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": \"AAAAAA==\"}}",
		"a", "1"},
	/* an added token of which a normalizer leaves nothing */
	{"{" WORDS
	 ", \"normalizer\": {\"type\": \"Strip\", \"strip_left\": true, \"strip_right\": true}, "
	 "\"added_tokens\": [{\"id\": 2, \"content\": \" \", \"single_word\": false, \"lstrip\": "
	 "false, \"rstrip\": false, \"normalized\": true, \"special\": false}]}",
		"a", "1"},
	/* small forms: Roman numbers, letters in circles, the I that becomes two characters */
	{LOWERCASE("\u2170"), "\u2160", "1"},
	{LOWERCASE("\u217f"), "\u216f", "1"},
	{LOWERCASE("\u24d0"), "\u24b6", "1"},
	{LOWERCASE("\u24e9"), "\u24cf", "1"},
	{LOWERCASE("\u24b5"), "\u24b5", "1"},
	{LOWERCASE("i\u0307"), "\u0130", "1"},
	{LOWERCASE("\u03c3"), "\u03a3", "1"},
};

static void test_encoded(void **state)
{
	struct al_tokenizer tokenizer;
	struct al_tokens tokens;
	struct al_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(encoded) / sizeof(*encoded); i++) {
		AL_TEXT(ids);
		if (!al_tokenizer_parse_json(&tokenizer, "t", encoded[i].json,
			    strlen(encoded[i].json), &err))
			fail_msg("%s: %s", encoded[i].json, err.message);
		al_tokens_init(&tokens);
		if (!al_tokenizer_encode(&tokenizer, encoded[i].text, strlen(encoded[i].text),
			    &tokens, &err))
			fail_msg("%s: %s", encoded[i].json, err.message);
		for (size_t k = 0; k < tokens.begin[1]; k++)
			al_text_addf(&ids, "%s%d", k ? " " : "", (int)tokens.items[k]);
		assert_string_equal(ids.data, encoded[i].ids);
		al_tokens_finish(&tokens);
		al_tokenizer_finish(&tokenizer);
	}
}

/* A form of Unicode is that of what is behind a NUL, too, which stays. */
static void test_nul(void **state)
{
	static const char json[] =
		"{\"normalizer\": {\"type\": \"NFC\"}, \"pre_tokenizer\": "
		"{\"type\": \"Split\", \"behavior\": \"Isolated\", \"invert\": "
		"false, \"pattern\": {\"Regex\": \"[^\u00e9]\"}}, \"model\": {\"type\": "
		"\"WordLevel\", \"unk_token\": \"u\", \"vocab\": {\"u\": 0, "
		"\"\u00e9\": 1}}}";
	static const char text[] = "e\u0301\0e\u0301";
	struct al_tokenizer tokenizer;
	struct al_tokens tokens;
	struct al_error err;

	(void)state;
	if (!al_tokenizer_parse_json(&tokenizer, "t", json, strlen(json), &err))
		fail_msg("%s", err.message);
	al_tokens_init(&tokens);
	assert_true(al_tokenizer_encode(&tokenizer, text, sizeof(text) - 1, &tokens, &err));
	assert_int_equal(tokens.begin[1], 3);
	assert_true(tokens.items[0] == 1 && tokens.items[1] == 0 && tokens.items[2] == 1);
	al_tokens_finish(&tokens);
	al_tokenizer_finish(&tokenizer);
}

/* ---- byte-pair encoding, one pair after the other ---- */

enum { LETTERS = 4, MERGES = 40, TEXT = 60 };

/* Tokens 0 to LETTERS - 1 are letters, LETTERS + i is what merge i makes. */
struct made_vocabulary {
	char texts[LETTERS + MERGES][2 * TEXT];
	int left[MERGES], right[MERGES];
	int n_merges;
};

static bool is_known(const struct made_vocabulary *v, const char *text)
{
	for (int i = 0; i < LETTERS + v->n_merges; i++)
		if (strcmp(v->texts[i], text) == 0)
			return true;
	return false;
}

static unsigned draw(unsigned *state, unsigned n)
{
	*state = *state * 1103515245u + 12345u;
	return (*state >> 16) % n;
}

static void make_vocabulary(struct made_vocabulary *v, unsigned *state)
{
	v->n_merges = 0;
	for (int i = 0; i < LETTERS; i++)
		snprintf(v->texts[i], sizeof(v->texts[i]), "%c", 'a' + i);
	while (v->n_merges < MERGES) {
		const unsigned n = (unsigned)(LETTERS + v->n_merges);
		const int left = (int)draw(state, n), right = (int)draw(state, n);
		char joined[4 * TEXT];
		snprintf(joined, sizeof(joined), "%s%s", v->texts[left], v->texts[right]);
		if (strlen(joined) > 8 || is_known(v, joined))
			continue;
		v->left[v->n_merges] = left;
		v->right[v->n_merges] = right;
		memcpy(v->texts[n], joined, strlen(joined) + 1);
		v->n_merges++;
	}
}

static void open_vocabulary(const struct made_vocabulary *v, struct al_tokenizer *tokenizer)
{
	struct al_error err;
	struct al_text json;

	al_text_init(&json);
	al_text_add(&json, "{\"model\": {\"type\": \"BPE\", \"vocab\": {");
	for (int i = 0; i < LETTERS + MERGES; i++)
		al_text_addf(&json, "%s\"%s\": %d", i ? ", " : "", v->texts[i], i);
	al_text_add(&json, "}, \"merges\": [");
	for (int i = 0; i < MERGES; i++)
		al_text_addf(&json, "%s[\"%s\", \"%s\"]", i ? ", " : "", v->texts[v->left[i]],
			v->texts[v->right[i]]);
	al_text_add(&json, "]}}");
	if (!al_tokenizer_parse_json(tokenizer, "t", json.data, json.length, &err))
		fail_msg("%s", err.message);
	al_text_finish(&json);
}

/* Joins the first pair of the lowest rank; false where there is none. */
static bool join_one(const struct made_vocabulary *v, int *tokens, size_t *n)
{
	for (int rank = 0; rank < MERGES; rank++)
		for (size_t i = 0; i + 1 < *n; i++) {
			if (tokens[i] != v->left[rank] || tokens[i + 1] != v->right[rank])
				continue;
			tokens[i] = LETTERS + rank;
			(*n)--;
			memmove(tokens + i + 1, tokens + i + 2, (*n - i - 1) * sizeof(*tokens));
			return true;
		}
	return false;
}

static void test_order_of_merges(void **state)
{
	unsigned random = 7;

	(void)state;
	for (int trial = 0; trial < 40; trial++) {
		struct made_vocabulary v;
		struct al_tokenizer tokenizer;
		struct al_tokens tokens;
		struct al_error err;
		char text[TEXT + 1];
		int expected[TEXT];
		size_t n = TEXT;
		make_vocabulary(&v, &random);
		open_vocabulary(&v, &tokenizer);
		for (size_t i = 0; i < TEXT; i++) {
			expected[i] = (int)draw(&random, LETTERS);
			text[i] = (char)('a' + expected[i]);
		}
		text[TEXT] = '\0';
		while (join_one(&v, expected, &n))
			;
		al_tokens_init(&tokens);
		assert_true(al_tokenizer_encode(&tokenizer, text, TEXT, &tokens, &err));
		for (size_t i = 0; i < n; i++)
			assert_int_equal(tokens.items[i], expected[i]);
		al_tokens_finish(&tokens);
		al_tokenizer_finish(&tokenizer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_too_few_pieces),
		cmocka_unit_test(test_costs),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_memory_of_searches),
		cmocka_unit_test(test_quadratic),
		cmocka_unit_test(test_unencodable),
		cmocka_unit_test(test_encoded),
		cmocka_unit_test(test_nul),
		cmocka_unit_test(test_order_of_merges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
