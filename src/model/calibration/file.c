/* Calibrations as files. */

#include "base/hash.h"
#include "model/calibration/calibration.h"
#include "model/calibration/imatrix.h"
#include "formats/safetensors.h"

static const char VERSION[] = "2";
static const char SEQUENCES[] = "sequences";
#define SOURCE "attnledger.source"

/* ---- writing ---- */

/* Without columns: a vector. */
static struct al_tensor describe(struct al_arena *arena, const char *name,
	const struct al_dtype *dtype, size_t rows, size_t cols)
{
	int64_t *shape = al_new_array(arena, int64_t, 2);

	shape[0] = (int64_t)rows;
	shape[1] = (int64_t)cols;
	return (struct al_tensor){.name = name,
		.dtype = dtype,
		.shape = shape,
		.n_dims = cols == 0 ? 1 : 2};
}

/* Products are float32, and so are moments, as long as the last of them, the number of tokens, is
 * exact in it. */
static const struct al_dtype *dtype_of(const struct al_calibration *calibration, int kind)
{
	const bool is_float = kind < AL_N_LARGE && calibration->most_tokens <= 0x1p24;

	return al_dtype_stored(is_float ? "F32" : "F64");
}

static struct al_tensor *describe_all(const struct al_calibration *calibration,
	struct al_arena *arena, size_t *n)
{
	struct al_tensor *tensors = al_new_array(arena, struct al_tensor,
		calibration->n_modules * AL_N_STATISTICS + AL_N_QUERIES + 1);

	*n = 0;
	for (size_t i = 0; i < calibration->n_modules; i++)
		for (int kind = 0; kind < AL_N_STATISTICS; kind++) {
			const struct al_module_statistics *module = &calibration->modules[i];
			if (!al_calibration_has(calibration, (enum al_statistic_kind)kind))
				continue;
			tensors[(*n)++] = describe(arena,
				al_format(arena, "%s.%s", module->name, al_statistics[kind].name),
				dtype_of(calibration, kind), calibration->n_folds,
				al_statistics_length(module, (enum al_statistic_kind)kind));
		}
	for (int kind = 0; kind < AL_N_QUERIES; kind++)
		if (calibration->n_queries[kind])
			tensors[(*n)++] = describe(arena, al_queries_names[kind],
				al_dtype_stored("U64"), calibration->n_folds, 0);
	tensors[(*n)++] = describe(arena, SEQUENCES, al_dtype_stored("U64"),
		calibration->n_sequences, 0);
	return tensors;
}

static const char *source_key(struct al_arena *arena, const char *module)
{
	return al_format(arena, SOURCE ".%s", module);
}

static void add_metadata(struct al_metadata *list, size_t *n, const char *key, const char *value)
{
	list[(*n)++] = (struct al_metadata){.key = key, .value = value};
}

struct al_calibration_writer {
	const struct al_calibration *calibration;
	struct al_tensor_writer *file;
};

static bool create(struct al_calibration_writer **out, const struct al_calibration *calibration,
	const char *path, const uint64_t *kept, struct al_error *err)
{
	struct al_tensor_writer *file;
	AL_ARENA(arena);
	size_t n;

	const struct al_tensor *tensors = describe_all(calibration, &arena, &n);
	struct al_metadata *metadata = al_new_array(&arena, struct al_metadata,
		3 + calibration->n_modules);
	size_t n_metadata = 0;
	add_metadata(metadata, &n_metadata, "attnledger", al_version());
	add_metadata(metadata, &n_metadata, "attnledger.calibration", VERSION);
	add_metadata(metadata, &n_metadata, SOURCE,
		al_fingerprint_text(&arena, calibration->source));
	for (size_t i = 0; i < calibration->n_modules; i++)
		if (calibration->modules[i].source)
			add_metadata(metadata, &n_metadata,
				source_key(&arena, calibration->modules[i].name),
				al_fingerprint_text(&arena, calibration->modules[i].source));

	*out = NULL;
	if (!(kept ? al_safetensors_create_kept(&file, path, *kept, tensors, n, metadata,
		      n_metadata, err)
		   : al_safetensors_create(&file, path, tensors, n, metadata, n_metadata, err)))
		return false;
	*out = al_calloc(1, sizeof(**out));
	**out = (struct al_calibration_writer){calibration, file};
	return true;
}

