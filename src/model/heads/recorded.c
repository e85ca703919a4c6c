/* Records that `compress` writes about a file's modules: the number of heads left, their width, and
 * the divisor of scores. The file's config.json is still the original's. */
#include "model/heads/internal.h"

#include "base/record.h"

const char *const al_projection_names[AL_N_PROJECTIONS] = {"query", "key", "value", "output"};

static const char *const symbols[AL_N_RECORDED] = {"n_heads", "n_kv_heads", "d_head", "d_value",
	"d_shared"};

#define AT(member) offsetof(struct al_recorded_projection, member)
static const struct al_field projection_fields[] = {
	{AL_KEY("is", WORD, AT(is)), .words = al_projection_names, .n_words = AL_OUTPUT,
		.is_required = true},
	{AL_KEY("weight", TEXT, AT(weight)), .is_required = true},
	{AL_KEY("down", TEXT, AT(down))},
	{AL_KEY("bias", TEXT, AT(bias))},
	{AL_KEY("mixing", TEXT, AT(mixing))},
	{AL_KEY("content", TEXT, AT(content))},
	{AL_KEY("heads", WHOLE, AT(heads)), .least = 1},
	{AL_KEY("in_out", BOOLEAN, AT(is_in_out))},
	{AL_KEY("moves_bias", BOOLEAN, AT(moves_bias))},
};
#undef AT
static const struct al_record projection_record = {.fields = AL_FIELDS(projection_fields),
	.size = sizeof(struct al_recorded_projection)};

#define AT(member) offsetof(struct al_recorded_shape, member)
static const struct al_field shape_fields[] = {
	{AL_KEY("module", TEXT, AT(module)), .is_required = true},
	{AL_KEY("n_heads", WHOLE, AT(values[0])), .least = 1},
	{AL_KEY("n_kv_heads", WHOLE, AT(values[1])), .least = 1},
	{AL_KEY("d_head", WHOLE, AT(values[2])), .least = 1},
	{AL_KEY("d_value", WHOLE, AT(values[3])), .least = 1},
	{AL_KEY("d_shared", WHOLE, AT(values[4])), .least = 1},
	{AL_KEY("unlisted", TEXT, AT(unlisted))},
	{AL_KEY("stored", LIST, AT(stored)), .n_offset = AT(n_stored),
		.record = &projection_record},
	{AL_KEY("score_divisor", WHOLE, AT(score_divisor)), .least = 1},
	{AL_KEY("score_scale", REAL, AT(score_scale))},
};
#undef AT
static const struct al_record shape_record = {.fields = AL_FIELDS(shape_fields)};

const struct al_family *al_view_recorded_family(const struct al_model_view *view)
{
	const char *name = al_checkpoint_metadata(view->checkpoint, "attnledger.family");
	const struct al_embedded_list *files = al_catalog_files(AL_CATALOG_FAMILIES);
	const struct al_family *family = NULL;

	for (size_t i = 0; name && i < files->n_files; i++)
		if (strcmp(files->files[i].name, name) == 0
			&& !al_catalog_family(view->catalog, name, &family, NULL))
			return NULL;
	return family;
}

static bool read_shapes(struct al_model_view *view, const struct al_json *doc, struct al_error *err)
{
	const struct al_record_source source = {.arena = &view->arena, .doc = doc};

	if (!al_json_expect(doc, doc->root, AL_JSON_ARRAY, err))
		return false;
	view->shapes = al_new_array(&view->arena, struct al_recorded_shape,
		al_json_size(doc->root) + 1);
	al_json_each (node, doc->root)
		if (!al_record_read(&source, &shape_record, node, &view->shapes[view->n_shapes++],
			    err))
			return false;
	return true;
}

bool al_view_read_shapes(struct al_model_view *view, struct al_error *err)
{
	const char *text = al_checkpoint_metadata(view->checkpoint, "attnledger.shapes");
	AL_JSON(doc);

	return !text
		|| (al_json_parse(&doc, "attnledger.shapes", text, strlen(text), err)
			&& read_shapes(view, &doc, err))
		|| al_in(err, "%s", view->checkpoint->path);
}

static void bind(struct al_model_item *module, const char *symbol, int64_t value)
{
	for (size_t i = 0; i < module->n_with; i++)
		if (strcmp(module->with[i].symbol, symbol) == 0) {
			module->with[i].value = value;
			return;
		}
	module->with[module->n_with++] = (struct al_binding){.symbol = symbol, .value = value};
}

