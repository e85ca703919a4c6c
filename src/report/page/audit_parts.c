/* Tables of an audit's page that are put together from the audit's own: cells are copied. */
#include "report/page/heads.h"

/* Copies the columns of these keys that the table has; returns how many. */
static size_t add_columns_of(struct al_table *out, const struct al_table *from,
	const char *const *keys)
{
	size_t n = 0;

	for (; *keys; keys++) {
		const int column = al_table_find_column(from, *keys);
		if (column < 0)
			continue;
		al_table_add_column(out, from->columns[column]);
		n++;
	}
	return n;
}

/* The cells of a row under the keys of `out`'s columns first .. first+n-1. */
static void copy_cells(struct al_table *out, struct al_cell *cells, size_t first, size_t n,
	const struct al_table *from, size_t row)
{
	for (size_t i = first; i < first + n; i++)
		al_cell_copy(out, &cells[i],
			&from->rows[row][al_table_find_column(from, out->columns[i].key)]);
}

/* ---- heads ---- */

enum { N_NEIGHBORS = 3 };

static const char *const names[] = {"module", "head", NULL};
static const char *const numbers[] = {"qk_rank", "qk_n90", "ov_n90", "qk_norm", "ov_norm", NULL};

static const char *const costs_of_drop[] = {"loss_increase", "loss_increase_error",
	"embedding_change", "embedding_change_error", "output_share", "error_dropped",
	"error_compensated", "error_compensated_error", "turn", "turn_refitted",
	"turn_refitted_error", "relative", "place", NULL};

/* What heads do on tokens. */
static const char *const doing_of_drop[] = {"doing", "alike", "logit_correlation", "output_cka",
	NULL};

static void set_nearest(struct al_table *out, struct al_cell *cell,
	const struct al_page_heads *heads, const struct al_page_module *m, size_t head)
{
	const int64_t nearest = al_page_nearest(heads, m, head, 0);

	if (nearest < 0)
		return;
	al_cell_set_int(out, cell++, nearest);
	al_cell_set_real(cell++, m->scores[head * m->n + (size_t)nearest]);
	al_cell_set_real(cell, m->values[head * m->n + (size_t)nearest]);
}

static void add_cosine(struct al_text *out, const char *before, double cosine)
{
	al_text_addf(out, isnan(cosine) ? "%s-" : "%s%.3f", before, cosine);
}

/* "8 (0.123, 0.045); 3 (0.120, 0.300)" */
static void set_next(struct al_table *out, struct al_cell *cell, const struct al_page_heads *heads,
	const struct al_page_module *m, size_t head)
{
	int64_t other;

	AL_TEXT(text);
	for (size_t place = 1; place < N_NEIGHBORS; place++) {
		other = al_page_nearest(heads, m, head, place);
		if (other < 0)
			break;
		al_text_addf(&text, "%s%lld", place > 1 ? "; " : "", (long long)other);
		add_cosine(&text, " (", m->scores[head * m->n + (size_t)other]);
		add_cosine(&text, ", ", m->values[head * m->n + (size_t)other]);
		al_text_add(&text, ")");
	}
	if (text.length)
		al_cell_set_text(out, cell, text.data);
}

static const char *mark_text(struct al_table *out, const struct al_page_heads *heads,
	const char *mark)
{
	if (strcmp(mark, "x") != 0)
		return al_format(&out->arena, "%s: copies", mark);
	return heads->has_costs ? "x: costs little" : "x: writes almost nothing";
}

static bool has_groups(const struct al_page_heads *heads)
{
	for (size_t i = 0; i < heads->n_modules; i++)
		if (heads->modules[i].has_groups)
			return true;
	return false;
}

struct shown {
	const struct al_page_heads *heads;
	const struct al_table *drop;
	bool has_groups, is_on_tokens; /* nearest heads are those of `drop` */
	size_t n_near, n_numbers, n_costs; /* columns: first how alike the nearest head is */
};

static void add_head(struct al_table *out, const struct shown *s, const struct al_page_module *m,
	size_t head)
{
	const struct al_page_heads *heads = s->heads;
	struct al_cell *cells = al_table_add_row(out);
	const size_t near = s->has_groups ? 4 : 3, own = near + s->n_near,
		     costs = own + s->n_numbers;
	const size_t row = s->drop ? al_page_find_head(s->drop, m->name, head) : 0;

	copy_cells(out, cells, 0, 2, heads->heads, m->first + head);
	if (s->has_groups)
		al_cell_set_int(out, &cells[2], m->groups[head]);
	if (m->marks[head])
		al_cell_set_text(out, &cells[near - 1], mark_text(out, heads, m->marks[head]));
	if (!s->is_on_tokens)
		set_nearest(out, &cells[near], heads, m, head);
	copy_cells(out, cells, own, s->n_numbers, heads->heads, m->first + head);
	if (s->drop && row < s->drop->n_rows) {
		copy_cells(out, cells, near, s->is_on_tokens ? s->n_near : 0, s->drop, row);
		copy_cells(out, cells, costs, s->n_costs, s->drop, row);
	}
	set_next(out, cells + costs + s->n_costs, heads, m, head);
}

