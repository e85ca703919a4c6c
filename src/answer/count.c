/* count: parameters by part and in total, of a model or with other attention in it. */

#include "answer/explain.h"
#include "answer/request.h"
#include "report/claim.h"
#include "formats/format.h"

struct count_options {
	struct al_output_options output;
	struct al_asked asked;
	bool explains, shows_tensors, shows_active, shows_counts, is_whole, is_stored;
	uint64_t components; /* a bit for each of al_component_names; 0: those of the model */
};

static const struct al_option_row rows[] = {
	WHOLE_ROW(struct count_options, is_whole),
	EXPLAIN_ROW(struct count_options, explains),
	OPTION_FLAG(struct count_options, shows_tensors, "tensors", "one row per tensor",
		.shows_all = true),
	OPTION_FLAG(struct count_options, shows_active, "active",
		"add the parameters that one token uses (mixture of experts)"),
	OPTION_FLAG(struct count_options, shows_counts, "counts",
		"compare counts: without embeddings, stored, tied, buffers, scales",
		.shows_all = true),
	OPTION_SET(struct count_options, components, "part", "A,B", "count only these parts",
		.words = al_component_names, .n_words = AL_N_COMPONENTS),
	OPTION_FLAG(struct count_options, is_stored, "stored",
		"count all stored numbers, including buffers, scales and extra layers"),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS, {al_report_rows, 0},
	{al_setting_rows, offsetof(struct count_options, asked)},
	{al_variant_rows, offsetof(struct count_options, asked)}, {rows, 0}, {NULL, 0}};

/* Of a part, or AL_N_PARTS: of all. */
struct sum {
	int64_t tensors;
	mpq_ptr parameters, active;
};

/* A model with its own attention or with one variant in its place. */
struct answer {
	struct al_session *session;
	const struct count_options *options;
	struct al_request *request;
	struct al_table *table;
	struct al_table *counts, *explanations; /* NULL: not asked for */
	struct al_quantization *quantization; /* of the request; NULL: none is asked for */
	const char *unknown; /* why it isn't known; or NULL */
	bool is_model; /* with all its parts, not attention alone */
	struct sum sums[AL_N_PARTS + 1]; /* of the last model and variant */
	mpq_ptr tied;
};

/* ---- rows ---- */

struct record {
	const char *model, *variant, *part, *name, *shape;
	int64_t tensors;
	mpq_srcptr parameters, active;
};

enum { WITH_MODEL = 1, WITH_VARIANT = 2, WITH_TENSORS = 4, WITH_ACTIVE = 8 };

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct record, model, "Model"), .when = WITH_MODEL},
	{AL_SHOW_KEY(struct record, variant, "Variant"), .when = WITH_VARIANT},
	{AL_SHOW_KEY(struct record, part, "Part")},
	{AL_SHOW(struct record, name, "Tensor"), .when = WITH_TENSORS},
	{AL_SHOW(struct record, shape, "Shape"), .when = WITH_TENSORS},
	{AL_SHOW_COUNT(struct record, tensors, "Tensors")},
	{AL_SHOW_COUNT(struct record, parameters, "Parameters")},
	{AL_SHOW_COUNT(struct record, active, "For one token"), .when = WITH_ACTIVE},
	AL_FIELDS_END,
};

static void add_to(struct sum *sum, const struct al_ledger_entry *t)
{
	sum->tensors += t->times * t->count;
	al_exact_add(sum->parameters, t->elements);
	al_exact_add(sum->active, t->active);
}

/* A row of the part's sum; of no tensor in particular. */
static void add_sum(struct answer *c, const char *variant, const char *part, const struct sum *sum)
{
	al_table_add_record(c->table,
		&(struct record){c->request->name, variant, part, "", "", sum->tensors,
			sum->parameters, sum->active});
}

/* ---- a ledger: of a whole model, of its attention, or of a block alone ---- */

static void add_entry(struct answer *c, const char *variant, const struct al_ledger_entry *t)
{
	const char *module = t->module ? t->module->name : NULL;
	const char *name = module && c->request->is_own
		? al_format(&c->session->arena, "%s: %s", module, t->name)
		: t->name;

	al_table_add_record(c->table,
		&(struct record){c->request->name, variant, al_part_names[t->part], name,
			t->n_dims ? al_shape_text(&c->session->arena, t->dims, t->n_dims) : "",
			t->times * t->count, t->elements, t->active});
}

