/* A machine for pickles of state dicts (Python's pickletools; torch/serialization.py).
 *
 * It has the instructions of protocols 2 to 5 that such files use, and a list of names: what each
 * makes is made here, as data. Every instruction takes a byte at least and makes one value at most,
 * so that memory is bounded by the pickle's length. */
#include "checkpoint/pickle.h"

#include <string.h>

enum what {
	MAKES_DICT,
	MAKES_TUPLE, /* of the one tuple that it is called with */
	MAKES_TENSOR,
	MAKES_TENSOR_V3, /* with a number format of its own */
	MAKES_PARAMETER, /* the tensor that it is called with */
	MAKES_STORAGE,
	IS_DTYPE,
	MAKES_OTHER,
	IS_REFUSED,
};

struct al_pickle_name {
	const char *module, *name;
	enum what what;
	const char *says; /* the number format, or what is refused */
};

static const struct al_pickle_name names[] = {
	{"collections", "OrderedDict", MAKES_DICT, NULL},
	{"torch", "Size", MAKES_TUPLE, NULL},
	{"torch._utils", "_rebuild_tensor_v2", MAKES_TENSOR, NULL},
	{"torch._utils", "_rebuild_tensor", MAKES_TENSOR, NULL},
	{"torch._utils", "_rebuild_tensor_v3", MAKES_TENSOR_V3, NULL},
	{"torch._utils", "_rebuild_parameter", MAKES_PARAMETER, NULL},
	{"torch._utils", "_rebuild_parameter_with_state", MAKES_PARAMETER, NULL},
	{"torch", "FloatStorage", MAKES_STORAGE, "F32"},
	{"torch", "DoubleStorage", MAKES_STORAGE, "F64"},
	{"torch", "HalfStorage", MAKES_STORAGE, "F16"},
	{"torch", "BFloat16Storage", MAKES_STORAGE, "BF16"},
	{"torch", "LongStorage", MAKES_STORAGE, "I64"},
	{"torch", "IntStorage", MAKES_STORAGE, "I32"},
	{"torch", "ShortStorage", MAKES_STORAGE, "I16"},
	{"torch", "CharStorage", MAKES_STORAGE, "I8"},
	{"torch", "ByteStorage", MAKES_STORAGE, "U8"},
	{"torch", "BoolStorage", MAKES_STORAGE, "BOOL"},
	{"torch", "ComplexFloatStorage", MAKES_STORAGE, "C64"},
	{"torch.storage", "UntypedStorage", MAKES_STORAGE, NULL},
	{"torch", "UntypedStorage", MAKES_STORAGE, NULL},
	{"torch", "float32", IS_DTYPE, "F32"},
	{"torch", "float64", IS_DTYPE, "F64"},
	{"torch", "float16", IS_DTYPE, "F16"},
	{"torch", "bfloat16", IS_DTYPE, "BF16"},
	{"torch", "int64", IS_DTYPE, "I64"},
	{"torch", "int32", IS_DTYPE, "I32"},
	{"torch", "int16", IS_DTYPE, "I16"},
	{"torch", "int8", IS_DTYPE, "I8"},
	{"torch", "uint8", IS_DTYPE, "U8"},
	{"torch", "uint16", IS_DTYPE, "U16"},
	{"torch", "uint32", IS_DTYPE, "U32"},
	{"torch", "uint64", IS_DTYPE, "U64"},
	{"torch", "bool", IS_DTYPE, "BOOL"},
	{"torch", "float8_e4m3fn", IS_DTYPE, "F8_E4M3"},
	{"torch", "float8_e5m2", IS_DTYPE, "F8_E5M2"},
	/* what stands beside a model's tensors: options, numbers of numpy */
	{"torch", "device", MAKES_OTHER, NULL},
	{"argparse", "Namespace", MAKES_OTHER, NULL},
	{"__builtin__", "set", MAKES_OTHER, NULL},
	{"builtins", "set", MAKES_OTHER, NULL},
	{"_codecs", "encode", MAKES_OTHER, NULL},
	{"numpy", "dtype", MAKES_OTHER, NULL},
	{"numpy", "ndarray", MAKES_OTHER, NULL},
	{"numpy.core.multiarray", "scalar", MAKES_OTHER, NULL},
	{"numpy._core.multiarray", "scalar", MAKES_OTHER, NULL},
	{"numpy.core.multiarray", "_reconstruct", MAKES_OTHER, NULL},
	{"numpy._core.multiarray", "_reconstruct", MAKES_OTHER, NULL},
	{"torch._utils", "_rebuild_qtensor", IS_REFUSED, "quantised tensors"},
	{"torch._utils", "_rebuild_sparse_tensor", IS_REFUSED, "sparse tensors"},
	{"torch._utils", "_rebuild_device_tensor_from_numpy", IS_REFUSED, "tensors of a device"},
};
enum { N_NAMES = sizeof(names) / sizeof(*names) };

