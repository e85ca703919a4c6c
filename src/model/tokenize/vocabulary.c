/* A tokenizer.json's vocabulary as llama.cpp's files hold it.
 *= ggml-org/llama.cpp, convert_hf_to_gguf.py, get_vocab_base; src/llama-vocab.cpp */
#include "model/tokenize/vocabulary.h"

#include "base/file.h"
#include "model/tokenize/internal.h"

enum { LARGEST_FILE = 1 << 30 };

static const char blank[] = "\u2581";

struct reading {
	struct al_vocabulary *out;
	struct al_arena *arena;
	const struct al_json *doc;
	const struct al_item *model;
	struct al_pre pre;
	size_t n_splits;
	bool has_bytes, uses_regex; /* of ByteLevel */
	bool has_blanks; /* spaces become U+2581 */
	struct al_vocab index; /* of the tokens */
};

/* ---- normalizers and pre-tokenizers, flat ---- */

static bool refuse(const struct reading *r, const struct al_item *part, const char *type,
	struct al_error *err)
{
	return al_json_fail(r->doc, part, err, "%s has no counterpart in llama.cpp's tokenizers",
		type);
}

static bool get_flag(const struct reading *r, const struct al_item *part, const char *key,
	bool otherwise)
{
	const struct al_item *node = al_json_get(part, key);
	bool flag = otherwise;

	return node && al_json_boolean(r->doc, node, &flag, NULL) ? flag : otherwise;
}

static const char *get_text(const struct reading *r, const struct al_item *part, const char *key)
{
	const struct al_item *node = al_json_get(part, key);
	const char *text = "";

	return node && al_json_text(r->doc, node, &text, NULL) ? text : "";
}

static bool take_normalizer(struct reading *r, const struct al_item *part, const char *type,
	struct al_error *err)
{
	if (strcmp(type, "NFC") == 0)
		r->pre.is_nfc = true;
	else if (strcmp(type, "Prepend") == 0 && strcmp(get_text(r, part, "prepend"), blank) == 0)
		r->out->adds_space = true;
	else if (strcmp(type, "Replace") == 0
		&& strcmp(get_text(r, al_json_get(part, "pattern"), "String"), " ") == 0
		&& strcmp(get_text(r, part, "content"), blank) == 0)
		r->has_blanks = true;
	else
		return refuse(r, part, type, err);
	return true;
}

static bool take_split(struct reading *r, const struct al_item *part, struct al_error *err)
{
	const char *regex = get_text(r, al_json_get(part, "pattern"), "Regex");

	if (!*regex && strcmp(get_text(r, al_json_get(part, "pattern"), "String"), blank) == 0)
		return true; /* no merge goes over the beginning of a word */
	if (!*regex || r->n_splits == AL_PRE_SPLITS || get_flag(r, part, "invert", false))
		return refuse(r, part, "Split", err);
	r->pre.splits[r->n_splits++] = regex;
	return true;
}

static bool take_pre_tokenizer(struct reading *r, const struct al_item *part, const char *type,
	struct al_error *err)
{
	if (strcmp(type, "Split") == 0)
		return take_split(r, part, err);
	if (strcmp(type, "Digits") == 0 && get_flag(r, part, "individual_digits", false)) {
		r->pre.splits_digits = true;
	} else if (strcmp(type, "ByteLevel") == 0 && !get_flag(r, part, "add_prefix_space", true)) {
		r->has_bytes = true;
		r->uses_regex = get_flag(r, part, "use_regex", true);
	} else if (strcmp(type, "Metaspace") == 0
		&& strcmp(get_text(r, part, "replacement"), blank) == 0) {
		r->has_blanks = true;
		r->out->adds_space = strcmp(get_text(r, part, "prepend_scheme"), "never") != 0
			&& get_flag(r, part, "add_prefix_space", true);
	} else {
		return refuse(r, part, type, err);
	}
	return true;
}

typedef bool take_part(struct reading *r, const struct al_item *part, const char *type,
	struct al_error *err);

/* null is none, a Sequence all that it lists. */
static bool take_all(struct reading *r, const struct al_item *part, const char *list,
	take_part *take, struct al_error *err)
{
	const char *type;

	if (!part || al_json_kind(part) == AL_JSON_NULL)
		return true;
	if (!al_json_get_text(r->doc, part, "type", true, &type, err))
		return false;
	if (strcmp(type, "Sequence") != 0)
		return take(r, part, type, err);
	al_json_each (item, al_json_get(part, list))
		if (!take_all(r, item, list, take, err))
			return false;
	return true;
}

