/* The tokenizer in a GGUF file's metadata. llama.cpp's kinds are "llama" (SentencePiece's pairs by
 * scores), "gpt2" (byte-level pairs by a list of merges), "bert" (WordPiece, in which what begins a
 * word begins with U+2581 and what continues one has no "##") and "t5" (Unigram).
 *= ggml-org/llama.cpp, src/llama-vocab.cpp */
#include "model/tokenize/gguf.h"

#include <glib.h>

#include "base/json.h"
#include "base/text.h"
#include "formats/gguf.h"

#define KEY(name) "tokenizer.ggml." name

static const char blank[] = "\u2581";

struct vocabulary {
	const struct al_checkpoint *checkpoint;
	struct al_arena arena;
	const char **texts; /* [n] */
	double *scores, *types; /* [n], or NULL where the file has none */
	size_t n;
	struct al_text json;
};

enum token_type { TOKEN_NORMAL = 1, TOKEN_UNKNOWN = 2, TOKEN_CONTROL = 3, TOKEN_USER_DEFINED = 4 };

/* ---- single keys ---- */

static const struct al_gguf_pair *find(const struct al_checkpoint *checkpoint, const char *key)
{
	const struct al_shard *first = &checkpoint->shards[0];

	return al_gguf_find_pair(first->pairs, first->n_pairs, key);
}

static const char *find_text(const struct al_checkpoint *checkpoint, const char *key)
{
	const struct al_gguf_pair *pair = find(checkpoint, key);

	return pair ? pair->text : NULL;
}

static bool is_set(const struct vocabulary *v, const char *key, bool otherwise)
{
	const struct al_gguf_pair *pair = find(v->checkpoint, key);

	return pair ? strcmp(pair->value, "true") == 0 : otherwise;
}

/* A token by its key; where there is none that of `otherwise`; -1: none. */
static bool find_token(const struct vocabulary *v, const char *key, int otherwise, long long *out,
	struct al_error *err)
{
	const struct al_gguf_pair *pair = find(v->checkpoint, key);

	*out = pair ? strtoll(pair->value, NULL, 10) : otherwise;
	return (*out >= -1 && *out < (long long)v->n)
		|| al_fail(err, AL_EINPUT, "%s is %lld, of %zu tokens", key, *out, v->n);
}

/* ---- the vocabulary ---- */

static bool read_beside(struct vocabulary *v, const char *key, double **out, struct al_error *err)
{
	size_t n;

	return al_gguf_read_numbers(v->checkpoint, key, &v->arena, out, &n, err)
		&& (!*out || n == v->n
			|| al_fail(err, AL_EINPUT, "%s has %zu numbers, of %zu tokens", key, n,
				v->n));
}

static bool read_vocabulary(struct vocabulary *v, struct al_error *err)
{
	if (!al_gguf_read_texts(v->checkpoint, KEY("tokens"), &v->arena, &v->texts, &v->n, err))
		return false;
	if (v->n == 0)
		return al_fail(err, AL_EINPUT, KEY("tokens") " holds no tokens");
	for (size_t i = 0; i < v->n; i++)
		if (!*v->texts[i])
			v->texts[i] = al_format(&v->arena, "[EMPTY_%zu]", i);
	return read_beside(v, KEY("scores"), &v->scores, err)
		&& read_beside(v, KEY("token_type"), &v->types, err);
}

/* A file may hold any number there. */
static double type_of(const struct vocabulary *v, size_t token)
{
	return v->types ? v->types[token] : TOKEN_NORMAL;
}

/* "vocab": {"text": token}, and what a text is called there. */
static void add_map(struct vocabulary *v,
	const char *(*rename)(struct al_arena *arena, const char *text))
{
	al_text_add(&v->json, "\"vocab\":{");
	for (size_t i = 0; i < v->n; i++) {
		al_text_add(&v->json, i ? "," : "");
		al_json_quote(&v->json, rename ? rename(&v->arena, v->texts[i]) : v->texts[i]);
		al_text_addf(&v->json, ":%zu", i);
	}
	al_text_add(&v->json, "}");
}

/* "vocab": [["text", score]] */
static bool add_scored(struct vocabulary *v, struct al_error *err)
{
	if (!v->scores)
		return al_fail(err, AL_EINPUT, KEY("scores") " is missing");
	al_text_add(&v->json, "\"vocab\":[");
	for (size_t i = 0; i < v->n; i++) {
		al_text_add(&v->json, i ? ",[" : "[");
		al_json_quote(&v->json, v->texts[i]);
		al_text_addf(&v->json, ",%.9g]", v->scores[i]);
	}
	al_text_add(&v->json, "]");
	return true;
}

