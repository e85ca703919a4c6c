/* Translations: beginning, ending, and whether the other model is the same. */
#include "model/translate/translate.h"

#include "catalog/config.h"
#include "formats/layout.h"

bool al_translation_begin(struct al_translating *t, struct al_error *err)
{
	struct al_checkpoint *out = &t->out->checkpoint;
	const struct al_checkpoint *of = t->view->checkpoint;

	*t->out = (struct al_translation){0};
	al_arena_init(&out->arena);
	out->budget.n_input = of->budget.n_input;
	out->arena.budget = &out->budget;
	out->path = of->path;
	out->of = of;
	out->bytes = of->bytes;
	out->shards = al_new(&out->arena, struct al_shard);
	out->n_shards = 1;
	out->shards[0] = (struct al_shard){.source = {.path = of->shards[0].source.path, .fd = -1},
		.format = of->shards[0].format};
	if (t->hub && t->gguf)
		return true;
	return al_fail(err, AL_EINPUT, "%s: the names of family %s in %s aren't known: %s",
		of->path, t->view->family->name,
		t->to_gguf ? "llama.cpp's files" : "the hub's files",
		t->to_gguf ? "convert it with llama.cpp's scripts first"
			   : "use -o FILE.gguf or FILE.safetensors");
}

void al_translation_close(void *object)
{
	struct al_translation *translation = object;

	if (!translation->checkpoint.of)
		return;
	al_layouts_close(&translation->checkpoint);
	al_spill_close(&translation->header);
	al_arena_finish(&translation->checkpoint.arena);
	*translation = (struct al_translation){0};
}

/* ---- is it the same? ---- */

static bool fail(const struct al_model_view *view, const struct al_model_view *other,
	const char *what, const char *is, const char *would_be, struct al_error *err)
{
	return al_fail(err, AL_EINPUT,
		"%s: %s is %s, but family %s has %s there: it can't be translated",
		view->checkpoint->path, what, is, other->family->name, would_be);
}

static bool check_whole(const struct al_model_view *view, const struct al_model_view *other,
	const char *what, int64_t a, int64_t b, struct al_error *err)
{
	char texts[2][24];

	if (a == b)
		return true;
	snprintf(texts[0], sizeof(texts[0]), "%" PRId64, a);
	snprintf(texts[1], sizeof(texts[1]), "%" PRId64, b);
	return fail(view, other, what, texts[0], texts[1], err);
}

static bool check_setting(const struct al_model_view *view, const struct al_model_view *other,
	const char *what, const struct al_setting *a, const struct al_setting *b,
	struct al_error *err)
{
	for (size_t i = 0; a->list && b->list && i < a->n_list && i < b->n_list; i++)
		if (!check_whole(view, other,
			    al_format(&other->checkpoint->arena, "%s[%zu]", what, i),
			    a->list[i].integer, b->list[i].integer, err))
			return false;
	return a->list || b->list || a->value.kind != AL_VALUE_INTEGER
		|| b->value.kind != AL_VALUE_INTEGER
		|| check_whole(view, other, what, a->value.integer, b->value.integer, err);
}

/* What both families call alike. */
static bool check_settings(struct al_model_view *view, struct al_model_view *other,
	struct al_error *err)
{
	for (size_t i = 0; i < view->family->n_config; i++) {
		const struct al_config_key *key = &view->family->config[i];
		const struct al_setting *a, *b;
		if (!al_settings_get(&view->settings, key->symbol, &a, NULL)
			|| !al_settings_get(&other->settings, key->symbol, &b, NULL) || !a || !b)
			continue;
		if (!check_setting(view, other, key->n_keys ? key->keys[0] : key->symbol, a, b,
			    err))
			return false;
	}
	return true;
}

static const char *find_word(const struct al_model_view *view, const struct al_forward_word *word)
{
	const struct al_item *item = al_config_find_first(view->config.root, word->keys,
		word->n_keys);
	const char *text = word->fallback;

	if (item && !al_json_text(&view->config, item, &text, NULL))
		return word->fallback;
	return text;
}

static bool check_activation(struct al_model_view *view, struct al_model_view *other,
	struct al_error *err)
{
	const struct al_forward *a, *b;

	if (!al_catalog_forward(view->catalog, view->family, &a, err)
		|| !al_catalog_forward(view->catalog, other->family, &b, err))
		return false;
	if (!a || !b)
		return true;
	const char *is = find_word(view, &a->activation),
		   *would_be = find_word(other, &b->activation);
	return !is || !would_be || strcmp(is, would_be) == 0
		|| fail(view, other, "the feed-forward blocks' activation", is, would_be, err);
}

static bool check_module(const struct al_model_view *view, const struct al_model_view *other,
	const struct al_attention *a, const struct al_attention *b, struct al_error *err)
{
	const struct {
		const char *what;
		int64_t is, would_be;
	} sizes[] = {
		{"n_heads", a->n_heads, b->n_heads},
		{"n_kv_heads", a->n_kv_heads, b->n_kv_heads},
		{"d_head", a->d_head, b->d_head},
		{"the number of dimensions that turn", a->rotary_width, b->rotary_width},
		{"the base of rotary positions", a->rotary_base, b->rotary_base},
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		if (!check_whole(view, other, sizes[i].what, sizes[i].is, sizes[i].would_be, err))
			return al_in(err, "%s", a->name);
	return fabs(a->score_scale - b->score_scale) <= 1e-6 * a->score_scale
		|| al_fail(err, AL_EINPUT,
			"%s: scores are multiplied by %g, and family %s would do it by %g: it "
			"can't be translated",
			a->name, a->score_scale, other->family->name, b->score_scale);
}

bool al_translation_check(struct al_model_view *view, struct al_model_view *other,
	struct al_error *err)
{
	bool ok = check_settings(view, other, err) && check_activation(view, other, err)
		&& check_whole(view, other, "the number of attention modules",
			(int64_t)view->n_modules, (int64_t)other->n_modules, err);

	for (size_t i = 0; ok && i < view->n_modules; i++)
		ok = check_module(view, other, &view->modules[i], &other->modules[i], err);
	return ok;
}
