/* count: parameters by part and in total, of a model or with other attention in it. */
#include "commands/question.h"

#include <string.h>

#include "base/exact.h"
#include "catalog/books.h"
#include "catalog/family.h"

/* One answer: a model with its own attention or with one variant in its place. */
struct count {
	struct session *session;
	struct question *question;
	const struct al_family *family;      /* NULL: attention only */
	struct al_model_books books;         /* with a family */
	struct al_table *table, *explanations;
	bool shows_model, shows_variant, shows_tensors;
};

/* ---- rows ---- */

static struct al_cell *begin_row(struct count *c, const char *variant)
{
	struct al_cell *cell = al_table_add_row(c->table);

	if (c->shows_model)
		al_cell_set_text(c->table, cell++, c->question->name);
	if (c->shows_variant)
		al_cell_set_text(c->table, cell++, variant);
	return cell;
}

static void add_part(struct count *c, const char *variant, const char *part, int64_t tensors,
	mpq_srcptr parameters)
{
	struct al_cell *cell = begin_row(c, variant);

	al_cell_set_text(c->table, cell++, part);
	al_cell_set_int(c->table, cell++, tensors);
	al_cell_set_exact(c->table, cell, parameters);
}

static const char *join_dims(struct count *c, const int64_t *dims, size_t n)
{
	char *text = al_strdup(&c->session->arena, "");

	for (size_t i = 0; i < n; i++)
		text = al_format(&c->session->arena, "%s%s%lld", text, i ? " x " : "", (long long)dims[i]);
	return text;
}

static void add_tensor(struct count *c, const char *variant, const char *part, const char *name,
	const char *shape, int64_t copies, mpq_srcptr parameters)
{
	struct al_cell *cell = begin_row(c, variant);

	al_cell_set_text(c->table, cell++, part);
	al_cell_set_text(c->table, cell++, name);
	al_cell_set_text(c->table, cell++, shape);
	al_cell_set_int(c->table, cell++, copies);
	al_cell_set_exact(c->table, cell, parameters);
}

/* ---- attention ---- */

struct sum {
	int64_t tensors;
	mpq_t parameters;
};

static void add_entry(struct count *c, const struct al_variant_use *use, const char *name,
	const struct al_ledger_entry *entry, int64_t copies, struct sum *sum)
{
	mpq_t product;
	int64_t times = entry->times * copies;

	mpq_init(product);
	mpq_set_si(product, times, 1);
	mpq_mul(product, product, entry->elements);
	sum->tensors += entry->count * times;
	mpq_add(sum->parameters, sum->parameters, product);
	if (c->shows_tensors)
		add_tensor(c, use->name, "attention",
			name ? al_format(&c->session->arena, "%s: %s", name, entry->entry->name)
			     : entry->entry->name,
			join_dims(c, entry->dims, entry->n_dims), entry->count * times, product);
	mpq_clear(product);
}

/* `copies` blocks of one variant; the basis covers what it covers. */
static bool add_block(struct count *c, const struct al_variant_use *use, const struct al_basis *basis,
	const char *name, int64_t copies, struct sum *sum, struct al_error *err)
{
	bool explain = is_given(&c->session->arguments, OPT_EXPLAIN);
	struct al_block block;
	struct al_ledger ledger;

	if (!al_block_init(&block, use, &c->question->settings, basis, err))
		return false;
	bool ok = al_ledger_tensors(&ledger, &block, false, explain, err);
	if (ok) {
		for (size_t i = 0; i < ledger.n; i++)
			add_entry(c, use, name, &ledger.entries[i], copies, sum);
		if (explain)
			explain_entries(c->explanations, c->question->name, use, &ledger, "attention",
				copies);
		al_ledger_finish(&ledger);
	}
	al_block_finish(&block);
	return ok;
}

