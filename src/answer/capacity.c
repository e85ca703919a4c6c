/* How many sequences the memory for a cache holds. */
#include "answer/capacity.h"

#include "catalog/gpu.h"
#include "ledger/groups.h"
#include "report/claim.h"

const struct al_option_row al_capacity_rows[] = {
	OPTION_TEXT(struct al_asked, offload, "kv-offloading-size", "SIZE",
		"memory of the host for the cache of all devices"),
	OPTION_END,
};

bool al_capacity_is_known(const struct al_request *q)
{
	const struct al_cache_entries cache = al_request_cache(q);

	return q->engine.engine->line != AL_LINE_NONE && !al_request_is_encoder(q)
		&& al_cache_is_grouped(q->engine.engine, &cache);
}

bool al_capacity_check(const struct al_request *q, struct al_error *err)
{
	return !q->offload || (q->engine.engine->offload && al_capacity_is_known(q))
		|| al_fail(err, AL_EINPUT,
			"--kv-offloading-size needs an engine that offloads its cache and logs its "
			"capacity: use --engine vllm");
}

/* A sequence's groups of layers; those of a pipeline's stage have its share of the layers. */
static bool find_groups(struct al_ledger *ledger, const struct al_inference *inference, int64_t seq,
	struct al_layer_groups *out, struct al_error *err)
{
	const int64_t source_seq = inference->source_seq == inference->seq ? seq
									   : inference->source_seq;
	struct al_cache_entries cache;

	if (!al_ledger_cache(ledger, inference->cache, seq, source_seq, 1, &cache, err))
		return false;
	*out = cache.groups;
	out->block_bytes = al_divide_up(out->block_bytes, al_most(inference->pp, 1));
	return true;
}

/* Do all devices have the same? */
static bool is_replicated(const struct al_request *q)
{
	const struct al_cache_entries cache = al_request_cache(q);
	bool is = !q->draft;

	for (size_t i = 0; i < cache.n; i++)
		is &= cache.lines[i].kind == AL_CACHE_LATENT;
	return is;
}

/* Sequences take as many blocks there. */
static bool find_host(const struct al_ledger *ledger, struct al_request *q,
	const struct al_inference *inference, int64_t page, struct al_capacity *out,
	struct al_error *err)
{
	const int64_t tp = al_most(ledger->ask.tp, 1), pp = al_most(inference->pp, 1);
	const struct al_engine_scope scope = {.choice = &q->engine,
		.tp = tp,
		.devices = tp * pp,
		.page = page,
		.is_replicated = pp == 1 && is_replicated(q)};
	int64_t memory, bytes;

	if (!q->offload)
		return true;
	if (!al_memory_parse(q->arena, q->offload, &memory, err))
		return al_in(err, "--kv-offloading-size");
	if (!al_engine_bytes(&scope, q->engine.engine->offload, &bytes, err))
		return false;
	out->host = al_exact_from_int(q->arena, memory);
	AL_EXACT(tokens);
	al_exact_set(tokens, bytes > 0 ? memory / bytes : 0);
	al_exact_multiply(tokens, out->longest);
	al_exact_divide(tokens, out->blocks_needed);
	out->host_tokens = al_exact_whole(tokens);
	return true;
}

/* Tokens of sequences that fit, or of blocks of each group. */
static int64_t tokens_of_log(const struct al_request *q, const struct al_capacity *c,
	const struct al_layer_groups *groups)
{
	AL_EXACT(tokens);

	if (q->engine.engine->line == AL_LINE_BLOCKS)
		return c->blocks / groups->n_groups * groups->least_block;
	al_exact_set(tokens, c->blocks);
	al_exact_multiply(tokens, c->longest);
	al_exact_divide(tokens, c->blocks_of_longest);
	return al_exact_whole(tokens);
}

static int64_t divide(mpq_srcptr memory, int64_t bytes)
{
	AL_EXACT(blocks);

	mpq_set(blocks, memory);
	al_exact_divide(blocks, bytes);
	return al_exact_whole(blocks);
}

static bool find_longest(struct al_request *q, const struct al_inference *inference, int64_t *out,
	struct al_error *err)
{
	*out = q->engine.max_model_len;
	if (*out == 0 && !al_request_context(q, out, err))
		return false;
	if (*out == 0)
		*out = inference->seq;
	return true;
}

