/* What the files of the command pca share. */
#ifndef ATTNLEDGER_COMMANDS_PCA_H
#define ATTNLEDGER_COMMANDS_PCA_H

#include "commands/command.h"
#include "commands/input.h"
#include "deacon/in_place.h"

/* What --train takes. */
enum pca_rule { PCA_GHA, PCA_DEACON, PCA_N_RULES };

extern const char *const pca_rule_names[PCA_N_RULES];

struct pca_training {
	int rule; /* -1: none */
	int64_t n_steps, n_inner; /* 0: not given */
	const char *rate, *delta_p, *xi;
};

struct pca_options {
	struct al_output_options output;
	int64_t n_heads, keep; /* 0: not given */
	uint64_t architectures, only; /* a bit for each; 0: not given */
	const char *target, *modules, *epsilon, *figures, *weights, *calibration, *saved;
	bool is_strict, is_by_columns;
	struct al_input_options input; /* of a model that runs */
	struct pca_training training;
};

static inline bool pca_is_of_model(const struct pca_options *options)
{
	return options->input.tokens || options->input.text || options->input.sample > 0;
}

/* A file of targets; of a model it is what its output projections make. */
static inline bool pca_has_target(const struct pca_options *options)
{
	return options->target || pca_is_of_model(options);
}

/* One module in one architecture. */
struct pca_module {
	struct al_session *session;
	const struct pca_options *options;
	const char *name;
	size_t n_heads;
	enum al_pca_architecture architecture;
	const char *label; /* "Direct-8", as the paper calls it */
	struct al_principal principal;
	size_t n_kept;
	size_t n_targets; /* 0: no target */
	struct al_target_moments moments; /* of all features, for --train deacon; without data
					     where they are too large */
	double *errors; /* [n_features + 1], of the target; NAN: not fitted; NULL: no target */
	int64_t n_left_out; /* tokens whose heads or target aren't finite */
	struct al_in_place *in_place; /* [AL_N_ARCHITECTURES]: takes the layer; NULL: nobody does */
};

/* The tables of the answer; NULL: not wanted. */
enum pca_table {
	PCA_MODULES,
	PCA_COMPONENTS,
	PCA_LOADINGS,
	PCA_TRAINING,
	PCA_WEIGHTS,
	PCA_CORRELATION,
	PCA_LOSS,
	PCA_N_TABLES,
};

extern const char *const pca_table_names[PCA_N_TABLES];

/* Columns, shown by these bits and those of rules (1 << rule). */
enum { PCA_WITH_TARGET = 1 << PCA_N_RULES };
extern const struct al_table_field pca_training_fields[], pca_weights_fields[],
	pca_correlation_fields[], pca_loss_fields[];

/* Weights that --save writes: [components][features]. */
struct pca_saved {
	const char *name;
	const double *numbers;
	int64_t shape[2];
};

struct pca_tables {
	struct al_table *of[PCA_N_TABLES];
	struct pca_saved *saved;
	size_t n_saved, saved_room;
	struct al_table drawn; /* one module's correlation; without columns where none is drawn */
};

/* Fails where a table is asked for by name that the other options don't make. `has_loss`: there is
 * a model whose loss is measured. */
bool pca_tables_begin(struct pca_tables *tables, struct al_session *session, bool has_loss,
	struct al_error *err) AL_MUST_CHECK;

/* Rows of the exact components. */
void pca_tables_add(struct pca_tables *tables, const struct pca_module *module);

/* A note on this module, below the first table of the answer. */
void pca_note(const struct pca_module *module, const char *format, ...) AL_PRINTF(2, 3);

/* Notes on what all modules share. */
void pca_note_options(const struct al_session *session);

/* A fit with as many unknowns as tokens meets any target: its error says nothing. */
bool pca_target_is_fitted(const struct pca_module *module, size_t kept);

/* "--NAME TEXT" as a number; NULL: `fallback`. The limits themselves are allowed. */
bool pca_read_real(const char *name, const char *text, double fallback, double least, double most,
	double *out, struct al_error *err) AL_MUST_CHECK;

/* ---- whoever has the head outputs of modules ---- */

struct pca_source {
	struct al_session *session;
	struct pca_tables tables;
};

/* One module: its rows, or of a calibration what was added up over them. */
struct pca_subject {
	const char *name;
	size_t n_heads, width; /* numbers of a token: n_heads*d_head */
	const struct al_rows *rows; /* [2]: head outputs and targets */
	const struct al_head_moments *moments;
	struct al_in_place *in_place; /* [AL_N_ARCHITECTURES]: takes the layers; may be NULL */
};

/* All architectures that are asked for. */
bool pca_take_module(struct pca_source *source, const struct pca_subject *subject,
	struct al_error *err) AL_MUST_CHECK;

bool pca_run_file(struct al_session *session, struct al_error *err) AL_MUST_CHECK;
bool pca_run_model(struct al_session *session, struct al_error *err) AL_MUST_CHECK;
bool pca_run_calibration(struct al_session *session, struct al_error *err) AL_MUST_CHECK;

/* ---- pca_train.c ---- */

extern const struct al_option_row pca_training_rows[];

/* Refuses options of one rule that are given with another, or with none. */
bool pca_training_check(const struct al_session *session, struct al_error *err) AL_MUST_CHECK;

/* Trains `weights` [n_features][kept], from random ones, with rows of `table`, which may be
 * NULL. */
bool pca_train(const struct pca_module *module, const struct al_head_outputs *outputs,
	struct al_table *table, struct al_matrix weights, struct al_error *err) AL_MUST_CHECK;

/* ---- pca_weights.c ---- */

/* Norms of the columns of a PCA layer's weights, and how alike they are. `architecture` may be
 * NULL; `label` names its panel. */
void pca_weights_add(struct pca_tables *tables, const char *module, const char *architecture,
	const char *label, struct al_view weights);

/* ---- pca_save.c ---- */

void pca_save_add(struct pca_tables *tables, const struct pca_module *module,
	struct al_view weights);
bool pca_save(const struct pca_tables *tables, struct al_session *session,
	struct al_error *err) AL_MUST_CHECK;

/* ---- Figure 6 (pca_weights.c) ---- */

void pca_figures_begin(struct pca_tables *tables, const struct pca_options *options);

/* Draws one module's into the folder of --figures, where `draws`, else returns false. */
bool pca_figures_end(struct pca_tables *tables, struct al_session *session, const char *module,
	bool draws, struct al_error *err) AL_MUST_CHECK;

#endif
