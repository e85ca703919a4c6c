/* Reading a scenario's cases, and what all of them begin with. */
#include "scenario/read.h"

static bool read_model(struct al_scenario *s, const struct cJSON *owner, struct al_case *case_,
	struct al_error *err)
{
	const struct cJSON *node = al_json_get(owner, "model");
	const char *name;

	return !node
		|| (al_json_text(&s->doc, node, &name, err)
			&& ((al_catalog_model(s->catalog, name, &case_->model, err)
				    && al_model_settings(case_->model, s->catalog, &case_->settings,
					    err))
				|| al_json_in(&s->doc, node, err)));
}

static bool change_case(struct al_case *case_, const struct al_changes *changes,
	struct al_error *err)
{
	al_settings_change(&case_->settings, changes);
	if (changes->recipe)
		case_->recipe = changes->recipe;
	return al_basis_change(&case_->basis, changes, err);
}

bool al_base_read(struct al_scenario *s, struct al_error *err)
{
	return read_model(s, s->doc.root, &s->base, err)
		&& al_changes_read(s, s->doc.root, s->name, &s->changes, err)
		&& change_case(&s->base, &s->changes, err);
}

/* The scenario's own, where a case says nothing. */
static void inherit(const struct al_scenario *s, struct al_case *case_)
{
	case_->model = s->base.model;
	case_->basis = s->base.basis;
	case_->recipe = s->base.recipe;
	al_settings_init(&case_->settings, s->catalog);
	al_settings_merge(&case_->settings, &s->base.settings);
}

static bool read_case(struct al_scenario *s, const struct cJSON *node, struct al_case *case_,
	struct al_error *err)
{
	static const char *const keys[] = {"id", "title", "model", "set", "basis", "recipe"};
	struct al_changes changes;

	if (!al_json_only(&s->doc, node, keys, 6, err)
		|| !al_json_get_text(&s->doc, node, "id", true, &case_->id, err)
		|| !al_name_check(s, node, "case id", case_->id, err)
		|| !al_json_get_text(&s->doc, node, "title", false, &case_->title, err)
		|| !read_model(s, node, case_, err))
		return false;
	al_settings_change(&case_->settings, &s->changes);
	return al_changes_read(s, node, case_->id, &changes, err)
		&& change_case(case_, &changes, err);
}

bool al_cases_read(struct al_scenario *s, const struct cJSON *list, struct al_error *err)
{
	size_t n = al_json_size(list);

	if (!al_size_check(s, list, "cases", AL_MOST_NAMES, err))
		return false;
	s->cases = al_new_array(&s->arena, struct al_case, n + 1);
	if (n == 0) {
		inherit(s, &s->cases[0]);
		s->cases[0].id = "";
		s->n_cases = 1;
		return true;
	}
	al_json_each (node, list) {
		struct al_case *case_ = &s->cases[s->n_cases++];
		case_->id = "";
		inherit(s, case_);
		if (!read_case(s, node, case_, err))
			return false;
		if (al_case_find(s, case_->id, NULL) != case_)
			return al_json_fail(&s->doc, node, err, "case \"%s\" appears twice",
				case_->id);
	}
	return true;
}
