/* Ledgers: the lines of a block that count, with what a reader needs to follow them. */
#include "ledger/block.h"

#include <string.h>

#include "base/number.h"
#include "base/text.h"

/* ---- texts ---- */

/* Could "text * other" read wrongly? A blank may stand around a word such as `and`. */
static bool needs_brackets(const char *text)
{
	int depth = 0;

	for (const char *p = text; *p; p++) {
		depth += (*p == '(') - (*p == ')');
		if (depth == 0 && strchr("+-<>=! ", *p))
			return true;
	}
	return false;
}

static void add_factor(struct al_text *text, const char *factor, bool is_only)
{
	bool bracketed = !is_only && needs_brackets(factor);

	al_text_addf(text, "%s%s%s%s", text->length ? " * " : "", bracketed ? "(" : "", factor,
		bracketed ? ")" : "");
}

/* The factors of a line: count and dims. */
static size_t factors_of(const struct al_line_shape *shape,
	const struct al_formula *factors[AL_MOST_DIMS + 1])
{
	size_t n = 0;

	if (shape->count)
		factors[n++] = shape->count;
	for (size_t i = 0; i < shape->n_dims; i++)
		factors[n++] = shape->dims[i];
	return n;
}

static bool add_factors(struct al_text *text, struct al_block *block,
	const struct al_line_shape *shape, bool substituted, struct al_arena *arena,
	struct al_error *err)
{
	struct al_scope scope = al_block_scope(block);
	const struct al_formula *factors[AL_MOST_DIMS + 1];
	size_t n = factors_of(shape, factors);

	for (size_t i = 0; i < n; i++) {
		const char *factor = al_formula_source(factors[i]);
		if (substituted && !al_formula_substituted(factors[i], &scope, arena, &factor, err))
			return false;
		add_factor(text, factor, n == 1);
	}
	return true;
}

/* "d_model * n_heads*d_head", or with values "768 * 12*64"; "1" for a tensor without dimensions. */
static bool write_product(struct al_ledger *ledger, struct al_block *block,
	const struct al_line_shape *shape, bool substituted, const char **out, struct al_error *err)
{
	struct al_text text;

	al_text_init(&text);
	bool ok = add_factors(&text, block, shape, substituted, &ledger->arena, err);
	*out = al_strdup(&ledger->arena, text.length ? text.data : "1");
	al_text_finish(&text);
	return ok;
}

static bool write_texts(struct al_ledger *ledger, struct al_block *block,
	const struct al_lines *lines, bool explain, struct al_ledger_entry *line,
	struct al_error *err)
{
	struct al_line_shape shape = al_line_shape_of(block, lines, line->entry);

	return write_product(ledger, block, &shape, false, &line->formula, err)
		&& (!explain
			|| write_product(ledger, block, &shape, true, &line->substituted, err));
}

/* ---- ledgers ---- */

static mpq_srcptr count_elements(struct al_ledger *ledger, const struct al_ledger_entry *line)
{
	mpq_t elements;

	mpq_init(elements);
	al_line_elements(mpq_numref(elements), line);
	mpq_srcptr copy = al_exact_copy(&ledger->arena, elements);
	mpq_clear(elements);
	return copy;
}

static bool add_lines(struct al_ledger *ledger, struct al_block *block,
	const struct al_lines *lines, bool explain, struct al_error *err)
{
	const struct al_entries *entries = al_lines_of(block, lines->list);

	ledger->entries = al_new_array(&ledger->arena, struct al_ledger_entry, entries->n);
	for (size_t i = 0; i < entries->n; i++) {
		struct al_ledger_entry *line = &ledger->entries[ledger->n];
		bool counts;
		if (!al_line_evaluate(block, lines, &entries->items[i], &counts, line, err))
			return false;
		if (!counts)
			continue;
		line->elements = count_elements(ledger, line);
		if (!write_texts(ledger, block, lines, explain, line, err))
			return al_line_in(lines, &entries->items[i], err);
		ledger->n++;
	}
	return lines->list == AL_LIST_CACHE
		? al_block_cached_times(block, &ledger->modules, err)
		: al_block_times(block, AL_PER_MODULE, &ledger->modules, err);
}

static bool fill(struct al_ledger *ledger, struct al_block *block, struct al_lines lines,
	bool explain, struct al_error *err)
{
	*ledger = (struct al_ledger){0};
	al_arena_init(&ledger->arena);
	if (add_lines(ledger, block, &lines, explain, err))
		return true;
	al_ledger_finish(ledger);
	return al_block_in(block, err);
}

bool al_ledger_tensors(struct al_ledger *ledger, struct al_block *block, bool with_buffers,
	bool explain, struct al_error *err)
{
	struct al_lines lines = {.list = AL_LIST_TENSORS, .with_buffers = with_buffers};

	return fill(ledger, block, lines, explain, err);
}

bool al_ledger_cache(struct al_ledger *ledger, struct al_block *block, bool explain,
	struct al_error *err)
{
	return fill(ledger, block, (struct al_lines){.list = AL_LIST_CACHE}, explain, err);
}

bool al_ledger_activations(struct al_ledger *ledger, struct al_block *block,
	const struct al_recipe *recipe, bool explain, struct al_error *err)
{
	struct al_lines lines = {.list = AL_LIST_ACTIVATIONS, .is_flash = recipe->is_flash};

	return fill(ledger, block, lines, explain, err);
}

bool al_ledger_products(struct al_ledger *ledger, struct al_block *block, bool explain,
	struct al_error *err)
{
	return fill(ledger, block, (struct al_lines){.list = AL_LIST_PRODUCTS}, explain, err);
}

void al_ledger_finish(struct al_ledger *ledger)
{
	al_arena_finish(&ledger->arena);
	ledger->entries = NULL;
	ledger->n = 0;
}
