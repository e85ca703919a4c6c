/* Tokens that an encoder is to predict. */
#include "answer/masked.h"

#include "model/tokenize/tokenizer.h"

static bool read_id(const struct al_network *network, const char *text, int32_t *out,
	struct al_error *err)
{
	int64_t id;
	const size_t n = al_read_digits(text, &id);

	if (n == 0 || text[n] || id < 0 || id >= network->vocab)
		return al_fail(err, AL_EINPUT,
			"--mask-token %s: expected a token's number, from 0 to %lld", text,
			(long long)network->vocab - 1);
	*out = (int32_t)id;
	return true;
}

/* -1, and why: the tokenizer isn't there, or has no such token. */
static int32_t find_id(struct al_session *session, const struct al_network *network,
	const char **why)
{
	AL_ENDS(al_tokenizer_finish) struct al_tokenizer tokenizer = {0};
	const char *mask = network->how->mask;
	struct al_error unread;

	*why = NULL;
	if (!al_tokenizer_open(&tokenizer, network->view->checkpoint, network->vocab, &unread)) {
		*why = al_format(&session->arena,
			"no loss on masked tokens, for which the number of %s isn't known: pass "
			"--mask-token ID, or put tokenizer.json next to the model",
			mask);
		return -1;
	}
	const int32_t id = al_tokenizer_special(&tokenizer, mask);
	if (id >= 0 && id < network->vocab)
		return id;
	*why = al_format(&session->arena,
		"no loss on masked tokens: the tokenizer has no %s; pass --mask-token ID", mask);
	return -1;
}

bool al_session_masked(struct al_session *session, struct al_running *running, const char *id,
	const struct al_masked **out, const char **why, struct al_error *err)
{
	struct al_network *network = &running->network;
	struct al_masked *masked = al_new(&session->arena, struct al_masked);
	int32_t mask = -1;
	bool predicts;

	*out = NULL;
	*why = NULL;
	if (!al_network_predicts_masked(network, &predicts, err))
		return false;
	if (!predicts)
		return !id
			|| al_fail(err, AL_EINPUT,
				"--mask-token: the model has no head that predicts masked tokens");
	if (id && !read_id(network, id, &mask, err))
		return false;
	if (!id)
		mask = find_id(session, network, why);
	if (mask < 0)
		return true;
	al_mask_tokens(masked, &session->arena, &running->all, mask);
	if (masked->n > 0)
		*out = masked;
	else
		*why = "no loss on masked tokens: every sequence has fewer than three tokens";
	return true;
}

void al_masked_note(struct al_table *table, const struct al_masked *masked)
{
	al_table_note(table,
		"masked are %zu tokens: of each sequence of n > 2 number min(%d, (n - 1)/2), "
		"counted "
		"from 0, and every %dth after it, but never the last",
		masked->n, AL_MASK_FIRST, AL_MASK_EVERY);
}