const struct al_recorded_shape *al_view_find_shape(const struct al_model_view *view,
	const char *module)
{
	for (size_t i = 0; i < view->n_shapes; i++)
		if (strcmp(view->shapes[i].module, module) == 0)
			return &view->shapes[i];
	return NULL;
}

/* How many heads have values that they read by themselves: all where queries are shared. */
static int64_t own_values(const struct al_recorded_shape *shape)
{
	const int64_t *values = shape->values;

	return values[values[AL_RECORDED_SHARED] > 0 || values[AL_RECORDED_KV_HEADS] == 0
			? AL_RECORDED_HEADS
			: AL_RECORDED_KV_HEADS];
}

bool al_view_check_listed(const struct al_model_view *view, const struct al_model_item *module,
	struct al_error *err)
{
	const struct al_recorded_shape *shape = al_view_find_shape(view, module->name);
	const char *unlisted = shape ? shape->unlisted : NULL;

	if (!shape && view->n_shapes > 0 && !view->has_config)
		return al_fail(err, AL_EINPUT,
			"the metadata of compress lacks this module's heads; pass a config.json");
	if (!unlisted && shape && shape->values[AL_RECORDED_SHARED] > 0
		&& !al_variant_has_factor(module->variant, AL_FACTOR_MIXING))
		unlisted = "queries and keys that all heads share";
	return !unlisted || (shape && shape->n_stored > 0)
		|| al_fail(err, AL_EINPUT,
			"compress stored %s, which family %s doesn't have; `verify` can compare "
			"them with the original",
			unlisted, view->family->name);
}

const struct al_model_item *al_view_shape_module(struct al_model_view *view,
	const struct al_model_item *module, int64_t *score_divisor)
{
	const struct al_recorded_shape *shape = al_view_find_shape(view, module->name);
	struct al_model_item *own;

	*score_divisor = 0;
	if (!shape)
		return module;
	own = al_new(&view->arena, struct al_model_item);
	*own = *module;
	own->with = al_new_array(&view->arena, struct al_binding, module->n_with + AL_N_RECORDED);
	for (size_t i = 0; i < module->n_with; i++)
		own->with[i] = module->with[i];
	for (size_t i = 0; i < AL_N_RECORDED; i++)
		if (shape->values[i] > 0)
			bind(own, symbols[i], shape->values[i]);
	*score_divisor = shape->score_divisor;
	if (shape->score_divisor > 0) { /* the family's formula is of other widths */
		struct al_family_module *family = al_new(&view->arena, struct al_family_module);
		*family = *module->module;
		family->score_divisor = NULL;
		own->module = family;
	}
	return own;
}

/* ---- projections as `compress` alone stores them: under other names than the family's, as
 * products of two matrices, shared by heads ---- */

static const struct al_recorded_projection *find_projection(const struct al_factor_maker *m,
	enum al_projection p)
{
	const struct al_recorded_shape *shape = al_view_find_shape(m->view, m->module->name);

	for (size_t i = 0; shape && i < shape->n_stored; i++)
		if (shape->stored[i].is == p)
			return &shape->stored[i];
	return NULL;
}

/* ---- out of the family's tensors ---- */

static bool has_moved(const struct al_factor_maker *m, const struct al_entry *entry)
{
	const struct al_recorded_projection *moved = NULL;

	if (entry->factor >= AL_FACTOR_QUERY && entry->factor < AL_FACTOR_OUTPUT)
		moved = find_projection(m,
			(enum al_projection)((int)entry->factor - (int)AL_FACTOR_QUERY));
	return moved && (entry->kind != AL_TENSOR_BIAS || moved->moves_bias);
}

void al_view_take_moved(struct al_factor_maker *m)
{
	for (size_t i = 0; i < m->stored.n_tensors; i++) {
		struct al_stored_tensor *stored = &m->stored.tensors[i];
		const bool is_in_out = stored->n_dims == 2
			&& stored->stored->order != AL_ORDER_OUT_IN;
		size_t n = 0;
		for (size_t j = 0; j < stored->n_parts; j++)
			if (has_moved(m, stored->parts[j].entry))
				stored->dims[is_in_out] -= stored->repeat * stored->parts[j].width;
			else
				stored->parts[n++] = stored->parts[j];
		stored->n_parts = n;
	}
}

/* ---- from their own ---- */

/* A stored tensor as the one run of a factor. */
static bool take_tensor(const struct al_factor_maker *m, const char *name, bool is_in_out,
	struct al_factor *out, struct al_error *err)
{
	const struct al_tensor *tensor = al_checkpoint_find(m->view->checkpoint, name);