bool al_capacity_find(struct al_ledger *ledger, struct al_request *q,
	const struct al_inference *inference, mpq_srcptr memory, struct al_capacity *out,
	struct al_error *err)
{
	struct al_layer_groups request, longest;

	*out = (struct al_capacity){.memory = al_exact_copy(q->arena, memory),
		.seq = inference->seq};
	if (!find_longest(q, inference, &out->longest, err)
		|| !find_groups(ledger, inference, out->seq, &request, err)
		|| !find_groups(ledger, inference, out->longest, &longest, err))
		return false;
	if (longest.blocks == 0 || request.blocks == 0)
		return al_fail(err, AL_EINPUT, "%s caches nothing", q->title);
	out->blocks = mpq_sgn(memory) > 0 ? divide(memory, longest.block_bytes) : 0;
	out->blocks_of_request = request.blocks;
	out->blocks_of_longest = longest.counted;
	out->blocks_needed = longest.blocks;
	out->tokens = tokens_of_log(q, out, &longest);
	return find_host(ledger, q, inference, longest.block_bytes, out, err);
}

/* Its profile runs a whole step, however short the sequences are. */
bool al_capacity_left(struct al_ledger *ledger, struct al_request *q,
	const struct al_inference *inference, mpq_srcptr budget, mpq_t out, struct al_error *err)
{
	AL_ENDS(al_inference_rows_finish) struct al_inference_row rows[AL_N_STATES];
	struct al_inference profile = *inference;

	profile.watch = NULL;
	if (q->engine.chunk > profile.batch * profile.seq)
		profile.batch = al_divide_up(q->engine.chunk, profile.seq);
	al_inference_rows_init(rows);
	mpq_set(out, budget);
	const bool ok = al_ledger_infer_largest(ledger, &profile, rows, err);
	for (int i = 0; ok && i < AL_N_STATES; i++)
		if (i != AL_STATE_CACHE && i != AL_STATE_STATES && i != AL_STATE_DRAFT_CACHE)
			mpq_sub(out, out, rows[i].bytes);
	return ok;
}

/* ---- in a sentence ---- */

static double ratio(int64_t a, int64_t b)
{
	return (double)a / (double)b;
}

/* "2.39x" */
static const char *times(struct al_arena *arena, const char *name, double value)
{
	return al_claim_real(arena, name, "", value, al_format(arena, "%.2f", value));
}

static const char *say_log(struct al_arena *arena, const struct al_request *q,
	const struct al_capacity *c)
{
	const struct al_engine *engine = q->engine.engine;
	const char *by = al_claim_name(arena, "engine",
			   al_format(arena, "%s %s", engine->title, engine->version)),
		   *memory = al_claim_bytes(arena, "cache_memory", c->memory);

	if (c->blocks < c->blocks_needed)
		return al_format(arena,
			"%s doesn't start for sequences of %s tokens: it has %s for its cache. "
			"Pass "
			"--max-model-len.",
			by, al_claim_count(arena, "max_model_len", c->longest), memory);
	return al_format(arena,
		"The log of %s reads \"GPU KV cache size: %s tokens\", \"Maximum concurrency for "
		"%s "
		"tokens per request: %sx\", from %s for the cache%s.",
		by, al_claim_count(arena, "log_tokens", c->tokens),
		al_claim_count(arena, "max_model_len", c->longest),
		times(arena, "log_concurrency", ratio(c->blocks, c->blocks_of_longest)), memory,
		c->seq == c->longest
			? ""
			: al_format(arena, "; %s sequences of %s tokens fit",
				times(arena, "sequences", ratio(c->blocks, c->blocks_of_request)),
				al_claim_count(arena, "tokens_of_each", c->seq)));
}

const char *al_capacity_say(struct al_arena *arena, const struct al_request *q,
	const struct al_capacity *c)
{
	const char *log = say_log(arena, q, c);

	return !c->host ? log
			: al_format(arena, "%s Another %s tokens fit in %s of the host's memory.",
				log, al_claim_count(arena, "host_tokens", c->host_tokens),
				al_claim_bytes(arena, "host_memory", c->host));
}
