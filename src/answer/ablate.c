/* evaluate --ablate: what a model is without some of its heads. */
#include "answer/ablate.h"

#include "answer/calibration.h"
#include "answer/losses.h"
#include "answer/nearest.h"
#include "compress/judge.h"
#include "report/claim.h"

const struct al_option_row al_ablation_rows[] = {
	OPTION_CHOICE(struct al_ablation_options, what, "ablate", "heads|groups|layers|pairs",
		"loss without each query head, each group of heads that share a key/value head, "
		"each layer's attention, or each head and its nearest",
		.words = al_ablated_names, .n_words = AL_N_ABLATED, .fallback = -1),
	OPTION_CHOICE(struct al_ablation_options, replacement, "replace", "zero|mean",
		"replace an ablated head's output by zero (default) or by its mean over all tokens",
		.words = al_replacement_names, .n_words = AL_REPLACE_FITTED, .fallback = -1),
	OPTION_FLAG(struct al_ablation_options, refits, "refit",
		"refit W_O of the other heads to the tokens of --calibration"),
	OPTION_TEXT(struct al_ablation_options, calibration, "calibration", "DIR",
		"what `calibrate` recorded: for --refit, and for the nearest heads of --ablate "
		"pairs (without it by weights)"),
	OPTION_END,
};

bool al_ablation_check(const struct al_ablation_options *o, struct al_error *err)
{
	if (o->refits && (o->what < 0 || o->what == AL_ABLATE_LAYERS))
		return al_fail(err, AL_EINPUT, "--refit needs --ablate heads, groups or pairs: %s",
			o->what < 0 ? "nothing is left out"
				    : "without all heads there is no W_O to refit");
	if (o->refits && o->replacement >= 0)
		return al_fail(err, AL_EINPUT,
			"--refit fits what replaces a head: remove --replace %s",
			al_replacement_names[o->replacement]);
	if (o->refits && !o->calibration)
		return al_fail(err, AL_EINPUT,
			"--refit needs the outputs that it fits to: pass --calibration DIR, which "
			"`calibrate` makes");
	return !o->calibration || o->refits || o->what == AL_ABLATE_PAIRS
		|| al_fail(err, AL_EINPUT, "--calibration needs --refit or --ablate pairs");
}

/* ---- what is left out ---- */

struct ablating {
	struct al_session *session;
	const struct al_opened_model *model;
	const struct al_ablation_options *options;
	const struct al_calibration *calibration; /* NULL: none */
	const struct al_loss *whole;
	struct al_ablations ablations;
};

static bool is_shown(const struct ablating *a, size_t i)
{
	return a->options->what != AL_ABLATE_PAIRS || a->ablations.items[i].other >= 0;
}

/* Each head alone too, before the layer's pairs. */
static bool list_pairs(struct ablating *a, struct al_error *err)
{
	const struct al_model_view *view = &a->model->file->view;
	size_t n = 0;

	for (size_t i = 0; i < view->n_modules; i++)
		n += 2 * (size_t)view->modules[i].n_heads;
	al_ablations_begin(&a->ablations, a->whole->all, n);
	for (size_t i = 0; i < view->n_modules; i++) {
		const struct al_attention *attention = &view->modules[i];
		const size_t n_heads = (size_t)attention->n_heads;
		AL_FREED size_t *nearest = al_alloc(n_heads, sizeof(*nearest));
		if (!al_nearest_heads(view, attention, a->calibration, nearest, err))
			return al_in(err, "%s", attention->name);
		for (size_t head = 0; head < n_heads; head++)
			al_ablations_add(&a->ablations, attention, (int64_t)head, -1, 1);
		for (size_t head = 0; head < n_heads; head++)
			if (nearest[head] != head
				&& (nearest[nearest[head]] != head || head < nearest[head]))
				al_ablations_add(&a->ablations, attention, (int64_t)head,
					(int64_t)nearest[head], 1);
	}
	return true;
}

static bool list(struct ablating *a, struct al_error *err)
{
	if (a->options->what == AL_ABLATE_PAIRS)
		return list_pairs(a, err);
	al_ablations_list(&a->ablations, &a->model->running->network, a->whole->all,
		(enum al_ablated)a->options->what);
	return true;
}

static bool measure(struct ablating *a, struct al_error *err)
{
	struct al_network *network = &a->model->running->network;
	const struct al_ablation_measure measured = {.loss = a->whole};
	const int by = a->options->replacement;

	return a->options->refits
		? al_judge_refitted(network, a->calibration, a->whole->all, &measured,
			a->model->watch, &a->ablations, err)
		: al_evaluate_ablations(network, a->whole->all, &measured,
			&(struct al_replacing){by < 0 ? AL_REPLACE_ZERO : (enum al_replacement)by,
				NULL},
			a->model->watch, &a->ablations, err);
}

