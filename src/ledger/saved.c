/* What training saves for backward in a whole model. */
#include "ledger/saved.h"

#include "catalog/config.h"
#include "ledger/entries.h"
#include "ledger/states.h"

const char *const al_loss_names[AL_N_LOSSES] = {"unfused", "chunked", "fused"};

struct build {
	struct al_ledger *ledger;
	const struct al_saving *saving;
	struct al_arena *arena;
	struct al_saved_entries *out;
	int64_t d_model, tp;
	bool has_dropout, has_norm_bias;
	const char *activation; /* "gelu_new"; NULL: not known */
	bool has_unit_offset, has_score_cap, has_logit_cap;
	struct al_error *err; /* of the first rule that can't be evaluated */
	bool has_failed;
};

static struct al_saved_entry *add(struct build *b, struct al_saved_entry line)
{
	struct al_saved_entries *out = b->out;

	struct al_saved_entry *added = AL_APPEND(b->arena, out->lines, out->n, out->room);
	*added = line;
	return added;
}

static mpq_srcptr number(struct build *b, int64_t x, int64_t y)
{
	AL_EXACT(product);
	mpz_set_si(mpq_numref(product), (long)x);
	mpz_mul_si(mpq_numref(product), mpq_numref(product), (long)y);
	return al_exact_copy(b->arena, product);
}

/* A line of so many numbers per token, on each device. */
static struct al_saved_entry *add_tokens(struct build *b, struct al_saved_entry line, int64_t width,
	int64_t copies)
{
	line.per = AL_PER_TOKEN;
	line.elements = line.device = number(b, width, copies);
	return add(b, line);
}

/* ---- a framework's rules ---- */

/* Who reads a tensor: matrices, of adapted weights those with an adapter. */
struct reading {
	int64_t readers;
	bool is_gated, is_expert;
};

/* Facts of one saved tensor, by enum al_saved_fact. */
struct facts {
	int64_t of[AL_N_SAVED_FACTS];
};

static bool look_up(void *context, const struct al_reference *reference, bool *found,
	struct al_value *out, struct al_error *err)
{
	const struct facts *facts = context;
	int fact = al_find_name(reference->symbol, al_saved_fact_names, AL_N_SAVED_FACTS);

	(void)err;
	*found = fact >= 0;
	if (*found)
		al_value_set_int(out, facts->of[fact]);
	return true;
}

static bool fits(const struct al_saved_rule *rule, enum al_saved_of of, const char *activation)
{
	return rule->of == of
		&& (rule->n_activations == 0
			|| (activation
				&& al_find_name(activation, rule->activations, rule->n_activations)
					>= 0));
}

static const struct al_saved_rule *find_rule(const struct build *b, enum al_saved_of of)
{
	const struct al_recipe *recipe = b->saving->recipe;

	for (size_t i = 0; recipe && of && i < recipe->n_saved; i++)
		if (fits(&recipe->saved[i], of, b->activation))
			return &recipe->saved[i];
	return NULL;
}

/* What the recipe's rule for such a tensor makes of the line. */
static void rule(struct build *b, struct al_saved_entry *line, enum al_saved_of of,
	const struct reading *by)
{
	const struct al_saved_rule *found = find_rule(b, of);
	const struct al_saving *saving = b->saving;

	if (!found || b->has_failed)
		return;
	struct facts facts = {{
		[AL_SAVED_BYTES] = saving->recipe->activation_bytes,
		[AL_SAVED_RESIDUAL] = saving->recipe->residual_bytes,
		[AL_SAVED_READERS] = by ? by->readers : 1,
		[AL_SAVED_RMS] = !b->has_norm_bias,
		[AL_SAVED_GATED] = by && by->is_gated,
		[AL_SAVED_EXPERT] = by && by->is_expert,
		[AL_SAVED_ENCODER] = b->ledger->family && b->ledger->family->is_encoder,
		[AL_SAVED_UNIT_OFFSET] = b->has_unit_offset,
		[AL_SAVED_SCORE_CAP] = b->has_score_cap,
		[AL_SAVED_LOGIT_CAP] = b->has_logit_cap,
		[AL_SAVED_DROPOUT] = b->has_dropout,
		[AL_SAVED_FROZEN] = saving->recipe->trainable != NULL,
		[AL_SAVED_SELECTIVE] = saving->is_selective,
		[AL_SAVED_CHUNKED] = saving->loss == AL_LOSS_CHUNKED,
		[AL_SAVED_FUSED] = saving->loss == AL_LOSS_FUSED,
		[AL_SAVED_COMPILED] = saving->is_compiled,
	}};
	struct al_scope scope = {.lookup = look_up, .context = &facts};
	line->is_ruled = true;
	if (al_formula_whole(found->bytes, &scope, 0, &line->bytes, b->err))
		return;
	b->has_failed = true;
	al_in(b->err, "recipe %s: saved: %s", saving->recipe->name, al_saved_of_names[of]);
}

