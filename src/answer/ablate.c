/* evaluate --ablate: what a model is without some of its heads. */
#include "answer/ablate.h"

#include "answer/calibration.h"
#include "answer/losses.h"
#include "answer/nearest.h"
#include "compress/judge.h"
#include "report/claim.h"

const struct al_option_row al_ablation_rows[] = {
	OPTION_CHOICE(struct al_ablation_options, what, "ablate", "heads|groups|layers|pairs",
		"loss, or change of an encoder's embeddings, without each query head, group of "
		"heads "
		"that share a key/value head, layer's attention, or head and its nearest",
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

const struct al_ablation_kind al_ablation_of_loss = {"loss_increase", "loss_increase_error", "Loss",
	"costs", "cost", " nats per token", "changes the loss"};
const struct al_ablation_kind al_ablation_of_embedding = {"embedding_change",
	"embedding_change_error", "Embeddings", "moves embeddings", "move embeddings",
	" in cosine distance", "moves embeddings"};

/* Each head alone too, before the layer's pairs. */
static bool list_pairs(struct al_ablating *a, struct al_ablations *out, struct al_error *err)
{
	const struct al_model_view *view = &a->model->file->view;
	size_t n = 0;

	for (size_t i = 0; i < view->n_modules; i++)
		n += 2 * (size_t)view->modules[i].n_heads;
	al_ablations_begin(out, a->whole->all, n);
	for (size_t i = 0; i < view->n_modules; i++) {
		const struct al_attention *attention = &view->modules[i];
		const size_t n_heads = (size_t)attention->n_heads;
		AL_FREED size_t *nearest = al_alloc(n_heads, sizeof(*nearest));
		if (!al_nearest_heads(view, attention, a->calibration, nearest, err))
			return al_in(err, "%s", attention->name);
		for (size_t head = 0; head < n_heads; head++)
			al_ablations_add(out, attention, (int64_t)head, -1, 1);
		for (size_t head = 0; head < n_heads; head++)
			if (nearest[head] != head
				&& (nearest[nearest[head]] != head || head < nearest[head]))
				al_ablations_add(out, attention, (int64_t)head,
					(int64_t)nearest[head], 1);
	}
	return true;
}

static bool list(struct al_ablating *a, struct al_ablations *out, struct al_error *err)
{
	if (a->options->what == AL_ABLATE_PAIRS)
		return list_pairs(a, out, err);
	al_ablations_list(out, &a->model->running->network, a->whole->all,
		(enum al_ablated)a->options->what);
	return true;
}

static bool measure_all(struct al_ablating *a, const struct al_batch *all,
	const struct al_ablation_measure *measured, struct al_ablations *out, struct al_error *err)
{
	struct al_network *network = &a->model->running->network;
	const int by = a->options->replacement;

	return (out->n > 0 || list(a, out, err))
		&& (a->options->refits
				? al_judge_refitted(network, a->calibration, all, measured,
					a->model->watch, out, err)
				: al_evaluate_ablations(network, all, measured,
					&(struct al_replacing){by < 0 ? AL_REPLACE_ZERO
								      : (enum al_replacement)by,
						NULL},
					a->model->watch, out, err));
}

static bool measure_loss(struct al_ablating *a, const struct al_loss *loss,
	struct al_ablations *out, struct al_error *err)
{
	return measure_all(a, loss->all, &(struct al_ablation_measure){.loss = loss}, out, err);
}

static bool measure_embeddings(struct al_ablating *a, struct al_error *err)
{
	const struct al_batch *all = a->whole->all;
	AL_OWNED struct al_matrix embeddings = {0};

	for (size_t i = 0; i < all->n_sequences; i++)
		a->whole->sequences[i] = (struct al_unit){0, 1};
	return al_evaluate_embeddings(&a->model->running->network, all, NULL, &embeddings, err)
		&& measure_all(a, all, &(struct al_ablation_measure){.embeddings = &embeddings},
			&a->ablations, err);
}

bool al_ablating_measure(struct al_ablating *a, struct al_error *err)
{
	if (a->kind == &al_ablation_of_loss)
		return measure_loss(a, a->whole, &a->ablations, err);
	return measure_embeddings(a, err)
		&& (!a->masked || measure_loss(a, a->masked, &a->masked_ablations, err));
}

/* ---- the table ---- */

struct ablated {
	const char *module;
	int64_t layer, head, other, heads;
	struct al_estimate added, masked, beyond;
	const char *place;
};

enum { OF_PAIRS = 1, OF_PARTS = 2, OF_LOSS = 4, OF_EMBEDDING = 8, OF_MASKED = 16 };

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct ablated, module, "Module")},
	{AL_SHOW_KEY(struct ablated, layer, "Layer", .digits = AL_DIGITS_ALL)},
	{AL_SHOW_KEY(struct ablated, head, "Head", .digits = AL_DIGITS_ALL)},
	{AL_SHOW_KEY(struct ablated, other, "and head", .digits = AL_DIGITS_ALL), .when = OF_PAIRS},
	{AL_SHOW_WHOLE(struct ablated, heads, "Heads removed")},
	{{.key = "loss_increase", .title = "Loss added", .unit = "nats per token", .digits = 4},
		AL_MEMBER(struct ablated, added.mean), .when = OF_LOSS},
	{{.key = "loss_increase_error", .title = "Standard error", .digits = 4},
		AL_MEMBER(struct ablated, added.error), .when = OF_LOSS},
	{{.key = "embedding_change", .title = "Cosine distance", .digits = 5},
		AL_MEMBER(struct ablated, added.mean), .when = OF_EMBEDDING},
	{{.key = "embedding_change_error", .title = "Standard error", .digits = 5},
		AL_MEMBER(struct ablated, added.error), .when = OF_EMBEDDING},
	{AL_SHOW(struct ablated, place, "In its layer"), .when = OF_PARTS},
	{{.key = "masked_loss_increase",
		 .title = "Loss added",
		 .unit = "nats per masked token",
		 .digits = 4},
		AL_MEMBER(struct ablated, masked.mean), .when = OF_MASKED},
	{{.key = "masked_loss_increase_error", .title = "Standard error", .digits = 4},
		AL_MEMBER(struct ablated, masked.error), .when = OF_MASKED},
	{{.key = "beyond", .title = "Beyond both alone", .digits = 4},
		AL_MEMBER(struct ablated, beyond.mean), .when = OF_PAIRS},
	{{.key = "beyond_error", .title = "Standard error", .digits = 4},
		AL_MEMBER(struct ablated, beyond.error), .when = OF_PAIRS},
	AL_FIELDS_END,
};

