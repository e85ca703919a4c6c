/* A machine for pickles of state dicts (Python's pickletools; torch/serialization.py).
 *
 * It has the instructions of protocols 2 to 5 that such files use, and a list of names: what each
 * makes is made here, as data. Every instruction takes a byte at least and makes one value at most,
 * so that memory is bounded by the pickle's length. */
#include "formats/pickle.h"

#include "formats/pickle_names.h"

struct machine {
	struct al_arena *arena;
	const char *path;
	const unsigned char *at, *end;
	size_t n_bytes;
	struct al_pickle_value **stack, **memo;
	size_t n_stack, stack_room, n_memo, memo_room;
	size_t *marks;
	size_t n_marks, marks_room;
	bool failed; /* `err` has the reason: it stops before the next instruction */
	struct al_error *err;
};

/* "PATH: the pickle ends early"; the first failure counts. */
static void fail(struct machine *m, const char *what)
{
	if (!m->failed)
		al_fail(m->err, AL_EINPUT, "%s: the pickle %s", m->path, what);
	m->failed = true;
}

/* ---- bytes ---- */

/* NULL: there aren't so many. */
static const unsigned char *take(struct machine *m, uint64_t n)
{
	if (n > (size_t)(m->end - m->at)) {
		fail(m, "ends early");
		return NULL;
	}
	m->at += n;
	return m->at - n;
}

/* Of so many bytes, at most 8, the lowest first. */
static uint64_t take_number(struct machine *m, int n_bytes)
{
	const unsigned char *bytes = take(m, (uint64_t)n_bytes);
	uint64_t number = 0;

	for (int i = n_bytes; bytes && i-- > 0;)
		number = number << 8 | bytes[i];
	return number;
}

/* A line of text. */
static const char *take_line(struct machine *m)
{
	const unsigned char *end = memchr(m->at, '\n', (size_t)(m->end - m->at));
	const size_t n = end ? (size_t)(end - m->at) : 0;

	if (!end)
		fail(m, "ends early");
	const char *line = al_strndup(m->arena, (const char *)m->at, n);
	m->at += end ? n + 1 : 0;
	return line;
}

/* ---- the stack ---- */

static void push_value(struct machine *m, struct al_pickle_value *value)
{
	m->stack = al_grow(m->arena, m->stack, m->n_stack, &m->stack_room, sizeof(*m->stack));
	m->stack[m->n_stack++] = value;
}

static struct al_pickle_value *push(struct machine *m, enum al_pickle_kind kind)
{
	struct al_pickle_value *value = al_new(m->arena, struct al_pickle_value);

	value->kind = kind;
	push_value(m, value);
	return value;
}

/* The place of the last mark: nothing below it is taken. */
static size_t floor_of(const struct machine *m)
{
	return m->n_marks ? m->marks[m->n_marks - 1] : 0;
}

/* Nothing, where there is none. */
static struct al_pickle_value *pop(struct machine *m)
{
	if (m->n_stack > floor_of(m))
		return m->stack[--m->n_stack];
	fail(m, "pops an empty stack");
	return al_new(m->arena, struct al_pickle_value);
}

/* A mark below the last `n` values. */
static bool mark_below(struct machine *m, size_t n)
{
	if (m->n_stack - floor_of(m) < n) {
		fail(m, "pops an empty stack");
		return false;
	}
	m->marks = al_grow(m->arena, m->marks, m->n_marks, &m->marks_room, sizeof(*m->marks));
	m->marks[m->n_marks++] = m->n_stack - n;
	return true;
}

/* Where the values since the last mark begin on the stack. */
static size_t pop_mark(struct machine *m)
{
	if (m->n_marks > 0)
		return m->marks[--m->n_marks];
	fail(m, "lacks a mark");
	return m->n_stack;
}

/* Behind the last item of a tuple, list or dict. */
static void add_item(struct machine *m, struct al_pickle_value *to, struct al_pickle_value *item)
{
	to->items = al_grow(m->arena, to->items, to->n_items, &to->room,
		sizeof(struct al_pickle_value *));
	to->items[to->n_items++] = item;
}

/* Takes all from `first` on into a value. */
static void move_items(struct machine *m, size_t first, struct al_pickle_value *to)
{
	if (to->kind == AL_PICKLE_DICT && (m->n_stack - first) % 2 != 0)
		fail(m, "has a key without a value");
	for (size_t i = first; i < m->n_stack; i++)
		add_item(m, to, m->stack[i]);
	m->n_stack = first;
}

