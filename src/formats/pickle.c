/* A machine for pickles of state dicts (Python's pickletools; torch/serialization.py).
 *
 * It has the instructions of protocols 2 to 5 that such files use, and a list of names: what each
 * makes is made here, as data. Every instruction takes a byte at least and makes one value at most,
 * so that memory is bounded by the pickle's length. */
#include "formats/pickle.h"

#include <string.h>

#include "formats/pickle_machine.h"
#include "formats/pickle_names.h"

/* ---- names ---- */

static bool fail_name(const struct al_machine *m, const char *module, const char *name,
	struct al_error *err)
{
	return al_fail(err, AL_EINPUT,
		"%s: holds Python objects (%.60s.%.60s), which are never made: save the weights "
		"alone, torch.save(model.state_dict(), FILE)",
		m->path, module, name);
}

static bool push_name(struct al_machine *m, const char *module, const char *name,
	struct al_error *err)
{
	const struct al_pickle_name *found = al_pickle_name_find(module, name);

	if (!found)
		return fail_name(m, module, name, err);
	if (found->what == AL_IS_REFUSED)
		return al_fail(err, AL_EINPUT, "%s: holds %s, expected dense ones", m->path,
			found->says);
	al_machine_push(m, AL_PICKLE_NAME)->name = found;
	return true;
}

static bool push_global(struct al_machine *m, struct al_error *err)
{
	const char *module = NULL, *name = NULL;

	return al_machine_take_line(m, &module, err) && al_machine_take_line(m, &name, err)
		&& push_name(m, module, name, err);
}

static bool push_stack_global(struct al_machine *m, struct al_error *err)
{
	const struct al_pickle_value *name = al_machine_pop(m, err),
				     *module = name ? al_machine_pop(m, err) : NULL;

	if (!module)
		return false;
	if (name->kind != AL_PICKLE_TEXT || module->kind != AL_PICKLE_TEXT)
		return al_machine_fail_damaged(m, "names something by what is no text", err);
	return push_name(m, module->text, name->text, err);
}

/* ---- what names make ---- */

static const struct al_pickle_value *item(const struct al_pickle_value *tuple, size_t i,
	enum al_pickle_kind kind)
{
	return i < tuple->n_items && tuple->items[i]->kind == kind ? tuple->items[i] : NULL;
}

/* (storage, first element, shape, strides, ...), in version 3 with a number format behind two
 * more. */
static bool push_tensor(struct al_machine *m, const struct al_pickle_value *args, bool has_dtype,
	struct al_error *err)
{
	const struct al_pickle_value *storage = item(args, 0, AL_PICKLE_STORAGE),
				     *first = item(args, 1, AL_PICKLE_INTEGER),
				     *shape = item(args, 2, AL_PICKLE_TUPLE),
				     *strides = item(args, 3, AL_PICKLE_TUPLE),
				     *dtype = has_dtype ? item(args, 6, AL_PICKLE_NAME) : NULL;

	if (!storage || !first || !shape || !strides
		|| (has_dtype && (!dtype || dtype->name->what != AL_IS_DTYPE))
		|| (!has_dtype && !storage->dtype))
		return al_machine_fail_damaged(m, "makes a tensor of something else", err);
	struct al_pickle_value *tensor = al_machine_push(m, AL_PICKLE_TENSOR);
	tensor->storage = storage;
	tensor->integer = first->integer;
	tensor->shape = shape;
	tensor->strides = strides;
	tensor->dtype = dtype ? al_dtype_stored(dtype->name->says) : storage->dtype;
	return true;
}

/* Before Python 3.7: of a list of pairs. */
static bool push_dict(struct al_machine *m, const struct al_pickle_value *args,
	struct al_error *err)
{
	const struct al_pickle_value *pairs = item(args, 0, AL_PICKLE_LIST);
	struct al_pickle_value *dict = al_machine_push(m, AL_PICKLE_DICT);

	for (size_t i = 0; pairs && i < pairs->n_items; i++) {
		const struct al_pickle_value *pair = pairs->items[i];
		if (pair->n_items != 2)
			return al_machine_fail_damaged(m, "makes a dict of what are no pairs", err);
		al_machine_add_item(m, dict, pair->items[0]);
		al_machine_add_item(m, dict, pair->items[1]);
	}
	return true;
}

static bool push_made(struct al_machine *m, const struct al_pickle_name *name,
	struct al_pickle_value *args, struct al_error *err)
{
	const size_t room = m->n_stack;

	switch (name->what) {
	case AL_MAKES_DICT:
		return push_dict(m, args, err);
	case AL_MAKES_TENSOR:
	case AL_MAKES_TENSOR_V3:
		return push_tensor(m, args, name->what == AL_MAKES_TENSOR_V3, err);
	case AL_MAKES_TUPLE:
	case AL_MAKES_PARAMETER:
		if (!item(args, 0,
			    name->what == AL_MAKES_TUPLE ? AL_PICKLE_TUPLE : AL_PICKLE_TENSOR))
			return al_machine_fail_damaged(m, "makes something of something else", err);
		al_machine_push(m, AL_PICKLE_NONE);
		m->stack[room] = args->items[0];
		return true;
	case AL_MAKES_OTHER:
		al_machine_push(m, AL_PICKLE_OTHER);
		return true;
	default:
		return al_machine_fail_damaged(m, "calls what can't be called", err);
	}
}

