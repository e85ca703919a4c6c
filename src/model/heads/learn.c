/* Dimensions of a model without config.json, from tensor names and shapes. */
#include "model/heads/internal.h"

/* Values of the family's symbols from the names and shapes of the stored tensors: the first one
 * found is taken. */
static void learn(struct al_model_view *view, const char *symbol, int64_t value)
{
	if (!al_settings_is_asked(&view->settings, symbol))
		al_settings_ask(&view->settings, symbol, value, "shapes");
}

static void learn_formula(struct al_model_view *view, const struct al_formula *formula,
	int64_t value)
{
	if (formula && al_symbol_is_name(al_formula_source(formula)))
		learn(view, al_formula_source(formula), value);
}

static const struct al_tensor *first_of_loop(struct al_model_view *view, const char *name)
{
	return al_model_view_find(view, al_name_fill(&view->arena, name, view->first_layer));
}

static void learn_shapes(struct al_model_view *view)
{
	for (size_t i = 0; i < view->family->n_tensors; i++) {
		const struct al_entry *entry = &view->family->tensors[i].entry;
		const struct al_tensor *found = first_of_loop(view, entry->name);
		size_t stacked = entry->count ? 1 : 0;
		if (!found || found->n_dims != entry->shape.n_dims + stacked)
			continue;
		for (size_t j = 0; j < entry->shape.n_dims; j++)
			learn_formula(view, entry->shape.dims[j], found->shape[j + stacked]);
	}
}

static size_t count_entries(const struct al_family *family, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < family->n_tensors; i++)
		n += strcmp(family->tensors[i].entry.name, name) == 0;
	return n;
}

/* A condition decides whether a tensor is there. A head that is stored alone isn't tied; of two
 * entries of one name nothing else is known. */
static void learn_conditions(struct al_model_view *view)
{
	const struct al_family *family = view->family;

	for (size_t i = 0; i < family->n_tensors; i++) {
		const struct al_family_tensor *tensor = &family->tensors[i];
		bool is_there = first_of_loop(view, tensor->entry.name) != NULL;
		if (tensor->tied_to)
			learn_formula(view, tensor->entry.when, !is_there);
		else if (!tensor->is_optional && count_entries(family, tensor->entry.name) == 1)
			learn_formula(view, tensor->entry.when, is_there);
	}
}

static bool has_bias(struct al_model_view *view, const struct al_family_module *module,
	const struct al_variant *variant, const char *option)
{
	for (size_t i = 0; i < module->n_stored; i++)
		if (al_stored_has_bias(variant, &module->stored[i], option)
			&& first_of_loop(view, module->stored[i].name))
			return true;
	return false;
}

/* An option of the variant that switches biases is on where one of them is there. */
static void learn_biases(struct al_model_view *view, const struct al_family_module *module)
{
	const struct al_variant *variant = al_module_variant(view, module);

	for (size_t i = 0; i < module->n_set; i++) {
		const struct al_module_set *set = &module->set[i];
		if (al_variant_has_bias(variant, NULL, set->symbol))
			learn_formula(view, set->value,
				has_bias(view, module, variant, set->symbol));
	}
}

/* Where a name's loop ends: with the first iteration after `from` whose tensor isn't stored. */
static int64_t count_iterations(struct al_model_view *view, const char *name, const char *variable,
	int64_t from)
{
	int64_t n = from;

	while (n < AL_FAMILY_STEPS
		&& al_model_view_find(view,
			al_name_fill_loop(&view->arena, name, variable, n, view->first_layer)))
		n++;
	return n > from ? n : 0;
}

static void learn_loops(struct al_model_view *view, const struct al_loops *loops, const char *name)
{
	for (size_t i = 0; i < loops->n; i++) {
		const char *source = al_formula_source(loops->items[i].count);
		if (!al_symbol_is_name(source) || al_settings_is_asked(&view->settings, source))
			continue;
		int64_t iterations = count_iterations(view, name, loops->items[i].variable,
			i == 0 ? view->first_layer : 0);
		if (iterations > 0)
			learn(view, source, iterations);
	}
}

