/* Translations: the tensors. */
#include "model/translate/translate.h"

#include "formats/format.h"
#include "formats/gguf.h"
#include "formats/layout.h"

/* What a family's file shows of a tensor, by its name there. */
struct facts {
	enum al_order order;
	const char *is; /* of the variant's tensors; NULL: several, or none */
	const struct al_family_module *module; /* ... in this one */
	bool is_norm, is_head;
};

static bool find_stored(const struct al_family *family, const char *name, struct facts *out)
{
	for (size_t i = 0; i < family->n_modules; i++)
		for (size_t k = 0; k < family->modules[i].n_stored; k++) {
			const struct al_stored *stored = &family->modules[i].stored[k];
			if (strcmp(stored->name, name) != 0)
				continue;
			*out = (struct facts){.order = stored->order,
				.is = stored->is,
				.module = &family->modules[i],
				.is_norm = stored->is && stored->is[0] == 'g'};
			return true;
		}
	return false;
}

static struct facts find_facts(const struct al_family *family, const char *name)
{
	struct facts facts = {0};

	for (size_t i = 0; !find_stored(family, name, &facts) && i < family->n_tensors; i++) {
		const struct al_family_tensor *tensor = &family->tensors[i];
		if (strcmp(tensor->entry.name, name) == 0)
			return (struct facts){.order = tensor->order,
				.is_norm = tensor->entry.kind == AL_TENSOR_NORM,
				.is_head = tensor->part == AL_PART_HEAD};
	}
	return facts;
}

/* ---- one tensor ---- */

struct change {
	const struct al_translating *t;
	struct facts hub, gguf;
	int64_t heads; /* of which pairs of dimensions change places; 0: none */
	double offset; /* of a norm's scale in the hub's file */
};

static bool count_heads(struct change *c, struct al_error *err)
{
	const struct al_attention *a = c->t->view->modules;
	const char *is = c->hub.is;
	const bool is_query = is && (strcmp(is, "W_Q") == 0 || strcmp(is, "b_Q") == 0);
	const bool is_key = is && (strcmp(is, "W_K") == 0 || strcmp(is, "b_K") == 0);

	if (!c->hub.module || !c->hub.module->is_rotary
		|| c->hub.module->rotary.pairs == c->gguf.module->rotary.pairs)
		return true;
	c->heads = is_query ? a->n_heads : is_key ? a->n_kv_heads : 0;
	return c->heads == 0 || a->rotary_width == a->d_head
		|| al_fail(err, AL_EINPUT,
			"%s: %" PRId64 " of %" PRId64
			" dimensions of a head turn, so they can't change places",
			a->name, a->rotary_width, a->d_head);
}

/* Halves into neighbors, or back: [heads][2][width/2] and [heads][width/2][2] rows. */
static void turn_pairs(const struct change *c, const struct al_tensor *from, struct al_made *made)
{
	const int64_t columns = from->n_dims > 1 ? from->shape[1] : 1;
	const int64_t width = from->shape[0] / c->heads, half = width / 2;
	const int64_t inner = c->t->to_gguf ? 2 : half;

	made->n_dims = 4;
	memcpy(made->shape, (int64_t[4]){c->heads, width / inner, inner, columns},
		sizeof(made->shape));
	memcpy(made->strides, (int64_t[4]){width * columns, columns, width / inner * columns, 1},
		sizeof(made->strides));
}

static void transpose(const struct al_tensor *from, struct al_made *made)
{
	made->n_dims = 2;
	made->shape[0] = from->shape[1];
	made->shape[1] = from->shape[0];
	made->strides[0] = 1;
	made->strides[1] = from->shape[1];
}

/* Vectors are in F32 in llama.cpp's files. Numbers that blocks hold are single ones on their way to
 * another place. */
static const struct al_dtype *dtype_of(const struct change *c, const struct al_tensor *from,
	const struct al_made *made)
{
	const bool is_vector = c->t->to_gguf && from->n_dims < 2;
	const bool is_moved = from->dtype->block_elements > 1
		&& (made->n_dims > 0 || made->plus != 0);

	return is_vector || is_moved || strcmp(al_dtype_title(from->dtype), "F64") == 0
		? al_dtype_named("f32")
		: from->dtype;
}

static bool check_dtype(const struct change *c, const struct al_tensor *from, struct al_error *err)
{
	return (from->dtype->to_double && from->dtype->epsilon > 0 && !from->dtype->needs_scale
		       && al_gguf_type(from->dtype) >= 0)
		|| al_fail(err, AL_EINPUT, "tensor %s has dtype %s, which %s can't have",
			from->name, al_dtype_title(from->dtype),
			c->t->to_gguf ? "a GGUF file" : "the hub's");
}

static void add_tensor(struct al_checkpoint *out, const char *name, const struct al_dtype *dtype,
	const int64_t *shape, size_t n_dims, const struct al_made *made)
{
	struct al_made *kept = al_new(&out->arena, struct al_made);
	int64_t *dims = al_new_array(&out->arena, int64_t, n_dims + 1);
	int64_t n = 1;

	*kept = *made;
	for (size_t i = 0; i < n_dims; i++)
		n *= dims[i] = shape[i];
	out->tensors = al_grow(&out->arena, out->tensors, out->n_tensors, &out->tensors_room,
		sizeof(*out->tensors));
	out->tensors[out->n_tensors++] = (struct al_tensor){.name = name,
		.dtype = dtype,
		.shape = dims,
		.n_dims = n_dims,
		.n_elements = n,
		.bytes = (uint64_t)n / dtype->block_elements * dtype->block_bytes,
		.layout = al_layout_add(out, &(struct al_layout){.made = kept})};
}

