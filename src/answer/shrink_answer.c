/* What `shrink` found: the points that were measured, the formats of the chosen one, and a
 * sentence. */
#include "answer/shrink.h"

#include "answer/losses.h"

/* ---- the points ---- */

struct point {
	const char *heads, *modules, *verdict;
	int64_t tensors, cache;
	double share, more_perplexity, judged_perplexity;
	struct al_judgment choosing, judging;
};

enum { WITH_FILE = 1, WITH_CACHE = 2 };

#define NATS_OF(name, at, of, heading) \
	{ \
		{.key = (name), \
			.title = (of), \
			.group = (heading), \
			.unit = "nats per token", \
			.digits = 4}, \
			AL_MEMBER(struct point, at) \
	}
#define NATS(name, at, of) NATS_OF(name, at, of, NULL)
#define JUDGED(name, at, of) NATS_OF(name, at, of, "Judged")
#define ERROR(name, at, heading) \
	{ \
		{.key = (name), .title = "Standard error", .group = (heading), .digits = 4}, \
			AL_MEMBER(struct point, at) \
	}

static const struct al_table_field point_fields[] = {
	{AL_SHOW_KEY(struct point, heads, "Heads")},
	{AL_SHOW(struct point, share, "Size", .unit = "%", .digits = 1)},
	NATS("loss_increase", choosing.change.mean, "Loss added"),
	{AL_SHOW(struct point, verdict, "Verdict")},
	ERROR("loss_increase_error", choosing.change.error, NULL),
	{AL_SHOW(struct point, more_perplexity, "Perplexity", .unit = "%", .digits = 2)},
	NATS("kl", choosing.divergence.mean, "KL divergence"),
	{AL_SHOW_BYTES(struct point, tensors, "Tensors")},
	{AL_SHOW_BYTES(struct point, cache, "Cache"), .when = WITH_CACHE},
	{AL_SHOW(struct point, modules, "In")},
	JUDGED("judged_increase", judging.change.mean, "Loss added"),
	ERROR("judged_error", judging.change.error, "Judged"),
	JUDGED("judged_kl", judging.divergence.mean, "KL divergence"),
	AL_FIELDS_END,
};

static const char *plural(int64_t n)
{
	return n == 1 ? "" : "s";
}

static const char *describe(struct al_arena *arena, const struct al_fewer_heads *heads)
{
	return heads->method == AL_METHOD_GQA
		? al_format(arena, "%" PRId64 " key/value head%s (gqa)", heads->setting,
			plural(heads->setting))
		: al_format(arena, "%" PRId64 " head%s less (%s)", heads->setting,
			plural(heads->setting), al_method_names[heads->method]);
}

/* What becomes of heads, and in how many layers: "2 key/value heads (gqa) + 1 head less (drop)" in
 * "3 + 1 of 6 layers". */
static void add_heads(struct al_arena *arena, const struct al_shrink *s,
	const struct al_fewer_heads *conversion, const char **heads, const char **layers)
{
	const size_t n = s->from->view->n_modules;

	*heads = *layers = NULL;
	for (size_t i = 0; i < n; i++) {
		const struct al_fewer_heads *of = &conversion[i];
		size_t n_before = 0, n_alike = 0;
		for (size_t k = 0; k < n; k++)
			if (conversion[k].method == of->method
				&& conversion[k].setting == of->setting) {
				n_before += k < i;
				n_alike++;
			}
		if (n_before > 0 || of->method == AL_METHOD_IDENTITY)
			continue;
		*heads = al_format(arena, "%s%s%s", *heads ? *heads : "", *heads ? " + " : "",
			describe(arena, of));
		*layers = al_format(arena, "%s%s%zu", *layers ? *layers : "", *layers ? " + " : "",
			n_alike);
	}
	*layers = al_shrink_common(s, conversion).method == AL_METHOD_IDENTITY
		? al_format(arena, "%s of %zu layers", *layers, n)
		: "each layer";
}

