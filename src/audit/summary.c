/* An audit in about ten lines. */
#include "audit/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading tables ---- */

static const struct al_table *find_table(struct al_table *const *tables, const char *id)
{
	for (size_t i = 0; al_measurements[i]; i++)
		if (strcmp(al_measurements[i]->id, id) == 0)
			return tables[i];
	return NULL;
}

/* Of a column's numbers, over the rows where `key` reads `only`. */
struct range {
	double low, middle, high;
	size_t n;
};

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static struct range range_of(struct al_arena *arena, const struct al_table *table,
	const char *column, const char *key, const char *only)
{
	double *values = al_new_array(arena, double, table->n_rows + 1);
	size_t n = 0;

	for (size_t row = 0; row < table->n_rows; row++)
		if ((!key || strcmp(al_table_text(table, row, key), only) == 0)
			&& al_table_number(table, row, column, &values[n]))
			n++;
	if (n == 0)
		return (struct range){0};
	qsort(values, n, sizeof(*values), compare_doubles);
	return (struct range){values[0], (values[(n - 1) / 2] + values[n / 2]) / 2, values[n - 1],
		n};
}

static void add(struct al_table *summary, const char *item, const char *value)
{
	struct al_cell *cell = al_table_add_row(summary);

	al_cell_set_text(summary, cell++, item);
	al_cell_set_text(summary, cell, value);
}

/* "25 (5 to 27)", the median and how far it goes; one number where all are the same. */
static const char *print_range(struct al_arena *arena, struct range r, int digits)
{
	if (r.low == r.high)
		return al_format(arena, "%.*f", digits, r.low);
	return al_format(arena, "%.*f (%.*f to %.*f)", digits, r.middle, digits, r.low, digits,
		r.high);
}

/* ---- what was audited ---- */

static const char *print_whole(struct al_arena *arena, int64_t low, int64_t high)
{
	return low == high ? al_format(arena, "%lld", (long long)low)
			   : al_format(arena, "%lld to %lld", (long long)low, (long long)high);
}

static const struct al_attention *find_module(const struct al_model_view *view, const char *name)
{
	for (size_t i = 0; i < view->n_modules; i++)
		if (strcmp(view->modules[i].name, name) == 0)
			return &view->modules[i];
	return NULL;
}

static void add_modules(struct al_table *summary, const struct al_audit *audit,
	const struct al_table *layers)
{
	struct {
		int64_t low, high;
	} heads = {INT64_MAX, 0}, kv = {INT64_MAX, 0}, width = {INT64_MAX, 0};
	struct al_arena *arena = &summary->arena;

	for (size_t row = 0; row < layers->n_rows; row++) {
		const struct al_attention *a = find_module(audit->view,
			al_table_text(layers, row, "module"));
		if (!a)
			continue;
		heads.low = a->n_heads < heads.low ? a->n_heads : heads.low;
		heads.high = a->n_heads > heads.high ? a->n_heads : heads.high;
		kv.low = a->n_kv_heads < kv.low ? a->n_kv_heads : kv.low;
		kv.high = a->n_kv_heads > kv.high ? a->n_kv_heads : kv.high;
		width.low = a->d_head < width.low ? a->d_head : width.low;
		width.high = a->d_head > width.high ? a->d_head : width.high;
	}
	add(summary, "modules",
		al_format(arena, "%zu, each of %s heads%s of width %s", layers->n_rows,
			print_whole(arena, heads.low, heads.high),
			kv.low == heads.low && kv.high == heads.high
				? ""
				: al_format(arena, " on %s keys",
					print_whole(arena, kv.low, kv.high)),
			print_whole(arena, width.low, width.high)));
}

/* ---- ranks ---- */

static void add_heads(struct al_table *summary, const struct al_table *heads)
{
	struct range n90 = range_of(&summary->arena, heads, "qk_n90", NULL, NULL);

	add(summary, "a head alone",
		al_format(&summary->arena, "%s components hold 90 %% of its scores",
			print_range(&summary->arena, n90, 0)));
}

