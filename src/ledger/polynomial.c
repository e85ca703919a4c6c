/* A block's parameters as one polynomial: what the poster's table of theory is derived from. */
#include "ledger/entries.h"

/* ---- which substitutions ---- */

/* Substitutions that live in an arena. */
struct replacements {
	struct al_arena *arena;
	struct al_substitutions all;
	const struct al_substitution *asked; /* [n_asked] */
	size_t n_asked;
};

static void add(struct replacements *to, const char *symbol, const struct al_formula *formula,
	const struct al_substitutions *within)
{
	struct al_substitutions *all = &to->all;

	*AL_APPEND(to->arena, all->items, all->n, all->room) = (struct al_substitution){symbol,
		formula, within};
}

static bool add_number(struct replacements *to, const char *symbol, int64_t value,
	struct al_error *err)
{
	const struct al_formula *formula;
	const char *text = al_format(to->arena, "%lld", (long long)value);

	if (!al_formula_parse(to->arena, text, AL_DIALECT_CATALOG, &formula, err))
		return false;
	add(to, symbol, formula, NULL);
	return true;
}

/* A symbol that is asked to be replaced by a name, perhaps its own, is one, though a variant fixes
 * it. */
static bool stays(const struct replacements *in, const char *symbol)
{
	const struct al_substitution *found = AL_FIND(in->asked, in->n_asked, symbol);

	return found && al_symbol_is_name(al_formula_source(found->formula));
}

/* Symbols fixed by the configured variant, and options. */
static bool add_numbers(struct replacements *to, struct al_block *block, struct al_error *err)
{
	const struct al_variant *variant = block->configured->variant;
	int64_t value;

	for (size_t i = 0; i < variant->n_options; i++)
		if (!al_block_read(block, variant->options[i].name, 0, &value, err)
			|| !add_number(to, variant->options[i].name, value, err))
			return false;
	for (size_t i = 0; i < block->configured->n_with; i++) {
		const struct al_binding *with = &block->configured->with[i];
		if (!AL_FIND(to->all.items, to->all.n, with->symbol) && !stays(to, with->symbol)
			&& !add_number(to, with->symbol, with->value, err))
			return false;
	}
	return true;
}

/* Does a tensor's shape name the symbol? */
static bool tensors_mention(const struct al_variant *variant, const char *symbol)
{
	for (size_t i = 0; i < variant->tensors.n; i++)
		if (al_shape_mentions(&variant->tensors.items[i].shape, symbol))
			return true;
	return false;
}

/* d_value is d_head: defaults that are another symbol of the variant (MLA has no d_head, so its
 * d_value stays). Symbols that the variant itself declares stay, too: n_kv_heads of GQA. A quotient
 * such as d_model/n_heads is not one: it would make fractions of polynomials. A default is followed
 * into what else is replaced. */
static void add_defaults(struct replacements *to, const struct al_block *block)
{
	const struct al_variant *variant = block->configured->variant;

	for (size_t i = 0; i < block->settings.n_symbols; i++) {
		const struct al_symbol *symbol = &block->settings.symbols[i];
		if (symbol->fallback && al_symbol_is_name(al_formula_source(symbol->fallback))
			&& tensors_mention(variant, al_formula_source(symbol->fallback))
			&& !AL_FIND(variant->symbols, variant->n_symbols, symbol->name)
			&& !al_block_gives(block, symbol->name)
			&& !AL_FIND(to->asked, to->n_asked, symbol->name))
			add(to, symbol->name, symbol->fallback, &to->all);
	}
}

/* The catalog's formulas see everything at once: numbers, what is asked for where it isn't a
 * number already, and defaults. Within what is asked for, numbers and defaults hold. */
static bool collect(struct replacements *to, struct replacements *inner, struct al_block *block,
	struct al_error *err)
{
	if (!add_numbers(inner, block, err) || !add_numbers(to, block, err))
		return false;
	add_defaults(inner, block);
	for (size_t i = 0; i < to->n_asked; i++)
		if (!AL_FIND(to->all.items, to->all.n, to->asked[i].symbol))
			add(to, to->asked[i].symbol, to->asked[i].formula, &inner->all);
	add_defaults(to, block);
	return true;
}

/* ---- sums and products ---- */

/* A list, or of the cache what is there for each token, or once for a sequence. */
struct lines {
	enum al_list list;
	bool is_once;
};

/* How often the basis covers the line; NULL: once. An encoder-decoder's cache is its decoder's. */
static bool find_times(const struct lines *of, const struct al_block *block,
	const struct al_entry *entry, const struct replacements *in, const struct al_formula **out,
	struct al_error *err)
{
	const bool is_cache = of->list == AL_LIST_CACHE;

	if (is_cache && entry->shared == AL_PER_MODULE && al_block_is_two_sided(block))
		return al_formula_parse(in->arena, "n_decoder_layers", AL_DIALECT_CATALOG, out,
			err);
	*out = al_block_times_formula(block, is_cache ? entry->shared : entry->per);
	return true;
}

