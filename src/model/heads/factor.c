/* Factors: a module's projections as matrices whose columns are heads. */
#include "model/heads/internal.h"

#include "catalog/config.h"
#include "catalog/pass.h"
#include "ledger/ledger.h"

/* ---- from the variant ---- */

_Static_assert((int)AL_FACTOR_QUERY + (int)AL_OUTPUT == (int)AL_FACTOR_OUTPUT,
	"projections have the order of factors");

static bool is_factor(const struct al_entry *entry, enum al_projection p, enum al_tensor_kind kind)
{
	return entry->kind == kind && (int)entry->factor == (int)AL_FACTOR_QUERY + (int)p;
}

/* The stored part that is a projection's weight or bias; NULL where none is. */
static bool find_factor(const struct al_factor_maker *m, enum al_projection p,
	enum al_tensor_kind kind, const struct al_stored_part **out, struct al_error *err)
{
	*out = NULL;
	for (size_t i = 0; i < m->stored.n_tensors; i++)
		for (size_t j = 0; j < m->stored.tensors[i].n_parts; j++) {
			const struct al_stored_part *part = &m->stored.tensors[i].parts[j];
			if (!is_factor(part->entry, p, kind))
				continue;
			if (*out && (*out)->entry != part->entry)
				return al_fail(err, AL_EINPUT,
					"%s and %s of variant %s are both its %s factor",
					(*out)->entry->name, part->entry->name,
					m->module->variant->name, al_projection_names[p]);
			*out = part;
		}
	return true;
}

/* The stored tensor that a factor's "down" or "gain" names; NULL: not stored. */
static const struct al_entry *find_named(const struct al_factor_maker *m, const char *name)
{
	for (size_t i = 0; i < m->stored.n_tensors; i++)
		for (size_t j = 0; j < m->stored.tensors[i].n_parts; j++)
			if (strcmp(m->stored.tensors[i].parts[j].entry->name, name) == 0)
				return m->stored.tensors[i].parts[j].entry;
	return NULL;
}

/* ---- heads ---- */

static bool fail_columns(const struct al_factor *factor, enum al_projection projection,
	int64_t heads, int64_t width, struct al_error *err)
{
	return al_fail(err, AL_EINPUT,
		"the %s projection has %lld columns, expected %lld heads of %lld",
		al_projection_names[projection], (long long)al_factor_columns(factor),
		(long long)heads, (long long)width);
}

static bool set_heads(struct al_factor *factor, int64_t heads, int64_t width, int64_t stride,
	enum al_projection projection, struct al_error *err)
{
	if (factor->n_runs == 0)
		return true;
	factor->heads = heads;
	factor->width = width;
	factor->stride = stride;
	if (stride > 0)
		return al_factor_columns(factor) == heads * stride
			|| fail_columns(factor, projection, heads, stride, err);
	return al_factor_columns(factor) == width
		|| fail_columns(factor, projection, 1, width, err);
}

/* One of the variant's tensors as it is declared. */
static bool collect_matrix(struct al_factor_maker *m, const struct al_entry *entry,
	struct al_factor *out, struct al_error *err)
{
	if (!al_factor_collect_runs(m, entry, false, out, err))
		return false;
	out->heads = 1;
	out->width = out->stride = al_factor_columns(out);
	return true;
}

/* A symbol of the module. */
static bool symbol(struct al_ledger *ledger, const char *name, int64_t *out, struct al_error *err)
{
	return al_ledger_symbol(ledger, name, 1, out, err);
}

/* The width of a head that the variant gives for a projection; 0: none. */
static int64_t own_width(const struct al_factor_maker *m, enum al_projection p)
{
	return m->weights[p] ? m->weights[p]->head_width : 0;
}

/* d_head is the variant's, else the symbol's. */
static bool read_width(struct al_factor_maker *m, struct al_ledger *ledger, struct al_error *err)
{
	const int64_t queries = own_width(m, AL_QUERY), keys = own_width(m, AL_KEY);

	if (m->out->is_shared) {
		m->out->d_head = al_factor_columns(&m->out->factors[AL_QUERY]);
		return true;
	}

	if (queries && keys && queries != keys)
		return al_fail(err, AL_EINPUT, "a head's queries are %lld wide, but its keys %lld",
			(long long)queries, (long long)keys);
	m->out->d_head = queries ? queries : keys;
	return m->out->d_head > 0 || symbol(ledger, "d_head", &m->out->d_head, err);
}

/* Keys and values of a latent, and shared ones, are read once a query head. */
static bool has_all_heads(const struct al_attention *a)
{
	return a->is_latent || a->is_shared;
}