static void learn_modules(struct al_model_view *view)
{
	const struct al_family *family = view->family;

	for (size_t i = 0; i < family->n_modules; i++) {
		const struct al_family_module *module = &family->modules[i];
		learn_biases(view, module);
		for (size_t j = 0; j < module->n_stored; j++) {
			const struct al_stored *stored = &module->stored[j];
			learn_formula(view, stored->when,
				first_of_loop(view, stored->name) != NULL);
			learn_loops(view, &module->loops, stored->name);
		}
	}
	for (size_t i = 0; i < family->n_tensors; i++)
		learn_loops(view, &family->tensors[i].loops, family->tensors[i].entry.name);
}

/* ---- heads ---- */

/* Is it a variant's weight that is this factor of heads, straight from the module's input; or where
 * `is_down` what the factor's input comes from: W_DQ of MLA? */
static bool is_factor(const struct al_variant *variant, const char *tensor,
	enum al_head_factor factor, bool is_down)
{
	for (size_t i = 0; variant && i < variant->tensors.n; i++) {
		const struct al_entry *entry = &variant->tensors.items[i];
		const char *name = is_down				  ? entry->down
			: entry->kind == AL_TENSOR_WEIGHT && !entry->down ? entry->name
									  : NULL;
		if (entry->factor == factor && name && strcmp(name, tensor) == 0)
			return true;
	}
	return false;
}

/* A stored matrix: how long it is along its input and its output, and of how many heads that is
 * where they have an axis of their own. */
struct matrix {
	int64_t in, out, heads; /* heads: 0 where the axis doesn't show it */
};

static bool measure(const struct al_tensor *found, const struct al_stored *stored,
	struct matrix *matrix)
{
	const size_t n_dims = stored->heads ? 3 : 2;

	if (!found || found->n_dims != n_dims)
		return false;
	const bool is_out_in = stored->order == AL_ORDER_OUT_IN;
	const int64_t *out = found->shape + (is_out_in ? 0 : 1);
	*matrix = (struct matrix){.in = found->shape[is_out_in ? n_dims - 1 : 0], .out = out[0]};
	if (!stored->heads)
		return true;
	matrix->heads = out[0];
	return al_multiply_dims(1, out, 2, &matrix->out);
}

/* The stored matrix that is a variant's factor, or where `fused` begins with it, in a module's
 * first iteration; NULL where there is none. */
static const struct al_stored *find_matrix(struct al_model_view *view, enum al_head_factor factor,
	bool is_down, bool fused, struct matrix *matrix)
{
	const struct al_family *family = view->family;

	for (size_t i = 0; i < family->n_modules; i++) {
		const struct al_variant *variant = al_module_variant(view, &family->modules[i]);
		for (size_t j = 0; j < family->modules[i].n_stored; j++) {
			const struct al_stored *stored = &family->modules[i].stored[j];
			const char *holds = stored->is ? stored->is
				: fused		       ? stored->parts[0].tensor
						       : NULL;
			if (holds && is_factor(variant, holds, factor, is_down)
				&& measure(first_of_loop(view, stored->name), stored, matrix))
				return stored;
		}
	}
	return NULL;
}

/* The stored matrix, not fused, that is a factor; zeros where there is none. */
static struct matrix matrix_of(struct al_model_view *view, enum al_head_factor factor)
{
	struct matrix matrix;

	return find_matrix(view, factor, false, false, &matrix) ? matrix : (struct matrix){0};
}

/* What queries are made of is as wide as the model, where no embedding or norm is stored that shows
 * it. */
static void learn_width(struct al_model_view *view)
{
	struct matrix matrix;

	if (find_matrix(view, AL_FACTOR_QUERY, false, true, &matrix)
		|| find_matrix(view, AL_FACTOR_QUERY, true, true, &matrix))
		learn(view, "d_model", matrix.in);
}

/* The number of heads that --heads gives; else the length of a tensor's own axis of heads. */
static int64_t given_heads(struct al_model_view *view, const struct al_view_options *options)
{
	const int64_t heads = options->n_heads > 0 ? options->n_heads
						   : matrix_of(view, AL_FACTOR_MIXING).in;

	return heads > 0 ? heads : matrix_of(view, AL_FACTOR_QUERY).heads;
}

