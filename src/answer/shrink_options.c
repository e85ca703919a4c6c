/* Options of `shrink`, and the text in three parts. */
#include "answer/shrink.h"

/* ---- options ---- */

static const char *const purposes[AL_N_SHRINK_FOR] = {"file", "cache"};

static const struct al_option_row file_rows[] = {
	OPTION_TEXT(struct al_shrink_words, file, "output", "FILE|FOLDER",
		"what to write: a GGUF file of a GGUF model, else a folder or a safetensors file",
		.letter = 'o', .is_required = true),
	OPTION_END,
};

static const struct al_option_row shrink_rows[] = {
	OPTION_TEXT(struct al_shrink_words, limit, "limit", "LOSS",
		"as small as it can be within 1%ppl (perplexity), 0.01nats or 0.01kl"),
	OPTION_TEXT(struct al_shrink_words, budget, "budget", "P%",
		"least loss at this share of the source's size"),
	OPTION_SET(struct al_shrink_words, is_for, "for", "WHAT",
		"what is to be small, separated by commas (default file)", .words = purposes,
		.n_words = AL_N_SHRINK_FOR),
	OPTION_TEXT(struct al_shrink_words, context, "context", "N",
		"tokens in the cache (default: the model's context)"),
	OPTION_END,
};

const struct al_option_group al_shrink_groups[] = {{al_format_rows, 0}, {file_rows, 0},
	{al_display_rows, 0}, {al_only_rows, 0},
	{al_layout_rows, offsetof(struct al_shrink_words, layout)}, {shrink_rows, 0},
	{al_input_rows, offsetof(struct al_shrink_words, input)}, {NULL, 0}};

/* "1%ppl", "0.01nats", "0.01kl" */
static bool read_limit(const char *text, struct al_shrink_goal *out, struct al_error *err)
{
	char *end;

	if (!text)
		return true;
	const double number = strtod(text, &end);
	const bool is_perplexity = strcmp(end, "%ppl") == 0;
	out->is_divergence = strcmp(end, "kl") == 0;
	out->limit = is_perplexity ? log1p(number / 100) : number;
	return (end != text && out->limit > 0 && isfinite(out->limit)
		       && (is_perplexity || out->is_divergence || strcmp(end, "nats") == 0))
		|| al_fail(err, AL_EINPUT,
			"--limit %s: use 1%%ppl (more perplexity), 0.01nats or 0.01kl, more than 0",
			text);
}

/* "50%", ".5" */
static bool read_budget(const char *text, struct al_shrink_goal *out, struct al_error *err)
{
	const char *end;

	return !text || (al_option_share(text, &out->budget, &end) && !*end)
		|| al_fail(err, AL_EINPUT,
			"--budget %s: use the share that is left, between 0%% and 100%%, such as "
			"50%%",
			text);
}

static bool read_context(const char *text, struct al_shrink_goal *out, struct al_error *err)
{
	if (!text)
		return true;
	const size_t n = al_read_tokens(text, &out->context);
	if (n == 0 || text[n] || out->context < 1)
		return al_fail(err, AL_EINPUT,
			"--context %s: use a number of tokens such as 4096, 4k or 1M", text);
	return out->of_cache || al_fail(err, AL_EINPUT, "--context only applies to --for cache");
}

bool al_shrink_read(const struct al_shrink_words *o, struct al_shrink_goal *out,
	struct al_error *err)
{
	*out = (struct al_shrink_goal){
		.of_file = o->is_for == 0 || (o->is_for >> AL_SHRINK_FOR_FILE & 1),
		.of_cache = o->is_for >> AL_SHRINK_FOR_CACHE & 1,
	};
	if ((o->limit != NULL) == (o->budget != NULL))
		return al_fail(err, AL_EINPUT,
			"pass one of --limit 1%%ppl (as small as it can be) and --budget 50%% "
			"(least loss at a size)");
	return read_limit(o->limit, out, err) && read_budget(o->budget, out, err)
		&& read_context(o->context, out, err) && al_input_check(&o->input, err);
}

/* ---- the text ---- */

/* Of each part the standard error needs some sequences. */
enum { LEAST_SEQUENCE = 16, SEQUENCES = 12, LEAST_TOKENS = LEAST_SEQUENCE * SEQUENCES };

static size_t *cut(struct al_arena *arena, const struct al_batch *all, size_t most, size_t *n)
{
	size_t *begin = al_new_array(arena, size_t,
		all->n_sequences + al_batch_tokens(all) / most + 1);

	*n = 0;
	for (size_t i = 0; i < all->n_sequences; i++)
		for (size_t at = all->begin[i]; at < all->begin[i + 1]; at += most)
			begin[(*n)++] = at;
	begin[*n] = al_batch_tokens(all);
	return begin;
}

static bool predicts_enough(const struct al_batch *part)
{
	return al_batch_tokens(part) >= part->n_sequences + LEAST_SEQUENCE;
}

bool al_shrink_split(struct al_arena *arena, const struct al_running *running,
	struct al_batch out[AL_N_PARTS_OF_TEXT], struct al_error *err)
{
	const struct al_batch *all = &running->all;
	const size_t n_tokens = al_batch_tokens(all);
	size_t most = n_tokens / SEQUENCES, n, first = 0;

	if (most < LEAST_SEQUENCE)
		return al_fail(err, AL_EINPUT,
			"%zu tokens are too few to calibrate on a third, choose on another and "
			"judge on the last: use at least %d",
			n_tokens, LEAST_TOKENS);
	if (running->network.longest > 0 && most > (size_t)running->network.longest)
		most = (size_t)running->network.longest;
	const size_t *begin = cut(arena, all, most, &n);
	for (size_t part = 0; part < AL_N_PARTS_OF_TEXT; part++) {
		size_t end = first + 1;
		while (end < n && begin[end] < (part + 1) * n_tokens / AL_N_PARTS_OF_TEXT)
			end++;
		size_t *own = al_new_array(arena, size_t, end - first + 1);
		for (size_t i = first; i <= end; i++)
			own[i - first] = begin[i] - begin[first];
		out[part] = (struct al_batch){all->tokens + begin[first], own, end - first, first};
		if (!predicts_enough(&out[part]))
			return al_fail(err, AL_EINPUT,
				"sequences are too short: a third of them predicts fewer than %d "
				"tokens",
				LEAST_SEQUENCE);
		first = end;
	}
	return true;
}
