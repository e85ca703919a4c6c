/* Models: a preset with the symbols of its attention, a preset with a family's config, or a
 * config.json as it comes with a checkpoint. */
#include "catalog/read.h"

enum { MOST_SYMBOLS = 256 };

static bool parse_symbols(struct al_reader *reader, struct al_model *model, struct al_error *err)
{
	const struct cJSON *symbols;

	if (!al_json_get_node(reader->doc, reader->doc->root, "symbols", AL_JSON_OBJECT, true,
		    &symbols, err))
		return false;
	if (al_json_size(symbols) > MOST_SYMBOLS)
		return al_json_fail(reader->doc, symbols, err,
			"found %zu symbols, expected at most %d", al_json_size(symbols),
			MOST_SYMBOLS);
	model->symbols = al_new_array(reader->arena, struct al_binding, al_json_size(symbols));
	al_json_each (member, symbols) {
		struct al_binding *binding = &model->symbols[model->n_symbols++];
		if (!al_read_symbol(reader, member, &binding->symbol, err)
			|| !al_json_whole_from(reader->doc, member, 0, &binding->value, err))
			return false;
	}
	return true;
}

static bool parse_family(struct al_reader *reader, struct al_model *model, struct al_error *err)
{
	const struct cJSON *root = reader->doc->root;

	model->doc = reader->doc;
	return al_read_text(reader, root, "family", true, &model->family, err)
		&& al_json_get_node(reader->doc, root, "config", AL_JSON_OBJECT, true,
			&model->config, err);
}

static bool parse_preset(struct al_reader *reader, struct al_model *model, struct al_error *err)
{
	static const char *const keys[] = {"name", "title", "source", "symbols", "family",
		"config"};
	const struct al_json *doc = reader->doc;

	if (!al_json_only(doc, doc->root, keys, sizeof(keys) / sizeof(*keys), err)
		|| !al_read_text(reader, doc->root, "name", true, &model->name, err))
		return false;
	model->title = model->name;
	if (!al_read_text(reader, doc->root, "title", false, &model->title, err)
		|| !al_read_text(reader, doc->root, "source", false, &model->source, err))
		return false;
	bool has_symbols = al_json_get(doc->root, "symbols");
	bool has_config = al_json_get(doc->root, "family") || al_json_get(doc->root, "config");
	if (has_symbols == has_config)
		return al_json_fail(doc, doc->root, err,
			"expected either \"symbols\", or \"family\" and \"config\"");
	return has_symbols ? parse_symbols(reader, model, err) : parse_family(reader, model, err);
}

bool al_model_read(struct al_arena *arena, const struct al_json *doc, struct al_model **out,
	struct al_error *err)
{
	struct al_model *model = al_new(arena, struct al_model);
	struct al_reader reader;

	al_reader_init(&reader, arena, doc, NULL);
	if (!parse_preset(&reader, model, err))
		return false;
	*out = model;
	return true;
}
