/* The tokenizer in a GGUF file's metadata as a tokenizer.json. */
#include "formats/gguf.h"
#include "model/tokenize/internal.h"
#include "model/tokenize/vocabulary.h"

#define KEY(name) "tokenizer.ggml." name

struct writing {
	const struct al_checkpoint *checkpoint;
	struct al_arena *arena;
	const struct al_pipeline *pipeline; /* of the file's own tokenizer */
	struct al_text *out;
	const char **texts; /* [n] */
	const double *types, *scores; /* [n], or NULL */
	size_t n;
	struct al_vocab index;
};

static const char *find_text(const struct writing *w, const char *key)
{
	const struct al_gguf_pair *pair = al_gguf_find_pair(&w->checkpoint->shards[0], key);

	return pair && pair->text ? pair->text : "";
}

static bool read_list(const struct writing *w, const char *key, bool are_texts,
	struct al_gguf_items *out, struct al_error *err)
{
	return al_gguf_read_items(w->checkpoint, key, are_texts, w->arena, out, err);
}

static enum al_token_type type_of(const struct writing *w, size_t i)
{
	return w->types ? (enum al_token_type)(int)w->types[i] : AL_TOKEN_NORMAL;
}

/* ---- parts ---- */

static void add_added(const struct writing *w)
{
	const char *comma = "";

	al_text_add(w->out, "  \"added_tokens\": [");
	for (size_t i = 0; i < w->n; i++) {
		const enum al_token_type type = type_of(w, i);
		if (type != AL_TOKEN_UNKNOWN && type != AL_TOKEN_CONTROL
			&& type != AL_TOKEN_USER_DEFINED)
			continue;
		al_text_addf(w->out, "%s\n    {\"id\": %zu, \"content\": ", comma, i);
		al_json_quote(w->out, w->texts[i]);
		al_text_addf(w->out,
			", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, "
			"\"normalized\": false, \"special\": %s}",
			type == AL_TOKEN_USER_DEFINED ? "false" : "true");
		comma = ",";
	}
	al_text_add(w->out, "],\n");
}

static void add_token(const struct writing *w, const struct al_ids *ids, const char *before,
	const char *behind)
{
	if (ids->n == 0)
		return;
	al_text_addf(w->out, "%s{\"SpecialToken\": {\"id\": ", before);
	al_json_quote(w->out, w->texts[ids->items[0]]);
	al_text_addf(w->out, ", \"type_id\": 0}}%s", behind);
}

static void add_special(const struct writing *w, const struct al_ids *ids, const char *comma)
{
	if (ids->n == 0)
		return;
	const char *text = w->texts[ids->items[0]];
	al_text_add(w->out, comma);
	al_json_quote(w->out, text);
	al_text_add(w->out, ": {\"id\": ");
	al_json_quote(w->out, text);
	al_text_addf(w->out, ", \"ids\": [%" PRId32 "], \"tokens\": [", ids->items[0]);
	al_json_quote(w->out, text);
	al_text_add(w->out, "]}");
}

/* One token before a text, and one after it, where the file wants them. */
static void add_around(const struct writing *w)
{
	static const char *const parts[] = {"single", "pair"};
	const struct al_ids *before = &w->pipeline->before, *after = &w->pipeline->after;

	al_text_add(w->out, "  \"post_processor\": ");
	if (before->n + after->n == 0) {
		al_text_add(w->out, "null,\n");
		return;
	}
	al_text_add(w->out, "{\"type\": \"TemplateProcessing\"");
	for (int i = 0; i < 2; i++) {
		al_text_addf(w->out, ", \"%s\": [", parts[i]);
		add_token(w, before, "", ", ");
		al_text_add(w->out, "{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}");
		if (i == 1)
			al_text_add(w->out, ", {\"Sequence\": {\"id\": \"B\", \"type_id\": 1}}");
		add_token(w, after, ", ", "");
		al_text_add(w->out, "]");
	}
	al_text_add(w->out, ", \"special_tokens\": {");
	add_special(w, before, "");
	if (before->n == 0 || after->n == 0 || before->items[0] != after->items[0])
		add_special(w, after, before->n ? ", " : "");
	al_text_add(w->out, "}},\n");
}

