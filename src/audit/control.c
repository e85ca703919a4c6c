/* The control that an approximation of the scores has to beat. */
#include "audit/control.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
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

	return c->errors[n < c->most ? n : c->most];
}

/* ---- beside an approximation ---- */

void al_control_add_columns(struct al_table *table)
{
	static const struct al_column columns[] = {
		{.key = "saving", .title = "Saving", .unit = "%", .digits = 2},
		{.key = "relative_error", .title = "Relative error", .digits = 6},
		{.key = "control_error", .title = "Error of truncating", .digits = 6},
		{.key = "sharing_gain", .title = "Gain over truncating", .digits = 3},
	};

	al_table_add_columns(table, columns, sizeof(columns) / sizeof(*columns));
}

/* Errors below this are rounding: their ratios say nothing. */
#define EXACT 1e-12

void al_control_set_cells(struct al_cell *cell, size_t original, size_t parameters, double error,
	double control)
{
	al_cell_set_real(cell++, 100 * (1 - (double)parameters / (double)original));
	if (!isnan(error))
		al_cell_set_real(cell, error);
	cell++;
	if (isnan(control))
		return;
	al_cell_set_real(cell++, control);
	if (error > EXACT)
		al_cell_set_real(cell, control / error);
}

const char al_control_note[] =
	"truncating: the largest singular triples of all heads, at as many query and key "
	"parameters; gain: the error of truncating over the method's error";
