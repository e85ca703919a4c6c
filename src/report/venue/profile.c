/* Reading profiles. */
#include "report/venue/profile.h"

#include "base/embedded.h"
#include "base/record.h"

struct source {
	struct al_arena *arena;
	const struct al_json *doc;
};

/* ---- typefaces ---- */

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

static bool find_typeface(void *context, const char *name, void *out, struct al_error *err)
{
	struct al_arena *arena = ((const struct source *)context)->arena;
	const struct al_embedded *file = al_embedded_find(&al_embedded_typefaces, name);
	struct al_typeface *typeface = al_new(arena, struct al_typeface);
	AL_JSON(doc);

	if (!file)
		return al_fail(err, AL_EINPUT, "there is no typeface \"%s\"", name);
	if (!al_json_parse(&doc, file->name, file->text, file->length, err))
		return false;
	const struct al_record_source source = {arena, &doc, &doc};
	*(const struct al_typeface **)out = typeface;
	return al_record_read(&source, &typeface_record, doc.root, typeface, err);
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

/* ---- profiles ---- */

static bool read_points(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	const struct source *source = context;
	double *points = out;

	return al_json_real(source->doc, node, points, err)
		&& ((*points > 0 && *points <= 4096)
			|| al_json_fail(source->doc, node, err,
				"found %g pt, expected more than 0, at most 4096", *points));
}

#define POINTS(key, at) \
	{ \
		AL_KEY(key, BY, at), .is_required = true, .read = read_points \
	}

#define AT(member) offsetof(struct al_profile_size, member)
static const struct al_field size_fields[] = {
	{AL_KEY("name", TEXT, AT(name)), .is_required = true},
	POINTS("pt", AT(pt)),
	POINTS("line_pt", AT(line_pt)),
};
#undef AT
static const struct al_record size_record = {
	.fields = AL_FIELDS(size_fields),
	.size = sizeof(struct al_profile_size),
};

#define AT(member) offsetof(struct al_profile, member)
static const struct al_field figures_fields[] = {
	{AL_KEY("families", LIST, AT(families)), .is_required = true, .n_offset = AT(n_families)},
	POINTS("tick_pt", AT(tick_pt)),
	POINTS("title_pt", AT(title_pt)),
};
static const struct al_record figures_record = {.fields = AL_FIELDS(figures_fields)};

static const struct al_field profile_fields[] = {
	{AL_KEY("title", TEXT, AT(title)), .is_required = true},
	{AL_KEY("source", TEXT, AT(source)), .is_required = true},
	{AL_KEY("document", TEXT, AT(document)), .is_required = true},
	{AL_KEY("typeface", BY, AT(typeface)), .is_required = true, .find = find_typeface},
	POINTS("column_pt", AT(column_pt)),
	POINTS("page_pt", AT(page_pt)),
	POINTS("height_pt", AT(height_pt)),
	{AL_KEY("sizes", LIST, AT(sizes)), .is_required = true, .n_offset = AT(n_sizes),
		.record = &size_record},
	{AL_KEY("figures", RECORD, 0), .is_required = true, .record = &figures_record},
};
#undef AT

static bool check_profile(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	const struct source *source = context;
	const struct al_profile *profile = record;

	if (profile->column_pt > profile->page_pt)
		return al_json_fail(source->doc, al_json_get(node, "column_pt"), err,
			"found %g pt, more than the page's %g", profile->column_pt,
			profile->page_pt);
	if (profile->n_sizes == 0 || profile->n_families == 0)
		return al_json_fail(source->doc, node, err,
			"expected one of \"sizes\" and one of \"families\" at least");
	for (size_t i = 1; i < profile->n_sizes; i++)
		if (profile->sizes[i].pt > profile->sizes[i - 1].pt)
			return al_json_fail(source->doc, al_json_at(al_json_get(node, "sizes"), i),
				err, "found %g pt after %g, expected the largest size first",
				profile->sizes[i].pt, profile->sizes[i - 1].pt);
	return true;
}

static const struct al_record profile_record = {
	.fields = AL_FIELDS(profile_fields),
	.check = check_profile,
};

static bool read_document(struct al_json *doc, const char *name, struct al_error *err)
{
	if (al_json_is_path(name))
		return al_json_read(doc, name, err);
	const struct al_embedded *file = AL_FIND_KNOWN(al_embedded_profiles.files,
		al_embedded_profiles.n_files, "profile", name, err);
	return file && al_json_parse(doc, file->name, file->text, file->length, err);
}

bool al_profile_find(struct al_arena *arena, const char *name, const struct al_profile **out,
	struct al_error *err)
{
	struct al_profile *profile = al_new(arena, struct al_profile);
	AL_JSON(doc);

	if (!read_document(&doc, name, err))
		return false;
	struct source source = {arena, &doc};
	const struct al_record_source record = {arena, &doc, &source};
	*out = profile;
	return al_record_read(&record, &profile_record, doc.root, profile, err);
}

bool al_profile_has_columns(const struct al_profile *profile)
{
	return profile->column_pt < profile->page_pt;
}
