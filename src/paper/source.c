/* The lines of a paper as TeX reads them: those of the files that it includes in their places, no
 * comments, nothing that is verbatim, nothing behind the document's end. */

#include "base/file.h"
#include "paper/paper.h"

enum { MOST_FILES = 1000, MOST_DEPTH = 30 };

struct reading {
	struct al_paper *paper;
	const char *folder; /* the main file's, with its slash; NULL: no other file is read */
	size_t n_files, n_bytes;
	bool is_in_body, is_full; /* full: no further file is read */
};

/* A file that is being read. Paths begin at the main file's folder. */
struct source {
	const struct source *outer; /* NULL: the main file */
	const char *path, *file; /* file: for messages */
	const char *folder; /* where its own files are looked for first: "", "sections/" */
	size_t line, depth;
	int64_t n_open; /* braces */
	bool is_verbatim, has_ended;
};

static bool read_text(struct reading *r, struct source *s, char *text, size_t length,
	struct al_error *err);

/* ---- a line ---- */

static bool check_bytes(const struct source *s, const char *text, size_t length,
	struct al_error *err)
{
	const char *nul = memchr(text, '\0', length);
	const size_t n = al_utf8_valid(text, nul ? (size_t)(nul - text) : length);

	return n == length
		|| al_fail(err, AL_EINPUT, "%s:%zu:%zu: byte 0x%02X is not text in UTF-8", s->file,
			s->line, n + 1, (unsigned char)text[n]);
}

static struct al_paper_line *add_line(struct reading *r, const struct source *s, const char *text,
	size_t length, size_t column)
{
	struct al_paper_line *line = AL_APPEND(&r->paper->arena, r->paper->lines, r->paper->n_lines,
		r->paper->lines_room);

	*line = (struct al_paper_line){.file = s->file,
		.number = s->line,
		.column = column,
		.text = text,
		.length = length};
	return line;
}

/* Spaces in place of what \verb|...| holds; returns where it ends. */
static size_t blank_verb(char *text, size_t length, size_t at)
{
	size_t open = at + strlen("\\verb");

	open += open < length && text[open] == '*';
	if (open >= length || al_is_letter(text[open]))
		return at + 1;
	const char *close = memchr(text + open + 1, text[open], length - open - 1);
	const size_t end = close ? (size_t)(close - text) + 1 : length;
	memset(text + at, ' ', end - at);
	return end - 1;
}

static bool begins(const char *text, size_t length, size_t at, const char *word)
{
	const size_t n = strlen(word);

	return length - at >= n && memcmp(text + at, word, n) == 0;
}

/* Behind \begin{verbatim}, or its \end; 0 where neither is at `at`. */
static size_t behind_verbatim(const char *text, size_t length, size_t at, const char *word)
{
	static const char *const names[] = {"verbatim}", "verbatim*}", "Verbatim}", "lstlisting}",
		"minted}", "comment}", "filecontents}", "filecontents*}"};
	const size_t n = at + strlen(word);

	for (size_t k = 0; k < sizeof(names) / sizeof(*names) && begins(text, length, at, word);
		k++)
		if (begins(text, length, n, names[k]))
			return n + strlen(names[k]);
	return 0;
}

/* Blanks what is verbatim. The length of the line in front of a comment. */
static size_t blank_verbatim(struct source *s, char *text, size_t length)
{
	size_t i = 0, behind;

	while (i < length && (s->is_verbatim || text[i] != '%')) {
		behind = behind_verbatim(text, length, i, s->is_verbatim ? "\\end{" : "\\begin{");
		if (behind > 0 || s->is_verbatim) {
			s->is_verbatim ^= behind > 0;
			behind = behind > 0 ? behind : i + 1;
			memset(text + i, ' ', behind - i);
			i = behind;
		} else if (begins(text, length, i, "\\verb"))
			i = blank_verb(text, length, i) + 1;
		else
			i += text[i] == '\\' ? 2 : 1;
	}
	return al_least(i, length);
}

/* ---- other files ---- */

