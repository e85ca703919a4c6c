/* variants: tensors, formulas, order of growth and differences, derived from the tensors alone. */
#include "answer/session.h"

#include "answer/formulas.h"
#include "answer/request.h"
#include "report/claim.h"

struct variants_options {
	struct al_output_options output;
	struct al_asked asked; /* variants, bases and settings of it */
	struct al_texts substitutions;
	const char *order, *against;
};

static const struct al_option_row set_rows[] = {
	OPTION_LIST(struct variants_options, asked.sets, "set", "KEY=VALUE",
		"set a symbol, e.g. n_heads=12"),
	OPTION_END,
};

static const struct al_option_row rows[] = {
	OPTION_LIST(struct variants_options, substitutions, "substitute", "SYMBOL=FORMULA",
		"replace a symbol by a formula"),
	OPTION_TEXT(struct variants_options, order, "order", "SYMBOL",
		"show the order of growth in a symbol"),
	OPTION_TEXT(struct variants_options, against, "against", "NAME",
		"show the difference in parameters to NAME"),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS, {set_rows, 0},
	{al_variant_rows, offsetof(struct variants_options, asked)}, {rows, 0}, {NULL, 0}};

/* ---- in a sentence ---- */

/* The rows from `row` on have not read so before. */
static bool is_first(const struct al_table *table, const char *key, size_t row)
{
	for (size_t i = 0; i < row; i++)
		if (strcmp(al_table_text(table, i, key), al_table_text(table, row, key)) == 0)
			return false;
	return true;
}

/* "Parameters grow as O(d_model) in 40, as O(1) in 3" */
static const char *say_orders(struct al_arena *arena, const struct al_table *table)
{
	const char *text = "";

	for (size_t row = 0; row < table->n_rows; row++) {
		const char *order = al_table_text(table, row, "order");
		if (!is_first(table, "order", row))
			continue;
		text = al_format(arena, "%s%s %s in %s", text, *text ? "," : "",
			*order ? al_format(arena, "as %s",
				al_claim_cell(arena, table, row, "order"))
			       : "undecided",
			al_claim_count(arena, "variants",
				(int64_t)al_count_rows(table, "order", order)));
	}
	return text;
}

static const char *say_growth(struct al_arena *arena, const struct al_table *table,
	const char *symbol)
{
	if (table->n_rows == 1)
		return al_format(arena, "In %s the parameters of %s grow as %s", symbol,
			al_claim_cell(arena, table, 0, "variant"),
			al_claim_cell(arena, table, 0, "order"));
	return al_format(arena, "In %s parameters grow%s of %s variants", symbol,
		say_orders(arena, table),
		al_claim_count(arena, "variants", (int64_t)table->n_rows));
}

/* Sums without cases, of which nothing is left. */
static const char *say_difference(struct al_arena *arena, const struct al_table *table,
	const char *against)
{
	const size_t n = al_count_rows(table, "difference", "0");

	if (table->n_rows == 1)
		return al_format(arena, "%s %s as many parameters as %s",
			al_claim_cell(arena, table, 0, "variant"),
			n ? "has" : "doesn't always have", against);
	return al_format(arena, "%s of %s variants always have as many parameters as %s",
		al_claim_count(arena, "equal", (int64_t)n),
		al_claim_count(arena, "variants", (int64_t)table->n_rows),
		al_claim_name(arena, "against", against));
}

/* What is cached: not known, nothing, once for a sequence alone, or for each token. */
enum cached { UNKNOWN, NOTHING, ONCE, BY_TOKEN, N_CACHED };

static enum cached cached_by(const struct al_table *table, size_t row)
{
	const char *text = al_table_text(table, row, "cache");

	if (!*text)
		return UNKNOWN;
	if (strcmp(text, "none") == 0)
		return NOTHING;
	return strncmp(text, "once:", 5) == 0 ? ONCE : BY_TOKEN;
}

static const char *say_one(struct al_arena *arena, const struct al_table *table)
{
	static const char *const texts[N_CACHED] = {
		[UNKNOWN] = "doesn't list what it caches",
		[NOTHING] = "caches nothing",
		[ONCE] = "keeps a state of constant size",
	};
	const char *cache = texts[cached_by(table, 0)];

	return al_format(arena, "%s %s; its parameters are %s",
		al_claim_cell(arena, table, 0, "variant"),
		cache ? cache
		      : al_format(arena, "caches %s elements of each token",
			      al_claim_cell(arena, table, 0, "cache")),
		al_claim_cell(arena, table, 0, "parameters"));
}

