/* Detecting: which family's names a checkpoint has, and what its shapes say where no config.json
 * does. */
#include "views/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* What wrappers put before a model's names: torch.compile, DataParallel, a head around the
 * model. */
static const char *const wrappers[] = {"", "_orig_mod.", "module.", "module._orig_mod.",
	"_orig_mod.module.", "model.", "_orig_mod.model.", "module.model.", "model._orig_mod.",
	"model.module."};
enum { N_WRAPPERS = sizeof(wrappers) / sizeof(*wrappers) };

/* "{layer}" and the like: `variable` is replaced by `turn`, the others by 0; NULL: all by
 * `turn`. */
static char *fill_turn(struct al_arena *arena, const char *name, const char *variable, int64_t turn)
{
	struct al_text text;

	al_text_init(&text);
	while (*name) {
		const char *open = strchr(name, '{'), *close = open ? strchr(open, '}') : NULL;
		if (!close) {
			al_text_add(&text, name);
			break;
		}
		size_t length = (size_t)(close - open - 1);
		bool is_it = !variable
			|| (strlen(variable) == length && strncmp(open + 1, variable, length) == 0);
		al_text_add_bytes(&text, name, (size_t)(open - name));
		al_text_addf(&text, "%lld", (long long)(is_it ? turn : 0));
		name = close + 1;
	}
	char *copy = al_strdup(arena, text.data);
	al_text_finish(&text);
	return copy;
}

char *fill_name(struct al_arena *arena, const char *name, int64_t turn)
{
	return fill_turn(arena, name, NULL, turn);
}

/* ---- prefixes ---- */

static const char *own_prefix(const struct al_family *family, size_t i)
{
	return family->n_prefixes ? family->prefixes[i] : "";
}

static size_t count_prefixes(const struct al_family *family)
{
	return family->n_prefixes ? family->n_prefixes : 1;
}

static const struct al_variant *variant_of(struct al_model_view *view,
	const struct al_family_module *module)
{
	const struct al_variant *variant;

	return al_catalog_variant(view->catalog, module->variant, &variant, NULL) ? variant : NULL;
}

/* Is one of the variant's tensors a bias, which the option switches? NULL: any option. */
static bool is_bias(const struct al_variant *variant, const char *tensor, const char *option)
{
	for (size_t i = 0; variant && i < variant->tensors.n; i++) {
		const struct al_entry *entry = &variant->tensors.items[i];
		if (entry->kind == AL_TENSOR_BIAS && strcmp(entry->name, tensor) == 0
			&& (!option || al_formula_mentions(entry->when, option)))
			return true;
	}
	return false;
}

static bool holds_bias(const struct al_variant *variant, const struct al_stored *stored,
	const char *option)
{
	if (stored->is)
		return is_bias(variant, stored->is, option);
	for (size_t i = 0; i < stored->n_parts; i++)
		if (is_bias(variant, stored->parts[i].tensor, option))
			return true;
	return false;
}

/* Biases are a matter of options, and so is what has a condition: a module may lack them. */
static bool is_wanted(const struct al_variant *variant, const struct al_stored *stored)
{
	return !stored->is_optional && !stored->when && !holds_bias(variant, stored, NULL);
}

/* How much of a module is there, in thousandths; of conditional tensors any will do. */
static int64_t score_module(struct al_model_view *view, const struct al_family_module *module,
	const char *prefix)
{
	const struct al_variant *variant = variant_of(view, module);
	int64_t wanted = 0, found = 0, others = 0;

	for (size_t i = 0; i < module->n_stored; i++) {
		const char *name = fill_name(&view->arena, module->stored[i].name, 0);
		bool is_there = al_checkpoint_find(view->checkpoint,
					al_format(&view->arena, "%s%s", prefix, name))
			!= NULL;
		if (is_wanted(variant, &module->stored[i])) {
			wanted++;
			found += is_there;
		} else
			others += is_there;
	}
	if (wanted == 0)
		return others > 0 ? 1000 : 0;
	return found * 1000 / wanted;
}

