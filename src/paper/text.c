/* The text of a paper, and whether it can be read at all. */

#include "base/file.h"
#include "paper/paper.h"

static const struct ending {
	const char *text;
	enum al_paper_kind kind;
} endings[] = {{".tex", AL_PAPER_TEX}, {".md", AL_PAPER_MARKDOWN}, {".txt", AL_PAPER_TEXT}};

static const struct ending *ending_of(const char *path)
{
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		if (al_ends_with(path, endings[i].text))
			return &endings[i];
	return NULL;
}

bool al_paper_is_named(const char *path)
{
	return ending_of(path) != NULL;
}

/* ---- braces ---- */

struct place {
	size_t line, column;
};

static bool fail_at(const struct al_paper *paper, struct place place, const char *what,
	struct al_error *err)
{
	const struct al_paper_line *line = &paper->lines[place.line];

	return al_fail(err, AL_EINPUT, "%s:%zu:%zu: %s", line->file, line->number,
		line->column + place.column + 1, what);
}

struct braces {
	struct al_arena *arena;
	struct place *open;
	size_t n, room;
};

static bool follow_line(struct braces *braces, const struct al_paper *paper, size_t index,
	struct al_error *err)
{
	const struct al_paper_line *line = &paper->lines[index];

	for (size_t i = 0; i < line->length; i++)
		if (line->text[i] == '\\')
			i++;
		else if (line->text[i] == '{')
			*AL_APPEND(braces->arena, braces->open, braces->n,
				braces->room) = (struct place){index, i};
		else if (line->text[i] == '}' && braces->n-- == 0)
			return fail_at(paper, (struct place){index, i}, "\"}\" closes nothing",
				err);
	return true;
}

static bool check_braces(const struct al_paper *paper, struct al_error *err)
{
	AL_ARENA(arena);
	struct braces braces = {.arena = &arena};

	for (size_t i = 0; i < paper->n_lines; i++)
		if (!follow_line(&braces, paper, i, err))
			return false;
	return braces.n == 0
		|| fail_at(paper, braces.open[braces.n - 1], "\"{\" is never closed", err);
}

/* ---- papers ---- */

static bool parse(struct al_paper *paper, const char *file, const char *text, size_t length,
	bool follows, struct al_error *err)
{
	const struct ending *ending = ending_of(file);

	*paper = (struct al_paper){.kind = ending ? ending->kind : AL_PAPER_TEXT};
	al_arena_init(&paper->arena);
	paper->file = al_strdup(&paper->arena, file);
	if (!al_paper_read_lines(paper, al_strndup(&paper->arena, text, length), length, follows,
		    err)
		|| (paper->kind == AL_PAPER_TEX && !check_braces(paper, err))) {
		al_paper_finish(paper);
		return false;
	}
	if (paper->kind == AL_PAPER_TEX)
		al_paper_expand(paper);
	if (!al_paper_find_tables(paper, err)) {
		al_paper_finish(paper);
		return false;
	}
	al_paper_find_claims(paper);
	return true;
}

bool al_paper_parse(struct al_paper *paper, const char *file, const char *text, size_t length,
	struct al_error *err)
{
	return parse(paper, file, text, length, false, err);
}

bool al_paper_read(struct al_paper *paper, const char *path, struct al_error *err)
{
	AL_TEXT(text);

	return al_file_read(&text, path, AL_PAPER_LIMIT, err)
		&& parse(paper, path, text.data, text.length, true, err);
}

void al_paper_finish(struct al_paper *paper)
{
	al_arena_finish(&paper->arena);
}

const char *al_paper_place(const struct al_paper *paper, struct al_arena *arena, size_t line)
{
	return al_format(arena, "%s:%zu", paper->lines[line - 1].file,
		paper->lines[line - 1].number);
}