/* A function or class below what it is called with. */
static bool reduce(struct al_machine *m, struct al_error *err)
{
	struct al_pickle_value *args = al_machine_pop(m, err),
			       *name = args ? al_machine_pop(m, err) : NULL;

	if (!name)
		return false;
	if (name->kind != AL_PICKLE_NAME || args->kind != AL_PICKLE_TUPLE)
		return al_machine_fail_damaged(m, "calls what can't be called", err);
	return push_made(m, name->name, args, err);
}

/* ("storage", class, key, device, elements[, view]). */
static bool push_storage(struct al_machine *m, struct al_error *err)
{
	const struct al_pickle_value *id = al_machine_pop(m, err);

	if (!id)
		return false;
	const struct al_pickle_value *tag = item(id, 0, AL_PICKLE_TEXT),
				     *class = item(id, 1, AL_PICKLE_NAME),
				     *key = item(id, 2, AL_PICKLE_TEXT),
				     *elements = item(id, 4, AL_PICKLE_INTEGER);
	if (!tag || strcmp(tag->text, "storage") != 0
		|| !class || class->name->what != AL_MAKES_STORAGE || !key || !elements
		|| elements->integer < 0)
		return al_machine_fail_damaged(m, "describes a storage in a way that isn't known",
			err);
	if (id->n_items > 5 && id->items[5]->kind != AL_PICKLE_NONE)
		return al_machine_fail_damaged(m,
			"has a view of a storage, which only old files have", err);
	struct al_pickle_value *storage = al_machine_push(m, AL_PICKLE_STORAGE);
	storage->text = key->text;
	storage->integer = elements->integer;
	storage->dtype = class->name->says ? al_dtype_stored(class->name->says) : NULL;
	return true;
}

/* ---- instructions ---- */

/* A text or bytes after their length; a NUL would cut a text. */
static bool push_text(struct al_machine *m, size_t length_bytes, bool is_text, struct al_error *err)
{
	const unsigned char *bytes = NULL;
	uint64_t length = 0;

	if (!al_machine_take_number(m, length_bytes, &length, err)
		|| length > (size_t)(m->end - m->at)
		|| !al_machine_take(m, (size_t)length, &bytes, err))
		return al_machine_fail_damaged(m, "ends early", err);
	if (is_text && memchr(bytes, 0, (size_t)length))
		return al_machine_fail_damaged(m, "has a text with a NUL", err);
	struct al_pickle_value *value = al_machine_push(m,
		is_text ? AL_PICKLE_TEXT : AL_PICKLE_OTHER);
	if (is_text)
		value->text = al_strndup(m->arena, (const char *)bytes, (size_t)length);
	return true;
}

static bool push_integer(struct al_machine *m, size_t n_bytes, bool is_signed, struct al_error *err)
{
	const int shift = n_bytes ? 64 - 8 * (int)n_bytes : 0;
	uint64_t value = 0;

	if (!al_machine_take_number(m, n_bytes, &value, err))
		return false;
	al_machine_push(m, AL_PICKLE_INTEGER)->integer = is_signed
		? (int64_t)(value << shift) >> shift
		: (int64_t)value;
	return true;
}

/* Longer integers than 64 bits are no sizes. */
static bool push_long(struct al_machine *m, struct al_error *err)
{
	const unsigned char *bytes = NULL;
	uint64_t length = 0;

	if (!al_machine_take_number(m, 1, &length, err))
		return false;
	if (length <= 8)
		return push_integer(m, (size_t)length, true, err);
	al_machine_push(m, AL_PICKLE_OTHER);
	return al_machine_take(m, (size_t)length, &bytes, err);
}

static bool pass(struct al_machine *m, size_t n, struct al_error *err)
{
	const unsigned char *bytes = NULL;

	return al_machine_take(m, n, &bytes, err);
}

static bool push_kind(struct al_machine *m, enum al_pickle_kind kind, int64_t integer)
{
	al_machine_push(m, kind)->integer = integer;
	return true;
}

static bool put_numbered(struct al_machine *m, size_t n_bytes, struct al_error *err)
{
	uint64_t index = 0;

	return al_machine_take_number(m, n_bytes, &index, err) && al_machine_put(m, index, err);
}

static bool get_numbered(struct al_machine *m, size_t n_bytes, struct al_error *err)
{
	uint64_t index = 0;

	return al_machine_take_number(m, n_bytes, &index, err) && al_machine_get(m, index, err);
}

static bool push_float(struct al_machine *m, struct al_error *err)
{
	return push_kind(m, AL_PICKLE_OTHER, 0) && pass(m, 8, err);
}