static int64_t score_modules(struct al_model_view *view, const struct al_family *family,
	const char *prefix)
{
	int64_t best = 0;

	for (size_t i = 0; i < family->n_modules; i++) {
		int64_t score = score_module(view, &family->modules[i], prefix);
		best = score > best ? score : best;
	}
	return best;
}

/* The prefix under which most of an attention module is there. */
static int64_t choose_prefix(struct al_model_view *view, const struct al_family *family)
{
	int64_t best = 0;

	view->wrapper = view->prefix = "";
	for (size_t i = 0; i < N_WRAPPERS; i++)
		for (size_t j = 0; j < count_prefixes(family); j++) {
			const char *prefix = al_format(&view->arena, "%s%s", wrappers[i],
				own_prefix(family, j));
			int64_t score = score_modules(view, family, prefix);
			if (score > best) {
				best = score;
				view->wrapper = wrappers[i];
				view->prefix = prefix;
			}
		}
	return best;
}

bool find_prefix(struct al_model_view *view)
{
	return choose_prefix(view, view->family) > 0;
}

/* ---- which family ---- */

/* Kinds of names: numbers are "#", so that all layers' tensors are one. */
struct kinds {
	const char **names; /* sorted, each once */
	size_t n;
	bool *is_seen; /* [n] */
};

static char *kind_of(struct al_arena *arena, const char *name)
{
	char *kind = al_strdup(arena, name), *to = kind;

	for (const char *from = kind; *from;) {
		bool is_number = *from >= '0' && *from <= '9';
		char next = is_number ? '#' : *from++;
		while (is_number && *from >= '0' && *from <= '9')
			from++;
		*to++ = next;
	}
	*to = '\0';
	return kind;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct kinds list_kinds(struct al_model_view *view)
{
	const struct al_checkpoint *checkpoint = view->checkpoint;
	struct kinds kinds = {
		.names = al_new_array(&view->arena, const char *, checkpoint->n_tensors + 1)};
	size_t n = 0;

	for (size_t i = 0; i < checkpoint->n_tensors; i++)
		kinds.names[i] = kind_of(&view->arena, checkpoint->tensors[i].name);
	qsort(kinds.names, checkpoint->n_tensors, sizeof(*kinds.names), compare_names);
	for (size_t i = 0; i < checkpoint->n_tensors; i++)
		if (n == 0 || strcmp(kinds.names[n - 1], kinds.names[i]) != 0)
			kinds.names[n++] = kinds.names[i];
	kinds.n = n;
	kinds.is_seen = al_new_array(&view->arena, bool, n + 1);
	return kinds;
}

static void see(struct al_model_view *view, const struct al_family *family, struct kinds *kinds,
	const char *name)
{
	const char *filled = fill_name(&view->arena, name, 0);

	for (size_t i = 0; i < count_prefixes(family); i++) {
		const char *kind = kind_of(&view->arena,
			al_format(&view->arena, "%s%s%s", view->wrapper, own_prefix(family, i),
				filled));
		const char **found = bsearch(&kind, kinds->names, kinds->n, sizeof(kind),
			compare_names);
		if (found)
			kinds->is_seen[found - kinds->names] = true;
	}
}

/* How many kinds of the checkpoint's tensors the family knows. */
static size_t count_known(struct al_model_view *view, const struct al_family *family,
	struct kinds *kinds)
{
	size_t n = 0;

	memset(kinds->is_seen, 0, kinds->n * sizeof(*kinds->is_seen));
	for (size_t i = 0; i < family->n_modules; i++)
		for (size_t j = 0; j < family->modules[i].n_stored; j++)
			see(view, family, kinds, family->modules[i].stored[j].name);
	for (size_t i = 0; i < family->n_tensors; i++)
		see(view, family, kinds, family->tensors[i].entry.name);
	for (size_t i = 0; i < kinds->n; i++)
		n += kinds->is_seen[i];
	return n;
}

/* The family that knows most tensors comes first; of equals the one that lists least besides, then
 * the one whose name comes first. */
static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->n_known != y->n_known)
		return x->n_known > y->n_known ? -1 : 1;
	if (x->family->n_tensors != y->family->n_tensors)
		return x->family->n_tensors < y->family->n_tensors ? -1 : 1;
	return strcmp(x->family->name, y->family->name);
}

