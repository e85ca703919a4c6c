/* What the instructions of a pickle are made of. */
#include "formats/pickle_machine.h"

#include <string.h>

bool al_machine_fail_damaged(const struct al_machine *m, const char *what, struct al_error *err)
{
	return al_fail(err, AL_EINPUT, "%s: the pickle %s", m->path, what);
}

/* ---- bytes ---- */

bool al_machine_take(struct al_machine *m, size_t n, const unsigned char **out,
	struct al_error *err)
{
	if ((size_t)(m->end - m->at) < n)
		return al_machine_fail_damaged(m, "ends early", err);
	*out = m->at;
	m->at += n;
	return true;
}

bool al_machine_take_number(struct al_machine *m, size_t n_bytes, uint64_t *out,
	struct al_error *err)
{
	const unsigned char *bytes = NULL;

	*out = 0;
	if (!al_machine_take(m, n_bytes, &bytes, err))
		return false;
	for (size_t i = n_bytes; i-- > 0;)
		*out = *out << 8 | bytes[i];
	return true;
}

/* A line of text. */
bool al_machine_take_line(struct al_machine *m, const char **out, struct al_error *err)
{
	const unsigned char *end = memchr(m->at, '\n', (size_t)(m->end - m->at));

	if (!end)
		return al_machine_fail_damaged(m, "ends early", err);
	*out = al_strndup(m->arena, (const char *)m->at, (size_t)(end - m->at));
	m->at = end + 1;
	return true;
}

/* ---- the stack ---- */

struct al_pickle_value *al_machine_push(struct al_machine *m, enum al_pickle_kind kind)
{
	struct al_pickle_value *value = al_new(m->arena, struct al_pickle_value);

	value->kind = kind;
	m->stack = al_grow(m->arena, m->stack, m->n_stack, &m->stack_room, sizeof(*m->stack));
	m->stack[m->n_stack++] = value;
	return value;
}

/* Pops never reach below the last mark. */
struct al_pickle_value *al_machine_pop(struct al_machine *m, struct al_error *err)
{
	const size_t least = m->n_marks ? m->marks[m->n_marks - 1] : 0;

	if (m->n_stack > least)
		return m->stack[--m->n_stack];
	al_machine_fail_damaged(m, "takes more than it has", err);
	return NULL;
}

/* Where the values since the last mark begin on the stack. */
static bool al_machine_pop_mark(struct al_machine *m, size_t *first, struct al_error *err)
{
	if (m->n_marks == 0)
		return al_machine_fail_damaged(m, "lacks a mark", err);
	*first = m->marks[--m->n_marks];
	return true;
}

void al_machine_add_item(struct al_machine *m, struct al_pickle_value *to,
	struct al_pickle_value *item)
{
	to->items = al_grow(m->arena, to->items, to->n_items, &to->room,
		sizeof(struct al_pickle_value *));
	to->items[to->n_items++] = item;
}

bool al_machine_push_tuple(struct al_machine *m, int n, struct al_error *err)
{
	struct al_pickle_value *items[3];

	for (int i = n; i-- > 0;)
		if (!(items[i] = al_machine_pop(m, err)))
			return false;
	struct al_pickle_value *tuple = al_machine_push(m, AL_PICKLE_TUPLE);
	for (int i = 0; i < n; i++)
		al_machine_add_item(m, tuple, items[i]);
	return true;
}

/* All since the mark as one value. */
bool al_machine_gather(struct al_machine *m, int kind, struct al_error *err)
{
	size_t first = 0;

	if (!al_machine_pop_mark(m, &first, err))
		return false;
	struct al_pickle_value *value = al_new(m->arena, struct al_pickle_value);
	value->kind = (enum al_pickle_kind)kind;
	for (size_t i = first; i < m->n_stack; i++)
		al_machine_add_item(m, value, m->stack[i]);
	m->n_stack = first;
	m->stack = al_grow(m->arena, m->stack, m->n_stack, &m->stack_room, sizeof(*m->stack));
	m->stack[m->n_stack++] = value;
	return kind != AL_PICKLE_DICT || value->n_items % 2 == 0
		|| al_machine_fail_damaged(m, "has a key without a value", err);
}

/* Adds all since the mark to the list or dict below it; to what nobody reads it adds nothing. */
bool al_machine_extend(struct al_machine *m, int kind, struct al_error *err)
{
	size_t first = 0;

	if (!al_machine_pop_mark(m, &first, err))
		return false;
	const size_t least = m->n_marks ? m->marks[m->n_marks - 1] : 0;
	if (first <= least)
		return al_machine_fail_damaged(m, "adds to nothing", err);
	struct al_pickle_value *to = m->stack[first - 1];
	if (to->kind != (enum al_pickle_kind)kind && to->kind != AL_PICKLE_OTHER)
		return al_machine_fail_damaged(m, "adds to what holds nothing", err);
	if (kind == AL_PICKLE_DICT && (m->n_stack - first) % 2 != 0)
		return al_machine_fail_damaged(m, "has a key without a value", err);
	for (size_t i = first; i < m->n_stack && to->kind == (enum al_pickle_kind)kind; i++)
		al_machine_add_item(m, to, m->stack[i]);
	m->n_stack = first;
	return true;
}

bool al_machine_mark(struct al_machine *m, int unused, struct al_error *err)
{
	(void)unused;
	(void)err;
	m->marks = al_grow(m->arena, m->marks, m->n_marks, &m->marks_room, sizeof(*m->marks));
	m->marks[m->n_marks++] = m->n_stack;
	return true;
}

bool al_machine_extend_by(struct al_machine *m, int kind, struct al_error *err)
{
	const size_t n = kind == AL_PICKLE_DICT ? 2 : 1;

	if (m->n_stack < n)
		return al_machine_fail_damaged(m, "takes more than it has", err);
	m->n_stack -= n;
	al_machine_mark(m, 0, err);
	m->n_stack += n;
	return al_machine_extend(m, kind, err);
}

/* ---- the memo ---- */

bool al_machine_put(struct al_machine *m, uint64_t index, struct al_error *err)
{
	const size_t least = m->n_marks ? m->marks[m->n_marks - 1] : 0;

	/* pickles number what they keep: each number takes a byte at least */
	if (index >= m->n_bytes || m->n_stack == least)
		return al_machine_fail_damaged(m, "keeps what it hasn't", err);
	while (m->n_memo <= index) {
		m->memo = al_grow(m->arena, m->memo, m->n_memo, &m->memo_room, sizeof(*m->memo));
		m->memo[m->n_memo++] = NULL;
	}
	m->memo[index] = m->stack[m->n_stack - 1];
	return true;
}

bool al_machine_get(struct al_machine *m, uint64_t index, struct al_error *err)
{
	if (index >= m->n_memo || !m->memo[index])
		return al_machine_fail_damaged(m, "asks for what it hasn't kept", err);
	m->stack = al_grow(m->arena, m->stack, m->n_stack, &m->stack_room, sizeof(*m->stack));
	m->stack[m->n_stack++] = m->memo[index];
	return true;
}
