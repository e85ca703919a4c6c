/* The data of the page: formulas and where they begin. */
#include "commands/explore.h"

#include <string.h>

#include "base/format.h"
#include "ledger/lines.h"

/* ---- JSON ---- */

/* The formulas that were named so far. */
struct data {
	struct al_explore *e;
	struct al_text *out, formulas;
	const char **sources;
	size_t n_sources, room;
};

/* '<' could end the element that the data stands in. */
static void quote(struct al_text *out, const char *text)
{
	struct al_text quoted;

	al_text_init(&quoted);
	al_json_quote(&quoted, text);
	for (const char *p = quoted.data; *p; p++)
		if (*p == '<')
			al_text_add(out, "\\u003c");
		else
			al_text_add_bytes(out, p, 1);
	al_text_finish(&quoted);
}

static void add_member(struct al_text *out, const char *key, const char *text)
{
	al_text_addf(out, "\"%s\":", key);
	if (text)
		quote(out, text);
	else
		al_text_add(out, "null");
}

static void add_new_formula(struct data *d, const struct al_formula *formula)
{
	struct al_text postfix;

	al_text_init(&postfix);
	al_formula_postfix(formula, &postfix);
	al_text_add(&d->formulas, d->n_sources ? ",\n[" : "[");
	quote(&d->formulas, al_formula_source(formula));
	al_text_add(&d->formulas, ",");
	quote(&d->formulas, postfix.data);
	al_text_add(&d->formulas, "]");
	al_text_finish(&postfix);
	d->sources = al_grow(&d->e->session->arena, d->sources, d->n_sources, &d->room,
		sizeof(*d->sources));
	d->sources[d->n_sources++] = al_formula_source(formula);
}

/* The formula's place, or null. */
static void add_place(struct data *d, const struct al_formula *formula)
{
	if (!formula) {
		al_text_add(d->out, "null");
		return;
	}
	int place = al_find_name(al_formula_source(formula), d->sources, d->n_sources);
	if (place < 0) {
		add_new_formula(d, formula);
		place = (int)d->n_sources - 1;
	}
	al_text_addf(d->out, "%d", place);
}

/* False where the symbol has no value, and no default that can be told. */
static bool find_start(struct al_explore *e, const char *symbol, int64_t *out)
{
	const struct al_setting *setting;

	if (!al_settings_get(&e->settings, symbol, &setting, NULL) || !setting || setting->list
		|| setting->value.kind != AL_VALUE_INTEGER)
		return false;
	*out = setting->value.integer;
	return true;
}

static void add_symbols(struct data *d)
{
	struct al_explore *e = d->e;

	al_text_add(d->out, "\"symbols\":[");
	for (size_t i = 0; i < e->n_symbols; i++) {
		const struct al_symbol *standard = al_explore_standard(e, e->symbols[i]);
		const bool is_given = al_settings_gives(&e->settings, e->symbols[i]);
		int64_t start;
		al_text_add(d->out, i ? ",\n{" : "\n{");
		add_member(d->out, "name", e->symbols[i]);
		al_text_add(d->out, ",");
		add_member(d->out, "title", standard ? standard->title : NULL);
		al_text_add(d->out, ",");
		add_member(d->out, "unit", standard ? standard->unit : NULL);
		al_text_add(d->out, ",\"default\":");
		add_place(d, standard ? standard->fallback : NULL);
		if (is_given && find_start(e, e->symbols[i], &start))
			al_text_addf(d->out, ",\"start\":%lld}", (long long)start);
		else
			al_text_add(d->out, ",\"start\":null}");
	}
	al_text_add(d->out, "],\n");
}

static void add_times(struct data *d)
{
	al_text_add(d->out, "\"times\":[");
	for (int shared = 0; shared <= AL_PER_MODEL; shared++) {
		al_text_add(d->out, shared ? "," : "");
		add_place(d, al_ledger_times(d->e->ledgers[0], (enum al_per)shared));
	}
	al_text_add(d->out, "],\n");
}

