/* Detecting: which family's names a checkpoint has, and what its shapes say where no config.json
 * does. */
#include "views/internal.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* What wrappers put before a model's names: torch.compile, DataParallel, a head around the model. */
static const char *const wrappers[] = {"", "_orig_mod.", "module.", "module._orig_mod.",
	"_orig_mod.module.", "model."};
enum { N_WRAPPERS = sizeof(wrappers) / sizeof(*wrappers) };

char *fill_name(struct al_arena *arena, const char *name, int64_t turn)
{
	struct al_text text;

	al_text_init(&text);
	while (*name) {
		const char *open = strchr(name, '{'), *close = open ? strchr(open, '}') : NULL;
		if (!close) {
			al_text_add(&text, name);
			break;
		}
		al_text_add_bytes(&text, name, (size_t)(open - name));
		al_text_addf(&text, "%lld", (long long)turn);
		name = close + 1;
	}
	char *copy = al_strdup(arena, text.data);
	al_text_finish(&text);
	return copy;
}

static const struct al_tensor *find_with(struct al_model_view *view, const char *prefix,
	const char *name, int64_t turn)
{
	const char *filled = fill_name(&view->arena, name, turn);

	return al_checkpoint_find(view->checkpoint, al_format(&view->arena, "%s%s", prefix, filled));
}

/* ---- scores ---- */

/* How well names fit: in thousandths of the attention tensors that a module must have, then the other
 * tensors that are there. */
struct score {
	int64_t attention, others;
};

/* Of the stored tensors that hold one of the variant's, alternatives count once. */
static bool is_alternative(const struct al_family_module *module, size_t i)
{
	const struct al_stored *stored = &module->stored[i];

	return stored->is_optional || stored->when;
}

static int64_t score_module(struct al_model_view *view, const struct al_family_module *module,
	const char *prefix)
{
	int64_t wanted = 0, found = 0, extra = 0;

	for (size_t i = 0; i < module->n_stored; i++) {
		bool is_there = find_with(view, prefix, module->stored[i].name, 0) != NULL;
		if (is_alternative(module, i))
			extra += is_there;
		else {
			wanted++;
			found += is_there;
		}
	}
	if (wanted == 0)
		return extra > 0 ? 1000 : 0;
	return found * 1000 / wanted;
}

static struct score score_family(struct al_model_view *view, const struct al_family *family,
	const char *prefix)
{
	struct score score = {0};

	for (size_t i = 0; i < family->n_modules; i++) {
		int64_t one = score_module(view, &family->modules[i], prefix);
		if (one > score.attention)
			score.attention = one;
	}
	for (size_t i = 0; score.attention > 0 && i < family->n_tensors; i++)
		score.others += find_with(view, prefix, family->tensors[i].entry.name, 0) != NULL;
	return score;
}

static bool is_better(struct score a, struct score b)
{
	return a.attention > b.attention || (a.attention == b.attention && a.others > b.others);
}

static struct score best_prefix(struct al_model_view *view, const struct al_family *family,
	const char **prefix)
{
	struct score best = {0};

	for (size_t i = 0; i < N_WRAPPERS; i++)
		for (size_t j = 0; j < family->n_prefixes + (family->n_prefixes == 0); j++) {
			const char *own = family->n_prefixes ? family->prefixes[j] : "";
			const char *candidate = al_format(&view->arena, "%s%s", wrappers[i], own);
			struct score score = score_family(view, family, candidate);
			if (is_better(score, best)) {
				best = score;
				*prefix = candidate;
			}
		}
	return best;
}

bool find_prefix(struct al_model_view *view, const struct al_family *family, const char **prefix)
{
	*prefix = "";
	return best_prefix(view, family, prefix).attention > 0;
}

bool detect_family(struct al_model_view *view, struct al_catalog *catalog, struct al_error *err)
{
	const struct al_embedded_list *files = al_catalog_files(AL_CATALOG_FAMILIES);
	struct score best = {0};

	for (size_t i = 0; i < files->n_files; i++) {
		const struct al_family *family;
		const char *prefix = "";
		if (!al_catalog_family(catalog, files->files[i].name, &family, err))
			return false;
		struct score score = best_prefix(view, family, &prefix);
		if (is_better(score, best)) {
			best = score;
			view->family = family;
		}
	}
	if (best.attention == 1000)
		return true;
	return al_fail(err, AL_EINPUT, "%s: the tensors' names fit no known family (give a config.json or --layout FILE)",
		view->checkpoint->path);
}

/* ---- dimensions from shapes ---- */

static const int64_t *known(const struct inferred *in, const char *symbol)
{
	for (size_t i = 0; i < in->n; i++)
		if (strcmp(in->items[i].symbol, symbol) == 0)
			return &in->items[i].value;
	return NULL;
}

static void learn(struct inferred *in, const char *symbol, int64_t value)
{
	if (known(in, symbol))
		return;
	in->items = al_grow(&in->view->arena, in->items, in->n, &in->room, sizeof(*in->items));
	in->items[in->n++] = (struct al_binding){symbol, value};
}