size_t al_ablating_layer_end(const struct al_ablating *a, size_t first)
{
	const struct al_ablation *items = a->ablations.items;
	size_t end = first;

	while (end < a->ablations.n && items[end].attention == items[first].attention)
		end++;
	return end;
}

struct al_estimate al_ablating_added(const struct al_ablating *a, size_t i)
{
	return al_estimate_change(a->whole->sequences, a->ablations.items[i].without,
		a->ablations.n_sequences);
}

const char **al_ablating_places(const struct al_ablating *a)
{
	const char **places = al_new_array(&a->session->arena, const char *, a->ablations.n);

	for (size_t first = 0, end; first < a->ablations.n; first = end) {
		end = al_ablating_layer_end(a, first);
		al_losses_find_places(a->ablations.items + first, end - first,
			a->ablations.n_sequences, places + first);
	}
	return places;
}

struct al_estimate al_ablating_beyond(const struct al_ablating *a, size_t pair)
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

static void add_row(const struct al_ablating *a, struct al_table *table, size_t i,
	const char *place)
{
	const struct al_ablation *one = &a->ablations.items[i];
	struct ablated row = {.module = one->attention->name,
		.layer = one->attention->layer,
		.head = one->first,
		.other = one->other,
		.heads = one->n,
		.added = al_ablating_added(a, i),
		.place = place};

	if (a->masked)
		row.masked = al_estimate_change(a->masked->sequences,
			a->masked_ablations.items[i].without, a->ablations.n_sequences);
	if (a->options->what == AL_ABLATE_LAYERS)
		row.head = INT64_MIN;
	if (one->other >= 0) {
		row.heads *= 2;
		row.beyond = al_ablating_beyond(a, i);
	}
	al_table_add_record(table, &row);
}