static void add_near_columns(struct al_table *out, struct shown *s)
{
	static const struct al_column nearest[] = {
		{.key = "nearest", .title = "Nearest head", .digits = AL_DIGITS_ALL},
		{.key = "qk_cosine", .title = "its score cosine", .digits = 3},
		{.key = "ov_cosine", .title = "its value cosine", .digits = 3},
	};

	s->n_near = sizeof(nearest) / sizeof(*nearest);
	if (s->is_on_tokens)
		s->n_near = add_columns_of(out, s->drop, doing_of_drop);
	else
		al_table_add_columns(out, nearest, s->n_near);
}

void al_page_map_table(struct al_table *out, const struct al_page_heads *heads,
	const struct al_table *drop)
{
	struct shown s = {.heads = heads,
		.drop = drop,
		.has_groups = has_groups(heads),
		.is_on_tokens = heads->is_on_tokens && drop};

	al_table_init(out, "map", "Heads, their nearest neighbors, and their numbers");
	add_columns_of(out, heads->heads, names);
	if (s.has_groups)
		al_table_add_column(out,
			(struct al_column){.key = "kv_head",
				.title = "Reads key",
				.digits = AL_DIGITS_ALL});
	al_table_add_column(out, (struct al_column){.key = "mark", .title = "Removable"});
	add_near_columns(out, &s);
	s.n_numbers = add_columns_of(out, heads->heads, numbers);
	s.n_costs = drop ? add_columns_of(out, drop, costs_of_drop) : 0;
	al_table_add_column(out,
		(struct al_column){.key = "next",
			.title = heads->is_on_tokens ? "Next nearest (logits, outputs)"
						     : "Next nearest (scores, values)"});
	for (size_t i = 0; i < heads->n_modules; i++)
		for (size_t head = 0; head < heads->modules[i].n; head++)
			add_head(out, &s, &heads->modules[i], head);
}

/* ---- what to do ---- */

static double error_of(const struct al_table *redundant, size_t row)
{
	double error = INFINITY;

	(void)al_table_number(redundant, row, "cumulative_error", &error);
	return error;
}

static const char *advice(struct al_table *out, const struct al_table *redundant, size_t row)
{
	double twin;

	return al_table_number(redundant, row, "twin", &twin)
		? al_format(&out->arena, "merge into head %.0f", twin)
		: "drop";
}

/* Within a module errors grow from step to step: a stable sort keeps their order. */
static void add_step(struct al_table *out, const struct al_table *redundant, size_t row)
{
	struct al_cell *cells = al_table_add_row(out);
	size_t at = out->n_rows - 1;

	copy_cells(out, cells, 0, 2, redundant, row);
	al_cell_set_text(out, &cells[2], advice(out, redundant, row));
	copy_cells(out, cells, 3, out->n_columns - 3, redundant, row);
	for (; at > 0 && error_of(out, at - 1) > error_of(out, at); at--) {
		struct al_cell *before = out->rows[at - 1];
		out->rows[at - 1] = out->rows[at];
		out->rows[at] = before;
	}
}

void al_page_steps_table(struct al_table *out, const struct al_table *redundant)
{
	static const char *const costs[] = {"qk_cosine", "ov_cosine", "logit_correlation",
		"output_cka", "output_share", "ov_relative_error", "output_error",
		"cumulative_error", NULL};

	al_table_init(out, redundant->id, "Drops and merges, the cheapest first");
	add_columns_of(out, redundant, names);
	al_table_add_column(out, (struct al_column){.key = "advice", .title = "What to do"});
	add_columns_of(out, redundant, costs);
	for (size_t row = 0; row < redundant->n_rows; row++)
		if (isfinite(error_of(redundant, row)))
			add_step(out, redundant, row);
}

/* ---- the frontier ---- */

void al_page_frontier_table(struct al_table *out, const struct al_page_points *points)
{
	const struct al_table *table = points->table;
	size_t n;

	al_table_init(out, "best", "On the frontier: nothing else saves as much at less error");
	al_table_add_column(out, (struct al_column){.key = "circle", .title = "Circle"});
	al_table_add_columns(out, table->columns, table->n_columns);
	const size_t *rows = al_page_frontier(&out->arena, points, &n);
	for (size_t i = 0; i < n; i++) {
		struct al_cell *cells = al_table_add_row(out);
		al_cell_set_int(out, cells, (int64_t)i + 1);
		copy_cells(out, cells, 1, table->n_columns, table, rows[i]);
	}
}
