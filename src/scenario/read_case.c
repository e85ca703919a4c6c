/* Reading a scenario's cases, and what all of them begin with. */
#include "scenario/read.h"

static bool read_model(struct al_scenario *s, const struct cJSON *owner, struct kase *kase,
	struct al_error *err)
{
	const struct cJSON *node = al_json_get(owner, "model");
	const char *name;

	return !node
		|| (al_json_text(&s->doc, node, &name, err)
			&& ((al_catalog_model(s->catalog, name, &kase->model, err)
				    && al_model_settings(kase->model, s->catalog, &kase->settings,
					    err))
				|| al_json_in(&s->doc, node, err)));
}

static bool change_case(struct kase *kase, const struct changes *changes, struct al_error *err)
{
	change_settings(&kase->settings, changes);
	if (changes->recipe)
		kase->recipe = changes->recipe;
	return change_basis(&kase->basis, changes, err);
}

bool read_base(struct al_scenario *s, struct al_error *err)
{
	return read_model(s, s->doc.root, &s->base, err)
		&& read_changes(s, s->doc.root, s->name, &s->changes, err)
		&& change_case(&s->base, &s->changes, err);
}

/* The scenario's own, where a case says nothing. */
static void inherit(const struct al_scenario *s, struct kase *kase)
{
	kase->model = s->base.model;
	kase->basis = s->base.basis;
	kase->recipe = s->base.recipe;
	al_settings_init(&kase->settings, s->catalog);
	al_settings_merge(&kase->settings, &s->base.settings);
}

static bool read_case(struct al_scenario *s, const struct cJSON *node, struct kase *kase,
	struct al_error *err)
{
	static const char *const keys[] = {"id", "title", "model", "set", "basis", "recipe"};
	struct changes changes;

	if (!al_json_only(&s->doc, node, keys, 6, err)
		|| !al_json_get_text(&s->doc, node, "id", true, &kase->id, err)
		|| !check_name(s, node, "case id", kase->id, err)
		|| !al_json_get_text(&s->doc, node, "title", false, &kase->title, err)
		|| !read_model(s, node, kase, err))
		return false;
	change_settings(&kase->settings, &s->changes);
	return read_changes(s, node, kase->id, &changes, err) && change_case(kase, &changes, err);
}

bool read_cases(struct al_scenario *s, const struct cJSON *list, struct al_error *err)
{
	size_t n = al_json_size(list);

	if (!check_size(s, list, "cases", MOST_NAMES, err))
		return false;
	s->cases = al_new_array(&s->arena, struct kase, n + 1);
	if (n == 0) {
		inherit(s, &s->cases[0]);
		s->cases[0].id = "";
		s->n_cases = 1;
		return true;
	}
	al_json_each (node, list) {
		struct kase *kase = &s->cases[s->n_cases++];
		kase->id = "";
		inherit(s, kase);
		if (!read_case(s, node, kase, err))
			return false;
		if (find_case(s, kase->id, NULL) != kase)
			return al_json_fail(&s->doc, node, err, "case \"%s\" appears twice",
				kase->id);
	}
	return true;
}
