/* A block's parameters as one polynomial: what the poster's table of theory is derived from. */
#include "ledger/entries.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

/* Substitutions: their symbols and formulas, applied all at once. */
struct replacements {
	struct al_arena *arena;
	struct al_substitution *items;
	size_t n, room;
};

static const struct al_formula *find(const struct replacements *all, const char *symbol,
	size_t length)
{
	for (size_t i = 0; i < all->n; i++)
		if (strlen(all->items[i].symbol) == length
			&& memcmp(all->items[i].symbol, symbol, length) == 0)
			return all->items[i].formula;
	return NULL;
}

static bool has(const struct replacements *all, const char *symbol)
{
	return find(all, symbol, strlen(symbol)) != NULL;
}

static void add(struct replacements *all, const char *symbol, const struct al_formula *formula)
{
	all->items = al_grow(all->arena, all->items, all->n, &all->room, sizeof(*all->items));
	all->items[all->n++] = (struct al_substitution){.symbol = symbol, .formula = formula};
}

/* ---- substitutions within substitutions ---- */

static size_t name_length(const char *p)
{
	size_t n = 0;

	if (isalpha((unsigned char)p[0]) || p[0] == '_')
		while (isalnum((unsigned char)p[n]) || p[n] == '_')
			n++;
	return n;
}

/* The bytes that stand together at p: a name, a quoted word, or one character. */
static size_t token_length(const char *p)
{
	const char *quote = *p == '\'' ? strchr(p + 1, '\'') : NULL;
	size_t n = quote ? (size_t)(quote - p) + 1 : name_length(p);

	return n ? n : 1;
}

/* `source` with the symbols of `inner` replaced. Symbols are names, so that the text says where
 * they stand; what replaces them is bracketed. */
static bool replace(const struct replacements *inner, const char *source,
	const struct al_formula **out, struct al_error *err)
{
	struct al_text text;

	al_text_init(&text);
	for (const char *p = source; *p;) {
		size_t length = token_length(p);
		const struct al_formula *formula = find(inner, p, length);
		if (formula)
			al_text_addf(&text, "(%s)", al_formula_source(formula));
		else
			al_text_add_bytes(&text, p, length);
		p += length;
	}
	bool ok = al_formula_parse(inner->arena, text.data, AL_DIALECT_CATALOG, out, err);
	al_text_finish(&text);
	return ok;
}

/* ---- which substitutions ---- */

static bool add_number(struct replacements *all, const char *symbol, int64_t value,
	struct al_error *err)
{
	const struct al_formula *formula;
	const char *text = al_format(all->arena, "%lld", (long long)value);

	if (!al_formula_parse(all->arena, text, AL_DIALECT_CATALOG, &formula, err))
		return false;
	add(all, symbol, formula);
	return true;
}

