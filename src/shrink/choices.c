/* Which tensors can have which number formats, and how much numbers change by it. */
#include "formats/gguf.h"
#include "shrink/draft.h"

const char *const al_purpose_names[AL_N_PURPOSES] = {"embedding", "head", "attention query",
	"attention key", "attention value", "attention output", "feed-forward up",
	"feed-forward gate", "feed-forward down", "all tensors"};

/* ---- what tensors are for ---- */

struct finding {
	struct al_draft *draft;
	enum al_purpose *purposes; /* [n_tensors]; AL_N_PURPOSES: none that counts */
};

static size_t index_of(const struct al_draft *draft, const struct al_tensor *tensor)
{
	return (size_t)(tensor - draft->checkpoint.tensors);
}

static void find_projections(struct finding *f)
{
	static const enum al_purpose purposes[AL_N_PROJECTIONS] = {[AL_QUERY] = AL_FOR_QUERY,
		[AL_KEY] = AL_FOR_KEY,
		[AL_VALUE] = AL_FOR_VALUE,
		[AL_OUTPUT] = AL_FOR_OUTPUT};
	const struct al_model_view *view = &f->draft->view;

	for (size_t i = 0; i < view->n_modules; i++)
		for (int p = AL_N_PROJECTIONS; p-- > 0;)
			for (size_t k = 0; k < view->modules[i].factors[p].n_runs; k++)
				f->purposes[index_of(f->draft,
					view->modules[i].factors[p].runs[k].tensor)] = purposes[p];
}

/* As llama-quantize does, tables of positions and of types, norms and routers stay.
 *= ggml-org/llama.cpp, src/llama-quant.cpp, tensor_allows_quantization */
static enum al_purpose purpose_of(const struct al_family_tensor *tensor)
{
	static const enum al_purpose of_feed[AL_N_FEED_FORWARD_ROLES + 1] = {[AL_FEED_UP] =
										     AL_FOR_UP,
		[AL_FEED_GATE] = AL_FOR_GATE,
		[AL_FEED_DOWN] = AL_FOR_DOWN,
		[AL_FEED_ROUTER] = AL_N_PURPOSES,
		[AL_FEED_NONE] = AL_N_PURPOSES};

	switch (tensor->part) {
	case AL_PART_EMBEDDING:
		return al_shape_mentions(&tensor->entry.shape, "vocab") ? AL_FOR_TABLE
									: AL_N_PURPOSES;
	case AL_PART_HEAD:
		return AL_FOR_HEAD;
	case AL_PART_FEED_FORWARD:
		return of_feed[tensor->role];
	default:
		return AL_N_PURPOSES;
	}
}

static void find_others(struct finding *f)
{
	const struct al_model_view *view = &f->draft->view;

	for (size_t i = 0; i < view->tensor_list.n_tensors; i++) {
		const struct al_model_item *item = &view->tensor_list.tensors[i];
		const struct al_tensor *found = item->tensor && !item->tensor->tied_to
				&& item->tensor->entry.kind == AL_TENSOR_WEIGHT
			? al_model_view_find(view, item->name)
			: NULL;
		if (found)
			f->purposes[index_of(f->draft, found)] = purpose_of(item->tensor);
	}
}

/* ---- what a format loses ---- */

/* So many numbers of a tensor are looked at, in runs evenly apart. */
enum { RUN = 16 * AL_MOST_BLOCK_ELEMENTS, MOST_RUNS = 64 };

