/* One iteration of a family's loops. */
#include "catalog/iteration.h"

#include <string.h>

#include "base/text.h"

static bool look_up(void *context, const struct al_reference *reference, bool *found,
	struct al_value *out, struct al_error *err)
{
	struct al_iteration *iteration = context;
	int variable = al_find_name(reference->symbol, iteration->variables, iteration->n);
	struct al_scope outer = al_settings_scope(iteration->settings);

	if (variable < 0 || reference->has_index)
		return outer.lookup(outer.context, reference, found, out, err);
	*found = true;
	al_value_set_int(out, iteration->values[variable]);
	return true;
}

static size_t list_known(void *context, const char *const **names)
{
	struct al_iteration *iteration = context;
	struct al_scope outer = al_settings_scope(iteration->settings);

	return outer.known(outer.context, names);
}

struct al_iteration al_iteration_of(const struct al_loops *loops,
	const int64_t values[AL_FAMILY_LOOPS], struct al_settings *settings)
{
	struct al_iteration iteration = {.settings = settings, .n = loops->n};

	for (size_t i = 0; i < loops->n; i++) {
		iteration.variables[i] = loops->items[i].variable;
		iteration.values[i] = values[i];
	}
	return iteration;
}

struct al_scope al_iteration_scope(struct al_iteration *iteration)
{
	return (struct al_scope){.lookup = look_up, .known = list_known, .context = iteration};
}

const char *al_iteration_name(const struct al_iteration *iteration, struct al_arena *arena,
	const char *name)
{
	struct al_text text;

	al_text_init(&text);
	while (*name) {
		size_t plain = strcspn(name, "{");
		al_text_add_bytes(&text, name, plain);
		name += plain;
		if (!*name)
			break;
		size_t length = strcspn(name + 1, "}");
		const char *variable = al_strndup(arena, name + 1, length);
		int index = al_find_name(variable, iteration->variables, iteration->n);
		al_text_addf(&text, "%lld", index < 0 ? 0LL : (long long)iteration->values[index]);
		name += length + 2;
	}
	const char *copy = al_strdup(arena, text.data);
	al_text_finish(&text);
	return copy;
}