/* --heads counts the heads of all modules, those of a decoder with a count of its own too. */
static void learn_counts(struct al_model_view *view, const char *symbol, int64_t heads)
{
	const struct al_family *family = view->family;

	learn(view, symbol, heads);
	for (size_t i = 0; i < family->n_modules; i++)
		for (size_t j = 0; j < family->modules[i].n_set; j++)
			if (strcmp(family->modules[i].set[j].symbol, symbol) == 0)
				learn_formula(view, family->modules[i].set[j].value, heads);
}

/* The symbol of the mixing matrix' second dimension. */
static void learn_shared(struct al_model_view *view, int64_t shared)
{
	for (size_t i = 0; i < view->family->n_modules; i++) {
		const struct al_variant *variant = al_module_variant(view,
			&view->family->modules[i]);
		for (size_t j = 0; variant && j < variant->tensors.n; j++) {
			const struct al_entry *entry = &variant->tensors.items[j];
			if (entry->factor == AL_FACTOR_MIXING && entry->shape.n_dims == 2)
				learn_formula(view, entry->shape.dims[1], shared);
		}
	}
}

/* What compress wrote records its modules' heads, whose shapes may be those of products, or of one
 * query that all share: the most of each, which are those of modules that it left alone. */
static bool learn_record(struct al_model_view *view)
{
	int64_t most[AL_N_RECORDED] = {0};

	for (size_t i = 0; i < view->n_shapes; i++)
		for (int j = 0; j < AL_N_RECORDED; j++)
			most[j] = al_most(view->shapes[i].values[j], most[j]);
	const int64_t width =
		most[most[AL_RECORDED_HEAD] > 0 ? AL_RECORDED_HEAD : AL_RECORDED_VALUE];
	if (most[AL_RECORDED_HEADS] == 0 || width == 0)
		return false;
	learn_counts(view, "n_heads", most[AL_RECORDED_HEADS]);
	learn(view, "d_head", width);
	if (most[AL_RECORDED_KV_HEADS] > 0)
		learn_counts(view, "n_kv_heads", most[AL_RECORDED_KV_HEADS]);
	return true;
}

/* Where all heads share their queries (collaborative attention), the mixing matrix [n_heads,
 * d_shared] shows how many there are and the values how wide each is. */
static bool learn_heads(struct al_model_view *view, const struct al_view_options *options,
	struct al_error *err)
{
	const int64_t shared = matrix_of(view, AL_FACTOR_MIXING).out;
	const int64_t n_heads = given_heads(view, options);
	int64_t queries = matrix_of(view, shared > 0 ? AL_FACTOR_VALUE : AL_FACTOR_QUERY).out;
	int64_t keys = shared > 0 ? 0 : matrix_of(view, AL_FACTOR_KEY).out;

	if (shared > 0)
		learn_shared(view, shared);
	else if (learn_record(view))
		return true;
	view->lacks_heads = n_heads < 1;
	if (n_heads < 1)
		return al_fail(err, AL_EINPUT,
			"%s: unknown number of heads; pass --heads H[:KV] or a config.json",
			view->checkpoint->path);
	if (queries % n_heads != 0)
		return al_fail(err, AL_EINPUT,
			"--heads %lld does not divide the query projection's %lld rows",
			(long long)n_heads, (long long)queries);
	learn_counts(view, "n_heads", n_heads);
	int64_t width = queries / n_heads;
	if (width > 0)
		learn(view, "d_head", width);
	if (options->n_kv_heads > 0)
		learn_counts(view, "n_kv_heads", options->n_kv_heads);
	else if (width > 0 && keys > 0 && keys % width == 0)
		learn_counts(view, "n_kv_heads", keys / width);
	return true;
}

bool al_symbols_learn(struct al_model_view *view, const struct al_view_options *options,
	struct al_error *err)
{
	if (!learn_heads(view, options, err))
		return false;
	learn_shapes(view);
	learn_width(view);
	learn_modules(view); /* attention is believed first */
	learn_conditions(view);
	return true;
}
