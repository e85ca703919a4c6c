/* attnledger: counts and audits attention. The public library, light and full.
 *
 * Functions that can fail return bool and fill `struct al_error`; the library never prints and
 * never exits, but for one case: where the system has no memory left it aborts, as GMP below it
 * does; only matrices, whose size the caller's data decide, are refused with AL_ESYSTEM.
 * Strings are UTF-8. */
#ifndef ATTNLEDGER_H
#define ATTNLEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How an operation ended; the values are the exit statuses of the command line, but for kinds of
 * wrong input that a caller may want to distinguish: all of them exit with 2. */
enum al_status {
	AL_OK = 0,
	AL_ENO = 1, /* the answer is no: an inconsistent claim, nothing fits */
	AL_EINPUT = 2, /* wrong input or usage */
	AL_ESYSTEM = 3, /* the system or the numerics failed */
	AL_ENOTFINITE = 4, /* wrong input: weights that are NaN or infinite */
	AL_EFORMAT = 5, /* wrong input: weights, or a figure, in a format that this program lacks */
	AL_ECANCELLED = 6, /* the caller's callback ended the work */
	AL_EUNSET = 7, /* wrong input: a size or recipe that the answer needs isn't set */
};

/* One line: where, what was found and what was expected. */
struct al_error {
	enum al_status status;
	char message[1024];
};

/* The version, "0.1.0". */
const char *al_version(void);

/* ---- questions and answers ----
 *
 * A question is a command line of attnledger, word by word; its answer is a sentence whose numbers
 * are data, and tables. The light library (attnledger-light) answers what exact numbers
 * answer with GMP alone: all but what computes with weights (audit, compress ...), draws or runs a
 * scenario; the full one answers everything.
 *
 *     const char *words[] = {"cache", "llama-3-8b", "--seq", "8192"};
 *     struct al_answer *answer;
 *     if (al_ask(4, words, &answer, &err)) {
 *         puts(al_answer_text(answer));
 *         al_answer_free(answer);
 *     }
 *
 * Nothing is printed and no file is written: what the command line writes into files (a page, a
 * figure, a table under --output, a compressed checkpoint, a calibration) are named bytes of the
 * answer. What is too large for memory meanwhile waits in files without a name, in TMPDIR. Several
 * threads may ask at a time; an answer belongs to one thread at a time. Texts live as long as their
 * answer. */

struct al_answer;

/* A number or a name in an answer's sentence. */
struct al_answer_value {
	const char *name, *unit; /* unit "": a count, a ratio or a name */
	const char *value; /* an exact decimal, or a name */
	bool is_number;
	const char *text; /* as the sentence shows it */
	const char *table,
		*key; /* the cell that it is: the table's id, the column's key; NULL: none */
	size_t row;
};

struct al_answer_column {
	const char *key, *title, *unit; /* unit "": a count, a share or a text */
	bool is_number;
};

/* Answers the question of `n_words` words, without the program's name. False, and *err, where the
 * command line would exit with 2 or 3; `err` may be NULL. The answer is the caller's to free. */
bool al_ask(size_t n_words, const char *const *words, struct al_answer **out, struct al_error *err);

/* ---- questions about what is in memory ----
 *
 * Where a word of the question is the name of tensors or of a file in memory, they are read, and
 * nothing on disk. They are the caller's, and are read only while the question is answered. */

/* A tensor. Element [i][j] is at data + (i*strides[0] + j*strides[1])*(bytes of an element). */
struct al_array {
	const char *name; /* as checkpoints name it: "model.layers.0.self_attn.q_proj.weight" */
	const char *dtype; /* as safetensors names it: F64, F32, F16, BF16, F8_E4M3, I64 ... */
	size_t n_dims;
	const int64_t *shape; /* [n_dims] */
	const int64_t *strides; /* [n_dims], in elements, as torch's, none negative; NULL: the last
				   dimension runs fastest, without gaps. Others are copied once */
	const void *data;
};

/* A checkpoint in memory: as a folder of that name with model.safetensors and, where there is a
 * config, config.json. */
struct al_arrays {
	const char *name; /* the word of the question: "model" in {"audit", "model"} */
	const struct al_array *items;
	size_t n;
	const char *config; /* config.json's text; NULL: inferred from names and shapes */
};

/* A file in memory: tokens, a calibration, NAME/tokenizer.json for the tensors of that name. */
struct al_bytes {
	const char *name;
	const void *data;
	size_t length;
};

/* Zeroed: as al_ask. */
struct al_ask_options {
	const struct al_arrays *checkpoints;
	size_t n_checkpoints;
	const struct al_bytes *files;
	size_t n_files;
	/* Called before each step of long work, from the thread that asks: its name ("layers.3"),
	 * after `done` of `n` equal steps; n 0: how many isn't known. False ends the work: the
	 * question then fails with AL_ECANCELLED. NULL: no progress. */
	bool (*progress)(void *context, const char *step, size_t done, size_t n);
	void *context;
	/* The name of a file of the answer that is to be its page, as --report makes one where a
	 * command has that; NULL: none. */
	const char *page;
};

