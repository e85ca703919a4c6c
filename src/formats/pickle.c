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

static bool push_global(struct al_machine *m, int how, struct al_error *err)
{
	const char *module = NULL, *name = NULL;

	(void)how;
	return al_machine_take_line(m, &module, err) && al_machine_take_line(m, &name, err)
		&& push_name(m, module, name, err);
}

static bool push_stack_global(struct al_machine *m, int how, struct al_error *err)
{
	const struct al_pickle_value *name = al_machine_pop(m, err),
				     *module = name ? al_machine_pop(m, err) : NULL;

	(void)how;
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
static bool reduce(struct al_machine *m, int how, struct al_error *err)
{
	struct al_pickle_value *args = al_machine_pop(m, err),
			       *name = args ? al_machine_pop(m, err) : NULL;

	(void)how;
	if (!name)
		return false;
	if (name->kind != AL_PICKLE_NAME || args->kind != AL_PICKLE_TUPLE)
		return al_machine_fail_damaged(m, "calls what can't be called", err);
	return push_made(m, name->name, args, err);
}

/* ("storage", class, key, device, elements[, view]). */
static bool push_storage(struct al_machine *m, int how, struct al_error *err)
{
	const struct al_pickle_value *id = al_machine_pop(m, err);

	(void)how;
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

/* A length of `length_bytes` and so many bytes. */
static bool take_counted(struct al_machine *m, int length_bytes, const unsigned char **bytes,
	size_t *n, struct al_error *err)
{
	uint64_t length = 0;

	if (!al_machine_take_number(m, (size_t)length_bytes, &length, err)
		|| length > (size_t)(m->end - m->at)
		|| !al_machine_take(m, (size_t)length, bytes, err))
		return al_machine_fail_damaged(m, "ends early", err);
	*n = (size_t)length;
	return true;
}

/* A NUL would cut it. */
static bool push_text(struct al_machine *m, int length_bytes, struct al_error *err)
{
	const unsigned char *bytes = NULL;
	size_t n = 0;

	if (!take_counted(m, length_bytes, &bytes, &n, err))
		return false;
	if (memchr(bytes, 0, n))
		return al_machine_fail_damaged(m, "has a text with a NUL", err);
	al_machine_push(m, AL_PICKLE_TEXT)->text = al_strndup(m->arena, (const char *)bytes, n);
	return true;
}

static bool push_bytes(struct al_machine *m, int length_bytes, struct al_error *err)
{
	const unsigned char *bytes = NULL;
	size_t n = 0;

	al_machine_push(m, AL_PICKLE_OTHER);
	return take_counted(m, length_bytes, &bytes, &n, err);
}

static bool push_unsigned(struct al_machine *m, int n_bytes, struct al_error *err)
{
	uint64_t value = 0;

	if (!al_machine_take_number(m, (size_t)n_bytes, &value, err))
		return false;
	al_machine_push(m, AL_PICKLE_INTEGER)->integer = (int64_t)value;
	return true;
}

static bool push_signed(struct al_machine *m, int n_bytes, struct al_error *err)
{
	const int shift = n_bytes ? 64 - 8 * n_bytes : 0;

	if (!push_unsigned(m, n_bytes, err))
		return false;
	int64_t *integer = &m->stack[m->n_stack - 1]->integer;
	*integer = (int64_t)((uint64_t)*integer << shift) >> shift;
	return true;
}

static bool pass(struct al_machine *m, int n, struct al_error *err)
{
	const unsigned char *bytes = NULL;

	return al_machine_take(m, (size_t)n, &bytes, err);
}

/* Longer integers than 64 bits are no sizes. */
static bool push_long(struct al_machine *m, int length_bytes, struct al_error *err)
{
	uint64_t length = 0;

	if (!al_machine_take_number(m, (size_t)length_bytes, &length, err))
		return false;
	if (length <= 8)
		return push_signed(m, (int)length, err);
	al_machine_push(m, AL_PICKLE_OTHER);
	return pass(m, (int)length, err);
}

static bool push_float(struct al_machine *m, int n_bytes, struct al_error *err)
{
	al_machine_push(m, AL_PICKLE_OTHER);
	return pass(m, n_bytes, err);
}

static bool push_kind(struct al_machine *m, int kind, struct al_error *err)
{
	(void)err;
	al_machine_push(m, (enum al_pickle_kind)kind);
	return true;
}

static bool push_bool(struct al_machine *m, int value, struct al_error *err)
{
	(void)err;
	al_machine_push(m, AL_PICKLE_BOOL)->integer = value;
	return true;
}

static bool put_numbered(struct al_machine *m, int n_bytes, struct al_error *err)
{
	uint64_t index = 0;

	return al_machine_take_number(m, (size_t)n_bytes, &index, err)
		&& al_machine_put(m, index, err);
}

static bool put_next(struct al_machine *m, int how, struct al_error *err)
{
	(void)how;
	return al_machine_put(m, m->n_memo, err);
}

static bool get_numbered(struct al_machine *m, int n_bytes, struct al_error *err)
{
	uint64_t index = 0;

	return al_machine_take_number(m, (size_t)n_bytes, &index, err)
		&& al_machine_get(m, index, err);
}

static bool drop(struct al_machine *m, int how, struct al_error *err)
{
	(void)how;
	return al_machine_pop(m, err) != NULL;
}

/* What each does, and how: bytes of a number or a length, a kind of value, how many values. */
static const struct instruction {
	bool (*run)(struct al_machine *m, int how, struct al_error *err);
	int how;
} instructions[256] = {
	['N'] = {push_kind, AL_PICKLE_NONE},
	[0x88] = {push_bool, true},
	[0x89] = {push_bool, false},
	['J'] = {push_signed, 4},
	['K'] = {push_unsigned, 1},
	['M'] = {push_unsigned, 2},
	[0x8a] = {push_long, 1},
	['G'] = {push_float, 8},
	['X'] = {push_text, 4},
	['U'] = {push_text, 1},
	['T'] = {push_text, 4},
	['C'] = {push_bytes, 1},
	['B'] = {push_bytes, 4},
	['}'] = {push_kind, AL_PICKLE_DICT},
	[']'] = {push_kind, AL_PICKLE_LIST},
	[')'] = {push_kind, AL_PICKLE_TUPLE},
	['('] = {al_machine_mark, 0},
	['t'] = {al_machine_gather, AL_PICKLE_TUPLE},
	['l'] = {al_machine_gather, AL_PICKLE_LIST},
	['d'] = {al_machine_gather, AL_PICKLE_DICT},
	[0x85] = {al_machine_push_tuple, 1},
	[0x86] = {al_machine_push_tuple, 2},
	[0x87] = {al_machine_push_tuple, 3},
	['s'] = {al_machine_extend_by, AL_PICKLE_DICT},
	['u'] = {al_machine_extend, AL_PICKLE_DICT},
	['a'] = {al_machine_extend_by, AL_PICKLE_LIST},
	['e'] = {al_machine_extend, AL_PICKLE_LIST},
	['q'] = {put_numbered, 1},
	['r'] = {put_numbered, 4},
	['h'] = {get_numbered, 1},
	['j'] = {get_numbered, 4},
	['c'] = {push_global, 0},
	['R'] = {reduce, 0},
	[0x81] = {reduce, 0},
	['b'] = {drop, 0}, /* attributes: a dict's tell versions of modules */
	['0'] = {drop, 0},
	['Q'] = {push_storage, 0},
	[0x80] = {pass, 1}, /* the protocol */
	/* protocol 4 */
	[0x8c] = {push_text, 1},
	[0x8d] = {push_text, 8},
	[0x8e] = {push_bytes, 8},
	[0x8f] = {push_kind, AL_PICKLE_OTHER}, /* an empty set */
	[0x90] = {al_machine_extend, AL_PICKLE_OTHER}, /* into a set */
	[0x93] = {push_stack_global, 0},
	[0x94] = {put_next, 0},
	[0x95] = {pass, 8}, /* a frame's length */
};

static bool do_instruction(struct al_machine *m, unsigned char code, struct al_error *err)
{
	const struct instruction *i = &instructions[code];

	if (i->run)
		return i->run(m, i->how, err);
	return al_fail(err, AL_EINPUT,
		"%s: the pickle has instruction 0x%02x, which state dicts don't need", m->path,
		code);
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