/* Query heads share key/value heads out evenly. */
static bool add_whole(struct data *d, struct al_error *err)
{
	const struct al_formula *sharing;

	if (!al_formula_parse(&d->e->session->arena, "n_heads/n_kv_heads", AL_DIALECT_CATALOG,
		    &sharing, err))
		return false;
	al_text_add(d->out, "\"whole\":[");
	add_place(d, sharing);
	al_text_add(d->out, "],\n");
	return true;
}

static void add_dtypes(struct data *d)
{
	const struct al_dtype *dtype;

	al_text_add(d->out, "\"dtypes\":[");
	for (size_t i = 0; (dtype = al_dtype_at(i)); i++) {
		al_text_add(d->out, i ? ",[" : "[");
		quote(d->out, dtype->name ? dtype->name : "");
		al_text_addf(d->out, ",%zu,%zu]", dtype->block_bytes, dtype->block_elements);
	}
	al_text_add(d->out, "],\n");
}

static int place_of_dtype(const char *name)
{
	const struct al_dtype *named = al_dtype_named(name), *dtype;

	for (int i = 0; (dtype = al_dtype_at((size_t)i)); i++)
		if (dtype == named)
			return i;
	return -1;
}

static void add_dims(struct data *d, const struct al_line *line)
{
	al_text_add(d->out, "[");
	for (size_t i = 0; i < line->n_dims; i++) {
		al_text_add(d->out, i ? "," : "");
		add_place(d, line->dims[i]);
	}
	al_text_add(d->out, "]");
}

/* What is null at the end of a line says nothing. */
static void trim(struct al_text *out)
{
	static const char nothing[] = ",null";
	const size_t n = sizeof(nothing) - 1;

	while (out->length > n && strcmp(out->data + out->length - n, nothing) == 0)
		out->data[out->length -= n] = '\0';
}

static void add_line(struct data *d, const struct al_line *line)
{
	const struct al_entry *entry = line->entry;
	const struct al_formula *const formulas[] = {line->count, entry->when, entry->tokens};
	const bool has_per = entry->per == AL_PER_SOURCE_TOKEN || entry->per == AL_PER_SEQUENCE;

	al_text_add(d->out, "[");
	quote(d->out, entry->name);
	al_text_add(d->out, ",");
	add_dims(d, line);
	if (entry->shared == AL_PER_MODULE)
		al_text_add(d->out, ",null");
	else
		al_text_addf(d->out, ",%d", (int)entry->shared);
	for (size_t i = 0; i < sizeof(formulas) / sizeof(*formulas); i++) {
		al_text_add(d->out, ",");
		add_place(d, formulas[i]);
	}
	al_text_add(d->out, ",");
	if (has_per)
		quote(d->out, al_per_names[entry->per]);
	else
		al_text_add(d->out, "null");
	if (entry->dtype)
		al_text_addf(d->out, ",%d,", place_of_dtype(entry->dtype));
	else
		al_text_add(d->out, ",null,");
	add_place(d, line->inner);
	trim(d->out);
	al_text_add(d->out, "]");
}

static void add_list(struct data *d, const struct al_ledger *ledger, const char *key,
	enum al_list list)
{
	const struct al_lines lines = al_ledger_lines(ledger, list, &d->e->session->arena);

	al_text_addf(d->out, ",\n\"%s\":", key);
	if (!lines.is_declared) {
		al_text_add(d->out, "null");
		return;
	}
	al_text_add(d->out, "[");
	for (size_t i = 0; i < lines.n; i++) {
		al_text_add(d->out, i ? "," : "");
		add_line(d, &lines.items[i]);
	}
	al_text_add(d->out, "]");
}