static const char *say_cached(struct al_arena *arena, const struct al_table *table)
{
	int64_t n[N_CACHED] = {0};

	for (size_t row = 0; row < table->n_rows; row++)
		n[cached_by(table, row)]++;
	return al_format(arena,
		"Of %s variants %s cache something of each token, %s keep a state that doesn't "
		"grow, %s cache nothing%s",
		al_claim_count(arena, "variants", (int64_t)table->n_rows),
		al_claim_count(arena, "by_token", n[BY_TOKEN]),
		al_claim_count(arena, "states", n[ONCE]),
		al_claim_count(arena, "nothing", n[NOTHING]),
		n[UNKNOWN] ? al_format(arena, ", of %s it isn't declared",
			al_claim_count(arena, "unknown", n[UNKNOWN]))
			   : "");
}

/* Of the table of formulas; `order` is the symbol of its column `order`, `against` the variant of
 * its column `difference`, NULL where it has no such column. */
static const char *say(struct al_arena *arena, const struct al_table *table, const char *order,
	const char *against)
{
	if (order && against)
		return al_format(arena, "%s; %s.", say_growth(arena, table, order),
			say_difference(arena, table, against));
	if (order)
		return al_format(arena, "%s.", say_growth(arena, table, order));
	if (against)
		return al_format(arena, "%s.", say_difference(arena, table, against));
	return al_format(arena, "%s.",
		table->n_rows == 1 ? say_one(arena, table) : say_cached(arena, table));
}

/* ---- all rows ---- */

static bool add_formulas(const struct al_formulas *f, const struct al_configured_variants *variants,
	struct al_error *err)
{
	struct al_table *table = al_session_table(f->session, "variants", NULL, 0,
		"Attention variants");

	al_formulas_begin(f, table);
	for (size_t i = 0; i < variants->n; i++)
		if (!al_formulas_add(f, table, &variants->items[i], err))
			return false;
	al_basis_note(f->basis, table);
	for (size_t i = 0; i < f->n_substitutions; i++)
		al_table_note(table, "%s = %s", f->substitutions[i].symbol,
			al_formula_source(f->substitutions[i].formula));
	al_session_claim(f->session,
		say(&f->session->arena, table, f->order, f->reference ? f->against.name : NULL));
	return true;
}

/* ---- one variant's entries ---- */

struct entry_record {
	const char *what, *name, *role, *kind, *shape, *count, *when;
};

static const struct al_table_field entry_fields[] = {
	{AL_SHOW_KEY(struct entry_record, what, NULL)},
	{AL_SHOW_KEY(struct entry_record, name, NULL)},
	{AL_SHOW(struct entry_record, shape, NULL)},
	{AL_SHOW(struct entry_record, count, NULL)},
	{AL_SHOW(struct entry_record, when, NULL)},
	{AL_SHOW(struct entry_record, role, NULL)},
	{AL_SHOW(struct entry_record, kind, NULL)},
	AL_FIELDS_END,
};

static void join_shape(struct al_text *out, const struct al_shape *shape)
{
	for (size_t i = 0; i < shape->n_dims; i++)
		al_text_addf(out, "%s%s", i ? " x " : "", al_formula_source(shape->dims[i]));
}

static const char *source_of(const struct al_formula *formula)
{
	return formula ? al_formula_source(formula) : NULL;
}

static void add_entry(struct al_table *table, const char *what, const struct al_entry *entry)
{
	const bool is_tensor = strcmp(what, "tensor") == 0;

	AL_TEXT(shape);
	if (entry->left.n_dims) {
		join_shape(&shape, &entry->left);
		al_text_add(&shape, "  by  ");
		join_shape(&shape, &entry->right);
	} else
		join_shape(&shape, &entry->shape);
	al_table_add_record(table,
		&(struct entry_record){what, entry->name,
			is_tensor ? al_role_names[entry->role] : NULL,
			is_tensor ? al_tensor_kind_names[entry->kind] : NULL, shape.data,
			source_of(entry->count), source_of(entry->when)});
}

static void note_symbol(struct al_table *table, const struct al_variant *variant,
	const struct al_named_text *symbol)
{
	const struct al_symbol *own = AL_FIND(variant->defaults, variant->n_defaults, symbol->name);
	const char *value = own
		? al_format(&table->arena, "; default %s", al_formula_source(own->fallback))
		: "";

	al_table_note(table, "%s: %s%s", symbol->name, symbol->text, value);
}