static bool read_dimensions(struct al_factor_maker *m, struct al_error *err)
{
	struct al_configured_variant configured = {.variant = m->module->variant,
		.name = m->module->variant->name,
		.with = m->module->with,
		.n_with = m->module->n_with};
	struct al_attention *a = m->out;
	struct al_basis basis;
	struct al_ledger ledger;

	al_basis_init(&basis);
	if (!al_ledger_open_module(&ledger, &configured, &m->view->settings, &basis, err))
		return false;
	bool ok = al_module_is_mixer(m->module) ? symbol(&ledger, "d_head", &a->d_head, err)
						: symbol(&ledger, "n_heads", &a->n_heads, err)
			&& symbol(&ledger, "d_value", &a->d_value, err)
			&& read_width(m, &ledger, err)
			&& (has_all_heads(a) || symbol(&ledger, "n_kv_heads", &a->n_kv_heads, err));
	if (has_all_heads(a))
		a->n_kv_heads = a->n_heads;
	al_ledger_close(&ledger);
	return ok;
}

/* A key side of all heads though the settings have groups: MHA's tensors count. */
static void follow_columns(struct al_attention *a)
{
	const struct al_factor *keys = &a->factors[AL_KEY];
	int64_t heads = a->d_head > 0 ? al_factor_columns(keys) / a->d_head : 0;

	if (heads > 0 && heads * a->d_head == al_factor_columns(keys))
		a->n_kv_heads = heads;
}

/* Heads that share queries and keys may read values in groups all the same. */
static bool repeat_values(struct al_factor_maker *m, struct al_factor *factor, struct al_error *err)
{
	const int64_t width = m->out->d_value, columns = al_factor_columns(factor);

	return !m->out->is_shared || !m->out->is_rewritten || columns < width
		|| columns % width != 0
		|| al_view_repeat(m, factor, columns / width, m->out->n_heads, err);
}

/* Where a factor is a part of each head only, the heads are `stride` columns apart. */
static bool set_projection(struct al_factor_maker *m, enum al_projection p, struct al_error *err)
{
	struct al_attention *a = m->out;
	struct al_factor *factor = &a->factors[p];
	const int64_t heads = p == AL_KEY || p == AL_VALUE ? a->n_kv_heads : a->n_heads;
	const int64_t width = p == AL_VALUE || p == AL_OUTPUT ? a->d_value : a->d_head;
	const bool is_shared = a->is_shared && p <= AL_KEY;
	const int64_t stride = is_shared ? 0
		: own_width(m, p) > 0	 ? al_factor_columns(factor) / heads
					 : width;

	if (stride < width && !is_shared)
		return fail_columns(factor, p, heads, width, err);
	if (p == AL_VALUE
		&& (!repeat_values(m, factor, err) || !repeat_values(m, &a->biases[p], err)))
		return false;
	return set_heads(factor, heads, width, stride, p, err)
		&& set_heads(&a->biases[p], heads, width, width, p, err);
}

/* ---- composed factors: MLA, arXiv:2405.04434 eq. 9 to 19 ---- */

static bool fail_before(const char *name, const struct al_entry *weight, struct al_error *err)
{
	return al_fail(err, AL_EINPUT, "%s, which precedes %s, isn't stored", name, weight->name);
}

static bool make_gain(struct al_factor_maker *m, const struct al_entry *weight,
	struct al_factor *factor, struct al_error *err)
{
	const struct al_entry *gain = weight->gain ? find_named(m, weight->gain) : NULL;
	struct al_factor norm = {0};

	if (!weight->gain)
		return true;
	if (!gain)
		return fail_before(weight->gain, weight, err);
	if (!collect_matrix(m, gain, &norm, err))
		return false;
	factor->gain = norm.runs[0].tensor;
	return norm.width == factor->down->width
		|| al_fail(err, AL_EINPUT, "%s is %lld wide, expected %lld (the output of %s)",
			gain->name, (long long)norm.width, (long long)factor->down->width,
			weight->down);
}

static bool make_down(struct al_factor_maker *m, const struct al_entry *weight,
	struct al_factor *factor, struct al_error *err)
{
	const struct al_entry *entry = weight->down ? find_named(m, weight->down) : NULL;
	struct al_factor *down = al_new(&m->view->arena, struct al_factor);

	if (!weight->down)
		return true;
	if (!entry)
		return fail_before(weight->down, weight, err);
	if (!collect_matrix(m, entry, down, err))
		return false;
	if (down->width != factor->rows)
		return al_fail(err, AL_EINPUT, "%s has %lld outputs, but %s has %lld inputs",
			entry->name, (long long)down->width, weight->name, (long long)factor->rows);
	factor->down = down;
	factor->rows = down->rows;
	return make_gain(m, weight, factor, err);
}