/* What the configured variant fixes, and options. */
static bool add_numbers(struct replacements *all, struct al_block *block, struct al_error *err)
{
	const struct al_variant *variant = block->configured->variant;
	int64_t value;

	for (size_t i = 0; i < variant->n_options; i++)
		if (!al_block_read(block, variant->options[i].name, 0, &value, err)
			|| !add_number(all, variant->options[i].name, value, err))
			return false;
	for (size_t i = 0; i < block->configured->n_with; i++) {
		const struct al_binding *with = &block->configured->with[i];
		if (!has(all, with->symbol) && !add_number(all, with->symbol, with->value, err))
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

/* d_value is d_head, n_kv_heads is n_heads: defaults that are another symbol of the variant (MLA
 * has no d_head, so its d_value stays). A quotient such as d_model/n_heads is not one: it would
 * make fractions of polynomials. */
static bool add_defaults(struct replacements *all, const struct al_block *block,
	const struct al_substitution *asked, size_t n_asked, const struct replacements *inner,
	struct al_error *err)
{
	for (size_t i = 0; i < block->settings.n_symbols; i++) {
		const struct al_symbol *symbol = &block->settings.symbols[i];
		const struct al_formula *formula;
		if (!symbol->fallback || !al_symbol_is_name(al_formula_source(symbol->fallback))
			|| !tensors_mention(block->configured->variant,
				al_formula_source(symbol->fallback))
			|| al_block_gives(block, symbol->name)
			|| AL_FIND(asked, n_asked, symbol->name))
			continue;
		if (!replace(inner, al_formula_source(symbol->fallback), &formula, err))
			return false;
		add(all, symbol->name, formula);
	}
	return true;
}

/* What is asked for, where it is not a number already; defaults and numbers hold inside it. */
static bool add_asked(struct replacements *all, const struct al_substitution *asked, size_t n_asked,
	const struct replacements *inner, struct al_error *err)
{
	for (size_t i = 0; i < n_asked; i++) {
		const struct al_formula *formula;
		if (has(all, asked[i].symbol))
			continue;
		if (!replace(inner, al_formula_source(asked[i].formula), &formula, err))
			return al_in(err, "substitution of %s", asked[i].symbol);
		add(all, asked[i].symbol, formula);
	}
	return true;
}

/* The catalogue's formulas see everything at once: numbers, what is asked for, and defaults, which
 * are followed into both. */
static bool collect(struct replacements *all, struct al_block *block,
	const struct al_substitution *asked, size_t n_asked, struct al_error *err)
{
	struct replacements inner = {.arena = all->arena};

	return add_numbers(&inner, block, err)
		&& add_defaults(&inner, block, asked, n_asked, &inner, err)
		&& add_numbers(all, block, err) && add_asked(all, asked, n_asked, &inner, err)
		&& add_defaults(all, block, asked, n_asked, all, err);
}

/* ---- sums and products ---- */

/* Puts `next` into the place of `*polynomial`. */
static void take(struct al_polynomial **polynomial, struct al_polynomial *next)
{
	al_polynomial_destroy(*polynomial);
	*polynomial = next;
}

static bool multiply(struct al_polynomial **product, const struct al_formula *formula,
	const struct replacements *all, struct al_error *err)
{
	struct al_polynomial *factor, *next;

	if (!al_polynomial_of(formula, all->items, all->n, &factor, err))
		return false;
	bool ok = al_polynomial_product(*product, factor, &next, err);
	al_polynomial_destroy(factor);
	if (ok)
		take(product, next);
	return ok;
}

/* A list, or of the cache what is there for each token, or once for a sequence. */
struct lines {
	enum al_list list;
	bool is_once;
};

/* How often the basis covers the line; NULL: once. An encoder-decoder's cache is its decoder's. */
static bool find_times(const struct lines *of, const struct al_block *block,
	const struct al_entry *entry, const struct replacements *all, const struct al_formula **out,
	struct al_error *err)
{
	const bool is_cache = of->list == AL_LIST_CACHE;

	if (is_cache && entry->shared == AL_PER_MODULE && al_block_is_two_sided(block))
		return al_formula_parse(all->arena, "n_decoder_layers", AL_DIALECT_CATALOG, out,
			err);
	*out = al_block_times_formula(block, is_cache ? entry->shared : entry->per);
	return true;
}

static bool multiply_line(struct al_polynomial **product, const struct lines *of,
	const struct al_block *block, const struct al_entry *entry, const struct replacements *all,
	struct al_error *err)
{
	struct al_line_shape shape = al_line_shape_of(block, of->list, entry);
	const struct al_formula *times;

	if (!find_times(of, block, entry, all, &times, err))
		return false;
	for (size_t i = 0; i < shape.n_dims; i++)
		if (!multiply(product, shape.dims[i], all, err))
			return false;
	return (!shape.count || multiply(product, shape.count, all, err))
		&& (!times || multiply(product, times, all, err));
}

static bool line_polynomial(const struct lines *of, const struct al_block *block,
	const struct al_entry *entry, const struct replacements *all, struct al_polynomial **out,
	struct al_error *err)
{
	struct al_polynomial *next;

	*out = al_polynomial_from_int(1);
	bool ok = multiply_line(out, of, block, entry, all, err);
	if (ok && entry->when) {
		ok = al_polynomial_when(entry->when, all->items, all->n, *out, &next, err);
		if (ok)
			take(out, next);
	}
	if (!ok)
		take(out, NULL);
	return ok;
}

static bool add_line(struct al_polynomial **sum, const struct lines *of,
	const struct al_block *block, const struct al_entry *entry, const struct replacements *all,
	struct al_error *err)
{
	struct al_polynomial *term, *next;

	if (!line_polynomial(of, block, entry, all, &term, err))
		return false;
	bool ok = al_polynomial_sum(*sum, term, &next, err);
	al_polynomial_destroy(term);
	if (ok)
		take(sum, next);
	return ok;
}

static bool is_among(const struct lines *of, const struct al_block *block,
	const struct al_entry *entry)
{
	return al_entry_is_wanted(block, of->list, entry)
		&& (of->list != AL_LIST_CACHE || (entry->per == AL_PER_SEQUENCE) == of->is_once);
}

static bool sum_lines(struct al_polynomial **sum, const struct lines *of, struct al_block *block,
	const struct replacements *all, struct al_error *err)
{
	const struct al_entries *entries = al_lines_of(block->configured->variant, of->list);

	for (size_t i = 0; i < entries->n; i++)
		if (is_among(of, block, &entries->items[i])
			&& !add_line(sum, of, block, &entries->items[i], all, err))
			return al_line_in(of->list, &entries->items[i], err);
	return true;
}

static bool sum_up(struct al_ledger *ledger, const struct lines *of,
	const struct al_substitution *substitutions, size_t n_substitutions,
	struct al_polynomial **out, struct al_error *err)
{
	struct al_block *block = &ledger->block;
	struct al_arena arena;

	*out = al_polynomial_from_int(0);
	al_arena_init(&arena);
	struct replacements all = {.arena = &arena};
	bool ok = al_block_check_per(block, err)
		&& collect(&all, block, substitutions, n_substitutions, err)
		&& sum_lines(out, of, block, &all, err);
	al_arena_finish(&arena);
	if (ok)
		return true;
	take(out, NULL);
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
