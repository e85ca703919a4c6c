/* Reading typefaces, and their advances. */
#include "report/venue/typeface.h"

#include "base/embedded.h"
#include "base/text.h"
#include "base/record.h"

extern const struct al_embedded_list al_embedded_typefaces;

static bool read_advances(void *context, const struct al_item *list, void *out,
	struct al_error *err)
{
	const struct al_json *doc = context;
	int16_t *advances = out;

	if (!al_json_expect(doc, list, AL_JSON_ARRAY, err))
		return false;
	if (al_json_size(list) != AL_N_ADVANCES)
		return al_json_fail(doc, list, err, "%zu advances, expected %d", al_json_size(list),
			AL_N_ADVANCES);
	al_json_each (node, list) {
		int64_t advance;
		if (!al_json_whole_from(doc, node, 0, &advance, err))
			return false;
		if (advance > 4000)
			return al_json_fail(doc, node, err, "expected at most 4000 thousandths");
		*advances++ = (int16_t)advance;
	}
	return true;
}

#define AT(member) offsetof(struct al_design, member)
static const struct al_field design_fields[] = {
	{AL_KEY("pt", REAL, AT(pt)), .is_required = true},
	{AL_KEY("regular", BY, AT(regular)), .is_required = true, .read = read_advances},
	{AL_KEY("bold", BY, AT(bold)), .is_required = true, .read = read_advances},
};
#undef AT
static const struct al_record design_record = {
	.fields = AL_FIELDS(design_fields),
	.size = sizeof(struct al_design),
};

#define AT(member) offsetof(struct al_typeface, member)
static const struct al_field typeface_fields[] = {
	{AL_KEY("title", TEXT, AT(title)), .is_required = true},
	{AL_KEY("source", TEXT, AT(source)), .is_required = true},
	{AL_KEY("designs", LIST, AT(designs)), .is_required = true, .n_offset = AT(n_designs),
		.record = &design_record},
};
#undef AT
static const struct al_record typeface_record = {.fields = AL_FIELDS(typeface_fields)};

bool al_typeface_find(struct al_arena *arena, const char *name, const struct al_typeface **out,
	struct al_error *err)
{
	const struct al_embedded *file = al_embedded_find(&al_embedded_typefaces, name);
	struct al_typeface *typeface = al_new(arena, struct al_typeface);
	struct al_json doc;

	if (!file)
		return al_fail(err, AL_EINPUT, "there is no typeface \"%s\"", name);
	if (!al_json_parse(&doc, file->name, file->text, file->length, err))
		return false;
	const struct al_record_source source = {arena, &doc, &doc};
	bool ok = al_record_read(&source, &typeface_record, doc.root, typeface, err);
	al_json_finish(&doc);
	*out = typeface;
	return ok;
}

/* The font that was drawn for this size, or for the next larger one. */
static const struct al_design *design_for(const struct al_typeface *typeface, double pt)
{
	size_t i = 0;

	while (i + 1 < typeface->n_designs && typeface->designs[i].pt < pt)
		i++;
	return &typeface->designs[i];
}

double al_typeface_advance(const struct al_typeface *typeface, double pt, bool is_bold,
	unsigned char c)
{
	const struct al_design *design = design_for(typeface, pt);

	if (c < ' ' || c > '~')
		return pt;
	return pt * (is_bold ? design->bold : design->regular)[c - ' '] / 1000;
}
