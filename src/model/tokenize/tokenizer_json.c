/* tokenizer.json: added tokens are found, the text normalised and split, a model makes tokens of
 * the pieces, and some stand before and after them. All of its keys are known here, and one that
 * isn't is refused, since it may change what comes out. "truncation" and "padding" are settings of
 * batches, "decoder" is the way back: sequences are taken as long as they are.
 *= huggingface/tokenizers, tokenizers/src/tokenizer */
#include "model/tokenize/internal.h"

#include "base/text.h"

/* ---- what parts of the file share ---- */

bool al_read_nothing(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	(void)context;
	(void)node;
	(void)out;
	(void)err;
	return true;
}

/* No text, and one without characters, is NULL. */
bool al_read_text_or_null(void *context, const struct al_item *node, void *out,
	struct al_error *err)
{
	const struct al_tokenizer_reader *r = context;
	const char *text = "";

	if (al_json_kind(node) != AL_JSON_NULL && !al_json_text(r->doc, node, &text, err))
		return false;
	*(const char **)out = *text ? al_strdup(r->arena, text) : NULL;
	return true;
}

bool al_read_token(const struct al_json *doc, const struct al_item *node, int32_t *out,
	struct al_error *err)
{
	int64_t value;

	if (!al_json_whole_from(doc, node, 0, &value, err))
		return false;
	*out = (int32_t)value;
	return value < INT32_MAX
		|| al_json_fail(doc, node, err, "token %lld, expected one below 2^31",
			(long long)value);
}

bool al_read_pattern(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	const struct al_tokenizer_reader *r = context;
	static const char *const known[] = {"String", "Regex"};
	const struct al_item *child;
	const char *text;

	if (!al_json_expect(r->doc, node, AL_JSON_OBJECT, err)
		|| !al_json_only(r->doc, node, known, 2, err))
		return false;
	child = al_json_first(node);
	if (al_json_size(node) != 1)
		return al_json_fail(r->doc, node, err, "expected either \"String\" or \"Regex\"");
	if (!al_json_text(r->doc, child, &text, err))
		return false;
	if (al_json_get(node, "Regex"))
		return al_pattern_compile(r->arena, text, out, err)
			|| al_json_in(r->doc, child, err);
	*(const struct al_pattern **)out = al_pattern_literal(r->arena, text);
	return true;
}

bool al_read_type_alone(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	static const char *const known[] = {"type"};

	return al_json_only(r->doc, node, known, 1, err);
}

enum { MOST_PARTS = 32, MOST_STEPS = 64 };

static bool fail_unknown(struct al_tokenizer_reader *r, const struct al_item *node,
	const char *what, const char *type, const struct al_step_type *parts, size_t n,
	struct al_error *err)
{
	const char *names[MOST_PARTS];

	for (size_t i = 0; i < n; i++)
		names[i] = parts[i].type;
	al_fail_unknown(err, what, type, names, n);
	return al_json_in(r->doc, node, err);
}

bool al_part_read(struct al_tokenizer_reader *r, const struct al_item *node, const char *what,
	const struct al_step_type *parts, size_t n, struct al_error *err)
{
	const char *type;

	if (al_json_kind(node) == AL_JSON_NULL)
		return true;
	if (!al_json_expect(r->doc, node, AL_JSON_OBJECT, err)
		|| !al_json_get_text(r->doc, node, "type", true, &type, err))
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(parts[i].type, type) == 0)
			return parts[i].read(r, node, err);
	return fail_unknown(r, al_json_get(node, "type"), what, type, parts, n, err);
}

bool al_part_read_all(struct al_tokenizer_reader *r, const struct al_item *object, const char *key,
	const char *what, const struct al_step_type *parts, size_t n, struct al_error *err)
{
	const char *const known[] = {"type", key};
	const struct al_item *list;

	if (!al_json_only(r->doc, object, known, 2, err)
		|| !al_json_get_node(r->doc, object, key, AL_JSON_ARRAY, true, &list, err))
		return false;
	al_json_each (item, list)
		if (!al_part_read(r, item, what, parts, n, err))
			return false;
	return true;
}

/* ---- the file ---- */

static bool read_model(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	(void)out;
	return al_token_model_read(context, node, err);
}

/* Added tokens go through all of them as well. */
static bool check_steps(const struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	return r->steps->n <= MOST_STEPS
		|| al_json_fail(r->doc, node, err, "%zu steps, expected at most %d", r->steps->n,
			MOST_STEPS);
}

static bool read_normalizer(void *context, const struct al_item *node, void *out,
	struct al_error *err)
{
	struct al_tokenizer_reader *r = context;

	(void)out;
	r->steps = &r->tokenizer->normalizer;
	return al_normalizer_read(r, node, err) && check_steps(r, node, err);
}

