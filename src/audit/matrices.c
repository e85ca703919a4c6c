/* Matrices and spectra as files. */
#include "audit/matrices.h"

#include "audit/forms.h"
#include "formats/npy.h"

struct target {
	const char *module;
	al_matrices_taker *take;
	void *context;
};

/* A module's name comes from a family's file: what isn't a plain letter becomes an underscore. */
static void add_plain(struct al_text *out, const char *name)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	for (; *name; name++)
		al_text_add_bytes(out, strchr(plain, *name) ? name : "_", 1);
}

static bool hand_over(const struct target *target, const char *what, const char *kind,
	struct al_matrix m, struct al_error *err)
{
	AL_TEXT(name);
	AL_TEXT(content);

	add_plain(&name, target->module);
	al_text_addf(&name, ".%s.%s.npy", what, kind);
	al_npy_add(&content, m.data, m.rows, m.cols, true);
	return target->take(target->context, name.data, &content, err);
}

/* In place; a head without length has cosine 0 to all. */
static void to_cosines(struct al_matrix s)
{
	struct al_matrix m = s;

	for (size_t j = 0; j < m.cols; j++)
		for (size_t i = 0; i < j; i++) {
			double norms = sqrt(m.data[i + i * m.ld]) * sqrt(m.data[j + j * m.ld]);
			double cosine = norms > 0 ? m.data[i + j * m.ld] / norms : 0;
			m.data[i + j * m.ld] = m.data[j + i * m.ld] = cosine;
		}
	for (size_t i = 0; i < m.rows; i++)
		m.data[i + i * m.ld] = m.data[i + i * m.ld] > 0 ? 1 : 0;
}

static bool add_form(const struct target *target, struct al_audit_module *module, enum al_form form,
	struct al_error *err)
{
	struct al_view inner;
	AL_SCRATCH(scratch);
	struct al_matrix s;

	if (!al_audit_form_inner(module, form, &inner, err)
		|| !al_take_copy(&scratch, inner, &s, err)
		|| !hand_over(target, al_form_names[form], "gram", s, err))
		return false;
	to_cosines(s);
	return hand_over(target, al_form_names[form], "cosine", s, err);
}

static bool add_spectra(const struct target *target, const char *whose,
	const struct al_spectra *spectra, struct al_error *err)
{
	for (int kind = 0; kind < AL_N_SPECTRA; kind++)
		if (al_has_spectrum(spectra, (enum al_spectrum)kind)
			&& !hand_over(target, whose, al_spectrum_names[kind], spectra->values[kind],
				err))
			return false;
	return true;
}

const struct al_needs al_matrices_needs = {
	.weights = true,
	.layer_spectra = AL_ALL_SPECTRA,
};

bool al_matrices_hand_over(const struct al_audit *audit, struct al_audit_module *module,
	al_matrices_taker *take, void *context, struct al_error *err)
{
	const struct target target = {module->attention->name, take, context};
	const struct al_spectra *heads, *layer;

	for (int form = 0; form < AL_N_FORMS; form++)
		if (al_has_form(&module->heads, (enum al_form)form)
			&& !add_form(&target, module, (enum al_form)form, err))
			return false;
	return al_audit_head_spectra(module, &heads, err)
		&& al_audit_layer_spectra(audit, module, AL_ALL_SPECTRA, 0, &layer, err)
		&& add_spectra(&target, "heads", heads, err)
		&& add_spectra(&target, "layer", layer, err);
}
