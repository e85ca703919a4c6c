/* "pass" of a variant. */
#include "catalog/pass.h"

#include "catalog/family_read.h"

/* ---- names of its tensors ---- */

static bool check_names(const struct al_reader *reader, const struct al_item *node,
	const struct al_variant *variant, const char *const *names, size_t n, struct al_error *err)
{
	for (size_t i = 0; i < n; i++)
		if (names[i] && !AL_FIND(variant->tensors.items, variant->tensors.n, names[i]))
			return al_json_fail(reader->doc, node, err,
				"\"%s\" is none of the variant's tensors", names[i]);
	return true;
}

/* ---- its objects ---- */

#define AT(member) offsetof(struct al_pass_projection, member)
static const struct al_field projection_fields[] = {
	{AL_KEY("of", TEXT, AT(of))},
	{AL_KEY("bias", TEXT, AT(bias))},
	{AL_KEY("scale", TEXT, AT(scale))},
	{AL_KEY("times", TEXT, AT(times))},
	{AL_KEY("add", TEXT, AT(add))},
};
#undef AT
static const struct al_record projection_record = {.fields = AL_FIELDS(projection_fields)};

static bool check_norm(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	const struct al_reader *reader = context;
	const struct al_pass_across *across = record;

	return across->n_norm == AL_N_PASS_NORMS
		|| al_json_fail(reader->doc, al_json_get(node, "norm"), err,
			"found %zu names, expected those of scale, bias, mean and variance",
			across->n_norm);
}

#define AT(member) offsetof(struct al_pass_across, member)
static const struct al_field across_fields[] = {
	{AL_TEXTS_FIELD("norm", AT(norm), AT(n_norm)), .is_required = true},
	{AL_KEY("weight", TEXT, AT(weight)), .is_required = true},
	{AL_KEY("bias", TEXT, AT(bias)), .is_required = true},
	{AL_KEY("averages", BOOLEAN, AT(averages))},
	{AL_KEY("multiplies", BOOLEAN, AT(multiplies))},
};
#undef AT
static const struct al_record across_record = {
	.fields = AL_FIELDS(across_fields),
	.check = check_norm,
};

static bool check_delta(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	const struct al_reader *reader = context;
	const struct al_pass_delta *delta = record;

	return (delta->n_inputs == AL_PASS_INPUTS && delta->n_taps == AL_PASS_INPUTS)
		|| al_json_fail(reader->doc, node, err,
			"found %zu names in \"inputs\" and %zu in \"taps\", expected those of "
			"queries, keys and values in both",
			delta->n_inputs, delta->n_taps);
}

#define AT(member) offsetof(struct al_pass_delta, member)
#define NAME(name) \
	{ \
		AL_KEY(#name, TEXT, AT(name)), .is_required = true \
	}
static const struct al_field delta_fields[] = {
	{AL_TEXTS_FIELD("inputs", AT(inputs), AT(n_inputs)), .is_required = true},
	{AL_TEXTS_FIELD("taps", AT(taps), AT(n_taps)), .is_required = true},
	NAME(beta),
	NAME(alpha),
	NAME(step),
	NAME(rate),
	NAME(norm),
	NAME(gate),
	NAME(output),
};
#undef AT
static const struct al_record delta_record = {
	.fields = AL_FIELDS(delta_fields),
	.check = check_delta,
};

static bool check_convolution(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	const struct al_reader *reader = context;
	const struct al_pass_convolution *convolution = record;

	return convolution->n_inputs == AL_PASS_FACTORS
		|| al_json_fail(reader->doc, node, err,
			"expected two names in \"inputs\", of what is multiplied");
}

#define AT(member) offsetof(struct al_pass_convolution, member)
static const struct al_field convolution_fields[] = {
	{AL_TEXTS_FIELD("inputs", AT(inputs), AT(n_inputs)), .is_required = true},
	NAME(taps),
	NAME(gate),
	NAME(output),
};
#undef AT
static const struct al_record convolution_record = {
	.fields = AL_FIELDS(convolution_fields),
	.check = check_convolution,
};

#define AT(member) offsetof(struct al_pass, member)
#define PROJECTION(name) \
	{ \
		AL_KEY(#name, RECORD, AT(name)), .record = &projection_record \
	}
static const struct al_field pass_fields[] = {
	PROJECTION(query),
	PROJECTION(key),
	PROJECTION(value),
	PROJECTION(output),
	{AL_KEY("content", TEXT, AT(content))},
	{AL_KEY("across", RECORD, AT(across)), .record = &across_record},
	{AL_KEY("delta", RECORD, AT(delta)), .record = &delta_record},
	{AL_KEY("convolution", RECORD, AT(convolution)), .record = &convolution_record},
};
#undef AT

/* Attention has all four projections; what has none is something else. */
static bool check_kind(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	static const char *const projections[] = {"query", "key", "value", "output"};
	const struct al_reader *reader = context;
	const bool is_delta = al_json_get(node, "delta");
	const bool is_attention = !is_delta && !al_json_get(node, "convolution");
	(void)record;

	if (is_delta && al_json_get(node, "convolution"))
		return al_json_fail(reader->doc, node, err,
			"expected \"delta\" or \"convolution\", not both");

	for (size_t i = 0; i < sizeof(projections) / sizeof(*projections); i++)
		if (is_attention != (al_json_get(node, projections[i]) != NULL))
			return al_json_fail(reader->doc, node, err,
				"expected \"query\", \"key\", \"value\" and \"output\", or "
				"\"delta\" or \"convolution\" alone");
	return true;
}

static const struct al_record pass_record = {
	.fields = AL_FIELDS(pass_fields),
	.check = check_kind,
};

static bool check_pass(const struct al_reader *reader, const struct al_item *node,
	const struct al_variant *variant, const struct al_pass *pass, struct al_error *err)
{
	const struct al_pass_projection *const all[] = {&pass->query, &pass->key, &pass->value,
		&pass->output};
	const struct al_pass_delta *delta = &pass->delta;
	const struct al_pass_convolution *convolution = &pass->convolution;
	const char *const others[] = {pass->content, pass->across.weight, pass->across.bias,
		delta->beta, delta->alpha, delta->step, delta->rate, delta->norm, delta->gate,
		delta->output, convolution->taps, convolution->gate, convolution->output};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const char *const names[] = {all[i]->of, all[i]->bias, all[i]->scale, all[i]->times,
			all[i]->add};
		if (!check_names(reader, node, variant, names, sizeof(names) / sizeof(*names), err))
			return false;
	}
	return check_names(reader, node, variant, others, sizeof(others) / sizeof(*others), err)
		&& check_names(reader, node, variant, pass->across.norm, pass->across.n_norm, err)
		&& check_names(reader, node, variant, delta->inputs, delta->n_inputs, err)
		&& check_names(reader, node, variant, delta->taps, delta->n_taps, err)
		&& check_names(reader, node, variant, convolution->inputs, convolution->n_inputs,
			err);
}

bool al_pass_read(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_variant *variant = out;
	struct al_pass *pass = al_new(reader->arena, struct al_pass);

	variant->pass = pass;
	return al_read_record(reader, &pass_record, node, pass, err)
		&& check_pass(reader, node, variant, pass, err);
}
