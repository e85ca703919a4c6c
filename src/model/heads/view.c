/* Views: opening one. The family and its settings first, then each module's factors. */
#include "model/heads/internal.h"
#include "model/heads/reconcile.h"

/* ---- the family ---- */

static bool read_config(struct al_model_view *view, const struct al_view_options *options,
	struct al_error *err)
{
	const struct al_checkpoint *checkpoint = view->checkpoint;
	const char *own = options->config ? NULL : checkpoint->header_config;

	view->config_path = options->config ? options->config
		: own			    ? checkpoint->path
					    : checkpoint->config;
	if (!view->config_path)
		return true;
	view->has_config = own
		? al_json_parse(&view->config, view->config_path, own, strlen(own), err)
		: al_json_read_python(&view->config, view->config_path, err);
	view->config.is_made = own != NULL;
	return view->has_config;
}

/* ---- the settings ---- */

/* Without a config.json every key has its default, except where names and shapes show its value. */
static bool learn_settings(struct al_model_view *view, const struct al_view_options *options,
	struct al_error *err)
{
	if (!al_symbols_learn(view, options, err))
		return false;
	view->settings.may_lack = true;
	return (view->config.root || al_json_parse(&view->config, "shapes", "{}", 2, err))
		&& al_family_settings(view->family, &view->config, view->config.root, "shapes",
			&view->settings, err);
}

/* --heads must agree with a config. */
static bool check_heads(struct al_model_view *view, const char *symbol, int64_t given,
	struct al_error *err)
{
	const struct al_setting *setting;

	if (given == 0)
		return true;
	if (!al_settings_get(&view->settings, symbol, &setting, err))
		return false;
	if (setting && setting->value.integer != given)
		return al_fail(err, AL_EINPUT,
			"--heads sets %s to %lld, but by %s it is %lld; remove --heads", symbol,
			(long long)given, view->has_config ? view->config_path : "the shapes",
			(long long)setting->value.integer);
	return true;
}

static bool choose_settings(struct al_model_view *view, const struct al_view_options *options,
	struct al_error *err)
{
	bool ok = view->has_config ? al_family_settings(view->family, &view->config,
			  view->config.root, view->config_path, &view->settings, err)
				   : learn_settings(view, options, err);
	return ok && check_heads(view, "n_heads", options->n_heads, err)
		&& check_heads(view, "n_kv_heads", options->n_kv_heads, err);
}

/* ---- the modules ---- */

/* Scale or bias of the norm whose output a module reads: the family's tensor "before" the module.
 * */
static const struct al_tensor *norm_before(struct al_model_view *view,
	const struct al_model_item *module, bool is_bias)
{
	for (size_t i = 0; i < view->family->n_tensors; i++) {
		const struct al_family_tensor *tensor = &view->family->tensors[i];
		if (tensor->before && strcmp(tensor->before, module->module->name) == 0
			&& (tensor->entry.kind == AL_TENSOR_BIAS) == is_bias)
			return al_model_view_find(view,
				al_name_fill(&view->arena, tensor->entry.name,
					module->iteration[0]));
	}
	return NULL;
}

/* Norms of queries and keys that the family lists itself, outside of the variant. */
static bool has_norm_beside(struct al_model_view *view, const struct al_model_item *module)
{
	for (size_t i = 0; i < view->family->n_tensors; i++) {
		const struct al_family_tensor *tensor = &view->family->tensors[i];
		if (tensor->entry.is_of_scores && tensor->loops.n > 0
			&& al_model_view_find(view,
				al_name_fill_loop(&view->arena, tensor->entry.name,
					tensor->loops.items[0].variable, module->iteration[0], 0)))
			return true;
	}
	return false;
}

static void add_note(struct al_model_view *view, const char *text)
{
	view->notes = al_grow(&view->arena, view->notes, view->n_notes, &view->notes_room,
		sizeof(*view->notes));
	view->notes[view->n_notes++] = text;
}

static void note(struct al_model_view *view, const char *module, const char *why)
{
	add_note(view, al_format(&view->arena, "%s is left out: %s", module, why));
}

/* Why a module's heads can't be viewed; NULL: they can. */
static const char *why_left_out(struct al_model_view *view, const struct al_model_item *module)
{
	const struct al_variant *variant = module->variant;

	if (module->extra)
		return module->extra;
	if (al_module_is_mixer(module))
		return al_format(&view->arena, "%s has no attention weights", variant->title);
	if (view->runs && variant->pass)
		return NULL;
	for (int factor = AL_FACTOR_QUERY; factor <= AL_FACTOR_OUTPUT; factor++)
		if (al_variant_has_factor(variant, (enum al_head_factor)factor))
			return NULL;
	return al_format(&view->arena, "variant %s doesn't specify the factors of its heads",
		variant->name);
}

