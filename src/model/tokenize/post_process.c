/* "post_processor" of tokenizer.json: the tokens before and after a sequence. Its rules for pairs
 * of texts and for places in the text change nothing here.
 *= huggingface/tokenizers, tokenizers/src/processors */
#include "model/tokenize/internal.h"

#define AT(member) offsetof(struct al_text_part, member)

/* Tokens around what is there already. */
struct wrap {
	struct al_ids before, after;
};

static void put_around(struct al_tokenizer_reader *r, struct wrap *wrap)
{
	struct al_pipeline *p = r->pipeline;

	for (size_t i = 0; i < p->before.n; i++)
		al_ids_add(&wrap->before, r->arena, p->before.items[i]);
	p->before = wrap->before;
	for (size_t i = 0; i < wrap->after.n; i++)
		al_ids_add(&p->after, r->arena, wrap->after.items[i]);
}

/* ---- one token before, one after ---- */

/* ["[SEP]", 102] */
static bool read_named_token(void *context, const struct al_item *node, void *out,
	struct al_error *err)
{
	const struct al_item *token;
	const char *text;

	return al_read_with_text(context, node, "token", &text, &token, err)
		&& al_read_token(context, token, out, err);
}

static const struct al_field ends_fields[] = {
	{AL_KEY("cls", BY, AT(before)), .read = read_named_token, .is_required = true},
	{AL_KEY("sep", BY, AT(after)), .read = read_named_token, .is_required = true},
	AL_IGNORED("trim_offsets"),
	AL_IGNORED("add_prefix_space"),
};

static bool add_ends(struct al_tokenizer_reader *r, const struct al_text_part *part,
	struct al_error *err)
{
	struct wrap wrap = {0};

	(void)err;
	al_ids_add(&wrap.before, r->arena, part->before);
	al_ids_add(&wrap.after, r->arena, part->after);
	put_around(r, &wrap);
	return true;
}

/* ---- templates ---- */

static const struct al_field template_fields[] = {
	{AL_KEY("single", NODE, AT(single)), .kind = AL_JSON_ARRAY, .is_required = true},
	AL_IGNORED("pair"),
	{AL_KEY("special_tokens", NODE, AT(special)), .kind = AL_JSON_OBJECT, .is_required = true},
};

/* The tokens that a template's special token stands for. */
static bool add_special(struct al_tokenizer_reader *r, const struct al_text_part *template,
	const struct al_item *node, struct al_ids *out, struct al_error *err)
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
		if (!al_read_token(r, item, &id, err))
			return false;
		if (!al_budget_take(r->arena->budget, 1, err))
			return al_json_in(r->doc, item, err);
		al_ids_add(out, r->arena, id);
	}
	return true;
}

static bool add_template_item(struct al_tokenizer_reader *r, const struct al_text_part *template,
	const struct al_item *node, struct wrap *wrap, bool *has_text, struct al_error *err)
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
		return add_special(r, template, special, *has_text ? &wrap->after : &wrap->before,
			err);
	if (!al_json_get_text(r->doc, sequence, "id", true, &name, err))
		return false;
	if (*has_text || strcmp(name, "A") != 0)
		return al_json_fail(r->doc, sequence, err,
			"\"single\" has the text \"%.20s\" here, expected \"A\" once", name);
	*has_text = true;
	return true;
}

static bool add_template(struct al_tokenizer_reader *r, const struct al_text_part *part,
	struct al_error *err)
{
	struct wrap wrap = {0};
	bool has_text = false;

	al_json_each (item, part->single)
		if (!add_template_item(r, part, item, &wrap, &has_text, err))
			return false;
	if (!has_text)
		return al_json_fail(r->doc, part->single, err, "\"single\" has no text \"A\"");
	put_around(r, &wrap);
	return true;
}

/* ---- all ---- */

/* It moves places in the text, nothing else. */
static const struct al_field byte_level_fields[] = {AL_IGNORED("add_prefix_space"),
	AL_IGNORED("trim_offsets"), AL_IGNORED("use_regex")};

static const struct al_part_type types[] = {
	{"BertProcessing", AL_FIELDS(ends_fields), .add = add_ends},
	{"ByteLevel", AL_FIELDS(byte_level_fields)},
	{"RobertaProcessing", AL_FIELDS(ends_fields), .add = add_ends},
	{"TemplateProcessing", AL_FIELDS(template_fields), .add = add_template},
};

const struct al_part_kind al_post_processors = {"post-processor", "processors", types,
	sizeof(types) / sizeof(*types)};
