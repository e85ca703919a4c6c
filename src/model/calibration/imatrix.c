/* Importance matrices, read. */
#include "model/calibration/imatrix.h"

#include "formats/npy.h"

/* ---- files ---- */

static bool is_gguf(const char *path)
{
	return al_file_begins(path, "GGUF");
}

bool al_imatrix_is(const char *path)
{
	return al_path_kind(path) == AL_PATH_FILE && !al_file_begins(path, al_npy_magic)
		&& (al_ends_with(path, ".imatrix") || al_ends_with(path, ".dat") || is_gguf(path));
}

/* ---- entries of the GGUF form ---- */

static const char SQUARES[] = ".in_sum2", SUMS[] = ".in_sum", COUNTS[] = ".counts";

static const struct al_tensor *find_beside(struct al_imatrix *imatrix, const char *name,
	const char *ending)
{
	return al_checkpoint_find(&imatrix->file, al_format(&imatrix->arena, "%s%s", name, ending));
}

static bool check_entry(const struct al_imatrix *imatrix, const char *name,
	const struct al_tensor *squares, const struct al_tensor *counts,
	const struct al_tensor *sums, struct al_error *err)
{
	if (!counts)
		return al_fail(err, AL_EINPUT, "%s: has %s%s, and no %s%s", imatrix->path, name,
			SQUARES, name, COUNTS);
	const int64_t n = squares->n_dims == 2 ? squares->shape[0] : 1;
	if (squares->n_elements < 1 || squares->n_dims > 2 || counts->n_elements != n)
		return al_fail(err, AL_EINPUT,
			"%s: %s: %s and %s have different numbers of matrices", imatrix->path, name,
			SQUARES, COUNTS);
	if (strcmp(squares->dtype->name, "f32") != 0 || strcmp(counts->dtype->name, "f32") != 0)
		return al_fail(err, AL_EINPUT, "%s: %s: sums of %s and counts of %s, expected F32",
			imatrix->path, name, al_dtype_title(squares->dtype),
			al_dtype_title(counts->dtype));
	if (counts->shard != squares->shard || (sums && sums->shard != squares->shard))
		return al_fail(err, AL_EINPUT, "%s: %s: its sums and counts are in different files",
			imatrix->path, name);
	return !sums
		|| (al_tensor_is_shaped(sums, squares->shape, squares->n_dims)
			&& sums->dtype == squares->dtype)
		|| al_fail(err, AL_EINPUT, "%s: %s: the shapes of %s and %s differ", imatrix->path,
			name, SUMS, SQUARES);
}

static bool add_entry(struct al_imatrix *imatrix, const struct al_tensor *squares,
	struct al_error *err)
{
	const char *name = al_strndup(&imatrix->arena, squares->name,
		strlen(squares->name) - strlen(SQUARES));
	const struct al_tensor *counts = find_beside(imatrix, name, COUNTS),
			       *sums = find_beside(imatrix, name, SUMS);

	if (!check_entry(imatrix, name, squares, counts, sums, err))
		return false;
	imatrix->entries[imatrix->n_entries++] = (struct al_imatrix_entry){.name = name,
		.width = squares->n_elements,
		.n_matrices = counts->n_elements,
		.source = &imatrix->file.shards[squares->shard].source,
		.squares = squares->offset,
		.sums = sums ? sums->offset : 0,
		.counts = counts->offset};
	return true;
}

static bool check_type(const struct al_imatrix *imatrix, struct al_error *err)
{
	const char *type = al_checkpoint_metadata(&imatrix->file, "general.type");

	return (type && strcmp(type, "imatrix") == 0)
		|| al_fail(err, AL_EINPUT,
			"%s: not an imatrix: general.type in its metadata is \"%.40s\", expected "
			"\"imatrix\"",
			imatrix->path, type ? type : "");
}

static bool list_gguf(struct al_imatrix *imatrix, struct al_error *err)
{
	if (!al_checkpoint_open(&imatrix->file, imatrix->path, err) || !check_type(imatrix, err))
		return false;
	imatrix->entries = al_new_array(&imatrix->arena, struct al_imatrix_entry,
		imatrix->file.n_tensors + 1);
	for (size_t i = 0; i < imatrix->file.n_tensors; i++)
		if (al_ends_with(imatrix->file.tensors[i].name, SQUARES)
			&& !add_entry(imatrix, &imatrix->file.tensors[i], err))
			return false;
	return true;
}

/* ---- all entries ---- */