bool al_calibration_writer_create(struct al_calibration_writer **out,
	const struct al_calibration *calibration, const char *path, struct al_error *err)
{
	return create(out, calibration, path, NULL, err);
}

bool al_calibration_writer_create_kept(struct al_calibration_writer **out,
	const struct al_calibration *calibration, const char *path, uint64_t kept,
	struct al_error *err)
{
	return create(out, calibration, path, &kept, err);
}

bool al_calibration_writer_keep(struct al_calibration_writer *writer, uint64_t *kept,
	struct al_error *err)
{
	return al_tensor_writer_keep(writer->file, kept, err);
}

bool al_calibration_writer_put(void *context, const struct al_module_statistics *module,
	struct al_error *err)
{
	const struct al_calibration_writer *writer = context;

	for (int kind = 0; kind < AL_N_STATISTICS; kind++) {
		const struct al_matrix m = module->of[kind];
		if (!al_tensor_writer_append_doubles(writer->file,
			    dtype_of(writer->calibration, kind), m.data, m.rows * m.cols, err))
			return false;
	}
	return true;
}

void al_calibration_writer_abandon(void *context)
{
	struct al_calibration_writer *writer = context;

	if (writer)
		al_tensor_writer_abandon(writer->file);
	free(writer);
}

static bool append_counts(const struct al_calibration_writer *writer, struct al_error *err)
{
	const struct al_calibration *calibration = writer->calibration;

	for (int kind = 0; kind < AL_N_QUERIES; kind++)
		if (calibration->n_queries[kind]
			&& !al_tensor_writer_append(writer->file, calibration->n_queries[kind],
				8 * calibration->n_folds, err))
			return false;
	return al_tensor_writer_append(writer->file, calibration->sequences,
		8 * calibration->n_sequences, err);
}

bool al_calibration_writer_commit(struct al_calibration_writer *writer, struct al_error *err)
{
	if (!append_counts(writer, err)) {
		al_calibration_writer_abandon(writer);
		return false;
	}
	struct al_tensor_writer *file = writer->file;
	free(writer);
	return al_tensor_writer_commit(file, err);
}

bool al_calibration_write(const struct al_calibration *calibration, const char *path,
	struct al_error *err)
{
	struct al_calibration_writer *writer;
	const struct al_module_statistics *module;

	if (!al_calibration_writer_create(&writer, calibration, path, err))
		return false;
	for (size_t i = 0; i < calibration->n_modules; i++)
		if (!al_calibration_find(calibration, calibration->modules[i].name, &module, err)
			|| !al_calibration_writer_put(writer, module, err)) {
			al_calibration_writer_abandon(writer);
			return false;
		}
	return al_calibration_writer_commit(writer, err);
}

/* ---- reading ---- */

static const char *find_metadata(const struct al_checkpoint *file, const char *key)
{
	const char *found = al_checkpoint_metadata(file, key);

	return found ? found : "";
}

static bool read_metadata(struct al_calibration *calibration, const struct al_checkpoint *file,
	struct al_error *err)
{
	const char *version = find_metadata(file, "attnledger.calibration");
	const char *source = find_metadata(file, SOURCE);

