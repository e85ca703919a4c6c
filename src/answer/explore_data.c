/* The data of the page: formulas, the symbols that they hold, and where these begin. */
#include "answer/explore.h"

#include "base/format.h"
#include "ledger/entries.h"

struct data {
	struct al_explore *e;
	struct al_arena *arena;
	const struct al_configured_variant *configured; /* whose formulas are added; NULL: of all */
	struct al_text variants, formulas;
	const char **sources; /* of the formulas that were named so far */
	const char **found; /* the symbols that they hold */
	size_t n_sources, n_found, sources_room, found_room;
};

/* ---- symbols ---- */

static const struct al_symbol *standard_symbol(const struct data *d, const char *name)
{
	size_t n;
	const struct al_symbol *symbols = al_catalog_symbols(d->e->session->catalog, &n);

	return AL_FIND(symbols, n, name);
}

/* Does the configured variant decide the symbol? */
static bool is_fixed(const struct al_configured_variant *configured, const char *symbol)
{
	return AL_FIND(configured->with, configured->n_with, symbol) != NULL;
}

static void add_symbol(void *context, const char *symbol)
{
	struct data *d = context;
	const struct al_configured_variant *of = d->configured;

	if ((of && (al_variant_has_option(of->variant, symbol) || is_fixed(of, symbol)))
		|| al_find_name(symbol, d->found, d->n_found) >= 0)
		return;
	*AL_APPEND(d->arena, d->found, d->n_found, d->found_room) = symbol;
}

/* What the page asks for whatever its formulas hold; then what these do, and what defaults lean
 * on: the standard symbols in their own order, those of variants as they came. */
static const char **all_symbols(struct data *d, size_t *n_all)
{
	size_t n, n_standard = 0;
	const struct al_symbol *standard = al_catalog_symbols(d->e->session->catalog, &n);

	for (size_t i = 0; i < d->n_found; i++) {
		const struct al_symbol *symbol = standard_symbol(d, d->found[i]);
		if (symbol && symbol->fallback)
			al_formula_each_symbol(symbol->fallback, add_symbol, d);
	}
	const char **all = al_new_array(d->arena, const char *, d->n_found + 1);
	for (size_t i = 0; i < n; i++)
		if (al_find_name(standard[i].name, d->found, d->n_found) >= 0)
			all[n_standard++] = standard[i].name;
	*n_all = n_standard;
	for (size_t i = 0; i < d->n_found; i++)
		if (al_find_name(d->found[i], all, n_standard) < 0)
			all[(*n_all)++] = d->found[i];
	return all;
}

/* ---- where they begin ---- */

/* The first number that a published check of a variant gives the symbol. */
static const struct al_binding *find_published(const struct al_explore *e, const char *symbol)
{
	const struct al_configured_variants *variants = &e->request->variants;
	const struct al_binding *found = NULL;

	for (size_t i = 0; !found && i < variants->n; i++) {
		const struct al_variant *variant = variants->items[i].variant;
		for (size_t k = 0; !found && k < variant->n_checks; k++)
			found = AL_FIND(variant->checks[k].with, variant->checks[k].n_with, symbol);
	}
	return found;
}

static void set_start(struct al_explore *e, const char *symbol, int64_t value)
{
	if (!al_settings_gives(&e->settings, symbol))
		al_settings_set(&e->settings, symbol, value, "explore");
}

/* A size of some variant's paper stays empty: each variant then takes its own. */
static bool has_own_default(const struct al_explore *e, const char *symbol)
{
	const struct al_configured_variants *variants = &e->request->variants;

	for (size_t i = 0; i < variants->n; i++) {
		const struct al_variant *variant = variants->items[i].variant;
		if (AL_FIND(variant->defaults, variant->n_defaults, symbol))
			return true;
	}
	return false;
}

/* Of those that have no value and no default. */
static void find_start(struct data *d, const char *symbol)
{
	const struct al_symbol *standard = standard_symbol(d, symbol);
	const struct al_binding *published = find_published(d->e, symbol);

	if (published && !(standard && standard->fallback) && !has_own_default(d->e, symbol))
		set_start(d->e, symbol, published->value);
}

/* "null" where the symbol has no value. */
static const char *start_of(struct data *d, const char *symbol)
{
	const struct al_setting *setting;

	if (!al_settings_gives(&d->e->settings, symbol)
		|| !al_settings_get(&d->e->settings, symbol, &setting, NULL) || !setting
		|| setting->list || setting->value.kind != AL_VALUE_INTEGER)
		return "null";
	return al_format(d->arena, "%lld", (long long)setting->value.integer);
}

/* ---- JSON ---- */

static const char *quoted(struct data *d, const char *text)
{
	if (!text)
		return "null";
	AL_TEXT(out);
	al_json_quote(&out, text);
	return al_strdup(d->arena, out.data);
}

static void add_formula(struct data *d, const struct al_formula *formula)
{
	const char *source = al_formula_source(formula);

	AL_TEXT(postfix);
	al_formula_postfix(formula, &postfix);
	al_text_addf(&d->formulas, "%s[%s,%s]", d->n_sources ? ",\n" : "", quoted(d, source),
		quoted(d, postfix.data));
	*AL_APPEND(d->arena, d->sources, d->n_sources, d->sources_room) = source;
}

