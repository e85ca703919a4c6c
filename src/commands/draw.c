/* Drawing: figures to files. */
#include "commands/draw.h"

#include <string.h>

#include "base/file.h"

static const char *const endings[] = {
	[AL_FIGURE_PDF] = "pdf",
	[AL_FIGURE_SVG] = "svg",
	[AL_FIGURE_PNG] = "png",
};
enum { N_ENDINGS = sizeof(endings) / sizeof(*endings) };

static bool draw(const struct al_figure *figure, const struct al_table *table,
	enum al_figure_format format, const char *path, struct al_error *err)
{
	struct al_text bytes;

	al_text_init(&bytes);
	bool ok = al_figure_draw(figure, table, format, &bytes, err)
		&& al_file_write(path, bytes.data, bytes.length, err);
	al_text_finish(&bytes);
	return ok;
}

bool draw_to_file(const struct al_figure *figure, const struct al_table *table, const char *path,
	struct al_error *err)
{
	const char *dot = strrchr(path, '.');
	int format = dot ? al_find_name(dot + 1, endings, N_ENDINGS) : -1;

	if (format < 0)
		return al_fail(err, AL_EINPUT,
			"%s: expected a file that ends in .pdf, .svg or .png", path);
	return draw(figure, table, (enum al_figure_format)format, path, err);
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

bool draw_all_formats(const struct al_figure *figure, const struct al_table *table,
	const char *folder, struct al_error *err)
{
	struct files files;

	files_init(&files);
	bool ok = draw_into(&files, figure, table, folder, err) && files_write(&files, err);
	files_finish(&files);
	return ok;
}
