/* Models by the labels that papers give them: models.json, built-in names, a folder's files. */
#include "paper/models.h"

#include <ctype.h>
#include <strings.h>

#include "base/alike.h"
#include "base/embedded.h"
#include "base/file.h"
#include "base/json.h"

extern const struct al_embedded_list al_embedded_paper;

/* ---- reading ---- */

static struct al_paper_model *add(struct al_paper_subjects *s, const char *word, const char *from)
{
	struct al_paper_model *model = AL_APPEND(s->arena, s->models, s->n, s->room);

	*model = (struct al_paper_model){.word = word, .from = from, .has_own_title = true};
	return model;
}

/* The first two characters that count, in small letters. */
static size_t begin_of(const char *name)
{
	const char *second = *name ? name + 1 + strspn(name + 1, "-_ ") : name;

	return ((size_t)tolower((unsigned char)*name) & 127) * 128
		+ ((size_t)tolower((unsigned char)*second) & 127);
}

static void add_name(struct al_paper_subjects *s, struct al_paper_model *model, const char *name)
{
	const char **names = al_new_array(s->arena, const char *, model->n_names + 1);

	for (size_t i = 0; i < model->n_names; i++)
		names[i] = model->names[i];
	names[model->n_names++] = name;
	model->names = names;
	s->begins[begin_of(name)] = true;
}

/* {"names": [...], "use": "llama-3-8b"} or {"names": [...], "config": {...}, "source": "..."} */
static bool read_known(struct al_paper_subjects *s, const struct al_json *doc,
	const struct al_item *node, struct al_error *err)
{
	const struct al_item *names, *config;
	const char *word = NULL, *source = NULL, *name;
	AL_TEXT(text);

	if (!al_json_get_node(doc, node, "names", AL_JSON_ARRAY, true, &names, err)
		|| !al_json_get_node(doc, node, "config", AL_JSON_OBJECT, false, &config, err)
		|| !al_json_get_text(doc, node, "use", !config, &word, err)
		|| !al_json_get_text(doc, node, "source", config != NULL, &source, err))
		return false;
	struct al_paper_model *model = add(s, word ? al_strdup(s->arena, word) : NULL, "built in");
	if (config) {
		al_json_add_compact(&text, config);
		model->config = al_strdup(s->arena, text.data);
	}
	al_json_each (item, names) {
		if (!al_json_text(doc, item, &name, err))
			return false;
		add_name(s, model, al_strdup(s->arena, name));
	}
	if (!model->word)
		model->word = al_format(s->arena, "%s (models that papers name)", model->names[0]);
	return true;
}

static bool read_list(struct al_paper_subjects *s, struct al_error *err)
{
	const struct al_embedded *file = al_embedded_find(&al_embedded_paper, "models");
	AL_JSON(doc);

	if (!al_json_parse(&doc, "models.json", file->text, file->length, err))
		return false;
	al_json_each (node, al_json_get(doc.root, "models"))
		if (!read_known(s, &doc, node, err))
			return false;
	return true;
}

static void add_built_in(struct al_paper_subjects *s)
{
	const struct al_embedded_list *list = al_catalog_files(AL_CATALOG_MODELS);

	for (size_t i = 0; i < list->n_files; i++) {
		struct al_paper_model *model = add(s, list->files[i].name, "built in");
		add_name(s, model, list->files[i].name);
		model->has_own_title = false;
	}
}

/* NAME.json, or NAME/config.json. */
static bool add_folder(struct al_paper_subjects *s, const char *folder, struct al_error *err)
{
	const char **names;
	size_t n;

	if (!al_folder_list(s->arena, folder, &names, &n, err))
		return false;
	for (size_t i = 0; i < n; i++) {
		const char *path = al_format(s->arena, "%s/%s", folder, names[i]);
		const bool is_file = al_ends_with(names[i], ".json");
		const char *config = is_file ? path : al_format(s->arena, "%s/config.json", path);
		if (al_path_kind(config) != AL_PATH_FILE)
			continue;
		struct al_paper_model *model = add(s, config, config);
		model->is_file = true;
		add_name(s, model,
			al_strndup(s->arena, names[i],
				strlen(names[i]) - (is_file ? strlen(".json") : 0)));
	}
	return true;
}

/* A paper's own models come first. */
bool al_paper_subjects_init(struct al_paper_subjects *subjects, struct al_arena *arena,
	struct al_catalog *catalog, const char *folder, bool is_required, struct al_error *err)
{
	*subjects = (struct al_paper_subjects){.arena = arena, .catalog = catalog};
	if (folder && (is_required || al_path_kind(folder) == AL_PATH_FOLDER)
		&& !add_folder(subjects, folder, err))
		return false;
	if (!al_paper_vocabulary_read(&subjects->vocabulary, arena, err)
		|| !read_list(subjects, err))
		return false;
	add_built_in(subjects);
	return true;
}

/* ---- labels ---- */