/* ---- shared queries: collaborative attention, arXiv:2006.16362 ---- */

static const struct al_entry *find_part(const struct al_factor_maker *m, enum al_head_factor factor)
{
	for (size_t i = 0; i < m->stored.n_tensors; i++)
		for (size_t j = 0; j < m->stored.tensors[i].n_parts; j++)
			if (m->stored.tensors[i].parts[j].entry->factor == factor)
				return m->stored.tensors[i].parts[j].entry;
	return NULL;
}

static bool make_mixing(struct al_factor_maker *m, struct al_error *err)
{
	struct al_factor *stored = al_new(&m->view->arena, struct al_factor);
	struct al_attention *a = m->out;

	if (!a->is_shared)
		return true;
	if (!a->factors[AL_QUERY].mixing) {
		if (!collect_matrix(m, find_part(m, AL_FACTOR_MIXING), stored, err))
			return false;
		a->factors[AL_QUERY].mixing = stored;
	}
	const struct al_factor *mixing = a->factors[AL_QUERY].mixing;
	if (a->content
		&& (a->content->rows != a->factors[AL_KEY].rows || a->content->width != a->n_heads))
		return al_fail(err, AL_EINPUT,
			"content biases are %lld x %lld, expected %lld x %lld",
			(long long)a->content->width, (long long)a->content->rows,
			(long long)a->n_heads, (long long)a->factors[AL_KEY].rows);
	if (mixing->rows == a->n_heads && mixing->width == a->d_head)
		return true;
	return al_fail(err, AL_EINPUT, "the mixing matrix is %lld x %lld, expected %lld x %lld",
		(long long)mixing->rows, (long long)mixing->width, (long long)a->n_heads,
		(long long)a->d_head);
}

/* Keys and values come from one latent vector. */
static bool is_latent(const struct al_factor_maker *m)
{
	const struct al_stored_part *key = m->weights[AL_KEY], *value = m->weights[AL_VALUE];

	return key && value && key->entry->down && value->entry->down
		&& strcmp(key->entry->down, value->entry->down) == 0;
}

/* ---- a module ---- */

static bool collect_projection(struct al_factor_maker *m, enum al_projection p,
	struct al_error *err)
{
	const struct al_stored_part *bias;
	bool is_taken;

	if (!al_view_take_projection(m, p, &is_taken, err))
		return false;
	if (!find_factor(m, p, AL_TENSOR_WEIGHT, &m->weights[p], err)
		|| !find_factor(m, p, AL_TENSOR_BIAS, &bias, err))
		return false;
	if (m->weights[p]
		&& !al_factor_collect_runs(m, m->weights[p]->entry, p == AL_OUTPUT,
			&m->out->factors[p], err))
		return false;
	if (p == AL_OUTPUT)
		al_factor_take_whole(&m->out->factors[p]);
	else if (bias)
		return al_factor_collect_runs(m, bias->entry, false, &m->out->biases[p], err);
	return true;
}

static bool make_projections(struct al_factor_maker *m, struct al_error *err)
{
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		if (!collect_projection(m, (enum al_projection)p, err))
			return false;
	m->out->is_latent = is_latent(m);
	m->out->is_shared = find_part(m, AL_FACTOR_MIXING) || m->out->factors[AL_QUERY].mixing;
	if (!read_dimensions(m, err))
		return false;
	if (own_width(m, AL_KEY) == 0 && !m->out->is_shared)
		follow_columns(m->out);
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		if (!set_projection(m, (enum al_projection)p, err)
			|| (m->weights[p]
				&& !make_down(m, m->weights[p]->entry, &m->out->factors[p], err)))
			return false;
	return make_mixing(m, err);
}

static bool make_gate(struct al_factor_maker *m, struct al_error *err)
{
	const struct al_entry *gate = find_part(m, AL_FACTOR_GATE);

	return !gate || collect_matrix(m, gate, &m->out->gate, err);
}

/* Every tensor of a variant that has a pass. */
static bool collect_tensors(struct al_factor_maker *m, struct al_error *err)
{
	const struct al_entries *entries = &m->module->variant->tensors;
	struct al_named_factor *tensors;

	if (!m->module->variant->pass)
		return true;
	tensors = al_new_array(&m->view->arena, struct al_named_factor, entries->n);
	m->out->tensors = tensors;
	for (size_t i = 0; i < entries->n; i++) {
		struct al_named_factor *of = &tensors[m->out->n_tensors];
		of->name = entries->items[i].name;
		if (!collect_matrix(m, &entries->items[i], &of->factor, err))
			return false;
		m->out->n_tensors += of->factor.n_runs > 0;
	}
	return true;
}

