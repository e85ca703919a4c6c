/* All conversions of a module: a list of independent tasks, the long ones first. */
#include "audit/losses.h"

#include "audit/grouping.h"

/* ---- which there are ---- */

bool al_losses_is_free(const struct al_losses *x)
{
	return !x->is_rotary && !x->is_normed;
}

bool al_losses_has_shared_kv(const struct al_losses *x)
{
	return x->has_values && al_losses_is_free(x) && !x->is_latent
		&& x->keys.own.rows == x->values.own.rows && al_losses_has_own_keys(x)
		&& x->keys.width == x->values.width;
}

bool al_losses_has_own_keys(const struct al_losses *x)
{
	return x->keys.n == x->module->heads.n_heads;
}

bool al_losses_has_embeddings(const struct al_losses *x)
{
	return al_losses_has_own_keys(x) && !x->is_latent;
}

/* A half, a quarter and an eighth of d_model, or of the latent vector that there is, that save
 * something. */
static void choose_ranks(struct al_losses *x)
{
	const struct al_factor *down = x->module->attention->factors[AL_KEY].down;
	size_t cached = x->keys.own.cols + x->values.own.cols;
	size_t whole = x->is_latent && down ? (size_t)down->width : x->keys.own.rows;

	if (!x->has_values || x->is_normed || x->keys.own.rows != x->values.own.rows)
		return;
	for (size_t part = 2; part <= 8; part *= 2)
		if (whole / part > 0 && whole / part < cached
			&& (x->n_ranks == 0 || whole / part < x->ranks[x->n_ranks - 1]))
			x->ranks[x->n_ranks++] = whole / part;
}

static const struct al_conversion_loss unknown = {{NAN, NAN}, NAN};

double al_loss_squared(const struct al_conversion_loss *loss)
{
	const double qk = isnan(loss->qk_mean) ? loss->of[AL_LOSS_QK] : loss->qk_mean;
	const double ov = isnan(loss->of[AL_LOSS_OV]) ? 0 : loss->of[AL_LOSS_OV];

	return qk * qk + ov * ov;
}

/* One for each divisor of the number of heads below it. */
static bool list_groupings(struct al_losses *x, struct al_error *err)
{
	const size_t n = x->keys.n;
	size_t *in_order = al_take_array(&x->scratch, n, sizeof(*in_order), err);

	x->in_order = in_order;
	x->groupings = al_take_array(&x->scratch, n, sizeof(*x->groupings), err);
	if (!in_order || !x->groupings)
		return false;
	for (size_t n_groups = 1; n_groups < n; n_groups++) {
		if (n % n_groups != 0)
			continue;
		struct al_grouping *g = &x->groupings[x->n_groupings++];
		*g = (struct al_grouping){n_groups, n / n_groups, unknown, unknown, unknown,
			al_take_array(&x->scratch, n, sizeof(*g->order), err)};
		if (!g->order)
			return false;
	}
	for (size_t i = 0; i < n; i++)
		in_order[i] = i;
	return true;
}

/* ---- tasks ---- */

/* A task finds what is one loss, or one form of it. */
struct task {
	bool (*find)(struct al_losses *x, const struct task *task, struct al_error *err);
	struct al_conversion_loss *out;
	const size_t *order; /* heads, `size` neighbors per group */
	size_t size;
	int which; /* a form, a kind of embedding, or a grouping */
};

struct tasks {
	struct al_losses *losses;
	struct task *all;
	size_t n;
};

static const struct al_stack *side(const struct al_losses *x, int form)
{
	return form == AL_LOSS_QK ? &x->keys : &x->values;
}

static bool find_mean(struct al_losses *x, const struct task *t, struct al_error *err)
{
	const struct al_attention *rotary = t->which == AL_LOSS_QK && x->is_rotary
		? x->module->attention
		: NULL;
	double unused;

	return al_convert_mean(side(x, t->which), rotary, t->order, t->size, &t->out->of[t->which],
		rotary ? &t->out->qk_mean : &unused, err);
}