/* ---- the table ---- */

struct ablated {
	const char *module;
	int64_t layer, head, other, heads;
	struct al_estimate added, beyond;
	const char *place;
};

enum { OF_PAIRS = 1, OF_PARTS = 2 };

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct ablated, module, "Module")},
	{AL_SHOW_KEY(struct ablated, layer, "Layer", .digits = AL_DIGITS_ALL)},
	{AL_SHOW_KEY(struct ablated, head, "Head", .digits = AL_DIGITS_ALL)},
	{AL_SHOW_KEY(struct ablated, other, "and head", .digits = AL_DIGITS_ALL), .when = OF_PAIRS},
	{AL_SHOW_WHOLE(struct ablated, heads, "Heads removed")},
	{{.key = "loss_increase", .title = "Loss added", .unit = "nats per token", .digits = 4},
		AL_MEMBER(struct ablated, added.mean)},
	{{.key = "loss_increase_error", .title = "Standard error", .digits = 4},
		AL_MEMBER(struct ablated, added.error)},
	{AL_SHOW(struct ablated, place, "In its layer"), .when = OF_PARTS},
	{{.key = "beyond", .title = "Beyond both alone", .unit = "nats per token", .digits = 4},
		AL_MEMBER(struct ablated, beyond.mean), .when = OF_PAIRS},
	{{.key = "beyond_error", .title = "Standard error", .digits = 4},
		AL_MEMBER(struct ablated, beyond.error), .when = OF_PAIRS},
	AL_FIELDS_END,
};

/* Of ablations [first, first + n) the one that costs least, with `sign` -1 most. */
static size_t find_extreme(const struct ablating *a, size_t first, size_t n, int sign,
	bool *is_tied)
{
	AL_FREED const struct al_unit **samples = al_alloc(n, sizeof(*samples));

	for (size_t i = 0; i < n; i++)
		samples[i] = a->ablations.items[first + i].without;
	return first + al_estimate_extreme(samples, n, a->ablations.n_sequences, sign, is_tied);
}

static size_t count(const bool *is_tied, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += is_tied[i];
	return sum;
}

/* The layer's ablations are [first, first + n). */
static void find_places(const struct ablating *a, size_t first, size_t n, const char **places)
{
	AL_FREED bool *is_tied = al_alloc(n, sizeof(*is_tied));
	const size_t least = find_extreme(a, first, n, 1, is_tied);
	const size_t n_tied = count(is_tied, n);

	for (size_t i = 0; i < n && a->ablations.n_sequences > 1; i++)
		places[first + i] = is_tied[i] && n_tied > 1 ? "tied" : NULL;
	if (n_tied == 1 || a->ablations.n_sequences < 2)
		places[least] = "least";
}

static size_t layer_end(const struct ablating *a, size_t first)
{
	const struct al_ablation *items = a->ablations.items;
	size_t end = first;

	while (end < a->ablations.n && items[end].attention == items[first].attention)
		end++;
	return end;
}

/* What both heads of a pair add beyond what each adds alone: (ab - a) - (b - whole). Heads are
 * listed before the pairs of their layer, from head 0 on. */
static struct al_estimate find_beyond(const struct ablating *a, size_t pair)
{
	const struct al_ablation *both = &a->ablations.items[pair], *alone = both;
	const size_t n = a->ablations.n_sequences;
	AL_FREED struct al_unit *units = al_alloc(n, sizeof(*units));

	while (alone > a->ablations.items && alone[-1].attention == both->attention)
		alone--;
	for (size_t i = 0; i < n; i++)
		units[i] = (struct al_unit){both->without[i].sum - alone[both->first].without[i].sum
				- alone[both->other].without[i].sum + a->whole->sequences[i].sum,
			a->whole->sequences[i].n};
	return al_estimate_mean(units, n);
}

static void add_row(const struct ablating *a, struct al_table *table, size_t i, const char *place)
{
	const struct al_ablation *one = &a->ablations.items[i];
	struct ablated row = {.module = one->attention->name,
		.layer = one->attention->layer,
		.head = one->first,
		.other = one->other,
		.heads = one->n,
		.added = al_estimate_change(a->whole->sequences, one->without,
			a->ablations.n_sequences),
		.place = place};

	if (a->options->what == AL_ABLATE_LAYERS)
		row.head = INT64_MIN;
	if (one->other >= 0) {
		row.heads *= 2;
		row.beyond = find_beyond(a, i);
	}
	al_table_add_record(table, &row);
}

