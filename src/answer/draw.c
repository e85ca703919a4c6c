/* Drawing: figures to files. */
#include "answer/draw.h"

static const char *const endings[] = {
	[AL_FIGURE_PDF] = "pdf",
	[AL_FIGURE_SVG] = "svg",
	[AL_FIGURE_PNG] = "png",
};
enum { N_ENDINGS = sizeof(endings) / sizeof(*endings) };

/* The libraries that draw end the program where memory runs out, or don't see that it did. They
 * look for fonts in a thread of their own, whose heap and stack take 136 MiB of address space. */
static bool draw(const struct al_figure *figure, const struct al_table *table,
	enum al_figure_format format, struct al_text *out, struct al_error *err)
{
	const size_t needed = (size_t)256 << 20;

	if (!al_memory_has_room(needed))
		return al_fail(err, AL_ESYSTEM, "not enough memory for figures (%zu bytes)",
			needed);
	return al_figure_draw(figure, table, format, out, err);
}

bool al_draw_to_file(struct al_files *files, const struct al_figure *figure,
	const struct al_table *table, const char *path, struct al_error *err)
{
	const char *dot = strrchr(path, '.');
	int format = dot ? al_find_name(dot + 1, endings, N_ENDINGS) : -1;

	if (format < 0)
		return al_fail(err, AL_EINPUT,
			"%s: expected a file that ends in .pdf, .svg or .png", path);
	return draw(figure, table, (enum al_figure_format)format, al_files_add_path(files, path),
		err);
}

bool al_draw_into(struct al_files *files, const struct al_figure *figure,
	const struct al_table *table, const char *folder, struct al_error *err)
{
	for (int i = 0; i < N_ENDINGS; i++) {
		struct al_text *bytes = al_files_add(files, folder, figure->id, endings[i]);
		if (!draw(figure, table, (enum al_figure_format)i, bytes, err))
			return false;
	}
	return true;
}
