/* The options that lay a whole model over devices. */
#include "commands/devices.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

static bool add_part(struct al_share *share, const char *name, struct al_error *err)
{
	const char *names[AL_N_PARTS + 1];

	for (int i = 0; i < AL_N_PARTS; i++)
		names[i] = al_part_names[i];
	names[AL_N_PARTS] = "layers";
	int found = al_find_name(name, names, AL_N_PARTS + 1);
	if (found < 0)
		return al_fail_unknown(err, "part", name, names, AL_N_PARTS + 1);
	if (found == AL_N_PARTS)
		share->only_layers = true;
	else
		share->parts |= 1u << found;
	return true;
}

static bool read_share(struct session *session, struct al_share *share, struct al_error *err)
{
	char *rest = al_strdup(&session->arena, option_value(&session->arguments, OPT_PART, ""));

	for (char *name = strtok_r(rest, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
		if (!add_part(share, name, err))
			return al_in(err, "--part");
	if (!share->parts)
		share->parts = AL_ALL_PARTS;
	return true;
}

static bool read_word(struct session *session, enum option option, const char *const *words,
	size_t n, int *out, struct al_error *err)
{
	const char *word = option_value(&session->arguments, option, NULL);

	if (!word)
		return true;
	*out = al_find_name(word, words, n);
	return *out >= 0 || al_fail_unknown(err, option_name(option), word, words, n);
}

bool devices_init(struct al_training *t, struct session *session,
	const struct al_question *question, struct al_error *err)
{
	static const char *const kernels[] = {"eager", "flash"};
	const struct arguments *a = &session->arguments;
	int recompute = AL_RECOMPUTE_NONE, kernel = question->recipe->is_flash;
	int64_t zero;

	*t = (struct al_training){.recipe = question->recipe,
		.is_sequence_parallel = is_given(a, OPT_SP)};
	if (!read_share(session, &t->share, err) || !option_count(a, OPT_TP, 1, 1, &t->tp, err)
		|| !option_count(a, OPT_PP, 1, 1, &t->pp, err)
		|| !option_count(a, OPT_INTERLEAVE, 1, 1, &t->interleave, err)
		|| !option_count(a, OPT_DP, 1, 1, &t->dp, err)
		|| !option_count(a, OPT_CP, 1, 1, &t->cp, err)
		|| !option_count(a, OPT_EP, 1, 1, &t->ep, err)
		|| !option_count(a, OPT_ZERO, 0, 0, &zero, err)
		|| !read_word(session, OPT_RECOMPUTE, al_recompute_names, AL_N_RECOMPUTES,
			&recompute, err)
		|| !read_word(session, OPT_ATTENTION, kernels, 2, &kernel, err))
		return false;
	if (zero > 3)
		return al_fail(err, AL_EINPUT, "--zero %lld: expected 0, 1, 2 or 3",
			(long long)zero);
	t->zero = (int)zero;
	t->recompute = (enum al_recompute)recompute;
	t->is_flash = kernel == 1;
	return true;
}

static bool read_number(struct al_question *q, const char *symbol, bool required, int64_t *out,
	struct al_error *err)
{
	const struct al_setting *setting;

	if (!al_settings_get(&q->settings, symbol, &setting, err))
		return false;
	if (!setting)
		return !required
			|| al_fail(err, AL_EINPUT, "%s is not given, expected --%s N", symbol,
				symbol);
	*out = setting->value.integer;
	return *out >= 1
		|| al_fail(err, AL_EINPUT, "%s is %lld, expected at least 1", symbol,
			(long long)*out);
}

bool devices_tokens(struct al_training *t, struct al_question *q, struct al_error *err)
{
	return read_number(q, "batch", true, &t->batch, err)
		&& read_number(q, "seq", true, &t->seq, err)
		&& read_number(q, "rank", false, &t->rank, err);
}

bool is_about_whole(const struct al_question *question, const struct session *session)
{
	return question->family && question->basis.per == AL_BASIS_MODEL
		&& (question->is_own || is_given(&session->arguments, OPT_WHOLE));
}

bool devices_refuse(const struct session *session, const struct al_question *question,
	struct al_error *err)
{
	for (int i = 0; i < N_OPTIONS; i++)
		if ((OPTIONS_DEVICES & ~OPTION(OPT_DTYPE)) >> i & 1
			&& is_given(&session->arguments, (enum option)i))
			return al_fail(err, AL_EINPUT,
				question->family ? "--%s is about a whole model, and variants are "
						   "compared as attention blocks; "
						   "add --whole"
						 : "--%s is about a whole model, of which only "
						   "attention is known",
				option_name((enum option)i));
	return true;
}

void devices_note(const struct al_training *t, struct al_table *table)
{
	al_table_note(table, "batch %lld, %lld tokens; %s attention, recompute %s",
		(long long)t->batch, (long long)t->seq, t->is_flash ? "flash" : "eager",
		al_recompute_names[t->recompute]);
	if (t->tp * t->pp * t->dp * t->cp > 1) /* ep divides dp*cp */
		al_table_note(table,
			"one of %lld devices: tp=%lld%s, pp=%lld%s, dp=%lld, cp=%lld, ep=%lld, "
			"ZeRO stage %d",
			(long long)(t->tp * t->pp * t->dp * t->cp), (long long)t->tp,
			t->is_sequence_parallel ? " with sequence parallelism" : "",
			(long long)t->pp,
			t->interleave == 1
				? ""
				: al_format(&table->arena, " with %lld blocks of layers each",
					(long long)t->interleave),
			(long long)t->dp, (long long)t->cp, (long long)t->ep, t->zero);
}

bool question_whole(struct al_question *q, const struct al_variant_use *use, int64_t tp,
	enum al_books_detail detail, struct al_whole *whole, struct al_error *err)
{
	const struct al_whole_ask ask = {.catalog = q->catalog,
		.family = q->family,
		.settings = &q->settings,
		.basis = &q->basis,
		.use = use,
		.tp = tp,
		.detail = detail};

	return al_whole_init(whole, &ask, err) || al_in(err, "%s", q->name);
}

static void copy_stage(struct al_stage *to, const struct al_stage *from)
{
	for (int state = 0; state < AL_N_MEMORY_STATES; state++)
		for (int part = 0; part < AL_N_PARTS; part++)
			mpq_set(to->bytes[state][part], from->bytes[state][part]);
}

static bool check_stages(const struct al_whole *whole, const struct al_training *t,
	struct al_error *err)
{
	for (size_t i = 0; i < whole->n_modules; i++) {
		const char *name = whole->modules[i].module->module->name;
		int64_t n_layers = whole->modules[i].n_layers;
		if (n_layers < t->pp)
			return al_fail(err, AL_EINPUT,
				"pp is %lld, expected at most as many stages as the %lld "
				"layers of %s",
				(long long)t->pp, (long long)n_layers, name);
		if (n_layers / t->pp < t->interleave)
			return al_fail(err, AL_EINPUT,
				"interleave is %lld, expected at most %lld, the %lld layers "
				"of %s over %lld stages",
				(long long)t->interleave, (long long)(n_layers / t->pp),
				(long long)n_layers, name, (long long)t->pp);
	}
	return true;
}

/* The first of the largest. */
static int64_t find_largest(const struct al_stage *stages, int64_t n)
{
	int64_t largest = 0;
	mpq_t total, most;

	mpq_inits(total, most, NULL);
	mpq_set_si(most, -1, 1);
	for (int64_t i = 0; i < n; i++) {
		al_stage_total(&stages[i], total);
		if (mpq_cmp(total, most) <= 0)
			continue;
		mpq_set(most, total);
		largest = i;
	}
	mpq_clears(total, most, NULL);
	return largest;
}

bool train_stages(struct al_whole *whole, const struct al_training *t, struct al_stage *stage,
	int64_t *index, struct al_error *err)
{
	if (!check_stages(whole, t, err))
		return false;
	struct al_stage *stages = al_calloc((size_t)t->pp, sizeof(*stages));
	for (int64_t i = 0; i < t->pp; i++)
		al_stage_init(&stages[i]);
	bool ok = al_whole_train(whole, t, stages, err);
	if (ok) {
		*index = find_largest(stages, t->pp);
		copy_stage(stage, &stages[*index]);
	}
	for (int64_t i = 0; i < t->pp; i++)
		al_stage_finish(&stages[i]);
	free(stages);
	return ok;
}

bool train_largest(struct al_question *q, const struct al_variant_use *use,
	const struct al_training *t, struct al_stage *stage, int64_t *index, struct al_error *err)
{
	struct al_whole whole;

	if (!question_whole(q, use, t->tp, t->pp > 1 ? AL_BOOKS_LAYERS : AL_BOOKS_KINDS, &whole,
		    err))
		return false;
	bool ok = train_stages(&whole, t, stage, index, err);
	al_whole_finish(&whole);
	return ok;
}
