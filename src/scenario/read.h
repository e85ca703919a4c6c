/* Reading a scenario's file into its contents: one file a part, each object by a table of its
 * keys. */
#pragma once

#include "base/record.h"
#include "scenario/contents.h"

/* Limits of a file, described in FORMAT.md. */
enum {
	AL_MOST_PARTS_OF_A_KIND = 1000, /* tables, sweeps, figures, data sets; columns of a table */
	AL_MOST_NAMES = 10000, /* cases; variants, with those that only data know */
	AL_MOST_CELLS = 1000000, /* of all tables */
	AL_MOST_QUESTIONS = 256,
};

/* ---- the parts: each may name what was read before it ---- */

extern const struct al_record al_data_record, al_table_record, al_sweep_record, al_listing_record,
	al_figure_record, al_question_record, al_claim_record;

/* Readers for a record's rows; the context is the scenario. */
typedef bool al_scenario_reader(void *scenario, const struct al_item *node, void *out,
	struct al_error *err);

/* Overlays of a figure's marks (read_overlay.c). */
extern const struct al_record al_band_record, al_inset_record, al_ratio_record;

/* Lists that are read into the scenario itself; a table's column. */
al_scenario_reader al_scenario_read_variants, al_scenario_read_cases, al_scenario_read_errata,
	al_scenario_read_column;

/* A member NAME: COLOR; and when all figures are read: which variant, which case has which color
 * (looks.c). */
al_scenario_reader al_scenario_read_color;
void al_looks_choose(struct al_scenario *s);

/* ---- what the parts share ---- */

/* Reads an object; functions of its rows get the scenario as their context. */
bool al_object_read(struct al_scenario *s, const struct al_record *record,
	const struct al_item *node, void *out, struct al_error *err);

/* The same of a text. */
typedef bool al_scenario_finder(void *scenario, const char *text, void *out, struct al_error *err);

/* Values: the id of a table, a sweep, a listing or a data set; a model, a recipe, a formula. */
al_scenario_finder al_scenario_find_id, al_scenario_find_model, al_scenario_find_recipe,
	al_scenario_find_formula;
/* Names of what was read before: a case, a variant, a symbol that a variant could need. */
al_scenario_finder al_scenario_find_case, al_scenario_find_variant, al_scenario_find_symbol;
/* A variant that not only data know. */
al_scenario_finder al_scenario_find_counted;
/* Is it of small letters, digits and '-'? */
bool al_id_check(const char *id, struct al_error *err);

#define AL_BASIS(at, n_at) \
	{ \
		AL_KEY("basis", MEMBERS, at), .n_offset = (n_at), .read = al_scenario_read_basis, \
					      .item_size = sizeof(struct al_change_of_basis) \
	}
/* What a case, a table or a sweep changes, whose struct al_changes is at `at`. */
#define AL_CHANGES(at) \
	{AL_KEY("set", MEMBERS, (at) + offsetof(struct al_changes, symbols)), \
		.n_offset = (at) + offsetof(struct al_changes, n_symbols), \
		.read = al_scenario_read_set, .item_size = sizeof(struct al_change_of_symbol)}, \
		AL_BASIS((at) + offsetof(struct al_changes, bases), \
			(at) + offsetof(struct al_changes, n_bases)), \
	{ \
		AL_KEY("recipe", BY, (at) + offsetof(struct al_changes, recipe)), \
			.find = al_scenario_find_recipe \
	}
/* "case" and "cases" of a table or a sweep, whose struct al_chosen_cases is at `at`. */
#define AL_CASES(at) \
	{AL_KEY("case", BY, (at) + offsetof(struct al_chosen_cases, one)), \
		.find = al_scenario_find_case}, \
	{ \
		AL_KEY("cases", LIST, (at) + offsetof(struct al_chosen_cases, items)), \
			.n_offset = (at) + offsetof(struct al_chosen_cases, n), \
			.find = al_scenario_find_case, \
			.item_size = sizeof(const struct al_case *), .least = 1, .noun = "cases" \
	}
/* Where no list is given: the one case that is named, or the first `n` of the file. */
bool al_chosen_cases_complete(struct al_scenario *s, const struct al_item *node, size_t n,
	struct al_chosen_cases *cases, struct al_error *err);
/* How its table is arranged, whose struct al_arrangement is at `at`; "pivot" is its own. */
#define AL_ARRANGEMENT(at) \
	{AL_KEY("keys", LIST, (at) + offsetof(struct al_arrangement, keys)), \
		.n_offset = (at) + offsetof(struct al_arrangement, n_keys)}, \
	{ \
		AL_KEY("sort", RECORD, at), \
			.record = &al_sort_record, \
			.or_text = (at) + offsetof(struct al_arrangement, sort_by) \
	}
extern const struct al_record al_sort_record;
/* Are keys and pivot among the first of the names, and what sorts among all? */
bool al_arrangement_check(const struct al_scenario *s, const struct al_item *node,
	const struct al_arrangement *a, const struct al_names *names, size_t n_keys,
	struct al_error *err);

/* `per` outside of the basis is short for the one within it, and takes precedence. */
al_scenario_reader al_scenario_read_set, al_scenario_read_basis, al_scenario_read_per;

/* The words for which values of a metric are the better ones, as enum al_direction. */
extern const char *const al_direction_words[3];

/* A "note" may be among the names of any object. */
bool al_member_is_note(const struct al_item *member);
/* Is the member's key a symbol that a variant of the scenario could need? */
bool al_member_symbol_check(const struct al_scenario *s, const struct al_item *member,
	struct al_error *err);
/* A member SYMBOL: FORMULA; a letter is no symbol of the scenario. */
al_scenario_reader al_scenario_read_substitution, al_scenario_read_letter;
#define AL_SUBSTITUTIONS(key, at, n_at, reader) \
	{ \
		AL_KEY(key, MEMBERS, at), .n_offset = (n_at), .read = (reader), \
					  .item_size = sizeof(struct al_substitution) \
	}

/* A list that may hold at most that many. */
bool al_size_check(const struct al_scenario *s, const struct al_item *list, const char *what,
	size_t most, struct al_error *err);
/* A file that a scenario names is relative to it; another name stays. */
const char *al_scenario_beside(struct al_scenario *s, const char *name);
/* A case or variant name: not empty, no '/', ',', '[' or ']'. */
bool al_name_check(const char *what, const char *name, struct al_error *err);