static const char *replaced_text(struct al_arena *arena, const struct ablating *a)
{
	return a->options->refits
		? "W_O of the others refitted"
		: al_format(arena, "output replaced by %s",
			a->options->replacement == AL_REPLACE_MEAN ? "its mean" : "zero");
}

static struct al_table *add_table(struct ablating *a)
{
	const enum al_ablated what = (enum al_ablated)a->options->what;
	const char *name = al_ablated_names[what];
	struct al_table *table = al_session_table(a->session, "ablation", fields,
		what == AL_ABLATE_PAIRS		   ? OF_PAIRS
			: what == AL_ABLATE_LAYERS ? 0
						   : OF_PARTS,
		"Loss without each %.*s (%s)", (int)strlen(name) - 1, name,
		replaced_text(&a->session->arena, a));
	const char **places = al_new_array(&a->session->arena, const char *, a->ablations.n);

	for (size_t first = 0, end; first < a->ablations.n; first = end) {
		end = layer_end(a, first);
		find_places(a, first, end - first, places);
	}
	for (size_t i = 0; i < a->ablations.n; i++)
		if (is_shown(a, i))
			add_row(a, table, i, places[i]);
	return table;
}

/* ---- the claim ---- */

/* "head 5 of layer 3" */
static const char *name_of(const struct ablating *a, const struct al_table *table, size_t row)
{
	struct al_arena *arena = &a->session->arena;
	const char *layer = al_claim_cell(arena, table, row, "layer");
	const char *head = al_claim_cell(arena, table, row, "head");

	switch ((enum al_ablated)a->options->what) {
	case AL_ABLATE_LAYERS:
		return al_format(arena, "the attention of layer %s", layer);
	case AL_ABLATE_PAIRS:
		return al_format(arena, "heads %s and %s of layer %s", head,
			al_claim_cell(arena, table, row, "other"), layer);
	default:
		return al_format(arena, "%s %s of layer %s",
			a->options->what == AL_ABLATE_HEADS ? "head" : "the group of head", head,
			layer);
	}
}

static const char *cost_of(const struct ablating *a, const struct al_table *table, size_t row)
{
	return al_claim_with_error(&a->session->arena, table, row, "loss_increase",
		"loss_increase_error");
}

static const char *tokens_of(const struct ablating *a)
{
	double n = 0;

	for (size_t i = 0; i < a->ablations.n_sequences; i++)
		n += a->whole->sequences[i].n;
	return al_claim_counted(&a->session->arena, (uint64_t)n, "token");
}

/* "head 2 of layer 3, head 5 of layer 3 and 7 others", those that cost least first. */
static const char *say_tied(const struct ablating *a, const struct al_table *table, bool *is_tied,
	size_t n_tied)
{
	enum { MOST_NAMED = 4 };
	struct al_arena *arena = &a->session->arena;
	const size_t n_named = n_tied <= MOST_NAMED ? n_tied : 2;
	const char *text = "";

	for (size_t n = 1; n <= n_named; n++) {
		double best = INFINITY, cost;
		size_t at = 0;
		for (size_t i = 0; i < a->ablations.n; i++)
			if (is_tied[i] && al_table_number(table, i, "loss_increase", &cost)
				&& cost < best) {
				best = cost;
				at = i;
			}
		is_tied[at] = false;
		text = al_format(arena, "%s%s%s", text,
			n == 1		      ? ""
				: n == n_tied ? " and "
					      : ", ",
			name_of(a, table, at));
	}
	return n_named == n_tied ? text
				 : al_format(arena, "%s and %s", text,
					 al_claim_counted(arena, n_tied - n_named, "other"));
}

/* "Removing ... costs least (...)", or that it can't be told. */
static const char *say_least(const struct ablating *a, const struct al_table *table)
{
	struct al_arena *arena = &a->session->arena;
	AL_FREED bool *is_tied = al_alloc(a->ablations.n, sizeof(*is_tied));
	const size_t at = find_extreme(a, 0, a->ablations.n, 1, is_tied);
	const size_t n_tied = count(is_tied, a->ablations.n);

	if (n_tied == 1 || a->ablations.n_sequences < 2)
		return al_format(arena, "Removing %s costs least (%s nats per token)",
			name_of(a, table, at), cost_of(a, table, at));
	return al_text_of_capital(arena,
		al_format(arena,
			"%s can't be told apart on %s: one of them costs least (%s nats per token "
			"without the first)",
			say_tied(a, table, is_tied, n_tied), tokens_of(a), cost_of(a, table, at)));
}