	if (strcmp(version, "1") == 0)
		return al_fail(err, AL_EINPUT,
			"recorded by an older version, without folds of sequences: run `calibrate` "
			"again");
	if (strcmp(version, VERSION) != 0)
		return al_fail(err, AL_EINPUT,
			"not a calibration: attnledger.calibration in its metadata is \"%.20s\", "
			"expected \"%s\"",
			version, VERSION);
	return al_fingerprint_read(source, &calibration->source)
		|| al_fail(err, AL_EINPUT,
			SOURCE " of its metadata is \"%.40s\", expected a fingerprint", source);
}

/* Allocates `out`, [n]. */
static bool read_vector(const struct al_checkpoint *file, const char *name, void **out, size_t *n,
	struct al_error *err)
{
	const struct al_tensor *tensor = al_checkpoint_find(file, name);

	if (!tensor || tensor->n_dims != 1 || strcmp(al_dtype_title(tensor->dtype), "U64") != 0)
		return al_fail(err, AL_EINPUT, "expected a vector \"%s\" of U64", name);
	*n = (size_t)tensor->n_elements;
	*out = al_try_calloc(*n, 8, err);
	return *out && al_tensor_read_bytes(file, tensor, 0, *out, 8 * *n, err);
}

static bool read_sequences(struct al_calibration *calibration, const struct al_checkpoint *file,
	struct al_error *err)
{
	void *sequences = NULL;
	const bool ok = read_vector(file, SEQUENCES, &sequences, &calibration->n_sequences, err);

	calibration->sequences = sequences;
	if (ok)
		al_calibration_sort(calibration);
	return ok;
}

static bool read_counts(const struct al_checkpoint *file, const char *name, int64_t **out,
	size_t *n, struct al_error *err)
{
	void *queries = NULL;
	const bool ok = read_vector(file, name, &queries, n, err);

	*out = queries;
	if (!ok)
		return false;
	for (size_t i = 0, sum = 0; i < *n; i++)
		if ((*out)[i] < 0 || __builtin_add_overflow(sum, (*out)[i], &sum)
			|| sum > INT64_MAX)
			return al_fail(err, AL_EINPUT,
				"\"%s\": fold %zu of 0 to %zu has more than can be counted", name,
				i, *n - 1);
	return true;
}

static bool read_queries(struct al_calibration *calibration, const struct al_checkpoint *file,
	struct al_error *err)
{
	for (int kind = 0; kind < AL_N_QUERIES; kind++) {
		const char *name = al_queries_names[kind];
		size_t n;
		if (kind >= AL_QUERIES_TURNED && !al_checkpoint_find(file, name))
			continue;
		if (!read_counts(file, name, &calibration->n_queries[kind], &n, err))
			return false;
		if (n < 1 || n > AL_MOST_FOLDS)
			return al_fail(err, AL_EINPUT,
				"\"%s\" has %zu numbers, expected 1 to %d folds", name, n,
				AL_MOST_FOLDS);
		if (kind > 0 && n != calibration->n_folds)
			return al_fail(err, AL_EINPUT,
				"\"%s\" has a length of %zu, expected %zu as \"%s\" has", name, n,
				calibration->n_folds, al_queries_names[0]);
		calibration->n_folds = n;
	}
	return true;
}

/* A row for each fold. */
static bool check_shape(const struct al_calibration *calibration, const struct al_tensor *tensor,
	enum al_statistic_kind kind, struct al_error *err)
{
	const int64_t n_folds = (int64_t)calibration->n_folds;

	if (!tensor->dtype->to_double || tensor->n_dims != 2 || tensor->n_elements < 1
		|| tensor->shape[0] != n_folds)
		return al_fail(err, AL_EINPUT,
			"expected a matrix of numbers with a row for each of %" PRId64 " fold%s",
			n_folds, n_folds == 1 ? "" : "s");
	return !al_statistics[kind].is_square || al_packed_order((size_t)tensor->shape[1]) > 0
		|| al_fail(err, AL_EINPUT,
			"%" PRId64 " numbers a row are no triangle of a square matrix",
			tensor->shape[1]);
}

