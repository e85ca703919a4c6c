/* Names that are gathered for the message about an unknown one. */
#include "base/names.h"

#include "base/text.h"

void al_names_init(struct al_names *names)
{
	*names = (struct al_names){0};
	al_arena_init(&names->arena);
}

void al_names_add(struct al_names *names, const char *name)
{
	names->items = al_grow(&names->arena, names->items, names->n, &names->room,
		sizeof(*names->items));
	names->items[names->n++] = name;
}

bool al_names_hold(const struct al_names *names, const char *name)
{
	return al_find_name(name, names->items, names->n) >= 0;
}

void al_names_finish(struct al_names *names)
{
	al_arena_finish(&names->arena);
	*names = (struct al_names){0};
}

bool al_names_fail(struct al_names *names, const char *what, const char *name, struct al_error *err)
{
	al_fail_unknown(err, what, name, names->items, names->n);
	al_names_finish(names);
	return false;
}

bool al_names_check(struct al_names *names, const char *what, const char *name,
	struct al_error *err)
{
	if (!al_names_hold(names, name))
		return al_names_fail(names, what, name, err);
	al_names_finish(names);
	return true;
}

bool al_fail_unknown_item(struct al_error *err, const char *what, const char *name,
	const void *items, size_t n, size_t size)
{
	struct al_names names;

	al_names_init(&names);
	for (const char *item = items; n > 0; item += size, n--)
		al_names_add(&names, *(const char *const *)(const void *)item);
	return al_names_fail(&names, what, name, err);
}
