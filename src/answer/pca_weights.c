/* pca: how alike the components of a PCA layer's weights are, and Figure 6 of Ampazis & Sakketou
 * 2024, which draws it.
 *
 * The paper shows "the correlation matrix of the PCA layer's weights" and wants the identity. It
 * doesn't specify the correlation: Pearson's takes the mean over a component's own weights off, and
 * of a complete orthonormal set it can never be the identity, since the constant vector is shared
 * out among its members; cosines are the identity exactly where weights are orthonormal. */

#include "base/file.h"
#include "answer/draw.h"
#include "answer/pca.h"

/* A layer, or of it a pair of components. */
struct alike {
	const char *module, *architecture, *weights;
	size_t components, component_a, component_b;
	double cosine, pearson;
	/* Of a layer: norms of the columns, and magnitudes off the diagonal (NAN for a single
	 * column). */
	double norm_min, norm_max, largest[2], mean[2]; /* of cosines, of Pearson's */
};

#define NUMBER(member, name, bits) \
	{ \
		{.key = #member, .title = (name), .digits = AL_DIGITS_ALL}, \
			AL_MEMBER(struct alike, member), .when = (bits) \
	}
#define MEASURE(name, member, head, of, bits) \
	{ \
		{.key = (name), .title = (head), .group = (of), .digits = 3}, \
			AL_MEMBER(struct alike, member), .when = (bits) \
	}

const struct al_table_field pca_weights_fields[] = {
	{AL_SHOW_KEY(struct alike, module, "Module")},
	{AL_SHOW_KEY(struct alike, architecture, "Architecture")},
	{AL_SHOW_KEY(struct alike, weights, "Weights"), .when = PCA_OF_PAIRS},
	NUMBER(components, "Components", PCA_OF_LAYERS),
	NUMBER(component_a, "Component", PCA_OF_PAIRS),
	NUMBER(component_b, "and component", PCA_OF_PAIRS),
	MEASURE("cosine", cosine, "Cosine", NULL, PCA_OF_PAIRS),
	MEASURE("pearson", pearson, "Pearson", NULL, PCA_OF_PAIRS),
	MEASURE("norm_min", norm_min, "least", "Norm", PCA_WITH_MEASURES),
	MEASURE("norm_max", norm_max, "largest", "Norm", PCA_WITH_MEASURES),
	MEASURE("cosine_largest", largest[0], "largest", "|Cosine| of two", PCA_WITH_MEASURES),
	MEASURE("cosine_mean", mean[0], "mean", "|Cosine| of two", PCA_WITH_MEASURES),
	MEASURE("pearson_largest", largest[1], "largest", "|Pearson| of two", PCA_WITH_MEASURES),
	MEASURE("pearson_mean", mean[1], "mean", "|Pearson| of two", PCA_WITH_MEASURES),
	AL_FIELDS_END,
};

static const double *column(struct al_view w, size_t c)
{
	return w.data + c * w.ld;
}

/* Cosine of two columns, about their means for Pearson. NAN if one is zero. */
static double find_alike(struct al_view w, size_t left, size_t right, bool is_pearson)
{
	const double *a = column(w, left), *b = column(w, right);
	double mean_a = 0, mean_b = 0, aa = 0, bb = 0, ab = 0;

	for (size_t i = 0; i < w.rows && is_pearson; i++) {
		mean_a += a[i] / (double)w.rows;
		mean_b += b[i] / (double)w.rows;
	}
	for (size_t i = 0; i < w.rows; i++) {
		aa += (a[i] - mean_a) * (a[i] - mean_a);
		bb += (b[i] - mean_b) * (b[i] - mean_b);
		ab += (a[i] - mean_a) * (b[i] - mean_b);
	}
	return aa > 0 && bb > 0 ? ab / sqrt(aa) / sqrt(bb) : NAN;
}

static void measure_pairs(struct al_view w, bool is_pearson, struct alike *out)
{
	double largest = NAN, sum = 0;
	size_t n = 0;

	for (size_t a = 0; a < w.cols; a++)
		for (size_t b = 0; b < a; b++) {
			const double x = fabs(find_alike(w, a, b, is_pearson));
			if (isnan(x))
				continue;
			largest = fmax(largest, x);
			sum += x;
			n++;
		}
	out->largest[is_pearson] = largest;
	out->mean[is_pearson] = n ? sum / (double)n : NAN;
}

static void measure(struct al_view w, struct alike *out)
{
	out->components = w.cols;
	out->norm_min = INFINITY;
	for (size_t c = 0; c < w.cols; c++) {
		const struct al_view one = al_columns(w, c, 1);
		const double norm = sqrt(al_inner(one, one));
		out->norm_min = fmin(out->norm_min, norm);
		out->norm_max = fmax(out->norm_max, norm);
	}
	measure_pairs(w, false, out);
	measure_pairs(w, true, out);
}

static void add_pairs(struct al_table *table, struct alike row, struct al_view w)
{
	for (size_t a = 0; a < w.cols; a++)
		for (size_t b = 0; b < w.cols; b++) {
			row.component_a = a + 1;
			row.component_b = b + 1;
			row.cosine = find_alike(w, a, b, false);
			row.pearson = find_alike(w, a, b, true);
			al_table_add_record(table, &row);
		}
}

void pca_weights_add(struct pca *pca, const char *module, const char *architecture,
	const char *label, struct al_view w)
{
	struct alike row = {.module = module, .architecture = architecture, .weights = label};

	measure(w, &row);
	if (pca->tables[PCA_WEIGHTS])
		al_table_add_record(pca->tables[PCA_WEIGHTS], &row);
	if (pca->tables[PCA_CORRELATION])
		add_pairs(pca->tables[PCA_CORRELATION], row, w);
	if (pca->drawn.n_columns)
		add_pairs(&pca->drawn, row, w);
}

/* ---- Figure 6: a panel for each architecture ---- */

#define MAP(column_name, color_title) \
	{ \
		.id = "weights-" column_name, .mark = "heatmap", \
		.x = {.column = "component_b", .title = "Component"}, \
		.y = {.column = "component_a", .title = "Component"}, \
		.color = {.column = column_name, \
			.title = color_title, \
			.has_min = true, \
			.has_max = true, \
			.min = -1, \
			.max = 1}, \
		.is_diverging = true, .writes_values = true, .panel = "weights", \
		.beneath = (const char *const[]){"norm_min", "norm_max", column_name "_largest", \
			column_name "_mean"}, \
		.n_beneath = 4, .width_pt = AL_FIGURE_PAGE_PT, .height_pt = 236, \
	}

static const struct al_figure maps[] = {
	MAP("pearson", "Pearson correlation of two components' weights"),
	MAP("cosine", "Cosine of two components' weights"),
};

void pca_figures_begin(struct pca *pca)
{
	al_table_init(&pca->drawn, "", "");
	if (pca->options->figures)
		al_table_add_fields(&pca->drawn, pca_weights_fields,
			PCA_OF_PAIRS | PCA_WITH_MEASURES);
}

/* A module's name may hold slashes. */
static const char *name_folder(const struct pca *pca, const char *module)
{
	struct al_arena *arena = &pca->session->arena;
	char *name = al_strdup(arena, module);

	for (char *c = name; *c; c++)
		if (*c == '/')
			*c = '_';
	return al_path_join(arena, pca->options->figures, *name == '.' ? "module" : name);
}

bool pca_figures_end(struct pca *pca, const char *module, bool draws, struct al_error *err)
{
	bool ok = draws;

	for (size_t i = 0; ok && pca->drawn.n_rows && i < sizeof(maps) / sizeof(*maps); i++)
		ok = al_draw_into(&pca->session->files, &maps[i], &pca->drawn,
			     name_folder(pca, module), err)
			|| al_in(err, "%s", maps[i].id);
	al_table_finish(&pca->drawn);
	return ok;
}
