/* What the names in a pickle make: dicts, tensors, storages; nothing is called. */
#include "formats/pickle_machine.h"

#include "formats/pickle_names.h"

/* ---- names ---- */

void al_pickle_push_name(struct al_pickle_machine *m, const char *module, const char *name)
{
	const struct al_pickle_name *found = al_pickle_name_find(module, name);

	if (m->failed)
		return;
	m->failed = !found || found->what == AL_IS_REFUSED;
	if (!found)
		al_fail(m->err, AL_EINPUT,
			"%s: contains Python objects (%.60s.%.60s), which are not loaded: save "
			"only the weights, torch.save(model.state_dict(), FILE)",
			m->path, module, name);
	else if (m->failed)
		al_fail(m->err, AL_EINPUT, "%s: contains %s; only dense tensors are supported",
			m->path, found->detail);
	else
		al_pickle_push(m, AL_PICKLE_NAME)->name = found;
}

/* ---- what names make ---- */

static struct al_pickle_value *item(const struct al_pickle_value *tuple, size_t i,
	enum al_pickle_kind kind)
{
	return i < tuple->n_items && tuple->items[i]->kind == kind ? tuple->items[i] : NULL;
}

/* (storage, first element, shape, strides, ...), in version 3 with a number format behind two
 * more. */
static void push_tensor(struct al_pickle_machine *m, const struct al_pickle_value *args,
	bool has_dtype)
{
	const struct al_pickle_value *storage = item(args, 0, AL_PICKLE_STORAGE),
				     *first = item(args, 1, AL_PICKLE_INTEGER),
				     *shape = item(args, 2, AL_PICKLE_TUPLE),
				     *strides = item(args, 3, AL_PICKLE_TUPLE),
				     *dtype = has_dtype ? item(args, 6, AL_PICKLE_NAME) : NULL;

	if (!storage || !first || !shape || !strides
		|| (has_dtype && (!dtype || dtype->name->what != AL_IS_DTYPE))
		|| (!has_dtype && !storage->dtype)) {
		al_pickle_fail(m, "builds a tensor from invalid arguments");
		return;
	}
	struct al_pickle_value *tensor = al_pickle_push(m, AL_PICKLE_TENSOR);
	tensor->storage = storage;
	tensor->integer = first->integer;
	tensor->shape = shape;
	tensor->strides = strides;
	tensor->dtype = dtype ? al_dtype_stored(dtype->name->detail) : storage->dtype;
}

/* Before Python 3.7: of a list of pairs. */
static void push_dict(struct al_pickle_machine *m, const struct al_pickle_value *args)
{
	const struct al_pickle_value *pairs = item(args, 0, AL_PICKLE_LIST);
	struct al_pickle_value *dict = al_pickle_push(m, AL_PICKLE_DICT);

	if (!pairs || !al_pickle_may(m, pairs->n_items))
		return;
	for (size_t i = 0; i < pairs->n_items; i++) {
		const struct al_pickle_value *pair = pairs->items[i];
		if (pair->n_items != 2) {
			al_pickle_fail(m, "builds a dict from something other than pairs");
			return;
		}
		al_pickle_add_item(m, dict, pair->items[0]);
		al_pickle_add_item(m, dict, pair->items[1]);
	}
}

/* What it is called with, alone. */
static void push_argument(struct al_pickle_machine *m, const struct al_pickle_value *args,
	enum al_pickle_kind kind)
{
	struct al_pickle_value *first = item(args, 0, kind);

	if (first)
		al_pickle_push_value(m, first);
	else
		al_pickle_fail(m, "builds an object from invalid arguments");
}

static void push_made(struct al_pickle_machine *m, const struct al_pickle_name *name,
	const struct al_pickle_value *args)
{
	switch (name->what) {
	case AL_MAKES_DICT:
		push_dict(m, args);
		break;
	case AL_MAKES_TENSOR:
	case AL_MAKES_TENSOR_V3:
		push_tensor(m, args, name->what == AL_MAKES_TENSOR_V3);
		break;
	case AL_MAKES_TUPLE:
		push_argument(m, args, AL_PICKLE_TUPLE);
		break;
	case AL_MAKES_PARAMETER:
		push_argument(m, args, AL_PICKLE_TENSOR);
		break;
	case AL_MAKES_OTHER:
		al_pickle_push(m, AL_PICKLE_OTHER);
		break;
	default:
		al_pickle_fail(m, "calls something that isn't callable");
	}
}

/* A function or class below what it is called with. */
void al_pickle_reduce(struct al_pickle_machine *m, int how)
{
	const struct al_pickle_value *args = al_pickle_pop(m), *name = al_pickle_pop(m);

	(void)how;
	if (name->kind == AL_PICKLE_NAME && args->kind == AL_PICKLE_TUPLE)
		push_made(m, name->name, args);
	else
		al_pickle_fail(m, "calls something that isn't callable");
}

/* ("storage", class, key, device, elements[, view]). */
void al_pickle_push_storage(struct al_pickle_machine *m, int how)
{
	const struct al_pickle_value *id = al_pickle_pop(m);
	const struct al_pickle_value *tag = item(id, 0, AL_PICKLE_TEXT),
				     *class = item(id, 1, AL_PICKLE_NAME),
				     *key = item(id, 2, AL_PICKLE_TEXT),
				     *elements = item(id, 4, AL_PICKLE_INTEGER);

	(void)how;
	if (!tag || strcmp(tag->text, "storage") != 0
		|| !class || class->name->what != AL_MAKES_STORAGE || !key || !elements
		|| elements->integer < 0) {
		al_pickle_fail(m, "describes a storage in an unknown way");
		return;
	}
	if (id->n_items > 5 && id->items[5]->kind != AL_PICKLE_NONE)
		al_pickle_fail(m, "has a view of a storage, which is only supported in old files");
	struct al_pickle_value *storage = al_pickle_push(m, AL_PICKLE_STORAGE);
	storage->text = key->text;
	storage->integer = elements->integer;
	storage->dtype = class->name->detail ? al_dtype_stored(class->name->detail) : NULL;
}
