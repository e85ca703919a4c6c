/* Choosing a table's layout. */
#include "report/latex_layout.h"

/* The attempts, in this order. */
static const struct attempt {
	bool is_wide, transposes, breaks_heads, wraps;
	size_t n_sizes; /* of the profile's, largest first */
} attempts[] = {
	{.n_sizes = 2},
	{.breaks_heads = true, .n_sizes = 2},
	{.transposes = true, .breaks_heads = true, .n_sizes = 2},
	{.is_wide = true, .n_sizes = 2},
	{.is_wide = true, .breaks_heads = true, .n_sizes = 2},
	{.is_wide = true, .breaks_heads = true, .wraps = true, .n_sizes = 2},
	{.is_wide = true, .transposes = true, .breaks_heads = true, .n_sizes = 2},
	{.is_wide = true, .breaks_heads = true, .n_sizes = 3},
};

static const double gaps_pt[] = {6, 4.5, 3};

static const double least_wrap_pt = 60; /* narrower texts are hard to read */

enum {
	LEAST_ROWS = 5, /* of a page's share of a long table */
	LINES_AROUND = 9, /* caption, rules and notes of a table */
	LINES_OF_HEADS = 5, /* of each further part */
};

/* Measurements of a column in one size. */
struct extent {
	double body, piece; /* widest cell, widest piece of a cell that can't be broken */
	double head, broken_head;
};

struct fitting {
	const struct al_profile *profile;
	const struct al_table *table;
	struct al_arena *arena;
	const struct al_latex_grid *grid;
	struct al_latex_part all; /* its columns */
	struct extent *extents; /* [n_columns] */
	const struct al_profile_size *size;
	const struct al_profile_size *wanted_size; /* NULL: what fits */
	double limit_pt, gap_pt;
	bool breaks_heads;
};

static void choose_grid(struct fitting *f, const struct al_latex_grid *grid)
{
	f->grid = grid;
	f->all = al_latex_all_columns(grid, f->arena);
	f->extents = al_new_array(f->arena, struct extent, grid->n_columns);
}

static bool is_text(const struct al_latex_column *column)
{
	return *column->spec == 'l';
}

/* ---- widths ---- */

static void measure_column(struct fitting *f, size_t column)
{
	const struct al_latex_type type = {f->profile->typeface, f->size->pt};
	const struct al_latex_column *head = &f->grid->columns[column];
	struct extent *extent = &f->extents[column];

	*extent = (struct extent){.head = al_latex_width(&type, head->head)};
	for (size_t row = 0; row < f->grid->n_rows; row++) {
		const char *cell = f->grid->rows[row][column];
		extent->body = fmax(extent->body, al_latex_width(&type, cell));
		extent->piece = fmax(extent->piece, al_latex_widest_piece(&type, cell));
	}
	if (al_latex_is_braced(head)) /* its numbers are aligned at the point */
		extent->body *= 1.25;
	extent->broken_head = al_latex_head_narrow(&type, f->arena, head->head, extent->body,
		extent->head);
}

static void measure_columns(struct fitting *f, const struct al_profile_size *size)
{
	f->size = size;
	for (size_t i = 0; i < f->grid->n_columns; i++)
		measure_column(f, i);
}

static double head_width(const struct fitting *f, size_t column)
{
	return f->breaks_heads ? f->extents[column].broken_head : f->extents[column].head;
}

static double column_width(const struct fitting *f, size_t column)
{
	return fmax(f->extents[column].body, head_width(f, column));
}

static double width_of_columns(const struct fitting *f, size_t from, size_t to)
{
	double width = 2 * f->gap_pt * (double)(to - from - 1);

	for (size_t i = from; i < to; i++)
		width += column_width(f, i);
	return width;
}

