/* "post_processor" of tokenizer.json: the tokens that stand before and after a sequence. What it
 * says of pairs of texts and of places in the text changes nothing here.
 *= huggingface/tokenizers, tokenizers/src/processors */
#include "model/tokenize/internal.h"

#include <string.h>

struct al_wrap {
	int32_t *before, *after;
	size_t n_before, n_after, before_room, after_room;
};

static void add_before(struct al_tokenizer_reader *r, struct al_wrap *wrap, int32_t token)
{
	wrap->before = al_grow(r->arena, wrap->before, wrap->n_before, &wrap->before_room,
		sizeof(*wrap->before));
	wrap->before[wrap->n_before++] = token;
}

static void add_after(struct al_tokenizer_reader *r, struct al_wrap *wrap, int32_t token)
{
	wrap->after = al_grow(r->arena, wrap->after, wrap->n_after, &wrap->after_room,
		sizeof(*wrap->after));
	wrap->after[wrap->n_after++] = token;
}

/* Puts tokens around what is there already. */
static void put_around(struct al_tokenizer_reader *r, struct al_wrap *wrap)
{
	struct al_json_tokenizer *t = r->tokenizer;

	for (size_t i = 0; i < t->n_before; i++)
		add_before(r, wrap, t->before[i]);
	t->before = wrap->before;
	t->n_before = wrap->n_before;
	for (size_t i = 0; i < wrap->n_after; i++) {
		t->after = al_grow(r->arena, t->after, t->n_after, &t->after_room,
			sizeof(*t->after));
		t->after[t->n_after++] = wrap->after[i];
	}
}

/* ---- one token before, one after ---- */

struct ends {
	int32_t before, after;
};

/* ["[SEP]", 102] */
static bool read_named_token(void *context, const struct al_item *node, void *out,
	struct al_error *err)
{
	const struct al_tokenizer_reader *r = context;
	const char *text;

	return al_json_expect(r->doc, node, AL_JSON_ARRAY, err)
		&& (al_json_size(node) == 2
			|| al_json_fail(r->doc, node, err,
				"%zu items, expected a text and its token", al_json_size(node)))
		&& al_json_text(r->doc, al_json_at(node, 0), &text, err)
		&& al_read_token(r->doc, al_json_at(node, 1), out, err);
}

static bool read_ends(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	static const struct al_field fields[] = {
		{AL_KEY("type", BY, 0), .read = al_read_nothing},
		{AL_KEY("cls", BY, offsetof(struct ends, before)), .read = read_named_token,
			.is_required = true},
		{AL_KEY("sep", BY, offsetof(struct ends, after)), .read = read_named_token,
			.is_required = true},
		{AL_KEY("trim_offsets", BY, 0), .read = al_read_nothing},
		{AL_KEY("add_prefix_space", BY, 0), .read = al_read_nothing},
	};
	static const struct al_record record = {.fields = AL_FIELDS(fields)};
	struct al_wrap wrap = {0};
	struct ends ends = {0};

	if (!al_record_read(&r->source, &record, node, &ends, err))
		return false;
	add_before(r, &wrap, ends.before);
	add_after(r, &wrap, ends.after);
	put_around(r, &wrap);
	return true;
}

/* ---- templates ---- */

struct template
{
	const struct al_item *single, *special;
};

static bool read_node(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	(void)context;
	(void)err;
	*(const struct al_item **)out = node;
	return true;
}

/* The tokens that a template's special token stands for. */
static bool add_special(struct al_tokenizer_reader *r, const struct template *template,
	const struct al_item *node, struct al_wrap *wrap, bool is_after, struct al_error *err)
{
	const struct al_item *token, *ids;
	const char *name;

	if (!al_json_get_text(r->doc, node, "id", true, &name, err))
		return false;
	token = al_json_get(template->special, name);
	if (!token)
		return al_json_fail(r->doc, node, err, "\"special_tokens\" has no \"%.60s\"", name);
	if (!al_json_expect(r->doc, token, AL_JSON_OBJECT, err)
		|| !al_json_get_node(r->doc, token, "ids", AL_JSON_ARRAY, true, &ids, err))
		return false;
	al_json_each (item, ids) {
		int32_t id;
		if (!al_read_token(r->doc, item, &id, err))
			return false;
		(is_after ? add_after : add_before)(r, wrap, id);
	}
	return true;
}

static bool add_template_item(struct al_tokenizer_reader *r, const struct template *template,
	const struct al_item *node, struct al_wrap *wrap, bool *has_text, struct al_error *err)
{
	const struct al_item *special, *sequence;
	const char *name = NULL;

	if (!al_json_expect(r->doc, node, AL_JSON_OBJECT, err)
		|| !al_json_get_node(r->doc, node, "SpecialToken", AL_JSON_OBJECT, false, &special,
			err)
		|| !al_json_get_node(r->doc, node, "Sequence", AL_JSON_OBJECT, !special, &sequence,
			err))
		return false;
	if (special)
		return add_special(r, template, special, wrap, *has_text, err);
	if (!al_json_get_text(r->doc, sequence, "id", true, &name, err))
		return false;
	if (*has_text || strcmp(name, "A") != 0)
		return al_json_fail(r->doc, sequence, err,
			"\"single\" has the text \"%.20s\" here, expected \"A\" once", name);
	*has_text = true;
	return true;
}

static bool read_template(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	static const struct al_field fields[] = {
		{AL_KEY("type", BY, 0), .read = al_read_nothing},
		{AL_KEY("single", BY, offsetof(struct template, single)), .read = read_node,
			.is_required = true},
		{AL_KEY("pair", BY, 0), .read = al_read_nothing},
		{AL_KEY("special_tokens", BY, offsetof(struct template, special)),
			.read = read_node, .is_required = true},
	};
	static const struct al_record record = {.fields = AL_FIELDS(fields)};
	struct template template = {0};
	struct al_wrap wrap = {0};
	bool has_text = false;

	if (!al_record_read(&r->source, &record, node, &template, err)
		|| !al_json_expect(r->doc, template.single, AL_JSON_ARRAY, err)
		|| !al_json_expect(r->doc, template.special, AL_JSON_OBJECT, err))
		return false;
	al_json_each (item, template.single)
		if (!add_template_item(r, &template, item, &wrap, &has_text, err))
			return false;
	if (!has_text)
		return al_json_fail(r->doc, template.single, err, "\"single\" has no text \"A\"");
	put_around(r, &wrap);
	return true;
}

/* ---- all ---- */

/* It moves places in the text, nothing else. */
static bool read_byte_level(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	static const char *const known[] = {"type", "add_prefix_space", "trim_offsets",
		"use_regex"};

	return al_json_only(r->doc, node, known, sizeof(known) / sizeof(*known), err);
}

static bool read_sequence(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err);

static const struct al_step_type parts[] = {
	{"BertProcessing", read_ends},
	{"ByteLevel", read_byte_level},
	{"RobertaProcessing", read_ends},
	{"Sequence", read_sequence},
	{"TemplateProcessing", read_template},
};

static bool read_sequence(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	return al_part_read_all(r, node, "processors", "post-processor", parts,
		sizeof(parts) / sizeof(*parts), err);
}

bool al_post_processor_read(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	return al_part_read(r, node, "post-processor", parts, sizeof(parts) / sizeof(*parts), err);
}
