/* Importance matrices, written. */
#include "model/calibration/imatrix_write.h"

#include "model/calibration/imatrix.h"
#include "formats/gguf_write.h"

/* Of each module the squares and sums of its inputs, then of its heads' outputs. */
struct al_imatrix_writer {
	struct al_arena arena;
	const struct al_model_view *view;
	const struct al_calibration *calibration;
	bool is_gguf; /* the checkpoint: weights are called as they are stored */
	float **of; /* [n_modules], in `taken` */
	struct al_kept_memory taken;
	struct al_gguf_vector *vectors;
	size_t n, room;
};

static void add_vector(struct al_imatrix_writer *w, const char *name, const char *ending,
	const float *numbers, size_t n)
{
	w->vectors = al_grow(&w->arena, w->vectors, w->n, &w->room, sizeof(*w->vectors));
	w->vectors[w->n++] = (struct al_gguf_vector){.name = al_format(&w->arena, "%s.%s", name,
							     ending),
		.numbers = numbers,
		.n = n};
}

static bool has_name(const struct al_imatrix_writer *w, const char *name)
{
	const size_t length = strlen(name);

	for (size_t i = 0; i < w->n; i++)
		if (strncmp(w->vectors[i].name, name, length) == 0
			&& w->vectors[i].name[length] == '.')
			return true;
	return false;
}

static void add_weight(struct al_imatrix_writer *w, const char *name, size_t module, int p)
{
	const struct al_module_statistics *statistics = &w->calibration->modules[module];
	const size_t n_inputs = al_statistics_inputs(statistics);
	const bool is_output = p == AL_OUTPUT;
	const size_t n = is_output ? al_statistics_outputs(statistics) : n_inputs;
	const float *squares = w->of[module] + (is_output ? 2 * n_inputs : 0);
	float *n_tokens = al_new(&w->arena, float);

	if (has_name(w, name))
		return;
	*n_tokens = (float)al_statistics_tokens(statistics);
	add_vector(w, name, "in_sum2", squares, n);
	add_vector(w, name, "counts", n_tokens, 1);
	add_vector(w, name, "in_sum", squares + n, n);
}

/* Several projections in one tensor are one weight or several in llama.cpp, as its converter
 * decides for each family: they get all names. */
static void add_projection(struct al_imatrix_writer *w, size_t module, int p)
{
	const struct al_attention *attention = &w->view->modules[module];
	const struct al_factor *factor = &attention->factors[p],
			       *first = factor->down ? factor->down : factor;
	const bool is_fused = attention->factors[AL_QUERY].n_runs
		&& attention->factors[AL_KEY].n_runs
		&& attention->factors[AL_QUERY].runs[0].tensor
			== attention->factors[AL_KEY].runs[0].tensor;
	const char *name;

	if (first->n_runs == 0)
		return;
	if (w->is_gguf) {
		add_weight(w, first->runs[0].tensor->name, module, p);
		return;
	}
	if (factor->down) {
		add_weight(w, al_imatrix_name(&w->arena, attention->layer, p, 2), module, p);
		return;
	}
	for (size_t i = 0; i < (is_fused ? 2 : 1); i++)
		if ((name = al_imatrix_name(&w->arena, attention->layer, p, i)))
			add_weight(w, name, module, p);
}

/* ---- a module's numbers, over all folds ---- */

struct sums {
	struct al_matrix inputs, heads, means;
};

static void sums_finish(struct sums *sums)
{
	al_matrix_finish(&sums->inputs);
	al_matrix_finish(&sums->heads);
	al_matrix_finish(&sums->means);
}

/* Numbers that are `step` apart. */
static float *take_numbers(float *to, const double *from, size_t step, size_t n)
{
	for (size_t i = 0; i < n; i++)
		*to++ = (float)from[i * step];
	return to;
}

