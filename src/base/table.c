/* Tables: typed columns, rows of cells, notes. */
#include "base/table.h"

#include "base/base.h"

#include <stdarg.h>

void al_table_init(struct al_table *table, const char *id, const char *title)
{
	*table = (struct al_table){0};
	al_arena_init(&table->arena);
	table->id = al_strdup(&table->arena, id);
	table->title = al_strdup(&table->arena, title);
}

void al_table_finish(struct al_table *table)
{
	al_arena_finish(&table->arena);
	*table = (struct al_table){0};
}

static const char *copy_or_null(struct al_table *table, const char *text)
{
	return text ? al_strdup(&table->arena, text) : NULL;
}

size_t al_table_add_column(struct al_table *table, struct al_column column)
{
	column.key = al_strdup(&table->arena, column.key);
	column.title = al_strdup(&table->arena, column.title ? column.title : column.key);
	column.unit = al_strdup(&table->arena, column.unit ? column.unit : "");
	column.group = copy_or_null(table, column.group);
	column.scale = copy_or_null(table, column.scale);
	table->columns = al_grow(&table->arena, table->columns, table->n_columns,
		&table->columns_room, sizeof(*table->columns));
	table->columns[table->n_columns] = column;
	table->fields = al_grow(&table->arena, table->fields, table->n_columns, &table->fields_room,
		sizeof(*table->fields));
	table->fields[table->n_columns] = NULL;
	return table->n_columns++;
}

void al_table_add_columns(struct al_table *table, const struct al_column *columns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		al_table_add_column(table, columns[i]);
}

void al_table_add_fields(struct al_table *table, const struct al_table_field *fields,
	unsigned shown)
{
	for (const struct al_table_field *field = fields; field->column.key; field++) {
		if ((field->when & shown) != field->when)
			continue;
		al_table_add_column(table, field->column);
		table->fields[table->n_columns - 1] = field;
	}
}

void al_table_add_group(struct al_table *table, const char *group,
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

void al_table_copy_column(struct al_table *to, const struct al_table *from, const char *key)
{
	const int column = al_table_find_column(from, key);

	if (column >= 0)
		al_table_add_column(to, from->columns[column]);
}

struct al_cell *al_table_add_row(struct al_table *table)
{
	struct al_cell *row = al_new_array(&table->arena, struct al_cell, table->n_columns);

	*AL_APPEND(&table->arena, table->rows, table->n_rows, table->rows_room) = row;
	return row;
}

void al_table_mark_total(struct al_table *table)
{
	table->rows[table->n_rows - 1][0].is_total = true;
}

static bool has_note(const struct al_table *table, const char *note)
{
	for (size_t i = 0; i < table->n_notes; i++)
		if (strcmp(table->notes[i], note) == 0)
			return true;
	return false;
}

/* Adds a note as number `at`; false: it is there already. */
AL_PRINTF(3, 0)
static bool insert_note(struct al_table *table, size_t at, const char *format, va_list args)
{
	const char *note = al_format_list(&table->arena, format, args);

	if (has_note(table, note))
		return false;
	AL_APPEND(&table->arena, table->notes, table->n_notes, table->notes_room);
	memmove(table->notes + at + 1, table->notes + at,
		(table->n_notes - 1 - at) * sizeof(*table->notes));
	table->notes[at] = note;
	return true;
}

void al_table_note(struct al_table *table, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)insert_note(table, table->n_notes, format, args);
	va_end(args);
}

void al_table_warn(struct al_table *table, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	table->n_warnings += insert_note(table, table->n_warnings, format, args);
	va_end(args);
}

void al_table_keep_note(struct al_table *table, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	table->n_kept += insert_note(table, table->n_warnings + table->n_kept, format, args);
	va_end(args);
}

void al_cell_set_text(struct al_table *table, struct al_cell *cell, const char *text)
{
	*cell = (struct al_cell){.kind = AL_CELL_TEXT, .text = al_strdup(&table->arena, text)};
}

void al_cell_set_titled(struct al_table *table, struct al_cell *cell, const char *text,
	const char *title)
{
	al_cell_set_text(table, cell, text);
	cell->title = copy_or_null(table, title);
}

void al_cell_set_latex(struct al_table *table, struct al_cell *cell, const char *text,
	const char *latex)
{
	al_cell_set_text(table, cell, text);
	cell->latex = al_strdup(&table->arena, latex);
}

void al_cell_set_exact(struct al_table *table, struct al_cell *cell, mpq_srcptr value)
{
	*cell = (struct al_cell){.kind = AL_CELL_EXACT,
		.exact = al_exact_copy(&table->arena, value)};
}

void al_cell_set_int(struct al_table *table, struct al_cell *cell, int64_t value)
{
	*cell = (struct al_cell){.kind = AL_CELL_EXACT,
		.exact = al_exact_from_int(&table->arena, value)};
}

