/* What the log of an engine has about memory and its settings. Its file lists lines: each
 * is an extended regular expression (POSIX), with what each of its groups is: the name of a figure,
 * an option of `fit` ("--tp"), "model", "version", or "" for nothing. */
#pragma once

#include "base/base.h"

struct al_engine;

struct al_log_line {
	const char *line; /* the expression */
	struct al_texts groups; /* their names, "" for none */
	const char *unit; /* of figures, and of an option's value: "GiB"; NULL: none */
	bool is_sum; /* of all lines that match, unless an expression before it did; else the first
			holds */
};

/* A figure or a setting in a log. */
struct al_log_fact {
	const char *name; /* of its group */
	const char *text; /* as the log has it, without commas and with the unit: "44.42GiB" */
	const struct al_log_line *kind;
	int64_t line; /* where it begins, counted from 1 */
	mpq_srcptr value, half; /* of a figure, in bytes where it has a unit, and half a unit of its
				   last digit; NULL: an option, or it isn't a number */
	bool is_bytes;
};

struct al_log_facts {
	struct al_log_fact *items;
	size_t n, room;
	size_t n_lines; /* that an expression matched */
};

/* What the lines of `text` tell by the engine's expressions, each name once; lives in the arena. */
bool al_engine_log_read(struct al_arena *arena, const struct al_engine *engine, const char *text,
	struct al_log_facts *out, struct al_error *err) AL_MUST_CHECK;

/* NULL: the log doesn't have it. */
const struct al_log_fact *al_log_find(const struct al_log_facts *facts, const char *name);
