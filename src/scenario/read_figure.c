/* Reading a scenario's figures. */
#include "scenario/read.h"

#include <string.h>

#include "base/text.h"

static bool read_scale(const struct al_scenario *s, const struct cJSON *node, struct al_axis *axis,
	struct al_error *err)
{
	static const char *const scales[] = {[AL_AXIS_LINEAR] = "linear", [AL_AXIS_LOG] = "log"};
	int found = (int)axis->scale;

	if (!read_word(s, node, "scale", scales, 2, &found, err))
		return false;
	axis->scale = (enum al_axis_scale)found;
	return true;
}

static bool read_limit(const struct al_scenario *s, const struct cJSON *node, bool *has,
	double *out, struct al_error *err)
{
	*has = node != NULL;
	return !node || al_json_real(&s->doc, node, out, err);
}

/* {"columns": [...]}: several columns side by side, the column being the series. */
static bool read_melted(struct al_scenario *s, const struct cJSON *list, struct figure *figure,
	struct al_error *err)
{
	figure->melted = al_new_array(&s->arena, const char *, al_json_size(list) + 1);
	al_json_each (item, list)
		if (!al_json_text(&s->doc, item, &figure->melted[figure->n_melted++], err))
			return false;
	return figure->n_melted > 0
		|| al_json_fail(&s->doc, list, err, "the list of columns is empty");
}

static bool read_axis(struct al_scenario *s, const struct cJSON *owner, const char *key,
	struct figure *figure, struct al_axis *axis, struct al_error *err)
{
	static const char *const keys[] = {"column", "columns", "title", "scale", "min", "max"};
	const struct cJSON *node = al_json_get(owner, key), *columns;

	if (!node)
		return true;
	if (al_json_kind(node) == AL_JSON_TEXT)
		return al_json_text(&s->doc, node, &axis->column, err);
	if (!al_json_only(&s->doc, node, keys, 6, err)
		|| !al_json_get_text(&s->doc, node, "column", false, &axis->column, err)
		|| !al_json_get_text(&s->doc, node, "title", false, &axis->title, err)
		|| !read_scale(s, node, axis, err)
		|| !read_limit(s, al_json_get(node, "min"), &axis->has_min, &axis->min, err)
		|| !read_limit(s, al_json_get(node, "max"), &axis->has_max, &axis->max, err)
		|| !al_json_get_node(&s->doc, node, "columns", AL_JSON_ARRAY, false, &columns, err))
		return false;
	return !columns || read_melted(s, columns, figure, err);
}

static bool read_stacked(const struct al_scenario *s, const struct cJSON *owner,
	struct al_figure *figure, struct al_error *err)
{
	const struct cJSON *list;

	if (!al_json_get_node(&s->doc, owner, "stacked", AL_JSON_ARRAY, false, &list, err))
		return false;
	al_json_each (item, list) {
		if (figure->n_stacked == AL_FIGURE_MOST_STACKED)
			return al_json_fail(&s->doc, item, err, "more than %d stacked columns",
				AL_FIGURE_MOST_STACKED);
		if (!al_json_text(&s->doc, item, &figure->stacked[figure->n_stacked++], err))
			return false;
	}
	return true;
}

static bool read_references(struct al_scenario *s, const struct cJSON *owner,
	struct al_figure *figure, struct al_error *err)
{
	static const char *const keys[] = {"value", "label"};
	const struct cJSON *list, *value;

	if (!al_json_get_node(&s->doc, owner, "references", AL_JSON_ARRAY, false, &list, err))
		return false;
	figure->references = al_new_array(&s->arena, struct al_reference_line,
		al_json_size(list) + 1);
	al_json_each (item, list) {
		struct al_reference_line *line = &figure->references[figure->n_references++];
		if (!al_json_only(&s->doc, item, keys, 2, err)
			|| !al_json_get_node(&s->doc, item, "value", AL_JSON_NUMBER, true, &value,
				err)
			|| !al_json_real(&s->doc, value, &line->value, err)
			|| !al_json_get_text(&s->doc, item, "label", false, &line->label, err))
			return false;
	}
	return true;
}

/* "column", "page" or points. */
static bool read_width(const struct al_scenario *s, const struct cJSON *owner, double *out,
	struct al_error *err)
{
	static const char *const names[] = {"column", "page"};
	const struct cJSON *node = al_json_get(owner, "width");
	const char *word;

	if (!node)
		return true;
	if (al_json_kind(node) == AL_JSON_NUMBER) {
		if (!al_json_real(&s->doc, node, out, err))
			return false;
	} else {
		if (!al_json_text(&s->doc, node, &word, err))
			return false;
		int found = al_find_name(word, names, 2);
		if (found < 0) {
			al_fail_unknown(err, "width", word, names, 2);
			return al_json_in(&s->doc, node, err);
		}
		*out = found ? AL_FIGURE_PAGE_PT : AL_FIGURE_COLUMN_PT;
	}
	return (*out >= 72 && *out <= 2880)
		|| al_json_fail(&s->doc, node, err, "found %g pt, expected 72 to 2880", *out);
}

