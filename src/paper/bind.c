/* Binding: tables and map into a scenario. */

#include "formula/formula.h"
#include "paper/binder.h"
#include "scenario/printed.h"

/* Lists a variant once; one that the catalog hasn't is known from data alone. */
static void list_variant(struct al_binder *b, const char *variant)
{
	if (al_find_name(variant, b->known, b->n_known) >= 0 || !al_binder_counts(b, variant))
		return;
	*AL_APPEND(b->arena, b->known, b->n_known, b->known_room) = variant;
	al_list_add_text(&b->variants, variant);
}

static void list_references(struct al_binder *b)
{
	static const char *const keys[] = {"baseline", "retention", "elasticity", "against"};
	const char *name;

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const struct al_item *node = al_json_get(b->binding->node, keys[i]);
		if (node && al_json_text(&b->map->doc, node, &name, NULL))
			list_variant(b, name);
	}
}

/* ---- rows ---- */

/* "8,192", "8K": a whole number, of which K is 1,024; "8" of a column in K is that, too. */
static bool read_setting(struct al_binder *b, const char *text, const char *unit, int64_t *value)
{
	const char *digits = al_paper_without(b->arena, al_paper_number(b->arena, text), ',');
	const size_t n = strlen(digits);

	if (unit && n > 0 && al_is_digit(digits[n - 1]))
		digits = al_format(b->arena, "%s%s", digits, unit);
	const size_t length = al_read_tokens(digits, value);
	return length > 0 && !digits[length] && *value >= 0;
}

/* "12" of "set:a,b" gives each 6. */
static bool add_settings(struct al_binder *b, const struct al_paper_column *column,
	const char *text, struct al_text *out)
{
	const char *symbols = column->key;
	char *rest = al_strdup(b->arena, symbols);
	int64_t value, n = 1;

	for (const char *p = symbols; *p; p++)
		n += *p == ',';
	if (!read_setting(b, text, column->unit, &value) || value % n != 0)
		return false;
	for (char *symbol = strtok_r(rest, ",", &rest); symbol;
		symbol = strtok_r(NULL, ",", &rest)) {
		al_list_add_text(out, symbol);
		al_text_addf(out, ":%lld", (long long)(value / n));
	}
	return true;
}

struct row_names {
	const char **variants, **models;
	size_t n_variants, n_models;
	struct al_text settings;
	bool is_row;
};

static void read_row_names(struct al_binder *b, struct row_names *names)
{
	const struct al_paper_binding *binding = b->binding;

	names->is_row = true;
	for (size_t i = 0; i < binding->n_columns; i++) {
		const struct al_paper_column *column = &binding->columns[i];
		const char *text = al_paper_row_text(b->row, i);
		if (column->kind == AL_PAPER_NAME)
			names->is_row = (names->n_variants = al_paper_names(AL_CATALOG_VARIANTS,
						 b->map, NULL, b->arena, text, &names->variants))
				> 0;
		if (column->kind == AL_PAPER_MODEL)
			names->is_row = (names->n_models = al_paper_names(AL_CATALOG_MODELS, b->map,
						 b->subjects, b->arena, text, &names->models))
				> 0;
		if (column->kind == AL_PAPER_SET)
			names->is_row = add_settings(b, column, text, &names->settings);
		if (!names->is_row)
			return;
	}
}

static void add_case(struct al_binder *b, const char *model, const char *settings)
{
	static const char *const keys[] = {"model"};
	struct al_text *out = &b->cases;

	al_text_addf(out, "%s{\"id\":\"%s\"", al_list_comma(out), b->case_);
	if (model)
		al_text_addf(out, ",\"model\":\"%s\"", model);
	else
		al_paper_map_keep(b->binding->node, keys, 1, out);
	if (*settings)
		al_text_addf(out, ",\"set\":{%s}", settings);
	if (b->variant && strcmp(b->variant, AL_OWN_ATTENTION) == 0)
		al_text_add(out, ",\"basis\":{\"per\":\"whole\"}");
	al_text_add(out, "}");
	al_list_add_text(&b->its_cases, b->case_);
}

/* A row of the same names could never be asked for. */
static bool is_new(struct al_binder *b)
{
	const char *name = al_format(b->arena, "%s/%s", b->case_, b->variant ? b->variant : "");

	if (al_find_name(name, b->seen, b->n_seen) >= 0)
		return false;
	*AL_APPEND(b->arena, b->seen, b->n_seen, b->seen_room) = name;
	return true;
}

/* A row that names a model and no variant is of the model's own attention, but where columns have
 * variants. */
static const char *own_variant(const struct al_paper_binding *binding)
{
	for (size_t i = 0; i < binding->n_columns; i++)
		if (binding->columns[i].variant)
			return NULL;
	return AL_OWN_ATTENTION;
}

