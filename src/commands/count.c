/* count: parameters by part and in total, of a model or with other attention in it. */
#include "commands/explain.h"
#include "commands/question.h"

#include <string.h>

#include "base/number.h"
#include "ledger/whole.h"

struct count_options {
	struct output_options output;
	struct al_asked asked;
	bool explains, shows_tensors, shows_active, shows_counts;
};

static const struct option_row rows[] = {
	EXPLAIN_ROW(struct count_options, explains),
	OPTION_FLAG(struct count_options, shows_tensors, "tensors", "a row for each tensor"),
	OPTION_FLAG(struct count_options, shows_active, "active",
		"add a column with the parameters that one token uses (mixture of experts)"),
	OPTION_FLAG(struct count_options, shows_counts, "counts",
		"the counts that are often confused: without embeddings, stored, tied, buffers, "
		"scales"),
	OPTION_END,
};

static const struct option_group groups[] = {OUTPUT_GROUPS,
	{setting_rows, offsetof(struct count_options, asked)},
	{variant_rows, offsetof(struct count_options, asked)}, {rows, 0}, {NULL, 0}};

/* One answer: a model with its own attention or with one variant in its place. */
struct count {
	struct session *session;
	const struct count_options *options;
	struct al_question *question;
	struct al_table *table;
	struct al_table *counts, *explanations; /* NULL: not asked for */
	bool shows_model, shows_variant;
};

/* ---- rows ---- */

static struct al_cell *begin_row(struct count *c, struct al_table *table, const char *variant)
{
	struct al_cell *cell = al_table_add_row(table);

	if (c->shows_model)
		al_cell_set_text(table, cell++, c->question->name);
	if (c->shows_variant)
		al_cell_set_text(table, cell++, variant);
	return cell;
}

static void set_numbers(struct count *c, struct al_cell *cell, int64_t tensors,
	mpq_srcptr parameters, mpq_srcptr active)
{
	al_cell_set_int(c->table, cell++, tensors);
	al_cell_set_exact(c->table, cell++, parameters);
	if (c->options->shows_active)
		al_cell_set_exact(c->table, cell, active);
}

static const char *join_dims(struct count *c, const int64_t *dims, size_t n)
{
	char *text = al_strdup(&c->session->arena, "");

	for (size_t i = 0; i < n; i++)
		text = al_format(&c->session->arena, "%s%s%lld", text, i ? " x " : "",
			(long long)dims[i]);
	return text;
}

static void add_tensor(struct count *c, const char *variant, const char *part, const char *name,
	const char *shape, int64_t copies, mpq_srcptr parameters, mpq_srcptr active)
{
	struct al_cell *cell = begin_row(c, c->table, variant);

	al_cell_set_text(c->table, cell++, part);
	al_cell_set_text(c->table, cell++, name);
	al_cell_set_text(c->table, cell++, shape);
	set_numbers(c, cell, copies, parameters, active);
}

/* ---- a block alone, or attention of a model whose other parts aren't known ---- */

struct sum {
	int64_t tensors;
	mpq_t parameters, active;
};

static void sum_init(struct sum *sum)
{
	sum->tensors = 0;
	mpq_inits(sum->parameters, sum->active, NULL);
}

static void sum_finish(struct sum *sum)
{
	mpq_clears(sum->parameters, sum->active, NULL);
}

static void add_to(struct sum *sum, int64_t tensors, mpq_srcptr parameters, mpq_srcptr active)
{
	sum->tensors += tensors;
	mpq_add(sum->parameters, sum->parameters, parameters);
	mpq_add(sum->active, sum->active, active);
}

static void add_entry(struct count *c, const struct al_variant_use *use,
	const struct al_ledger_entry *entry, struct sum *total)
{
	int64_t tensors = entry->count * entry->times;
	struct sum sum;

	sum_init(&sum);
	mpq_set(sum.parameters, entry->elements);
	al_exact_multiply(sum.parameters, entry->times);
	mpq_set(sum.active, sum.parameters);
	al_exact_multiply(sum.active, entry->active);
	al_exact_divide(sum.active, entry->count ? entry->count : 1);
	add_to(total, tensors, sum.parameters, sum.active);
	if (c->options->shows_tensors)
		add_tensor(c, use->name, "attention", entry->entry->name,
			join_dims(c, entry->dims, entry->n_dims), tensors, sum.parameters,
			sum.active);
	sum_finish(&sum);
}

static void add_part(struct count *c, const char *variant, const char *part, const struct sum *sum)
{
	struct al_cell *cell = begin_row(c, c->table, variant);

	al_cell_set_text(c->table, cell++, part);
	set_numbers(c, cell, sum->tensors, sum->parameters, sum->active);
}

