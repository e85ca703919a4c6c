/* count: parameters by part and in total, of a model or with other attention in it. */
#include "commands/count.h"

#include "base/number.h"
#include "commands/explain.h"
#include "commands/page.h"

static const struct al_option_row rows[] = {
	WHOLE_ROW(struct al_count_options, is_whole),
	EXPLAIN_ROW(struct al_count_options, explains),
	OPTION_FLAG(struct al_count_options, shows_tensors, "tensors", "a row for each tensor"),
	OPTION_FLAG(struct al_count_options, shows_active, "active",
		"add a column with the parameters that one token uses (mixture of experts)"),
	OPTION_FLAG(struct al_count_options, shows_counts, "counts",
		"the counts that are often confused: without embeddings, stored, tied, buffers, "
		"scales"),
	OPTION_SET(struct al_count_options, components, "part", "A,B",
		"only these of a model's parts", .words = al_component_names,
		.n_words = AL_N_COMPONENTS),
	OPTION_FLAG(struct al_count_options, is_stored, "stored",
		"all numbers that a checkpoint holds: also buffers, scales, and layers beside the "
		"model"),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS, {al_report_rows, 0},
	{al_setting_rows, offsetof(struct al_count_options, asked)},
	{al_variant_rows, offsetof(struct al_count_options, asked)}, {rows, 0}, {NULL, 0}};

/* ---- rows ---- */

struct record {
	const char *model, *variant, *part, *name, *shape;
	int64_t tensors;
	mpq_srcptr parameters, active;
};

enum { WITH_MODEL = 1, WITH_VARIANT = 2, WITH_TENSORS = 4, WITH_ACTIVE = 8 };

static const struct al_table_field fields[] = {
	{AL_COLUMN_KEY("model", "Model"), AL_MEMBER(struct record, model), .when = WITH_MODEL},
	{AL_COLUMN_KEY("variant", "Variant"), AL_MEMBER(struct record, variant),
		.when = WITH_VARIANT},
	{AL_COLUMN_KEY("part", "Part"), AL_MEMBER(struct record, part)},
	{{.key = "name", .title = "Tensor"}, AL_MEMBER(struct record, name), .when = WITH_TENSORS},
	{{.key = "shape", .title = "Shape"}, AL_MEMBER(struct record, shape), .when = WITH_TENSORS},
	{AL_COLUMN_COUNT("tensors", "Tensors"), AL_MEMBER(struct record, tensors)},
	{AL_COLUMN_COUNT("parameters", "Parameters"), AL_MEMBER(struct record, parameters)},
	{AL_COLUMN_COUNT("active", "For one token"), AL_MEMBER(struct record, active),
		.when = WITH_ACTIVE},
	AL_FIELDS_END,
};

static const char *join_dims(struct al_count_answer *c, const int64_t *dims, size_t n)
{
	char *text = al_strdup(&c->session->arena, "");

	for (size_t i = 0; i < n; i++)
		text = al_format(&c->session->arena, "%s%s%lld", text, i ? " x " : "",
			(long long)dims[i]);
	return text;
}

/* ---- sums ---- */

struct sum {
	int64_t tensors;
	mpq_ptr parameters, active;
};

static struct sum nothing(const struct al_count_answer *c)
{
	struct al_arena *arena = &c->session->arena;

	return (struct sum){0, al_exact_new(arena), al_exact_new(arena)};
}

static void add_to(struct sum *sum, int64_t tensors, mpq_srcptr parameters, mpq_srcptr active)
{
	sum->tensors += tensors;
	al_exact_add(sum->parameters, parameters);
	al_exact_add(sum->active, active);
}

/* A row of the part's sum; of no tensor in particular. */
static void add_sum(struct al_count_answer *c, const char *variant, const char *part,
	const struct sum *sum)
{
	al_table_add_record(c->table,
		&(struct record){c->request->name, variant, part, "", "", sum->tensors,
			sum->parameters, sum->active});
}

/* ---- a ledger: of a whole model, of its attention, or of a block alone ---- */

static void add_entry(struct al_count_answer *c, const char *variant,
	const struct al_ledger_entry *t)
{
	const char *module = t->module ? t->module->name : NULL;
	const char *name = module && c->request->is_own
		? al_format(&c->session->arena, "%s: %s", module, t->name)
		: t->name;

	al_table_add_record(c->table,
		&(struct record){c->request->name, variant, al_part_names[t->part], name,
			join_dims(c, t->dims, t->n_dims), t->times * t->count, t->elements,
			t->active});
}

