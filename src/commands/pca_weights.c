/* pca: how alike the components of a PCA layer's weights are (Figure 6 of Ampazis & Sakketou 2024).
 *
 * The paper shows "the correlation matrix of the PCA layer's weights" and wants the identity. It
 * doesn't say which correlation: Pearson's takes the mean over a component's own weights off, and
 * of a complete orthonormal set it can never be the identity, since the constant vector is shared
 * out among its members; cosines are the identity exactly where weights are orthonormal. */
#include "commands/pca.h"

#include <math.h>

static const struct al_column
	key_columns[] = {{.key = "module", .title = "Module", .is_key = true},
		{.key = "architecture", .title = "Architecture", .is_key = true}},
	weight_columns[] =
		{
			{.key = "components", .title = "Components", .digits = AL_DIGITS_ALL},
},
	measure_columns[] =
		{
			{.key = "norm_min", .title = "least", .group = "Norm", .digits = 3},
			{.key = "norm_max", .title = "largest", .group = "Norm", .digits = 3},
			{.key = "cosine_largest",
				.title = "largest",
				.group = "|Cosine| of two",
				.digits = 3},
			{.key = "cosine_mean",
				.title = "mean",
				.group = "|Cosine| of two",
				.digits = 3},
			{.key = "pearson_largest",
				.title = "largest",
				.group = "|Pearson| of two",
				.digits = 3},
			{.key = "pearson_mean",
				.title = "mean",
				.group = "|Pearson| of two",
				.digits = 3},
},
	correlation_columns[] = {
		{.key = "weights", .title = "Weights", .is_key = true},
		{.key = "component_a", .title = "Component", .digits = AL_DIGITS_ALL},
		{.key = "component_b", .title = "and component", .digits = AL_DIGITS_ALL},
		{.key = "cosine", .title = "Cosine", .digits = 3},
		{.key = "pearson", .title = "Pearson", .digits = 3},
};

#define ADD_ALL(table, columns) \
	for (size_t i_ = 0; i_ < sizeof(columns) / sizeof(*(columns)); i_++) \
	al_table_add_column(table, (columns)[i_])

void pca_weights_columns(struct al_table *table)
{
	ADD_ALL(table, key_columns);
	ADD_ALL(table, weight_columns);
	ADD_ALL(table, measure_columns);
}

void pca_measures_columns(struct al_table *table)
{
	ADD_ALL(table, measure_columns);
}

void pca_correlation_columns(struct al_table *table)
{
	ADD_ALL(table, key_columns);
	ADD_ALL(table, correlation_columns);
}

/* Of two columns; about their means for Pearson. NAN where one has no length. */
static double alike(const double *a, const double *b, size_t n, bool is_pearson)
{
	double mean_a = 0, mean_b = 0, aa = 0, bb = 0, ab = 0;

	for (size_t i = 0; i < n && is_pearson; i++) {
		mean_a += a[i] / (double)n;
		mean_b += b[i] / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		aa += (a[i] - mean_a) * (a[i] - mean_a);
		bb += (b[i] - mean_b) * (b[i] - mean_b);
		ab += (a[i] - mean_a) * (b[i] - mean_b);
	}
	return aa > 0 && bb > 0 ? ab / sqrt(aa) / sqrt(bb) : NAN;
}

static void set_real(struct al_cell *cell, double value)
{
	if (isfinite(value))
		al_cell_set_real(cell, value);
}

static const double *column(struct al_view w, size_t c)
{
	return w.data + c * w.ld;
}

static void add_pairs(struct al_table *table, const char *module, const char *architecture,
	const char *label, struct al_view w)
{
	for (size_t a = 0; a < w.cols; a++)
		for (size_t b = 0; b < w.cols; b++) {
			struct al_cell *cell = al_table_add_row(table);
			al_cell_set_text(table, cell++, module);
			if (architecture)
				al_cell_set_text(table, cell, architecture);
			al_cell_set_text(table, ++cell, label);
			al_cell_set_int(table, ++cell, (int64_t)a + 1);
			al_cell_set_int(table, ++cell, (int64_t)b + 1);
			set_real(++cell, alike(column(w, a), column(w, b), w.rows, false));
			set_real(++cell, alike(column(w, a), column(w, b), w.rows, true));
		}
}

/* Norms of the columns; largest and mean magnitude off the diagonal, NAN for a single component. */
struct measures {
	double norm_min, norm_max;
	double largest[2], mean[2]; /* of cosines, of Pearson's */
};

static void measure_pairs(struct al_view w, bool is_pearson, struct measures *m)
{
	double largest = NAN, sum = 0;
	size_t n = 0;

	for (size_t a = 0; a < w.cols; a++)
		for (size_t b = 0; b < a; b++) {
			const double x = fabs(
				alike(column(w, a), column(w, b), w.rows, is_pearson));
			if (isnan(x))
				continue;
			largest = fmax(largest, x);
			sum += x;
			n++;
		}
	m->largest[is_pearson] = largest;
	m->mean[is_pearson] = n ? sum / (double)n : NAN;
}

static struct measures measure(struct al_view w)
{
	struct measures m = {.norm_min = INFINITY};

	for (size_t c = 0; c < w.cols; c++) {
		const struct al_view one = al_columns(w, c, 1);
		const double norm = sqrt(al_inner(one, one));
		m.norm_min = fmin(m.norm_min, norm);
		m.norm_max = fmax(m.norm_max, norm);
	}
	measure_pairs(w, false, &m);
	measure_pairs(w, true, &m);
	return m;
}

/* In the order of measure_columns. */
static void set_measures(struct al_cell *cell, const struct measures *m)
{
	al_cell_set_real(cell++, m->norm_min);
	al_cell_set_real(cell++, m->norm_max);
	for (int k = 0; k < 2; k++) {
		set_real(cell++, m->largest[k]);
		set_real(cell++, m->mean[k]);
	}
}

static void add_summary(struct al_table *table, const char *module, const char *architecture,
	size_t n, const struct measures *m)
{
	struct al_cell *cell = al_table_add_row(table);

	al_cell_set_text(table, cell, module);
	if (architecture)
		al_cell_set_text(table, &cell[1], architecture);
	al_cell_set_int(table, &cell[2], (int64_t)n);
	set_measures(&cell[3], m);
}

/* As the table, with what stands beneath the panels behind. */
static void add_drawn(struct al_table *table, const char *label, struct al_view w,
	const struct measures *m)
{
	const size_t first = table->n_rows;
	const int measures = al_table_find_column(table, measure_columns[0].key);

	add_pairs(table, "", NULL, label, w);
	for (size_t row = first; row < table->n_rows; row++)
		set_measures(&table->rows[row][measures], m);
}

void pca_weights_add(struct pca_tables *tables, const char *module, const char *architecture,
	const char *label, struct al_view w)
{
	struct al_table *correlation = tables->of[PCA_CORRELATION];
	const struct measures m = measure(w);

	if (tables->of[PCA_WEIGHTS])
		add_summary(tables->of[PCA_WEIGHTS], module, architecture, w.cols, &m);
	if (correlation)
		add_pairs(correlation, module, architecture, label, w);
	if (tables->drawn[PCA_CORRELATION].n_columns)
		add_drawn(&tables->drawn[PCA_CORRELATION], label, w, &m);
}