struct machine {
	struct al_arena *arena;
	const char *path;
	const unsigned char *at, *end;
	size_t n_bytes;
	struct al_pickle_value **stack, **memo;
	size_t n_stack, stack_room, n_memo, memo_room;
	size_t *marks;
	size_t n_marks, marks_room;
};

static bool fail_damaged(const struct machine *m, const char *what, struct al_error *err)
{
	return al_fail(err, AL_EINPUT, "%s: the pickle %s", m->path, what);
}

/* ---- bytes ---- */

static bool take(struct machine *m, size_t n, const unsigned char **out, struct al_error *err)
{
	if ((size_t)(m->end - m->at) < n)
		return fail_damaged(m, "ends early", err);
	*out = m->at;
	m->at += n;
	return true;
}

static bool take_number(struct machine *m, size_t n_bytes, uint64_t *out, struct al_error *err)
{
	const unsigned char *bytes = NULL;

	*out = 0;
	if (!take(m, n_bytes, &bytes, err))
		return false;
	for (size_t i = n_bytes; i-- > 0;)
		*out = *out << 8 | bytes[i];
	return true;
}

/* A line of text. */
static bool take_line(struct machine *m, const char **out, struct al_error *err)
{
	const unsigned char *end = memchr(m->at, '\n', (size_t)(m->end - m->at));

	if (!end)
		return fail_damaged(m, "ends early", err);
	*out = al_strndup(m->arena, (const char *)m->at, (size_t)(end - m->at));
	m->at = end + 1;
	return true;
}

/* ---- the stack ---- */

static struct al_pickle_value *push(struct machine *m, enum al_pickle_kind kind)
{
	struct al_pickle_value *value = al_new(m->arena, struct al_pickle_value);

	value->kind = kind;
	m->stack = al_grow(m->arena, m->stack, m->n_stack, &m->stack_room, sizeof(*m->stack));
	m->stack[m->n_stack++] = value;
	return value;
}

/* Pops never reach below the last mark. */
static struct al_pickle_value *pop(struct machine *m, struct al_error *err)
{
	const size_t least = m->n_marks ? m->marks[m->n_marks - 1] : 0;

	if (m->n_stack > least)
		return m->stack[--m->n_stack];
	fail_damaged(m, "takes more than it has", err);
	return NULL;
}

/* Where the values since the last mark begin on the stack. */
static bool pop_mark(struct machine *m, size_t *first, struct al_error *err)
{
	if (m->n_marks == 0)
		return fail_damaged(m, "lacks a mark", err);
	*first = m->marks[--m->n_marks];
	return true;
}

static void add_item(struct machine *m, struct al_pickle_value *to, struct al_pickle_value *item)
{
	to->items = al_grow(m->arena, to->items, to->n_items, &to->room,
		sizeof(struct al_pickle_value *));
	to->items[to->n_items++] = item;
}

static bool push_tuple(struct machine *m, size_t n, struct al_error *err)
{
	struct al_pickle_value *items[3];

	for (size_t i = n; i-- > 0;)
		if (!(items[i] = pop(m, err)))
			return false;
	struct al_pickle_value *tuple = push(m, AL_PICKLE_TUPLE);
	for (size_t i = 0; i < n; i++)
		add_item(m, tuple, items[i]);
	return true;
}

/* All since the mark as one value. */
static bool gather(struct machine *m, enum al_pickle_kind kind, struct al_error *err)
{
	size_t first = 0;

	if (!pop_mark(m, &first, err))
		return false;
	struct al_pickle_value *value = al_new(m->arena, struct al_pickle_value);
	value->kind = kind;
	for (size_t i = first; i < m->n_stack; i++)
		add_item(m, value, m->stack[i]);
	m->n_stack = first;
	m->stack = al_grow(m->arena, m->stack, m->n_stack, &m->stack_room, sizeof(*m->stack));
	m->stack[m->n_stack++] = value;
	return kind != AL_PICKLE_DICT || value->n_items % 2 == 0
		|| fail_damaged(m, "has a key without a value", err);
}