/* Within what positions and norms allow: keys that pass a norm stay as they are stored. */
static bool find_shared(struct al_losses *x, const struct task *t, struct al_error *err)
{
	double *error = &t->out->of[t->which];

	if (t->which == AL_LOSS_QK && x->is_normed)
		return find_mean(x, t, err);
	return t->which == AL_LOSS_QK && x->is_rotary
		? al_convert_rotary(&x->keys, x->module->attention, t->order, t->size, error,
			&t->out->qk_mean, err)
		: al_stack_share(side(x, t->which), t->order, t->size, error, err);
}

static bool find_shared_kv(struct al_losses *x, const struct task *t, struct al_error *err)
{
	return al_convert_shared_kv(&x->keys, &x->values, t->out->of, err);
}

static bool find_latent(struct al_losses *x, const struct task *t, struct al_error *err)
{
	double errors[AL_MOST_LATENT_RANKS][AL_N_LOSSES];

	if (!al_convert_latent(&x->keys, &x->values, x->ranks, x->n_ranks, errors, err))
		return false;
	for (size_t i = 0; i < x->n_ranks; i++)
		memcpy(t->out[i].of, errors[i], sizeof(errors[i]));
	return true;
}

static bool find_embedding(struct al_losses *x, const struct task *t, struct al_error *err)
{
	return al_convert_embedding(&x->module->heads, &x->keys, x->has_values ? &x->values : NULL,
		(enum al_embedding)t->which, t->out->of, err);
}

/* One value for all heads, scaled or not, is what multi-query attention has; the query/key forms
 * are sums of d_head products that all heads share. */
static bool find_multiples(struct al_losses *x, const struct task *t, struct al_error *err)
{
	const struct al_heads *heads = &x->module->heads;
	const struct al_heads forms = {.query = heads->query,
		.key = heads->key,
		.n_heads = heads->n_heads,
		.n_kv_heads = heads->n_heads,
		.d_head = heads->d_head};
	const double *one_key = &x->groupings[0].neighbors.of[AL_LOSS_QK];

	return al_convert_collaborative(&forms, x->n_groupings ? *one_key : 0,
		x->audit->options.seed, &t->out->of[AL_LOSS_QK], err);
}

/* What it costs that heads share a key, squared, within what positions and norms allow: over all
 * offsets under rotary positions. */
static bool key_cost(const struct al_losses *x, const size_t *heads, size_t n, double *cost,
	struct al_error *err)
{
	if (!x->is_rotary && !x->is_normed)
		return al_stack_estimate(&x->keys, heads, n, cost, err);
	bool ok = x->is_normed
		? al_convert_mean_group(&x->keys, heads, n, cost, err)
		: al_rotary_share_group(&x->keys, x->module->attention, heads, n, cost, err);
	*cost /= x->keys_norm * x->keys_norm;
	return ok;
}

/* The squared relative errors of scores and values together. */
static bool group_cost(const void *context, const size_t *heads, size_t n, double *cost,
	struct al_error *err)
{
	const struct al_losses *x = context;
	double keys, values = 0;

	if (!key_cost(x, heads, n, &keys, err)
		|| (x->has_values && !al_stack_estimate(&x->values, heads, n, &values, err)))
		return false;
	*cost = keys + values;
	return true;
}

/* Groups that are to share, once it is known what neighbors cost. Under rotary positions and norms
 * a group's cost isn't quite the share of its row's error. */
static bool find_order(struct al_losses *x, const struct task *t, struct al_error *err)
{
	const struct al_group_cost cost = {group_cost, x};
	struct al_grouping *g = &x->groupings[t->which];
	const double neighbors = al_losses_is_free(x) ? al_loss_squared(&g->neighbors) : NAN;

	return al_group_heads(&cost, x->pairs, g->size, neighbors, g->order, err);
}

/* ---- the list ---- */

static void add(struct tasks *tasks, struct task task)
{
	tasks->all[tasks->n++] = task;
}

/* For keys and for values. */
static void add_sides(struct tasks *tasks, struct task task)
{
	for (task.which = AL_LOSS_QK; task.which < AL_N_LOSSES; task.which++)
		if (task.which == AL_LOSS_QK || tasks->losses->has_values)
			add(tasks, task);
}