/* The key projection's columns count: a variant without groups has no n_kv_heads to contradict. */
static bool check_kv_heads(const struct al_attention *a, int64_t given, struct al_error *err)
{
	if (given == 0 || a->is_latent || a->n_kv_heads == given)
		return true;
	return al_fail(err, AL_EINPUT,
		"--heads sets n_kv_heads to %lld, but the key projection has %lld heads of width "
		"%lld",
		(long long)given, (long long)a->n_kv_heads, (long long)a->d_head);
}

/* How many iterations the loop of a family's module has, counting modules that aren't part of the
 * model as well. */
static int64_t count_iterations(const struct al_model_view *view, const struct al_family_module *of)
{
	int64_t iterations = 0;

	for (size_t i = 0; i < view->tensor_list.n_modules; i++) {
		const struct al_model_item *module = &view->tensor_list.modules[i];
		if (module->module == of && module->iteration[0] + 1 > iterations)
			iterations = module->iteration[0] + 1;
	}
	return iterations;
}

/* "layers.3 is left out", "layers.3 to layers.5 are left out". */
static void note_further(struct al_model_view *view, const struct al_family_module *module,
	int64_t first)
{
	const char *name = al_name_fill(&view->arena, module->name, first), *who = NULL;

	for (int64_t i = first;
		al_model_view_find(view, al_name_fill(&view->arena, module->stored[0].name, i));
		i++)
		who = i == first ? al_format(&view->arena, "%s is", name)
				 : al_format(&view->arena, "%s to %s are", name,
					 al_name_fill(&view->arena, module->name, i));
	if (who)
		add_note(view,
			al_format(&view->arena, "%s left out: beyond the layers of the config",
				who));
}

/* Layers that are stored though the config doesn't have them: its number of layers may be wrong. */
static void note_further_layers(struct al_model_view *view)
{
	for (size_t i = 0; view->has_config && i < view->family->n_modules; i++) {
		const struct al_family_module *module = &view->family->modules[i];
		const int64_t iterations = count_iterations(view, module);
		if (iterations > 0 && module->loops.n == 1 && module->n_stored > 0)
			note_further(view, module, iterations);
	}
}

static size_t count_stored(struct al_model_view *view, const struct al_model_item *module)
{
	size_t n = 0;

	for (size_t i = 0; i < module->module->n_stored; i++)
		n += al_model_view_find(view,
			     al_name_fill(&view->arena, module->module->stored[i].name,
				     module->iteration[0]))
			!= NULL;
	return n;
}

/* A shard, or a checkpoint of some layers: modules that lie elsewhere are left out. */
static bool is_elsewhere(struct al_model_view *view, const struct al_model_item *module)
{
	return module->module->n_stored > 0 && count_stored(view, module) == 0;
}

struct elsewhere {
	size_t n;
	const char *first, *last;
};

static struct elsewhere find_elsewhere(struct al_model_view *view)
{
	struct elsewhere found = {0};

	for (size_t i = 0; i < view->tensor_list.n_modules; i++) {
		const struct al_model_item *module = &view->tensor_list.modules[i];
		if (!is_elsewhere(view, module))
			continue;
		found.first = found.n++ ? found.first : module->name;
		found.last = module->name;
	}
	return found.n < view->tensor_list.n_modules ? found : (struct elsewhere){0};
}

static void note_mixers(struct al_model_view *view)
{
	const struct al_model_item *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < view->tensor_list.n_modules; i++)
		if (al_module_is_mixer(&view->tensor_list.modules[i]))
			first = n++ ? first : &view->tensor_list.modules[i];
	view->mixers_note = n == 0
		? NULL
		: al_format(&view->arena,
			"no heads in %zu of %zu layers%s%s: %s has no attention weights", n,
			n + view->n_modules, n > 1 ? ", the first of which is " : ", ", first->name,
			first->variant->title);
}

static bool make_modules(struct al_model_view *view, const struct al_view_options *options,
	struct al_error *err)
{
	const struct elsewhere elsewhere = find_elsewhere(view);
	const char *why = NULL;

