/* Importance matrices, written. */
#include "model/calibration/imatrix_write.h"

#include "model/calibration/imatrix.h"
#include "formats/gguf_write.h"

struct al_imatrix_writer {
	struct al_arena arena;
	const struct al_model_view *view;
	bool is_gguf; /* the checkpoint: weights are called as they are stored */
	struct al_gguf_vector *vectors;
	size_t n, room;
};

static void add_vector(struct al_imatrix_writer *w, const char *name, const char *ending,
	float *numbers, size_t n)
{
	w->vectors = al_grow(&w->arena, w->vectors, w->n, &w->room, sizeof(*w->vectors));
	w->vectors[w->n++] = (struct al_gguf_vector){.name = al_format(&w->arena, "%s.%s", name,
							     ending),
		.numbers = numbers,
		.n = n};
}

/* Numbers that are `step` apart. */
static float *take_numbers(struct al_imatrix_writer *w, const double *from, size_t step, size_t n)
{
	float *out = al_new_array(&w->arena, float, n);

	for (size_t i = 0; i < n; i++)
		out[i] = (float)from[i * step];
	return out;
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

/* Of one module, over all folds. */
struct sums {
	double n_tokens;
	struct al_matrix inputs, heads, means;
};

static void sums_finish(struct sums *sums)
{
	al_matrix_finish(&sums->inputs);
	al_matrix_finish(&sums->heads);
	al_matrix_finish(&sums->means);
}

static void add_weight(struct al_imatrix_writer *w, const char *name, const struct sums *module,
	int p)
{
	const bool is_output = p == AL_OUTPUT;
	const struct al_matrix inputs = module->inputs,
			       squares = is_output ? module->heads : inputs;
	const double *sums = is_output ? module->means.data
				       : inputs.data + (inputs.cols - 1) * inputs.ld;
	const double n_tokens = module->n_tokens;
	const size_t n = is_output ? squares.rows : inputs.rows - 1;

	if (has_name(w, name))
		return;
	add_vector(w, name, "in_sum2", take_numbers(w, squares.data, squares.ld + 1, n), n);
	add_vector(w, name, "counts", take_numbers(w, &n_tokens, 1, 1), 1);
	add_vector(w, name, "in_sum", take_numbers(w, sums, 1, n), n);
}

/* Several projections in one tensor are one weight or several in llama.cpp, as its converter
 * decides for each family: they get all names. */
static void add_projection(struct al_imatrix_writer *w, const struct al_attention *attention,
	const struct sums *module, int p)
{
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

static const struct al_attention *find_attention(const struct al_model_view *view, const char *name)
{
	size_t i = 0;

	while (strcmp(view->modules[i].name, name) != 0)
		i++;
	return &view->modules[i];
}

bool al_imatrix_writer_put(void *context, const struct al_module_statistics *module,
	struct al_error *err)
{
	struct al_imatrix_writer *w = context;
	const struct al_attention *attention = find_attention(w->view, module->name);

	if (attention->is_cross || attention->stack != AL_STACK_ONLY)
		return al_fail(err, AL_EINPUT,
			"%s: llama.cpp's imatrix has no names for an encoder-decoder's modules",
			attention->name);
	AL_ENDS(sums_finish) struct sums sums = {.n_tokens = al_statistics_tokens(module)};
	if (!al_statistics_sum(module, AL_STATISTIC_INPUTS, AL_ALL_FOLDS, &sums.inputs, err)
		|| !al_statistics_sum(module, AL_STATISTIC_HEADS, AL_ALL_FOLDS, &sums.heads, err)
		|| !al_statistics_sum(module, AL_STATISTIC_SUMS, AL_ALL_FOLDS, &sums.means, err))
		return false;
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		add_projection(w, attention, &sums, p);
	return true;
}

bool al_imatrix_writer_write(const struct al_imatrix_writer *w,
	const struct al_calibration *calibration, const char *dataset, const char *path,
	struct al_error *err)
{
	const double tokens = al_statistics_tokens(&calibration->modules[0]),
		     n = (double)calibration->n_sequences;
	const struct al_gguf_entry entries[] = {
		{.key = "general.type", .text = "imatrix"},
		{.key = "imatrix.datasets", .list = &dataset, .n_list = 1},
		{.key = "imatrix.chunk_count", .number = (uint32_t)n},
		{.key = "imatrix.chunk_size", .number = (uint32_t)ceil(tokens / n)},
	};

	return al_gguf_write(path, entries, sizeof(entries) / sizeof(*entries), w->vectors, w->n,
		err);
}

struct al_imatrix_writer *al_imatrix_writer_create(const struct al_model_view *view)
{
	struct al_imatrix_writer *w = al_calloc(1, sizeof(*w));

	w->view = view;
	w->is_gguf = strcmp(view->checkpoint->shards[0].format, "GGUF") == 0;
	al_arena_init(&w->arena);
	return w;
}

void al_imatrix_writer_destroy(void *writer)
{
	struct al_imatrix_writer *w = writer;

	al_arena_finish(&w->arena);
	free(w);
}