static bool is_asked_for(const struct al_count_options *o, const struct al_ledger_entry *t)
{
	if (o->components && !(o->components >> t->component & 1))
		return false;
	if (o->is_stored)
		return al_entry_is_stored(t);
	return o->components ? al_entry_is_own(t) : t->is_parameter;
}

static void count_part(struct al_count_answer *c, const char *variant,
	const struct al_ledger *ledger, const struct al_ledger_list *tensors, enum al_part part,
	struct sum *total)
{
	struct sum sum = nothing(c);

	for (size_t i = 0; i < tensors->n; i++) {
		const struct al_ledger_entry *t = &tensors->items[i];
		if (t->part != part || !is_asked_for(c->options, t))
			continue;
		add_to(&sum, t->times * t->count, t->elements, t->active);
		if (c->options->shows_tensors)
			add_entry(c, variant, t);
		if (c->explanations)
			al_explain_entry(c->explanations, c->request->name, variant, t,
				al_part_names[part], ledger->is_model);
	}
	if (!c->options->shows_tensors
		&& (sum.tensors > 0 || (part == AL_PART_ATTENTION && !c->options->components)))
		add_sum(c, variant, al_part_names[part], &sum);
	add_to(total, sum.tensors, sum.parameters, sum.active);
}

struct count_record {
	const char *model, *variant;
	struct al_titled count;
	mpq_srcptr numbers;
};

static const struct al_table_field count_fields[] = {
	{AL_COLUMN_KEY("model", "Model"), AL_MEMBER(struct count_record, model),
		.when = WITH_MODEL},
	{AL_COLUMN_KEY("variant", "Variant"), AL_MEMBER(struct count_record, variant),
		.when = WITH_VARIANT},
	{AL_COLUMN_KEY("count", "Count"), AL_MEMBER(struct count_record, count)},
	{AL_COLUMN_COUNT("numbers", "Numbers"), AL_MEMBER(struct count_record, numbers)},
	AL_FIELDS_END,
};

static bool add_counts(struct al_count_answer *c, const char *variant, struct al_ledger *ledger,
	struct al_error *err)
{
	mpq_ptr value = al_exact_new(&c->session->arena);

	for (int i = 0; i < AL_N_COUNTS; i++) {
		if (!al_ledger_count(ledger, (enum al_count)i, value, err))
			return false;
		al_table_add_record(c->counts,
			&(struct count_record){c->request->name, variant,
				{al_counts[i].key, al_counts[i].title}, value});
	}
	return true;
}

static bool has_component(const struct al_ledger_list *tensors, int component)
{
	for (size_t i = 0; i < tensors->n; i++)
		if ((int)tensors->items[i].component == component)
			return true;
	return false;
}

/* A part that the model hasn't would be a sum of nothing. */
static bool check_components(const struct al_count_answer *c, const struct al_ledger *ledger,
	const struct al_ledger_list *tensors, struct al_error *err)
{
	const char *list = "";
	int missing = AL_N_COMPONENTS;

	if ((c->options->components || c->options->is_stored) && !ledger->is_model)
		return al_fail(err, AL_EINPUT,
			"--part and --stored tell of a whole model%s, found attention alone",
			c->request->family ? " (--whole)" : "");
	for (int i = AL_N_COMPONENTS - 1; i >= 0; i--) {
		if (has_component(tensors, i))
			list = al_format(&c->session->arena, "%s%s%s", al_component_names[i],
				*list ? ", " : "", list);
		else if (c->options->components >> i & 1)
			missing = i;
	}
	return missing == AL_N_COMPONENTS
		|| al_fail(err, AL_EINPUT, "--part %s: %s has %s", al_component_names[missing],
			c->request->name, list);
}

/* For the sentence. */
static bool note_facts(struct al_count_answer *c, struct al_ledger *ledger, const struct sum *total,
	struct al_error *err)
{
	struct al_count_facts *facts = &c->facts;

	facts->covered = al_request_covered(c->request, c->options->is_whole);
	facts->components = al_count_components(c);
	facts->is_model = ledger->is_model;
	facts->is_stored = c->options->is_stored;
	facts->projection = c->request->basis.output_projection;
	mpq_set(facts->active, total->active);
	return !ledger->is_model || al_ledger_count(ledger, AL_COUNT_TIED, facts->tied, err);
}

static bool count_ledger(struct al_count_answer *c, const char *variant, struct al_ledger *ledger,
	struct al_error *err)
{
	const struct al_ledger_list *tensors;
	struct sum total = nothing(c);

