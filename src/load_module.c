/* What the full program loads when it's needed: these functions take the place of those of figure/
 * and formats/, which only modules contain. */
#include "commands/program.h"
#include "module.h"

#include <dlfcn.h>

/* NULL: *err. A module stays: some of what it loads can't be unloaded. */
static const struct al_module *load(const char *name, struct al_error *err)
{
	char folder[4096], path[sizeof(folder) + 64];

	al_find_own_folder(folder, sizeof(folder));
	snprintf(path, sizeof(path), "%sattnledger-%s.so", folder, name);
	void *loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct al_module *module = loaded ? dlsym(loaded, "al_module") : NULL;

	if (module)
		module->guard(al_end_exhausted);
	else
		al_fail(err, AL_ESYSTEM, "can't load %s", dlerror());
	return module;
}

bool al_figure_draw(const struct al_figure *figure, const struct al_table *table,
	enum al_figure_format format, struct al_text *out, struct al_error *err)
{
	const struct al_module *module = load("figures", err);

	return module && module->draw(figure, table, format, out, err);
}

bool al_figure_caption(const struct al_figure *figure, const struct al_table *table,
	struct al_text *out, struct al_error *err)
{
	const struct al_module *module = load("figures", err);

	return module && module->caption(figure, table, out, err);
}

bool al_archive_open_shard(struct al_listing *listing, struct al_error *err)
{
	const struct al_module *module = load("archives", err);

	return module && module->open_shard(listing, err);
}
