/* evaluate --ablate: what a model is without some of its heads. */
#pragma once

#include "answer/calibration.h"
#include "answer/input.h"

struct al_ablation_options {
	int what, replacement; /* what -1: nothing; replacement -1: not given, by zero */
	bool refits;
	const char *calibration;
};

extern const struct al_option_row al_ablation_rows[];

/* Refuses options that don't go together. */
bool al_ablation_check(const struct al_ablation_options *options,
	struct al_error *err) AL_MUST_CHECK;

/* Adds the table and the claim. `loss` becomes that of the model as it is; of an encoder on masked
 * tokens, or NULL where it predicts none. */
bool al_ablate(struct al_session *session, const struct al_opened_model *model,
	const struct al_ablation_options *options, const struct al_loss *loss,
	struct al_error *err) AL_MUST_CHECK;

/* ---- for other answers that leave out heads ---- */

/* What is measured: a decoder's loss, or how far an encoder's embeddings move. */
struct al_ablation_kind {
	const char *key, *error_key;
	const char *title; /* of the table, before what is left out */
	const char *verb, *verbs, *unit; /* of a sentence: "costs", "cost", " nats per token" */
	const char *alone; /* the verb where one was left out alone: "changes the loss" */
};

struct al_ablating {
	const struct al_ablation_kind *kind;
	struct al_session *session;
	const struct al_opened_model *model;
	const struct al_ablation_options *options;
	const struct al_calibration *calibration; /* NULL: none */
	const struct al_loss *whole; /* of embeddings no change, of one per sequence */
	struct al_ablations ablations;
	const struct al_loss *masked; /* an encoder's, too; NULL: none */
	struct al_ablations masked_ablations;
};

extern const struct al_ablation_kind al_ablation_of_loss, al_ablation_of_embedding;

/* Of a session, model and options. `loss` is to be that of the model as it is; of an encoder on
 * masked tokens, or NULL. Then `ablations` may be listed; else all is that the options name. */
void al_ablating_begin(struct al_ablating *a, const struct al_loss *loss);
bool al_ablating_measure(struct al_ablating *a, struct al_error *err) AL_MUST_CHECK;
void al_ablating_finish(void *ablating);

/* What comes to the loss, or how far embeddings move, without number i. */
struct al_estimate al_ablating_added(const struct al_ablating *a, size_t i);

/* al_losses_find_places of all, layer by layer. */
const char **al_ablating_places(const struct al_ablating *a);

/* Of pairs, each head alone is measured too. */
static inline bool al_ablating_shows(const struct al_ablating *a, size_t i)
{
	return a->options->what != AL_ABLATE_PAIRS || a->ablations.items[i].other >= 0;
}

/* Where the ablations of the layer of number `first` end. */
size_t al_ablating_layer_end(const struct al_ablating *a, size_t first);

/* What both heads of a pair add beyond what each adds alone: (ab - a) - (b - whole). Heads are
 * listed before the pairs of their layer, from head 0 on. */
struct al_estimate al_ablating_beyond(const struct al_ablating *a, size_t pair);

/* ablate_claim.c: of the finished table, whose rows are those that are shown. */
const char *al_ablating_claim(const struct al_ablating *a, const struct al_table *table);
