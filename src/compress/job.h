/* A compression under way, or as a compressed file records it: modules, layouts and numbers. */
#pragma once

#include "base/spill.h"
#include "compress/compress.h"

/* What a method makes of a module's weights. */
struct al_pieces {
	struct al_matrix of[AL_N_PIECES]; /* those that the layout takes and that aren't copied */
	double relative_error; /* of the stack of W_Q^(i) W_K^(i)T, Frobenius */
	bool is_estimate; /* of relative_error: by Gaussian vectors */
	bool has_settled; /* collab: false where more sweeps would lessen the error */
};

/* Its matrices; the numbers stay. */
static inline void al_pieces_finish(struct al_pieces *pieces)
{
	for (int i = 0; i < AL_N_PIECES; i++)
		al_matrix_finish(&pieces->of[i]);
}

struct al_job_module {
	struct al_module_layout layout;
	struct al_pieces
		pieces; /* matrices where later modules are fitted behind it, or in memory */
	int64_t parameters, original;
	double control_error, scale;
	size_t *dimensions; /* collab, [n_heads]: how many shared ones a head needs for 90 % */
};

/* What configs give once for all modules. */
struct al_head_sizes {
	int64_t n_heads, n_kv_heads, d_head;
};

struct al_job {
	struct al_arena arena;
	struct al_spill aside; /* the modules' new numbers, as they will be in the file */
	struct al_model_view *view;
	const struct al_compress_options *options; /* of a recorded one the method alone */
	struct al_job_module *modules;
	size_t n_modules;
	const struct al_checkpoint *compressed; /* where its modules lie; NULL: not written yet */
	const struct al_dtype *dtype; /* that was asked for; NULL: none */
	bool has_formats; /* of a recorded one: each tensor has its own */
	bool is_weighted; /* errors of quantization are: single numbers may be far off */
	bool in_memory; /* all pieces are kept, nothing is put aside */
	int64_t *ranks; /* of the modules that are asked for, out of a budget */
	bool writes_folder, writes_gguf;
	struct al_head_sizes sizes; /* of a GGUF file's modules, where some are new */
	bool writes_modeling; /* modeling_attnledger.py, beside the config that names it */
	uint64_t source; /* the original's hash, once it is written */
	const char *config_note; /* how config.json describes the copy; NULL: it can't */
	const char *recoded_note; /* which blocks of numbers were made anew; NULL: none */
};

/* What a compressed file records of itself: method, and layout and scale of its modules; both
 * outlive the job. A file without a record, and one that doesn't fit the original, are AL_EINPUT.
 * On failure nothing is left to finish. */
bool al_job_read(struct al_job *job, struct al_model_view *view,
	const struct al_checkpoint *compressed, struct al_error *err) AL_MUST_CHECK;
void al_job_finish(struct al_job *job);

/* The module of this attention; NULL: it is the original's. */
const struct al_job_module *al_job_find(const struct al_job *job,
	const struct al_attention *attention);

/* The compressed modules' weights in place of the original's, while the job lives. */
struct al_factor_source al_job_factors(struct al_job *job);

/* ---- compress.c ---- */

/* Calls `part` with the options of each method in turn. */
bool al_job_each_part(struct al_job *job, bool part(struct al_job *job, struct al_error *err),
	struct al_error *err) AL_MUST_CHECK;

/* Makes all modules that are asked for. */
bool al_job_make(struct al_job *job, struct al_error *err) AL_MUST_CHECK;

/* ---- chosen.c ---- */

/* Is the module one of those that are asked for? */
bool al_job_takes(const struct al_job *job, const struct al_attention *attention);

/* All that can be refused before the work. */
bool al_job_check(struct al_job *job, struct al_error *err) AL_MUST_CHECK;

/* What each head has besides its projections, in words: numbers of a tensor (T5's position biases,
 * Cohere's norms, StableLM's norm a head), a slope of its own (ALiBi). NULL: nothing. */
bool al_job_find_own(const struct al_job *job, const struct al_attention *attention,
	const char **out, struct al_error *err) AL_MUST_CHECK;

/* Which heads of the module are named to go, [n_heads], the arena's; NULL: none. */
bool *al_job_find_dropped(struct al_job *job, const struct al_attention *attention);

/* The rank that the user gave module number `index` of those that are asked for. */
bool al_given_rank(const struct al_job *job, const struct al_attention *attention, size_t index,
	int64_t *rank, struct al_error *err) AL_MUST_CHECK;

/* ---- embedding.c: whose rows are inputs where a checkpoint is compared with its copy ---- */

/* The embedding of tokens: the family's first that is a table of rows as wide as the module's
 * queries take, or NULL. */
const struct al_tensor *al_embedding_find(const struct al_model_view *view,
	const struct al_attention *attention);

/* Fails with AL_ENOTFINITE where that embedding holds NaN or infinite numbers, whichever rows will
 * be drawn: a norm could turn such a row into any other. `checked` is NULL at first and remembers
 * the embedding for the next module. */
bool al_embedding_check(const struct al_model_view *view, const struct al_attention *attention,
	const struct al_tensor **checked, struct al_error *err) AL_MUST_CHECK;

/* ---- budget.c ---- */

/* job->ranks, for the modules that are asked for, out of the options' budget. */
bool al_job_spend(struct al_job *job, struct al_error *err) AL_MUST_CHECK;

/* ---- refit.c ---- */

/* Fits W_O of the module's pieces to what its heads put out, by running the model on tokens, and
 * sets the relative error of the module's output. */
bool al_refit_module(struct al_job *job, struct al_job_module *module,
	struct al_error *err) AL_MUST_CHECK;

/* ---- epfml.c ---- */

bool al_epfml_check(const struct al_attention *attention, struct al_error *err) AL_MUST_CHECK;
void al_epfml_fold(struct al_job_module *module);

/* ---- method.c ---- */

/* Is W_O another where the method alone leaves it? */
bool al_job_refits(const struct al_compress_options *options);

/* Is it fitted to the calibration's outputs? */
bool al_job_refits_by_data(const struct al_compress_options *options);

/* ---- answer.c ---- */

void al_count_dimensions(struct al_job *job, struct al_job_module *module);
void al_answer_fill(struct al_job *job, struct al_table *table);
void al_answer_heads(const struct al_job *job, struct al_table *table);

/* ---- outputs.c ---- */

/* Refuses an output that is a file of the input, or that can't be written. What the modules put
 * aside waits next to it. */
bool al_job_open_output(struct al_job *job, const char *path, struct al_error *err) AL_MUST_CHECK;

bool al_job_write(struct al_job *job, const char *path, struct al_error *err) AL_MUST_CHECK;

/* ---- write_gguf.c ---- */

/* Refuses to write as GGUF what llama.cpp can't run. */
bool al_job_check_gguf(const struct al_job *job, const char *path,
	struct al_error *err) AL_MUST_CHECK;

/* ---- write.c ---- */

/* A module's pieces in the stored number format, put aside. */
bool al_job_encode(struct al_job *job, struct al_job_module *module,
	struct al_error *err) AL_MUST_CHECK;