/* Tokens that no other text makes: a tokenizer.json finds them in the text too. */
static void add_added(struct vocabulary *v)
{
	const char *comma = "";

	al_text_add(&v->json, ",\"added_tokens\":[");
	for (size_t i = 0; i < v->n; i++) {
		const double type = type_of(v, i);
		if (type != TOKEN_CONTROL && type != TOKEN_USER_DEFINED && type != TOKEN_UNKNOWN)
			continue;
		al_text_addf(&v->json, "%s{\"id\":%zu,\"content\":", comma, i);
		al_json_quote(&v->json, v->texts[i]);
		al_text_add(&v->json,
			",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,"
			"\"normalized\":false,\"special\":true}");
		comma = ",";
	}
	al_text_add(&v->json, "]");
}

/* ---- tokens around a text ---- */

/* The one of that key as a template's, where the file wants it. */
static bool add_around(struct vocabulary *v, const char *add_key, bool adds, const char *key,
	int otherwise, struct al_text *specials, struct al_error *err)
{
	long long token;

	if (!is_set(v, add_key, adds))
		return true;
	if (!find_token(v, key, otherwise, &token, err))
		return false;
	if (token < 0)
		return al_fail(err, AL_EINPUT, "%s is true, and %s names no token", add_key, key);
	al_text_addf(&v->json, "{\"SpecialToken\":{\"id\":\"%s\",\"type_id\":0}},", key);
	al_text_addf(specials, "%s\"%s\":{\"id\":\"%s\",\"ids\":[%lld],\"tokens\":[]}",
		specials->length ? "," : "", key, key, token);
	return true;
}

/* What llama.cpp takes where a key is missing. */
struct around {
	bool adds_bos, adds_eos, adds_sep;
	int bos, eos, sep;
};

