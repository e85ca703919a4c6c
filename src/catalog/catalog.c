/* The catalog: built-in files and a user's, parsed when they are first asked for. */
#define _GNU_SOURCE /* memmem */
#include "catalog/catalog.h"

#include <assert.h>
#include <errno.h>

#include "base/file.h"
#include "base/hash.h"
#include "catalog/engine.h"
#include "catalog/family.h"
#include "catalog/cache.h"
#include "catalog/history.h"
#include "catalog/read.h"
#include "catalog/scheme.h"

extern const struct al_embedded_list al_embedded_variants, al_embedded_families,
	al_embedded_recipes, al_embedded_models, al_embedded_schemes, al_embedded_engines;

struct al_cached *al_catalog_keep(struct al_catalog *catalog, enum al_catalog_kind kind,
	const char *name)
{
	struct al_cached *cached = al_new(&catalog->arena, struct al_cached);

	cached->name = al_strdup(&catalog->arena, name);
	cached->older = catalog->newest[kind];
	catalog->newest[kind] = cached;
	return cached;
}

struct al_cached *al_catalog_find_cached(const struct al_catalog *catalog,
	enum al_catalog_kind kind, const char *name)
{
	for (struct al_cached *cached = catalog->newest[kind]; cached; cached = cached->older)
		if (strcmp(cached->name, name) == 0)
			return cached;
	return NULL;
}

/* ---- kinds ---- */

typedef bool parse_file(struct al_catalog *catalog, const struct al_json *doc, const char *name,
	void **item, struct al_error *err);

static bool parse_variant(struct al_catalog *catalog, const struct al_json *doc, const char *name,
	void **item, struct al_error *err)
{
	if (!al_read_file(&al_variant_file, &catalog->arena, doc, doc->root, &catalog->symbols,
		    item, err))
		return false;
	((struct al_variant *)*item)->file = al_json_is_path(name)
		? al_strdup(&catalog->arena, name)
		: "built-in";
	return true;
}

static bool parse_family(struct al_catalog *catalog, const struct al_json *doc, const char *name,
	void **item, struct al_error *err)
{
	const struct al_composition defaults = {.catalog = catalog, .standard = &catalog->symbols};
	struct al_family *family;

	if (!al_family_read(&catalog->arena, doc, &defaults, NULL, &family, err)
		|| (al_catalog_is_path(name) && !al_family_check(family, doc, catalog, err)))
		return false;
	family->file = al_strdup(&catalog->arena, name);
	family->hash = al_hash_block(AL_HASH_EMPTY, (const unsigned char *)doc->text, doc->length);
	*item = family;
	return true;
}

static bool parse_model(struct al_catalog *catalog, const struct al_json *doc, const char *name,
	void **item, struct al_error *err)
{
	(void)name;
	if (!al_json_expect(doc, doc->root, AL_JSON_OBJECT, err))
		return false;
	if (al_json_get(doc->root, "model_type") || al_json_get(doc->root, "text_config")
		|| al_json_get(doc->root, "architectures") || al_json_get(doc->root, "_class_name"))
		return al_catalog_config(catalog, doc, item, err);
	if (!al_json_get(doc->root, "name"))
		return al_json_fail(doc, doc->root, err,
			"expected the \"model_type\" of a config.json, or the \"name\" of a "
			"preset");
	return al_json_check_strict(doc, err)
		&& al_read_file(&al_model_file, &catalog->arena, doc, doc->root, NULL, item, err);
}

static bool parse_engine(struct al_catalog *catalog, const struct al_json *doc, const char *name,
	void **item, struct al_error *err)
{
	return al_engine_read(&catalog->arena, doc, name, item, err);
}

static const struct kind {
	const char *what;
	const struct al_embedded_list *files;
	parse_file *parse; /* NULL: by `record` */
	const struct al_file_kind *record;
	bool keeps_document;
	bool has_versions; /* NAME@VERSION */
	const char *key; /* whose texts a file of the kind is found by; NULL: none */
	size_t texts; /* where it has them */
} kinds[AL_N_CATALOG_KINDS] = {
	[AL_CATALOG_VARIANTS] = {"variant", &al_embedded_variants, .parse = parse_variant},
	[AL_CATALOG_FAMILIES] = {"family", &al_embedded_families, .parse = parse_family,
		.key = "\"model_types\"", .texts = offsetof(struct al_family, model_types)},
	[AL_CATALOG_RECIPES] = {"recipe", &al_embedded_recipes, .record = &al_recipe_file},
	[AL_CATALOG_MODELS] = {"model", &al_embedded_models, .parse = parse_model,
		.keeps_document = true},
	[AL_CATALOG_SCHEMES] = {"scheme", &al_embedded_schemes, .record = &al_scheme_file,
		.key = "\"methods\"", .texts = offsetof(struct al_scheme, methods)},
	[AL_CATALOG_ENGINES] = {"engine", &al_embedded_engines, .parse = parse_engine,
		.has_versions = true},
};