/* As al_ask; `options` may be NULL. */
bool al_ask_with(size_t n_words, const char *const *words, const struct al_ask_options *options,
	struct al_answer **out, struct al_error *err);

/* ---- answers ---- */

/* NULL is safe. */
void al_answer_free(struct al_answer *answer);

/* Is the answer a no (an inconsistent claim, nothing fits)? The command line then exits with 1. */
bool al_answer_is_no(const struct al_answer *answer);

/* The sentence; "" where the tables are the answer. */
const char *al_answer_text(const struct al_answer *answer);

/* The sentence's numbers and names in their order, [*n]. */
const struct al_answer_value *al_answer_values(const struct al_answer *answer, size_t *n);

/* The one number that answers; NULL: no single one does. */
const struct al_answer_value *al_answer_lead(const struct al_answer *answer);

/* What is assumed beyond the defaults, and commands that lead on, [*n]. */
const char *const *al_answer_assumptions(const struct al_answer *answer, size_t *n);
const char *const *al_answer_next(const struct al_answer *answer, size_t *n);

/* Tables, their columns and rows are numbered from 0. */
size_t al_answer_n_tables(const struct al_answer *answer);
const char *al_answer_table_id(const struct al_answer *answer, size_t table);
const char *al_answer_table_title(const struct al_answer *answer, size_t table);
const char *const *al_answer_table_notes(const struct al_answer *answer, size_t table, size_t *n);
size_t al_answer_n_columns(const struct al_answer *answer, size_t table);
size_t al_answer_n_rows(const struct al_answer *answer, size_t table);
struct al_answer_column al_answer_column(const struct al_answer *answer, size_t table,
	size_t column);

/* Is the row a sum of rows before it? */
bool al_answer_row_is_total(const struct al_answer *answer, size_t table, size_t row);

/* A cell as JSON and CSV have it, exact; NULL: it is missing. */
const char *al_answer_cell(struct al_answer *answer, size_t table, size_t row, size_t column);

/* A cell's number as a double; false where it is missing or a text. */
bool al_answer_number(const struct al_answer *answer, size_t table, size_t row, size_t column,
	double *out);

/* The answer as a text of one screen, 80 columns wide; one without tables as it is printed. */
const char *al_answer_screen(struct al_answer *answer);

/* The whole answer as the command line prints it under -f json. */
const char *al_answer_json(struct al_answer *answer);

/* What the command line would have written into files; false: there is no file `index`. A folder's
 * files are named FOLDER/NAME. */
size_t al_answer_n_files(const struct al_answer *answer);
bool al_answer_file(const struct al_answer *answer, size_t index, const char **name,
	const void **bytes, size_t *length);

/* The tensors of such a file of safetensors (compress, calibrate, pca --save): they lie in its
 * bytes, and live as long as the answer. */
bool al_answer_arrays(struct al_answer *answer, size_t index, const struct al_array **out,
	size_t *n, struct al_error *err);

/* ---- decompositions of attention heads ----
 *
 * In the full library alone. A layer's heads are a tensor T[n_heads][d_query][d_key],
 * T_i = W_Q^(i) W_K^(i)T. It is given by its factors and never formed. Matrices are column-major:
 * element (i, j) is data[i + j*ld], ld >= rows. torch's [out, in] weights, row by row, are such
 * matrices [in][out] as they lie. */

/* The factors: either both in double or both in single precision, the others NULL. They stay the
 * caller's and are only read. A leading dimension of 0 is the number of rows. Query head i meets
 * key head floor(i*n_kv_heads/n_heads). */
struct al_projections {
	size_t n_heads, n_kv_heads, d_head;
	size_t d_query, d_key; /* widths of the two inputs, mostly d_model */
	const double *query, *key; /* [d_query][n_heads*d_head], [d_key][n_kv_heads*d_head] */
	const float *query_f, *key_f;
	size_t query_ld, key_ld;
};

enum al_cp_start {
	AL_CP_AUTO, /* the better end of greedy and, where it exists, algebraic */
	AL_CP_GREEDY, /* the R largest singular triples of all heads, one-hot mixing */
	AL_CP_ALGEBRAIC, /* eigenvectors of S_1 S_2^-1, two mixtures of the compressed heads */
	AL_CP_RANDOM, /* Gaussian factors */
};

/* After each sweep: how many were done from this start (AL_CP_AUTO begins anew with its second) and
 * the error as the sweeps see it, which cancels: it only steers. False stops there, and what was
 * reached so far is the answer. */
typedef bool al_cp_watch(void *context, size_t n_sweeps, double steering_error);

/* Zeroed but for `rank` is the start alone: no sweep. */
struct al_cp_options {
	size_t rank; /* R, from 1 to n_heads*min(d_head, d_query, d_key) */
	enum al_cp_start start;
	size_t n_sweeps; /* at most */
	double stop; /* stop where, over ten sweeps, the error changes by less than this part of
			itself a sweep */
	uint64_t seed;
	size_t n_restarts; /* from the best so far, some terms drawn anew */
	al_cp_watch *watch; /* may be NULL */
	void *context;
};

