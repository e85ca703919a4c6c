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

bool draw_all_formats(const struct al_figure *figure, const struct al_table *table,
	const char *folder, struct al_error *err)
{
	struct al_arena arena;
	bool ok = true;

	al_arena_init(&arena);
	for (int i = 0; ok && i < N_ENDINGS; i++)
		ok = draw(figure, table, (enum al_figure_format)i,
			al_format(&arena, "%s/%s.%s", folder, figure->id, endings[i]), err);
	al_arena_finish(&arena);
	return ok;
}