const struct al_embedded_list *al_catalog_files(enum al_catalog_kind kind)
{
	return kinds[kind].files;
}

/* ---- lookup ---- */

static bool is_built_in(const char *name)
{
	for (int i = 0; i < AL_N_CATALOG_KINDS; i++)
		if (al_embedded_find(kinds[i].files, name))
			return true;
	return false;
}

static bool is_folder(const char *path)
{
	return al_path_kind(path) == AL_PATH_FOLDER;
}

bool al_catalog_is_path(const char *name)
{
	return al_json_is_path(name) || (!is_built_in(name) && is_folder(name));
}

static bool read_path(struct al_catalog *catalog, enum al_catalog_kind kind, const char *path,
	struct al_json *doc, struct al_error *err)
{
	size_t length = strlen(path);

	if (kind == AL_CATALOG_MODELS && is_folder(path)) {
		const char *folder = path;
		path = al_format(&catalog->arena, "%s%sconfig.json", path,
			path[length - 1] == '/' ? "" : "/");
		if (al_path_kind(path) == AL_PATH_NONE && errno == ENOENT)
			return al_fail(err, AL_EINPUT,
				"%s: contains no config.json; give a model's folder, its "
				"config.json or a name from `list models`",
				folder);
	}
	return kind == AL_CATALOG_MODELS ? al_json_read_python(doc, path, err)
					 : al_json_read(doc, path, err);
}

static bool parse_document(struct al_catalog *catalog, enum al_catalog_kind index, const char *name,
	struct al_json *doc, struct al_error *err)
{
	const struct kind *kind = &kinds[index];
	const struct al_embedded *file = al_embedded_find(kind->files, name);

	if (al_catalog_is_path(name))
		return read_path(catalog, index, name, doc, err);
	if (!file)
		return al_fail_unknown_item(err, kind->what, name, kind->files->files,
			kind->files->n_files, sizeof(*kind->files->files));
	const char *place = al_format(&catalog->arena, "%s/%s.json", kind->files->folder, name);
	return al_json_parse(doc, place, file->text, file->length, err);
}

static bool read_document(struct al_catalog *catalog, enum al_catalog_kind index, const char *name,
	struct al_json *doc, struct al_error *err)
{
	if (!parse_document(catalog, index, name, doc, err))
		return false;
	if (index != AL_CATALOG_FAMILIES || !al_json_get(doc->root, "like")
		|| al_family_complete(catalog, doc, err))
		return true;
	al_json_finish(doc);
	return false;
}

/* Keeps a document's content under a name, or lets go of the document. */
static bool keep(struct al_catalog *catalog, enum al_catalog_kind index, const char *name,
	struct al_json *doc, void **out, struct al_error *err)
{
	const struct kind *kind = &kinds[index];
	const bool ok = kind->parse ? kind->parse(catalog, doc, name, out, err)
				    : al_read_file(kind->record, &catalog->arena, doc, doc->root,
					    &catalog->symbols, out, err);

	if (!ok || !kind->keeps_document)
		al_json_finish(doc);
	if (!ok)
		return false;
	struct al_cached *cached = al_catalog_keep(catalog, index, name);
	cached->doc = doc;
	cached->item = *out;
	return true;
}

static bool load(struct al_catalog *catalog, enum al_catalog_kind index, const char *name,
	void **out, struct al_error *err)
{
	struct al_json *doc = al_new(&catalog->arena, struct al_json);

	const char *file = kinds[index].has_versions ? al_version_cut(&catalog->arena, name, NULL)
						     : name;

	return read_document(catalog, index, file, doc, err)
		&& keep(catalog, index, name, doc, out, err);
}

/* `out`: a pointer to what a file of the kind is read into. */
static bool find(struct al_catalog *catalog, enum al_catalog_kind kind, const char *name, void *out,
	struct al_error *err)
{
	const struct al_cached *cached = al_catalog_find_cached(catalog, kind, name);
	void *item = cached ? cached->item : NULL;

