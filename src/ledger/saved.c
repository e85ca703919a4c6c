/* What training saves for backward in a whole model. */
#include "ledger/saved_parts.h"

#include "catalog/config.h"
#include "ledger/entries.h"

const char *const al_loss_names[AL_N_LOSSES] = {"unfused", "chunked", "fused", "compiled"};

/* ---- attention ---- */

static enum al_adapted adapted_role(enum al_role role)
{
	return role == AL_ROLE_QUERY	? AL_ADAPTED_QUERY
		: role == AL_ROLE_KEY	? AL_ADAPTED_KEY
		: role == AL_ROLE_VALUE ? AL_ADAPTED_VALUE
					: AL_ADAPTED_OTHER;
}

static bool reads_input(const struct al_saved_build *b, const struct al_variant *variant,
	const char *name)
{
	for (size_t i = 0; i < variant->tensors.n; i++) {
		const struct al_entry *t = &variant->tensors.items[i];
		if (t->kind == AL_TENSOR_WEIGHT && t->role != AL_ROLE_OUTPUT && t->shape.n_dims == 2
			&& strcmp(t->name, name) == 0
			&& strcmp(al_formula_source(t->shape.dims[0]), "d_model") == 0)
			return al_saved_has_adapter(b, adapted_role(t->role));
	}
	return false;
}

/* Stored matrices that read the module's input: fused, queries, keys and values are one. */
static int64_t count_input_readers(const struct al_saved_build *b,
	const struct al_ledger_module *module)
{
	const struct al_family_module *family = module->of ? module->of->module : NULL;
	int64_t n = 0;

	for (size_t i = 0; family && i < family->n_stored; i++) {
		const struct al_stored *s = &family->stored[i];
		n += reads_input(b, module->configured.variant, s->is ? s->is : s->parts[0].tensor);
	}
	return family ? n : 1;
}

static void add_attention_line(struct al_saved_build *b, const struct al_ledger_entry *e)
{
	const struct al_ledger_module *module = e->module;

	struct al_saved_entry *line = al_saved_add(b,
		(struct al_saved_entry){.part = AL_PART_ATTENTION,
			.name = e->name,
			.layer = e->layer,
			.n_layers = e->n_layers,
			.elements = e->elements,
			.device = e->device,
			.bytes = e->entry->bytes,
			.per = e->entry->per,
			.block = module - b->ledger->modules,
			.blocks = e->times,
			.is_statistic = e->entry->saved == AL_SAVED_FLASH});
	const struct al_saved_reading by = {
		.readers = e->entry->of == AL_SAVED_OF_OUTPUT
			? al_saved_has_adapter(b, AL_ADAPTED_OUTPUT)
			: count_input_readers(b, module),
	};
	al_saved_rule(b, line, e->entry->of, &by);
}

/* ---- norms, embedding, head ---- */

static void add_norm(struct al_saved_build *b, const struct al_ledger_entry *t)
{
	if (t->entry->kind != AL_TENSOR_NORM || !t->sees_text)
		return;
	struct al_saved_entry *line = al_saved_add_width(b, "input", t, t->dims[t->n_dims - 1],
		t->times * t->count, 0);
	line->is_first = t->stored->tensor->stage == AL_STAGE_FIRST;
	line->is_last = t->stored->tensor->stage == AL_STAGE_LAST;
	al_saved_rule(b, line, AL_SAVED_OF_NORM, NULL);
}

static void add_bare_norms(struct al_saved_build *b, const struct al_ledger_module *module)
{
	const int64_t n = b->ledger->family->n_bare_norms;

	if (n > 0)
		al_saved_rule(b,
			al_saved_add_tokens(b,
				(struct al_saved_entry){.part = AL_PART_NORM,
					.name = "input of a norm",
					.layer = module->layer,
					.n_layers = module->n_layers,
					.block = -1},
				b->d_model, n * module->copies * module->uses),
			AL_SAVED_OF_NORM, NULL);
}

