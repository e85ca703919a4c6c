/* Drawing: figures to files. */
#include "commands/draw.h"

#include <string.h>

#include "base/text.h"

static const char *const endings[] = {
	[AL_FIGURE_PDF] = "pdf",
	[AL_FIGURE_SVG] = "svg",
	[AL_FIGURE_PNG] = "png",
};
enum { N_ENDINGS = sizeof(endings) / sizeof(*endings) };

bool draw_to_file(struct files *files, const struct al_figure *figure, const struct al_table *table,
	const char *path, struct al_error *err)
{
	const char *dot = strrchr(path, '.');
	int format = dot ? al_find_name(dot + 1, endings, N_ENDINGS) : -1;

	if (format < 0)
		return al_fail(err, AL_EINPUT,
			"%s: expected a file that ends in .pdf, .svg or .png", path);
	return al_figure_draw(figure, table, (enum al_figure_format)format,
		files_add_path(files, path), err);
}

bool draw_into(struct files *files, const struct al_figure *figure, const struct al_table *table,
	const char *folder, struct al_error *err)
{
	for (int i = 0; i < N_ENDINGS; i++) {
		struct al_text *bytes = files_add(files, folder, figure->id, endings[i]);
		if (!al_figure_draw(figure, table, (enum al_figure_format)i, bytes, err))
			return false;
	}
	return true;
}