/* The width at which the heading of a column's whole group is broken. */
static double limit_of_group(const struct fitting *f, size_t column)
{
	const struct al_latex_type type = {f->profile->typeface, f->size->pt};
	const char *group = f->grid->columns[column].group;
	const size_t end = al_latex_group_end(f->grid, &f->all, column);
	size_t from = column;

	while (from > 0 && f->grid->columns[from - 1].group
		&& strcmp(group, f->grid->columns[from - 1].group) == 0)
		from--;
	/* a group that is wider than a page is cut */
	const double width = fmin(width_of_columns(f, from, end), 0.6 * f->limit_pt);
	return fmax(width, al_latex_widest_piece(&type, group)) + 0.01;
}

/* How much wider than its columns the heading of a group is. */
static double excess_of_group(const struct fitting *f, size_t from, size_t to)
{
	const struct al_latex_type type = {f->profile->typeface, f->size->pt};
	const char *group = f->grid->columns[from].group;
	size_t n_lines;

	if (!group)
		return 0;
	const double whole = al_latex_width(&type, group), columns = width_of_columns(f, from, to);
	if (!f->breaks_heads)
		return fmax(0, whole - columns);
	return fmax(0,
		al_latex_head_width(&type, f->arena, group, limit_of_group(f, from), &n_lines)
			- columns);
}

static double width_of_part(const struct fitting *f, const struct al_latex_part *part)
{
	double width = -2 * f->gap_pt;

	for (size_t i = 0, end; i < part->n; i = end) {
		end = al_latex_group_end(f->grid, part, i);
		width += excess_of_group(f, part->columns[i], part->columns[i] + end - i);
	}
	for (size_t i = 0; i < part->n; i++)
		width += column_width(f, part->columns[i]) + 2 * f->gap_pt;
	return width;
}

/* ---- wrapping ---- */

/* So narrow a column of text can be. */
static double least_width(const struct fitting *f, size_t column)
{
	const struct extent *e = &f->extents[column];

	return fmax(head_width(f, column),
		is_text(&f->grid->columns[column]) ? fmin(e->body, fmax(e->piece, least_wrap_pt))
						   : e->body);
}

/* The columns' widths where no text is wider than `most`. */
static double width_wrapped(const struct fitting *f, const struct al_latex_part *part, double most)
{
	double width = -2 * f->gap_pt;

	for (size_t i = 0; i < part->n; i++)
		width += 2 * f->gap_pt
			+ fmin(column_width(f, part->columns[i]),
				fmax(most, least_width(f, part->columns[i])));
	return width;
}

/* Wraps the widest texts of a part so that it fits; false: they are as narrow as can be, and it
 * doesn't. */
static bool wrap(const struct fitting *f, const struct al_latex_part *part, double *wrap_pt)
{
	double low = 0, high = f->limit_pt;

	for (int i = 0; i < 30; i++) {
		const double middle = (low + high) / 2;
		*(width_wrapped(f, part, middle) > f->limit_pt ? &high : &low) = middle;
	}
	for (size_t i = 0; i < part->n; i++) {
		const size_t column = part->columns[i];
		const double most = fmax(low, least_width(f, column));
		double *own = &wrap_pt[column];
		if (is_text(&f->grid->columns[column]) && f->extents[column].body > most)
			*own = *own > 0 ? fmin(*own, most) : most;
	}
	return width_wrapped(f, part, low) <= f->limit_pt;
}

/* ---- attempts ---- */

static double limit_of(const struct al_profile *profile, bool is_wide)
{
	return (is_wide ? profile->page_pt : profile->column_pt) * (1 - AL_LATEX_MARGIN) - 1;
}

static bool try_size(struct fitting *f, const struct attempt *attempt,
	struct al_latex_layout *layout)
{
	for (size_t i = 0; i < sizeof(gaps_pt) / sizeof(*gaps_pt); i++) {
		f->gap_pt = gaps_pt[i];
		if (!attempt->wraps && width_of_part(f, &f->all) > f->limit_pt)
			continue;
		layout->wrap_pt = attempt->wraps
			? al_new_array(f->arena, double, f->grid->n_columns)
			: NULL;
		if (attempt->wraps && !wrap(f, &f->all, layout->wrap_pt))
			continue;
		layout->parts = al_new(f->arena, struct al_latex_part);
		*layout->parts = f->all;
		layout->n_parts = 1;
		return true;
	}
	return false;
}