static void add_last_bare_norm(struct al_saved_build *b)
{
	if (b->ledger->family->n_bare_norms > 0)
		al_saved_rule(b,
			al_saved_add_tokens(b,
				(struct al_saved_entry){.part = AL_PART_NORM,
					.name = "input of the last norm",
					.layer = -1,
					.block = -1,
					.is_last = true},
				b->d_model, 1),
			AL_SAVED_OF_NORM, NULL);
}

/* The head's input and, in 4 bytes, the logits.
 *= arXiv:2205.05198, section 4.3 */
static void add_head(struct al_saved_build *b, const struct al_ledger_entry *t)
{
	struct al_sides sides = al_saved_sides(t);

	struct al_saved_entry *input = al_saved_add_width(b, "input", t, sides.in, 1, 0);
	input->is_last = true;
	al_saved_rule(b, input, AL_SAVED_OF_HEAD, NULL);
	struct al_saved_entry *logits = al_saved_add_tokens(b,
		(struct al_saved_entry){.part = AL_PART_HEAD,
			.name = "logits",
			.layer = -1,
			.block = -1,
			.bytes = 4,
			.is_logits = true,
			.is_last = true},
		sides.out, 1);
	logits->device = al_exact_scaled(b->arena, logits->elements, 1, b->tp);
	al_saved_rule(b, logits, AL_SAVED_OF_LOGITS, NULL);
}

static void add_embedding_mask(struct al_saved_build *b)
{
	if (b->has_dropout)
		al_saved_add_tokens(b,
			(struct al_saved_entry){.part = AL_PART_EMBEDDING,
				.name = "dropout mask",
				.layer = -1,
				.block = -1,
				.bytes = 1,
				.is_first = true},
			b->d_model, 1);
}

bool al_entry_is_logit_head(const struct al_ledger_entry *t)
{
	return t->stored && t->part == AL_PART_HEAD && t->n_dims == 2 && t->sees_text
		&& al_formula_mentions(t->entry->shape
					       .dims[t->stored->tensor->order == AL_ORDER_IN_OUT],
			"vocab");
}

static void add_tensor(struct al_saved_build *b, const struct al_ledger_entry *t)
{
	if (al_saved_is_feed_forward(t))
		al_saved_add_feed_forward(b, t);
	else if (t->stored && t->part == AL_PART_NORM)
		add_norm(b, t);
	else if (al_entry_is_logit_head(t))
		add_head(b, t);
}

/* ---- what full recomputation keeps ---- */

static void add_layer_input(struct al_saved_build *b, const struct al_ledger_module *module)
{
	al_saved_rule(b,
		al_saved_add_tokens(b,
			(struct al_saved_entry){.part = AL_PART_OTHER,
				.name = "input of the layer",
				.layer = module->layer,
				.n_layers = module->n_layers,
				.block = -1,
				.is_input = true},
			b->d_model, module->copies * module->uses),
		AL_SAVED_OF_LAYER, NULL);
}

static void add_module(struct al_saved_build *b, const struct al_ledger_module *module,
	const struct al_ledger_list *lines)
{
	for (size_t i = 0; i < lines->n; i++)
		if (lines->items[i].module == module)
			add_attention_line(b, &lines->items[i]);
	if (module->is_cross)
		return;
	add_bare_norms(b, module);
	add_layer_input(b, module);
}

/* Has it fewer key/value heads than heads? */
static bool is_grouped(const struct al_ledger_module *module)
{
	int64_t heads = 0, groups = 0;

	return al_block_read(module->block, "n_heads", 1, &heads, NULL)
		&& al_block_read(module->block, "n_kv_heads", 1, &groups, NULL) && groups < heads;
}

static void fill(struct al_saved_build *b, const struct al_ledger_list *tensors,
	const struct al_ledger_list *lines, const struct al_ledger_list *grouped)
{
	struct al_ledger *ledger = b->ledger;

	add_embedding_mask(b);
	for (size_t i = 0; i < ledger->n_modules; i++)
		if (ledger->modules[i].sees_text)
			add_module(b, &ledger->modules[i],
				is_grouped(&ledger->modules[i]) ? grouped : lines);
	add_last_bare_norm(b);
	for (size_t i = 0; i < tensors->n; i++)
		add_tensor(b, &tensors->items[i]);
}