static const char *verdict_of(const struct al_shrink *s, size_t i)
{
	const struct al_shrink_point *p = &s->points[i];

	return i == 0		  ? "original"
		: i == s->chosen  ? "chosen"
		: p->is_judged	  ? "refuted"
		: !p->is_accepted ? (s->goal->limit > 0 ? "loses too much" : "too large")
		: p->size < s->points[0].size ? "within the limit"
					      : "no smaller";
}

static double perplexity_change(const struct al_judgment *trial)
{
	return 100 * expm1(trial->change.mean);
}

static const struct al_judgment unknown = {.change = {(double)NAN, (double)NAN, 0},
	.divergence = {(double)NAN, (double)NAN, 0}};

static void add_point(struct al_table *table, const struct al_shrink *s, size_t i)
{
	const struct al_shrink_point *p = &s->points[i];
	const char *heads = "as they are", *layers = NULL;

	if (p->conversion)
		add_heads(&table->arena, s, p->conversion, &heads, &layers);
	al_table_add_record(table,
		&(struct point){.heads = heads,
			.modules = layers,
			.tensors = (int64_t)p->bytes,
			.cache = (int64_t)p->cached,
			.share = 100 * (double)p->size / (double)s->points[0].size,
			.more_perplexity = perplexity_change(&p->choosing),
			.choosing = p->choosing,
			.judging = p->is_judged ? p->judging : unknown,
			.verdict = verdict_of(s, i)});
}

static void warn_few(struct al_table *table, const struct al_shrink *s)
{
	const double limit = s->goal->limit;
	size_t n = 0;

	for (size_t i = 1; limit > 0 && i < s->n_points; i++) {
		const struct al_estimate cost = al_shrink_cost(s->goal, &s->points[i].choosing);
		n += cost.mean <= limit && isfinite(cost.error) && cost.error > limit;
	}
	if (n > 0)
		al_table_warn(table,
			"%zu cop%s within the limit by the mean, but the standard error alone is "
			"larger than the limit: a longer text may accept %s",
			n, n == 1 ? "y is" : "ies are", n == 1 ? "it" : "them");
}

static void note_points(struct al_table *table, const struct al_shrink *s)
{
	al_table_note(table,
		"calibrated on %zu tokens, chosen on %zu others by mean and one standard error, "
		"judged on the last %zu by the mean",
		al_batch_tokens(&s->parts[AL_SHRINK_CALIBRATING].all),
		al_batch_tokens(&s->parts[AL_SHRINK_CHOOSING].all),
		al_batch_tokens(&s->parts[AL_SHRINK_JUDGING].all));
	al_losses_note_errors(table, s->points[0].choosing.change);
	warn_few(table, s);
	for (size_t i = 0; i < s->n_refusals; i++)
		al_table_note(table, "%s: %s", al_method_names[s->refusals[i].method],
			s->refusals[i].reason);
	if (s->n_back > 0)
		al_table_warn(table,
			"%zu point%s within the limit on the second part of the tokens exceeded it "
			"on the third; at most %d are given up",
			s->n_back, plural((int64_t)s->n_back), AL_SHRINK_MOST_BACK + 1);
}

/* ---- formats ---- */

struct format {
	const char *purpose, *format, *before;
	int64_t tensors, bytes_before, bytes;
	double error;
};

static const struct al_table_field format_fields[] = {
	{AL_SHOW_KEY(struct format, purpose, "Tensors for")},
	{AL_SHOW(struct format, before, "Format")},
	{AL_SHOW(struct format, format, "Becomes")},
	{AL_SHOW_COUNT(struct format, tensors, "Tensors")},
	{AL_SHOW_BYTES(struct format, bytes_before, "Bytes")},
	{AL_SHOW_BYTES(struct format, bytes, "Become")},
	{AL_SHOW(struct format, error, "Error", .digits = 4)},
	AL_FIELDS_END,
};

