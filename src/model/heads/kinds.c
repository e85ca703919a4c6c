/* Kinds of names: what names of all layers have in common, each once. */
#include "model/heads/internal.h"

#include <stdlib.h>
#include <string.h>

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

struct al_kinds al_kinds_list(struct al_model_view *view)
{
	const struct al_checkpoint *checkpoint = view->checkpoint;
	const size_t n = checkpoint->n_tensors;
	struct al_kinds kinds = {.names = al_new_array(&view->arena, const char *, n + 1)};

	for (size_t i = 0; i < n; i++) {
		const size_t length = strlen(checkpoint->tensors[i].name);
		char *kind = al_new_array(&view->arena, char, length + 1);
		write_kind(checkpoint->tensors[i].name, length, kind);
		kinds.names[i] = kind;
	}
	qsort(kinds.names, n, sizeof(*kinds.names), compare_names);
	for (size_t i = 0; i < n; i++)
		if (kinds.n == 0 || strcmp(kinds.names[kinds.n - 1], kinds.names[i]) != 0)
			kinds.names[kinds.n++] = kinds.names[i];
	kinds.is_seen = al_new_array(&view->arena, bool, kinds.n + 1);
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
