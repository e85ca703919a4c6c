/* What conversions of a whole model cost, measured. */
#include "compress/frontier.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "compress/effective.h"
#include "compress/steps.h"
#include "linalg/cp.h"

/* ---- a conversion of all modules, in memory ---- */

struct conversion {
	struct al_arena arena;
	struct al_model_view *view;
	const struct al_calibration *calibration;
	struct al_module_layout *layouts; /* [n_modules of the view] */
	struct al_pieces *pieces;
	size_t n;
};

static void conversion_finish(struct conversion *c)
{
	for (size_t i = 0; i < c->n; i++)
		al_pieces_finish(&c->pieces[i]);
	free(c->pieces);
	al_arena_finish(&c->arena);
}

static bool load(void *context, const struct al_attention *attention, enum al_projection p,
	bool is_bias, struct al_matrix *out, struct al_error *err)
{
	const struct conversion *c = context;
	const size_t i = (size_t)(attention - c->view->modules);

	return al_effective_factor(&c->layouts[i], c->pieces[i].of, attention->score_scale,
		c->view->checkpoint, p, is_bias, out, err);
}

/* As compress makes them. */
static bool make_pieces(struct conversion *c, const struct al_data *data, struct al_error *err)
{
	const struct al_module_layout *layout = &c->layouts[c->n];
	const struct al_compress_options options = {.method = layout->method,
		.data = data,
		.effort = {.n_sweeps = AL_CP_SWEEPS, .seed = 1}};
	struct al_job job = {.view = c->view, .options = &options};
	struct al_treated treated = {.attention = layout->attention};
	struct al_scores scores;

	if (!al_method_mixes(layout->method))
		return al_pieces_by_data(&c->pieces[c->n], c->view, layout, data, err);
	if (!al_treated_load(&job, &treated, &scores, err))
		return false;
	const bool ok = al_treated_make(&job, &treated, layout, &c->pieces[c->n], err);
	al_treated_finish(&treated, &scores);
	return ok;
}

static bool convert(struct conversion *c, const struct al_candidate *candidate,
	const struct al_attention *a, struct al_error *err)
{
	const bool is_drop = al_method_drops(candidate->method);
	const struct al_data data = {.calibration = c->calibration};
	struct al_module_layout wanted = {.attention = a,
		.method = candidate->method,
		.rank = is_drop ? 0 : candidate->rank,
		.is_refitted = is_drop,
		.of_keys = candidate->of_keys};

	if (is_drop) {
		bool *is_dropped = al_new_array(&c->arena, bool, (size_t)a->n_heads);
		if (!al_choose_dropped(c->view, &data, candidate->method, a,
			    (size_t)candidate->rank, is_dropped, err))
			return false;
		wanted.is_dropped = is_dropped;
	}
	return al_layout_make(&c->layouts[c->n], &c->arena, c->view->checkpoint, &wanted, err)
		&& make_pieces(c, &data, err);
}

/* ---- what it saves ---- */

static void count(const struct conversion *c, struct al_candidate *out)
{
	double squares = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct al_attention *a = c->layouts[i].attention;
		out->parameters += al_layout_parameters(&c->layouts[i]);
		out->original += al_original_parameters(a, AL_METHOD_OV);
		out->cached += al_layout_cached(&c->layouts[i]);
		out->cached_originally += al_original_cached(a);
		squares += c->pieces[i].relative_error * c->pieces[i].relative_error;
	}
	out->error = sqrt(squares / (double)c->n);
}

/* ---- one candidate ---- */

static bool measure(struct al_candidate *candidate, struct al_network *network,
	const struct al_calibration *calibration, const struct al_batch *all, struct al_error *err)
{
	struct al_model_view *view = network->view;
	struct conversion c = {.view = view, .calibration = calibration};
	const struct al_factor_source factors = {.load = load, .widens = true, .context = &c};
	bool ok = true;

	al_arena_init(&c.arena);
	c.layouts = al_new_array(&c.arena, struct al_module_layout, view->n_modules);
	c.pieces = al_calloc(view->n_modules, sizeof(*c.pieces));
	for (; ok && c.n < view->n_modules; c.n += ok)
		ok = convert(&c, candidate, &view->modules[c.n], err);
	if (ok) {
		count(&c, candidate);
		ok = al_judge_factors(network, &factors, all, NULL, &candidate->measured, err);
	}
	conversion_finish(&c);
	return ok;
}