/* The model's own modules, each with the variant that its family names. */
static bool add_own_modules(struct count *c, struct sum *sum, struct al_error *err)
{
	struct al_basis basis = c->question->basis;

	basis.per = AL_BASIS_MODULE;
	for (size_t i = 0; i < c->books.n_modules; i++) {
		const struct al_model_module *module = &c->books.modules[i];
		struct al_variant_use use = {.variant = module->variant, .name = module->variant->name,
			.with = module->with, .n_with = module->n_with};
		if (module->apart)
			continue;
		if (!add_block(c, &use, &basis, module->name, module->copies, sum, err))
			return al_in(err, "%s", module->name);
	}
	return true;
}

static bool add_attention(struct count *c, const struct al_variant_use *use, struct sum *sum,
	struct al_error *err)
{
	if (c->family && c->question->is_own)
		return add_own_modules(c, sum, err);
	return add_block(c, use, &c->question->basis, NULL, 1, sum, err);
}

/* ---- the other parts ---- */

static void add_stored(struct count *c, const char *variant, const struct al_model_tensor *tensor)
{
	const char *part = al_part_names[tensor->tensor->part];

	add_tensor(c, variant, part, tensor->name, join_dims(c, tensor->dims, tensor->n_dims),
		tensor->copies * tensor->count, tensor->elements);
}

/* "vocab * d_model" and "50257 * 768"; a shape that a loop decides has its numbers only. */
static const char *join_formulas(struct count *c, const struct al_shape *shape, bool is_substituted)
{
	struct al_scope scope = al_settings_scope(&c->question->settings);
	char *text = al_strdup(&c->session->arena, "");

	for (size_t i = 0; i < shape->n_dims; i++) {
		const char *dim = al_formula_source(shape->dims[i]);
		if (is_substituted
			&& !al_formula_substituted(shape->dims[i], &scope, &c->session->arena, &dim, NULL))
			return NULL;
		text = al_format(&c->session->arena, "%s%s%s", text, i ? " * " : "", dim);
	}
	return text;
}

static void explain_stored(struct count *c, const char *variant, const struct al_model_tensor *tensor)
{
	const struct al_entry *entry = &tensor->tensor->entry;
	mpq_t once;

	mpq_init(once);
	mpq_set_si(once, tensor->copies, 1);
	mpq_div(once, tensor->elements, once);
	explain(c->explanations, &(struct explanation){.model = c->question->name, .variant = variant,
		.of = al_part_names[tensor->tensor->part], .name = tensor->name,
		.formula = join_formulas(c, &entry->shape, false),
		.substituted = join_formulas(c, &entry->shape, true), .result = once,
		.times = tensor->copies, .source = c->family->source});
	mpq_clear(once);
}

static void sum_part(struct count *c, const char *variant, enum al_part part, struct sum *sum)
{
	for (size_t i = 0; i < c->books.n_tensors; i++) {
		const struct al_model_tensor *tensor = &c->books.tensors[i];
		if (tensor->tensor->part != part || !al_model_tensor_is_parameter(tensor))
			continue;
		sum->tensors += tensor->copies * tensor->count;
		mpq_add(sum->parameters, sum->parameters, tensor->elements);
		if (c->shows_tensors)
			add_stored(c, variant, tensor);
		if (c->explanations)
			explain_stored(c, variant, tensor);
	}
}

static bool add_one_part(struct count *c, const struct al_variant_use *use, enum al_part part,
	struct sum *total, struct al_error *err)
{
	struct sum sum = {0};
	bool ok = true;

	mpq_init(sum.parameters);
	if (part == AL_PART_ATTENTION)
		ok = add_attention(c, use, &sum, err);
	if (ok && c->family)
		sum_part(c, use->name, part, &sum);
	if (ok && !c->shows_tensors && (sum.tensors > 0 || part == AL_PART_ATTENTION))
		add_part(c, use->name, al_part_names[part], sum.tensors, sum.parameters);
	total->tensors += sum.tensors;
	mpq_add(total->parameters, total->parameters, sum.parameters);
	mpq_clear(sum.parameters);
	return ok;
}

