/* What a view's config says, read as it is asked for. */
#include "catalog/config.h"
#include "model/heads/views.h"

const struct al_item *al_model_view_key(const struct al_model_view *view, const char *const *keys,
	size_t n)
{
	const struct al_item *node = NULL;

	for (size_t i = 0; !node && i < n; i++)
		node = al_config_find_nested(view->config.root, keys[i]);
	return node;
}

bool al_model_view_number(const struct al_model_view *view, const struct al_config_number *number,
	double absent, double *out, struct al_error *err)
{
	const struct al_item *node = al_model_view_key(view, number->keys, number->n_keys);

	*out = number->has_fallback && !node ? number->fallback + number->plus : absent;
	if (!node || al_json_kind(node) == AL_JSON_NULL)
		return true;
	if (!al_json_real(&view->config, node, out, err))
		return false;
	*out += number->plus;
	return *out >= 0
		|| al_json_fail(&view->config, node, err, "found %g, expected at least 0", *out);
}