static bool add_run(const struct al_draft *draft, const struct al_tensor *tensor, int64_t first,
	const struct al_dtype *dtype, double squares[2], struct al_error *err)
{
	double numbers[RUN], rounded[RUN];
	unsigned char bytes[RUN * sizeof(double)];
	const int64_t left = tensor->n_elements - first;
	const size_t n = (size_t)al_least(left, RUN);
	const struct al_selection run = {.first = first, .run = (int64_t)n, .n_runs = 1};

	if (!al_tensor_read_double(&draft->checkpoint, tensor, &run, numbers, n, err)
		|| !al_check_not_finite(al_count_not_finite(numbers, n), tensor->n_elements,
			tensor->name, err))
		return false;
	dtype->from_double(numbers, n, bytes);
	dtype->to_double(bytes, n, rounded);
	for (size_t i = 0; i < n; i++) {
		squares[0] += (rounded[i] - numbers[i]) * (rounded[i] - numbers[i]);
		squares[1] += numbers[i] * numbers[i];
	}
	return true;
}

/* Infinite where the format has no number for one of the tensor's. */
static bool measure(const struct al_draft *draft, const struct al_choice *choice,
	const struct al_dtype *dtype, double *out, struct al_error *err)
{
	double squares[2] = {0};

	for (size_t i = 0; i < choice->n; i++) {
		const struct al_tensor *tensor = &draft->checkpoint.tensors[choice->tensors[i]];
		const int64_t n_runs = (tensor->n_elements + RUN - 1) / RUN;
		const int64_t step = n_runs > MOST_RUNS ? n_runs / MOST_RUNS : 1;
		for (int64_t run = 0; run < n_runs; run += step)
			if (!add_run(draft, tensor, run * RUN, dtype, squares, err))
				return false;
	}
	*out = isfinite(squares[0]) ? squares[0] / fmax(squares[1], 1e-300) : INFINITY;
	return true;
}

/* ---- the rungs ---- */

/* Can the tensors have it, and is it smaller? In a GGUF file formats are those of ggml; in others
 * those that programs compute in. */
static bool takes(const struct al_draft *draft, const struct al_choice *choice,
	const struct al_dtype *dtype, bool is_gguf, uint64_t *bytes)
{
	uint64_t before = 0;

	*bytes = 0;
	if (!dtype->from_double || !dtype->name
		|| (is_gguf ? al_gguf_type(dtype) < 0
			    : !dtype->stored || dtype->block_bytes < 2
					|| dtype->block_elements > 1))
		return false;
	for (size_t i = 0; i < choice->n; i++) {
		const struct al_tensor *tensor = &draft->checkpoint.tensors[choice->tensors[i]];
		uint64_t now;
		if (tensor->shape[tensor->n_dims - 1] % (int64_t)dtype->block_elements
			|| !al_dtype_size(dtype, tensor->n_elements, &now))
			return false;
		*bytes += now;
		before += tensor->bytes;
	}
	return *bytes < before;
}

static int compare_rungs(const void *a, const void *b)
{
	const struct al_rung *x = a, *y = b;
	const int order = al_compare(y->bytes, x->bytes);

	return order ? order : al_compare(x->cost, y->cost);
}

void al_choice_keep_hull(struct al_choice *choice)
{
	struct al_rung *r = choice->rungs;
	size_t n = 1;

	qsort(r + 1, choice->n_rungs - 1, sizeof(*r), compare_rungs);
	for (size_t i = 1; i < choice->n_rungs; i++) {
		if (r[i].bytes == r[n - 1].bytes)
			continue;
		while (n > 1
			&& (r[i].cost <= r[n - 1].cost
				|| (r[n - 1].cost - r[n - 2].cost)
						* (double)(r[n - 1].bytes - r[i].bytes)
					>= (r[i].cost - r[n - 1].cost)
						* (double)(r[n - 2].bytes - r[n - 1].bytes)))
			n--;
		r[n++] = r[i];
	}
	choice->n_rungs = n;
}

struct measuring {
	const struct al_draft *draft;
	bool is_gguf;
	size_t n_dtypes;
};