static void bind_part(struct al_binder *b, const struct row_names *names)
{
	const bool has_own_case = names->n_models > 0 || names->settings.length > 0;

	b->variant = names->n_variants > 0 ? names->variants[b->part]
		: names->n_models > 0	   ? own_variant(b->binding)
					   : NULL;
	b->case_ = b->binding->id;
	if (has_own_case) {
		b->case_ = al_format(b->arena, "%s-r%zu-%zu", b->binding->id, b->row_number,
			b->part + 1);
		add_case(b, names->n_models ? names->models[b->part] : NULL, names->settings.data);
	}
	if (!is_new(b)) {
		al_binder_add_gap(b, b->row->line, "a second row of the same name");
		return;
	}
	if (b->variant && al_binder_counts(b, b->variant)) {
		list_variant(b, b->variant);
		al_list_add_text(&b->its_variants, b->variant);
	}
	for (size_t i = 0; i < b->binding->n_columns; i++)
		al_binder_cell(b, i);
}

/* The lines above the first row are the table's head. */
static void bind_row(struct al_binder *b, bool is_below_head)
{
	struct row_names names = {0};

	al_text_init(&names.settings);
	read_row_names(b, &names);
	b->n_parts = al_most(names.n_variants, names.n_models);
	b->n_parts += b->n_parts == 0;
	if (names.is_row)
		for (b->part = 0; b->part < b->n_parts; b->part++)
			bind_part(b, &names);
	else if (is_below_head)
		al_binder_add_gap(b, b->row->line,
			al_format(b->arena, "the row \"%s\" has no name that is known",
				al_paper_row_text(b->row, 0)));
	al_text_finish(&names.settings);
}

/* ---- tables ---- */

static void add_data_sets(struct al_binder *b)
{
	for (size_t i = 0; i < b->n_metrics; i++) {
		struct al_metric *metric = &b->metrics[i];
		if (metric->rows.length > 0)
			al_text_addf(&b->data,
				"%s{\"id\":\"%s-%s\",\"metric\":{\"%s\":\"%s\"},\"columns\":"
				"[\"case\",\"variant\",\"%s\"],\"rows\":[%s]}",
				al_list_comma(&b->data), b->binding->id, metric->name, metric->name,
				metric->is_loss ? "lower" : "higher", metric->name,
				metric->rows.data);
		al_text_finish(&metric->rows);
	}
}

static void add_table(struct al_binder *b)
{
	static const char *const keys[] = {"set", "basis", "recipe", "per", "baseline", "retention",
		"elasticity", "substitute", "order", "against"};
	struct al_text *out = &b->tables;

	al_text_addf(out,
		"%s{\"id\":\"%s\",\"rows\":\"product\",\"columns\":[\"modules\"],\"cases\":[%s]",
		al_list_comma(out), b->binding->id, b->its_cases.data);
	if (b->its_variants.length > 0)
		al_text_addf(out, ",\"variants\":[%s]", b->its_variants.data);
	al_paper_map_keep(b->binding->node, keys, sizeof(keys) / sizeof(*keys), out);
	al_text_add(out, "}");
}

static bool has_row_cases(const struct al_paper_binding *binding)
{
	for (size_t i = 0; i < binding->n_columns; i++)
		if (binding->columns[i].kind == AL_PAPER_SET
			|| binding->columns[i].kind == AL_PAPER_MODEL)
			return true;
	return false;
}

static void bind_rows(struct al_binder *b, const struct al_paper_table *table)
{
	const size_t n_before = b->bound->n_sites + b->bound->n_data;

	for (size_t i = 0; i < table->n_rows; i++) {
		b->row = &table->rows[i];
		b->row_number = i + 1;
		bind_row(b, b->bound->n_sites + b->bound->n_data > n_before);
	}
	if (b->bound->n_sites + b->bound->n_data == n_before)
		al_binder_add_gap(b, table->rows[0].line,
			"no row of the table has a name that is known");
}

static bool bind_table(struct al_binder *b, struct al_error *err)
{
	const struct al_paper *paper = b->paper;
	const struct al_paper_binding *binding = b->binding;
	const size_t number = (size_t)binding->table;

	if (number > paper->n_tables)
		return al_json_fail(&b->map->doc, binding->node, err, "table %zu, but %s has %zu",
			number, paper->file, paper->n_tables);
	const struct al_paper_table *table = &paper->tables[number - 1];
	if (binding->n_columns != table->n_columns)
		return al_json_fail(&b->map->doc, binding->node, err,
			"table %zu (%s) has %zu columns, but the map has %zu", number,
			al_paper_place(paper, b->arena, table->rows[0].line), table->n_columns,
			binding->n_columns);
	al_text_init(&b->its_cases);
	al_text_init(&b->its_variants);
	b->n_seen = 0;
	b->case_ = binding->id;
	if (!has_row_cases(binding))
		add_case(b, NULL, "");
	list_references(b);
	/* Variants that columns name, in a table whose rows are settings. */
	for (size_t i = 0; i < binding->n_columns; i++)
		if (binding->columns[i].variant)
			list_variant(b, binding->columns[i].variant);
	al_binder_find_metrics(b);
	bind_rows(b, table);
	add_data_sets(b);
	if (b->its_cases.length > 0)
		add_table(b);
	al_text_finish(&b->its_cases);
	al_text_finish(&b->its_variants);
	return true;
}

