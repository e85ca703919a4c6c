/* What feed-forward blocks save, from their matrices. */
#include "ledger/saved_parts.h"

#include "ledger/entries.h"
#include "ledger/states.h"

struct al_sides al_saved_sides(const struct al_ledger_entry *t)
{
	const struct al_family_tensor *family = t->stored->tensor;
	bool in_first = family->order == AL_ORDER_IN_OUT;
	size_t out = in_first ? t->n_dims - 1 : 0, in = in_first ? 0 : 1;
	struct al_sides sides = {.out = t->dims[out], .in = t->dims[in]};

	if (family->packed > 1) /* blocks of packed numbers after the output's rows */
		for (size_t i = 2; i < t->n_dims; i++)
			sides.in *= t->dims[i];
	if (family->packed > 1)
		sides.in *= family->packed;
	return sides;
}

bool al_saved_is_feed_forward(const struct al_ledger_entry *t)
{
	return t->stored && t->part == AL_PART_FEED_FORWARD && t->is_matrix && t->sees_text
		&& t->entry->kind == AL_TENSOR_WEIGHT;
}

/* Does it read the residual stream? */
static bool reads_model(const struct al_ledger_entry *t)
{
	return t->stored->tensor->role != AL_FEED_DOWN;
}

/* Numbers that a token meets: of the active copies. */
static int64_t active_copies(const struct al_ledger_entry *t)
{
	return t->stored->active_copies * t->stored->active;
}

static const char *name_of(struct al_saved_build *b, const char *what,
	const struct al_ledger_entry *t)
{
	return al_format(b->arena, "%s of %s", what, t->name);
}

/* Is the module in the layers that the tensor is in? Norms carry no stack. */
static bool shares_layers(const struct al_ledger_module *module, const struct al_ledger_entry *t)
{
	const enum al_layer_stack stack = t->stored->tensor->stack;

	return module->sees_text && (t->layer < 0 || module->layer == t->layer)
		&& (t->part != AL_PART_FEED_FORWARD || module->of->module->stack == stack);
}

/* How often tensors of which there are `copies` work on a token: where layers share a block
 * (ALBERT), as often as its attention modules do. */
static int64_t uses_of(const struct al_saved_build *b, const struct al_ledger_entry *t,
	int64_t copies)
{
	int64_t modules = 0, uses = 0;

	for (size_t i = 0; t->n_layers > 0 && i < b->ledger->n_modules; i++) {
		const struct al_ledger_module *module = &b->ledger->modules[i];
		if (!shares_layers(module, t))
			continue;
		modules += module->copies;
		uses += module->copies * module->uses;
	}
	return modules == uses ? copies : copies * uses / modules;
}

/* In how many layers the tensor is: the iterations of its loops without those over experts. */
static int64_t layers_of(const struct al_saved_build *b, const struct al_ledger_entry *t)
{
	struct al_scope scope = al_settings_scope(&b->ledger->settings);
	const struct al_loops *loops = &t->stored->tensor->loops;
	int64_t copies = t->stored->copies, iterations;

	for (size_t i = 1; i < loops->n; i++)
		if (al_formula_whole(loops->items[i].count, &scope, 1, &iterations, NULL)
			&& copies % iterations == 0)
			copies /= iterations;
	return copies;
}

/* Feed-forward tensors that are in as many layers are of one kind of block. */
static int64_t block_of(const struct al_saved_build *b, const struct al_ledger_entry *t)
{
	return (int64_t)b->ledger->n_modules + (t->layer < 0 ? layers_of(b, t) : t->layer);
}

static struct al_saved_entry line_of(struct al_saved_build *b, const char *what,
	const struct al_ledger_entry *t)
{
	return (struct al_saved_entry){.part = t->part,
		.name = name_of(b, what, t),
		.layer = t->layer,
		.n_layers = t->n_layers,
		.block = block_of(b, t),
		.blocks = uses_of(b, t, layers_of(b, t))};
}

static bool share_block(const struct al_ledger_entry *a, const struct al_ledger_entry *b)
{
	return a->layer == b->layer && a->is_expert == b->is_expert
		&& a->stored->tensor->stack == b->stored->tensor->stack;
}

/* Of a tensor's block, of one expert: the matrices that read its input, or of the matrix after them
 * itself; and whether they put out more than that reads: a gate. */
static struct al_saved_reading read_block(const struct al_saved_build *b,
	const struct al_ledger_entry *t)
{
	struct al_saved_reading by = {.is_expert = t->is_expert};
	int64_t out = 0, in = 0;

	for (size_t i = 0; i < b->n_matrices; i++) {
		const struct al_ledger_entry *other = b->matrices[i];
		if (!share_block(other, t) || other->stored->tensor->role == AL_FEED_ROUTER)
			continue;
		by.readers += reads_model(other) == reads_model(t)
			&& al_saved_has_adapter(b, al_entry_adapted(other));
		out += reads_model(other) ? al_saved_sides(other).out : 0;
		in = reads_model(other) ? in : al_saved_sides(other).in;
	}
	by.is_gated = out > in;
	return by;
}

static void add_inner(struct al_saved_build *b, const char *what, const struct al_ledger_entry *t,
	int64_t width, enum al_saved_of of)
{
	const struct al_saved_reading by = read_block(b, t);
	struct al_saved_entry *line = al_saved_add_tokens(b, line_of(b, what, t), width,
		uses_of(b, t, active_copies(t)));

	line->device = al_exact_scaled(b->arena, line->elements, 1, b->tp);
	al_saved_rule(b, line, of, &by);
}

struct al_saved_entry *al_saved_add_width(struct al_saved_build *b, const char *what,
	const struct al_ledger_entry *t, int64_t width, int64_t copies, int64_t bytes)
{
	struct al_saved_entry *line = al_saved_add_tokens(b, line_of(b, what, t), width,
		uses_of(b, t, copies));

	line->bytes = bytes;
	line->is_routed = t->is_expert;
	if (!t->is_expert)
		line->block = -1;
	return line;
}

/* Is an earlier matrix fed with the same numbers? One copy of the tokens goes to each expert, one
 * to all that isn't an expert. */
static bool has_earlier_reader(const struct al_saved_build *b, const struct al_ledger_entry *t)
{
	for (size_t i = 0; b->matrices[i] != t; i++) {
		const struct al_ledger_entry *other = b->matrices[i];
		if (share_block(other, t) && reads_model(other)
			&& (!t->is_expert || other->stored->tensor != t->stored->tensor))
			return true;
	}
	return false;
}

void al_saved_add_feed_forward(struct al_saved_build *b, const struct al_ledger_entry *t)
{
	struct al_sides sides = al_saved_sides(t);

	if (!reads_model(t)) {
		add_inner(b, "input", t, sides.in, AL_SAVED_OF_DOWN);
		return;
	}
	add_inner(b, "output", t, sides.out, AL_SAVED_OF_INNER);
	if (has_earlier_reader(b, t))
		return;
	int64_t layers = t->layer < 0 && t->n_layers > 0 ? t->n_layers : 1;
	const struct al_saved_reading by = read_block(b, t);
	struct al_saved_entry *line = al_saved_add_width(b, "input", t, sides.in,
		t->is_expert ? active_copies(t) : layers, 0);
	al_saved_rule(b, line, t->is_expert ? AL_SAVED_OF_ROUTED : AL_SAVED_OF_MATRIX, &by);
	if (b->has_dropout && !t->is_expert)
		al_saved_add_width(b, "dropout mask after the block", t, b->d_model, layers, 1);
}