/* A size that the profile doesn't have is not asked for. */
static void find_wanted_size(struct fitting *f)
{
	const char *name = f->table->placing.size;

	for (size_t i = 0; name && i < f->profile->n_sizes; i++)
		if (strcmp(f->profile->sizes[i].name, name) == 0)
			f->wanted_size = &f->profile->sizes[i];
}

static void break_head(const struct fitting *f, size_t column, struct al_latex_column *out)
{
	const struct al_latex_type type = {f->profile->typeface, f->size->pt};
	const struct extent *extent = &f->extents[column];

	if (extent->broken_head < extent->head)
		out->head = al_latex_head_stack(&type, f->arena, out->head,
			is_text(out) ? 'l' : 'r', extent->broken_head + 0.01);
	if (out->group && al_latex_width(&type, out->group) > limit_of_group(f, column))
		out->group = al_latex_head_stack(&type, f->arena, out->group, 'c',
			limit_of_group(f, column));
}

static void break_heads(const struct fitting *f, struct al_latex_grid *grid)
{
	struct al_latex_column *columns = al_new_array(f->arena, struct al_latex_column,
		grid->n_columns);

	memcpy(columns, grid->columns, grid->n_columns * sizeof(*columns));
	for (size_t i = 0; i < grid->n_columns; i++)
		break_head(f, i, &columns[i]);
	grid->columns = columns;
}

static void take(const struct fitting *f, bool is_wide, struct al_latex_layout *layout)
{
	layout->grid = *f->grid;
	if (f->breaks_heads)
		break_heads(f, &layout->grid);
	layout->size = f->size;
	layout->gap_pt = f->gap_pt;
	layout->is_wide = is_wide && al_profile_has_columns(f->profile);
}

static bool try_attempt(struct fitting *f, const struct attempt *attempt,
	struct al_latex_layout *layout)
{
	f->limit_pt = limit_of(f->profile, attempt->is_wide);
	f->breaks_heads = attempt->breaks_heads;
	for (size_t i = 0; i < f->profile->n_sizes; i++) {
		const struct al_profile_size *size = &f->profile->sizes[i];
		if (f->wanted_size ? size != f->wanted_size : i >= attempt->n_sizes)
			continue;
		measure_columns(f, size);
		if (try_size(f, attempt, layout)) {
			take(f, attempt->is_wide, layout);
			return true;
		}
	}
	return false;
}

/* Exchanging rows and columns helps where there are few rows. */
static bool is_sensible(const struct fitting *f, const struct attempt *attempt)
{
	enum { MOST_TRANSPOSED_ROWS = 8 };
	const bool has_columns = al_profile_has_columns(f->profile);

	if (attempt->is_wide ? !has_columns && !attempt->wraps && attempt->n_sizes < 3
			     : f->table->placing.is_wide && has_columns)
		return false;
	return !attempt->transposes
		|| (f->grid->n_rows < f->grid->n_columns && f->grid->n_rows <= MOST_TRANSPOSED_ROWS
			&& al_latex_grid_can_transpose(f->grid));
}

static bool try_all(struct fitting *f, struct al_latex_layout *layout)
{
	const struct al_latex_grid *grid = f->grid;
	struct al_latex_grid transposed;

	for (size_t i = 0; i < sizeof(attempts) / sizeof(*attempts); i++) {
		if (!is_sensible(f, &attempts[i]))
			continue;
		if (attempts[i].transposes) {
			al_latex_grid_transpose(grid, f->arena, &transposed);
			choose_grid(f, &transposed);
		}
		if (try_attempt(f, &attempts[i], layout))
			return true;
		choose_grid(f, grid);
	}
	return false;
}

/* ---- parts ---- */

/* The keys, and the columns from..to: do they fit? */
static bool fill_part(const struct fitting *f, size_t n_keys, size_t from, size_t to,
	struct al_latex_part *part)
{
	part->n = 0;
	for (size_t i = 0; i < to; i++)
		if (i < n_keys || i >= from)
			part->columns[part->n++] = i;
	return width_wrapped(f, part, least_wrap_pt) <= f->limit_pt;
}

