/* The heads of an audit side by side. */
#include "report/page/heads.h"

/* ---- modules ---- */

/* Rows come module by module: the one that was found last is looked at first. */
static struct al_page_module *find_module(const struct al_page_heads *heads, const char *name,
	size_t *last)
{
	for (size_t i = 0; i < heads->n_modules; i++) {
		const size_t at = (*last + i) % heads->n_modules;
		if (strcmp(heads->modules[at].name, name) == 0) {
			*last = at;
			return &heads->modules[at];
		}
	}
	return NULL;
}

static double *unknown(struct al_arena *arena, size_t n)
{
	double *numbers = al_new_array(arena, double, n *n);

	for (size_t i = 0; i < n * n; i++)
		numbers[i] = NAN;
	return numbers;
}

static void begin_module(struct al_page_module *m, struct al_arena *arena)
{
	m->scores = unknown(arena, m->n);
	m->values = unknown(arena, m->n);
	m->groups = al_new_array(arena, int64_t, m->n);
	m->marks = al_new_array(arena, const char *, m->n);
	m->costs = al_new_array(arena, double, m->n);
	m->doing = al_new_array(arena, int, m->n);
	for (size_t i = 0; i < m->n; i++) {
		m->costs[i] = NAN;
		m->doing[i] = AL_PAGE_NO_HEAD;
	}
}

static void read_groups(struct al_page_module *m, const struct al_table *heads)
{
	for (size_t i = 0; i < m->n; i++) {
		double group = (double)i;
		(void)al_table_number(heads, m->first + i, "kv_head", &group);
		m->groups[i] = (int64_t)group;
		m->has_groups |= i > 0 && m->groups[i] == m->groups[i - 1];
	}
}

static void read_modules(struct al_page_heads *out, struct al_arena *arena)
{
	const struct al_table *heads = out->heads;

	out->modules = al_new_array(arena, struct al_page_module, heads->n_rows + 1);
	for (size_t row = 0; row < heads->n_rows; row++) {
		const char *name = al_table_text(heads, row, "module");
		struct al_page_module *last = out->modules + out->n_modules - 1;
		if (out->n_modules == 0 || strcmp(last->name, name) != 0)
			out->modules[out->n_modules++] = (struct al_page_module){.name = name,
				.first = row};
		out->modules[out->n_modules - 1].n++;
	}
	for (size_t i = 0; i < out->n_modules; i++) {
		begin_module(&out->modules[i], arena);
		read_groups(&out->modules[i], heads);
	}
}

/* ---- pairs ---- */

static void set_both(double *numbers, size_t n, size_t a, size_t b, const struct al_table *table,
	size_t row, int column)
{
	double number;

	if (column >= 0 && al_cell_number(&table->rows[row][column], &number))
		numbers[a * n + b] = numbers[b * n + a] = number;
}

static void read_pairs(struct al_page_heads *out, const struct al_table *pairs)
{
	const bool is_on_tokens = al_table_find_column(pairs, "logit_correlation") >= 0;
	const int qk = al_table_find_column(pairs,
			  is_on_tokens ? "logit_correlation" : "qk_cosine"),
		  ov = al_table_find_column(pairs, is_on_tokens ? "output_cka" : "ov_cosine");
	size_t at = 0;

	out->is_on_tokens = is_on_tokens;
	for (size_t row = 0; row < pairs->n_rows; row++) {
		struct al_page_module *m = find_module(out, al_table_text(pairs, row, "module"),
			&at);
		double a, b;
		if (!m || !al_table_number(pairs, row, "head_a", &a)
			|| !al_table_number(pairs, row, "head_b", &b))
			continue;
		set_both(m->scores, m->n, (size_t)a, (size_t)b, pairs, row, qk);
		set_both(m->values, m->n, (size_t)a, (size_t)b, pairs, row, ov);
	}
}

/* ---- marks ---- */

/* "A" ... "Z", "AA" ... */
static const char *letter(struct al_arena *arena, size_t number)
{
	char text[8] = "";

	for (size_t rest = number + 1; rest > 0; rest = (rest - 1) / 26) {
		memmove(text + 1, text, sizeof(text) - 2);
		text[0] = (char)('A' + (rest - 1) % 26);
	}
	return al_strdup(arena, text);
}

/* Copies of copies are one group: all that have one of two letters get the other. */
static void mark_twins(struct al_page_module *m, size_t head, size_t twin, const char *fresh)
{
	const char *mine = m->marks[head];

	if (!m->marks[twin])
		m->marks[twin] = mine ? mine : fresh;
	m->marks[head] = m->marks[twin];
	for (size_t i = 0; mine && i < m->n; i++)
		if (m->marks[i] == mine)
			m->marks[i] = m->marks[twin];
}