/* The last number of each fold's moments of inputs. */
static bool read_tokens(struct al_calibration *calibration, const struct al_checkpoint *file,
	const struct al_tensor *tensor, struct al_module_statistics *module, struct al_error *err)
{
	const int64_t n_folds = tensor->shape[0];
	const struct al_selection last = al_select_block(tensor, 0, n_folds, tensor->shape[1] - 1,
		1);

	module->n_inputs = al_packed_order((size_t)tensor->shape[1]) - 1;
	module->tokens = al_new_array(&calibration->arena, double, (size_t)n_folds);
	return al_tensor_read_double(file, tensor, &last, module->tokens, 1, err)
		&& al_check_not_finite(al_count_not_finite(module->tokens, (size_t)n_folds),
			n_folds, tensor->name, err);
}

/* Up to rounding. */
static bool check_most(const struct al_calibration *calibration,
	const struct al_module_statistics *module, enum al_statistic_kind kind,
	struct al_error *err)
{
	const enum al_queries over = al_statistics[kind].over;
	const struct al_matrix m = module->of[kind];

	for (size_t fold = 0; fold < m.cols; fold++) {
		const double n = over == AL_QUERIES_ALL
			? module->tokens[fold]
			: (double)calibration->n_queries[over][fold];
		const double most = al_statistics[kind].most * n;
		for (size_t i = 0; i < m.rows; i++)
			if (m.data[i + fold * m.ld] < 0 || m.data[i + fold * m.ld] > most * 1.001)
				return al_fail(err, AL_EINPUT,
					"%s.%s: head %zu of fold %zu sums up to %g, expected 0 to "
					"%.0f",
					module->name, al_statistics[kind].name, i, fold,
					m.data[i + fold * m.ld], most);
	}
	return true;
}

/* `lengths`: numbers a fold, as the tensors have them. */
static bool check_sizes(const struct al_calibration *calibration,
	const struct al_module_statistics *module, const size_t *lengths, struct al_error *err)
{
	bool ok = module->n_inputs > 0
		&& al_statistics_outputs(module) % al_statistics_heads(module) == 0;

	for (int i = 0; ok && i < AL_N_STATISTICS; i++) {
		const enum al_statistic_kind kind = (enum al_statistic_kind)i;
		ok = !al_calibration_has(calibration, kind)
			|| lengths[kind] == al_statistics_length(module, kind);
	}
	return ok
		|| al_fail(err, AL_EINPUT, "%s: its statistics disagree on the number of heads",
			module->name);
}

static bool check_module(const struct al_calibration *calibration,
	const struct al_module_statistics *module, const size_t *lengths, struct al_error *err)
{
	if (!check_sizes(calibration, module, lengths, err))
		return false;
	for (int i = 0; i < AL_N_STATISTICS; i++)
		if (al_statistics[i].most > 0
			&& !check_most(calibration, module, (enum al_statistic_kind)i, err))
			return false;
	if (!al_statistics_check(module, err))
		return al_in(err, "%s", module->name);
	for (size_t fold = 0; fold < calibration->n_folds; fold++)
		if (module->tokens[fold] < 0)
			return al_fail(err, AL_EINPUT, "%s: fold %zu counts %g tokens",
				module->name, fold, module->tokens[fold]);
	return al_statistics_tokens(module) >= 1
		|| al_fail(err, AL_EINPUT, "%s: counts no tokens", module->name);
}

/* Of moments the shape, and how many tokens they are of. */
static bool read_statistic(struct al_calibration *calibration, const struct al_checkpoint *file,
	struct al_module_statistics *module, enum al_statistic_kind kind, size_t *length,
	struct al_error *err)
{
	const char *name = al_format(&calibration->arena, "%s.%s", module->name,
		al_statistics[kind].name);
	const struct al_tensor *tensor = al_checkpoint_find(file, name);

