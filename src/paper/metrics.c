/* Metrics: columns of scores, and which of them others are made of. */
#include <string.h>

#include "paper/binder.h"

bool al_paper_is_score(const struct al_paper_column *column)
{
	return column->kind == AL_PAPER_SCORE || column->kind == AL_PAPER_LOSS;
}

/* Another variant's column beside those of the last metric is of it, too. */
static bool goes_on(const struct al_binder *b, size_t at)
{
	const struct al_paper_column *columns = b->binding->columns, *column = &columns[at];
	const size_t last = b->n_metrics - 1;

	if (b->n_metrics == 0 || !al_paper_is_score(&columns[at - 1]) || !column->variant)
		return false;
	for (size_t i = at; i-- > 0 && al_paper_is_score(&columns[i]) && b->metric_of[i] == last;)
		if (!columns[i].variant || strcmp(columns[i].variant, column->variant) == 0)
			return false;
	return b->metrics[last].is_loss == (column->kind == AL_PAPER_LOSS);
}

void al_binder_find_metrics(struct al_binder *b)
{
	const struct al_paper_binding *binding = b->binding;

	b->metrics = al_new_array(b->arena, struct al_metric, binding->n_columns + 1);
	b->metric_of = al_new_array(b->arena, size_t, binding->n_columns + 1);
	b->n_metrics = 0;
	for (size_t i = 0; i < binding->n_columns; i++) {
		if (!al_paper_is_score(&binding->columns[i]))
			continue;
		if (!goes_on(b, i)) {
			struct al_metric *metric = &b->metrics[b->n_metrics++];
			metric->is_loss = binding->columns[i].kind == AL_PAPER_LOSS;
			metric->name = al_format(b->arena, "t%lldm%zu", (long long)binding->table,
				b->n_metrics);
			al_text_init(&metric->rows);
		}
		b->metric_of[i] = b->n_metrics - 1;
	}
}

size_t al_binder_count_left(const struct al_binder *b, size_t column)
{
	while (column-- > 0)
		if (al_paper_is_score(&b->binding->columns[column]))
			return b->metric_of[column] + 1;
	return 0;
}

const struct al_metric *al_binder_nearest(const struct al_binder *b, size_t column,
	const char *variant)
{
	while (column-- > 0) {
		const struct al_paper_column *left = &b->binding->columns[column];
		if (al_paper_is_score(left)
			&& (!left->variant || strcmp(left->variant, variant) == 0))
			return &b->metrics[b->metric_of[column]];
	}
	return NULL;
}
