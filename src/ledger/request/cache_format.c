/* The number format of a request's cache: what was asked for, what the model's files declare where
 * the engine takes that, or else bf16. */
#include "base/names.h"
#include "base/text.h"
#include "catalog/scheme.h"
#include "ledger/request/request.h"

static bool takes(const struct al_request *q, const struct al_declared_cache *cache)
{
	const struct al_texts *declared = &q->engine.engine->declared;
	const char *text = al_format(q->arena, "%s %s", cache->scheme, cache->dtype);

	return al_find_name(text, declared->items, declared->n) >= 0;
}

bool al_request_cache_format(struct al_request *q, const char *asked, struct al_error *err)
{
	struct al_declared_cache cache = {0};

	q->cache = (struct al_cache_format){0};
	if (!asked && q->model && !al_model_cache(q->model, q->catalog, &cache, err))
		return false;
	if (cache.dtype) {
		q->cache.declared = cache.dtype;
		q->cache.declared_in = cache.file;
		q->cache.is_declared = takes(q, &cache);
	}
	return al_dtype_find(asked	       ? asked
			: q->cache.is_declared ? cache.dtype
					       : "bf16",
		&q->cache.dtype, err);
}
