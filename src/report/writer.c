/* The list of writers, and how one is found. */
#include "report/writer.h"

#include "report/claim.h"

#define WRITER_POINTER(name) &al_writer_##name,

const struct al_writer *const al_writers[] = {AL_WRITERS(WRITER_POINTER) NULL};

enum { N_WRITERS = sizeof(al_writers) / sizeof(*al_writers) - 1 };

static const struct al_writer *find(const char *name)
{
	for (const struct al_writer *const *w = al_writers; *w; w++)
		if (strcmp(name, (*w)->name) == 0 || strcmp(name, (*w)->extension) == 0)
			return *w;
	return NULL;
}

static void write_claim(const struct al_writer *writer, const struct al_style *style,
	struct al_text *out)
{
	AL_ARENA(arena);
	writer->write_claim(style, al_printable(&arena, style->claim->text), out);
	al_text_add(out, "\n");
}

size_t al_write(const struct al_writer *writer, const struct al_style *asked,
	const struct al_table *const *tables, size_t n_tables, struct al_text *out)
{
	struct al_style style = *asked;
	const bool has_claim = style.claim && style.claim->text && writer->write_claim;

	if (style.units == AL_UNITS_DEFAULT)
		style.units = writer->units;
	if (style.lines && writer->write_short)
		return writer->write_short(&style, tables, n_tables, out);
	if (writer->write_all)
		writer->write_all(&style, tables, n_tables, out);
	if (has_claim)
		write_claim(writer, &style, out);
	for (size_t i = 0; i < n_tables && writer->write_table; i++) {
		al_text_add(out, i || has_claim ? "\n" : "");
		writer->write_table(&style, tables[i], out);
	}
	if (style.claim && writer->write_end)
		writer->write_end(&style, style.claim, out);
	return 0;
}

bool al_writer_find(const char *name, const struct al_writer **out, struct al_error *err)
{
	const char *names[N_WRITERS];

	*out = find(name);
	if (*out)
		return true;
	for (size_t i = 0; i < N_WRITERS; i++)
		names[i] = al_writers[i]->name;
	return al_fail_unknown(err, "format", name, names, N_WRITERS);
}

bool al_writer_for_file(const char *path, const struct al_writer **out, struct al_error *err)
{
	const char *extensions[N_WRITERS];
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash ? slash : path, '.');

	if (!dot)
		return al_fail(err, AL_EINPUT,
			"%s: unknown extension; use .txt, .json, .csv, .tex or .md", path);
	*out = find(dot + 1);
	if (*out)
		return true;
	for (size_t i = 0; i < N_WRITERS; i++)
		extensions[i] = al_writers[i]->extension;
	al_fail_unknown(err, "extension", dot + 1, extensions, N_WRITERS);
	return al_in(err, "%s", path);
}