static bool check_complete(const struct al_attention *a, bool runs, struct al_error *err)
{
	for (int i = 0; i < AL_N_PROJECTIONS; i++)
		if (a->factors[i].n_runs == 0 && !(runs && a->variant->pass)
			&& (i < AL_OUTPUT || !al_variant_has_factor(a->variant, AL_FACTOR_OUTPUT)))
			return al_fail(err, AL_EINPUT, "variant %s has no %s projection of its own",
				a->variant->name, al_projection_names[i]);
	if (a->n_kv_heads < 1 || a->n_heads % a->n_kv_heads != 0)
		return al_fail(err, AL_EINPUT,
			"n_heads (%lld) is not a multiple of n_kv_heads (%lld)",
			(long long)a->n_heads, (long long)a->n_kv_heads);
	return true;
}

static bool find_base_origin(struct al_model_view *view, const char **origin, struct al_error *err)
{
	const struct al_setting *base;

	if (!al_settings_get(&view->settings, "rotary_base", &base, err))
		return false;
	*origin = base ? base->origin : NULL;
	return true;
}

static bool has_qk_norm(const struct al_stored_module *module)
{
	for (size_t i = 0; i < module->n_tensors; i++)
		for (size_t j = 0; j < module->tensors[i].n_parts; j++) {
			const struct al_entry *entry = module->tensors[i].parts[j].entry;
			if (entry->is_of_scores && entry->kind == AL_TENSOR_NORM)
				return true;
		}
	return false;
}

/* A recorded scale takes precedence over the family's, which follows from the current widths. */
static bool read_scale(const struct al_factor_maker *m, int64_t recorded, struct al_error *err)
{
	const struct al_recorded_shape *shape = al_view_find_shape(m->view, m->out->name);
	struct al_attention *out = m->out;

	if (shape && shape->score_scale > 0)
		return out->score_scale = shape->score_scale, true;
	if (!al_config_number(&m->view->config,
		    al_config_of_text(m->view->family, m->view->config.root),
		    &m->module->module->score_scale, 0, &out->score_scale, err))
		return false;
	if (out->score_scale > 0)
		return true;
	out->score_divisor = recorded	  ? recorded
		: m->stored.score_divisor ? m->stored.score_divisor
					  : out->d_head;
	out->score_scale = 1 / sqrt((double)out->score_divisor);
	return true;
}

bool al_factors_make(struct al_model_view *view, const struct al_model_item *module,
	struct al_attention *out, struct al_error *err)
{
	struct al_factor_maker m = {.view = view, .module = module, .out = out};

	*out = (struct al_attention){.name = module->name,
		.variant = module->variant,
		.with = module->with,
		.n_with = module->n_with};
	int64_t divisor;
	m.module = module = al_view_shape_module(view, module, &divisor);
	out->with = module->with;
	out->n_with = module->n_with;
	if (!al_stored_module_read(&m.stored, &view->arena, view->catalog, module, &view->settings,
		    err))
		return false;
	al_view_take_moved(&m);
	out->stack = module->module->stack;
	out->is_cross = module->module->is_cross;
	out->has_qk_norm = has_qk_norm(&m.stored);
	out->is_rotary = m.stored.is_rotary;
	out->rotary_pairs = m.stored.rotary_pairs;
	out->rotary_width = m.stored.rotary_width;
	out->rotary_base = m.stored.rotary_base;
	out->rotary_scaling = module->module->rotary.scaling;
	out->n_rotary_scaling = m.stored.is_scaled ? module->module->rotary.n_scaling : 0;
	if (al_module_is_mixer(module))
		return read_dimensions(&m, err) && collect_tensors(&m, err);
	if (!find_base_origin(view, &out->rotary_base_origin, err) || !make_projections(&m, err)
		|| !make_gate(&m, err) || !collect_tensors(&m, err))
		return false;
	return read_scale(&m, divisor, err) && check_complete(out, view->runs, err);
}

/* ---- modules without attention weights ---- */

bool al_module_is_mixer(const struct al_model_item *module)
{
	return !module->extra && al_pass_has_no_weights(module->variant->pass);
}

bool al_model_view_mixers(struct al_model_view *view, struct al_attention **out, size_t *n,
	struct al_error *err)
{
	const struct al_tensor_list *list = &view->tensor_list;

	*n = 0;
	*out = al_new_array(&view->arena, struct al_attention, list->n_modules + 1);
	for (size_t i = 0; i < list->n_modules; i++)
		if (al_module_is_mixer(&list->modules[i])
			&& !al_factors_make(view, &list->modules[i], &(*out)[(*n)++], err))
			return al_in(err, "%s: %s", view->checkpoint->path, list->modules[i].name);
	return true;
}