/* Adds all since the mark to the list or dict below it; to what nobody reads it adds nothing. */
static bool extend(struct machine *m, enum al_pickle_kind kind, struct al_error *err)
{
	size_t first = 0;

	if (!pop_mark(m, &first, err))
		return false;
	const size_t least = m->n_marks ? m->marks[m->n_marks - 1] : 0;
	if (first <= least)
		return fail_damaged(m, "adds to nothing", err);
	struct al_pickle_value *to = m->stack[first - 1];
	if (to->kind != kind && to->kind != AL_PICKLE_OTHER)
		return fail_damaged(m, "adds to what holds nothing", err);
	if (kind == AL_PICKLE_DICT && (m->n_stack - first) % 2 != 0)
		return fail_damaged(m, "has a key without a value", err);
	for (size_t i = first; i < m->n_stack && to->kind == kind; i++)
		add_item(m, to, m->stack[i]);
	m->n_stack = first;
	return true;
}

static bool mark(struct machine *m)
{
	m->marks = al_grow(m->arena, m->marks, m->n_marks, &m->marks_room, sizeof(*m->marks));
	m->marks[m->n_marks++] = m->n_stack;
	return true;
}

/* The last `n` values, added as if a mark stood before them. */
static bool extend_by(struct machine *m, size_t n, enum al_pickle_kind kind, struct al_error *err)
{
	if (m->n_stack < n)
		return fail_damaged(m, "takes more than it has", err);
	m->n_stack -= n;
	mark(m);
	m->n_stack += n;
	return extend(m, kind, err);
}

/* ---- the memo ---- */

static bool put(struct machine *m, uint64_t index, struct al_error *err)
{
	const size_t least = m->n_marks ? m->marks[m->n_marks - 1] : 0;

	/* pickles number what they keep: each number takes a byte at least */
	if (index >= m->n_bytes || m->n_stack == least)
		return fail_damaged(m, "keeps what it hasn't", err);
	while (m->n_memo <= index) {
		m->memo = al_grow(m->arena, m->memo, m->n_memo, &m->memo_room, sizeof(*m->memo));
		m->memo[m->n_memo++] = NULL;
	}
	m->memo[index] = m->stack[m->n_stack - 1];
	return true;
}

static bool get(struct machine *m, uint64_t index, struct al_error *err)
{
	if (index >= m->n_memo || !m->memo[index])
		return fail_damaged(m, "asks for what it hasn't kept", err);
	m->stack = al_grow(m->arena, m->stack, m->n_stack, &m->stack_room, sizeof(*m->stack));
	m->stack[m->n_stack++] = m->memo[index];
	return true;
}

/* ---- names ---- */

static bool fail_name(const struct machine *m, const char *module, const char *name,
	struct al_error *err)
{
	return al_fail(err, AL_EINPUT,
		"%s: holds Python objects (%.60s.%.60s), which are never made: save the weights "
		"alone, torch.save(model.state_dict(), FILE)",
		m->path, module, name);
}

static bool push_name(struct machine *m, const char *module, const char *name, struct al_error *err)
{
	for (size_t i = 0; i < N_NAMES; i++) {
		if (strcmp(names[i].module, module) != 0 || strcmp(names[i].name, name) != 0)
			continue;
		if (names[i].what == IS_REFUSED)
			return al_fail(err, AL_EINPUT, "%s: holds %s, expected dense ones", m->path,
				names[i].says);
		push(m, AL_PICKLE_NAME)->name = &names[i];
		return true;
	}
	return fail_name(m, module, name, err);
}

static bool push_global(struct machine *m, struct al_error *err)
{
	const char *module = NULL, *name = NULL;

	return take_line(m, &module, err) && take_line(m, &name, err)
		&& push_name(m, module, name, err);
}

