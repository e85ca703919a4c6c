/* The list of measurements, and what their tables have in common. */
#include "audit/measurement.h"

#define DECLARE(name) extern const struct al_measurement al_measurement_##name;
AL_MEASUREMENTS(DECLARE)

#define POINTER(name) &al_measurement_##name,
const struct al_measurement *const al_measurements[] = {AL_MEASUREMENTS(POINTER)};

void al_measurement_add_columns(const struct al_measurement *m, struct al_table *table,
	const struct al_audit *audit)
{
	if (m->fields)
		al_table_add_fields(table, m->fields, 0);
	else
		m->add_columns(table, audit);
}

/* ---- the short form ---- */

bool al_measurement_has_short_form(const struct al_measurement *m)
{
	return m->short_form.fill || m->short_form.columns[0];
}

void al_audit_copy_column(struct al_table *to, const struct al_table *from, const char *key)
{
	const int column = al_table_find_column(from, key);

	if (column >= 0)
		al_table_add_column(to, from->columns[column]);
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
		al_audit_copy_column(out, table, *key);
	for (size_t row = 0; row < table->n_rows; row++)
		if (form->most_rows == 0 || row < form->most_rows)
			copy_row(out, table, row);
}

/* ---- columns ---- */

void al_audit_add_group(struct al_table *table, const char *group,
	const struct al_table_field *fields, size_t offset, unsigned shown)
{
	size_t n = 0;

	while (fields[n].column.key)
		n++;
	struct al_table_field *own = al_new_array(&table->arena, struct al_table_field, n + 1);
	for (size_t i = 0; i < n; i++) {
		own[i] = fields[i];
		own[i].column.key = al_format(&table->arena, "%s_%s", group, fields[i].column.key);
		own[i].column.group = group;
		own[i].offset += offset;
	}
	al_table_add_fields(table, own, shown);
}