static bool read_height(const struct al_scenario *s, const struct cJSON *owner, double *out,
	struct al_error *err)
{
	const struct cJSON *node = al_json_get(owner, "height");

	if (!node)
		return true;
	return al_json_real(&s->doc, node, out, err)
		&& ((*out >= 72 && *out <= 2880)
			|| al_json_fail(&s->doc, node, err, "found %g pt, expected 72 to 2880",
				*out));
}

static bool read_names(struct al_scenario *s, const struct cJSON *owner, const char *key,
	const char ***out, size_t *n, struct al_error *err)
{
	const struct cJSON *list;

	if (!al_json_get_node(&s->doc, owner, key, AL_JSON_ARRAY, false, &list, err))
		return false;
	if (!list)
		return true;
	*out = al_new_array(&s->arena, const char *, al_json_size(list) + 1);
	al_json_each (item, list)
		if (!al_json_text(&s->doc, item, &(*out)[(*n)++], err))
			return false;
	return true;
}

static bool read_source(const struct al_scenario *s, const struct cJSON *node,
	struct figure *figure, struct al_error *err)
{
	const char *of;

	if (!al_json_get_text(&s->doc, node, "of", true, &of, err))
		return false;
	figure->table = find_table(s, of);
	figure->sweep = find_sweep(s, of);
	if (figure->table || figure->sweep)
		return true;

	struct al_names names;
	al_names_init(&names);
	add_drawable_ids(s, &names);
	al_names_fail(&names, "table or sweep", of, err);
	return al_json_in(&s->doc, al_json_get(node, "of"), err);
}

static bool check_figure_id(const struct al_scenario *s, const struct cJSON *node, const char *id,
	struct al_error *err)
{
	for (size_t i = 0; i < s->n_figures; i++)
		if (strcmp(s->figures[i].figure.id, id) == 0)
			return al_json_fail(&s->doc, node, err, "figure \"%s\" appears twice", id);
	if (!*id || strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(id) || *id == '-')
		return al_json_fail(&s->doc, node, err,
			"id \"%s\" must be of small letters, digits and '-'", id);
	return true;
}

static bool read_mark(const struct al_scenario *s, const struct cJSON *node,
	struct al_figure *figure, struct al_error *err)
{
	size_t n = 0;
	int found;

	while (al_figure_marks[n])
		n++;
	return al_json_get_text(&s->doc, node, "mark", true, &figure->mark, err)
		&& read_word(s, node, "mark", al_figure_marks, n, &found, err);
}

static bool read_figure(struct al_scenario *s, const struct cJSON *node, struct figure *figure,
	struct al_error *err)
{
	static const char *const keys[] = {"id", "title", "of", "mark", "x", "y", "stacked",
		"series", "panel", "label", "width", "height", "references", "legend", "variants",
		"cases"};
	struct al_figure *f = &figure->figure;

	if (!al_json_only(&s->doc, node, keys, sizeof(keys) / sizeof(*keys), err)
		|| !al_json_get_text(&s->doc, node, "id", true, &f->id, err)
		|| !check_figure_id(s, node, f->id, err)
		|| !al_json_get_text(&s->doc, node, "title", false, &f->title, err)
		|| !read_source(s, node, figure, err) || !read_mark(s, node, f, err)
		|| !read_axis(s, node, "x", figure, &f->x, err)
		|| !read_axis(s, node, "y", figure, &f->y, err) || !read_stacked(s, node, f, err)
		|| !al_json_get_text(&s->doc, node, "series", false, &f->series, err)
		|| !al_json_get_text(&s->doc, node, "panel", false, &f->panel, err)
		|| !al_json_get_text(&s->doc, node, "label", false, &f->label, err)
		|| !al_json_get_boolean(&s->doc, node, "legend", false, &f->legend, err)
		|| !read_width(s, node, &f->width_pt, err)
		|| !read_height(s, node, &f->height_pt, err) || !read_references(s, node, f, err)
		|| !read_names(s, node, "variants", &figure->variants, &figure->n_variants, err)
		|| !read_names(s, node, "cases", &figure->cases, &figure->n_cases, err))
		return false;
	if (figure->n_melted > 0) {
		f->y.column = "value";
		f->series = "column";
	}
	return true;
}

bool read_figures(struct al_scenario *s, const struct cJSON *list, struct al_error *err)
{
	if (!check_size(s, list, "figures", MOST_PARTS_OF_A_KIND, err))
		return false;
	s->figures = al_new_array(&s->arena, struct figure, al_json_size(list) + 1);
	al_json_each (node, list) {
		struct figure figure = {0};
		if (!read_figure(s, node, &figure, err))
			return false;
		s->figures[s->n_figures++] = figure;
	}
	return true;
}