/* ---- the vocabulary ---- */

static bool set_token(struct reading *r, const struct al_item *node, int64_t token,
	const char *text, enum al_token_type type, struct al_error *err)
{
	if (token < 0 || token >= (int64_t)r->out->n)
		return al_json_fail(r->doc, node, err,
			"token %" PRId64 " is beyond the model's %zu tokens", token, r->out->n);
	r->out->tokens[token] = al_strdup(r->arena, text);
	r->out->types[token] = (int32_t)type;
	return true;
}

static bool is_byte(const char *text)
{
	return strlen(text) == 6 && strncmp(text, "<0x", 3) == 0 && text[5] == '>';
}

static bool read_tokens(struct reading *r, struct al_error *err)
{
	const bool has_bytes = get_flag(r, r->model, "byte_fallback", false);
	const char *unknown = get_text(r, r->model, "unk_token");
	int64_t token;

	al_json_each (item, al_json_get(r->model, "vocab")) {
		const char *text = al_json_key(item);
		const bool is_unknown = *unknown && strcmp(text, unknown) == 0;
		if (!al_json_whole(r->doc, item, &token, err)
			|| !set_token(r, item, token, text,
				is_unknown			     ? AL_TOKEN_UNKNOWN
					: has_bytes && is_byte(text) ? AL_TOKEN_BYTE
								     : AL_TOKEN_NORMAL,
				err))
			return false;
		r->out->unknown = is_unknown ? (int32_t)token : r->out->unknown;
	}
	return true;
}

static bool read_added(struct reading *r, struct al_error *err)
{
	int64_t token;

	al_json_each (item, al_json_get(r->doc->root, "added_tokens")) {
		const struct al_item *id = al_json_get(item, "id");
		if (!id)
			return al_json_fail(r->doc, item, err, "key \"id\" is missing");
		if (!al_json_whole(r->doc, id, &token, err)
			|| !set_token(r, item, token, get_text(r, item, "content"),
				token == r->out->unknown ? AL_TOKEN_UNKNOWN
					: get_flag(r, item, "special", false)
					? AL_TOKEN_CONTROL
					: AL_TOKEN_USER_DEFINED,
				err))
			return false;
	}
	return true;
}

/* Numbers without a token get a text that no text makes. */
static void fill_gaps(struct reading *r)
{
	for (size_t i = 0; i < r->out->n; i++)
		if (!r->out->tokens[i]) {
			r->out->tokens[i] = al_format(r->arena, "[PAD%zu]", i);
			r->out->types[i] = AL_TOKEN_UNUSED;
		}
}

/* "a b", or ["a", "b"], as the tokenizer found when it was opened. */
static bool read_merge(const struct reading *r, const struct al_item *item, const char **first,
	const char **second, struct al_error *err)
{
	const char *text;

	if (al_json_kind(item) == AL_JSON_ARRAY)
		return al_json_text(r->doc, al_json_at(item, 0), first, err)
			&& al_json_text(r->doc, al_json_at(item, 1), second, err);
	if (!al_json_text(r->doc, item, &text, err))
		return false;
	const size_t length = strcspn(text, " ");
	*first = al_strndup(r->arena, text, length);
	*second = text + length + 1;
	return true;
}

/* Pairs are joined in the order of merges: of scores, in that of the texts that they become. */
static bool take_score(struct reading *r, const char *joint, size_t rank)
{
	const int32_t token = al_vocab_find(&r->index, al_span_of(joint));

	if (token >= 0 && r->out->scores[token] == 0)
		r->out->scores[token] = -(float)(rank + 1);
	return token >= 0;
}

static bool read_merges(struct reading *r, struct al_error *err)
{
	struct al_vocabulary *out = r->out;
	const struct al_item *list = al_json_get(r->model, "merges");
	const char *first, *second;

	out->merges = al_new_array(r->arena, const char *, al_json_size(list) + 1);
	al_json_each (item, list) {
		if (!read_merge(r, item, &first, &second, err))
			return false;
		if (out->scores
			&& !take_score(r, al_format(r->arena, "%s%s", first, second),
				out->n_merges))
			return al_json_fail(r->doc, item, err, "\"%s%s\" isn't a token", first,
				second);
		out->merges[out->n_merges++] = al_format(r->arena, "%s %s", first, second);
	}
	return true;
}

/* ---- kinds ---- */

