/* Reading a scenario's cases, and what all of them begin with. */
#include "scenario/read.h"

/* The model's settings, those that the whole file sets, and those of the case. */
static bool settle(struct al_scenario *s, const struct al_item *node, struct al_case *case_,
	const char *origin, struct al_error *err)
{
	struct al_request *q = &case_->request;

	if (case_->model)
		q->model = case_->model;
	if (case_->model && !al_model_settings(case_->model, s->catalog, &q->settings, err))
		return al_json_in(&s->doc, al_json_get(node, "model"), err);
	return al_request_change(q, &s->base.changes, s->name, err)
		&& al_request_change(q, &case_->changes, origin, err);
}

static bool find_id(void *context, const char *id, void *out, struct al_error *err)
{
	(void)context;
	*(const char **)out = id;
	return al_name_check("case id", id, err);
}

static bool finish_case(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_scenario *s = context;
	struct al_case *case_ = out;

	if (al_case_find(s, case_->id, NULL))
		return al_json_fail(&s->doc, node, err, "case \"%s\" appears twice", case_->id);
	if (case_->model) /* nothing of the file's model stays */
		al_request_begin(&case_->request, &s->arena, s->catalog);
	else
		al_request_copy(&case_->request, &s->base.request);
	if (settle(s, node, case_, case_->id, err))
		return true;
	al_request_finish(&case_->request);
	return false;
}

#define AT(member) offsetof(struct al_case, member)
static const struct al_field case_fields[] = {
	{AL_KEY("id", BY, AT(id)), .is_required = true, .find = find_id},
	{AL_KEY("title", TEXT, AT(title))},
	{AL_KEY("model", BY, AT(model)), .find = al_scenario_find_model},
	AL_CHANGES(AT(changes)),
};
#undef AT
static const struct al_record case_record = {
	.fields = AL_FIELDS(case_fields),
	.size = sizeof(struct al_case),
	.check = finish_case,
};

static const struct al_field cases = {
	AL_KEY("cases", LIST, offsetof(struct al_scenario, cases)),
	.n_offset = offsetof(struct al_scenario, n_cases),
	.record = &case_record,
	.most = AL_MOST_NAMES,
	.noun = "cases",
};

static const struct al_field set = {
	AL_KEY("set", MEMBERS, offsetof(struct al_scenario, base.changes.symbols)),
	.n_offset = offsetof(struct al_scenario, base.changes.n_symbols),
	.read = al_scenario_read_set,
	.item_size = sizeof(struct al_change_of_symbol),
};

/* The file's own symbols may be those of its variants, which are read by now. A file without cases
 * has one that is not named. */
bool al_scenario_read_cases(void *context, const struct al_item *list, void *out,
	struct al_error *err)
{
	struct al_scenario *s = context;
	const struct al_record_source source = {&s->arena, &s->doc, s};

	if ((s->set && !al_record_read_items(&source, &set, s->set, s, err))
		|| !settle(s, s->doc.root, &s->base, s->name, err)
		|| (list && !al_record_read_items(&source, &cases, list, out, err)))
		return false;
	if (s->n_cases > 0)
		return true;
	s->cases = al_new(&s->arena, struct al_case);
	s->cases[0].id = "";
	al_request_copy(&s->cases[0].request, &s->base.request);
	s->n_cases = 1;
	return true;
}