static bool is_asked_for(const struct count_options *o, const struct al_ledger_entry *t)
{
	if (o->components && !(o->components >> t->component & 1))
		return false;
	if (o->is_stored)
		return al_entry_is_stored(t);
	return o->components ? al_entry_is_own(t) : t->is_parameter;
}

static void count_part(struct answer *c, const char *variant, const struct al_ledger_list *tensors,
	enum al_part part)
{
	const struct sum *sum = &c->sums[part];

	for (size_t i = 0; i < tensors->n; i++) {
		const struct al_ledger_entry *t = &tensors->items[i];
		if (t->part != part || !is_asked_for(c->options, t))
			continue;
		add_to(&c->sums[part], t);
		add_to(&c->sums[AL_N_PARTS], t);
		if (c->options->shows_tensors)
			add_entry(c, variant, t);
		if (c->explanations)
			al_explain_entry(c->explanations, c->request->name, variant, t,
				al_part_names[part]);
	}
	if (!c->options->shows_tensors
		&& (sum->tensors > 0 || (part == AL_PART_ATTENTION && !c->options->components)))
		add_sum(c, variant, al_part_names[part], sum);
}

struct count_record {
	const char *model, *variant;
	struct al_titled count;
	mpq_srcptr numbers;
};

static const struct al_table_field count_fields[] = {
	{AL_SHOW_KEY(struct count_record, model, "Model"), .when = WITH_MODEL},
	{AL_SHOW_KEY(struct count_record, variant, "Variant"), .when = WITH_VARIANT},
	{AL_SHOW_KEY(struct count_record, count, "Count")},
	{AL_SHOW_COUNT(struct count_record, numbers, "Numbers")},
	AL_FIELDS_END,
};