bool find_candidates(struct al_model_view *view, struct al_catalog *catalog,
	struct candidate **candidates, size_t *n, struct al_error *err)
{
	const struct al_embedded_list *files = al_catalog_files(AL_CATALOG_FAMILIES);
	struct kinds kinds = list_kinds(view);

	*candidates = al_new_array(&view->arena, struct candidate, files->n_files + 1);
	*n = 0;
	for (size_t i = 0; i < files->n_files; i++) {
		const struct al_family *family;
		if (!al_catalog_family(catalog, files->files[i].name, &family, err))
			return false;
		if (choose_prefix(view, family) == 1000)
			(*candidates)[(*n)++] = (struct candidate){family,
				count_known(view, family, &kinds)};
	}
	if (*n == 0)
		return al_fail(err, AL_EINPUT,
			"%s: the tensors' names fit no known family (give a config.json or "
			"--layout FILE)",
			view->checkpoint->path);
	qsort(*candidates, *n, sizeof(**candidates), compare_candidates);
	return true;
}

/* ---- dimensions from shapes ---- */

/* What the names and shapes of the stored tensors say of the family's symbols: the first to say
 * something is believed. */
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

static const struct al_tensor *first_turn(struct al_model_view *view, const char *name)
{
	return al_model_view_find(view, fill_name(&view->arena, name, 0));
}