static void add_layers(struct al_table *summary, const struct al_audit *audit,
	const struct al_table *layers)
{
	struct al_arena *arena = &summary->arena;

	add(summary, "heads together",
		al_format(arena, "%s components hold 90 %% of theirs",
			print_range(arena, range_of(arena, layers, "qk_n90", NULL, NULL), 0)));
	if (audit->options.n_nulls == 0)
		return;
	struct range independent = range_of(arena, layers, "qk_independent_n90", NULL, NULL);
	struct range gaussian = range_of(arena, layers, "qk_gaussian_n90", NULL, NULL);
	add(summary, "nulls",
		al_format(arena, "%.0f if heads were independent, %.0f for Gaussian weights",
			independent.middle, gaussian.middle));
	add(summary, "redundancy",
		al_format(arena, "%s beyond that of independent heads",
			print_range(arena, range_of(arena, layers, "redundancy", NULL, NULL), 2)));
}

static void add_principal(struct al_table *summary, const struct al_table *pca)
{
	struct al_arena *arena = &summary->arena;
	struct range qk = range_of(arena, pca, "effective_heads", "form", "qk");
	struct range ov = range_of(arena, pca, "effective_heads", "form", "ov");

	add(summary, "different heads",
		al_format(arena, "%s by scores%s", print_range(arena, qk, 1),
			ov.n ? al_format(arena, ", %s by values", print_range(arena, ov, 1)) : ""));
}

/* ---- pairs ---- */

enum { N_PAIRS = 3 };

static const char *print_head(const struct al_table *table, size_t row, const char *module,
	const char *head, struct al_arena *arena)
{
	double index = 0;

	(void)al_table_number(table, row, head, &index);
	return al_format(arena, "%s head %.0f", al_table_text(table, row, module), index);
}

/* By scores or by values, whichever says more; pairs of heads of nothing say nothing. */
static void add_pairs(struct al_table *summary, const struct al_table *similarity)
{
	struct al_arena *arena = &summary->arena;

	for (size_t row = 0; row < similarity->n_rows && row < N_PAIRS; row++) {
		double qk = 0, ov = 0;
		bool has_qk = al_table_number(similarity, row, "qk_cosine", &qk);
		bool has_ov = al_table_number(similarity, row, "ov_cosine", &ov);
		bool is_ov = has_ov && (!has_qk || fabs(ov) > fabs(qk));
		if (!has_qk && !has_ov)
			continue;
		add(summary, row == 0 ? "most similar" : "",
			al_format(arena, "%s and %s: %s cosine %.2f",
				print_head(similarity, row, "module_a", "head_a", arena),
				print_head(similarity, row, "module_b", "head_b", arena),
				is_ov ? "OV" : "QK", is_ov ? ov : qk));
	}
}

/* ---- conversions ---- */

static const char *const summed[] = {"saving", "cache_saving"};
static const char *const named[] = {"variant", "setting", "gauge"};
static const char *const errors[] = {"qk_relative_error", "ov_relative_error"};
enum { N_NAMES = 3, N_ERRORS = 2 };

static bool is_same(const struct al_table *a, size_t row, const struct al_table *b, size_t other)
{
	for (int i = 0; i < N_NAMES; i++)
		if (strcmp(al_table_text(a, row, named[i]), al_table_text(b, other, named[i])) != 0)
			return false;
	return true;
}

/* The modules' rows of one conversion, put together. */
struct total {
	double parameters, before, cache_saving, errors[N_ERRORS];
	size_t n_modules, n_errors[N_ERRORS];
};

static void add_to_total(struct total *t, const struct al_table *table, size_t row)
{
	double parameters = 0, saving = 0, cache = 0, error;

	(void)(al_table_number(table, row, "parameters", &parameters)
		&& al_table_number(table, row, "saving", &saving)
		&& al_table_number(table, row, "cache_saving", &cache));
	t->parameters += parameters;
	t->before += saving < 1 ? parameters / (1 - saving) : parameters;
	t->cache_saving += cache;
	t->n_modules++;
	for (int i = 0; i < N_ERRORS; i++) {
		if (!al_table_number(table, row, errors[i], &error))
			continue;
		t->errors[i] = t->n_errors[i]++ && t->errors[i] > error ? t->errors[i] : error;
	}
}

static void set_total(struct al_table *out, const struct al_table *table, size_t row,
	const struct total *t)
{
	struct al_cell *cell = al_table_add_row(out);

	for (int i = 0; i < N_NAMES; i++)
		al_cell_set_text(out, cell++, al_table_text(table, row, named[i]));
	al_cell_set_real(cell++, t->before > 0 ? 1 - t->parameters / t->before : 0);
	al_cell_set_real(cell++, t->cache_saving / (double)t->n_modules);
	for (int i = 0; i < N_ERRORS; i++, cell++)
		if (t->n_errors[i])
			al_cell_set_real(cell, t->errors[i]);
}

