/* Figures: reading what to draw, and cutting the rows that it needs out of a table or a sweep. */
#include "scenario/internal.h"

#include <string.h>

#include "base/text.h"

/* ---- reading ---- */

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

/* ---- the rows to draw ---- */

size_t al_scenario_n_figures(const struct al_scenario *scenario)
{
	return scenario->n_figures;
}

const struct al_figure *al_scenario_figure(const struct al_scenario *scenario, size_t index)
{
	return &scenario->figures[index].figure;
}

static bool is_wanted(const struct al_table *table, const struct al_cell *row, const char *key,
	const char *const *names, size_t n)
{
	int column = al_table_find_column(table, key);

	if (!names || column < 0)
		return true;
	return row[column].kind == AL_CELL_TEXT && al_find_name(row[column].text, names, n) >= 0;
}

static void keep_wanted(const struct figure *figure, struct al_table *table)
{
	size_t kept = 0;

	for (size_t i = 0; i < table->n_rows; i++)
		if (is_wanted(table, table->rows[i], "variant", figure->variants,
			    figure->n_variants)
			&& is_wanted(table, table->rows[i], "case", figure->cases, figure->n_cases))
			table->rows[kept++] = table->rows[i];
	table->n_rows = kept;
}

static void copy_cell(struct al_table *to, struct al_cell *out, const struct al_cell *cell)
{
	*out = *cell;
	if (cell->kind == AL_CELL_TEXT)
		al_cell_set_titled(to, out, cell->text, cell->title);
	else if (cell->kind == AL_CELL_EXACT)
		al_cell_set_exact(to, out, cell->exact);
}

static void melt_row(const struct al_table *wide, const struct al_cell *row, const int *columns,
	const struct figure *figure, size_t n_keys, struct al_table *out)
{
	for (size_t i = 0; i < figure->n_melted; i++) {
		struct al_cell *cell = al_table_add_row(out);
		for (size_t k = 0; k < n_keys; k++)
			copy_cell(out, cell++, &row[k]);
		al_cell_set_text(out, cell++, wide->columns[columns[i]].title);
		copy_cell(out, cell, &row[columns[i]]);
	}
}

/* Turns the columns of a wide table into rows: keys, column, value. */
static bool melt(const struct figure *figure, struct al_table *table, struct al_error *err)
{
	struct al_table out;
	size_t n_keys = 0;
	int *columns = al_new_array(&table->arena, int, figure->n_melted);

	for (size_t i = 0; i < figure->n_melted; i++)
		if ((columns[i] = al_table_find_column(table, figure->melted[i])) < 0)
			return al_fail(err, AL_EINPUT,
				"figure \"%s\": table \"%s\" has no column \"%s\"",
				figure->figure.id, table->id, figure->melted[i]);
	al_table_init(&out, table->id, table->title);
	while (n_keys < table->n_columns && table->columns[n_keys].is_key)
		al_table_add_column(&out, table->columns[n_keys++]);
	al_table_add_column(&out, (struct al_column){.key = "column", .is_key = true});
	struct al_column value = table->columns[columns[0]];
	value.key = value.title = "value";
	value.group = NULL;
	al_table_add_column(&out, value);
	for (size_t i = 0; i < table->n_rows; i++)
		melt_row(table, table->rows[i], columns, figure, n_keys, &out);
	al_table_finish(table);
	*table = out;
	return true;
}

bool al_scenario_figure_table(struct al_scenario *scenario, size_t index, struct al_table *out,
	struct al_error *err)
{
	const struct figure *figure = &scenario->figures[index];
	size_t source = figure->table
		? (size_t)(figure->table - scenario->tables)
		: scenario->n_tables + (size_t)(figure->sweep - scenario->sweeps);

	if (!al_scenario_table(scenario, source, out, err))
		return false;
	keep_wanted(figure, out);
	if (figure->n_melted == 0 || melt(figure, out, err))
		return true;
	al_table_finish(out);
	return false;
}