static void list_neighbors(struct tasks *tasks)
{
	struct al_losses *x = tasks->losses;

	for (size_t i = 0; i < x->n_groupings; i++) {
		struct al_grouping *g = &x->groupings[i];
		add_sides(tasks,
			(struct task){find_shared, &g->neighbors, x->in_order, g->size, 0});
		add_sides(tasks, (struct task){find_mean, &g->mean, x->in_order, g->size, 0});
	}
}

/* One group is all heads. */
static void list_orders(struct tasks *tasks)
{
	const struct al_losses *x = tasks->losses;

	for (size_t i = 0; i < x->n_groupings; i++)
		if (x->groupings[i].n_groups > 1)
			add(tasks, (struct task){find_order, NULL, NULL, 0, (int)i});
}

static void list_others(struct tasks *tasks)
{
	struct al_losses *x = tasks->losses;
	const bool has_embeddings = al_losses_has_embeddings(x);

	if (x->n_ranks)
		add(tasks, (struct task){find_latent, x->latent, NULL, 0, 0});
	if (has_embeddings && al_losses_is_free(x))
		add(tasks,
			(struct task){find_multiples, &x->embedding_best[AL_EMBEDDING_MUL], NULL, 0,
				0});
	list_orders(tasks);
	if (al_losses_has_shared_kv(x))
		add(tasks, (struct task){find_shared_kv, &x->shared_kv, NULL, 0, 0});
	for (int kind = 0; has_embeddings && kind < AL_N_EMBEDDINGS; kind++)
		add(tasks, (struct task){find_embedding, &x->embedding[kind], NULL, 0, kind});
}

static void list_regrouped(struct tasks *tasks)
{
	const struct al_losses *x = tasks->losses;

	for (size_t i = 0; i < x->n_groupings; i++) {
		struct al_grouping *g = &x->groupings[i];
		if (g->n_groups > 1)
			add_sides(tasks,
				(struct task){find_shared, &g->regrouped, g->order, g->size, 0});
	}
}

static bool do_task(void *context, size_t index, struct al_error *err)
{
	const struct tasks *tasks = context;
	const struct task *task = &tasks->all[index];

	return task->find(tasks->losses, task, err);
}

/* Does the listed tasks and empties the list. */
static bool do_tasks(struct tasks *tasks, struct al_error *err)
{
	const size_t n = tasks->n;

	tasks->n = 0;
	return al_parallel(n, do_task, tasks, err);
}

/* ---- what others start from ---- */

static bool find_pair_costs(struct al_losses *x, struct al_error *err)
{
	const struct al_group_cost cost = {group_cost, x};

	return x->n_groupings < 2 || al_pair_costs(&x->scratch, &cost, x->keys.n, &x->pairs, err);
}

/* All heads have one form: their mean at rank d_head. What they differ by is the rest:
 * sum_i ||F_i - M||^2 = sum_i ||F_i||^2 - H ||M||^2, good to the square root of the precision. */
static bool find_mean_form(struct al_losses *x, struct al_error *err)
{
	const struct al_spectra *layer;
	double rest = x->keys.norm * x->keys.norm;

	if (!al_audit_layer_spectra(x->audit, x->module, AL_LOSS_SPECTRA, 0, &layer, err))
		return false;
	const struct al_matrix sum = layer->values[AL_SPECTRUM_QK];
	for (size_t i = 0; i < sum.rows && i < x->keys.width; i++)
		rest -= sum.data[i] * sum.data[i] / (double)x->keys.n;
	x->embedding_best[AL_EMBEDDING_ADD].of[AL_LOSS_QK] = sqrt(fmax(rest, 0)) / x->keys.norm;
	return true;
}

static void share_values(struct al_losses *x)
{
	double one_value = x->n_groupings ? x->groupings[0].neighbors.of[AL_LOSS_OV] : 0;

	for (int kind = 0; kind < AL_N_EMBEDDINGS; kind++)
		x->embedding_best[kind].of[AL_LOSS_OV] = x->has_values ? one_value : NAN;
}

/* ---- all of it ---- */