static bool translate(struct change *c, const struct al_tensor *from, const char *name,
	struct al_error *err)
{
	const struct al_translating *t = c->t;
	struct al_made made = {.checkpoint = t->view->checkpoint, .tensor = from};
	const bool is_turned = from->n_dims == 2 && c->hub.order != c->gguf.order;
	int64_t shape[AL_STORED_DIMS];

	if (!check_dtype(c, from, err) || !count_heads(c, err))
		return false;
	memcpy(shape, from->shape, from->n_dims * sizeof(*shape));
	if (c->heads > 0)
		turn_pairs(c, from, &made);
	if (is_turned) {
		transpose(from, &made);
		memcpy(shape, made.shape, 2 * sizeof(*shape));
	}
	made.plus = c->hub.is_norm ? (t->to_gguf ? c->offset : -c->offset) : 0;
	add_tensor(&t->out->checkpoint, name, dtype_of(c, from, &made), shape, from->n_dims, &made);
	return true;
}

void al_translation_add_vector(struct al_translating *t, const char *name, const double *numbers,
	int64_t n)
{
	add_tensor(&t->out->checkpoint, name, al_dtype_named("f32"), &n, 1,
		&(struct al_made){.numbers = numbers});
}

/* ---- all ---- */

static const struct al_model_item *find_item(const struct al_model_view *view, const char *name)
{
	const struct al_model_item *found = NULL;

	for (size_t i = 0; i < view->tensor_list.n_tensors; i++)
		if (strcmp(view->tensor_list.tensors[i].name, name) == 0)
			found = &view->tensor_list.tensors[i];
	return found;
}

static bool is_tied(const struct al_model_view *view, const char *name)
{
	const struct al_model_item *item = find_item(view, name);

	return item && item->tensor->tied_to;
}

/* A name of the hub begins with its model's, but for heads. */
static const char *full_name(const struct change *c, const char *name)
{
	struct al_arena *arena = &c->t->out->checkpoint.arena;

	return c->t->to_gguf || c->hub.is_head
		? name
		: al_format(arena, "%s%s", c->t->hub->prefixes[0], name);
}

struct all {
	struct al_translating *t;
	double offset;
	bool *is_done; /* [tensors of the original] */
};

static bool add_one(struct all *all, const struct al_exchange_pair *pair, int64_t layer,
	struct al_error *err)
{
	const struct al_translating *t = all->t;
	struct al_arena *arena = &t->out->checkpoint.arena;
	const char *from_name = al_name_fill(arena, t->to_gguf ? pair->of : pair->name, layer);
	const char *to_name = al_name_fill(arena, t->to_gguf ? pair->name : pair->of, layer);
	const struct al_tensor *from = al_model_view_find(t->view, from_name);
	struct change c = {.t = t,
		.hub = find_facts(t->hub, pair->of),
		.gguf = find_facts(t->gguf, pair->name),
		.offset = all->offset};

	if (!from)
		return true;
	all->is_done[from - t->view->checkpoint->tensors] = true;
	return is_tied(t->view, from_name) || translate(&c, from, full_name(&c, to_name), err);
}

/* Buffers of the hub's are computed anew. */
static bool check_done(const struct all *all, struct al_error *err)
{
	const struct al_translating *t = all->t;
	const struct al_checkpoint *checkpoint = t->view->checkpoint;

	for (size_t i = 0; t->to_gguf && i < t->view->tensor_list.n_tensors; i++) {
		const struct al_model_item *item = &t->view->tensor_list.tensors[i];
		const struct al_tensor *tensor = item->tensor->entry.kind == AL_TENSOR_BUFFER
			? al_model_view_find(t->view, item->name)
			: NULL;
		if (tensor)
			all->is_done[tensor - checkpoint->tensors] = true;
	}
	for (size_t i = 0; i < checkpoint->n_tensors; i++)
		if (!all->is_done[i])
			return al_fail(err, AL_EINPUT,
				"%s: tensor %s has no counterpart in %s of %s", checkpoint->path,
				checkpoint->tensors[i].name,
				t->to_gguf ? "llama.cpp's files" : "the hub's files",
				t->to_gguf ? t->hub->gguf->architecture : t->hub->title);
	return true;
}

/* How many layers the original has. */
static bool count_layers(const struct al_translating *t, int64_t *n, struct al_error *err)
{
	const struct al_setting *layers;

	if (!al_settings_get(&t->view->settings, "n_layers", &layers, err))
		return false;
	*n = layers ? layers->value.integer : 0;
	return true;
}

bool al_translate_tensors(struct al_translating *t, struct al_error *err)
{
	const struct al_exchange *exchange = t->hub->gguf;
	struct al_checkpoint *out = &t->out->checkpoint;
	struct all all = {.t = t,
		.is_done = al_new_array(&out->arena, bool, t->view->checkpoint->n_tensors + 1)};
	const struct al_forward *forward;
	int64_t n_layers;

	if (!al_catalog_forward(t->view->catalog, t->hub, &forward, err)
		|| !count_layers(t, &n_layers, err))
		return false;
	all.offset = forward && forward->has_unit_offset ? 1 : 0;
	for (int64_t layer = -1; layer < n_layers; layer++)
		for (size_t i = 0; i < exchange->n_tensors; i++)
			if ((strchr(exchange->tensors[i].name, '{') != NULL) == (layer >= 0)
				&& !add_one(&all, &exchange->tensors[i], layer, err))
				return false;
	return check_done(&all, err);
}
