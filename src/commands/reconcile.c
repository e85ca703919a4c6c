/* reconcile: what a family expects of a checkpoint against what is stored. */
#include "commands/laid.h"
#include "views/reconcile.h"

static void set_shape(struct al_table *table, struct al_cell *cell, const int64_t *dims, size_t n)
{
	al_cell_set_text(table, cell, al_shape_text(&table->arena, dims, n));
}

static void add_line(struct al_table *table, const struct al_reconciled *line)
{
	struct al_cell *cell = al_table_add_row(table);

	al_cell_set_text(table, cell++, line->name);
	if (line->part)
		al_cell_set_text(table, cell, line->part);
	cell++;
	if (line->expected)
		set_shape(table, cell, line->expected, line->n_expected);
	cell++;
	if (line->found)
		set_shape(table, cell, line->found->shape, line->found->n_dims);
	cell++;
	al_cell_set_text(table, cell++, al_difference_names[line->difference]);
	if (!line->found)
		return;
	al_cell_set_int(table, cell++, line->is_parameter ? line->found->n_elements : 0);
	al_cell_set_int(table, cell, (int64_t)line->found->bytes);
}

static void add_columns(struct al_table *table)
{
	al_table_add_column(table, (struct al_column){.key = "name", .title = "Tensor", .is_key = true});
	al_table_add_column(table, (struct al_column){.key = "part", .title = "Part"});
	al_table_add_column(table, (struct al_column){.key = "expected", .title = "Expected"});
	al_table_add_column(table, (struct al_column){.key = "found", .title = "Found"});
	al_table_add_column(table, (struct al_column){.key = "difference", .title = "Difference"});
	al_table_add_column(table, (struct al_column){.key = "parameters", .title = "Parameters",
		.quantity = AL_QUANTITY_COUNT, .digits = AL_DIGITS_ALL});
	al_table_add_column(table, (struct al_column){.key = "bytes", .title = "Stored", .unit = "B",
		.quantity = AL_QUANTITY_BYTES, .digits = AL_DIGITS_ALL});
}

/* What agrees is said in a note, unless all is asked for. */
static void fill(struct session *session, struct al_table *table, const struct al_reconciled *lines,
	size_t n)
{
	size_t counts[AL_N_DIFFERENCES] = {0};

	add_columns(table);
	for (size_t i = 0; i < n; i++) {
		counts[lines[i].difference]++;
		if (lines[i].difference != AL_DIFFERENCE_NONE || is_given(&session->arguments, OPT_TENSORS))
			add_line(table, &lines[i]);
		if (al_difference_is_fault(lines[i].difference))
			session->answer_is_no = true;
	}
	for (int i = 0; i < AL_N_DIFFERENCES; i++)
		if (counts[i])
			al_table_note(table, "%zu tensors: %s", counts[i],
				i == AL_DIFFERENCE_NONE ? "as expected" : al_difference_names[i]);
}

static bool run(struct session *session, struct al_error *err)
{
	struct al_reconciled *lines;
	struct laid laid;
	size_t n;

	if (!laid_open(&laid, session, false, err))
		return false;
	bool ok = al_reconcile(&laid.view, &lines, &n, err);
	if (ok) {
		struct al_table *table = session_table(session, "reconcile",
			al_format(&session->arena, "%s against family %s", laid.checkpoint.path,
				laid.view.family->name));
		fill(session, table, lines, n);
		laid_note(&laid, table);
	}
	laid_close(&laid);
	return ok;
}

const struct command command_reconcile = {
	.name = "reconcile",
	.words = "CHECKPOINT [CONFIG]",
	.summary = "expected tensors against stored ones; exit status 1 if they differ",
	.examples = {"reconcile model.safetensors config.json", "reconcile model/ --tensors -f csv"},
	.options = OPTIONS_OUTPUT | OPTIONS_LAID | OPTION(OPT_TENSORS),
	.least_words = 1,
	.most_words = 2,
	.run = run,
};