static const char *say_most(const struct ablating *a, const struct al_table *table)
{
	struct al_arena *arena = &a->session->arena;
	AL_FREED bool *is_tied = al_alloc(a->ablations.n, sizeof(*is_tied));
	const size_t at = find_extreme(a, 0, a->ablations.n, -1, is_tied);
	const size_t n_others = count(is_tied, a->ablations.n) - 1;

	return al_format(arena, "removing %s costs most (%s)%s", name_of(a, table, at),
		cost_of(a, table, at),
		n_others == 0 || a->ablations.n_sequences < 2
			? ""
			: al_format(arena, ", but can't be told from %s",
				al_claim_counted(arena, n_others, "other")));
}

/* In how many layers the least missed head is known. */
static const char *say_layers(const struct ablating *a, const struct al_table *table)
{
	struct al_arena *arena = &a->session->arena;
	int64_t n = 0, n_layers = 0;
	bool has_others = false;

	for (size_t first = 0, end; first < a->ablations.n; first = end, n_layers++) {
		end = layer_end(a, first);
		has_others |= end - first > 1;
	}
	for (size_t row = 0; row < table->n_rows; row++)
		n += strcmp(al_table_text(table, row, "place"), "least") == 0;
	if (a->ablations.n_sequences < 2)
		return " One sequence gives no standard errors.";
	if (!has_others || n_layers < 2)
		return "";
	return al_format(arena,
		" Within its layer the one that costs least is told from all others in %s of %s "
		"layers.",
		al_claim_count(arena, "told", n), al_claim_count(arena, "layers", n_layers));
}

static const char *say_parts(const struct ablating *a, const struct al_table *table)
{
	if (a->ablations.n < 2)
		return al_format(&a->session->arena, "Removing %s costs %s nats per token.",
			name_of(a, table, 0), cost_of(a, table, 0));
	return al_format(&a->session->arena, "%s; %s.%s", say_least(a, table), say_most(a, table),
		say_layers(a, table));
}

/* Are both missed more than each alone, among as many pairs as there are? */
static const char *say_pairs(const struct ablating *a, const struct al_table *table)
{
	struct al_arena *arena = &a->session->arena;
	size_t n = 0;
	double most;
	const size_t row = al_table_extreme(table, "beyond", 1, &most);

	for (size_t i = 0; i < a->ablations.n; i++)
		if (is_shown(a, i)) {
			const struct al_estimate beyond = find_beyond(a, i);
			n += beyond.mean > 0 && al_estimate_is_apart(beyond, table->n_rows);
		}
	if (table->n_rows == 0)
		return "Each layer has only one head: there are no pairs.";
	return al_format(arena,
		"%s of %s of nearest heads %s more together than both alone, as far as %s tell; %s "
		"most: %s nats per token more.",
		n ? al_claim_count(arena, "pairs_beyond", (int64_t)n) : "None",
		al_claim_counted(arena, table->n_rows, "pair"), n == 1 ? "costs" : "cost",
		tokens_of(a), name_of(a, table, row),
		al_claim_with_error(arena, table, row, "beyond", "beyond_error"));
}

static void conclude(const struct ablating *a, struct al_table *table)
{
	const bool of_pairs = a->options->what == AL_ABLATE_PAIRS;

	al_session_claim(a->session, of_pairs ? say_pairs(a, table) : say_parts(a, table));
	al_losses_note_errors(table, al_loss_estimate(a->whole));
	if (a->ablations.n_sequences > 1)
		al_table_note(table,
			of_pairs
				? "a pair costs more together than both alone where the sum over "
				  "sequences of what is beyond isn't zero at 95 %% among all pairs "
				  "(Student's t, Bonferroni)"
				: "tied: its loss can't be told from the least one's, by their "
				  "paired "
				  "differences over sequences, at 95 %% for all comparisons with "
				  "the least together (Student's t, two-sided, Bonferroni)");
	if (a->options->refits)
		al_losses_warn_seen(table, a->calibration, a->whole->all);
}

bool al_ablate(struct al_session *session, const struct al_opened_model *model,
	const struct al_ablation_options *options, const struct al_loss *whole,
	struct al_error *err)
{
	struct ablating a = {.session = session,
		.model = model,
		.options = options,
		.whole = whole};

	if (options->calibration) {
		a.calibration = al_session_calibration(session, options->calibration,
			model->file->checkpoint, err);
		if (!a.calibration)
			return false;
	}
	const bool ok = list(&a, err) && measure(&a, err);
	if (ok) {
		al_losses_add_table(session, whole);
		conclude(&a, add_table(&a));
	}
	al_ablations_finish(&a.ablations);
	return ok;
}
