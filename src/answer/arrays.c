/* evaluate --arrays. Sequences pass one at a time, and each array's part of one is put aside. */
#include "answer/arrays.h"

#include "answer/kernel.h"
#include "answer/losses.h"
#include "audit/select.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"
#include "formats/npy.h"

const struct al_option_row al_arrays_rows[] = {
	OPTION_TEXT(struct al_arrays_options, folder, "arrays", "DIR",
		"also write tokens, losses or an encoder's states as .npy"),
	OPTION_TEXT(struct al_arrays_options, heads, "array-heads", "LAYER:HEAD,...",
		"with --arrays: also the attention weights and outputs of these heads; *: all"),
	OPTION_FLAG(struct al_arrays_options, has_logits, "array-logits",
		"with --arrays: also the logits of all tokens"),
	OPTION_END,
};

bool al_arrays_check(const struct al_arrays_options *o, struct al_error *err)
{
	return o->folder || (!o->heads && !o->has_logits)
		|| al_fail(err, AL_EINPUT, "%s needs --arrays DIR",
			o->heads ? "--array-heads" : "--array-logits");
}

/* A head that is written; of the sequence at hand. */
struct chosen {
	const struct al_attention *attention;
	size_t head;
	float *weights; /* [longest][longest], a query's after the other's */
};

struct writing {
	struct al_session *session;
	const struct al_arrays_options *options;
	struct al_network *network;
	const struct al_batch *all;
	size_t longest;
	struct chosen *chosen;
	size_t n_chosen, room;
	struct al_text *index; /* items of its list */
	size_t sequence; /* at hand, counted from 0 */
	size_t n_tokens;
};

/* ---- which heads ---- */

/* "3" is layer 3, "decoder.3.cross" a module. */
static bool is_module(const struct al_attention *attention, const char *name)
{
	int64_t layer;
	const size_t n = al_read_digits(name, &layer);

	return n > 0 && !name[n] ? attention->layer == layer
				 : al_select_module(name, attention->name);
}

static bool choose_named(struct writing *w, const struct al_named_head *named, struct al_error *err)
{
	const struct al_model_view *view = w->network->view;
	const size_t before = w->n_chosen;

	for (size_t i = 0; i < view->n_modules; i++) {
		const struct al_attention *attention = &view->modules[i];
		for (int64_t k = 0; is_module(attention, named->module) && k < attention->n_heads;
			k++)
			if (named->head < 0 || k == named->head)
				*AL_APPEND(&w->session->arena, w->chosen, w->n_chosen,
					w->room) = (struct chosen){attention, (size_t)k, NULL};
	}
	return w->n_chosen > before
		|| al_fail(err, AL_EINPUT, "--array-heads %s:%s: the model has no such head",
			named->module,
			named->head < 0
				? "*"
				: al_format(&w->session->arena, "%lld", (long long)named->head));
}

static bool choose_all(struct writing *w, struct al_error *err)
{
	struct al_named_head *named;
	size_t n;

	if (!w->options->heads)
		return true;
	if (!al_option_heads(&w->session->arena, "array-heads", w->options->heads, true, &named, &n,
		    err))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!choose_named(w, &named[i], err))
			return false;
	return true;
}

/* ---- files ---- */

/* An array's part of a sequence: of the first, after its header, and its line of the index. */
struct array {
	const char *name, *what, *axes; /* `axes`: a JSON list without brackets */
	const char *dtype; /* as numpy calls it: "<f4" */
	size_t shape[3], n_dims; /* behind the sequences */
};

static void list(struct writing *w, const struct array *a)
{
	struct al_text *out = w->index;

	al_text_addf(out, "%s\n    {\"file\": \"%s\", \"holds\": ", out->length ? "," : "",
		a->name);
	al_json_quote(out, a->what);
	al_text_addf(out, ", \"axes\": [\"sequence\", %s], \"dtype\": \"%s\", \"shape\": [%zu",
		a->axes, a->dtype, w->all->n_sequences);
	for (size_t i = 0; i < a->n_dims; i++)
		al_text_addf(out, ", %zu", a->shape[i]);
	al_text_add(out, "]}");
}

static bool put(struct writing *w, const struct array *a, const void *data, struct al_error *err)
{
	size_t shape[4] = {w->all->n_sequences}, bytes = 4;
	AL_TEXT(content);

	for (size_t i = 0; i < a->n_dims; i++) {
		shape[i + 1] = a->shape[i];
		bytes *= a->shape[i];
	}
	if (w->sequence == 0) {
		list(w, a);
		al_npy_add_header(&content, a->dtype, shape, a->n_dims + 1);
	}
	al_text_add_bytes(&content, data, bytes);
	return al_files_put_aside(&w->session->files, w->options->folder, a->name, &content, err);
}