/* ---- names ---- */

static void push_name(struct machine *m, const char *module, const char *name)
{
	const struct al_pickle_name *found = al_pickle_name_find(module, name);

	if (m->failed)
		return;
	m->failed = !found || found->what == AL_IS_REFUSED;
	if (!found)
		al_fail(m->err, AL_EINPUT,
			"%s: contains Python objects (%.60s.%.60s), which are not loaded: save "
			"only the weights, torch.save(model.state_dict(), FILE)",
			m->path, module, name);
	else if (m->failed)
		al_fail(m->err, AL_EINPUT, "%s: contains %s; only dense tensors are supported",
			m->path, found->says);
	else
		push(m, AL_PICKLE_NAME)->name = found;
}

static void push_global(struct machine *m, int how)
{
	const char *module = take_line(m);

	(void)how;
	push_name(m, module, take_line(m));
}

static void push_stack_global(struct machine *m, int how)
{
	const struct al_pickle_value *name = pop(m), *module = pop(m);

	(void)how;
	if (name->kind == AL_PICKLE_TEXT && module->kind == AL_PICKLE_TEXT)
		push_name(m, module->text, name->text);
	else
		fail(m, "uses a name that isn't a string");
}

/* ---- what names make ---- */

static struct al_pickle_value *item(const struct al_pickle_value *tuple, size_t i,
	enum al_pickle_kind kind)
{
	return i < tuple->n_items && tuple->items[i]->kind == kind ? tuple->items[i] : NULL;
}

/* (storage, first element, shape, strides, ...), in version 3 with a number format behind two
 * more. */
static void push_tensor(struct machine *m, const struct al_pickle_value *args, bool has_dtype)
{
	const struct al_pickle_value *storage = item(args, 0, AL_PICKLE_STORAGE),
				     *first = item(args, 1, AL_PICKLE_INTEGER),
				     *shape = item(args, 2, AL_PICKLE_TUPLE),
				     *strides = item(args, 3, AL_PICKLE_TUPLE),
				     *dtype = has_dtype ? item(args, 6, AL_PICKLE_NAME) : NULL;

	if (!storage || !first || !shape || !strides
		|| (has_dtype && (!dtype || dtype->name->what != AL_IS_DTYPE))
		|| (!has_dtype && !storage->dtype)) {
		fail(m, "builds a tensor from invalid arguments");
		return;
	}
	struct al_pickle_value *tensor = push(m, AL_PICKLE_TENSOR);
	tensor->storage = storage;
	tensor->integer = first->integer;
	tensor->shape = shape;
	tensor->strides = strides;
	tensor->dtype = dtype ? al_dtype_stored(dtype->name->says) : storage->dtype;
}

/* Before Python 3.7: of a list of pairs. */
static void push_dict(struct machine *m, const struct al_pickle_value *args)
{
	const struct al_pickle_value *pairs = item(args, 0, AL_PICKLE_LIST);
	struct al_pickle_value *dict = push(m, AL_PICKLE_DICT);

	for (size_t i = 0; pairs && i < pairs->n_items; i++) {
		const struct al_pickle_value *pair = pairs->items[i];
		if (pair->n_items != 2) {
			fail(m, "builds a dict from something other than pairs");
			return;
		}
		add_item(m, dict, pair->items[0]);
		add_item(m, dict, pair->items[1]);
	}
}

/* What it is called with, alone. */
static void push_argument(struct machine *m, const struct al_pickle_value *args,
	enum al_pickle_kind kind)
{
	struct al_pickle_value *first = item(args, 0, kind);

	if (first)
		push_value(m, first);
	else
		fail(m, "builds an object from invalid arguments");
}

static void push_made(struct machine *m, const struct al_pickle_name *name,
	const struct al_pickle_value *args)
{
	switch (name->what) {
	case AL_MAKES_DICT:
		push_dict(m, args);
		break;
	case AL_MAKES_TENSOR:
	case AL_MAKES_TENSOR_V3:
		push_tensor(m, args, name->what == AL_MAKES_TENSOR_V3);
		break;
	case AL_MAKES_TUPLE:
		push_argument(m, args, AL_PICKLE_TUPLE);
		break;
	case AL_MAKES_PARAMETER:
		push_argument(m, args, AL_PICKLE_TENSOR);
		break;
	case AL_MAKES_OTHER:
		push(m, AL_PICKLE_OTHER);
		break;
	default:
		fail(m, "calls something that isn't callable");
	}
}

