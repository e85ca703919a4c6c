/* The public library: counts, asked with names and answered with text. */
#include "attnledger.h"

#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "ledger/request/request.h"

struct count {
	struct al_arena arena;
	struct al_catalog *catalog;
	mpq_t sum;
};

static void count_init(struct count *c)
{
	al_arena_init(&c->arena);
	c->catalog = al_catalog_create();
	mpq_init(c->sum);
}

static void count_finish(struct count *c)
{
	mpq_clear(c->sum);
	al_catalog_destroy(c->catalog);
	al_arena_finish(&c->arena);
}

static bool measure(struct count *c, const struct al_request *request, struct al_error *err)
{
	struct al_ledger_ask ask = al_request_ask(request, &request->variants.items[0],
		request->family);
	struct al_ledger ledger;

	ask.name = NULL; /* the caller knows which model it named */
	if (!al_ledger_open(&ledger, &ask, err))
		return false;
	bool ok = al_ledger_measure(&ledger, AL_PARAMETERS, NULL, c->sum, err);
	al_ledger_close(&ledger);
	return ok;
}

static bool count(struct count *c, const struct al_asked *asked, struct al_error *err)
{
	struct al_request request;

	if (!al_request_init(&request, &c->arena, c->catalog, asked, err))
		return false;
	bool ok = request.variants.n == 1
		? measure(c, &request, err)
		: al_fail(err, AL_EINPUT, "found %zu variants, expected one", request.variants.n);
	al_request_finish(&request);
	return ok;
}

static bool copy(struct count *c, char *out, size_t size, struct al_error *err)
{
	const char *text = al_exact_text(&c->arena, c->sum);
	size_t length = strlen(text);

	if (length >= size)
		return al_fail(err, AL_EINPUT, "the count takes %zu bytes, found room for %zu",
			length + 1, size);
	memcpy(out, text, length + 1);
	return true;
}

bool al_count_parameters(const char *model, const char *variant, const char *const *settings,
	size_t n_settings, char *out, size_t size, struct al_error *err)
{
	const struct al_asked asked = {.subject = model,
		.per = AL_BASIS_MODEL,
		.origin = "settings",
		.sets = {settings, n_settings},
		.variants = {&variant, variant ? 1 : 0}};
	struct count c;

	if (!model && !variant)
		return al_fail(err, AL_EINPUT, "neither a model nor a variant is named");
	count_init(&c);
	bool ok = count(&c, &asked, err) && copy(&c, out, size, err);
	count_finish(&c);
	return ok;
}
