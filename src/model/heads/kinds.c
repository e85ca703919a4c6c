/* Kinds of names: what names of all layers have in common, each once. */
#include "model/heads/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* Writes the kind of a name, which may stand in the same place, and says how long it is. */
static size_t write_kind(const char *name, size_t length, char *kind)
{
	char *to = kind;

	for (const char *from = name, *end = name + length; from < end;) {
		const bool is_number = *from >= '0' && *from <= '9';
		const char next = is_number ? '#' : *from++;
		while (is_number && from < end && *from >= '0' && *from <= '9')
			from++;
		*to++ = next;
	}
	*to = '\0';
	return (size_t)(to - kind);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Kinds that were met lately, by their hash: most names are of one of them. One that isn't found in
 * a few places is listed once more, so that names whose hashes meet don't make it slow. */
enum { N_PLACES = 1 << 12, MOST_PROBES = 8 };

struct met {
	const char *kinds[N_PLACES];
};

static bool was_met(struct met *met, const char *kind, size_t length, const char ***place)
{
	const uint64_t hash = al_hash(AL_HASH_EMPTY, kind, length);

	*place = NULL;
	for (size_t i = 0; i < MOST_PROBES; i++) {
		const char **at = &met->kinds[(hash + i) % N_PLACES];
		if (!*at) {
			*place = at;
			return false;
		}
		if (strcmp(*at, kind) == 0)
			return true;
	}
	return false;
}

static void collect_kinds(struct al_model_view *view, struct al_kinds *kinds)
{
	const struct al_checkpoint *checkpoint = view->checkpoint;
	struct met *met = al_new(&view->arena, struct met);
	char *kind = NULL;
	size_t room = 0, names_room = 0;

	for (size_t i = 0; i < checkpoint->n_tensors; i++) {
		const char *name = checkpoint->tensors[i].name, **place;
		const size_t length = strlen(name);
		if (length >= room) {
			room = 2 * length + 1;
			kind = al_new_array(&view->arena, char, room);
		}
		const size_t kind_length = write_kind(name, length, kind);
		if (was_met(met, kind, kind_length, &place))
			continue;
		kinds->names = al_grow(&view->arena, kinds->names, kinds->n, &names_room,
			sizeof(*kinds->names));
		kinds->names[kinds->n] = al_strndup(&view->arena, kind, kind_length);
		if (place)
			*place = kinds->names[kinds->n];
		kinds->n++;
	}
}

struct al_kinds al_kinds_list(struct al_model_view *view)
{
	struct al_kinds kinds = {0};
	size_t n = 0;

	collect_kinds(view, &kinds);
	if (kinds.n > 0)
		qsort(kinds.names, kinds.n, sizeof(*kinds.names), compare_names);
	for (size_t i = 0; i < kinds.n; i++)
		if (n == 0 || strcmp(kinds.names[n - 1], kinds.names[i]) != 0)
			kinds.names[n++] = kinds.names[i];
	kinds.n = n;
	kinds.is_seen = al_new_array(&view->arena, bool, n + 1);
	return kinds;
}

const char **al_kinds_find(struct al_model_view *view, const struct al_kinds *kinds,
	const char *name)
{
	const size_t length = strlen(name);
	char *kind = al_new_array(&view->arena, char, length + 1);

	write_kind(name, length, kind);
	if (kinds->n == 0)
		return NULL;
	return bsearch(&kind, kinds->names, kinds->n, sizeof(kind), compare_names);
}

size_t al_kind_of_pattern(const char *name, size_t length, char *kind)
{
	char *to = kind;

	for (size_t i = 0; i < length; i++) {
		const char *close = name[i] == '{' ? memchr(name + i, '}', length - i) : NULL;
		*to++ = close ? '0' : name[i];
		if (close)
			i = (size_t)(close - name);
	}
	return write_kind(kind, (size_t)(to - kind), kind);
}