/* As many groups of columns as fit, at least one; of a group that doesn't fit as many columns as
 * do, at least one. Returns the first column behind. */
static size_t take_part(const struct fitting *f, size_t n_keys, size_t from,
	struct al_latex_part *part)
{
	const size_t n = f->grid->n_columns;
	size_t end = from, next;

	*part = al_latex_all_columns(f->grid, f->arena);
	for (; end < n; end = next) {
		next = al_latex_group_end(f->grid, &f->all, end);
		if (!fill_part(f, n_keys, from, next, part))
			break;
	}
	if (end == from)
		for (end++; end < n && fill_part(f, n_keys, from, end + 1, part);)
			end++;
	fill_part(f, n_keys, from, end, part);
	return end;
}

static void break_into_parts(struct fitting *f, struct al_latex_layout *layout)
{
	const size_t n_sizes = f->profile->n_sizes, n_keys = al_latex_count_keys(f->grid);
	const struct al_profile_size *size = f->wanted_size ? f->wanted_size
		: n_sizes > 1				    ? &f->profile->sizes[1]
							    : &f->profile->sizes[0];
	struct al_latex_grid *broken = al_new(f->arena, struct al_latex_grid);

	f->breaks_heads = true;
	f->gap_pt = gaps_pt[1];
	f->limit_pt = limit_of(f->profile, true);
	al_latex_grid_break_words(f->grid, f->arena,
		&(struct al_latex_type){f->profile->typeface, size->pt},
		f->limit_pt / (double)(n_keys + 2), broken);
	choose_grid(f, broken);
	measure_columns(f, size);
	layout->wrap_pt = al_new_array(f->arena, double, f->grid->n_columns);
	layout->parts = al_new_array(f->arena, struct al_latex_part, f->grid->n_columns);
	for (size_t from = n_keys; from < f->grid->n_columns;) {
		struct al_latex_part *part = &layout->parts[layout->n_parts++];
		from = take_part(f, n_keys, from, part);
		if (width_of_part(f, part) > f->limit_pt)
			(void)wrap(f, part, layout->wrap_pt);
	}
	take(f, true, layout);
}

/* ---- pages ---- */

/* The most lines that a row of wrapped texts takes. */
static double lines_of_row(const struct fitting *f, const struct al_latex_layout *layout)
{
	double lines = 1;

	for (size_t i = 0; layout->wrap_pt && i < layout->grid.n_columns; i++)
		if (layout->wrap_pt[i] > 0)
			lines = fmax(lines, ceil(1.3 * f->extents[i].body / layout->wrap_pt[i]));
	return lines;
}

static void choose_pages(const struct fitting *f, struct al_latex_layout *layout)
{
	const double lines = 0.92 * f->profile->height_pt / (1.12 * f->size->line_pt) - LINES_AROUND
		- 2 * (double)f->table->n_notes;
	const double a_row = lines_of_row(f, layout), n_parts = (double)layout->n_parts,
		     rows = (double)layout->grid.n_rows;

	layout->is_split = n_parts * (rows * a_row + LINES_OF_HEADS) > lines;
	layout->most_rows = layout->is_split ? (size_t)fmax(LEAST_ROWS, floor(lines / a_row))
					     : layout->grid.n_rows;
}

void al_latex_lay_out(struct al_latex_layout *layout, struct al_arena *arena,
	const struct al_profile *profile, const struct al_table *table,
	const struct al_latex_grid *grid)
{
	struct fitting f = {.profile = profile, .table = table, .arena = arena, .grid = grid};

	*layout = (struct al_latex_layout){.grid = *grid, .most_rows = grid->n_rows};
	if (!profile || grid->n_columns == 0) {
		layout->is_wide = table->placing.is_wide;
		layout->parts = al_new(arena, struct al_latex_part);
		*layout->parts = al_latex_all_columns(grid, arena);
		layout->n_parts = 1;
		return;
	}
	find_wanted_size(&f);
	choose_grid(&f, grid);
	if (!try_all(&f, layout))
		break_into_parts(&f, layout);
	choose_pages(&f, layout);
}