/* The formula's place, or null. */
static const char *place(struct data *d, const struct al_formula *formula)
{
	if (!formula)
		return "null";
	al_formula_each_symbol(formula, add_symbol, d);
	if (al_find_name(al_formula_source(formula), d->sources, d->n_sources) < 0)
		add_formula(d, formula);
	return al_format(d->arena, "%d",
		al_find_name(al_formula_source(formula), d->sources, d->n_sources));
}

static const char *place_of_dtype(struct data *d, const char *name)
{
	const struct al_dtype *named = name ? al_dtype_named(name) : NULL;
	int i = 0;

	while (named && al_dtype_at((size_t)i) != named)
		i++;
	return named ? al_format(d->arena, "%d", i) : "null";
}

/* ---- variants ---- */

/* Nulls at the end of a line are left out. */
static void trim(struct al_text *out)
{
	static const char nothing[] = ",null";

	while (al_ends_with(out->data, nothing))
		out->data[out->length -= sizeof(nothing) - 1] = '\0';
}

/* Of a product what must equal k; NULL: it reads the same. */
static const struct al_formula *inner_of(const struct al_entry *entry)
{
	return entry->right.n_dims > 0
			&& strcmp(al_formula_source(entry->left.dims[1]),
				   al_formula_source(entry->right.dims[0]))
				!= 0
		? entry->right.dims[0]
		: NULL;
}

static void add_line(struct data *d, const struct al_line *line)
{
	const struct al_entry *entry = line->entry;
	const struct al_formula *const formulas[] = {line->count, entry->when, entry->tokens};
	const bool is_source = entry->per == AL_PER_SOURCE_TOKEN;
	struct al_text *out = &d->variants;

	al_text_addf(out, "[%s,[", quoted(d, entry->name));
	for (size_t i = 0; i < line->n_dims; i++)
		al_text_addf(out, "%s%s", i ? "," : "", place(d, line->dims[i]));
	al_text_addf(out, "],%s",
		entry->shared == AL_PER_MODULE ? "null"
					       : al_format(d->arena, "%d", (int)entry->shared));
	for (size_t i = 0; i < sizeof(formulas) / sizeof(*formulas); i++)
		al_text_addf(out, ",%s", place(d, formulas[i]));
	al_text_addf(out, ",%s,%s,%s,%s",
		quoted(d,
			is_source || entry->per == AL_PER_SEQUENCE ? al_per_names[entry->per]
								   : NULL),
		place_of_dtype(d, entry->dtype), place(d, inner_of(entry)),
		place_of_dtype(d, entry->in_fp8));
	trim(out);
	al_text_add(out, "]");
	if (is_source)
		add_symbol(d, "source_seq");
	(void)place(d, al_block_times_formula(&d->e->ledgers[0]->block, entry->shared));
}

static void add_list(struct data *d, const struct al_ledger *ledger, const char *key,
	enum al_list list)
{
	const struct al_block *block = &ledger->block;
	const struct al_entries *entries = al_lines_of(block->configured->variant, list);
	const char *comma = "";

	al_text_addf(&d->variants, ",\n\"%s\":%s", key, entries->is_declared ? "[" : "null");
	for (size_t i = 0; i < entries->n; i++) {
		const struct al_line line = al_line_of(block, list, &entries->items[i]);
		if (!al_entry_is_wanted(block, list, line.entry))
			continue;
		al_text_add(&d->variants, comma);
		add_line(d, &line);
		comma = ",";
	}
	al_text_add(&d->variants, entries->is_declared ? "]" : "");
}

/* An option that the basis or the configured variant decides can't be changed. */
static bool add_options(struct data *d, struct al_ledger *ledger, struct al_error *err)
{
	const struct al_variant *variant = d->configured->variant;

	al_text_add(&d->variants, ",\"options\":[");
	for (size_t i = 0; i < variant->n_options; i++) {
		const char *name = variant->options[i].name;
		const bool is_decided = is_fixed(d->configured, name)
			|| (d->e->basis.has_biases && strcmp(name, "biases") == 0);
		int64_t value;
		if (!al_ledger_symbol(ledger, name, 0, &value, err))
			return false;
		al_text_addf(&d->variants, "%s[%s,%d,%d]", i ? "," : "", quoted(d, name),
			value != 0, is_decided);
	}
	al_text_add(&d->variants, "]");
	return true;
}

static void add_fixed(struct data *d)
{
	const struct al_configured_variant *of = d->configured;
	size_t n = 0;

	al_text_add(&d->variants, ",\"fixed\":{");
	for (size_t i = 0; i < of->n_with; i++)
		if (!al_variant_has_option(of->variant, of->with[i].symbol))
			al_text_addf(&d->variants, "%s%s:%lld", n++ ? "," : "",
				quoted(d, of->with[i].symbol), (long long)of->with[i].value);
	al_text_add(&d->variants, "}");
}