void al_cell_set_real(struct al_cell *cell, double value)
{
	*cell = isnan(value) ? (struct al_cell){.kind = AL_CELL_MISSING}
			     : (struct al_cell){.kind = AL_CELL_REAL, .real = value};
}

void al_cell_copy(struct al_table *table, struct al_cell *to, const struct al_cell *from)
{
	switch (from->kind) {
	case AL_CELL_TEXT:
		al_cell_set_titled(table, to, from->text, from->title);
		break;
	case AL_CELL_EXACT:
		al_cell_set_exact(table, to, from->exact);
		to->spread = from->spread ? al_exact_copy(&table->arena, from->spread) : NULL;
		to->digits = from->digits;
		to->spread_digits = from->spread_digits;
		to->mark = from->mark;
		break;
	case AL_CELL_REAL:
		al_cell_set_real(to, from->real);
		break;
	case AL_CELL_MISSING:
		break;
	}
}

static void set_titled(struct al_table *table, struct al_cell *cell, const struct al_titled *member)
{
	if (member->text)
		al_cell_set_titled(table, cell, member->text, member->title);
}

/* member: of a record, of the type */
static void set_member(struct al_table *table, struct al_cell *cell, enum al_member_type type,
	const void *member)
{
	switch (type) {
	case AL_MEMBER_NONE:
		break;
	case AL_MEMBER_TEXT:
		if (*(const char *const *)member)
			al_cell_set_text(table, cell, *(const char *const *)member);
		break;
	case AL_MEMBER_TITLED:
		set_titled(table, cell, member);
		break;
	case AL_MEMBER_INT:
		al_cell_set_int(table, cell, *(const int *)member);
		break;
	case AL_MEMBER_INT64:
		if (*(const int64_t *)member != INT64_MIN)
			al_cell_set_int(table, cell, *(const int64_t *)member);
		break;
	case AL_MEMBER_SIZE:
		al_cell_set_int(table, cell, (int64_t) * (const size_t *)member);
		break;
	case AL_MEMBER_REAL:
		al_cell_set_real(cell, *(const double *)member);
		break;
	case AL_MEMBER_EXACT:
		al_cell_set_exact(table, cell, member);
		break;
	case AL_MEMBER_EXACT_AT:
		if (*(const mpq_srcptr *)member)
			al_cell_set_exact(table, cell, *(const mpq_srcptr *)member);
		break;
	}
}

struct al_cell *al_table_add_record(struct al_table *table, const void *record)
{
	struct al_cell *row = al_table_add_row(table);

	for (size_t i = 0; i < table->n_columns; i++) {
		const struct al_table_field *field = table->fields[i];
		if (field && field->get)
			field->get(table, &row[i], record);
		else if (field)
			set_member(table, &row[i], field->type,
				(const char *)record + field->offset);
	}
	return row;
}

int al_table_find_column(const struct al_table *table, const char *key)
{
	for (size_t i = 0; i < table->n_columns; i++)
		if (strcmp(table->columns[i].key, key) == 0)
			return (int)i;
	return -1;
}

bool al_cell_number(const struct al_cell *cell, double *out)
{
	if (cell->kind == AL_CELL_EXACT)
		*out = mpq_get_d(cell->exact);
	else if (cell->kind == AL_CELL_REAL)
		*out = cell->real;
	else
		return false;
	return true;
}

static const struct al_cell *cell_at(const struct al_table *table, size_t row, const char *key)
{
	int column = al_table_find_column(table, key);

	return column < 0 ? NULL : &table->rows[row][column];
}

bool al_table_number(const struct al_table *table, size_t row, const char *key, double *out)
{
	const struct al_cell *cell = cell_at(table, row, key);

	return cell && al_cell_number(cell, out);
}

const char *al_table_text(const struct al_table *table, size_t row, const char *key)
{
	const struct al_cell *cell = cell_at(table, row, key);

	return cell && cell->kind == AL_CELL_TEXT ? cell->text : "";
}

const char *al_table_row_name(struct al_arena *arena, const struct al_table *table, size_t row)
{
	const char *name = "";

	for (size_t i = 0; i < table->n_columns; i++)
		if (table->columns[i].is_key)
			name = al_format(arena, "%s%s%s", name, *name ? " " : "",
				al_table_text(table, row, table->columns[i].key));
	return name;
}

size_t al_table_extreme(const struct al_table *table, const char *key, int sign, double *out)
{
	size_t found = table->n_rows;
	double number;

	for (size_t row = 0; row < table->n_rows; row++)
		if (al_table_number(table, row, key, &number)
			&& (found == table->n_rows || sign * number > sign * *out)) {
			*out = number;
			found = row;
		}
	return found;
}