	view->n_modules = view->n_notes = 0;
	view->modules = al_new_array(&view->arena, struct al_attention,
		view->tensor_list.n_modules + 1);
	for (size_t i = 0; i < view->tensor_list.n_modules; i++) {
		const struct al_model_item *module = &view->tensor_list.modules[i];
		struct al_attention *attention = &view->modules[view->n_modules];
		why = why_left_out(view, module);
		if (why) {
			if (!al_module_is_mixer(module))
				note(view, module->name, why);
			continue;
		}
		if (elsewhere.n > 0 && is_elsewhere(view, module))
			continue;
		/* at the end of a shard a module may be cut in two */
		if (elsewhere.n > 0 && count_stored(view, module) < module->module->n_stored
			&& !al_factors_make(view, module, attention, NULL)) {
			note(view, module->name, "only a part of it is stored here");
			continue;
		}
		if (!al_view_check_listed(view, module, err)
			|| !al_factors_make(view, module, attention, err)
			|| !check_kv_heads(attention, options->n_kv_heads, err))
			return al_in(err, "%s: %s", view->checkpoint->path, module->name);
		attention->layer = module->iteration[0];
		attention->norm = norm_before(view, module, false);
		attention->norm_bias = norm_before(view, module, true);
		attention->has_qk_norm |= has_norm_beside(view, module);
		view->n_modules++;
	}
	if (elsewhere.n > 0)
		add_note(view,
			al_format(&view->arena,
				"%zu module%s left out, from %s to %s: none of their tensors is "
				"stored here",
				elsewhere.n, elsewhere.n == 1 ? " is" : "s are", elsewhere.first,
				elsewhere.last));
	note_mixers(view);
	note_further_layers(view);
	return view->n_modules > 0
		|| al_fail(err, AL_EINPUT, "%s: no attention modules%s%s", view->checkpoint->path,
			why ? ": " : "", why ? why : "");
}

static bool lay_family(struct al_model_view *view, const struct al_view_options *options,
	struct al_error *err)
{
	if (!al_prefix_find(view))
		return al_fail(err, AL_EINPUT, "%s: contains no attention tensors of family %s",
			view->checkpoint->path, view->family->name);
	return choose_settings(view, options, err)
		&& al_tensor_list_init(&view->tensor_list, view->catalog, view->family,
			&view->settings, AL_TENSORS_BY_NAME, err);
}

static void unlay(struct al_model_view *view)
{
	if (view->tensor_list.n_steps > 0)
		al_tensor_list_finish(&view->tensor_list);
	view->tensor_list = (struct al_tensor_list){0};
	al_settings_finish(&view->settings);
	al_settings_init(&view->settings, view->catalog);
	view->n_modules = view->n_notes = 0;
}

static bool fits(struct al_model_view *view, const struct al_family *family,
	const struct al_view_options *options)
{
	view->family = family;
	if (lay_family(view, options, NULL) && make_modules(view, options, NULL))
		return true;
	unlay(view);
	return false;
}

/* Its first embedding is there, and what isn't attention has the family's shapes: GPT-2's matrices
 * are the transposes of GPTBigCode's, and GPT calls its embeddings otherwise. */
static bool is_whole_beside(struct al_model_view *view)
{
	struct al_reconciled *entries;
	bool has_embedding = false;
	size_t n;

	if (!al_reconcile(view, &entries, &n, NULL))
		return false;
	for (size_t i = 0; i < n; i++) {
		const char *part = entries[i].part ? entries[i].part : "";
		if (entries[i].difference == AL_DIFFERENCE_SHAPE
			&& strcmp(part, al_part_names[AL_PART_ATTENTION]) != 0)
			return false;
		if (!has_embedding && strcmp(part, al_part_names[AL_PART_EMBEDDING]) == 0) {
			has_embedding = true;
			if (entries[i].difference == AL_DIFFERENCE_MISSING)
				return false;
		}
	}
	return true;
}

/* Families of the same names and shapes run differently (Llama and Gemma by their embeddings' scale
 * and activation): a model isn't run as the first that fits. */
static bool check_only_one_runs(struct al_model_view *view, const struct al_view_options *options,
	const struct al_family_candidate *candidates, size_t n, struct al_error *err)
{
	const struct al_family *first = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct al_family *family = candidates[i].family;
		if (!family->runs || !fits(view, family, options))
			continue;
		const bool is_whole = is_whole_beside(view);
		unlay(view);
		if (!is_whole)
			continue;
		if (first)
			return al_fail(err, AL_EINPUT,
				"%s: its tensors match several families (%s, %s ...) that run "
				"differently; pass its config.json",
				view->checkpoint->path, first->name, family->name);
		first = family;
	}
	return true;
}