static void find_matrices(struct al_saved_build *b, const struct al_ledger_list *tensors)
{
	b->matrices = al_new_array(b->arena, const struct al_ledger_entry *, tensors->n);
	for (size_t i = 0; i < tensors->n; i++)
		if (al_saved_is_feed_forward(&tensors->items[i]))
			b->matrices[b->n_matrices++] = &tensors->items[i];
}

static bool has_norm_bias(const struct al_ledger_list *tensors)
{
	for (size_t i = 0; i < tensors->n; i++)
		if (tensors->items[i].part == AL_PART_NORM && tensors->items[i].stored
			&& tensors->items[i].entry->kind == AL_TENSOR_BIAS)
			return true;
	return false;
}

/* Facts of how the model runs, where its family has them. */
static bool read_forward(struct al_saved_build *b, struct al_error *err)
{
	const struct al_ledger_ask *ask = &b->ledger->ask;
	const struct al_forward *how = NULL;

	if (!b->saving->recipe || b->saving->recipe->n_saved == 0 || !ask->model)
		return true;
	if (!al_catalog_forward(ask->catalog, b->ledger->family, &how, err))
		return false;
	if (!how)
		return true;
	const struct al_item *config = al_config_of_text(b->ledger->family, ask->model->config);
	const struct al_item *node = al_config_find_first(config, how->activation.keys,
		how->activation.n_keys);
	double score_cap = 0, logit_cap = 0;
	b->activation = how->activation.fallback;
	b->has_unit_offset = how->has_unit_offset;
	if (!al_config_number(ask->model->doc, config, &how->score_cap, 0, &score_cap, err)
		|| !al_config_number(ask->model->doc, config, &how->logit_cap, 0, &logit_cap, err))
		return false;
	b->has_score_cap = score_cap > 0;
	b->has_logit_cap = logit_cap > 0;
	return !node || al_json_kind(node) != AL_JSON_TEXT
		|| al_json_text(ask->model->doc, node, &b->activation, err);
}

static enum al_list list_of(const struct al_saving *saving)
{
	if (saving->is_flash)
		return AL_LIST_FLASH;
	return saving->recipe && saving->recipe->n_saved > 0 ? AL_LIST_REPEATED : AL_LIST_EAGER;
}

static bool read_settings(struct al_saved_build *b, struct al_error *err)
{
	struct al_ledger *ledger = b->ledger;
	const struct al_setting *width, *dropout;

	if (!al_settings_get(&ledger->settings, "d_model", &width, err))
		return false;
	if (!al_settings_get(&ledger->settings, "dropout", &dropout, err))
		return false;
	b->d_model = width ? width->value.integer : 0;
	b->has_dropout = dropout && dropout->value.integer;
	return true;
}

int64_t al_saved_bytes(const struct al_saved_entry *line, const struct al_recipe *recipe)
{
	if (line->is_ruled)
		return line->bytes;
	if (line->is_logits)
		return recipe->logit_bytes;
	return line->bytes ? line->bytes : recipe->activation_bytes;
}

bool al_ledger_saved(struct al_ledger *ledger, const struct al_saving *saving,
	struct al_saved_entries *out, struct al_error *err)
{
	struct al_saved_build b = {.ledger = ledger,
		.saving = saving,
		.err = err,
		.arena = &ledger->saved,
		.out = out,
		.tp = al_most(ledger->ask.tp, 1)};
	const struct al_ledger_list *tensors, *lines, *grouped;
	const bool has_no_kernel = saving->recipe && saving->recipe->grouped;

	if (!al_ledger_entries(ledger, AL_LIST_TENSORS, &tensors, err)
		|| !al_ledger_entries(ledger, list_of(saving), &lines, err)
		|| !al_ledger_entries(ledger, has_no_kernel ? AL_LIST_REPEATED : list_of(saving),
			&grouped, err)
		|| !read_settings(&b, err) || !read_forward(&b, err))
		return false;
	*out = (struct al_saved_entries){0};
	al_arena_finish(&ledger->saved);
	al_arena_init(&ledger->saved);
	b.has_norm_bias = has_norm_bias(tensors);
	find_matrices(&b, tensors);
	fill(&b, tensors, lines, grouped);
	return !b.has_failed;
}
