/* The symbols that the page asks for, and where it begins. */
#include "commands/explore.h"

#include <string.h>

#include "ledger/lines.h"

const struct al_explore_list al_explore_lists[AL_EXPLORE_LISTS] = {
	{"tensors", AL_LIST_TENSORS},
	{"cache", AL_LIST_CACHE},
	{"products", AL_LIST_PRODUCTS},
};

/* What the page asks for whatever its formulas hold. */
static const char *const always[] = {"d_model", "n_heads", "n_layers", "seq", "batch"};

enum { N_ALWAYS = sizeof(always) / sizeof(*always) };

/* ---- symbols ---- */

struct visit {
	struct al_explore *e;
	const struct al_configured_variant *configured; /* NULL: a formula of all */
};

bool al_explore_is_fixed(const struct al_configured_variant *configured, const char *symbol)
{
	for (size_t i = 0; i < configured->n_with; i++)
		if (strcmp(configured->with[i].symbol, symbol) == 0)
			return true;
	return false;
}

static void add_symbol(void *context, const char *symbol)
{
	const struct visit *visit = context;
	const struct al_configured_variant *of = visit->configured;
	struct al_explore *e = visit->e;

	if ((of && (al_variant_has_option(of->variant, symbol) || al_explore_is_fixed(of, symbol)))
		|| al_find_name(symbol, e->symbols, e->n_symbols) >= 0)
		return;
	e->symbols = al_grow(&e->session->arena, e->symbols, e->n_symbols, &e->symbols_room,
		sizeof(*e->symbols));
	e->symbols[e->n_symbols++] = symbol;
}

static void add_formula_symbols(struct visit *visit, const struct al_formula *formula)
{
	if (formula)
		al_formula_each_symbol(formula, add_symbol, visit);
}

static void add_line_symbols(struct visit *visit, const struct al_line *line)
{
	for (size_t i = 0; i < line->n_dims; i++)
		add_formula_symbols(visit, line->dims[i]);
	add_formula_symbols(visit, line->inner);
	add_formula_symbols(visit, line->count);
	add_formula_symbols(visit, line->entry->when);
	add_formula_symbols(visit, line->entry->tokens);
	if (line->entry->per == AL_PER_SOURCE_TOKEN)
		add_symbol(visit, "source_seq");
	add_formula_symbols(visit, al_ledger_times(visit->e->ledgers[0], line->entry->shared));
}

static void add_variant_symbols(struct al_explore *e, size_t variant)
{
	struct visit visit = {e, &e->request->variants.items[variant]};

	for (int i = 0; i < AL_EXPLORE_LISTS; i++) {
		const struct al_lines lines = al_ledger_lines(e->ledgers[variant],
			al_explore_lists[i].list, &e->session->arena);
		for (size_t k = 0; k < lines.n; k++)
			add_line_symbols(&visit, &lines.items[k]);
	}
}

const struct al_symbol *al_explore_standard(const struct al_explore *e, const char *name)
{
	size_t n;
	const struct al_symbol *symbols = al_catalog_symbols(e->session->catalog, &n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(symbols[i].name, name) == 0)
			return &symbols[i];
	return NULL;
}

/* The standard symbols in their own order, then those of variants as they came. */
static void order_symbols(struct al_explore *e)
{
	const char **found = e->symbols;
	const size_t n_found = e->n_symbols;
	size_t n;
	const struct al_symbol *standard = al_catalog_symbols(e->session->catalog, &n);
	struct visit all = {.e = e};

	e->symbols = NULL;
	e->n_symbols = e->symbols_room = 0;
	for (size_t i = 0; i < n; i++)
		if (al_find_name(standard[i].name, found, n_found) >= 0)
			add_symbol(&all, standard[i].name);
	for (size_t i = 0; i < n_found; i++)
		add_symbol(&all, found[i]);
}

/* ---- where it begins ---- */

static const struct al_binding *find_published(const struct al_explore *e, const char *symbol)
{
	const struct al_configured_variants *variants = &e->request->variants;

	for (size_t i = 0; i < variants->n; i++) {
		const struct al_variant *variant = variants->items[i].variant;
		for (size_t k = 0; k < variant->n_checks; k++)
			for (size_t j = 0; j < variant->checks[k].n_with; j++)
				if (strcmp(variant->checks[k].with[j].symbol, symbol) == 0)
					return &variant->checks[k].with[j];
	}
	return NULL;
}

static void set_start(struct al_explore *e, const char *symbol, int64_t value, const char *origin)
{
	if (!al_settings_gives(&e->settings, symbol))
		al_settings_set(&e->settings, symbol, value, origin);
}

static void find_starts(struct al_explore *e)
{
	enum { TOKENS = 8192 };

	set_start(e, "batch", 1, "explore");
	set_start(e, "seq", TOKENS, "explore");
	for (size_t i = 0; i < e->n_symbols; i++) {
		const struct al_symbol *standard = al_explore_standard(e, e->symbols[i]);
		const struct al_binding *published = find_published(e, e->symbols[i]);
		if (published && !(standard && standard->fallback))
			set_start(e, e->symbols[i], published->value, "explore");
	}
}

bool al_explore_find_symbols(struct al_explore *e, struct al_error *err)
{
	struct visit all = {.e = e};

	for (int i = 0; i < N_ALWAYS; i++)
		add_symbol(&all, always[i]);
	for (size_t i = 0; i < e->n_ledgers; i++)
		add_variant_symbols(e, i);
	for (size_t i = 0; i < e->n_symbols; i++) {
		const struct al_symbol *standard = al_explore_standard(e, e->symbols[i]);
		add_formula_symbols(&all, standard ? standard->fallback : NULL);
	}
	order_symbols(e);
	if (al_settings_gives(&e->settings, "n_encoder_layers")
		|| al_settings_gives(&e->settings, "n_decoder_layers"))
		return al_fail(err, AL_EINPUT,
			"%s is an encoder-decoder, and the page has one stack of layers",
			e->request->name);
	find_starts(e);
	return true;
}
