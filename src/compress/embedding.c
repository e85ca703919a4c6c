/* The embedding whose rows are inputs. */
#include "compress/job.h"

const struct al_tensor *al_embedding_find(const struct al_model_view *view,
	const struct al_attention *attention)
{
	const struct al_tensor_list *tensor_list = &view->tensor_list;

	for (size_t i = 0; i < tensor_list->n_tensors; i++) {
		const struct al_model_item *t = &tensor_list->tensors[i];
		const struct al_tensor *found = t->tensor->part == AL_PART_EMBEDDING
			? al_model_view_find(view, t->name)
			: NULL;
		if (found && found->n_dims == 2 && found->shape[0] > 0
			&& found->shape[1] == attention->factors[AL_QUERY].rows
			&& found->dtype->to_double)
			return found;
	}
	return NULL;
}

bool al_embedding_check(const struct al_model_view *view, const struct al_attention *attention,
	const struct al_tensor **checked, struct al_error *err)
{
	const struct al_tensor *embedding = al_embedding_find(view, attention);

	if (!embedding || embedding == *checked)
		return true;
	*checked = embedding;
	return al_tensor_check_finite(view->checkpoint, embedding, err);
}