static bool choose_kind(struct reading *r, struct al_error *err)
{
	struct al_vocabulary *out = r->out;

	if (r->has_bytes) {
		out->model = "gpt2";
		r->pre.ignores_merges = get_flag(r, r->model, "ignore_merges", false);
		out->pre = (r->n_splits > 0) != r->uses_regex ? al_pre_name(&r->pre) : NULL;
		return out->pre
			|| al_fail(err, AL_EINPUT,
				"%s: pre_tokenizer: llama.cpp's name of this regular expression "
				"isn't known: \"%.60s\"",
				r->doc->name, r->n_splits ? r->pre.splits[0] : "none");
	}
	if (!r->has_blanks || !get_flag(r, r->model, "byte_fallback", false) || r->n_splits > 0)
		return al_fail(err, AL_EINPUT,
			"%s: neither byte-level pairs nor SentencePiece's with bytes, which "
			"llama.cpp's tokenizers are",
			r->doc->name);
	out->model = "llama";
	out->pre = "default";
	out->scores = al_new_array(r->arena, float, out->n);
	return true;
}

static void make_index(struct reading *r)
{
	al_vocab_init(&r->index, r->arena, r->out->n);
	for (size_t i = 0; i < r->out->n; i++)
		al_vocab_add(&r->index, al_span_of(r->out->tokens[i]), (int32_t)i);
}

static bool read_file(struct reading *r, struct al_error *err)
{
	const struct al_item *root = r->doc->root;
	const char *type = "BPE";

	if (!al_json_get_node(r->doc, root, "model", AL_JSON_OBJECT, true, &r->model, err)
		|| !al_json_get_text(r->doc, r->model, "type", false, &type, err))
		return false;
	if (strcmp(type, "BPE") != 0)
		return refuse(r, r->model, type, err);
	if (!take_all(r, al_json_get(root, "normalizer"), "normalizers", take_normalizer, err)
		|| !take_all(r, al_json_get(root, "pre_tokenizer"), "pretokenizers",
			take_pre_tokenizer, err)
		|| !choose_kind(r, err) || !read_tokens(r, err) || !read_added(r, err))
		return false;
	fill_gaps(r);
	make_index(r);
	return read_merges(r, err);
}

/* What comes around a text, by the tokenizer itself: at most one token on each side. */
static bool find_around(struct al_vocabulary *out, const struct al_pipeline *p, const char *path,
	struct al_error *err)
{
	if (p->before.n > 1 || p->after.n > 1)
		return al_fail(err, AL_EINPUT,
			"%s: post_processor: %zu tokens before a text and %zu after it, but "
			"llama.cpp adds at most one each",
			path, p->before.n, p->after.n);
	out->first = p->before.n ? p->before.items[0] : -1;
	out->last = p->after.n ? p->after.items[0] : -1;
	return true;
}

static bool is_bin(const char *path)
{
	return al_ends_with(path, ".bin");
}

static bool read_text(struct al_text *text, const char *path, struct al_tokenizer *tokenizer,
	struct al_error *err)
{
	return al_file_read(text, path, LARGEST_FILE, err)
		&& (is_bin(path) ? al_tokenizer_parse_bin : al_tokenizer_parse_json)(tokenizer,
			path, text->data, text->length, err);
}

/* ---- llama2.c's tokenizer.bin ---- */

static const char *blanks_of(struct al_arena *arena, struct al_span text)
{
	AL_TEXT(out);

	for (size_t i = 0; i < text.n; i++)
		if (text.data[i] == ' ')
			al_text_add(&out, blank);
		else
			al_text_add_bytes(&out, text.data + i, 1);
	return out.length ? al_strdup(arena, out.data) : "";
}

/* SentencePiece's order: an unknown piece, the beginning and the end of a text, bytes. */
static bool take_pieces(struct al_vocabulary *out, struct al_arena *arena,
	const struct al_token_model *pieces, const char *path, struct al_error *err)
{
	if (pieces->n != out->n)
		return al_fail(err, AL_EINPUT, "%s: has %zu pieces, but the model has %zu tokens",
			path, pieces->n, out->n);
	out->model = "llama";
	out->pre = "default";
	out->adds_space = true;
	out->unknown = 0;
	out->scores = al_new_array(arena, float, out->n);
	for (size_t i = 0; i < out->n; i++) {
		out->scores[i] = (float)pieces->scores[i];
		out->types[i] = i == 0 ? AL_TOKEN_UNKNOWN
			: i < 3	       ? AL_TOKEN_CONTROL
			: i < 3 + 256  ? AL_TOKEN_BYTE
				       : AL_TOKEN_NORMAL;
		out->tokens[i] = i >= 3 && i < 3 + 256 ? al_format(arena, "<0x%02zX>", i - 3)
						       : blanks_of(arena, pieces->texts[i]);
	}
	out->tokens[0] = "<unk>";
	out->tokens[1] = "<s>";
	out->tokens[2] = "</s>";
	return true;
}