static bool bind_tables(struct al_binder *b, struct al_error *err)
{
	for (size_t i = 0; i < b->map->n_tables; i++) {
		b->binding = &b->map->tables[i];
		for (size_t k = 0; k < i; k++)
			if (b->map->tables[k].table == b->binding->table)
				return al_json_fail(&b->map->doc, b->binding->node, err,
					"table %lld is already in the map",
					(long long)b->binding->table);
		if (!bind_table(b, err))
			return false;
	}
	return true;
}

/* ---- \claim ---- */

static bool names_any(const struct al_item *with, const char *value)
{
	al_json_each (name, with) {
		const char *key = al_json_key(name);
		if (strstr(value, key))
			return true;
	}
	return false;
}

/* "2/3" is a number and no path. */
static bool is_arithmetic(const char *value)
{
	return value[strspn(value, "0123456789.+-*/() ")] == '\0';
}

/* Why a claim can't be judged, with any map: no number is printed, or its arithmetic has
 * no value ("1/0", "(2"). NULL: it can. */
static const char *find_fault(struct al_arena *arena, const struct al_paper_claim *claim)
{
	static const struct al_scope no_symbols = {0};
	const struct al_formula *formula;
	struct al_error err = {0};
	struct al_printed printed;
	AL_VALUE(value);

	if (!al_printed_parse(&printed, arena, claim->printed))
		return "what is printed is not a number";
	if (!is_arithmetic(claim->value)
		|| (al_formula_parse(arena, claim->value, AL_DIALECT_CELLS, &formula, &err)
			&& al_formula_eval(formula, &no_symbols, &value, &err)))
		return NULL;
	return al_strdup(arena, err.message);
}

/* Can a path be one of the map's tables? */
static bool names_table(const struct al_paper_map *map, const char *value)
{
	for (size_t i = 0; i < map->n_tables; i++) {
		const size_t n = strlen(map->tables[i].id);
		if (strncmp(value, map->tables[i].id, n) == 0 && value[n] == '/')
			return true;
	}
	return false;
}

static void bind_annotated(struct al_binder *b)
{
	const struct al_paper *paper = b->paper;
	static const char *const keys[] = {"with"};
	const struct al_item *with = al_json_get(b->map->doc.root, "with");

	for (size_t i = 0; i < paper->n_claims; i++) {
		const struct al_paper_claim *claim = &paper->claims[i];
		const bool is_named = with && names_any(with, claim->value);
		const char *fault = find_fault(b->arena, claim);
		if (!fault && !b->map->scenario && !is_named && !names_table(b->map, claim->value)
			&& !is_arithmetic(claim->value))
			fault = al_format(b->arena, "add \"%s\" to the map", claim->value);
		if (fault) {
			al_binder_add_gap(b, claim->line,
				al_format(b->arena, "\\claim{%s}: %s", claim->printed, fault));
			continue;
		}
		al_binder_begin_claim(b, claim->line, claim->printed, NULL);
		if (is_arithmetic(claim->value))
			al_text_add(b->claims, ",\"with\":{}");
		else if (is_named)
			al_paper_map_keep(b->map->doc.root, keys, 1, b->claims);
		al_binder_end_claim(b, claim->value);
	}
}

static void put_together(struct al_binder *b, const char *title)
{
	static const char *const keys[] = {"model", "set", "basis", "recipe"};
	struct al_text *out = &b->bound->scenario;

	al_text_addf(out, "{\"title\":%s", al_binder_quote(b, title));
	al_paper_map_keep(b->map->doc.root, keys, sizeof(keys) / sizeof(*keys), out);
	al_text_addf(out,
		",\"variants\":[%s],\"cases\":[%s],\"data\":[%s],\"tables\":[%s],\"claims\":[%s]}",
		b->variants.data, b->cases.data, b->data.data, b->tables.data,
		b->claims_of_tables.data);
}

void al_bound_init(struct al_bound *bound)
{
	*bound = (struct al_bound){0};
	al_arena_init(&bound->arena);
	bound->gaps.arena = &bound->arena;
	al_text_init(&bound->scenario);
	al_text_init(&bound->annotated);
}

bool al_paper_bind(struct al_bound *bound, const struct al_paper *paper,
	const struct al_paper_map *map, struct al_paper_subjects *subjects, struct al_error *err)
{
	struct al_binder b = {.bound = bound,
		.arena = &bound->arena,
		.paper = paper,
		.map = map,
		.subjects = subjects};
	struct al_text *const texts[] = {&b.variants, &b.cases, &b.data, &b.tables,
		&b.claims_of_tables};

	for (size_t i = 0; i < 5; i++)
		al_text_init(texts[i]);
	b.claims = &b.claims_of_tables;
	bool ok = bind_tables(&b, err);
	/* Those of a scenario of the author's own are put to that one. */
	if (map->scenario)
		b.claims = &bound->annotated;
	if (ok) {
		bind_annotated(&b);
		put_together(&b, paper->file);
	}
	for (size_t i = 0; i < 5; i++)
		al_text_finish(texts[i]);
	return ok;
}

void al_bound_finish(struct al_bound *bound)
{
	al_text_finish(&bound->scenario);
	al_text_finish(&bound->annotated);
	al_arena_finish(&bound->arena);
}
