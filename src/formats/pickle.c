/* A machine for pickles of state dicts (Python's pickletools; torch/serialization.py).
 *
 * It has the instructions of protocols 2 to 5 that such files use, and a list of names: what each
 * makes is made here, as data. A few bytes may make many values: all of them are taken from the
 * file's budget. */
#include "formats/pickle.h"

#include "base/budget.h"
#include "formats/pickle_machine.h"

void al_pickle_fail(struct al_pickle_machine *m, const char *what)
{
	if (!m->failed)
		al_fail(m->err, AL_EINPUT, "%s: the pickle %s", m->path, what);
	m->failed = true;
}

bool al_pickle_may(struct al_pickle_machine *m, uint64_t n)
{
	const uint64_t held = m->n_stack + m->n_marks + m->n_memo + n;

	if (m->failed)
		return false;
	m->failed = !al_budget_take(m->arena->budget, n, m->err)
		|| !al_budget_check(m->arena->budget, 2 * sizeof(void *) * held, m->err);
	return !m->failed || al_in(m->err, "%s: its pickle", m->path);
}

/* ---- bytes ---- */

/* NULL: there aren't so many. */
static const unsigned char *take(struct al_pickle_machine *m, uint64_t n)
{
	if (n > (size_t)(m->end - m->at)) {
		al_pickle_fail(m, "ends early");
		return NULL;
	}
	m->at += n;
	return m->at - n;
}

/* A little-endian number of so many bytes, at most 8. */
static uint64_t take_number(struct al_pickle_machine *m, int n_bytes)
{
	const unsigned char *bytes = take(m, (uint64_t)n_bytes);
	uint64_t number = 0;

	for (int i = n_bytes; bytes && i-- > 0;)
		number = number << 8 | bytes[i];
	return number;
}

/* A line of text. */
static const char *take_line(struct al_pickle_machine *m)
{
	const unsigned char *end = memchr(m->at, '\n', (size_t)(m->end - m->at));
	const size_t n = end ? (size_t)(end - m->at) : 0;

	if (!end)
		al_pickle_fail(m, "ends early");
	const char *line = al_strndup(m->arena, (const char *)m->at, n);
	m->at += end ? n + 1 : 0;
	return line;
}

/* ---- the stack ---- */

void al_pickle_push_value(struct al_pickle_machine *m, struct al_pickle_value *value)
{
	m->stack = al_grow(m->arena, m->stack, m->n_stack, &m->stack_room, sizeof(*m->stack));
	m->stack[m->n_stack++] = value;
}

struct al_pickle_value *al_pickle_push(struct al_pickle_machine *m, enum al_pickle_kind kind)
{
	struct al_pickle_value *value = al_new(m->arena, struct al_pickle_value);

	value->kind = kind;
	al_pickle_push_value(m, value);
	return value;
}

/* The place of the last mark: nothing below it is taken. */
static size_t floor_of(const struct al_pickle_machine *m)
{
	return m->n_marks ? m->marks[m->n_marks - 1] : 0;
}

/* Nothing, where there is none. */
struct al_pickle_value *al_pickle_pop(struct al_pickle_machine *m)
{
	if (m->n_stack > floor_of(m))
		return m->stack[--m->n_stack];
	al_pickle_fail(m, "pops an empty stack");
	return al_new(m->arena, struct al_pickle_value);
}

/* A mark below the last `n` values. */
static bool mark_below(struct al_pickle_machine *m, size_t n)
{
	if (m->n_stack - floor_of(m) < n) {
		al_pickle_fail(m, "pops an empty stack");
		return false;
	}
	m->marks = al_grow(m->arena, m->marks, m->n_marks, &m->marks_room, sizeof(*m->marks));
	m->marks[m->n_marks++] = m->n_stack - n;
	return true;
}

/* Where the values since the last mark begin on the stack. */
static size_t pop_mark(struct al_pickle_machine *m)
{
	if (m->n_marks > 0)
		return m->marks[--m->n_marks];
	al_pickle_fail(m, "lacks a mark");
	return m->n_stack;
}

/* Behind the last item of a tuple, list or dict. */
void al_pickle_add_item(struct al_pickle_machine *m, struct al_pickle_value *to,
	struct al_pickle_value *item)
{
	to->items = al_grow(m->arena, to->items, to->n_items, &to->room,
		sizeof(struct al_pickle_value *));
	to->items[to->n_items++] = item;
}

/* Takes all from `first` on into a value. */
static void move_items(struct al_pickle_machine *m, size_t first, struct al_pickle_value *to)
{
	if (to->kind == AL_PICKLE_DICT && (m->n_stack - first) % 2 != 0)
		al_pickle_fail(m, "has a key without a value");
	for (size_t i = first; i < m->n_stack; i++)
		al_pickle_add_item(m, to, m->stack[i]);
	m->n_stack = first;
}

/* ---- instructions ---- */

static void push_global(struct al_pickle_machine *m, int how)
{
	const char *module = take_line(m);

	(void)how;
	al_pickle_push_name(m, module, take_line(m));
}

static void push_stack_global(struct al_pickle_machine *m, int how)
{
	const struct al_pickle_value *name = al_pickle_pop(m), *module = al_pickle_pop(m);

	(void)how;
	if (name->kind == AL_PICKLE_TEXT && module->kind == AL_PICKLE_TEXT)
		al_pickle_push_name(m, module->text, name->text);
	else
		al_pickle_fail(m, "uses a name that isn't a string");
}

