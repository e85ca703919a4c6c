/* Records: JSON objects read by a table. */
#include "base/record.h"

#include "base/base.h"

#include <assert.h>

_Static_assert(sizeof(enum al_field_type) == sizeof(unsigned), "an enum is stored as unsigned");

/* ---- values ---- */

static void set_number(const struct al_field *field, int64_t value, void *out)
{
	if (field->type == AL_FIELD_BOOLEAN)
		*(bool *)out = value != 0;
	else if (field->type == AL_FIELD_WORD)
		*(unsigned *)out = (unsigned)value;
	else if (field->type == AL_FIELD_WHOLE)
		*(int64_t *)out = value;
	else if (field->type == AL_FIELD_INT)
		*(int *)out = (int)value;
}

static bool read_word(const struct al_json *doc, const struct al_field *field,
	const struct al_item *node, void *out, struct al_error *err)
{
	const int index = al_json_find_word(doc, node, field->key, field->words, field->n_words,
		err);

	if (index < 0)
		return false;
	if (field->type == AL_FIELD_TEXT)
		*(const char **)out = field->words[index];
	else
		set_number(field, field->least + index, out);
	return true;
}

static bool read_text(const struct al_record_source *source, const struct al_item *node, void *out,
	struct al_error *err)
{
	const char *text;

	if (!al_json_text(source->doc, node, &text, err))
		return false;
	*(const char **)out = al_strdup(source->arena, text);
	return true;
}

/* ---- items ---- */

static bool read_item(const struct al_record_source *source, const struct al_field *field,
	const struct al_item *node, void *out, struct al_error *err)
{
	const char *text;

	if (field->record)
		return al_record_read(source, field->record, node, out, err);
	if (field->find)
		return al_json_text(source->doc, node, &text, err)
			&& (field->find(source->context, text, out, err)
				|| al_json_in(source->doc, node, err));
	return field->read ? field->read(source->context, node, out, err)
			   : read_text(source, node, out, err);
}

bool al_record_read_items(const struct al_record_source *source, const struct al_field *field,
	const struct al_item *list, void *out, struct al_error *err)
{
	const size_t size = field->record ? field->record->size
		: field->item_size	  ? field->item_size
					  : sizeof(const char *);
	const bool is_one = field->or_one && al_json_kind(list) != AL_JSON_ARRAY;
	const size_t n = is_one ? 1 : al_json_size(list);
	size_t *n_read = (void *)((char *)out + field->n_offset);

	if (!is_one
		&& !al_json_expect(source->doc, list,
			field->type == AL_FIELD_LIST ? AL_JSON_ARRAY : AL_JSON_OBJECT, err))
		return false;
	if (field->most && n > field->most)
		return al_json_fail(source->doc, list, err,
			"\"%s\" has %zu %s, expected at most %zu", field->key, n,
			field->noun ? field->noun : "items", field->most);
	if (field->type == AL_FIELD_LIST && n < (size_t)field->least)
		return al_json_fail(source->doc, list, err, "the list of %s is empty",
			field->noun ? field->noun : "items");
	char *items = al_arena_alloc(source->arena, n, size);
	memcpy((char *)out + field->offset, &items, sizeof(items));
	for (const struct al_item *node = is_one ? list : al_json_first(list); node;
		node = is_one ? NULL : al_json_next(node)) {
		if (field->type == AL_FIELD_MEMBERS && !field->takes_note
			&& strcmp(al_json_key(node), "note") == 0)
			continue;
		if (!read_item(source, field, node, items + *n_read * size, err))
			return false;
		++*n_read;
	}
	return true;
}

/* ---- records ---- */

static bool read_absent(const struct al_record_source *source, const struct al_field *field,
	const struct al_item *object, void *out, struct al_error *err)
{
	if (field->is_required)
		return al_json_fail(source->doc, object, err, "key \"%s\" is missing", field->key);
	if (field->reads_absent)
		return field->read(source->context, NULL, out, err);
	set_number(field, field->fallback, out);
	return true;
}

static bool read_int(const struct al_json *doc, const struct al_field *field,
	const struct al_item *node, int64_t *out, struct al_error *err)
{
	if (!al_json_whole_from(doc, node, field->least, out, err))
		return false;
	return *out <= (int64_t)field->most
		|| al_json_fail(doc, node, err, "found %lld %s, expected at most %zu",
			(long long)*out, field->noun ? field->noun : field->key, field->most);
}

static bool read_record(const struct al_record_source *source, const struct al_field *field,
	const struct al_item *node, void *record, struct al_error *err)
{
	if (field->or_text && al_json_kind(node) == AL_JSON_TEXT)
		return read_text(source, node, (char *)record + field->or_text, err);
	return al_record_read(source, field->record, node, (char *)record + field->offset, err);
}

static bool read_field(const struct al_record_source *source, const struct al_field *field,
	const struct al_item *node, void *record, struct al_error *err)
{
	void *out = (char *)record + field->offset;
	int64_t number = 0;
	bool is_true = false;

	if (field->has_offset)
		*(bool *)((char *)record + field->has_offset) = true;
	switch (field->type) {
	case AL_FIELD_TEXT:
		if (!field->words)
			return read_text(source, node, out, err);
		return read_word(source->doc, field, node, out, err);
	case AL_FIELD_WORD:
		return read_word(source->doc, field, node, out, err);
	case AL_FIELD_REAL:
		return al_json_real(source->doc, node, out, err);
	case AL_FIELD_NODE:
		memcpy(out, &node, sizeof(node));
		return !field->kind || al_json_expect(source->doc, node, field->kind, err);
	case AL_FIELD_RECORD:
		return read_record(source, field, node, record, err);
	case AL_FIELD_BY:
		return read_item(source, field, node, out, err);
	case AL_FIELD_LIST:
	case AL_FIELD_MEMBERS:
		return al_record_read_items(source, field, node, record, err);
	case AL_FIELD_BOOLEAN:
		if (!al_json_boolean(source->doc, node, &is_true, err))
			return false;
		number = is_true;
		break;
	case AL_FIELD_WHOLE:
		if (!al_json_whole_from(source->doc, node, field->least, &number, err))
			return false;
		break;
	case AL_FIELD_INT:
		if (!read_int(source->doc, field, node, &number, err))
			return false;
		break;
	}
	set_number(field, number, out);
	return true;
}

static bool check_keys(const struct al_record_source *source, const struct al_record *record,
	const struct al_item *object, struct al_error *err)
{
	const char *keys[AL_RECORD_FIELDS];

	assert(record->n_fields <= AL_RECORD_FIELDS);
	for (size_t i = 0; i < record->n_fields; i++)
		keys[i] = record->fields[i].key;
	return al_json_only(source->doc, object, keys, record->n_fields, err);
}

bool al_record_read(const struct al_record_source *source, const struct al_record *record,
	const struct al_item *object, void *out, struct al_error *err)
{
	if (!check_keys(source, record, object, err))
		return false;
	for (size_t i = 0; i < record->n_fields; i++) {
		const struct al_field *field = &record->fields[i];
		const struct al_item *node = al_json_get(object, field->key);
		if (node ? !read_field(source, field, node, out, err)
			 : !read_absent(source, field, object, (char *)out + field->offset, err))
			return false;
	}
	return !record->check || record->check(source->context, object, out, err);
}
