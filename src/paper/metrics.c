/* Metrics: columns of scores, and which of them others are made of. */
#include "paper/binder.h"

bool al_paper_is_score(const struct al_paper_column *column)
{
	return column->kind == AL_PAPER_SCORE || column->kind == AL_PAPER_LOSS;
}

/* Another variant's column beside this one is of the same metric. */
static bool goes_on(const struct al_metric *metric, const struct al_paper_column *column)
{
	return column->variant && metric->n_variants > 0
		&& metric->is_loss == (column->kind == AL_PAPER_LOSS)
		&& al_find_name(column->variant, metric->variants, metric->n_variants) < 0;
}

/* The metric of a column of scores, being the columns before it counted in n_left. */
static struct al_metric *metric_at(struct al_binder *b, size_t column)
{
	const struct al_paper_column *c = &b->binding->columns[column];
	struct al_metric *metric = b->n_left ? &b->metrics[b->n_left - 1] : NULL;

	if (metric && column > 0 && al_paper_is_score(&b->binding->columns[column - 1])
		&& goes_on(metric, c))
		return metric;
	return &b->metrics[b->n_left++];
}

/* Goes through the columns once, so that each metric knows its variants. */
void al_binder_find_metrics(struct al_binder *b)
{
	const struct al_paper_binding *binding = b->binding;

	b->metrics = al_new_array(b->arena, struct al_metric, binding->n_columns + 1);
	b->n_left = 0;
	for (size_t i = 0; i < binding->n_columns; i++) {
		if (!al_paper_is_score(&binding->columns[i]))
			continue;
		struct al_metric *metric = metric_at(b, i);
		metric->is_loss = binding->columns[i].kind == AL_PAPER_LOSS;
		if (!binding->columns[i].variant)
			continue;
		metric->variants = al_grow(b->arena, metric->variants, metric->n_variants,
			&metric->room, sizeof(*metric->variants));
		metric->variants[metric->n_variants++] = binding->columns[i].variant;
	}
	b->n_metrics = b->n_left;
	for (size_t i = 0; i < b->n_metrics; i++) {
		b->metrics[i].name = al_format(b->arena, "t%lldm%zu", (long long)binding->table,
			i + 1);
		al_text_init(&b->metrics[i].rows);
	}
}

void al_binder_begin_row(struct al_binder *b)
{
	for (size_t i = 0; i < b->n_metrics; i++)
		b->metrics[i].n_variants = 0;
	b->n_left = 0;
}

/* The metric of this column of scores, in the order of the columns. */
struct al_metric *al_binder_metric(struct al_binder *b, size_t column)
{
	struct al_metric *metric = metric_at(b, column);

	if (b->binding->columns[column].variant)
		metric->variants[metric->n_variants++] = b->binding->columns[column].variant;
	return metric;
}

/* The one nearest at the left that has the variant. */
const struct al_metric *al_binder_nearest(const struct al_binder *b, const char *variant)
{
	for (size_t i = b->n_left; i-- > 0;)
		if (b->metrics[i].n_variants == 0
			|| al_find_name(variant, b->metrics[i].variants, b->metrics[i].n_variants)
				>= 0)
			return &b->metrics[i];
	return NULL;
}
