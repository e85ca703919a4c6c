/* The text beneath each panel: columns of its first row, a line for each group of them. */

#include "base/table.h"
#include "figure/mark.h"

/* ---- of the plot ---- */

static void add_number(struct al_text *text, const struct al_column *column, double value)
{
	const char *minus = value < 0 ? "\u2212" : "";

	if (column->digits == AL_DIGITS_ALL)
		al_text_addf(text, "%s%.6g", minus, fabs(value));
	else
		al_text_addf(text, "%s%.*f", minus, column->digits, fabs(value));
}

/* "|Cosine| off the diagonal: largest 0.56" */
static void add_cell(struct al_text *text, const struct al_column *column,
	const struct al_cell *cell, bool begins)
{
	double value;

	if (begins && column->group)
		al_text_addf(text, "%s: ", column->group);
	else if (!begins)
		al_text_add(text, ", ");
	al_text_addf(text, "%s ", column->title);
	if (al_cell_number(cell, &value))
		add_number(text, column, value);
	else
		al_text_add(text, cell->kind == AL_CELL_TEXT ? cell->text : "\u2013");
}

static bool is_same_group(const struct al_column *a, const struct al_column *b)
{
	return a->group && b->group && strcmp(a->group, b->group) == 0;
}

void al_plot_add_beneath(struct al_plot *plot, size_t row, size_t panel)
{
	const struct al_table *table = plot->table;
	const int *columns = plot->columns.beneath;
	struct al_beneath *beneath = &plot->beneath[panel];
	const size_t n = plot->figure->n_beneath;

	beneath->lines = al_new_array(&plot->arena, const char *, n);
	for (size_t i = 0; i < n; beneath->n_lines++) {
		const size_t first = i;
		AL_TEXT(text);
		do {
			add_cell(&text, &table->columns[columns[i]], &table->rows[row][columns[i]],
				i == first);
		} while (++i < n
			&& is_same_group(&table->columns[columns[i - 1]],
				&table->columns[columns[i]]));
		beneath->lines[beneath->n_lines] = al_strdup(&plot->arena, text.data);
	}
}

/* ---- of the scene ---- */

static struct al_label line_label(const struct al_scene *scene, size_t panel, size_t line)
{
	return (struct al_label){.text = scene->plot->beneath[panel].lines[line],
		.font = AL_FONT_TICK,
		.color = al_color_ink,
		.align = AL_ALIGN_CENTER,
		.wrap_pt = scene->frames[panel].right - scene->frames[panel].left};
}

double al_scene_beneath_height(const struct al_scene *scene)
{
	double most = 0;

	for (size_t panel = 0; panel < scene->plot->n_panels; panel++) {
		double sum = 0;
		for (size_t i = 0; i < scene->plot->beneath[panel].n_lines; i++) {
			const struct al_label label = line_label(scene, panel, i);
			sum += al_label_measure(scene->canvas, &label).height_pt;
		}
		most = al_most(sum, most);
	}
	return most > 0 ? most + AL_TITLE_GAP_PT : 0;
}

void al_scene_add_beneath(struct al_scene *scene, size_t panel)
{
	const struct al_box *frame = &scene->frames[panel];
	double top = scene->canvas->height_pt - AL_EDGE_PT - al_scene_beneath_height(scene)
		+ AL_TITLE_GAP_PT;

	for (size_t i = 0; i < scene->plot->beneath[panel].n_lines; i++)
		top = al_scene_write(scene, line_label(scene, panel, i),
			(frame->left + frame->right) / 2, top, 0.5, 0)
			      .bottom;
}