/* The length of the vendor that the label begins with; 0: it begins with none. */
static size_t vendor_length(const struct al_paper_vocabulary *v, const char *label)
{
	for (size_t i = 0; i < v->n_vendors; i++)
		if (strncasecmp(label, v->vendors[i], strlen(v->vendors[i])) == 0)
			return strlen(v->vendors[i]);
	return 0;
}

/* A row with a mark may be of something else, which its note explains. Cuts what has nothing to do
 * with sizes: "meta-llama/", "-Instruct", " (base)", " [12]". */
static char *cut_label(const struct al_paper_subjects *s, struct al_arena *arena, const char *label)
{
	const struct al_paper_vocabulary *v = &s->vocabulary;
	const char *slash = strrchr(label, '/');
	char *out = al_strdup(arena, slash && !strchr(label, ' ') ? slash + 1 : label);

	for (size_t n; (n = vendor_length(v, out)) > 0;)
		out += n;
	char *colon = strchr(out, ':'); /* "qwen2.5:7b" */
	if (colon && isdigit((unsigned char)colon[1]))
		*colon = ' ';
	for (size_t i = 0; i < v->n_endings;) {
		const size_t n = strlen(out), m = strlen(v->endings[i]);
		const bool is = n > m && strcasecmp(out + n - m, v->endings[i]) == 0;
		if (is)
			out[n - m] = '\0';
		i = is ? 0 : i + 1;
	}
	return out;
}

/* A remark that doesn't make it another model, "GQA 8:1"; a number is a citation. */
static bool is_harmless(const struct al_paper_vocabulary *v, const char *remark)
{
	static const char numbers[] = "0123456789,/: ";
	bool is = remark[strspn(remark, numbers)] == '\0';

	for (size_t i = 0; i < v->n_remarks && !is; i++) {
		const size_t n = strlen(v->remarks[i]);
		is = strncasecmp(remark, v->remarks[i], n) == 0
			&& (!remark[n]
				|| (remark[n] == ' ' && !remark[n + strspn(remark + n, numbers)]));
	}
	return is;
}

/* "Llama 2 (7B)": a size in brackets belongs to the name. */
static char *open_brackets(const struct al_paper_subjects *s, struct al_arena *arena, char *label)
{
	char *open = strpbrk(label, "(["), *close = strpbrk(open, ")]");

	if (!close || open == label || close[1])
		return label;
	const char *remark = al_strndup(arena, open + 1, (size_t)(close - open - 1));
	const size_t digits = strspn(remark, "0123456789.");
	const bool is_size = digits > 0 && remark[digits] && strchr("MB", remark[digits])
		&& !remark[digits + 1];
	if (is_size || is_harmless(&s->vocabulary, remark)) {
		*open = is_size ? ' ' : '\0';
		*close = '\0';
	}
	return label;
}

static bool is_named(const struct al_paper_model *model, const char *label)
{
	for (size_t i = 0; i < model->n_names; i++) {
		const char *name = model->names[i];
		/* most differ in their first letter, which is quick to see */
		const bool may_be = !isalpha((unsigned char)*name)
			|| !isalpha((unsigned char)*label) || (*name | 32) == (*label | 32);
		if (may_be && al_is_alike(name, label))
			return true;
	}
	return false;
}

bool al_paper_model_may_be(const struct al_paper_subjects *s, const char *label)
{
	const char *slash = strchr(label, ' ') ? NULL : strrchr(label, '/');
	const char *p = slash ? slash + 1 : label;

	return vendor_length(&s->vocabulary, p) > 0 || s->begins[begin_of(p)];
}

static struct al_paper_model *find_named(struct al_paper_subjects *s, const char *name)
{
	for (size_t i = 0; s->begins[begin_of(name)] && i < s->n; i++)
		if (is_named(&s->models[i], name))
			return &s->models[i];
	return NULL;
}

struct al_paper_model *al_paper_model_find(struct al_paper_subjects *subjects, const char *label)
{
	AL_ARENA(scratch);

	if (strlen(label) < 3 || strlen(label) > 80 || !al_paper_model_may_be(subjects, label))
		return NULL;
	struct al_paper_model *found = find_named(subjects, label);
	char *cut = cut_label(subjects, &scratch, label);
	if (!found && strcmp(cut, label) != 0)
		found = find_named(subjects, cut);
	if (found || !strpbrk(cut, "(["))
		return found;
	cut = open_brackets(subjects, &scratch, cut);
	return find_named(subjects, cut_label(subjects, &scratch, cut));
}

const char *al_paper_model_word(struct al_paper_subjects *subjects, const char *label)
{
	struct al_paper_model *model = al_paper_model_find(subjects, label);

	if (!model)
		return NULL;
	if (model->config && !model->is_added
		&& !al_catalog_add_config(subjects->catalog, model->word, model->config, NULL))
		return NULL;
	model->is_added = true;
	return model->word;
}