	if (!item && !load(catalog, kind, name, &item, err))
		return false;
	memcpy(out, &item, sizeof(item));
	return true;
}

bool al_catalog_family_file(struct al_catalog *catalog, const char *name, struct al_json *doc,
	struct al_error *err)
{
	return parse_document(catalog, AL_CATALOG_FAMILIES, name, doc, err);
}

bool al_catalog_family_document(struct al_catalog *catalog, const char *name, struct al_json *doc,
	struct al_error *err)
{
	const struct al_cached *cached = al_catalog_find_cached(catalog, AL_CATALOG_FAMILIES, name);

	return read_document(catalog, AL_CATALOG_FAMILIES,
		cached && cached->path ? cached->path : name, doc, err);
}

bool al_catalog_variant(struct al_catalog *catalog, const char *name, const struct al_variant **out,
	struct al_error *err)
{
	return find(catalog, AL_CATALOG_VARIANTS, name, out, err);
}

bool al_catalog_recipe(struct al_catalog *catalog, const char *name, const struct al_recipe **out,
	struct al_error *err)
{
	struct al_recipe *recipe, *like;

	if (!find(catalog, AL_CATALOG_RECIPES, name, &recipe, err))
		return false;
	*out = recipe;
	if (!recipe->like || recipe->n_working > 0)
		return true;
	if (!find(catalog, AL_CATALOG_RECIPES, recipe->like, &like, err))
		return al_in(err, "recipe %s: like", recipe->name);
	if (like->like || like->n_working == 0)
		return al_fail(err, AL_EINPUT,
			"recipe %s: like: recipe %s has no working set of its own", recipe->name,
			like->name);
	recipe->optimizers = like->optimizers;
	recipe->n_optimizers = like->n_optimizers;
	recipe->saved = like->saved;
	recipe->n_saved = like->n_saved;
	recipe->working = like->working;
	recipe->n_working = like->n_working;
	return true;
}

bool al_catalog_model(struct al_catalog *catalog, const char *name, const struct al_model **out,
	struct al_error *err)
{
	return find(catalog, AL_CATALOG_MODELS, name, out, err);
}

bool al_catalog_engine(struct al_catalog *catalog, const char *name, const struct al_engine **out,
	struct al_error *err)
{
	return find(catalog, AL_CATALOG_ENGINES, name, out, err);
}

bool al_catalog_scheme(struct al_catalog *catalog, const char *name, const struct al_scheme **out,
	struct al_error *err)
{
	return find(catalog, AL_CATALOG_SCHEMES, name, out, err);
}

bool al_catalog_family(struct al_catalog *catalog, const char *name, const struct al_family **out,
	struct al_error *err)
{
	return find(catalog, AL_CATALOG_FAMILIES, name, out, err);
}

bool al_catalog_add_config(struct al_catalog *catalog, const char *name, const char *text,
	struct al_error *err)
{
	struct al_json *doc = al_new(&catalog->arena, struct al_json);
	void *item;

	if (!al_json_parse(doc, name, text, strlen(text), err))
		return false;
	doc->is_made = true;
	return keep(catalog, AL_CATALOG_MODELS, name, doc, &item, err);
}

/* ---- by a word ---- */

static bool answers_to(enum al_catalog_kind kind, const void *item, const char *word)
{
	const struct al_texts *texts = (const void *)((const char *)item + kinds[kind].texts);

	return al_find_name(word, texts->items, texts->n) >= 0;
}

/* Only a file whose list holds the quoted word can be the one; no other is parsed. */
static bool may_answer_to(enum al_catalog_kind kind, const char *text, const char *quoted)
{
	const char *list = strstr(text, kinds[kind].key), *end = list ? strchr(list, ']') : NULL;

	return end && memmem(list, (size_t)(end - list), quoted, strlen(quoted));
}

bool al_catalog_find_by_word(struct al_catalog *catalog, enum al_catalog_kind kind,
	const char *word, const void **out, struct al_error *err)
{
	const struct al_embedded_list *list = kinds[kind].files;
	const char *quoted = al_format(&catalog->arena, "\"%s\"", word);

	for (size_t i = 0; i < list->n_files; i++) {
		if (!may_answer_to(kind, list->files[i].text, quoted))
			continue;
		if (!find(catalog, kind, list->files[i].name, out, err))
			return false;
		if (answers_to(kind, *out, word))
			return true;
	}
	*out = NULL;
	return true;
}

/* ---- families by model_type ---- */