static bool push_stack_global(struct machine *m, struct al_error *err)
{
	const struct al_pickle_value *name = pop(m, err), *module = name ? pop(m, err) : NULL;

	if (!module)
		return false;
	if (name->kind != AL_PICKLE_TEXT || module->kind != AL_PICKLE_TEXT)
		return fail_damaged(m, "names something by what is no text", err);
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
static bool push_tensor(struct machine *m, const struct al_pickle_value *args, bool has_dtype,
	struct al_error *err)
{
	const struct al_pickle_value *storage = item(args, 0, AL_PICKLE_STORAGE),
				     *first = item(args, 1, AL_PICKLE_INTEGER),
				     *shape = item(args, 2, AL_PICKLE_TUPLE),
				     *strides = item(args, 3, AL_PICKLE_TUPLE),
				     *dtype = has_dtype ? item(args, 6, AL_PICKLE_NAME) : NULL;

	if (!storage || !first || !shape || !strides
		|| (has_dtype && (!dtype || dtype->name->what != IS_DTYPE))
		|| (!has_dtype && !storage->dtype))
		return fail_damaged(m, "makes a tensor of something else", err);
	struct al_pickle_value *tensor = push(m, AL_PICKLE_TENSOR);
	tensor->storage = storage;
	tensor->integer = first->integer;
	tensor->shape = shape;
	tensor->strides = strides;
	tensor->dtype = dtype ? al_dtype_stored(dtype->name->says) : storage->dtype;
	return true;
}

/* Before Python 3.7: of a list of pairs. */
static bool push_dict(struct machine *m, const struct al_pickle_value *args, struct al_error *err)
{
	const struct al_pickle_value *pairs = item(args, 0, AL_PICKLE_LIST);
	struct al_pickle_value *dict = push(m, AL_PICKLE_DICT);

	for (size_t i = 0; pairs && i < pairs->n_items; i++) {
		const struct al_pickle_value *pair = pairs->items[i];
		if (pair->n_items != 2)
			return fail_damaged(m, "makes a dict of what are no pairs", err);
		add_item(m, dict, pair->items[0]);
		add_item(m, dict, pair->items[1]);
	}
	return true;
}

static bool push_made(struct machine *m, const struct al_pickle_name *name,
	struct al_pickle_value *args, struct al_error *err)
{
	const size_t room = m->n_stack;

	switch (name->what) {
	case MAKES_DICT:
		return push_dict(m, args, err);
	case MAKES_TENSOR:
	case MAKES_TENSOR_V3:
		return push_tensor(m, args, name->what == MAKES_TENSOR_V3, err);
	case MAKES_TUPLE:
	case MAKES_PARAMETER:
		if (!item(args, 0, name->what == MAKES_TUPLE ? AL_PICKLE_TUPLE : AL_PICKLE_TENSOR))
			return fail_damaged(m, "makes something of something else", err);
		push(m, AL_PICKLE_NONE);
		m->stack[room] = args->items[0];
		return true;
	case MAKES_OTHER:
		push(m, AL_PICKLE_OTHER);
		return true;
	default:
		return fail_damaged(m, "calls what can't be called", err);
	}
}

/* A function or class below what it is called with. */
static bool reduce(struct machine *m, struct al_error *err)
{
	struct al_pickle_value *args = pop(m, err), *name = args ? pop(m, err) : NULL;

	if (!name)
		return false;
	if (name->kind != AL_PICKLE_NAME || args->kind != AL_PICKLE_TUPLE)
		return fail_damaged(m, "calls what can't be called", err);
	return push_made(m, name->name, args, err);
}

/* ("storage", class, key, device, elements[, view]). */
static bool push_storage(struct machine *m, struct al_error *err)
{
	const struct al_pickle_value *id = pop(m, err);

	if (!id)
		return false;
	const struct al_pickle_value *tag = item(id, 0, AL_PICKLE_TEXT),
				     *class = item(id, 1, AL_PICKLE_NAME),
				     *key = item(id, 2, AL_PICKLE_TEXT),
				     *elements = item(id, 4, AL_PICKLE_INTEGER);
	if (!tag || strcmp(tag->text, "storage") != 0
		|| !class || class->name->what != MAKES_STORAGE || !key || !elements
		|| elements->integer < 0)
		return fail_damaged(m, "describes a storage in a way that isn't known", err);
	if (id->n_items > 5 && id->items[5]->kind != AL_PICKLE_NONE)
		return fail_damaged(m, "has a view of a storage, which only old files have", err);
	struct al_pickle_value *storage = push(m, AL_PICKLE_STORAGE);
	storage->text = key->text;
	storage->integer = elements->integer;
	storage->dtype = class->name->says ? al_dtype_stored(class->name->says) : NULL;
	return true;
}

/* ---- instructions ---- */

/* A text or bytes after their length; a NUL would cut a text. */
static bool push_text(struct machine *m, size_t length_bytes, bool is_text, struct al_error *err)
{
	const unsigned char *bytes = NULL;
	uint64_t length = 0;

	if (!take_number(m, length_bytes, &length, err) || length > (size_t)(m->end - m->at)
		|| !take(m, (size_t)length, &bytes, err))
		return fail_damaged(m, "ends early", err);
	if (is_text && memchr(bytes, 0, (size_t)length))
		return fail_damaged(m, "has a text with a NUL", err);
	struct al_pickle_value *value = push(m, is_text ? AL_PICKLE_TEXT : AL_PICKLE_OTHER);
	if (is_text)
		value->text = al_strndup(m->arena, (const char *)bytes, (size_t)length);
	return true;
}

static bool push_integer(struct machine *m, size_t n_bytes, bool is_signed, struct al_error *err)
{
	const int shift = n_bytes ? 64 - 8 * (int)n_bytes : 0;
	uint64_t value = 0;

	if (!take_number(m, n_bytes, &value, err))
		return false;
	push(m, AL_PICKLE_INTEGER)->integer = is_signed ? (int64_t)(value << shift) >> shift
							: (int64_t)value;
	return true;
}

/* Longer integers than 64 bits are no sizes. */
static bool push_long(struct machine *m, struct al_error *err)
{
	const unsigned char *bytes = NULL;
	uint64_t length = 0;

	if (!take_number(m, 1, &length, err))
		return false;
	if (length <= 8)
		return push_integer(m, (size_t)length, true, err);
	push(m, AL_PICKLE_OTHER);
	return take(m, (size_t)length, &bytes, err);
}

static bool pass(struct machine *m, size_t n, struct al_error *err)
{
	const unsigned char *bytes = NULL;

	return take(m, n, &bytes, err);
}

static bool push_kind(struct machine *m, enum al_pickle_kind kind, int64_t integer)
{
	push(m, kind)->integer = integer;
	return true;
}

static bool put_numbered(struct machine *m, size_t n_bytes, struct al_error *err)
{
	uint64_t index = 0;

	return take_number(m, n_bytes, &index, err) && put(m, index, err);
}

static bool get_numbered(struct machine *m, size_t n_bytes, struct al_error *err)
{
	uint64_t index = 0;

	return take_number(m, n_bytes, &index, err) && get(m, index, err);
}

static bool push_float(struct machine *m, struct al_error *err)
{
	return push_kind(m, AL_PICKLE_OTHER, 0) && pass(m, 8, err);
}

static bool fail_unknown(const struct machine *m, unsigned char code, struct al_error *err)
{
	return al_fail(err, AL_EINPUT,
		"%s: the pickle has instruction 0x%02x, which state dicts don't need", m->path,
		code);
}

static bool do_protocol_4(struct machine *m, unsigned char code, struct al_error *err)
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
		return extend(m, AL_PICKLE_OTHER, err);
	case 0x93:
		return push_stack_global(m, err);
	case 0x94:
		return put(m, m->n_memo, err);
	case 0x95: /* a frame's length */
		return pass(m, 8, err);
	default:
		return fail_unknown(m, code, err);
	}
}

