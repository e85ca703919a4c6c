/* The parts of a tokenizer.json: objects with a type, in a Sequence where there are several. */
#include "model/tokenize/internal.h"

bool al_read_nothing(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	(void)context;
	(void)node;
	(void)out;
	(void)err;
	return true;
}

bool al_read_with_text(const struct al_tokenizer_reader *r, const struct al_item *node,
	const char *what, const char **text, const struct al_item **second, struct al_error *err)
{
	if (!al_json_expect(r->doc, node, AL_JSON_ARRAY, err))
		return false;
	*second = al_json_at(node, 1);
	return al_json_size(node) == 2
		? al_json_text(r->doc, al_json_first(node), text, err)
		: al_json_fail(r->doc, node, err, "%zu items, expected a text and its %s",
			al_json_size(node), what);
}

bool al_read_token(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	const struct al_tokenizer_reader *r = context;
	int64_t value;

	if (!al_json_whole_from(r->doc, node, 0, &value, err))
		return false;
	*(int32_t *)out = (int32_t)value;
	return value < INT32_MAX
		|| al_json_fail(r->doc, node, err, "token %lld, expected at most %d",
			(long long)value, INT32_MAX - 1);
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

enum { MOST_TYPES = 16 };

bool al_type_fail(const struct al_tokenizer_reader *r, const struct al_item *node, const char *what,
	const char *const *names, size_t n, struct al_error *err)
{
	const char *type;

	if (!al_json_get_text(r->doc, node, "type", true, &type, err))
		return false;
	al_fail_unknown(err, what, type, names, n);
	return al_json_in(r->doc, al_json_get(node, "type"), err);
}

bool al_typed_read(struct al_tokenizer_reader *r, const struct al_item *node,
	const struct al_field *fields, size_t n, void *out, struct al_error *err)
{
	struct al_field all[AL_RECORD_FIELDS] = {AL_IGNORED("type")};
	const struct al_record record = {.fields = all, .n_fields = n + 1};

	for (size_t i = 0; i < n; i++)
		all[i + 1] = fields[i];
	return al_record_read(&r->source, &record, node, out, err);
}

static bool read_part(struct al_tokenizer_reader *r, const struct al_item *node,
	const struct al_part_type *type, struct al_error *err)
{
	struct al_text_part part = {.node = node, .step = type->steps[0]};

	if (!al_typed_read(r, node, type->fields, type->n_fields, &part, err))
		return false;
	if (type->add)
		return type->add(r, &part, err);
	if (part.step.run)
		al_steps_add(r->steps, r->arena, part.step);
	if (type->steps[1].run)
		al_steps_add(r->steps, r->arena, type->steps[1]);
	return true;
}

static bool read_sequence(struct al_tokenizer_reader *r, const struct al_item *node,
	const struct al_part_kind *kind, struct al_error *err)
{
	const char *const known[] = {"type", kind->list};
	const struct al_item *list;

	if (!al_json_only(r->doc, node, known, 2, err)
		|| !al_json_get_node(r->doc, node, kind->list, AL_JSON_ARRAY, true, &list, err))
		return false;
	al_json_each (item, list)
		if (!al_part_read(r, item, kind, err))
			return false;
	return true;
}

bool al_part_read(struct al_tokenizer_reader *r, const struct al_item *node,
	const struct al_part_kind *kind, struct al_error *err)
{
	const char *type, *names[MOST_TYPES] = {"Sequence"};

	if (!node || al_json_kind(node) == AL_JSON_NULL)
		return true;
	if (!al_json_expect(r->doc, node, AL_JSON_OBJECT, err)
		|| !al_json_get_text(r->doc, node, "type", true, &type, err))
		return false;
	if (strcmp(type, "Sequence") == 0)
		return read_sequence(r, node, kind, err);
	for (size_t i = 0; i < kind->n; i++) {
		names[i + 1] = kind->types[i].type;
		if (strcmp(type, kind->types[i].type) == 0)
			return read_part(r, node, &kind->types[i], err);
	}
	return al_type_fail(r, node, kind->what, names, kind->n + 1, err);
}