static float *new_padded(size_t n)
{
	float *x = al_alloc(n, sizeof(*x));

	for (size_t i = 0; i < n; i++)
		x[i] = NAN;
	return x;
}

/* ---- of a sequence ---- */

static bool put_tokens(struct writing *w, const struct al_batch *batch, struct al_error *err)
{
	const struct array array = {"tokens.npy", "token ids, -1 behind a sequence's end",
		"\"token\"", "<i4", {w->longest}, 1};
	AL_FREED int32_t *ids = al_alloc(w->longest, sizeof(*ids));

	for (size_t i = 0; i < w->longest; i++)
		ids[i] = i < w->n_tokens ? batch->tokens[i] : -1;
	return put(w, &array, ids, err);
}

/* Called for other heads at the same time. */
static void take_weights(void *context, const struct al_layer *layer, const struct al_batch *batch,
	size_t sequence, size_t head, size_t first, size_t low, struct al_view_f weights)
{
	const struct writing *w = context;

	(void)batch;
	(void)sequence; /* there is one */
	for (size_t i = 0; i < w->n_chosen; i++) {
		const struct chosen *c = &w->chosen[i];
		if (c->attention != al_layer_attention(layer) || c->head != head)
			continue;
		for (size_t j = 0; j < weights.cols; j++)
			memcpy(c->weights + (first + j) * w->longest + low,
				weights.data + j * weights.ld, weights.rows * sizeof(float));
	}
}

static bool put_head(struct writing *w, struct chosen *c, struct al_view_f o, struct al_error *err)
{
	struct al_arena *arena = &w->session->arena;
	const size_t n = w->longest, width = (size_t)c->attention->d_value;
	const char *name = al_format(arena, "%s.%zu", c->attention->name, c->head);
	const struct array weights = {al_format(arena, "%s.attention.npy", name),
		al_format(arena, "attention weights of head %zu of %s", c->head,
			c->attention->name),
		"\"query\", \"key\"", "<f4", {n, n}, 2};
	const struct array outputs = {al_format(arena, "%s.output.npy", name),
		al_format(arena, "output of head %zu of %s, before W_O", c->head,
			c->attention->name),
		"\"token\", \"dimension\"", "<f4", {n, width}, 2};
	AL_FREED float *x = new_padded(n * width);

	for (size_t j = 0; j < w->n_tokens; j++)
		memcpy(x + j * width, o.data + c->head * width + j * o.ld, width * sizeof(*x));
	return put(w, &weights, c->weights, err) && put(w, &outputs, x, err);
}

static bool put_layer(void *context, const struct al_layer *layer, const struct al_trace *trace,
	struct al_view_f o, struct al_error *err)
{
	struct writing *w = context;

	(void)trace;
	for (size_t i = 0; i < w->n_chosen; i++)
		if (w->chosen[i].attention == al_layer_attention(layer)
			&& !put_head(w, &w->chosen[i], o, err))
			return false;
	return true;
}

static bool put_hidden(void *context, const struct al_batch *batch, struct al_view_f hidden,
	struct al_error *err)
{
	struct writing *w = context;
	const size_t width = hidden.rows;
	const struct array array = {"hidden.npy", "last hidden states", "\"token\", \"dimension\"",
		"<f4", {w->longest, width}, 2};
	AL_FREED float *all = new_padded(w->longest * width);

	(void)batch;
	for (size_t j = 0; j < hidden.cols; j++)
		memcpy(all + j * width, hidden.data + j * hidden.ld, width * sizeof(*all));
	return put(w, &array, all, err);
}

static bool put_logits(void *context, const struct al_batch *batch, struct al_view_f hidden,
	struct al_error *err)
{
	enum { TOKENS_AT_ONCE = 64 };
	struct writing *w = context;
	const size_t vocab = (size_t)w->network->vocab;
	const struct array array = {"logits.npy", "logits of the next token", "\"token\", \"word\"",
		"<f4", {w->longest, vocab}, 2};
	AL_FREED float *all = new_padded(w->longest * vocab);

	for (size_t first = 0; first < hidden.cols; first += TOKENS_AT_ONCE) {
		const size_t left = hidden.cols - first;
		const size_t n = al_least(left, TOKENS_AT_ONCE);
		AL_OWNED_F struct al_matrix_f logits = {0};
		if (!al_network_logits(w->network, batch, al_columns_f(hidden, first, n), &logits,
			    err))
			return false;
		for (size_t j = 0; j < n; j++)
			memcpy(all + (first + j) * vocab, logits.data + j * logits.ld,
				vocab * sizeof(*all));
	}
	return put(w, &array, all, err);
}

