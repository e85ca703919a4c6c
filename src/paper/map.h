/* Maps: a reader's description of a paper's tables, in a small JSON file that `check --draft-map`
 * begins.
 *
 *   {"model": "bert-base", "basis": {"per": "model"},
 *    "names": {"MOA": "mqa", "BASE": "bert-base"}, "with": {"a": "table-1/mha/parameters"},
 *    "tables": [{"table": 2, "id": "table-1", "retention": "mha", "elasticity": "sha",
 *                "columns": ["name", "parameters in M", "score", "prr", "peop"]}]}
 *
 * `model`, `set`, `basis` and `recipe` are a scenario's own; a table may have others, and its own
 * `per`, `baseline`, `retention`, `elasticity`, `substitute`, `order` and `against`; `symbols` are
 * the letters of its polynomials. `names` gives the name here of a label in the paper: a variant or
 * a model; a label that is called so already needs none. `with` are names for \claim, whose values
 * are formulas over them or paths. `scenario` is the file, seen from the map's folder, whose
 * numbers \ledger{PATH} prints and \claim's paths name; without it these are paths of the map's own
 * tables. `table` counts the paper's tables from 1, and `columns` has a word for each of their
 * columns:
 *
 *   skip              not looked at
 *   name              the row's variant; "SHA MHA" are two rows whose lines ran into one
 *   model             the row's model
 *   set:n_heads       the row's n_heads; of "set:a,b" each has an equal share of the number
 *   score, loss       measured; higher or lower is better
 *   score:mha         the same of one variant, in a table whose rows are settings
 *   score(spread)     84.0 (0.3); a plain score may have one, too
 *   score(peop)       a score, and in brackets its PEoP
 *   prr, peop         of the score nearest at the left, perhaps of one variant: prr:mhe-mul
 *   mean              of all scores at the left
 *   order, formula, difference    of polynomials
 *   parameters ...    any measure of a scenario's table, perhaps of one variant; "in M" is its unit
 */
#pragma once

#include "base/json.h"
#include "paper/paper.h"

enum al_paper_column_kind {
	AL_PAPER_SKIP,
	AL_PAPER_NAME,
	AL_PAPER_MODEL,
	AL_PAPER_SET,
	AL_PAPER_SCORE,
	AL_PAPER_LOSS,
	AL_PAPER_METRIC, /* prr or peop */
	AL_PAPER_MEAN,
	AL_PAPER_MEASURE,
};

struct al_paper_column {
	enum al_paper_column_kind kind;
	const char *key; /* "parameters", "prr"; the symbols of SET */
	const char *variant; /* NULL: the row's */
	const char *unit; /* NULL: the number's own */
	bool has_spread, has_peop; /* of a score: in brackets */
};

struct al_paper_binding {
	const struct al_item *node, *kept; /* kept: as a map's */
	int64_t table; /* from 1 */
	const char *id;
	struct al_paper_column *columns;
	size_t n_columns;
};

struct al_paper_name {
	const char *label, *name; /* the label as al_paper_normal makes it */
};

struct al_paper_map {
	struct al_arena arena;
	struct al_json doc;
	const char *scenario; /* the path of its file; NULL: none */
	const struct al_item *kept; /* the last of what goes into the scenario unchanged */
	struct al_paper_name *names;
	size_t n_names;
	struct al_paper_binding *tables;
	size_t n_tables;
};

/* On failure nothing is left to finish; the message has the place in the file. */
bool al_paper_map_read(struct al_paper_map *map, const char *path,
	struct al_error *err) AL_MUST_CHECK;
bool al_paper_map_parse(struct al_paper_map *map, const char *name, const char *text, size_t length,
	struct al_error *err) AL_MUST_CHECK;
void al_paper_map_finish(struct al_paper_map *map);

/* ",\"KEY\":VALUE" for each of the keys that the object has. */
void al_paper_map_keep(const struct al_item *object, const char *const *keys, size_t n_keys,
	struct al_text *out);
