/* The number format of an entry by a scheme's rules, and its additional tensors. */

#include "catalog/stored.h"
#include "ledger/entries.h"
#include "ledger/quantize_facts.h"

/* ---- a tensor as a checkpoint has it ---- */

/* Where a checkpoint fuses several of a variant's tensors, the fused one. */
static bool find_stored(struct al_quantization *q, struct al_ledger *ledger,
	const struct al_ledger_entry *t, const struct al_stored_tensor **out, struct al_error *err)
{
	const struct al_ledger_module *module = t->module;

	*out = NULL;
	if (!module || !module->of || !module->configured.is_models_own || !q->modules)
		return true;
	const size_t index = (size_t)(module - ledger->modules);
	struct al_stored_module *stored = &q->modules[index];
	if (!stored->tensors
		&& !al_stored_module_read(stored, &q->stored, q->catalog, module->of,
			&ledger->settings, err))
		return false;
	for (size_t i = 0; i < stored->n_tensors; i++)
		for (size_t p = 0; p < stored->tensors[i].n_parts; p++)
			if (stored->tensors[i].parts[p].entry == t->entry)
				*out = &stored->tensors[i];
	return true;
}

/* "layers.3.mlp.experts.0.up_proj", without ".weight"; where layers don't differ, with the numbers
 * of the first. */
static const char *name_of(struct al_quantization *q, const struct al_ledger_entry *t,
	const struct al_stored_tensor *stored)
{
	static const char end[] = ".weight";
	const char *name = stored ? stored->name : t->name;

	if (t->stored) {
		const struct al_iteration iteration = al_iteration_of(&t->stored->tensor->loops,
			t->stored->iteration, NULL);
		name = al_iteration_name(&iteration, &q->stored, t->stored->tensor->entry.name);
	} else if (!stored && t->module && t->module->name)
		name = al_format(&q->stored, "%s.%s", t->module->name, t->name);
	if (al_ends_with(name, end))
		name = al_strndup(&q->stored, name, strlen(name) - strlen(end));
	return name;
}

static bool matches(struct al_quantization *q, const struct al_family *family,
	struct al_patterns *patterns, const char *name)
{
	if (al_patterns_match(patterns, name))
		return true;
	for (size_t i = 0; i < family->n_prefixes; i++)
		if (*family->prefixes[i]
			&& al_patterns_match(patterns,
				al_format(&q->stored, "%s%s", family->prefixes[i], name)))
			return true;
	return false;
}

/* ---- rules ---- */

/* The first group that has the tensor as a target, and whose rules it goes by; NULL: none. */
static struct al_quantization_group *find_group(struct al_quantization *q,
	const struct al_family *family, const char *name, bool is_linear)
{
	for (size_t i = 0; i < q->n_groups; i++) {
		struct al_quantization_group *group = &q->groups[i];
		if (!group->targets || (group->has_linear && is_linear)
			|| matches(q, family, group->targets, name))
			return group;
	}
	return NULL;
}

static bool find_rule(struct al_facts *f, const struct al_scheme_rule **out, struct al_error *err)
{
	const struct al_scope scope = al_facts_scope(f);
	const struct al_scheme *scheme = f->q->scheme;

	*out = NULL;
	for (size_t i = 0; i < scheme->n_rules; i++) {
		bool holds = true;
		if (scheme->rules[i].when
			&& !al_formula_holds(scheme->rules[i].when, &scope, &holds, err))
			return al_in(err, "scheme %s", scheme->name);
		if (!holds)
			continue;
		*out = &scheme->rules[i];
		return true;
	}
	return true;
}

/* The name that a formula gives; its words outlive its value. */
static bool find_word(const struct al_formula *formula, const struct al_scope *scope,
	const char **out, struct al_error *err)
{
	AL_VALUE(value);
	const bool ok = al_formula_eval(formula, scope, &value, err);
	*out = ok && value.kind == AL_VALUE_WORD ? value.word : "a number";
	return ok;
}

static bool set_format(struct al_facts *f, const struct al_scheme_rule *rule,
	struct al_stored_format *out, struct al_error *err)
{
	const struct al_scope scope = al_facts_scope(f);
	const struct al_dtype *found;
	const char *name = rule->dtype;

	if (rule->dtype_of && !find_word(rule->dtype_of, &scope, &name, err))
		return false;
	if (name) {
		if (!al_dtype_find(name, &found, err))
			return false;
		out->dtype = *(f->values[AL_FACT_MATRIX]
				? al_dtype_of_row(found, f->values[AL_FACT_COLS])
				: found);
		return true;
	}
	if (!al_formula_whole(rule->bits, &scope, 1, &out->bits, err))
		return false;
	out->dtype = (struct al_dtype){.block_elements = 8, .block_bytes = (size_t)out->bits};
	return true;
}