static void take_module(float *to, const struct sums *sums)
{
	const struct al_matrix inputs = sums->inputs, heads = sums->heads;
	const size_t n_inputs = inputs.rows - 1;

	to = take_numbers(to, inputs.data, inputs.ld + 1, n_inputs);
	to = take_numbers(to, inputs.data + n_inputs * inputs.ld, 1, n_inputs);
	to = take_numbers(to, heads.data, heads.ld + 1, heads.rows);
	take_numbers(to, sums->means.data, 1, heads.rows);
}

bool al_imatrix_writer_put(void *context, const struct al_module_statistics *module,
	struct al_error *err)
{
	struct al_imatrix_writer *w = context;
	const size_t index = (size_t)(module - w->calibration->modules);
	const struct al_attention *attention = &w->view->modules[index];

	if (attention->is_cross || attention->stack != AL_STACK_ONLY)
		return al_fail(err, AL_EINPUT,
			"%s: llama.cpp's imatrix has no names for an encoder-decoder's modules",
			attention->name);
	AL_ENDS(sums_finish) struct sums sums = {0};
	if (!al_statistics_sum(module, AL_STATISTIC_INPUTS, AL_ALL_FOLDS, &sums.inputs, err)
		|| !al_statistics_sum(module, AL_STATISTIC_HEADS, AL_ALL_FOLDS, &sums.heads, err)
		|| !al_statistics_sum(module, AL_STATISTIC_SUMS, AL_ALL_FOLDS, &sums.means, err))
		return false;
	take_module(w->of[index], &sums);
	return true;
}

/* ---- the file ---- */

bool al_imatrix_writer_write(struct al_imatrix_writer *w, const char *dataset, const char *path,
	struct al_error *err)
{
	const struct al_calibration *calibration = w->calibration;
	const double tokens = al_statistics_tokens(&calibration->modules[0]),
		     n = (double)calibration->n_sequences;
	const struct al_gguf_entry entries[] = {
		{.key = "general.type", .text = "imatrix"},
		{.key = "imatrix.datasets", .list = &dataset, .n_list = 1},
		{.key = "imatrix.chunk_count", .number = (uint32_t)n},
		{.key = "imatrix.chunk_size", .number = (uint32_t)ceil(tokens / n)},
	};

	for (size_t i = 0; i < calibration->n_modules; i++)
		for (int p = 0; p < AL_N_PROJECTIONS; p++)
			add_projection(w, i, p);
	return al_gguf_write(path, entries, sizeof(entries) / sizeof(*entries), w->vectors, w->n,
		err);
}

const struct al_kept_memory *al_imatrix_writer_taken(const struct al_imatrix_writer *w)
{
	return &w->taken;
}

static size_t count_numbers(const struct al_module_statistics *module)
{
	return 2 * (al_statistics_inputs(module) + al_statistics_outputs(module));
}

struct al_imatrix_writer *al_imatrix_writer_create(const struct al_model_view *view,
	const struct al_calibration *calibration)
{
	struct al_imatrix_writer *w = al_calloc(1, sizeof(*w));
	size_t n = 0;

	*w = (struct al_imatrix_writer){.view = view,
		.calibration = calibration,
		.is_gguf = strcmp(view->checkpoint->shards[0].format, "GGUF") == 0};
	al_arena_init(&w->arena);
	for (size_t i = 0; i < calibration->n_modules; i++)
		n += count_numbers(&calibration->modules[i]);
	float *numbers = al_new_array(&w->arena, float, n);
	w->taken = (struct al_kept_memory){numbers, n * sizeof(*numbers)};
	w->of = al_new_array(&w->arena, float *, calibration->n_modules);
	for (size_t i = 0; i < calibration->n_modules; i++) {
		w->of[i] = numbers;
		numbers += count_numbers(&calibration->modules[i]);
	}
	return w;
}

void al_imatrix_writer_destroy(void *writer)
{
	struct al_imatrix_writer *w = writer;

	al_arena_finish(&w->arena);
	free(w);
}
