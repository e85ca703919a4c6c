/* The public library: counts, asked with names and answered with text. */
#include "attnledger.h"

#include "ledger/request/request.h"

static void destroy_catalog(void *catalog)
{
	al_catalog_destroy(catalog);
}

/* NULL: it isn't known. */
static const char *count(struct al_arena *arena, const struct al_asked *asked, struct al_error *err)
{
	struct al_request *request = al_new(arena, struct al_request);
	struct al_catalog *catalog = al_catalog_create();
	mpq_ptr sum = al_exact_new(arena);

	al_arena_defer(arena, destroy_catalog, catalog);
	if (!al_request_init(request, arena, catalog, asked, err))
		return NULL;
	al_arena_defer(arena, al_request_finish, request);
	if (request->variants.n != 1) {
		al_fail(err, AL_EINPUT, "found %zu variants, expected one", request->variants.n);
		return NULL;
	}
	struct al_ledger_ask ask = al_request_ask(request, &request->variants.items[0],
		request->family);
	ask.name = NULL; /* the caller knows which model it named */
	struct al_ledger *ledger = al_ledger_create(arena, &ask, err);
	return ledger && al_ledger_measure(ledger, AL_PARAMETERS, NULL, sum, err)
		? al_exact_text(arena, sum)
		: NULL;
}

static bool copy(const char *text, char *out, size_t size, struct al_error *err)
{
	const size_t length = strlen(text);

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
	struct al_arena arena;

	if (!model && !variant)
		return al_fail(err, AL_EINPUT, "neither a model nor a variant is named");
	al_arena_init(&arena);
	const char *text = count(&arena, &asked, err);
	const bool ok = text && copy(text, out, size, err);
	al_arena_finish(&arena);
	return ok;
}