/* Collaborative attention (Cordonnier, Loukas & Jaggi 2020, arXiv:2006.16362):
 * T_i ~ query diag(mixing_i) key^T. The arrays are the library's until al_cp_factors_finish.
 * Leading dimensions are the rows. Columns of `mixing` have norm 1, those of `query` and `key` one
 * norm; terms come largest first. */
struct al_cp_factors {
	size_t d_query, d_key, n_heads, rank;
	double *query; /* [d_query][rank] */
	double *key; /* [d_key][rank] */
	double *mixing; /* [n_heads][rank] */
	double relative_error; /* ||T - T'||/||T||, from the residual itself, in double */
	bool is_estimate; /* of it: by 64 Gaussian vectors, where T is too large */
	double start_error; /* of the start that won; never below relative_error */
	enum al_cp_start start; /* which one won: never AL_CP_AUTO */
	size_t n_sweeps; /* that it took */
	bool is_converged; /* by `stop`, not by n_sweeps or the watch */
};

/* Alternating least squares, in the precision of the factors: single is twice as fast and reaches
 * about 1e-6, double 1e-13. Never worse than the start; with AL_CP_AUTO and AL_CP_GREEDY so never
 * worse than truncating the heads' own singular values.
 *
 *     struct al_projections heads = {.n_heads = 12, .n_kv_heads = 12, .d_head = 64,
 *             .d_query = 768, .d_key = 768, .query_f = w_q, .key_f = w_k};
 *     struct al_cp_options options = {.rank = 256, .n_sweeps = 100, .stop = 1e-5};
 *     struct al_cp_factors shared;
 *     if (al_decompose_cp(&heads, &options, &shared, &err)) ...
 *     al_cp_factors_finish(&shared);
 *
 * False, and *err: AL_EINPUT where sizes contradict each other, a factor isn't finite, every head
 * is zero, the rank is out of bounds, or an algebraic start doesn't exist (the rank exceeds the
 * heads' multilinear rank); AL_ESYSTEM where memory is short or numbers overflow. `out` is then
 * zeroed. */
bool al_decompose_cp(const struct al_projections *heads, const struct al_cp_options *options,
	struct al_cp_factors *out, struct al_error *err);
void al_cp_factors_finish(struct al_cp_factors *factors);

enum al_tucker_modes {
	AL_TUCKER_PARTIAL, /* query and key; every head keeps its own core */
	AL_TUCKER_FULL, /* heads too: fewer cores, mixed by `head` */
};

enum al_tucker_finder {
	AL_TUCKER_AUTO, /* random for modes above 2048 with ranks below a quarter of them */
	AL_TUCKER_EXACT, /* eigenvectors of the mode's Gram matrix */
	AL_TUCKER_RANDOM, /* a range finder in single precision: partial, by size, no sweeps */
};

/* Zeroed is a partial HOSVD; the ranks or the tolerance must be given. */
struct al_tucker_options {
	enum al_tucker_modes modes;
	/* By size: head_rank from 1 to n_heads, only where modes is full; query_rank from 1 to
	 * min(d_query, n_heads*d_head); key_rank from 1 to min(d_key, n_kv_heads*d_head). */
	size_t head_rank, query_rank, key_rank;
	/* By tolerance, with all ranks 0: the smallest ranks that keep HOSVD's relative error at or
	 * below it, its square divided among the modes in equal parts. */
	double tolerance;
	/* HOOI: at most so many sweeps after the HOSVD, until the error changes by less than `stop`
	 * of itself. No rank may then exceed the product of the others. */
	size_t n_sweeps;
	double stop;
	enum al_tucker_finder finder;
	uint64_t seed; /* of the random finder */
};

/* T_i ~ query core_i key^T with core_i = core_query_i core_key_g^T kept in factors: the same heads
 * at a smaller model width. Where heads are compressed too, core_i is further mixed over the heads
 * j by (head head^T)_ij. Arrays are the library's until al_tucker_factors_finish; leading
 * dimensions are the rows. */
struct al_tucker_factors {
	size_t d_query, d_key, n_heads, n_kv_heads, d_head;
	size_t head_rank, query_rank, key_rank; /* head_rank 0 where heads are kept */
	double *query; /* [d_query][query_rank], orthonormal columns */
	double *key; /* [d_key][key_rank], orthonormal columns */
	double *head; /* [n_heads][head_rank], orthonormal columns, or NULL */
	double *core_query; /* [query_rank][n_heads*d_head] */
	double *core_key; /* [key_rank][n_kv_heads*d_head] */
	double relative_error; /* as above */
	bool is_estimate;
	size_t n_sweeps;
};

/* False, and *err, as above. */
bool al_decompose_tucker(const struct al_projections *heads,
	const struct al_tucker_options *options, struct al_tucker_factors *out,
	struct al_error *err);
void al_tucker_factors_finish(struct al_tucker_factors *factors);

#ifdef __cplusplus
}
#endif

#endif
