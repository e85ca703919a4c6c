/* Behavior: what heads attend to on random tokens that come twice, r1 .. rn r1 .. rn, behind the
 * token that begins a text, if the model has one. An induction head attends from a token to what
 * followed its earlier occurrence (Olsson et al. 2022, arXiv:2209.11895: random tokens, repeated),
 * a duplicate-token head to the earlier occurrence. No other token comes twice, and all are the
 * same in each recording of a model. */
#include "model/calibration/attended.h"

#include "base/random.h"

enum { RANDOM_TOKENS = 50, RANDOM_SEQUENCES = 32, MOST_NAMED = 32 };

/* ---- tokens ---- */

static const char *const named[] = {"bos_token_id", "eos_token_id", "pad_token_id", "cls_token_id",
	"sep_token_id", "unk_token_id", "mask_token_id", "decoder_start_token_id"};

struct repeated {
	struct al_network *network;
	bool *is_taken; /* [vocab] */
	size_t n_left; /* tokens that may be drawn */
	int32_t first; /* of a text; -1: the model has none */
	size_t n; /* of tokens that repeat */
	size_t length;
	int32_t *tokens;
	size_t *begin;
};

/* Tokens that mean something of their own aren't drawn. */
static bool leave_named(struct repeated *r, struct al_error *err)
{
	r->first = -1;
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++) {
		int32_t tokens[MOST_NAMED];
		size_t n;
		if (!al_network_named_tokens(r->network, named[i], tokens, MOST_NAMED, &n, err))
			return false;
		if (i == 0 && n > 0)
			r->first = tokens[0];
		for (size_t j = 0; j < n; j++) {
			r->n_left -= !r->is_taken[tokens[j]];
			r->is_taken[tokens[j]] = true;
		}
	}
	return true;
}

static bool choose_length(struct repeated *r, struct al_error *err)
{
	const size_t n_before = r->first >= 0, longest = (size_t)r->network->longest;

	r->n = al_least(RANDOM_TOKENS, r->n_left);
	if (longest > 0)
		r->n = al_least(r->n, (longest - n_before) / 2);
	r->length = n_before + 2 * r->n;
	return r->n >= 2
		|| al_fail(err, AL_EINPUT,
			"two are needed, but the model has %zu positions and %zu ordinary tokens: "
			"leave --behavior out",
			longest, r->n_left);
}

static void draw(struct repeated *r, size_t sequence)
{
	struct al_random *random = al_random_create(0, sequence, 0, 0);
	int32_t *at = r->tokens + r->begin[sequence];

	if (r->first >= 0)
		*at++ = r->first;
	for (size_t i = 0; i < r->n;) {
		const double u = al_random_uniform(random);
		const int32_t token = (int32_t)(u * (double)r->network->vocab);
		if (r->is_taken[token])
			continue;
		r->is_taken[token] = true;
		at[i] = at[r->n + i] = token;
		i++;
	}
	for (size_t i = 0; i < r->n; i++)
		r->is_taken[at[i]] = false;
	al_random_destroy(random);
}

static void repeated_finish(struct repeated *r)
{
	free(r->is_taken);
	free(r->tokens);
	free(r->begin);
}

static bool repeated_init(struct repeated *r, struct al_network *network, struct al_error *err)
{
	const size_t vocab = (size_t)network->vocab;

	*r = (struct repeated){.network = network,
		.is_taken = al_calloc(vocab, sizeof(*r->is_taken)),
		.n_left = vocab};
	return leave_named(r, err) && choose_length(r, err);
}

static void draw_all(struct repeated *r)
{
	r->tokens = al_alloc(RANDOM_SEQUENCES * r->length, sizeof(*r->tokens));
	r->begin = al_alloc(RANDOM_SEQUENCES + 1, sizeof(*r->begin));
	for (size_t i = 0; i <= RANDOM_SEQUENCES; i++)
		r->begin[i] = i * r->length;
	for (size_t i = 0; i < RANDOM_SEQUENCES; i++)
		draw(r, i);
}

