/* The text of a paper: its lines, and whether it is a text that can be read at all. */

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

/* ---- lines ---- */

static bool check_bytes(const struct al_paper *paper, size_t line, const char *text, size_t length,
	struct al_error *err)
{
	const char *nul = memchr(text, '\0', length);
	const size_t n = al_utf8_valid(text, nul ? (size_t)(nul - text) : length);

	return n == length
		|| al_fail(err, AL_EINPUT, "%s:%zu:%zu: byte 0x%02X is not text in UTF-8",
			paper->file, line, n + 1, (unsigned char)text[n]);
}

/* A byte-order mark before the first line and a carriage return behind any belong to none. */
static bool add_line(struct al_paper *paper, const char *text, size_t length, struct al_error *err)
{
	struct al_paper_line *line = AL_APPEND(&paper->arena, paper->lines, paper->n_lines,
		paper->lines_room);

	if (length > 0 && text[length - 1] == '\r')
		length--;
	if (paper->n_lines == 1 && length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
		text += 3;
		length -= 3;
	}
	*line = (struct al_paper_line){.text = text, .length = length};
	return check_bytes(paper, paper->n_lines, text, length, err);
}

static bool add_lines(struct al_paper *paper, const char *text, size_t length, struct al_error *err)
{
	const char *end = text + length;

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		if (!add_line(paper, text, (size_t)((stop ? stop : end) - text), err))
			return false;
		text = stop ? stop + 1 : end;
	}
	return true;
}

/* ---- braces ---- */

struct place {
	size_t line, column;
};

/* Environments whose text LaTeX doesn't read. */
static bool changes_verbatim(const struct al_paper_line *line, const char *word)
{
	static const char *const names[] = {"verbatim}", "lstlisting}", "minted}", "comment}"};
	const size_t n = strlen(word);

	for (size_t i = 0; i + n < line->length; i++)
		for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
			if (memcmp(line->text + i, word, n) == 0
				&& line->length - i - n >= strlen(names[k])
				&& memcmp(line->text + i + n, names[k], strlen(names[k])) == 0)
				return true;
	return false;
}

struct braces {
	struct al_arena *arena;
	struct place *open;
	size_t n, room;
	bool is_verbatim;
};

static bool follow_line(struct braces *braces, const struct al_paper *paper, size_t index,
	struct al_error *err)
{
	const struct al_paper_line *line = &paper->lines[index];

	if (changes_verbatim(line, braces->is_verbatim ? "\\end{" : "\\begin{")) {
		braces->is_verbatim = !braces->is_verbatim;
		return true;
	}
	for (size_t i = 0; i < line->length && !braces->is_verbatim && line->text[i] != '%'; i++) {
		if (line->text[i] == '\\')
			i++;
		else if (line->text[i] == '{') {
			*AL_APPEND(braces->arena, braces->open, braces->n,
				braces->room) = (struct place){index + 1, i + 1};
		} else if (line->text[i] == '}' && braces->n-- == 0)
			return al_fail(err, AL_EINPUT, "%s:%zu:%zu: \"}\" closes nothing",
				paper->file, index + 1, i + 1);
	}
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
		|| al_fail(err, AL_EINPUT, "%s:%zu:%zu: \"{\" is never closed", paper->file,
			braces.open[braces.n - 1].line, braces.open[braces.n - 1].column);
}

/* ---- papers ---- */

bool al_paper_parse(struct al_paper *paper, const char *file, const char *text, size_t length,
	struct al_error *err)
{
	const struct ending *ending = ending_of(file);

	*paper = (struct al_paper){.kind = ending ? ending->kind : AL_PAPER_TEXT};
	al_arena_init(&paper->arena);
	paper->file = al_strdup(&paper->arena, file);
	if (!add_lines(paper, al_strndup(&paper->arena, text, length), length, err)
		|| (paper->kind == AL_PAPER_TEX && !check_braces(paper, err))
		|| !al_paper_find_tables(paper, err)) {
		al_paper_finish(paper);
		return false;
	}
	al_paper_find_claims(paper);
	return true;
}

bool al_paper_read(struct al_paper *paper, const char *path, struct al_error *err)
{
	AL_TEXT(text);

	return al_file_read(&text, path, AL_PAPER_LIMIT, err)
		&& al_paper_parse(paper, path, text.data, text.length, err);
}

void al_paper_finish(struct al_paper *paper)
{
	al_arena_finish(&paper->arena);
}
