/* What a file that `compress` wrote says of its modules: how many heads each has left, how wide
 * they are, what scores are divided by. Its config.json is still the original's. */
#include "model/heads/internal.h"

#include "base/record.h"

static const char *const symbols[AL_N_RECORDED] = {"n_heads", "n_kv_heads", "d_head", "d_value",
	"d_shared"};

#define AT(member) offsetof(struct al_recorded_projection, member)
static const struct al_field projection_fields[] = {
	{AL_KEY("is", WORD, AT(is)), .words = al_projection_names, .n_words = AL_OUTPUT,
		.is_required = true},
	{AL_KEY("weight", TEXT, AT(weight)), .is_required = true},
	{AL_KEY("down", TEXT, AT(down))},
	{AL_KEY("bias", TEXT, AT(bias))},
	{AL_KEY("mixing", TEXT, AT(mixing))},
	{AL_KEY("content", TEXT, AT(content))},
	{AL_KEY("heads", WHOLE, AT(heads)), .least = 1},
	{AL_KEY("in_out", BOOLEAN, AT(is_in_out))},
	{AL_KEY("moves_bias", BOOLEAN, AT(moves_bias))},
};
#undef AT
static const struct al_record projection_record = {.fields = AL_FIELDS(projection_fields),
	.size = sizeof(struct al_recorded_projection)};

#define AT(member) offsetof(struct al_recorded_shape, member)
static const struct al_field shape_fields[] = {
	{AL_KEY("module", TEXT, AT(module)), .is_required = true},
	{AL_KEY("n_heads", WHOLE, AT(values[0])), .least = 1},
	{AL_KEY("n_kv_heads", WHOLE, AT(values[1])), .least = 1},
	{AL_KEY("d_head", WHOLE, AT(values[2])), .least = 1},
	{AL_KEY("d_value", WHOLE, AT(values[3])), .least = 1},
	{AL_KEY("d_shared", WHOLE, AT(values[4])), .least = 1},
	{AL_KEY("unlisted", TEXT, AT(unlisted))},
	{AL_KEY("stored", LIST, AT(stored)), .n_offset = AT(n_stored),
		.record = &projection_record},
	{AL_KEY("score_divisor", WHOLE, AT(score_divisor)), .least = 1},
	{AL_KEY("score_scale", REAL, AT(score_scale))},
};
#undef AT
static const struct al_record shape_record = {.fields = AL_FIELDS(shape_fields)};

const struct al_family *al_view_recorded_family(const struct al_model_view *view)
{
	const char *name = al_checkpoint_metadata(view->checkpoint, "attnledger.family");
	const struct al_embedded_list *files = al_catalog_files(AL_CATALOG_FAMILIES);
	const struct al_family *family = NULL;

	for (size_t i = 0; name && i < files->n_files; i++)
		if (strcmp(files->files[i].name, name) == 0
			&& !al_catalog_family(view->catalog, name, &family, NULL))
			return NULL;
	return family;
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
	const char *text = al_checkpoint_metadata(view->checkpoint, "attnledger.shapes");
	AL_JSON(doc);

	return !text
		|| (al_json_parse(&doc, "attnledger.shapes", text, strlen(text), err)
			&& read_shapes(view, &doc, err))
		|| al_in(err, "%s", view->checkpoint->path);
}

static void bind(struct al_model_item *module, const char *symbol, int64_t value)
{
	for (size_t i = 0; i < module->n_with; i++)
		if (strcmp(module->with[i].symbol, symbol) == 0) {
			module->with[i].value = value;
			return;
		}
	module->with[module->n_with++] = (struct al_binding){.symbol = symbol, .value = value};
}

const struct al_recorded_shape *al_view_find_shape(const struct al_model_view *view,
	const char *module)
{
	for (size_t i = 0; i < view->n_shapes; i++)
		if (strcmp(view->shapes[i].module, module) == 0)
			return &view->shapes[i];
	return NULL;
}

int64_t al_recorded_kv_heads(const struct al_recorded_shape *shape)
{
	const int64_t *values = shape->values;

	return values[values[AL_RECORDED_SHARED] > 0 || values[AL_RECORDED_KV_HEADS] == 0
			? AL_RECORDED_HEADS
			: AL_RECORDED_KV_HEADS];
}

bool al_view_check_listed(const struct al_model_view *view, const struct al_model_item *module,
	struct al_error *err)
{
	const struct al_recorded_shape *shape = al_view_find_shape(view, module->name);
	const char *unlisted = shape ? shape->unlisted : NULL;

	if (!shape && view->n_shapes > 0 && !view->has_config)
		return al_fail(err, AL_EINPUT,
			"compress recorded other modules' heads, not this one's: give a "
			"config.json");
	if (!unlisted && shape && shape->values[AL_RECORDED_SHARED] > 0
		&& !al_variant_has_factor(module->variant, AL_FACTOR_MIXING))
		unlisted = "queries and keys that all heads share";
	return !unlisted || (shape && shape->n_stored > 0)
		|| al_fail(err, AL_EINPUT,
			"compress stored %s, which family %s doesn't list: verify reads them "
			"beside the original",
			unlisted, view->family->name);
}

const struct al_model_item *al_view_shape_module(struct al_model_view *view,
	const struct al_model_item *module, int64_t *score_divisor)
{
	const struct al_recorded_shape *shape = al_view_find_shape(view, module->name);
	struct al_model_item *own;

	*score_divisor = 0;
	if (!shape)
		return module;
	own = al_new(&view->arena, struct al_model_item);
	*own = *module;
	own->with = al_new_array(&view->arena, struct al_binding, module->n_with + AL_N_RECORDED);
	for (size_t i = 0; i < module->n_with; i++)
		own->with[i] = module->with[i];
	for (size_t i = 0; i < AL_N_RECORDED; i++)
		if (shape->values[i] > 0)
			bind(own, symbols[i], shape->values[i]);
	*score_divisor = shape->score_divisor;
	if (shape->score_divisor > 0) { /* the family's formula is of other widths */
		struct al_family_module *family = al_new(&view->arena, struct al_family_module);
		*family = *module->module;
		family->score_divisor = NULL;
		own->module = family;
	}
	return own;
}