static bool explain(struct al_error *err)
{
	return al_in(err, "random tokens that repeat");
}

bool al_calibration_check_behavior(struct al_network *network, struct al_error *err)
{
	struct repeated r;
	const bool ok = repeated_init(&r, network, err);

	repeated_finish(&r);
	return ok || explain(err);
}

/* ---- recording ---- */

static const struct {
	enum al_statistic_kind from, to;
} taken[] = {
	{AL_STATISTIC_PREVIOUS, AL_STATISTIC_RANDOM_PREVIOUS},
	{AL_STATISTIC_DUPLICATES, AL_STATISTIC_RANDOM_DUPLICATES},
	{AL_STATISTIC_SUCCESSORS, AL_STATISTIC_RANDOM_SUCCESSORS},
};
enum { N_TAKEN = sizeof(taken) / sizeof(*taken) };

struct behaving {
	struct al_calibration *calibration;
	const struct al_attention *first; /* of the view's modules */
	struct al_attended attended;
};

static bool add_layer(void *context, const struct al_layer *layer, const struct al_trace *trace,
	struct al_view_f o, struct al_error *err)
{
	struct behaving *b = context;
	struct al_matrix *of = b->calibration->modules[al_layer_attention(layer) - b->first].of;
	double sums[AL_N_ATTENDED];

	(void)o;
	(void)err;
	for (size_t s = 0; s < trace->batch->n_sequences; s++)
		for (size_t head = 0; head < of[AL_STATISTIC_NORMS].rows; head++) {
			al_attended_take(&b->attended, s, head, sums);
			for (size_t i = 0; i < N_TAKEN; i++) {
				const struct al_matrix to = of[taken[i].to];
				const size_t fold = (trace->batch->first_sequence + s) % to.cols;
				to.data[head + fold * to.ld] +=
					sums[taken[i].from - AL_STATISTIC_SELF];
			}
		}
	return true;
}

static bool init_statistics(struct al_calibration *calibration, const struct repeated *r,
	struct al_error *err)
{
	const size_t n_folds = calibration->n_folds;
	const size_t counts[] =
		{[AL_QUERIES_RANDOM_LATER] = r->length - 1, [AL_QUERIES_RANDOM_REPEATED] = r->n};

	for (int kind = AL_QUERIES_RANDOM_LATER; kind <= AL_QUERIES_RANDOM_REPEATED; kind++) {
		calibration->n_queries[kind] = al_calloc(n_folds, sizeof(int64_t));
		for (size_t i = 0; i < RANDOM_SEQUENCES; i++)
			calibration->n_queries[kind][i % n_folds] += (int64_t)counts[kind];
	}
	for (size_t i = 0; i < calibration->n_modules; i++)
		for (size_t j = 0; j < N_TAKEN; j++) {
			struct al_module_statistics *module = &calibration->modules[i];
			if (!al_matrix_init(&module->of[taken[j].to], al_statistics_heads(module),
				    n_folds, err))
				return false;
		}
	return true;
}

bool al_calibration_begin_behavior(struct al_calibration *calibration, struct al_network *network,
	struct al_error *err)
{
	struct repeated r;
	const bool ok = repeated_init(&r, network, err) && init_statistics(calibration, &r, err);

	repeated_finish(&r);
	return ok || explain(err);
}

bool al_calibration_record_behavior(struct al_calibration *calibration, struct al_network *network,
	const struct al_watch *watch, struct al_error *err)
{
	struct behaving b = {.calibration = calibration, .first = network->view->modules};
	struct repeated r;
	bool ok = repeated_init(&r, network, err);

	if (ok) {
		draw_all(&r);
		const struct al_batch all = {r.tokens, r.begin, RANDOM_SEQUENCES, 0};
		al_attended_init(&b.attended, network->view, &all);
		ok = al_network_pass(network, &all, watch,
			&(struct al_visitor){.trace = add_layer,
				.weights = &b.attended.taker,
				.context = &b},
			err);
		al_attended_finish(&b.attended);
	}
	repeated_finish(&r);
	return ok || explain(err);
}
