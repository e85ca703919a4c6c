/* Models: a preset with the symbols of its attention, a preset with a family's config, or a
 * config.json as it comes with a checkpoint. */
#include "catalog/family.h"
#include "catalog/read.h"

static bool read_symbol(void *context, const struct al_item *member, void *out,
	struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_binding *binding = out;

	return al_read_symbol(reader, member, &binding->symbol, err)
		&& al_json_whole_from(reader->doc, member, 0, &binding->value, err);
}

static bool check_preset(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_model *model = record;
	bool has_symbols = al_json_get(node, "symbols");

	if (has_symbols == (model->family || model->config))
		return al_json_fail(reader->doc, node, err,
			"expected either \"symbols\", or \"family\" and \"config\"");
	if (!has_symbols && !(model->family && model->config))
		return al_json_fail(reader->doc, node, err, "key \"%s\" is missing",
			model->family ? "config" : "family");
	if (model->config)
		model->doc = reader->doc;
	if (!model->title)
		model->title = model->name;
	return true;
}

#define AT(member) offsetof(struct al_model, member)

static const struct al_field model_fields[] = {
	{AL_KEY("name", TEXT, AT(name)), .is_required = true},
	{AL_KEY("title", TEXT, AT(title))},
	{AL_KEY("source", TEXT, AT(source))},
	{AL_KEY("symbols", MEMBERS, AT(symbols)), .n_offset = AT(n_symbols), .read = read_symbol,
		.item_size = sizeof(struct al_binding), .most = 256, .noun = "symbols"},
	{AL_KEY("family", TEXT, AT(family))},
	{AL_KEY("config", NODE, AT(config)), .kind = AL_JSON_OBJECT},
};
static const struct al_record model_record = {
	.fields = AL_FIELDS(model_fields),
	.size = sizeof(struct al_model),
	.check = check_preset,
};

const struct al_file_kind al_model_file = {.record = &model_record};

/* ---- settings ---- */

bool al_model_settings(const struct al_model *model, struct al_catalog *catalog,
	struct al_settings *settings, struct al_error *err)
{
	const struct al_family *family;

	for (size_t i = 0; i < model->n_symbols; i++)
		if (!al_settings_is_asked(settings, model->symbols[i].symbol))
			al_settings_set(settings, model->symbols[i].symbol, model->symbols[i].value,
				model->name);
	if (!model->family)
		return true;
	return al_catalog_family(catalog, model->family, &family, err)
		&& al_family_settings(family, model->doc, model->config, model->name, settings,
			err);
}