static bool read_pre_tokenizer(void *context, const struct al_item *node, void *out,
	struct al_error *err)
{
	struct al_tokenizer_reader *r = context;

	(void)out;
	r->steps = &r->tokenizer->pre_tokenizer;
	return al_pre_tokenizer_read(r, node, err) && check_steps(r, node, err);
}

static bool read_post_processor(void *context, const struct al_item *node, void *out,
	struct al_error *err)
{
	(void)out;
	return al_post_processor_read(context, node, err);
}

static void add_all(struct al_text_steps *to, const struct al_text_steps *steps,
	struct al_arena *arena)
{
	for (size_t i = 0; i < steps->n; i++)
		al_steps_add(to, arena, steps->items[i]);
}

static bool read_file(struct al_tokenizer_reader *r, struct al_error *err)
{
	/* in this order: added tokens are normalised and looked up in the vocabulary */
	static const struct al_field fields[] = {
		{AL_KEY("version", BY, 0), .read = al_read_nothing},
		{AL_KEY("truncation", BY, 0), .read = al_read_nothing},
		{AL_KEY("padding", BY, 0), .read = al_read_nothing},
		{AL_KEY("decoder", BY, 0), .read = al_read_nothing},
		{AL_KEY("model", BY, 0), .read = read_model, .is_required = true},
		{AL_KEY("normalizer", BY, 0), .read = read_normalizer},
		{AL_KEY("added_tokens", BY, 0), .read = al_added_read},
		{AL_KEY("pre_tokenizer", BY, 0), .read = read_pre_tokenizer},
		{AL_KEY("post_processor", BY, 0), .read = read_post_processor},
	};
	static const struct al_record record = {.fields = AL_FIELDS(fields)};
	struct al_json_tokenizer *t = r->tokenizer;

	if (!al_json_expect(r->doc, r->doc->root, AL_JSON_OBJECT, err)
		|| !al_record_read(&r->source, &record, r->doc->root, t, err))
		return false;
	al_added_step(r, false, &t->all);
	add_all(&t->all, &t->normalizer, r->arena);
	al_added_step(r, true, &t->all);
	add_all(&t->all, &t->pre_tokenizer, r->arena);
	return true;
}

/* ---- a text ---- */

static bool encode_piece(const struct al_token_model *model, struct al_arena *memory,
	const struct al_piece *piece, struct al_tokens *tokens, struct al_error *err)
{
	if (piece->token < 0)
		return model->encode(model, memory, piece->text, tokens, err);
	al_tokens_add(tokens, piece->token);
	return true;
}

static bool encode(const void *data, struct al_arena *memory, struct al_span text,
	struct al_tokens *tokens, struct al_error *err)
{
	const struct al_json_tokenizer *t = data;
	struct al_text_pieces pieces = {0};

	al_pieces_add(&pieces, memory, (struct al_piece){text, -1, true});
	if (!al_steps_run(&t->all, memory, &pieces, err))
		return false;
	for (size_t i = 0; i < t->n_before; i++)
		al_tokens_add(tokens, t->before[i]);
	for (size_t i = 0; i < pieces.n; i++)
		if (!encode_piece(&t->model, memory, &pieces.items[i], tokens, err))
			return false;
	for (size_t i = 0; i < t->n_after; i++)
		al_tokens_add(tokens, t->after[i]);
	return true;
}

static const struct al_tokenizer_kind json_kind = {encode};

static bool parse(struct al_tokenizer *tokenizer, const char *path, const char *text, size_t n,
	bool is_of_gguf, struct al_error *err)
{
	struct al_json doc;

	if (!al_json_parse(&doc, path, text, n, err))
		return false;
	*tokenizer = (struct al_tokenizer){.kind = &json_kind};
	al_arena_init(&tokenizer->arena);
	struct al_tokenizer_reader r = {
		.source = {&tokenizer->arena, &doc, NULL},
		.arena = &tokenizer->arena,
		.doc = &doc,
		.tokenizer = al_new(&tokenizer->arena, struct al_json_tokenizer),
		.is_of_gguf = is_of_gguf,
	};
	r.source.context = &r;
	tokenizer->data = r.tokenizer;
	bool ok = read_file(&r, err);
	al_json_finish(&doc);
	if (!ok)
		al_tokenizer_finish(tokenizer);
	return ok;
}

bool al_tokenizer_parse_json(struct al_tokenizer *tokenizer, const char *path, const char *text,
	size_t n, struct al_error *err)
{
	return parse(tokenizer, path, text, n, false, err);
}

bool al_tokenizer_parse_of_gguf(struct al_tokenizer *tokenizer, const char *text, size_t n,
	struct al_error *err)
{
	return parse(tokenizer, "its tokenizer", text, n, true, err);
}
