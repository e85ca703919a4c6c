/* What two kinds of attention cost a model, and how well a layer's heads share a narrower space. */
#include <attnledger.h>
#include <stdio.h>

enum { HEADS = 4, WIDTH = 8, MODEL = 32, SHARED = 16 };

static int fail(const struct al_error *err)
{
	fprintf(stderr, "%s\n", err->message);
	return err->status;
}

/* Numbers that have nothing in common, between -1 and 1. */
static void fill(double *out, size_t n, uint64_t seed)
{
	for (size_t i = 0; i < n; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		out[i] = (double)(int32_t)(seed >> 32) / INT32_MAX;
	}
}

int main(void)
{
	static const char *const variants[] = {"mha", "gqa:n_kv_heads=8"};
	static double query[MODEL * HEADS * WIDTH], key[MODEL * HEADS * WIDTH];
	const struct al_projections heads = {.n_heads = HEADS,
		.n_kv_heads = HEADS,
		.d_head = WIDTH,
		.d_query = MODEL,
		.d_key = MODEL,
		.query = query,
		.key = key};
	const struct al_cp_options options = {.rank = SHARED, .n_sweeps = 100, .stop = 1e-5};
	struct al_cp_factors shared;
	struct al_error err;
	struct al_answer *answer;

	for (size_t i = 0; i < sizeof(variants) / sizeof(*variants); i++) {
		const char *const words[] = {"count", "gpt3-175b", "--variant", variants[i],
			"--whole"};
		if (!al_ask(5, words, &answer, &err))
			return fail(&err);
		printf("GPT-3 with %s: %s parameters\n", variants[i],
			al_answer_lead(answer)->value);
		al_answer_free(answer);
	}
	fill(query, sizeof(query) / sizeof(*query), 1);
	fill(key, sizeof(key) / sizeof(*key), 2);
	if (!al_decompose_cp(&heads, &options, &shared, &err))
		return fail(&err);
	printf("heads of %d and %d shared: error %.2f\n", WIDTH, SHARED, shared.relative_error);
	al_cp_factors_finish(&shared);
	return 0;
}