static void finish_rows(struct count *c, const char *variant, const struct sum *total)
{
	if (c->options->shows_tensors)
		add_tensor(c, variant, "total", "", "", total->tensors, total->parameters,
			total->active);
	else
		add_part(c, variant, "total", total);
}

static bool count_block(struct count *c, const struct al_variant_use *use, struct al_error *err)
{
	struct al_block block;
	struct al_ledger ledger;
	struct sum total;

	if (!al_block_init(&block, use, &c->question->settings, &c->question->basis, err))
		return false;
	bool ok = al_ledger_tensors(&ledger, &block, false, c->explanations, err);
	if (ok) {
		sum_init(&total);
		for (size_t i = 0; i < ledger.n; i++)
			add_entry(c, use, &ledger.entries[i], &total);
		if (c->explanations)
			explain_entries(c->explanations, c->question->name, use, &ledger,
				"attention", 1);
		if (!c->options->shows_tensors)
			add_part(c, use->name, al_part_names[AL_PART_ATTENTION], &total);
		finish_rows(c, use->name, &total);
		sum_finish(&total);
		al_ledger_finish(&ledger);
	}
	al_block_finish(&block);
	return ok;
}

/* ---- a whole model ---- */

static void explain_tensor(struct count *c, const char *variant, const struct al_whole_tensor *t)
{
	mpq_t once;

	mpq_init(once);
	mpq_set(once, t->elements);
	al_exact_divide(once, t->copies ? t->copies : 1);
	explain(c->explanations,
		&(struct explanation){.model = c->question->name,
			.variant = variant,
			.of = al_part_names[t->part],
			.name = t->name,
			.formula = t->formula,
			.substituted = t->substituted,
			.result = once,
			.times = t->copies,
			.source = t->source});
	mpq_clear(once);
}

static void add_whole_tensor(struct count *c, const char *variant, const struct al_whole_tensor *t)
{
	const char *name = t->module && c->question->is_own
		? al_format(&c->session->arena, "%s: %s", t->module, t->name)
		: t->name;

	add_tensor(c, variant, al_part_names[t->part], name, join_dims(c, t->dims, t->n_dims),
		t->copies, t->elements, t->active);
}

static void count_part(struct count *c, const char *variant, const struct al_whole *whole,
	enum al_part part, struct sum *total)
{
	struct sum sum;

	sum_init(&sum);
	for (size_t i = 0; i < whole->n_tensors; i++) {
		const struct al_whole_tensor *tensor = &whole->tensors[i];
		if (tensor->part != part || !tensor->is_parameter)
			continue;
		add_to(&sum, tensor->copies, tensor->elements, tensor->active);
		if (c->options->shows_tensors)
			add_whole_tensor(c, variant, tensor);
		if (c->explanations)
			explain_tensor(c, variant, tensor);
	}
	if (!c->options->shows_tensors && (sum.tensors > 0 || part == AL_PART_ATTENTION))
		add_part(c, variant, al_part_names[part], &sum);
	add_to(total, sum.tensors, sum.parameters, sum.active);
	sum_finish(&sum);
}

static void add_counts(struct count *c, const char *variant, const struct al_whole *whole)
{
	mpq_t value;

	mpq_init(value);
	for (int i = 0; i < AL_N_COUNTS; i++) {
		struct al_cell *cell = begin_row(c, c->counts, variant);
		al_whole_count(whole, (enum al_count)i, value);
		al_cell_set_titled(c->counts, cell++, al_counts[i].key, al_counts[i].title);
		al_cell_set_exact(c->counts, cell, value);
	}
	mpq_clear(value);
}

static bool count_whole(struct count *c, const struct al_variant_use *use, struct al_error *err)
{
	struct al_question *q = c->question;
	const struct al_whole_ask ask = {.catalog = c->session->catalog,
		.family = q->family,
		.settings = &q->settings,
		.basis = &q->basis,
		.use = q->is_own ? NULL : use,
		.tp = 1,
		.detail = AL_BOOKS_KINDS,
		.explains = c->explanations != NULL};
	struct al_whole whole;
	struct sum total;

	if (!al_whole_init(&whole, &ask, err))
		return al_in(err, "%s", q->name);
	sum_init(&total);
	for (int part = 0; part < AL_N_PARTS; part++)
		count_part(c, use->name, &whole, (enum al_part)part, &total);
	finish_rows(c, use->name, &total);
	if (c->counts)
		add_counts(c, use->name, &whole);
	sum_finish(&total);
	al_whole_finish(&whole);
	return true;
}