static bool do_containers(struct machine *m, unsigned char code, struct al_error *err)
{
	switch (code) {
	case '}':
		return push_kind(m, AL_PICKLE_DICT, 0);
	case ']':
		return push_kind(m, AL_PICKLE_LIST, 0);
	case ')':
		return push_kind(m, AL_PICKLE_TUPLE, 0);
	case '(':
		return mark(m);
	case 't':
		return gather(m, AL_PICKLE_TUPLE, err);
	case 'l':
		return gather(m, AL_PICKLE_LIST, err);
	case 'd':
		return gather(m, AL_PICKLE_DICT, err);
	case 0x85:
	case 0x86:
	case 0x87:
		return push_tuple(m, (size_t)code - 0x84, err);
	case 's':
		return extend_by(m, 2, AL_PICKLE_DICT, err);
	case 'u':
		return extend(m, AL_PICKLE_DICT, err);
	case 'a':
		return extend_by(m, 1, AL_PICKLE_LIST, err);
	case 'e':
		return extend(m, AL_PICKLE_LIST, err);
	default:
		return do_protocol_4(m, code, err);
	}
}

static bool do_scalars(struct machine *m, unsigned char code, struct al_error *err)
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

static bool do_instruction(struct machine *m, unsigned char code, struct al_error *err)
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
		return pop(m, err) != NULL;
	case 'Q':
		return push_storage(m, err);
	default:
		return do_scalars(m, code, err);
	}
}

const struct al_pickle_value *al_pickle_read(struct al_arena *arena, const char *path,
	const unsigned char *bytes, size_t n, size_t *used, struct al_error *err)
{
	struct machine m = {.arena = arena,
		.path = path,
		.at = bytes,
		.end = bytes + n,
		.n_bytes = n};
	const unsigned char *code = NULL;

	for (;;) {
		if (!take(&m, 1, &code, err))
			return NULL;
		if (*code == '.')
			break;
		if (!do_instruction(&m, *code, err))
			return NULL;
	}
	*used = (size_t)(m.at - bytes);
	return pop(&m, err);
}

const struct al_pickle_value *al_pickle_get(const struct al_pickle_value *dict, const char *key)
{
	for (size_t i = 0; dict->kind == AL_PICKLE_DICT && i + 1 < dict->n_items; i += 2)
		if (dict->items[i]->kind == AL_PICKLE_TEXT
			&& strcmp(dict->items[i]->text, key) == 0)
			return dict->items[i + 1];
	return NULL;
}
