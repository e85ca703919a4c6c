/* pca --save: the weights of PCA layers, trained or exact, as a checkpoint that pca --weights
 * reads. */
#include "commands/pca.h"

#include <string.h>

#include "formats/safetensors.h"

void pca_save_add(struct pca_tables *tables, const struct pca_module *m, struct al_view weights)
{
	struct al_arena *arena = &m->session->arena;
	const size_t n = weights.rows * weights.cols;

	if (!m->options->saved)
		return;
	tables->saved = al_grow(arena, tables->saved, tables->n_saved, &tables->saved_room,
		sizeof(*tables->saved));
	double *numbers = al_new_array(arena, double, n);
	for (size_t c = 0; c < weights.cols; c++)
		memcpy(numbers + c * weights.rows, weights.data + c * weights.ld,
			weights.rows * sizeof(*numbers));
	tables->saved[tables->n_saved++] =
		(struct pca_saved){al_format(arena, "%s.%s.W_PCA", m->name,
					   al_architecture_names[m->architecture]),
			numbers, {(int64_t)weights.cols, (int64_t)weights.rows}};
}

static bool append(struct al_safetensors_writer *writer, const struct pca_tables *tables,
	const struct al_dtype *dtype, struct al_error *err)
{
	bool ok = true;

	for (size_t i = 0; ok && i < tables->n_saved; i++)
		ok = al_safetensors_append_doubles(writer, dtype, tables->saved[i].numbers,
			(size_t)(tables->saved[i].shape[0] * tables->saved[i].shape[1]), err);
	return ok;
}

bool pca_save(const struct pca_tables *tables, struct al_session *session, struct al_error *err)
{
	const struct pca_options *o = session->options;
	const struct al_dtype *dtype = al_dtype_stored("F64");
	struct al_tensor *tensors = al_new_array(&session->arena, struct al_tensor,
		tables->n_saved + 1);
	const struct al_metadata version = {.key = "attnledger", .value = al_version()};
	struct al_safetensors_writer *writer;

	if (!o->saved)
		return true;
	for (size_t i = 0; i < tables->n_saved; i++)
		tensors[i] = (struct al_tensor){.name = tables->saved[i].name,
			.dtype = dtype,
			.shape = tables->saved[i].shape,
			.n_dims = 2};
	if (!al_safetensors_create(&writer, o->saved, tensors, tables->n_saved, &version, 1, err))
		return false;
	if (append(writer, tables, dtype, err))
		return al_safetensors_commit(writer, err);
	al_safetensors_abandon(writer);
	return false;
}