static bool add_template(struct vocabulary *v, const struct around *a, struct al_error *err)
{
	struct al_text specials;

	al_text_init(&specials);
	al_text_add(&v->json, ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[");
	bool ok = add_around(v, KEY("add_bos_token"), a->adds_bos, KEY("bos_token_id"), a->bos,
		&specials, err);
	al_text_add(&v->json, "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},");
	ok = ok
		&& add_around(v, KEY("add_sep_token"), a->adds_sep, KEY("seperator_token_id"),
			a->sep, &specials, err)
		&& add_around(v, KEY("add_eos_token"), a->adds_eos, KEY("eos_token_id"), a->eos,
			&specials, err);
	v->json.data[--v->json.length] = '\0';
	al_text_addf(&v->json, "],\"special_tokens\":{%s}}", specials.data);
	al_text_finish(&specials);
	return ok;
}

/* ---- kinds ---- */

static bool tell_llama(struct vocabulary *v, struct al_error *err)
{
	static const struct around around = {true, false, false, 1, 2, -1};
	long long unknown;

	if (!find_token(v, KEY("unknown_token_id"), 0, &unknown, err))
		return false;
	al_text_addf(&v->json,
		"{\"model\":{\"type\":\"ScoredBPE\",\"byte_fallback\":true,"
		"\"unk_id\":%lld,",
		unknown);
	if (!add_scored(v, err))
		return false;
	al_text_add(&v->json, "},\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[");
	if (is_set(v, KEY("add_space_prefix"), true))
		al_text_addf(&v->json, "{\"type\":\"Prepend\",\"prepend\":\"%s\"},", blank);
	al_text_addf(&v->json,
		"{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"%s\"}]}",
		blank);
	add_added(v);
	return add_template(v, &around, err);
}

static bool add_merges(struct vocabulary *v, struct al_error *err)
{
	const char **merges;
	size_t n;

	if (!al_gguf_read_texts(v->checkpoint, KEY("merges"), &v->arena, &merges, &n, err))
		return false;
	if (n == 0)
		return al_fail(err, AL_EINPUT, KEY("merges") " is missing");
	al_text_add(&v->json, ",\"merges\":[");
	for (size_t i = 0; i < n; i++) {
		al_text_add(&v->json, i ? "," : "");
		al_json_quote(&v->json, merges[i]);
	}
	al_text_add(&v->json, "]}");
	return true;
}

static bool tell_gpt2(struct vocabulary *v, struct al_error *err)
{
	const char *name = find_text(v->checkpoint, KEY("pre"));
	const struct al_gguf_pre *pre;

	if (!name)
		return al_fail(err, AL_EINPUT,
			KEY("pre") " is missing: how words are split isn't known");
	if (!al_gguf_pre_find(name, &pre, err))
		return false;
	al_text_addf(&v->json, "{\"model\":{\"type\":\"BPE\",\"ignore_merges\":%s,",
		pre->ignores_merges ? "true" : "false");
	add_map(v, NULL);
	if (!add_merges(v, err))
		return false;
	al_text_addf(&v->json, ",\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[%s]}",
		pre->parts);
	if (pre->normalizer)
		al_text_addf(&v->json, ",\"normalizer\":%s", pre->normalizer);
	add_added(v);
	return add_template(v, &(struct around){pre->adds_bos, false, false, -1, -1, -1}, err);
}

static const char *piece_of_word(struct al_arena *arena, const char *text)
{
	const size_t n = strlen(text);

	if (strncmp(text, blank, strlen(blank)) == 0 && n > strlen(blank))
		return text + strlen(blank);
	if (text[0] == '[' && text[n - 1] == ']' && n > 2)
		return text;
	return al_format(arena, "##%s", text);
}

static bool tell_bert(struct vocabulary *v, struct al_error *err)
{
	static const struct around around = {true, false, true, 101, -1, 102};
	long long unknown;

	if (!find_token(v, KEY("unknown_token_id"), 100, &unknown, err))
		return false;
	al_text_add(&v->json,
		"{\"model\":{\"type\":\"WordPiece\",\"continuing_subword_prefix\":\"##\","
		"\"max_input_chars_per_word\":100,\"unk_token\":");
	al_json_quote(&v->json, unknown < 0 ? "[UNK]" : v->texts[unknown]);
	al_text_add(&v->json, ",");
	add_map(v, piece_of_word);
	al_text_add(&v->json,
		"},\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,"
		"\"handle_chinese_chars\":true,\"strip_accents\":null,\"lowercase\":true},"
		"\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}");
	add_added(v);
	return add_template(v, &around, err);
}

/* The table of replacements, in base64. */
static bool add_replacements(struct vocabulary *v, struct al_error *err)
{
	double *numbers;
	size_t n;

	if (!al_gguf_read_numbers(v->checkpoint, KEY("precompiled_charsmap"), &v->arena, &numbers,
		    &n, err))
		return false;
	if (n == 0)
		return true;
	unsigned char *bytes = al_new_array(&v->arena, unsigned char, n);
	for (size_t i = 0; i < n; i++)
		bytes[i] = (unsigned char)(int)numbers[i];
	char *text = g_base64_encode(bytes, n);
	al_text_addf(&v->json, "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"%s\"},", text);
	g_free(text);
	return true;
}

static bool tell_t5(struct vocabulary *v, struct al_error *err)
{
	static const struct around around = {false, true, false, -1, 1, -1};
	long long unknown;

	if (!find_token(v, KEY("unknown_token_id"), 2, &unknown, err))
		return false;
	al_text_addf(&v->json, "{\"model\":{\"type\":\"Unigram\",\"unk_id\":%lld,", unknown);
	if (!add_scored(v, err))
		return false;
	al_text_add(&v->json, "},\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[");
	if (!add_replacements(v, err))
		return false;
	if (is_set(v, KEY("remove_extra_whitespaces"), false))
		al_text_add(&v->json,
			"{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":true},"
			"{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\" "
			"\"},");
	al_text_addf(&v->json,
		"{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"%s\"}]},"
		"\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"%s\","
		"\"prepend_scheme\":\"%s\",\"split\":false}",
		blank, blank, is_set(v, KEY("add_space_prefix"), true) ? "always" : "never");
	add_added(v);
	return add_template(v, &around, err);
}

static const struct kind {
	const char *name;
	bool (*tell)(struct vocabulary *v, struct al_error *err);
} kinds[] = {{"llama", tell_llama}, {"gpt2", tell_gpt2}, {"bert", tell_bert}, {"t5", tell_t5}};

static bool tell(struct vocabulary *v, struct al_error *err)
{
	const char *name = find_text(v->checkpoint, KEY("model"));

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return read_vocabulary(v, err) && kinds[i].tell(v, err);
	return al_fail(err, AL_EINPUT,
		KEY("model") " is \"%.60s\", expected llama, gpt2, bert or t5", name);
}

bool al_gguf_has_tokenizer(const struct al_checkpoint *checkpoint)
{
	return find_text(checkpoint, KEY("model")) != NULL;
}

bool al_gguf_tokenizer_open(struct al_tokenizer *tokenizer, const struct al_checkpoint *checkpoint,
	struct al_error *err)
{
	struct vocabulary v = {.checkpoint = checkpoint};

	al_arena_init(&v.arena);
	al_text_init(&v.json);
	bool ok = tell(&v, err);
	if (ok) {
		al_text_add(&v.json, "}");
		ok = al_tokenizer_parse_of_gguf(tokenizer, v.json.data, v.json.length, err);
	}
	al_text_finish(&v.json);
	al_arena_finish(&v.arena);
	return ok || al_in(err, "%s", checkpoint->shards[0].source.path);
}