static bool add_counts(struct answer *c, const char *variant, struct al_ledger *ledger,
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
static bool check_components(const struct answer *c, const struct al_ledger *ledger,
	const struct al_ledger_list *tensors, struct al_error *err)
{
	const char *list = "";
	int missing = -1;

	if ((c->options->components || c->options->is_stored) && !ledger->is_model)
		return al_fail(err, AL_EINPUT,
			"--part and --stored need a whole model%s, not only attention",
			c->request->family ? " (--whole)" : "");
	for (int i = 0; i < AL_N_COMPONENTS; i++) {
		if (has_component(tensors, i))
			list = al_join(&c->session->arena, list, al_component_names[i]);
		else if (missing < 0 && c->options->components >> i & 1)
			missing = i;
	}
	return missing < 0
		|| al_fail(err, AL_EINPUT, "--part %s: %s has %s", al_component_names[missing],
			c->request->name, list);
}

static bool count_ledger(struct answer *c, const char *variant, struct al_ledger *ledger,
	struct al_error *err)
{
	const struct al_ledger_list *tensors;

	for (int part = 0; part <= AL_N_PARTS; part++)
		c->sums[part] = (struct sum){0, al_exact_new(&c->session->arena),
			al_exact_new(&c->session->arena)};
	if (!al_ledger_list(ledger, AL_LIST_TENSORS, &tensors, err)
		|| !check_components(c, ledger, tensors, err))
		return false;
	for (int part = 0; part < AL_N_PARTS; part++)
		count_part(c, variant, tensors, (enum al_part)part);
	add_sum(c, variant, "total", &c->sums[AL_N_PARTS]);
	al_table_mark_total(c->table);
	c->is_model = ledger->is_model;
	if (ledger->is_model && !al_ledger_count(ledger, AL_COUNT_TIED, c->tied, err))
		return false;
	if (c->counts && !ledger->is_model)
		return al_fail(err, AL_EINPUT, "--counts needs a whole model%s, not only attention",
			c->request->family ? " (--whole)" : "");
	return !c->counts || add_counts(c, variant, ledger, err);
}

static bool count_variant(struct answer *c, const struct al_configured_variant *configured,
	struct al_error *err)
{
	struct al_ledger_ask ask = al_request_ask(c->request, configured,
		al_request_is_about_model(c->request, c->options->is_whole));

	ask.explains = c->explanations != NULL;
	if (c->quantization && c->quantization->scheme && ask.family) {
		ask.quantization = c->quantization;
		if (c->quantization->is_by_layer)
			ask.detail = AL_TENSORS_BY_LAYER;
	}
	struct al_ledger *ledger = al_ledger_create(c->request->arena, &ask, err);
	return ledger && count_ledger(c, configured->name, ledger, err);
}

/* ---- notes ---- */

static const char *components_text(const struct answer *c)
{
	const char *list = "";

	for (int i = 0; i < AL_N_COMPONENTS; i++)
		if (c->options->components >> i & 1)
			list = al_join(&c->session->arena, list, al_component_names[i]);
	return list;
}

static void note_list(const struct answer *c, const char *what, const char *const *items, size_t n)
{
	AL_TEXT(list);

	for (size_t i = 0; i < n; i++)
		al_text_addf(&list, "%s%s", i ? ", " : "", items[i]);
	if (n > 0)
		al_table_note(c->table, "%s: %s: %s", c->request->name, what, list.data);
}

/* What the config leaves to its family; and rotary settings, activation functions and the like,
 * which change nothing in a count. */
static void note_keys(const struct answer *c)
{
	const struct al_request *q = c->request;
	struct al_arena *arena = &c->session->arena;
	const char *const *items;
	size_t n = al_family_defaults(q->family, q->model->doc, q->model->config, &q->settings,
		arena, &items);

	note_list(c, "config keys not given, defaults used", items, n);
	n = al_family_ignored(q->family, q->model->config, arena, &items);
	note_list(c, "config keys without effect on counts", items, n);
}

static void note_parts(const struct answer *c)
{
	const char *list = components_text(c);

	if (*list)
		al_table_note(c->table, "only these parts of the model: %s", list);
	if (c->options->is_stored)
		al_table_note(c->table,
			"stored: includes buffers, scales and tensors that aren't part of the "
			"model; a tied tensor is counted once, though some files contain it "
			"twice");
}

static void add_notes(const struct answer *c)
{
	const struct al_request *q = c->request;

	if (q->family && c->explanations)
		note_keys(c);

	al_note_request(q, c->options->is_whole, c->table);
	note_parts(c);
	if (c->unknown)
		al_table_warn(c->table, "scales are not counted: %s", c->unknown);
	if (c->quantization && c->quantization->scheme) {
		al_table_note(c->table, "stored as %s", c->quantization->name);
		al_note_quantization(c->quantization, c->explanations != NULL, c->table);
	}
	if (q->family)
		al_table_note(c->table, "%s: %s", q->name,
			q->model->source ? q->model->source : q->family->source);
	else if (q->model)
		al_table_warn(c->table,
			"%s: attention only, since its vocabulary or other parts are unknown",
			q->name);
}

/* ---- in a sentence ---- */

/* ", 28,311,552 of them (22.8 %) in attention"; "" where that is all, or nothing. */
static const char *attention_share(const struct answer *c)
{
	struct al_arena *arena = &c->session->arena;
	mpq_srcptr total = c->sums[AL_N_PARTS].parameters;
	mpq_srcptr attention = c->sums[AL_PART_ATTENTION].parameters;

	if (mpq_sgn(attention) == 0 || mpq_equal(attention, total))
		return "";
	return al_format(arena, ", %s of them (%s) in attention",
		al_claim_exact(arena, "attention", attention),
		al_claim_percent(arena, "attention_share",
			mpq_get_d(attention) / mpq_get_d(total)));
}

static const char *projection_text(const struct answer *c)
{
	static const char *const texts[] = {
		[AL_OUTPUT_OWN] = "; each variant includes its own output projection",
		[AL_OUTPUT_FULL] = "; each output projection counts d_model x d_model",
		[AL_OUTPUT_NONE] = "; output projections are not counted",
	};
	const enum al_output_projection projection = c->request->basis.output_projection;

	return c->is_model && projection == AL_OUTPUT_OWN ? "" : texts[projection];
}

/* Other counts that the number could be confused with. */
static const char *assumption(const struct answer *c)
{
	struct al_arena *arena = &c->session->arena;
	const struct sum *total = &c->sums[AL_N_PARTS];

	if (c->options->is_stored || c->options->components)
		return "";
	if (mpq_cmp(total->active, total->parameters) < 0)
		return al_format(arena, "; one token uses %s of them (%s)",
			al_claim_exact(arena, "active", total->active),
			al_claim_percent(arena, "active_share",
				mpq_get_d(total->active) / mpq_get_d(total->parameters)));
	if (mpq_sgn(c->tied) > 0)
		return al_format(arena, "; tied tensors are counted once (%s numbers)",
			al_claim_exact(arena, "tied", c->tied));
	return projection_text(c);
}

static const char *say_one(const struct answer *c)
{
	struct al_arena *arena = &c->session->arena;
	const char *covered = al_request_covered(c->request, c->options->is_whole);
	const char *parts = components_text(c);

	return al_format(arena, "%s%s has " AL_CLAIM_LEAD "%s %s%s%s.",
		al_claim_name(arena, "subject", al_text_of_capital(arena, covered)),
		*parts ? al_format(arena, " (%s only)", parts) : "",
		al_claim_cell(arena, c->table, c->table->n_rows - 1, "parameters"),
		c->options->is_stored ? "stored numbers" : "parameters", attention_share(c),
		assumption(c));
}

static const char *say(const struct answer *c)
{
	struct al_arena *arena = &c->session->arena;

	if (al_count_rows(c->table, "part", "total") < 2)
		return say_one(c);
	return al_format(arena, "%s, %s%s.",
		c->options->is_stored ? "Stored numbers" : "Parameters",
		al_claim_compared(arena, c->table, "part", "total", "parameters"),
		c->options->components ? "" : projection_text(c));
}

/* ---- the table ---- */

/* Parameters are the same in any format: a quantization that isn't known hides scales alone. */
static void find_quantization(struct answer *c)
{
	const struct count_options *o = c->options;
	struct al_error unknown = {0};

	c->quantization = NULL;
	c->unknown = NULL;
	if (!c->request->model || !(o->is_stored || o->shows_counts || c->explanations))
		return;
	c->quantization = al_request_quantization(c->request, NULL, &unknown);
	if (!c->quantization)
		c->unknown = al_strdup(&c->session->arena, unknown.message);
}

static bool answer(void *context, struct al_request *q, struct al_error *err)
{
	struct answer *c = context;

	c->request = q;
	if (!al_check_whole(q, c->options->is_whole, err))
		return false;
	find_quantization(c);
	if (c->session->line.n_words == 1 && q->model)
		c->table->title = al_format(&c->table->arena, "Parameters of %s",
			al_request_covered(q, c->options->is_whole));
	for (size_t i = 0; i < q->variants.n; i++)
		if (!count_variant(c, &q->variants.items[i], err))
			return false;
	add_notes(c);
	if (q->is_last) {
		al_session_claim(c->session, say(c));
		al_session_next_question(c->session, "cache", al_command_cache.options, NULL);
	}
	return true;
}

static bool run(struct al_session *session, struct al_error *err)
{
	const struct count_options *o = session->options;
	const struct al_command_line *line = &session->line;
	struct al_asked asked = o->asked;
	struct answer c = {
		.session = session,
		.options = o,
		.tied = al_exact_new(&session->arena),
	};
	const unsigned shown = (line->n_words > 1 ? WITH_MODEL : 0)
		| (al_names_variants(&o->asked) ? WITH_VARIANT : 0)
		| (o->shows_tensors ? WITH_TENSORS : 0) | (o->shows_active ? WITH_ACTIVE : 0);

	c.table = al_session_table(session, "count", fields, shown, "Parameters%s%s",
		line->n_words == 1 ? " of " : "", line->n_words == 1 ? line->words[0] : "");
	if (o->shows_counts) {
		c.counts = al_session_table(session, "counts", count_fields, shown,
			"Ways to count");
	}
	if (o->explains)
		c.explanations = al_explain_table(session);
	/* explained are defaults, too, which the tensors' shapes derive */
	asked.only_modules = !o->explains;
	asked.has_no_recipe = asked.has_no_engine = true;
	return al_each_request(session, &asked, true, answer, &c, err);
}

static const struct al_page_chart chart = {"part", "parameters", "parameters", "total"};

const struct al_command al_command_count = {
	.words = "MODEL|VARIANT...",
	.examples = {"count gpt2",
		"count gpt3-175b --variant mha,mqa,mhe-mul --basis output_projection=none"},
	.options = groups,
	.chart = &chart,
	.options_size = sizeof(struct count_options),
	.run = run,
};
