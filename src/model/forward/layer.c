/* A layer: attention and a feed-forward block, with their norms, added to what passes by. */

#include "catalog/config.h"
#include "model/forward/internal.h"

/* ---- loading ---- */

/* The variables that names and conditions of this layer count. */
static bool iterate(struct al_layer *layer, struct al_iteration *out, struct al_error *err)
{
	struct al_network *network = layer->network;
	struct al_iteration alone = {.settings = &network->view->settings,
		.variables = {"layer"},
		.values = {layer->number},
		.n = 1};
	const struct al_scope scope = al_iteration_scope(&alone);

	*out = alone;
	for (size_t i = 0; i < network->how->n_loops; i++) {
		const struct al_forward_loop *loop = &network->how->loops[i];
		out->variables[out->n] = loop->variable;
		if (!al_formula_whole(loop->value, &scope, 0, &out->values[out->n++], err))
			return al_in(err, "loops: %s", loop->variable);
	}
	return true;
}

static const struct al_attention *find(const struct al_attention *modules, size_t n,
	const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(modules[i].name, name) == 0)
			return &modules[i];
	return NULL;
}

static bool find_module(struct al_layer *layer, const struct al_iteration *iteration,
	struct al_error *err)
{
	const struct al_network *network = layer->network;
	const struct al_model_view *view = network->view;
	const char *name = al_iteration_name(iteration, &layer->arena,
		view->family->modules[0].name);

	layer->attention = find(view->modules, view->n_modules, name);
	layer->module = layer->attention ? layer->attention
					 : find(network->mixers, network->n_mixers, name);
	return layer->module
		|| al_fail(err, AL_EINPUT, "%s: module %s is missing", view->checkpoint->path,
			name);
}

static bool read_rules(struct al_layer *layer, struct al_iteration *iteration, struct al_error *err)
{
	const struct al_forward *how = layer->network->how;
	const struct al_scope scope = al_iteration_scope(iteration);
	int64_t window = 0, chunk = 0;

	if (how->parallel && !al_formula_holds(how->parallel, &scope, &layer->is_parallel, err))
		return false;
	if ((how->window && !al_formula_whole(how->window, &scope, 0, &window, err))
		|| (how->chunk && !al_formula_whole(how->chunk, &scope, 0, &chunk, err)))
		return false;
	layer->window = (size_t)window;
	layer->chunk = (size_t)chunk;
	return true;
}

static bool read_growth(struct al_layer *layer, struct al_iteration *iteration,
	struct al_error *err)
{
	const struct al_network *network = layer->network;
	const struct al_forward *how = network->how;
	const struct al_json *config = &network->view->config;
	const struct al_scope scope = al_iteration_scope(iteration);
	bool grows = false;

	if (!how->query_grows)
		return true;
	if (!al_formula_holds(how->query_grows, &scope, &grows, err)
		|| !al_config_number(config, network->config, &how->query_floor, 0, &layer->floor,
			err)
		|| !al_config_number(config, network->config, &how->query_growth, 0, &layer->growth,
			err))
		return false;
	layer->growth = grows ? layer->growth : 0;
	return !grows || layer->floor > 0
		|| al_fail(err, AL_EINPUT, "%s: %s is %g, expected more than 0",
			network->view->config_path,
			how->query_floor.n_keys ? how->query_floor.keys[0] : "floor", layer->floor);
}

static bool load(struct al_layer *layer, struct al_error *err)
{
	const int64_t d_model = layer->network->d_model;
	struct al_reading reading = {.network = layer->network,
		.arena = &layer->arena,
		.scratch = &layer->scratch};

	return iterate(layer, &reading.iteration, err)
		&& find_module(layer, &reading.iteration, err)
		&& read_rules(layer, &reading.iteration, err)
		&& read_growth(layer, &reading.iteration, err)
		&& al_attention_load(layer, &reading, err)
		&& al_feed_forward_load(layer, &reading, err)
		&& al_norm_read(&reading, AL_FORWARD_ATTENTION_BEFORE, d_model,
			&layer->attention_before, err)
		&& al_norm_read(&reading, AL_FORWARD_ATTENTION_BEHIND, d_model,
			&layer->attention_behind, err)
		&& al_norm_read(&reading, AL_FORWARD_ATTENTION_SUM, d_model, &layer->attention_sum,
			err)
		&& al_norm_read(&reading, AL_FORWARD_FEED_BEFORE, d_model, &layer->feed_before, err)
		&& al_norm_read(&reading, AL_FORWARD_FEED_BEHIND, d_model, &layer->feed_behind, err)
		&& al_norm_read(&reading, AL_FORWARD_FEED_SUM, d_model, &layer->feed_sum, err);
}

struct al_layer *al_layer_load(struct al_network *network, int64_t number, struct al_error *err)
{
	struct al_layer *layer = al_calloc(1, sizeof(*layer));

	layer->network = network;
	layer->number = number;
	al_arena_init(&layer->arena);
	if (load(layer, err))
		return layer;
	al_layer_free(layer);
	al_in(err, "layer %" PRId64, number);
	return NULL;
}

