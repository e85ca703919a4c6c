/* Building a sweep of a scenario: one curve after the other, case by case. */
#include "scenario/build.h"

static bool run_case(struct al_evaluator *evaluator, const struct al_scenario_sweep *sweep,
	const struct al_case *case_, struct al_table *out, struct al_error *err)
{
	AL_ENDS(al_request_finish) struct al_request request = {0};
	struct al_ledger_sweep one;

	if (!al_sweep_of_case(sweep, case_, &request, &one, err))
		return false;
	one.n_evaluated = &evaluator->n_evaluated;
	return al_sweep_run(&one, out, err);
}

static void append(struct al_table *out, const struct al_case *case_, const struct al_table *rows)
{
	if (out->n_columns == 0) {
		al_table_add_column(out,
			(struct al_column){.key = "case", .title = "Case", .is_key = true});
		al_table_add_columns(out, rows->columns, rows->n_columns);
	}
	for (size_t i = 0; i < rows->n_rows; i++) {
		struct al_cell *cell = al_table_add_row(out);
		al_cell_set_titled(out, cell, case_->id, case_->title);
		for (size_t j = 0; j < rows->n_columns; j++)
			al_cell_copy(out, &cell[j + 1], &rows->rows[i][j]);
	}
}

bool al_sweep_build(struct al_evaluator *evaluator, const struct al_scenario_sweep *sweep,
	struct al_table *out, struct al_error *err)
{
	if (!sweep->shows_case)
		return run_case(evaluator, sweep, sweep->cases.items[0], out, err);
	al_table_init(out, sweep->sweep.id, sweep->sweep.title);
	for (size_t i = 0; i < sweep->cases.n; i++) {
		struct al_table rows;
		if (!run_case(evaluator, sweep, sweep->cases.items[i], &rows, err))
			return al_in(err, "case %s", sweep->cases.items[i]->id);
		append(out, sweep->cases.items[i], &rows);
		for (size_t j = 0; i == 0 && j < rows.n_notes; j++)
			al_table_note(out, "%s", rows.notes[j]);
		al_table_finish(&rows);
	}
	return true;
}