/* Does the line depend on a symbol that stays one, though the variant fixes it? */
static bool depends_on_fixed(const struct al_block *block, const struct al_entry *entry,
	const struct replacements *in)
{
	const struct al_configured_variant *configured = block->configured;

	for (size_t i = 0; entry->when && i < configured->n_with; i++)
		if (stays(in, configured->with[i].symbol)
			&& al_formula_mentions(entry->when, configured->with[i].symbol))
			return true;
	return false;
}

/* What is fixed decides, also where it stays a symbol. */
static bool find_condition(struct al_block *block, const struct al_entry *entry,
	const struct replacements *in, const struct al_formula **when, bool *is_there,
	struct al_error *err)
{
	const struct al_scope scope = al_block_scope(block);

	*is_there = true;
	*when = entry->when;
	if (!depends_on_fixed(block, entry, in))
		return true;
	*when = NULL;
	return al_formula_holds(entry->when, &scope, is_there, err);
}

static bool add_line(struct al_polynomial *sum, const struct lines *of, struct al_block *block,
	const struct al_entry *entry, const struct replacements *in, struct al_error *err)
{
	struct al_line line = al_line_of(block, of->list, entry);
	struct al_product product = {0};
	bool is_there;

	if (!find_condition(block, entry, in, &product.when, &is_there, err))
		return false;
	if (!is_there)
		return true;

	for (size_t i = 0; i < line.n_dims; i++)
		product.factors[product.n++] = line.dims[i];
	product.factors[product.n++] = line.count;
	return find_times(of, block, entry, in, &product.factors[product.n++], err)
		&& al_polynomial_add(sum, &product, &in->all, err);
}

static bool is_among(const struct lines *of, const struct al_block *block,
	const struct al_entry *entry)
{
	return al_entry_is_wanted(block, of->list, entry)
		&& (of->list != AL_LIST_CACHE || (entry->per == AL_PER_SEQUENCE) == of->is_once);
}

static bool sum_lines(struct al_polynomial *sum, const struct lines *of, struct al_block *block,
	const struct replacements *in, struct al_error *err)
{
	const struct al_entries *entries = al_lines_of(block->configured->variant, of->list);

	for (size_t i = 0; i < entries->n; i++)
		if (is_among(of, block, &entries->items[i])
			&& !add_line(sum, of, block, &entries->items[i], in, err))
			return al_line_in(of->list, &entries->items[i], err);
	return true;
}

static bool sum_up(struct al_ledger *ledger, const struct lines *of,
	const struct al_substitution *substitutions, size_t n_substitutions,
	struct al_polynomial **out, struct al_error *err)
{
	struct al_block *block = &ledger->block;
	AL_ARENA(arena);
	const struct replacements none = {.arena = &arena,
		.asked = substitutions,
		.n_asked = n_substitutions};
	struct replacements in = none, inner = none;

	*out = al_polynomial_from_int(0);
	if (al_block_check_per(block, err) && collect(&in, &inner, block, err)
		&& sum_lines(*out, of, block, &in, err))
		return true;
	al_polynomial_destroy(*out);
	*out = NULL;
	return al_block_in(block, err);
}

bool al_ledger_polynomial(struct al_ledger *ledger, const struct al_substitution *substitutions,
	size_t n_substitutions, struct al_polynomial **out, struct al_error *err)
{
	const struct lines tensors = {.list = AL_LIST_TENSORS};

	return sum_up(ledger, &tensors, substitutions, n_substitutions, out, err);
}

bool al_ledger_cache_polynomial(struct al_ledger *ledger, bool is_once,
	const struct al_substitution *substitutions, size_t n_substitutions,
	struct al_polynomial **out, struct al_error *err)
{
	const struct lines cached = {.list = AL_LIST_CACHE, .is_once = is_once};

	return sum_up(ledger, &cached, substitutions, n_substitutions, out, err);
}

/* ---- cells ---- */

void al_cell_set_polynomial(struct al_table *table, struct al_cell *cell,
	const struct al_polynomial *polynomial, struct al_catalog *catalog)
{
	AL_TEXT(text);
	AL_TEXT(latex);
	al_polynomial_text(polynomial, &text);
	al_text_add(&latex, "$");
	al_polynomial_latex(polynomial, al_catalog_latex, catalog, &latex);
	al_text_add(&latex, "$");
	al_cell_set_latex(table, cell, text.data, latex.data);
}

void al_cell_set_order(struct al_table *table, struct al_cell *cell, const char *symbol, int degree,
	struct al_catalog *catalog)
{
	const char *latex = al_catalog_latex(catalog, symbol);

	if (degree == 0)
		al_cell_set_latex(table, cell, "O(1)", "$O(1)$");
	else if (degree == 1)
		al_cell_set_latex(table, cell, al_format(&table->arena, "O(%s)", symbol),
			al_format(&table->arena, "$O(%s)$", latex));
	else
		al_cell_set_latex(table, cell, al_format(&table->arena, "O(%s^%d)", symbol, degree),
			al_format(&table->arena, "$O(%s^{%d})$", latex, degree));
}