/* A dimension that is one symbol. */
static void learn_shape(struct inferred *in, const struct al_shape *shape, const struct al_tensor *tensor,
	size_t extra)
{
	if (!tensor || tensor->n_dims != shape->n_dims + extra)
		return;
	for (size_t i = 0; i < shape->n_dims; i++) {
		const char *source = al_formula_source(shape->dims[i]);
		if (al_symbol_is_name(source))
			learn(in, source, tensor->shape[i + extra]);
	}
}

static void learn_tensors(struct inferred *in)
{
	const struct al_family *family = in->view->family;

	for (size_t i = 0; i < family->n_tensors; i++) {
		const struct al_family_tensor *tensor = &family->tensors[i];
		learn_shape(in, &tensor->entry.shape,
			find_with(in->view, in->prefix, tensor->entry.name, 0), tensor->entry.count ? 1 : 0);
	}
}

/* A head that is stored alone isn't tied: the condition of its two entries is decided by that. */
static void learn_ties(struct inferred *in)
{
	const struct al_family *family = in->view->family;

	for (size_t i = 0; i < family->n_tensors; i++) {
		const struct al_family_tensor *tensor = &family->tensors[i];
		const char *when = tensor->entry.when ? al_formula_source(tensor->entry.when) : "";
		if (tensor->tied_to && al_symbol_is_name(when))
			learn(in, when, !find_with(in->view, in->prefix, tensor->entry.name, 0));
	}
}

/* How often a name's loop goes round: the first turn that isn't there. */
static int64_t count_turns(struct inferred *in, const char *name)
{
	int64_t n = 0;

	while (n < 100000 && find_with(in->view, in->prefix, name, n))
		n++;
	return n;
}

static void learn_loops(struct inferred *in)
{
	const struct al_family *family = in->view->family;

	for (size_t i = 0; i < family->n_modules; i++) {
		const struct al_family_module *module = &family->modules[i];
		if (module->loops.n != 1 || module->n_stored == 0)
			continue;
		const char *source = al_formula_source(module->loops.items[0].count);
		int64_t turns = 0;
		for (size_t j = 0; turns == 0 && j < module->n_stored; j++)
			turns = count_turns(in, module->stored[j].name);
		if (al_symbol_is_name(source) && turns > 0)
			learn(in, source, turns);
	}
}

/* Rows along the head axis of a stored projection that is not fused. */
static int64_t head_axis(struct inferred *in, const char *tensor)
{
	const struct al_family *family = in->view->family;

	for (size_t i = 0; i < family->n_modules; i++)
		for (size_t j = 0; j < family->modules[i].n_stored; j++) {
			const struct al_stored *stored = &family->modules[i].stored[j];
			const struct al_tensor *found;
			if (!stored->is || strcmp(stored->is, tensor) != 0
				|| !(found = find_with(in->view, in->prefix, stored->name, 0))
				|| found->n_dims != 2)
				continue;
			return found->shape[stored->order == AL_ORDER_OUT_IN ? 0 : 1];
		}
	return 0;
}

static bool learn_heads(struct inferred *in, const struct al_view_options *options,
	struct al_error *err)
{
	int64_t queries = head_axis(in, "W_Q"), keys = head_axis(in, "W_K");

	if (options->n_heads < 1)
		return al_fail(err, AL_EINPUT,
			"%s: how many heads there are is not known; give --heads H[:KV] or a config.json",
			in->view->checkpoint->path);
	learn(in, "n_heads", options->n_heads);
	if (queries % options->n_heads != 0)
		return al_fail(err, AL_EINPUT, "--heads %lld does not divide the query projection's %lld rows",
			(long long)options->n_heads, (long long)queries);
	int64_t width = queries / options->n_heads;
	if (width > 0)
		learn(in, "d_head", width);
	if (options->n_kv_heads > 0)
		learn(in, "n_kv_heads", options->n_kv_heads);
	else if (width > 0 && keys > 0 && keys % width == 0)
		learn(in, "n_kv_heads", keys / width);
	return true;
}

/* "a.b.c": only plain keys are written. */
static const char *plain_key(const struct al_config_key *key)
{
	for (size_t i = 0; i < key->n_keys; i++)
		if (!strchr(key->keys[i], '.'))
			return key->keys[i];
	return NULL;
}

bool infer_symbols(struct inferred *in, struct al_model_view *view,
	const struct al_view_options *options, struct al_error *err)
{
	*in = (struct inferred){.view = view};
	if (!find_prefix(view, view->family, &in->prefix))
		return al_fail(err, AL_EINPUT, "%s: no tensors of family %s", view->checkpoint->path,
			view->family->name);
	learn_tensors(in);
	learn_ties(in);
	learn_loops(in);
	return learn_heads(in, options, err);
}

void write_inferred_config(const struct inferred *in, struct al_text *out)
{
	const struct al_family *family = in->view->family;

	al_text_add(out, "{");
	for (size_t i = 0; i < family->n_config; i++) {
		const struct al_config_key *key = &family->config[i];
		const int64_t *value = known(in, key->symbol);
		const char *name = plain_key(key);
		if (!value || !name || (key->type != AL_CONFIG_WHOLE && key->type != AL_CONFIG_SIZE))
			continue;
		al_text_add(out, out->length > 1 ? ", " : "");
		al_json_quote(out, name);
		al_text_addf(out, ": %lld", (long long)*value);
	}
	al_text_add(out, "}");
}