static void add_vocabulary(const struct writing *w)
{
	const char *comma = "";

	al_text_add(w->out, "\"vocab\": {");
	for (size_t i = 0; i < w->n; i++) {
		if (type_of(w, i) == AL_TOKEN_UNUSED
			|| al_vocab_find(&w->index, al_span_of(w->texts[i])) != (int32_t)i)
			continue;
		al_text_add(w->out, comma);
		al_json_quote(w->out, w->texts[i]);
		al_text_addf(w->out, ": %zu", i);
		comma = ", ";
	}
	al_text_add(w->out, "}, \"merges\": [");
}

/* ---- byte-level pairs ---- */

static void add_split(const struct writing *w, const char *regex)
{
	al_text_add(w->out, "{\"type\": \"Split\", \"pattern\": {\"Regex\": ");
	al_json_quote(w->out, regex);
	al_text_add(w->out, "}, \"behavior\": \"Isolated\", \"invert\": false}, ");
}

static void add_pre(const struct writing *w, const struct al_pre *pre)
{
	al_text_addf(w->out, "  \"normalizer\": %s,\n",
		pre->is_nfc ? "{\"type\": \"NFC\"}" : "null");
	al_text_add(w->out, "  \"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [");
	if (pre->splits_digits)
		al_text_add(w->out, "{\"type\": \"Digits\", \"individual_digits\": true}, ");
	for (size_t i = 0; i < AL_PRE_SPLITS && pre->splits[i]; i++)
		add_split(w, pre->splits[i]);
	al_text_addf(w->out,
		"{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, "
		"\"use_regex\": %s}]},\n",
		pre->splits[0] ? "false" : "true");
}

static bool add_byte_level(const struct writing *w, struct al_error *err)
{
	const struct al_pre *pre;
	struct al_gguf_items merges;

	if (!al_pre_find(find_text(w, KEY("pre")), &pre, err)
		|| !read_list(w, KEY("merges"), true, &merges, err))
		return false;
	add_pre(w, pre);
	add_around(w);
	al_text_addf(w->out,
		"  \"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true, "
		"\"trim_offsets\": true, \"use_regex\": true},\n"
		"  \"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": null, "
		"\"continuing_subword_prefix\": null, \"end_of_word_suffix\": null, "
		"\"fuse_unk\": false, \"byte_fallback\": false, \"ignore_merges\": %s, ",
		pre->ignores_merges ? "true" : "false");
	add_vocabulary(w);
	for (size_t i = 0; i < merges.n; i++) {
		al_text_add(w->out, i ? ", " : "");
		al_json_quote(w->out, merges.texts[i]);
	}
	return true;
}

/* ---- SentencePiece's pairs ---- */

struct merge {
	double score;
	int32_t token, first, second;
};

/* The best score first; of one token's parts, those that come first in the vocabulary. */
static int compare_merges(const void *a, const void *b)
{
	const struct merge *x = a, *y = b;
	int order = al_compare(y->score, x->score);

	order = order ? order : al_compare(x->token, y->token);
	return order ? order : al_compare(x->first, y->first);
}

/* Each text of two tokens that is one itself. */
static struct merge *find_merges(const struct writing *w, size_t *n)
{
	struct merge *merges = NULL;
	size_t room = 0;

	*n = 0;
	for (size_t i = 0; i < w->n; i++) {
		const struct al_span text = al_span_of(w->texts[i]);
		for (size_t at = 1; type_of(w, i) == AL_TOKEN_NORMAL && at < text.n; at++) {
			const int32_t first = al_vocab_find(&w->index, al_span_part(text, 0, at));
			const int32_t second = first < 0
				? -1
				: al_vocab_find(&w->index, al_span_part(text, at, text.n));
			if (second < 0)
				continue;
			merges = al_grow(w->arena, merges, *n, &room, sizeof(*merges));
			merges[(*n)++] = (struct merge){w->scores[i], (int32_t)i, first, second};
		}
	}
	if (*n > 0)
		qsort(merges, *n, sizeof(*merges), compare_merges);
	return merges;
}

