/* Compression: a checkpoint's queries and keys in fewer numbers, written as a checkpoint.
 *
 * What a method doesn't touch is copied bit for bit. The new file says in its metadata what was
 * done: attnledger.method, .source (FNV-1a of the original's headers), .scale, .modules (a JSON
 * list: rank, relative error, parameters, the factor of the logits), .shapes (the heads that are
 * left of every module, and where each projection is that the family doesn't list), .config (of a
 * single file: the config.json that a folder has beside it). The factor stays the
 * original's, mostly 1/sqrt(d_head), whatever the new width is. */
#ifndef ATTNLEDGER_COMPRESS_COMPRESS_H
#define ATTNLEDGER_COMPRESS_COMPRESS_H

#include "base/table.h"
#include "compress/pieces.h"

struct al_dropped {
	const char *module; /* a name, or a layer's number */
	int64_t head;
};

struct al_data;

struct al_compress_options {
	enum al_method method;
	const int64_t *ranks; /* one for all modules, or one each; NULL: by target */
	size_t n_ranks;
	double target_error; /* the smallest rank that keeps the relative error at or below it; 0 */
	const struct al_dropped *dropped;
	size_t n_dropped;
	size_t n_of_each; /* drop: so many heads of each module, chosen by the calibration; 0 */
	double budget; /* the ranks of all modules that together save this share; 0 */
	bool budget_is_cache; /* ... of the numbers cached for a token, else of the parameters */
	const struct al_data *data; /* of methods on values, and for W_O after drop; may be NULL */
	bool of_keys; /* kv-latent: of keys, not values; gqa: of keys too */
	const char *modules; /* al_select_module; NULL: all */
	bool for_epfml; /* collab: for epfml/collaborative-attention, which divides the logits
	                               by sqrt(R/n_heads): mixing and content bias make up for it */
	bool must_gain; /* a result that isn't smaller than its source is refused */
	struct al_effort effort;
	void (*watch)(void *context, const char *module); /* before each module; may be NULL */
	/* When the file `written` is complete, before it is put in its place; false leaves none.
	 * May be NULL. */
	bool (*check)(void *context, const char *written, struct al_error *err);
	void *context;
};

/* Compresses the view's checkpoint into `path`, a safetensors file that appears whole or not at
 * all, and adds a row for each module: module, layer, method, rank, parameters, saving,
 * relative_error, sharing_gain. For collab `heads`, which may be NULL, gets a row for each head:
 * module, layer, head, dimensions. AL_EINPUT: a path that is a file of the input, ranks that can't
 * be, modules that the method can't treat, numbers that are not finite. */
bool al_compress(struct al_model_view *view, const struct al_compress_options *options,
	const char *path, struct al_table *table, struct al_table *heads,
	struct al_error *err) AL_MUST_CHECK;

void al_compress_add_columns(struct al_table *table);
void al_compress_add_head_columns(struct al_table *table);

#endif
