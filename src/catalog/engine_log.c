/* Reads logs of engines by the expressions of their files. */
#include "catalog/engine_log.h"

#include <regex.h>

#include "catalog/engine.h"

enum { MOST_GROUPS = 8, MOST_LINE = 1 << 14 };

struct reading {
	struct al_arena *arena;
	struct al_log_facts *out;
	const struct al_log_line *kind;
	int64_t line;
};

static struct al_log_fact *find(const struct al_log_facts *facts, const char *name)
{
	for (size_t i = 0; i < facts->n; i++)
		if (strcmp(facts->items[i].name, name) == 0)
			return &facts->items[i];
	return NULL;
}

const struct al_log_fact *al_log_find(const struct al_log_facts *facts, const char *name)
{
	return find(facts, name);
}

static void set_value(struct reading *r, struct al_log_fact *fact, const char *text)
{
	static const char *const units[] = {"KiB", "MiB", "GiB"};
	const int unit = r->kind->unit ? al_find_name(r->kind->unit, units, 3) : -1;
	mpq_ptr value = al_exact_new(r->arena), half = al_exact_new(r->arena);
	int digits;

	if (!al_exact_parse(text, value, &digits))
		return;
	al_exact_unit(half, digits, 2);
	for (int i = 0; i <= unit; i++) {
		al_exact_multiply(value, 1024);
		al_exact_multiply(half, 1024);
	}
	fact->is_bytes = unit >= 0;
	fact->value = value;
	fact->half = half;
}

/* A further addend of a sum: errors of rounding add up too. */
static void add_to(struct reading *r, struct al_log_fact *sum, const struct al_log_fact *more)
{
	mpq_ptr value = al_exact_new(r->arena), half = al_exact_new(r->arena);

	mpq_add(value, sum->value, more->value);
	mpq_add(half, sum->half, more->half);
	sum->value = value;
	sum->half = half;
}

static const char *without_commas(struct al_arena *arena, const char *text, const char *unit)
{
	char *copy = al_strdup(arena, text), *end = copy;

	for (const char *p = copy; *p; p++)
		if (*p != ',')
			*end++ = *p;
	*end = '\0';
	return unit ? al_format(arena, "%s%s", copy, unit) : copy;
}

/* Groups of one line that tell the same are added up. */
static void take(struct reading *r, const char *name, const char *text, bool is_same_line)
{
	struct al_log_fact *known = find(r->out, name);
	struct al_log_fact fact = {.name = name,
		.text = without_commas(r->arena, text, r->kind->unit),
		.kind = r->kind,
		.line = r->line};

	if (*name != '-')
		set_value(r, &fact, text);
	if (!known)
		*AL_APPEND(r->arena, r->out->items, r->out->n, r->out->room) = fact;
	else if ((is_same_line || (r->kind->is_sum && known->kind == r->kind)) && known->value
		&& fact.value)
		add_to(r, known, &fact);
}

static void take_groups(struct reading *r, const char *line, const regmatch_t *found)
{
	const size_t n_before = r->out->n;

	r->out->n_lines++;
	for (size_t i = 0; i < r->kind->groups.n; i++) {
		const char *name = r->kind->groups.items[i];
		const regmatch_t *group = &found[i + 1];
		const struct al_log_fact *known = find(r->out, name);
		if (*name == '\0' || group->rm_so < 0)
			continue;
		take(r, name,
			al_strndup(r->arena, line + group->rm_so,
				(size_t)(group->rm_eo - group->rm_so)),
			known && known >= r->out->items + n_before);
	}
}

static void read_line(struct reading *r, const regex_t *compiled, const char *line)
{
	regmatch_t groups[MOST_GROUPS + 1];

	if (regexec(compiled, line, MOST_GROUPS + 1, groups, 0) == 0)
		take_groups(r, line, groups);
}

/* Lines without what is beyond their first MOST_LINE bytes. */
static const char **cut_lines(struct al_arena *arena, const char *text, size_t *n)
{
	const char **lines = NULL, *end;
	size_t room = 0;

	*n = 0;
	for (const char *p = text; *p; p = *end ? end + 1 : end) {
		end = p + strcspn(p, "\r\n");
		const size_t length = (size_t)(end - p);
		*AL_APPEND(arena, lines, *n, room) = al_strndup(arena, p,
			al_least(length, MOST_LINE));
	}
	return lines;
}

static bool read_kind(struct reading *r, const struct al_engine *engine, const char *const *lines,
	size_t n, struct al_error *err)
{
	regex_t compiled;

	if (r->kind->groups.n > MOST_GROUPS || regcomp(&compiled, r->kind->line, REG_EXTENDED) != 0)
		return al_fail(err, AL_EINPUT, "engine %s: %s is no expression of a log's line",
			engine->name, r->kind->line);
	for (size_t i = 0; i < n; i++) {
		r->line = (int64_t)i + 1;
		read_line(r, &compiled, lines[i]);
	}
	regfree(&compiled);
	return true;
}

bool al_engine_log_read(struct al_arena *arena, const struct al_engine *engine, const char *text,
	struct al_log_facts *out, struct al_error *err)
{
	struct reading reading = {.arena = arena, .out = out};
	size_t n;

	*out = (struct al_log_facts){0};
	const char *const *lines = (const char *const *)cut_lines(arena, text, &n);
	for (size_t i = 0; i < engine->n_log; i++) {
		reading.kind = &engine->log[i];
		if (!read_kind(&reading, engine, lines, n, err))
			return false;
	}
	return true;
}