/* The rung that the tensor is at. */
static const struct al_rung *rung_of(const struct al_draft *draft, const struct al_choice *choice)
{
	const struct al_dtype *now = draft->checkpoint.tensors[choice->tensors[0]].dtype;

	for (size_t i = 1; i < choice->n_rungs; i++)
		if (choice->rungs[i].dtype == now)
			return &choice->rungs[i];
	return &choice->rungs[0];
}

static const char *own_format(const struct al_draft *draft, const struct al_choice *choice)
{
	return al_dtype_title(al_recoding_own(&draft->recoding, choice->tensors[0])->dtype);
}

/* Adds a row where a choice is the first of its purpose and format. */
static void add_format(struct al_table *table, const struct al_draft *draft, size_t at)
{
	const struct al_choice *choice = &draft->choices[at];
	const struct al_rung *rung = rung_of(draft, choice);
	struct format row = {.purpose = al_purpose_names[choice->purpose],
		.before = own_format(draft, choice),
		.format = rung->dtype ? al_dtype_title(rung->dtype) : own_format(draft, choice)};
	double errors = 0;

	for (size_t i = 0; i < draft->n_choices; i++) {
		const struct al_choice *other = &draft->choices[i];
		const struct al_rung *own = rung_of(draft, other);
		if (other->purpose != choice->purpose || own->dtype != rung->dtype
			|| strcmp(own_format(draft, other), row.before) != 0)
			continue;
		if (i < at)
			return;
		row.tensors += (int64_t)other->n;
		row.bytes_before += (int64_t)other->rungs[0].bytes;
		row.bytes += (int64_t)own->bytes;
		errors += own->error * (double)other->n_elements;
		row.error += (double)other->n_elements;
	}
	row.error = sqrt(errors / row.error);
	al_table_add_record(table, &row);
}

static void add_formats(struct al_session *session, const struct al_draft *draft)
{
	struct al_table *table = al_session_table(session, "formats", format_fields, 0,
		"Number formats of the tensors");

	for (int purpose = 0; purpose < AL_N_PURPOSES; purpose++)
		for (size_t i = 0; i < draft->n_choices; i++)
			if ((int)draft->choices[i].purpose == purpose)
				add_format(table, draft, i);
	al_table_note(table,
		"error: of the numbers, root mean square relative to theirs, from %d of each "
		"tensor; norms, biases and tensors that aren't listed keep their formats",
		1 << 18);
}

bool al_shrink_add_tables(struct al_session *session, struct al_shrink *s, struct al_error *err)
{
	const unsigned shown = (s->goal->of_file ? WITH_FILE : 0)
		| (s->goal->of_cache ? WITH_CACHE : 0);
	struct al_table *table = al_session_table(session, "frontier", point_fields, shown,
		"Copies that were measured");
	struct al_draft *draft;

	for (size_t i = 0; i < s->n_points; i++)
		add_point(table, s, i);
	note_points(table, s);
	if (s->goal->of_cache)
		al_table_note(table,
			"cache: %" PRId64 " tokens in f16, in layers with a window those in it",
			s->goal->context);
	if (s->chosen == 0 || !s->goal->of_file)
		return true;
	if (!al_shrink_show(s, &s->points[s->chosen], &draft, err))
		return false;
	add_formats(session, draft);
	return true;
}

/* ---- in a sentence ---- */

/* "60.8 MiB to 13.1 MiB": of the files, as large as they are. */
static const char *say_bytes(struct al_arena *arena, const char *name, uint64_t bytes)
{
	return al_claim_bytes(arena, name, al_exact_from_int(arena, (int64_t)bytes));
}