	if (!al_ledger_list(ledger, AL_LIST_TENSORS, &tensors, err)
		|| !check_components(c, ledger, tensors, err))
		return false;
	for (int part = 0; part < AL_N_PARTS; part++)
		count_part(c, variant, ledger, tensors, (enum al_part)part, &total);
	add_sum(c, variant, "total", &total);
	al_table_mark_total(c->table);
	if (!note_facts(c, ledger, &total, err))
		return false;
	if (c->counts && !ledger->is_model)
		return al_fail(err, AL_EINPUT,
			"--counts tells of a whole model%s, found attention alone",
			c->request->family ? " (--whole)" : "");
	return !c->counts || add_counts(c, variant, ledger, err);
}

static bool count_variant(struct al_count_answer *c, const struct al_configured_variant *configured,
	struct al_error *err)
{
	struct al_ledger_ask ask = al_request_ask(c->request, configured,
		al_request_is_about_model(c->request, c->options->is_whole));

	ask.explains = c->explanations != NULL;
	if (c->quantisation && c->quantisation->scheme && ask.family) {
		ask.quantisation = c->quantisation;
		if (c->quantisation->is_by_layer)
			ask.detail = AL_TENSORS_BY_LAYER;
	}
	struct al_ledger *ledger = al_ledger_create(c->request->arena, &ask, err);
	return ledger && count_ledger(c, configured->name, ledger, err);
}

/* ---- the table ---- */

/* Parameters are the same in any format: a quantisation that isn't known hides scales alone. */
static void find_quantisation(struct al_count_answer *c)
{
	const struct al_count_options *o = c->options;
	struct al_error unknown = {0};

	c->quantisation = NULL;
	c->unknown = NULL;
	if (!c->request->model || !(o->is_stored || o->shows_counts || c->explanations))
		return;
	c->quantisation = al_request_quantisation(c->request, NULL, &unknown);
	if (!c->quantisation)
		c->unknown = al_strdup(&c->session->arena, unknown.message);
}

static bool answer(void *context, struct al_request *q, struct al_error *err)
{
	struct al_count_answer *c = context;

	c->request = q;
	if (!al_check_whole(q, c->options->is_whole, err))
		return false;
	find_quantisation(c);
	if (c->session->line.n_words == 1 && q->model)
		c->table->title = al_format(&c->table->arena, "Parameters of %s",
			al_request_covered(q, c->options->is_whole));
	for (size_t i = 0; i < q->variants.n; i++)
		if (!count_variant(c, &q->variants.items[i], err))
			return false;
	al_count_note(c);
	return true;
}

static bool run(struct al_session *session, struct al_error *err)
{
	const struct al_count_options *o = session->options;
	const struct al_command_line *line = &session->line;
	struct al_asked asked = o->asked;
	struct al_count_answer c = {
		.session = session,
		.options = o,
		.facts = {.active = al_exact_new(&session->arena),
			.tied = al_exact_new(&session->arena)},
	};
	const unsigned shown = (line->n_words > 1 ? WITH_MODEL : 0)
		| (al_names_variants(&o->asked) ? WITH_VARIANT : 0)
		| (o->shows_tensors ? WITH_TENSORS : 0) | (o->shows_active ? WITH_ACTIVE : 0);

	c.table = al_session_table(session, "count",
		line->n_words == 1 ? al_format(&session->arena, "Parameters of %s", line->words[0])
				   : "Parameters");
	al_table_add_fields(c.table, fields, shown);
	if (o->shows_counts) {
		c.counts = al_session_table(session, "counts", "Counts that are often confused");
		al_table_add_fields(c.counts, count_fields, shown);
	}
	if (o->explains)
		c.explanations = al_explain_table(session);
	/* explained are defaults, too, which the tensors' shapes derive */
	asked.only_modules = !o->explains;
	if (!al_each_request(session, &asked, true, answer, &c, err))
		return false;
	session->style.summary = al_count_summarize(&session->arena, c.table, &c.facts);
	return true;
}

static const struct al_page_chart charts[] = {
	{"part", "parameters", "parameters", "total"},
	{NULL, NULL, NULL, NULL},
};

const struct al_command al_command_count = {
	.words = "MODEL|VARIANT...",
	.examples = {"count gpt2",
		"count gpt3-175b --variants mha,mqa,mhe-mul --basis output_projection=none"},
	.options = groups,
	.charts = charts,
	.options_size = sizeof(struct al_count_options),
	.least_words = 1,
	.most_words = 1000,
	.run = run,
};