/* A function or class below what it is called with. */
static void reduce(struct machine *m, int how)
{
	const struct al_pickle_value *args = pop(m), *name = pop(m);

	(void)how;
	if (name->kind == AL_PICKLE_NAME && args->kind == AL_PICKLE_TUPLE)
		push_made(m, name->name, args);
	else
		fail(m, "calls something that isn't callable");
}

/* ("storage", class, key, device, elements[, view]). */
static void push_storage(struct machine *m, int how)
{
	const struct al_pickle_value *id = pop(m);
	const struct al_pickle_value *tag = item(id, 0, AL_PICKLE_TEXT),
				     *class = item(id, 1, AL_PICKLE_NAME),
				     *key = item(id, 2, AL_PICKLE_TEXT),
				     *elements = item(id, 4, AL_PICKLE_INTEGER);

	(void)how;
	if (!tag || strcmp(tag->text, "storage") != 0
		|| !class || class->name->what != AL_MAKES_STORAGE || !key || !elements
		|| elements->integer < 0) {
		fail(m, "describes a storage in an unknown way");
		return;
	}
	if (id->n_items > 5 && id->items[5]->kind != AL_PICKLE_NONE)
		fail(m, "has a view of a storage, which is only supported in old files");
	struct al_pickle_value *storage = push(m, AL_PICKLE_STORAGE);
	storage->text = key->text;
	storage->integer = elements->integer;
	storage->dtype = class->name->says ? al_dtype_stored(class->name->says) : NULL;
}

/* ---- instructions ---- */

/* A NUL would cut it. */
static void push_text(struct machine *m, int length_bytes)
{
	const uint64_t n = take_number(m, length_bytes);
	const unsigned char *bytes = take(m, n);

	if (bytes && memchr(bytes, 0, n))
		fail(m, "has a string containing a NUL");
	push(m, AL_PICKLE_TEXT)->text = bytes ? al_strndup(m->arena, (const char *)bytes, n) : "";
}

static void push_bytes(struct machine *m, int length_bytes)
{
	push(m, AL_PICKLE_OTHER);
	take(m, take_number(m, length_bytes));
}

static void push_unsigned(struct machine *m, int n_bytes)
{
	push(m, AL_PICKLE_INTEGER)->integer = (int64_t)take_number(m, n_bytes);
}

static void push_signed(struct machine *m, int n_bytes)
{
	const int shift = n_bytes ? 64 - 8 * n_bytes : 0;

	push(m, AL_PICKLE_INTEGER)->integer = (int64_t)(take_number(m, n_bytes) << shift) >> shift;
}

static void pass(struct machine *m, int n)
{
	take(m, (uint64_t)n);
}

static void push_float(struct machine *m, int n_bytes)
{
	push(m, AL_PICKLE_OTHER);
	pass(m, n_bytes);
}

/* Longer integers than 64 bits are no sizes. */
static void push_long(struct machine *m, int length_bytes)
{
	const int length = (int)take_number(m, length_bytes);

	(length <= 8 ? push_signed : push_float)(m, length);
}

static void push_kind(struct machine *m, int kind)
{
	push(m, (enum al_pickle_kind)kind);
}

static void push_bool(struct machine *m, int value)
{
	push(m, AL_PICKLE_BOOL)->integer = value;
}

static void mark(struct machine *m, int how)
{
	(void)how;
	mark_below(m, 0);
}

/* All since the mark as one value. */
static void gather(struct machine *m, int kind)
{
	struct al_pickle_value *value = al_new(m->arena, struct al_pickle_value);

	value->kind = (enum al_pickle_kind)kind;
	move_items(m, pop_mark(m), value);
	push_value(m, value);
}

static void gather_last(struct machine *m, int n)
{
	if (mark_below(m, (size_t)n))
		gather(m, AL_PICKLE_TUPLE);
}

/* Adds all since the mark to the list or dict below it; to objects that aren't used it adds
 * nothing. */
static void extend(struct machine *m, int kind)
{
	const size_t first = pop_mark(m);

	if (first <= floor_of(m)) {
		fail(m, "appends to an empty stack");
		return;
	}
	struct al_pickle_value *to = m->stack[first - 1];
	if (to->kind == (enum al_pickle_kind)kind)
		move_items(m, first, to);
	else if (to->kind != AL_PICKLE_OTHER)
		fail(m, "appends to something that isn't a container");
	m->n_stack = first;
}

