/* Sizes of the models that papers name. */
#include "paper/subject.h"

#include "ledger/infer.h"
#include "ledger/request/request.h"
#include "paper/models.h"

/* ---- sizes ---- */

static double symbol(struct al_request *q, const char *name)
{
	const struct al_setting *setting;

	return al_settings_get(&q->settings, name, &setting, NULL) && setting
		? (double)setting->value.integer
		: 0;
}

static void read_sizes(struct al_request *q, struct al_paper_subject *out)
{
	static const char *const names[AL_N_SIZES] = {
		[AL_DIM_LAYERS] = "n_layers",
		[AL_DIM_WIDTH] = "d_model",
		[AL_DIM_HEADS] = "n_heads",
		[AL_DIM_KV_HEADS] = "n_kv_heads",
		[AL_DIM_HEAD_DIM] = "d_head",
		[AL_DIM_FFN] = "d_ff",
		[AL_DIM_VOCAB] = "vocab",
		[AL_DIM_EXPERTS] = "n_experts",
		[AL_DIM_ACTIVE_EXPERTS] = "n_active",
	};

	for (int i = 0; i < AL_N_SIZES; i++)
		out->sizes[i] = names[i] ? symbol(q, names[i]) : 0;
	if (out->sizes[AL_DIM_KV_HEADS] > 0)
		out->sizes[AL_DIM_GROUP] = out->sizes[AL_DIM_HEADS] / out->sizes[AL_DIM_KV_HEADS];
}

static void read_totals(struct al_ledger *ledger, struct al_paper_subject *out)
{
	static const enum al_count counts[AL_N_TOTALS] = {AL_COUNT_PARAMETERS, AL_COUNT_ACTIVE,
		AL_COUNT_WITHOUT_EMBEDDING, AL_COUNT_NON_EMBEDDING};

	for (int i = 0; i < AL_N_TOTALS; i++) {
		AL_EXACT(total);
		out->totals[i] = al_ledger_count(ledger, counts[i], total, NULL) ? mpq_get_d(total)
										 : 0;
	}
}

static double bytes_of(const struct al_cache_entry *line)
{
	AL_EXACT(bytes);

	al_dtype_exact_bytes(line->storage, line->rank, bytes);
	return mpq_get_d(bytes);
}

/* Lines of the same limit and format are one. */
static void add_cached(struct al_arena *arena, const struct al_cache_entry *line,
	const struct al_dtype *asked, struct al_paper_subject *out, size_t *room)
{
	const double elements = mpq_get_d(line->rank), limit = (double)line->limit;
	const double bytes = line->storage == asked ? 0 : bytes_of(line) / elements;

	for (size_t i = 0; i < out->n_cached; i++)
		if (out->cached[i].limit == limit && out->cached[i].bytes == bytes) {
			out->cached[i].elements += elements;
			return;
		}
	*AL_APPEND(arena, out->cached, out->n_cached, *room) = (struct al_paper_cached){elements,
		limit, bytes};
}

/* Nothing of an encoder or of what isn't declared. */
static bool read_cache(struct al_arena *arena, struct al_ledger *ledger,
	struct al_paper_subject *out, struct al_error *err)
{
	enum { FAR = 1 << 30 };
	const struct al_dtype *bf16 = al_dtype_named("bf16");
	struct al_cache_entries cache;
	size_t room = 0;

	if (!al_ledger_declares_list(ledger, AL_LIST_CACHE, NULL))
		return true;
	if (!al_ledger_cache(ledger, bf16, FAR, FAR, 1, &cache, err))
		return false;
	for (size_t i = 0; i < cache.n; i++) {
		const struct al_cache_entry *line = &cache.lines[i];
		if (!line->rank || mpq_sgn(line->rank) == 0 || line->is_draft)
			continue;
		if (line->kind == AL_CACHE_STATE)
			out->state_bytes += bytes_of(line);
		else
			add_cached(arena, line, bf16, out, &room);
	}
	double *s = out->sizes;
	const double each = 2 * s[AL_DIM_KV_HEADS] * s[AL_DIM_HEAD_DIM];
	const bool has_windows = out->n_cached > 1
		|| (out->n_cached > 0 && out->cached[0].limit > 0);
	const bool is_even = out->n_cached == 1 && !has_windows && each > 0
		&& fmod(out->cached[0].elements, each) == 0;
	const double n_layers = is_even ? out->cached[0].elements / each : 0;
	if (!has_windows)
		s[AL_DIM_CACHED_LAYERS] = out->state_bytes > 0 ? n_layers : s[AL_DIM_LAYERS];
	out->has_plain_cache = is_even && n_layers == s[AL_DIM_LAYERS];
	return true;
}

double al_paper_kept(const struct al_paper_cached *cached, double tokens, bool is_whole)
{
	return cached->limit > 0 && !is_whole ? fmin(tokens, cached->limit) : tokens;
}

double al_paper_cache_bytes(const struct al_paper_subject *subject, double tokens, double batch,
	double bytes, bool is_whole, bool has_states)
{
	double sum = has_states ? subject->state_bytes : 0;

	for (size_t i = 0; i < subject->n_cached; i++) {
		const struct al_paper_cached *c = &subject->cached[i];
		sum += c->elements * al_paper_kept(c, tokens, is_whole)
			* (c->bytes > 0 ? c->bytes : bytes);
	}
	return sum * batch;
}

/* ---- a model ---- */

static bool read_ledger(struct al_request *q, struct al_arena *arena, struct al_paper_subject *out,
	struct al_error *err)
{
	const struct al_ledger_ask ask = al_request_ask(q, &q->variants.items[0],
		al_request_is_about_model(q, true));
	struct al_ledger *ledger = al_ledger_create(q->arena, &ask, err);

	if (!ledger || !read_cache(arena, ledger, out, err))
		return false;
	if (q->family)
		read_totals(ledger, out);
	return true;
}

static const struct al_paper_subject *read_subject(struct al_paper_subjects *s,
	struct al_paper_model *model)
{
	struct al_error err = {0};
	AL_ARENA(scratch);
	struct al_request q;
	struct al_paper_subject *out = al_new(s->arena, struct al_paper_subject);
	const struct al_asked asked = {.subject = model->word,
		.per = AL_BASIS_MODEL,
		.has_no_recipe = true};

	if (!al_request_init(&q, &scratch, s->catalog, &asked, &err)) {
		model->failure = al_strdup(s->arena, err.message);
		return NULL;
	}
	out->title = al_strdup(s->arena, model->has_own_title ? model->names[0] : q.title);
	out->from = model->from;
	read_sizes(&q, out);
	const bool ok = read_ledger(&q, s->arena, out, &err);
	al_request_finish(&q);
	if (!ok)
		model->failure = al_strdup(s->arena, err.message);
	return ok ? out : NULL;
}

bool al_paper_subjects_check(const struct al_paper_subjects *subjects, struct al_error *err)
{
	for (size_t i = 0; i < subjects->n; i++)
		if (subjects->models[i].failure && subjects->models[i].is_file)
			return al_fail(err, AL_EINPUT, "%s", subjects->models[i].failure);
	return true;
}

const struct al_paper_subject *al_paper_subject_find(struct al_paper_subjects *subjects,
	const char *label)
{
	struct al_paper_model *model = al_paper_model_find(subjects, label);

	if (model && !model->is_read) {
		model->subject = al_paper_model_word(subjects, label)
			? read_subject(subjects, model)
			: NULL;
		model->is_read = true;
	}
	return model ? model->subject : NULL;
}
