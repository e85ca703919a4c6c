/* What a file that `compress` wrote says of its modules: how many heads each has left, how wide
 * they are, what scores are divided by. Its config.json is still the original's. */
#include "views/internal.h"

#include <string.h>

#include "base/record.h"

static const char *const symbols[] = {"n_heads", "n_kv_heads", "d_head", "d_value", "d_shared"};
enum { N_SYMBOLS = sizeof(symbols) / sizeof(*symbols) };

/* One of attnledger.shapes. */
struct al_recorded_shape {
	const char *module;
	int64_t values[N_SYMBOLS]; /* 0: as the config has it */
	int64_t score_divisor;
};

#define AT(member) offsetof(struct al_recorded_shape, member)
static const struct al_field shape_fields[] = {
	{AL_KEY("module", TEXT, AT(module)), .is_required = true},
	{AL_KEY("n_heads", WHOLE, AT(values[0])), .least = 1},
	{AL_KEY("n_kv_heads", WHOLE, AT(values[1])), .least = 1},
	{AL_KEY("d_head", WHOLE, AT(values[2])), .least = 1},
	{AL_KEY("d_value", WHOLE, AT(values[3])), .least = 1},
	{AL_KEY("d_shared", WHOLE, AT(values[4])), .least = 1},
	{AL_KEY("score_divisor", WHOLE, AT(score_divisor)), .least = 1},
};
#undef AT
static const struct al_record shape_record = {.fields = AL_FIELDS(shape_fields)};

static const char *metadata_of(const struct al_checkpoint *checkpoint, const char *key)
{
	for (size_t i = 0; i < checkpoint->n_metadata; i++)
		if (strcmp(checkpoint->metadata[i].key, key) == 0)
			return checkpoint->metadata[i].value;
	return NULL;
}

bool al_view_is_collaborative(const struct al_model_view *view)
{
	const char *method = metadata_of(view->checkpoint, "attnledger.method");

	return method && strcmp(method, "collab") == 0;
}

static bool read_shapes(struct al_model_view *view, const struct al_json *doc, struct al_error *err)
{
	const struct al_record_source source = {.arena = &view->arena, .doc = doc};

	if (!al_json_expect(doc, doc->root, AL_JSON_ARRAY, err))
		return false;
	view->shapes = al_new_array(&view->arena, struct al_recorded_shape,
		al_json_size(doc->root) + 1);
	al_json_each (node, doc->root)
		if (!al_record_read(&source, &shape_record, node, &view->shapes[view->n_shapes++],
			    err))
			return false;
	return true;
}

bool al_view_read_shapes(struct al_model_view *view, struct al_error *err)
{
	const char *text = metadata_of(view->checkpoint, "attnledger.shapes");
	struct al_json doc;

	if (!text)
		return true;
	if (!al_json_parse(&doc, "attnledger.shapes", text, strlen(text), err))
		return al_in(err, "%s", view->checkpoint->path);
	bool ok = read_shapes(view, &doc, err) || al_in(err, "%s", view->checkpoint->path);
	al_json_finish(&doc);
	return ok;
}

static void bind(struct al_model_module *module, const char *symbol, int64_t value)
{
	for (size_t i = 0; i < module->n_with; i++)
		if (strcmp(module->with[i].symbol, symbol) == 0) {
			module->with[i].value = value;
			return;
		}
	module->with[module->n_with++] = (struct al_binding){.symbol = symbol, .value = value};
}

const struct al_model_module *al_view_shape_module(struct al_model_view *view,
	const struct al_model_module *module, int64_t *score_divisor)
{
	const struct al_recorded_shape *shape = NULL;
	struct al_model_module *own;

	*score_divisor = 0;
	for (size_t i = 0; i < view->n_shapes; i++)
		if (strcmp(view->shapes[i].module, module->name) == 0)
			shape = &view->shapes[i];
	if (!shape)
		return module;
	own = al_new(&view->arena, struct al_model_module);
	*own = *module;
	own->with = al_new_array(&view->arena, struct al_binding, module->n_with + N_SYMBOLS);
	for (size_t i = 0; i < module->n_with; i++)
		own->with[i] = module->with[i];
	for (size_t i = 0; i < N_SYMBOLS; i++)
		if (shape->values[i] > 0)
			bind(own, symbols[i], shape->values[i]);
	*score_divisor = shape->score_divisor;
	return own;
}