/* ---- all ---- */

static void add(struct al_frontier *f, enum al_method method, bool of_keys, int64_t rank)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->items[i].method == method && f->items[i].of_keys == of_keys
			&& f->items[i].rank == rank)
			return;
	if (f->n == f->room) {
		f->room = 2 * f->room + 16;
		f->items = al_realloc(f->items, f->room, sizeof(*f->items));
	}
	f->items[f->n++] = (struct al_candidate){.method = method,
		.rank = rank,
		.of_keys = of_keys};
}

static void add_shares(struct al_frontier *f, enum al_method method, bool of_keys, int64_t whole)
{
	static const double shares[] = {.875, .75, .625, .5, .375, .25, .125};

	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++)
		if ((int64_t)(shares[i] * (double)whole) >= 1)
			add(f, method, of_keys, (int64_t)(shares[i] * (double)whole));
}

static bool can(const struct al_model_view *view, enum al_method method, bool of_keys)
{
	for (size_t i = 0; i < view->n_modules; i++)
		if (!al_method_check(&view->modules[i], method, of_keys, NULL))
			return false;
	return true;
}

static void list(struct al_frontier *f, const struct al_model_view *view)
{
	const struct al_attention *a = &view->modules[0];
	const int64_t values = a->n_kv_heads * a->d_value;
	const int64_t width = values < a->factors[AL_VALUE].rows ? values
								 : a->factors[AL_VALUE].rows;

	if (can(view, AL_METHOD_DROP, false) && a->n_heads == a->n_kv_heads)
		for (int64_t n = 1; n <= a->n_heads / 2; n++)
			add(f, AL_METHOD_DROP, false, n);
	if (can(view, AL_METHOD_MERGE, false) && a->n_heads == a->n_kv_heads)
		for (int64_t n = 1; n <= a->n_heads / 2; n++)
			add(f, AL_METHOD_MERGE, false, n);
	if (can(view, AL_METHOD_MHE_MUL, false) && a->n_heads == a->n_kv_heads)
		add(f, AL_METHOD_MHE_MUL, false, al_method_bound(a, AL_METHOD_MHE_MUL));
	if (can(view, AL_METHOD_OV, false))
		add_shares(f, AL_METHOD_OV, false, a->d_value);
	if (can(view, AL_METHOD_LATENT, false))
		add_shares(f, AL_METHOD_LATENT, false, width);
	if (can(view, AL_METHOD_LATENT, true) && !a->is_rotary)
		add_shares(f, AL_METHOD_LATENT, true, width);
	if (can(view, AL_METHOD_GQA, false))
		for (int64_t left = a->n_kv_heads - 1; left >= 1; left--)
			if (a->n_kv_heads % left == 0) {
				add(f, AL_METHOD_GQA, false, left);
				if (can(view, AL_METHOD_GQA, true))
					add(f, AL_METHOD_GQA, true, left);
			}
}

static bool beats(const struct al_candidate *b, const struct al_candidate *a)
{
	return b->cached <= a->cached && b->measured.divergence < a->measured.divergence;
}

static void mark_best(struct al_frontier *f)
{
	for (size_t i = 0; i < f->n; i++) {
		f->items[i].is_best = true;
		for (size_t k = 0; k < f->n; k++)
			if (beats(&f->items[k], &f->items[i]))
				f->items[i].is_best = false;
	}
}

bool al_frontier_find(struct al_frontier *out, struct al_network *network,
	const struct al_calibration *calibration, const struct al_batch *all,
	const struct al_watch *watch, struct al_error *err)
{
	bool ok = true;

	*out = (struct al_frontier){0};
	list(out, network->view);
	for (size_t i = 0; ok && i < out->n; i++) {
		if (watch && watch->show)
			watch->show(watch->context, "conversions", i, out->n);
		ok = measure(&out->items[i], network, calibration, all, err)
			|| al_in(err, "%s", al_method_names[out->items[i].method]);
	}
	if (ok) {
		mark_best(out);
		return true;
	}
	free(out->items);
	*out = (struct al_frontier){0};
	return false;
}
