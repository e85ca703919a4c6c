/* A training of pca --train that is looked at step by step, beside the exact components. */
#ifndef ATTNLEDGER_COMMANDS_PCA_WATCH_H
#define ATTNLEDGER_COMMANDS_PCA_WATCH_H

#include "commands/pca.h"
#include "commands/progress.h"

/* What is trained where the options don't say. */
enum { PCA_INNER_STEPS = 500 };

/* One training under way. */
struct pca_watcher {
	const struct pca_module *module;
	struct pca_tables *tables;
	double *cosines; /* [kept] */
	double cosine_mean, cosine_least, angle_degrees; /* of the last look */
	const char *label; /* "Direct-8, gha" */
	struct al_progress progress;
	struct al_steps steps; /* of training, all of its rounds */
};

/* Says on a terminal which step of the training it is. */
void pca_show_step(struct pca_watcher *watcher);

bool pca_look(struct pca_watcher *watcher, struct al_view weights,
	struct al_error *err) AL_MUST_CHECK;

/* A row of the table of training: `numbers` [n] are the rule's own columns, NAN where missing; of
 * weights that were looked at. What isn't shown is drawn. */
void pca_add_rows(struct pca_watcher *watcher, size_t step, const double *numbers, size_t n,
	struct al_view weights, bool is_shown);

/* Trains by DEACON's update (pca_deacon.c). */
bool pca_train_deacon(struct pca_watcher *watcher, const struct al_head_outputs *outputs,
	struct al_matrix weights, struct al_error *err) AL_MUST_CHECK;

#endif