static const char *say_saved(struct al_arena *arena, const struct al_shrink *s)
{
	const struct al_shrink_point *from = &s->points[0], *to = &s->points[s->chosen];
	const uint64_t source = s->from->view->checkpoint->bytes;
	/* of small models headers are most of a file */
	const bool of_files = s->written_bytes < source;
	const uint64_t before = (!s->goal->of_file	   ? 0
						: of_files ? source
							   : from->bytes)
		+ (s->goal->of_cache ? from->cached : 0);
	const uint64_t after = (!s->goal->of_file	  ? 0
					       : of_files ? s->written_bytes
							  : to->bytes)
		+ (s->goal->of_cache ? to->cached : 0);
	const char *file = of_files ? "file" : "tensors";
	const bool is_plural = s->goal->of_file && (s->goal->of_cache || !of_files);
	const char *what = !s->goal->of_cache ? al_format(arena, "The %s", file)
		: s->goal->of_file	      ? al_format(arena, "The %s and the cache", file)
					      : "The cache";
	const char *context = s->goal->of_cache ? al_format(arena, " at context %s",
				      al_claim_count(arena, "context", s->goal->context))
						: "";

	return al_format(arena, "%s shrink%s by " AL_CLAIM_LEAD "%s, from %s to %s%s", what,
		is_plural ? "" : "s",
		al_claim_percent(arena, "saved", 1 - (double)after / (double)before),
		say_bytes(arena, "before", before), say_bytes(arena, "after", after), context);
}

static const char *say_cost(struct al_arena *arena, const struct al_shrink *s,
	const struct al_table *table, size_t row)
{
	return s->goal->is_divergence ? al_format(arena, "%s nats of KL divergence",
		       al_claim_cell(arena, table, row, "kl"))
				      : al_format(arena, "%s nats",
					      al_claim_with_error(arena, table, row,
						      "loss_increase", "loss_increase_error"));
}

/* "adds 0.1477 +- 0.0100 nats"; what may as well be less is no addition. */
static const char *say_added(struct al_arena *arena, const struct al_shrink *s,
	const struct al_table *table, size_t row)
{
	const struct al_estimate cost = al_shrink_cost(s->goal, &s->points[row].choosing);

	return al_format(arena, "%s %s",
		cost.mean < cost.error && !s->goal->is_divergence ? "changes loss by" : "adds",
		say_cost(arena, s, table, row));
}

static double cost_of(const struct al_shrink *s, size_t i)
{
	return al_shrink_cost(s->goal, &s->points[i].choosing).mean;
}

/* The point of a method in all modules that costs least, in the tensors' own formats; 0: none. */
static size_t find_cheapest(const struct al_shrink *s, enum al_method method)
{
	size_t best = 0;

	for (size_t i = 1; method != AL_METHOD_IDENTITY && i < s->n_points; i++)
		if (al_shrink_common(s, s->points[i].conversion).method == method
			&& s->points[i].step == 0
			&& (best == 0 || cost_of(s, i) < cost_of(s, best)))
			best = i;
	return best;
}

/* "1 head less (drop) in each layer" */
static const char *say_change(struct al_arena *arena, const struct al_table *table, size_t row)
{
	return al_format(arena, "%s in %s", al_claim_cell(arena, table, row, "heads"),
		al_claim_cell(arena, table, row, "modules"));
}

/* Does the copy that was chosen have heads by the method? */
static bool uses(const struct al_shrink *s, enum al_method method)
{
	const struct al_fewer_heads *conversion = s->points[s->chosen].conversion;
	bool found = false;

	for (size_t i = 0; conversion && i < s->from->view->n_modules; i++)
		found = found || conversion[i].method == method;
	return found;
}

/* "1 head less (drop) in each layer adds 0.1477 +- 0.0100 nats, ...": of each method what costs
 * least; "": none could be measured. */
static const char *say_methods(struct al_arena *arena, const struct al_shrink *s,
	const struct al_table *table)
{
	const char *text = "";

	for (int method = 0; method < AL_N_METHODS; method++) {
		const size_t row = find_cheapest(s, (enum al_method)method);
		if (row > 0 && !uses(s, (enum al_method)method))
			text = al_format(arena, "%s%s%s %s", text, *text ? ", " : "",
				say_change(arena, table, row), say_added(arena, s, table, row));
	}
	return text;
}

