/* pca --train: how far weights are from the exact components, step by step. */
#include "commands/pca_watch.h"

#include <math.h>

void pca_training_columns(struct al_table *table, const struct pca_options *o)
{
	static const struct al_column
		names[] = {{.key = "module", .title = "Module", .is_key = true},
			{.key = "architecture", .title = "Architecture", .is_key = true},
			{.key = "step", .title = "Step", .digits = AL_DIGITS_ALL, .is_key = true}},
		deacon[] = {{.key = "loss", .title = "Loss", .digits = 6},
			{.key = "promised",
				.title = "to first order",
				.group = "Change of the loss by this step of W",
				.digits = 6},
			{.key = "curvature",
				.title = "by curvature",
				.group = "Change of the loss by this step of W",
				.digits = 6},
			{.key = "loss_change",
				.title = "in all",
				.group = "Change of the loss by this step of W",
				.digits = 6},
			{.key = "length",
				.title = "taken",
				.group = "Length of the step",
				.digits = 6},
			{.key = "falls_below",
				.title = "loss falls below",
				.group = "Length of the step",
				.digits = 6}},
		rate[] = {{.key = "rate", .title = "Rate", .digits = 6}},
		alignment[] = {{.key = "norm", .title = "Norm of W", .digits = 4},
			{.key = "angle", .title = "Largest angle", .unit = "degrees", .digits = 4},
			{.key = "cosine_mean",
				.title = "mean",
				.group = "|Cosine| with exact components",
				.digits = 6},
			{.key = "cosine_least",
				.title = "least",
				.group = "|Cosine| with exact components",
				.digits = 6}};
	al_table_add_columns(table, names, sizeof(names) / sizeof(*names));
	if (o->training.rule == PCA_DEACON)
		al_table_add_columns(table, deacon, sizeof(deacon) / sizeof(*deacon));
	else
		al_table_add_columns(table, rate, sizeof(rate) / sizeof(*rate));
	al_table_add_columns(table, alignment, sizeof(alignment) / sizeof(*alignment));
}

void pca_show_step(struct pca_watcher *w)
{
	al_progress_show(&w->progress, w->module->name, w->label, w->steps);
}

bool pca_look(struct pca_watcher *w, struct al_view weights, struct al_error *err)
{
	const struct al_view vectors = al_columns(al_view(w->module->principal.vectors), 0,
		weights.cols);
	double angle;

	if (!al_hebbian_alignment(weights, vectors, w->cosines, &angle, err))
		return false;
	w->angle_degrees = angle * 180 / acos(-1);
	w->cosine_mean = 0;
	w->cosine_least = 1;
	for (size_t c = 0; c < weights.cols; c++) {
		w->cosine_mean += w->cosines[c] / (double)weights.cols;
		w->cosine_least = w->cosines[c] < w->cosine_least ? w->cosines[c] : w->cosine_least;
	}
	return true;
}

static void add_row(struct al_table *table, const struct pca_watcher *w, size_t step,
	const double *numbers, size_t n, double norm)
{
	struct al_cell *cell = al_table_add_row(table);

	al_cell_set_text(table, cell++, w->module->name);
	al_cell_set_text(table, cell++, al_architecture_names[w->module->architecture]);
	al_cell_set_int(table, cell++, (int64_t)step);
	for (size_t i = 0; i < n; i++, cell++)
		if (!isnan(numbers[i]))
			al_cell_set_real(cell, numbers[i]);
	al_cell_set_real(cell++, norm);
	al_cell_set_real(cell++, w->angle_degrees);
	al_cell_set_real(cell++, w->cosine_mean);
	al_cell_set_real(cell++, w->cosine_least);
	for (size_t c = 0; c < w->module->n_kept; c++)
		al_cell_set_real(cell++, w->cosines[c]);
}

/* The components' own columns come with the first row, as many as are kept. */
void pca_add_rows(struct pca_watcher *w, size_t step, const double *numbers, size_t n,
	struct al_view weights, bool is_shown)
{
	struct al_table *tables[] = {is_shown ? w->tables->of[PCA_TRAINING] : NULL,
		&w->tables->drawn[PCA_TRAINING]};
	const double norm = sqrt(al_inner(weights, weights));

	for (size_t k = 0; k < 2; k++) {
		struct al_table *table = tables[k];
		if (!table || !table->n_columns)
			continue;
		for (size_t c = 0; table->n_rows == 0 && c < w->module->n_kept; c++)
			al_table_add_column(table,
				(struct al_column){.key = al_format(&table->arena, "cosine_%zu",
							   c + 1),
					.title = al_format(&table->arena, "%zu", c + 1),
					.group = "|Cosine| of component",
					.digits = 4});
		add_row(table, w, step, numbers, n, norm);
	}
}