void al_layer_free(struct al_layer *layer)
{
	if (!layer)
		return;
	al_across_finish(&layer->across);
	al_scratch_finish(&layer->scratch);
	al_arena_finish(&layer->arena);
	free(layer);
}

bool al_layer_seen(struct al_network *network, int64_t number, int64_t context, int64_t *out,
	struct al_error *err)
{
	struct al_layer layer = {.network = network, .number = number};
	struct al_iteration iteration;

	if (!iterate(&layer, &iteration, err) || !read_rules(&layer, &iteration, err))
		return al_in(err, "layer %" PRId64, number);
	const int64_t most = (int64_t)(layer.window ? layer.window : layer.chunk);
	*out = most > 0 && most < context ? most : context;
	return true;
}

const struct al_attention *al_layer_attention(const struct al_layer *layer)
{
	return layer->attention;
}

/* ---- running ---- */

struct sum {
	struct al_matrix_f x, y;
	float scale; /* of y */
};

static void add_columns(void *context, size_t first, size_t n)
{
	const struct sum *sum = context;

	for (size_t j = first; j < first + n; j++)
		for (size_t i = 0; i < sum->x.rows; i++)
			sum->x.data[i + j * sum->x.ld] += sum->scale
				* sum->y.data[i + j * sum->y.ld];
}

/* x += scale y, normed before or after. */
static void add(const struct al_layer *layer, struct al_matrix_f x, const struct al_norm *behind,
	struct al_matrix_f y, const struct al_norm *after)
{
	struct sum sum = {x, y, (float)layer->network->residual_scale};

	if (al_norm_is_there(behind))
		al_norm_apply(behind, y);
	al_each_columns(x.cols, add_columns, &sum);
	if (al_norm_is_there(after))
		al_norm_apply(after, x);
}

/* The feed-forward block's input, parallel to attention: its own norm of x, or attention's. */
static const struct al_norm *feed_norm(const struct al_layer *layer)
{
	return layer->is_parallel && !al_norm_is_there(&layer->feed_before)
		? &layer->attention_before
		: &layer->feed_before;
}

/* y = feed-forward(norm(x)) */
static bool feed(const struct al_layer *layer, const struct al_batch *batch, struct al_view_f x,
	struct al_matrix_f y, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix_f input;

	return al_read_input(&scratch, feed_norm(layer), x, &input, err)
		&& al_feed_forward_apply(layer, batch, al_view_f(input), y, err);
}

bool al_layer_project(const struct al_layer *layer, const struct al_batch *batch,
	struct al_view_f o, struct al_matrix_f y, struct al_error *err)
{
	const struct al_pass_place place = {layer->number, batch, 0};
	AL_OWNED_F struct al_matrix_f mixed = {0};

	if (!layer->across.how)
		return al_linear_apply(&layer->output, place, o, y, err);

	return al_across_apply(&layer->across, o, &mixed, err)
		&& al_linear_apply(&layer->output, place, al_view_f(mixed), y, err);
}

/* The feed-forward block of a parallel layer reads what attention reads, so it comes first. */
static bool add_beside(const struct al_layer *layer, const struct al_batch *batch,
	struct al_matrix_f x, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix_f fed;

	if (!al_take_f(&scratch, &fed, x.rows, x.cols, err)
		|| !feed(layer, batch, al_view_f(x), fed, err))
		return false;
	add(layer, x, &layer->feed_behind, fed, &layer->feed_sum);
	return true;
}

bool al_layer_add(const struct al_layer *layer, const struct al_batch *batch, struct al_matrix_f y,
	struct al_matrix_f x, struct al_error *err)
{
	if (layer->is_parallel && !add_beside(layer, batch, x, err))
		return false;
	add(layer, x, &layer->attention_behind, y, &layer->attention_sum);
	if (!layer->is_parallel) {
		if (!feed(layer, batch, al_view_f(x), y, err))
			return false;
		add(layer, x, &layer->feed_behind, y, &layer->feed_sum);
	}
	return al_check_columns((struct al_pass_place){layer->number, batch, 0}, al_view_f(x), err);
}

bool al_layer_complete(const struct al_layer *layer, const struct al_batch *batch,
	struct al_view_f o, struct al_matrix_f x, struct al_error *err)
{
	AL_OWNED_F struct al_matrix_f y = {0};

	return al_matrix_init_f(&y, x.rows, x.cols, err)
		&& al_layer_project(layer, batch, o, y, err)
		&& al_layer_add(layer, batch, y, x, err);
}

bool al_layer_run(const struct al_layer *layer, const struct al_batch *batch, struct al_matrix_f x,
	struct al_error *err)
{
	AL_OWNED_F struct al_matrix_f o = {0};

	return al_layer_heads(layer, batch, al_view_f(x), NULL, &o, err)
		&& al_layer_complete(layer, batch, al_view_f(o), x, err);
}