/* Is a method's cost less than its standard error? */
static bool is_unclear(const struct al_shrink *s)
{
	for (int method = 0; method < AL_N_METHODS; method++) {
		const size_t row = find_cheapest(s, (enum al_method)method);
		const struct al_estimate cost = al_shrink_cost(s->goal, &s->points[row].choosing);
		if (row > 0 && cost.mean < cost.error)
			return true;
	}
	return false;
}

/* Heads have nothing to give where other formats save more at less loss. */
static const char *say_heads(struct al_arena *arena, const struct al_shrink *s,
	const struct al_table *table)
{
	const char *methods = say_methods(arena, s, table);

	if (s->points[s->chosen].conversion)
		return al_format(arena, " Heads: %s%s%s.", say_change(arena, table, s->chosen),
			*methods ? "; alone, " : "", methods);
	return !*methods ? ""
			 : al_format(arena, " %s: %s.",
				 is_unclear(s) ? "The text is too short to measure what heads cost"
					       : "Attention has nothing to give here, smaller "
						 "numbers have",
				 methods);
}

static const char *say_runs(const struct al_shrink *s)
{
	if (!s->from->is_gguf)
		return s->points[s->chosen].conversion
			? "the notes name what loads the copy"
			: "programs that load the source load the copy";
	return al_checkpoint_metadata(&s->base.checkpoint, "tokenizer.ggml.model")
		? "llama.cpp runs the file"
		: "llama.cpp needs a tokenizer in the file, which the source lacks";
}

static const char *say_chosen(struct al_arena *arena, const struct al_shrink *s,
	const struct al_table *table)
{
	const struct al_judgment *judging = &s->points[s->chosen].judging;

	return al_format(arena,
		"%s: loss %s, perplexity %s by %s, on %s tokens that nothing was chosen on; %s.%s",
		say_saved(arena, s),
		al_claim_loss(arena, judging->original.mean, judging->compressed.mean,
			judging->change.error),
		judging->change.mean >= 0 ? "rises" : "falls",
		al_claim_percent(arena, "perplexity", fabs(perplexity_change(judging)) / 100),
		al_claim_count(arena, "predicted", (int64_t)judging->n_predicted), say_runs(s),
		say_heads(arena, s, table));
}

/* The point smaller than the original that costs least; of a budget the smallest. */
static size_t find_nearest(const struct al_shrink *s)
{
	size_t best = 0;

	for (size_t i = 1; i < s->n_points; i++) {
		const bool is_nearer = s->goal->budget > 0
			? s->points[i].size < s->points[best].size
			: cost_of(s, i) < cost_of(s, best);
		if (s->points[i].size < s->points[0].size && (best == 0 || is_nearer))
			best = i;
	}
	return best;
}

static const char *say_nothing(struct al_arena *arena, const struct al_shrink *s,
	const struct al_table *table)
{
	const size_t nearest = find_nearest(s);
	const char *goal = s->goal->limit > 0 ? "Nothing smaller stays within the limit"
					      : "Nothing as small can be written";

	if (nearest == 0)
		return al_format(arena, "%s; no smaller copy can be written at all.", goal);
	return al_format(arena,
		"%s, and nothing was written: the nearest (%s of the size, heads %s) %s.%s", goal,
		al_claim_share(arena, table, nearest, "share"),
		al_claim_cell(arena, table, nearest, "heads"), say_added(arena, s, table, nearest),
		s->goal->of_cache ? al_format(arena, " Alone, %s.", say_methods(arena, s, table))
				  : "");
}

void al_shrink_conclude(struct al_session *session, const struct al_shrink *s)
{
	struct al_arena *arena = &session->arena;
	const struct al_table *table = session->tables[0];

	al_session_claim(session,
		s->chosen > 0 ? say_chosen(arena, s, table) : say_nothing(arena, s, table));
	if (s->chosen > 0)
		al_session_next(session, "attnledger evaluate %s --text FILE",
			al_shell_word(arena, s->from->path));
}
