/* The list of measurements: their columns, short forms, and the summary of all. */
#include "audit/measurement.h"

#include "audit/summary.h"

#define DECLARE(name) extern const struct al_measurement al_measurement_##name;
AL_MEASUREMENTS(DECLARE)

#define POINTER(name) &al_measurement_##name,
const struct al_measurement *const al_measurements[] = {AL_MEASUREMENTS(POINTER)};

void al_measurement_add_columns(const struct al_measurement *m, struct al_table *table,
	const struct al_audit *audit)
{
	if (m->fields)
		al_table_add_fields(table, m->fields, al_audit_basis(audit));
	else
		m->add_columns(table, audit);
}

void al_audit_note_basis(const struct al_audit *audit, struct al_table *table)
{
	if (audit->options.covariance && al_audit_basis(audit) == AL_BY_WEIGHTS)
		al_table_note(table,
			"heads are compared by their weights, as the inputs use them: of their "
			"logits and outputs on tokens nothing is known without a calibration that "
			"`calibrate` recorded");
}

/* ---- the short form ---- */

bool al_measurement_has_short_form(const struct al_measurement *m)
{
	return m->short_form.fill || m->short_form.columns[0];
}

static void copy_row(struct al_table *to, const struct al_table *from, size_t row)
{
	struct al_cell *cells = al_table_add_row(to);

	for (size_t i = 0; i < to->n_columns; i++)
		al_cell_copy(to, &cells[i],
			&from->rows[row][al_table_find_column(from, to->columns[i].key)]);
}

void al_measurement_shorten(const struct al_measurement *m, const struct al_table *table,
	struct al_table *out)
{
	const struct al_short_form *form = &m->short_form;

	if (form->fill) {
		form->fill(out, table);
		return;
	}
	for (const char *const *key = form->columns; *key; key++)
		al_table_copy_column(out, table, *key);
	for (size_t row = 0; row < table->n_rows; row++)
		if (form->most_rows == 0 || row < form->most_rows)
			copy_row(out, table, row);
}

/* ---- the summary ---- */

static void add_parts(struct al_table *summary, const struct al_audit *audit,
	const struct al_measurement *measurement, const struct al_table *table, int place)
{
	for (int i = 0; i < AL_MOST_SUMMARY_PARTS; i++) {
		const struct al_summary_part *part = &measurement->summary[i];
		if (part->add && (int)part->place == place)
			part->add(summary, audit, table);
	}
}

void al_summary_fill(struct al_table *summary, const struct al_audit *audit,
	struct al_table *const *tables)
{
	al_table_add_column(summary,
		(struct al_column){.key = "item", .title = "What", .is_key = true});
	al_table_add_column(summary, (struct al_column){.key = "value", .title = "Found"});
	for (int place = 0; place < AL_N_SUMMARY_PLACES; place++)
		for (int i = 0; i < AL_N_MEASUREMENTS; i++)
			if (tables[i])
				add_parts(summary, audit, al_measurements[i], tables[i], place);
	al_table_note(summary, "medians; ranges in parentheses");
	al_table_note(summary,
		"conversions change all layers; errors are those of the worst layer");
	if (!audit->options.covariance)
		al_table_note(summary,
			"from weights alone: real inputs use fewer directions, so true ranks are "
			"lower");
}

unsigned al_audit_basis(const struct al_audit *audit)
{
	return al_covariance_calibration(audit->options.covariance) ? AL_ON_TOKENS : AL_BY_WEIGHTS;
}

struct al_audit_place al_audit_place_of(const struct al_audit_module *module)
{
	return (struct al_audit_place){module->attention->name, module->attention->layer};
}