static void learn_shapes(struct al_model_view *view)
{
	for (size_t i = 0; i < view->family->n_tensors; i++) {
		const struct al_entry *entry = &view->family->tensors[i].entry;
		const struct al_tensor *found = first_turn(view, entry->name);
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

/* A condition says whether a tensor is there. A head that is stored alone isn't tied; of two
 * entries of one name nothing else can be told. */
static void learn_conditions(struct al_model_view *view)
{
	const struct al_family *family = view->family;

	for (size_t i = 0; i < family->n_tensors; i++) {
		const struct al_family_tensor *tensor = &family->tensors[i];
		bool is_there = first_turn(view, tensor->entry.name) != NULL;
		if (tensor->tied_to)
			learn_formula(view, tensor->entry.when, !is_there);
		else if (!tensor->is_optional && count_entries(family, tensor->entry.name) == 1)
			learn_formula(view, tensor->entry.when, is_there);
	}
}

static bool switches_biases(const struct al_variant *variant, const char *option)
{
	for (size_t i = 0; variant && i < variant->tensors.n; i++)
		if (variant->tensors.items[i].kind == AL_TENSOR_BIAS
			&& al_formula_mentions(variant->tensors.items[i].when, option))
			return true;
	return false;
}

static bool has_bias(struct al_model_view *view, const struct al_family_module *module,
	const struct al_variant *variant, const char *option)
{
	for (size_t i = 0; i < module->n_stored; i++)
		if (holds_bias(variant, &module->stored[i], option)
			&& first_turn(view, module->stored[i].name))
			return true;
	return false;
}

/* An option of the variant that switches biases is on where one of them is there. */
static void learn_biases(struct al_model_view *view, const struct al_family_module *module)
{
	const struct al_variant *variant = variant_of(view, module);

	for (size_t i = 0; i < module->n_set; i++) {
		const struct al_module_set *set = &module->set[i];
		if (switches_biases(variant, set->symbol))
			learn_formula(view, set->value,
				has_bias(view, module, variant, set->symbol));
	}
}

/* How often a name's loop goes round: the first turn that isn't there. */
static int64_t count_turns(struct al_model_view *view, const char *name, const char *variable)
{
	int64_t n = 0;

	while (n < AL_FAMILY_STEPS
		&& al_model_view_find(view, fill_turn(&view->arena, name, variable, n)))
		n++;
	return n;
}

static void learn_loops(struct al_model_view *view, const struct al_loops *loops, const char *name)
{
	for (size_t i = 0; i < loops->n; i++) {
		const char *source = al_formula_source(loops->items[i].count);
		if (!al_symbol_is_name(source) || al_settings_is_asked(&view->settings, source))
			continue;
		int64_t turns = count_turns(view, name, loops->items[i].variable);
		if (turns > 0)
			learn(view, source, turns);
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
			learn_formula(view, stored->when, first_turn(view, stored->name) != NULL);
			learn_loops(view, &module->loops, stored->name);
		}
	}
	for (size_t i = 0; i < family->n_tensors; i++)
		learn_loops(view, &family->tensors[i].loops, family->tensors[i].entry.name);
}

/* ---- heads ---- */

/* The stored matrix that is one of the variant's tensors, or where `fused` begins with it, in a
 * module's first turn; NULL where there is none. `out_axis` is that of the heads. */
static const struct al_tensor *find_matrix(struct al_model_view *view, const char *tensor,
	bool fused, size_t *out_axis)
{
	const struct al_family *family = view->family;

	for (size_t i = 0; i < family->n_modules; i++)
		for (size_t j = 0; j < family->modules[i].n_stored; j++) {
			const struct al_stored *stored = &family->modules[i].stored[j];
			const char *holds = stored->is ? stored->is
				: fused		       ? stored->parts[0].tensor
						       : "";
			if (strcmp(holds, tensor) != 0)
				continue;
			const struct al_tensor *found = first_turn(view, stored->name);
			*out_axis = stored->order == AL_ORDER_OUT_IN ? 0 : 1;
			if (found && found->n_dims == 2)
				return found;
		}
	return NULL;
}

/* The length of a stored matrix, not fused, along its input or its output; 0 where there is
 * none. */
static int64_t axis_of(struct al_model_view *view, const char *tensor, bool is_output)
{
	size_t axis;
	const struct al_tensor *found = find_matrix(view, tensor, false, &axis);

	return found ? found->shape[is_output ? axis : 1 - axis] : 0;
}

/* What queries are made of is as wide as the model, where no embedding or norm is stored that says
 * it. */
static void learn_width(struct al_model_view *view)
{
	static const char *const tensors[] = {"W_Q", "W_DQ"};

	for (size_t i = 0; i < sizeof(tensors) / sizeof(*tensors); i++) {
		size_t axis;
		const struct al_tensor *found = find_matrix(view, tensors[i], true, &axis);
		if (found)
			learn(view, "d_model", found->shape[1 - axis]);
	}
}

static int64_t head_axis(struct al_model_view *view, const char *tensor)
{
	return axis_of(view, tensor, true);
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

/* Where all heads share their queries (collaborative attention), the mixing matrix [n_heads,
 * d_shared] says how many there are and the values how wide each is. */
static bool learn_heads(struct al_model_view *view, const struct al_view_options *options,
	struct al_error *err)
{
	const int64_t shared = head_axis(view, "M");
	const int64_t n_heads = options->n_heads > 0 ? options->n_heads : axis_of(view, "M", false);
	int64_t queries = head_axis(view, shared > 0 ? "W_V" : "W_Q");
	int64_t keys = shared > 0 ? 0 : head_axis(view, "W_K");

	if (shared > 0)
		learn(view, "d_shared", shared);
	if (n_heads < 1)
		return al_fail(err, AL_EINPUT,
			"%s: how many heads there are is not known; give --heads H[:KV] or a "
			"config.json",
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

bool learn_symbols(struct al_model_view *view, const struct al_view_options *options,
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