static bool fail_unknown(const struct al_machine *m, unsigned char code, struct al_error *err)
{
	return al_fail(err, AL_EINPUT,
		"%s: the pickle has instruction 0x%02x, which state dicts don't need", m->path,
		code);
}

static bool do_protocol_4(struct al_machine *m, unsigned char code, struct al_error *err)
{
	switch (code) {
	case 0x8c:
		return push_text(m, 1, true, err);
	case 0x8d:
		return push_text(m, 8, true, err);
	case 0x8e:
		return push_text(m, 8, false, err);
	case 0x8f: /* an empty set */
		return push_kind(m, AL_PICKLE_OTHER, 0);
	case 0x90: /* into a set */
		return al_machine_extend(m, AL_PICKLE_OTHER, err);
	case 0x93:
		return push_stack_global(m, err);
	case 0x94:
		return al_machine_put(m, m->n_memo, err);
	case 0x95: /* a frame's length */
		return pass(m, 8, err);
	default:
		return fail_unknown(m, code, err);
	}
}

static bool do_containers(struct al_machine *m, unsigned char code, struct al_error *err)
{
	switch (code) {
	case '}':
		return push_kind(m, AL_PICKLE_DICT, 0);
	case ']':
		return push_kind(m, AL_PICKLE_LIST, 0);
	case ')':
		return push_kind(m, AL_PICKLE_TUPLE, 0);
	case '(':
		return al_machine_mark(m);
	case 't':
		return al_machine_gather(m, AL_PICKLE_TUPLE, err);
	case 'l':
		return al_machine_gather(m, AL_PICKLE_LIST, err);
	case 'd':
		return al_machine_gather(m, AL_PICKLE_DICT, err);
	case 0x85:
	case 0x86:
	case 0x87:
		return al_machine_push_tuple(m, (size_t)code - 0x84, err);
	case 's':
		return al_machine_extend_by(m, 2, AL_PICKLE_DICT, err);
	case 'u':
		return al_machine_extend(m, AL_PICKLE_DICT, err);
	case 'a':
		return al_machine_extend_by(m, 1, AL_PICKLE_LIST, err);
	case 'e':
		return al_machine_extend(m, AL_PICKLE_LIST, err);
	default:
		return do_protocol_4(m, code, err);
	}
}

static bool do_scalars(struct al_machine *m, unsigned char code, struct al_error *err)
{
	switch (code) {
	case 'N':
		return push_kind(m, AL_PICKLE_NONE, 0);
	case 0x88:
	case 0x89:
		return push_kind(m, AL_PICKLE_BOOL, code == 0x88);
	case 'J':
		return push_integer(m, 4, true, err);
	case 'K':
		return push_integer(m, 1, false, err);
	case 'M':
		return push_integer(m, 2, false, err);
	case 0x8a:
		return push_long(m, err);
	case 'G':
		return push_float(m, err);
	case 'X':
		return push_text(m, 4, true, err);
	case 'U':
		return push_text(m, 1, true, err);
	case 'T':
		return push_text(m, 4, true, err);
	case 'C':
		return push_text(m, 1, false, err);
	case 'B':
		return push_text(m, 4, false, err);
	default:
		return do_containers(m, code, err);
	}
}

static bool do_instruction(struct al_machine *m, unsigned char code, struct al_error *err)
{
	switch (code) {
	case 0x80: /* the protocol */
		return pass(m, 1, err);
	case 'q':
		return put_numbered(m, 1, err);
	case 'r':
		return put_numbered(m, 4, err);
	case 'h':
		return get_numbered(m, 1, err);
	case 'j':
		return get_numbered(m, 4, err);
	case 'c':
		return push_global(m, err);
	case 'R':
	case 0x81:
		return reduce(m, err);
	case 'b': /* attributes: a dict's tell versions of modules */
	case '0':
		return al_machine_pop(m, err) != NULL;
	case 'Q':
		return push_storage(m, err);
	default:
		return do_scalars(m, code, err);
	}
}

const struct al_pickle_value *al_pickle_read(struct al_arena *arena, const char *path,
	const unsigned char *bytes, size_t n, size_t *used, struct al_error *err)
{
	struct al_machine m = {.arena = arena,
		.path = path,
		.at = bytes,
		.end = bytes + n,
		.n_bytes = n};
	const unsigned char *code = NULL;

	for (;;) {
		if (!al_machine_take(&m, 1, &code, err))
			return NULL;
		if (*code == '.')
			break;
		if (!do_instruction(&m, *code, err))
			return NULL;
	}
	*used = (size_t)(m.at - bytes);
	return al_machine_pop(&m, err);
}

const struct al_pickle_value *al_pickle_get(const struct al_pickle_value *dict, const char *key)
{
	for (size_t i = 0; dict->kind == AL_PICKLE_DICT && i + 1 < dict->n_items; i += 2)
		if (dict->items[i]->kind == AL_PICKLE_TEXT
			&& strcmp(dict->items[i]->text, key) == 0)
			return dict->items[i + 1];
	return NULL;
}