static bool add_variant(struct data *d, size_t i, struct al_error *err)
{
	const struct al_variant *variant = d->e->request->variants.items[i].variant;
	struct al_ledger *ledger = d->e->ledgers[i];

	d->configured = &d->e->request->variants.items[i];
	al_text_addf(&d->variants, "%s{\"name\":%s,\"title\":%s,\"source\":%s,\"symbols\":{",
		i ? ",\n" : "\n", quoted(d, d->configured->name), quoted(d, variant->title),
		quoted(d, variant->source));
	for (size_t k = 0; k < variant->n_symbols; k++)
		al_text_addf(&d->variants, "%s%s:%s", k ? "," : "",
			quoted(d, variant->symbols[k].name), quoted(d, variant->symbols[k].text));
	al_text_add(&d->variants, "},\"sizes\":{");
	for (size_t k = 0; k < variant->n_defaults; k++)
		al_text_addf(&d->variants, "%s%s:%s", k ? "," : "",
			quoted(d, variant->defaults[k].name),
			place(d, variant->defaults[k].fallback));
	al_text_add(&d->variants, "}");
	add_fixed(d);
	if (!add_options(d, ledger, err))
		return al_in(err, "variant %s", d->configured->name);
	add_list(d, ledger, "tensors", AL_LIST_TENSORS);
	add_list(d, ledger, "cache", AL_LIST_CACHE);
	add_list(d, ledger, "products", AL_LIST_PRODUCTS);
	al_text_add(&d->variants, "}");
	d->configured = NULL;
	return true;
}

/* ---- all of it ---- */

static void add_symbols(struct data *d, struct al_text *out)
{
	enum { TOKENS = 8192 };
	size_t n;
	const char **symbols = all_symbols(d, &n);

	set_start(d->e, "batch", 1);
	set_start(d->e, "seq", TOKENS);
	for (size_t i = 0; i < n; i++)
		find_start(d, symbols[i]);
	for (size_t i = 0; i < n; i++) {
		const struct al_symbol *standard = standard_symbol(d, symbols[i]);
		al_text_addf(out,
			"%s{\"name\":%s,\"title\":%s,\"unit\":%s,\"default\":%s,\"start\":%s}",
			i ? ",\n" : "\"symbols\":[\n", quoted(d, symbols[i]),
			quoted(d, standard ? standard->title : NULL),
			quoted(d, standard ? standard->unit : NULL),
			place(d, standard ? standard->fallback : NULL), start_of(d, symbols[i]));
	}
	al_text_add(out, "],\n");
}

static void add_dtypes(struct data *d, struct al_text *out)
{
	const struct al_dtype *dtype;

	for (size_t i = 0; (dtype = al_dtype_at(i)); i++)
		al_text_addf(out, "%s[%s,%zu,%zu]", i ? "," : "\"dtypes\":[",
			quoted(d, dtype->name ? dtype->name : ""), dtype->block_bytes,
			dtype->block_elements);
	al_text_add(out, "],\n");
}

static bool add_all(struct data *d, struct al_text *out, struct al_error *err)
{
	static const char *const always[] = {"d_model", "n_heads", "n_layers", "seq", "batch"};
	const struct al_explore *e = d->e;
	const struct al_formula *sharing; /* query heads share key/value heads out evenly */

	if (!al_formula_parse(d->arena, "n_heads/n_kv_heads", AL_DIALECT_CATALOG, &sharing, err))
		return false;
	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
		add_symbol(d, always[i]);
	for (size_t i = 0; i < e->request->variants.n; i++)
		if (!add_variant(d, i, err))
			return false;
	al_text_addf(out, "{\"model\":%s,\"per\":\"%s\",\"dtype\":%s,\n",
		quoted(d, e->request->title),
		e->request->basis.per == AL_BASIS_MODEL ? "model" : "module",
		place_of_dtype(d, e->request->cache.dtype->name));
	add_symbols(d, out);
	for (int shared = 0; shared <= AL_PER_MODEL; shared++)
		al_text_addf(out, "%s%s", shared ? "," : "\"times\":[",
			place(d,
				al_block_times_formula(&e->ledgers[0]->block,
					(enum al_per)shared)));
	al_text_addf(out, "],\n\"whole\":[%s],\n", place(d, sharing));
	add_dtypes(d, out);
	al_text_addf(out, "\"variants\":[%s],\n\"formulas\":[\n%s]}\n", d->variants.data,
		d->formulas.data);
	return true;
}

bool al_explore_add_data(struct al_explore *e, struct al_text *out, struct al_error *err)
{
	struct data d = {.e = e, .arena = &e->session->arena};

	AL_TEXT(text);
	al_text_init(&d.variants);
	al_text_init(&d.formulas);
	const bool ok = add_all(&d, &text, err);
	/* '<' could end the element that contains the data */
	for (const char *p = text.data; ok && *p; p++)
		if (*p == '<')
			al_text_add(out, "\\u003c");
		else
			al_text_add_bytes(out, p, 1);
	al_text_finish(&d.variants);
	al_text_finish(&d.formulas);
	return ok;
}