	if (!tensor)
		return al_fail(err, AL_EINPUT, "tensor %s is missing", name);
	if (!check_shape(calibration, tensor, kind, err))
		return al_in(err, "tensor %s", name);
	*length = (size_t)tensor->shape[1];
	if (kind == AL_STATISTIC_INPUTS)
		return read_tokens(calibration, file, tensor, module, err);
	return kind < AL_N_LARGE || al_statistic_read(file, tensor, kind, &module->of[kind], err);
}

static bool read_module(struct al_calibration *calibration, const struct al_checkpoint *file,
	const char *name, struct al_error *err)
{
	struct al_module_statistics *module = &calibration->modules[calibration->n_modules++];
	size_t lengths[AL_N_STATISTICS];

	module->name = name;
	const char *source = al_checkpoint_metadata(file, source_key(&calibration->arena, name));
	if (source && !al_fingerprint_read(source, &module->source))
		return al_fail(err, AL_EINPUT,
			"%s of %s in its metadata is \"%.40s\", expected a "
			"fingerprint",
			SOURCE, name, source);
	for (int i = 0; i < AL_N_STATISTICS; i++) {
		const enum al_statistic_kind kind = (enum al_statistic_kind)i;
		if (al_calibration_has(calibration, kind)
			&& !read_statistic(calibration, file, module, kind, &lengths[kind], err))
			return false;
	}
	calibration->most_tokens = fmax(calibration->most_tokens, al_statistics_tokens(module));
	return check_module(calibration, module, lengths, err);
}

/* Every MODULE.inputs is a module. */
static bool read_modules(struct al_calibration *calibration, const struct al_checkpoint *file,
	struct al_error *err)
{
	const char *ending = ".inputs";

	calibration->modules = al_new_array(&calibration->arena, struct al_module_statistics,
		file->n_tensors);
	for (size_t i = 0; i < file->n_tensors; i++) {
		const char *name = file->tensors[i].name;
		const size_t n = strlen(name), n_ending = strlen(ending);
		if (n > n_ending && strcmp(name + n - n_ending, ending) == 0
			&& !read_module(calibration, file,
				al_strndup(&calibration->arena, name, n - n_ending), err))
			return false;
	}
	return calibration->n_modules > 0 || al_fail(err, AL_EINPUT, "has no modules");
}

static const char *find_file(struct al_arena *arena, const char *path)
{
	return al_path_kind(path) == AL_PATH_FOLDER
		? al_format(arena, "%s/calibration.safetensors", path)
		: al_strdup(arena, path);
}

static bool read_file(struct al_calibration *calibration, const struct al_checkpoint *file,
	struct al_error *err)
{
	return (read_metadata(calibration, file, err) && read_sequences(calibration, file, err)
		       && read_queries(calibration, file, err)
		       && read_modules(calibration, file, err))
		|| al_in(err, "%s", calibration->path);
}

static bool open_part(struct al_calibration *calibration, struct al_error *err)
{
	struct al_checkpoint *file = al_calloc(1, sizeof(*file));

	if (!al_checkpoint_open(file, calibration->path, err)) {
		free(file);
		return false;
	}
	calibration->parts = al_calloc(1, sizeof(*calibration->parts));
	calibration->parts[calibration->n_parts++].file = file;
	return true;
}

bool al_calibration_read(struct al_calibration *calibration, const char *path, struct al_error *err)
{
	*calibration = (struct al_calibration){0};
	al_arena_init(&calibration->arena);
	calibration->path = find_file(&calibration->arena, path);
	if (al_imatrix_is(calibration->path))
		al_fail(err, AL_EINPUT,
			"%s: an imatrix only contains mean squares; this needs full moments: run "
			"`calibrate -o DIR`",
			calibration->path);
	else if (open_part(calibration, err)
		&& read_file(calibration, calibration->parts[0].file, err)) {
		calibration->parts[0].n_folds = calibration->n_folds;
		return true;
	}
	al_calibration_finish(calibration);
	return false;
}
