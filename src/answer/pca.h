/* Declarations shared by the files of the command pca. */
#pragma once

#include "answer/input.h"
#include "answer/progress.h"
#include "deacon/in_place.h"

enum pca_rule { PCA_GHA, PCA_DEACON, PCA_N_RULES };

/* Value of --train, parsed. */
struct pca_training {
	int rule; /* -1: none */
	double n_steps, seed, delta_p, xi;
};

struct pca_options {
	struct al_output_options output;
	int64_t n_heads, keep; /* 0: not given */
	uint64_t architectures, only; /* one bit each */
	const char *target, *modules, *epsilon, *figures, *weights, *calibration, *saved;
	const char *train; /* "deacon:steps=20,xi=0.9" */
	struct al_input_options input; /* tokens or text, for a model */
};

/* Are there targets? Those of a model are the outputs of its output projections. */
static inline bool pca_has_target(const struct pca_options *options)
{
	return options->target || al_input_is_given(&options->input);
}

static inline bool pca_takes(const struct pca_options *options, int architecture)
{
	return (options->architectures ? options->architectures : UINT64_C(1) << AL_DIRECT)
		>> architecture
		& 1;
}

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
enum { PCA_OF_LAYERS = 1 << 8, PCA_OF_PAIRS = 1 << 9, PCA_WITH_MEASURES = 1 << 10 };
extern const struct al_table_field pca_training_fields[], pca_weights_fields[], pca_loss_fields[];

/* One answer. */
struct pca {
	struct al_session *session;
	const struct pca_options *options;
	struct pca_training training;
	struct al_progress *progress;
	struct al_table *tables[PCA_N_TABLES]; /* NULL: not wanted */
	struct al_table drawn; /* one module's correlation; without columns where none is drawn */
	struct al_tensor *saved; /* of --save: weights [components][features] */
	const double **numbers; /* of the saved tensors, one array each */
	size_t n_saved, n_numbers, saved_room, numbers_room;
};

/* One module: the rows of its heads or what was added up over them; and in one architecture. */
struct pca_module {
	struct pca *pca;
	const char *name;
	size_t n_heads, width; /* numbers per token: n_heads*d_head */
	const struct al_rows *rows; /* [2]: head outputs and targets */
	const struct al_head_moments *moments;
	struct al_in_place **layers; /* [AL_N_ARCHITECTURES]: takes them; may be NULL */

	enum al_pca_architecture architecture;
	const char *label; /* "Direct-8", as the paper calls it */
	struct al_principal principal;
	size_t n_kept;
	double *errors; /* [n_features + 1], of the target; NAN: not fitted; NULL: no target */
	int64_t n_left_out; /* tokens whose heads or target aren't finite */
};

/* Adds all requested architectures. */
bool pca_take_module(struct pca_module *module, struct al_error *err) AL_MUST_CHECK;

/* A source of head outputs: begins the tables, takes its modules, and names their source. */
bool pca_run_files(struct pca *pca, struct al_error *err) AL_MUST_CHECK;
bool pca_run_model(struct pca *pca, struct al_error *err) AL_MUST_CHECK;
bool pca_run_calibration(struct pca *pca, struct al_error *err) AL_MUST_CHECK;

/* ---- pca_module.c ---- */

/* Fails where a table is asked for by name that the other options don't make. `has_loss`: there is
 * a model whose loss is measured. */
bool pca_tables_begin(struct pca *pca, bool has_loss, struct al_error *err) AL_MUST_CHECK;

/* A row with a number of each component that is kept, [1][kept], in columns EACH_1, EACH_2 ... that
 * come with the first row. */
void pca_add_row(struct al_table *table, const void *record, const struct al_column *each,
	struct al_view numbers);

/* A note on this module, below the first table of the answer. */
void pca_note(const struct pca_module *module, const char *format, ...) AL_PRINTF(2, 3);

/* Notes on what all modules share. */
void pca_note_options(const struct al_session *session);

/* ---- pca_train.c ---- */

/* "gha:steps=100"; NULL: no training. */
bool pca_training_read(const char *text, struct pca_training *out,
	struct al_error *err) AL_MUST_CHECK;

/* Trains `weights` [n_features][kept], from random ones. */
bool pca_train(const struct pca_module *module, struct al_matrix weights,
	struct al_error *err) AL_MUST_CHECK;

/* ---- pca_weights.c: how alike components are, and Figure 6 ---- */

/* Norms of the columns of a PCA layer's weights, and how alike they are. `architecture` may be
 * NULL; `label` names its panel. */
void pca_weights_add(struct pca *pca, const char *module, const char *architecture,
	const char *label, struct al_view weights);

void pca_figures_begin(struct pca *pca);

/* Draws one module's into the folder of --figures, where `draws`, else returns false. */
bool pca_figures_end(struct pca *pca, const char *module, bool draws,
	struct al_error *err) AL_MUST_CHECK;
