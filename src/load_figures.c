/* Figures of the full program. The libraries that draw take longer to load than many answers: these
 * functions, in place of those of figure/, load them with a module of the program's folder. */
#include "commands/program.h"
#include "figure/module.h"

#include <dlfcn.h>

/* NULL: *err. The module stays: what it loads can't be unloaded. */
static const struct al_figure_module *load(struct al_error *err)
{
	char folder[4096], path[sizeof(folder) + 32];

	al_find_own_folder(folder, sizeof(folder));
	snprintf(path, sizeof(path), "%sattnledger-figures.so", folder);
	void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct al_figure_module *figures = module ? dlsym(module, "al_figure_module") : NULL;

	if (!figures)
		al_fail(err, AL_ESYSTEM, "can't load what draws: %s", dlerror());
	return figures;
}

bool al_figure_draw(const struct al_figure *figure, const struct al_table *table,
	enum al_figure_format format, struct al_text *out, struct al_error *err)
{
	const struct al_figure_module *figures = load(err);

	return figures && figures->draw(figure, table, format, out, err);
}

bool al_figure_caption(const struct al_figure *figure, const struct al_table *table,
	struct al_text *out, struct al_error *err)
{
	const struct al_figure_module *figures = load(err);

	return figures && figures->caption(figure, table, out, err);
}
