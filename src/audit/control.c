/* The control that an approximation of the scores has to beat. */
#include "audit/control.h"

#include "linalg/cp.h"

bool al_control_init(struct al_control *c, const struct al_heads *heads, struct al_error *err)
{
	const struct al_heads_shape s = al_heads_shape(heads);

	*c = (struct al_control){.most = al_cp_bound(heads), .parameters = s.d_query + s.d_key};
	c->errors = al_calloc(c->most + 1, sizeof(*c->errors));
	return al_cp_greedy_errors(heads, c->errors, err);
}

void al_control_finish(struct al_control *c)
{
	free(c->errors);
	*c = (struct al_control){0};
}

double al_control_error(const struct al_control *c, size_t parameters)
{
	const size_t n = parameters / c->parameters;

	return c->errors[al_least(n, c->most)];
}

/* ---- compared with an approximation ---- */

/* Errors below this are rounding: their ratios mean nothing. */
#define EXACT 1e-12

struct al_control_row al_control_compare(size_t original, size_t parameters, double error,
	double control)
{
	return (struct al_control_row){.saving = 100 * (1 - (double)parameters / (double)original),
		.relative_error = error,
		.control_error = control,
		.sharing_gain = error > EXACT ? control / error : NAN};
}

const char al_control_note[] =
	"truncation: the largest singular triples of all heads, with as many query and key "
	"parameters; gain: truncation error divided by the method's error";