/* Facts, group and rule of a tensor; `stored` is what a checkpoint has of it. */
static bool judge(struct al_facts *f, const struct al_ledger_entry *t,
	const struct al_stored_tensor **stored, const struct al_scheme_rule **rule,
	struct al_error *err)
{
	struct al_quantization *q = f->q;
	const struct al_family *family = f->ledger->family;

	*rule = NULL;
	if (!find_stored(q, f->ledger, t, stored, err))
		return false;
	al_facts_set(f, t, *stored);
	if (q->is_of_text && !f->values[AL_FACT_TEXT])
		return true;
	const bool is_named = !al_patterns_are_empty(q->kept) || q->groups[0].targets;
	const char *name = is_named ? name_of(q, t, *stored) : "";
	q->budget.n_input += strlen(name);
	if (is_named && matches(q, family, q->kept, name))
		return true;
	f->group = find_group(q, family, name, f->values[AL_FACT_LINEAR]);
	if (!al_budget_check(&q->budget, 0, err))
		return al_in(err, "patterns of the quantization");
	return !f->group || find_rule(f, rule, err);
}

/* In one format: matrices but routers, and of tables those of the vocabulary. */
static void set_plain(const struct al_quantization *q, const struct al_ledger_entry *t,
	struct al_stored_format *out)
{
	const bool is_router = t->stored && t->stored->tensor->role == AL_FEED_ROUTER;
	int64_t values[AL_N_FACTS] = {0};

	out->dtype = *q->base;
	if (!t->is_matrix || is_router
		|| (t->part == AL_PART_EMBEDDING && !al_shape_mentions(&t->entry->shape, "vocab")))
		return;
	al_facts_set_shape(t, NULL, values);
	out->dtype = *al_dtype_of_row(q->dtype, values[AL_FACT_COLS]);
}

/* Scales of packed numbers are a byte each, those of FP8 matrices f32.
 *= OCP Microscaling Formats v1.0, section 5.4: E8M0; arXiv:2412.19437, section 3.3.2 */
static bool set_scale(const struct al_quantization *q, const struct al_ledger *ledger,
	const struct al_ledger_entry *t, struct al_stored_format *out, struct al_error *err)
{
	const struct al_dtype *found;
	const char *name = t->beside		  ? t->entry->dtype
		: al_family_packs(ledger->family) ? "u8"
						  : "f32";

	if (t->bits) {
		out->bits = t->bits;
		out->dtype = (struct al_dtype){.block_elements = 8, .block_bytes = (size_t)t->bits};
		return true;
	}
	if (!name)
		found = q->base;
	else if (!al_dtype_find(name, &found, err))
		return false;
	out->dtype = *found;
	return true;
}

static bool find_format(struct al_quantization *q, struct al_ledger *ledger,
	const struct al_ledger_entry *t, struct al_stored_format *out, struct al_error *err)
{
	const int64_t packed = t->stored ? t->stored->tensor->packed : 1;
	const struct al_stored_tensor *stored;
	struct al_facts f = {.q = q, .ledger = ledger};

	*out = (struct al_stored_format){0};
	if (t->entry->kind == AL_TENSOR_SCALE)
		return set_scale(q, ledger, t, out, err);
	if (!q->is_file && packed > 1) {
		out->dtype = (struct al_dtype){.block_elements = (size_t)packed, .block_bytes = 1};
		return true;
	}
	if (!q->scheme) {
		set_plain(q, t, out);
		return true;
	}
	if (!judge(&f, t, &stored, &out->rule, err))
		return false;
	if (out->rule)
		return set_format(&f, out->rule, out, err);
	out->dtype = *q->base;
	return true;
}

/* The place where the format of a ledger's tensor is cached, or NULL. */
static struct al_stored_format *find_kept(struct al_quantization *q, const struct al_ledger *ledger,
	const struct al_ledger_entry *t)
{
	const struct al_ledger_list *tensors = al_ledger_tensors(ledger);

	if (!q->scheme || q->ledger != ledger || t < tensors->items
		|| t >= tensors->items + tensors->n)
		return NULL;
	if (!q->formats)
		q->formats = al_new_array(&q->stored, struct al_stored_format, tensors->n);
	return &q->formats[t - tensors->items];
}

bool al_quantized_format(struct al_quantization *q, struct al_ledger *ledger,
	const struct al_ledger_entry *t, struct al_stored_format *out, struct al_error *err)
{
	struct al_stored_format *kept = find_kept(q, ledger, t);

	if (kept && kept->is_found) {
		*out = *kept;
		return true;
	}
	if (!find_format(q, ledger, t, out, err))
		return false;
	out->is_found = true;
	if (kept)
		*kept = *out;
	return true;
}

/* ---- additional tensors ---- */

