/* The public library: counts, asked with names and answered with text. */
#include "attnledger.h"

#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "ledger/ledger.h"

struct count {
	struct al_arena arena;
	struct al_catalog *catalog;
	struct al_settings settings;
	const struct al_model *model; /* NULL: one block alone */
	const struct al_family *family; /* NULL: attention only */
	struct al_variant_use use; /* use.variant is NULL where the model's own counts */
	mpq_t sum;
};

static void count_init(struct count *c)
{
	*c = (struct count){0};
	al_arena_init(&c->arena);
	c->catalog = al_catalog_create();
	al_settings_init(&c->settings, c->catalog);
	mpq_init(c->sum);
}

static void count_finish(struct count *c)
{
	mpq_clear(c->sum);
	al_settings_finish(&c->settings);
	al_catalog_destroy(c->catalog);
	al_arena_finish(&c->arena);
}

static bool find_subject(struct count *c, const char *model, const char *variant,
	struct al_error *err)
{
	if (!model && !variant)
		return al_fail(err, AL_EINPUT, "neither a model nor a variant is named");
	if (variant && !al_variant_use_parse(&c->arena, c->catalog, variant, &c->use, err))
		return false;
	if (!model)
		return true;
	if (!al_catalog_model(c->catalog, model, &c->model, err)
		|| !al_model_settings(c->model, c->catalog, &c->settings, err))
		return false;
	if (c->model->family)
		return al_catalog_family(c->catalog, c->model->family, &c->family, err);
	return variant || al_variant_use_parse(&c->arena, c->catalog, "mha", &c->use, err);
}

/* A symbol that neither the model, the variant nor the standard list knows is a typing error. */
static bool check_symbol(const struct count *c, const char *symbol, struct al_arena *arena,
	struct al_error *err)
{
	const struct al_variant *variant = c->use.variant;
	const struct al_settings *s = &c->settings;
	size_t n = 0, n_own = variant ? variant->n_symbols : 0;
	const char **names = al_new_array(arena, const char *, s->n_symbols + s->n + n_own);

	for (size_t i = 0; i < s->n_symbols; i++)
		names[n++] = s->symbols[i].name;
	for (size_t i = 0; i < s->n; i++)
		names[n++] = s->items[i].symbol;
	for (size_t i = 0; i < n_own; i++)
		names[n++] = variant->symbols[i].name;
	return al_find_name(symbol, names, n) >= 0
		|| al_fail_unknown(err, "symbol", symbol, names, n);
}

static bool apply(struct count *c, const char *setting, struct al_error *err)
{
	const char *symbol = al_strndup(&c->arena, setting, strcspn(setting, "="));

	return check_symbol(c, symbol, &c->arena, err)
		&& al_settings_parse(&c->settings, setting, "settings", err);
}

static bool count(struct count *c, struct al_error *err)
{
	struct al_basis basis;
	struct al_ledger ledger;

	al_basis_init(&basis);
	basis.per = c->model && !c->family ? AL_BASIS_MODEL : AL_BASIS_MODULE;
	const struct al_ledger_ask ask = {.catalog = c->catalog,
		.family = c->family,
		.settings = &c->settings,
		.basis = &basis,
		.use = c->use.variant ? &c->use : NULL};
	if (!al_ledger_open(&ledger, &ask, err))
		return false;
	bool ok = al_ledger_measure(&ledger, AL_PARAMETERS, NULL, c->sum, err);
	al_ledger_close(&ledger);
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
	struct count c;

	count_init(&c);
	bool ok = find_subject(&c, model, variant, err);
	for (size_t i = 0; ok && i < n_settings; i++)
		ok = apply(&c, settings[i], err);
	ok = ok && count(&c, err) && copy(&c, out, size, err);
	count_finish(&c);
	return ok;
}