/* The last value, of a dict the last two, as if a mark stood before it. */
static void extend_by_last(struct machine *m, int kind)
{
	if (mark_below(m, kind == AL_PICKLE_DICT ? 2 : 1))
		extend(m, kind);
}

/* Keeps the last value under a number. */
static void put(struct machine *m, uint64_t index)
{
	/* pickles number what they keep: each number takes a byte at least */
	if (index >= m->n_bytes || m->n_stack == floor_of(m)) {
		fail(m, "memoizes from an empty stack");
		return;
	}
	while (m->n_memo <= index) {
		m->memo = al_grow(m->arena, m->memo, m->n_memo, &m->memo_room, sizeof(*m->memo));
		m->memo[m->n_memo++] = NULL;
	}
	m->memo[index] = m->stack[m->n_stack - 1];
}

static void put_numbered(struct machine *m, int n_bytes)
{
	put(m, take_number(m, n_bytes));
}

static void put_next(struct machine *m, int how)
{
	(void)how;
	put(m, m->n_memo);
}

static void get_numbered(struct machine *m, int n_bytes)
{
	const uint64_t index = take_number(m, n_bytes);

	if (index < m->n_memo && m->memo[index])
		push_value(m, m->memo[index]);
	else
		fail(m, "refers to a missing memo entry");
}

static void drop(struct machine *m, int how)
{
	(void)how;
	pop(m);
}

/* What each does, and how: bytes of a number or a length, a kind of value, how many values. */
static const struct instruction {
	void (*run)(struct machine *m, int how);
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
	['('] = {mark, 0},
	['t'] = {gather, AL_PICKLE_TUPLE},
	['l'] = {gather, AL_PICKLE_LIST},
	['d'] = {gather, AL_PICKLE_DICT},
	[0x85] = {gather_last, 1},
	[0x86] = {gather_last, 2},
	[0x87] = {gather_last, 3},
	['s'] = {extend_by_last, AL_PICKLE_DICT},
	['u'] = {extend, AL_PICKLE_DICT},
	['a'] = {extend_by_last, AL_PICKLE_LIST},
	['e'] = {extend, AL_PICKLE_LIST},
	['q'] = {put_numbered, 1},
	['r'] = {put_numbered, 4},
	['h'] = {get_numbered, 1},
	['j'] = {get_numbered, 4},
	['c'] = {push_global, 0},
	['R'] = {reduce, 0},
	[0x81] = {reduce, 0},
	['b'] = {drop, 0}, /* attributes: those of a dict are versions of modules */
	['0'] = {drop, 0},
	['Q'] = {push_storage, 0},
	[0x80] = {pass, 1}, /* the protocol */
	/* protocol 4 */
	[0x8c] = {push_text, 1},
	[0x8d] = {push_text, 8},
	[0x8e] = {push_bytes, 8},
	[0x8f] = {push_kind, AL_PICKLE_OTHER}, /* an empty set */
	[0x90] = {extend, AL_PICKLE_OTHER}, /* into a set */
	[0x93] = {push_stack_global, 0},
	[0x94] = {put_next, 0},
	[0x95] = {pass, 8}, /* a frame's length */
};

static void do_instruction(struct machine *m, unsigned char code)
{
	const struct instruction *i = &instructions[code];

	if (i->run) {
		i->run(m, i->how);
		return;
	}
	m->failed = true;
	al_fail(m->err, AL_EINPUT, "%s: the pickle has opcode 0x%02x, which state dicts don't use",
		m->path, code);
}

const struct al_pickle_value *al_pickle_read(struct al_arena *arena, const char *path,
	const unsigned char *bytes, size_t n, size_t *used, struct al_error *err)
{
	struct machine m = {.arena = arena,
		.path = path,
		.at = bytes,
		.end = bytes + n,
		.n_bytes = n,
		.err = err};
	const unsigned char *code;

	while (!m.failed && (code = take(&m, 1)) && *code != '.')
		do_instruction(&m, *code);
	*used = (size_t)(m.at - bytes);
	const struct al_pickle_value *value = pop(&m);
	return m.failed ? NULL : value;
}

const struct al_pickle_value *al_pickle_get(const struct al_pickle_value *dict, const char *key)
{
	for (size_t i = 0; dict->kind == AL_PICKLE_DICT && i + 1 < dict->n_items; i += 2)
		if (dict->items[i]->kind == AL_PICKLE_TEXT
			&& strcmp(dict->items[i]->text, key) == 0)
			return dict->items[i + 1];
	return NULL;
}