/* The path without "." and ".."; NULL where it leaves the folder. */
static const char *path_inside(struct al_arena *arena, const char *folder, const char *name)
{
	char *rest = al_format(arena, "%s%s", folder, name);
	AL_TEXT(path);

	if (*name == '/')
		return NULL;
	for (char *part = strtok_r(rest, "/", &rest); part; part = strtok_r(NULL, "/", &rest)) {
		if (strcmp(part, "..") == 0) {
			const char *slash = strrchr(path.data, '/');
			if (path.length == 0)
				return NULL;
			path.length = slash ? (size_t)(slash - path.data) : 0;
			path.data[path.length] = '\0';
		} else if (strcmp(part, ".") != 0)
			al_text_addf(&path, "%s%s", path.length ? "/" : "", part);
	}
	return al_strdup(arena, path.data);
}

/* TeX adds ".tex" where such a file exists. */
static const char *find_file(const struct reading *r, const char *folder, const char *name)
{
	struct al_arena *arena = &r->paper->arena;
	const char *const folders[] = {folder, ""}, *const endings[] = {".tex", ""};

	for (size_t i = 0; i < 4; i++) {
		const char *path = path_inside(arena, folders[i / 2],
			al_format(arena, "%s%s", name, endings[i % 2]));
		if (path && al_path_kind(al_format(arena, "%s%s", r->folder, path)) == AL_PATH_FILE)
			return path;
	}
	return NULL;
}

static bool is_open(const struct source *s, const char *path)
{
	for (; s; s = s->outer)
		if (strcmp(s->path, path) == 0)
			return true;
	return false;
}

/* Why a file isn't read, or NULL, and then its text. */
static const char *open_file(struct reading *r, const struct source *s, const char *folder,
	const char *name, const char **path, struct al_text *text)
{
	struct al_arena *arena = &r->paper->arena;
	struct al_error err = {0};

	r->is_full = r->n_files + r->paper->n_unread >= MOST_FILES;
	if (r->is_full)
		return al_format(arena,
			"more than %d files are included; this one and later ones are not read",
			MOST_FILES);
	if (!r->folder)
		return "a text alone includes no file";
	if (!path_inside(arena, folder, name) && !path_inside(arena, "", name))
		return "is outside the paper's folder";
	*path = find_file(r, folder, name);
	if (!*path)
		return "the paper's folder has no such file";
	if (is_open(s, *path))
		return al_format(arena, "%s includes itself", *path);
	if (s->depth == MOST_DEPTH)
		return al_format(arena, "more than %d files include each other", MOST_DEPTH);
	if (!al_file_read(text, al_format(arena, "%s%s", r->folder, *path),
		    AL_PAPER_LIMIT - r->n_bytes, &err))
		return al_strdup(arena, err.message);
	return NULL;
}

/* A macro that includes a file. */
struct form {
	const char *macro;
	bool has_folder; /* an argument of its own before the file's */
	bool is_relative; /* to the file that it is in, which its own files are, too */
};

static const struct form forms[] = {{"\\input", false, false}, {"\\include", false, false},
	{"\\subfile", false, true}, {"\\subfileinclude", false, true}, {"\\import", true, false},
	{"\\inputfrom", true, false}, {"\\includefrom", true, false}, {"\\subimport", true, true},
	{"\\subinputfrom", true, true}, {"\\subincludefrom", true, true}};

static bool include(struct reading *r, const struct source *s, const struct form *form,
	const char *folder, const char *name, struct al_error *err)
{
	struct al_arena *arena = &r->paper->arena;
	const char *slash = strrchr(name, '/'), *path = NULL;
	const char *whole = al_format(arena, "%s%s{%s}", form->macro,
		form->has_folder ? al_format(arena, "{%s}", folder) : "", name);
	AL_TEXT(text);

	if (r->is_full || strchr(name, '#'))
		return true; /* within a macro's definition */
	if (!form->has_folder && form->is_relative && slash) {
		folder = al_strndup(arena, name, (size_t)(slash + 1 - name));
		name = slash + 1;
	}
	if (form->has_folder || form->is_relative) {
		folder = path_inside(arena, form->is_relative ? s->folder : "",
			folder ? folder : "");
		folder = folder && *folder ? al_format(arena, "%s/", folder) : folder;
	} else
		folder = s->folder;
	const char *why = folder ? open_file(r, s, folder, name, &path, &text)
				 : "is outside the paper's folder";
	if (why) {
		*AL_APPEND(arena, r->paper->unread, r->paper->n_unread,
			r->paper->unread_room) = (struct al_paper_unread){r->paper->n_lines, whole,
			why, r->is_in_body};
		return true;
	}
	r->n_files++;
	r->n_bytes += text.length;
	struct source inner = {.outer = s,
		.path = path,
		.file = al_format(arena, "%s%s", r->folder, path),
		.folder = folder,
		.depth = s->depth + 1};
	return read_text(r, &inner, al_strndup(arena, text.data, text.length), text.length, err);
}

