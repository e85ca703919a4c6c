/* "like": the file of a family that is another one but for a few differences.
 *
 * They are merged as in a JSON merge patch (RFC 7386): null removes a member, objects are merged
 * member by member, any other value replaces. A list of things with names is an object of these
 * names. A new member comes before the next one that the other family has, or last. */
#include "catalog/cache.h"
#include "catalog/family_read.h"

enum { MOST_LIKE = 8 }; /* families that are each like the next one */

struct merge {
	struct al_json *doc; /* the differences */
	const char *like;
	struct al_error *err;
};

static const char *name_of(const struct al_item *child)
{
	const struct al_item *name = child->key ? NULL : al_json_get(child, "name");

	return child->key ? child->key : name && name->kind == AL_JSON_TEXT ? name->text : "";
}

/* The first from `at` on, or the end. */
static struct al_item **find(struct al_item **at, const char *name)
{
	while (*at && strcmp(name_of(*at), name) != 0)
		at = &(*at)->next;
	return at;
}

static bool is_container(const struct al_item *item)
{
	return item->kind == AL_JSON_OBJECT || item->kind == AL_JSON_ARRAY;
}

/* Before they are changed: other families may be like the same one. */
static void copy_children(struct al_arena *arena, struct al_item *item)
{
	for (struct al_item **at = &item->first; *at; at = &(*at)->next) {
		struct al_item *child = al_new(arena, struct al_item);
		*child = **at;
		*at = child;
	}
}

/* Lists are changed in place: what comes twice must be there twice. */
static struct al_item *copy(struct al_arena *arena, const struct al_item *item)
{
	struct al_item *out = al_new(arena, struct al_item);

	*out = *item;
	out->next = NULL;
	if (!is_container(item))
		return out;
	struct al_item **last = &out->first;
	*last = NULL;
	for (const struct al_item *child = item->first; child; child = child->next) {
		*last = copy(arena, child);
		last = &(*last)->next;
	}
	return out;
}

static bool is_named(const struct al_item *item)
{
	return item->kind == AL_JSON_OBJECT
		|| (item->kind == AL_JSON_ARRAY && item->first && *name_of(item->first));
}

/* "NAME": {...} of an object, as {"name": "NAME", ...} of a list. */
static bool add_name(struct merge *m, struct al_item *item)
{
	struct al_item *name = al_new(&m->doc->arena, struct al_item);

	if (item->kind != AL_JSON_OBJECT)
		return al_json_fail(m->doc, item, m->err, "expected an object, or null");
	*name = *item;
	name->kind = AL_JSON_TEXT;
	name->key = "name";
	name->text = item->key;
	name->next = item->first;
	item->first = name;
	item->key = NULL;
	return true;
}

/* Before `next`, or last; `*next` is then the new one. */
static bool add(struct merge *m, struct al_item *into, const struct al_item *difference,
	struct al_item **next)
{
	struct al_item *item = copy(&m->doc->arena, difference), **at = &into->first;

	if (item->kind == AL_JSON_NULL)
		return al_json_fail(m->doc, difference, m->err,
			"null removes \"%s\", which family %s doesn't have", item->key, m->like);
	while (*at != *next)
		at = &(*at)->next;
	item->next = *at;
	*at = *next = item;
	return into->kind == AL_JSON_OBJECT || add_name(m, item);
}

static bool merge(struct merge *m, struct al_item *into, const struct al_item *differences);

static bool change(struct merge *m, struct al_item **at, const struct al_item *difference)
{
	struct al_item *is = *at;

	if (difference->kind == AL_JSON_OBJECT && is_named(is)) {
		copy_children(&m->doc->arena, is);
		return merge(m, is, difference);
	}
	if (!is->key)
		return al_json_fail(m->doc, difference, m->err, "expected an object, or null");
	*at = copy(&m->doc->arena, difference);
	(*at)->next = is->next;
	return true;
}

static bool merge_one(struct merge *m, struct al_item *into, const struct al_item *difference,
	struct al_item **next)
{
	struct al_item **at = find(&into->first, difference->key);