static bool add_family(struct al_catalog *catalog, const char *path, struct al_error *err)
{
	const struct al_family *family;

	if (!al_catalog_family(catalog, path, &family, err))
		return false;
	struct al_cached *added = al_catalog_keep(catalog, AL_CATALOG_FAMILIES, family->name);
	added->path = al_strdup(&catalog->arena, path);
	added->item = al_catalog_find_cached(catalog, AL_CATALOG_FAMILIES, path)->item;
	return true;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool add_folder(struct al_catalog *catalog, const char *folder, struct al_error *err)
{
	const char **names;
	size_t n;

	if (!al_folder_list(&catalog->arena, folder, &names, &n, err))
		return false;
	if (n > 0)
		qsort(names, n, sizeof(*names), compare_names);
	for (size_t i = 0; i < n; i++)
		if (*names[i] != '.' && al_json_is_path(names[i])
			&& !add_family(catalog, al_path_join(&catalog->arena, folder, names[i]),
				err))
			return false;
	return true;
}

/* $XDG_CONFIG_HOME/attnledger/families; NULL: no folder is the user's. */
static const char *find_own_folder(struct al_arena *arena)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (!config || *config != '/')
		config = home && *home ? al_path_join(arena, home, ".config") : NULL;
	return config ? al_path_join(arena, config, "attnledger/families") : NULL;
}

bool al_catalog_own_families(struct al_catalog *catalog, struct al_error *err)
{
	const char *folder = catalog->has_own ? NULL : find_own_folder(&catalog->arena);

	catalog->has_own = true;
	return !folder || al_path_kind(folder) != AL_PATH_FOLDER
		|| add_folder(catalog, folder, err);
}

bool al_catalog_add_families(struct al_catalog *catalog, const char *path, struct al_error *err)
{
	if (!al_catalog_own_families(catalog, err))
		return false;
	if (al_path_kind(path) == AL_PATH_FOLDER)
		return add_folder(catalog, path, err);
	return al_json_is_path(path)
		? add_family(catalog, path, err)
		: al_fail(err, AL_EINPUT, "\"%s\" is neither a folder nor a file NAME.json", path);
}

const struct al_family *al_catalog_added_family(const struct al_catalog *catalog, size_t index)
{
	for (struct al_cached *l = catalog->newest[AL_CATALOG_FAMILIES]; l; l = l->older)
		if (l->path && index-- == 0)
			return l->item;
	return NULL;
}

static const struct al_family *find_added(const struct al_catalog *catalog, const char *model_type)
{
	for (struct al_cached *l = catalog->newest[AL_CATALOG_FAMILIES]; l; l = l->older)
		if (l->path && answers_to(AL_CATALOG_FAMILIES, l->item, model_type))
			return l->item;
	return NULL;
}

/* The config of a GGUF file, before its architecture (checkpoint/gguf_config.c). */
static const char of_gguf[] = "gguf_";

bool al_catalog_family_of(struct al_catalog *catalog, const char *model_type,
	const struct al_family **out, struct al_error *err)
{
	const void *found = find_added(catalog, model_type);

	if (!found
		&& !al_catalog_find_by_word(catalog, AL_CATALOG_FAMILIES, model_type, &found, err))
		return false;
	*out = found;
	if (found)
		return true;
	const bool is_gguf = strncmp(model_type, of_gguf, strlen(of_gguf)) == 0;
	return al_fail(err, AL_EINPUT,
		"unsupported %s \"%s\": no built-in family matches it; add one with --families "
		"FILE",
		is_gguf ? "architecture" : "model_type",
		model_type + (is_gguf ? strlen(of_gguf) : 0));
}

/* ---- life ---- */

struct al_catalog *al_catalog_create(void)
{
	struct al_catalog *catalog = al_calloc(1, sizeof(*catalog));
	struct al_error err = {0};

	al_arena_init(&catalog->arena);
	bool ok = al_symbols_load(&catalog->arena, &catalog->symbols, &err);
	assert(ok && "symbols.json, which we embed ourselves, is valid");
	(void)ok;
	return catalog;
}

void al_catalog_destroy(struct al_catalog *catalog)
{
	if (!catalog)
		return;
	for (size_t kind = 0; kind < AL_N_CATALOG_KINDS; kind++)
		for (struct al_cached *cached = catalog->newest[kind]; cached;
			cached = cached->older)
			if (kinds[kind].keeps_document)
				al_json_finish(cached->doc);
	al_arena_finish(&catalog->arena);
	free(catalog);
}