/* A NUL would cut it. */
static void push_text(struct al_pickle_machine *m, int length_bytes)
{
	const uint64_t n = take_number(m, length_bytes);
	const unsigned char *bytes = take(m, n);

	if (bytes && memchr(bytes, 0, (size_t)n))
		al_pickle_fail(m, "has a string containing a NUL");
	al_pickle_push(m, AL_PICKLE_TEXT)->text = bytes
		? al_strndup(m->arena, (const char *)bytes, (size_t)n)
		: "";
}

static void push_bytes(struct al_pickle_machine *m, int length_bytes)
{
	al_pickle_push(m, AL_PICKLE_OTHER);
	take(m, take_number(m, length_bytes));
}

static void push_unsigned(struct al_pickle_machine *m, int n_bytes)
{
	al_pickle_push(m, AL_PICKLE_INTEGER)->integer = (int64_t)take_number(m, n_bytes);
}

static void push_signed(struct al_pickle_machine *m, int n_bytes)
{
	const int shift = n_bytes ? 64 - 8 * n_bytes : 0;

	al_pickle_push(m, AL_PICKLE_INTEGER)->integer = (int64_t)(take_number(m, n_bytes) << shift)
		>> shift;
}

static void pass(struct al_pickle_machine *m, int n)
{
	take(m, (uint64_t)n);
}

static void push_float(struct al_pickle_machine *m, int n_bytes)
{
	al_pickle_push(m, AL_PICKLE_OTHER);
	pass(m, n_bytes);
}

/* Longer integers than 64 bits are no sizes. */
static void push_long(struct al_pickle_machine *m, int length_bytes)
{
	const int length = (int)take_number(m, length_bytes);

	(length <= 8 ? push_signed : push_float)(m, length);
}

static void push_kind(struct al_pickle_machine *m, int kind)
{
	al_pickle_push(m, (enum al_pickle_kind)kind);
}

static void push_bool(struct al_pickle_machine *m, int value)
{
	al_pickle_push(m, AL_PICKLE_BOOL)->integer = value;
}

static void mark(struct al_pickle_machine *m, int how)
{
	(void)how;
	mark_below(m, 0);
}

/* All since the mark as one value. */
static void gather(struct al_pickle_machine *m, int kind)
{
	struct al_pickle_value *value = al_new(m->arena, struct al_pickle_value);

	value->kind = (enum al_pickle_kind)kind;
	move_items(m, pop_mark(m), value);
	al_pickle_push_value(m, value);
}

static void gather_last(struct al_pickle_machine *m, int n)
{
	if (mark_below(m, (size_t)n))
		gather(m, AL_PICKLE_TUPLE);
}

/* Adds all since the mark to the list or dict below it; to objects that aren't used it adds
 * nothing. */
static void extend(struct al_pickle_machine *m, int kind)
{
	const size_t first = pop_mark(m);

	if (first <= floor_of(m)) {
		al_pickle_fail(m, "appends to an empty stack");
		return;
	}
	struct al_pickle_value *to = m->stack[first - 1];
	if (to->kind == (enum al_pickle_kind)kind)
		move_items(m, first, to);
	else if (to->kind != AL_PICKLE_OTHER)
		al_pickle_fail(m, "appends to something that isn't a container");
	m->n_stack = first;
}

/* The last value, of a dict the last two, as if a mark stood before it. */
static void extend_by_last(struct al_pickle_machine *m, int kind)
{
	if (mark_below(m, kind == AL_PICKLE_DICT ? 2 : 1))
		extend(m, kind);
}

/* Keeps the last value under a number. */
static void put(struct al_pickle_machine *m, uint64_t index)
{
	if (m->n_stack == floor_of(m))
		al_pickle_fail(m, "memoizes from an empty stack");
	if (!al_pickle_may(m, index > m->n_memo ? index - m->n_memo : 0))
		return;
	while (m->n_memo <= index) {
		m->memo = al_grow(m->arena, m->memo, m->n_memo, &m->memo_room, sizeof(*m->memo));
		m->memo[m->n_memo++] = NULL;
	}
	m->memo[index] = m->stack[m->n_stack - 1];
}

static void put_numbered(struct al_pickle_machine *m, int n_bytes)
{
	put(m, take_number(m, n_bytes));
}

static void put_next(struct al_pickle_machine *m, int how)
{
	(void)how;
	put(m, m->n_memo);
}

static void get_numbered(struct al_pickle_machine *m, int n_bytes)
{
	const uint64_t index = take_number(m, n_bytes);

	if (index < m->n_memo && m->memo[index])
		al_pickle_push_value(m, m->memo[index]);
	else
		al_pickle_fail(m, "refers to a missing memo entry");
}

static void drop(struct al_pickle_machine *m, int how)
{
	(void)how;
	al_pickle_pop(m);
}

/* What each does, and how: bytes of a number or a length, a kind of value, how many values. */
static const struct instruction {
	void (*run)(struct al_pickle_machine *m, int how);
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
	['R'] = {al_pickle_reduce, 0},
	[0x81] = {al_pickle_reduce, 0},
	['b'] = {drop, 0}, /* attributes: those of a dict are versions of modules */
	['0'] = {drop, 0},
	['Q'] = {al_pickle_push_storage, 0},
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

static void do_instruction(struct al_pickle_machine *m, unsigned char code)
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
	struct al_pickle_machine m = {.arena = arena,
		.path = path,
		.at = bytes,
		.end = bytes + n,
		.err = err};
	const unsigned char *code;

	while (al_pickle_may(&m, 1) && (code = take(&m, 1)) && *code != '.')
		do_instruction(&m, *code);
	*used = (size_t)(m.at - bytes);
	const struct al_pickle_value *value = al_pickle_pop(&m);
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