/* A basis of one module or layer asks about that much attention, not about a model. */
static bool count_variant(struct count *c, const struct al_variant_use *use, struct al_error *err)
{
	if (c->question->family && c->question->basis.per == AL_BASIS_MODEL)
		return count_whole(c, use, err);
	return count_block(c, use, err);
}

/* ---- the table ---- */

static void add_key_columns(struct count *c, struct al_table *table)
{
	if (c->shows_model)
		al_table_add_column(table,
			(struct al_column){.key = "model", .title = "Model", .is_key = true});
	if (c->shows_variant)
		al_table_add_column(table,
			(struct al_column){.key = "variant", .title = "Variant", .is_key = true});
}

static void add_columns(struct count *c)
{
	struct al_table *t = c->table;

	add_key_columns(c, t);
	al_table_add_column(t, (struct al_column){.key = "part", .title = "Part", .is_key = true});
	if (c->options->shows_tensors) {
		al_table_add_column(t, (struct al_column){.key = "name", .title = "Tensor"});
		al_table_add_column(t, (struct al_column){.key = "shape", .title = "Shape"});
	}
	al_table_add_column(t,
		(struct al_column){.key = "tensors",
			.title = "Tensors",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL});
	al_table_add_column(t, measure_column(AL_PARAMETERS));
	if (c->options->shows_active)
		al_table_add_column(t,
			(struct al_column){.key = "active",
				.title = "For one token",
				.quantity = AL_QUANTITY_COUNT,
				.digits = AL_DIGITS_ALL});
}

static void open_counts(struct count *c)
{
	c->counts = session_table(c->session, "counts", "Counts that are often confused");
	add_key_columns(c, c->counts);
	al_table_add_column(c->counts,
		(struct al_column){.key = "count", .title = "Count", .is_key = true});
	al_table_add_column(c->counts,
		(struct al_column){.key = "numbers",
			.title = "Numbers",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL});
}

/* Rotary settings, activation functions and the like change nothing in a count. */
static void note_ignored(struct count *c)
{
	const struct al_question *q = c->question;
	const char *const *keys;
	const char *list = "";
	size_t n = al_family_ignored(q->family, q->model->config, &c->session->arena, &keys);

	for (size_t i = 0; i < n; i++)
		list = al_format(&c->session->arena, "%s%s%s", list, i ? ", " : "", keys[i]);
	if (n > 0)
		al_table_note(c->table, "%s: config keys that change nothing: %s", q->name, list);
}

/* What the answer stands on. */
static void add_notes(struct count *c)
{
	const struct al_question *q = c->question;

	if (q->family && c->explanations)
		note_ignored(c);

	question_note(q, c->table);
	if (q->family)
		al_table_note(c->table, "%s: %s", q->name,
			q->model->source ? q->model->source : q->family->source);
	else if (q->model)
		al_table_note(c->table,
			"%s: attention only, its vocabulary or other parts are not known", q->name);
}

static bool count_model(struct count *c, const char *word, struct al_error *err)
{
	struct al_question question;

	if (!question_init(&question, c->session, &c->options->asked, word, true, AL_BASIS_MODEL,
		    err))
		return false;
	bool ok = true;
	c->question = &question;
	for (size_t i = 0; ok && i < question.uses.n; i++)
		ok = count_variant(c, &question.uses.items[i], err);
	if (ok)
		add_notes(c);
	al_question_finish(&question);
	return ok;
}

static bool run(struct session *session, struct al_error *err)
{
	const struct count_options *o = session->options;
	const struct command_line *line = &session->line;
	struct count c = {
		.session = session,
		.options = o,
		.shows_model = line->n_words > 1,
		.shows_variant = names_variants(&o->asked),
	};

	c.table = session_table(session, "count",
		line->n_words == 1 ? al_format(&session->arena, "Parameters of %s", line->words[0])
				   : "Parameters");
	add_columns(&c);
	if (o->shows_counts)
		open_counts(&c);
	if (o->explains)
		c.explanations = explain_table(session);
	for (size_t i = 0; i < line->n_words; i++)
		if (!count_model(&c, line->words[i], err))
			return false;
	return true;
}

const struct command command_count = {
	.words = "MODEL|VARIANT...",
	.examples = {"count gpt2",
		"count gpt3-175b --variants mha,mqa,mhe-mul --basis output_projection=none"},
	.options = groups,
	.options_size = sizeof(struct count_options),
	.least_words = 1,
	.most_words = 1000,
	.run = run,
};
