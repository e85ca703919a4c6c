/* One turn of a family's loops. */
#include "catalog/turn.h"

#include "base/text.h"

static bool look_up(void *context, const struct al_reference *reference, bool *found,
	struct al_value *out, struct al_error *err)
{
	struct al_turn *turn = context;
	int variable = al_find_name(reference->symbol, turn->variables, turn->n);
	struct al_scope outer = al_settings_scope(turn->settings);

	if (variable < 0 || reference->has_index)
		return outer.lookup(outer.context, reference, found, out, err);
	*found = true;
	al_value_set_int(out, turn->values[variable]);
	return true;
}

static size_t list_known(void *context, const char *const **names)
{
	struct al_turn *turn = context;
	struct al_scope outer = al_settings_scope(turn->settings);

	return outer.known(outer.context, names);
}

struct al_scope al_turn_scope(struct al_turn *turn)
{
	return (struct al_scope){.lookup = look_up, .known = list_known, .context = turn};
}