static int compare(const void *a, const void *b)
{
	const struct al_imatrix_entry *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static bool sort_entries(struct al_imatrix *imatrix, struct al_error *err)
{
	if (imatrix->n_entries == 0)
		return al_fail(err, AL_EINPUT, "%s: contains no mean squares", imatrix->path);
	qsort(imatrix->entries, imatrix->n_entries, sizeof(*imatrix->entries), compare);
	for (size_t i = 1; i < imatrix->n_entries; i++)
		if (compare(&imatrix->entries[i - 1], &imatrix->entries[i]) == 0)
			return al_fail(err, AL_EINPUT, "%s: weight \"%.120s\" appears twice",
				imatrix->path, imatrix->entries[i].name);
	return true;
}

bool al_imatrix_open(struct al_imatrix *imatrix, const char *path, struct al_error *err)
{
	*imatrix = (struct al_imatrix){.path = path};
	imatrix->source.fd = -1;
	al_arena_init(&imatrix->arena);
	if ((is_gguf(path) ? list_gguf(imatrix, err) : al_imatrix_list_legacy(imatrix, err))
		&& sort_entries(imatrix, err))
		return true;
	al_imatrix_finish(imatrix);
	return false;
}

void al_imatrix_finish(struct al_imatrix *imatrix)
{
	if (imatrix->path) {
		al_checkpoint_close(&imatrix->file);
		al_source_close(&imatrix->source);
		al_arena_finish(&imatrix->arena);
	}
	*imatrix = (struct al_imatrix){0};
}

/* ---- names ---- */

/* LLM_TENSOR_NAMES of llama.cpp's src/llama-arch.cpp: of what reads the module's input, or puts out
 * its heads. */
static const char *const weights[AL_N_PROJECTIONS][4] = {
	[AL_QUERY] = {"attn_q", "attn_qkv", "attn_q_a"},
	[AL_KEY] = {"attn_k", "attn_qkv", "attn_kv_a_mqa"},
	[AL_VALUE] = {"attn_v", "attn_qkv", "attn_kv_a_mqa"},
	[AL_OUTPUT] = {"attn_output"},
};

const char *al_imatrix_name(struct al_arena *arena, int64_t layer, int p, size_t i)
{
	const char *weight = weights[p][i];

	return weight ? al_format(arena, "blk.%lld.%s.weight", (long long)layer, weight) : NULL;
}

static const struct al_imatrix_entry *find(const struct al_imatrix *imatrix, const char *name)
{
	const struct al_imatrix_entry wanted = {.name = name};

	return bsearch(&wanted, imatrix->entries, imatrix->n_entries, sizeof(wanted), compare);
}

static const char *stored_name(const struct al_factor *factor)
{
	const struct al_factor *first = factor->down ? factor->down : factor;

	return first->n_runs > 0 ? first->runs[0].tensor->name : "";
}

static bool find_entry(const struct al_imatrix *imatrix, const struct al_attention *attention,
	int p, const struct al_imatrix_entry **out, struct al_error *err)
{
	AL_ARENA(scratch);
	const char *name;

	*out = find(imatrix, stored_name(&attention->factors[p]));
	for (size_t i = 0; !*out && attention->stack == AL_STACK_ONLY
		&& (name = al_imatrix_name(&scratch, attention->layer, p, i));
		i++)
		*out = find(imatrix, name);
	return *out
		|| al_fail(err, AL_EINPUT, "%s: has neither %s nor %s", imatrix->path,
			stored_name(&attention->factors[p]),
			al_imatrix_name(&scratch, attention->layer, p, 0));
}

/* ---- of which model ---- */

/* N of "blk.N."; -1: it is called otherwise. */
static int64_t layer_of(const char *name)
{
	static const char begin[] = "blk.";
	const size_t length = sizeof(begin) - 1;
	int64_t layer;

	if (strncmp(name, begin, length) != 0)
		return -1;
	const size_t digits = al_read_digits(name + length, &layer);
	return digits > 0 && name[length + digits] == '.' ? layer : -1;
}

/* The largest number that a module or a tensor of the model begins to be counted by. */
static int64_t last_layer(const struct al_model_view *view)
{
	const struct al_tensor_list *list = &view->tensor_list;
	int64_t last = -1;

	for (size_t i = 0; i < list->n_tensors; i++) {
		const struct al_model_item *tensor = &list->tensors[i];
		if (tensor->tensor->loops.n > 0 && tensor->iteration[0] > last)
			last = tensor->iteration[0];
	}
	for (size_t i = 0; i < view->n_modules; i++)
		last = al_most(view->modules[i].layer, last);
	return last;
}

bool al_imatrix_check_layers(const struct al_imatrix *imatrix, const struct al_model_view *view,
	struct al_error *err)
{
	const int64_t last = last_layer(view);

	for (size_t i = 0; last >= 0 && i < imatrix->n_entries; i++)
		if (layer_of(imatrix->entries[i].name) > last)
			return al_fail(err, AL_EINPUT,
				"%s: belongs to another model: it has %.120s, but the last layer "
				"here is %lld",
				imatrix->path, imatrix->entries[i].name, (long long)last);
	return true;
}

/* ---- numbers ---- */

/* NULL on failure. */
static double *read_floats(const struct al_imatrix_entry *entry, uint64_t offset, size_t n,
	struct al_error *err)
{
	AL_FREED float *numbers = al_try_calloc(n, sizeof(*numbers), err);

	if (!numbers || !al_source_read(entry->source, offset, numbers, n * sizeof(*numbers), err))
		return NULL;
	double *out = al_try_calloc(n, sizeof(*out), err);
	for (size_t i = 0; out && i < n; i++)
		out[i] = (double)numbers[i];
	return out;
}

/* Sums, and what they are divided by. */
static bool read_entry(const struct al_imatrix_entry *entry, struct al_diagonal *out,
	struct al_error *err)
{
	AL_FREED double *count = entry->counts ? read_floats(entry, entry->counts, 1, err) : NULL;

	out->count = count ? *count : entry->calls;
	return (count || !entry->counts)
		&& (out->squares = read_floats(entry, entry->squares, out->n, err))
		&& (!entry->sums || (out->means = read_floats(entry, entry->sums, out->n, err)));
}

/* Rounding of float32 sums over many tokens. */
#define ROUNDING 1e-2

static bool divide(struct al_diagonal *d, struct al_error *err)
{
	if (!(d->count >= 1 && isfinite(d->count)))
		return al_fail(err, AL_EINPUT, "%s: counts %g tokens, expected at least 1", d->name,
			d->count);
	for (size_t i = 0; i < d->n; i++) {
		double *square = &d->squares[i];
		if (!(*square >= 0 && isfinite(*square)))
			return al_fail(err, AL_EINPUT,
				"%s: number %zu is %g, expected a sum of squares", d->name, i,
				*square);
		*square /= d->count;
		if (!d->means)
			continue;
		const double mean = d->means[i] /= d->count;
		if (!(mean * mean <= *square * (1 + ROUNDING)))
			return al_fail(err, AL_EINPUT,
				"%s: number %zu has mean %g and mean square %g, which is "
				"impossible",
				d->name, i, mean, *square);
	}
	return true;
}

static bool read_squares(const struct al_imatrix *imatrix, const struct al_imatrix_entry *entry,
	int64_t width, struct al_diagonal *out, struct al_error *err)
{
	if (entry->width != width)
		return al_fail(err, AL_EINPUT,
			"%s: %s: has %lld mean squares, but the layer has %lld inputs",
			imatrix->path, entry->name, (long long)entry->width, (long long)width);
	out->name = entry->name;
	out->n = (size_t)width;
	if (read_entry(entry, out, err) && (divide(out, err) || al_in(err, "%s", imatrix->path)))
		return true;
	al_diagonal_finish(out);
	return false;
}

bool al_imatrix_read_weight(const struct al_imatrix *imatrix, const char *name, int64_t width,
	struct al_diagonal *out, struct al_error *err)
{
	const struct al_imatrix_entry *entry = find(imatrix, name);

	*out = (struct al_diagonal){0};
	return !entry || entry->n_matrices != 1 || read_squares(imatrix, entry, width, out, err);
}

bool al_imatrix_read(const struct al_imatrix *imatrix, const struct al_attention *attention, int p,
	struct al_diagonal *out, struct al_error *err)
{
	const struct al_factor *factor = &attention->factors[p];
	const int64_t width = p == AL_OUTPUT ? factor->heads * factor->width : factor->rows;
	const struct al_imatrix_entry *entry;

	*out = (struct al_diagonal){0};
	if (!find_entry(imatrix, attention, p, &entry, err))
		return false;
	if (entry->n_matrices != 1)
		return al_fail(err, AL_EINPUT, "%s: %s: has %lld matrices (experts), expected one",
			imatrix->path, entry->name, (long long)entry->n_matrices);
	return read_squares(imatrix, entry, width, out, err);
}

void al_diagonal_finish(struct al_diagonal *diagonal)
{
	free(diagonal->squares);
	free(diagonal->means);
	*diagonal = (struct al_diagonal){0};
}
