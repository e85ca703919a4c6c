/* Questions as the options of the command line ask them. */
#include "commands/question.h"

const struct option_row setting_rows[] = {
	OPTION_LIST(struct al_asked, sets, "set", "KEY=VALUE", "give a symbol a value"),
	OPTION_TEXT(struct al_asked, batch, "batch", "N", "sequences at a time (--set batch=N)"),
	OPTION_TEXT(struct al_asked, seq, "seq", "N", "tokens of a sequence (--set seq=N)"),
	OPTION_END,
};

const struct option_row variant_rows[] = {
	OPTION_LIST(struct al_asked, variants, "variant", "NAME|FILE[:KEY=VALUE,...]",
		"an attention variant, changed if you like; \"all\" for the built-in ones"),
	OPTION_LIST(struct al_asked, variant_lists, "variants", "A,B,C",
		"several variants by plain names"),
	OPTION_LIST(struct al_asked, bases, "basis", "KEY=VALUE",
		"a convention: output_projection=own|full|none, biases=true|false, roles=A,B, "
		"per=module|layer|model"),
	OPTION_END,
};

const struct option_row recipe_rows[] = {
	OPTION_TEXT(struct al_asked, recipe, "recipe", "NAME",
		"a memory convention (list recipes)"),
	OPTION_END,
};

bool names_variants(const struct al_asked *asked)
{
	return asked->variants.n > 0 || asked->variant_lists.n > 0;
}

bool question_init(struct al_question *question, struct session *session,
	const struct al_asked *options, const char *word, bool takes_variant, enum al_basis_per per,
	struct al_error *err)
{
	struct al_asked asked = *options;

	asked.subject = word;
	asked.takes_variant = takes_variant;
	asked.per = per;
	return al_question_init(question, &session->arena, session->catalog, &asked, err);
}

struct al_column measure_column(enum al_measure measure)
{
	const struct al_measure_info *info = &al_measures[measure];

	return (struct al_column){.key = info->key,
		.title = info->title,
		.unit = info->unit,
		.quantity = (enum al_quantity)info->quantity,
		.digits = AL_DIGITS_ALL};
}