/* A query's weights are 0 on keys that nobody gives, NaN behind the sequence's end. */
static void begin_heads(struct writing *w)
{
	const size_t n = w->longest;

	for (size_t i = 0; i < w->n_chosen; i++) {
		float *x = w->chosen[i].weights;
		for (size_t q = 0; q < n; q++)
			for (size_t k = 0; k < n; k++)
				x[q * n + k] = q < w->n_tokens && k < w->n_tokens ? 0 : (float)NAN;
	}
}

static bool put_sequence(struct writing *w, struct al_error *err)
{
	const size_t begin = w->all->begin[w->sequence], end = w->all->begin[w->sequence + 1];
	const size_t ends[] = {0, end - begin};
	const struct al_batch batch = {w->all->tokens + begin, ends, 1,
		w->all->first_sequence + w->sequence};
	const struct al_weights_taker taker = {take_weights, w};
	const bool is_encoder = w->network->how->kind == AL_FORWARD_ENCODER;
	const struct al_visitor visitor = {.trace = w->n_chosen ? put_layer : NULL,
		.weights = w->n_chosen ? &taker : NULL,
		.hidden = is_encoder		 ? put_hidden
			: w->options->has_logits ? put_logits
						 : NULL,
		.context = w};

	w->n_tokens = end - begin;
	begin_heads(w);
	return put_tokens(w, &batch, err)
		&& ((!w->n_chosen && !visitor.hidden)
			|| al_network_pass(w->network, &batch, NULL, &visitor, err));
}

/* ---- all ---- */

static bool reserve(struct writing *w, struct al_error *err)
{
	const size_t one = w->longest * w->longest * sizeof(float);
	const size_t logits = w->options->has_logits ? w->longest * (size_t)w->network->vocab * 4
						     : 0;

	if (!al_memory_has_room(w->n_chosen * one + 2 * logits))
		return al_fail(err, AL_ESYSTEM,
			"not enough memory for --arrays: the weights of %zu heads on %zu tokens, "
			"and "
			"logits, take %zu bytes; choose fewer heads or shorter sequences",
			w->n_chosen, w->longest, w->n_chosen * one + 2 * logits);
	for (size_t i = 0; i < w->n_chosen; i++)
		w->chosen[i].weights = al_arena_alloc(&w->session->arena, w->longest * w->longest,
			sizeof(float));
	return true;
}

static void add_index(struct writing *w, uint64_t fingerprint)
{
	struct al_text *out = al_files_add(&w->session->files, w->options->folder, "index", "json");
	struct al_arena *arena = &w->session->arena;

	al_text_add(out, "{\n  \"attnledger\": ");
	al_json_quote(out, al_version());
	al_text_add(out, ",\n  \"command\": ");
	al_json_quote(out, al_session_command_text(w->session));
	al_text_add(out, ",\n  \"computed_with\": ");
	al_json_quote(out, al_kernel_library(arena));
	al_text_add(out, ",\n  \"checkpoint\": ");
	al_json_quote(out, w->network->view->checkpoint->path);
	al_text_addf(out,
		",\n  \"fingerprint\": \"%s\",\n  \"arrays\": [%s\n  "
		"]\n}\n",
		al_fingerprint_text(arena, fingerprint), w->index->data);
}

bool al_arrays_add(struct al_session *session, const struct al_opened_model *model,
	const struct al_arrays_options *options, const double *losses, struct al_error *err)
{
	struct writing w = {.session = session,
		.options = options,
		.network = &model->running->network,
		.all = &model->running->all,
		.longest = al_losses_longest(&model->running->all)};
	AL_TEXT(index);
	uint64_t fingerprint;

	w.index = &index;
	if (!choose_all(&w, err) || !reserve(&w, err)
		|| !al_checkpoint_hash(model->file->checkpoint, NULL, &fingerprint, err))
		return false;
	bool ok = true;
	for (; ok && w.sequence < w.all->n_sequences; w.sequence++)
		ok = put_sequence(&w, err);
	if (!ok)
		return false;
	if (losses) {
		const struct array array = {"losses.npy",
			"loss of each token in nats, NaN for the first", "\"token\"", "<f8",
			{w.longest}, 1};
		list(&w, &array);
		al_losses_add_file(session,
			al_format(&session->arena, "%s/losses.npy", options->folder), w.all, losses,
			1);
	}
	add_index(&w, fingerprint);
	return true;
}