/* Tasks in one list: up to four a grouping, and up to five of no grouping. */
static bool find_all(struct al_losses *x, struct al_error *err)
{
	const size_t most = 4 * x->n_groupings + 5;
	struct tasks tasks = {.losses = x,
		.all = al_take_array(&x->scratch, most, sizeof(*tasks.all), err)};

	if (!tasks.all
		|| (al_losses_has_embeddings(x)
			&& (!al_audit_gram(x->module, AL_QUERY, err)
				|| !al_audit_gram(x->module, AL_KEY, err)))
		|| (al_audit_takes_loss_spectra(x->module->attention) && !find_mean_form(x, err)))
		return false;
	list_neighbors(&tasks);
	if (!do_tasks(&tasks, err) || !find_pair_costs(x, err))
		return false;
	list_others(&tasks);
	if (!do_tasks(&tasks, err))
		return false;
	list_regrouped(&tasks);
	if (!do_tasks(&tasks, err))
		return false;
	share_values(x);
	return true;
}

/* What keys share is found by the one matrix or by the other, or where they pass a norm by
 * neither. */
static bool form_grams(struct al_losses *x, struct al_stack *stack, bool is_keys,
	struct al_error *err)
{
	const enum al_projection p = is_keys ? AL_KEY : AL_VALUE;

	if (x->is_latent || (is_keys && x->is_normed))
		return true;
	if (!al_audit_gram(x->module, p, err))
		return false;
	stack->own_gram = x->module->heads.gram[p];
	return (is_keys && !al_losses_is_free(x)) || al_stack_form_gram(stack, err);
}

static bool prepare_side(void *context, size_t form, struct al_error *err)
{
	struct al_losses *x = context;
	const bool is_keys = form == AL_FORM_QK;
	struct al_stack *stack = is_keys ? &x->keys : &x->values;

	return (!is_keys && !x->has_values)
		|| (al_stack_init(stack, &x->module->heads, &x->module->triangles,
			    (enum al_form)form, err)
			&& form_grams(x, stack, is_keys, err));
}

static bool prepare(struct al_losses *x, struct al_error *err)
{
	x->shared_kv = unknown;
	for (int i = 0; i < AL_MOST_LATENT_RANKS; i++)
		x->latent[i] = unknown;
	for (int kind = 0; kind < AL_N_EMBEDDINGS; kind++)
		x->embedding[kind] = x->embedding_best[kind] = unknown;
	if (!al_parallel(AL_N_FORMS, prepare_side, x, err))
		return false;
	x->is_zero = x->keys.norm == 0 || (x->has_values && x->values.norm == 0);
	if (x->is_zero)
		return true;
	x->keys_norm = x->keys.norm;
	if (x->is_rotary && !x->is_latent
		&& !al_rotary_norm(&x->keys, x->module->attention, &x->keys_norm, err))
		return false;
	choose_ranks(x);
	return x->is_latent || list_groupings(x, err);
}

bool al_losses_find(struct al_losses *x, const struct al_audit *audit,
	struct al_audit_module *module, struct al_error *err)
{
	*x = (struct al_losses){.audit = audit,
		.module = module,
		.has_values = al_has_values(&module->heads),
		.is_rotary = module->attention->is_rotary,
		.is_normed = module->attention->has_qk_norm,
		.is_latent = module->attention->is_latent};
	return prepare(x, err) && (x->is_zero || find_all(x, err));
}

void al_losses_finish(struct al_losses *x)
{
	al_stack_finish(&x->values);
	al_stack_finish(&x->keys);
	al_scratch_finish(&x->scratch);
}

/* ---- the groups alone ---- */

static bool find_groups(struct al_losses *x, size_t size, size_t *order, struct al_error *err)
{
	const struct al_group_cost cost = {group_cost, x};

	if (!prepare(x, err))
		return false;
	if (x->is_zero) {
		for (size_t i = 0; i < x->module->heads.n_kv_heads; i++)
			order[i] = i;
		return true;
	}
	return find_pair_costs(x, err) && al_group_heads(&cost, x->pairs, size, NAN, order, err);
}

bool al_losses_group(const struct al_attention *attention, const struct al_heads *heads,
	size_t size, size_t *order, struct al_error *err)
{
	struct al_audit_module module = {.attention = attention, .heads = *heads};
	struct al_losses x = {.module = &module,
		.has_values = true,
		.is_rotary = attention->is_rotary};
	const bool ok = al_triangles_take(&module.triangles, heads, err)
		&& find_groups(&x, size, order, err);

	al_losses_finish(&x);
	al_audit_module_finish(&module);
	return ok;
}