static bool add_pieces(const struct writing *w, struct al_error *err)
{
	const struct al_gguf_pair *space = al_gguf_find_pair(&w->checkpoint->shards[0],
		KEY("add_space_prefix"));
	const int32_t unknown = w->pipeline->model.unknown;
	const bool adds_space = !space || strcmp(space->value, "true") == 0;
	size_t n;

	(void)err;
	al_text_addf(w->out,
		"  \"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [%s{\"type\": "
		"\"Replace\", \"pattern\": {\"String\": \" \"}, \"content\": \"\u2581\"}]},\n"
		"  \"pre_tokenizer\": null,\n",
		adds_space ? "{\"type\": \"Prepend\", \"prepend\": \"\u2581\"}, " : "");
	add_around(w);
	al_text_addf(w->out,
		"  \"decoder\": {\"type\": \"Sequence\", \"decoders\": [{\"type\": \"Replace\", "
		"\"pattern\": {\"String\": \"\u2581\"}, \"content\": \" \"}, {\"type\": "
		"\"ByteFallback\"}, {\"type\": \"Fuse\"}%s]},\n"
		"  \"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": ",
		adds_space
			? ", {\"type\": \"Strip\", \"content\": \" \", \"start\": 1, \"stop\": 0}"
			: "");
	if (unknown >= 0)
		al_json_quote(w->out, w->texts[unknown]);
	else
		al_text_add(w->out, "null");
	al_text_add(w->out,
		", \"continuing_subword_prefix\": null, \"end_of_word_suffix\": null, "
		"\"fuse_unk\": true, \"byte_fallback\": true, \"ignore_merges\": false, ");
	add_vocabulary(w);
	const struct merge *merges = find_merges(w, &n);
	for (size_t i = 0; i < n; i++) {
		al_text_add(w->out, i ? ", [" : "[");
		al_json_quote(w->out, w->texts[merges[i].first]);
		al_text_add(w->out, ", ");
		al_json_quote(w->out, w->texts[merges[i].second]);
		al_text_add(w->out, "]");
	}
	return true;
}

/* ---- all ---- */

static bool read_all(struct writing *w, struct al_error *err)
{
	struct al_gguf_items texts, types, scores;

	if (!read_list(w, KEY("tokens"), true, &texts, err)
		|| !read_list(w, KEY("token_type"), false, &types, err)
		|| !read_list(w, KEY("scores"), false, &scores, err))
		return false;
	w->texts = texts.texts;
	w->n = texts.n;
	w->types = types.n == texts.n ? types.numbers : NULL;
	w->scores = scores.n == texts.n ? scores.numbers : NULL;
	al_vocab_init(&w->index, w->arena, w->n);
	for (size_t i = 0; i < w->n; i++) /* the last of a text counts */
		al_vocab_add(&w->index, al_span_of(w->texts[i]), (int32_t)i);
	return true;
}

static bool write(struct writing *w, struct al_error *err)
{
	const char *model = find_text(w, KEY("model"));
	const bool has_bytes = strcmp(model, "gpt2") == 0;

	if (!has_bytes && strcmp(model, "llama") != 0)
		return al_fail(err, AL_EINPUT,
			KEY("model") " is \"%.40s\", and only gpt2 and llama are written as "
				     "tokenizer.json",
			model);
	if (!read_all(w, err))
		return false;
	al_text_add(w->out,
		"{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n");
	add_added(w);
	if (!(has_bytes ? add_byte_level : add_pieces)(w, err))
		return false;
	al_text_add(w->out, "]}\n}\n");
	return true;
}

bool al_tokenizer_json_write(const struct al_checkpoint *checkpoint, struct al_arena *arena,
	struct al_text *out, struct al_error *err)
{
	struct al_tokenizer tokenizer;

	if (!al_gguf_has_tokenizer(checkpoint))
		return al_fail(err, AL_EINPUT, "%s has none in its metadata", checkpoint->path);
	if (!al_gguf_tokenizer_open(&tokenizer, checkpoint, err))
		return false;
	struct writing w = {.checkpoint = checkpoint,
		.arena = arena,
		.pipeline = tokenizer.pipeline,
		.out = out};
	const bool ok = write(&w, err);
	al_tokenizer_finish(&tokenizer);
	return ok && al_vocabulary_check_text(checkpoint, "tokenizer.json", out, err);
}