/* ---- attention ---- */

static bool has_adapter(const struct build *b, enum al_adapted adapted)
{
	const struct al_recipe *recipe = b->saving->recipe;

	return !recipe || !recipe->trainable || !recipe->adapted
		|| (recipe->adapted >> adapted & 1);
}

static enum al_adapted adapted_role(enum al_role role)
{
	return role == AL_ROLE_QUERY	? AL_ADAPTED_QUERY
		: role == AL_ROLE_KEY	? AL_ADAPTED_KEY
		: role == AL_ROLE_VALUE ? AL_ADAPTED_VALUE
					: AL_ADAPTED_OTHER;
}

static bool reads_input(const struct build *b, const struct al_variant *variant, const char *name)
{
	for (size_t i = 0; i < variant->tensors.n; i++) {
		const struct al_entry *t = &variant->tensors.items[i];
		if (strcmp(t->name, name) == 0 && t->kind == AL_TENSOR_WEIGHT
			&& t->role != AL_ROLE_OUTPUT && t->shape.n_dims == 2
			&& strcmp(al_formula_source(t->shape.dims[0]), "d_model") == 0)
			return has_adapter(b, adapted_role(t->role));
	}
	return false;
}

/* Stored matrices that read the module's input: fused, queries, keys and values are one. */
static int64_t count_input_readers(const struct build *b, const struct al_ledger_module *module)
{
	const struct al_family_module *family = module->of ? module->of->module : NULL;
	int64_t n = 0;

	for (size_t i = 0; family && i < family->n_stored; i++) {
		const struct al_stored *s = &family->stored[i];
		n += reads_input(b, module->configured.variant, s->is ? s->is : s->parts[0].tensor);
	}
	return n > 0 || family ? n : 1;
}

