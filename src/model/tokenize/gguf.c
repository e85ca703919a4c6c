/* The tokenizer in a GGUF file's metadata. llama.cpp's kinds are "llama" (SentencePiece's pairs by
 * scores), "gpt2" (byte-level pairs by a list of merges), "bert" (WordPiece, in which what begins a
 * word begins with U+2581 and what continues one has no "##") and "t5" (Unigram).
 *= ggml-org/llama.cpp, src/llama-vocab.cpp */
#include "model/tokenize/internal.h"

#include "formats/gguf.h"

#define KEY(name) "tokenizer.ggml." name

static const char blank[] = "\u2581";

struct vocabulary {
	const struct al_checkpoint *checkpoint;
	struct al_arena *arena; /* the tokenizer's */
	struct al_pipeline *pipeline;
	const char **texts; /* [n] */
	double *scores, *types; /* [n], or NULL where the file has none */
	size_t n;
};

enum token_type { TOKEN_NORMAL = 1, TOKEN_UNKNOWN = 2, TOKEN_CONTROL = 3, TOKEN_USER_DEFINED = 4 };

/* ---- single keys ---- */

static const struct al_gguf_pair *find(const struct al_checkpoint *checkpoint, const char *key)
{
	return al_gguf_find_pair(&checkpoint->shards[0], key);
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
static bool find_token(const struct vocabulary *v, const char *key, int otherwise, int32_t *out,
	struct al_error *err)
{
	const struct al_gguf_pair *pair = find(v->checkpoint, key);
	const long long token = pair ? strtoll(pair->value, NULL, 10) : otherwise;

	*out = (int32_t)token;
	return (token >= -1 && token < (long long)v->n)
		|| al_fail(err, AL_EINPUT, "%s is %lld, of %zu tokens", key, token, v->n);
}

/* ---- the vocabulary ---- */

static bool read_beside(struct vocabulary *v, const char *key, double **out, struct al_error *err)
{
	struct al_gguf_items items;

	if (!al_gguf_read_items(v->checkpoint, key, false, v->arena, &items, err))
		return false;
	*out = items.numbers;
	return !*out || items.n == v->n
		|| al_fail(err, AL_EINPUT, "%s has %zu numbers, of %zu tokens", key, items.n, v->n);
}

static bool read_vocabulary(struct vocabulary *v, struct al_error *err)
{
	struct al_gguf_items items;

	if (!al_gguf_read_items(v->checkpoint, KEY("tokens"), true, v->arena, &items, err))
		return false;
	v->texts = items.texts;
	v->n = items.n;
	if (v->n == 0 || v->n > INT32_MAX)
		return al_fail(err, AL_EINPUT, KEY("tokens") " holds %s tokens",
			v->n ? "too many" : "no");
	for (size_t i = 0; i < v->n; i++)
		if (!*v->texts[i])
			v->texts[i] = al_format(v->arena, "[EMPTY_%zu]", i);
	return read_beside(v, KEY("scores"), &v->scores, err)
		&& read_beside(v, KEY("token_type"), &v->types, err);
}

/* `rename` turns a text of the file into the model's own; NULL: they are the same. */
static void add_vocabulary(struct vocabulary *v,
	const char *(*rename)(struct al_arena *arena, const char *text))
{
	struct al_vocab *vocab = &v->pipeline->model.vocab;

	al_vocab_init(vocab, v->arena, v->n);
	for (size_t i = 0; i < v->n; i++)
		al_vocab_add(vocab,
			al_span_of(rename ? rename(v->arena, v->texts[i]) : v->texts[i]),
			(int32_t)i);
}

static bool add_scored(struct vocabulary *v, struct al_error *err)
{
	struct al_token_model *model = &v->pipeline->model;

	if (!v->scores)
		return al_fail(err, AL_EINPUT, KEY("scores") " is missing");
	al_scored_init(model, v->arena, v->n);
	for (size_t i = 0; i < v->n; i++)
		model->texts[i] = al_span_of(v->texts[i]);
	model->scores = v->scores;
	al_scored_index(model, v->arena);
	return true;
}

/* Tokens that no other text makes: they are found in the text too. */
static void add_added(struct vocabulary *v)
{
	struct al_pipeline *p = v->pipeline;

	p->added = al_new_array(v->arena, struct al_added, v->n);
	for (size_t i = 0; i < v->n; i++) {
		const double type = v->types ? v->types[i] : TOKEN_NORMAL; /* any number */
		if (type == TOKEN_CONTROL || type == TOKEN_USER_DEFINED || type == TOKEN_UNKNOWN)
			p->added[p->n_added++] = (struct al_added){.text = al_span_of(v->texts[i]),
				.token = (int32_t)i};
	}
}

/* ---- tokens around a text ---- */

/* The one of that key, where the file wants it. */
static bool add_around(struct vocabulary *v, const char *add_key, bool adds, const char *key,
	int otherwise, struct al_ids *out, struct al_error *err)
{
	int32_t token;

	if (!is_set(v, add_key, adds))
		return true;
	if (!find_token(v, key, otherwise, &token, err))
		return false;
	if (token < 0)
		return al_fail(err, AL_EINPUT, "%s is true, but %s names no token", add_key, key);
	al_ids_add(out, v->arena, token);
	return true;
}

/* llama.cpp's defaults for missing keys. */
struct around {
	bool adds_bos, adds_eos, adds_sep;
	int bos, eos, sep, unknown; /* unknown -1: it names none */
};

/* ---- pre-tokenizers: where a text is split before byte-pair encoding, as in the models' own
 * tokenizer.json, by the names that llama.cpp's converter gives them ----
 *= ggml-org/llama.cpp, convert_hf_to_gguf_update.py */

#define ENGLISH "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define WORDS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define REST "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASES(ending) \
	"[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" ending "|[^\\r\\n\\p{L}\\p{N}]?" UPPER \
	"+" LOWER "*" ending
#define CASES_REST "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

#define LLAMA_3 ENGLISH WORDS "|\\p{N}{1,3}" REST
#define QWEN_2 ENGLISH WORDS "|\\p{N}" REST

static const struct al_pre pres[] = {
	{.names = {"gpt-2", "phi-2", "olmo", "mpt", "exaone4", "modern-bert"}},
	{.names = {"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone"},
		.splits_digits = true},
	{.names = {"llama-bpe", "llama3", "llama-v3", "falcon3"},
		.splits = {LLAMA_3},
		.adds_bos = true,
		.ignores_merges = true},
	{.names = {"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"}, .splits = {LLAMA_3}},
	{.names = {"qwen2", "deepseek-r1-qwen"}, .splits = {QWEN_2}, .is_nfc = true},
	{.names = {"stablelm2", "hunyuan"}, .splits = {QWEN_2}},
	{.names = {"gpt-4o", "llama4"}, .splits = {CASES(ENGLISH "?") "|\\p{N}{1,3}" CASES_REST}},
	{.names = {"tekken"},
		.splits = {CASES("") "|\\p{N}" CASES_REST},
		.adds_bos = true,
		.ignores_merges = true},
	{.names = {"deepseek-v3", "hunyuan-dense"},
		.splits = {"\\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
			"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"
			"|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
			"| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"}},
};
enum { N_PRES = sizeof(pres) / sizeof(*pres) };

static bool splits_alike(const struct al_pre *a, const struct al_pre *b)
{
	for (size_t i = 0; i < AL_PRE_SPLITS && (a->splits[i] || b->splits[i]); i++)
		if (!a->splits[i] || !b->splits[i] || strcmp(a->splits[i], b->splits[i]) != 0)
			return false;
	return a->splits_digits == b->splits_digits && a->is_nfc == b->is_nfc
		&& a->ignores_merges == b->ignores_merges;
}

const char *al_pre_name(const struct al_pre *pre)
{
	for (size_t i = 0; i < N_PRES; i++)
		if (splits_alike(&pres[i], pre))
			return pres[i].names[0];
	return NULL;
}

bool al_pre_find(const char *name, const struct al_pre **out, struct al_error *err)
{
	for (size_t i = 0; i < N_PRES; i++)
		for (size_t j = 0; j < AL_PRE_NAMES && pres[i].names[j]; j++)
			if (strcmp(pres[i].names[j], name) == 0) {
				*out = &pres[i];
				return true;
			}
	return al_fail(err, AL_EINPUT,
		"tokenizer.ggml.pre is \"%.60s\", an unsupported pre-tokenizer; pass token ids "
		"with --tokens",
		name);
}

/* ---- kinds ---- */

static void add_step(struct vocabulary *v, struct al_step step)
{
	al_steps_add(&v->pipeline->normalizer, v->arena, step);
}

static bool make_llama(struct vocabulary *v, struct around *a, struct al_error *err)
{
	(void)a;
	v->pipeline->model.encode = al_encode_scored;
	if (is_set(v, KEY("add_space_prefix"), true))
		add_step(v,
			(struct al_step){.run = al_step_prefix,
				.text = blank,
				.is_inverted = true});
	add_step(v, (struct al_step){.run = al_step_replace, .regex = " ", .text = blank});
	return add_scored(v, err);
}

static bool add_merges(struct vocabulary *v, struct al_error *err)
{
	struct al_gguf_items merges;
	struct al_span pair[2];

	if (!al_gguf_read_items(v->checkpoint, KEY("merges"), true, v->arena, &merges, err))
		return false;
	if (merges.n == 0)
		return al_fail(err, AL_EINPUT, KEY("merges") " is missing");
	al_merges_init(&v->pipeline->model, v->arena, merges.n);
	for (size_t i = 0; i < merges.n; i++)
		if (!al_merge_split(merges.texts[i], pair, err)
			|| !al_merge_add(&v->pipeline->model, pair, err))
			return al_in(err, KEY("merges") ": item %zu", i);
	return true;
}

static bool add_splits(struct vocabulary *v, const struct al_pre *pre, struct al_error *err)
{
	struct al_text_steps *steps = &v->pipeline->pre_tokenizer;

	if (pre->splits_digits)
		al_steps_add(steps, v->arena,
			(struct al_step){.run = al_step_split,
				.regex = "\\p{N}",
				.behavior = AL_SPLIT_ISOLATED});
	for (size_t i = 0; i < AL_PRE_SPLITS && pre->splits[i]; i++) {
		struct al_step step = {.run = al_step_split, .behavior = AL_SPLIT_ISOLATED};
		if (!al_pattern_compile(v->arena, pre->splits[i], &step.pattern, err))
			return false;
		al_steps_add(steps, v->arena, step);
	}
	if (!pre->splits[0])
		al_steps_add(steps, v->arena, al_gpt2_split);
	al_steps_add(steps, v->arena, (struct al_step){.run = al_step_bytes});
	return true;
}

static bool make_gpt2(struct vocabulary *v, struct around *a, struct al_error *err)
{
	const char *name = find_text(v->checkpoint, KEY("pre"));
	const struct al_pre *pre = NULL;

	if (!name)
		return al_fail(err, AL_EINPUT, KEY("pre") " is missing, so words can't be split");
	if (!al_pre_find(name, &pre, err))
		return false;
	a->adds_bos = pre->adds_bos;
	v->pipeline->model.encode = al_encode_bpe;
	v->pipeline->model.ignores_merges = pre->ignores_merges;
	if (pre->is_nfc)
		add_step(v, al_nfc);
	add_vocabulary(v, NULL);
	return add_merges(v, err) && add_splits(v, pre, err);
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

static bool make_bert(struct vocabulary *v, struct around *a, struct al_error *err)
{
	struct al_token_model *model = &v->pipeline->model;

	(void)a;
	model->encode = al_encode_word_piece;
	model->prefix = "##";
	model->longest_word = 100;
	add_vocabulary(v, piece_of_word);
	al_bert_normalizer_add(&v->pipeline->normalizer, v->arena);
	for (size_t i = 0; i < AL_N_BERT_SPLITS; i++)
		al_steps_add(&v->pipeline->pre_tokenizer, v->arena, al_bert_splits[i]);
	if (model->unknown < 0)
		model->unknown = al_vocab_find(&model->vocab, al_span_of("[UNK]"));
	return model->unknown >= 0 || al_fail(err, AL_EINPUT, "the vocabulary has no \"[UNK]\"");
}

/* Bytes, signed or not. */
static bool add_replacements(struct vocabulary *v, struct al_error *err)
{
	struct al_gguf_items items;

	if (!al_gguf_read_items(v->checkpoint, KEY("precompiled_charsmap"), false, v->arena, &items,
		    err))
		return false;
	unsigned char *bytes = al_new_array(v->arena, unsigned char, items.n);
	for (size_t i = 0; i < items.n; i++) {
		if (items.numbers[i] < INT8_MIN || items.numbers[i] > UINT8_MAX)
			return al_fail(err, AL_EINPUT,
				KEY("precompiled_charsmap") " has %g at %zu, expected bytes",
				items.numbers[i], i);
		bytes[i] = (unsigned char)(int)items.numbers[i];
	}
	return items.n == 0 || al_charsmap_add(&v->pipeline->normalizer, v->arena, bytes, items.n)
		|| al_fail(err, AL_EINPUT,
			KEY("precompiled_charsmap") " isn't a table of replacements");
}

static bool make_t5(struct vocabulary *v, struct around *a, struct al_error *err)
{
	const struct al_step replace = {.run = al_step_replace, .regex = " ", .text = blank};

	(void)a;
	v->pipeline->model.encode = al_encode_unigram;
	if (!add_scored(v, err) || !add_replacements(v, err))
		return false;
	if (is_set(v, KEY("remove_extra_whitespaces"), false)) {
		add_step(v, al_strip[0]);
		add_step(v, al_strip[1]);
		add_step(v,
			(struct al_step){.run = al_step_replace, .regex = " {2,}", .text = " "});
	}
	add_step(v, replace);
	if (is_set(v, KEY("add_space_prefix"), true))
		al_steps_add(&v->pipeline->pre_tokenizer, v->arena,
			(struct al_step){.run = al_step_prefix, .text = blank});
	return true;
}

static const struct kind {
	const char *name;
	bool (*make)(struct vocabulary *v, struct around *around, struct al_error *err);
	struct around around;
} kinds[] = {
	{"llama", make_llama, {.adds_bos = true, .bos = 1, .eos = 2, .sep = -1, .unknown = 0}},
	{"gpt2", make_gpt2, {.bos = -1, .eos = -1, .sep = -1, .unknown = -1}},
	{"bert", make_bert,
		{.adds_bos = true,
			.adds_sep = true,
			.bos = 101,
			.eos = -1,
			.sep = 102,
			.unknown = 100}},
	{"t5", make_t5, {.adds_eos = true, .bos = -1, .eos = 1, .sep = -1, .unknown = 2}},
};

static const struct kind *find_kind(const struct vocabulary *v, struct al_error *err)
{
	const char *name = find_text(v->checkpoint, KEY("model"));

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	al_fail(err, AL_EINPUT, KEY("model") " is \"%.60s\", expected llama, gpt2, bert or t5",
		name);
	return NULL;
}

static bool make(struct vocabulary *v, struct al_error *err)
{
	const struct kind *kind = find_kind(v, err);
	struct al_pipeline *p = v->pipeline;

	if (!kind || !read_vocabulary(v, err))
		return false;
	struct around a = kind->around;
	p->model.unknown = -1;
	if ((a.unknown >= 0
		    && !find_token(v, KEY("unknown_token_id"), a.unknown, &p->model.unknown, err))
		|| !kind->make(v, &a, err))
		return false;
	add_added(v);
	return add_around(v, KEY("add_bos_token"), a.adds_bos, KEY("bos_token_id"), a.bos,
		       &p->before, err)
		&& add_around(v, KEY("add_sep_token"), a.adds_sep, KEY("seperator_token_id"), a.sep,
			&p->after, err)
		&& add_around(v, KEY("add_eos_token"), a.adds_eos, KEY("eos_token_id"), a.eos,
			&p->after, err);
}

bool al_gguf_has_tokenizer(const struct al_checkpoint *checkpoint)
{
	return find_text(checkpoint, KEY("model")) != NULL;
}

bool al_gguf_tokenizer_open(struct al_tokenizer *tokenizer, const struct al_checkpoint *checkpoint,
	struct al_error *err)
{
	struct vocabulary v = {.checkpoint = checkpoint};

	v.pipeline = al_pipeline_init(tokenizer, checkpoint->shards[0].header_bytes);
	v.arena = &tokenizer->arena;
	if (make(&v, err) && al_pipeline_finish(v.pipeline, v.arena, err))
		return true;
	al_tokenizer_finish(tokenizer);
	return al_in(err, "%s", checkpoint->shards[0].source.path);
}
