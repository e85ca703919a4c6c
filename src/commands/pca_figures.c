/* pca --figures: scree plot, heat maps of the weights, training curves, a folder of files for each
 * module. */
#include "commands/pca.h"

#include <string.h>

#include "base/file.h"
#include "base/path.h"
#include "commands/draw.h"

/* Figure 6 of Ampazis & Sakketou 2024: a panel for each architecture. */
#define BENEATH(column_name) \
	((const char *const[]){"norm_min", "norm_max", column_name "_largest", column_name "_mean"})
#define MAP(column_name, color_title) \
	{ \
		.table = PCA_CORRELATION, \
		.figure = {.id = "weights-" column_name, \
			.mark = "heatmap", \
			.x = {.column = "component_b", .title = "Component"}, \
			.y = {.column = "component_a", .title = "Component"}, \
			.color = {.column = column_name, \
				.title = color_title, \
				.has_min = true, \
				.has_max = true, \
				.min = -1, \
				.max = 1}, \
			.is_diverging = true, \
			.writes_values = true, \
			.panel = "weights", \
			.beneath = BENEATH(column_name), \
			.n_beneath = 4, \
			.width_pt = AL_FIGURE_PAGE_PT, \
			.height_pt = 236}, \
	}

static const struct drawing {
	enum pca_table table;
	bool needs_loss;
	struct al_figure figure;
} drawings[] = {
	{.table = PCA_COMPONENTS,
		.figure = {.id = "scree",
			.mark = "line",
			.x = {.column = "component", .title = "Component"},
			.y = {.column = "share",
				.title = "Share of the variance",
				.has_min = true,
				.min = 0},
			.series = "architecture"}},
	MAP("pearson", "Pearson correlation of two components' weights"),
	MAP("cosine", "Cosine of two components' weights"),
	{.table = PCA_TRAINING,
		.figure = {.id = "alignment",
			.mark = "line",
			.x = {.column = "step", .title = "Step"},
			.y = {.column = "cosine_mean",
				.title = "Mean |cosine| with the exact components",
				.has_min = true,
				.has_max = true,
				.min = 0,
				.max = 1},
			.series = "architecture"}},
	{.table = PCA_TRAINING,
		.needs_loss = true,
		.figure = {.id = "loss",
			.mark = "line",
			.x = {.column = "step", .title = "Step"},
			.y = {.column = "loss",
				.title = "Loss, of the target's variance",
				.scale = AL_AXIS_LOG},
			.series = "architecture"}},
};

enum { N_DRAWINGS = sizeof(drawings) / sizeof(*drawings) };

void pca_figures_begin(struct pca_tables *tables, const struct pca_options *o)
{
	for (int i = 0; i < PCA_N_TABLES && o->figures; i++)
		al_table_init(&tables->drawn[i], "", "");
	if (!o->figures)
		return;
	if (!o->weights)
		pca_components_columns(&tables->drawn[PCA_COMPONENTS], pca_has_target(o));
	pca_correlation_columns(&tables->drawn[PCA_CORRELATION]);
	pca_measures_columns(&tables->drawn[PCA_CORRELATION]);
	if (o->training.rule >= 0)
		pca_training_columns(&tables->drawn[PCA_TRAINING], o);
}

void pca_figures_finish(struct pca_tables *tables)
{
	for (int i = 0; i < PCA_N_TABLES; i++) {
		al_table_finish(&tables->drawn[i]);
		tables->drawn[i] = (struct al_table){0};
	}
}

/* A module's name may hold slashes. */
static const char *name_folder(struct al_session *session, const char *module)
{
	const char *folder = ((const struct pca_options *)session->options)->figures;
	char *name = al_strdup(&session->arena, module);

	for (char *c = name; *c; c++)
		if (*c == '/')
			*c = '_';
	return al_path_join(&session->arena, folder, *name == '.' ? "module" : name);
}

bool pca_figures_draw(struct al_session *session, struct pca_tables *tables, const char *module,
	struct al_error *err)
{
	const char *folder = name_folder(session, module);

	for (size_t i = 0; i < N_DRAWINGS; i++) {
		const struct al_table *table = &tables->drawn[drawings[i].table];
		if (table->n_rows == 0
			|| (drawings[i].needs_loss && al_table_find_column(table, "loss") < 0))
			continue;
		if (!al_draw_into(&session->files, &drawings[i].figure, table, folder, err))
			return al_in(err, "%s", drawings[i].figure.id);
	}
	return true;
}
