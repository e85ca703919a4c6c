/* Detecting: which family's names a checkpoint has, and after which prefixes. */
#include "model/heads/internal.h"

#include "catalog/family_names.h"

/* What wrappers put before a model's names: torch.compile, DataParallel, a head around the
 * model. */
static const char *const wrappers[] = {"", "_orig_mod.", "module.", "module._orig_mod.",
	"_orig_mod.module.", "model.", "_orig_mod.model.", "module.model.", "model._orig_mod.",
	"model.module."};
enum { N_WRAPPERS = sizeof(wrappers) / sizeof(*wrappers) };

enum { NAME_SIZE = 1024 };

char *al_name_fill_loop(struct al_arena *arena, const char *name, const char *variable,
	int64_t index, int64_t others)
{
	AL_TEXT(text);

	while (*name) {
		const char *open = strchr(name, '{'), *close = open ? strchr(open, '}') : NULL;
		if (!close) {
			al_text_add(&text, name);
			break;
		}
		size_t length = (size_t)(close - open - 1);
		bool is_it = !variable
			|| (strlen(variable) == length && strncmp(open + 1, variable, length) == 0);
		al_text_add_bytes(&text, name, (size_t)(open - name));
		al_text_addf(&text, "%lld", (long long)(is_it ? index : others));
		name = close + 1;
	}
	return al_strdup(arena, text.data);
}

char *al_name_fill(struct al_arena *arena, const char *name, int64_t index)
{
	return al_name_fill_loop(arena, name, NULL, index, index);
}

/* ---- a name behind the view's prefix ---- */

static const struct al_tensor *find_behind(const struct al_model_view *view, const char *wrapper,
	const char *prefix, const char *name)
{
	char full[NAME_SIZE];
	const int length = snprintf(full, sizeof(full), "%s%s%s", wrapper, prefix, name);

	if ((size_t)length >= sizeof(full))
		return NULL;
	return al_checkpoint_find(view->checkpoint, full);
}

/* A head is outside the model that it is put on: lm_head.weight, but model.layers.0. */
static const struct al_tensor *find_called(const struct al_model_view *view, const char *name)
{
	const struct al_family *family = view->family;
	const struct al_tensor *found = find_behind(view, view->prefix, "", name);

	for (size_t i = 0; !found && i < family->n_prefixes; i++)
		found = find_behind(view, view->wrapper, family->prefixes[i], name);
	return found;
}

/* A name in the family's other spelling number i, in `out`; NULL: that changes nothing. */
static const char *spell(const struct al_family *family, size_t i, const char *name,
	char out[NAME_SIZE])
{
	const char *here = family->spellings[2 * i], *at = strstr(name, here);

	if (!at)
		return NULL;
	snprintf(out, NAME_SIZE, "%.*s%s%s", (int)(at - name), name, family->spellings[2 * i + 1],
		at + strlen(here));
	return out;
}

const struct al_tensor *al_model_view_find(const struct al_model_view *view, const char *name)
{
	const struct al_family *family = view->family;
	const struct al_tensor *found = find_called(view, name);
	char other[NAME_SIZE];

	for (size_t i = 0; !found && i < family->n_spellings / 2; i++)
		if (spell(family, i, name, other))
			found = find_called(view, other);
	return found;
}

/* ---- kinds of names: numbers are "#", so that all layers' tensors are one ---- */

struct kinds {
	const char **names; /* sorted, each once */
	size_t n;
	bool *is_seen; /* [n]; for iterating over them */
};

/* The kind of a name of `length` bytes, which no digit follows: "h.{layer}.attn", as in a family's
 * file, and "h.0.attn" are of the kind "h.#.attn". */