static void read_marks(struct al_page_heads *out, struct al_arena *arena,
	const struct al_table *redundant)
{
	size_t n_groups = 0, at = 0;

	for (size_t row = 0; row < redundant->n_rows; row++) {
		struct al_page_module *m = find_module(out, al_table_text(redundant, row, "module"),
			&at);
		double head, twin, error;
		if (!m || !al_table_number(redundant, row, "head", &head)
			|| !al_table_number(redundant, row, "cumulative_error", &error))
			continue;
		if (!al_table_number(redundant, row, "twin", &twin)) {
			m->marks[(size_t)head] = "x";
			continue;
		}
		const bool is_new = !m->marks[(size_t)head] && !m->marks[(size_t)twin];
		mark_twins(m, (size_t)head, (size_t)twin,
			is_new ? letter(arena, n_groups++) : NULL);
	}
}

/* ---- on tokens ---- */

size_t al_page_find_head(const struct al_table *table, const char *module, size_t head)
{
	double number;
	size_t row = 0;

	while (row < table->n_rows
		&& !(strcmp(al_table_text(table, row, "module"), module) == 0
			&& al_table_number(table, row, "head", &number) && number == (double)head))
		row++;
	return row;
}

/* "previous token 0.38" is of the name before the number. */
static int find_doing(const struct al_texts *doings, const char *text)
{
	for (size_t i = 0; text && i < doings->n; i++) {
		const size_t length = strlen(doings->items[i]);
		if (strncmp(text, doings->items[i], length) == 0 && text[length] == ' ')
			return (int)i;
	}
	return AL_PAGE_NO_HEAD;
}

static void read_head(struct al_page_heads *out, struct al_page_module *m, size_t head,
	const struct al_table *drop)
{
	const size_t row = al_page_find_head(drop, m->name, head);
	double cost;

	if (row == drop->n_rows || !al_table_number(drop, row, "relative", &cost))
		return;
	m->costs[head] = cost / 100;
	if (!m->marks[head] && m->costs[head] < AL_PAGE_REMOVABLE)
		m->marks[head] = "x";
	m->doing[head] = find_doing(out->doings, al_table_text(drop, row, "doing"));
}

static void read_drop(struct al_page_heads *out, const struct al_table *drop)
{
	for (size_t i = 0; i < out->n_modules; i++)
		for (size_t head = 0; head < out->modules[i].n; head++)
			read_head(out, &out->modules[i], head, drop);
}

void al_page_heads_read(struct al_page_heads *out, struct al_arena *arena,
	const struct al_table *heads, const struct al_table *pairs,
	const struct al_table *redundant, const struct al_table *drop,
	const struct al_texts *doings)
{
	*out = (struct al_page_heads){.heads = heads,
		.doings = doings,
		.has_costs = drop && drop->n_rows > 0};
	read_modules(out, arena);
	if (pairs)
		read_pairs(out, pairs);
	if (redundant && (out->is_on_tokens || !out->has_costs))
		read_marks(out, arena, redundant);
	if (out->has_costs)
		read_drop(out, drop);
}

/* ---- likeness ---- */

double al_page_likeness(const struct al_page_heads *heads, const struct al_page_module *m, size_t a,
	size_t b)
{
	const double scores = m->scores[a * m->n + b], values = m->values[a * m->n + b];

	return heads->is_on_tokens ? scores + values : fmin(scores, fabs(values));
}

/* Does `a` come before `b` among the neighbors of a head? */
static bool is_nearer(const struct al_page_heads *heads, const struct al_page_module *m,
	size_t head, size_t a, size_t b)
{
	const double x = al_page_likeness(heads, m, head, a),
		     y = al_page_likeness(heads, m, head, b);

	return x > y || (!(x < y) && a < b);
}

int64_t al_page_nearest(const struct al_page_heads *heads, const struct al_page_module *m,
	size_t head, size_t place)
{
	int64_t found = AL_PAGE_NO_HEAD, before = AL_PAGE_NO_HEAD;

	for (size_t k = 0; k <= place; k++, before = found) {
		found = AL_PAGE_NO_HEAD;
		for (size_t i = 0; i < m->n; i++)
			if (i != head && !isnan(al_page_likeness(heads, m, head, i))
				&& (before < 0 || is_nearer(heads, m, head, (size_t)before, i))
				&& (int64_t)i != before
				&& (found < 0 || is_nearer(heads, m, head, i, (size_t)found)))
				found = (int64_t)i;
		if (found < 0)
			return AL_PAGE_NO_HEAD;
	}
	return found;
}

static const double shades[AL_PAGE_SHADES] = {0, .05, .15, .3, .45, .6, .8};

int al_page_shade(double cosine)
{
	int shade = AL_PAGE_SHADES - 1;

	while (shade > 0 && !(fabs(cosine) >= shades[shade]))
		shade--;
	return shade;
}

double al_page_shade_least(int shade)
{
	return shades[shade];
}

static const double cost_shades[AL_PAGE_SHADES] = {INFINITY, 1, .8, .6, .4, .2, AL_PAGE_REMOVABLE};

int al_page_cost_shade(double cost)
{
	int shade = AL_PAGE_SHADES - 1;

	while (shade > 0 && !(cost < cost_shades[shade]))
		shade--;
	return shade;
}

double al_page_cost_shade_most(int shade)
{
	return cost_shades[shade];
}