static void add_attention_line(struct build *b, const struct al_ledger_entry *e)
{
	const struct al_ledger_module *module = e->module;

	struct al_saved_entry *line = add(b,
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
	const struct reading by = {
		.readers = e->entry->of == AL_SAVED_OF_OUTPUT ? has_adapter(b, AL_ADAPTED_OUTPUT)
							      : count_input_readers(b, module),
	};
	rule(b, line, e->entry->of, &by);
}

/* ---- feed-forward ---- */

/* The two sides of a matrix: [out, in], or the other way round. */
struct sides {
	int64_t out, in;
};

static struct sides sides_of(const struct al_ledger_entry *t)
{
	const struct al_family_tensor *family = t->stored->tensor;
	bool in_first = family->order == AL_ORDER_IN_OUT;
	size_t out = in_first ? t->n_dims - 1 : 0, in = in_first ? 0 : 1;
	struct sides sides = {.out = t->dims[out], .in = t->dims[in]};

	if (family->packed > 1) /* blocks of packed numbers after the output's rows */
		for (size_t i = 2; i < t->n_dims; i++)
			sides.in *= t->dims[i];
	if (family->packed > 1)
		sides.in *= family->packed;
	return sides;
}

static bool is_model_matrix(const struct al_ledger_entry *t, enum al_part part)
{
	return t->stored && t->part == part && t->is_matrix && t->sees_text
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

static const char *name_of(struct build *b, const char *what, const struct al_ledger_entry *t)
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
static int64_t uses_of(const struct build *b, const struct al_ledger_entry *t, int64_t copies)
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
static int64_t layers_of(const struct build *b, const struct al_ledger_entry *t)
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
static int64_t block_of(const struct build *b, const struct al_ledger_entry *t)
{
	return (int64_t)b->ledger->n_modules + (t->layer < 0 ? layers_of(b, t) : t->layer);
}

static struct al_saved_entry line_of(struct build *b, const char *what,
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
static struct reading read_block(const struct build *b, const struct al_ledger_entry *t)
{
	const struct al_ledger_list *tensors = al_ledger_tensors(b->ledger);
	struct reading by = {.is_expert = t->is_expert};
	int64_t out = 0, in = 0;

	for (size_t i = 0; i < tensors->n; i++) {
		const struct al_ledger_entry *other = &tensors->items[i];
		if (!is_model_matrix(other, AL_PART_FEED_FORWARD) || !share_block(other, t)
			|| other->stored->tensor->role == AL_FEED_ROUTER)
			continue;
		by.readers += reads_model(other) == reads_model(t)
			&& has_adapter(b, al_entry_adapted(other));
		out += reads_model(other) ? sides_of(other).out : 0;
		in = reads_model(other) ? in : sides_of(other).in;
	}
	by.is_gated = out > in;
	return by;
}

static void add_inner(struct build *b, const char *what, const struct al_ledger_entry *t,
	int64_t width, enum al_saved_of of)
{
	const struct reading by = read_block(b, t);
	struct al_saved_entry *line = add_tokens(b, line_of(b, what, t), width,
		uses_of(b, t, active_copies(t)));

	line->device = al_exact_scaled(b->arena, line->elements, 1, b->tp);
	rule(b, line, of, &by);
}

static struct al_saved_entry *add_width(struct build *b, const char *what,
	const struct al_ledger_entry *t, int64_t width, int64_t copies, int64_t bytes)
{
	struct al_saved_entry *line = add_tokens(b, line_of(b, what, t), width,
		uses_of(b, t, copies));

	line->bytes = bytes;
	line->is_routed = t->is_expert;
	if (!t->is_expert)
		line->block = -1;
	return line;
}

/* Is an earlier matrix fed with the same numbers? One copy of the tokens goes to each expert, one
 * to all that isn't an expert. */
static bool has_earlier_reader(const struct al_ledger *ledger, size_t i)
{
	const struct al_ledger_entry *t = &al_ledger_tensors(ledger)->items[i];

	for (size_t j = 0; j < i; j++) {
		const struct al_ledger_entry *other = &al_ledger_tensors(ledger)->items[j];
		if (is_model_matrix(other, AL_PART_FEED_FORWARD) && share_block(other, t)
			&& reads_model(other)
			&& (!t->is_expert || other->stored->tensor != t->stored->tensor))
			return true;
	}
	return false;
}

static void add_feed_forward(struct build *b, size_t i)
{
	const struct al_ledger_entry *t = &al_ledger_tensors(b->ledger)->items[i];
	struct sides sides = sides_of(t);

	if (!reads_model(t)) {
		add_inner(b, "input", t, sides.in, AL_SAVED_OF_DOWN);
		return;
	}
	add_inner(b, "output", t, sides.out, AL_SAVED_OF_INNER);
	if (has_earlier_reader(b->ledger, i))
		return;
	int64_t layers = t->layer < 0 && t->n_layers > 0 ? t->n_layers : 1;
	const struct reading by = read_block(b, t);
	struct al_saved_entry *line = add_width(b, "input", t, sides.in,
		t->is_expert ? active_copies(t) : layers, 0);
	rule(b, line, t->is_expert ? AL_SAVED_OF_ROUTED : AL_SAVED_OF_MATRIX, &by);
	if (b->has_dropout && !t->is_expert)
		add_width(b, "dropout mask after the block", t, b->d_model, layers, 1);
}

/* ---- norms, embedding, head ---- */

static void add_norm(struct build *b, const struct al_ledger_entry *t)
{
	if (t->entry->kind != AL_TENSOR_NORM || !t->sees_text)
		return;
	struct al_saved_entry *line = add_width(b, "input", t, t->dims[t->n_dims - 1],
		t->times * t->count, 0);
	line->is_first = t->stored->tensor->stage == AL_STAGE_FIRST;
	line->is_last = t->stored->tensor->stage == AL_STAGE_LAST;
	rule(b, line, AL_SAVED_OF_NORM, NULL);
}

static void add_bare_norms(struct build *b, const struct al_ledger_module *module)
{
	const int64_t n = b->ledger->family->n_bare_norms;

	if (n > 0)
		rule(b,
			add_tokens(b,
				(struct al_saved_entry){.part = AL_PART_NORM,
					.name = "input of a norm",
					.layer = module->layer,
					.n_layers = module->n_layers,
					.block = -1},
				b->d_model, n * module->copies * module->uses),
			AL_SAVED_OF_NORM, NULL);
}

static void add_last_bare_norm(struct build *b)
{
	if (b->ledger->family->n_bare_norms > 0)
		rule(b,
			add_tokens(b,
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
static void add_head(struct build *b, const struct al_ledger_entry *t)
{
	struct sides sides = sides_of(t);

	add_width(b, "input", t, sides.in, 1, 0)->is_last = true;
	struct al_saved_entry *logits = add_tokens(b,
		(struct al_saved_entry){.part = AL_PART_HEAD,
			.name = "logits",
			.layer = -1,
			.block = -1,
			.bytes = 4,
			.is_logits = true,
			.is_last = true},
		sides.out, 1);
	logits->device = al_exact_scaled(b->arena, logits->elements, 1, b->tp);
	rule(b, logits, AL_SAVED_OF_LOGITS, NULL);
}

static void add_embedding_mask(struct build *b)
{
	if (b->has_dropout)
		add_tokens(b,
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

static void add_tensor(struct build *b, size_t i)
{
	const struct al_ledger_entry *t = &al_ledger_tensors(b->ledger)->items[i];

	if (is_model_matrix(t, AL_PART_FEED_FORWARD))
		add_feed_forward(b, i);
	else if (t->stored && t->part == AL_PART_NORM)
		add_norm(b, t);
	else if (al_entry_is_logit_head(t))
		add_head(b, t);
}

/* ---- what full recomputation keeps ---- */

static void add_layer_input(struct build *b, const struct al_ledger_module *module)
{
	rule(b,
		add_tokens(b,
			(struct al_saved_entry){.part = AL_PART_OTHER,
				.name = "input of the layer",
				.layer = module->layer,
				.n_layers = module->n_layers,
				.block = -1,
				.is_input = true},
			b->d_model, module->copies * module->uses),
		AL_SAVED_OF_LAYER, NULL);
}

static void add_module(struct build *b, const struct al_ledger_module *module,
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

static void fill(struct build *b, const struct al_ledger_list *tensors,
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
		add_tensor(b, i);
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
static bool read_forward(struct build *b, struct al_error *err)
{
	const struct al_ledger_ask *ask = &b->ledger->ask;
	const struct al_forward *how = NULL;

	if (!b->saving->recipe || b->saving->recipe->n_saved == 0 || !ask->model)
		return true;
	if (!al_catalog_forward(ask->catalog, b->ledger->family, &how, err))
		return false;
	if (!how)
		return true;
	const struct al_item *node = al_config_find_first(ask->model->config, how->activation.keys,
		how->activation.n_keys);
	double score_cap = 0, logit_cap = 0;
	b->activation = how->activation.fallback;
	b->has_unit_offset = how->has_unit_offset;
	if (!al_config_number(ask->model->doc, &how->score_cap, 0, &score_cap, err)
		|| !al_config_number(ask->model->doc, &how->logit_cap, 0, &logit_cap, err))
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

static bool read_settings(struct build *b, struct al_error *err)
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
	struct build b = {.ledger = ledger,
		.saving = saving,
		.err = err,
		.arena = &ledger->saved,
		.out = out,
		.tp = ledger->ask.tp > 1 ? ledger->ask.tp : 1};
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
	fill(&b, tensors, lines, grouped);
	return !b.has_failed;
}