static const char *replaced_text(struct al_arena *arena, const struct al_ablating *a)
{
	return a->options->refits
		? "W_O of the others refitted"
		: al_format(arena, "output replaced by %s",
			a->options->replacement == AL_REPLACE_MEAN ? "its mean" : "zero");
}

static struct al_table *add_table(struct al_ablating *a)
{
	const enum al_ablated what = (enum al_ablated)a->options->what;
	const char *name = al_ablated_names[what];
	struct al_table *table = al_session_table(a->session, "ablation", fields,
		(what == AL_ABLATE_PAIRS		   ? OF_PAIRS
				: what == AL_ABLATE_LAYERS ? 0
							   : OF_PARTS)
			| (a->kind == &al_ablation_of_loss ? OF_LOSS : OF_EMBEDDING)
			| (a->masked ? OF_MASKED : 0),
		"%s without each %.*s (%s)", a->kind->title, (int)strlen(name) - 1, name,
		replaced_text(&a->session->arena, a));
	const char **places = al_ablating_places(a);

	for (size_t i = 0; i < a->ablations.n; i++)
		if (al_ablating_shows(a, i))
			add_row(a, table, i, places[i]);
	return table;
}

static void conclude(const struct al_ablating *a, struct al_table *table)
{
	const bool of_pairs = a->options->what == AL_ABLATE_PAIRS;

	al_session_claim(a->session, al_ablating_claim(a, table));
	al_losses_note_errors(table, al_loss_estimate(a->whole));
	al_opened_checkpoint_warn_mixers(a->model->file, table);
	if (a->ablations.n_sequences > 1)
		al_table_note(table,
			of_pairs
				? "a pair adds more together than both alone where that isn't zero "
				  "at 95 %% among all pairs (Student's t, Bonferroni)"
				: "tied: can't be told from the least one in its layer, by paired "
				  "differences over sequences, at 95 %% for all such comparisons "
				  "together (Student's t, two-sided, Bonferroni)");
	if (a->options->refits)
		al_losses_warn_seen(table, a->calibration, a->whole->all);
}

/* Of an encoder, what is measured is how far embeddings move. */
void al_ablating_begin(struct al_ablating *a, const struct al_loss *loss)
{
	const bool is_decoder = a->model->running->network.how->kind == AL_FORWARD_DECODER;
	struct al_loss *none = al_new(&a->session->arena, struct al_loss);

	a->kind = is_decoder ? &al_ablation_of_loss : &al_ablation_of_embedding;
	*none = al_loss_new(&a->session->arena, &a->model->running->all);
	a->whole = is_decoder ? loss : none;
	a->masked = is_decoder ? NULL : loss;
}

void al_ablating_finish(void *ablating)
{
	struct al_ablating *a = ablating;

	al_ablations_finish(&a->ablations);
	al_ablations_finish(&a->masked_ablations);
}

bool al_ablate(struct al_session *session, const struct al_opened_model *model,
	const struct al_ablation_options *options, const struct al_loss *loss, struct al_error *err)
{
	AL_ENDS(al_ablating_finish)
	struct al_ablating a = {.session = session, .model = model, .options = options};

	al_ablating_begin(&a, loss);
	if (options->calibration) {
		a.calibration = al_session_calibration(session, options->calibration,
			model->file->checkpoint, err);
		if (!a.calibration)
			return false;
	}
	if (!al_ablating_measure(&a, err))
		return false;
	if (loss)
		al_losses_add_table(session, loss);
	conclude(&a, add_table(&a));
	return true;
}