static void show_variant(struct al_session *session, const struct al_variant *variant)
{
	const struct {
		const char *what;
		const struct al_entries *entries;
	} lists[] = {{"tensor", &variant->tensors}, {"cache", &variant->cache},
		{"activation", &variant->activations}, {"product", &variant->products}};
	struct al_table *table = al_session_table(session, variant->name, entry_fields, 0, "%s",
		variant->title);

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		for (size_t k = 0; k < lists[i].entries->n; k++)
			add_entry(table, lists[i].what, &lists[i].entries->items[k]);
	for (size_t i = 0; i < variant->n_symbols; i++)
		note_symbol(table, variant, &variant->symbols[i]);
	al_table_note(table, "source: %s", variant->source);
}

/* ---- the command ---- */

static bool collect(struct al_session *session, struct al_configured_variants *variants,
	struct al_error *err)
{
	static const char *const names[] = {"all"};
	static const struct al_asked all = {.variants = {names, 1}};
	const struct variants_options *o = session->options;

	for (size_t i = 0; i < session->line.n_words; i++)
		if (!al_configured_variants_add(variants, &session->arena, session->catalog,
			    session->line.words[i], err))
			return false;
	return al_configured_variants_parse(variants, &session->arena, session->catalog, &o->asked,
		       err)
		&& (variants->n > 0
			|| al_configured_variants_parse(variants, &session->arena, session->catalog,
				&all, err));
}

/* What all variants are asked; settings and substitutions in one: a symbol that --set fixes is a
 * number. */
static bool read_options(struct al_formulas *f, struct al_settings *settings,
	struct al_basis *basis, struct al_error *err)
{
	const struct variants_options *o = f->session->options;
	struct al_arena *arena = &f->session->arena;

	for (size_t i = 0; i < o->asked.sets.n; i++)
		if (!al_settings_parse(settings, o->asked.sets.items[i], "--set", err))
			return false;
	return al_basis_parse(basis, arena, o->asked.bases, err)
		&& al_substitutions_parse(arena, o->substitutions, &f->substitutions,
			&f->n_substitutions, err)
		&& (!o->against
			|| (al_configured_variant_parse(arena, f->session->catalog, o->against,
				    &f->against, err)
				&& al_formulas_sum(f, &f->against, &f->reference, err)));
}

/* Each symbol of the options is one that a variant could hold. */
static bool check_symbols(const struct al_formulas *f,
	const struct al_configured_variants *variants, struct al_error *err)
{
	const struct variants_options *o = f->session->options;
	const struct al_texts *sets = &o->asked.sets;

	for (size_t i = 0; i < f->n_substitutions; i++)
		if (!al_symbol_check(f->settings, variants, f->substitutions[i].symbol, err)
			|| !al_symbols_check(f->settings, variants, f->substitutions[i].formula,
				err))
			return al_in(err, "--substitute %s", f->substitutions[i].symbol);
	for (size_t i = 0; i < sets->n; i++)
		if (!al_symbol_check(f->settings, variants,
			    al_strndup(&f->session->arena, sets->items[i],
				    strcspn(sets->items[i], "=")),
			    err))
			return al_in(err, "--set");
	return !f->order || al_symbol_check(f->settings, variants, f->order, err)
		|| al_in(err, "--order");
}

static bool answer(const struct al_formulas *f, const struct al_configured_variants *variants,
	struct al_error *err)
{
	const bool is_about_growth = f->order || f->reference || f->n_substitutions > 0;

	if (!check_symbols(f, variants, err) || !add_formulas(f, variants, err))
		return false;
	for (size_t i = 0; !is_about_growth && i < variants->n && f->session->line.n_words > 0; i++)
		show_variant(f->session, variants->items[i].variant);
	return true;
}

static bool run(struct al_session *session, struct al_error *err)
{
	const struct variants_options *o = session->options;
	struct al_configured_variants variants = {.n = 0};
	struct al_basis basis;
	AL_SETTINGS(settings, session->catalog);
	struct al_formulas f = {.session = session,
		.settings = &settings,
		.basis = &basis,
		.order = o->order,
		.is_survey = session->line.n_words == 0 && !al_names_variants(&o->asked)};

	if (!collect(session, &variants, err))
		return false;
	al_basis_init(&basis);
	const bool ok = read_options(&f, &settings, &basis, err) && answer(&f, &variants, err);
	al_polynomial_destroy(f.reference);
	return ok;
}

const struct al_command al_command_variants = {
	.words = "[NAME|FILE...]",
	.examples = {"variants gqa",
		"variants --substitute d_model=n_heads*d_head --order n_heads --against sha "
		"--basis output_projection=none"},
	.options = groups,
	.options_size = sizeof(struct variants_options),
	.run = run,
};
