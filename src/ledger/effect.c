/* What a change in a configured variant changes: its formulas say it, under its options. */
#include "ledger/configured.h"

#include <string.h>

#include "base/text.h"

/* What entries are multiplied by, whatever their formulas hold. */
static const char *const multipliers[] = {"batch", "seq", "source_seq", "layer", "n_layers",
	"n_encoder_layers", "n_decoder_layers"};
enum { N_MULTIPLIERS = sizeof(multipliers) / sizeof(*multipliers) };

struct effect {
	const struct al_configured_variant *configured;
	const struct al_symbol *symbols;
	size_t n_symbols;
	struct al_scope options;
	const char *symbol, *option; /* that formulas are asked about */
};

static bool is_on(const struct al_configured_variant *configured, const struct al_option *option)
{
	const struct al_binding *change = AL_FIND(configured->with, configured->n_with,
		option->name);

	return change ? change->value != 0 : option->is_on;
}

/* Options have values here, and nothing else has. */
static bool look_up(void *context, const struct al_reference *reference, bool *found,
	struct al_value *out, struct al_error *err)
{
	const struct al_configured_variant *configured = context;
	const struct al_option *option = AL_FIND(configured->variant->options,
		configured->variant->n_options, reference->symbol);

	(void)err;
	*found = option;
	if (option)
		al_value_set_int(out, is_on(configured, option));
	return true;
}

/* ---- formulas that hang on a symbol ---- */

typedef bool asks(const struct effect *e, const struct al_formula *formula);

static bool entry_asks(const struct effect *e, const struct al_entry *entry, asks *ask)
{
	const struct al_formula *formulas[AL_ENTRY_FORMULAS];
	const size_t n = al_entry_formulas(entry, formulas);
	bool is_there;

	if (entry->when && al_formula_holds(entry->when, &e->options, &is_there, NULL) && !is_there)
		return false;
	for (size_t i = 0; i < n; i++)
		if (ask(e, formulas[i]))
			return true;
	return false;
}

static bool any_asks(const struct effect *e, asks *ask)
{
	const struct al_variant *variant = e->configured->variant;
	const struct al_entries *const lists[] = {&variant->tensors, &variant->cache,
		&variant->activations, &variant->products};

	for (size_t list = 0; list < sizeof(lists) / sizeof(*lists); list++)
		for (size_t i = 0; i < lists[list]->n; i++)
			if (entry_asks(e, &lists[list]->items[i], ask))
				return true;
	return false;
}

static bool depends(const struct effect *e, const struct al_formula *formula)
{
	return al_formula_depends(formula, e->symbol, &e->options);
}

/* Itself, or through the default of another symbol: d_head is d_model/n_heads. */
static bool has_effect(struct effect *e, const char *symbol)
{
	e->symbol = symbol;
	if (al_find_name(symbol, multipliers, N_MULTIPLIERS) >= 0 || any_asks(e, depends))
		return true;
	for (size_t i = 0; i < e->n_symbols; i++)
		if (al_formula_mentions(e->symbols[i].fallback, symbol)
			&& !AL_FIND(e->configured->with, e->configured->n_with, e->symbols[i].name)
			&& has_effect(e, e->symbols[i].name))
			return true;
	return false;
}

/* ---- why not ---- */

static bool holds_both(const struct effect *e, const struct al_formula *formula)
{
	return al_formula_mentions(formula, e->symbol) && al_formula_mentions(formula, e->option);
}

static bool fail(struct effect *e, const struct al_binding *change, struct al_error *err)
{
	const struct al_variant *variant = e->configured->variant;

	e->symbol = change->symbol;
	for (size_t i = 0; i < variant->n_options; i++) {
		e->option = variant->options[i].name;
		if (any_asks(e, holds_both))
			return al_fail(err, AL_EINPUT,
				"variant %s (%s): %s=%lld changes nothing while %s is %s",
				variant->name, variant->file, change->symbol,
				(long long)change->value, e->option,
				is_on(e->configured, &variant->options[i]) ? "true" : "false");
	}
	return al_fail(err, AL_EINPUT,
		"variant %s (%s): %s=%lld changes nothing: no formula of it holds %s",
		variant->name, variant->file, change->symbol, (long long)change->value,
		change->symbol);
}

bool al_configured_variant_check(const struct al_configured_variant *configured,
	const struct al_symbol *symbols, size_t n_symbols, struct al_error *err)
{
	struct al_configured_variant copy = *configured;
	struct effect e = {.configured = configured,
		.symbols = symbols,
		.n_symbols = n_symbols,
		.options = {.lookup = look_up, .context = &copy}};

	for (size_t i = 0; i < configured->n_with; i++)
		if (!al_variant_has_option(configured->variant, configured->with[i].symbol)
			&& !has_effect(&e, configured->with[i].symbol))
			return fail(&e, &configured->with[i], err);
	return true;
}