static bool lists_scales(const struct al_ledger_list *tensors)
{
	for (size_t i = 0; i < tensors->n; i++)
		if (tensors->items[i].entry->kind == AL_TENSOR_SCALE)
			return true;
	return false;
}

static const char *join_shape(struct al_ledger *ledger, const struct al_shape *shape,
	const int64_t *dims)
{
	const char *text = "";

	for (size_t i = 0; i < shape->n_dims; i++)
		text = dims ? al_format(&ledger->arena, "%s%s%lld", text, i ? " * " : "",
			       (long long)dims[i])
			    : al_format(&ledger->arena, "%s%s%s", text, i ? " * " : "",
				    al_formula_source(shape->dims[i]));
	return text;
}

static void set_numbers(struct al_ledger_entry *e, const struct al_ledger_entry *of)
{
	AL_EXACT(per_number);
	al_exact_set(e->elements, e->times);
	al_exact_multiply(e->elements, e->count);
	for (size_t i = 0; i < e->n_dims; i++)
		al_exact_multiply(e->elements, e->dims[i]);
	if (mpq_sgn(of->elements) != 0)
		mpq_div(per_number, e->elements, of->elements);
	mpq_mul(e->active, of->active, per_number);
	mpq_mul(e->device, of->device, per_number);
}

static bool add_one(struct al_facts *f, size_t index, const char *name,
	const struct al_scheme_tensor *tensor, struct al_error *err)
{
	const enum al_list list = AL_LIST_STORED;
	const struct al_scope scope = al_facts_scope(f);
	struct al_ledger *ledger = f->ledger;
	int64_t dims[AL_MOST_DIMS], bits = 0;
	bool is_there = true;

	if (tensor->entry.when && !al_formula_holds(tensor->entry.when, &scope, &is_there, err))
		return false;
	if (!is_there)
		return true;
	for (size_t i = 0; i < tensor->entry.shape.n_dims; i++)
		if (!al_formula_whole(tensor->entry.shape.dims[i], &scope, 1, &dims[i], err))
			return false;
	if (tensor->bits && !al_formula_whole(tensor->bits, &scope, 1, &bits, err))
		return false;
	struct al_ledger_entry *e = al_ledger_list_add(ledger, list);
	const struct al_ledger_entry *of = &ledger->lists[list].items[index];
	al_entry_replace(e, *of);
	e->entry = &tensor->entry;
	e->name = al_format(&ledger->arena, "%s.%s", name, tensor->entry.name);
	e->beside = of->name;
	e->bits = bits;
	e->n_dims = tensor->entry.shape.n_dims;
	memcpy(e->dims, dims, e->n_dims * sizeof(*dims));
	e->module = NULL;
	e->stored = NULL;
	e->is_parameter = e->is_matrix = false;
	e->formula = e->substituted = NULL;
	e->source = f->q->scheme->source;
	set_numbers(e, of);
	if (ledger->ask.explains) {
		e->formula = join_shape(ledger, &tensor->entry.shape, NULL);
		e->substituted = join_shape(ledger, &tensor->entry.shape, dims);
	}
	return true;
}

/* The first part of a fused tensor represents all parts. */
static bool add_beside(struct al_quantization *q, struct al_ledger *ledger, size_t index,
	struct al_error *err)
{
	const struct al_ledger_entry *t = &ledger->lists[AL_LIST_STORED].items[index];
	const struct al_stored_tensor *stored;
	const struct al_scheme_rule *rule;
	struct al_facts f = {.q = q, .ledger = ledger};

	if (!t->is_matrix || t->tied_to || t->entry->kind != AL_TENSOR_WEIGHT
		|| (t->stored && t->stored->tensor->packed > 1))
		return true;
	if (!judge(&f, t, &stored, &rule, err))
		return false;
	if (!rule || (stored && stored->parts[0].entry != t->entry))
		return true;
	const char *name = t->layer >= 0 || !stored ? name_of(q, t, stored) : stored->stored->name;
	for (size_t i = 0; i < rule->n_beside; i++)
		if (!add_one(&f, index, name, &rule->beside[i], err))
			return false;
	return true;
}

bool al_quantization_add_beside(struct al_quantization *q, struct al_ledger *ledger,
	struct al_error *err)
{
	const struct al_ledger_list *tensors = &ledger->lists[AL_LIST_STORED];
	const size_t n = tensors->n;

	al_arena_finish(&q->stored);
	al_arena_init(&q->stored);
	q->modules = al_new_array(&q->stored, struct al_stored_module, ledger->n_modules + 1);
	q->n_modules = ledger->n_modules;
	q->formats = NULL;
	q->ledger = ledger;
	if (!q->scheme || lists_scales(tensors))
		return true;
	for (size_t i = 0; i < n; i++)
		if (!add_beside(q, ledger, i, err))
			return al_in(err, "%s", tensors->items[i].name);
	return true;
}