/* A file from compress names the family that its source was taken for, which was recognized too. */
static bool lay_recorded(struct al_model_view *view, const struct al_view_options *options,
	struct al_error *err)
{
	const struct al_family *recorded = view->family;
	const struct al_embedded_list *files = al_catalog_files(AL_CATALOG_FAMILIES);
	struct al_family_candidate *all = al_new_array(&view->arena, struct al_family_candidate,
		files->n_files);

	for (size_t i = 0; i < files->n_files; i++)
		if (!al_catalog_family(view->catalog, files->files[i].name, &all[i].family, err))
			return false;
	if (options->runs && !check_only_one_runs(view, options, all, files->n_files, err))
		return false;
	view->family = recorded;
	return lay_family(view, options, err);
}

static bool fits_one(struct al_model_view *view, const struct al_candidates *candidates,
	const struct al_view_options *options)
{
	for (size_t i = 0; i < candidates->n; i++)
		if (fits(view, candidates->items[i].family, options))
			return true;
	return false;
}

/* Families may share names and differ in shapes (GPT-2 and GPTBigCode): the first whose modules
 * fit. Where none does, the best by names reports what is wrong; that the heads aren't known none
 * of the others would change. */
static bool lay_detected(struct al_model_view *view, const struct al_view_options *options,
	struct al_error *err)
{
	struct al_candidates candidates;

	if (!al_candidates_find(view, options->runs, &candidates, err))
		return false;
	if (options->runs
		&& !check_only_one_runs(view, options, candidates.items, candidates.n, err))
		return false;
	if (fits_one(view, &candidates, options))
		return true;
	if (!candidates.is_all && !view->lacks_heads) {
		if (!al_candidates_find(view, true, &candidates, err))
			return false;
		if (fits_one(view, &candidates, options))
			return true;
	}
	view->family = candidates.items[0].family;
	return lay_family(view, options, err);
}

static bool lay(struct al_model_view *view, const struct al_view_options *options,
	struct al_error *err)
{
	const char *method = al_checkpoint_metadata(view->checkpoint, "attnledger.method"), *name;

	if (!al_checkpoint_check_purpose(view->checkpoint, err) || !al_view_read_shapes(view, err))
		return false;
	/* compressed into collaborative attention, its config.json is of another family */
	if (!options->layout && !options->runs && method && strcmp(method, "collab") == 0) {
		if (lay_detected(view, options, NULL))
			return true;
		unlay(view); /* the original's family has the reason */
	}
	if (!read_config(view, options, err))
		return false;
	if (options->layout) {
		if (!al_catalog_family(view->catalog, options->layout, &view->family, err))
			return false;
	} else if (!view->has_config) {
		view->family = al_view_recorded_family(view);
		return view->family && view->n_shapes > 0 ? lay_recorded(view, options, err)
							  : lay_detected(view, options, err);
	} else if (!al_json_expect(&view->config, view->config.root, AL_JSON_OBJECT, err)
		|| !al_catalog_family_for(view->catalog, &view->config, view->config.root,
			&view->family, &name, err))
		return false;
	return lay_family(view, options, err);
}

bool al_model_view_lay(struct al_model_view *view, struct al_catalog *catalog,
	struct al_checkpoint *checkpoint, const struct al_view_options *options,
	struct al_error *err)
{
	*view = (struct al_model_view){.checkpoint = checkpoint,
		.catalog = catalog,
		.runs = options->runs,
		.wrapper = "",
		.prefix = ""};
	al_arena_init(&view->arena);
	al_settings_init(&view->settings, catalog);
	if (lay(view, options, err))
		return true;
	al_model_view_close(view);
	return false;
}

bool al_model_view_open(struct al_model_view *view, struct al_catalog *catalog,
	struct al_checkpoint *checkpoint, const struct al_view_options *options,
	struct al_error *err)
{
	if (!al_model_view_lay(view, catalog, checkpoint, options, err))
		return false;
	if (make_modules(view, options, err))
		return true;
	al_model_view_close(view);
	return false;
}

void al_model_view_close(void *object)
{
	struct al_model_view *view = object;

	if (view->tensor_list.n_steps > 0)
		al_tensor_list_finish(&view->tensor_list);
	al_settings_finish(&view->settings);
	al_json_finish(&view->config);
	al_arena_finish(&view->arena);
}