bool al_vocabulary_read(struct al_vocabulary *out, struct al_arena *arena, const char *path,
	int64_t n_tokens, struct al_error *err)
{
	AL_JSON(doc);
	AL_TEXT(text);
	struct al_tokenizer tokenizer;

	*out = (struct al_vocabulary){.n = (size_t)n_tokens, .unknown = -1};
	out->tokens = al_new_array(arena, const char *, out->n);
	out->types = al_new_array(arena, int32_t, out->n);
	if (!read_text(&text, path, &tokenizer, err))
		return false;
	struct reading r = {.out = out, .arena = arena, .doc = &doc};
	const bool ok = find_around(out, tokenizer.pipeline, path, err)
		&& (is_bin(path) ? take_pieces(out, arena, &tokenizer.pipeline->model, path, err)
				 : al_json_parse(&doc, path, text.data, text.length, err)
					&& read_file(&r, err));
	al_tokenizer_finish(&tokenizer);
	return ok;
}

/* ---- the sample ---- */

static const char *const sample[] = {
	"The quick brown fox jumps over the lazy dog.",
	"It's 3.14159 or 1,234,567; we'll see, they've said I'd go!",
	"def f(x):\n\treturn x**2 + 10  # squares\n\n\n  done",
	"  leading and   many    blanks  ",
	"Stra\u00dfe, na\u00efve caf\u00e9, \u0416\u0438\u0437\u043d\u044c, "
	"\u4f60\u597d\u4e16\u754c, "
	"\u3053\u3093\u306b\u3061\u306f, \U0001f600\U0001f680",
	"CamelCaseWords ALLCAPS snake_case http://example.org/a?b=c&d=%20",
};
enum { N_SAMPLE = sizeof(sample) / sizeof(*sample) };

static bool encode_sample(struct al_tokenizer *tokenizer, struct al_tokens *tokens,
	struct al_error *err)
{
	for (size_t i = 0; i < N_SAMPLE; i++)
		if (!al_tokenizer_encode(tokenizer, sample[i], strlen(sample[i]), tokens, err))
			return false;
	return true;
}

static bool compare(const struct al_tokens *a, const struct al_tokens *b, const char *path,
	struct al_error *err)
{
	for (size_t i = 0; i < N_SAMPLE; i++) {
		const size_t n = a->begin[i + 1] - a->begin[i];
		if (n != b->begin[i + 1] - b->begin[i]
			|| memcmp(a->items + a->begin[i], b->items + b->begin[i],
				   n * sizeof(*a->items))
				!= 0)
			return al_fail(err, AL_EINPUT,
				"%s: makes other tokens of \"%.44s\" than llama.cpp: this "
				"tokenizer can't be translated",
				path, sample[i]);
	}
	return true;
}

static bool check_parsed(const struct al_checkpoint *checkpoint, struct al_tokenizer *theirs,
	const char *name, struct al_error *err)
{
	struct al_tokenizer ours;
	struct al_tokens tokens[2];

	if (!al_gguf_tokenizer_open(&ours, checkpoint, err))
		return false;
	al_tokens_init(&tokens[0]);
	al_tokens_init(&tokens[1]);
	const bool ok = encode_sample(theirs, &tokens[0], err)
		&& encode_sample(&ours, &tokens[1], err)
		&& compare(&tokens[0], &tokens[1], name, err);
	al_tokens_finish(&tokens[0]);
	al_tokens_finish(&tokens[1]);
	al_tokenizer_finish(&ours);
	return ok;
}

bool al_vocabulary_check(const struct al_checkpoint *checkpoint, const char *path,
	struct al_error *err)
{
	struct al_tokenizer theirs;
	AL_TEXT(text);

	if (!read_text(&text, path, &theirs, err))
		return false;
	const bool ok = check_parsed(checkpoint, &theirs, path, err);
	al_tokenizer_finish(&theirs);
	return ok;
}

bool al_vocabulary_check_text(const struct al_checkpoint *checkpoint, const char *name,
	const struct al_text *text, struct al_error *err)
{
	struct al_tokenizer theirs;

	if (!al_tokenizer_parse_json(&theirs, name, text->data, text->length, err))
		return false;
	const bool ok = check_parsed(checkpoint, &theirs, name, err);
	al_tokenizer_finish(&theirs);
	return ok;
}