	if (!tensor || tensor->n_dims < 1 || tensor->n_dims > 2 || !tensor->dtype->to_double)
		return al_fail(err, AL_EINPUT, "tensor %s, which compress recorded, is %s", name,
			tensor ? "not a matrix of numbers" : "missing");
	const bool is_matrix = tensor->n_dims == 2, is_slow = is_matrix && !is_in_out;
	*out = (struct al_factor){.runs = al_new(&m->view->arena, struct al_factor_run),
		.n_runs = 1,
		.rows = is_matrix ? tensor->shape[is_slow] : 1,
		.heads = 1,
		.dtype = tensor->dtype};
	out->width = out->stride = tensor->shape[is_matrix && is_in_out];
	out->runs[0] = (struct al_factor_run){.tensor = tensor,
		.width = out->width,
		.is_slow = is_slow};
	return true;
}

/* A record is a stranger's file: no more is allocated than its sizes ask for. */
enum { MOST_HEADS = 1 << 16 };

/* Of `width` columns from `at` on, which lie in one run. */
static bool cut_run(const struct al_factor *factor, int64_t at, int64_t width,
	struct al_factor_run *out, struct al_error *err)
{
	for (size_t i = 0; i < factor->n_runs; at -= factor->runs[i++].width) {
		*out = factor->runs[i];
		out->first += at;
		out->width = width;
		if (at >= 0 && at + width <= factor->runs[i].width)
			return true;
	}
	return al_fail(err, AL_EINPUT, "tensor %s interleaves parts of heads",
		factor->runs[0].tensor->name);
}

bool al_view_repeat(struct al_factor_maker *m, struct al_factor *factor, int64_t had, int64_t heads,
	struct al_error *err)
{
	if (factor->n_runs == 0 || had == heads)
		return true;
	const int64_t columns = al_factor_columns(factor), width = columns / had;
	if (width < 1 || width * had != columns || heads % had != 0 || heads > MOST_HEADS)
		return al_fail(err, AL_EINPUT,
			"tensor %s has %lld columns, expected %lld values for %lld heads",
			factor->runs[0].tensor->name, (long long)columns, (long long)had,
			(long long)heads);
	struct al_factor_run *runs = al_new_array(&m->view->arena, struct al_factor_run,
		(size_t)heads);
	for (int64_t i = 0; i < heads; i++)
		if (!cut_run(factor, i / (heads / had) * width, width, &runs[i], err))
			return false;
	factor->runs = runs;
	factor->n_runs = (size_t)heads;
	return true;
}

static bool take_down(struct al_factor_maker *m, const char *name, struct al_factor *factor,
	struct al_error *err)
{
	struct al_factor *down = al_new(&m->view->arena, struct al_factor);

	if (!take_tensor(m, name, false, down, err))
		return false;
	if (down->width != factor->rows)
		return al_fail(err, AL_EINPUT, "%s has %lld outputs, but %s has %lld inputs", name,
			(long long)down->width, factor->runs[0].tensor->name,
			(long long)factor->rows);
	factor->down = down;
	factor->rows = down->rows;
	return true;
}

/* Each head's queries and keys, of heads that share them. */
static bool take_shared(struct al_factor_maker *m, const struct al_recorded_projection *from,
	struct al_error *err)
{
	struct al_factor *one = al_new(&m->view->arena, struct al_factor);

	if (from->mixing) {
		m->out->factors[AL_QUERY].mixing = one;
		return take_tensor(m, from->mixing, true, one, err);
	}
	if (!from->content)
		return true;
	m->out->content = one;
	return take_tensor(m, from->content, false, one, err);
}

bool al_view_take_projection(struct al_factor_maker *m, enum al_projection p, bool *is_taken,
	struct al_error *err)
{
	const struct al_recorded_projection *from = find_projection(m, p);
	struct al_factor *factor = &m->out->factors[p], *bias = &m->out->biases[p];

	*is_taken = from != NULL;
	if (!from)
		return true;
	const int64_t heads = own_values(al_view_find_shape(m->view, m->module->name));
	m->out->is_rewritten = true;
	return take_tensor(m, from->weight, from->is_in_out, factor, err)
		&& (!from->bias || take_tensor(m, from->bias, false, bias, err))
		&& (from->heads == 0
			|| (al_view_repeat(m, factor, from->heads, heads, err)
				&& al_view_repeat(m, bias, from->heads, heads, err)))
		&& (!from->down || take_down(m, from->down, factor, err))
		&& take_shared(m, from, err);
}
