/* Numbers that \ledger{PATH} prints: the scenario's, by way of the numbers.tex that `run` wrote. */

#include "base/file.h"
#include "paper/lint.h"
#include "report/numbers.h"
#include "scenario/contents.h"

/* ---- the author's scenario ---- */

/* Claims come before those that the scenario has itself, or first of all. */
static bool add_claims(struct al_text *out, const char *path, const struct al_text *text,
	const char *claims, struct al_error *err)
{
	AL_JSON(doc);

	if (!al_json_parse(&doc, path, text->data, text->length, err))
		return false;
	const struct al_item *own = al_json_get(doc.root, "claims");
	const char *place = (own ? own : doc.root)->place + 1;

	al_text_add_bytes(out, doc.text, (size_t)(place - doc.text));
	if (own)
		al_text_addf(out, "%s%s", claims, al_json_size(own) > 0 ? "," : "");
	else
		al_text_addf(out, "\"claims\":[%s],", claims); /* a scenario has a title */
	al_text_add(out, place);
	return true;
}

/* The scenario unchanged, whose faults have their places, then with the claims. */
bool al_paper_open_scenario(struct al_scenario **out, struct al_catalog *catalog, const char *path,
	const char *claims, struct al_error *err)
{
	AL_TEXT(text);
	AL_TEXT(with_claims);
	AL_ARENA(arena);
	const char *slash = strrchr(path, '/');
	const char *folder = slash ? al_strndup(&arena, path, (size_t)(slash - path)) : ".";

	if (!al_file_read(&text, path, AL_JSON_FILE_LIMIT, err)
		|| !al_scenario_parse(out, catalog, "paper", path, folder, text.data, text.length,
			err))
		return false;
	if (!*claims)
		return true;
	al_scenario_destroy(*out);
	*out = NULL;
	return add_claims(&with_claims, path, &text, claims, err)
		&& al_scenario_parse(out, catalog, "paper",
			al_format(&arena, "%s with the paper's claims", path), folder,
			with_claims.data, with_claims.length, err);
}

/* ---- definitions ---- */

struct definition {
	const char *path, *text;
};

struct definitions {
	struct al_arena *arena;
	struct definition *items; /* sorted by path */
	size_t n, room;
};

/* \expandafter\def\csname ledger@PATH\endcsname{TEXT}, a line each, as `run` writes them. */
static void add_definition(struct definitions *all, const char *text)
{
	static const char before[] = "\\expandafter\\def\\csname ledger@";
	static const char between[] = "\\endcsname{";

	if (strncmp(text, before, strlen(before)) != 0)
		return;
	char *line = al_strdup(all->arena, text);
	char *path = line + strlen(before), *middle = strstr(path, between);
	const char *value = middle ? middle + strlen(between) : NULL, *end = strrchr(path, '}');
	if (!value || !end || end < value)
		return;
	*middle = '\0';
	*AL_APPEND(all->arena, all->items, all->n, all->room) = (struct definition){path,
		al_paper_plain(all->arena, value, (size_t)(end - value))};
}

static int by_path(const void *a, const void *b)
{
	const struct definition *left = a, *right = b;

	return strcmp(left->path, right->path);
}

static void sort_definitions(struct definitions *all)
{
	if (all->n > 1)
		qsort(all->items, all->n, sizeof(*all->items), by_path);
}

static const char *find_definition(const struct definitions *all, const char *path)
{
	const struct definition key = {.path = path};
	const struct definition *found = all->n
		? bsearch(&key, all->items, all->n, sizeof(*all->items), by_path)
		: NULL;

	return found ? found->text : NULL;
}

/* The scenario's current numbers: all that `run` would write. */
static bool define_anew(struct definitions *now, struct al_scenario *scenario, struct al_error *err)
{
	AL_ENDS(al_numbers_finish) struct al_numbers numbers;

	al_numbers_begin(&numbers, scenario->title);
	for (size_t i = 0; i < scenario->n_tables; i++) {
		struct al_table table;
		if (!al_scenario_table(scenario, i, &table, err))
			return false;
		al_numbers_add(&numbers, &table);
		al_table_finish(&table);
	}
	char *rest = al_strdup(now->arena, numbers.latex.data), *line;

	while ((line = strtok_r(rest, "\n", &rest)))
		add_definition(now, line);
	sort_definitions(now);
	return true;
}

/* Those of the files that the paper includes. */
static void read_definitions(struct definitions *then, const struct al_paper *paper)
{
	for (size_t i = 0; i < paper->definitions.n; i++)
		add_definition(then, paper->definitions.items[i].argument);
	sort_definitions(then);
}

static const char *find_nearest(const struct definitions *all, const char *path)
{
	const char **paths = al_new_array(all->arena, const char *, all->n + 1);

	for (size_t i = 0; i < all->n; i++)
		paths[i] = all->items[i].path;
	return al_nearest(path, paths, all->n);
}

/* ---- next to each other ---- */

static void compare(struct al_paper_findings *out, struct al_lint_counts *counts,
	const struct definitions *then, const struct definitions *now, const char *scenario_file,
	const struct al_paper_macro *macro)
{
	const char *printed = find_definition(then, macro->argument);
	const char *right = find_definition(now, macro->argument);
	struct al_paper_finding finding = {.line = macro->line,
		.printed = al_format(out->arena, "\\ledger{%s}", macro->argument)};

	if (!scenario_file || (!printed && right)) {
		counts->gaps++;
		finding.note = scenario_file ? "no file included by the paper defines it"
					     : "needs a map with a \"scenario\"";
		al_paper_findings_add(out, finding);
		return;
	}
	const bool is_right = printed && right && strcmp(printed, right) == 0;
	counts->numbers++;
	counts->verdicts[is_right ? AL_REPRODUCED : AL_INCONSISTENT]++;
	if (is_right)
		return;
	finding.verdict = al_verdict_names[AL_INCONSISTENT];
	finding.printed = printed ? printed : finding.printed;
	finding.expected = right ? right : al_format(out->arena, "a number of %s", scenario_file);
	const char *near = right ? NULL : find_nearest(now, macro->argument);
	finding.note = right ? al_format(out->arena,
			       "printed by an earlier version of %s: run it again", scenario_file)
		: near	     ? al_format(out->arena, "it has no such path; did you mean %s?", near)
			     : "it has no such path";
	al_paper_findings_add(out, finding);
}

bool al_paper_read_ledgers(const struct al_paper *paper, struct al_scenario *scenario,
	const char *scenario_file, struct al_paper_findings *out, struct al_lint_counts *counts,
	struct al_error *err)
{
	struct definitions then = {.arena = out->arena}, now = {.arena = out->arena};

	if (scenario && paper->ledgers.n > 0 && !define_anew(&now, scenario, err))
		return false;
	read_definitions(&then, paper);
	for (size_t i = 0; i < paper->ledgers.n; i++)
		compare(out, counts, &then, &now, scenario ? scenario_file : NULL,
			&paper->ledgers.items[i]);
	return true;
}
