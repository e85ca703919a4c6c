/* Reading a scenario's questions. */
#include "scenario/read.h"

static bool finish_question(void *context, const struct al_item *node, void *out,
	struct al_error *err)
{
	struct al_scenario *s = context;
	struct al_scenario_question *question = out;
	const char *place = strstr(question->ask, "{}");
	mpq_ptr value = al_exact_new(&s->arena);

	if (!question->given != !place)
		return al_json_fail(&s->doc, node, err,
			"question %s: \"given\" is the number for the \"{}\" of \"ask\": neither "
			"goes without the other",
			question->id);
	if (question->given && !al_exact_parse(question->given, value, &question->digits))
		return al_json_fail(&s->doc, al_json_get(node, "given"), err,
			"\"%s\" is not a number", question->given);
	question->value = value;
	return true;
}

#define AT(member) offsetof(struct al_scenario_question, member)
static const struct al_field question_fields[] = {
	{AL_KEY("id", BY, AT(id)), .is_required = true, .find = al_scenario_find_id},
	{AL_KEY("ask", TEXT, AT(ask)), .is_required = true},
	{AL_KEY("given", TEXT, AT(given))},
};
#undef AT
const struct al_record al_question_record = {
	.fields = AL_FIELDS(question_fields),
	.size = sizeof(struct al_scenario_question),
	.check = finish_question,
};