static const char *kind_of(struct al_arena *arena, const char *name)
{
	char *kind = al_new_array(arena, char, strlen(name) + 1), *to = kind;

	for (const char *from = name; *from;) {
		const char *close = *from == '{' ? strchr(from, '}') : NULL;
		size_t n = 0;
		if (close)
			n = (size_t)(close - from) + 1;
		else if (al_is_digit(*from))
			n = strspn(from, "0123456789");
		*to++ = n > 0 ? '#' : *from;
		from += al_most(n, 1);
	}
	return kind;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct kinds list_kinds(struct al_model_view *view)
{
	const struct al_checkpoint *checkpoint = view->checkpoint;
	const size_t n = checkpoint->n_tensors;
	struct kinds kinds = {.names = al_new_array(&view->arena, const char *, n + 1)};

	for (size_t i = 0; i < n; i++)
		kinds.names[i] = kind_of(&view->arena, checkpoint->tensors[i].name);
	qsort(kinds.names, n, sizeof(*kinds.names), compare_names);
	for (size_t i = 0; i < n; i++)
		if (kinds.n == 0 || strcmp(kinds.names[kinds.n - 1], kinds.names[i]) != 0)
			kinds.names[kinds.n++] = kinds.names[i];
	kinds.is_seen = al_new_array(&view->arena, bool, kinds.n + 1);
	return kinds;
}

static const char **find_kind(struct al_model_view *view, const struct kinds *kinds,
	const char *name)
{
	const char *kind = kind_of(&view->arena, name);

	return kinds->n == 0 ? NULL
			     : bsearch(&kind, kinds->names, kinds->n, sizeof(kind), compare_names);
}

/* ---- prefixes ---- */

static const char *own_prefix(const struct al_family *family, size_t i)
{
	return family->n_prefixes ? family->prefixes[i] : "";
}

static size_t count_prefixes(const struct al_family *family)
{
	return family->n_prefixes ? family->n_prefixes : 1;
}

const struct al_variant *al_module_variant(struct al_model_view *view,
	const struct al_family_module *module)
{
	const struct al_variant *variant;

	return al_catalog_variant(view->catalog, module->variant, &variant, NULL) ? variant : NULL;
}

bool al_variant_has_bias(const struct al_variant *variant, const char *tensor, const char *option)
{
	for (size_t i = 0; variant && i < variant->tensors.n; i++) {
		const struct al_entry *entry = &variant->tensors.items[i];
		if (entry->kind == AL_TENSOR_BIAS && (!tensor || strcmp(entry->name, tensor) == 0)
			&& (!option || al_formula_mentions(entry->when, option)))
			return true;
	}
	return false;
}

bool al_stored_has_bias(const struct al_variant *variant, const struct al_stored *stored,
	const char *option)
{
	if (stored->is)
		return al_variant_has_bias(variant, stored->is, option);
	for (size_t i = 0; i < stored->n_parts; i++)
		if (al_variant_has_bias(variant, stored->parts[i].tensor, option))
			return true;
	return false;
}

/* Biases are a matter of options, and so is what has a condition: a module may lack them. */
static bool is_wanted(const struct al_variant *variant, const struct al_stored *stored)
{
	return !stored->is_optional && !stored->when && !al_stored_has_bias(variant, stored, NULL);
}

static bool is_called(struct al_model_view *view, const struct kinds *kinds, const char *prefix,
	const char *name)
{
	const char *full = al_format(&view->arena, "%s%s", prefix, name);

	return kinds ? find_kind(view, kinds, full) != NULL
		     : al_checkpoint_find(view->checkpoint, full) != NULL;
}

static bool is_there(struct al_model_view *view, const struct al_family *family,
	const struct kinds *kinds, const char *prefix, const char *name)
{
	bool is_found = is_called(view, kinds, prefix, name);
	char other[NAME_SIZE];

	for (size_t i = 0; !is_found && i < family->n_spellings / 2; i++)
		is_found = spell(family, i, name, other) && is_called(view, kinds, prefix, other);
	return is_found;
}

/* How much of a module is there, in thousandths; of conditional tensors any will do. With kinds:
 * in whatever layers. */
static int64_t score_module(struct al_model_view *view, const struct al_family *family,
	const struct al_family_module *module, const char *prefix, const struct kinds *kinds)
{
	const struct al_variant *variant = al_module_variant(view, module);
	int64_t wanted = 0, found = 0, others = 0;

	for (size_t i = 0; i < module->n_stored; i++) {
		const char *name = al_name_fill(&view->arena, module->stored[i].name,
			view->first_layer);
		bool is_found = is_there(view, family, kinds, prefix, name);
		if (is_wanted(variant, &module->stored[i])) {
			wanted++;
			found += is_found;
		} else
			others += is_found;
	}
	if (wanted == 0)
		return others > 0 ? 1000 : 0;
	return found * 1000 / wanted;
}

static int64_t score_modules(struct al_model_view *view, const struct al_family *family,
	const char *prefix, const struct kinds *kinds)
{
	int64_t best = 0;

	for (size_t i = 0; i < family->n_modules; i++) {
		int64_t score = score_module(view, family, &family->modules[i], prefix, kinds);
		best = al_most(score, best);
	}
	return best;
}

/* The prefix under which most of an attention module is there. */
static int64_t choose_prefix(struct al_model_view *view, const struct al_family *family,
	const struct kinds *kinds)
{
	int64_t best = 0;

	view->wrapper = view->prefix = "";
	for (size_t i = 0; i < N_WRAPPERS; i++)
		for (size_t j = 0; j < count_prefixes(family); j++) {
			const char *prefix = al_format(&view->arena, "%s%s", wrappers[i],
				own_prefix(family, j));
			int64_t score = score_modules(view, family, prefix, kinds);
			if (score > best) {
				best = score;
				view->wrapper = wrappers[i];
				view->prefix = prefix;
			}
		}
	return best;
}

static bool is_between(char c)
{
	return c == '.' || c == '/';
}

/* The next number after `last` between dots, or slashes, in a tensor's name; 0: there is none. */
static int64_t next_number(const struct al_checkpoint *checkpoint, int64_t last)
{
	int64_t next = 0;

	for (size_t i = 0; i < checkpoint->n_tensors; i++)
		for (const char *dot = checkpoint->tensors[i].name; dot;
			dot = strpbrk(dot + 1, "./")) {
			int64_t number;
			const char *digits = is_between(*dot) ? dot + 1 : dot;
			const size_t n = al_read_digits(digits, &number);
			if (n > 0 && is_between(digits[n]) && number > last
				&& (next == 0 || number < next))
				next = number;
		}
	return next;
}

/* A shard begins with any layer: those are tried that names have. */
enum { MOST_FIRST_LAYERS = 256 };

static bool move_to_next_layer(struct al_model_view *view, size_t *n_tried)
{
	view->first_layer = ++*n_tried > MOST_FIRST_LAYERS
		? 0
		: next_number(view->checkpoint, view->first_layer);
	return view->first_layer > 0;
}

/* ---- which prefix ---- */

bool al_prefix_find(struct al_model_view *view)
{
	size_t n_tried = 0;

	view->first_layer = 0;
	do {
		if (choose_prefix(view, view->family, NULL) > 0)
			return true;
	} while (move_to_next_layer(view, &n_tried));
	return false;
}

/* ---- which family ---- */

static void see_called(struct al_model_view *view, const struct al_family *family,
	struct kinds *kinds, const char *name)
{
	for (size_t i = 0; i < count_prefixes(family); i++) {
		const char **found = find_kind(view, kinds,
			al_format(&view->arena, "%s%s%s", view->wrapper, own_prefix(family, i),
				name));
		if (found)
			kinds->is_seen[found - kinds->names] = true;
	}
}

static void see(struct al_model_view *view, const struct al_family *family, struct kinds *kinds,
	const char *name)
{
	const char *filled = al_name_fill(&view->arena, name, view->first_layer);
	char other[NAME_SIZE];

	see_called(view, family, kinds, filled);
	for (size_t i = 0; i < family->n_spellings / 2; i++)
		if (spell(family, i, filled, other))
			see_called(view, family, kinds, other);
}

/* How many kinds of the checkpoint's tensors the family knows. */
static size_t count_known(struct al_model_view *view, const struct al_family *family,
	struct kinds *kinds)
{
	size_t n = 0;

	memset(kinds->is_seen, 0, kinds->n * sizeof(*kinds->is_seen));
	for (size_t i = 0; i < family->n_modules; i++)
		for (size_t j = 0; j < family->modules[i].n_stored; j++)
			see(view, family, kinds, family->modules[i].stored[j].name);
	for (size_t i = 0; i < family->n_tensors; i++)
		see(view, family, kinds, family->tensors[i].entry.name);
	for (size_t i = 0; i < kinds->n; i++)
		n += kinds->is_seen[i];
	return n;
}

/* The family that knows most tensors comes first; of equals the one that lists least besides, then
 * the one whose name comes first. */
static int compare(const void *a, const void *b)
{
	const struct al_family_candidate *x = a, *y = b;
	int order = al_compare(y->n_known, x->n_known);

	order = order ? order : al_compare(x->n_tensors, y->n_tensors);
	return order ? order : strcmp(x->name, y->name);
}

/* How a family would rank that knows every name in its file that may be there; of which no
 * attention tensor is there, it is none. */
static struct al_family_candidate bound(struct al_model_view *view, const struct kinds *kinds,
	const char *family, const struct al_family_names *names)
{
	struct al_family_candidate best = {.name = family};
	bool has_stored = false;

	memset(kinds->is_seen, 0, kinds->n * sizeof(*kinds->is_seen));
	for (size_t k = 0; k < names->n; k++) {
		const struct al_family_name *name = &names->items[k];
		const char *kind = kind_of(&view->arena, name->text);
		best.n_tensors += name->bearer == AL_NAME_TENSOR;
		for (size_t i = 0; i < kinds->n; i++) {
			if (!al_ends_with(kinds->names[i], kind))
				continue;
			kinds->is_seen[i] = true;
			has_stored |= name->bearer == AL_NAME_STORED;
		}
	}
	for (size_t i = 0; has_stored && i < kinds->n; i++)
		best.n_known += kinds->is_seen[i];
	return best;
}

/* All families of which something may be there, the best first. */
static struct al_candidates list_bounds(struct al_model_view *view, const struct kinds *kinds)
{
	const struct al_embedded_list *files = al_catalog_files(AL_CATALOG_FAMILIES);
	const struct al_family_names *names = al_catalog_family_names(view->catalog);
	struct al_candidates out = {.items = al_new_array(&view->arena, struct al_family_candidate,
					    files->n_files + 1)};

	for (size_t i = 0; i < files->n_files; i++) {
		out.items[out.n] = bound(view, kinds, files->files[i].name, &names[i]);
		out.n += out.items[out.n].n_known > 0;
	}
	qsort(out.items, out.n, sizeof(*out.items), compare);
	return out;
}

/* Adds those of some families of which a whole module is there. */
static void add_fitting(struct al_model_view *view, const struct al_family_candidate *families,
	size_t n, struct kinds *kinds, struct al_candidates *out)
{
	for (size_t i = 0; i < n; i++) {
		const struct al_family *family = families[i].family;
		if (choose_prefix(view, family, NULL) == 1000)
			out->items[out->n++] = (struct al_family_candidate){family->name, family,
				count_known(view, family, kinds), family->n_tensors};
	}
}

static bool any_is_before(const struct al_candidates *candidates,
	const struct al_family_candidate *bound)
{
	for (size_t i = 0; i < candidates->n; i++)
		if (compare(&candidates->items[i], bound) < 0)
			return true;
	return false;
}

/* Reads families until no other one can come before one that is there; all of them where `all` are
 * asked for. Of those in `possible` a whole module is there if its tensors may be of any layers: no
 * other one can be a candidate. */
static bool read_families(struct al_model_view *view, struct kinds *kinds, bool all,
	struct al_candidates *out, struct al_candidates *possible,
	const struct al_family_candidate **unread, struct al_error *err)
{
	const struct al_candidates bounds = list_bounds(view, kinds);
	size_t i = 0;

	possible->items = al_new_array(&view->arena, struct al_family_candidate, bounds.n + 1);
	out->items = al_new_array(&view->arena, struct al_family_candidate, bounds.n + 1);
	for (; i < bounds.n && (all || !any_is_before(out, &bounds.items[i])); i++) {
		struct al_family_candidate *family = &possible->items[possible->n];
		if (!al_catalog_family(view->catalog, bounds.items[i].name, &family->family, err))
			return false;
		if (choose_prefix(view, family->family, kinds) == 1000) {
			possible->n++;
			add_fitting(view, family, 1, kinds, out);
		}
	}
	*unread = i < bounds.n ? &bounds.items[i] : NULL;
	return true;
}

/* Before a candidate that is kept no family comes that wasn't read. */
static void keep_certain(struct al_candidates *candidates, const struct al_family_candidate *unread)
{
	candidates->is_all = !unread;
	while (unread && candidates->n > 0
		&& compare(&candidates->items[candidates->n - 1], unread) >= 0)
		candidates->n--;
}

bool al_candidates_find(struct al_model_view *view, bool all, struct al_candidates *out,
	struct al_error *err)
{
	struct kinds kinds = list_kinds(view);
	struct al_candidates possible = {0};
	const struct al_family_candidate *unread;
	size_t n_tried = 0;

	*out = (struct al_candidates){0};
	view->first_layer = 0;
	if (!read_families(view, &kinds, all, out, &possible, &unread, err))
		return false;
	while (out->n == 0 && possible.n > 0 && move_to_next_layer(view, &n_tried))
		add_fitting(view, possible.items, possible.n, &kinds, out);
	if (out->n == 0)
		return al_fail(err, AL_EINPUT,
			"%s: its tensor names match no known family; pass a config.json or "
			"--layout FILE",
			view->checkpoint->path);
	qsort(out->items, out->n, sizeof(*out->items), compare);
	keep_certain(out, unread);
	return true;
}