static void copy_columns(struct al_table *out, const struct al_table *table,
	const char *const *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		al_table_add_column(out, table->columns[al_table_find_column(table, keys[i])]);
}

void al_summary_conversions(struct al_table *out, const struct al_table *table)
{
	copy_columns(out, table, named, N_NAMES);
	copy_columns(out, table, summed, sizeof(summed) / sizeof(*summed));
	copy_columns(out, table, errors, N_ERRORS);
	for (size_t row = 0; row < table->n_rows; row++) {
		struct total total = {0};
		bool is_first = true;
		for (size_t other = 0; other < row && is_first; other++)
			is_first = !is_same(table, row, table, other);
		for (size_t other = row; is_first && other < table->n_rows; other++)
			if (is_same(table, row, table, other))
				add_to_total(&total, table, other);
		if (is_first)
			set_total(out, table, row, &total);
	}
}

/* The larger of the two errors; 1 where there is none. */
static double worst(const struct al_table *table, size_t row)
{
	double qk = 0, ov = 0;
	bool has_qk = al_table_number(table, row, errors[0], &qk),
	     has_ov = al_table_number(table, row, errors[1], &ov);

	return has_qk || has_ov ? fmax(qk, ov) : 1;
}

/* Of those that save parameters with an error of at most `most`: the one that saves most; with
 * `most` 0 the one of least error. */
static bool find_best(const struct al_table *table, double most, size_t *out)
{
	double best = INFINITY;

	for (size_t row = 0; row < table->n_rows; row++) {
		double saving = 0, error = worst(table, row);
		(void)al_table_number(table, row, "saving", &saving);
		double cost = most > 0 ? -saving : error;
		if (saving > 0 && (most == 0 || error <= most) && cost < best) {
			best = cost;
			*out = row;
		}
	}
	return best < INFINITY;
}

static void add_conversion(struct al_table *summary, const struct al_table *table, const char *item,
	double most)
{
	struct al_arena *arena = &summary->arena;
	double saving = 0, cache = 0;
	size_t row = 0;

	if (!find_best(table, most, &row)) {
		add(summary, item, "no conversion that saves parameters");
		return;
	}
	(void)(al_table_number(table, row, "saving", &saving)
		&& al_table_number(table, row, "cache_saving", &cache));
	const char *setting = al_table_text(table, row, "setting");
	add(summary, item,
		al_format(arena, "%s%s%s: error %.2g, saves %.0f %%, of the cache %.0f %%",
			al_table_text(table, row, "variant"), *setting ? " " : "", setting,
			worst(table, row), 100 * saving, 100 * cache));
}

static void add_conversions(struct al_table *summary, const struct al_table *conversion)
{
	struct al_table all;

	if (conversion->n_rows == 0)
		return;
	al_table_init(&all, "all", "");
	al_summary_conversions(&all, conversion);
	add_conversion(summary, &all, "under 1 % error", 0.01);
	add_conversion(summary, &all, "under 5 %", 0.05);
	add_conversion(summary, &all, "under 10 %", 0.1);
	add_conversion(summary, &all, "least error", 0);
	al_table_finish(&all);
}

void al_summary_fill(struct al_table *summary, const struct al_audit *audit,
	struct al_table *const *tables)
{
	const struct al_table *heads = find_table(tables, "heads"),
			      *layers = find_table(tables, "layers");
	const struct al_table *similarity = find_table(tables, "similarity");
	const struct al_table *pca = find_table(tables, "pca");
	const struct al_table *conversion = find_table(tables, "conversion");

	al_table_add_column(summary,
		(struct al_column){.key = "item", .title = "What", .is_key = true});
	al_table_add_column(summary, (struct al_column){.key = "value", .title = "Found"});
	if (layers)
		add_modules(summary, audit, layers);
	if (heads)
		add_heads(summary, heads);
	if (layers)
		add_layers(summary, audit, layers);
	if (pca)
		add_principal(summary, pca);
	if (similarity)
		add_pairs(summary, similarity);
	if (conversion)
		add_conversions(summary, conversion);
	al_table_note(summary, "medians over heads or modules, in brackets the extremes");
	al_table_note(summary, "a conversion turns all modules; its error is the worst module's");
	if (!audit->options.covariance)
		al_table_note(summary,
			"weights alone: inputs that fill fewer directions need lower ranks than "
			"these");
}