/* "{NAME}" behind spaces; without braces to the next space. Where it ends; 0: it isn't here. */
static size_t take_name(struct al_arena *arena, const char *text, size_t length, size_t at,
	const char **name)
{
	while (at < length && (text[at] == ' ' || text[at] == '*'))
		at++;
	const bool has_braces = at < length && text[at] == '{';
	const size_t first = at + has_braces;
	size_t end = first;

	while (end < length && (has_braces ? text[end] != '}' : !strchr(" \\{}[", text[end])))
		end++;
	if (end == first || (has_braces && end == length))
		return 0;
	*name = al_strndup(arena, text + first, end - first);
	return end + has_braces;
}

static const struct form *form_at(const char *text, size_t length, size_t at, size_t *behind)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		*behind = at + strlen(forms[i].macro);
		if (begins(text, length, at, forms[i].macro)
			&& (*behind == length || !al_is_letter(text[*behind])))
			return &forms[i];
	}
	return NULL;
}

/* A line, and the files that it includes between its parts. */
static bool read_line(struct reading *r, struct source *s, const char *text, size_t length,
	struct al_error *err)
{
	size_t begin = 0, behind;

	for (size_t at = 0; at < length && !s->has_ended; at++) {
		const char *folder = NULL, *name;
		s->n_open += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
		if (text[at] != '\\')
			continue;
		s->has_ended = s->n_open <= 0 /* what a macro would do hasn't been done */
			&& (begins(text, length, at, "\\endinput")
				|| begins(text, length, at, "\\end{document}"));
		r->is_in_body |= begins(text, length, at, "\\begin{document}");
		if (s->has_ended)
			length = at;
		const struct form *form = form_at(text, length, at, &behind);
		if (form && form->has_folder)
			behind = take_name(&r->paper->arena, text, length, behind, &folder);
		if (form && behind > 0)
			behind = take_name(&r->paper->arena, text, length, behind, &name);
		if (!form || behind == 0) {
			at++;
			continue;
		}
		add_line(r, s, text + begin, at - begin, begin)->is_part = true;
		if (!include(r, s, form, folder, name, err))
			return false;
		begin = behind;
		at = behind - 1;
	}
	if (begin == 0 || begin < length)
		add_line(r, s, text + begin, length - begin, begin);
	return true;
}

/* The next line of LaTeX: nothing of it is left where it is a comment or verbatim. */
static bool read_tex(struct reading *r, struct source *s, char *text, size_t length,
	struct al_error *err)
{
	const bool was_verbatim = s->is_verbatim;
	const size_t shown = blank_verbatim(s, text, length);
	const bool is_blank = strspn(text, " \t") >= shown;

	if (is_blank && (shown < length || was_verbatim || s->is_verbatim))
		return true;
	return read_line(r, s, text, shown, err);
}

/* A byte-order mark before the first line and a carriage return behind any belong to none. */
static bool read_text(struct reading *r, struct source *s, char *text, size_t length,
	struct al_error *err)
{
	char *end = text + length;

	if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
		text += 3;
	while (text < end && !s->has_ended) {
		char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((stop ? stop : end) - text);
		s->line++;
		n -= n > 0 && text[n - 1] == '\r';
		if (!check_bytes(s, text, n, err))
			return false;
		if (r->paper->kind != AL_PAPER_TEX)
			add_line(r, s, text, n, 0);
		else if (!read_tex(r, s, text, n, err))
			return false;
		text = stop ? stop + 1 : end;
	}
	return true;
}

bool al_paper_read_lines(struct al_paper *paper, char *text, size_t length, bool follows,
	struct al_error *err)
{
	const char *slash = strrchr(paper->file, '/');
	const size_t n = slash ? (size_t)(slash + 1 - paper->file) : 0;
	struct reading r = {.paper = paper,
		.folder = follows ? al_strndup(&paper->arena, paper->file, n) : NULL,
		.n_bytes = length,
		.is_in_body = !strstr(text, "\\begin{document}")};
	struct source main = {.path = paper->file + n, .file = paper->file, .folder = ""};

	return read_text(&r, &main, text, length, err);
}