/* An option that the basis or the configured variant decides can't be changed. */
static bool add_options(struct data *d, struct al_ledger *ledger,
	const struct al_configured_variant *configured, struct al_error *err)
{
	const struct al_variant *variant = configured->variant;

	al_text_add(d->out, ",\"options\":[");
	for (size_t i = 0; i < variant->n_options; i++) {
		const char *name = variant->options[i].name;
		const bool is_decided = al_explore_is_fixed(configured, name)
			|| (d->e->basis.has_biases && strcmp(name, "biases") == 0);
		int64_t value;
		if (!al_ledger_symbol(ledger, name, 0, &value, err))
			return false;
		al_text_add(d->out, i ? ",[" : "[");
		quote(d->out, name);
		al_text_addf(d->out, ",%d,%d]", value != 0, is_decided);
	}
	al_text_add(d->out, "]");
	return true;
}

static void add_fixed(struct data *d, const struct al_configured_variant *configured)
{
	size_t n = 0;

	al_text_add(d->out, ",\"fixed\":{");
	for (size_t i = 0; i < configured->n_with; i++) {
		const struct al_binding *with = &configured->with[i];
		if (al_variant_has_option(configured->variant, with->symbol))
			continue;
		al_text_add(d->out, n++ ? "," : "");
		quote(d->out, with->symbol);
		al_text_addf(d->out, ":%lld", (long long)with->value);
	}
	al_text_add(d->out, "}");
}

static void add_meanings(struct data *d, const struct al_variant *variant)
{
	al_text_add(d->out, ",\"symbols\":{");
	for (size_t i = 0; i < variant->n_symbols; i++) {
		al_text_add(d->out, i ? "," : "");
		quote(d->out, variant->symbols[i].name);
		al_text_add(d->out, ":");
		quote(d->out, variant->symbols[i].text);
	}
	al_text_add(d->out, "}");
}

static bool add_variant(struct data *d, size_t i, struct al_error *err)
{
	const struct al_configured_variant *configured = &d->e->request->variants.items[i];
	struct al_ledger *ledger = d->e->ledgers[i];

	al_text_add(d->out, i ? ",\n{" : "\n{");
	add_member(d->out, "name", configured->name);
	al_text_add(d->out, ",");
	add_member(d->out, "title", configured->variant->title);
	al_text_add(d->out, ",");
	add_member(d->out, "source", configured->variant->source);
	add_meanings(d, configured->variant);
	add_fixed(d, configured);
	if (!add_options(d, ledger, configured, err))
		return al_in(err, "variant %s", configured->name);
	for (int k = 0; k < AL_EXPLORE_LISTS; k++)
		add_list(d, ledger, al_explore_lists[k].key, al_explore_lists[k].list);
	al_text_add(d->out, "}");
	return true;
}

static bool add_variants(struct data *d, struct al_error *err)
{
	al_text_add(d->out, "\"variants\":[");
	for (size_t i = 0; i < d->e->n_ledgers; i++)
		if (!add_variant(d, i, err))
			return false;
	al_text_add(d->out, "],\n");
	return true;
}

static bool add_all(struct data *d, struct al_error *err)
{
	const struct al_explore *e = d->e;

	al_text_add(d->out, "{");
	add_member(d->out, "model", e->request->title);
	al_text_addf(d->out, ",\"per\":\"%s\",\"dtype\":%d,\n",
		e->request->basis.per == AL_BASIS_MODEL ? "model" : "module",
		place_of_dtype(e->request->cache.dtype->name));
	add_symbols(d);
	add_times(d);
	if (!add_whole(d, err))
		return false;
	add_dtypes(d);
	if (!add_variants(d, err))
		return false;
	al_text_addf(d->out, "\"formulas\":[\n%s]}\n", d->formulas.data);
	return true;
}

bool al_explore_add_data(struct al_explore *e, struct al_text *out, struct al_error *err)
{
	struct data d = {.e = e, .out = out};

	al_text_init(&d.formulas);
	bool ok = add_all(&d, err);
	al_text_finish(&d.formulas);
	return ok;
}