static bool find_rungs(void *context, size_t index, struct al_error *err)
{
	const struct measuring *m = context;
	const struct al_draft *draft = m->draft;
	struct al_choice *choice = &draft->choices[index];

	for (size_t i = 0; i < choice->n; i++)
		choice->rungs[0].bytes += draft->checkpoint.tensors[choice->tensors[i]].bytes;
	choice->n_rungs = 1;
	for (size_t i = 0; i < m->n_dtypes; i++) {
		struct al_rung *rung = &choice->rungs[choice->n_rungs];
		rung->dtype = al_dtype_at(i);
		if (!takes(draft, choice, rung->dtype, m->is_gguf, &rung->bytes))
			continue;
		if (!measure(draft, choice, rung->dtype, &rung->error, err))
			return false;
		rung->cost = rung->error;
		if (isfinite(rung->error))
			choice->n_rungs++;
	}
	al_choice_keep_hull(choice);
	return true;
}

/* ---- the choices ---- */

static struct al_choice *add_choice(struct al_draft *draft, size_t room)
{
	struct al_choice *choice = &draft->choices[draft->n_choices++];

	choice->tensors = al_new_array(&draft->arena, size_t, room);
	return choice;
}

static void take_tensor(struct al_draft *draft, struct al_choice *choice, size_t tensor)
{
	choice->name = draft->checkpoint.tensors[tensor].name;
	choice->tensors[choice->n++] = tensor;
	choice->n_elements += draft->checkpoint.tensors[tensor].n_elements;
}

/* Programs that load a folder's model compute in one format. */
static void choose_together(struct al_draft *draft)
{
	const struct al_checkpoint *checkpoint = &draft->checkpoint;
	struct al_choice *choice = add_choice(draft, checkpoint->n_tensors);

	choice->purpose = AL_FOR_ALL;
	for (size_t i = 0; i < checkpoint->n_tensors; i++)
		if (checkpoint->tensors[i].dtype->epsilon > 0
			&& !checkpoint->tensors[i].dtype->needs_scale
			&& checkpoint->tensors[i].n_dims > 0)
			take_tensor(draft, choice, i);
}

static void choose_each(struct al_draft *draft)
{
	const struct al_checkpoint *checkpoint = &draft->checkpoint;
	AL_FREED enum al_purpose *purposes = al_alloc(checkpoint->n_tensors, sizeof(*purposes));
	struct finding f = {draft, purposes};

	for (size_t i = 0; i < checkpoint->n_tensors; i++)
		purposes[i] = AL_N_PURPOSES;
	find_others(&f);
	find_projections(&f);
	for (size_t i = 0; i < checkpoint->n_tensors; i++) {
		if (purposes[i] == AL_N_PURPOSES || checkpoint->tensors[i].n_dims < 2
			|| !checkpoint->tensors[i].dtype->to_double)
			continue;
		struct al_choice *choice = add_choice(draft, 1);
		choice->purpose = purposes[i];
		take_tensor(draft, choice, i);
	}
}

bool al_choices_find(struct al_draft *draft, bool is_gguf, struct al_error *err)
{
	struct measuring m = {draft, is_gguf, 0};

	draft->choices = al_new_array(&draft->arena, struct al_choice,
		draft->checkpoint.n_tensors + 1);
	(is_gguf ? choose_each : choose_together)(draft);
	while (al_dtype_at(m.n_dtypes))
		m.n_dtypes++;
	for (size_t i = 0; i < draft->n_choices; i++)
		draft->choices[i].rungs = al_new_array(&draft->arena, struct al_rung,
			m.n_dtypes + 1);
	return al_parallel(draft->n_choices, find_rungs, &m, err);
}

bool al_choices_set(struct al_draft *draft, enum al_purpose purpose, size_t rung,
	struct al_error *err)
{
	for (size_t i = 0; i < draft->n_choices; i++) {
		const struct al_choice *choice = &draft->choices[i];
		const size_t at = al_least(rung, choice->n_rungs - 1);
		if (purpose != AL_N_PURPOSES && choice->purpose != purpose)
			continue;
		for (size_t k = 0; k < choice->n; k++)
			if (!al_recoding_set(&draft->recoding, choice->tensors[k],
				    choice->rungs[at].dtype, err))
				return false;
	}
	return true;
}