static bool add_variant(struct count *c, const struct al_variant_use *use, struct al_error *err)
{
	struct sum total = {0};
	bool ok = true;

	mpq_init(total.parameters);
	for (int part = 0; ok && part < AL_N_PARTS; part++)
		ok = add_one_part(c, use, (enum al_part)part, &total, err);
	if (ok && c->shows_tensors)
		add_tensor(c, use->name, "total", "", "", total.tensors, total.parameters);
	else if (ok)
		add_part(c, use->name, "total", total.tensors, total.parameters);
	mpq_clear(total.parameters);
	return ok;
}

/* ---- the table ---- */

static void add_columns(struct count *c)
{
	struct al_table *t = c->table;

	if (c->shows_model)
		al_table_add_column(t, (struct al_column){.key = "model", .title = "Model", .is_key = true});
	if (c->shows_variant)
		al_table_add_column(t, (struct al_column){.key = "variant", .title = "Variant", .is_key = true});
	al_table_add_column(t, (struct al_column){.key = "part", .title = "Part", .is_key = true});
	if (c->shows_tensors) {
		al_table_add_column(t, (struct al_column){.key = "name", .title = "Tensor"});
		al_table_add_column(t, (struct al_column){.key = "shape", .title = "Shape"});
	}
	al_table_add_column(t, (struct al_column){.key = "tensors", .title = "Tensors",
		.quantity = AL_QUANTITY_COUNT, .digits = AL_DIGITS_ALL});
	al_table_add_column(t, measure_column(AL_PARAMETERS));
}

/* What the answer stands on. */
static void add_notes(struct count *c)
{
	const struct question *q = c->question;

	question_note(q, c->table);
	if (c->family)
		al_table_note(c->table, "%s: %s", q->name, q->model->source);
	else if (q->model)
		al_table_note(c->table, "%s: attention only, its vocabulary or other parts are not known", q->name);
}

static bool open_books(struct count *c, struct al_error *err)
{
	const struct question *q = c->question;

	if (!q->model || !q->model->family)
		return true;
	return al_catalog_family(c->session->catalog, q->model->family, &c->family, err)
		&& al_model_books_init(&c->books, c->session->catalog, c->family,
			&c->question->settings, false, err);
}

static bool count_model(struct count *c, const char *word, struct al_error *err)
{
	struct question question;
	/* A model is counted whole; a variant alone is one block. */
	bool is_model = al_embedded_find(al_catalog_files(AL_CATALOG_MODELS), word) != NULL;
	bool ok = question_init(&question, c->session, word, true,
		is_model ? AL_BASIS_MODEL : AL_BASIS_MODULE, err);

	if (!ok)
		return false;
	c->question = &question;
	c->family = NULL;
	ok = open_books(c, err);
	for (size_t i = 0; ok && i < question.n_uses; i++)
		ok = add_variant(c, &question.uses[i], err);
	if (ok)
		add_notes(c);
	if (c->family)
		al_model_books_finish(&c->books);
	question_finish(&question);
	return ok;
}

static bool run(struct session *session, struct al_error *err)
{
	const struct arguments *a = &session->arguments;
	struct count c = {
		.session = session,
		.shows_model = a->n_words > 1,
		.shows_variant = is_given(a, OPT_VARIANT) || is_given(a, OPT_VARIANTS),
		.shows_tensors = is_given(a, OPT_TENSORS),
	};

	c.table = session_table(session, "count",
		a->n_words == 1 ? al_format(&session->arena, "Parameters of %s", a->words[0]) : "Parameters");
	add_columns(&c);
	if (is_given(a, OPT_EXPLAIN))
		c.explanations = explain_table(session);
	for (size_t i = 0; i < a->n_words; i++)
		if (!count_model(&c, a->words[i], err))
			return false;
	return true;
}

const struct command command_count = {
	.name = "count",
	.words = "MODEL|VARIANT...",
	.summary = "parameters by part and in total",
	.examples = {"count gpt2", "count gpt3-175b --variants mha,mqa,mhe-mul --basis output_projection=none"},
	.options = OPTIONS_OUTPUT | OPTIONS_QUESTION | OPTION(OPT_EXPLAIN) | OPTION(OPT_TENSORS),
	.least_words = 1,
	.most_words = 1000,
	.run = run,
};