	if (!*at)
		return add(m, into, difference, next);
	for (; *at; at = find(at, difference->key)) {
		if (difference->kind == AL_JSON_NULL)
			*at = (*at)->next;
		else if (!change(m, at, difference))
			return false;
		else {
			*next = *at;
			at = &(*at)->next;
		}
	}
	return true;
}

/* From the last on, since a new one comes before the next. */
static bool merge(struct merge *m, struct al_item *into, const struct al_item *differences)
{
	const size_t n = al_json_size(differences);
	const struct al_item **list = al_new_array(&m->doc->arena, const struct al_item *, n + 1);
	struct al_item *next = NULL;
	size_t i = 0;

	if (n > AL_FAMILY_ITEMS)
		return al_json_fail(m->doc, differences, m->err,
			"found %zu differences, expected at most %d", n, AL_FAMILY_ITEMS);
	al_json_each (d, differences)
		list[i++] = d;
	while (i-- > 0)
		if (!merge_one(m, into, list[i], &next))
			return false;
	return true;
}

static void remove_member(struct al_item *object, const char *key)
{
	struct al_item **at = find(&object->first, key);

	if (*at)
		*at = (*at)->next;
}

/* What no family has from another one. */
static void remove_own(struct al_item *family)
{
	static const char *const own[] = {"name", "title", "source", "note", "model_types", "like",
		"hub"};

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		remove_member(family, own[i]);
}

/* Another program's names are a family's own, unless it has something to say about them. */
static void remove_names(struct al_item *family, struct al_item *differences)
{
	static const char key[] = "gguf";

	if (!*find(&differences->first, key))
		remove_member(family, key);
}

static void finish(void *base)
{
	al_json_finish(base);
}

static bool complete(struct al_catalog *catalog, struct al_json *doc, int depth,
	struct al_error *err);

/* The catalog keeps it. */
static const struct al_json *load_base(struct al_catalog *catalog, const char *name, int depth,
	struct al_error *err)
{
	struct al_json *base = al_new(&catalog->arena, struct al_json);

	if (!al_catalog_family_file(catalog, name, base, err))
		return NULL;
	al_arena_defer(&catalog->arena, finish, base);
	if (!al_json_expect(base, base->root, AL_JSON_OBJECT, err)
		|| !complete(catalog, base, depth + 1, err))
		return NULL;
	struct al_cached *cached = al_new(&catalog->arena, struct al_cached);
	*cached = (struct al_cached){.name = al_strdup(&catalog->arena, name),
		.doc = base,
		.older = catalog->newest_base};
	catalog->newest_base = cached;
	return base;
}

/* The family that the file's is like, which may itself be like another one; NULL: an error. */
static const struct al_json *find_base(struct al_catalog *catalog, const char *name, int depth,
	struct al_error *err)
{
	const struct al_cached *cached = catalog->newest_base;

	while (cached && strcmp(cached->name, name) != 0)
		cached = cached->older;
	if (cached)
		return cached->doc;
	if (depth < MOST_LIKE)
		return load_base(catalog, name, depth, err);
	al_fail(err, AL_EINPUT, "more than %d families, each like the next one", MOST_LIKE);
	return NULL;
}

static bool complete(struct al_catalog *catalog, struct al_json *doc, int depth,
	struct al_error *err)
{
	struct merge m = {.doc = doc, .err = err};
	struct al_item *root = doc->root, **like;

	if (root->kind != AL_JSON_OBJECT || !*(like = find(&root->first, "like")))
		return true;
	struct al_item *node = *like;
	if (!al_json_text(doc, node, &m.like, err))
		return false;
	doc->base = find_base(catalog, al_json_beside(doc, node, &doc->arena), depth, err);
	if (!doc->base)
		return depth > 1 ? false : al_json_in(doc, node, err);
	struct al_item base = *doc->base->root;
	*like = node->next;
	copy_children(&doc->arena, &base);
	remove_own(&base);
	remove_names(&base, root);
	if (!merge(&m, &base, root))
		return false;
	root->first = base.first;
	return true;
}

bool al_family_complete(struct al_catalog *catalog, struct al_json *doc, struct al_error *err)
{
	return complete(catalog, doc, 0, err);
}
